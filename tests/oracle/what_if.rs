//! Other allocators, naively: every place is looked for among all live blocks, and every touched page is listed.

use std::collections::{BTreeMap, BTreeSet};

use highwater::query::{By, PinnedPages, ReportFilter};
use highwater::units::Layer;

use super::answer::Key;
use super::{Replay, Row};

const PAGE: u64 = 4096;

/// Pages of a model at its peak.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// Its name, and of a pool for one group that group.
    pub model: String,
    pub at: i64,
    pub peak_touched_bytes: u64,
    pub waste: u64,
    pub pinned: u64,
}

/// A recorded block.
struct Block<'a> {
    row: &'a Row,
    /// Number of the pool or arena.
    group: usize,
}

impl Block<'_> {
    fn needed(&self) -> u64 {
        self.row.size.max(1)
    }
}

/// An address space of the model: what it is, of which process and group, and a number.
type Space = (&'static str, usize, usize, u64);

/// A live block of a model: its number among all, its space and first byte.
type Placed = (usize, Space, u64);

/// A group of blocks, its rows, and the sparse pages that it pins.
type Candidate<'a> = (Key, Vec<&'a Row>, PinnedPages);

/// What a model remembers besides the live blocks.
#[derive(Default)]
struct Memory {
    opened: u64,
    /// Ends of the ranges with gaps, by process.
    ends: BTreeMap<usize, u64>,
    /// Number and end of each arena with live blocks.
    arenas: BTreeMap<(usize, usize), (u64, u64)>,
}

impl Memory {
    fn open(&mut self) -> u64 {
        self.opened += 1;
        self.opened
    }
}

/// Where a size belongs: slot and slab, a length between gaps, or pages of its own.
enum Kind {
    Slot(u64, u64),
    Gap(u64),
    Own,
}

const SIZE_CLASSES: [u64; 49] = [
    8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048,
    2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384, 20480, 24576, 28672, 32768, 40960, 49152, 57344,
    65536, 81920, 98304, 114_688, 131_072,
];

fn buckets() -> impl Iterator<Item = u64> {
    let steps = [(16, 1024, 16), (1088, 2048, 64), (2176, 4096, 128), (4352, 8192, 256), (8704, 16384, 512)];
    steps.into_iter().flat_map(|(from, to, step)| (from..=to).step_by(step))
}

fn kind(model: &str, size: u64) -> Kind {
    let class = |most: u64| SIZE_CLASSES.into_iter().find(|class| *class >= size).filter(|class| *class <= most);
    let bucket = |bytes: u64| buckets().find(|bucket| *bucket >= bytes);
    let sixteens = |bytes: u64| bytes.div_ceil(16) * 16;
    match model {
        "nt_heap" => match bucket(size + 8) {
            Some(bucket) => Kind::Slot(bucket, 65536),
            None if size <= 508 * 1024 => Kind::Gap(sixteens(size + 8)),
            None => Kind::Own,
        },
        "segment_heap" => match bucket(size).filter(|_| size <= 16_368) {
            Some(bucket) => Kind::Slot(bucket, 65536),
            None if size <= 128 * 1024 => Kind::Gap(sixteens(size + 16)),
            None => Kind::Own,
        },
        "mimalloc" => match class(128 * 1024) {
            Some(class) => Kind::Slot(class, if class <= 16 * 1024 { 65536 } else { 524_288 }),
            None => Kind::Own,
        },
        "jemalloc" => match class(14 * 1024) {
            Some(class) => Kind::Slot(class, (1..).map(|pages| pages * PAGE).find(|slab| slab % class == 0).unwrap()),
            None => Kind::Own,
        },
        _ => {
            if size <= 65536 {
                Kind::Slot(sixteens(size), 65536)
            } else {
                Kind::Own
            }
        }
    }
}

/// The bytes that a block of some size takes.
pub fn taken(model: &str, size: u64) -> u64 {
    match kind(model, size) {
        Kind::Slot(slot, _) => slot,
        Kind::Gap(length) => length,
        Kind::Own => size.div_ceil(PAGE) * PAGE,
    }
}

