//! Who freed: the stacks of frees find the rows that those ended, whenever they come, and
//! the trees over them equal a naive oracle.

use std::sync::Arc;

use crate::oracle::answer::Edges;
use crate::oracle::question::{OPS, builder, edges, input, interval, options, place, replay, ways};
use crate::oracle::scenario::Scenario;
use crate::oracle::{Replay, Row, strategy};
use highwater::events::{Event, FrameRange, PageRange, Record, StackPart, mem};
use highwater::model::{Builder, CHUNK, InputState, NodeId, Scope, Trace, WhenFull};
use highwater::query::{
    Bounds, Cancel, Fold, Forest, Functions, Index, LifetimeClass, Mask, RowChoice, RowCondition, freed_sums, node_name,
};
use highwater::symbols::Names;
use highwater::units::{Layer, Pid, Ticks, Tid};
use proptest::prelude::*;

/// A row in words: whether another thread freed it, what it is, and its stacks, innermost frame first.
type Told = (bool, Layer, u64, u64, i64, i64, Vec<u64>, Vec<u64>);

fn told(trace: &Trace) -> Vec<Told> {
    let frames = |stack: NodeId| trace.stacks.chain(stack).map(|node| trace.stacks.address(node)).collect::<Vec<_>>();
    let mut all = Vec::new();
    for (id, row) in trace.rows.chunks().flat_map(|chunk| chunk.rows().collect::<Vec<_>>()) {
        assert_eq!(row.freed_at, trace.rows.freed_at(id));
        let (site, freed) = (trace.site(row.site), trace.freed_at(id));
        let of_freed = freed.map(|site| frames(site.stack)).unwrap_or_default();
        assert!(freed.is_none_or(|freed| freed.heap == site.heap && freed.first <= row.death && row.death != Ticks::NEVER));
        let (birth, death) = (row.birth.0, row.death.0);
        all.push((row.is_cross_thread, trace.layer_of(site), row.address, row.size, birth, death, frames(site.stack), of_freed));
    }
    all.sort();
    all
}

/// The same of the oracle's rows that died at `from` or later.
fn expected(rows: &[Row], from: i64) -> Vec<Told> {
    let death = |row: &Row| row.death.unwrap_or(Ticks::NEVER.0);
    let told = |row: &Row| {
        (row.cross_thread, row.layer(), row.address, row.size, row.birth, death(row), row.stack.clone(), row.freed_stack.clone())
    };
    let mut all: Vec<Told> = rows.iter().filter(|row| death(row) >= from).map(told).collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn every_row_knows_who_freed_it(ops in strategy::ops(OPS), at in prop::collection::vec(0..200usize, 0..4)) {
        let scenario = Scenario::of(&ops);
        let rows = Replay::of(&scenario.steps).rows;
        let mut builder = builder();
        let mut early = Vec::new();
        for (i, sent) in scenario.stream.iter().enumerate() {
            builder.apply(&sent.record, &sent.frames);
            if at.contains(&i) {
                let trace = builder.publish(input(&scenario, false));
                early.push((told(&trace), trace));
            }
        }
        prop_assert_eq!(told(&builder.publish(input(&scenario, true))), expected(&rows, i64::MIN));
        for (before, trace) in early {
            prop_assert_eq!(before, told(&trace), "a published trace has changed");
        }
    }

    #[test]
    fn what_is_left_of_a_trace_that_forgets_knows_it_too(
        ops in strategy::ops(8 * OPS), budget in 3_000..60_000u64, at in prop::collection::vec(0..1600usize, 0..3),
    ) {
        let scenario = Scenario::of(&ops);
        let rows = Replay::of(&scenario.steps).rows;
        let mut builder = builder().limited(Scope::default(), budget).when_full(WhenFull::Forget);
        for (i, sent) in scenario.stream.iter().enumerate() {
            builder.apply(&sent.record, &sent.frames);
            if at.contains(&i) {
                drop(builder.publish(input(&scenario, false)));
            }
        }
        let trace = builder.publish(input(&scenario, true));
        if trace.cut.is_none() {
            let from = trace.forgotten.map_or(i64::MIN, |from| from.0);
            prop_assert_eq!(told(&trace), expected(&rows, from));
        }
    }

    #[test]
    fn trees_of_who_freed_equal_the_oracles(
        ops in strategy::ops(OPS), a in place(), b in place(), options in options(), least in prop::option::of(0..101u64),
        with_stack: bool,
    ) {
        let scenario = Scenario::of(&ops);
        let edges = edges(&scenario, a, b);
        let rows = Replay::of(&scenario.steps).rows;
        let never = Cancel::default();
        for index in ways(replay(&scenario), &options) {
            let size = least.map(|least| RowCondition::Size(Bounds { from: Some(least), to: None }));
            let choice = RowChoice { all: size.into_iter().collect() };
            let index = index.choosing(choice.rows(index.trace(), &never).unwrap());
            // The filter is about who allocated.
            let mask = Mask::of_sites(index.trace(), |_, site| !with_stack || site.stack != NodeId::ROOT);
            for layer in Layer::ALL {
                let is_wanted = |row: &&Row| {
                    let fits = row.size >= least.unwrap_or(0) && (!with_stack || !row.stack.is_empty());
                    fits && row.layer() == layer
                };
                let wanted: Vec<&Row> = rows.iter().filter(is_wanted).collect();
                check_forests(&index, &mask, layer, &wanted, edges);
            }
        }
    }
}

