//! Comparisons: inside one trace against the oracle, and between traces that differ in
//! nothing but the handles of heaps and the places of modules.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::trace::story;
use crate::oracle::question::{OPS, builder, edges, input, interval, options, place, replay, ways};
use crate::oracle::scenario::Scenario;
use crate::oracle::{Replay, strategy};
use highwater::events::Event;
use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::query::{
    By, Cancel, Compared, DiffSide, Filter, FlameWeights, Fold, Forest, Functions, Group, GroupNumbers, Index, NodeKey,
    ReportFilter, diff, node_name, totals,
};
use highwater::symbols::Names;
use highwater::units::{Interval, Layer};
use proptest::prelude::*;
use serde_json::{Value, json};

fn compare(a: (&Index, Interval), b: (&Index, Interval), by: &[By]) -> Vec<Group<Compared>> {
    let masks = [a, b].map(|(index, _)| Filter::all().mask(index.trace()));
    let names = Names::default();
    let side =
        |(index, interval), i: usize| DiffSide { index, interval, mask: &masks[i], names: &names, functions: None, totals: None };
    diff([side(a, 0), side(b, 1)], by, None, &Cancel::default()).unwrap()
}

const KEYS: [&str; 11] = [
    "process",
    "pid",
    "process_start_s",
    "layer",
    "heap",
    "stack",
    "freed_stack",
    "type",
    "thread",
    "size_bucket",
    "lifetime_bucket",
];

/// The keys of a group as text.
fn keys<N: serde::Serialize>(group: &Group<N>) -> String {
    let group = serde_json::to_value(group).unwrap();
    KEYS.map(|key| group[key].to_string()).join(" ")
}

/// Whether no two groups have the same keys, as two lives of a process have whose starts
/// nobody saw.
fn are_told_apart<N: serde::Serialize>(groups: &[Group<N>]) -> bool {
    let mut all: Vec<String> = groups.iter().map(keys).collect();
    all.sort_unstable();
    all.windows(2).all(|pair| pair[0] != pair[1])
}

fn by() -> impl Strategy<Value = Vec<By>> {
    let keys = vec![By::Process, By::Heap, By::Stack, By::FreedStack, By::Type, By::Thread, By::Size, By::Lifetime];
    prop::sample::subsequence(keys, 0..=7)
}

/// b − a of a number.
fn change(group: &Value, of: &str) -> i128 {
    let number = |side: &str| i128::from(group[side][of].as_i64().unwrap());
    number("b") - number("a")
}

const DELTAS: [&str; 9] = [
    "outstanding_to",
    "impacting_size",
    "count",
    "size",
    "allocated_count",
    "allocated_size",
    "freed_count",
    "freed_size",
    "peak",
];

fn assert_deltas(groups: &[Group<Compared>]) {
    let mut last = None;
    for group in groups {
        let group = serde_json::to_value(group).unwrap();
        for of in DELTAS {
            assert_eq!(i128::from(group["delta"][of].as_i64().unwrap()), change(&group, of), "{of} of {group}");
        }
        assert_eq!(group["delta"].as_object().unwrap().len(), DELTAS.len());
        let rank = [change(&group, "outstanding_to").abs(), change(&group, "allocated_size").abs()];
        assert!(last.is_none_or(|last| last >= rank), "the largest change comes first");
        last = Some(rank);
    }
}

