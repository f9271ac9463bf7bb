//! Whose stack it is that a thread leaves behind when it leaves the kernel: one user part
//! for all kernel parts that it collected there, whatever event it names.

use std::collections::{HashMap, HashSet};
use std::io::Cursor;
use std::ops::ControlFlow;

use crate::common::corpus;
use highwater::etl::write::Writer;
use highwater::etl::{SessionHeader, Source, TraceFile};
use highwater::events::encode::RecordWriter;
use highwater::events::{
    BlockEvent, CallStack, Event, FrameRange, Frames, Item, Merge, PageRange, ProcessChange, ProcessInfo, Record, StackPart,
    ThreadStack, mem,
};
use highwater::load::{Capture, Unwatched, load};
use highwater::model::{Builder, Clock, InputState, RowId, Trace};
use highwater::problem::Problems;
use highwater::units::{Layer, Pid, PointerSize, Tid};

const PAGE: u64 = 0x1000;
const KERNEL: [&[u64]; 3] = [&[0xFFFF_8000_0000_0010], &[0xFFFF_8000_0000_0020, 0xFFFF_8000_0000_0010], &[0xFFFF_8000_0000_0030]];
const USER: [&[u64]; 2] = [&[0x20, 0x10], &[0x30, 0x10]];

/// Tells a builder what threads do; page `n` is committed at time `n`.
struct Story {
    builder: Builder,
    thread: (Pid, Tid),
}

impl Story {
    fn new() -> Self {
        let clock = Clock { frequency: 10_000_000, start_time: 0 };
        Self { builder: Builder::new(clock, 0, (0, 0)), thread: (Pid(7), Tid(70)) }
    }

    fn tell(&mut self, time: i64, event: Event, frames: &[u64]) {
        let (pid, tid) = self.thread;
        self.builder.apply(&Record { time, pid, tid, event }, frames);
    }

    fn pages(&mut self, time: i64, flags: u32) {
        let range = PageRange { base: time as u64 * PAGE, size: PAGE, owner: Pid(7), flags };
        self.tell(time, Event::VirtualAlloc(range), &[]);
    }

    fn stack(&mut self, time: i64, owner: i64, part: StackPart, frames: &[u64]) {
        self.tell(time, Event::Stack { owner, part, frames: FrameRange::default() }, frames);
    }

    /// Commits the page of the time, with the kernel part of the stack.
    fn commit(&mut self, time: i64, kernel: &[u64]) {
        self.pages(time, mem::COMMIT);
        self.stack(time + 1, time, StackPart::Kernel, kernel);
    }

    /// The thread leaves the kernel.
    fn leave(&mut self, time: i64, owner: i64, frames: &[u64]) {
        self.stack(time, owner, StackPart::User, frames);
    }

    fn process(&mut self, time: i64, change: ProcessChange) {
        let info = ProcessInfo { key: 0xA, parent: 1, name: "Game.exe".to_owned(), command_line: String::new() };
        self.tell(time, Event::Process(change, Box::new(info)), &[]);
    }

    fn end(mut self) -> Trace {
        self.builder.publish(InputState { complete: true, ..InputState::default() })
    }

    /// The stack of the page that was committed at a time.
    fn stack_at(self, time: i64) -> Vec<u64> {
        stacks(&self.end())[&(time as u64 * PAGE)].clone()
    }
}

/// The frames of each row by its address, innermost first.
fn stacks(trace: &Trace) -> HashMap<u64, Vec<u64>> {
    let rows = (0..trace.rows.len() as u32).map(|row| trace.rows.get(RowId(row)));
    let frames = |row: highwater::model::Row| {
        let nodes = trace.stacks.chain(trace.site(row.site).stack);
        (row.address, nodes.map(|node| trace.stacks.address(node)).collect())
    };
    rows.map(frames).collect()
}

fn joined(kernel: &[u64], user: &[u64]) -> Vec<u64> {
    [kernel, user].concat()
}

#[test]
fn reserve_and_commit_in_one_system_call_share_their_callers() {
    for named in [10, 20] {
        for reserve in [10, 20] {
            let mut story = Story::new();
            for time in [10, 20] {
                story.pages(time, if time == reserve { mem::RESERVE } else { mem::COMMIT });
                story.stack(time + 1, time, StackPart::Kernel, KERNEL[time as usize / 20]);
            }
            story.leave(30, named, USER[0]);
            let commit = 30 - reserve;
            assert_eq!(story.stack_at(commit), joined(KERNEL[commit as usize / 20], USER[0]), "{named} {reserve}");
        }
    }
}

