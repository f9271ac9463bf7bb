//! Pages of heaps, against a look at every page.

use highwater::events::Event;
use highwater::query::{By, Cancel, Group, HeapPages, PagesRequest, PinnedPages, ReportFilter, pages};
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
        let is_rundown = |event: &Event| matches!(event, Event::CommitRundown(_));
        // A rundown tells of the time before it, which a replay up to an earlier moment does not know.
        let told = scenario.steps.iter().filter(|step| is_rundown(&step.event)).map(|step| step.time + 1).max();
        for (by, filter, at) in questions {
            let at = edges(&scenario, at, at).0.max(told.unwrap_or(i64::MIN));
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
}