/// The place of a new block.
fn place(model: &str, block: &Block<'_>, live: &[Placed], memory: &mut Memory) -> (Space, u64) {
    let (process, group) = (block.row.life, block.group);
    let is_pooled = model == "pools" || model == "one pool" && group == 1;
    if model == "recorded" || model == "one pool" && !is_pooled {
        return (("recorded", process, 0, 0), block.row.address);
    }
    if model == "arenas" {
        if !memory.arenas.contains_key(&(process, group)) {
            let number = memory.open();
            memory.arenas.insert((process, group), (number, 0));
        }
        let (number, end) = memory.arenas.get_mut(&(process, group)).unwrap();
        let first = end.div_ceil(16) * 16;
        *end = first + block.needed();
        return (("arena", process, group, *number), first);
    }
    let group = if is_pooled { group } else { 0 };
    match kind(model, block.needed()) {
        Kind::Own => (("own", process, group, memory.open()), 0),
        Kind::Slot(slot, slab) => {
            let name = Box::leak(format!("slab of {slot}").into_boxed_str());
            let is_of_class = |space: &Space| (space.0, space.1, space.2) == (name, process, group);
            let slabs: BTreeSet<u64> =
                live.iter().filter(|(_, space, _)| is_of_class(space)).map(|(_, space, _)| space.3).collect();
            for number in slabs {
                let space: Space = (name, process, group, number);
                let is_free = |first: &u64| !live.iter().any(|(_, of, at)| (of, at) == (&space, first));
                if let Some(first) = (0..slab / slot).map(|i| i * slot).find(is_free) {
                    return (space, first);
                }
            }
            ((name, process, group, memory.open()), 0)
        }
        Kind::Gap(length) => unreachable!("{length}: gaps need the lengths of others"),
    }
}

/// The place of a new block in the smallest gap among others, whose first bytes and lengths are given in order.
fn place_in_gap(length: u64, others: &[(u64, u64)], end: &mut u64) -> u64 {
    let mut gaps = Vec::new();
    let mut from = 0;
    for (first, length) in others {
        gaps.push((first - from, from));
        from = first + length;
    }
    let last = *end - from;
    gaps.push((last, from));
    if let Some((_, first)) = gaps.into_iter().filter(|(gap, _)| *gap >= length).min() {
        return first;
    }
    *end = from + length;
    from
}

fn pages_of(first: u64, needed: u64) -> impl Iterator<Item = u64> {
    first / PAGE..=(first + needed - 1) / PAGE
}

