//! What real machines do to a trace, with exact numbers: buffers out of order, equal
//! times on several processors, addresses and ids that are used again at once,
//! 32-bit programs, losses. Everything goes through bytes: the real writer, a file,
//! the front door, and the report.

use std::sync::Arc;

use crate::common::session::{HEAP, PID, Session, buffers, load_bytes, on_disk, reordered};
use highwater::etl::write::Loss;
use highwater::etl::{EventId, Events, HeaderKind};
use highwater::events::{Event, PageRange, ProcessChange, hook, mem};
use highwater::load::Input;
use highwater::model::{Quality, Trace};
use highwater::problem::ProblemKind;
use highwater::query::{By, Cancel, Fold, Group, Index, ReportFilter, ReportRequest, report};
use highwater::units::{Interval, Layer, Pid, PointerSize, Ticks};

fn groups_in(trace: &Trace, interval: Interval) -> Vec<Group> {
    let request = ReportRequest {
        interval,
        by: vec![By::Process, By::Heap],
        filter: ReportFilter::default(),
        top: None,
        fold: Fold::Nothing,
        sources: false,
    };
    let index = Index::scan(Arc::new(trace.clone()));
    report(&index, &request, &Cancel::default()).unwrap().groups
}

fn groups(trace: &Trace) -> Vec<Group> {
    groups_in(trace, trace.span)
}

