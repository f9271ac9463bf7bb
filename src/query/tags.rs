//! Names that rules give to stacks: a grouping of sites. The first rule that fits any frame of
//! a stack, from the top, names it, whatever is folded away.
//!
//! Cost: once for each state of the names and rules a look at each function for each rule, on
//! all processors, and a step a path.

use rayon::prelude::*;

use super::functions::{FunctionId, Functions, PathId};
use super::{Cancel, Cancelled, Mask};
use crate::model::{SiteId, Trace};
use crate::stack_rules::{NO_TAG, StackRules, TagId};

/// The tag of each site.
#[derive(Clone, Debug)]
pub struct Tags {
    /// By site.
    of_site: Vec<Option<TagId>>,
}

/// No rule fits; behind all that do.
const NO_RULE: u32 = u32::MAX;

/// Functions in one piece of work.
const PIECE: usize = 1 << 8;

impl Tags {
    /// By the rules that `functions` were made with; nothing may be folded there.
    pub fn of(trace: &Trace, functions: &Functions, cancel: &Cancel) -> Result<Self, Cancelled> {
        let (rules, sites) = (&**functions.rules(), trace.sites.len());
        if rules.tags().is_empty() {
            return Ok(Self { of_site: vec![None; sites] });
        }
        let mut of_function = vec![NO_RULE; functions.len()];
        of_function.par_chunks_mut(PIECE).enumerate().try_for_each(|(piece, out)| {
            cancel.check()?;
            for (at, rule) in (piece * PIECE..).zip(out) {
                let text = functions.name(FunctionId(at as u32)).text();
                *rule = text.and_then(|text| rules.tag_rule(&text)).unwrap_or(NO_RULE);
            }
            Ok(())
        })?;
        // Callers come first; the rule that stands first wins.
        let mut of_path = vec![NO_RULE; functions.paths()];
        for path in (1..functions.paths() as u32).map(PathId) {
            let own = functions.function(path).map_or(NO_RULE, |function| of_function[function.0 as usize]);
            of_path[path.0 as usize] = own.min(of_path[functions.parent(path).0 as usize]);
        }
        let tag = |site| match of_path[functions.path(SiteId(site)).0 as usize] {
            NO_RULE => None,
            rule => Some(rules.tag_of_rule(rule)),
        };
        Ok(Self { of_site: (0..sites as u32).map(tag).collect() })
    }

    /// The tag of a site, if a rule gives it one.
    pub fn of_site(&self, site: SiteId) -> Option<TagId> {
        self.of_site[site.0 as usize]
    }

    /// The sites with a tag of that name, [`NO_TAG`] for those without one; none if no rule
    /// gives the name (any more).
    pub fn mask(&self, trace: &Trace, rules: &StackRules, name: &str) -> Mask {
        let wanted = rules.tag_called(name);
        let is_known = wanted.is_some() || name == NO_TAG;
        Mask::of_sites(trace, |site, _| is_known && self.of_site(site) == wanted)
    }
}
