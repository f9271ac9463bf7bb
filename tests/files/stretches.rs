//! What workers make of slices, put in place at once, is what comes of one record after the
//! other: whatever interrupts it, however small the slices are, and however many threads there are.

use std::io::Cursor;
use std::ops::ControlFlow;

use crate::common::told::{difference, told};
use highwater::etl::write::Writer;
use highwater::etl::{SessionHeader, Source, TraceFile, mode};
use highwater::events::encode::RecordWriter;
use highwater::events::{Event, FrameRange, Merge, PageRange, ProcessChange, Record, StackPart, ThreadStack, mem};
use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::units::{Layer, Pid, Tid};
use highwater_dev::synth::{Options, Scenario, StackForm, generate};
use proptest::prelude::*;
use proptest::sample::select;

const TRACE_START: i64 = 5_000;
const PROCESSORS: usize = 3;

/// One thing that is written, by a processor, and so many ticks after what was before it.
#[derive(Clone, Debug)]
pub(super) struct Write {
    processor: usize,
    wait: i64,
    pid: u32,
    tid: u32,
    act: Act,
}

#[derive(Clone, Debug)]
enum Act {
    Block {
        layer: Layer,
        heap: u64,
        address: u64,
        size: Option<u64>,
        stack: Stack,
    },
    Define {
        key: u64,
        stack: u64,
    },
    Open {
        heap: u64,
    },
    Close {
        heap: u64,
    },
    Realloc {
        heap: u64,
        old: u64,
        new: u64,
        size: u64,
    },
    /// A realloc that moves its block: the new one, a copy that takes so long, the end of the old one, and so much
    /// later the record that sums them up. Other processors go on meanwhile.
    Move {
        heap: u64,
        old: u64,
        new: u64,
        copied: i64,
        later: i64,
    },
    Process {
        change: ProcessChange,
    },
    /// Pages, whose stack the kernel writes: parts that come so much later, if they come.
    Pages {
        commits: bool,
        parts: [Option<i64>; 2],
    },
    /// A processor was found running the thread, or nothing; in parts as those.
    Sample {
        is_idle: bool,
        in_kernel: bool,
        parts: [Option<i64>; 2],
    },
    Thread,
}

#[derive(Clone, Debug)]
enum Stack {
    None,
    /// Frames that come a little later, ...
    Frames(u64, i64),
    /// ... or a key.
    Key(u64, i64),
}

fn act() -> impl Strategy<Value = Act> {
    let layer = || prop_oneof![4 => Just(Layer::Heap), 1 => Just(Layer::Tracker)];
    let heap = || select(vec![0x10u64, 0xAB, 0xCD]);
    let address = || prop_oneof![9 => (1..6u64).prop_map(|n| n * 0x100), 1 => Just(1u64 << 50)];
    let nowhere_or = |address| prop_oneof![9 => address, 1 => Just(0u64)];
    let size = prop_oneof![
        5 => select(vec![0u64, 8, 100]).prop_map(Some),
        1 => select(vec![u64::from(u32::MAX), 1 << 33]).prop_map(Some),
        5 => Just(None),
    ];
    let later = || select(vec![0i64, 0, 1, 2, 5, 90]);
    let part = || prop_oneof![1 => Just(None), 4 => later().prop_map(Some)];
    let parts = || [part(), part()];
    let stack = prop_oneof![
        2 => Just(Stack::None),
        2 => (0..4u64, later()).prop_map(|(stack, later)| Stack::Frames(stack, later)),
        3 => (1..4u64, later()).prop_map(|(key, later)| Stack::Key(key, later)),
    ];
    prop_oneof![
        60 => (layer(), heap(), address(), size, stack)
            .prop_map(|(layer, heap, address, size, stack)| Act::Block { layer, heap, address, size, stack }),
        3 => (1..4u64, 0..4u64).prop_map(|(key, stack)| Act::Define { key, stack }),
        1 => heap().prop_map(|heap| Act::Open { heap }),
        1 => heap().prop_map(|heap| Act::Close { heap }),
        3 => (heap(), nowhere_or(address()), nowhere_or(address()), select(vec![0u64, 8, 100]))
            .prop_map(|(heap, old, new, size)| Act::Realloc { heap, old, new, size }),
        6 => (heap(), address(), address(), select(vec![0i64, 3, 100, 100_000]), 0..3i64)
            .prop_map(|(heap, old, new, copied, later)| Act::Move { heap, old, new, copied, later }),
        6 => (prop::bool::weighted(0.2), any::<bool>(), parts())
            .prop_map(|(is_idle, in_kernel, parts)| Act::Sample { is_idle, in_kernel, parts }),
        2 => (any::<bool>(), parts()).prop_map(|(commits, parts)| Act::Pages { commits, parts }),
        1 => Just(Act::Thread),
        1 => select(vec![ProcessChange::Start, ProcessChange::End]).prop_map(|change| Act::Process { change }),
    ]
}

