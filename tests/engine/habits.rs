//! Habits: what the findings say of ways to allocate is exactly what the blocks of a generated program say, looked at one by one
//! after the rules of docs/findings.md.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::oracle::what_if::taken;
use highwater::events::{Event, FrameRange, ImageChange, ImageInfo, ProcessChange, ProcessInfo, Record, StackPart};
use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::query::{Cancel, FindingKind, Index, IndexOptions, Mask, findings};
use highwater::random::Random;
use highwater::symbols::Names;
use highwater::units::{Layer, Pid, Tid};

const START: i64 = 1_000_000;
const PID: Pid = Pid(4660);
const IMAGE: u64 = 0x7FF7_0000_0000;
const NTDLL: u64 = 0x7FFE_0000_0000;

/// An NT heap, mimalloc, and an allocator whose rules nobody knows.
const HEAPS: [(Layer, u64, &str); 3] =
    [(Layer::Heap, 0x1D_0000, "0x1d0000"), (Layer::Tracker, 0x77, "mimalloc"), (Layer::Tracker, 0x88, "Pool 7")];

/// A block. `at` and `until` are places in the order of what happens, and later the times themselves.
#[derive(Clone, Copy, Debug)]
struct Block {
    at: i64,
    until: i64,
    thread: u32,
    freed_by: u32,
    place: u64,
    heap: usize,
    size: u64,
}

const NEVER: i64 = i64::MAX;

struct World {
    random: Random,
    blocks: Vec<Block>,
}

impl World {
    fn block(&mut self, at: i64, until: i64, (thread, place, heap): (u32, u64, usize), size: u64) {
        self.blocks.push(Block { at, until, thread, freed_by: thread, place, heap, size });
    }

    /// Blocks of any size that live for any time: no habit of theirs.
    fn ordinary(&mut self, heap: usize, count: u64) {
        let largest = self.random.between(64, 3_000);
        for _ in 0..count {
            let at = self.random.below(1_000_000) as i64;
            let until = at + self.random.between(1, 400_000) as i64;
            let who = (self.random.between(1, 3) as u32, self.random.between(1, 4), heap);
            let size = self.random.between(16, largest);
            self.block(at, until, who, size);
            self.freed_by(7, 5);
        }
    }

    /// Lets a thread free the last block, one time of `n`.
    fn freed_by(&mut self, thread: u32, n: u64) {
        if self.random.one_in(n) {
            self.blocks.last_mut().unwrap().freed_by = thread;
        }
    }

    /// Blocks of a producer that a consumer frees, most of them, and some never.
    fn cross_thread(&mut self, heap: usize, count: u64) {
        for _ in 0..count {
            let at = self.random.below(1_000_000) as i64;
            let until = if self.random.one_in(9) { NEVER } else { at + self.random.between(1, 900) as i64 };
            self.block(at, until, (8, 14, heap), 250);
            self.freed_by(9, 1 + count % 2);
        }
    }

    fn temporary(&mut self, heap: usize, count: u64) {
        for _ in 0..count {
            let at = self.random.below(1_000_000) as i64;
            self.block(at, at, (4, 10, heap), 100);
        }
    }

    /// Containers that grow from 16 bytes on, one after the other.
    fn growing(&mut self, heap: usize, count: u64) {
        for n in 0..count as i64 {
            let (mut at, mut size) = (n * (1_000_000 / count as i64), 16);
            for _ in 0..self.random.between(2, 9) {
                self.block(at, at + 11, (5, 11, heap), size);
                at += 10;
                size = if self.random.one_in(2) { 2 * size } else { 3 * size / 2 };
            }
        }
    }

    /// Blocks that live long: with one size, or of any size just above a power of two.
    fn alive(&mut self, heap: usize, count: u64, place: u64, size: impl Fn(&mut Random) -> u64) {
        for _ in 0..count {
            let at = self.random.below(400_000) as i64;
            let until = if self.random.one_in(2) { NEVER } else { self.random.between(600_000, 900_000) as i64 };
            let size = size(&mut self.random);
            self.block(at, until, (6, place, heap), size);
        }
    }

    fn stack(place: u64) -> Vec<u64> {
        vec![NTDLL + 0x100, NTDLL + 0x200, IMAGE + 0x1000 + 0x10 * place, IMAGE + 0x400]
    }

