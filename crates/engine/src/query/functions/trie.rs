//! A trie of functions under construction. Most nodes have one child, which is stored in an array; only further
//! children are hashed. Parents have smaller numbers than their children.

use super::table::FunctionId;
use crate::tables::KeyedMap;

/// The nodes of the trie by number. Node 0 is the root; its function is meaningless.
#[derive(Clone, Debug)]
pub(super) struct Trie {
    pub(super) parent: Vec<u32>,
    pub(super) function: Vec<FunctionId>,
    first: Vec<u32>,
    further: KeyedMap<(u32, FunctionId), u32>,
    /// Largest number of nodes; once it is reached, [`Trie::child`] returns the parent.
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
