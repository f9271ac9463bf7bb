//! What questions cost where a capture makes them dear: deep stacks, very many heaps,
//! publications of a trace that has grown for long.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

#[path = "common/hostile_queries.rs"]
mod hostile_queries;
#[path = "damage/memory.rs"]
mod memory;

use std::fs::File;
use std::io::BufWriter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{Builder, Clock, HeapId, InputState, ProcessId, Trace};
use highwater::query::{
    AddressSpace, By, Cancel, Index, IndexOptions, MapRequest, Mask, PagesRequest, ReportFilter, SeriesOf, TreeRequest,
    address_map, findings, pages, peaks, series, totals, tree,
};
use highwater::symbols::Names;
use highwater::units::{Interval, Ticks};
use highwater_dev::synth::{Options, generate};
use hostile_queries::{START, Told, chain, endless, many_heaps, scattered};

#[global_allocator]
static ALLOCATOR: memory::Counted = memory::Counted;

/// One test at a time: they count what the whole process allocates, or take time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner) // one that fails does not take the others with it
}

fn builder() -> Builder {
    Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, START, (0, 0))
}

fn input(last: i64, complete: bool) -> InputState {
    InputState { times: Some((START, last)), complete, ..InputState::default() }
}

fn replay(records: impl Iterator<Item = Told>) -> Arc<Trace> {
    let (mut builder, mut last) = (builder(), START);
    for (record, frames) in records {
        builder.apply(&record, &frames);
        last = record.time;
    }
    Arc::new(builder.publish(input(last, true)))
}

/// How long the peaks of all open lines take.
fn time_of_peaks(index: &Index, lines: usize) -> Duration {
    let never = Cancel::default();
    let interval = index.trace().span;
    let totals = totals(index, interval, &never).unwrap();
    let tree = tree(index.trace(), &totals, &TreeRequest::default(), &never).unwrap();
    assert!(tree.len() >= lines, "{} lines are open", tree.len());
    let start = Instant::now();
    let tops = peaks(index, interval, &tree, &never).unwrap();
    let took = start.elapsed();
    assert!(tops.iter().all(|&top| top == tops[0] && top > 0), "they all hold the same");
    took
}

#[test]
fn peaks_of_a_chain_of_190_frames_cost_about_what_those_of_two_frames_cost() {
    let _alone = alone();
    let index = |depth| Index::for_one_question(replay(chain(depth, 60_000)), &Cancel::default()).unwrap();
    let [flat, deep] = [2, 190].map(index);
    // By turns, the best of some: the machine's noise meets both.
    let times = (0..7).map(|_| (time_of_peaks(&flat, 7), time_of_peaks(&deep, 195)));
    let best = times.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))).unwrap();
    let ratio = best.1.as_secs_f64() / best.0.as_secs_f64();
    assert!(ratio <= 3.0, "{:?} and {:?}: {ratio:.1} times as long", best.0, best.1);
}

/// `HIGHWATER_ROWS` sets the number of allocations.
#[test]
#[expect(clippy::print_stdout, reason = "the times are for those who measure")]
fn a_map_of_a_new_instant_costs_about_what_its_pages_cost() {
    let _alone = alone();
    let rows = std::env::var("HIGHWATER_ROWS").map_or(1_000_000, |rows| rows.parse().unwrap());
    let trace = replay(scattered(rows, rows / 5));
    let (index, never, mask) = (Index::scan(Arc::clone(&trace)), Cancel::default(), Mask::all(&trace));
    let (from, to) = (trace.span.from.0, trace.span.to.0);
    let times = (1..8).map(|part| {
        let at = Ticks(from + (to - from) / 8 * part);
        let request = PagesRequest { at, by: vec![By::Heap], filter: ReportFilter::default(), top: None };
        let start = Instant::now();
        let known = pages(&index, &Names::default(), &request, &never).unwrap();
        let of_pages = start.elapsed();
        let start = Instant::now();
        let space = AddressSpace::at(&index, &mask, (ProcessId(0), at), &never).unwrap();
        let group_of = |site| trace.site(site).heap.0;
        let request = MapRequest { range: (0, u64::MAX), most: 8192, cell: None, group_of: &group_of };
        let map = address_map(&space, &request, &never).unwrap();
        let of_map = start.elapsed();
        assert!(map.cells.len() > 1000 && known.heaps.len() == 8);
        (of_pages, of_map)
    });
    let best = times.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))).unwrap();
    let ratio = best.1.as_secs_f64() / best.0.as_secs_f64();
    println!("{} rows: pages {:?}, map {:?}", trace.rows.len(), best.0, best.1);
    assert!(ratio <= 4.0, "{:?} and {:?}: {ratio:.1} times as long", best.0, best.1);
}

/// Bytes of an index but for the sums at checkpoints and of sites.
fn blocks_bytes(index: &Index) -> usize {
    index.heap_bytes().1.saturating_sub(16 * index.trace().sites.len())
}

