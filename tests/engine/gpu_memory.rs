//! GPU memory: the numbers of an interval against a list of changes, and that it changes none of the numbers of memory.

use std::io::Cursor;

use highwater::etl::{Source, TraceFile};
use highwater::events::{
    ActivityEvent, Adapter, Event, GpuChange, GpuKind, GpuMemory, ProcessChange, ProcessInfo, Record, SegmentGroup,
    TrackerProviders,
};
use highwater::export::cut::{Request, cut};
use highwater::load::{Capture, Processes, Unwatched, load};
use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::problem::Problems;
use highwater::query::{GpuEntry, StepNumbers, counter_label, gpu_entries, main_gpu};
use highwater::units::{Interval, Pid, Ticks, Tid};
use highwater_dev::synth::{self, Options, Scenario, generate};
use proptest::prelude::*;

/// A step of a story, so many ticks after the one before.
#[derive(Clone, Debug)]
enum Step {
    Change(u32, GpuChange),
    Start(u32),
    End(u32),
}

fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
    let kind = prop::sample::select(vec![GpuKind::Usage, GpuKind::Budget, GpuKind::Commitment]);
    let group = prop::sample::select(SegmentGroup::ALL.to_vec());
    let adapter = (0..2u64, 0..2u16).prop_map(|(address, number)| Adapter { address: 0x1000 * (address + 1), number });
    let change = (7..9u32, kind, group, adapter, 0..5u64, 0..5u64)
        .prop_map(|(pid, kind, group, adapter, new, old)| Step::Change(pid, GpuChange { kind, adapter, group, new, old }));
    let step = prop_oneof![8 => change, 1 => (7..9u32).prop_map(Step::Start), 1 => (7..9u32).prop_map(Step::End)];
    prop::collection::vec((0..4i64, step), 0..60)
}

/// A life of a process id: who it was before any start (0), or since which one; and when that was.
type Life = (u32, usize, Option<i64>);

/// All changes with their times and lives; a change after the end of a life belongs to it until the next start.
fn told(steps: &[(i64, Step)]) -> (Vec<(i64, Step)>, Vec<Change>) {
    let mut now = 0;
    let mut lives: [Life; 2] = [(7, 0, None), (8, 0, None)];
    let mut is_alive = [false; 2];
    let (mut events, mut changes) = (Vec::new(), Vec::new());
    for (after, step) in steps {
        now += after;
        match step {
            Step::Change(pid, change) => changes.push((now, lives[*pid as usize - 7], *change)),
            Step::Start(pid) => {
                let at = *pid as usize - 7;
                // One process after the other, and never two of them at one moment.
                if is_alive[at] || lives[at].2 == Some(now) {
                    continue;
                }
                now += 1;
                is_alive[at] = true;
                lives[at] = (*pid, lives[at].1 + 1, Some(now));
            }
            Step::End(pid) => {
                let at = *pid as usize - 7;
                if !std::mem::replace(&mut is_alive[at], false) {
                    continue;
                }
                now += 1;
            }
        }
        events.push((now, step.clone()));
    }
    (events, changes)
}

fn build(events: &[(i64, Step)]) -> Trace {
    let mut builder = Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, 0, (0, 0));
    let mut key = 0xA000;
    for (time, step) in events {
        let info = |key| ProcessInfo { key, parent: 1, name: "game.exe".to_owned(), command_line: String::new() };
        let (pid, event) = match step {
            Step::Change(pid, change) => (*pid, Event::Activity(Box::new(ActivityEvent::Gpu(GpuMemory::Changed(*change))))),
            Step::Start(pid) => {
                key += 0x100;
                (*pid, Event::Process(ProcessChange::Start, Box::new(info(key + u64::from(*pid)))))
            }
            Step::End(pid) => (*pid, Event::Process(ProcessChange::End, Box::new(info(0)))),
        };
        builder.apply(&Record { time: *time, pid: Pid(pid), tid: Tid(1), event }, &[]);
    }
    builder.publish(InputState { complete: true, ..InputState::default() })
}

