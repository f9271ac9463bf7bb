//! Text lines for broken limits.

use super::amount::Amount;
use super::check::Checked;
use super::group_check::{Check, GroupCheck, HolderOf};
use crate::format::{self, plain};
use crate::query::{By, Measure};

/// Returns one line per broken limit of a rule: rule, group, value, limit, and the function with the largest share. A
/// required rule that lacked data adds one line with the reason.
pub fn breach_lines<'a>(checked: &'a Checked<'_>) -> impl Iterator<Item = String> + 'a {
    let unmet = checked.reason.as_deref().filter(|_| checked.rule.required);
    let unmet = unmet.map(|reason| plain(&format!("{}: required, but {reason}", checked.rule.name)));
    checked.broken().map(move |group| breach_line(checked, group)).chain(unmet)
}

fn breach_line(checked: &Checked<'_>, group: &GroupCheck) -> String {
    let Check { measure, value, limit, kind, holder, .. } = &group.numbers;
    let (is, may_be) = told_apart(*kind, *value, *limit);
    let most = holder.as_ref().map(|HolderOf { function, source, value }| {
        let at = source.as_ref().map(|line| format!(" at {line}")).unwrap_or_default();
        format!("; most in {function}{at} ({})", amount(*kind, *value))
    });
    let (rule, place, most) = (&checked.rule.name, keys(checked, group), most.unwrap_or_default());
    plain(&format!("{rule}: {place}: {measure} {is} is above the limit {may_be}{most}"))
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
    let Some(pid) = group.pid.filter(|pid| name != format!("Unknown ({pid})")) else { return name.to_owned() };
    let is_other = |other: &GroupCheck| other.pid == Some(pid) && other.process_start_s != group.process_start_s;
    match group.process_start_s {
        Some(start) if checked.checks.iter().any(is_other) => format!("{name} ({pid}, from {start} s)"),
        _ => format!("{name} ({pid})"),
    }
}
