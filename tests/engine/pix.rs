//! PIX's scopes, markers and counters: marks and sums of scopes against a naive reading of what each thread did, however its
//! blocks come; and that they change none of the numbers of memory.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use highwater::etl::{Source, TraceFile};
use highwater::events::{ActivityEvent, Event, PixBlock, PixEvent, PixStep, PixWhat, Record, TrackerProviders};
use highwater::export::cut::{Request, cut};
use highwater::load::{Capture, Processes, Unwatched, load};
use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::problem::Problems;
use highwater::query::{
    Cancel, Index, MarkRequest, Mask, ScopeRequest, ScopeSums, each_scope, mark_places, reported_entries, scope_sums,
};
use highwater::units::{Interval, Layer, Pid, Ticks, Tid};
use highwater_dev::synth::{Options, Scenario, generate};
use proptest::prelude::*;

const PID: Pid = Pid(7);

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
enum Act {
    Begin(u8),
    End,
    Marker(u8),
    Alloc(u64),
    /// Its block is full, and is written.
    Write,
    /// The trace is published meanwhile.
    Publish,
}

fn acts() -> impl Strategy<Value = Vec<(i64, u8, Act)>> {
    let act = prop_oneof![
        4 => (0..4u8).prop_map(Act::Begin),
        4 => Just(Act::End),
        1 => (0..4u8).prop_map(Act::Marker),
        4 => (1..99u64).prop_map(Act::Alloc),
        2 => Just(Act::Write),
        1 => Just(Act::Publish),
    ];
    prop::collection::vec((0..3i64, 0..3u8, act), 0..120)
}

fn name(n: u8) -> String {
    format!("scope {n}")
}

fn pix(event: PixEvent) -> Event {
    Event::Activity(Box::new(ActivityEvent::Pix(event)))
}

/// A mark: begin, end, thread and text.
type Told = (i64, i64, u32, String);

/// The marks of all threads, and what each allocated when.
fn expected(acts: &[(i64, u8, Act)]) -> (Vec<Told>, Vec<(i64, u32, u64)>) {
    let (mut marks, mut allocated) = (Vec::new(), Vec::new());
    for thread in 0..3 {
        let (mut now, mut open) = (0, Vec::new());
        let tid = u32::from(thread) + 70;
        for &(after, who, act) in acts {
            now += after;
            match act {
                _ if who != thread => {}
                Act::Begin(n) => open.push((now, n)),
                Act::End => marks.extend(open.pop().map(|(from, n)| (from, now, tid, name(n)))),
                Act::Marker(n) => marks.push((now, now, tid, name(n))),
                Act::Alloc(size) => allocated.push((now, tid, size)),
                Act::Write | Act::Publish => {}
            }
        }
        marks.extend(open.into_iter().map(|(at, n)| (at, at, tid, name(n))));
    }
    marks.sort();
    (marks, allocated)
}

fn build(acts: &[(i64, u8, Act)]) -> (Trace, Vec<String>) {
    let mut builder = Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, 0, (0, 0));
    let mut blocks: [(i64, Vec<PixStep>); 3] = Default::default();
    let (mut now, mut number) = (0, 0);
    let mut write = |builder: &mut Builder, thread: usize, now: i64, block: &mut (i64, Vec<PixStep>)| {
        let steps = std::mem::take(&mut block.1);
        let times = (std::mem::replace(&mut block.0, now), now);
        let tid = Tid(thread as u32 + 70);
        let block = PixBlock { number, tid, times, steps, of_gpu: 0, unknown: 0, cut_names: 0, is_whole: true };
        number += 1;
        builder.apply(&Record { time: now, pid: PID, tid: Tid(1), event: pix(PixEvent::Block(block)) }, &[]);
    };
    for (n, &(after, thread, act)) in acts.iter().enumerate() {
        now += after;
        let thread = usize::from(thread);
        let what = match act {
            Act::Begin(n) => PixWhat::Begin(name(n).into()),
            Act::End => PixWhat::End,
            Act::Marker(n) => PixWhat::Marker(name(n).into()),
            Act::Alloc(size) => {
                let event = Event::Alloc { layer: Layer::Heap, heap: 0x50, address: 0x1000 * (n as u64 + 1), size };
                builder.apply(&Record { time: now, pid: PID, tid: Tid(thread as u32 + 70), event }, &[]);
                continue;
            }
            Act::Write => {
                write(&mut builder, thread, now, &mut blocks[thread]);
                continue;
            }
            Act::Publish => {
                let trace = builder.publish(InputState::default());
                assert!(trace.activity.marks.list.iter().is_sorted_by_key(|mark| mark.at));
                continue;
            }
        };
        blocks[thread].1.push(PixStep { at: now, what });
    }
    for (thread, block) in blocks.iter_mut().enumerate() {
        write(&mut builder, thread, now + 5, block);
    }
    let left_out = builder.activity_left_out(true);
    (builder.publish(InputState { complete: true, ..InputState::default() }), left_out)
}

