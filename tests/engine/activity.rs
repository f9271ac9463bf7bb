//! What programs do besides: names of managed code over time, frames and what was allocated in
//! each, samples and whose they are. Each against what is asked for, spelled out; and none of it
//! changes a number of memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater::etl::{Source, TraceFile};
use highwater::events::{
    ActivityEvent, Event, FrameRange, ManagedEvent, ManagedMethod, MarkEvent, MarkText, MethodChange, Present, PresentApi,
    Record, SampleInterval, StackPart, TIMER, ThreadStack, TrackerProviders, class,
};
use highwater::export::cut::{Request, cut};
use highwater::load::{Capture, Input, Processes, Unwatched, load};
use highwater::model::{Builder, Clock, InputState, IntervalOrigin, OtherWindows, PresentLane, ProcessId, Trace};
use highwater::problem::Problems;
use highwater::query::{
    By, Cancel, Fold, FrameRequest, FrameSums, Index, Mask, ReportFilter, ReportRequest, frame_sums, main_frames,
    process_samples, report,
};
use highwater::units::{Interval, Layer, Pid, Ticks, Tid};
use proptest::prelude::*;

use crate::common::session::{PID as SESSION_PID, START as SESSION_START, Session};

const PID: Pid = Pid(7);
const HEAP: u64 = 0x50;
const KERNEL: u64 = 0xFFFF_8000_0000_0000;

struct Story(Builder);

impl Story {
    fn new() -> Self {
        Self(Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, 0, (0, 0)))
    }

    fn tell(&mut self, time: i64, pid: Pid, tid: Tid, event: Event) {
        self.0.apply(&Record { time, pid, tid, event }, &[]);
    }

    fn activity(&mut self, time: i64, tid: Tid, event: ActivityEvent) {
        self.tell(time, PID, tid, Event::Activity(Box::new(event)));
    }

    fn stack(&mut self, time: i64, owner: i64, (pid, tid): (Pid, Tid), frames: &[u64]) {
        let part = if frames.last().is_some_and(|&outermost| outermost >= KERNEL) { StackPart::Kernel } else { StackPart::User };
        let event = Event::Stack { owner, part, frames: FrameRange::default() };
        self.0.apply(&Record { time, pid, tid, event }, frames);
    }

    fn end(mut self, last: i64) -> Trace {
        let times = Some((0, last));
        self.0.publish(InputState { complete: true, times, ..InputState::default() })
    }
}

/// Code comes and goes at few places, now and then at one where other code is.
#[derive(Clone, Copy, Debug)]
struct Told {
    change: MethodChange,
    start: u64,
    size: u32,
    name: u8,
}

fn told() -> impl Strategy<Value = Told> {
    let change = prop::sample::select(vec![MethodChange::Load, MethodChange::Unload, MethodChange::Rundown]);
    (change, 0..5u64, 0..4u32, 0..3u8).prop_map(|(change, start, size, name)| Told {
        change,
        start: 0x100 + 4 * start,
        size,
        name,
    })
}

/// A method at a place from a moment to another.
type Life = (u64, u32, u8, i64, i64);

/// The lives of all methods, in the order in which they were told.
fn lives(all: &[Told]) -> Vec<Life> {
    let mut lives: Vec<Life> = Vec::new();
    for (at, &Told { change, start, size, name }) in (1..).zip(all).filter(|(_, told)| told.size > 0) {
        let now = lives.iter().position(|life| life.0 == start && life.4 == i64::MAX);
        let is_same = now.is_some_and(|now| (lives[now].1, lives[now].2) == (size, name));
        if let Some(now) = now.filter(|_| !is_same || change == MethodChange::Unload) {
            lives[now].4 = at;
        }
        if !is_same {
            let from = if change == MethodChange::Load { at } else { i64::MIN };
            lives.push((start, size, name, from, if change == MethodChange::Unload { at } else { i64::MAX }));
        }
    }
    lives
}