/// Each node has what died in the interval with a stack that leads there.
fn check_forests(index: &Index, mask: &Mask, layer: Layer, rows: &[&Row], edges: Edges) {
    let (trace, never) = (index.trace(), Cancel::default());
    let functions = Functions::of_frees(trace, &Names::default(), Fold::Nothing, &never).unwrap();
    let sums = freed_sums(index, interval(edges), mask, layer, &never).unwrap();
    let forests = [
        (Forest::top_down(&functions), true),
        (Forest::inverted(&functions, &never).unwrap(), false),
        (Forest::by_function(&functions), false),
    ];
    let died: Vec<&&Row> = rows.iter().filter(|row| matches!(row.class(edges), Some(0 | 2))).collect();
    for (forest, is_outermost_first) in &forests {
        let is_flat = (1..forest.len() as u32).all(|node| forest.parent(node) == 0);
        let of_nodes = forest.sums_of(&sums);
        for node in 0..forest.len() as u32 {
            let sum = of_nodes.of(node);
            let way: Vec<String> = forest.way(node).into_iter().map(|key| node_name(&functions, key)).collect();
            let is_there = |row: &&&&Row| {
                let mut frames: Vec<String> = row.freed_stack.iter().map(|frame| format!("{frame:#x}")).collect();
                if *is_outermost_first {
                    frames.reverse();
                }
                // By function: the responsible caller, without names the first frame outside of the kernel.
                if is_flat && let Some(outside) = row.freed_stack.iter().position(|&frame| frame < 1 << 63) {
                    frames.drain(..outside);
                }
                if frames.is_empty() {
                    frames.push(node_name(&functions, highwater::query::NodeKey::NoStack));
                }
                frames.starts_with(&way)
            };
            let there: Vec<&&&Row> = died.iter().filter(is_there).collect();
            let numbers = sum.numbers();
            let expected = (there.len() as u64, there.iter().map(|row| row.size).sum::<u64>());
            assert_eq!((numbers.count, numbers.size), expected, "{way:?} of {layer:?}, flat: {is_flat}");
            assert_eq!(sum.get(LifetimeClass::Aifo).count + sum.get(LifetimeClass::Aofo).count, 0);
        }
    }
}

const PAGE: u64 = 0x1000;

/// Events of one thread, and what they come to.
struct Story(Builder);

impl Story {
    fn new() -> Self {
        Self(builder())
    }

    fn tell(&mut self, time: i64, event: Event, frames: &[u64]) {
        self.0.apply(&Record { time: time + crate::oracle::scenario::TRACE_START, pid: Pid(7), tid: Tid(1), event }, frames);
    }

    fn alloc(&mut self, time: i64, address: u64) {
        self.tell(time, Event::Alloc { layer: Layer::Heap, heap: 0x50, address, size: 8 }, &[]);
    }

    fn free(&mut self, time: i64, address: u64) {
        self.tell(time, Event::Free { layer: Layer::Heap, heap: 0x50, address }, &[]);
    }

    fn pages(&mut self, time: i64, (base, pages): (u64, u64), flags: u32) {
        let range = PageRange { base: base * PAGE, size: pages * PAGE, owner: Pid(7), flags };
        let event =
            if flags & (mem::DECOMMIT | mem::RELEASE) == 0 { Event::VirtualAlloc(range) } else { Event::VirtualFree(range) };
        self.tell(time, event, &[]);
    }

    fn stack(&mut self, time: i64, owner: i64, part: StackPart, frames: &[u64]) {
        let owner = owner + crate::oracle::scenario::TRACE_START;
        self.tell(time, Event::Stack { owner, part, frames: FrameRange::default() }, frames);
    }

    fn publish(&mut self) -> Trace {
        self.0.publish(InputState::default())
    }

    fn end(mut self) -> Vec<(u64, Vec<u64>)> {
        let trace = self.0.publish(InputState { complete: true, ..InputState::default() });
        let mut all: Vec<_> = told(&trace).into_iter().map(|(_, _, address, .., freed)| (address, freed)).collect();
        all.sort();
        all
    }
}

const KERNEL: u64 = 0xFFFF_8000_0000_0010;

#[test]
fn both_parts_of_a_releases_stack_reach_all_that_it_ended_across_publications() {
    let mut story = Story::new();
    story.pages(1, (0, 2), mem::COMMIT);
    story.pages(2, (4, 2), mem::COMMIT);
    story.pages(3, (1, 5), mem::DECOMMIT);
    story.stack(4, 3, StackPart::Kernel, &[KERNEL]);
    let between = story.publish();
    story.stack(5, 3, StackPart::User, &[0x20, 0x10]);
    let whole = vec![KERNEL, 0x20, 0x10];
    assert_eq!(story.end(), [(0, vec![]), (PAGE, whole.clone()), (4 * PAGE, whole)]);
    let kernels = told(&between).into_iter().filter(|(.., freed)| *freed == [KERNEL]).count();
    assert_eq!(kernels, 2);
}

