//! Traces as bytes and back: nothing is lost, and no damage behind correct checksums makes a query fail.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::common::game::game;
use crate::common::trace::small;
use crate::oracle::scenario::{Scenario, TRACE_START};
use crate::oracle::{FREQUENCY, strategy};
use highwater::etl::{Source, TraceFile};
use highwater::load::{Capture, DEMO_TRACE, Unwatched, load};
use highwater::model::{BlockSink, BlockSource, Builder, Clock, InputState, Trace, Unrestored};
use highwater::problem::Problems;
use highwater::query::{
    By, Cancel, Fold, Index, IndexOptions, ReportFilter, ReportRequest, SeriesOf, TreeRequest, peaks, report, series, totals,
    tree,
};
use highwater::random::Random;
use highwater::stored::Damaged;
use highwater::units::{Interval, Ticks};
use proptest::prelude::*;

/// A stored trace in memory, without checksums.
#[derive(Clone, PartialEq, Debug, Default)]
struct Stored {
    head: Vec<u8>,
    blocks: Vec<Vec<u8>>,
    lengths: Vec<u64>,
}

impl BlockSink for Stored {
    fn put(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.blocks.push(parts.concat());
        self.lengths.push(parts.iter().map(|part| part.len() as u64).sum());
        Ok(())
    }
}

impl BlockSource for Stored {
    fn lengths(&self) -> &[u64] {
        &self.lengths
    }

    fn read(&self, number: usize, parts: &mut [&mut [u8]]) -> Result<(), Damaged> {
        let mut left = &self.blocks[number][..];
        for part in parts {
            let (taken, rest) = left.split_at_checked(part.len()).ok_or(Damaged)?;
            part.copy_from_slice(taken);
            left = rest;
        }
        if left.is_empty() { Ok(()) } else { Err(Damaged) }
    }
}

impl Stored {
    fn of(trace: &Trace) -> Self {
        assert!(trace.is_storable());
        let mut stored = Self::default();
        stored.head = trace.store(&mut stored).unwrap();
        stored
    }

    fn restored(&self) -> Result<Trace, Unrestored> {
        Trace::restore(&self.head, self, Vec::new(), &mut |_| true)
    }

    fn bytes(&self) -> usize {
        self.head.len() + self.blocks.iter().map(Vec::len).sum::<usize>()
    }

    /// The byte at a place of the head and all blocks together.
    fn byte(&mut self, mut at: usize) -> &mut u8 {
        if at < self.head.len() {
            return &mut self.head[at];
        }
        at -= self.head.len();
        for block in &mut self.blocks {
            if at < block.len() {
                return &mut block[at];
            }
            at -= block.len();
        }
        panic!("no byte {at}")
    }
}

fn loaded(bytes: &'static [u8]) -> Trace {
    let file = TraceFile::from_source(Source::Memory(bytes), "a.etl".to_owned()).unwrap();
    load(&Capture { files: vec![file], problems: Problems::default() }, &mut Unwatched).unwrap()
}

/// Traces with all there is: activity, counters, frames, samples, late and far rows.
fn traces() -> Vec<Trace> {
    let mut all = vec![loaded(DEMO_TRACE), loaded(game().leak()), loaded(small(false).leak())];
    all.push(loaded(crate::common::trace::without_memory_events().leak()));
    all.extend(corpus());
    all
}

fn corpus() -> Vec<Trace> {
    let Some(folder) = crate::common::corpus() else { return Vec::new() };
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let traces = files.filter(|path| path.extension().is_some_and(|extension| extension == "etl"));
    traces.filter_map(|path| Some(loaded(std::fs::read(path).ok()?.leak()))).collect()
}

fn of_ops(ops: &[crate::oracle::scenario::Op]) -> Trace {
    let scenario = Scenario::of(ops);
    let mut builder = Builder::new(Clock { frequency: FREQUENCY as u64, start_time: 0 }, TRACE_START, (0, 0));
    scenario.stream.iter().for_each(|sent| builder.apply(&sent.record, &sent.frames));
    builder.publish(InputState { complete: true, times: scenario.times(), ..InputState::default() })
}

/// Groups of reports from prepared data and from scans, over all and parts of the time.
fn answers(trace: Trace) -> Vec<String> {
    let trace = Arc::new(trace);
    let never = Cancel::default();
    let mut lines = vec![format!("{:?} {:?} {:?}", trace.span, trace.quality, trace.problems)];
    let built = Index::build(Arc::clone(&trace), &IndexOptions::default(), &never).unwrap();
    for index in [Index::scan(Arc::clone(&trace)), built] {
        let middle = Ticks(trace.span.from.0 / 2 + trace.span.to.0 / 2);
        for interval in [trace.span, Interval::new(middle, trace.span.to), Interval::new(trace.span.from, middle)] {
            let by = vec![By::Process, By::Heap, By::Stack, By::FreedStack, By::Thread];
            let filter = ReportFilter::default();
            let request = ReportRequest { interval, by, filter, top: None, fold: Fold::Nothing, sources: false };
            let groups = report(&index, &request, &never).unwrap().groups;
            lines.extend(groups.iter().map(|group| serde_json::to_string(group).unwrap()));
        }
    }
    lines
}

