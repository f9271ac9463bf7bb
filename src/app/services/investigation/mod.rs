//! Saved investigations: where the user was in a trace (view, selection, filters, marks, pins, notes, lines of the graph and
//! kinds of activity, orders, searches, layers, opened lines and selected rows of tables, flame graphs, layout, the trace to
//! compare with and its sides), in a file
//! `NAME.highwater` beside the trace. It is text ([`file`]), or a zip archive that also holds the selected interval of the
//! trace ([`crate::export::cut`]), so that a colleague needs one file.
//!
//! Reading, finding things again in a loaded trace, and writing are work for other threads. Their cost: the file; a pass
//! over the stack nodes for each filter with frames; with the trace inside, that of a cut.

mod chips;
mod choices;
mod file;
mod finding;
mod lines;
mod nodes;
mod paths;
mod places;
mod view_places;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::app::base::background::Background;
use crate::app::jobs::JobId;
use crate::app::state::alignment::Alignment;
use crate::app::state::history::HistoryStop;
use crate::app::state::ids::{Tab, ViewId};
use crate::app::state::lanes::LineChoices;
use crate::app::state::layout::Shape;
use crate::app::state::notes::Note;
use crate::app::state::overlay::Overlay;
use crate::app::state::provider_choice::ProviderChoice;
use crate::app::state::source_list::SourceChoice;
use crate::app::state::view_choices::{NodePlace, ViewChoices};
use crate::archive::{text_in_bundle, write_bundle};
use crate::export::cut::{self, cut};
use crate::format::plain;
use crate::load::{Capture, Input};
use crate::model::Trace;
use crate::toml_file::text_of;
use crate::units::{Layer, Ticks};
use chips::SavedChip;
use choices::SavedCompare;
use file::{LARGEST, Saved, SavedNote, SavedTrace, SavedView, VERSION};
use lines::SavedOverlay;

/// The names of the members of a file that holds its trace too.
const TEXT_NAME: &str = "investigation.toml";
const TRACE_NAME: &str = "trace.etl";

/// The part of writing a file with its trace that is done when the trace is cut; then it is copied.
const CUT: f32 = 0.9;

/// The place of the user in a trace.
#[derive(Clone, Debug, Default)]
pub struct Bookmark {
    /// View, selection, filters, notes, marks and pins.
    pub stop: HistoryStop,
    pub cursor: Option<Ticks>,
    /// The active tab.
    pub tab: Option<Tab>,
    /// Lines of the graph that the user expanded, showed or hid.
    pub lines: LineChoices,
    /// Where the trace to compare with is laid over the graph; `None` if it is not drawn.
    pub alignment: Option<Alignment>,
    /// The kinds of activity that are not drawn.
    pub switched: BTreeSet<Overlay>,
    /// The search in the list of sources, and its closed lines.
    pub sources: SourceChoice,
    /// Orders, searches, opened lines and other choices in views.
    pub views: Vec<(ViewId, ViewChoices)>,
}

