//! One `.etl` file: its session header, and its buffers in file order.

use super::compression::Algorithm;
use super::{BufferInfo, SessionHeader, Source};
use crate::problem::Problems;

/// The container of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// A file of its own.
    #[default]
    Etl,
    /// A zip archive.
    Zip,
    /// A session of Visual Studio's profiler.
    Diagsession,
}

impl Format {
    /// Name in the machine interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etl => "etl",
            Self::Zip => "zip",
            Self::Diagsession => "diagsession",
        }
    }
}

/// An open file and where its buffers are.
#[derive(Debug)]
pub struct TraceFile {
    pub(super) source: Source,
    /// As the user named it.
    pub name: String,
    /// The container in which it was found.
    pub format: Format,
    /// Length when it was opened.
    pub bytes: u64,
    /// The session header, without impossible claims. Losses are those of all sessions of the file.
    pub header: SessionHeader,
    /// All buffers, in file order, the header buffer first.
    pub buffers: Vec<BufferInfo>,
    /// Processors that had buffers when it was opened.
    pub streams: usize,
    /// How compressed buffers are compressed; `None` if there are none.
    pub compression: Option<Algorithm>,
    /// Problems with the chain of buffers.
    pub problems: Problems,
}
