//! Whatever processors and files a capture is spread over, and in whatever order
//! their buffers lie in the file, the numbers are those of the events in time order.

use std::io::Cursor;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::oracle::scenario::{Scenario, Sent, TRACE_START};
use crate::oracle::{FREQUENCY, copies, strategy};
use highwater::etl::compression::Algorithm;
use highwater::etl::write::Writer;
use highwater::etl::{BufferInfo, HeaderKind, SessionHeader, Source, TraceFile, mode};
use highwater::events::encode::{RecordWriter, Style};
use highwater::events::{Event, FrameRange, Merge, Record, StackPart};
use highwater::load::{Capture, Unwatched, load};
use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::problem::{ProblemKind, Problems};
use highwater::query::{By, Cancel, Fold, Index, ReportFilter, ReportRequest, report};
use highwater::units::{Interval, Layer, Pid, Ticks, Tid};
use highwater_dev::synth::{Options, StackForm, generate};
use proptest::prelude::*;

pub(super) const PROCESSORS: usize = 4;

/// How a capture comes to lie in files.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Files; processors are dealt out among them.
    files: usize,
    compressed: bool,
    /// Small buffers, so that there are many.
    buffer_size: u32,
    /// Random numbers that decide where buffers go.
    shuffle: Vec<usize>,
}

pub(super) fn layout() -> impl Strategy<Value = Layout> {
    let shuffle = prop::collection::vec(0..1000usize, 8);
    let buffer_size = prop_oneof![3 => Just(1u32 << 10), 1 => Just(8 << 10)];
    (1..3usize, any::<bool>(), buffer_size, shuffle).prop_map(|(files, compressed, buffer_size, shuffle)| Layout {
        files,
        compressed,
        buffer_size,
        shuffle,
    })
}

impl Layout {
    /// One file that is not compressed, with small buffers in the order in which they were filled.
    pub(super) fn plain() -> Self {
        Self { files: 1, compressed: false, buffer_size: 1 << 10, shuffle: vec![0; 8] }
    }

    /// Writes each record into its processor's stream and loads what comes of it.
    fn load(&self, records: &[(usize, Sent)]) -> Trace {
        let files =
            (0..self.files).map(|file| self.file(file, records.iter().filter(|(processor, _)| processor % self.files == file)));
        let capture = Capture { files: files.collect(), problems: Problems::default() };
        load(&capture, &mut Unwatched).unwrap()
    }

    /// A file of some records.
    pub(super) fn file<'a>(&self, number: usize, records: impl Iterator<Item = &'a (usize, Sent)>) -> TraceFile {
        let mode = mode::SEQUENTIAL | if self.compressed { mode::COMPRESSED } else { 0 };
        let session = SessionHeader {
            processors: PROCESSORS as u32,
            mode,
            buffer_size: self.buffer_size,
            start_ticks: TRACE_START,
            ..SessionHeader::default()
        };
        let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), session).unwrap());
        for (processor, sent) in records {
            writer.style = style(&sent.record);
            writer.put(*processor as u16, &sent.record, &sent.frames).unwrap();
        }
        let bytes = writer.finish().unwrap().into_inner();
        let bytes = if self.compressed { bytes } else { self.shuffled(&bytes) };
        TraceFile::from_source(Source::Memory(bytes.leak()), format!("{number}.etl")).unwrap()
    }

    /// The same buffers in another order, the header buffer first.
    fn shuffled(&self, bytes: &[u8]) -> Vec<u8> {
        let mut buffers: Vec<&[u8]> = bytes.chunks(self.buffer_size as usize).collect();
        let n = buffers.len();
        for i in 1..n {
            buffers.swap(i, 1 + self.shuffle[i % self.shuffle.len()] % (n - 1));
        }
        buffers.concat()
    }
}

/// Events without process have a header without one.
fn style(record: &Record) -> Style {
    let is_homeless = matches!(record.event, Event::Alloc { .. } | Event::Free { .. }) && !record.pid.is_known();
    Style { header: is_homeless.then_some(HeaderKind::PerfInfo), ..Style::default() }
}

fn in_order<'a>(records: impl Iterator<Item = &'a Sent>) -> Trace {
    let mut builder = Builder::new(Clock { frequency: FREQUENCY as u64, start_time: 0 }, TRACE_START, (0, 0));
    records.for_each(|sent| builder.apply(&sent.record, &sent.frames));
    builder.publish(InputState { complete: true, ..InputState::default() })
}