/// An investigation to be written.
pub struct Snapshot {
    pub name: String,
    pub bookmark: Bookmark,
    pub layout: Option<Shape>,
    pub trace: Arc<Trace>,
    pub inputs: Vec<Input>,
    /// The trace to compare with, and its files.
    pub baseline: Option<(Arc<Trace>, Vec<Input>)>,
    /// The providers with which the trace was loaded, if the selected interval of the trace goes into the file.
    pub with_trace: Option<ProviderChoice>,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An investigation as it was read.
#[derive(Debug)]
pub struct Investigation {
    saved: Saved,
    /// The files of the trace, or why they cannot be opened.
    pub inputs: Result<Vec<Input>, String>,
    /// The files of the trace to compare with, or why there are none.
    baseline: Option<Result<Vec<Input>, String>>,
    /// A sentence about what was ignored.
    ignored: Option<String>,
}

/// An investigation in its loaded trace.
#[derive(Debug)]
pub struct Found {
    pub job: JobId,
    pub bookmark: Bookmark,
    pub layout: Option<Shape>,
    /// The files of the trace to compare with.
    pub baseline: Option<Vec<Input>>,
    /// Sentences about what does not fit. The investigation is open all the same, so they are no errors.
    pub doubts: Vec<String>,
}

/// The investigations that are being opened.
#[derive(Default)]
pub struct Investigations {
    pub reading: Background<Result<Investigation, String>>,
    /// The one whose trace is being loaded.
    pub waiting: Option<Box<Investigation>>,
    pub finding: Background<Found>,
}

impl Investigations {
    /// Whether one is being read or found again.
    pub fn is_at_work(&self) -> bool {
        self.reading.is_at_work() || self.finding.is_at_work()
    }
}

impl Snapshot {
    /// Writes the file. `progress` gets the part that is done, and says whether to go on.
    pub fn write(&self, file: &Path, out: &mut File, progress: &dyn Fn(f32) -> bool) -> io::Result<()> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut saved = self.saved(folder).map_err(io::Error::other)?;
        let Some(providers) = &self.with_trace else {
            return io::Write::write_all(out, saved.text()?.as_bytes());
        };
        saved.trace.files = vec![TRACE_NAME.to_owned()];
        (saved.trace.bytes, saved.trace.length) = (None, 0); // those of the part
        let text = saved.text()?;
        let cut = |trace: &mut File| self.cut(providers, trace, progress).map_err(io::Error::other);
        write_bundle(out, (TEXT_NAME, &text), TRACE_NAME, cut, &|done, total| progress(part(CUT..1.0, done, total)))
    }

    fn saved(&self, folder: &Path) -> Result<Saved, String> {
        let Bookmark { stop: HistoryStop { filters, notes, .. }, lines, alignment, switched, sources, views, .. } =
            &self.bookmark;
        let seconds = |at: Ticks| self.trace.clock.seconds(at);
        let chips = filters.chips().iter().filter_map(|chip| SavedChip::of(&self.trace, chip));
        let value = |what: &dyn Fn() -> Result<toml::Value, toml::ser::Error>| what().map_err(|error| error.to_string());
        let note = |note: &Note| SavedNote { at_s: seconds(note.at), text: note.text.to_string() };
        let order = |(view, choices): &(ViewId, ViewChoices)| {
            let order = choices.order.as_ref()?;
            Some(value(&|| toml::Value::try_from(order)).map(|order| (view.key().to_owned(), order)))
        };
        let compared = views.iter().find(|(view, _)| *view == ViewId::Compare);
        let compare = compared.map_or(Ok(None), |(_, choices)| SavedCompare::of(choices, seconds));
        let by_tab = |choice: &dyn Fn(&ViewChoices) -> Option<String>| choices::saved_by_tab(views, choice);
        let places = |place: &dyn Fn(&ViewChoices) -> Option<&NodePlace>| {
            view_places::saved(&self.trace, views, place).map_err(|error| error.to_string())
        };
        let overlay = SavedOverlay::of(alignment.as_ref());
        let baseline = self.baseline.as_ref().map(|(trace, inputs)| SavedTrace::of(trace, inputs, folder)).transpose()?;
        Ok(Saved {
            version: VERSION,
            written_by: env!("CARGO_PKG_VERSION").to_owned(),
            trace: SavedTrace::of(&self.trace, &self.inputs, folder)?,
            baseline,
            view: self.view(),
            filter: chips.map(|chip| value(&|| toml::Value::try_from(&chip))).collect::<Result<_, _>>()?,
            note: notes.iter().map(note).collect(),
            line: lines::saved(&self.trace, lines)
                .iter()
                .map(|line| value(&|| toml::Value::try_from(line)))
                .collect::<Result<_, _>>()?,
            overlay: overlay.map(|overlay| value(&|| toml::Value::try_from(&overlay))).transpose()?,
            sort: views.iter().filter_map(order).collect::<Result<_, String>>()?,
            search: choices::saved_searches(views, sources),
            grouping: by_tab(&|choices| choices.grouping.clone()),
            layer: by_tab(&|choices| choices.layer.map(|layer| layer.name().to_owned())),
            weight: by_tab(&|choices| choices.weight.clone()),
            details: choices::saved_by_tab(views, |choices| choices.details),
            middle: by_tab(&|choices| choices.middle.as_ref().map(ToString::to_string)),
            hidden: switched.iter().map(|what| toml::Value::String(what.key().to_owned())).collect(),
            compare: compare.map_err(|error| error.to_string())?,
            node: nodes::saved(&self.trace, views, sources.closed.iter()).map_err(|error| error.to_string())?,
            selected: places(&|choices| choices.selected.as_ref())?,
            focus: places(&|choices| choices.focus.as_ref())?,
            layout: self.layout.as_ref().map(|layout| value(&|| toml::Value::try_from(layout))).transpose()?,
        })
    }

