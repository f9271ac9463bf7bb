//! The lists of a slice's blocks, one for each way in which their stacks come, and of the other events
//! between blocks.

use crate::events::{FrameRange, StackHash};
use crate::model::allocations::RankedBlock;
use crate::units::Tid;

/// A block whose stack is given by a key.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct KeyedBlock {
    pub(in crate::model) key: u64,
    /// Raw time at which the key was given.
    pub(in crate::model) given: i64,
    pub(in crate::model) block: ListedBlock,
}

/// A block whose stack came with it.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct FramedBlock {
    pub(in crate::model) frames: FrameRange,
    pub(in crate::model) stack_hash: StackHash,
    pub(in crate::model) block: ListedBlock,
}

/// A block whose stack may come later.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct BareBlock {
    pub(in crate::model) ranked: RankedBlock,
    /// Raw time and thread of the record.
    pub(in crate::model) time: i64,
    pub(in crate::model) tid: Tid,
    /// Rank of the block that the same event freed for it, if any.
    pub(in crate::model) freed: Option<u32>,
}

/// A block, with the place of its record.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct ListedBlock {
    pub(in crate::model) ranked: RankedBlock,
    /// Number of records before it in the slice.
    pub(in crate::model) order: u32,
}

/// A record between blocks: a stack that comes behind its event, the definition of a key, or a CPU
/// sample.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct BatchEvent {
    /// Number of records before it in the slice.
    pub(in crate::model) order: u32,
    /// Lengths of the lists before it.
    pub(in crate::model) before: ListEnds,
}

/// Lengths of the lists of blocks, by the way in which their stacks come.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::model) struct ListEnds {
    pub(in crate::model) keyed: u32,
    pub(in crate::model) framed: u32,
    pub(in crate::model) bare: u32,
    pub(in crate::model) freed_bare: u32,
}