/// All that a report can say, and the counters.
fn everything(trace: &Trace) -> (Vec<String>, u64, u64) {
    let mut lines = Vec::new();
    let index = Index::scan(Arc::new(trace.clone()));
    for edge in [i64::MIN + 1, 1, 10_000] {
        let interval = Interval { from: Ticks(edge), to: Ticks(i64::MAX - 1) };
        let by = vec![By::Process, By::Heap, By::Stack, By::FreedStack, By::Thread];
        let request =
            ReportRequest { interval, by, filter: ReportFilter::default(), top: None, fold: Fold::Nothing, sources: false };
        let groups = report(&index, &request, &Cancel::default()).unwrap().groups;
        lines.extend(groups.iter().map(|group| serde_json::to_string(group).unwrap()));
    }
    (lines, trace.quality.unmatched_frees, trace.quality.superseded_allocations)
}

proptest! {
    #![proptest_config(strategy::config())]

    /// All records of one tick are written by one processor, so their order is known.
    #[test]
    fn spread_over_processors_and_files_the_numbers_are_the_same(
        ops in strategy::ops(60), processors in prop::collection::vec(0..PROCESSORS, 16), layout in layout(),
    ) {
        let scenario = Scenario::of(&ops);
        let records = by_processor(&scenario, &processors);
        let trace = layout.load(&records);
        prop_assert!(trace.problems.iter().all(|p| p.kind == ProblemKind::NoMemoryEvents), "{:?}", trace.problems);
        let whole = records.into_iter().map(|(_, sent)| (0, sent)).collect::<Vec<_>>();
        prop_assert_eq!(everything(&trace), everything(&in_order(copies::kept(&whole).iter())));
    }

    /// Blocks change hands at one tick: freed on one processor, allocated on another.
    #[test]
    fn at_one_tick_a_free_comes_before_an_allocation_of_the_address(
        deals in prop::collection::vec((0..PROCESSORS, 0..PROCESSORS, 0..PROCESSORS, 0..1000usize), 1..12), layout in layout(),
    ) {
        let (before, at) = handover(&deals);
        let mut records: Vec<(usize, Sent)> = before.iter().map(|sent| (0, sent.clone())).collect();
        records.extend(at.iter().cloned());
        let trace = layout.load(&records);
        // In the order in which it happened, each stack behind its event.
        let mut expected = before;
        expected.extend(at.iter().map(|(_, sent)| sent.clone()));
        prop_assert_eq!(everything(&trace), everything(&in_order(expected.iter())));
        prop_assert_eq!(trace.quality.unmatched_frees + trace.quality.superseded_allocations, 0);
    }

    /// Buffers of one stream in any order: what is not earlier than the next one waits.
    #[test]
    fn records_wait_for_buffers_that_begin_earlier(
        times in prop::collection::vec(prop::collection::vec(2_000..2_012i64, 1..5), 1..12),
    ) {
        let mut addresses = (0x1000u64..).step_by(0x10);
        let buffers: Vec<Vec<(i64, u64)>> =
            times.iter().map(|times| times.iter().map(|&time| (time, addresses.next().unwrap())).collect()).collect();
        let mut bytes = crate::common::hostile::session(1, 64 << 10);
        for (i, buffer) in buffers.iter().enumerate() {
            let events: Vec<_> = buffer.iter().map(|&(time, address)| crate::common::hostile::block(0, time, address, true)).collect();
            bytes.extend(crate::common::hostile::plain(0, 1 + i as i64, &events));
        }
        let files = [TraceFile::from_source(Source::Memory(bytes.leak()), "a.etl".to_owned()).unwrap()];
        let (records, _) = merged(&files, 0);
        let order: Vec<(i64, u64)> = records.iter().filter_map(|record| match record.event {
            Event::Alloc { address, .. } => Some((record.time, address)),
            _ => None,
        }).collect();
        prop_assert_eq!(order, waiting(&buffers));
    }

    /// A session without streams per processor: neighbouring ticks come in any order.
    #[test]
    fn records_a_little_out_of_order_are_put_in_order(
        ops in strategy::ops(60), swaps in prop::collection::vec(any::<bool>(), 16), layout in layout(),
    ) {
        let scenario = Scenario::of(&ops);
        let mut ticks: Vec<&[Sent]> = scenario.stream.chunk_by(|a, b| a.record.time == b.record.time).collect();
        for i in (1..ticks.len()).step_by(2) {
            if swaps[i / 2 % swaps.len()] {
                ticks.swap(i - 1, i);
            }
        }
        let records: Vec<(usize, Sent)> = ticks.concat().into_iter().map(|sent| (0, sent)).collect();
        let whole = scenario.stream.iter().map(|sent| (0, sent.clone())).collect::<Vec<_>>();
        prop_assert_eq!(everything(&layout.load(&records)), everything(&in_order(copies::kept(&whole).iter())));
    }
}

/// Each tick's records are written by one of the processors.
pub(super) fn by_processor(scenario: &Scenario, processors: &[usize]) -> Vec<(usize, Sent)> {
    let ticks = scenario.stream.chunk_by(|a, b| a.record.time == b.record.time);
    let of_tick = |(tick, sent): (usize, &[Sent])| {
        let processor = processors[tick % processors.len()];
        sent.iter().map(|sent| (processor, sent.clone())).collect::<Vec<_>>()
    };
    ticks.enumerate().flat_map(of_tick).collect()
}

