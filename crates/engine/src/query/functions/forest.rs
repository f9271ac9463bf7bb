//! Trees over sites, all in one format: nodes are numbered in preorder, and each site is at one node, so that the nodes
//! and the sites below a node are ranges.
//!
//! Recursive calls have nodes of their own. Sums are for one layer at a time.
//!
//! Cost: some passes over nodes and sites; 32 bytes per node, 12 per site. An inverted tree has up to as many nodes as
//! all stacks have functions. Its size is limited; once it is full, stacks are cut off.

use std::ops::Range;

use super::paths::{Functions, PathId};
use super::table::{FunctionId, ModuleName};
use super::trie::Trie;
use crate::model::preorder::{Children, Preorder, distribute, range};
use crate::model::{HeapId, ProcessId, SiteId};
use crate::query::{Cancel, Cancelled, Fold, LifetimeBucket, SizeBucket};
use crate::tables::KeyedMap;
use crate::units::Tid;

/// The key of a node, which says what it stands for below its parent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NodeKey {
    /// Everything; the key of node 0.
    All,
    /// No stack was recorded.
    NoStack,
    /// A function.
    Function(FunctionId),
    /// A module.
    Module(ModuleName),
    /// No module is known at the address.
    NoModule,
    /// A heap, a tracker, or the commit of a process.
    Heap(HeapId),
    /// A type, owner or tag, by its number in [`SiteLabels`](super::super::SiteLabels).
    Label(u32),
    /// A thread of a process.
    Thread(ProcessId, Tid),
    /// A bucket of sizes.
    Size(SizeBucket),
    /// A bucket of lifetimes.
    Lifetime(LifetimeBucket),
}

/// A tree over sites.
#[derive(Clone, Debug)]
pub struct Forest {
    key: Vec<NodeKey>,
    parent: Vec<u32>,
    end: Vec<u32>,
    children: Children,
    /// Sites in the order of their nodes.
    sites: Vec<SiteId>,
    /// Their heaps, in the same order.
    heaps: Vec<HeapId>,
    /// By node the index of its first site, and the end of the last.
    first_site: Vec<u32>,
    /// Node of each site.
    node_of: Vec<u32>,
}

/// Largest number of nodes of an inverted tree.
const MAX_NODES: usize = 1 << 24;

impl Forest {
    /// Builds the tree with callers at the top: each site is at the node of its innermost function.
    pub fn top_down(functions: &Functions) -> Self {
        let parent: Vec<u32> = (0..functions.paths() as u32).map(|path| functions.parent(PathId(path)).0).collect();
        let key = (0..functions.paths() as u32).map(|path| match functions.function(PathId(path)) {
            Some(function) => NodeKey::Function(function),
            None => NodeKey::All,
        });
        let at = functions.sites().map(|site| functions.path(site).0).collect();
        Self::of(functions, parent, key.collect(), at)
    }

    /// Builds the tree with innermost functions at the top: each site is at the node of its whole stack, reversed.
    pub fn inverted(functions: &Functions, cancel: &Cancel) -> Result<Self, Cancelled> {
        let mut trie = Trie::new(MAX_NODES);
        let mut reversed = vec![u32::MAX; functions.paths()];
        reversed[0] = 0;
        let mut at = Vec::new();
        for site in functions.sites() {
            if site.0.is_multiple_of(1024) {
                cancel.check()?;
            }
            let path = functions.path(site);
            if reversed[path.0 as usize] == u32::MAX {
                let ends = |node, function| {
                    let child = trie.child(node, function);
                    (child != node).then_some(child).ok_or(node) // full
                };
                let (Ok(node) | Err(node)) = functions.chain(path).try_fold(0, ends);
                reversed[path.0 as usize] = node;
            }
            at.push(reversed[path.0 as usize]);
        }
        let mut key: Vec<NodeKey> = trie.function.iter().map(|&function| NodeKey::Function(function)).collect();
        key[0] = NodeKey::All;
        Ok(Self::of(functions, trie.parent, key, at))
    }

    /// Builds one level by responsible caller.
    pub fn by_function(functions: &Functions) -> Self {
        Self::flat(functions, |site| functions.function(functions.responsible(site)).map_or(NodeKey::NoStack, NodeKey::Function))
    }

    /// Builds one level by responsible module.
    pub fn by_module(functions: &Functions) -> Self {
        Self::flat(functions, |site| match functions.function(functions.responsible(site)) {
            None => NodeKey::NoStack,
            Some(function) => functions.module(function).map_or(NodeKey::NoModule, NodeKey::Module),
        })
    }

