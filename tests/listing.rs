//! The single allocations of the tree where there are many, and stacks that are deep:
//! what generated captures are too small for.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

use std::sync::Arc;

use highwater::events::{Event, FrameRange, Record, StackPart};
use highwater::model::{Builder, Clock, InputState, Row, RowId, Trace};
use highwater::query::{Cancel, Column, Index, Key, LifetimeClass, MAX_FOUND_FRAMES, Sort, Tree, TreeRequest, totals, tree};
use highwater::units::{Interval, Layer, Pid, Ticks, Tid};

/// What the table lists at most under one node.
const MOST: usize = 100_000;

fn builder() -> Builder {
    Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, 0, (0, 0))
}

fn tell(builder: &mut Builder, time: i64, event: Event, frames: &[u64]) {
    builder.apply(&Record { time, pid: Pid(7), tid: Tid(70), event }, frames);
}

fn end(mut builder: Builder) -> Trace {
    builder.publish(InputState { complete: true, ..InputState::default() })
}

fn everything() -> Interval {
    Interval { from: Ticks(i64::MIN + 1), to: Ticks(i64::MAX - 1) }
}

/// Blocks of mixed sizes, a third of them freed, two at a tick.
fn many_blocks(count: u64) -> Trace {
    let mut builder = builder();
    for i in 0..count {
        let (address, size) = (0x1000 + i * 7919 % count * 0x100, i * 7919 % 1009);
        let time = i as i64 / 2 * 10;
        tell(&mut builder, time, Event::Alloc { layer: Layer::Heap, heap: 0x50, address, size }, &[]);
        if i % 3 == 0 {
            let later = time + i as i64 * 31 % 10;
            tell(&mut builder, later, Event::Free { layer: Layer::Heap, heap: 0x50, address }, &[]);
        }
    }
    end(builder)
}

/// The tree with everything open.
fn open(trace: &Trace, interval: Interval, sort: Sort) -> Tree {
    let index = Index::scan(Arc::new(trace.clone()));
    let totals = totals(&index, interval, &Cancel::default()).unwrap();
    let mut request = TreeRequest { sort, ..TreeRequest::default() };
    let mut lines = 0;
    loop {
        let tree = tree(trace, &totals, &request, &Cancel::default()).unwrap();
        if tree.len() == lines {
            return tree;
        }
        lines = tree.len();
        let nodes = tree.rows(trace).filter(|row| row.has_children);
        request.toggled = Arc::new(nodes.map(|row| (row.path, true)).collect());
    }
}

/// The order that is asked for, spelled out.
fn in_order(trace: &Trace, interval: Interval, class: LifetimeClass, sort: Sort) -> Vec<RowId> {
    let rows = (0..trace.rows.len() as u32).map(|i| (RowId(i), trace.rows.get(RowId(i))));
    let mut rows: Vec<(RowId, Row)> =
        rows.filter(|(_, row)| LifetimeClass::of(row.birth, row.death, interval) == Some(class)).collect();
    let peak = |row: &Row| if row.birth == row.death { 0 } else { row.size };
    rows.sort_by(|(a_id, a), (b_id, b)| {
        let order = match sort.column {
            Column::FreeTime => a.death.cmp(&b.death),
            Column::Address | Column::Name => a.address.cmp(&b.address),
            Column::AllocTime => a.birth.cmp(&b.birth),
            Column::Peak => peak(a).cmp(&peak(b)),
            _ => a.size.cmp(&b.size),
        };
        let order = if sort.descending { order.reverse() } else { order };
        order.then(a.birth.cmp(&b.birth)).then(a_id.cmp(b_id))
    });
    rows.into_iter().map(|(id, _)| id).take(MOST).collect()
}