#[test]
fn what_was_stored_is_the_same_trace_and_gives_the_same_answers() {
    for trace in traces() {
        let stored = Stored::of(&trace);
        let again = stored.restored().unwrap();
        assert!(Stored::of(&again) == stored, "it is stored again as it was");
        assert_eq!(again.thread_names, trace.thread_names);
        assert_eq!(answers(again), answers(trace));
    }
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn any_trace_is_the_same_after_it_was_stored(ops in strategy::ops(80)) {
        let trace = of_ops(&ops);
        let stored = Stored::of(&trace);
        let again = stored.restored().unwrap();
        prop_assert!(Stored::of(&again) == stored);
        prop_assert_eq!(answers(again), answers(trace));
    }

    /// As if somebody had changed a file, with its checksums.
    #[test]
    fn no_change_of_any_byte_makes_a_query_panic(
        ops in strategy::ops(60), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), seed in any::<u64>(),
    ) {
        let mut stored = Stored::of(&of_ops(&ops));
        let bytes = stored.bytes();
        for (at, value) in changes {
            *stored.byte(at.index(bytes)) = value;
        }
        if let Ok(trace) = stored.restored() {
            ask(trace, seed);
        }
    }
}

/// Asks what depends on rows, stacks and their orders.
fn ask(trace: Trace, seed: u64) {
    let (never, mut random) = (Cancel::default(), Random::new(seed));
    let options = IndexOptions { checkpoints: Some(random.index(5)), ..IndexOptions::default() };
    let index = Index::build(Arc::new(trace), &options, &never).unwrap();
    let trace = index.trace();
    let moment = |random: &mut Random| Ticks(trace.span.from.0.saturating_add_unsigned(random.below(40_000)));
    for interval in [trace.span, Interval::new(moment(&mut random), moment(&mut random))] {
        let by = vec![By::Process, By::Heap, By::Stack, By::FreedStack, By::Thread];
        let request =
            ReportRequest { interval, by, filter: ReportFilter::default(), top: None, fold: Fold::Nothing, sources: false };
        report(&index, &request, &never).unwrap();
        let sums = totals(&index, interval, &never).unwrap();
        series(&index, &sums, &SeriesOf::new(trace, 1, |_| Some(0)), 20, &never).unwrap();
        let table = tree(trace, &sums, &TreeRequest::default(), &never).unwrap();
        peaks(&index, interval, &table, &never).unwrap();
    }
}

/// Damage of the traces of files, each byte of the small one and many of the others; asked as damaged files are.
#[test]
fn no_change_of_a_real_trace_makes_a_query_panic() {
    let mut random = Random::new(7);
    let mut failed = Vec::new();
    for (number, trace) in traces().into_iter().enumerate() {
        let stored = Stored::of(&trace);
        for round in 0..60 {
            let mut damaged = stored.clone();
            for _ in 0..=random.index(2) {
                *damaged.byte(random.index(stored.bytes())) = random.below(256) as u8;
            }
            if random.one_in(8) {
                damaged.head.truncate(random.index(stored.head.len()));
            }
            if random.one_in(8) && !damaged.blocks.is_empty() {
                let block = random.index(damaged.blocks.len());
                damaged.blocks.swap(0, block);
                damaged.lengths.swap(0, block);
            }
            let seed = random.below(1 << 40);
            let asked = catch_unwind(AssertUnwindSafe(|| damaged.restored().map(|trace| ask(trace, seed))));
            if asked.is_err() {
                failed.push((number, round));
            }
        }
    }
    assert_eq!(failed, [], "trace and round");
}

#[test]
fn a_trace_that_is_not_whole_is_not_stored() {
    let trace = loaded(DEMO_TRACE);
    let changed = |change: fn(&mut Trace)| {
        let mut trace = trace.clone();
        change(&mut trace);
        trace.is_storable()
    };
    assert!(changed(|_| {}));
    assert!(!changed(|trace| trace.complete = false) && !changed(|trace| trace.scope.stacks = false));
    assert!(!changed(|trace| trace.forgotten = Some(Ticks(1))));
    assert!(!changed(|trace| trace.activity.samples.cut = Some(Ticks(1))));
    let mut calls = 0;
    let stored = Stored::of(&trace);
    let stopped = Trace::restore(&stored.head, &stored, Vec::new(), &mut |_| {
        calls += 1;
        calls < 2
    });
    assert_eq!(stopped.err(), Some(Unrestored::Stopped));
}
