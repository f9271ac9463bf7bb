//! Modules without names, where an answer follows from names: a type that nobody knows, a frame that no text
//! finds, a finding that stops short of the function that is meant.
//!
//! A module is a doubt if its frames decide over 1 % of the bytes that are asked about. Those of Windows are
//! not meant: few have their PDBs at hand, and what is asked for lies behind them.
//!
//! Cost: where a module has no names, the totals of the interval and a look at the frames of each site.

use std::ops::Range;

use super::callers::CallerFinder;
use super::{Cancel, Cancelled, Index, Mask, totals};
use crate::format;
use crate::model::{NodeId, ProcessId, Site, Trace};
use crate::stack_rules::is_of_windows;
use crate::symbols::{FrameKind, ModuleKey, Names};
use crate::tables::KeyedMap;
use crate::units::Interval;

/// Modules that are looked at: those with most frames.
const LOOKED_AT: usize = 64;
/// Modules that are told.
const TOLD: usize = 3;
/// What frames of a module may decide without a doubt, in percent of the bytes.
const TOO_FEW: u128 = 1;

/// Modules in which frames lie and that have no names.
#[derive(Clone, Debug, Default)]
pub struct Unnamed {
    modules: Vec<UnnamedModule>,
    /// What is known of the others.
    names: Names,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct UnnamedModule {
    /// Which.
    pub key: ModuleKey,
    /// Its file name.
    pub name: String,
    /// Why it has no names.
    pub why: String,
}

/// Which frames of a stack decide an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decides {
    /// Any: a type, a tag, or the text of a frame.
    AnyFrame,
    /// The responsible caller.
    Responsible,
}

/// The number of a frame's module, if that has no names, and for how long that is so.
type Seen = KeyedMap<(ProcessId, NodeId), (Interval, Option<usize>)>;

impl Unnamed {
    /// Those with most frames first.
    pub fn new(modules: impl IntoIterator<Item = UnnamedModule>) -> Self {
        Self { modules: modules.into_iter().take(LOOKED_AT).collect(), names: Names::default() }
    }

    /// The same beside names of other modules, which tell who is responsible.
    pub fn beside(self, names: Names) -> Self {
        Self { names, ..self }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// A sentence for each module that decides too much of the rows of a mask.
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
            let modules = if more == 1 { "module" } else { "modules" };
            doubts.push(format!("no names for {more} more {modules}: see highwater symbols check"));
        }
        Ok(doubts)
    }
}

/// The modules without names in which some frames of a site's stack lie, from the first outwards to before the last; a bit
/// each.
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