proptest! {
    #[test]
    fn a_managed_method_names_its_bytes_while_it_lives(all in prop::collection::vec(told(), 0..24)) {
        let mut story = Story::new();
        story.tell(0, PID, Tid(1), Event::HeapOpen { layer: Layer::Heap, heap: HEAP, name: None });
        for (time, &Told { change, start, size, name }) in (1..).zip(&all) {
            let method = ManagedMethod { start, size, name: format!("M{name}"), ..ManagedMethod::default() };
            story.activity(time, Tid(1), ActivityEvent::Managed(ManagedEvent::Method(change, Box::new(method))));
        }
        let trace = story.end(all.len() as i64);
        let lives = lives(&all);
        for at in -1..all.len() as i64 + 2 {
            for address in 0xFE..0x118 {
                let covers = |life: &&Life| life.0 <= address && address < life.0 + u64::from(life.1) && life.3 <= at && at < life.4;
                let expected = lives.iter().find(covers).map(|life| format!("M{}", life.2));
                let mapped = trace.mapped_at(ProcessId(0), address, Ticks(at));
                let found = mapped.method.map(|method| method.name.to_string());
                prop_assert_eq!(&found, &expected, "{:#x} at {} of {:?}", address, at, lives);
                // The answer holds as long as it says.
                prop_assert!(mapped.during.contains(Ticks(at)));
                for other in (-1..all.len() as i64 + 2).filter(|&other| mapped.during.contains(Ticks(other))) {
                    let other = trace.mapped_at(ProcessId(0), address, Ticks(other)).method;
                    prop_assert_eq!(other.map(|method| method.name.to_string()), expected.clone());
                }
            }
        }
    }
}

#[test]
fn frames_are_calls_of_the_program_that_showed_something() {
    let mut story = Story::new();
    let start = |api, swap_chain, is_test| ActivityEvent::Present(Present::Start { api, swap_chain, is_test });
    let stop = |api, has_failed| ActivityEvent::Present(Present::Stop { api, has_failed });
    let (dxgi, d3d9) = (PresentApi::Dxgi, PresentApi::D3d9);
    let second = 10_000_000;
    for (time, tid, event) in [
        (10, 1, start(dxgi, 1, false)),
        (12, 1, stop(dxgi, false)),
        // Only a question, and its end is not the end of a frame.
        (15, 1, start(dxgi, 1, true)),
        (16, 1, stop(dxgi, true)),
        // One runtime presents through the other.
        (20, 1, start(d3d9, 9, false)),
        (21, 1, start(dxgi, 1, false)),
        (22, 1, stop(dxgi, false)),
        (23, 1, stop(d3d9, false)),
        // Nothing was shown.
        (30, 1, start(dxgi, 1, false)),
        (31, 1, stop(dxgi, true)),
        // The end of this one was lost, ...
        (40, 1, start(dxgi, 1, false)),
        (50, 1, start(dxgi, 1, false)),
        // ... another thread has nothing to do with it, ...
        (51, 2, start(dxgi, 2, false)),
        (52, 2, stop(dxgi, false)),
        // ... and after some time it is over in any case.
        (51 + 3 * second, 1, start(dxgi, 3, false)),
        (52 + 3 * second, 1, stop(dxgi, false)),
        (60 + 3 * second, 1, ActivityEvent::Present(Present::Marked)),
    ] {
        story.activity(time, Tid(tid), event);
    }
    let trace = story.end(4 * second);
    let lanes: Vec<_> =
        trace.activity.presents.iter().map(|lane| (lane.api, lane.swap_chain, times(lane.times.iter()))).collect();
    let expected = [
        (dxgi, 1, vec![10, 40, 50]),
        (d3d9, 9, vec![20]),
        (dxgi, 2, vec![51]),
        (dxgi, 3, vec![51 + 3 * second]),
        (PresentApi::Marks, 0, vec![60 + 3 * second]),
    ];
    assert_eq!(lanes, expected);
    assert_eq!(main_frames(&trace, None), Some(0));
}

