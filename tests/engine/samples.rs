//! Trees over processor samples against a naive count over what was sampled.

use std::collections::BTreeMap;

use highwater::events::{Event, FrameRange, Record, StackPart};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{ProcessId, Trace};
use highwater::query::{
    Cancel, FlameWeights, Fold, Forest, FrameName, Functions, Index, Mask, flame_boxes, node_name, process_samples, sample_sums,
    totals,
};
use highwater::symbols::Names;
use highwater::units::{Interval, Pid, Ticks, Tid};
use proptest::prelude::*;

use crate::common::trace::{session, story, trace as file};
use crate::oracle::strategy;

/// What was sampled: when, how often at that moment, of which process and thread, and where, innermost first.
#[derive(Clone, Debug)]
struct Sampled {
    at: i64,
    count: u16,
    pid: u32,
    thread: u32,
    frames: Vec<u64>,
}

/// Few places in few processes, so that stacks have much in common.
fn sampled() -> impl Strategy<Value = Vec<Sampled>> {
    let frames = prop::collection::vec(0..4u64, 1..5);
    let one = (1..4i64, 1..3u16, 0..3u32, 0..2u32, frames);
    prop::collection::vec(one, 0..50).prop_map(|all| {
        let mut at = 100;
        let one = |(later, count, process, thread, frames): (i64, _, _, _, Vec<u64>)| {
            at += later;
            let frames = frames.into_iter().map(|frame| 0x5000 + frame * 0x10).collect();
            Sampled { at, count, pid: 100 + process, thread: 2 * (10 * process + thread) + 4, frames }
        };
        all.into_iter().map(one).collect()
    })
}

fn trace_of(all: &[Sampled]) -> Trace {
    let mut records = story();
    records.truncate(4);
    for one in all {
        let record = |time, event| Record { time: 1_000 + time, pid: Pid(one.pid), tid: Tid(one.thread), event };
        let owner = 1_000 + one.at;
        records.push((record(one.at, Event::Sample { address: one.frames[0], count: one.count }), Vec::new()));
        let stack = Event::Stack { owner, part: StackPart::User, frames: FrameRange::default() };
        records.push((record(one.at, stack), one.frames.clone()));
    }
    records.sort_by_key(|(record, _)| record.time);
    let bytes = file(session(false), &records);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.etl");
    std::fs::write(&path, bytes).unwrap();
    load(&Capture::open(&[Input::File(path)]).unwrap(), &mut Unwatched).unwrap()
}

/// The samples of an interval, of one process or all, by what `way` makes of their stack, outermost first.
fn naive(all: &[Sampled], (from, to): (i64, i64), pid: Option<u32>, way: fn(&[u64]) -> Vec<u64>) -> BTreeMap<Vec<String>, u64> {
    let mut counts: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for one in all.iter().filter(|one| (from..to).contains(&one.at) && pid.is_none_or(|pid| pid == one.pid)) {
        let outermost_first: Vec<u64> = one.frames.iter().rev().copied().collect();
        let way: Vec<String> = way(&outermost_first).iter().map(|&address| FrameName::At(address).to_string()).collect();
        for end in 0..=way.len() {
            *counts.entry(way[..end].to_vec()).or_default() += u64::from(one.count);
        }
    }
    counts
}

fn as_it_is(way: &[u64]) -> Vec<u64> {
    way.to_vec()
}

fn reversed(way: &[u64]) -> Vec<u64> {
    way.iter().rev().copied().collect()
}

fn innermost(way: &[u64]) -> Vec<u64> {
    way.last().copied().into_iter().collect()
}

/// By way what a forest says, as far as it says anything, and what is as wide.
fn told(forest: &Forest, functions: &Functions, by_site: &[u32]) -> BTreeMap<Vec<String>, u64> {
    let (sums, weights) = (forest.samples(by_site), FlameWeights::of_samples(forest, by_site));
    let of = |node: u32| {
        assert_eq!((weights.width(node), weights.net(node)), (sums.amount(node), sums.amount(node) as i64));
        let way = forest.way(node).iter().map(|&key| node_name(functions, key)).collect();
        (way, sums.amount(node))
    };
    (0..forest.len() as u32).map(of).filter(|(_, count)| *count > 0).collect()
}