    /// Builds one level of arbitrary groups of sites.
    fn flat(functions: &Functions, group: impl Fn(SiteId) -> NodeKey) -> Self {
        let (mut key, mut index) = (vec![NodeKey::All], KeyedMap::default());
        let mut add = |group: NodeKey| {
            *index.entry(group).or_insert_with(|| {
                key.push(group);
                key.len() as u32 - 1
            })
        };
        let at = functions.sites().map(|site| add(group(site))).collect();
        Self::of(functions, vec![0; key.len()], key, at)
    }

    /// Builds a tree from nodes whose parents have smaller numbers, and the node of each site.
    fn of(functions: &Functions, mut parent: Vec<u32>, mut key: Vec<NodeKey>, mut at: Vec<u32>) -> Self {
        if at.contains(&0) {
            let no_stack = parent.len() as u32;
            parent.push(0);
            key.push(NodeKey::NoStack);
            at.iter_mut().filter(|node| **node == 0).for_each(|node| *node = no_stack);
        }
        let nodes = Preorder::of(parent.len(), |node| parent[node] as usize);
        let place = |node: u32| nodes.place[node as usize];
        let node_of: Vec<u32> = at.into_iter().map(place).collect();
        let parent: Vec<u32> = nodes.node.iter().map(|&node| place(parent[node as usize])).collect();
        let ids: Vec<SiteId> = (0..node_of.len() as u32).map(SiteId).collect();
        let (sites, first_site) = distribute(&ids, parent.len(), |site| node_of[site.0 as usize] as usize);
        Self {
            key: nodes.node.iter().map(|&node| key[node as usize]).collect(),
            children: Children::of(parent.len(), |node| parent[node] as usize),
            parent,
            end: nodes.end,
            heaps: sites.iter().map(|&site| functions.heap(site)).collect(),
            sites,
            first_site,
            node_of,
        }
    }

    /// Returns the number of nodes; node 0 is everything.
    pub fn len(&self) -> usize {
        self.key.len()
    }

    /// Returns whether there is nothing below node 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// Returns what a node stands for.
    pub fn key(&self, node: u32) -> NodeKey {
        self.key[node as usize]
    }

    /// Returns the parent of a node; node 0 is its own parent.
    pub fn parent(&self, node: u32) -> u32 {
        self.parent[node as usize]
    }

    /// Returns the end (exclusive) of the range of nodes below a node.
    pub fn end(&self, node: u32) -> u32 {
        self.end[node as usize]
    }

    /// Returns the children of a node.
    pub fn children(&self, node: u32) -> &[u32] {
        self.children.under(node)
    }

    /// Returns all sites, in the order of their nodes.
    pub fn sites(&self) -> &[SiteId] {
        &self.sites
    }

    /// Returns the heap of a site, by its index in [`Forest::sites`].
    pub(super) fn heap_at(&self, place: usize) -> HeapId {
        self.heaps[place]
    }

    /// Returns the range of the sites at a node itself.
    pub(super) fn places(&self, node: u32) -> Range<usize> {
        range(&self.first_site, node as usize)
    }

    /// Returns the range of the sites at a node and below it; its own come first.
    pub(super) fn places_under(&self, node: u32) -> Range<usize> {
        self.first_site[node as usize] as usize..self.first_site[self.end(node) as usize] as usize
    }

    /// Returns the sites at a node itself.
    pub fn own(&self, node: u32) -> &[SiteId] {
        &self.sites[self.places(node)]
    }

    /// Returns the sites at a node and below it.
    pub fn under(&self, node: u32) -> &[SiteId] {
        &self.sites[self.places_under(node)]
    }

    /// Returns the node of a site.
    pub fn node_of(&self, site: SiteId) -> u32 {
        self.node_of[site.0 as usize]
    }

    /// Returns the keys on the path from node 0 to a node, without that of node 0.
    pub fn way(&self, node: u32) -> Vec<NodeKey> {
        let up = |&node: &u32| Some(self.parent(node));
        let mut way: Vec<NodeKey> =
            std::iter::successors(Some(node), up).take_while(|&node| node != 0).map(|node| self.key(node)).collect();
        way.reverse();
        way
    }
}

/// Returns the function that a site's memory is attributed to: the innermost one that is not folded.
pub(in crate::query) fn innermost(functions: &Functions, site: SiteId, fold: Fold) -> Option<FunctionId> {
    functions.function(match fold {
        Fold::Nothing => functions.path(site),
        Fold::Allocator => functions.behind_run(site),
        Fold::Foreign => functions.responsible(site),
    })
}