type Key = (u32, Option<i64>, u64, u16, &'static str);

/// A change with its time and the life that it is about.
type Change = (i64, Life, GpuChange);

/// Numbers at the edges and the peak, of usage, budget and commitment.
type Numbers = [Option<(u64, u64, u64)>; 3];

/// Usage, budget and commitment, by process life, adapter and group.
fn expected(changes: &[Change], interval: Interval) -> Vec<(Key, Numbers)> {
    let mut keys: Vec<(Life, Adapter, SegmentGroup)> =
        changes.iter().map(|(_, life, of)| (*life, of.adapter, of.group)).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut all = Vec::new();
    for (life, adapter, group) in keys {
        let numbers = [GpuKind::Usage, GpuKind::Budget, GpuKind::Commitment].map(|kind| {
            let is_its =
                |(_, of, change): &&Change| (*of, change.adapter, change.group, change.kind) == (life, adapter, group, kind);
            let its: Vec<&Change> = changes.iter().filter(is_its).collect();
            // What was there before the first change was there from the start on.
            let from_start = std::iter::once((life.2.unwrap_or(i64::MIN), its.first()?.2.old));
            let from_start = from_start.chain(its.iter().map(|(at, _, change)| (*at, change.new)));
            let all: Vec<(i64, u64)> = from_start.collect();
            let value = |edge: i64| all.iter().rev().find(|(at, _)| *at < edge).map_or(0, |(_, bytes)| *bytes);
            let inside = all.iter().filter(|(at, _)| interval.from.0 <= *at && *at < interval.to.0).map(|(_, bytes)| *bytes);
            let from = value(interval.from.0);
            Some((from, value(interval.to.0), inside.fold(from, u64::max)))
        });
        let has_any = [numbers[0], numbers[2]].into_iter().flatten().any(|(.., peak)| peak > 0);
        if has_any {
            let name = if group == SegmentGroup::Local { "local" } else { "non_local" };
            all.push(((life.0, life.2, adapter.address, adapter.number, name), numbers));
        }
    }
    all.sort_unstable();
    all
}

fn found(trace: &Trace, interval: Interval) -> Vec<(Key, Numbers)> {
    let numbers = |of: Option<StepNumbers>| of.map(|of| (of.from, of.to, of.peak));
    let entry = |entry: GpuEntry| {
        let start = entry.process_start_s.map(|seconds| (seconds * 1e7).round() as i64);
        let address = u64::from_str_radix(&entry.adapter[2..], 16).unwrap();
        let key = (entry.pid, start, address, entry.adapter_number, entry.segment_group);
        (key, [numbers(entry.usage), numbers(entry.budget), numbers(entry.commitment)])
    };
    let mut all: Vec<_> = gpu_entries(trace, interval, None).into_iter().map(entry).collect();
    all.sort_unstable();
    all
}

proptest! {
    #[test]
    fn the_numbers_of_an_interval_are_those_of_the_changes(steps in steps(), from in -3..120i64, length in 0..120i64) {
        let (events, changes) = told(&steps);
        let trace = build(&events);
        let interval = Interval { from: Ticks(from), to: Ticks(from + length) };
        prop_assert_eq!(found(&trace, interval), expected(&changes, interval));
    }
}

fn options(gpu: bool) -> Options {
    Options { scenario: Scenario::Heap, events: 20_000, distinct_stacks: 50, live: 2000, gpu, ..Options::default() }
}

fn opened(bytes: Vec<u8>) -> Capture {
    let file = TraceFile::from_source(Source::Memory(bytes.leak()), "gpu.etl".to_owned()).unwrap();
    Capture { files: vec![file], problems: Problems::default() }
}

fn generated(gpu: bool) -> Capture {
    opened(generate(&options(gpu), Cursor::new(Vec::new())).unwrap().into_inner())
}

#[test]
fn gpu_memory_is_beside_the_rows_and_its_events_are_counted_by_name() {
    let [plain, with] = [false, true].map(|gpu| load(&generated(gpu), &mut Unwatched).unwrap());
    assert!(plain.activity.gpu.is_empty() && gpu_entries(&plain, plain.span, None).is_empty());
    assert_eq!((with.problems.len(), with.quality), (0, plain.quality));
    assert_eq!(
        (with.rows.len(), with.heaps.len(), with.processes.len()),
        (plain.rows.len(), plain.heaps.len(), plain.processes.len())
    );
    let counts = with.counts;
    assert!(counts.gpu_usage > 50 && counts.gpu_commitment > 50 && counts.gpu_budget > 3 && counts.gpu_allocation == 0);
    assert_eq!(counts.total - plain.counts.total, counts.gpu_usage + counts.gpu_budget + counts.gpu_commitment);
    let entries = gpu_entries(&with, with.span, None);
    assert_eq!(entries.len(), 4, "two processes, local and not");
    assert!(entries.iter().all(|entry| entry.adapter == format!("{:#x}", synth::ADAPTER.address)));
    let largest = &entries[0];
    let (usage, budget) = (largest.usage.unwrap(), largest.budget.unwrap());
    assert!(usage.peak > 24 << 20 && usage.peak <= 96 << 20 && budget.peak == 96 << 20);
    let main = main_gpu(&with, SegmentGroup::Local, None).unwrap();
    assert_eq!(with.activity.gpu[main].pid.0, largest.pid);
    let counter = &with.counters[with.activity.gpu[main].usage.unwrap().0 as usize];
    assert_eq!(counter_label(counter), format!("GPU memory, local, adapter {:#x}", synth::ADAPTER.address));
    assert_eq!(gpu_entries(&with, with.span, Some(&largest.pid.to_string())).len(), 2);
}

#[test]
fn a_part_of_a_trace_has_the_numbers_of_that_part() {
    let capture = generated(true);
    let trace = load(&capture, &mut Unwatched).unwrap();
    let at = |part: i64| Ticks(trace.span.from.0 + trace.span.len() * part / 10);
    for (from, to) in [(0, 4), (3, 7), (6, 10)] {
        let interval = Interval { from: at(from), to: at(to) };
        for anonymises in [false, true] {
            let request = Request {
                files: &capture.files,
                trace: &trace,
                trace_start: capture.trace_start(),
                interval,
                processes: &Processes::All,
                trackers: &TrackerProviders::default(),
                descriptions: &[],
                anonymises,
            };
            let mut out = Cursor::new(Vec::new());
            cut(&request, &mut out, &mut |_, _| true).unwrap();
            let part = load(&opened(out.into_inner()), &mut Unwatched).unwrap();
            let whole = found(&trace, interval);
            assert!(!whole.is_empty());
            assert_eq!(found(&part, interval), whole, "{from} to {to}");
        }
    }
}

#[test]
fn what_is_told_in_a_form_that_is_not_known_is_counted_and_said() {
    let mut builder = Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, 0, (0, 0));
    for time in 0..3 {
        let event = Event::Activity(Box::new(ActivityEvent::Gpu(GpuMemory::Unread)));
        builder.apply(&Record { time, pid: Pid(7), tid: Tid(1), event }, &[]);
    }
    let told = builder.counters_left_out().unwrap();
    assert_eq!(told, "3 reports of GPU memory in a form that is not known; they were left out of the graph");
    let trace = builder.publish(InputState { complete: true, ..InputState::default() });
    assert!(trace.activity.gpu.is_empty() && trace.counters.is_empty() && trace.processes.is_empty());
}
