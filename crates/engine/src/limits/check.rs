//! Checks a trace against rules. All rules share one index and one set of names, and the totals of each interval are
//! computed once.

use std::sync::Arc;

use serde::Serialize;

use super::amount::Amount;
use super::baseline::{Accepted, Baseline};
use super::group_check::{Check, GroupCheck, HolderOf};
use super::rules::{Limit, Rule};
use crate::names::Names;
use crate::query::{Cancel, Cancelled, Fold, Index, Mask, Measure, Measured, MeasuredRequest, TopContributor, Totals, totals};
use crate::tables::KeyedMap;
use crate::units::Interval;

/// Result of checking a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// All its limits are kept.
    Passed,
    /// A limit is broken, or the rule is required and matched nothing.
    Broken,
    /// The trace has no data for the rule.
    Skipped,
}

/// A rule with the results of its check.
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The interval that was checked.
    pub interval: Interval,
    /// Result of the check.
    pub outcome: Outcome,
    /// Why the rule, or one of its limits, could not be checked.
    pub reason: Option<String>,
    /// All groups with all limits that could be checked for them.
    pub checks: Vec<GroupCheck>,
}

impl<'a> Checked<'a> {
    /// Returns the result of a rule that could not be checked: broken if the rule is required, else skipped.
    pub fn without_rows(rule: &'a Rule, interval: Interval, reason: String) -> Self {
        let outcome = if rule.required { Outcome::Broken } else { Outcome::Skipped };
        Self { rule, interval, outcome, reason: Some(reason), checks: Vec::new() }
    }

    /// Returns the reason why the rule was not checked in full; `None` for a required rule, for which it is a breach.
    pub fn unchecked(&self) -> Option<&str> {
        self.reason.as_deref().filter(|_| !self.rule.required)
    }

    /// Returns the broken limits that no baseline accepts.
    pub fn broken(&self) -> impl Iterator<Item = &GroupCheck> {
        self.checks.iter().filter(|check| check.numbers.broken && !check.numbers.accepted)
    }

    /// Marks broken limits that the baseline accepts, and returns their number. The rule passes if nothing else broke
    /// it.
    pub fn hold_back(&mut self, known: &mut Baseline) -> usize {
        let mut count = 0;
        for check in self.checks.iter_mut().filter(|check| check.numbers.broken) {
            check.numbers.accepted = known.holds_back(&Accepted::breach(check));
            count += usize::from(check.numbers.accepted);
        }
        if count > 0 && self.broken().next().is_none() && !(self.rule.required && self.reason.is_some()) {
            self.outcome = Outcome::Passed;
        }
        count
    }
}

/// Checks a trace against rules, one rule at a time.
pub struct Judge<'a> {
    index: &'a Index,
    names: &'a Names,
    /// Names for the functions shown with broken limits, which can need more symbols than the rules do.
    names_of_places: Option<Arc<Names>>,
    totals: KeyedMap<Interval, Arc<Totals>>,
}

impl<'a> Judge<'a> {
    /// Creates a judge for the rows of `index`; `names` are the names that the rules need.
    pub fn new(index: &'a Index, names: &'a Names) -> Self {
        Self { index, names, names_of_places: None, totals: KeyedMap::default() }
    }

    /// Checks the sites of a mask against a rule. `names_of_places` is called at most once for this judge, when the
    /// first limit is broken.
    pub fn check<'r>(
        &mut self,
        rule: &'r Rule,
        interval: Interval,
        mask: &Mask,
        names_of_places: &mut dyn FnMut() -> Arc<Names>,
        cancel: &Cancel,
    ) -> Result<Checked<'r>, Cancelled> {
        let totals = self.totals(interval, cancel)?;
        let asks = |measures: &[Measure]| rule.limits.iter().any(|limit| measures.contains(&limit.measure));
        let request = MeasuredRequest {
            interval,
            by: &rule.by,
            mask,
            fold: Fold::allocator(rule.fold),
            growth: asks(&[Measure::Growth]),
            at_exit: asks(&[Measure::SizeAtExit, Measure::CountAtExit]),
            pages: asks(&[Measure::Waste, Measure::Touched]),
            unknown: asks(&[Measure::Unknown]),
            totals: &totals,
        };
        let measured = Measured::of(self.index, request, self.names, cancel)?;
        if measured.groups.is_empty() {
            return Ok(Checked::without_rows(rule, interval, "no matching allocations".to_owned()));
        }
        let mut judged = judge(rule, &measured);
        let reason = nothing_left(rule, &judged);
        if rule.limits.iter().all(|limit| !judged.iter().any(|(_, check)| check.kind == limit.measure)) && !rule.limits.is_empty()
        {
            return Ok(Checked::without_rows(rule, interval, reason.unwrap_or_default()));
        }
        let broken = judged.iter().any(|(_, check)| check.broken);
        if broken {
            let names = Arc::clone(self.names_of_places.get_or_insert_with(names_of_places));
            name_places(self.index, &measured, &totals, &names, &mut judged, cancel)?;
        }
        let outcome = if broken || (rule.required && reason.is_some()) { Outcome::Broken } else { Outcome::Passed };
        let checks = judged.into_iter().map(|(group, check)| measured.groups[group].keys_with(check)).collect();
        Ok(Checked { rule, interval, outcome, reason, checks })
    }

    fn totals(&mut self, interval: Interval, cancel: &Cancel) -> Result<Arc<Totals>, Cancelled> {
        if let Some(known) = self.totals.get(&interval) {
            return Ok(Arc::clone(known));
        }
        let totals = Arc::new(totals(self.index, interval, cancel)?);
        // Few rules have intervals of their own, and totals are large.
        if self.totals.len() >= 4 {
            self.totals.clear();
        }
        self.totals.insert(interval, Arc::clone(&totals));
        Ok(totals)
    }
}

