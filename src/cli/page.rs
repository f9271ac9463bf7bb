//! `report --html`: the contents of the page, beside the table of the report: the graph, the findings, and the command.

use super::Failure;
use super::asked::{IntervalInSeconds, Loaded, stopped};
use super::text::{self, Align, Table};
use crate::export::html::{self, Cell, Column, Entry, Lane, Line, Page};
use crate::model::{ProcessId, Trace};
use crate::query::{
    Cancel, Index, Mask, Report, ReportFilter, SeriesOf, findings, layer_label, series, silent_allocators, totals,
};
use crate::symbols::Names;
use crate::tables::KeyedMap;
use crate::units::Layer;

/// Largest number of lanes: more can hardly be read.
const LANES: usize = 16;
/// Bins of a lane, about one for each point of its width.
const BINS: usize = 700;
/// Largest number of findings.
const FINDINGS: usize = 40;

/// The question that a page answers.
pub(super) struct Question<'a> {
    pub(super) files: Vec<String>,
    pub(super) loaded: &'a Loaded,
    pub(super) index: &'a Index,
    pub(super) names: &'a Names,
    pub(super) filter: &'a ReportFilter,
    pub(super) doubts: Vec<String>,
}

impl Question<'_> {
    /// The page about a report with its table.
    pub(super) fn page(self, report: &Report, table: Table) -> Result<Page, Failure> {
        let never = Cancel::default();
        let trace = self.index.trace();
        let mask = self.filter.named_mask(trace, self.names, &never).map_err(stopped)?;
        let seconds = |interval| {
            let IntervalInSeconds { from_s, to_s } = IntervalInSeconds::of(&trace.clock, interval);
            (from_s, to_s)
        };
        let (mut lanes, span) = (self.lanes(&mask)?, trace.span);
        let lanes_left_out = lanes.len().saturating_sub(LANES);
        lanes.truncate(LANES);
        let mut found = findings(self.index, self.loaded.interval, &mask, self.names, &never).map_err(stopped)?;
        found.truncate(FINDINGS);
        let silent = silent_allocators(trace, self.names);
        let silent = silent.iter().map(|silent| silent.sentence(trace));
        Ok(Page {
            title: self.files.join(" + "),
            facts: self.facts(trace),
            doubts: self.doubts.into_iter().chain(silent).collect(),
            span: seconds(span),
            selected: (self.loaded.interval != span).then(|| seconds(self.loaded.interval)),
            notes: Vec::new(),
            lanes,
            lanes_left_out,
            findings: Some(found.iter().map(Entry::from).collect()),
            has_findings_of_all: false,
            flames: Vec::new(),
            tables: vec![with_bars(of_text(table), report)],
            command: Some(command(std::env::args_os().map(|word| word.to_string_lossy().into_owned()))),
        })
    }

    fn facts(&self, trace: &Trace) -> Vec<(String, String)> {
        let IntervalInSeconds { from_s, to_s } = IntervalInSeconds::of(&trace.clock, self.loaded.interval);
        let interval = format!("{} to {}", text::seconds(from_s), text::seconds(to_s));
        let about = trace.about().into_iter().chain([("Interval", interval)]);
        let filters = filters(std::env::args_os().map(|word| word.to_string_lossy().into_owned()));
        let filters = filters.into_iter().map(|filter| ("Filter".to_owned(), filter));
        about.map(|(name, value)| (name.to_owned(), value)).chain(filters).collect()
    }

    /// The layers of all processes over the whole trace, those with the highest peak first.
    fn lanes(&self, mask: &Mask) -> Result<Vec<Lane>, Failure> {
        let never = Cancel::default();
        let trace = self.index.trace();
        let mut numbers: KeyedMap<(ProcessId, Layer), u32> = KeyedMap::default();
        let mut keys = Vec::new();
        let lane_of: Vec<u32> = (trace.heaps.iter())
            .map(|heap| {
                let key = (heap.process, heap.layer);
                *numbers.entry(key).or_insert_with(|| {
                    keys.push(key);
                    keys.len() as u32 - 1
                })
            })
            .collect();
        let of =
            SeriesOf::new(trace, keys.len(), |site| (mask.classes(site) != 0).then(|| lane_of[trace.site(site).heap.0 as usize]));
        let totals = totals(self.index, trace.span, &never).map_err(stopped)?;
        let lines = series(self.index, &totals, &of, BINS, &never).map_err(stopped)?;
        let mut lanes: Vec<Lane> = (keys.into_iter().zip(lines))
            .filter(|(_, line)| line.peak > 0)
            .map(|((process, layer), line)| Lane {
                name: format!("{} \u{b7} {}", trace.process_name(process), layer_label(layer)),
                layer,
                points: line.points.iter().map(|&(at, bytes)| (trace.clock.seconds(at), bytes)).collect(),
                peak: line.peak,
            })
            .collect();
        lanes.sort_by(|a, b| b.peak.cmp(&a.peak).then_with(|| a.name.cmp(&b.name)));
        Ok(lanes)
    }
}

