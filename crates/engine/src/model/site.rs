//! Sites: where memory was allocated, or freed.

use super::ids::NodeId;
use super::{HeapId, ProcessId};
use crate::stored::stored;
use crate::units::Ticks;

/// Where memory was allocated, or freed: heap and stack, and for commits the process whose code it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// Heap, and through it process and layer.
    pub heap: HeapId,
    /// Call stack, [`NodeId::ROOT`] if none was recorded.
    pub stack: NodeId,
    /// Process whose code it was: not the heap's process for commits made in another process.
    pub caller: ProcessId,
    /// Birth, or death, of the site's first row: the moment at which its frames are named.
    pub first: Ticks,
}

stored!(struct Site { heap, stack, caller, first });
