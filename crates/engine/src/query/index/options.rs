//! Options of an index.

use crate::model::{BLOCKS_A_ROW, SUMS_A_ROW};

/// The amount of prepared data.
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions {
    /// Bytes for the sums at checkpoints, per row of the trace.
    pub bytes_a_row: usize,
    /// A fixed number of checkpoints, whatever they cost; for tests.
    pub checkpoints: Option<usize>,
    /// Whether the parts of the rows in which each site occurs are found; by default only in large traces, and after the rest.
    pub parts: Option<bool>,
    /// Events per block; by default enough to keep the entries of all heaps small.
    pub block: Option<usize>,
    /// Events per stretch of blocks; a stretch is shared by all publications; for tests.
    pub stretch: Option<usize>,
    /// Bytes per row of the trace for the heaps' entries in blocks, together with those of earlier filters of series;
    /// the latest filter may use as much in addition.
    pub block_bytes_a_row: usize,
    /// Number of events above which summing up for a graph counts as slow.
    pub slow: u64,
    /// Whether peaks of whole heaps are searched by bins of time; by default where that pays.
    pub surveys: Option<bool>,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            bytes_a_row: SUMS_A_ROW,
            checkpoints: None,
            parts: None,
            block: None,
            stretch: None,
            block_bytes_a_row: BLOCKS_A_ROW,
            slow: 1 << 22,
            surveys: None,
        }
    }
}

/// Whether rows that an edge of an interval cuts are read apart from the others, and peaks of whole heaps are searched by bins of time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::query) enum Surveys {
    #[default]
    Never,
    IfTheyPay,
    Always,
}

impl Surveys {
    /// Converts an option.
    pub(super) fn of(option: Option<bool>) -> Self {
        match option {
            None => Self::IfTheyPay,
            Some(false) => Self::Never,
            Some(true) => Self::Always,
        }
    }
}
