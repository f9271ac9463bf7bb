//! Exports of generated captures: whatever the interval and the value, what they sum up to is what the
//! oracle counts.

use crate::oracle::question::{OPS, edges, interval, options, place, replay, ways};
use crate::oracle::scenario::Scenario;
use crate::oracle::{Replay, strategy};
use highwater::export::{ExportError, Exported, Value, firefox, folded, speedscope};
use highwater::query::{By, Cancel, Fold, GroupNumbers, ReportFilter, ReportRequest};
use highwater::symbols::Names;
use highwater::units::Layer;
use proptest::prelude::*;
use proptest::sample::select;

type Write = fn(&Exported<'_>, Value, &mut dyn std::io::Write) -> Result<(), ExportError>;

fn written(exported: &Exported<'_>, value: Value, write: Write) -> String {
    let mut bytes = Vec::new();
    write(exported, value, &mut bytes).unwrap();
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
