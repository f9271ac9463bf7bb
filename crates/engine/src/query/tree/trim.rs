//! Stacks without their folded innermost frames: the allocator's run, and with some settings also the libraries behind
//! it. The rest starts at the code that wanted the memory. This works without names, since modules of Windows determine
//! the role of their frames.

use rayon::prelude::*;

use crate::model::{HeapId, SiteId, Trace};
use crate::names::{FrameKind, Names};
use crate::query::callers::callers;
use crate::query::{Cancel, Cancelled, Fold};

/// The sites in the order of the frames that are left. It depends only on a trace, names and the kind of folding.
///
/// Cost: the callers of all sites ([`callers`]), and a sort of each heap's sites; 14 bytes per site.
#[derive(Clone, Debug)]
pub struct Trimmed {
    /// Sites by heap, as in the trace's outline; then by place.
    sites: Box<[SiteId]>,
    /// For each of `sites` the place of the innermost frame that is left.
    places: Box<[u32]>,
    /// For each site the number of innermost frames left out.
    left_out: Box<[u32]>,
    /// For each site the level of the innermost function that is left, at the innermost address that is left.
    level: Box<[u16]>,
}

impl Trimmed {
    /// Computes the order from all stacks.
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
            // Frames that are left come before their callees.
            standing[outline.heap(heap)].par_sort_by_key(|(place, _)| *place);
        }
        let (places, sites): (Vec<u32>, Vec<SiteId>) = standing.into_iter().unzip();
        Ok(Self { sites: sites.into(), places: places.into(), left_out, level })
    }

    /// Returns the sites by heap, in the ranges of the trace's outline; then by place.
    pub(super) fn sites(&self) -> &[SiteId] {
        &self.sites
    }

    /// Returns the place of the innermost frame left, for each of [`Trimmed::sites`].
    pub(super) fn places(&self) -> &[u32] {
        &self.places
    }

    /// Returns how many of the innermost frames of a site's stack are left out.
    pub(super) fn left_out(&self, site: SiteId) -> u32 {
        self.left_out[site.0 as usize]
    }

    /// Returns the level of the innermost function that is left, at the innermost address that is left of a site's
    /// stack.
    pub(super) fn level(&self, site: SiteId) -> u16 {
        self.level[site.0 as usize]
    }
}
