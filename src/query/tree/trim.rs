//! Stacks without their innermost frames that are folded: what is left of them is where the
//! memory was wanted. It needs no names, for modules of the system tell what their frames are for.

use rayon::prelude::*;

use super::PIECE;
use crate::model::{HeapId, NodeId, ProcessId, Site, SiteId, Trace};
use crate::query::{Cancel, Cancelled, Recorded};
use crate::symbols::{FrameKind, Names};
use crate::tables::KeyedMap;
use crate::units::Interval;

/// The sites as the frames that are left order them. It follows from a trace and names.
///
/// Cost: a pass over the sites with a look at each address of a process, and an order of each
/// heap's; 12 bytes a site.
#[derive(Clone, Debug)]
pub struct Trimmed {
    /// By heap, as in the trace's outline; then by place.
    sites: Box<[SiteId]>,
    /// Of the frames that are left of `sites`.
    places: Box<[u32]>,
    /// How many frames are not, by site.
    left_out: Box<[u32]>,
}

impl Trimmed {
    /// Looks at all stacks.
    pub fn of(trace: &Trace, names: &Names, cancel: &Cancel) -> Result<Self, Cancelled> {
        let outline = trace.outline();
        let of_piece = |sites: &[SiteId]| {
            cancel.check()?;
            let mut looks = Looks { trace, names, known: KeyedMap::default() };
            Ok(sites.iter().map(|&site| looks.innermost(trace.site(site))).collect())
        };
        let ends: Result<Vec<Vec<(NodeId, u32)>>, Cancelled> = outline.sites().par_chunks(PIECE).map(of_piece).collect();
        let mut left_out = vec![0; trace.sites.len()].into_boxed_slice();
        let ends = ends?.into_iter().flatten();
        let standing = outline.sites().iter().zip(ends).map(|(&site, (node, out))| {
            left_out[site.0 as usize] = out;
            (outline.place(node), site)
        });
        let mut standing: Vec<(u32, SiteId)> = standing.collect();
        for heap in (0..trace.heaps.len() as u32).map(HeapId) {
            // A frame that is left stands before what it called.
            standing[outline.heap(heap)].par_sort_by_key(|(place, _)| *place);
        }
        let (places, sites): (Vec<u32>, Vec<SiteId>) = standing.into_iter().unzip();
        Ok(Self { sites: sites.into(), places: places.into(), left_out })
    }

    /// The sites by heap, where the trace's outline has those; then by place.
    pub(super) fn sites(&self) -> &[SiteId] {
        &self.sites
    }

    /// Places of the frames that are left of [`Trimmed::sites`].
    pub(super) fn places(&self) -> &[u32] {
        &self.places
    }

    /// How many of the innermost frames of a site's stack are not left.
    pub(super) fn left_out(&self, site: SiteId) -> u32 {
        self.left_out[site.0 as usize]
    }
}

/// What was seen at an address: how long that holds, and whether it is left out.
type Look = (Interval, bool);

/// Looks at stacks; remembers what it saw.
struct Looks<'a> {
    trace: &'a Trace,
    names: &'a Names,
    /// By caller and address, innermost in all stacks or not.
    known: KeyedMap<(ProcessId, u64, bool), Look>,
}

impl Looks<'_> {
    /// The innermost frame of a site's stack that is left, and how many inside it are not.
    fn innermost(&mut self, site: &Site) -> (NodeId, u32) {
        let (mut node, mut left_out) = (site.stack, 0);
        while node != NodeId::ROOT && self.is_left_out(node, site) {
            node = self.trace.stacks.parent(node);
            left_out += 1;
        }
        (node, left_out)
    }

    fn is_left_out(&mut self, node: NodeId, site: &Site) -> bool {
        let Self { trace, names, known } = self;
        if trace.stacks.parent(node) == NodeId::ROOT {
            return false; // something has to stand for the stack
        }
        let outline = trace.outline();
        let is_innermost = outline.children(outline.place(node)).is_empty();
        let (caller, at, address) = (site.caller, site.first, trace.stacks.address(node));
        let key = (caller, address, is_innermost);
        if let Some(&(during, is_left_out)) = known.get(&key)
            && (during.from..during.to).contains(&at)
        {
            return is_left_out;
        }
        let mapped = trace.mapped_at(caller, address, at);
        let is_left_out = Recorded::at(names, mapped, address, FrameKind::in_event(is_innermost), false).ends_folded();
        known.insert(key, (mapped.during, is_left_out));
        is_left_out
    }
}
