//! CSV: a line a group, with the columns that a report's groups have, whether they were asked for or not.
//! Frames of a stack are joined by `;`, the outermost first; ranges by `..`.
//!
//! Names come from traces, and CSV is opened by programs that compute: a text that would be a formula
//! gets a `'` in front, as in the files that the window writes.

use std::borrow::Cow;
use std::io::Write;

use super::{ExportError, Exported};
use crate::query::{ChainEntry, FrameEntry, Group, LifetimeBounds, MarkEntry, UNKNOWN_CHANGE, each_group};

fn guarded(text: &str) -> String {
    not_computed(text).into_owned()
}

/// The columns in their order, and what a group has in each.
fn columns(group: &Group) -> [(&'static str, String); 32] {
    let n = &group.numbers;
    let text = |text: &Option<String>| text.as_deref().map_or_else(String::new, guarded);
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

/// A change; empty where it is not known.
fn known(change: i64) -> String {
    if change == UNKNOWN_CHANGE { String::new() } else { change.to_string() }
}

/// Writes the groups of a report.
pub fn csv(exported: &Exported<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut writer = writer(out);
    writer.write_record(columns(&Group::default()).map(|(name, _)| name))?;
    let Exported { index, names, request, mask, cancel } = exported;
    each_group(index, request, mask, names, cancel, |group| {
        writer.write_record(columns(&group).map(|(_, cell)| cell))?;
        Ok::<_, ExportError>(())
    })?;
    Ok(writer.flush()?)
}

/// Writes marks, with the columns that they have in JSON.
pub fn marks_csv(marks: &[MarkEntry], out: &mut dyn Write) -> Result<(), ExportError> {
    let mut writer = writer(out);
    writer.write_record(["at_s", "from_s", "to_s", "text", "provider", "process", "pid"])?;
    for mark in marks {
        let MarkEntry { at_s, from_s, to_s, text, provider, process, pid } = mark;
        let [at_s, from_s, to_s] = [at_s, from_s, to_s].map(ToString::to_string);
        let [process, pid] =
            [process.as_deref().map_or_else(String::new, guarded), pid.map_or_else(String::new, |pid| pid.to_string())];
        writer.write_record([at_s, from_s, to_s, guarded(text), guarded(provider), process, pid])?;
    }
    Ok(writer.flush()?)
}

/// Writes frames, a line for each and each layer.
pub fn frames_csv<'a>(
    layers: impl Iterator<Item = (&'a ChainEntry, &'static str, &'a [FrameEntry])>,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut writer = writer(out);
    let of_chain = ["process", "pid", "process_start_s", "api", "swap_chain", "layer"];
    let of_frame = ["number", "from_s", "to_s", "allocated_count", "allocated_size", "freed_count", "freed_size"];
    writer.write_record(of_chain.iter().chain(&of_frame))?;
    for (chain, layer, frames) in layers {
        let ChainEntry { process, pid, process_start_s, api, swap_chain, .. } = chain;
        let start = process_start_s.map_or_else(String::new, |at| at.to_string());
        let chain = [guarded(process), pid.to_string(), start, (*api).to_owned(), swap_chain.clone(), layer.to_owned()];
        for frame in frames {
            let FrameEntry { number, from_s, to_s, allocated_count, allocated_size, freed_count, freed_size } = frame;
            let sums = [allocated_count, allocated_size, freed_count, freed_size].map(ToString::to_string);
            let cells = chain.iter().cloned().chain([number.to_string(), from_s.to_string(), to_s.to_string()]).chain(sums);
            writer.write_record(cells)?;
        }
    }
    Ok(writer.flush()?)
}

fn writer(out: &mut dyn Write) -> ::csv::Writer<&mut dyn Write> {
    ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(out)
}

/// A stack in one cell; names of templates can have the separator in them. Programs that take it for
/// that of cells find no formula there either.
fn joined(frames: &[String]) -> String {
    frames.iter().map(|frame| guarded(&frame.replace(';', ":"))).collect::<Vec<_>>().join(";")
}

/// A text that no program which opens CSV takes for a formula: names come from traces.
pub fn not_computed(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { format!("'{text}").into() } else { text.into() }
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
        assert_eq!(cell("stack"), "'@a.exe!main;b.dll!f<1:2>;'=c.dll!+0x1");
        assert_eq!((cell("lifetime_bucket"), cell("pid"), cell("peak")), ("0.5..", "", "0"));
    }
}
