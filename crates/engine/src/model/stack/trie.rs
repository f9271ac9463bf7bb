//! The trie while it grows: from a frame to those that it called.
//!
//! Most frames of a program call one other frame only, so the first child of a node is in an array and
//! only further ones are hashed, by number: their parents are known from the nodes themselves.
//!
//! Memory: 16 bytes a node, 5 to 11 more for each further child, and the room that
//! arrays keep for more. Cost: a chain that was never seen costs no hashing at all.

use hashbrown::HashTable;

use super::stacks::{INDEX_MASK, Stacks, map_bytes};
use crate::model::NodeId;
use crate::tables::Hashing;

/// A trie that grows.
#[derive(Debug)]
pub(super) struct Trie {
    pub(super) stacks: Stacks,
    /// By node its first child, [`NodeId::ROOT`] if it has none.
    first: Vec<NodeId>,
    /// All other children.
    further: HashTable<NodeId>,
    hashing: Hashing,
}

impl Default for Trie {
    fn default() -> Self {
        Self { stacks: Stacks::default(), first: vec![NodeId::ROOT], further: HashTable::new(), hashing: Hashing::default() }
    }
}

impl Trie {
    /// Bytes in memory.
    pub(super) fn bytes(&self) -> u64 {
        let Self { stacks: Stacks { parent, address }, first, further, .. } = self;
        let lists = [(parent.capacity(), 4), (address.capacity(), 8), (first.capacity(), 4)];
        lists.iter().map(|&(n, entry)| n as u64 * entry).sum::<u64>() + map_bytes(further.capacity(), 4)
    }

    /// The node of frames, innermost first.
    pub(super) fn node(&mut self, frames: &[u64]) -> NodeId {
        frames.iter().rev().fold(NodeId::ROOT, |parent, &address| self.child(parent, address))
    }

    /// The node of a frame inside `parent`'s.
    pub(super) fn child(&mut self, parent: NodeId, address: u64) -> NodeId {
        let first = self.first[parent.0 as usize];
        if first != NodeId::ROOT && self.stacks.address(first) == address {
            return first;
        }
        let next = NodeId(self.stacks.len() as u32);
        if next.0 > INDEX_MASK {
            return parent; // a thousand million frames: deeper ones are folded into their callers
        }
        if first == NodeId::ROOT {
            self.first[parent.0 as usize] = next;
        } else if let Some(known) = self.further(parent, address, next) {
            return known;
        }
        self.stacks.parent.push(parent);
        self.stacks.address.push(address);
        self.first.push(NodeId::ROOT);
        next
    }

    /// The child of `parent` at `address` among those that are not its first; `next` is added if there
    /// is none.
    fn further(&mut self, parent: NodeId, address: u64, next: NodeId) -> Option<NodeId> {
        let Self { stacks, further, hashing, .. } = self;
        let is_it = |&child: &NodeId| stacks.address(child) == address && stacks.parent(child) == parent;
        let hash_again = |&child: &NodeId| hashing.hash_one((stacks.parent(child), stacks.address(child)));
        match further.entry(hashing.hash_one((parent, address)), is_it, hash_again) {
            hashbrown::hash_table::Entry::Occupied(child) => Some(*child.get()),
            hashbrown::hash_table::Entry::Vacant(place) => {
                place.insert(next);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Short stacks out of few addresses: nodes with no child, one, and many.
        #[test]
        fn a_node_is_a_path_and_a_path_is_a_node(stacks in prop::collection::vec(prop::collection::vec(0u64..6, 0..6), 0..80)) {
            let mut trie = Trie::default();
            let mut seen: HashMap<Vec<u64>, NodeId> = HashMap::new();
            for frames in &stacks {
                let node = trie.node(frames);
                prop_assert_eq!(*seen.entry(frames.clone()).or_insert(node), node);
                let found: Vec<u64> = trie.stacks.chain(node).map(|n| trie.stacks.address(n)).collect();
                prop_assert_eq!(&found, frames);
            }
            let callers = |frames: &Vec<u64>| (0..frames.len()).map(|i| frames[i..].to_vec()).collect::<Vec<_>>();
            let paths: std::collections::HashSet<Vec<u64>> = stacks.iter().flat_map(callers).collect();
            prop_assert_eq!(trie.stacks.len(), paths.len() + 1);
        }
    }

    #[test]
    fn a_node_takes_at_most_60_bytes_whatever_the_shape() {
        let stack_of = |shape: &str, stack: u64| -> Vec<u64> {
            match shape {
                "chains" => (0..64).map(|depth| stack << 32 | depth).collect(),
                "two callees each" => (0..64).map(|depth: u32| stack >> depth.min(40)).collect(),
                _ => vec![stack, 1],
            }
        };
        for name in ["chains", "two callees each", "one wide node"] {
            let mut trie = Trie::default();
            (0..20_000).for_each(|stack| _ = trie.node(&stack_of(name, stack)));
            let nodes = trie.stacks.len() as u64;
            assert!(nodes > 20_000, "{name}: {nodes} nodes");
            assert!(trie.bytes() <= 60 * nodes, "{name}: {} bytes a node", trie.bytes() / nodes);
        }
    }
}
