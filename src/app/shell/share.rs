//! *Share as a page*: what the window shows, as one HTML file.

use super::HighwaterApp;
use crate::app::document::Document;
use crate::app::panels::chips;
use crate::app::panels::timeline::name_of;
use crate::app::services::shared_page::{SharedPage, left_out};
use crate::app::state::filters::Predicate;
use crate::app::state::graph::{GraphLine, LineOf};
use crate::app::state::ids::ViewId;
use crate::app::workspace::Workspace;
use crate::export::html::{Entry, Lane, Page, command};
use crate::format;
use crate::load::Input;
use crate::model::Trace;
use crate::query::{Key, RowCondition, doubts};
use crate::units::{Interval, Layer};

impl HighwaterApp {
    /// The contents of the window as a page; `None` without a trace.
    pub(super) fn shared_page(&self) -> Option<SharedPage> {
        self.front.workspace.as_ref().map(shared)
    }
}

fn shared(workspace: &Workspace) -> SharedPage {
    let Workspace { document, views, .. } = workspace;
    let trace = &document.trace;
    let seconds = |interval: Interval| (trace.clock.seconds(interval.from), trace.clock.seconds(interval.to));
    let findings = views.get(ViewId::Findings).map_or(&[][..], |view| view.findings(document));
    // The findings have a part of their own.
    let in_sight = document.views_in_sight().into_iter().filter(|view| *view != ViewId::Findings);
    let (mut tables, mut flames, mut without) = (Vec::new(), Vec::new(), Vec::new());
    for (id, view) in in_sight.filter_map(|id| Some((id, views.get(id)?))) {
        let (table, flame) = (view.table_source(), view.flame_graph());
        if table.is_none() && flame.is_none() {
            without.push(left_out(id.title()));
        }
        tables.extend(table);
        flames.extend(flame);
    }
    let page = Page {
        title: document.name(),
        facts: facts(document),
        doubts: doubts(trace, document.interval().to),
        span: seconds(document.view()),
        selected: document.selection().map(seconds),
        notes: notes(document),
        lanes: lanes(document),
        lanes_left_out: 0,
        findings: Some(findings.iter().map(Entry::from).collect()),
        has_findings_of_all: true,
        flames,
        tables: without,
        command: compares(workspace).map(command).or_else(|| as_command(document)),
    };
    SharedPage { page, tables }
}

fn facts(document: &Document) -> Vec<(String, String)> {
    let trace = &document.trace;
    let Interval { from, to } = document.interval();
    let moment = |at| format::moment(at, trace.clock.seconds(at));
    let mut facts: Vec<(String, String)> = trace.about().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    facts.push(("Interval".to_owned(), format!("{} to {}", moment(from), moment(to))));
    let filters = document.filters().chips().iter().map(|chip| ("Filter".to_owned(), chips::words(document, chip)));
    facts.extend(filters);
    let frees = trace.quality.unmatched_frees;
    if frees > 0 {
        facts.push(("Frees without a known allocation".to_owned(), format::count(frees)));
    }
    facts
}

fn notes(document: &Document) -> Vec<(f64, String)> {
    let notes = document.history.notes().iter();
    notes.map(|note| (document.trace.clock.seconds(note.at), note.text.to_string())).collect()
}

/// The lines of the graph that are sizes. Of stacked lines, which are sums, only the highest is one.
fn lanes(document: &Document) -> Vec<Lane> {
    let Some(graph) = &document.answers.graph else { return Vec::new() };
    let first = if graph.is_stacked() { graph.lines.len().saturating_sub(1) } else { 0 };
    let lane = |line: &GraphLine| {
        let layer = layer_of(document, &line.of)?;
        let points = line.line.points.iter().map(|&(at, bytes)| (document.trace.clock.seconds(at), bytes));
        let name = if graph.is_stacked() { "All types".to_owned() } else { name_of(document, &line.of) };
        Some(Lane { name, layer, points: points.collect(), peak: line.line.peak })
    };
    graph.lines[first..].iter().filter_map(lane).collect()
}

fn layer_of(document: &Document, of: &LineOf) -> Option<Layer> {
    match of {
        LineOf::Layer(_, layer) | LineOf::Part(_, layer, _) | LineOf::OtherTypes(layer) => Some(*layer),
        LineOf::Heap(heap) => document.trace.heaps.get(heap.0 as usize).map(|heap| heap.layer),
        LineOf::Type(key) => Some(key.layer),
        LineOf::Counter(_) | LineOf::Overlay(_) => None,
    }
}

/// The words of the command of the view that has the keys, if it has one of its own, as a comparison has.
fn compares(Workspace { document, views, .. }: &Workspace) -> Option<Vec<String>> {
    views.get(document.view_in_sight()?)?.command(document)
}

/// The command that prints the numbers of the interval; `None` with a filter that no option expresses.
fn as_command(document: &Document) -> Option<String> {
    let filters = filter_options(document)?;
    let mut words = vec!["highwater".to_owned(), "report".to_owned()];
    words.extend(document.inputs.iter().map(Input::name));
    if let Some(Interval { from, to }) = document.selection() {
        for (option, at) in [("--from", from), ("--to", to)] {
            words.extend([option.to_owned(), format!("{:.9}", document.trace.clock.seconds(at))]);
        }
    }
    words.extend(filters);
    Some(command(words))
}

/// The filters as options; `None` if one of them has no option.
fn filter_options(document: &Document) -> Option<Vec<String>> {
    let (trace, chips) = (&document.trace, document.filters().chips());
    // Nodes of several chips are joined, while options narrow each other.
    let nodes = chips.iter().filter(|chip| matches!(chip.what, Predicate::Under(_))).count();
    if nodes > 1 || chips.iter().any(|chip| chip.is_excluded) {
        return None;
    }
    let mut options = Vec::new();
    for chip in chips {
        match &chip.what {
            Predicate::Under(path) => {
                for key in path.iter() {
                    options.extend(place_option(trace, key)?);
                }
            }
            Predicate::Row(RowCondition::Thread(thread), _) => options.extend(["--thread".to_owned(), thread.to_string()]),
            _ => return None,
        }
    }
    Some(options)
}

/// The option for a process, layer or heap, with its value; other nodes of the tree have none.
fn place_option(trace: &Trace, key: &Key) -> Option<[String; 2]> {
    let (name, value) = match *key {
        Key::Process(process) => ("--process", trace.process(process).pid.to_string()),
        Key::Layer(layer) => ("--layer", layer.name().to_owned()),
        Key::Heap(heap) => ("--heap", trace.heap(heap).key()?),
        _ => return None,
    };
    Some([name.to_owned(), value])
}