impl Write {
    /// Whether it tells nothing but a stack.
    pub(super) fn is_stack(&self) -> bool {
        matches!(self.act, Act::Define { .. })
    }

    /// Events beside stacks.
    pub(super) fn events(&self) -> u64 {
        match self.act {
            Act::Move { .. } => 3,
            _ => u64::from(!self.is_stack()),
        }
    }
}

pub(super) fn writes() -> impl Strategy<Value = Vec<Write>> {
    let write = (0..PROCESSORS, select(vec![0i64, 0, 0, 1, 1, 2, 40]), 1..3u32, 1..4u32, act());
    let write = write.prop_map(|(processor, wait, pid, tid, act)| Write { processor, wait, pid, tid, act });
    prop::collection::vec(write, 0..160)
}

fn frames_of(stack: u64) -> Vec<u64> {
    (0..=stack).map(|frame| 0x40_0000 + 0x10 * (stack + frame)).collect()
}

const KERNEL: u64 = 0xFFFF_8000_0000_0000;

/// Parts of the stack of an event that the kernel wrote at `owner`, each so much later, as far as they come.
fn put_parts(mut put: impl FnMut(i64, Event, &[u64]), owner: i64, parts: [Option<i64>; 2]) {
    for (part, later) in [StackPart::Kernel, StackPart::User].into_iter().zip(parts) {
        let Some(later) = later else { continue };
        let frames = match part {
            StackPart::Kernel => vec![KERNEL + 0x50, KERNEL + 0x60],
            StackPart::User => frames_of(2),
        };
        put(owner + later, Event::Stack { owner, part, frames: FrameRange::default() }, &frames);
    }
}

/// The file in which each processor writes in the order of its own clock.
pub(super) fn file_of(writes: &[Write]) -> TraceFile {
    let session = SessionHeader {
        processors: PROCESSORS as u32,
        mode: mode::SEQUENTIAL,
        buffer_size: 1 << 10,
        start_ticks: TRACE_START,
        ..SessionHeader::default()
    };
    let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), session).unwrap());
    let (mut clock, mut last) = (TRACE_START, [TRACE_START; PROCESSORS]);
    for write in writes {
        clock += write.wait;
        let time = clock.max(last[write.processor]);
        let mut put = |time: i64, event: Event, frames: &[u64]| {
            let (pid, tid) = match (&event, &write.act) {
                (Event::Sample { .. }, Act::Sample { is_idle: true, .. }) => (Pid::NONE, Tid(0)),
                (Event::Sample { .. }, _) => (Pid::NONE, Tid(write.tid)),
                _ => (Pid(write.pid), Tid(write.tid)),
            };
            let record = Record { time, pid, tid, event };
            writer.put(write.processor as u16, &record, frames).unwrap();
            last[write.processor] = time;
        };
        let (layer, part) = (Layer::Heap, StackPart::User);
        match write.act {
            Act::Block { layer, heap, address, size, ref stack } => {
                let event = match size {
                    Some(size) => Event::Alloc { layer, heap, address, size },
                    None => Event::Free { layer, heap, address },
                };
                put(time, event, &[]);
                match *stack {
                    Stack::None => {}
                    Stack::Frames(stack, later) => {
                        put(time + later, Event::Stack { owner: time, part, frames: FrameRange::default() }, &frames_of(stack));
                    }
                    Stack::Key(key, later) => put(time + later, Event::StackRef { owner: time, part, key }, &[]),
                }
            }
            Act::Define { key, stack } => {
                put(time, Event::StackDefinition { part, key, frames: FrameRange::default() }, &frames_of(stack));
            }
            Act::Open { heap } => put(time, Event::HeapOpen { layer, heap, name: None }, &[]),
            Act::Close { heap } => put(time, Event::HeapClose { layer, heap, name: None }, &[]),
            Act::Realloc { heap, old, new, size } => put(time, Event::Realloc { layer, heap, old, new, size }, &[]),
            Act::Move { heap, old, new, copied, later } => {
                put(time, Event::Alloc { layer, heap, address: new, size: 8 }, &[]);
                put(time + copied, Event::Free { layer, heap, address: old }, &[]);
                put(time + copied + later, Event::Realloc { layer, heap, old, new, size: 8 }, &[]);
            }
            Act::Pages { commits, parts } => {
                let flags = if commits { mem::COMMIT } else { mem::DECOMMIT };
                let range = PageRange { base: 0x7000, size: 0x1000, owner: Pid(write.pid), flags };
                put(time, if commits { Event::VirtualAlloc(range) } else { Event::VirtualFree(range) }, &[]);
                put_parts(put, time, parts);
            }
            Act::Sample { in_kernel, parts, .. } => {
                let address = if in_kernel { KERNEL + 0x50 } else { 0x40_0050 };
                put(time, Event::Sample { address, count: 1 }, &[]);
                put_parts(put, time, parts);
            }
            Act::Thread => put(time, Event::ThreadStart(ThreadStack::default()), &[]),
            Act::Process { change } => put(time, Event::Process(change, Box::default()), &[]),
        }
    }
    let bytes = writer.finish().unwrap().into_inner();
    TraceFile::from_source(Source::Memory(bytes.leak()), "a.etl".to_owned()).unwrap()
}

