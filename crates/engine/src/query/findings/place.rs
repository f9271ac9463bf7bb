//! Places in the code: responsible callers as nodes of the stack trie, and the search for the place that holds most of
//! an amount.
//!
//! Cost: the callers of the sites, then a sort. No recursion: stacks can be thousands deep.

use std::ops::Range;

use rayon::prelude::*;

use crate::model::{NodeId, Site, SiteId, Trace};
use crate::names::{FrameKind, Names};
use crate::query::callers::{CallerFinder, CallerFrame};
use crate::query::{FrameAddress, Recorded, SourceLine};
use crate::stack_rules::Role;

/// A place with its printed frames.
#[derive(Default)]
pub(in crate::query) struct Named {
    /// Frames down to the place, as they are printed, outermost first.
    pub(in crate::query) stack: Vec<String>,
    /// Their addresses, where they are in modules.
    pub(in crate::query) addresses: Vec<Option<FrameAddress>>,
    /// Source line of the place.
    pub(in crate::query) source: Option<SourceLine>,
}

/// Returns the responsible caller at or around a node of a site's stack, and the frames down to it. At the site's own
/// responsible caller, that is the result; at a node where several stacks part, it is the first frame outwards that is
/// neither the allocator's nor a library's.
pub(in crate::query) fn named(trace: &Trace, names: &Names, node: NodeId, site: &Site) -> Named {
    let recorded = |node| Recorded::of(trace, names, node, site.caller, site.first, node == site.stack);
    let own = CallerFinder::new(trace, names, FrameKind::Innermost).caller(site).responsible;
    let place = if own.node == node { Some(own) } else { first_own(trace, node, recorded) };
    let Some(place) = place else { return Named::default() };
    let levels = |n: NodeId| {
        let shown = recorded(n).shown(false);
        shown.filter(move |level| n != place.node || *level <= place.level).map(move |level| (n, level))
    };
    let frames = trace.stacks.path(place.node).into_iter().flat_map(levels);
    let (stack, addresses) =
        frames.map(|(n, level)| (recorded(n).name(level).to_string(), FrameAddress::of(&recorded(n)))).unzip();
    Named { stack, addresses, source: SourceLine::of(&recorded(place.node), place.level) }
}

/// Returns the first frame from a node outwards that is neither the allocator's nor a library's, else the node's
/// innermost.
fn first_own<'a>(trace: &Trace, node: NodeId, recorded: impl Fn(NodeId) -> Recorded<'a>) -> Option<CallerFrame> {
    let innermost_first = |node| {
        let mut levels: Vec<u16> = recorded(node).shown(false).collect();
        levels.reverse();
        levels.into_iter().map(move |level| CallerFrame { node, level })
    };
    let is_own = |frame: &CallerFrame| {
        let role = recorded(frame.node).role(frame.level);
        !role.has(Role::ALLOCATOR) && !role.has(Role::LIBRARY)
    };
    let all = || trace.stacks.chain(node).flat_map(innermost_first);
    all().find(is_own).or_else(|| all().next())
}

/// The places of one source: its responsible callers, and the nodes at which the stacks to them part. In preorder; the
/// first place is the whole source.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) list: Vec<CodePlace>,
    /// Sites sorted by the place of their node, so that those below a place are adjacent.
    pub(super) sites: Vec<SiteId>,
}

/// A place in the code.
#[derive(Clone, Debug)]
pub(super) struct CodePlace {
    pub(super) node: NodeId,
    /// Index of the parent in the list; `None` for the first place.
    pub(super) parent: Option<usize>,
    /// The place's own sites and those below it, in [`Places::sites`].
    pub(super) sites: Range<usize>,
    /// The place's own sites, which come first in `sites`.
    pub(super) own: Range<usize>,
}

