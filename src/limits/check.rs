//! Whether a trace keeps its rules: one index, one state of names and the sums of each interval
//! once, whatever the number of rules.

use std::sync::Arc;

use serde::Serialize;
use serde::ser::Serializer;

use super::baseline::{Accepted, Baseline};
use super::rules::{Limit, Rule};
use crate::query::{
    Cancel, Cancelled, Fold, Group, Holder, Index, Mask, Measure, Measured, MeasuredRequest, SourceLine, Totals, totals,
};
use crate::symbols::Names;
use crate::tables::KeyedMap;
use crate::units::Interval;

/// A number of bytes or blocks, or of bytes a second.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// A whole number.
    Exact(i128),
    /// What was measured a second.
    Rate(f64),
}

impl Amount {
    fn as_f64(self) -> f64 {
        match self {
            Self::Exact(n) => n as f64,
            Self::Rate(rate) => rate,
        }
    }

    /// Whether this is more than another.
    pub fn is_above(self, most: Self) -> bool {
        match (self, most) {
            (Self::Exact(a), Self::Exact(b)) => a > b,
            (a, b) => a.as_f64() > b.as_f64(),
        }
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        !self.is_above(*other) && !other.is_above(*self)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Exact(n) => match u64::try_from(n) {
                Ok(n) => to.serialize_u64(n),
                Err(_) => to.serialize_i64(i64::try_from(n).unwrap_or(if n < 0 { i64::MIN } else { i64::MAX })),
            },
            Self::Rate(rate) => to.serialize_f64(rate),
        }
    }
}

/// A limit and what there is. Field names are those of the machine interface.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Of what.
    pub measure: &'static str,
    /// What there is.
    pub value: Amount,
    /// What may be.
    pub limit: Amount,
    /// Whether there is more.
    pub broken: bool,
    /// Whether it is more and a baseline accepts that.
    pub accepted: bool,
    /// Of a broken limit the function that has most, and what it has.
    pub holder: Option<HolderOf>,
    /// The same measure, for whoever is no program.
    #[serde(skip)]
    pub(super) kind: Measure,
}

/// A function and what it has of a group.
#[derive(Clone, Debug, Serialize)]
pub struct HolderOf {
    /// As frames are printed.
    pub function: String,
    /// Its line with most of it, if lines are known.
    pub source: Option<SourceLine>,
    /// In the unit of the limit.
    pub value: Amount,
}

/// A group, and one limit of it.
pub type GroupCheck = Group<Check>;

/// What became of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// All its limits are kept.
    Passed,
    /// One is not, or it found nothing and had to.
    Broken,
    /// There was nothing to hold it against.
    Skipped,
}

/// A rule that was looked at.
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    /// Which.
    pub rule: &'a Rule,
    /// Where it looked.
    pub interval: Interval,
    /// What became of it.
    pub outcome: Outcome,
    /// Why there was nothing to hold it, or one of its limits, against.
    pub reason: Option<String>,
    /// All groups, each with all limits that can be told of it.
    pub checks: Vec<GroupCheck>,
}

impl<'a> Checked<'a> {
    /// A rule that found nothing.
    pub fn without_rows(rule: &'a Rule, interval: Interval, reason: String) -> Self {
        let outcome = if rule.required { Outcome::Broken } else { Outcome::Skipped };
        Self { rule, interval, outcome, reason: Some(reason), checks: Vec::new() }
    }

    /// The limits that are not kept, and that is not accepted.
    pub fn broken(&self) -> impl Iterator<Item = &GroupCheck> {
        self.checks.iter().filter(|check| check.numbers.broken && !check.numbers.accepted)
    }

    /// Accepts what a baseline does. Returns how many limits that is.
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

/// Holds a trace against rules, one after the other.
pub struct Judge<'a> {
    index: &'a Index,
    names: &'a Names,
    /// What broken limits are told with, if that is more than the rules need.
    names_of_places: Option<Arc<Names>>,
    totals: KeyedMap<Interval, Arc<Totals>>,
}

impl<'a> Judge<'a> {
    /// Of the rows that `index` sees, with the names that the rules need.
    pub fn new(index: &'a Index, names: &'a Names) -> Self {
        Self { index, names, names_of_places: None, totals: KeyedMap::default() }
    }

    /// Holds the sites of a mask against a rule. `names_of_places` is asked for names once, when
    /// a limit is broken.
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
            totals: &totals,
        };
        let measured = Measured::of(self.index, request, self.names, cancel)?;
        if measured.groups.is_empty() {
            return Ok(Checked::without_rows(rule, interval, "nothing was alive or happened that it is about".to_owned()));
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
        // Many intervals are rare, and their sums large.
        if self.totals.len() >= 4 {
            self.totals.clear();
        }
        self.totals.insert(interval, Arc::clone(&totals));
        Ok(totals)
    }
}

/// What each group has of each limit, in the order of groups.
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

/// What a group has; `None` if that cannot be told.
fn value(measured: &Measured, group: usize, measure: Measure) -> Option<Amount> {
    let numbers = &measured.groups[group].numbers;
    let left = || measured.at_exit.get(group).copied().flatten();
    Some(match measure {
        Measure::Peak => Amount::Exact(numbers.peak.into()),
        Measure::Outstanding => Amount::Exact(numbers.outstanding_to.into()),
        Measure::Impacting => Amount::Exact(i128::from(numbers.outstanding_to) - i128::from(numbers.outstanding_from)),
        Measure::Growth => Amount::Rate(measured.growth.get(group).copied().flatten()?),
        Measure::SizeAtExit => Amount::Exact(left()?.size.into()),
        Measure::CountAtExit => Amount::Exact(left()?.count.into()),
        Measure::Count => Amount::Exact(numbers.count.into()),
    })
}

/// Why limits have nothing to be held against: growth needs time in which a process lived, and
/// blocks at exit its end.
fn nothing_left(rule: &Rule, judged: &[(usize, Check)]) -> Option<String> {
    let is_missing = |limit: &&Limit| !judged.iter().any(|(_, check)| check.kind == limit.measure);
    let (growth, at_exit): (Vec<&Limit>, Vec<_>) =
        rule.limits.iter().filter(is_missing).partition(|limit| limit.measure == Measure::Growth);
    let why = [
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

/// Says of broken limits which function has most.
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
        let holders = measured.holders(index, totals, kind, &groups, names, cancel)?;
        for ((_, check), holder) in broken.iter_mut().zip(holders) {
            check.holder = holder.map(|Holder { function, source, amount }| {
                let value = if kind == Measure::Growth { Amount::Rate(amount) } else { Amount::Exact(amount as i128) };
                HolderOf { function, source, value }
            });
        }
    }
    Ok(())
}