/// The same event of heaps with other handles.
fn renamed(event: &Event) -> Event {
    let other = |heap: u64| heap * 0x101 + 0x7000;
    let mut event = event.clone();
    match &mut event {
        Event::HeapOpen { heap, .. }
        | Event::HeapClose { heap, .. }
        | Event::Alloc { heap, .. }
        | Event::Free { heap, .. }
        | Event::Realloc { heap, .. } => *heap = other(*heap),
        _ => {}
    }
    event
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn flame_graphs_of_a_difference_have_the_deltas_of_their_functions(
        ops in strategy::ops(OPS), (a, b, c, d) in (place(), place(), place(), place()), options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let never = Cancel::default();
        let sides = [interval(edges(&scenario, a, b)), interval(edges(&scenario, c, d))];
        for index in ways(replay(&scenario), &options) {
            let trace = index.trace();
            let functions = Functions::of(trace, &Names::default(), Fold::Nothing, &never).unwrap();
            let forest = Forest::by_function(&functions);
            let sums = sides.map(|side| totals(&index, side, &never).unwrap());
            let groups = compare((&index, sides[0]), (&index, sides[1]), &[By::Responsible]);
            for layer in Layer::ALL {
                let groups: Vec<_> = groups.iter().filter(|group| group.layer == layer.name()).collect();
                let mask = Filter::all().mask(trace);
                let weights = FlameWeights::difference(&forest, trace, [&sums[0], &sums[1]], &mask, layer);
                let delta = |group: &&Group<Compared>| group.numbers.delta.outstanding_to;
                prop_assert_eq!(weights.net(0), groups.iter().map(delta).sum::<i64>());
                for node in 1..forest.len() as u32 {
                    let name = match forest.key(node) {
                        NodeKey::NoStack => Some("(no stack)".to_owned()),
                        key => Some(node_name(&functions, key)),
                    };
                    let expected = groups.iter().find(|group| group.responsible == name).map_or(0, delta);
                    prop_assert_eq!(weights.net(node), expected, "{:?}", name);
                    prop_assert!(weights.width(node) >= expected.unsigned_abs());
                }
            }
        }
    }

    #[test]
    fn flame_graphs_of_two_traces_have_what_each_place_in_the_code_changed(
        ops in strategy::ops(OPS), others in strategy::ops(OPS), (a, b) in (place(), place()), inverted in any::<bool>(),
    ) {
        let never = Cancel::default();
        let names = Names::default();
        let scenarios = [Scenario::of(&ops), Scenario::of(&others)];
        let indexes = [0, 1].map(|i| Index::scan(replay(&scenarios[i]).into()));
        let functions = [0, 1].map(|i| Functions::of(indexes[i].trace(), &names, Fold::Nothing, &never).unwrap());
        let sums = [0, 1].map(|i| totals(&indexes[i], interval(edges(&scenarios[i], a, b)), &never).unwrap());
        let joined = Functions::joined([&functions[0], &functions[1]], &never).unwrap();
        let forest = if inverted { Forest::inverted(&joined, &never).unwrap() } else { Forest::top_down(&joined) };
        for layer in Layer::ALL {
            // By the whole stack of what changed, in the words of each side.
            let mut changes: BTreeMap<Vec<String>, i64> = BTreeMap::new();
            for (side, sign) in [(0, -1), (1, 1)] {
                let (trace, functions) = (indexes[side].trace(), &functions[side]);
                for (site, buckets) in sums[side].sites() {
                    if trace.layer_of(trace.site(site)) == layer {
                        let mut way: Vec<String> =
                            functions.chain(functions.path(site)).map(|id| functions.name(id).to_string()).collect();
                        if !inverted {
                            way.reverse();
                        }
                        if way.is_empty() {
                            way.push("no stack".to_owned());
                        }
                        *changes.entry(way).or_default() += sign * buckets.numbers().outstanding_to as i64;
                    }
                }
            }
            let sides = [0, 1].map(|i| (indexes[i].trace(), &sums[i]));
            let weights = FlameWeights::across(&forest, sides, 0, layer);
            for node in 0..forest.len() as u32 {
                let name = |key: &NodeKey| match key {
                    NodeKey::NoStack => "no stack".to_owned(),
                    key => node_name(&joined, *key),
                };
                let way: Vec<String> = forest.way(node).iter().map(name).collect();
                let under = || changes.iter().filter(|(other, _)| other.starts_with(&way)).map(|(_, change)| *change);
                prop_assert_eq!(weights.net(node), under().sum::<i64>(), "{:?}", way);
                prop_assert_eq!(weights.width(node), under().map(i64::unsigned_abs).sum::<u64>(), "{:?}", way);
            }
        }
    }

    #[test]
    fn inside_one_trace_both_sides_are_the_oracles_reports(
        ops in strategy::ops(OPS), by in by(), [a, b, c, d] in [place(), place(), place(), place()], options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let expected = Replay::of(&scenario.steps);
        let sides = [edges(&scenario, a, b), edges(&scenario, c, d)];
        let mut groups: BTreeMap<String, [GroupNumbers; 2]> = BTreeMap::new();
        for (side, edges) in sides.into_iter().enumerate() {
            let report = expected.report(edges, &by, &ReportFilter::default());
            if !are_told_apart(&report) {
                return Ok(());
            }
            for group in report {
                groups.entry(keys(&group)).or_default()[side].clone_from(&group.numbers);
            }
        }
        for index in ways(replay(&scenario), &options) {
            let found = compare((&index, interval(sides[0])), (&index, interval(sides[1])), &by);
            assert_deltas(&found);
            if by.contains(&By::Process) && !are_told_apart(&found) {
                return Ok(()); // one such life on this side, and the other on that
            }
            prop_assert_eq!(found.len(), groups.len());
            let found: BTreeMap<String, [GroupNumbers; 2]> =
                found.into_iter().map(|group| (keys(&group), [group.numbers.a, group.numbers.b])).collect();
            prop_assert_eq!(&found, &groups);
        }
    }

    #[test]
    fn heaps_of_other_handles_are_the_same_in_their_order(
        ops in strategy::ops(OPS), by in by(), a in place(), b in place(), options in options(),
    ) {
        let by: Vec<By> = by.into_iter().filter(|key| *key != By::Thread).collect();
        let scenario = Scenario::of(&ops);
        let mut builder = builder();
        for sent in &scenario.stream {
            let mut record = sent.record.clone();
            record.event = renamed(&record.event);
            builder.apply(&record, &sent.frames);
        }
        let other = Index::scan(Arc::new(builder.publish(input(&scenario, true))));
        let edges = edges(&scenario, a, b);
        let report = Replay::of(&scenario.steps).report(edges, &by, &ReportFilter::default());
        if !are_told_apart(&report) {
            return Ok(());
        }
        let expected: BTreeMap<String, GroupNumbers> = report.into_iter().map(|group| (keys(&group), group.numbers)).collect();
        let [.., index] = ways(replay(&scenario), &options);
        let found = compare((&index, interval(edges)), (&other, interval(edges)), &by);
        assert_deltas(&found);
        prop_assert_eq!(found.len(), expected.len());
        for group in &found {
            prop_assert_eq!(Some(&group.numbers.a), expected.get(&keys(group)), "{}", keys(group));
            prop_assert_eq!(&group.numbers.a, &group.numbers.b, "{}", keys(group));
        }
    }
}