impl Places {
    /// Builds the places from sites and their responsible callers' nodes.
    pub(super) fn new(trace: &Trace, folded: &[(NodeId, SiteId)]) -> Self {
        let outline = trace.outline();
        let mut leaves: Vec<(u32, SiteId)> = folded.iter().map(|&(node, site)| (outline.place(node), site)).collect();
        leaves.sort_unstable();
        let mut at: Vec<u32> = leaves.iter().map(|leaf| leaf.0).collect();
        at.dedup();
        let forks: Vec<u32> = at.windows(2).map(|pair| fork(trace, pair[0], pair[1])).collect();
        at.extend(forks);
        at.push(0);
        at.sort_unstable();
        at.dedup();
        let mut list: Vec<CodePlace> = Vec::with_capacity(at.len());
        let mut open: Vec<(usize, u32)> = Vec::new();
        for place in at {
            while open.last().is_some_and(|&(_, end)| end <= place) {
                open.pop();
            }
            let end = outline.end(place);
            let behind = |p: u32| leaves.partition_point(|leaf| leaf.0 < p);
            let sites = behind(place)..behind(end);
            let own = sites.start..behind(place + 1);
            list.push(CodePlace { node: outline.node(place), parent: open.last().map(|&(i, _)| i), sites, own });
            open.push((list.len() - 1, end));
        }
        Self { list, sites: leaves.into_iter().map(|leaf| leaf.1).collect() }
    }

    /// Returns the sites of a place and below it.
    pub(super) fn under(&self, place: usize) -> &[SiteId] {
        &self.sites[self.list[place].sites.clone()]
    }

    /// Returns the sites of a place, without those below it.
    pub(super) fn own(&self, place: usize) -> &[SiteId] {
        &self.sites[self.list[place].own.clone()]
    }

    /// Returns whether a place has all sites below it and none of its own, so that it identifies nothing in particular.
    pub(super) fn is_whole(&self, place: usize) -> bool {
        let range = &self.list[place].sites;
        range.len() == self.sites.len() && self.list[place].own.is_empty() && range.len() > 1
    }

    /// Returns the deepest place that holds most of an amount. `amounts` has one entry for each of [`Places::sites`].
    pub(super) fn holder(&self, amounts: &[f64]) -> usize {
        const MOST: f64 = 0.6;
        let sums = self.sums(amounts);
        let mut holder = 0;
        // In preorder, descendants come later.
        for (i, place) in self.list.iter().enumerate() {
            if place.parent == Some(holder) && sums[i] >= MOST * sums[0] {
                holder = i;
            }
        }
        holder
    }

    /// Returns the amount of each place, including everything below it.
    pub(super) fn sums(&self, amounts: &[f64]) -> Vec<f64> {
        let mut before = vec![0.0; amounts.len() + 1];
        for (i, amount) in amounts.iter().enumerate() {
            before[i + 1] = before[i] + amount;
        }
        self.list.iter().map(|place| before[place.sites.end] - before[place.sites.start]).collect()
    }

    /// Returns the places with an amount of their own, not counting what is below them.
    pub(super) fn own_amounts(&self, amounts: &[f64]) -> Vec<(usize, f64)> {
        let own = self.list.iter().map(|place| amounts[place.own.clone()].iter().sum::<f64>());
        own.enumerate().filter(|(_, amount)| *amount > 0.0).collect()
    }

    /// Returns the deepest places for which `measure` has a value. A place replaces those below it if they have less
    /// than half of its value together, or if they are more than four. All are measured, on all workers.
    pub(super) fn choose(&self, measure: impl Fn(usize) -> Option<f64> + Sync) -> Vec<usize> {
        const EXPLAINED: f64 = 0.5;
        const FEW: usize = 4;
        let measured: Vec<Option<f64>> = (0..self.list.len()).into_par_iter().map(&measure).collect();
        let mut below: Vec<Vec<(usize, f64)>> = vec![Vec::new(); self.list.len()];
        for i in (0..self.list.len()).rev() {
            let mut found = std::mem::take(&mut below[i]);
            let explained: f64 = found.iter().map(|(_, amount)| amount).sum();
            if let Some(amount) = measured[i]
                && (explained < EXPLAINED * amount || found.len() > FEW)
            {
                found = vec![(i, amount)];
            }
            match self.list[i].parent {
                Some(parent) => below[parent].append(&mut found),
                None => return found.into_iter().map(|(place, _)| place).collect(),
            }
        }
        Vec::new()
    }
}

/// Returns the place in the outline of the innermost common ancestor.
fn fork(trace: &Trace, a: u32, b: u32) -> u32 {
    let outline = trace.outline();
    let mut node = outline.node(a);
    while node != NodeId::ROOT && outline.end(outline.place(node)) <= b {
        node = trace.stacks.parent(node);
    }
    outline.place(node)
}