#[test]
fn one_stack_of_a_realloc_is_that_of_the_old_and_of_the_new_block() {
    let mut story = Story::new();
    story.alloc(1, 0x100);
    let event = Event::Realloc { layer: Layer::Heap, heap: 0x50, old: 0x100, new: 0x100, size: 16 };
    story.tell(2, event, &[]);
    drop(story.publish());
    story.stack(3, 2, StackPart::User, &[0x30]);
    let trace = story.publish();
    let stacks: Vec<_> = told(&trace).into_iter().map(|(.., size, _, _, stack, freed)| (size, stack, freed)).collect();
    assert_eq!(stacks, [(8, vec![], vec![0x30]), (16, vec![0x30], vec![])]);
}

#[test]
fn the_stack_of_a_free_may_come_after_a_publication_and_just_before_the_free() {
    let mut story = Story::new();
    (1..4).for_each(|n| story.alloc(1, n * 0x100));
    story.free(2, 0x100);
    drop(story.publish());
    story.stack(3, 2, StackPart::User, &[0x10]);
    story.stack(4, 4, StackPart::User, &[0x20]);
    story.free(4, 0x200);
    story.free(5, 0x300);
    assert_eq!(story.end(), [(0x100, vec![0x10]), (0x200, vec![0x20]), (0x300, vec![])]);
}

#[test]
fn what_a_heap_or_process_took_along_was_freed_by_nobody() {
    let mut story = Story::new();
    story.alloc(1, 0x100);
    story.alloc(2, 0x200);
    story.alloc(3, 0x200);
    story.stack(3, 3, StackPart::User, &[0x10]);
    story.tell(4, Event::HeapClose { layer: Layer::Heap, heap: 0x50, name: None }, &[]);
    story.stack(4, 4, StackPart::User, &[0x20]);
    let trace = story.publish();
    assert!(trace.free_sites.is_empty() && !trace.rows.chunk(0).has_freed_at());
    assert_eq!(story.end(), [(0x100, vec![]), (0x200, vec![]), (0x200, vec![])]);
}

#[test]
fn a_row_costs_4_bytes_more_from_the_first_freeing_stack_of_its_chunk_on() {
    let bytes = |has_stack: bool| {
        let mut story = Story::new();
        (1..100).for_each(|n| story.alloc(n, n as u64 * 0x100));
        story.free(200, 0x100);
        if has_stack {
            story.stack(200, 200, StackPart::User, &[0x10]);
        }
        Arc::new(story.0.publish(InputState { complete: true, ..InputState::default() })).rows.heap_bytes()
    };
    assert_eq!(bytes(true) - bytes(false), 4 * CHUNK);
}

#[test]
fn a_free_whose_place_was_let_go_is_still_found_by_its_stack() {
    const PART: i64 = 1 << 16; // places that are let go at a time
    let mut story = Story::new();
    for n in 0..PART {
        story.alloc(2 * n, 0x100);
        story.free(2 * n + 1, 0x100);
    }
    story.alloc(2 * PART, 0x200);
    story.free(2 * PART + 1, 0x200);
    story.alloc(2 * PART + 2, 0x300);
    drop(story.publish());
    let last = 2 * (PART - 1) + 1;
    story.stack(2 * PART + 3, last, StackPart::User, &[0x10]);
    let trace = story.publish();
    let freed: Vec<_> = told(&trace).into_iter().filter(|(.., freed)| !freed.is_empty()).collect();
    assert_eq!(freed, [(false, Layer::Heap, 0x100, 8, last - 1, last, vec![], vec![0x10])]);
}

#[test]
fn rows_that_stay_when_others_are_forgotten_keep_who_freed_them() {
    let story = |budget: u64| {
        let mut story = Story(builder().limited(Scope::default(), budget).when_full(WhenFull::Forget));
        let (blocks, late) = (6_000, 40);
        for n in 0..blocks {
            story.alloc(2 * n, 0x1000 + 0x10 * n as u64);
            // Each lives for some time, and the stack of its free comes later.
            if n >= late {
                let ends = 0x1000 + 0x10 * (n - late) as u64;
                story.free(2 * n + 1, ends);
            }
            if n >= 2 * late {
                story.stack(2 * n + 1, 2 * (n - late) + 1, StackPart::User, &[0x100 + n as u64 % 7, 0x10]);
            }
        }
        story.0.publish(InputState { complete: true, ..InputState::default() })
    };
    let (whole, part) = (story(u64::MAX), story(400_000));
    let from = part.forgotten.unwrap().0;
    let left: Vec<Told> = told(&whole).into_iter().filter(|(.., death, _, _)| *death >= from).collect();
    assert!(part.cut.is_none() && left.iter().filter(|(.., freed)| !freed.is_empty()).count() > 100);
    assert_eq!(told(&part), left);
}
