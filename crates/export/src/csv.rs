//! CSV: one line per group, with all columns that groups of a report can have, whether they were asked for or not.
//! Frames of a stack are joined by `;`, the outermost first; ranges by `..`.
//!
//! Names come from traces, and programs that open CSV compute formulas. So each text goes through [`csv_cell`], here
//! and in the files that the window writes.

use std::io::{self, Write};

use super::{ExportError, Exported};
use crate::query::{ChainEntry, FrameEntry, Group, LifetimeBounds, MarkEntry, ScopeEntry, UNKNOWN_CHANGE, each_group};
use highwater_engine::format::plain;

/// The columns in their order, each with the cell of a group.
fn columns(group: &Group) -> [(&'static str, String); 36] {
    let n = &group.numbers;
    let text = |text: &Option<String>| text.as_deref().map_or_else(String::new, csv_cell);
    let frames = |frames: &Option<Vec<String>>| frames.as_deref().map_or_else(String::new, joined);
    let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
    let lifetime =
        |&LifetimeBounds(from, to): &LifetimeBounds| format!("{from}..{}", to.map_or_else(String::new, |to| to.to_string()));
    [
        ("process", text(&group.process)),
        ("pid", number(group.pid)),
        ("process_start_s", group.process_start_s.map_or_else(String::new, |at| at.to_string())),
        ("layer", group.layer.to_owned()),
        ("heap", text(&group.heap)),
        ("stack", frames(&group.stack)),
        ("freed_stack", frames(&group.freed_stack)),
        ("type", text(&group.allocated_type)),
        ("thread", number(group.thread)),
        ("function", text(&group.function)),
        ("module", text(&group.module)),
        ("tag", text(&group.tag)),
        ("responsible", text(&group.responsible)),
        ("responsible_module", text(&group.responsible_module)),
        ("owner", text(&group.owner)),
        ("source", group.source.as_ref().map_or_else(String::new, |line| csv_cell(&line.to_string()))),
        ("size_bucket", group.size_bucket.map_or_else(String::new, |[from, to]| format!("{from}..{to}"))),
        ("lifetime_bucket", group.lifetime_bucket.as_ref().map_or_else(String::new, lifetime)),
        ("outstanding_from", n.outstanding_from.to_string()),
        ("outstanding_to", n.outstanding_to.to_string()),
        ("peak", n.peak.to_string()),
        ("count", n.count.to_string()),
        ("size", n.size.to_string()),
        ("allocated_count", n.allocated_count.to_string()),
        ("allocated_size", n.allocated_size.to_string()),
        ("freed_count", n.freed_count.to_string()),
        ("freed_size", n.freed_size.to_string()),
        ("impacting_size", known(n.impacting_size)),
        ("aifi_count", n.aifi.count.to_string()),
        ("aifi_size", n.aifi.size.to_string()),
        ("aifo_count", n.aifo.count.to_string()),
        ("aifo_size", n.aifo.size.to_string()),
        ("aofi_count", n.aofi.count.to_string()),
        ("aofi_size", n.aofi.size.to_string()),
        ("aofo_count", n.aofo.count.to_string()),
        ("aofo_size", n.aofo.size.to_string()),
    ]
}

/// A change as a cell; empty if it is unknown.
fn known(change: i64) -> String {
    if change == UNKNOWN_CHANGE { String::new() } else { change.to_string() }
}

/// Writes the groups of a report.
pub fn csv(exported: &Exported<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    csv_line(out, columns(&Group::default()).map(|(name, _)| name.to_owned()))?;
    let Exported { index, names, request, mask, cancel, .. } = exported;
    each_group(index, request, mask, names, cancel, |group| {
        Ok::<_, ExportError>(csv_line(out, columns(&group).map(|(_, cell)| cell))?)
    })
}

/// Writes marks, with the columns that they have in JSON.
pub fn marks_csv(marks: &[MarkEntry], out: &mut dyn Write) -> Result<(), ExportError> {
    csv_line(out, ["at_s", "from_s", "to_s", "text", "provider", "process", "pid"].map(str::to_owned))?;
    for mark in marks {
        let MarkEntry { at_s, from_s, to_s, text, provider, process, pid } = mark;
        let [at_s, from_s, to_s] = [at_s, from_s, to_s].map(ToString::to_string);
        let [process, pid] =
            [process.as_deref().map_or_else(String::new, csv_cell), pid.map_or_else(String::new, |pid| pid.to_string())];
        csv_line(out, [at_s, from_s, to_s, csv_cell(text), csv_cell(provider), process, pid])?;
    }
    Ok(())
}

/// Writes frames, one line per frame and layer.
pub fn frames_csv<'a>(
    layers: impl Iterator<Item = (&'a ChainEntry, &'static str, &'a [FrameEntry])>,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let of_chain = ["process", "pid", "process_start_s", "api", "swap_chain", "layer"];
    let of_frame = ["number", "from_s", "to_s", "allocated_count", "allocated_size", "freed_count", "freed_size"];
    csv_line(out, of_chain.iter().chain(&of_frame).map(|name| (*name).to_owned()))?;
    for (chain, layer, frames) in layers {
        let ChainEntry { process, pid, process_start_s, api, swap_chain, .. } = chain;
        let start = process_start_s.map_or_else(String::new, |at| at.to_string());
        let chain = [csv_cell(process), pid.to_string(), start, (*api).to_owned(), swap_chain.clone(), layer.to_owned()];
        for frame in frames {
            let FrameEntry { number, from_s, to_s, allocated_count, allocated_size, freed_count, freed_size } = frame;
            let sums = [allocated_count, allocated_size, freed_count, freed_size].map(ToString::to_string);
            let cells = chain.iter().cloned().chain([number.to_string(), from_s.to_string(), to_s.to_string()]).chain(sums);
            csv_line(out, cells)?;
        }
    }
    Ok(())
}

/// Writes scopes, one line per name, process and layer.
pub fn scopes_csv<'a>(
    layers: impl Iterator<Item = (&'static str, &'a [ScopeEntry])>,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let names = ["layer", "scope", "provider", "process", "pid", "process_start_s", "count", "length_s"];
    csv_line(out, names.iter().chain(&["allocated_count", "allocated_size"]).map(|name| (*name).to_owned()))?;
    for (layer, scopes) in layers {
        for entry in scopes {
            let ScopeEntry { scope, provider, process, pid, process_start_s, count, length_s, .. } = entry;
            let start = process_start_s.map_or_else(String::new, |at| at.to_string());
            let texts = [scope, provider, process].map(|text| csv_cell(text));
            let numbers = [pid.to_string(), start, count.to_string(), length_s.to_string()];
            let sums = [entry.allocated_count, entry.allocated_size].map(|sum| sum.to_string());
            csv_line(out, std::iter::once(layer.to_owned()).chain(texts).chain(numbers).chain(sums))?;
        }
    }
    Ok(())
}

