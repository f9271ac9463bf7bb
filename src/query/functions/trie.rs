//! A trie of functions while it grows. Most nodes have one child, which stands in an
//! array; only further ones are hashed. Parents have smaller numbers than their children.

use super::table::FunctionId;
use crate::tables::KeyedMap;

/// See the module. Node 0 is the root, whose function means nothing.
#[derive(Clone, Debug)]
pub(super) struct Trie {
    pub(super) parent: Vec<u32>,
    pub(super) function: Vec<FunctionId>,
    first: Vec<u32>,
    further: KeyedMap<(u32, FunctionId), u32>,
    /// Nodes at most: what would be deeper is its parent's.
    most: usize,
}

impl Trie {
    pub(super) fn new(most: usize) -> Self {
        Self { parent: vec![0], function: vec![FunctionId(0)], first: vec![0], further: KeyedMap::default(), most }
    }

    pub(super) fn child(&mut self, parent: u32, function: FunctionId) -> u32 {
        let first = self.first[parent as usize];
        if first != 0 && self.function[first as usize] == function {
            return first;
        }
        if first != 0
            && let Some(&known) = self.further.get(&(parent, function))
        {
            return known;
        }
        if self.parent.len() >= self.most {
            return parent;
        }
        let next = self.parent.len() as u32;
        match first {
            0 => self.first[parent as usize] = next,
            _ => _ = self.further.insert((parent, function), next),
        }
        self.parent.push(parent);
        self.function.push(function);
        self.first.push(0);
        next
    }
}
