//! highwater: where did the memory go? Reads and analyses Windows memory traces (ETW, `.etl`).
//!
//! Modules, in the order of the data flow; dependencies go one way only: ([`archive`] →) [`etl`] bytes → [`events`]
//! records → [`model`] one immutable trace → [`query`] answers for an interval → `app` (window) and [`cli`] (text,
//! JSON). `ARCHITECTURE.md` has the map.

#[cfg(feature = "gui")]
pub mod app;
pub mod cli;
pub mod demo;
pub mod editor;
pub mod windows_reader;

pub use highwater_capture as capture;
pub use highwater_engine::{
    events, format, limits, model, names, ndjson, nearest, open_error, panics, pattern, pe, problem, query, random, seconds,
    stack_rules, stored, tables, time_spec, toml_file, units, utc,
};
pub use highwater_etl as etl;
pub use highwater_export as export;
pub use highwater_files::{paths, platform};
pub use highwater_load::{self as load, archive};
pub use highwater_symbols as symbols;
