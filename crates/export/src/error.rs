//! Reasons why an export was not written.

use std::io;

use thiserror::Error;

use crate::query::Cancelled;
use crate::units::Layer;

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
    #[error("{} memory contain each other and cannot be added up; choose one of them with --layer", layer_names(.0))]
    SeveralLayers(Vec<Layer>),
    /// No stack has a number of this kind.
    #[error("no stack has a value for --value {0}; try allocated, peak or count")]
    NoValue(&'static str),
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