#[test]
fn a_sample_before_them_gives_its_callers_to_all_of_them() {
    let mut story = Story::new();
    story.stack(6, 5, StackPart::Kernel, KERNEL[0]);
    story.commit(10, KERNEL[1]);
    story.commit(20, KERNEL[2]);
    story.leave(30, 5, USER[0]);
    story.leave(40, 35, USER[1]);
    let stacks = stacks(&story.end());
    assert_eq!(stacks[&(10 * PAGE)], joined(KERNEL[1], USER[0]));
    assert_eq!(stacks[&(20 * PAGE)], joined(KERNEL[2], USER[0]), "and what comes later does not change them");
}

#[test]
fn keys_do_the_same() {
    let mut story = Story::new();
    story.pages(10, mem::COMMIT);
    story.tell(11, Event::StackRef { owner: 10, part: StackPart::Kernel, key: 1 }, &[]);
    story.tell(12, Event::StackRef { owner: 5, part: StackPart::User, key: 1 }, &[]);
    for (part, frames) in [(StackPart::User, USER[1]), (StackPart::Kernel, KERNEL[1])] {
        story.tell(20, Event::StackDefinition { part, key: 1, frames: FrameRange::default() }, frames);
    }
    assert_eq!(story.stack_at(10), joined(KERNEL[1], USER[1]));
}

#[test]
fn the_stack_that_came_with_a_heaps_event_does_too() {
    for apart in [true, false] {
        let mut story = Story::new();
        story.commit(10, KERNEL[0]);
        let (pid, tid) = story.thread;
        let block = BlockEvent { time: 20, pid, tid, layer: Layer::Heap, heap: 1, address: 1, size: Some(8) };
        if apart {
            story.tell(20, block.record().event, &[]);
            story.leave(21, 20, USER[0]);
        } else {
            story.builder.apply_item(Item::Block(block), CallStack::Frames(Frames::new(USER[0])));
        }
        let stacks = stacks(&story.end());
        assert_eq!((&stacks[&1], &stacks[&(10 * PAGE)]), (&USER[0].to_vec(), &joined(KERNEL[0], USER[0])));
    }
}

#[test]
fn other_threads_and_processes_have_callers_of_their_own() {
    for thread in [(Pid(7), Tid(71)), (Pid(8), Tid(70))] {
        let mut story = Story::new();
        story.commit(10, KERNEL[0]);
        story.thread = thread;
        story.leave(20, 15, USER[0]);
        assert_eq!(story.stack_at(10), KERNEL[0]);
    }
}

#[test]
fn a_user_part_of_its_own_is_worth_more_than_anothers() {
    let mut story = Story::new();
    story.commit(10, KERNEL[0]);
    story.leave(20, 15, USER[0]);
    story.leave(30, 10, USER[1]);
    assert_eq!(story.stack_at(10), joined(KERNEL[0], USER[1]));
}

#[test]
fn what_lies_in_the_kernel_is_not_the_caller() {
    let mut story = Story::new();
    story.commit(10, KERNEL[0]);
    story.leave(20, 15, &[]);
    story.leave(21, 16, &joined(KERNEL[1], USER[0]));
    assert_eq!(story.stack_at(10), joined(KERNEL[0], USER[0]));
}

#[test]
fn ids_that_are_used_again_are_other_threads() {
    type Reuse = fn(&mut Story);
    let reuses: [Reuse; 3] = [
        |story| story.process(15, ProcessChange::End),
        |story| story.process(15, ProcessChange::Start),
        |story| story.tell(15, Event::ThreadStart(ThreadStack::default()), &[]),
    ];
    for reuse in reuses {
        let mut story = Story::new();
        story.commit(10, KERNEL[0]);
        reuse(&mut story);
        story.leave(20, 16, USER[0]);
        assert_eq!(story.stack_at(10), KERNEL[0]);
    }
    let mut story = Story::new();
    story.commit(10, KERNEL[0]);
    story.process(15, ProcessChange::Rundown);
    story.leave(20, 16, USER[0]);
    assert_eq!(story.stack_at(10), joined(KERNEL[0], USER[0]), "a rundown tells of what runs on");
}

#[test]
fn every_piece_of_a_range_has_its_callers() {
    let mut story = Story::new();
    let range = |base, size, flags| PageRange { base, size, owner: Pid(7), flags };
    story.tell(1, Event::VirtualAlloc(range(0, 3 * PAGE, mem::COMMIT)), &[]);
    story.stack(2, 1, StackPart::Kernel, KERNEL[0]);
    story.tell(3, Event::VirtualFree(range(PAGE, PAGE, mem::DECOMMIT)), &[]);
    story.leave(5, 4, USER[0]);
    let stacks = stacks(&story.end());
    assert_eq!(stacks.len(), 3);
    assert!(stacks.values().all(|stack| *stack == joined(KERNEL[0], USER[0])), "{stacks:x?}");
}