/// A stack in one cell. Names of templates can contain `;`, which is replaced in them. A program that splits cells at
/// `;` finds no formula behind it either.
pub(super) fn joined(frames: &[String]) -> String {
    quoted(frames.iter().map(|frame| not_computed(&frame.replace(';', ":"))).collect::<Vec<_>>().join(";"))
}

/// A text from a trace as a cell: without control characters, no formula ([`not_computed`]), and in quotes if it
/// contains a character that separates cells in any country. A number is none of these: it is written as it is.
pub fn csv_cell(text: &str) -> String {
    quoted(not_computed(text))
}

/// Writes a line of cells.
pub fn csv_line(out: &mut dyn Write, cells: impl IntoIterator<Item = String>) -> io::Result<()> {
    let cells: Vec<String> = cells.into_iter().collect();
    write!(out, "{}\r\n", cells.join(","))
}

/// A text in one line that no program which opens CSV takes for a formula. A text that would begin one gets a `'` in
/// front, even if blanks come first. Beginnings are the signs of formulas, those of full width as Japanese and
/// Chinese keyboards write them, and characters that some programs strip first (OWASP's list for CSV injection).
fn not_computed(text: &str) -> String {
    let is_taken_away = |c: char| c.is_whitespace() || c.is_control();
    let signs = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}', '\u{2212}'];
    let begins = text.starts_with(['\t', '\r', '\n']) || text.trim_start_matches(is_taken_away).starts_with(signs);
    let guard = if begins { "'" } else { "" };
    format!("{guard}{}", plain(text))
}

fn quoted(text: String) -> String {
    match text.contains([',', '"', ';']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_be_computed_are_texts() {
        let group = Group {
            function: Some("=cmd|' /C calc'!A0".to_owned()),
            stack: Some(vec!["@a.exe!main".to_owned(), "b.dll!f<1;2>".to_owned(), "=c.dll!+0x1".to_owned()]),
            lifetime_bucket: Some(LifetimeBounds(0.5, None)),
            ..Group::default()
        };
        let cells = columns(&group);
        let cell = |name: &str| cells.iter().find(|(column, _)| *column == name).unwrap().1.as_str();
        assert_eq!(cell("function"), "'=cmd|' /C calc'!A0");
        assert_eq!(cell("stack"), "\"'@a.exe!main;b.dll!f<1:2>;'=c.dll!+0x1\"");
        assert_eq!((cell("lifetime_bucket"), cell("pid"), cell("peak")), ("0.5..", "", "0"));
    }

    #[test]
    fn cells_are_guarded_and_in_one_line() {
        for sign in ["=", "+", "-", "@", "＝", "＋", "－", "＠", " =", "\u{a0}@", "\0=", "\u{1b}+"] {
            assert!(csv_cell(&format!("{sign}1+1")).starts_with('\''), "{sign}");
        }
        for (text, cell) in [
            ("\nx", "'\u{fffd}x"),
            ("\rx", "'\u{fffd}x"),
            ("\tx", "'\u{fffd}x"),
            ("a\r\nb", "a\u{fffd}\u{fffd}b"),
            ("a\u{9b}b", "a\u{fffd}b"),
            ("a-b", "a-b"),
            ("a;b", "\"a;b\""),
            ("a,\"b\"", "\"a,\"\"b\"\"\""),
            ("", ""),
        ] {
            assert_eq!(csv_cell(text), cell, "{text:?}");
        }
        let mut line = Vec::new();
        csv_line(&mut line, [csv_cell("-x"), "-1536".to_owned()]).unwrap();
        assert_eq!(line, b"'-x,-1536\r\n", "numbers stay numbers");
    }
}
