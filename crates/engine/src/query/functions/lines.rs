//! The source line of each function: the line whose calls hold the largest part of the function's bytes.
//!
//! Cost: the stack nodes with bytes, each once per process and layer, with a look at its frames.

use std::collections::BinaryHeap;

use super::paths::Functions;
use super::sums::FunctionSums;
use crate::model::{NodeId, ProcessId, Site, SiteId, Trace};
use crate::names::{FrameKind, Names};
use crate::query::{Cancel, Cancelled, Mask, Recorded, SourceLine, Totals};
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

/// Returns for each requested function the line with most bytes; of equal ones the first by file and line.
pub(super) fn lines(
    (trace, names): (&Trace, &Names),
    functions: &Functions,
    (totals, mask): (&Totals, &Mask),
    asked: &[FunctionSums],
    cancel: &Cancel,
) -> Result<Vec<Option<SourceLine>>, Cancelled> {
    if names.is_empty() {
        return Ok(vec![None; asked.len()]);
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
    let mut best: Vec<KeyedMap<SourceLine, u64>> = vec![KeyedMap::default(); asked.len()];
    for (asked, sites) in of.into_values() {
        cancel.check()?;
        each_node(trace, &sites, |node, Held { own, below, site }| {
            let site = trace.site(site);
            for (kind, size) in [(FrameKind::Innermost, own), (FrameKind::Caller, below)] {
                if size > 0 {
                    add((trace, names), (node, kind, site), size, &asked, &mut best);
                }
            }
        });
    }
    let largest = |lines: KeyedMap<SourceLine, u64>| {
        let lines: Vec<(SourceLine, u64)> = lines.into_iter().collect();
        lines.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0))).map(|(line, _)| line)
    };
    Ok(best.into_iter().map(largest).collect())
}

/// Adds the bytes at a node to the lines of its functions.
fn add(
    (trace, names): (&Trace, &Names),
    (node, kind, site): (NodeId, FrameKind, &Site),
    size: u64,
    asked: &Asked,
    sums: &mut [KeyedMap<SourceLine, u64>],
) {
    let frame = Recorded::of_kind(trace, names, node, (site.caller, site.first), kind);
    for level in frame.shown(false) {
        if let Some(line) = SourceLine::of(&frame, level)
            && let Some(&at) = asked.get(&frame.name(level).to_string())
        {
            let sum = sums[at].entry(line).or_default();
            *sum = sum.saturating_add(size);
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