/// The rule for one stream, applied to all that waits with each buffer.
fn waiting(buffers: &[Vec<(i64, u64)>]) -> Vec<(i64, u64)> {
    let (mut waiting, mut order) = (Vec::new(), Vec::new());
    for (i, buffer) in buffers.iter().enumerate() {
        waiting.extend_from_slice(buffer);
        waiting.sort_by_key(|record| record.0);
        let next = buffers.get(i + 1).and_then(|next| next.iter().map(|record| record.0).min());
        let goes_on = waiting.partition_point(|record| next.is_none_or(|next| record.0 < next));
        order.extend(waiting.drain(..goes_on));
    }
    order
}

/// All records in the order of the merge, and the trace that comes of them.
fn merged(files: &[TraceFile], memory: u64) -> (Vec<Record>, Trace) {
    let mut records = Vec::new();
    let flow = Merge::of_records(files).within(memory).run::<()>(
        |item, _| {
            let mut record = item.record().into_owned();
            // Where frames stand in their batch is nobody's business.
            if let Event::Stack { frames, .. } | Event::StackDefinition { frames, .. } = &mut record.event {
                *frames = FrameRange::default();
            }
            records.push(record);
            ControlFlow::Continue(())
        },
        |_| ControlFlow::Continue(i64::MAX),
    );
    assert!(flow.is_continue());
    let mut builder = Builder::new(Clock { frequency: FREQUENCY as u64, start_time: 0 }, TRACE_START, (0, 0));
    let mut merge = Merge::new(files).within(memory);
    let flow = merge.run::<()>(
        |item, stack| {
            builder.apply_item(item, stack);
            ControlFlow::Continue(())
        },
        |_| ControlFlow::Continue(i64::MAX),
    );
    assert!(flow.is_continue());
    let totals = merge.totals();
    let state = InputState { counts: totals.counts, complete: true, ..InputState::default() };
    (records, builder.publish(state))
}

#[test]
fn buffers_decoded_in_parts_give_the_same_order() {
    for stacks in [StackForm::Walk, StackForm::Keys] {
        for compressed in [None, Some(Algorithm::Xpress)] {
            let options = Options { stacks, compressed, events: 12_000, processors: 3, live: 900, ..Options::default() };
            let bytes = generate(&options, Cursor::new(Vec::new())).unwrap().into_inner();
            let files = [TraceFile::from_source(Source::Memory(bytes.leak()), "a.etl".to_owned()).unwrap()];
            let largest = files[0].buffers.iter().map(BufferInfo::expanded_size).max().unwrap();
            assert!(largest > 60 << 10, "buffers of {largest} bytes need no parts");
            let (expected, whole) = merged(&files, 1 << 30);
            let (records, trace) = merged(&files, 0);
            assert!(records == expected, "{stacks:?}, {compressed:?}: the order");
            assert!(everything(&trace) == everything(&whole) && trace.counts == whole.counts, "{stacks:?}, {compressed:?}");
        }
    }
}

/// Blocks that live, and what happens to them at one tick: each is freed on one
/// processor and allocated anew on another, its stack written on a third. The
/// order among the deals is drawn too, but no allocation comes before its free.
fn handover(deals: &[(usize, usize, usize, usize)]) -> (Vec<Sent>, Vec<(usize, Sent)>) {
    let (layer, heap) = (Layer::Heap, 0x10);
    let sent = |time: i64, tid: usize, event| Sent {
        record: Record { time: TRACE_START + time, pid: Pid(7), tid: Tid(tid as u32), event },
        frames: Vec::new(),
    };
    let address = |i: usize| 0x1000 + 0x100 * i as u64;
    let before = (0..deals.len()).map(|i| sent(0, 900 + i, Event::Alloc { layer, heap, address: address(i), size: 8 })).collect();
    let mut at: Vec<(usize, (usize, Sent))> = Vec::new();
    for (i, &(from, to, stack_on, order)) in deals.iter().enumerate() {
        let (free, alloc) = (100 + i, 200 + i);
        at.push((order % 50, (from, sent(5, free, Event::Free { layer, heap, address: address(i) }))));
        at.push((50 + order % 50, (to, sent(5, alloc, Event::Alloc { layer, heap, address: address(i), size: 16 + i as u64 }))));
        let owner = TRACE_START + 5;
        let stack = Event::Stack { owner, part: StackPart::User, frames: FrameRange::default() };
        at.push((100, (stack_on, Sent { frames: vec![0x10 + i as u64, 0x20], ..sent(5, alloc, stack) })));
    }
    at.sort_by_key(|(order, _)| *order);
    (before, at.into_iter().map(|(_, on)| on).collect())
}
