//! Doubts about modules without names, for answers that depend on names: an unknown type, a frame that no search text
//! finds, a finding that stops short of the real function.
//!
//! A module is a doubt if its frames decide more than 1 % of the bytes of the query. Modules of Windows do not count:
//! few users have their PDBs, and the relevant frames are behind them.
//!
//! Cost: if any module lacks names, the totals of the interval and a look at the frames of each site.

use std::ops::Range;

use super::callers::CallerFinder;
use super::{Cancel, Cancelled, Index, Mask, totals};
use crate::format;
use crate::model::{NodeId, ProcessId, Site, Trace};
use crate::names::{FrameKind, ModuleKey, Names};
use crate::stack_rules::is_of_windows;
use crate::tables::KeyedMap;
use crate::units::Interval;

/// Largest number of modules considered: those with most frames.
const LOOKED_AT: usize = 64;
/// Largest number of modules reported.
const TOLD: usize = 3;
/// Percentage of the bytes that a module's frames may decide without being a doubt.
const TOO_FEW: u128 = 1;

/// Modules that contain frames but have no names.
#[derive(Clone, Debug, Default)]
pub struct Unnamed {
    modules: Vec<UnnamedModule>,
    /// The known names of other modules.
    names: Names,
}

/// A module without names.
#[derive(Clone, Debug)]
pub struct UnnamedModule {
    /// The module.
    pub key: ModuleKey,
    /// Its file name.
    pub name: String,
    /// Reason why it has no names.
    pub why: String,
}

/// The frames of a stack that decide an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decides {
    /// Any: a type, a tag, or the text of a frame.
    AnyFrame,
    /// The responsible caller.
    Responsible,
}

/// For each frame the index of its module, if that has no names, and how long the entry is valid.
type Seen = KeyedMap<(ProcessId, NodeId), (Interval, Option<usize>)>;

impl Unnamed {
    /// Creates the list from modules, those with most frames first.
    pub fn new(modules: impl IntoIterator<Item = UnnamedModule>) -> Self {
        Self { modules: modules.into_iter().take(LOOKED_AT).collect(), names: Names::default() }
    }

    /// Adds the names of other modules, which determine the responsible caller.
    pub fn beside(self, names: Names) -> Self {
        Self { names, ..self }
    }

    /// Returns whether there are no modules without names.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// Returns a sentence for each module that decides too many bytes of the rows in a mask.
    pub fn doubts(
        &self,
        index: &Index,
        interval: Interval,
        mask: &Mask,
        decides: Decides,
        cancel: &Cancel,
    ) -> Result<Vec<String>, Cancelled> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let trace = index.trace();
        let keys: KeyedMap<&ModuleKey, usize> = self.modules.iter().enumerate().map(|(i, module)| (&module.key, i)).collect();
        let (mut all, mut held) = (0u128, vec![0u128; self.modules.len()]);
        let mut seen = Seen::default();
        let mut looks = CallerFinder::new(trace, &self.names, FrameKind::Innermost);
        for (id, buckets) in totals(index, interval, cancel)?.sites() {
            let size = u128::from(buckets.only(mask.classes(id)).numbers().size);
            all += size;
            if size > 0 {
                let site = trace.site(id);
                let nodes = match decides {
                    Decides::AnyFrame => site.stack..NodeId::ROOT,
                    Decides::Responsible => {
                        let caller = looks.caller(site).responsible.node;
                        caller..trace.stacks.parent(caller)
                    }
                };
                let mut bits = deciding(trace, &keys, site, nodes, &mut seen);
                while bits != 0 {
                    held[bits.trailing_zeros() as usize] += size;
                    bits &= bits - 1;
                }
            }
        }
        let mut told: Vec<(u128, &UnnamedModule)> = held.into_iter().zip(&self.modules).collect();
        told.retain(|(held, _)| held * 100 > all * TOO_FEW);
        told.sort_by_key(|(held, _)| std::cmp::Reverse(*held));
        let more = told.len().saturating_sub(TOLD);
        let sentence = |&(held, module): &(u128, &UnnamedModule)| {
            let part = format::percent(held as f64 / all as f64);
            format!(
                "no names for {}, whose frames decide {part} of the bytes: {}",
                format::plain(&module.name),
                format::plain(&module.why)
            )
        };
        let mut doubts: Vec<String> = told.iter().take(TOLD).map(sentence).collect();
        if more > 0 {
            doubts.push(format!("no names for {}: see highwater symbols check", format::plural(more as u64, "more module")));
        }
        Ok(doubts)
    }
}

/// Returns the modules without names that contain any of a range of frames of a site's stack, from `nodes.start`
/// outwards up to but excluding `nodes.end`; one bit per module.
fn deciding(trace: &Trace, keys: &KeyedMap<&ModuleKey, usize>, site: &Site, nodes: Range<NodeId>, seen: &mut Seen) -> u64 {
    let mut bits = 0;
    for node in trace.stacks.chain(nodes.start).take_while(|&node| node != nodes.end) {
        let place = (site.caller, node);
        let known = seen.get(&place).filter(|(during, _)| during.contains(site.first)).map(|(_, module)| *module);
        let module = known.unwrap_or_else(|| {
            let mapped = trace.mapped_at(site.caller, trace.stacks.address(node), site.first);
            let module = match mapped.module {
                Some(module) if mapped.method.is_none() && !is_of_windows(&module.path) => {
                    keys.get(&ModuleKey::of(module)).copied()
                }
                _ => None,
            };
            seen.insert(place, (mapped.during, module));
            module
        });
        bits |= module.map_or(0, |module| 1 << module);
    }
    bits
}