#[test]
fn what_is_published_meanwhile_changes_nothing() {
    let mut story = Story::new();
    story.commit(10, KERNEL[0]);
    let early = story.builder.publish(InputState::default());
    story.leave(20, 15, USER[0]);
    assert_eq!(stacks(&early)[&(10 * PAGE)], KERNEL[0]);
    assert_eq!(story.stack_at(10), joined(KERNEL[0], USER[0]));
}

/// Records of a file with one processor, as it is loaded.
fn loaded(records: &[(Record, Vec<u64>)], pointer: PointerSize) -> Trace {
    let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), SessionHeader::default()).unwrap());
    writer.style.pointer = pointer;
    records.iter().for_each(|(record, frames)| writer.put(0, record, frames).unwrap());
    let bytes = writer.finish().unwrap().into_inner();
    let file = TraceFile::from_source(Source::Memory(bytes.leak()), "a.etl".to_owned()).unwrap();
    load(&Capture { files: vec![file], problems: Problems::default() }, &mut Unwatched).unwrap()
}

#[test]
fn the_kernel_of_a_32_bit_system_begins_at_2_gib() {
    let record = |time, event| Record { time, pid: Pid(7), tid: Tid(70), event };
    let range = PageRange { base: PAGE, size: PAGE, owner: Pid(7), flags: mem::COMMIT };
    let stack = |owner| Event::Stack { owner, part: StackPart::User, frames: FrameRange::default() };
    let records = [
        (record(10, Event::VirtualAlloc(range)), vec![]),
        (record(11, stack(10)), vec![0x8060_0010, 0x8060_0000]),
        (record(12, stack(5)), vec![0x8070_0000, 0x7700_0000, 0x40_0000]),
    ];
    let trace = loaded(&records, PointerSize::Four);
    assert_eq!(stacks(&trace)[&PAGE], [0x8060_0010, 0x8060_0000, 0x7700_0000, 0x40_0000]);
}

/// Stacks of a trace that was recorded elsewhere, with a commit put in for each kernel part.
#[test]
fn kernel_parts_of_a_real_trace_find_their_callers_under_other_events() {
    let Some(corpus) = corpus() else { return };
    let file = TraceFile::open(&corpus.join("slow-ppt.etl")).unwrap();
    let mut stacks_of_file: Vec<(Record, Vec<u64>)> = Vec::new();
    let _: ControlFlow<()> = Merge::of_records(std::slice::from_ref(&file)).run(
        |item, stack| {
            let record = item.record().into_owned();
            if matches!(record.event, Event::Stack { .. }) {
                stacks_of_file.push((record, stack.frames().addresses().to_vec()));
            }
            ControlFlow::Continue(())
        },
        |_| ControlFlow::Continue(i64::MAX),
    );
    let (mut commits, mut own) = (Vec::new(), HashSet::new());
    for (Record { pid, tid, event, .. }, _) in &stacks_of_file {
        match *event {
            Event::Stack { owner, part: StackPart::User, .. } => own.extend([(owner, *tid)]),
            Event::Stack { owner, .. } if ![Pid(0), Pid(4)].contains(pid) => commits.push((owner, *pid, *tid)),
            _ => {}
        }
    }
    let mut stream: Vec<(Record, Vec<u64>)> = Vec::new();
    for (i, &(time, pid, tid)) in commits.iter().enumerate() {
        let range = PageRange { base: i as u64 * PAGE, size: PAGE, owner: pid, flags: mem::COMMIT };
        stream.push((Record { time, pid, tid, event: Event::VirtualAlloc(range) }, Vec::new()));
    }
    stream.extend(stacks_of_file);
    stream.sort_by_key(|(record, _)| record.time);
    let mut story = Story::new();
    stream.iter().for_each(|(record, frames)| story.builder.apply(record, frames));
    let stacks = stacks(&story.end());
    let has_callers = |i: &usize| stacks[&(*i as u64 * PAGE)].last().is_some_and(|&a| a < PointerSize::Eight.kernel_start());
    let (with_own, without): (Vec<usize>, Vec<usize>) =
        (0..commits.len()).partition(|&i| own.contains(&(commits[i].0, commits[i].2)));
    let count = |of: &[usize]| of.iter().filter(|i| has_callers(i)).count();
    assert_eq!(commits.len(), 2_490);
    assert_eq!(count(&with_own), with_own.len());
    assert_eq!(count(&without), 234, "of {}", without.len());
}
