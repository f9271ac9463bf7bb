//! Parts of commit by the stacks that committed it, for ranges that nothing else tells.
//!
//! Cost: the [owner](crate::query::owners) of each site, on all workers; with tags in the user's rules those of all sites, too.

use rayon::prelude::*;

use super::{HEAPS, PartKind, THREAD_STACKS};
use crate::model::{SiteId, Trace};
use crate::names::Names;
use crate::query::owners::OwnerFinder;
use crate::query::{Cancel, Cancelled, Fold, Functions, NO_STACK_KEY, SiteNames, tags};
use crate::stack_rules::NO_TAG;
use crate::tables::KeyedMap;

/// Number of sites in one piece of work.
const PIECE: usize = 1 << 8;

/// Returns kind and name of the parts of some sites.
pub(super) fn site_parts(
    trace: &Trace,
    names: &Names,
    sites: &[SiteId],
    cancel: &Cancel,
) -> Result<KeyedMap<SiteId, (PartKind, String)>, Cancelled> {
    let has_tags = !sites.is_empty() && !names.rules().tags().is_empty();
    let all_tags = || tags(&Functions::of(trace, names, Fold::Nothing, cancel)?, cancel);
    let tags: Option<SiteNames> = has_tags.then(all_tags).transpose()?;
    let tag = |site: SiteId| tags.as_ref().map(|tags| &**tags.name(tags.of_site(site))).filter(|tag| *tag != NO_TAG);
    let of_piece = |sites: &[SiteId]| {
        cancel.check()?;
        let mut finder = OwnerFinder::new(trace, names);
        let part = |&site: &SiteId| match tag(site) {
            Some(tag) => (site, (PartKind::Tag, tag.to_owned())),
            None => (site, owner_part(finder.owner(trace.site(site)))),
        };
        Ok(sites.iter().map(part).collect())
    };
    let pieces: Result<Vec<Vec<_>>, Cancelled> = sites.par_chunks(PIECE).map(of_piece).collect();
    Ok(pieces?.into_iter().flatten().collect())
}

/// Returns the part of an owner by stack.
fn owner_part(owner: &str) -> (PartKind, String) {
    let kind = match owner {
        HEAPS => PartKind::Heap,
        THREAD_STACKS => PartKind::ThreadStacks,
        NO_STACK_KEY => PartKind::Untagged,
        _ => PartKind::Tag,
    };
    (kind, owner.to_owned())
}
