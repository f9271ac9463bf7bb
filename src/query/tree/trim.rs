//! Stacks without their innermost frames: the allocator's run, and for some also the libraries behind it. What is left
//! begins where the memory was wanted. It needs no names, for modules of the system tell what their frames are for.

use rayon::prelude::*;

use crate::model::{HeapId, SiteId, Trace};
use crate::query::callers::callers;
use crate::query::{Cancel, Cancelled, Fold};
use crate::symbols::{FrameKind, Names};

/// The sites as the frames that are left order them. It follows from a trace and names.
///
/// Cost: the callers of all sites ([`callers`]), and an order of each heap's; 14 bytes a site.
#[derive(Clone, Debug)]
pub struct Trimmed {
    /// By heap, as in the trace's outline; then by place.
    sites: Box<[SiteId]>,
    /// Of the frames that are left of `sites`.
    places: Box<[u32]>,
    /// How many frames are not, by site.
    left_out: Box<[u32]>,
    /// The innermost function that is left at the innermost address that is, by site.
    level: Box<[u16]>,
}

impl Trimmed {
    /// Looks at all stacks.
    pub fn of(trace: &Trace, names: &Names, fold: Fold, cancel: &Cancel) -> Result<Self, Cancelled> {
        let outline = trace.outline();
        let sites = outline.sites().par_iter().map(|&site| trace.site(site));
        let callers = callers(trace, sites, names, FrameKind::Innermost, cancel)?;
        let mut left_out = vec![0; trace.sites.len()].into_boxed_slice();
        let mut level = vec![0; trace.sites.len()].into_boxed_slice();
        let standing = outline.sites().iter().zip(callers).map(|(&site, caller)| {
            let innermost = fold.innermost(trace.site(site), &caller);
            let inside = trace.stacks.chain(trace.site(site).stack).take_while(|&node| node != innermost.node);
            left_out[site.0 as usize] = inside.count() as u32;
            level[site.0 as usize] = innermost.level;
            (outline.place(innermost.node), site)
        });
        let mut standing: Vec<(u32, SiteId)> = standing.collect();
        for heap in (0..trace.heaps.len() as u32).map(HeapId) {
            // A frame that is left stands before what it called.
            standing[outline.heap(heap)].par_sort_by_key(|(place, _)| *place);
        }
        let (places, sites): (Vec<u32>, Vec<SiteId>) = standing.into_iter().unzip();
        Ok(Self { sites: sites.into(), places: places.into(), left_out, level })
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

    /// The innermost function that is left at the innermost address of a site's stack that is.
    pub(super) fn level(&self, site: SiteId) -> u16 {
        self.level[site.0 as usize]
    }
}