    /// The places in time.
    fn view(&self) -> SavedView {
        let Bookmark { stop: HistoryStop { view, selection, marks, pins, .. }, cursor, tab, .. } = &self.bookmark;
        let seconds = |at: Ticks| self.trace.clock.seconds(at);
        let all = |times: &[Ticks]| times.iter().map(|at| seconds(*at)).collect();
        SavedView {
            from_s: seconds(view.from),
            to_s: seconds(view.to),
            selected_s: selection.map(|selection| [seconds(selection.from), seconds(selection.to)]),
            cursor_s: cursor.map(seconds),
            tab: tab.map(|tab| tab.key().to_owned()),
            marks_s: all(marks),
            pins_s: all(pins),
        }
    }

    /// Writes the selected interval as a trace.
    fn cut(&self, providers: &ProviderChoice, out: &mut File, progress: &dyn Fn(f32) -> bool) -> Result<(), String> {
        let trace = &self.trace;
        let has_all_layers = trace.scope.layers.len() == Layer::ALL.len();
        if !has_all_layers || !trace.scope.stacks || trace.cut.is_some() || !trace.complete {
            return Err(
                "only a part of the trace is loaded, so it cannot be cut; load it whole, or save without the trace".to_owned()
            );
        }
        // If archives are expanded, that is the first third of the work.
        let mut start = 0.0;
        let opened = Capture::open_watched(&self.inputs, &mut |done, total| {
            start = CUT / 3.0;
            progress(part(0.0..CUT / 3.0, done, total))
        });
        let capture = opened.map_err(|error| error.to_string())?;
        let stop = &self.bookmark.stop;
        let request = cut::Request {
            files: &capture.files,
            trace,
            trace_start: capture.trace_start(),
            trackers: &providers.trackers,
            interval: stop.selection.filter(|selection| !selection.is_empty()).unwrap_or(stop.view),
            processes: &trace.scope.processes,
            anonymises: false,
            descriptions: &[],
        };
        let mut tell = |done, total| progress(part(start..CUT, done, total));
        let out = io::BufWriter::with_capacity(1 << 20, out);
        cut(&request, out, &mut tell).map(drop).map_err(|error| error.to_string())
    }
}

/// The part of all work that is done, when this share of one stretch of it is done.
fn part(stretch: Range<f32>, done: u64, total: u64) -> f32 {
    stretch.start + (stretch.end - stretch.start) * (done as f32 / total.max(1) as f32).min(1.0)
}

impl Investigation {
    /// Reads a file. `given` are the files of its trace, if the user gave them with it.
    pub fn read(file: &Path, given: Vec<Input>) -> Result<Self, String> {
        let told = plain(&file.display().to_string());
        let fault = |what: String| format!("{told} could not be opened: {what}.");
        let packed = text_in_bundle(file, TEXT_NAME, LARGEST).map_err(|error| fault(error.to_string()))?;
        let is_packed = packed.is_some();
        let text = packed.map_or_else(|| text_of(file, LARGEST), Ok).map_err(|error| fault(error.to_string()))?;
        let (saved, ignored) = Saved::parse(&text).map_err(|bad| fault(format!("it is not a readable investigation ({bad})")))?;
        let inputs = match (given.is_empty(), is_packed) {
            (false, _) => Ok(given),
            (true, true) => Ok(vec![Input::File(file.to_owned())]),
            (true, false) => saved.trace.inputs(file).map_err(fault),
        };
        let baseline = saved.baseline.as_ref().map(|baseline| baseline.inputs(file));
        Ok(Self { saved, inputs, baseline, ignored })
    }

    /// Whether this loaded trace is the one of the investigation, wherever its files are.
    pub fn is_of(&self, trace: &Trace) -> bool {
        self.saved.trace.is_of(trace)
    }
}