    /// The trace, and its blocks with their times. What happens at one place in the order comes one by one: frees first, and
    /// a block that lives for no time before the next.
    fn trace(mut self) -> (Arc<Trace>, Vec<Block>) {
        let mut order: Vec<(i64, u8, usize)> = Vec::new();
        for (n, block) in self.blocks.iter().enumerate() {
            order.push((block.at, 1, n));
            if block.until > block.at && block.until != NEVER {
                order.push((block.until, 0, n));
            }
        }
        order.sort_unstable();
        let mut builder = Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, START, (0, 0));
        let mut tell = |at: i64, thread: u32, event: Event, frames: &[u64]| {
            builder.apply(&Record { time: START + at, pid: PID, tid: Tid(thread), event }, frames);
        };
        let info = ProcessInfo { key: 0xA000, parent: 1, name: "App.exe".into(), command_line: String::new() };
        tell(0, 1, Event::Process(ProcessChange::Start, Box::new(info)), &[]);
        for (base, name) in [(IMAGE, "App.exe"), (NTDLL, "ntdll.dll")] {
            let path = format!(r"\Device\Volume1\{name}");
            let info = ImageInfo { base, size: 0x100_0000, checksum: 0, time_stamp: 7, path };
            tell(0, 1, Event::Image(ImageChange::Load, Box::new(info)), &[]);
        }
        for (layer, heap, name) in HEAPS {
            let name = (layer == Layer::Tracker).then(|| name.into());
            tell(1, 1, Event::HeapOpen { layer, heap, name }, &[]);
        }
        let mut time = 10;
        for (_, is_birth, n) in order {
            let block = &mut self.blocks[n];
            let (layer, heap, _) = HEAPS[block.heap];
            let address = 0x10_0000_0000 + 0x10_0000 * n as u64;
            let free = Event::Free { layer, heap, address };
            time += 2;
            if is_birth == 0 {
                block.until = time;
                tell(time, block.freed_by, free, &[]);
                continue;
            }
            tell(time, block.thread, Event::Alloc { layer, heap, address, size: block.size }, &[]);
            let stack = Event::Stack { owner: START + time, part: StackPart::User, frames: FrameRange::default() };
            tell(time + 1, block.thread, stack, &Self::stack(block.place));
            let is_short = block.until == block.at;
            block.at = time;
            if is_short {
                time += 2;
                block.until = time;
                tell(time, block.freed_by, free, &[]);
            }
        }
        let state = InputState { times: Some((START, START + time + 2)), complete: true, ..InputState::default() };
        self.blocks.sort_by_key(|block| block.at);
        (Arc::new(builder.publish(state)), self.blocks)
    }
}

/// A habit as it is told: which, of which place in which heap, how many blocks, how many bytes.
type Told = (&'static str, u64, &'static str, u64, u64);

fn sum<'a>(blocks: impl Iterator<Item = &'a Block>) -> (u64, u64) {
    blocks.fold((0, 0), |(count, size), block| (count + 1, size + block.size))
}

/// The blocks of each place and heap.
fn functions<'a>(blocks: impl Iterator<Item = &'a Block>) -> BTreeMap<(u64, usize), Vec<&'a Block>> {
    let mut all: BTreeMap<(u64, usize), Vec<&Block>> = BTreeMap::new();
    blocks.for_each(|block| all.entry((block.place, block.heap)).or_default().push(block));
    all
}

fn of_requests(blocks: &[Block], told: &mut BTreeSet<Told>) {
    for ((place, heap), own) in functions(blocks.iter()) {
        let all = sum(blocks.iter().filter(|block| block.heap == heap));
        let born = sum(own.iter().copied());
        let next = |block: &Block| blocks.iter().find(|next| next.thread == block.thread && next.at > block.at);
        let is_temporary = |block: &&Block| next(block).is_some_and(|next| block.until < next.at);
        let (count, size) = sum(own.iter().copied().filter(is_temporary));
        if count >= 1_000 && 2 * count >= born.0 && 10 * count >= all.0 {
            told.insert(("temporary", place, HEAPS[heap].2, count, size));
        }
        let (count, size) = sum(own.iter().copied().filter(|block| block.until != NEVER && block.freed_by != block.thread));
        if count >= 1_000 && 2 * count >= born.0 && 10 * count >= all.0 {
            told.insert(("cross_thread", place, HEAPS[heap].2, count, size));
        }
        let mut outgrown = (0, 0);
        for thread in own.iter().map(|block| block.thread).collect::<BTreeSet<_>>() {
            let of_thread: Vec<&Block> = own.iter().copied().filter(|block| block.thread == thread).collect();
            let mut run = 0;
            for end in 1..=of_thread.len() {
                let goes_on = of_thread.get(end).is_some_and(|next| {
                    let last = of_thread[end - 1];
                    let factor = next.size as f64 / last.size as f64;
                    let is_free = end - 1 == run || of_thread[end - 2].until <= next.at;
                    (1.3..=2.1).contains(&factor) && last.until >= next.at && last.until != NEVER && is_free
                });
                if !goes_on {
                    let (count, size) = sum(of_thread[run..end - 1].iter().copied());
                    if count >= 3 {
                        outgrown = (outgrown.0 + count, outgrown.1 + size);
                    }
                    run = end;
                }
            }
        }
        if outgrown.0 >= 100 && 4 * outgrown.1 >= born.1 && 20 * outgrown.1 >= all.1 {
            told.insert(("growing", place, HEAPS[heap].2, outgrown.0, outgrown.1));
        }
    }
}

