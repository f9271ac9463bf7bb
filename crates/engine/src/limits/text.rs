//! Broken limits in words.

use super::amount::Amount;
use super::check::Checked;
use super::group_check::{Check, GroupCheck, HolderOf};
use super::rules::{Limit, Rule};
use crate::format::{self, plain};
use crate::model::unknown_label;
use crate::query::{By, Measure, SourceLine};
use crate::units::Pid;

/// A broken limit, or a required rule that lacked data.
#[derive(Clone, Debug)]
pub struct Breach<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The limit; the reason if the rule lacked data.
    pub what: Result<BrokenLimit<'a>, &'a str>,
}

/// A broken limit of a group, in words.
#[derive(Clone, Debug)]
pub struct BrokenLimit<'a> {
    /// The group.
    pub group: &'a GroupCheck,
    /// Keys of the group.
    pub place: String,
    /// The value.
    pub value: String,
    /// The limit.
    pub limit: String,
    /// The share of the function with the largest one.
    pub share: Option<String>,
}

impl<'a> Breach<'a> {
    /// Returns the function with the largest share of the group.
    pub fn holder(&self) -> Option<&'a HolderOf> {
        self.what.as_ref().ok()?.group.numbers.holder.as_ref()
    }

    /// Returns that function's source line with the largest share.
    pub fn source(&self) -> Option<&'a SourceLine> {
        self.holder()?.source.as_ref()
    }

    /// Returns one line: rule, group, value, limit, and the function with the largest share.
    pub fn line(&self) -> String {
        let rule = &self.rule.name;
        let BrokenLimit { group, place, value, limit, share } = match &self.what {
            Ok(broken) => broken,
            Err(reason) => return plain(&format!("{rule}: required, but {reason}")),
        };
        let most = self.holder().zip(share.as_ref()).map(|(HolderOf { function, source, .. }, share)| {
            let at = source.as_ref().map(|line| format!(" at {line}")).unwrap_or_default();
            format!("; most in {function}{at} ({share})")
        });
        let (measure, most) = (group.numbers.measure, most.unwrap_or_default());
        plain(&format!("{rule}: {place}: {measure} {value} is above the limit {limit}{most}"))
    }
}

/// Returns the broken limits of a rule that no baseline accepts; a required rule that lacked data is one more.
pub fn breaches<'a>(checked: &'a Checked<'_>) -> impl Iterator<Item = Breach<'a>> {
    let rule = checked.rule;
    let unmet = checked.reason.as_deref().filter(|_| rule.required);
    let unmet = unmet.map(|reason| Breach { rule, what: Err(reason) });
    checked.broken().map(move |group| Breach { rule, what: Ok(broken(checked, group)) }).chain(unmet)
}

/// Returns one line for each of the [`breaches`].
pub fn breach_lines<'a>(checked: &'a Checked<'_>) -> impl Iterator<Item = String> + 'a {
    breaches(checked).map(|breach| breach.line())
}

/// Describes the limits of a rule: `peak at most 32.00 MB; growth at most 1.00 MB/s`.
pub fn limits_line(rule: &Rule) -> String {
    let limit = |limit: &Limit| format!("{} at most {}", limit.measure.name(), amount(limit.measure, limit.most));
    rule.limits.iter().map(limit).collect::<Vec<_>>().join("; ")
}

fn broken<'a>(checked: &Checked<'_>, group: &'a GroupCheck) -> BrokenLimit<'a> {
    let Check { value, limit, kind, holder, .. } = &group.numbers;
    let (value, limit) = told_apart(*kind, *value, *limit);
    let share = holder.as_ref().map(|holder| amount(*kind, holder.value));
    BrokenLimit { group, place: keys(checked, group), value, limit, share }
}

/// Formats value and limit, with all digits if they would look equal otherwise.
fn told_apart(kind: Measure, value: Amount, limit: Amount) -> (String, String) {
    let (is, may_be) = (amount(kind, value), amount(kind, limit));
    if is != may_be {
        return (is, may_be);
    }
    let exact = |amount: Amount| match amount {
        Amount::Exact(n) => format!("{n} B"),
        Amount::Rate(rate) => format!("{rate} B"),
    };
    let unit = if kind == Measure::Growth { "/s" } else { "" };
    (format!("{}{unit}", exact(value)), format!("{}{unit}", exact(limit)))
}

fn amount(kind: Measure, amount: Amount) -> String {
    let n = match amount {
        Amount::Exact(n) => n,
        Amount::Rate(rate) => rate.round() as i128,
    };
    let size = u64::try_from(n.unsigned_abs()).unwrap_or(u64::MAX);
    let sign = if n < 0 { "\u{2212}" } else { "" };
    match kind {
        Measure::Growth => format!("{sign}{}/s", format::bytes(size)),
        Measure::Touched if size == 1 => "1 page".to_owned(),
        Measure::Touched => format!("{} pages", format::count(size)),
        Measure::CountAtExit | Measure::Count if size == 1 => "1 block".to_owned(),
        Measure::CountAtExit | Measure::Count => format!("{} blocks", format::count(size)),
        _ => format!("{sign}{}", format::bytes(size)),
    }
}

/// Joins the keys of a group for display.
fn keys(checked: &Checked<'_>, group: &GroupCheck) -> String {
    let mut parts = Vec::new();
    if let Some(process) = &group.process {
        parts.push(process_name(checked, group, process));
    }
    parts.push(group.layer.to_owned());
    let of_rule = [
        (By::Heap, &group.heap, ""),
        (By::Type, &group.allocated_type, ""),
        (By::Function, &group.function, "no stack recorded"),
        (By::Module, &group.module, "no module"),
        (By::Tag, &group.tag, ""),
        (By::ResponsibleModule, &group.responsible_module, ""),
        (By::Owner, &group.owner, ""),
        (By::Responsible, &group.responsible, ""),
    ];
    let of_rule = of_rule.into_iter().filter(|(by, ..)| checked.rule.by.contains(by));
    parts.extend(of_rule.map(|(_, name, none)| name.as_deref().unwrap_or(none).to_owned()).filter(|part| !part.is_empty()));
    match group.stack.as_deref() {
        None => {}
        Some([]) => parts.push("no stack recorded".to_owned()),
        Some([only]) => parts.push(only.clone()),
        Some([.., caller, last]) => parts.push(format!("{last} called by {caller}")),
    }
    parts.join(" \u{b7} ")
}

/// Process name with its id, and with its start time if the results contain another process of that id.
fn process_name(checked: &Checked<'_>, group: &GroupCheck, name: &str) -> String {
    let Some(pid) = group.pid.filter(|pid| name != unknown_label(Pid(*pid))) else { return name.to_owned() };
    let is_other = |other: &GroupCheck| other.pid == Some(pid) && other.process_start_s != group.process_start_s;
    match group.process_start_s {
        Some(start) if checked.checks.iter().any(is_other) => format!("{name} ({pid}, from {start} s)"),
        _ => format!("{name} ({pid})"),
    }
}