#[test]
fn presents_of_the_graphics_kernel_are_frames_of_one_window_where_no_interface_reports_its_own() {
    let mut story = Story::new();
    let of = |pid| (Pid(pid), Tid(pid + 1));
    let taken = |window| ActivityEvent::Present(Present::Taken { window });
    let start = |api| ActivityEvent::Present(Present::Start { api, swap_chain: 1, is_test: false });
    for (time, pid, event) in [
        // A game with an overlay and a dialog.
        (10, 4, taken(0x70)),
        (11, 4, taken(0x71)),
        (20, 4, taken(0x71)),
        (21, 4, taken(0x72)),
        (30, 4, taken(0x71)),
        (31, 4, taken(0x70)),
        // One whose frames DXGI reports only later, and one that has always had them.
        (40, 5, taken(0x80)),
        (45, 5, start(PresentApi::Dxgi)),
        (46, 5, taken(0x80)),
        (50, 6, start(PresentApi::D3d9)),
        (51, 6, taken(0x90)),
        // Equally many: the first.
        (60, 7, taken(0xA0)),
        (61, 7, taken(0xA1)),
    ] {
        let (pid, tid) = of(pid);
        story.tell(time, pid, tid, Event::Activity(Box::new(event)));
    }
    let trace = story.end(100);
    let pid = |lane: &PresentLane| trace.process(lane.process).pid.0;
    let lanes = trace.activity.presents.iter();
    let lanes: Vec<_> = lanes.map(|lane| (pid(lane), lane.api, lane.swap_chain, times(lane.times.iter()))).collect();
    let kernel = PresentApi::DxgKrnl;
    let expected = [
        (4, kernel, 0x70, vec![]),
        (4, kernel, 0x71, vec![11, 20, 30]),
        (4, kernel, 0x72, vec![]),
        (5, kernel, 0x80, vec![]),
        (5, PresentApi::Dxgi, 1, vec![45]),
        (6, PresentApi::D3d9, 1, vec![50]),
        (7, kernel, 0xA0, vec![60]),
        (7, kernel, 0xA1, vec![]),
    ];
    assert_eq!(lanes, expected);
    let others = |lane: usize| trace.activity.presents[lane].others;
    assert_eq!(others(1), OtherWindows { windows: 2, presents: 3 });
    assert_eq!(others(6), OtherWindows { windows: 1, presents: 1 });
    assert!([0, 2, 3, 4, 5, 7].into_iter().all(|lane| others(lane) == OtherWindows::default()));
    assert_eq!(main_frames(&trace, None), Some(1));
}

fn times<'a>(all: impl Iterator<Item = &'a Ticks>) -> Vec<i64> {
    all.map(|at| at.0).collect()
}

/// A block that lives from one moment to another.
type Block = (i64, i64, u64);

proptest! {
    #[test]
    fn a_frame_has_what_was_allocated_and_freed_in_it(
        presents in prop::collection::btree_set(1..60i64, 0..12),
        blocks in prop::collection::vec((0..60i64, 1..40i64, 1..100u64), 0..40),
        (from, length) in (0..60i64, 0..60i64),
    ) {
        let mut story = Story::new();
        let blocks: Vec<Block> = blocks.into_iter().map(|(born, lives, size)| (born, born + lives, size)).collect();
        for time in 0..100 {
            for (n, &(_, _, _)) in blocks.iter().enumerate().filter(|(_, block)| block.1 == time) {
                story.tell(time, PID, Tid(1), Event::Free { layer: Layer::Heap, heap: HEAP, address: 0x1000 * (n as u64 + 1) });
            }
            if presents.contains(&time) {
                story.activity(time, Tid(1), ActivityEvent::Present(Present::Marked));
            }
            for (n, &(_, _, size)) in blocks.iter().enumerate().filter(|(_, block)| block.0 == time) {
                let event = Event::Alloc { layer: Layer::Heap, heap: HEAP, address: 0x1000 * (n as u64 + 1), size };
                story.tell(time, PID, Tid(1), event);
            }
        }
        let index = Index::scan(Arc::new(story.end(100)));
        let times: Vec<i64> = presents.into_iter().collect();
        let interval = Interval { from: Ticks(from), to: Ticks(from + length) };
        let mask = Mask::all(index.trace());
        let request = FrameRequest { lane: 0, interval, layer: Layer::Heap, mask: &mask };
        let lines = frame_sums(&index, &request, &Cancel::default()).unwrap();
        let ends_inside = |(_, pair): &(usize, &[i64])| from < pair[1] && pair[1] <= from + length;
        let expected: Vec<_> = times.windows(2).enumerate().filter(ends_inside).collect();
        prop_assert_eq!(lines.len(), expected.len(), "{:?} of {:?} in {:?}", lines, times, interval);
        for (line, (number, pair)) in lines.iter().zip(expected) {
            let inside = |at: i64| pair[0] <= at && at < pair[1];
            let mut sums = FrameSums::default();
            for &(born, died, size) in &blocks {
                if inside(born) {
                    sums.allocated_count += 1;
                    sums.allocated_size += size;
                }
                if inside(died) {
                    sums.freed_count += 1;
                    sums.freed_size += size;
                }
            }
            prop_assert_eq!((line.number, line.interval.from.0, line.interval.to.0, line.sums), (number, pair[0], pair[1], sums));
        }
    }
}

