//! Owners of memory: the component that keeps it, whichever function allocated it. A grouping of sites, like types.
//!
//! The owner of commit follows from the stack (`stack_rules/owners.toml`): from the innermost frame outwards, up to the
//! responsible caller, the first frame that a rule matches; if none does, the responsible module. Heaps and trackers
//! own their blocks.
//!
//! Cost: once per state of the names a look at the frames of the sites of commit, on all CPUs.

use rayon::prelude::*;

use super::callers::CallerFinder;
use super::naming::NO_STACK_KEY;
use super::site_names::SiteNames;
use super::texts::Texts;
use super::{Cancel, Cancelled, Recorded};
use crate::model::{NodeId, Site, Trace};
use crate::names::{FrameKind, Names};
use crate::stack_rules::owner_rules;
use crate::units::Layer;

/// The owner of blocks in Windows heaps, and of the commit of these heaps.
const HEAP: &str = "Windows heap";
/// The owner of blocks reported by trackers.
const TRACKER: &str = "Trackers";

/// Number of sites in one piece of work.
const PIECE: usize = 1 << 12;

/// Returns the owners of all sites, as far as names are known.
pub fn owners(trace: &Trace, names: &Names, cancel: &Cancel) -> Result<SiteNames, Cancelled> {
    let of_piece = |sites: &[Site]| {
        cancel.check()?;
        let mut finder = OwnerFinder::new(trace, names);
        Ok(sites.iter().map(|site| finder.owner(site)).collect())
    };
    let pieces: Result<Vec<Vec<&str>>, Cancelled> = trace.sites.par_chunks(PIECE).map(of_piece).collect();
    let mut texts = Texts::default();
    let of_site = pieces?.into_iter().flatten().map(|owner| texts.intern(owner)).collect();
    Ok(SiteNames::new(of_site, texts))
}

/// Finds the owners of one site after another.
pub(super) struct OwnerFinder<'a> {
    trace: &'a Trace,
    names: &'a Names,
    callers: CallerFinder<'a>,
}

impl<'a> OwnerFinder<'a> {
    pub(super) fn new(trace: &'a Trace, names: &'a Names) -> Self {
        Self { trace, names, callers: CallerFinder::new(trace, names, FrameKind::Innermost) }
    }

    /// Returns the owner of a site.
    pub(super) fn owner(&mut self, site: &Site) -> &'a str {
        match self.trace.layer_of(site) {
            Layer::Heap => HEAP,
            Layer::Tracker => TRACKER,
            Layer::Commit if site.stack == NodeId::ROOT => NO_STACK_KEY,
            Layer::Commit => self.owner_of_commit(site),
        }
    }

    fn owner_of_commit(&mut self, site: &Site) -> &'a str {
        let Self { trace, names, callers } = self;
        let (trace, names, rules) = (*trace, *names, owner_rules());
        let responsible = callers.caller(site).responsible;
        for node in trace.stacks.chain(site.stack) {
            let recorded = Recorded::of(trace, names, node, site.caller, site.first, node == site.stack);
            let mut levels: Vec<u16> = recorded.shown(false).collect();
            levels.reverse();
            for level in levels {
                let rule = recorded.name(level).text().and_then(|text| rules.tag_rule(&text));
                if let Some(rule) = rule {
                    return &rules.tags()[rule as usize].name;
                }
                if node == responsible.node && level <= responsible.level {
                    return recorded.name(level).module().unwrap_or(UNKNOWN_MODULE);
                }
            }
        }
        UNKNOWN_MODULE
    }
}

/// The owner of commit whose responsible caller is outside all modules.
const UNKNOWN_MODULE: &str = "(no module)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack_rules::FrameText;

    #[test]
    fn the_list_of_owners_is_read_whole_and_knows_the_owners_of_heaps_and_trackers() {
        let rules = owner_rules();
        let names: Vec<&str> = rules.names().collect();
        let all = [HEAP, "Thread stacks", "Image copies", "V8", "PartitionAlloc", "CLR", "Graphics", TRACKER];
        assert_eq!(names, all);
    }

    #[test]
    fn frames_of_the_lists_subjects_have_their_owner_and_the_users_words_none() {
        let rules = owner_rules();
        let owner = |frame: &FrameText| rules.tag_rule(frame).map(|rule| rules.tags()[rule as usize].name.as_str());
        let named = |module, function| owner(&FrameText::named(module, function));
        assert_eq!(named("ntdll.dll", "RtlpFindAndCommitPages"), Some(HEAP));
        assert_eq!(named("ntoskrnl.exe", "RtlCreateUserStack"), Some("Thread stacks"));
        assert_eq!(named("node.exe", "v8::base::OS::Allocate"), Some("V8"));
        assert_eq!(named("chrome.dll", "partition_alloc::internal::SystemAllocPages"), Some("PartitionAlloc"));
        assert_eq!(owner(&FrameText::unnamed("coreclr.dll", 0x10)), Some("CLR"));
        assert_eq!(owner(&FrameText::unnamed("nvwgf2umx.dll", 0x10)), Some("Graphics"));
        for own in ["CreateFiberScheduler", "Level::CommitHeap", "Game::AllocateHeap", "Texture::Load", "my::v8::Engine"] {
            assert_eq!(named("game.exe", own), None, "{own}");
        }
        assert_eq!(owner(&FrameText::unnamed("ntdll.dll", 0x10)), None);
    }
}