#[test]
fn blocks_of_ten_thousand_active_heaps_take_4_bytes_a_row() {
    let _alone = alone();
    const HEAPS: u64 = 10_000;
    let trace = replay(many_heaps(HEAPS, 400_000));
    let never = Cancel::default();
    let index = Index::build(Arc::clone(&trace), &IndexOptions::default(), &never).unwrap();
    let bytes = blocks_bytes(&index) as f64 / trace.rows.len() as f64;
    assert_eq!((trace.heaps.len(), trace.rows.len()), (HEAPS as usize, 400_000));
    assert!(bytes <= 4.0, "{bytes:.1} bytes a row");
    // A few heaps are drawn as quickly as ever, and just as scans draw them.
    let scan = Index::scan(Arc::clone(&trace));
    let of = SeriesOf::new(&trace, 3, |site| Some(trace.site(site).heap.0).filter(|heap| *heap < 3));
    let all = SeriesOf::new(&trace, trace.heaps.len(), |site| Some(trace.site(site).heap.0));
    let (from, to) = (trace.span.from.0, trace.span.to.0);
    for (from, to) in [(from, to), (to / 3, to / 2), (to / 2, to / 2 + 1000)] {
        let interval = Interval { from: Ticks(from), to: Ticks(to) };
        let sums = totals(&scan, interval, &never).unwrap();
        for of in [&of, &all] {
            let [drawn, known] = [&index, &scan].map(|index| {
                let lines = series(index, &sums, of, 1, &never).unwrap();
                lines.into_iter().map(|line| (line.peak, line.peak_at, line.last)).collect::<Vec<_>>()
            });
            assert_eq!(drawn, known);
        }
    }
    let bytes = blocks_bytes(&index) as f64 / trace.rows.len() as f64;
    assert!(bytes <= 5.0, "{bytes:.1} bytes a row with a choice of three heaps");
    assert_eq!(trace.heap(HeapId(0)).handle % 0x100, 0);
}

/// The most that loading a generated trace takes, and then asking what stands out; and how many heaps it has.
fn memory_with_heaps(processes: u32, heaps: u32) -> (usize, [usize; 2]) {
    let (folder, never) = (tempfile::tempdir().unwrap(), Cancel::default());
    let path = folder.path().join("heaps.etl");
    let options = Options { processes, heaps, ..Options::default() };
    generate(&options, BufWriter::new(File::create(&path).unwrap())).unwrap();
    let capture = Capture::open(&[Input::File(path)]).unwrap();
    let before = memory::begin(0);
    let trace = Arc::new(load(&capture, &mut Unwatched).unwrap());
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let loaded = memory::peak(0).saturating_sub(before);
    findings(&index, trace.span, &Mask::all(&trace), &Names::default(), &never).unwrap();
    (trace.heaps.len(), [loaded, memory::peak(0).saturating_sub(before)])
}

#[test]
fn ten_thousand_heaps_take_little_more_memory_than_three() {
    let _alone = alone();
    let (few, of_few) = memory_with_heaps(1, 3);
    let (many, of_many) = memory_with_heaps(157, 64);
    assert!(few <= 6 && many >= 10_000, "{few} and {many} heaps");
    for (few, many) in of_few.into_iter().zip(of_many) {
        // Also 17 times as many sites; what workers hold at once varies by some percent.
        assert!(many as f64 <= 1.75 * few as f64, "{many} and {few} bytes");
    }
}

/// What a publication costs, on the average.
#[derive(Clone, Copy, Default, Debug)]
struct Cost {
    published: f64,
    questions: f64,
    looks: f64,
}

#[test]
fn a_publication_costs_what_came() {
    let _alone = alone();
    /// Events between two publications: a whole number of them fills some chunks of rows.
    const CAME: usize = 10_000;
    const TOGETHER: usize = 32;
    let never = Cancel::default();
    let (mut builder, mut earlier, mut costs) = (builder(), None::<Index>, Vec::new());
    let mut records = endless();
    for turn in 0..8 {
        let mut cost = Cost::default();
        for _ in 0..TOGETHER {
            let mut last = START;
            for (record, frames) in records.by_ref().take(CAME) {
                builder.apply(&record, &frames);
                last = record.time;
            }
            let before = memory::begin(0);
            let trace = Arc::new(builder.publish(input(last, false)));
            cost.published += (memory::peak(0) - before) as f64;
            let before = memory::begin(0);
            let grown = Index::grown(Arc::clone(&trace), earlier.as_ref(), &IndexOptions::default(), &never).unwrap();
            // What the window shows: all that was, and what is looked at for a while.
            let fixed = Interval { from: Ticks(1000), to: Ticks(50_000) };
            let latest = Interval { from: Ticks(trace.span.to.0 - 10_000), to: trace.span.to };
            let answers = [trace.span, fixed, latest].map(|interval| totals(&grown, interval, &never).unwrap());
            cost.questions += (memory::peak(0) - before) as f64;
            cost.looks += grown.looks() as f64;
            if turn % 4 == 0 {
                let scan = Index::scan(Arc::clone(&trace));
                for answer in answers {
                    let expected = totals(&scan, answer.interval, &never).unwrap();
                    assert!(answer.sites().eq(expected.sites()));
                }
            }
            earlier = Some(grown);
        }
        let each = |sum: f64| sum / TOGETHER as f64;
        costs.push(Cost { published: each(cost.published), questions: each(cost.questions), looks: each(cost.looks) });
    }
    let rows = earlier.unwrap().trace().rows.len();
    assert!(rows > 1_000_000, "{rows} rows");
    // The first ones begin with nothing; those at the end have four times as much behind them.
    let (early, late) = (costs[1], costs[7]);
    assert!(late.published <= 1.5 * early.published, "bytes of a publication: {costs:#?}");
    assert!(late.questions <= 1.5 * early.questions, "bytes of its questions: {costs:#?}");
    assert!(late.looks <= 1.5 * early.looks, "rows and events of its questions: {costs:#?}");
}