fn marks(trace: &Trace, interval: Interval) -> Vec<Told> {
    let all = trace.activity.marks.during(interval);
    let mut all: Vec<Told> = all.map(|mark| (mark.from.0, mark.to.0, mark.tid.0, mark.text.to_string())).collect();
    all.sort();
    all
}

proptest! {
    #[test]
    fn marks_and_sums_are_those_of_what_threads_did(acts in acts(), from in 0..100i64, length in 1..200i64) {
        let (told, allocated) = expected(&acts);
        let (trace, left_out) = build(&acts);
        let whole = Interval { from: Ticks(-1), to: Ticks(1 << 40) };
        prop_assert_eq!(&marks(&trace, whole), &told);
        prop_assert!(trace.activity.marks.list.iter().is_sorted_by_key(|mark| mark.at));
        let is_said = left_out.iter().any(|text| text.contains("ends of scopes without a begin"));
        prop_assert_eq!(is_said, has_lonely_end(&acts));

        let interval = Interval { from: Ticks(from), to: Ticks(from + length) };
        let index = Index::scan(Arc::new(trace));
        let mask = Mask::all(index.trace());
        let request = ScopeRequest { interval, process: None, layer: Layer::Heap, mask: &mask };
        let found = scope_sums(&index, &request, &Cancel::default()).unwrap();
        let mut naive: BTreeMap<String, (u64, i64, u64, u64)> = BTreeMap::new();
        for n in 0..4 {
            let its: Vec<&Told> = told.iter().filter(|of| of.3 == name(n) && of.0 < of.1 && of.0 < from + length && of.1 > from).collect();
            if its.is_empty() {
                continue;
            }
            let is_in = |at: i64, tid: u32| (from..from + length).contains(&at) && its.iter().any(|of| of.2 == tid && of.0 <= at && at < of.1);
            let time: usize = (70..73).map(|tid| (from..from + length).filter(|at| is_in(*at, tid)).count()).sum();
            let blocks: Vec<u64> = allocated.iter().filter(|(at, tid, _)| is_in(*at, *tid)).map(|(.., size)| *size).collect();
            naive.insert(name(n), (its.len() as u64, time as i64, blocks.len() as u64, blocks.iter().sum()));
        }
        let found: BTreeMap<_, _> = found
            .into_iter()
            .map(|of| (of.scope, (of.count, (of.length_s * 1e7).round() as i64, of.allocated_count, of.allocated_size)))
            .collect();
        prop_assert_eq!(found, naive);

        let trace = index.trace();
        let listed = mark_places(&trace.activity.marks, &MarkRequest { interval, process: None, text: "" });
        let each = each_scope(&index, &listed, Layer::Heap, &mask, &Cancel::default()).unwrap();
        for (place, sums) in listed.into_iter().zip(each) {
            let mark = trace.activity.marks.list.get(place as usize).unwrap();
            let is_in = |at: &i64, tid: &u32| *tid == mark.tid.0 && mark.from.0 <= *at && *at < mark.to.0;
            let blocks: Vec<u64> = allocated.iter().filter(|(at, tid, _)| is_in(at, tid)).map(|(.., size)| *size).collect();
            let naive = ScopeSums { allocated_count: blocks.len() as u64, allocated_size: blocks.iter().sum() };
            prop_assert_eq!(sums, (mark.from < mark.to).then_some(naive), "{:?}", mark);
        }
    }
}

