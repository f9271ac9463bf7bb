//! What is known of a trace in the formats of other programs, one file a format. Numbers come from
//! `query`, bytes are written by libraries; nothing here knows of the command line or the window.
//!
//! All formats stream: besides what a question takes, memory grows with the places in the code
//! that allocate (stacks, frames), not with the allocations.

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

pub use self::csv::{csv, frames_csv, marks_csv, not_computed};
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

/// What is exported.
pub struct Exported<'a> {
    /// The trace, and which of its rows.
    index: &'a Index,
    /// Names of frames and types, as far as they are known.
    names: &'a Names,
    /// Interval, filter and groups; stacks are folded if functions are.
    request: &'a ReportRequest,
    /// The sites that the filter chooses.
    mask: Mask,
    /// What speaks against the numbers, and the files that they are of where an answer says that; see [`json`].
    doubts: Vec<String>,
    files: Option<Vec<String>>,
    /// Ends the work.
    cancel: &'a Cancel,
}

impl<'a> Exported<'a> {
    /// What a request asks of a trace with these names. Cost: a pass over the sites, and where frames are
    /// chosen by name a look at each frame.
    pub fn new(index: &'a Index, names: &'a Names, request: &'a ReportRequest, cancel: &'a Cancel) -> Result<Self, Cancelled> {
        let mask = request.filter.named_mask(index.trace(), names, cancel)?;
        Ok(Self { index, names, request, mask, doubts: Vec::new(), files: None, cancel })
    }

    /// With what speaks against the numbers, and the files that they are of where there are others.
    pub fn about(self, doubts: Vec<String>, files: Option<&[String]>) -> Self {
        Self { doubts, files: files.map(<[String]>::to_vec), ..self }
    }

    fn trace(&self) -> &'a Trace {
        self.index.trace()
    }

    fn interval(&self) -> Interval {
        self.request.interval
    }

    /// The layer of what is exported, for formats that cannot tell layers apart. Nothing at all
    /// has none, nor have samples.
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

/// Writes an export of any format of one file.
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

/// Why an export was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The system could not write.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A value that JSON cannot hold, or the system could not write.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A format with one value a stack would add layers up, which nest.
    #[error("{} memory would be added up, and one lies in the other; choose one of them with --layer", layer_names(.0))]
    SeveralLayers(Vec<Layer>),
    /// Somebody stopped it.
    #[error("stopped")]
    Stopped,
}

impl ExportError {
    /// Whether whoever reads has seen enough.
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

impl From<::csv::Error> for ExportError {
    fn from(error: ::csv::Error) -> Self {
        match error.into_kind() {
            ::csv::ErrorKind::Io(error) => Self::Io(error),
            other => Self::Io(io::Error::other(format!("{other:?}"))),
        }
    }
}
