//! The single allocations of the tree where there are many, and stacks that are deep:
//! what generated captures are too small for.

use std::sync::Arc;

use highwater::events::{Event, FrameRange, Record, StackPart};
use highwater::model::{Builder, Clock, HeapId, InputState, Row, RowId, Trace};
use highwater::query::{
    Cancel, Column, Filter, Fold, Functions, GenerationsRequest, Index, IndexOptions, Key, LifetimeBucket, LifetimeClass,
    MAX_FOUND_FRAMES, Mask, RowColumn, RowSort, Sort, Tree, TreeRequest, generations, histogram, rows, totals, tree,
};
use highwater::symbols::Names;
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
    open_filtered(&Index::scan(Arc::new(trace.clone())), interval, sort, Filter::all())
}

/// The tree of what passes a filter, with everything open.
fn open_filtered(index: &Index, interval: Interval, sort: Sort, filter: Filter) -> Tree {
    let trace = index.trace();
    let totals = totals(index, interval, &Cancel::default()).unwrap();
    let mut request = TreeRequest { sort, filter, ..TreeRequest::default() };
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

/// Blocks of a heap everywhere, of one here and there, of one at the beginning, and of one with a single block at the end.
fn scattered_heaps(count: u64) -> Trace {
    let mut builder = builder();
    for i in 0..count {
        let heap = match i {
            _ if i == count - 1 => 0x53,
            _ if i % 9973 == 5 => 0x51,
            _ if i < count / 50 && i % 3 == 0 => 0x52,
            _ => 0x50,
        };
        let address = 0x1000 + i * 0x100;
        tell(&mut builder, i as i64, Event::Alloc { layer: Layer::Heap, heap, address, size: 16 + i % 100 }, &[]);
        if i % 9973 != 5 || i % 2 == 0 {
            tell(&mut builder, i as i64, Event::Free { layer: Layer::Heap, heap, address }, &[]);
        }
    }
    end(builder)
}

#[test]
fn allocations_of_a_heap_are_listed_alike_whether_it_is_known_where_they_are_or_not() {
    let trace = Arc::new(scattered_heaps(150_000));
    let scan = Index::scan(Arc::clone(&trace));
    let options = IndexOptions { parts: Some(true), ..IndexOptions::default() };
    let prepared = Index::build(Arc::clone(&trace), &options, &Cancel::default()).unwrap();
    let part = |from, to| Interval { from: Ticks(from), to: Ticks(to) };
    for interval in [everything(), part(70_000, 140_000), part(140_000, 149_990)] {
        for heap in (0..trace.heaps.len() as u32).map(HeapId) {
            let listed = [&scan, &prepared].map(|index| {
                let way = [Key::Process(trace.heap(heap).process), Key::Layer(Layer::Heap), Key::Heap(heap)];
                let tree = open_filtered(index, interval, Sort::default(), Filter::under(&way[..]));
                tree.rows(&trace).filter_map(|row| row.allocation).map(|(id, _)| id).collect::<Vec<_>>()
            });
            let rows = (0..trace.rows.len() as u32).map(|i| trace.rows.get(RowId(i)));
            let is_listed =
                |row: &Row| trace.site(row.site).heap == heap && LifetimeClass::of(row.birth, row.death, interval).is_some();
            assert_eq!(listed[0].len(), rows.filter(is_listed).count().min(MOST), "{heap:?}");
            assert!(listed[0] == listed[1], "{heap:?} in {interval:?}");
        }
    }
}

#[test]
fn a_line_is_found_where_it_stands_also_among_many() {
    let trace = many_blocks(20_000);
    let tree = open(&trace, everything(), Sort::default());
    assert!(tree.len() > 20_000);
    for index in (0..tree.len()).step_by(97).chain([tree.len() - 1]) {
        assert_eq!(tree.find(&trace, &tree.path(index).unwrap()), Some(index));
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

/// The table of allocations, histograms and generations of a part of some chunks' rows.
#[test]
fn of_many_rows_those_that_come_first_are_listed_and_all_are_counted() {
    let trace = many_blocks(150_000);
    let (never, mask) = (Cancel::default(), Mask::all(&trace));
    let index = Index::scan(Arc::new(trace.clone()));
    let all: Vec<(RowId, Row)> = (0..trace.rows.len() as u32).map(|i| (RowId(i), trace.rows.get(RowId(i)))).collect();
    for (from, to) in [(0, 750_000), (300_000, 320_000), (340_000, 750_000), (-5, 10)] {
        let interval = Interval { from: Ticks(from), to: Ticks(to) };
        let inside = |row: &Row| LifetimeClass::of(row.birth, row.death, interval);
        let taking_part: Vec<&(RowId, Row)> = all.iter().filter(|(_, row)| inside(row).is_some()).collect();
        for (column, descending, most) in [
            (RowColumn::Size, true, 0),
            (RowColumn::Size, true, 1),
            (RowColumn::Size, false, 700),
            (RowColumn::Address, true, 9000),
            (RowColumn::AllocTime, true, 60),
            (RowColumn::FreeTime, false, 5000),
            (RowColumn::Lifetime, true, 20_000),
        ] {
            let rank = |row: &Row| match column {
                RowColumn::Address => row.address as i64,
                RowColumn::AllocTime => row.birth.0,
                RowColumn::FreeTime => row.death.0,
                RowColumn::Lifetime if row.death == Ticks::NEVER => i64::MAX,
                RowColumn::Lifetime => row.death.0 - row.birth.0,
                _ => row.size as i64,
            };
            let mut expected = taking_part.clone();
            expected.sort_by_key(|(id, row)| (if descending { !rank(row) } else { rank(row) }, *id));
            let found = rows(&index, interval, &mask, RowSort { column, descending }, most, &never).unwrap();
            assert_eq!(found.count, taking_part.len() as u64);
            let expected: Vec<RowId> = expected.into_iter().take(most).map(|(id, _)| *id).collect();
            assert!(found.rows == expected, "{column:?} {descending} {most} {interval:?}");
        }
        let sizes = |class| taking_part.iter().filter(move |(_, row)| inside(row) == Some(class)).map(|(_, row)| row.size);
        let all_of_it = histogram(&index, interval, &mask, Layer::Heap, &never).unwrap();
        for class in LifetimeClass::ALL {
            let of_sizes: u64 = all_of_it.by_size.iter().map(|buckets| buckets.get(class).size).sum();
            let of_lives: u64 = all_of_it.by_lifetime.iter().map(|buckets| buckets.get(class).count).sum();
            assert_eq!((of_sizes, of_lives), (sizes(class).sum(), sizes(class).count() as u64), "{class:?} {interval:?}");
            let scanned = totals(&index, interval, &never).unwrap().sum(&mask).get(class);
            assert_eq!((scanned.size, scanned.count), (of_sizes, of_lives));
        }
        let endless = taking_part.iter().filter(|(_, row)| row.death == Ticks::NEVER).count() as u64;
        assert_eq!(all_of_it.by_lifetime[LifetimeBucket::ENDLESS.index()].numbers().count, endless);
        let functions = Functions::of(&trace, &Names::default(), Fold::Nothing, &never).unwrap();
        let edges = vec![interval.from, Ticks((from + to) / 2), interval.to];
        let request = GenerationsRequest { edges: edges.clone(), end: interval.to, layer: Layer::Heap };
        let left = generations(&index, &request, &mask, &functions, &never).unwrap();
        let edges = &edges;
        let born = |k: usize| all.iter().filter(move |(_, row)| edges[k] <= row.birth && row.birth < edges[k + 1]);
        for k in 0..2 {
            let expected = born(k).filter(|(_, row)| row.death >= interval.to).count() as u64;
            assert_eq!(left.iter().map(|group| group.left[k].count).sum::<u64>(), expected, "{k} {interval:?}");
        }
    }
}
