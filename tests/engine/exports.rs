//! Exports of generated captures: whatever the interval and the value, what they sum up to is what the
//! oracle counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::oracle::question::{OPS, edges, interval, options, place, replay, ways};
use crate::oracle::scenario::Scenario;
use crate::oracle::{Replay, strategy};
use highwater::demo;
use highwater::export::{ExportError, Exported, Value, firefox, folded, speedscope};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::query::{By, Cancel, Fold, GroupNumbers, Index, ReportFilter, ReportRequest};
use highwater::symbols::{Names, Options, Sources, Symbols};
use highwater::units::Layer;
use proptest::prelude::*;
use proptest::sample::select;

type Write = fn(&Exported<'_>, Value, &mut dyn std::io::Write) -> Result<(), ExportError>;

fn written(exported: &Exported<'_>, value: Value, write: Write) -> String {
    let mut bytes = Vec::new();
    match write(exported, value, &mut bytes) {
        Err(ExportError::NoValue(_)) => assert!(bytes.is_empty(), "nothing was written"),
        written => written.unwrap(),
    }
    String::from_utf8(bytes).unwrap()
}

fn json(exported: &Exported<'_>, value: Value, write: Write) -> serde_json::Value {
    serde_json::from_str(&written(exported, value, write)).unwrap()
}

/// The sum of a list of numbers.
fn sum(list: &serde_json::Value) -> i128 {
    list.as_array().unwrap().iter().map(|n| n.as_i64().map(i128::from).or(n.as_u64().map(i128::from)).unwrap()).sum()
}

fn weight(numbers: &GroupNumbers, value: Value) -> i128 {
    match value {
        Value::Outstanding => numbers.outstanding_to.into(),
        Value::Impacting => numbers.impacting_size.into(),
        Value::Allocated => numbers.allocated_size.into(),
        Value::Count => numbers.count.into(),
        Value::Peak => numbers.peak.into(),
        Value::Samples => 0,
    }
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn exports_sum_up_to_what_the_oracle_counts(
        ops in strategy::ops(OPS), a in place(), b in place(),
        layer in select(Layer::ALL.to_vec()), value in select(Value::OF_MEMORY.to_vec()), options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let edges = edges(&scenario, a, b);
        let filter = ReportFilter { layer: Some(layer), ..ReportFilter::default() };
        let by = vec![By::Process, By::Stack];
        let expected = Replay::of(&scenario.steps).report(edges, &by, &filter);
        let expected: i128 = expected.iter().map(|group| weight(&group.numbers, value)).sum();
        let request = ReportRequest { interval: interval(edges), by, filter, top: None, fold: Fold::Nothing , sources: false};
        let (names, never) = (Names::default(), Cancel::default());
        for index in &ways(replay(&scenario), &options) {
            let exported = Exported::new(index, &names, &request, &never).unwrap();
            let lines = written(&exported, value, folded);
            let lines: i128 = lines.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<i128>().unwrap()).sum();
            prop_assert_eq!(lines, expected, "folded");
            let profiles = json(&exported, value, speedscope)["profiles"].as_array().unwrap().clone();
            let samples: i128 = profiles.iter().zip([1, -1]).map(|(profile, sign)| sign * sum(&profile["weights"])).sum();
            prop_assert_eq!(samples, expected, "speedscope");
            let threads = json(&exported, value, firefox)["threads"].as_array().unwrap().clone();
            let weights = threads.iter().filter_map(|thread| thread.get("nativeAllocations"));
            prop_assert_eq!(weights.map(|allocations| sum(&allocations["weight"])).sum::<i128>(), expected, "firefox");
        }
    }
}

/// Frames of a stack with file and line, and the bytes of all stacks that have these.
type ByLines = BTreeMap<Vec<(String, Option<String>, Option<u64>)>, i128>;

