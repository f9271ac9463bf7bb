//! Each stage from bytes to answers alone, on a generated trace of a million heap
//! events with stacks: recording, decoding, replay, and the queries behind the window.
//!
//! `cargo bench --bench stages [record|decode|replay|index|totals|series|tree|report]`
//!
//! Other sizes come from the environment: `BENCH_EVENTS`, `BENCH_STACKS` (distinct
//! ones), `BENCH_PROCESSES`, `BENCH_HEAPS` and `BENCH_THREADS` (of each process).
#![allow(missing_docs, reason = "criterion's macros make functions without docs")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to say")]

use std::io::Cursor;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use highwater::capture::{BUFFER_SIZE, DiskImages, Lane, Recording, Session};
use highwater::etl::write::{Descriptor, NewEvent};
use highwater::etl::{EventId, HeaderKind, ReadBuffer, Source, TraceFile};
use highwater::events::{Batch, Merge, Record, Wants, decode_buffer, hook, survey};
use highwater::load::{Capture, Unwatched, load};
use highwater::model::{Builder, InputState, Trace};
use highwater::problem::Problems;
use highwater::query::{
    By, Cancel, Column, Filter, Fold, Index, IndexOptions, Key, ReportFilter, ReportRequest, SeriesOf, Sort, Totals, TreeRequest,
    TreeRow, report, series, totals, tree,
};
use highwater::units::{Interval, Pid, PointerSize, Ticks, Tid};
use highwater_dev::synth::{Options, generate};

