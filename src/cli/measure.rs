//! `highwater measure`: measures how long opening and questions take, for `scripts/bench.sh`. Hidden, because it is
//! an instrument of the project, not of its users.
//!
//! A question is what the window asks when the user selects another interval: totals of all sites, the lines of the
//! graph, and a tree with some sixty lines open.

mod asking;
mod first;
mod views;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::args::MeasureArgs;
use super::{Failure, open, output};
use crate::events::TrackerProviders;
use crate::load::prepared::Providers;
use crate::load::{Input, PreparedPlace, PreparedTraces, Unwatched, load};
use crate::model::{HeapId, SiteId, Trace};
use crate::query::{
    Cancel, Cancelled, Filter, Fold, Index, IndexOptions, Key, SeriesOf, Tree, TreeRequest, Trimmed, peaks, series, totals, tree,
};
use crate::random::Random;
use crate::units::Interval;
use asking::{BINS, interval, milliseconds};

/// Lines of the graph.
const LINES: usize = 8;

/// Minimum number of open lines of the tree.
const OPEN_LINES: usize = 60;

/// Figures of one run: bytes, counts and seconds; questions in milliseconds.
#[derive(Default, Serialize)]
struct Figures {
    file_bytes: u64,
    heap_events: u64,
    all_events: u64,
    open_s: f64,
    load_s: f64,
    /// With `--first`: until the first trace is there, and whether that is a preview.
    first_s: f64,
    has_preview: bool,
    heap_events_per_s: f64,
    bytes_per_s: f64,
    rows: usize,
    row_bytes: usize,
    sites: usize,
    stack_nodes: usize,
    /// Keeping the trace at full speed, and opening the kept one.
    keep_s: f64,
    reopen_s: f64,
    index_s: f64,
    index_bytes: (usize, usize),
    /// Milliseconds of each question's totals, series and tree, by kind of filter.
    questions: BTreeMap<&'static str, Vec<[f64; 3]>>,
    /// Milliseconds of questions that are answered by scans of the rows.
    scans: Vec<[f64; 3]>,
    /// Milliseconds for the peaks of the table's lines, as it opens and with more lines open, and the numbers of lines.
    peaks_at_first: Vec<(f64, usize)>,
    peaks_ms: Vec<f64>,
    peak_lines: Vec<usize>,
    /// Figures of the views.
    views: views::Views,
}

impl Figures {
    fn note(&mut self, trace: &Trace) {
        (self.rows, self.row_bytes) = (trace.rows.len(), trace.rows.heap_bytes());
        (self.sites, self.stack_nodes) = (trace.sites.len(), trace.stacks.len());
    }
}

/// Loads the files, asks, and prints the figures; of a kept trace only how long opening it takes.
pub(super) fn run(args: &MeasureArgs) -> Result<(), Failure> {
    let mut figures = Figures::default();
    let inputs = args.files.inputs();
    if args.first {
        first::measure(&inputs, !args.no_preview, &mut figures)?;
        return output::json(&figures);
    }
    let start = Instant::now();
    let place = args.prepared.as_deref().map(|folder| place(&inputs, folder)).transpose()?;
    if let Some(trace) = place.as_ref().and_then(|place| place.open(u64::MAX, &mut Unwatched).ok()?) {
        figures.reopen_s = start.elapsed().as_secs_f64();
        figures.note(&trace);
        return output::json(&figures);
    }
    let start = Instant::now();
    let capture = open(&inputs)?;
    figures.open_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let Ok(trace) = load(&capture, &mut Unwatched) else { return Ok(()) };
    figures.load_s = start.elapsed().as_secs_f64();
    let counts = &trace.counts;
    figures.heap_events = counts.heap_create + counts.heap_destroy + counts.heap_alloc + counts.heap_free + counts.heap_realloc;
    figures.all_events = counts.total;
    figures.file_bytes = capture.bytes();
    figures.heap_events_per_s = figures.heap_events as f64 / figures.load_s;
    figures.bytes_per_s = figures.file_bytes as f64 / figures.load_s;
    figures.note(&trace);
    if let Some(place) = place {
        let names: Vec<String> = capture.files.iter().map(|file| file.name.clone()).collect();
        let start = Instant::now();
        place.keep(&trace, &names, &mut || true).map_err(|reason| Failure::Failed(reason.to_string()))?;
        figures.keep_s = start.elapsed().as_secs_f64();
    }
    if args.questions > 0 && !trace.rows.is_empty() {
        // Nothing cancels the questions.
        let _ = ask(&Arc::new(trace), args.questions, &mut figures);
    }
    output::json(&figures)
}

/// The place of the trace in a folder of prepared traces.
fn place(inputs: &[Input], folder: &Path) -> Result<PreparedPlace, Failure> {
    let providers = Providers { marks: &[], trackers: &TrackerProviders::default(), descriptions: &[] };
    let place = PreparedTraces::new(folder.to_owned(), u64::MAX).of_any_size().place(inputs, providers);
    place.ok_or_else(|| Failure::Failed("nothing is kept of these".to_owned()))
}

