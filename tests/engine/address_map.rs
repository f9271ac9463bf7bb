//! Maps of address spaces, against a look at every byte.

use std::sync::Arc;
use std::time::Instant;

use highwater::events::{Event, Record};
use highwater::model::{Builder, InputState, ProcessId, RowId, SiteId, Trace};
use highwater::query::{
    AddressMap, AddressSpace, Bounds, By, Cancel, Index, MapRequest, Mask, PagesRequest, Region, ReportFilter, RowChoice,
    RowCondition, address_map, pages,
};
use highwater::symbols::Names;
use highwater::units::{Layer, Pid, Ticks, Tid};
use proptest::prelude::*;
use proptest::sample::select;

use crate::oracle::address_map::Bytes;
use crate::oracle::question::{OPS, builder, edges, options, place, replay, ways};
use crate::oracle::scenario::{Scenario, TRACE_START};
use crate::oracle::strategy;
use crate::pages::spread;

const WHOLE: (u64, u64) = (0, u64::MAX);

/// Groups of sites that collide.
fn group_of(site: SiteId) -> u32 {
    site.0 % 3
}

fn range() -> impl Strategy<Value = (u64, u64)> {
    let part = (0..0x9000u64, 0..0x6000u64).prop_map(|(from, bytes)| (from, from + bytes));
    prop_oneof![1 => Just(WHOLE), 2 => part]
}

/// Checks what a map says against `pages`, where nothing overlaps and nothing is filtered.
fn agrees_with_pages(index: &Index, space: &AddressSpace, (process, at): (ProcessId, Ticks)) -> Result<(), TestCaseError> {
    let trace = index.trace();
    let request = PagesRequest { at, by: vec![By::Heap], filter: ReportFilter::default(), top: None };
    let found = pages(index, &Names::default(), &request, &Cancel::default()).unwrap();
    let start = trace.process(process).start.map(|start| trace.clock.seconds(start));
    let pid = trace.process(process).pid.0;
    let label = trace.process(process).label();
    let same = trace.processes.iter().filter(|other| other.label() == label && other.pid.0 == pid);
    if same.count() > 1 {
        return Ok(()); // the answer about pages may not tell them apart
    }
    let heaps = found.heaps.iter().filter(|heap| (&heap.process, heap.pid, heap.process_start_s) == (&label, pid, start));
    let heaps: Vec<_> = heaps.collect();
    let live: u64 = space.regions().iter().map(|region| region.sums.live).sum();
    prop_assert_eq!(live, heaps.iter().map(|heap| heap.live_bytes).sum::<u64>());
    for heap in heaps {
        let is_of = |region: &&Region| {
            let rows = (0..trace.rows.len() as u32).map(|id| trace.rows.get(RowId(id)));
            let mut alive = rows.filter(|row| row.birth < at && row.death >= at);
            alive.any(|row| {
                let of = trace.heap(trace.site(row.site).heap);
                let is_in = (region.first..=region.last).contains(&row.address);
                is_in && of.process == process && of.layer.name() == heap.layer && of.key() == heap.heap
            })
        };
        let committed =
            space.regions().iter().filter(|region| region.is_reserved).filter(is_of).map(|region| region.sums.committed);
        prop_assert_eq!(heap.committed_bytes, committed.reduce(|a, b| a + b), "{:?}", heap.heap);
    }
    Ok(())
}