fn only(trace: &Trace) -> Group {
    let mut all = groups(trace);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

/// Allocated, freed, outstanding at the end: counts, counts, bytes; and the peak.
fn numbers(group: &Group) -> [u64; 4] {
    [group.numbers.allocated_count, group.numbers.freed_count, group.numbers.outstanding_to, group.numbers.peak]
}

fn quality(unmatched_frees: u64, superseded_allocations: u64) -> Quality {
    Quality { unmatched_frees, superseded_allocations, ..Quality::default() }
}

/// Blocks that live and die on four processors in turn, each freed by the next one:
/// every buffer depends on those of the others.
fn relay(compressed: bool) -> Session {
    let mut session = Session::new(4, compressed);
    session.create(0, 1);
    for i in 0..400i64 {
        let processor = (i % 4) as u16;
        session.alloc(processor, 10 + 10 * i, 0x10_0000 + 0x40 * (i as u64 % 50), 10 + i as u64 % 7);
        if i % 5 != 4 {
            session.free((processor + 1) % 4, 15 + 10 * i, 0x10_0000 + 0x40 * (i as u64 % 50));
        }
    }
    session
}

/// Of the relay's blocks each fifth stays; those come at 10 addresses again and
/// again and are superseded there.
fn check_relay(trace: &Trace) {
    let alive = (390..400).filter(|i| i % 5 == 4).chain((350..390).filter(|i| i % 5 == 4));
    let left: u64 = alive.map(|i| 10 + i % 7).sum();
    let superseded = 80 - 10;
    assert_eq!(trace.quality, quality(0, superseded));
    let group = only(trace);
    assert_eq!(
        [group.numbers.allocated_count, group.numbers.freed_count, group.numbers.outstanding_to],
        [400, 320 + superseded, left]
    );
    let end = group.numbers.outstanding_to;
    assert!(
        group.numbers.peak >= end && group.numbers.peak <= end + 10 * 6 + 16,
        "never more than eleven blocks: {}",
        group.numbers.peak
    );
    // Half-way: what stands there was born in the first half.
    let half = groups_in(trace, Interval { from: trace.span.from, to: Ticks(10 + 10 * 200) });
    assert_eq!(half[0].numbers.allocated_count, 200);
}

#[test]
fn the_order_of_buffers_in_the_file_does_not_matter() {
    for compressed in [false, true] {
        let bytes = relay(compressed).bytes();
        assert!(buffers(&bytes).len() > 30, "many buffers");
        check_relay(&load_bytes(&bytes));
        check_relay(&load_bytes(&reordered(&bytes, |rest| rest.reverse())));
        // One processor after the other, and a shuffle.
        check_relay(&load_bytes(&reordered(&bytes, |rest| {
            rest.sort_by_key(|buffer| (bytes[buffer.start + 0x28], buffer.start));
        })));
        check_relay(&load_bytes(&reordered(&bytes, |rest| {
            rest.sort_by_key(|buffer| buffer.start.wrapping_mul(2_654_435_761) % 9973);
        })));
    }
}

#[test]
fn at_one_tick_a_free_comes_before_the_next_allocation_of_its_address() {
    // The allocation's processor comes first in the file and in number; only the rule helps.
    for (freeing, allocating) in [(1, 0), (0, 1), (3, 2), (0, 3)] {
        let mut session = Session::new(4, false);
        session.create(0, 1);
        session.alloc(freeing, 10, 0x1000, 100);
        for i in 0..200i64 {
            session.alloc(allocating, 100 + i, 0x1000, 200 + i as u64);
            session.free(freeing, 100 + i, 0x1000);
        }
        let trace = session.load();
        assert_eq!(trace.quality, quality(0, 0), "free on {freeing}, allocation on {allocating}");
        // At each tick one goes and one comes: they count together.
        assert_eq!(numbers(&only(&trace)), [201, 200, 399, 399]);
    }
}

#[test]
fn many_frees_and_allocations_at_one_tick_are_paired() {
    let mut session = Session::new(3, true);
    session.create(0, 1);
    for n in 0..300u64 {
        session.alloc(0, 50, 0x1000 + 16 * n, 8);
    }
    for n in 0..300u64 {
        session.alloc(1, 60, 0x1000 + 16 * n, 16);
        session.free(2, 60, 0x1000 + 16 * n);
    }
    let trace = session.load();
    assert_eq!(trace.quality, quality(0, 0));
    assert_eq!(numbers(&only(&trace)), [600, 300, 300 * 16, 300 * 16]);
    let at_tick = &groups_in(&trace, Interval { from: Ticks(60), to: Ticks(61) })[0];
    assert_eq!(
        [at_tick.numbers.outstanding_from, at_tick.numbers.outstanding_to, at_tick.numbers.peak],
        [300 * 8, 300 * 16, 300 * 16]
    );
}

#[test]
fn an_address_is_reused_a_tick_after_its_free_by_another_processor() {
    let mut session = Session::new(2, false);
    session.create(0, 1);
    session.alloc(0, 10, 0x1000, 1);
    for i in 1..=500i64 {
        let (old, new) = ((i % 2) as u16, ((i + 1) % 2) as u16);
        session.free(old, 10 + 2 * i, 0x1000);
        session.alloc(new, 11 + 2 * i, 0x1000, 1 + i as u64);
    }
    let trace = session.load();
    assert_eq!(trace.quality, quality(0, 0));
    assert_eq!(numbers(&only(&trace)), [501, 500, 501, 501]);
}

#[test]
fn times_that_swap_free_and_next_allocation_are_counted_and_cost_one_block() {
    // Clocks of two processors apart by a tick: the allocation seems to come first.
    let mut session = Session::new(2, false);
    session.create(0, 1);
    session.alloc(0, 10, 0x1000, 100);
    session.alloc(1, 20, 0x1000, 200);
    session.free(0, 21, 0x1000);
    session.alloc(1, 30, 0x2000, 7);
    let trace = session.load();
    // The older block ends at the newer one's birth, and the free takes the newer one.
    assert_eq!(trace.quality, quality(0, 1));
    assert_eq!(numbers(&only(&trace)), [3, 2, 7, 200]);
}

#[test]
fn two_lives_of_a_process_id_are_two_groups() {
    for with_end in [true, false] {
        let mut session = Session::new(2, false);
        session.process(10, ProcessChange::Start, 0xA000, "first.exe");
        session.create(0, 20);
        session.alloc(0, 30, 0x1000, 100);
        session.alloc(0, 31, 0x2000, 50);
        session.commit(0, 40, 0x10_0000, 0x4000);
        if with_end {
            session.process(50, ProcessChange::End, 0xA000, "first.exe");
        }
        session.process(60, ProcessChange::Start, 0xB000, "second.exe");
        session.create(1, 70);
        // The same handle and addresses; nothing of the first life is superseded or freed.
        session.alloc(1, 80, 0x1000, 7);
        session.free(1, 81, 0x1000);
        session.free(1, 82, 0x2000);
        session.commit(1, 90, 0x10_0000, 0x1000);
        let trace = session.load();
        assert_eq!(trace.quality, quality(1, 0), "the second life has no block at 0x2000");
        let all: Vec<_> = groups(&trace)
            .into_iter()
            .map(|g| (g.process.clone().unwrap(), g.process_start_s.map(|s| (s * 1e7).round() as i64), g.layer, numbers(&g)))
            .collect();
        let first = || ("first.exe".to_owned(), Some(10));
        let second = || ("second.exe".to_owned(), Some(60));
        let with = |(name, start): (String, Option<i64>), layer, numbers| (name, start, layer, numbers);
        // The end of a process, seen or not, takes its commit; its blocks stay as leaks.
        let expected = [
            with(second(), "commit", [1, 0, 0x1000, 0x1000]),
            with(first(), "heap", [2, 0, 150, 150]),
            with(first(), "commit", [1, 1, 0, 0x4000]),
            with(second(), "heap", [1, 1, 0, 7]),
        ];
        assert_eq!(all, expected, "with an end event: {with_end}");
    }
}

#[test]
fn a_heap_handle_that_comes_back_begins_empty() {
    let mut session = Session::new(2, false);
    for i in 0..40i64 {
        let at = 100 * i;
        session.create(0, at + 1);
        for n in 0..5 {
            session.alloc(1, at + 10 + n, 0x1000 + 0x10 * n as u64, 8);
        }
        session.free(0, at + 20, 0x1000);
        session.destroy(1, at + 30);
        session.free(0, at + 40, 0x1010); // too late
    }
    let trace = session.load();
    assert_eq!(trace.quality, quality(40, 0));
    assert_eq!(numbers(&only(&trace)), [200, 200, 0, 40]);
}

#[test]
fn heaps_need_no_create_event() {
    let mut session = Session::new(1, false);
    session.alloc(0, 10, 0x1000, 24);
    session.heap = 0x77_0000;
    session.alloc(0, 20, 0x1000, 8);
    session.free(0, 30, 0x1000);
    let trace = session.load();
    assert_eq!(trace.quality, quality(0, 0));
    let all: Vec<_> = groups(&trace).into_iter().map(|g| (g.process.clone(), g.heap.clone(), numbers(&g))).collect();
    let unknown = Some(format!("Unknown ({PID})"));
    let expected =
        [(unknown.clone(), Some("0x1d0000".to_owned()), [1, 0, 24, 24]), (unknown, Some("0x770000".to_owned()), [1, 1, 0, 8])];
    assert_eq!(all, expected);
}

#[test]
fn a_32_bit_program_in_a_64_bit_trace_counts_with_its_own_pointers() {
    for header in [None, Some(HeaderKind::Full), Some(HeaderKind::Event), Some(HeaderKind::Compact)] {
        let mut session = Session::new(2, false);
        let mut expected = 0;
        for (i, pointer) in (0..60i64).zip([PointerSize::Four, PointerSize::Eight].into_iter().cycle()) {
            session.writer.style.pointer = pointer;
            session.writer.style.header = header;
            session.pid = if pointer == PointerSize::Four { 32 } else { 64 };
            session.heap = if pointer == PointerSize::Four { 0xFFF0_0000 } else { 0x1_FFF0_0000 };
            let address = if pointer == PointerSize::Four { 0xFFFF_0000 } else { 0x7FFF_FFFF_0000 } + 16 * i as u64;
            session.alloc((i / 2 % 2) as u16, 10 + 10 * i, address, 0x9000_0000);
            if i % 4 < 2 {
                session.free((i / 2 % 2) as u16, 11 + 10 * i, address);
            } else {
                expected += 1;
            }
        }
        let trace = session.load();
        assert_eq!(trace.quality, quality(0, 0), "{header:?}");
        for (pid, heap) in [(32, "0xfff00000"), (64, "0x1fff00000")] {
            let group = groups(&trace).into_iter().find(|g| g.pid == Some(pid)).unwrap();
            assert_eq!(group.heap.as_deref(), Some(heap));
            let left = expected / 2 * 0x9000_0000;
            assert_eq!(
                [group.numbers.allocated_count, group.numbers.freed_count, group.numbers.outstanding_to],
                [30, 15, left],
                "{header:?}"
            );
        }
    }
}

#[test]
fn frees_without_a_block_count_and_change_nothing() {
    let mut session = Session::new(2, true);
    session.create(0, 1);
    session.alloc(0, 10, 0x1000, 64);
    for i in 0..100i64 {
        session.free((i % 2) as u16, 20 + i, 0x9000 + 16 * i as u64);
    }
    session.free(0, 200, 0x1000);
    session.free(1, 201, 0x1000); // twice
    session.release(0, 210, 0x40_0000);
    session.put(0, 220, Event::Realloc { layer: Layer::Heap, heap: HEAP, old: 0x5000, new: 0x6000, size: 9 });
    let trace = session.load();
    assert_eq!(trace.quality, quality(103, 0));
    assert_eq!(numbers(&only(&trace)), [2, 1, 9, 64]);
}

#[test]
fn allocations_over_live_blocks_end_them_and_count() {
    let mut session = Session::new(2, false);
    session.create(0, 1);
    for i in 0..100i64 {
        session.alloc((i % 2) as u16, 10 + i, 0x1000, 1 + i as u64);
    }
    session.commit(0, 200, 0x10_0000, 0x3000);
    let again = PageRange { base: 0x10_0000, size: 0x4000, owner: Pid(PID), flags: mem::COMMIT };
    session.put(1, 201, Event::VirtualAlloc(again)); // one page is new
    let trace = session.load();
    assert_eq!(trace.quality, quality(0, 99), "committing again is no superseded allocation");
    let all: Vec<_> = groups(&trace).into_iter().map(|g| (g.layer, numbers(&g))).collect();
    assert_eq!(all, [("commit", [2, 0, 0x4000, 0x4000]), ("heap", [100, 99, 100, 100])]);
    let mut session = Session::new(2, false);
    session.commit(0, 200, 0x10_0000, 0x3000);
    session.commit(1, 201, 0x10_0000, 0x4000); // what can be reserved was released before
    let trace = session.load();
    assert_eq!(trace.quality, quality(0, 1));
    assert_eq!(numbers(&only(&trace)), [2, 1, 0x4000, 0x4000]);
}

/// Blocks of 8 bytes, first all allocated and then all freed, on one processor.
fn twice(count: i64, compressed: bool) -> Vec<u8> {
    let mut session = Session::new(1, compressed);
    session.create(0, 1);
    (0..count).for_each(|i| session.alloc(0, 10 + i, 0x1000 + 16 * i as u64, 8));
    (0..count).for_each(|i| session.free(0, 1000 + i, 0x1000 + 16 * i as u64));
    session.bytes()
}

/// Allocations and frees in a buffer of a plain trace, by their hooks.
fn heap_events(buffer: &[u8]) -> (u64, u64) {
    let hooks: Vec<u16> = Events::new(buffer)
        .filter_map(|event| match event.id {
            EventId::Hook(hook) => Some(hook),
            _ => None,
        })
        .collect();
    let count = |wanted| hooks.iter().filter(|&&hook| hook == wanted).count() as u64;
    (count(hook::HEAP_ALLOC), count(hook::HEAP_FREE))
}

#[test]
fn a_lost_buffer_costs_exactly_its_events() {
    const COUNT: i64 = 200;
    let whole = twice(COUNT, false);
    let all = buffers(&whole);
    assert!(all.len() > 20);
    for lost in 1..all.len() {
        let (allocs, frees) = heap_events(&whole[all[lost].clone()]);
        let left = reordered(&whole, |rest| {
            rest.remove(lost - 1);
        });
        let trace = load_bytes(&left);
        // Frees of lost allocations have nothing to free; blocks with lost frees stay.
        let missing = Quality { problems: 1, ..quality(allocs, 0) };
        assert_eq!(trace.quality, missing, "buffer {lost}: its header says that there was one more");
        let group = only(&trace);
        let (count, frees_left) = (COUNT as u64 - allocs, COUNT as u64 - frees - allocs);
        assert_eq!(
            [group.numbers.allocated_count, group.numbers.freed_count, group.numbers.outstanding_to],
            [count, frees_left, 8 * frees]
        );
    }
}

#[test]
fn what_the_session_says_it_lost_stands_in_the_quality() {
    let mut session = Session::new(2, false);
    session.create(0, 1);
    session.writer.writer().note_loss(1, Loss::Events(17)).unwrap();
    session.writer.writer().note_loss(0, Loss::Buffers(3)).unwrap();
    session.alloc(1, 10, 0x1000, 1);
    let trace = session.load();
    assert_eq!(trace.quality, Quality { events_lost: 17, buffers_lost: 3, ..Quality::default() });
}

#[test]
fn a_buffer_with_a_wild_time_leaves_the_sums_right() {
    // One event claims to be years ahead; the allocations and frees behind it still match.
    let whole = twice(100, false);
    let second = buffers(&whole)[1].clone();
    let first_event = Events::new(&whole[second.clone()]).nth(3).unwrap();
    let time_at = second.start + first_event.offset + 0x10;
    let mut wild = whole.clone();
    wild[time_at..time_at + 8].copy_from_slice(&(1i64 << 60).to_le_bytes());
    let trace = load_bytes(&wild);
    let group = only(&trace);
    assert_eq!((group.numbers.allocated_count, group.numbers.outstanding_to), (100, 8), "its own free comes before it");
    assert_eq!((trace.quality.unmatched_frees, trace.quality.superseded_allocations), (1, 0));
    assert!(trace.problems.iter().all(|problem| problem.kind == ProblemKind::OutOfOrder), "{:?}", trace.problems);
}

#[test]
fn a_wild_time_does_not_move_the_births_behind_it() {
    let whole = twice(400, false);
    let first = buffers(&whole)[1].clone();
    let event = Events::new(&whole[first.clone()]).nth(3).unwrap();
    let time_at = first.start + event.offset + 0x10;
    let mut wild = whole.clone();
    wild[time_at..time_at + 8].copy_from_slice(&(1i64 << 60).to_le_bytes());
    let trace = load_bytes(&wild);
    let before = &groups_in(&trace, Interval { from: Ticks(0), to: Ticks(500) })[0];
    assert_eq!(before.numbers.allocated_count, 399, "all but the wild one were allocated in the first 410 ticks");
}

/// The window says it in its status bar.
#[cfg(feature = "gui")]
mod window {
    use egui_kittest::kittest::Queryable;
    use highwater::app::{Options, Settings};

    use super::*;
    use crate::driver::window_set;

    fn assert_says(session: Session, text: &str) {
        let (_folder, path) = on_disk(&session.bytes());
        let options = Options { inputs: vec![Input::File(path)], ..Options::default() };
        let window = window_set(options, Settings::default());
        let found = window.query_all_by_label(text).count();
        assert_eq!(found, 1, "the window does not say: {text}");
    }

    #[test]
    fn the_trust_line_says_what_does_not_add_up() {
        let mut clean = Session::new(2, false);
        clean.alloc(0, 10, 0x1000, 1);
        assert_says(clean, "No events lost, all frees matched");

        let mut one = Session::new(2, false);
        one.alloc(0, 10, 0x1000, 1);
        one.free(0, 20, 0x2000);
        one.alloc(1, 30, 0x1000, 1);
        assert_says(one, "1 free without a known allocation, 1 block allocated twice");

        let mut many = Session::new(2, false);
        (0..1300).for_each(|i| many.alloc(0, 10 + i, 0x1000, 1));
        (0..3).for_each(|i| many.free(1, 2000 + i, 0x9000));
        many.writer.writer().note_loss(1, Loss::Events(2)).unwrap();
        many.writer.writer().note_loss(0, Loss::Buffers(1)).unwrap();
        many.alloc(0, 3000, 0x2000, 1);
        many.alloc(1, 3000, 0x3000, 1);
        let text = "2 events lost, 1 buffer lost, 3 frees without a known allocation, 1,299 blocks allocated twice, numbers after 0.000 s are incomplete";
        assert_says(many, text);
    }
}