fn lives(trace: &Trace) -> impl Iterator<Item = (ProcessId, u32)> + '_ {
    (0..).map(ProcessId).zip(&trace.processes).map(|(id, process)| (id, process.pid.0))
}

/// From a stack, innermost first, the way from the top of a tree.
type Way = fn(&[u64]) -> Vec<u64>;

proptest! {
    #![proptest_config(strategy::fewer(5))]
    #[test]
    fn trees_of_samples_say_what_a_look_at_each_sample_does(all in sampled(), from in 90..200i64, len in 0..150i64) {
        let (trace, edges, never) = (trace_of(&all), (from, from + len), Cancel::default());
        let samples = &trace.activity.samples;
        prop_assert_eq!(samples.list.len() as u64, all.iter().map(|one| u64::from(one.count)).sum::<u64>());
        prop_assert_eq!((samples.idle, samples.unknown), (0, 0));
        let interval = Interval { from: Ticks(edges.0), to: Ticks(edges.1) };
        let by_process: BTreeMap<u32, u64> = process_samples(&trace, interval)
            .into_iter()
            .map(|of| (trace.process(of.process.unwrap()).pid.0, of.count))
            .collect();
        let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
        for one in all.iter().filter(|one| (edges.0..edges.1).contains(&one.at)) {
            *expected.entry(one.pid).or_default() += u64::from(one.count);
        }
        prop_assert_eq!(by_process, expected);
        let functions = Functions::of_samples(&trace, &Names::default(), Fold::Nothing, &never).unwrap();
        let trees: [(Forest, Way); 3] = [
            (Forest::top_down(&functions), as_it_is),
            (Forest::inverted(&functions, &never).unwrap(), reversed),
            (Forest::by_function(&functions), innermost),
        ];
        let of_each = lives(&trace).map(|(id, pid)| (Some(id), Some(pid)));
        for (process, pid) in of_each.chain([(None, None)]) {
            let by_site = sample_sums(&trace, interval, process);
            for (forest, way) in &trees {
                prop_assert_eq!(told(forest, &functions, &by_site), naive(&all, edges, pid, *way));
                let boxes = flame_boxes(&FlameWeights::of_samples(forest, &by_site), 0, |_| false);
                let all = boxes.boxes.first().map_or(0, |whole| whole.net);
                prop_assert_eq!(all as u64, by_site.iter().map(|&count| u64::from(count)).sum::<u64>());
            }
        }
        // Nothing of it is memory.
        let index = Index::scan(std::sync::Arc::new(trace));
        let sums = totals(&index, interval, &never).unwrap();
        let mask = Mask::all(index.trace());
        let memory = highwater::query::by_heap(index.trace(), &sums, &mask, &never).unwrap();
        let expected = all.is_empty() || memory.iter().map(|of| of.numbers().count).sum::<u64>() <= 1;
        prop_assert!(expected);
    }
}

#[test]
fn a_sample_of_no_known_process_is_counted_and_breaks_nothing() {
    let mut all = vec![Sampled { at: 120, count: 2, pid: 100, thread: 8, frames: vec![0x5000, 0x5010] }];
    let trace = trace_of(&all);
    all[0].frames.clear();
    let bytes = {
        let mut records = story();
        records.truncate(4);
        let event = Event::Sample { address: 0x5000, count: 3 };
        records.push((Record { time: 1_200, pid: Pid(9), tid: Tid(77), event }, Vec::new()));
        file(session(false), &records)
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unknown.etl");
    std::fs::write(&path, bytes).unwrap();
    let unknown = load(&Capture::open(&[Input::File(path)]).unwrap(), &mut Unwatched).unwrap();
    assert_eq!((trace.activity.samples.unknown, unknown.activity.samples.unknown), (0, 3));
    let whole = Interval { from: Ticks(0), to: Ticks(1_000) };
    let of = process_samples(&unknown, whole);
    assert_eq!(of.iter().map(|of| (of.process, of.count)).collect::<Vec<_>>(), [(None, 3)]);
    let functions = Functions::of_samples(&unknown, &Names::default(), Fold::Nothing, &Cancel::default()).unwrap();
    let forest = Forest::top_down(&functions);
    assert_eq!(told(&forest, &functions, &sample_sums(&unknown, whole, None)).values().max(), Some(&3));
}