/// How the stack of a sample comes.
#[derive(Clone, Copy, Debug)]
enum Comes {
    Never,
    User,
    /// The kernel's part at once, and the user's with it.
    Both,
    /// The kernel's part at once; the user's under the time of the thread's next sample that has one.
    Later,
}

#[derive(Clone, Copy, Debug)]
struct Sampled {
    thread: u32,
    place: u64,
    comes: Comes,
    /// Whether a block is allocated just before, by the same thread.
    allocates: bool,
}

fn sampled() -> impl Strategy<Value = Sampled> {
    let comes = prop::sample::select(vec![Comes::Never, Comes::User, Comes::Both, Comes::Later]);
    (0..4u32, 0..3u64, comes, any::<bool>()).prop_map(|(thread, place, comes, allocates)| Sampled {
        thread,
        place,
        comes,
        allocates,
    })
}

/// Threads 0 to 3: idle, two of the process, and one of which only the end tells.
const LATE_THREAD: u32 = 3;

fn user(place: u64) -> Vec<u64> {
    vec![0x100 + place, 0x200]
}

fn tell_samples(all: &[Sampled], with_samples: bool) -> (Trace, Vec<(u32, Vec<u64>)>) {
    let mut story = Story::new();
    story.tell(0, PID, Tid(1), Event::ThreadStart(ThreadStack::default()));
    story.tell(0, Pid(8), Tid(2), Event::ThreadRundown(ThreadStack::default()));
    let mut expected: Vec<(u32, Vec<u64>)> = Vec::new();
    // Samples of each thread that wait for the user's part.
    let mut wait: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (n, &Sampled { thread, place, comes, allocates }) in all.iter().enumerate() {
        let (time, tid) = (10 * n as i64 + 10, Tid(thread));
        let pid = Pid(if thread == 2 { 8 } else { PID.0 });
        if allocates {
            let event = Event::Alloc { layer: Layer::Heap, heap: HEAP, address: 0x1000 * (n as u64 + 1), size: 8 };
            story.tell(time - 5, pid, tid, event);
            story.stack(time - 4, time - 5, (pid, tid), &[0x900, 0x200]);
        }
        if !with_samples {
            continue;
        }
        let address = if matches!(comes, Comes::Both | Comes::Later) { KERNEL + place } else { 0x100 + place };
        story.tell(time, Pid::NONE, tid, Event::Sample { address, count: 1 });
        if thread == 0 {
            continue;
        }
        let at = expected.len();
        expected.push((pid.0, Vec::new()));
        match comes {
            Comes::Never => expected[at].1.push(address),
            Comes::User => story.stack(time + 1, time, (pid, tid), &user(place)),
            Comes::Both | Comes::Later => {
                story.stack(time + 1, time, (pid, tid), &[KERNEL + place, KERNEL + 0x10]);
                expected[at].1.extend([KERNEL + place, KERNEL + 0x10]);
                if matches!(comes, Comes::Both) {
                    story.stack(time + 2, time, (pid, tid), &user(place));
                    expected[at].1.extend(user(place));
                } else {
                    wait.entry(thread).or_default().push(at);
                }
            }
        }
        if matches!(comes, Comes::User) {
            expected[at].1.extend(user(place));
        }
        if matches!(comes, Comes::User | Comes::Both) {
            for waits in wait.remove(&thread).unwrap_or_default() {
                expected[waits].1.extend(user(place));
            }
        }
    }
    story.tell(10 * all.len() as i64 + 20, PID, Tid(LATE_THREAD), Event::ThreadRundown(ThreadStack::default()));
    (story.end(10 * all.len() as i64 + 20), expected)
}