fn of_peaks(blocks: &[Block], told: &mut BTreeSet<Told>) {
    for layer in [Layer::Heap, Layer::Tracker] {
        let of_layer = || blocks.iter().filter(|block| HEAPS[block.heap].0 == layer);
        let mut changes: Vec<(i64, i64)> = of_layer().map(|block| (block.at, block.size as i64)).collect();
        changes.extend(of_layer().filter(|block| block.until != NEVER).map(|block| (block.until, -(block.size as i64))));
        changes.sort_unstable();
        let (mut now, mut peak, mut moment) = (0, 0, 0);
        for (at, change) in changes {
            now += change;
            if now > peak {
                (peak, moment) = (now, at);
            }
        }
        let is_enough = |saved: u64| saved >= 65_536 && 20 * saved >= peak as u64;
        let alive = of_layer().filter(|block| block.at <= moment && block.until > moment);
        for ((place, heap), own) in functions(alive) {
            let name = HEAPS[heap].2;
            let model = match name {
                "0x1d0000" => "nt_heap",
                "mimalloc" => "mimalloc",
                _ => continue,
            };
            let power = |size: u64| (0..63).rev().map(|n| 1u64 << n).find(|power| *power < size);
            let above =
                |block: &&&Block| block.size > 128 && power(block.size).is_some_and(|power| 8 * (block.size - power) <= power);
            let rounded: Vec<u64> = own
                .iter()
                .filter(above)
                .map(|block| taken(model, block.size) - taken(model, power(block.size).unwrap()))
                .collect();
            let saved: u64 = rounded.iter().sum();
            if rounded.len() >= 1_000 && is_enough(saved) {
                told.insert(("rounded_up", place, name, rounded.len() as u64, saved));
            }
            for size in own.iter().map(|block| block.size).filter(|size| *size <= 64).collect::<BTreeSet<_>>() {
                let same = own.iter().filter(|block| block.size == size).count() as u64;
                let saved = same * (taken(model, size) - size);
                if same >= 10_000 && 10 * same >= 8 * own.len() as u64 && is_enough(saved) {
                    told.insert(("equal_blocks", place, name, same, saved));
                }
            }
        }
    }
}

fn said(trace: Arc<Trace>) -> BTreeSet<Told> {
    let index = Index::build(trace, &IndexOptions::default(), &Cancel::default()).unwrap();
    let trace = index.trace();
    let found = findings(&index, trace.span, &Mask::all(trace), &Names::default(), &Cancel::default()).unwrap();
    let habits = found.iter().filter(|finding| finding.kind == FindingKind::Habit);
    habits
        .map(|finding| {
            let address = finding.function.as_deref().unwrap().strip_prefix("App.exe!+0x").unwrap();
            let place = (u64::from_str_radix(address, 16).unwrap() - 0x1000) / 0x10;
            let key = trace.heap(finding.heap.unwrap()).key().unwrap();
            let heap = HEAPS.into_iter().find(|heap| heap.2 == key).unwrap().2;
            (finding.habit.unwrap().name(), place, heap, finding.count, finding.bytes)
        })
        .collect()
}

#[test]
fn habits_are_those_of_the_blocks_looked_at_one_by_one() {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let mut silent = 0;
    for seed in 0..32 {
        let mut world = World { random: Random::new(seed), blocks: Vec::new() };
        for heap in 0..HEAPS.len() {
            let count = world.random.between(0, 1_500);
            world.ordinary(heap, count);
        }
        let heap = |world: &mut World| world.random.below(3) as usize;
        let (some, many) = (world.random.between(900, 1_400), world.random.between(10_000, 18_000));
        if world.random.one_in(2) {
            let heap = heap(&mut world);
            world.temporary(heap, some);
        }
        if world.random.one_in(2) {
            let heap = heap(&mut world);
            world.growing(heap, some / 8);
        }
        if world.random.one_in(2) {
            let heap = heap(&mut world);
            world.alive(heap, some, 12, |random| random.between(1_020, 1_160));
        }
        if world.random.one_in(2) {
            let (heap, size) = (heap(&mut world), world.random.between(8, 68));
            world.alive(heap, many, 13, |random| if random.one_in(7) { random.between(8, 68) } else { size });
        }
        if world.random.one_in(2) {
            let heap = heap(&mut world);
            world.cross_thread(heap, 3 * some / 2);
        }
        let (trace, blocks) = world.trace();
        let mut expected = BTreeSet::new();
        of_requests(&blocks, &mut expected);
        of_peaks(&blocks, &mut expected);
        expected.iter().for_each(|told| *kinds.entry(told.0).or_default() += 1);
        silent += u64::from(expected.is_empty());
        assert_eq!(said(trace), expected, "seed {seed}");
    }
    assert!(kinds.len() == 5 && kinds.values().all(|count| *count >= 2) && silent >= 2, "{kinds:?}, {silent} without");
}