/// Checks each group against each limit, in the order of groups. Pairs without a value are left out.
fn judge(rule: &Rule, measured: &Measured) -> Vec<(usize, Check)> {
    let checks = (0..measured.groups.len()).flat_map(|group| {
        rule.limits.iter().filter_map(move |limit| {
            let Limit { measure, most } = *limit;
            let value = value(measured, group, measure)?;
            let broken = value.is_above(most);
            Some((
                group,
                Check { measure: measure.name(), value, limit: most, broken, accepted: false, holder: None, kind: measure },
            ))
        })
    });
    checks.collect()
}

/// Returns the value of a measure for a group; `None` if the trace has no data for it.
fn value(measured: &Measured, group: usize, measure: Measure) -> Option<Amount> {
    let numbers = &measured.groups[group].numbers;
    let left = || measured.at_exit.get(group).copied().flatten();
    let pages = || measured.pages.get(group).copied().flatten();
    Some(match measure {
        Measure::Peak => Amount::Exact(numbers.peak.into()),
        Measure::Outstanding => Amount::Exact(numbers.outstanding_to.into()),
        Measure::Impacting => Amount::Exact(i128::from(numbers.outstanding_to) - i128::from(numbers.outstanding_from)),
        Measure::Growth => Amount::Rate(measured.growth.get(group).copied().flatten()?),
        Measure::SizeAtExit => Amount::Exact(left()?.size.into()),
        Measure::CountAtExit => Amount::Exact(left()?.count.into()),
        Measure::Count => Amount::Exact(numbers.count.into()),
        Measure::Waste => Amount::Exact(pages()?.waste.into()),
        Measure::Touched => Amount::Exact(pages()?.touched.into()),
        Measure::Unknown => Amount::Exact(measured.unknown.get(group).copied().flatten()?.into()),
    })
}

/// Explains which limits had no value in any group: growth needs a process that lived in the interval, blocks at exit
/// need one that ended in it, and pages need live blocks at its end.
fn nothing_left(rule: &Rule, judged: &[(usize, Check)]) -> Option<String> {
    let is_missing = |limit: &&Limit| !judged.iter().any(|(_, check)| check.kind == limit.measure);
    let missing = || rule.limits.iter().filter(is_missing);
    let (pages, others): (Vec<&Limit>, Vec<&Limit>) = missing().partition(|limit| limit.measure.is_of_pages());
    let (unknown, others): (Vec<&Limit>, Vec<_>) = others.into_iter().partition(|limit| limit.measure == Measure::Unknown);
    let (growth, at_exit): (Vec<&Limit>, Vec<_>) = others.into_iter().partition(|limit| limit.measure == Measure::Growth);
    let why = [
        (pages, "no block of a heap or tracker that it is about was alive at the end of the interval"),
        (unknown, "no process with commit that it is about lived at the end of the interval with a sample of its commit charge"),
        (growth, "no process that it is about lived in the interval"),
        (at_exit, "no process that it is about, with blocks in heaps or trackers, ended in the interval"),
    ];
    let told = why.iter().filter(|(missing, _)| !missing.is_empty()).map(|(missing, why)| {
        let names: Vec<&str> = missing.iter().map(|limit| limit.measure.name()).collect();
        format!("{}: {why}", names.join(" and "))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// Adds the function with the largest share to each broken limit.
fn name_places(
    index: &Index,
    measured: &Measured,
    totals: &Arc<Totals>,
    names: &Names,
    judged: &mut [(usize, Check)],
    cancel: &Cancel,
) -> Result<(), Cancelled> {
    let mut kinds: Vec<Measure> = judged.iter().filter(|(_, check)| check.broken).map(|(_, check)| check.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let mut broken: Vec<_> = judged.iter_mut().filter(|(_, check)| check.broken && check.kind == kind).collect();
        let groups: Vec<usize> = broken.iter().map(|(group, _)| *group).collect();
        let top_contributors = measured.top_contributors(index, totals, kind, &groups, names, cancel)?;
        for ((_, check), holder) in broken.iter_mut().zip(top_contributors) {
            check.holder = holder.map(|TopContributor { function, source, amount }| {
                let value = if kind == Measure::Growth { Amount::Rate(amount) } else { Amount::Exact(amount as i128) };
                HolderOf { function, source, value }
            });
        }
    }
    Ok(())
}
