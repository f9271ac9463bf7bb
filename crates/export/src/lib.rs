//! Exporters of a trace to the formats of other programs, one file per format. Numbers come from `query`, bytes are
//! written by libraries; nothing here depends on the command line or the window.
//!
//! - [`Exported`] is a report with its stacks; [`write()`] writes it in a [`Format`] that is a single file, and each format
//!   has its function.
//! - `lake` (feature `parquet`): many captures as tables in a folder. A capture is there as a whole or not at all.
//! - [`cut`]: an interval as an `.etl` of its own, from the raw events.
//!
//! All formats are streamed: besides what a question takes, memory grows with the places in the code that allocate
//! (stacks, frames), not with the allocations.

#![deny(unreachable_pub)]

#[cfg(feature = "parquet")]
use highwater_engine::panics;
use highwater_engine::{events, model, names, problem, query, tables, units, utc};
use highwater_etl as etl;
#[cfg(feature = "parquet")]
use highwater_files::paths;

mod csv;
pub mod cut;
mod error;
mod exported;
mod firefox;
mod folded;
mod format;
pub mod html;
mod json;
#[cfg(feature = "parquet")]
pub mod lake;
mod pprof;
mod rows;
mod speedscope;
mod stacks;
mod streamed;
mod unmatched;

use std::io::{self, Write};

pub use self::csv::{csv, csv_cell, csv_line, frames_csv, marks_csv, scopes_csv};
pub use error::ExportError;
pub use exported::Exported;
pub use firefox::firefox;
pub use folded::folded;
pub use format::{Format, Value};
pub use json::{json, ndjson};
pub use pprof::pprof;
pub use rows::{rows_csv, rows_ndjson};
pub use speedscope::speedscope;
pub use unmatched::{unmatched_csv, unmatched_folded};

/// Writes an export in any format that is a single file.
pub fn write(exported: &Exported<'_>, format: Format, value: Value, out: &mut dyn Write) -> Result<(), ExportError> {
    match format {
        Format::Csv => csv(exported, out),
        Format::Json => json(exported, out),
        Format::Folded => folded(exported, value, out),
        Format::Pprof => pprof(exported, value, out),
        Format::Speedscope => speedscope(exported, value, out),
        Format::Firefox => firefox(exported, value, out),
        Format::Parquet => Err(io::Error::new(io::ErrorKind::Unsupported, "tables are more than one file").into()),
    }
}
