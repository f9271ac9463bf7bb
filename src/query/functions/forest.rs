//! Trees over sites, all of one form: nodes are numbered in preorder, and each site is at
//! one node, so that what is under a node is a range of nodes and a range of sites.
//!
//! Recursive calls are nodes of their own. Sums are of one layer at a time.
//!
//! Cost: some passes over nodes and sites; 20 bytes a node, 12 a site. An inverted tree has
//! up to as many nodes as all stacks have functions; it is bounded, and stacks end early
//! where it is full.

use std::ops::Range;

use super::paths::{Functions, PathId};
use super::table::{FunctionId, ModuleName};
use super::trie::Trie;
use crate::model::preorder::{Children, Preorder, distribute, range};
use crate::model::{HeapId, ProcessId, SiteId};
use crate::query::{Cancel, Cancelled, Fold, LifetimeBucket, SizeBucket};
use crate::tables::KeyedMap;
use crate::units::Tid;

/// What a node stands for, under the one above it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NodeKey {
    /// Everything: node 0.
    All,
    /// No stack was recorded.
    NoStack,
    /// A function.
    Function(FunctionId),
    /// A module.
    Module(ModuleName),
    /// No module lies there.
    NoModule,
    /// A heap, a tracker, or what a process has committed.
    Heap(HeapId),
    /// A type, owner or tag, by its number in [`SiteLabels`](super::super::SiteLabels).
    Label(u32),
    /// A thread of a process.
    Thread(ProcessId, Tid),
    /// Sizes.
    Size(SizeBucket),
    /// Lifetimes.
    Lifetime(LifetimeBucket),
}

/// A tree.
#[derive(Clone, Debug)]
pub struct Forest {
    key: Vec<NodeKey>,
    parent: Vec<u32>,
    end: Vec<u32>,
    children: Children,
    /// In the order of their nodes.
    sites: Vec<SiteId>,
    /// In the same order.
    heaps: Vec<HeapId>,
    /// By node where its sites begin, and the end of the last.
    first_site: Vec<u32>,
    /// By site.
    node_of: Vec<u32>,
}

/// Nodes of an inverted tree at most.
const MAX_NODES: usize = 1 << 24;

impl Forest {
    /// Callers outside: each site at the node of its innermost function.
    pub fn top_down(functions: &Functions) -> Self {
        let parent: Vec<u32> = (0..functions.paths() as u32).map(|path| functions.parent(PathId(path)).0).collect();
        let key = (0..functions.paths() as u32).map(|path| match functions.function(PathId(path)) {
            Some(function) => NodeKey::Function(function),
            None => NodeKey::All,
        });
        let at = functions.sites().map(|site| functions.path(site).0).collect();
        Self::of(functions, parent, key.collect(), at)
    }

    /// Innermost functions outside: each site at the node of its whole stack, reversed.
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

    /// One level: by the responsible caller.
    pub fn by_function(functions: &Functions) -> Self {
        Self::flat(functions, |site| functions.function(functions.responsible(site)).map_or(NodeKey::NoStack, NodeKey::Function))
    }

    /// One level: by the responsible module.
    pub fn by_module(functions: &Functions) -> Self {
        Self::flat(functions, |site| match functions.function(functions.responsible(site)) {
            None => NodeKey::NoStack,
            Some(function) => functions.module(function).map_or(NodeKey::NoModule, NodeKey::Module),
        })
    }

    /// One level of any groups of sites.
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

    /// Of nodes whose parents have smaller numbers, and the node of each site.
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

    /// Number of nodes; node 0 is everything.
    pub fn len(&self) -> usize {
        self.key.len()
    }

    /// Whether nothing is under node 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// What a node stands for.
    pub fn key(&self, node: u32) -> NodeKey {
        self.key[node as usize]
    }

    /// What it stands in; node 0 for itself.
    pub fn parent(&self, node: u32) -> u32 {
        self.parent[node as usize]
    }

    /// Behind the last node under it.
    pub fn end(&self, node: u32) -> u32 {
        self.end[node as usize]
    }

    /// The nodes directly under it.
    pub fn children(&self, node: u32) -> &[u32] {
        self.children.under(node)
    }

    /// All sites, in the order of their nodes.
    pub fn sites(&self) -> &[SiteId] {
        &self.sites
    }

    /// The heap of a site, by place in [`Forest::sites`].
    pub(super) fn heap_at(&self, place: usize) -> HeapId {
        self.heaps[place]
    }

    /// Where the sites at a node itself stand.
    pub(super) fn places(&self, node: u32) -> Range<usize> {
        range(&self.first_site, node as usize)
    }

    /// Where those at a node and all under it stand; its own come first.
    pub(super) fn places_under(&self, node: u32) -> Range<usize> {
        self.first_site[node as usize] as usize..self.first_site[self.end(node) as usize] as usize
    }

    /// The sites at a node itself.
    pub fn own(&self, node: u32) -> &[SiteId] {
        &self.sites[self.places(node)]
    }

    /// The sites at a node and all under it.
    pub fn under(&self, node: u32) -> &[SiteId] {
        &self.sites[self.places_under(node)]
    }

    /// The node of a site.
    pub fn node_of(&self, site: SiteId) -> u32 {
        self.node_of[site.0 as usize]
    }

    /// The keys on the way from node 0 to a node, without that of node 0.
    pub fn way(&self, node: u32) -> Vec<NodeKey> {
        let up = |&node: &u32| Some(self.parent(node));
        let mut way: Vec<NodeKey> =
            std::iter::successors(Some(node), up).take_while(|&node| node != 0).map(|node| self.key(node)).collect();
        way.reverse();
        way
    }
}

/// The function that a site's memory is accounted to: the innermost that is left.
pub(in crate::query) fn innermost(functions: &Functions, site: SiteId, fold: Fold) -> Option<FunctionId> {
    functions.function(match fold {
        Fold::Nothing => functions.path(site),
        Fold::Allocator => functions.behind_run(site),
        Fold::Foreign => functions.responsible(site),
    })
}