/// A number from the environment.
fn size(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

fn capture() -> Capture {
    let usual = Options::default();
    let small = |name: &str, usual: u32| size(name, usual.into()) as u32;
    let options = Options {
        events: size("BENCH_EVENTS", 1_000_000),
        distinct_stacks: small("BENCH_STACKS", usual.distinct_stacks),
        processes: small("BENCH_PROCESSES", usual.processes),
        heaps: small("BENCH_HEAPS", usual.heaps),
        threads: small("BENCH_THREADS", usual.threads),
        ..usual
    };
    let bytes = generate(&options, Cursor::new(Vec::new())).unwrap().into_inner();
    let file = TraceFile::from_source(Source::Memory(bytes.leak()), "generated.etl".to_owned()).unwrap();
    Capture { files: vec![file], problems: Problems::default() }
}

/// The records of a capture in time order, and the frames of their stacks.
#[derive(Default)]
struct Records {
    list: Vec<(Record, Range<usize>)>,
    frames: Vec<u64>,
}

impl Records {
    fn of(capture: &Capture) -> Self {
        let mut records = Self::default();
        let done = Merge::of_records(&capture.files).run::<()>(
            |item, stack| {
                let start = records.frames.len();
                records.frames.extend(stack.frames().addresses());
                records.list.push((item.record().into_owned(), start..records.frames.len()));
                ControlFlow::Continue(())
            },
            |_| ControlFlow::Continue(i64::MAX),
        );
        assert!(done.is_continue());
        records
    }

    fn replay(&self, capture: &Capture) -> Builder {
        let mut builder = Builder::new(capture.clock(), capture.trace_start(), (0, 0));
        for (record, frames) in &self.list {
            builder.apply(record, &self.frames[frames.clone()]);
        }
        builder
    }
}

fn reading(c: &mut Criterion) {
    let capture = capture();
    let file = &capture.files[0];
    let mut group = c.benchmark_group("decode");
    group.throughput(Throughput::Bytes(file.bytes)).sample_size(10);
    let (mut scratch, mut batch) = (ReadBuffer::default(), Batch::default());
    group.bench_function("one worker", |b| {
        b.iter(|| {
            for buffer in &file.buffers {
                batch = decode_buffer(file, buffer, &Wants::default(), &mut scratch, std::mem::take(&mut batch));
            }
            batch.entries.len()
        });
    });
    group.bench_function("survey", |b| b.iter(|| survey(file)));
    group.finish();

    let records = Records::of(&capture);
    let mut group = c.benchmark_group("replay");
    group.throughput(Throughput::Elements(records.list.len() as u64)).sample_size(10);
    group.bench_function("apply", |b| b.iter_with_large_drop(|| records.replay(&capture)));
    group.bench_function("publish", |b| {
        let input = InputState { complete: true, ..InputState::default() };
        b.iter_batched(|| records.replay(&capture), |mut builder| builder.publish(input.clone()), BatchSize::LargeInput);
    });
    group.bench_function("load", |b| b.iter_with_large_drop(|| load(&capture, &mut Unwatched).unwrap()));
    group.finish();
}

/// So many events a recording takes, every other one with a stack.
const TAKEN: u64 = 1_000_000;

fn take(recording: &Recording) {
    let mut writer = recording.lane(Lane::Heap);
    let (alloc, stack) = ([7; 28], [9; 16 + 30 * 8]);
    for n in 0..TAKEN {
        let (kind, hook, payload): (_, _, &[u8]) = match n % 2 {
            0 => (HeaderKind::System, hook::HEAP_ALLOC, &alloc),
            _ => (HeaderKind::PerfInfo, hook::STACK, &stack),
        };
        let event = NewEvent {
            processor: (n / 64 % 4) as u16,
            time: n as i64,
            kind,
            pointer: PointerSize::Eight,
            pid: Pid(4660),
            tid: Tid(7),
            id: EventId::Hook(hook),
            version: 2,
            descriptor: Descriptor::default(),
            extended: &[],
            payload,
        };
        writer.take(&event).unwrap();
    }
}

fn recording(c: &mut Criterion) {
    let session = Session {
        frequency: 10_000_000,
        start_ticks: 0,
        start_time: 0,
        boot_time: 0,
        processors: 4,
        os: (10, 0, 26_100),
        buffer_size: BUFFER_SIZE,
        pointer_size: 8,
    };
    let begin = || {
        let folder = tempfile::tempdir().unwrap();
        let recording = Recording::create(&folder.path().join("lanes"), &session, None).unwrap();
        (folder, recording)
    };
    let mut group = c.benchmark_group("record");
    group.throughput(Throughput::Elements(TAKEN)).sample_size(10);
    group.bench_function("take", |b| {
        b.iter_batched_ref(begin, |(_, recording)| take(recording), BatchSize::PerIteration);
    });
    group.bench_function("merge", |b| {
        let taken = || {
            let (folder, recording) = begin();
            take(&recording);
            (folder, recording)
        };
        let finish = |(folder, recording): (tempfile::TempDir, Recording)| {
            let out = folder.path().join("out.etl");
            recording.finish(&out, &mut DiskImages::default(), &mut |_, _| true).unwrap();
            folder
        };
        b.iter_batched(taken, finish, BatchSize::PerIteration);
    });
    group.finish();
}

/// The middle third of a trace.
fn middle(trace: &Trace) -> Interval {
    let third = trace.span.len() / 3;
    Interval { from: Ticks(trace.span.from.0 + third), to: Ticks(trace.span.to.0 - third) }
}

fn queries(c: &mut Criterion) {
    let trace = Arc::new(load(&capture(), &mut Unwatched).unwrap());
    let cancel = Cancel::default();
    let rows = trace.rows.len() as u64;
    let intervals = [("whole", trace.span), ("middle", middle(&trace))];

    let mut group = c.benchmark_group("index");
    group.throughput(Throughput::Elements(rows)).sample_size(10);
    let build = || Index::build(Arc::clone(&trace), &IndexOptions::default(), &cancel).unwrap();
    group.bench_function("build", |b| b.iter_with_large_drop(build));
    group.finish();
    let ways = [("scan", Index::scan(Arc::clone(&trace))), ("index", build())];
    let index = &ways[1].1;

    let mut group = c.benchmark_group("totals");
    group.throughput(Throughput::Elements(rows));
    for ((way, index), (name, interval)) in ways.iter().flat_map(|way| intervals.map(|interval| (way, interval))) {
        group.bench_function(format!("{name}, {way}"), |b| b.iter(|| totals(index, interval, &cancel).unwrap()));
    }
    group.finish();

    let mut group = c.benchmark_group("series");
    group.throughput(Throughput::Elements(rows)).sample_size(20);
    let by_heap = SeriesOf::new(&trace, trace.heaps.len(), |site| Some(trace.site(site).heap.0));
    for ((way, index), (name, interval)) in ways.iter().flat_map(|way| intervals.map(|interval| (way, interval))) {
        let totals = totals(index, interval, &cancel).unwrap();
        group.bench_function(format!("{name}, {way}"), |b| {
            b.iter(|| series(index, &totals, &by_heap, 1000, &cancel).unwrap());
        });
    }
    let half = SeriesOf::new(&trace, 1, |site| (site.0 % 2 == 0).then_some(0));
    let sums = totals(index, trace.span, &cancel).unwrap();
    group.bench_function("new filter", |b| {
        b.iter_batched(build, |index| series(&index, &sums, &half, 1000, &cancel).unwrap(), BatchSize::PerIteration);
    });
    group.finish();

    trees(c, index);

    let mut group = c.benchmark_group("report");
    group.throughput(Throughput::Elements(rows)).sample_size(20);
    for (name, by) in [("heaps", vec![By::Process, By::Heap]), ("stacks", vec![By::Process, By::Heap, By::Stack])] {
        let request = ReportRequest {
            interval: trace.span,
            by,
            filter: ReportFilter::default(),
            top: Some(20),
            fold: Fold::Nothing,
            sources: false,
        };
        group.bench_function(name, |b| b.iter(|| report(index, &request, &cancel).unwrap()));
    }
    group.finish();
}

/// Opens closed nodes from the top, until there are so many.
fn open(trace: &Trace, totals: &Totals, lines: usize) -> TreeRequest {
    let mut request = TreeRequest::default();
    loop {
        let tree = tree(trace, totals, &request, &Cancel::default()).unwrap();
        let nodes: Vec<TreeRow> = tree.rows(trace).filter(|row| row.allocation.is_none()).collect();
        let mut toggled = (*request.toggled).clone();
        let closed = nodes.iter().filter(|row| !row.is_open && row.has_children);
        toggled.extend(closed.take(1 + lines / 4).map(|row| (row.path.clone(), true)));
        if nodes.len() >= lines || toggled.len() == request.toggled.len() {
            return request;
        }
        request.toggled = Arc::new(toggled);
    }
}

fn trees(c: &mut Criterion, index: &Index) {
    let trace = index.trace();
    let cancel = Cancel::default();
    let mut group = c.benchmark_group("tree");
    group.sample_size(20);
    // Before anything asks for it.
    group.bench_function("outline", |b| {
        b.iter_batched_ref(|| trace.clone(), |trace| trace.outline().sites().len(), BatchSize::LargeInput);
    });
    let totals = totals(index, middle(trace), &cancel).unwrap();
    let mut ask = |name: String, request: &TreeRequest| {
        group.bench_function(name, |b| b.iter_with_large_drop(|| tree(trace, &totals, request, &cancel).unwrap()));
    };
    ask("closed".to_owned(), &TreeRequest::default());
    for lines in [100, 1_000, 10_000, 100_000] {
        let request = open(trace, &totals, lines);
        let made = tree(trace, &totals, &request, &cancel).unwrap();
        let nodes = made.rows(trace).filter(|row| row.allocation.is_none()).count();
        let (listed, sites) = (made.len() - nodes, trace.sites.len());
        let name = format!("{lines}: {nodes} nodes, {listed} allocations, {sites} sites, {} frames", trace.stacks.len());
        ask(name, &request);
        let by_name = Sort { column: Column::Name, descending: false };
        ask(format!("{lines}: {nodes} nodes by name"), &TreeRequest { sort: by_name, ..request.clone() });
        // A filter to a frame in the middle.
        let under = made.rows(trace).filter(|row| matches!(row.path.last(), Some(Key::Frame(_)))).nth(nodes / 2);
        if let Some(row) = under {
            ask(format!("{lines}: filter of {nodes} nodes"), &TreeRequest { filter: Filter::under(row.path), ..request });
        }
    }
    for text in ["0x1a", "app.exe", "nowhere"] {
        ask(format!("search {text}"), &TreeRequest { search: text.to_owned(), ..TreeRequest::default() });
    }
    group.finish();
}

criterion_group!(benches, recording, reading, queries);
criterion_main!(benches);
