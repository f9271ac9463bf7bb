//! The interned stacks of a trace, and how many there can be.

use crate::model::NodeId;

/// The interned stacks of a published trace.
#[derive(Clone, Debug)]
pub struct Stacks {
    pub(super) parent: Vec<NodeId>,
    pub(super) address: Vec<u64>,
}

impl Default for Stacks {
    fn default() -> Self {
        Self { parent: vec![NodeId::ROOT], address: vec![0] }
    }
}

impl Stacks {
    /// Parents and addresses of all nodes.
    pub(in crate::model) fn columns(&self) -> (&[NodeId], &[u64]) {
        (&self.parent, &self.address)
    }

    /// Nodes of these parents and addresses, the root first; each parent comes before its nodes.
    pub(in crate::model) fn of_columns(parent: Vec<NodeId>, address: Vec<u64>) -> Self {
        Self { parent, address }
    }

    /// Number of nodes, the root included.
    #[inline]
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there are no stacks.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// The node of the frame that called `node`'s.
    #[inline]
    pub fn parent(&self, node: NodeId) -> NodeId {
        self.parent[node.0 as usize]
    }

    /// Return address of `node`'s frame.
    #[inline]
    pub fn address(&self, node: NodeId) -> u64 {
        self.address[node.0 as usize]
    }

    /// `node` and the nodes of its callers, innermost first, without the root.
    #[inline]
    pub fn chain(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let up = |&node: &NodeId| Some(self.parent(node));
        std::iter::successors(Some(node), up).take_while(|&node| node != NodeId::ROOT)
    }

    /// Frames from the outermost to `node`'s.
    pub fn path(&self, node: NodeId) -> Vec<NodeId> {
        let mut path: Vec<_> = self.chain(node).collect();
        path.reverse();
        path
    }
}

/// Bits of the number of a node; more frames than they can number are folded into their callers.
pub(super) const INDEX_BITS: u32 = 30;
pub(super) const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;

/// Bytes of a hash map with room for `capacity` entries of `entry` bytes: at most
/// 7 of 8 slots are used, and each has a byte of its own.
pub(in crate::model) fn map_bytes(capacity: usize, entry: u64) -> u64 {
    capacity as u64 * 8 / 7 * (entry + 1)
}