fn has_lonely_end(acts: &[(i64, u8, Act)]) -> bool {
    (0..3).any(|thread| {
        let mut open = 0;
        acts.iter().filter(|(_, who, _)| *who == thread).any(|(.., act)| match act {
            Act::Begin(_) => {
                open += 1;
                false
            }
            Act::End if open == 0 => true,
            Act::End => {
                open -= 1;
                false
            }
            _ => false,
        })
    })
}

fn generated(pix: bool) -> Capture {
    let options =
        Options { scenario: Scenario::Heap, events: 20_000, distinct_stacks: 50, live: 2000, pix, ..Options::default() };
    opened(generate(&options, Cursor::new(Vec::new())).unwrap().into_inner())
}

fn opened(bytes: Vec<u8>) -> Capture {
    let file = TraceFile::from_source(Source::Memory(bytes.leak()), "pix.etl".to_owned()).unwrap();
    Capture { files: vec![file], problems: Problems::default() }
}

#[test]
fn scopes_change_no_number_and_a_part_has_those_of_that_part() {
    let plain = load(&generated(false), &mut Unwatched).unwrap();
    let capture = generated(true);
    let trace = load(&capture, &mut Unwatched).unwrap();
    assert_eq!((trace.quality, trace.rows.len(), trace.problems.len()), (plain.quality, plain.rows.len(), 0));
    let counts = trace.counts;
    assert_eq!(counts.total - plain.counts.total, counts.pix_counter + counts.pix_timing);
    assert!(counts.pix_counter > 300 && counts.pix_timing > 1000);
    assert_eq!(trace.activity.marks.list.len() as u64, counts.pix_timing * 5, "four scopes and a marker");
    let counters = reported_entries(&trace, trace.span, None);
    assert_eq!(counters.len(), 2);
    assert!(counters.iter().all(|of| of.counter == "Heaps (MB)" && of.max >= of.min && of.to == Some(of.max)));
    let at = |part: i64| Ticks(trace.span.from.0 + trace.span.len() * part / 10);
    for (from, to) in [(0, 4), (3, 7), (6, 10)] {
        let interval = Interval { from: at(from), to: at(to) };
        // A scope that goes on where the part ends is a moment in it.
        let known =
            |(from, to, tid, text): Told| if to < interval.to.0 { (from, to, tid, text) } else { (from, from, tid, text) };
        let mut whole: Vec<Told> = marks(&trace, interval).into_iter().map(known).collect();
        whole.sort();
        for anonymises in [false, true] {
            let request = Request {
                files: &capture.files,
                trace: &trace,
                trace_start: capture.trace_start(),
                interval,
                processes: &Processes::All,
                trackers: &TrackerProviders::default(),
                anonymises,
                descriptions: &[],
            };
            let mut out = Cursor::new(Vec::new());
            cut(&request, &mut out, &mut |_, _| true).unwrap();
            let part = load(&opened(out.into_inner()), &mut Unwatched).unwrap();
            let found = marks(&part, interval);
            if anonymises {
                assert!(found.iter().all(|(.., text)| text.starts_with("mark-")));
                let times = |all: &[Told]| all.iter().map(|(from, to, tid, _)| (*from, *to, *tid)).collect::<Vec<_>>();
                let (mut found, mut whole) = (times(&found), times(&whole));
                found.sort();
                whole.sort();
                assert_eq!(found, whole, "{from} to {to}");
            } else {
                assert_eq!(found, whole, "{from} to {to}");
            }
            assert!(reported_entries(&part, interval, None).len() == 2);
        }
    }
}
