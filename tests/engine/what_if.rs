//! Other allocators, against naive ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{ProcessId, Trace};
use highwater::query::{
    ArenaKey, Bounds, By, Cancel, Cancelled, Index, Mask, Model, ModelNumbers, ModelsDone, ReportFilter, RowChoice, RowCondition,
    WhatIfRequest, pool_sentence, what_if,
};
use highwater::symbols::Names;
use highwater::units::{Layer, Ticks};
use proptest::prelude::*;
use proptest::sample::select;

use crate::oracle::question::{options, replay, ways};
use crate::oracle::scenario::{Act, Op, Scenario, StackForm};
use crate::oracle::what_if::Numbers;
use crate::oracle::{Replay, strategy};

/// Sizes around the limits of all models.
const SIZES: [u64; 34] = [
    0, 1, 8, 9, 16, 24, 100, 128, 129, 409, 410, 1000, 1016, 1024, 1025, 2100, 4096, 5000, 8200, 14_336, 14_337, 16_368, 16_369,
    16_376, 16_377, 16_385, 40_000, 65_536, 65_537, 131_072, 131_073, 520_192, 520_193, 700_000,
];

/// Allocations and frees at addresses near each other, so that blocks overlap where frees were lost.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    let layer = || select(vec![Layer::Heap, Layer::Heap, Layer::Tracker]);
    let heap = || select(vec![0x10u64, 0xAB]);
    let address = || prop_oneof![(0..40u64).prop_map(|n| 0x1000 + n * 0x350), (0..8u64).prop_map(|n| n << 20)];
    let size = || prop_oneof![3 => select(&SIZES[..10]), 2 => select(&SIZES[..])];
    let act = prop_oneof![
        6 => (layer(), heap(), address(), size()).prop_map(|(layer, heap, address, size)| Act::Alloc { layer, heap, address, size }),
        4 => (layer(), heap(), address()).prop_map(|(layer, heap, address)| Act::Free { layer, heap, address }),
        1 => (layer(), heap(), address(), address(), size())
            .prop_map(|(layer, heap, old, new, size)| Act::Realloc { layer, heap, old, new, size }),
    ];
    let op = (0..3i64, 1..3u32, 1..4u32, act, 0..5usize).prop_map(|(wait, pid, tid, act, stack)| {
        let stack = StackForm::Plain { stack, late: 0 };
        Op { wait, pid, tid, act, stack }
    });
    prop::collection::vec(op, 0..150)
}

fn filter() -> impl Strategy<Value = ReportFilter> {
    let process = prop_oneof![3 => Just(None), 1 => Just(Some("2".to_owned()))];
    let layer = prop_oneof![2 => Just(None), 1 => select(vec![Layer::Heap, Layer::Tracker]).prop_map(Some)];
    let heap = prop_oneof![4 => Just(None), 1 => Just(Some("0x10".to_owned()))];
    (process, layer, heap).prop_map(|(process, layer, heap)| ReportFilter { process, layer, heap, ..ReportFilter::default() })
}

fn key() -> impl Strategy<Value = Option<By>> {
    prop::option::weighted(0.8, select(WhatIfRequest::KEYS.to_vec()))
}

/// Numbers as the naive ones have them.
fn plain(numbers: ModelNumbers) -> Numbers {
    let model = match numbers.model {
        Model::Recorded => "recorded".to_owned(),
        Model::NtHeap => "nt_heap".to_owned(),
        Model::SegmentHeap => "segment_heap".to_owned(),
        Model::Mimalloc => "mimalloc".to_owned(),
        Model::Jemalloc => "jemalloc".to_owned(),
        Model::Pools => "pools".to_owned(),
        Model::PoolFor(group) => serde_json::to_string(&group).unwrap(),
        Model::Arenas => "arenas".to_owned(),
    };
    let ModelNumbers { at, peak_touched_bytes, waste, pinned, .. } = numbers;
    Numbers { model, at: at.0, peak_touched_bytes, waste, pinned }
}

proptest! {
    #![proptest_config(strategy::fewer(4))]

    #[test]
    fn models_equal_naive_ones(
        ops in ops(),
        (filter, pool_by, arena_by) in (filter(), key(), key()),
        options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let expected = Replay::of(&scenario.steps);
        let layers = [Layer::Heap, Layer::Tracker];
        let expected: Vec<Numbers> =
            layers.into_iter().flat_map(|layer| expected.what_if(layer, &filter, pool_by, arena_by)).collect();
        let request = WhatIfRequest { pool_by, arena_by: arena_by.map(ArenaKey::Key) };
        for index in ways(replay(&scenario), &options) {
            let mask = filter.mask(index.trace());
            let found = ask(&index, &mask, request, &Cancel::default()).unwrap();
            let found: Vec<Numbers> = found.into_iter().map(plain).collect();
            prop_assert_eq!(&found, &expected, "{:?} {:?}", pool_by, arena_by);
        }
    }
}

fn ask(index: &Index, mask: &Mask, request: WhatIfRequest, cancel: &Cancel) -> Result<Vec<ModelNumbers>, Cancelled> {
    what_if((index, mask, &Names::default()), request, &ModelsDone::default(), cancel)
}

fn demo() -> Trace {
    load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap()
}

