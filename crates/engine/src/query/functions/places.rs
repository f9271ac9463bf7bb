//! The place of each function: the line whose calls hold the largest part of the function's bytes, and the address of
//! its calls if it is one.
//!
//! Cost: the stack nodes with bytes, each once per process and layer, with a look at its frames.

use std::collections::BinaryHeap;

use super::paths::Functions;
use super::sums::FunctionSums;
use crate::model::{NodeId, ProcessId, Site, SiteId, Trace};
use crate::names::{FrameKind, Names};
use crate::query::{Cancel, Cancelled, FrameAddress, Mask, Recorded, SourceLine, Totals};
use crate::tables::KeyedMap;
use crate::units::Layer;

/// Bytes at a node of the stacks, and a site that determines its names.
#[derive(Clone, Copy)]
struct Held {
    /// Bytes of stacks that end at the node.
    own: u64,
    /// Bytes of stacks that continue below the node.
    below: u64,
    site: SiteId,
}

/// The requested functions of one process and layer: their indices in the list, by name.
type Asked = KeyedMap<String, usize>;

/// Sites with bytes in them.
type Holders = Vec<(SiteId, u64)>;

/// The place of a function.
#[derive(Clone, Default)]
pub(super) struct FunctionPlace {
    /// The line with most bytes; of equal ones the first by file and line.
    pub(super) source: Option<SourceLine>,
    /// The address of its calls, if all with bytes have the same.
    pub(super) address: Option<FrameAddress>,
}

/// Lines and addresses of a function, collected while nodes are visited.
#[derive(Clone, Default)]
struct Found {
    /// Bytes by line.
    lines: KeyedMap<SourceLine, u64>,
    address: Option<FrameAddress>,
    has_several: bool,
}

impl Found {
    fn add(&mut self, line: Option<SourceLine>, address: impl FnOnce() -> Option<FrameAddress>, size: u64) {
        if let Some(line) = line {
            let sum = self.lines.entry(line).or_default();
            *sum = sum.saturating_add(size);
        }
        if !self.has_several {
            let address = address();
            self.has_several = address.is_none() || self.address.as_ref().is_some_and(|known| Some(known) != address.as_ref());
            self.address = address;
        }
    }

    fn place(self) -> FunctionPlace {
        let largest = self.lines.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
        let address = if self.has_several { None } else { self.address };
        FunctionPlace { source: largest.map(|(line, _)| line), address }
    }
}

/// Returns the place of each requested function; without any names nothing is known of places.
pub(super) fn places(
    (trace, names): (&Trace, &Names),
    functions: &Functions,
    (totals, mask): (&Totals, &Mask),
    asked: &[FunctionSums],
    cancel: &Cancel,
) -> Result<Vec<FunctionPlace>, Cancelled> {
    if names.is_empty() {
        return Ok(vec![FunctionPlace::default(); asked.len()]);
    }
    let mut of: KeyedMap<(ProcessId, Layer), (Asked, Holders)> = KeyedMap::default();
    for (at, sums) in asked.iter().enumerate() {
        let (asked, _) = of.entry((sums.process, sums.layer)).or_default();
        asked.insert(functions.name(sums.function).to_string(), at);
    }
    for (id, buckets) in totals.sites() {
        let size = buckets.only(mask.classes(id)).numbers().size;
        let site = trace.site(id);
        if size > 0
            && site.stack != NodeId::ROOT
            && let Some((_, sites)) = of.get_mut(&(trace.process_of(site), trace.layer_of(site)))
        {
            sites.push((id, size));
        }
    }
    let mut found = vec![Found::default(); asked.len()];
    for (asked, sites) in of.into_values() {
        cancel.check()?;
        each_node(trace, &sites, |node, Held { own, below, site }| {
            let site = trace.site(site);
            for (kind, size) in [(FrameKind::Innermost, own), (FrameKind::Caller, below)] {
                if size > 0 {
                    add((trace, names), (node, kind, site), size, &asked, &mut found);
                }
            }
        });
    }
    Ok(found.into_iter().map(Found::place).collect())
}

/// Adds the bytes at a node, and its place, to its functions.
fn add(
    (trace, names): (&Trace, &Names),
    (node, kind, site): (NodeId, FrameKind, &Site),
    size: u64,
    asked: &Asked,
    found: &mut [Found],
) {
    let frame = Recorded::of_kind(trace, names, node, (site.caller, site.first), kind);
    for level in frame.shown(false) {
        if let Some(&at) = asked.get(&frame.name(level).to_string()) {
            found[at].add(SourceLine::of(&frame, level), || FrameAddress::of(&frame), size);
        }
    }
}

/// Calls `each` for the nodes of some sites' stacks, once each, children before parents.
fn each_node(trace: &Trace, sites: &[(SiteId, u64)], mut each: impl FnMut(NodeId, Held)) {
    let outline = trace.outline();
    let mut held: KeyedMap<NodeId, Held> = KeyedMap::default();
    let mut next = BinaryHeap::new();
    let add = |held: &mut KeyedMap<NodeId, Held>, next: &mut BinaryHeap<u32>, node: NodeId, (own, below): (u64, u64), site| {
        let known = held.entry(node).or_insert_with(|| {
            next.push(outline.place(node));
            Held { own: 0, below: 0, site }
        });
        known.own = known.own.saturating_add(own);
        known.below = known.below.saturating_add(below);
    };
    for &(site, size) in sites {
        add(&mut held, &mut next, trace.site(site).stack, (size, 0), site);
    }
    while let Some(place) = next.pop() {
        let node = outline.node(place);
        let Some(found) = held.remove(&node) else { continue };
        each(node, found);
        let around = trace.stacks.parent(node);
        if around != NodeId::ROOT {
            add(&mut held, &mut next, around, (0, found.own.saturating_add(found.below)), found.site);
        }
    }
}
