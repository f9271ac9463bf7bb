//! Rows whose stack came with their event. Their sites are looked up for many rows together, so that
//! the processor fetches many stacks at once.

use crate::events::{FrameList, FrameRange};
use crate::model::{HeapId, RowId};
use crate::units::Ticks;

#[derive(Clone, Copy, Debug)]
pub(super) struct FramedRow {
    pub(super) row: RowId,
    pub(super) heap: HeapId,
    pub(super) birth: Ticks,
    pub(super) frames: FrameRange,
}

/// The rows that wait, and their frames.
#[derive(Debug, Default)]
pub(super) struct Framed {
    pub(super) rows: Vec<FramedRow>,
    pub(super) frames: FrameList,
}