fn of_speedscope(profile: &serde_json::Value) -> ByLines {
    let mut sums = ByLines::new();
    for part in profile["profiles"].as_array().unwrap() {
        for (stack, weight) in part["samples"].as_array().unwrap().iter().zip(part["weights"].as_array().unwrap()) {
            let frame = |frame: &serde_json::Value| {
                let frame = &profile["shared"]["frames"][frame.as_u64().unwrap() as usize];
                let text = |key: &str| frame[key].as_str().map(str::to_owned);
                (text("name").unwrap(), text("file"), frame["line"].as_u64())
            };
            // The process comes first.
            let stack = stack.as_array().unwrap()[1..].iter().map(frame).collect();
            *sums.entry(stack).or_default() += i128::from(weight.as_u64().unwrap());
        }
    }
    sums
}

fn of_firefox(profile: &serde_json::Value) -> ByLines {
    let mut sums = ByLines::new();
    for thread in profile["threads"].as_array().unwrap() {
        let at = |table: &str, column: &str, row: u64| thread[table][column][row as usize].clone();
        let string =
            |index: serde_json::Value| index.as_u64().map(|i| thread["stringArray"][i as usize].as_str().unwrap().to_owned());
        let Some(allocations) = thread.get("nativeAllocations") else { continue };
        for (stack, weight) in allocations["stack"].as_array().unwrap().iter().zip(allocations["weight"].as_array().unwrap()) {
            let (mut next, mut frames) = (stack.as_u64(), Vec::new());
            while let Some(stack) = next {
                let frame = at("stackTable", "frame", stack).as_u64().unwrap();
                let function = at("frameTable", "func", frame).as_u64().unwrap();
                let [name, file] = ["name", "fileName"].map(|column| string(at("funcTable", column, function)));
                frames.push((name.unwrap(), file, at("frameTable", "line", frame).as_u64()));
                next = at("stackTable", "prefix", stack).as_u64();
            }
            frames.reverse();
            *sums.entry(frames).or_default() += i128::from(weight.as_i64().unwrap());
        }
        let functions = &thread["funcTable"];
        let length = functions["length"].as_u64().unwrap() as usize;
        assert!(
            functions.as_object().unwrap().values().filter_map(|column| column.as_array()).all(|column| column.len() == length)
        );
        let frames = &thread["frameTable"];
        assert!(
            frames
                .as_object()
                .unwrap()
                .values()
                .filter_map(|column| column.as_array())
                .all(|c| c.len() as u64 == frames["length"])
        );
        let mut seen: Vec<_> = (0..length).map(|i| (functions["name"][i].as_u64(), functions["fileName"][i].as_u64())).collect();
        seen.sort_unstable();
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "each function once");
    }
    sums
}

#[test]
fn the_firefox_profiler_gets_the_files_and_lines_that_speedscope_gets() {
    let trace = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
    let sources = Sources { embedded: vec![demo::symbols()], ..Sources::default() };
    let options = Options { sources, saved: None, workers: 1, ..Options::default() };
    let symbols = Symbols::start(Arc::clone(&trace), options, |_| true, || {});
    symbols.wait();
    let (interval, never) = (trace.span, Cancel::default());
    let index = Index::scan(trace);
    let filter = ReportFilter { layer: Some(Layer::Heap), ..ReportFilter::default() };
    let by = vec![By::Process, By::Stack];
    let request = ReportRequest { interval, by, filter, top: None, fold: Fold::Nothing, sources: false };
    let names = symbols.names().1;
    let exported = Exported::new(&index, &names, &request, &never).unwrap();
    let expected = of_speedscope(&json(&exported, Value::Allocated, speedscope));
    assert_eq!(of_firefox(&json(&exported, Value::Allocated, firefox)), expected);
    let lines = |line: u64| {
        expected.keys().flatten().any(|(_, file, at)| file.as_deref() == Some(r"C:\MemoryTestApp\main.cpp") && *at == Some(line))
    };
    assert!(lines(48), "the leak has its line");
}
