//! Choosing sites by what their types and frames are called. A site must meet all
//! conditions; what has no stack has no frames.
//!
//! Cost: for each text a look at the frames of all sites, on all processors; each frame is
//! spelled out once a worker.

use rayon::prelude::*;

use super::naming::{UNKNOWN_TYPE, allocated_type};
use super::{Cancel, Cancelled, Mask, Recorded};
use crate::model::{Module, Site, Trace};
use crate::pattern::Pattern;
use crate::symbols::Names;
use crate::tables::KeyedMap;

/// What types and frames must be called.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SiteChoice {
    /// The type has these names; `*` stands for anything.
    pub types: Vec<String>,
    /// Some frame contains these texts, in any case.
    pub frames: Vec<String>,
    /// No frame does.
    pub not_frames: Vec<String>,
}

/// Sites in one piece of work.
const PIECE: usize = 1 << 10;

impl SiteChoice {
    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.types.is_empty() && self.frames.is_empty() && self.not_frames.is_empty()
    }

    /// Takes the sites that do not fit out of a mask.
    pub fn narrow(&self, mask: &mut Mask, trace: &Trace, names: &Names, cancel: &Cancel) -> Result<(), Cancelled> {
        for pattern in self.types.iter().map(|text| Pattern::new(text)) {
            keep(mask, trace, cancel, |_: &mut (), site| {
                pattern.fits(allocated_type(trace, names, site).unwrap_or(UNKNOWN_TYPE))
            })?;
        }
        let texts = self.frames.iter().map(|text| (text, true)).chain(self.not_frames.iter().map(|text| (text, false)));
        for (text, wanted) in texts {
            let text = text.to_lowercase();
            keep(mask, trace, cancel, |seen, site| has_frame(trace, names, site, &text, seen) == wanted)?;
        }
        Ok(())
    }
}

/// Drops the sites that are not wanted; each piece of work has a memory of its own.
fn keep<S: Default>(
    mask: &mut Mask,
    trace: &Trace,
    cancel: &Cancel,
    wants: impl Fn(&mut S, &Site) -> bool + Sync,
) -> Result<(), Cancelled> {
    let sites = trace.sites.par_chunks(PIECE);
    mask.bits_mut().par_chunks_mut(PIECE).zip(sites).try_for_each(|(bits, sites)| {
        cancel.check()?;
        let mut seen = S::default();
        for (bits, site) in bits.iter_mut().zip(sites).filter(|(bits, _)| **bits != 0) {
            if !wants(&mut seen, site) {
                *bits = 0;
            }
        }
        Ok(())
    })
}

/// Whether frames contain the text: by module, address, and whether the frame is innermost.
type Seen = KeyedMap<(Option<*const Module>, u64, bool), bool>;

fn has_frame(trace: &Trace, names: &Names, site: &Site, text: &str, seen: &mut Seen) -> bool {
    trace.stacks.chain(site.stack).any(|node| {
        let is_last = node == site.stack;
        let frame = Recorded::of(trace, names, node, site.caller, site.first, is_last);
        let place = (frame.module().map(std::ptr::from_ref), frame.address(), is_last);
        *seen
            .entry(place)
            .or_insert_with(|| frame.shown(false).any(|level| frame.name(level).to_string().to_lowercase().contains(text)))
    })
}
