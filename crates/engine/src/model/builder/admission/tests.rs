//! Tests of traces with more rows or deaths than can be numbered, with a low limit.

use super::*;
use crate::events::{PageRange, mem};
use crate::model::{Clock, InputState, Row, RowId, Trace};
use crate::units::{Layer, Pid, Tid};

const NUMBERS: u64 = 3_000;
const PAGE: u64 = 0x1000;
const CLOCK: Clock = Clock { frequency: 10_000_000, start_time: 0 };

type Events = Vec<(Pid, Event)>;

fn pages(base: u64, pages: u64, flags: u32) -> PageRange {
    PageRange { base: base * PAGE, size: pages * PAGE, owner: Pid(7), flags }
}

fn heap(of: impl Fn(u64, u64) -> Vec<Event>) -> Events {
    (0..NUMBERS).flat_map(|n| of(0x50, 0x1000 + 0x10 * (n % 50))).map(|event| (Pid(7), event)).collect()
}

fn replayed(events: &[(Pid, Event)], numbers: u64) -> Trace {
    let mut builder = Builder::new(CLOCK, 0, (0, 0));
    builder.limit.numbers = numbers;
    for (time, (pid, event)) in events.iter().enumerate() {
        builder.apply(&Record { time: time as i64, pid: *pid, tid: Tid(1), event: event.clone() }, &[]);
        assert!(
            builder.allocations.matcher.numbered().max(builder.allocations.rows.len() as u64) <= numbers,
            "no number is given twice"
        );
    }
    builder.publish(InputState { complete: true, times: Some((0, events.len() as i64)), ..InputState::default() })
}

/// Bytes alive at a moment.
fn outstanding(trace: &Trace, at: Ticks) -> u64 {
    let rows = trace.rows.chunks().flat_map(|chunk| chunk.rows()).map(|(_, row)| row);
    rows.filter(|row: &Row| row.birth < at && row.death >= at).map(|row| row.size).sum()
}

/// Checks that the trace ends before its numbers do, and is right up to there.
fn ends_in_time(events: &Events) {
    let whole = replayed(events, u32::MAX.into());
    assert_eq!(whole.cut, None);
    let part = replayed(events, NUMBERS);
    let cut = part.cut.unwrap();
    assert_eq!(cut.reason, CutReason::Numbers);
    assert!(cut.at.0 > events.len() as i64 / 20, "not at once");
    assert_eq!(part.span.to, cut.at);
    for at in (0..=cut.at.0).map(Ticks) {
        assert_eq!(outstanding(&part, at), outstanding(&whole, at), "at {at:?} of {cut:?}");
    }
    let died = (0..part.rows.len() as u32).filter(|&id| part.rows.death(RowId(id)) != Ticks::NEVER).count();
    assert_eq!(part.rows.by_death().len(), died, "every death has its place in their order");
}

#[test]
fn frees_without_a_number_are_not_replayed() {
    let layer = Layer::Heap;
    ends_in_time(&heap(|heap, address| {
        vec![Event::Alloc { layer, heap, address, size: 8 }, Event::Free { layer, heap, address }]
    }));
}

#[test]
fn frees_of_unknown_blocks_are_numbered_too() {
    let layer = Layer::Heap;
    let mut events = heap(|heap, address| vec![Event::Free { layer, heap, address }; 2]);
    events.insert(0, (Pid(7), Event::Alloc { layer, heap: 0x50, address: 0x10, size: 8 }));
    ends_in_time(&events);
}

#[test]
fn moves_without_a_number_are_not_replayed() {
    // The summary of a move ends the old block if its free was lost.
    let layer = Layer::Heap;
    let moved = |heap, address: u64| {
        let (old, new) = (address, address + 0x10_0000);
        vec![
            Event::Alloc { layer, heap, address: old, size: 8 },
            Event::Alloc { layer, heap, address: new, size: 16 },
            Event::Realloc { layer, heap, old, new, size: 16 },
        ]
    };
    ends_in_time(&heap(moved));
}

#[test]
fn pages_whose_end_has_no_number_stay() {
    let touch = |n: u64| {
        let base = 8 * (n % 50);
        // In the middle, so that a piece is left on either side.
        vec![
            Event::VirtualAlloc(pages(base, 5, mem::COMMIT)),
            Event::VirtualFree(pages(base + 1, 1, mem::DECOMMIT)),
            Event::VirtualFree(pages(base, 5, mem::DECOMMIT)),
        ]
    };
    ends_in_time(&(0..NUMBERS).flat_map(touch).map(|event| (Pid(7), event)).collect());
}

#[test]
fn a_process_with_more_ranges_than_numbers_are_left_does_not_end_by_halves() {
    let process = || {
        let info = crate::events::ProcessInfo { key: 1, parent: 0, name: String::new(), command_line: String::new() };
        Event::Process(crate::events::ProcessChange::End, Box::new(info))
    };
    for ranges in [600, 900, 1_200, 2_000, 2_900] {
        let mut events: Events = (0..ranges).map(|n| (Pid(7), Event::VirtualAlloc(pages(2 * n, 1, mem::COMMIT)))).collect();
        // One event begins a row in each gap, the next ends them all.
        events.push((Pid(7), Event::VirtualAlloc(pages(0, 3 * NUMBERS, mem::COMMIT))));
        events.push((Pid(7), process()));
        events.extend((0..NUMBERS).map(|n| (Pid(7), Event::VirtualAlloc(pages(2 * n, 1, mem::COMMIT)))));
        ends_in_time(&events);
    }
}
