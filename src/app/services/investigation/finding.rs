//! An investigation found again in a loaded trace: work for another thread.
//!
//! Cost: a pass over the stack nodes for each filter with frames, for each selected row, and one for all opened lines of trees;
//! a pass over the rows for each selected allocation.

use super::chips::SavedChip;
use super::choices::{self, SOURCES};
use super::file::Saved;
use super::nodes::{self, FoundNodes};
use super::{Bookmark, Found, Investigation, lines, places, view_places};
use crate::app::jobs::JobId;
use crate::app::state::alignment::Alignment;
use crate::app::state::filters::{Chip, Filters};
use crate::app::state::history::HistoryStop;
use crate::app::state::ids::{MOST_MARKS, Tab, ViewId};
use crate::app::state::inputs::short_name;
use crate::app::state::layout::Shape;
use crate::app::state::notes::{Notes, with_note};
use crate::app::state::source_list::SourceChoice;
use crate::app::state::view_choices::NodePlace;
use crate::format::plain;
use crate::load::Input;
use crate::model::Trace;
use crate::units::{Interval, Ticks};

/// Maximum number of filters in a file.
const MOST_FILTERS: usize = 100;

impl Investigation {
    /// Finds everything again in a loaded trace.
    pub fn find(self, job: JobId, inputs: &[Input], trace: &Trace) -> Found {
        let mut doubts: Vec<String> = self.ignored.iter().cloned().collect();
        doubts.extend(self.saved.trace.difference(&short_name(inputs), trace, places::bytes_of(inputs)));
        let (filters, lost) = self.filters(trace);
        doubts.extend(told(lost, ("A filter of", "filters of"), "could not be found again in this trace"));
        let layout = self.saved.layout.clone().map(toml::Value::try_into::<Shape>);
        if matches!(layout, Some(Err(_))) {
            doubts.push("The layout of the investigation is not known to this version.".to_owned());
        }
        let baseline = self.baseline.and_then(|baseline| {
            baseline.map_err(|why| doubts.push(format!("The trace to compare with was not opened: {why}."))).ok()
        });
        let (lines, lost) = lines::found(&self.saved.line, trace);
        doubts.extend(told(lost, ("A line of the graph in", "lines of the graph in"), "could not be found again in this trace"));
        let alignment = lines::alignment(self.saved.overlay.as_ref(), trace).unwrap_or_else(|| {
            doubts.push(
                "This trace lacks the moment at which the compared trace was aligned; it is aligned at the start.".to_owned(),
            );
            Some(Alignment::default())
        });
        let nodes = nodes::found(&self.saved.node, trace);
        doubts.extend(told(nodes.lost, ("An opened line of", "opened lines of"), "could not be found again in this trace"));
        let (selected, lost) = view_places::selected(&self.saved.selected, trace);
        doubts.extend(told(lost, ("A selected row of", "selected rows of"), "could not be found again in this trace"));
        let (switched, unknown) = choices::switched(&self.saved.hidden);
        doubts.extend(told(unknown, ("A lane of", "lanes of"), "cannot be hidden by this version"));
        let bookmark = Bookmark { lines, alignment, switched, ..bookmark(&self.saved, filters, (nodes, &selected), trace) };
        Found { job, bookmark, layout: layout.and_then(Result::ok), baseline, doubts }
    }

    /// The filters, and how many are not in the trace or of an unknown kind.
    fn filters(&self, trace: &Trace) -> (Filters, usize) {
        let find = |value: &toml::Value| value.clone().try_into::<SavedChip>().ok()?.find(trace);
        let chips: Vec<Chip> = self.saved.filter.iter().take(MOST_FILTERS).filter_map(find).collect();
        let lost = self.saved.filter.len() - chips.len();
        let mut filters = Filters::default();
        chips.into_iter().for_each(|chip| filters.add(chip));
        (filters, lost)
    }
}

/// The place in time, inside the trace.
fn bookmark(saved: &Saved, filters: Filters, (nodes, selected): (FoundNodes, &[(ViewId, NodePlace)]), trace: &Trace) -> Bookmark {
    let (span, view) = (trace.span, &saved.view);
    let ticks = |seconds: f64| trace.clock.ticks(seconds).clamp(span.from, span.to);
    let all = |times: &[f64], most: usize| {
        let mut all: Vec<Ticks> = times.iter().take(most).map(|at| ticks(*at)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (from, to) = (ticks(view.from_s), ticks(view.to_s));
    let notes = saved.note.iter().fold(Notes::default(), |notes, note| with_note(&notes, ticks(note.at_s), &plain(&note.text)));
    let stop = HistoryStop {
        view: if from < to { Interval { from, to } } else { span },
        selection: view.selected_s.map(|[from, to]| Interval::new(ticks(from), ticks(to))),
        filters,
        marks: all(&view.marks_s, MOST_MARKS).into(),
        pins: all(&view.pins_s, 2).into(),
        notes,
    };
    Bookmark {
        stop,
        cursor: view.cursor_s.map(ticks),
        tab: view.tab.as_deref().and_then(|key| Tab::all().find(|tab| tab.key() == key)),
        views: choices::found(saved, &nodes, selected, ticks),
        sources: SourceChoice {
            search: choices::search(&saved.search, SOURCES),
            closed: nodes.closed_sources.into_iter().collect(),
        },
        ..Bookmark::default()
    }
}

/// The sentence about things of an investigation that are left out, if there are any: what they are, one and many, and what is wrong with
/// them.
fn told(lost: usize, (one, many): (&str, &str), why: &str) -> Option<String> {
    let what = if lost == 1 { one.to_owned() } else { format!("{lost} {many}") };
    (lost > 0).then(|| format!("{what} the investigation {why}."))
}