/// The story of a small trace, its module so much higher and its heap with another handle.
fn moved(by: u64) -> Index {
    let mut builder = Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, 1_000, (0, 0));
    let base = 0x7FF7_0000_0000;
    for (mut record, mut frames) in story() {
        if by > 0 {
            record.event = renamed(&record.event);
        }
        if let Event::Image(_, image) = &mut record.event {
            image.base += by;
        }
        frames.iter_mut().filter(|frame| (base..base + 0x10_0000).contains(*frame)).for_each(|frame| *frame += by);
        builder.apply(&record, &frames);
    }
    let trace: Trace = builder.publish(InputState { times: Some((1_000, 3_000)), complete: true, ..InputState::default() });
    Index::scan(Arc::new(trace))
}

#[test]
fn modules_that_moved_have_the_same_stacks() {
    let (a, b) = (moved(0), moved(0x3000_0000));
    let all = a.trace().span;
    let groups = compare((&a, all), (&b, all), &[By::Process, By::Heap, By::Stack]);
    assert!(groups.len() > 6, "{}", groups.len());
    for group in &groups {
        assert_eq!(group.numbers.a, group.numbers.b, "{}", keys(group));
        assert!(group.stack.as_ref().unwrap().iter().any(|frame| frame.starts_with("Game.exe!+0x")));
        assert_ne!(group.numbers.a.count, 0);
    }
    let heap = |group: &Group<Compared>| group.heap.clone();
    assert!(groups.iter().any(|group| heap(group).as_deref() == Some("0x1d0000")), "handles are those of the first side");
    // Threads of two traces have nothing to do with each other.
    let groups = compare((&a, all), (&b, all), &[By::Thread]);
    assert!(groups.iter().all(|group| (group.numbers.a.count == 0) != (group.numbers.b.count == 0)));
    assert_eq!(groups.len() % 2, 0);
}

#[test]
fn parts_of_a_trace_are_compared_on_the_command_line() {
    let found = crate::common::json(["diff", "demo:@10..20", "demo:@20..30", "--json", "--by", "process", "--layer", "heap"]);
    assert_eq!(found["schema"], "highwater.diff/1");
    let part = |from: &str, to: &str| {
        crate::common::json(["report", "demo:", "--json", "--by", "process", "--layer", "heap", "--from", from, "--to", to])["groups"]
            .clone()
    };
    let (a, b) = (part("10", "20"), part("20", "30"));
    for group in found["groups"].as_array().unwrap() {
        for (side, groups) in [("a", &a), ("b", &b)] {
            let same = groups.as_array().unwrap().iter().find(|other| other["pid"] == group["pid"]);
            let count = same.map_or(json!(0), |group| group["count"].clone());
            assert_eq!(group[side]["count"], count);
        }
    }
    assert!(!found["groups"].as_array().unwrap().is_empty());
    let text = crate::common::highwater(["diff", "demo:@10..20", "demo:@20..30", "--by", "process,heap,stack", "--top", "3"]);
    assert_eq!(text.code, Some(0));
    let is_known = |line: &str| line.contains("the numbers may be off") || line.contains("--symbols FOLDER");
    assert!(text.err.lines().all(is_known), "{}", text.err);
    for (words, code) in [
        (&["demo:"][..], 2),
        (&["demo:", "demo:", "demo:"], 2),
        (&["demo:@2..1", "demo:"], 2),
        (&["demo:", "missing.etl"], 1),
        (&["demo:", "demo:", "--size", "1"], 2),
        (&["demo:", "demo:@100000.."], 2),
    ] {
        let run = crate::common::highwater(["diff"].iter().chain(words));
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(code), "", 1), "{words:?}: {run:?}");
    }
}