#[test]
fn of_too_many_allocations_the_first_in_the_order_asked_for_are_listed() {
    let trace = many_blocks(220_000);
    let last = trace.rows.get(RowId(trace.rows.len() as u32 - 1)).birth.0;
    // The second leaves out the blocks of some chunks altogether.
    let asked = [Column::Size, Column::AllocTime, Column::FreeTime, Column::Address, Column::Peak].map(|c| (everything(), c));
    let early = Interval { from: Ticks(last / 8), to: Ticks(last / 3) };
    for (i, (interval, column)) in asked.into_iter().chain([(early, Column::Size), (early, Column::FreeTime)]).enumerate() {
        let sort = Sort { column, descending: i % 2 == 0 };
        let tree = open(&trace, interval, sort);
        let mut listed = [const { Vec::new() }; 4];
        for row in tree.rows(&trace) {
            let class = row.path.iter().find_map(|key| if let Key::Class(class) = key { Some(*class) } else { None });
            if let (Some((id, _)), Some(class)) = (row.allocation, class) {
                listed[class as usize].push(id);
            }
        }
        for class in LifetimeClass::ALL {
            let (listed, expected) = (&listed[class as usize], in_order(&trace, interval, class, sort));
            assert!(*listed == expected, "{class:?} by {sort:?}: {} and {}", listed.len(), expected.len());
        }
    }
}

#[test]
fn a_line_is_found_where_it_stands_also_among_many() {
    let trace = many_blocks(20_000);
    let tree = open(&trace, everything(), Sort::default());
    assert!(tree.len() > 20_000);
    for index in (0..tree.len()).step_by(97).chain([tree.len() - 1]) {
        assert_eq!(tree.find(&tree.path(index).unwrap()), Some(index));
    }
    assert!(tree.row(&trace, tree.len()).is_none() && tree.path(tree.len()).is_none() && tree.parent(tree.len()).is_none());
}

#[test]
fn a_stack_of_many_thousand_frames_opens_to_its_end() {
    let mut builder = builder();
    tell(&mut builder, 1, Event::Alloc { layer: Layer::Heap, heap: 0x50, address: 0x100, size: 8 }, &[]);
    let frames: Vec<u64> = (0..30_000).map(|i| 0x7000_0000 - i).collect();
    let stack = Event::Stack { owner: 1, part: StackPart::User, frames: FrameRange::default() };
    tell(&mut builder, 2, stack, &frames);
    let trace = end(builder);
    let index = Index::scan(Arc::new(trace.clone()));
    let totals = totals(&index, everything(), &Cancel::default()).unwrap();
    let request = TreeRequest { search: "0x70000000".to_owned(), ..TreeRequest::default() };
    for request in [TreeRequest::default(), request] {
        let tree = tree(&trace, &totals, &request, &Cancel::default()).unwrap();
        let last = tree.row(&trace, tree.len() - 1).unwrap();
        assert_eq!((tree.len(), last.label.as_str()), (5 + frames.len(), "0x70000000"));
        assert!(!last.is_open, "single allocations would come next");
    }
}

#[test]
fn a_search_that_finds_everything_opens_a_bounded_number_of_frames() {
    let mut builder = builder();
    let stacks = MAX_FOUND_FRAMES as u64;
    for i in 0..stacks {
        let time = i as i64 * 10;
        tell(&mut builder, time, Event::Alloc { layer: Layer::Heap, heap: 0x50, address: 0x1000 + i * 0x10, size: 8 }, &[]);
        let stack = Event::Stack { owner: time, part: StackPart::User, frames: FrameRange::default() };
        let around = [0x9_0000_0000 + i, 0x8_0000_0000 + i, 0x7_0000_0000 + i % 20_000, 0x6_0000_0000 + i % 2];
        tell(&mut builder, time + 1, stack, &around);
    }
    let trace = end(builder);
    let totals = totals(&Index::scan(Arc::new(trace.clone())), everything(), &Cancel::default()).unwrap();
    let request = TreeRequest { search: "0x9".to_owned(), ..TreeRequest::default() };
    let tree = tree(&trace, &totals, &request, &Cancel::default()).unwrap();
    // Nothing is left out: what does not fit stays closed.
    let (least, most) = (MAX_FOUND_FRAMES, MAX_FOUND_FRAMES + 20_000 + 100);
    assert!((least..most).contains(&tree.len()), "{} lines", tree.len());
    assert_eq!(tree.row(&trace, 0).unwrap().numbers.count, stacks);
}