fn check(
    index: &Index,
    mask: &Mask,
    (process, at): (ProcessId, Ticks),
    range: (u64, u64),
    cell: u64,
) -> Result<(), TestCaseError> {
    let trace = index.trace();
    let is_shown = |row, site| mask.classes(site) != 0 && index.chosen().is_none_or(|rows| rows.has(row));
    let naive = Bytes::at(trace, (process, at), &is_shown);
    let never = Cancel::default();
    let space = AddressSpace::at(index, mask, (process, at), &never).unwrap();
    prop_assert_eq!(space.regions(), naive.regions());
    let committed: u64 = space.regions().iter().map(|region| region.sums.committed).sum();
    prop_assert_eq!(committed, naive.committed());
    let all = MapRequest { range, most: usize::MAX, cell: Some(cell), group_of: &group_of };
    let map = address_map(&space, &all, &never).unwrap();
    let cells = naive.cells(range, cell, &group_of);
    prop_assert_eq!(&map.cells, &cells, "cells of {} in {:x?}", cell, range);
    let blocks = if cell <= 256 { naive.blocks(range, &group_of) } else { Vec::new() };
    prop_assert_eq!(&map.blocks, &blocks, "blocks in {:x?}", range);
    let is_all = mask == &Mask::all(trace) && index.chosen().is_none();
    // Few cells: larger ones, or the first ones.
    for most in [1, 3, 40] {
        let few = address_map(&space, &MapRequest { most, cell: None, ..all }, &never).unwrap();
        prop_assert!(few.cells.len() <= most && few.blocks.len() <= most);
        let all = naive.cells(range, few.cell, &group_of);
        prop_assert_eq!(&few.cells, &all[..few.cells.len()]);
        // Empty blocks that are filtered out are nothing, but may have been expected to be something.
        prop_assert!(few.cut_at.is_some() || few.cells.len() == all.len());
        // Where a region ends inside a page, a cell may have been expected on both sides.
        let is_whole = |region: &Region| region.first.is_multiple_of(4096) && region.last % 4096 == 4095;
        let is_exact = is_all && space.regions().iter().all(is_whole);
        prop_assert!(!is_exact || few.cut_at.is_none() || few.cells.len() < all.len());
        if few.cell > 4096 && is_all {
            let smaller = naive.cells(range, few.cell / 4, &group_of).len() + 2 * space.regions().len();
            prop_assert!(smaller > most, "smaller cells would do");
        }
    }
    if is_all && !naive.overlaps {
        agrees_with_pages(index, &space, (process, at))?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(strategy::fewer(1))]

    #[test]
    fn maps_equal_the_oracles(
        ops in strategy::ops(OPS),
        questions in prop::collection::vec((place(), range(), select(vec![16u64, 64, 256, 1024, 4096, 16384]), 0..4u32), 1..4),
        options in options(),
    ) {
        let scenario = Scenario::of(&spread(ops));
        let ways = ways(replay(&scenario), &options);
        for (at, range, cell, filter) in questions {
            let at = Ticks(edges(&scenario, at, at).0);
            for index in &ways {
                let trace: &Trace = index.trace();
                let mask = match filter {
                    1 => Mask::of_sites(trace, |site, _| site.0 % 2 == 0),
                    2 => Mask::of_sites(trace, |_, site| trace.layer_of(site) == Layer::Heap),
                    _ => Mask::all(trace),
                };
                let small = RowChoice { all: vec![RowCondition::Size(Bounds::new(0, 100))] };
                let rows = if filter == 3 { small.rows(trace, &Cancel::default()).unwrap() } else { None };
                let index = index.choosing(rows);
                for process in 0..trace.processes.len() as u32 {
                    check(&index, &mask, (ProcessId(process), at), range, cell)?;
                }
            }
        }
    }
}

/// The map of the whole address space of the only process, and the sums of its regions.
fn whole(mut builder: Builder, cell: Option<u64>, most: usize) -> (AddressMap, Vec<(u64, u64, u64)>) {
    let trace = Arc::new(builder.publish(InputState { complete: true, ..Default::default() }));
    let index = Index::scan(Arc::clone(&trace));
    let never = Cancel::default();
    let mask = Mask::all(&trace);
    let space = AddressSpace::at(&index, &mask, (ProcessId(0), Ticks::NEVER), &never).unwrap();
    let request = MapRequest { range: WHOLE, most, cell, group_of: &|_| 0 };
    let regions = space.regions().iter().map(|region| (region.first, region.last, region.sums.live)).collect();
    (address_map(&space, &request, &never).unwrap(), regions)
}

/// A capture of blocks of one heap, by address and size.
fn of_blocks(blocks: impl IntoIterator<Item = (u64, u64)>) -> Builder {
    let mut builder = builder();
    for (i, (address, size)) in (0..).zip(blocks) {
        let event = Event::Alloc { layer: Layer::Heap, heap: 0x10, address, size };
        builder.apply(&Record { time: TRACE_START + i, pid: Pid(1), tid: Tid(1), event }, &[]);
    }
    builder
}

#[test]
fn blocks_outside_of_reservations_are_regions_where_they_lie_together() {
    let (_, regions) = whole(of_blocks([(0x10000, 16), (0x1f000, 16), (0x2f00f, 1), (0x3f010, 1)]), None, 100);
    // The last one has 64 KiB before it.
    assert_eq!(regions, [(0x10000, 0x2f00f, 33), (0x3f010, 0x3f010, 1)]);
}

#[test]
fn addresses_end_where_64_bits_do_and_huge_blocks_cost_no_more_than_small_ones() {
    let top = u64::MAX - 7;
    let all = [(top, 64), (0, u64::MAX), (0x1000, u64::MAX), (u64::MAX, 0), (u64::MAX, 1), (1 << 40, 1 << 41)];
    let (map, regions) = whole(of_blocks(all), None, 1000);
    assert_eq!(regions, [(0, u64::MAX, u64::MAX)]);
    assert_eq!((map.cell, map.cells.len()), (1 << 30, 1000));
    assert_eq!(map.cut_at, Some(1000 << 30));
}

#[test]
fn very_many_blocks_that_overlap_are_mapped_in_one_pass() {
    let overlapping = (0..200_000u64).map(|i| (0x1_0000_0000 + 16 * i, 1 << 30));
    let begin = Instant::now();
    let (map, regions) = whole(of_blocks(overlapping), Some(4096), usize::MAX);
    assert_eq!(regions.len(), 1);
    assert_eq!(map.cells.iter().map(|cell| cell.sums.live).sum::<u64>(), (1 << 30) + 16 * 199_999);
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}
