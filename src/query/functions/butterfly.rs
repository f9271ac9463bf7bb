//! Who calls a function, and what it calls, in one process and layer: each row under the
//! frame before its outermost place and under the one after its innermost place, so that
//! both lists add up to its total. Cost: as the sums of functions.

use std::cmp::Reverse;

use super::part::{Part, Scratch, by_owner};
use super::paths::Functions;
use super::sums::FunctionSums;
use super::table::FunctionId;
use crate::model::{SiteId, Trace};
use crate::query::nest::NOBODY;
use crate::query::peaks::line_peaks;
use crate::query::{ByClass, Cancel, Cancelled, Index, LifetimeClass, Mask, Totals};

/// A caller or a callee.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// Which; `None` where the stack begins with the function, or ends.
    pub function: Option<FunctionId>,
    /// What the function comes to with it.
    pub sums: ByClass,
}

/// A function between its callers and what it calls; both by |impacting size|, then size,
/// both falling, then by name.
#[derive(Clone, Debug, Default)]
pub struct Butterfly {
    /// Of the frame before its outermost place.
    pub callers: Vec<Neighbour>,
    /// Of the frame after its innermost place.
    pub callees: Vec<Neighbour>,
    /// Sites whose stack has it, with places in both lists.
    sites: Vec<(SiteId, u32, u32)>,
}

/// On the way to a path: whether the function was met, and what is beside it.
#[derive(Clone, Copy, Default)]
struct Beside {
    caller: Option<Option<FunctionId>>,
    callee: Option<FunctionId>,
}

impl Butterfly {
    /// Of the function, process and layer of `of`.
    pub fn of(
        trace: &Trace,
        functions: &Functions,
        totals: &Totals,
        mask: &Mask,
        of: &FunctionSums,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let owners = by_owner(trace, totals, mask).into_iter();
        let sites = owners.filter(|(owner, _)| *owner == (of.process, of.layer)).flat_map(|(_, sites)| sites);
        let sites: Vec<(SiteId, ByClass)> = sites.collect();
        cancel.check()?;
        let part = Part::of(functions, &sites, &mut Scratch::new(functions));
        let beside = beside(functions, &part, of.function);
        let (mut callers, mut callees) = (List::default(), List::default());
        let mut found = Vec::new();
        for ((site, sums), &at) in sites.iter().zip(&part.at) {
            let Some(Beside { caller: Some(caller), callee }) = beside.get(at as usize) else { continue };
            found.push((*site, callers.add(*caller, sums), callees.add(*callee, sums)));
        }
        let (callers, new_callers) = callers.sorted(functions);
        let (callees, new_callees) = callees.sorted(functions);
        found.iter_mut().for_each(|(_, caller, callee)| {
            *caller = new_callers[*caller as usize];
            *callee = new_callees[*callee as usize];
        });
        Ok(Self { callers, callees, sites: found })
    }

    /// The largest sizes of callers and of callees. Cost: two passes over the events of the
    /// interval.
    pub fn peaks(&self, index: &Index, totals: &Totals, mask: &Mask, cancel: &Cancel) -> Result<[Vec<u64>; 2], Cancelled> {
        let callers = self.sites.iter().map(|&(site, caller, _)| (site, caller));
        let callees = self.sites.iter().map(|&(site, _, callee)| (site, callee));
        Ok([
            peaks(&self.callers, callers, index, totals, mask, cancel)?,
            peaks(&self.callees, callees, index, totals, mask, cancel)?,
        ])
    }
}

fn peaks(
    list: &[Neighbour],
    sites: impl Iterator<Item = (SiteId, u32)>,
    index: &Index,
    totals: &Totals,
    mask: &Mask,
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let now: Vec<u64> = list.iter().map(|neighbour| neighbour.sums.numbers().outstanding_from).collect();
    let mut lines = vec![[NOBODY; 4]; index.trace().sites.len()];
    for (site, line) in sites {
        lines[site.0 as usize] = LifetimeClass::ALL.map(|class| if mask.has(site, class) { line } else { NOBODY });
    }
    line_peaks(index, totals.interval, &now, lines, |_| None, cancel)
}

/// By place of a part what is beside the function on the way there.
fn beside(functions: &Functions, part: &Part, of: FunctionId) -> Vec<Beside> {
    let mut out: Vec<Beside> = Vec::with_capacity(part.paths.len());
    for (&path, &parent) in part.paths.iter().zip(&part.parent) {
        let around = out.get(parent as usize).copied().unwrap_or_default();
        let function = functions.function(path);
        let caller = functions.function(functions.parent(path));
        out.push(if function == Some(of) {
            Beside { caller: around.caller.or(Some(caller)), callee: None }
        } else {
            // The first one inside stays the callee of all that is in it.
            Beside { callee: if around.caller.is_some() { around.callee.or(function) } else { None }, ..around }
        });
    }
    out
}

/// Neighbours while they are met.
#[derive(Default)]
struct List {
    list: Vec<Neighbour>,
    index: rustc_hash::FxHashMap<Option<FunctionId>, u32>,
}

impl List {
    fn add(&mut self, function: Option<FunctionId>, sums: &ByClass) -> u32 {
        let list = &mut self.list;
        let at = *self.index.entry(function).or_insert_with(|| {
            list.push(Neighbour { function, sums: ByClass::default() });
            list.len() as u32 - 1
        });
        list[at as usize].sums.add(sums);
        at
    }

    /// In order, and by old place the new one.
    fn sorted(self, functions: &Functions) -> (Vec<Neighbour>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        let rank = |i: u32| {
            let Neighbour { function, sums } = &self.list[i as usize];
            (by_size(sums), function.map(|function| functions.name(function)))
        };
        order.sort_by(|&a, &b| rank(a).cmp(&rank(b)));
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, &i)| places[i as usize] = place);
        (order.into_iter().map(|i| self.list[i as usize]).collect(), places)
    }
}

/// The largest first: |impacting size|, then size.
pub(super) fn by_size(sums: &ByClass) -> Reverse<(u64, u64)> {
    let numbers = sums.numbers();
    Reverse((numbers.impacting.unsigned_abs(), numbers.size))
}
