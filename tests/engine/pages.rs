//! Pages of heaps, against a look at every page.

use highwater::events::Event;
use highwater::model::{Heap, ProcessId};
use highwater::query::{By, Cancel, Group, HeapPages, PagesRequest, PinnedPages, ReportFilter, committed_over_time, pages};
use highwater::symbols::Names;
use highwater::units::{Layer, Ticks};
use proptest::prelude::*;
use proptest::sample::select;

use crate::oracle::question::{OPS, edges, options, place, replay, ways};
use crate::oracle::scenario::{Act, Meanwhile, Op, Scenario};
use crate::oracle::{Replay, strategy};

/// Addresses and sizes of small captures, spread over some pages: blocks end at, begin at and cover bounds of pages.
pub fn spread(mut ops: Vec<Op>) -> Vec<Op> {
    let spread_address = |address: u64| match address {
        0x100 => 0xfb0,
        0x200 => 0x2000,
        0x300 => 0x4e70,
        other => other,
    };
    let spread_size = |size: u64| match size {
        100 => 409,
        0xffff_ffff => 0x2190,
        0x2_0000_0000 => 0x3e70,
        other => other,
    };
    for op in &mut ops {
        let (addresses, sizes): (Vec<&mut u64>, Vec<&mut u64>) = match &mut op.act {
            Act::Alloc { address, size, .. } => (vec![address], vec![size]),
            Act::Free { address, .. } => (vec![address], vec![]),
            Act::Realloc { old, new, size, .. } => (vec![old, new], vec![size]),
            Act::Homeless { address, size, .. } => (vec![address], size.iter_mut().collect()),
            Act::Move { old, new, size, summary_size, meanwhile, .. } => {
                let mut all = (vec![old, new], vec![size, summary_size]);
                for Meanwhile { address, size, .. } in meanwhile {
                    all.0.push(address);
                    all.1.extend(size);
                }
                all
            }
            _ => continue,
        };
        addresses.into_iter().for_each(|address| *address = spread_address(*address));
        sizes.into_iter().for_each(|size| *size = spread_size(*size));
    }
    ops
}

/// Lines that can be compared and read.
fn lines<T: serde::Serialize>(list: &[T]) -> Vec<String> {
    list.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect()
}

fn filter() -> impl Strategy<Value = ReportFilter> {
    let process = prop_oneof![3 => Just(None), 1 => Just(Some("app1.exe".to_owned())), 1 => Just(Some("2".to_owned()))];
    let layer = prop_oneof![3 => Just(None), 1 => select(Layer::ALL.to_vec()).prop_map(Some)];
    let heap = prop_oneof![3 => Just(None), 1 => Just(Some("0x10".to_owned())), 1 => Just(Some("Physics".to_owned()))];
    (process, layer, heap).prop_map(|(process, layer, heap)| ReportFilter { process, layer, heap, ..ReportFilter::default() })
}

/// What tells heaps of a trace apart for `pages`.
type HeapKey = (ProcessId, Layer, Option<String>);

/// The time after the last rundown of pages. A rundown tells of the time before it: before this moment ranges can be
/// reserved twice, and a replay up to an earlier moment does not know of it.
fn last_rundown(scenario: &Scenario) -> i64 {
    let is_rundown = |event: &Event| matches!(event, Event::CommitRundown(_));
    let told = scenario.steps.iter().filter(|step| is_rundown(&step.event)).map(|step| step.time + 1).max();
    told.unwrap_or(i64::MIN)
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn pages_equal_the_oracles(
        ops in strategy::ops(OPS),
        questions in prop::collection::vec((prop::sample::subsequence(By::ALL.to_vec(), 0..=4), filter(), place()), 1..4),
        options in options(),
    ) {
        let scenario = Scenario::of(&spread(ops));
        let ways = ways(replay(&scenario), &options);
        let expected = Replay::of(&scenario.steps);
        let told = last_rundown(&scenario);
        for (by, filter, at) in questions {
            let at = edges(&scenario, at, at).0.max(told);
            let before: Vec<_> = scenario.steps.iter().filter(|step| step.time < at).cloned().collect();
            let reserved: Vec<_> = Replay::of(&before).reserved().collect();
            let (heaps, pinning): (Vec<HeapPages>, Vec<Group<PinnedPages>>) = expected.pages(at, &reserved, &by, &filter);
            for index in &ways {
                let request = PagesRequest { at: Ticks(at), by: by.clone(), filter: filter.clone(), top: None };
                let found = pages(index, &Names::default(), &request, &Cancel::default()).unwrap();
                prop_assert_eq!(lines(&found.heaps), lines(&heaps), "at {} by {:?}", at, by);
                prop_assert_eq!(lines(&found.pinning), lines(&pinning), "at {} by {:?}", at, by);
                let first = pages(index, &Names::default(), &PagesRequest { top: Some(1), ..request }, &Cancel::default()).unwrap();
                prop_assert_eq!(lines(&first.pinning), lines(&pinning[..pinning.len().min(1)]));
                prop_assert_eq!(first.pinning_count, pinning.len());
            }
        }
    }

    #[test]
    fn lines_of_committed_bytes_equal_the_pages_of_each_moment(
        ops in strategy::ops(OPS),
        places in prop::collection::vec(place(), 1..40),
        options in options(),
    ) {
        let scenario = Scenario::of(&spread(ops));
        let told = last_rundown(&scenario);
        let mut moments: Vec<Ticks> = places.iter().map(|&at| Ticks(edges(&scenario, at, at).0.max(told))).collect();
        moments.sort_unstable();
        for index in &ways(replay(&scenario), &options) {
            let trace = index.trace();
            // Heaps of one process with one name are one, as for `pages`.
            let key = |heap: &Heap| (heap.process, heap.layer, heap.key());
            let mut keys: Vec<_> = trace.heaps.iter().filter(|heap| heap.layer != Layer::Commit).map(key).collect();
            keys.sort();
            keys.dedup();
            let line_of: Vec<Option<u32>> =
                trace.heaps.iter().map(|heap| keys.binary_search(&key(heap)).ok().map(|line| line as u32)).collect();
            let lines = committed_over_time(index, &line_of, keys.len(), &moments, &Cancel::default()).unwrap();
            for (place, &at) in moments.iter().enumerate() {
                let request = PagesRequest { at, by: Vec::new(), filter: ReportFilter::default(), top: None };
                let expected = pages(index, &Names::default(), &request, &Cancel::default()).unwrap();
                // Two lives of one id whose starts were not seen have one label.
                let label = |process: ProcessId| {
                    let process = trace.process(process);
                    (process.pid.0, process.start.map(|start| trace.clock.seconds(start).to_bits()))
                };
                let of_line = |(key, line): (&HeapKey, &Vec<Option<u64>>)| {
                    let (process, layer, name) = key;
                    Some((label(*process), layer.name(), name.clone(), line[place]?))
                };
                let of_heap = |heap: &HeapPages| {
                    let label = (heap.pid, heap.process_start_s.map(f64::to_bits));
                    Some((label, heap.layer, heap.heap.clone(), heap.committed_bytes?))
                };
                let mut found: Vec<_> = keys.iter().zip(&lines).filter_map(of_line).collect();
                let mut expected: Vec<_> = expected.heaps.iter().filter_map(of_heap).collect();
                found.sort();
                expected.sort();
                prop_assert_eq!(found, expected, "at {:?}", at);
            }
        }
    }
}