/// The live blocks of a model after each tick; `each` gets the tick, the live blocks and what the model remembers.
fn replay(model: &str, blocks: &[Block<'_>], mut each: impl FnMut(i64, &[Placed], &Memory)) {
    let mut ticks: BTreeSet<i64> = blocks.iter().map(|block| block.row.birth).collect();
    ticks.extend(blocks.iter().filter_map(|block| block.row.death));
    let (mut live, mut memory) = (Vec::<Placed>::new(), Memory::default());
    for tick in ticks {
        live.retain(|(i, ..)| blocks[*i].row.death != Some(tick));
        let in_arenas: BTreeSet<(usize, usize)> = live.iter().map(|(i, ..)| (blocks[*i].row.life, blocks[*i].group)).collect();
        memory.arenas.retain(|key, _| in_arenas.contains(key));
        for (i, block) in blocks.iter().enumerate().filter(|(_, block)| block.row.birth == tick) {
            let (space, first) = match kind(model, block.needed()) {
                Kind::Gap(length) if model == "nt_heap" || model == "segment_heap" => {
                    let space: Space = ("gaps", block.row.life, 0, 0);
                    let length_of = |i: usize| match kind(model, blocks[i].needed()) {
                        Kind::Gap(length) => length,
                        _ => unreachable!("it is in another space"),
                    };
                    let others = live.iter().filter(|(_, of, _)| *of == space);
                    let mut others: Vec<(u64, u64)> = others.map(|(i, _, first)| (*first, length_of(*i))).collect();
                    others.sort_unstable();
                    (space, place_in_gap(length, &others, memory.ends.entry(block.row.life).or_default()))
                }
                _ => place(model, block, &live, &mut memory),
            };
            live.push((i, space, first));
        }
        each(tick, &live, &memory);
    }
}

/// The numbers of a model; `None` if nothing was ever alive.
fn numbers(model: &str, blocks: &[Block<'_>], owner: &dyn Fn(&Row) -> String) -> Option<Numbers> {
    let mut best: Option<Numbers> = None;
    replay(model, blocks, |tick, live, memory| {
        let mut pages: BTreeMap<(Space, u64), Vec<(usize, u64)>> = BTreeMap::new();
        for (i, space, first) in live {
            let block = &blocks[*i];
            for page in pages_of(*first, block.needed()) {
                let from = (page * PAGE).max(*first);
                let to = ((page + 1) * PAGE).min(first + block.row.size);
                pages.entry((*space, page)).or_default().push((*i, to.saturating_sub(from)));
            }
        }
        let touched =
            if model == "arenas" { memory.arenas.values().map(|(_, end)| end.div_ceil(PAGE)).sum() } else { pages.len() as u64 };
        if touched == 0 || best.as_ref().is_some_and(|best| best.peak_touched_bytes >= touched * PAGE) {
            return;
        }
        let is_pinned = |blocks_of: &&Vec<(usize, u64)>| {
            let first = owner(blocks[blocks_of[0].0].row);
            blocks_of.iter().map(|(_, bytes)| bytes).sum::<u64>() < 410
                && blocks_of.iter().all(|(i, _)| owner(blocks[*i].row) == first)
        };
        let bytes: u64 = live.iter().map(|(i, ..)| blocks[*i].row.size).sum();
        best = Some(Numbers {
            model: model.to_owned(),
            at: tick + 1,
            peak_touched_bytes: touched * PAGE,
            waste: (touched * PAGE).saturating_sub(bytes),
            pinned: pages.values().filter(is_pinned).count() as u64,
        });
    });
    best
}

impl Replay {
    /// The models for the blocks of a layer, in their order.
    pub fn what_if(&self, layer: Layer, filter: &ReportFilter, pool_by: Option<By>, arena_by: Option<By>) -> Vec<Numbers> {
        let is_asked = |row: &&Row| row.layer() == layer && self.fits(row, filter) && Some(row.birth) != row.death;
        let rows: Vec<&Row> = self.rows.iter().filter(is_asked).collect();
        let owner = |row: &Row| format!("{:?}", self.key(row, &[By::Responsible]));
        let of = |model: &str, group: &dyn Fn(&Row) -> usize| {
            let blocks: Vec<Block<'_>> = rows.iter().map(|row| Block { row, group: group(row) }).collect();
            numbers(model, &blocks, &owner)
        };
        let number_by = |by: By| {
            let keys: Vec<String> = rows.iter().map(|row| format!("{:?}", self.key(row, &[by]))).collect();
            move |replay: &Self, row: &Row| keys.iter().position(|key| *key == format!("{:?}", replay.key(row, &[by]))).unwrap()
        };
        let Some(recorded) = of("recorded", &|_| 0) else { return Vec::new() };
        let peak = recorded.peak_touched_bytes;
        let tick = recorded.at - 1;
        let mut all = vec![Some(recorded)];
        all.extend(["nt_heap", "segment_heap", "mimalloc", "jemalloc"].map(|model| of(model, &|_| 0)));
        if let Some(by) = pool_by {
            let number = number_by(by);
            all.push(of("pools", &|row| number(self, row)));
        }
        if let Some(by) = arena_by {
            let number = number_by(by);
            all.push(of("arenas", &|row| number(self, row)));
        }
        if let Some(by) = pool_by {
            let live: Vec<&Row> = rows.iter().copied().filter(|row| row.is_outstanding(tick + 1)).collect();
            let mut single: Vec<Numbers> = self
                .candidates(&live, by)
                .into_iter()
                .filter_map(|(key, rows, numbers)| {
                    let group = self.group(&key, &rows, &[by], numbers);
                    let is_its = |row: &Row| usize::from(self.key(row, &[by]) == key);
                    let found = of("one pool", &is_its)?;
                    (found.peak_touched_bytes < peak).then(|| Numbers { model: serde_json::to_string(&group).unwrap(), ..found })
                })
                .collect();
            single.sort_by_key(|numbers| numbers.peak_touched_bytes);
            all.extend(single.into_iter().map(Some));
        }
        all.into_iter().flatten().collect()
    }

    /// The five groups that pin most pages and the five with most bytes among live blocks, in order of appearance.
    fn candidates<'a>(&self, live: &[&'a Row], by: By) -> Vec<Candidate<'a>> {
        let mut groups: Vec<Candidate<'_>> = Vec::new();
        for row in live {
            let key = self.key(row, &[by]);
            match groups.iter_mut().find(|(other, ..)| *other == key) {
                Some((_, rows, _)) => rows.push(row),
                None => groups.push((key, vec![row], PinnedPages::default())),
            }
        }
        let mut pages: BTreeMap<(usize, u64), (u64, Vec<&Row>)> = BTreeMap::new();
        for row in live {
            for page in pages_of(row.address, row.size.max(1)) {
                let from = (page * PAGE).max(row.address);
                let (bytes, rows) = pages.entry((row.life, page)).or_default();
                *bytes += ((page + 1) * PAGE).min(row.address + row.size).saturating_sub(from);
                rows.push(row);
            }
        }
        for (bytes, rows) in pages.values().filter(|(bytes, _)| *bytes < 410) {
            let key = self.key(rows[0], &[by]);
            if rows.iter().all(|row| self.key(row, &[by]) == key) {
                let (_, _, pinned) = groups.iter_mut().find(|(other, ..)| *other == key).unwrap();
                (pinned.pages, pinned.live_bytes) = (pinned.pages + 1, pinned.live_bytes + bytes);
            }
        }
        let first_five = |rank: &dyn Fn(&Candidate<'_>) -> u64| {
            let mut order: Vec<usize> = (0..groups.len()).filter(|i| rank(&groups[*i]) > 0).collect();
            order.sort_by_key(|i| std::cmp::Reverse(rank(&groups[*i])));
            order.into_iter().take(5).collect::<Vec<_>>()
        };
        let bytes = |(_, rows, _): &Candidate<'_>| rows.iter().map(|row| row.size).sum::<u64>();
        let mut chosen = first_five(&|(.., pinned)| pinned.pages);
        chosen.extend(first_five(&|group| bytes(group) + 1));
        chosen.sort_unstable();
        chosen.dedup();
        chosen.into_iter().map(|i| groups[i].clone()).collect()
    }
}
