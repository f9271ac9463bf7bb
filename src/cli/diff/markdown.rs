//! A comparison in Markdown, for a comment on a code change: the totals of each layer, then the groups that grew
//! most, and last those that shrank. Stacks follow in collapsed sections.

use std::fmt::Write;

use super::super::markdown::{Bounded, NAME, code, doubt_line, escaped};
use super::super::report::{key_cells, key_columns};
use super::breaches::is_above;
use crate::format;
use crate::query::{By, Compared, Group};

/// Groups in the table unless `--top` is given.
const SHOWN: usize = 20;
/// Groups whose stacks follow below the table.
const STACKS: usize = 10;
/// Frames of a stack in the text: the innermost.
const FRAMES: usize = 30;

/// The comparison to show.
pub(super) struct Shown<'a> {
    pub(super) a: &'a str,
    pub(super) b: &'a str,
    pub(super) by: &'a [By],
    /// All groups.
    pub(super) groups: &'a [Group<Compared>],
    /// One group per layer.
    pub(super) totals: &'a [Group<Compared>],
    pub(super) top: Option<usize>,
    /// Bytes by which a group may grow.
    pub(super) limit: Option<u64>,
    /// Doubts about the numbers.
    pub(super) doubts: &'a [String],
}

/// Writes the comparison as Markdown.
pub(super) fn text(shown: &Shown<'_>) -> String {
    let mut text = Bounded::default();
    text.put(&format!("### Memory: {} → {}\n\n", code(shown.a), code(shown.b)));
    for doubt in shown.doubts {
        text.put(&doubt_line(doubt));
    }
    if shown.groups.is_empty() {
        text.put("No matching allocations on either side.\n");
        return text.into_text();
    }
    text.put(&verdict(shown));
    text.put(&totals(shown.totals));
    let mut order: Vec<&Group<Compared>> = shown.groups.iter().collect();
    // Groups that grew come first. The sort is stable, so the largest changes stay first in both parts.
    order.sort_by_key(|group| group.numbers.delta.outstanding_to <= 0);
    order.truncate(shown.top.unwrap_or(SHOWN));
    let order: Vec<Group<Compared>> = order.into_iter().cloned().collect();
    let lines = put_table(&mut text, shown, &order);
    if shown.by.contains(&By::Stack) {
        order[..lines.min(STACKS)].iter().enumerate().take_while(|(i, group)| text.put(&stack(i + 1, group))).for_each(drop);
    }
    match shown.groups.len() - lines {
        0 => {}
        n => text.put_last(&format!("\n… and {} more groups.\n", format::count(n as u64))),
    }
    text.into_text()
}

/// The outcome of the limit.
fn verdict(shown: &Shown<'_>) -> String {
    let Some(limit) = shown.limit else { return String::new() };
    let most = format::signed_bytes(i64::try_from(limit).unwrap_or(i64::MAX));
    match shown.groups.iter().filter(|group| is_above(group, limit)).count() {
        0 => format!("No group grew by more than the limit, {most}.\n\n"),
        1 => format!("**1 group grew by more than the limit, {most}.**\n\n"),
        n => format!("**{} groups grew by more than the limit, {most}.**\n\n", format::count(n as u64)),
    }
}

/// The table of the layers, which are never added together.
fn totals(layers: &[Group<Compared>]) -> String {
    let mut text = "| Layer | Change | A | B | Peak | Blocks |\n|:--|--:|--:|--:|--:|--:|\n".to_owned();
    for group in layers {
        let _ = writeln!(text, "| **{}** | {} |", group.layer, numbers(&group.numbers));
    }
    text + "\n"
}

fn numbers(of: &Compared) -> String {
    let Compared { a, b, delta } = of;
    [
        format!("**{}**", format::signed_bytes(delta.outstanding_to)),
        format::bytes(a.outstanding_to),
        format::bytes(b.outstanding_to),
        format::signed_bytes(delta.peak),
        format::signed_count(delta.count),
    ]
    .join(" | ")
}

/// Appends the table of the groups, as far as there is room; returns how many groups it has.
fn put_table(text: &mut Bounded, shown: &Shown<'_>, order: &[Group<Compared>]) -> usize {
    let has_stacks = shown.by.contains(&By::Stack);
    let stacks = if has_stacks { "Innermost frame | " } else { "" };
    let keys: Vec<&str> = key_columns(shown.by).collect();
    let rule = ":--|".repeat(keys.len() + usize::from(has_stacks));
    let heading =
        format!("| | {} | {stacks}Change | A | B | Peak | Blocks |\n|--:|{rule}--:|--:|--:|--:|--:|\n", keys.join(" | "));
    if order.is_empty() || !text.put(&heading) {
        return 0;
    }
    let mut lines = 0;
    for (group, cells) in order.iter().zip(key_cells(shown.by, order)) {
        let mut cells: Vec<String> = cells.iter().map(|cell| code(cell)).collect();
        if has_stacks {
            let innermost = group.stack.as_deref().and_then(<[String]>::last);
            cells.push(code(innermost.map_or("(no stack recorded)", String::as_str)));
        }
        let mark = if shown.limit.is_some_and(|limit| is_above(group, limit)) { "**!** " } else { "" };
        let line = format!("| {mark}{} | {} | {} |\n", lines + 1, cells.join(" | "), numbers(&group.numbers));
        if !text.put(&line) {
            break;
        }
        lines += 1;
    }
    lines
}

/// A stack as a collapsed section, which goes below the table.
fn stack(number: usize, group: &Group<Compared>) -> String {
    let change = format::signed_bytes(group.numbers.delta.outstanding_to);
    let frames = group.stack.as_deref().unwrap_or_default();
    let mut text = format!("\n<details><summary>Stack of {number}: {change}</summary>\n\n<pre>\n");
    for frame in frames.iter().rev().take(FRAMES) {
        let _ = writeln!(text, "{}", escaped(frame, NAME));
    }
    match frames.len() {
        0 => text += "(no stack recorded)\n",
        n if n > FRAMES => text += &format!("… and {}\n", format::counted((n - FRAMES) as u64, "more frame", "more frames")),
        _ => {}
    }
    text + "</pre>\n</details>\n"
}
