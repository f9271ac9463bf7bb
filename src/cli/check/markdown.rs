//! The result of a check in Markdown, for a job summary or a comment: broken limits first, then rules that were not
//! checked.

use crate::cli::ci::located;
use crate::cli::markdown::{Bounded, SENTENCE, code, doubt_line, escaped};
use crate::format::{self, plural};
use crate::limits::{Breach, BrokenLimit, Outcome, SourceRoots, Suite, breaches};

/// Writes the result as Markdown, a section for each capture.
pub(super) fn text(suites: &[Suite<'_>], roots: &SourceRoots) -> String {
    let mut text = Bounded::default();
    for (i, suite) in suites.iter().enumerate() {
        if !section(&mut text, suite, roots) {
            text.put_last(&format!("\n… and {} more captures.\n", format::count((suites.len() - i) as u64)));
            break;
        }
    }
    text.into_text()
}

/// Appends the section of a capture; returns whether there was room for its heading.
fn section(text: &mut Bounded, suite: &Suite<'_>, roots: &SourceRoots) -> bool {
    let count = |outcome| suite.checked.iter().filter(|checked| checked.outcome == outcome).count() as u64;
    let [passed, broken, skipped] = [Outcome::Passed, Outcome::Broken, Outcome::Skipped].map(count);
    let verdict = match broken {
        0 => format!("{} passed", plural(passed, "rule")),
        _ => format!("**{} broken**, {} passed", plural(broken, "rule"), format::count(passed)),
    };
    let skipped = if skipped > 0 { format!(", {} skipped", format::count(skipped)) } else { String::new() };
    if !text.put(&format!("### Memory limits: {}\n\n{verdict}{skipped}.\n\n", code(&suite.capture))) {
        return false;
    }
    suite.doubts.iter().for_each(|doubt| _ = text.put(&doubt_line(doubt)));
    put_breaches(text, suite, roots);
    for checked in &suite.checked {
        if let Some(reason) = checked.unchecked() {
            let (rule, reason) = (code(&checked.rule.name), escaped(reason, SENTENCE));
            text.put(&format!("- {rule} was not checked in full: {reason}\n"));
        }
    }
    true
}

/// Appends the table of broken limits, as far as there is room.
fn put_breaches(text: &mut Bounded, suite: &Suite<'_>, roots: &SourceRoots) {
    let all: Vec<Breach<'_>> = suite.checked.iter().flat_map(breaches).collect();
    let heading = "| Rule | Where | What | Value | Limit | Most in | Line |\n|:--|:--|:--|--:|--:|:--|:--|\n";
    if all.is_empty() || !text.put(heading) {
        return;
    }
    let shown = all.iter().take_while(|breach| text.put(&line(breach, roots))).count();
    match all.len() - shown {
        0 => text.put_last("\n"),
        n => text.put_last(&format!("\n… and {} more.\n", format::count(n as u64))),
    }
}

fn line(breach: &Breach<'_>, roots: &SourceRoots) -> String {
    let rule = code(&breach.rule.name);
    let BrokenLimit { group, place, value, limit, share } = match &breach.what {
        Ok(broken) => broken,
        Err(reason) => return format!("| {rule} | required, but {} | | | | | |\n", escaped(reason, SENTENCE)),
    };
    let most = breach.holder().zip(share.as_ref()).map(|(holder, share)| format!("{} ({share})", code(&holder.function)));
    let source = match located(roots, breach.source()) {
        Some((file, line)) => format!("{file}:{line}"),
        None => breach.source().map(ToString::to_string).unwrap_or_default(),
    };
    let (place, measure, most) = (code(place), group.numbers.measure, most.unwrap_or_default());
    format!("| {rule} | {place} | {measure} | **{value}** | {limit} | {most} | {} |\n", code(&source))
}