fn builder() -> Builder {
    Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, TRACE_START, (0, 0))
}

fn published(mut builder: Builder, merge: &Merge<'_>) -> Trace {
    let totals = merge.totals();
    let state = InputState { counts: totals.counts, times: totals.times, complete: true, ..InputState::default() };
    builder.publish(state)
}

fn one_by_one(files: &[TraceFile]) -> Vec<String> {
    let (mut builder, mut merge) = (builder(), Merge::new(files));
    let flow = merge.run::<()>(
        |item, stack| {
            builder.apply_item(item, stack);
            ControlFlow::Continue(())
        },
        |_| ControlFlow::Continue(i64::MAX),
    );
    assert!(flow.is_continue());
    told(published(builder, &merge))
}

/// By slices of records that may take so much memory; `step` ticks are allowed to go on at a time.
fn by_slices(files: &[TraceFile], memory: u64, step: Option<i64>) -> Vec<String> {
    let (mut builder, mut merge) = (builder(), Merge::new(files).within(memory));
    let gatherer = builder.gatherer();
    let mut limit = TRACE_START;
    let flow = merge.run_slices::<_, ()>(
        &gatherer,
        |slice| {
            builder.apply_slice(slice);
            ControlFlow::Continue(())
        },
        |tick| {
            if tick.is_held {
                limit += step.unwrap_or(0);
            }
            ControlFlow::Continue(if step.is_some() { limit } else { i64::MAX })
        },
    );
    assert!(flow.is_continue());
    told(published(builder, &merge))
}

pub(super) fn with_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

proptest! {
    #![proptest_config(crate::oracle::strategy::config())]

    #[test]
    fn stretches_at_once_are_what_their_blocks_are_one_by_one(
        writes in writes(), memory in select(vec![0u64, 1 << 30]), step in select(vec![None, Some(1), Some(7), Some(100)]),
    ) {
        let files = [file_of(&writes)];
        prop_assert_eq!(difference(&by_slices(&files, memory, step), &one_by_one(&files)), None);
    }
}

/// The kernel's part of a stack names an event by its tick and thread: where a sample is at those of an event of pages, it
/// is that of the pages, whose stack blocks complete.
#[test]
fn what_is_told_of_pages_at_the_tick_of_a_sample_is_not_taken_for_its() {
    let write = |wait, act| Write { processor: 0, wait, pid: 1, tid: 1, act };
    // The next block has the stack of the pages, the others another one.
    let block = |n: u64| {
        let (layer, heap, stack) = (Layer::Heap, 0x10, Stack::Frames(if n == 2 { 3 } else { 1 }, 0));
        write(2, Act::Block { layer, heap, address: 0x100 * n, size: Some(8), stack })
    };
    let opened = [write(1, Act::Open { heap: 0x10 }), block(1), write(1, Act::Thread)];
    let both = [
        write(1, Act::Pages { commits: true, parts: [None; 2] }),
        write(0, Act::Sample { is_idle: false, in_kernel: true, parts: [Some(1), None] }),
    ];
    let writes: Vec<Write> = opened.into_iter().chain(both).chain((2..12).map(block)).collect();
    let files = [file_of(&writes)];
    let expected = one_by_one(&files);
    let of_pages = expected.iter().find(|line| line.contains("0x7000")).unwrap();
    assert!(of_pages.contains("ffff800000000050") && of_pages.contains("400030"), "{of_pages}");
    assert_eq!(difference(&by_slices(&files, 1 << 30, None), &expected), None);
}

#[test]
fn any_number_of_threads_gives_the_same_trace() {
    for (scenario, stacks, free_stacks) in [
        (Scenario::Heap, StackForm::Keys, true),
        (Scenario::Heap, StackForm::Walk, true),
        (Scenario::Heap, StackForm::Keys, false),
        (Scenario::Heap, StackForm::None, false),
        (Scenario::Trackers, StackForm::Walk, false),
        (Scenario::Commit, StackForm::Walk, false),
    ] {
        let events = 20_000;
        let samples = if scenario == Scenario::Heap { events / 8 } else { 0 };
        let options =
            Options { scenario, stacks, free_stacks, events, samples, distinct_stacks: 300, live: 700, ..Options::default() };
        let bytes = generate(&options, Cursor::new(Vec::new())).unwrap().into_inner();
        let files = [TraceFile::from_source(Source::Memory(bytes.leak()), "a.etl".to_owned()).unwrap()];
        let expected = one_by_one(&files);
        for threads in [1, 2, 8, 32] {
            for memory in [1 << 20, 1 << 30] {
                let found = with_threads(threads, || by_slices(&files, memory, None));
                assert_eq!(difference(&found, &expected), None, "{scenario:?}, {stacks:?}, {threads} threads, {memory} bytes");
            }
        }
    }
}