fn ask(trace: &Arc<Trace>, questions: usize, figures: &mut Figures) -> Result<(), Cancelled> {
    let cancel = Cancel::default();
    let scan = Index::scan(Arc::clone(trace));
    let start = Instant::now();
    let index = Index::build(Arc::clone(trace), &IndexOptions::default(), &cancel)?;
    trace.outline();
    figures.index_s = start.elapsed().as_secs_f64();
    figures.index_bytes = index.heap_bytes();
    let mut random = Random::new(1);
    let filters = filters(trace, &mut random);
    let mut request = TreeRequest { fold: Fold::Foreign, chains: true, ..TreeRequest::default() }; // as the window asks
    request.trimmed = Some(Arc::new(Trimmed::of(trace, &request.names, request.fold, &cancel)?));
    for n in 0..questions {
        let interval = interval(trace, &mut random);
        let (kind, filter) = &filters[n % filters.len()];
        let request = TreeRequest { filter: filter.clone(), ..request.clone() };
        // A filter by frames has to be prepared when it is new.
        let kind = if *kind == "frame" && n >= filters.len() { "frame, again" } else { kind };
        let took = question(&index, interval, &request, &cancel)?;
        figures.questions.entry(kind).or_default().push(took);
        if n % 33 == 0 {
            figures.scans.push(question(&scan, interval, &request, &cancel)?);
            let sums = totals(&index, interval, &cancel)?;
            let time_of = |table: &Tree| {
                let start = Instant::now();
                peaks(&index, interval, table, &cancel)?;
                Ok(milliseconds(start))
            };
            let table = tree(trace, &sums, &request, &cancel)?;
            figures.peaks_at_first.push((time_of(&table)?, table.len()));
            let table = tree(trace, &sums, &opened(&index, interval, &request, &cancel)?, &cancel)?;
            figures.peaks_ms.push(time_of(&table)?);
            figures.peak_lines.push(table.len());
        }
    }
    figures.views = views::ask(&index, questions.div_ceil(20), &mut random, &cancel)?;
    Ok(())
}

/// Asks one question; returns the milliseconds of totals, series and tree.
fn question(index: &Index, interval: Interval, request: &TreeRequest, cancel: &Cancel) -> Result<[f64; 3], Cancelled> {
    let trace = index.trace();
    let request = opened(index, interval, request, cancel)?;
    let start = Instant::now();
    let sums = totals(index, interval, cancel)?;
    let totals_ms = milliseconds(start);
    let start = Instant::now();
    let mask = request.filter.mask(trace);
    let of = SeriesOf::new(trace, LINES, |site| {
        let heap = trace.site(site).heap.0;
        (heap < LINES as u32 && mask.classes(site) != 0).then_some(heap)
    });
    series(index, &sums, &of, BINS, cancel)?;
    let series_ms = milliseconds(start);
    let start = Instant::now();
    tree(trace, &sums, &request, cancel)?;
    Ok([totals_ms, series_ms, milliseconds(start)])
}

/// The request with enough lines open to fill a screen.
fn opened(index: &Index, interval: Interval, request: &TreeRequest, cancel: &Cancel) -> Result<TreeRequest, Cancelled> {
    let trace = index.trace();
    let mut request = request.clone();
    let sums = totals(index, interval, cancel)?;
    for _ in 0..12 {
        let table = tree(trace, &sums, &request, cancel)?;
        if table.len() >= OPEN_LINES {
            break;
        }
        let closed = table.rows(trace).filter(|row| row.has_children && !row.is_open).take(4);
        let more: Vec<_> = closed.map(|row| (row.path, true)).collect();
        Arc::make_mut(&mut request.toggled).extend(more);
    }
    Ok(request)
}

/// Filters and their names: everything, a process, a heap, and what lies under a frame.
fn filters(trace: &Trace, random: &mut Random) -> Vec<(&'static str, Filter)> {
    let mut filters = vec![("none", Filter::all())];
    let heap = HeapId(random.index(trace.heaps.len()) as u32);
    let place = trace.heap(heap);
    let way = [Key::Process(place.process), Key::Layer(place.layer), Key::Heap(heap)];
    filters.push(("process", Filter::under(&way[..1])));
    filters.push(("heap", Filter::under(&way[..])));
    let site = trace.site(SiteId(random.index(trace.sites.len()) as u32));
    let frames = trace.stacks.path(site.stack);
    // A frame from the middle, because all stacks share the outermost frames.
    if let Some(&frame) = frames.get(frames.len() / 2) {
        let process = trace.process_of(site);
        filters.push(("frame", Filter::under(&[Key::Process(process), Key::Frame(frame)][..])));
    }
    filters
}
