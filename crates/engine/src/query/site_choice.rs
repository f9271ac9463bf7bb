//! Selection of sites by the names of their types and frames. A site must match all conditions; a site without a stack
//! has no frames.
//!
//! Cost: for each text a look at the frames of all sites, on all CPUs; each frame is formatted once per piece of work.

use rayon::prelude::*;

use super::naming::{UNKNOWN_TYPE, allocated_type};
use super::{Cancel, Cancelled, Mask, Recorded};
use crate::model::{Module, Site, Trace};
use crate::names::Names;
use crate::pattern::Pattern;
use crate::tables::KeyedMap;

/// Conditions on the names of types and frames.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SiteChoice {
    /// Patterns that the type must all match; `*` is a wildcard.
    pub types: Vec<String>,
    /// Texts that must each occur in some frame, in any case.
    pub frames: Vec<String>,
    /// Texts that must not occur in any frame, in any case.
    pub not_frames: Vec<String>,
}

/// Number of sites in one piece of work.
const PIECE: usize = 1 << 10;

impl SiteChoice {
    /// Returns whether all sites are selected.
    pub fn is_all(&self) -> bool {
        self.types.is_empty() && self.frames.is_empty() && self.not_frames.is_empty()
    }

    /// Returns whether frames that are known as text match; types are not looked at.
    pub(super) fn fits(&self, frames: &[String]) -> bool {
        let has = |text: &String| frames.iter().any(|frame| frame.to_lowercase().contains(&text.to_lowercase()));
        self.frames.iter().all(has) && !self.not_frames.iter().any(has)
    }

    /// Removes the sites that do not match from a mask.
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

/// Drops the sites that `wants` rejects; each piece of work has a state of its own.
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

/// Whether a frame contains the text, by module, address, and whether the frame is innermost.
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