proptest! {
    #[test]
    fn samples_have_their_process_and_stack_and_change_nothing(all in prop::collection::vec(sampled(), 0..40)) {
        let (trace, expected) = tell_samples(&all, true);
        let samples = &trace.activity.samples;
        let found: Vec<(u32, Vec<u64>)> = samples
            .list
            .iter()
            .map(|sample| {
                let site = samples.sites[sample.site.0 as usize];
                let frames = trace.stacks.chain(site.stack).map(|node| trace.stacks.address(node)).collect();
                (trace.process(site.caller).pid.0, frames)
            })
            .collect();
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(samples.idle, all.iter().filter(|sampled| sampled.thread == 0).count() as u64);
        prop_assert_eq!(samples.unknown, 0);
        let mut by_process: BTreeMap<u32, u64> = BTreeMap::new();
        expected.iter().for_each(|(pid, _)| *by_process.entry(*pid).or_default() += 1);
        let counted: BTreeMap<u32, u64> = process_samples(&trace, trace.span)
            .into_iter()
            .map(|samples| (samples.process.map_or(0, |process| trace.process(process).pid.0), samples.count))
            .collect();
        prop_assert_eq!(counted, by_process);

        let (without, _) = tell_samples(&all, false);
        prop_assert_eq!(groups(trace), groups(without));
    }
}

#[test]
fn what_samples_stand_for_is_told_with_how_it_is_known() {
    const THREAD: Tid = Tid(1);
    let told = |all: &[(i64, Option<u32>)]| {
        let mut story = Story::new();
        for &(time, interval) in all {
            match interval {
                Some(interval) => {
                    let interval = SampleInterval { source: TIMER, interval };
                    story.activity(time, THREAD, ActivityEvent::SampleInterval(interval));
                }
                None => story.tell(time, Pid::NONE, THREAD, Event::Sample { address: 1, count: 1 }),
            }
        }
        let samples = story.end(100).activity.samples;
        (samples.interval, samples.interval_origin)
    };
    let [usual, twice] = [1e-3, 2e-3].map(|seconds| seconds * 1e7);
    assert_eq!(told(&[(1, None)]), (usual, IntervalOrigin::Assumed));
    assert_eq!(told(&[(1, Some(10_000)), (2, None)]), (usual, IntervalOrigin::Told));
    assert_eq!(told(&[(1, Some(10_000)), (2, Some(20_000)), (3, None)]), (twice, IntervalOrigin::Told), "before all samples");
    assert_eq!(told(&[(1, Some(20_000)), (2, None), (3, Some(20_000))]), (twice, IntervalOrigin::Told), "the same again");
    assert_eq!(told(&[(1, Some(10_000)), (2, None), (3, Some(20_000))]), (twice, IntervalOrigin::Changed));
}

type MemoryGroup = (Option<u32>, Option<Vec<String>>, u64, u64);

/// The numbers of memory by stack.
fn groups(trace: Trace) -> Vec<MemoryGroup> {
    let trace = Arc::new(trace);
    let index = Index::scan(Arc::clone(&trace));
    let by = vec![By::Process, By::Stack];
    let request = ReportRequest {
        interval: trace.span,
        by,
        filter: ReportFilter::default(),
        top: None,
        fold: Fold::Nothing,
        sources: false,
    };
    let groups = report(&index, &request, &Cancel::default()).unwrap().groups;
    groups.into_iter().map(|group| (group.pid, group.stack, group.numbers.count, group.numbers.size)).collect()
}

/// When it was, of which process, and its stack.
type SampleSeen = (i64, u32, Vec<u64>);

/// Marks (when they were written, and since when that lasts), presents by swap chain, samples.
type Seen = (Vec<(i64, i64)>, Vec<Vec<i64>>, Vec<SampleSeen>);

/// What a trace has in an interval, names apart.
fn seen(trace: &Trace, interval: Interval) -> Seen {
    let activity = &trace.activity;
    let marks = activity.marks.during(interval).map(|mark| (mark.at.0, mark.from.0)).collect();
    let presents = activity.presents.iter().map(|lane| {
        let inside = lane.times.iter().filter(|at| interval.contains(**at));
        times(inside)
    });
    let samples = activity.samples.list.range(activity.samples.during(interval)).map(|sample| {
        let site = activity.samples.sites[sample.site.0 as usize];
        let frames = trace.stacks.chain(site.stack).map(|node| trace.stacks.address(node)).collect();
        (sample.at.0, trace.process(site.caller).pid.0, frames)
    });
    (marks, presents.filter(|times| !times.is_empty()).collect(), samples.collect())
}