/// A table of text as one of a page.
fn of_text(table: Table) -> html::Table {
    let (columns, lines) = table.parts();
    html::Table {
        title: "Report".to_owned(),
        if_empty: "No matching allocations in this interval.".to_owned(),
        columns: columns.into_iter().map(|(name, align)| Column { name, is_number: align == Align::Right }).collect(),
        lines: (lines.into_iter())
            .map(|(cells, notes)| Line { depth: 0, cells: cells.into_iter().map(Cell::from).collect(), notes })
            .collect(),
        left_out: 0,
    }
}

/// Adds a bar to what is outstanding, as a share of the largest group.
fn with_bars(mut table: html::Table, report: &Report) -> html::Table {
    let most = report.groups.iter().map(|group| group.numbers.outstanding_to).max().unwrap_or(0).max(1);
    if let Some(at) = table.columns.iter().position(|column| column.name == "Outstanding") {
        for (line, group) in table.lines.iter_mut().zip(&report.groups) {
            let share = group.numbers.outstanding_to as f64 / most as f64;
            line.cells.get_mut(at).into_iter().for_each(|cell| cell.share = Some(share));
        }
    }
    table.left_out = (report.count - report.groups.len()) as u64;
    table
}

/// The options among the words that choose rows, each with its value.
fn filters(words: impl Iterator<Item = String>) -> Vec<String> {
    const OPTIONS: [&str; 11] =
        ["process", "layer", "heap", "allocated", "freed", "size", "lifetime", "thread", "type", "frame", "not-frame"];
    let mut words = words.skip(1).take_while(|word| word != "--");
    let mut filters = Vec::new();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else { continue };
        let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value.to_owned())));
        if OPTIONS.contains(&name) {
            filters.extend(value.or_else(|| words.next()).map(|value| format!("{name} {value}")));
        }
    }
    filters
}

/// The command that prints the same table: this one without the page.
fn command(words: impl Iterator<Item = String>) -> String {
    let mut all = vec!["highwater".to_owned()];
    let mut words = words.skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--html" => _ = words.next(),
            "--replace" => {}
            other if other.starts_with("--html=") => {}
            _ => all.push(word),
        }
    }
    html::command(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_the_options_that_choose_rows() {
        let words =
            ["highwater", "report", "a.etl", "--heap=0x10", "--by", "layer", "--frame", "new", "--top", "3", "--", "--size"];
        assert_eq!(filters(words.iter().map(|word| (*word).to_owned())), ["heap 0x10", "frame new"]);
        assert!(filters(std::iter::empty()).is_empty());
    }

    #[test]
    fn the_command_of_a_page_repeats_its_question() {
        let words = ["/usr/bin/highwater", "report", "my game.etl", "--html", "out.html", "--by", "process,stack", "--replace"];
        let text = command(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(text, "highwater report 'my game.etl' --by 'process,stack'");
        let words = ["highwater", "report", "--html=a.html", "it's.etl", "--from", "mark:a b"];
        assert_eq!(command(words.iter().map(|word| (*word).to_owned())), r#"highwater report "it's.etl" --from 'mark:a b'"#);
    }
}
