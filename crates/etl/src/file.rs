//! One `.etl` file: its session header, and its buffers in file order.

use super::compression::Algorithm;
use super::{BufferInfo, SessionHeader, Source};
use crate::problem::Problems;

/// An open file and where its buffers are.
#[derive(Debug)]
pub struct TraceFile {
    pub(super) source: Source,
    /// As the user named it.
    pub name: String,
    /// The kind of container in which it was found, as its opener calls it. For display: nothing here reads it.
    pub container: &'static str,
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

/// Name of the container of a file that is in none.
pub(super) const PLAIN: &str = "etl";