#[test]
fn a_part_of_a_trace_has_what_happened_in_it_and_the_names_for_that() {
    let mut session = Session::new(1, false);
    let method = |start: u64, name: &str| {
        Box::new(ManagedMethod { start, size: 0x10, name: name.to_owned(), is_jitted: true, ..ManagedMethod::default() })
    };
    let managed = |change, method| Event::Activity(Box::new(ActivityEvent::Managed(ManagedEvent::Method(change, method))));
    let marked = || Event::Activity(Box::new(ActivityEvent::Present(Present::Marked)));
    let mark = |text: &str| {
        let text = MarkText::Known(text.into());
        let mark = MarkEvent { provider: class::PERF_INFO, provider_name: None, text, lasted_ms: None };
        Event::Activity(Box::new(ActivityEvent::Mark(mark)))
    };
    let told = [
        (10, Event::ThreadRundown(ThreadStack::default())),
        (20, managed(MethodChange::Load, method(0x100, "Game.Early"))),
        (30, marked()),
        (31, mark("before")),
        (40, Event::Sample { address: 0x101, count: 1 }),
        (100, mark("inside")),
        (110, marked()),
        (120, Event::Sample { address: 0x102, count: 1 }),
        (130, Event::Sample { address: 0x202, count: 1 }),
        (140, marked()),
        (200, Event::Sample { address: 0x103, count: 1 }),
        (210, mark("behind")),
        (220, managed(MethodChange::Rundown, method(0x200, "Game.Late"))),
        (221, managed(MethodChange::Load, method(0x300, "Game.Never"))),
    ];
    for (time, event) in told {
        let record = Record { time: SESSION_START + time, pid: Pid(SESSION_PID), tid: Tid(8), event };
        session.writer.put(0, &record, &[]).unwrap();
    }
    let capture = opened(session.writer.finish().unwrap().into_inner());
    let trace = load(&capture, &mut Unwatched).unwrap();
    let demo = Capture::open(&[Input::Demo]).unwrap();
    let whole = load(&demo, &mut Unwatched).unwrap();
    let inside = Interval { from: Ticks(50), to: Ticks(150) };
    let seconds = |from: f64, to: f64| Interval { from: whole.clock.ticks(from), to: whole.clock.ticks(to) };
    for (capture, trace, interval) in [(&capture, &trace, inside), (&demo, &whole, seconds(26.0, 29.5))] {
        for anonymises in [false, true] {
            let (trace_start, processes) = (capture.trace_start(), &Processes::All);
            let request = Request {
                files: &capture.files,
                trace,
                trace_start,
                interval,
                processes,
                trackers: &TrackerProviders::default(),
                descriptions: &[],
                anonymises,
            };
            let mut out = std::io::Cursor::new(Vec::new());
            cut(&request, &mut out, &mut |_, _| true).unwrap();
            let bytes = out.into_inner();
            let tells = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
            assert!(!anonymises || !["inside", "Autosave", "Level 3"].into_iter().any(tells));
            let part = load(&opened(bytes.clone()), &mut Unwatched).unwrap();
            let expected = seen(trace, interval);
            assert!(!expected.0.is_empty() && !expected.1.is_empty() && expected.2.len() > 1);
            assert_eq!(seen(&part, part.span), expected, "and nothing else");
        }
    }
    let bytes = {
        let (trace_start, processes) = (capture.trace_start(), &Processes::All);
        let request = Request {
            files: &capture.files,
            trace: &trace,
            trace_start,
            interval: inside,
            processes,
            trackers: &TrackerProviders::default(),
            descriptions: &[],
            anonymises: false,
        };
        let mut out = std::io::Cursor::new(Vec::new());
        cut(&request, &mut out, &mut |_, _| true).unwrap();
        out.into_inner()
    };
    let part = load(&opened(bytes), &mut Unwatched).unwrap();
    let process = part.activity.managed.processes()[0];
    let names: Vec<String> = part.activity.managed.methods(process).iter().map(|method| method.name.to_string()).collect();
    assert_eq!(names, ["Game.Early", "Game.Late"]);
}

fn opened(bytes: Vec<u8>) -> Capture {
    let file = TraceFile::from_source(Source::Memory(bytes.leak()), "part.etl".to_owned()).unwrap();
    Capture { files: vec![file], problems: Problems::default() }
}
