//! Each stage from bytes to answers alone, on a generated trace of a million heap
//! events with stacks: decoding, replay, and the queries behind the window.
//!
//! `cargo bench --bench stages [decode|replay|index|totals|series|tree|report]`; the
//! environment variable `HIGHWATER_BENCH_EVENTS` asks for another number of events.
#![allow(missing_docs, reason = "criterion's macros make functions without docs")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to say")]

use std::io::Cursor;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use highwater::etl::{ReadBuffer, Source, TraceFile};
use highwater::events::{Batch, Merge, Record, Stacks, decode_buffer, survey};
use highwater::load::{Capture, Unwatched, load};
use highwater::model::{Builder, InputState, Trace};
use highwater::problem::Problems;
use highwater::query::{
    By, Cancel, Index, IndexOptions, ReportFilter, ReportRequest, SeriesOf, TreeRequest, report, series, totals, tree,
};
use highwater::synth::{Options, generate};
use highwater::units::{Interval, Ticks};

/// Heap events of the trace, from the environment.
fn events() -> u64 {
    std::env::var("HIGHWATER_BENCH_EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000)
}

fn capture() -> Capture {
    let options = Options { events: events(), ..Options::default() };
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
            |record, stack| {
                let start = records.frames.len();
                records.frames.extend(stack.frames());
                records.list.push((record.clone(), start..records.frames.len()));
                ControlFlow::Continue(())
            },
            |_| ControlFlow::Continue(()),
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
                batch = decode_buffer(file, buffer, Stacks::Attached, &mut scratch, std::mem::take(&mut batch));
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

    let mut group = c.benchmark_group("tree");
    for (name, interval) in intervals {
        let totals = totals(index, interval, &cancel).unwrap();
        group.bench_function(name, |b| b.iter(|| tree(&trace, &totals, &TreeRequest::default(), &cancel).unwrap()));
    }
    group.finish();

    let mut group = c.benchmark_group("report");
    group.throughput(Throughput::Elements(rows)).sample_size(20);
    for (name, by) in [("heaps", vec![By::Process, By::Heap]), ("stacks", vec![By::Process, By::Heap, By::Stack])] {
        let request = ReportRequest { interval: trace.span, by, filter: ReportFilter::default(), top: Some(20) };
        group.bench_function(name, |b| b.iter(|| report(index, &request, &cancel).unwrap()));
    }
    group.finish();
}

criterion_group!(benches, reading, queries);
criterion_main!(benches);