/// The peak of arenas by frame of the demo, one event after the other: pages, and the tick after which so many are touched.
fn arenas_by_frame(trace: &Trace, layer: Layer) -> (u64, i64) {
    let times_of = |process: ProcessId| {
        let lanes = trace.activity.presents.iter().filter(|lane| lane.process == process);
        let lane = lanes.filter(|lane| lane.times.len() > 1).max_by_key(|lane| lane.times.len());
        lane.map(|lane| lane.times.iter().copied().collect::<Vec<Ticks>>()).unwrap_or_default()
    };
    let mut events = Vec::new();
    for chunk in trace.rows.chunks() {
        for (id, row) in chunk.rows().filter(|(_, row)| row.birth < row.death) {
            let site = trace.site(row.site);
            if trace.layer_of(site) != layer {
                continue;
            }
            let process = trace.process_of(site);
            let frame = times_of(process).iter().filter(|time| **time <= row.birth).count();
            events.push((row.birth.0, 1, id.0, (process, frame), row.size));
            if row.death != Ticks::NEVER {
                events.push((row.death.0, 0, id.0, (process, frame), row.size));
            }
        }
    }
    events.sort_unstable();
    let mut arenas: BTreeMap<(ProcessId, usize), (u64, u64)> = BTreeMap::new();
    let mut best = (0, 0);
    for (i, &(tick, comes, _, key, size)) in events.iter().enumerate() {
        let (end, blocks) = arenas.entry(key).or_default();
        if comes == 1 {
            (*end, *blocks) = (end.div_ceil(16) * 16 + size.max(1), *blocks + 1);
        } else {
            *blocks -= 1;
            if *blocks == 0 {
                arenas.remove(&key);
            }
        }
        let pages: u64 = arenas.values().map(|(end, _)| end.div_ceil(4096)).sum();
        let is_last = events.get(i + 1).is_none_or(|(next, ..)| *next > tick);
        if is_last && pages > best.0 {
            best = (pages, tick);
        }
    }
    best
}

#[test]
fn an_arena_of_a_frame_goes_with_its_last_block() {
    let trace = Arc::new(demo());
    let index = Index::scan(Arc::clone(&trace));
    let request = WhatIfRequest { arena_by: Some(ArenaKey::Frame), ..WhatIfRequest::default() };
    let found = ask(&index, &Mask::all(&trace), request, &Cancel::default()).unwrap();
    for layer in [Layer::Heap, Layer::Tracker] {
        let arenas = found.iter().find(|numbers| matches!(numbers.model, Model::Arenas) && numbers.layer == layer).unwrap();
        assert_eq!((arenas.peak_touched_bytes / 4096, arenas.at.0 - 1), arenas_by_frame(&trace, layer), "{layer:?}");
    }
}

#[test]
fn a_cancelled_question_has_no_answer() {
    let index = Index::scan(Arc::new(demo()));
    let cancel = Cancel::default();
    cancel.cancel();
    let request = WhatIfRequest { pool_by: Some(By::Responsible), ..WhatIfRequest::default() };
    assert!(ask(&index, &Mask::all(index.trace()), request, &cancel).is_err());
}

#[test]
fn rows_that_filters_leave_out_are_not_requested_and_models_are_counted_as_they_are_done() {
    let trace = Arc::new(demo());
    let index = Index::scan(Arc::clone(&trace));
    let large = RowChoice { all: vec![RowCondition::Size(Bounds { from: Some(1 << 12), to: None })] };
    let chosen = index.choosing(large.rows(&trace, &Cancel::default()).unwrap());
    let (progress, request) = (ModelsDone::default(), WhatIfRequest { pool_by: Some(By::Responsible), arena_by: None });
    let (mask, names) = (Mask::all(&trace), Names::default());
    let found = what_if((&chosen, &mask, &names), request, &progress, &Cancel::default()).unwrap();
    let (done, known) = progress.now();
    assert!(done == known && done as usize >= found.len() - 2, "{done} of {known}; as recorded is not among them");
    // One after the other, as recorded: the pages of blocks of this size.
    for layer in [Layer::Heap, Layer::Tracker] {
        let Some(recorded) = found.iter().find(|of| matches!(of.model, Model::Recorded) && of.layer == layer) else { continue };
        let is_alive = |birth: Ticks, death: Ticks| birth < recorded.at && death >= recorded.at && birth < death;
        let mut pages = std::collections::BTreeSet::new();
        let mut live = 0;
        for chunk in trace.rows.chunks() {
            for (_, row) in chunk.rows().filter(|(_, row)| row.size >= 1 << 12 && is_alive(row.birth, row.death)) {
                let site = trace.site(row.site);
                if trace.layer_of(site) == layer {
                    live += row.size;
                    pages.extend(
                        (row.address / 4096..=(row.address + row.size - 1) / 4096).map(|page| (trace.process_of(site), page)),
                    );
                }
            }
        }
        assert_eq!(recorded.peak_touched_bytes, 4096 * pages.len() as u64, "{layer:?}");
        assert_eq!(recorded.waste, recorded.peak_touched_bytes - live, "{layer:?}");
    }
}

#[test]
fn the_sentence_names_the_best_pool_and_both_peaks() {
    let trace = Arc::new(demo());
    let index = Index::scan(Arc::clone(&trace));
    let request = WhatIfRequest { pool_by: Some(By::Responsible), arena_by: None };
    let found = ask(&index, &Mask::all(&trace), request, &Cancel::default()).unwrap();
    let sentences: Vec<_> = found.chunk_by(|a, b| a.layer == b.layer).filter_map(|of| pool_sentence(of, request)).collect();
    assert!(sentences.iter().all(|text| text.starts_with("A pool for ") && text.contains(" would take the peak from ")));
    assert!(!sentences.is_empty());
    assert_eq!(pool_sentence(&found, WhatIfRequest::default()), None);
}
