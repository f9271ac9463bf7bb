//! Exporters of a trace to the formats of other programs, one file per format. Numbers come from `query`, bytes are
//! written by libraries; nothing here depends on the command line or the window.
//!
//! All formats are streamed: besides what a question takes, memory grows with the places in the code that allocate
//! (stacks, frames), not with the allocations.

mod csv;
pub mod cut;
mod firefox;
mod folded;
mod format;
mod json;
#[cfg(feature = "parquet")]
pub mod lake;
mod pprof;
mod speedscope;
mod stacks;
mod streamed;

use std::io::{self, Write};

use thiserror::Error;

pub use self::csv::{csv, csv_cell, csv_line, frames_csv, marks_csv};
pub use firefox::firefox;
pub use folded::folded;
pub use format::{Format, Value};
pub use json::json;
pub use pprof::pprof;
pub use speedscope::speedscope;

use crate::model::{SiteId, Trace};
use crate::query::{Cancel, Cancelled, Index, Mask, ReportRequest};
use crate::symbols::Names;
use crate::units::{Interval, Layer};

/// The part of a trace to export, and how.
pub struct Exported<'a> {
    /// The trace, and its chosen rows.
    index: &'a Index,
    /// Names of frames and types, as far as they are known.
    names: &'a Names,
    /// Interval, filter and groups; stacks are folded if functions are.
    request: &'a ReportRequest,
    /// The sites that the filter chooses.
    mask: Mask,
    /// Doubts about the numbers; `files` are those that the numbers come from, if the answer names them; see [`json`].
    doubts: Vec<String>,
    files: Option<Vec<String>>,
    /// Cancels the work.
    cancel: &'a Cancel,
}

impl<'a> Exported<'a> {
    /// The part of a trace that a request asks for, with these names. Cost: a pass over the sites and, if frames are
    /// chosen by name, a look at each frame.
    pub fn new(index: &'a Index, names: &'a Names, request: &'a ReportRequest, cancel: &'a Cancel) -> Result<Self, Cancelled> {
        let mask = request.filter.named_mask(index.trace(), names, cancel)?;
        Ok(Self { index, names, request, mask, doubts: Vec::new(), files: None, cancel })
    }

    /// Adds doubts about the numbers, and the files that the numbers come from if the answer has to name them.
    pub fn about(self, doubts: Vec<String>, files: Option<&[String]>) -> Self {
        Self { doubts, files: files.map(<[String]>::to_vec), ..self }
    }

    fn trace(&self) -> &'a Trace {
        self.index.trace()
    }

    fn interval(&self) -> Interval {
        self.request.interval
    }

    /// The only layer that is exported, for formats that cannot tell layers apart; several layers are an error.
    /// `None` if nothing is exported, and for samples.
    fn only_layer(&self, value: Value) -> Result<Option<Layer>, ExportError> {
        if value == Value::Samples {
            return Ok(None);
        }
        let trace = self.trace();
        let sites = (0..).map(SiteId).zip(&trace.sites).filter(|(id, _)| self.mask.classes(*id) != 0);
        let mut has = [false; Layer::ALL.len()];
        sites.for_each(|(_, site)| has[trace.layer_of(site) as usize] = true);
        let layers: Vec<Layer> = Layer::ALL.into_iter().filter(|&layer| has[layer as usize]).collect();
        match layers.as_slice() {
            [] => Ok(None),
            [layer] => Ok(Some(*layer)),
            _ => Err(ExportError::SeveralLayers(layers)),
        }
    }
}

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

/// The reason why an export was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The system could not write.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A value that JSON cannot hold, or the system could not write.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A format with one value per stack would add up layers, which contain each other.
    #[error("{} memory would be added up, and one lies in the other; choose one of them with --layer", layer_names(.0))]
    SeveralLayers(Vec<Layer>),
    /// The work was cancelled.
    #[error("stopped")]
    Stopped,
}

impl ExportError {
    /// Whether the reader has closed the pipe, because it has seen enough.
    pub fn is_broken_pipe(&self) -> bool {
        let kind = match self {
            Self::Io(error) => Some(error.kind()),
            Self::Json(error) => error.io_error_kind(),
            _ => None,
        };
        kind == Some(io::ErrorKind::BrokenPipe)
    }
}

fn layer_names(layers: &[Layer]) -> String {
    layers.iter().map(|layer| layer.name()).collect::<Vec<_>>().join(" and ")
}

impl From<Cancelled> for ExportError {
    fn from(_: Cancelled) -> Self {
        Self::Stopped
    }
}
