//! What each group of sites does in each block of events, and in each sixteen
//! blocks, and so on: the graph of any view is put together from the largest
//! pieces that fit into its bins.
//!
//! A block holds some thousand events and never ends inside a tick; a tick with
//! more events than that is a block of its own. Groups without a step in a block
//! take no room there. An entry takes 48 bytes, and upper levels some 8 % of that.

use rayon::prelude::*;

use super::bits::Bits;
use super::feed::{Feed, Item, Kind};
use super::groups::Groups;
use super::order::{Order, Place, late_before};
use crate::model::{RowId, Rows, SiteId, Trace};
use crate::query::summary::{Sketch, Summary};
use crate::query::{Cancel, Cancelled, SeriesOf};
use crate::units::Ticks;

/// The stretches of events that all pyramids of a trace have in common.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// First and last tick of each.
    pub(super) ticks: Vec<(Ticks, Ticks)>,
    /// Where each begins, and where the last ends.
    pub(super) places: Vec<Place>,
}

impl Blocks {
    /// The first block that ends at `t` or later.
    pub(super) fn first_reaching(&self, t: Ticks) -> usize {
        self.ticks.partition_point(|&(_, last)| last < t)
    }

    /// The first tick of the block that begins next to `t`.
    pub(super) fn nearest_start(&self, t: Ticks) -> Option<Ticks> {
        let behind = self.ticks.partition_point(|&(first, _)| first < t);
        let starts =
            self.ticks.get(behind.saturating_sub(1)..=behind).unwrap_or(self.ticks.last().map_or(&[], std::slice::from_ref));
        starts.iter().map(|&(first, _)| first).min_by_key(|first| first.0.abs_diff(t.0))
    }

    /// All blocks but the last as they are in a later publication, which may have split
    /// rows; and where that one begins.
    fn all_but_last(&self, rows: &Rows) -> (Self, Place) {
        let Some(count) = self.ticks.len().checked_sub(1).filter(|&count| count > 0) else { return Default::default() };
        let place = |i: usize| Place { late: late_before(rows, self.ticks[i].0), ..self.places[i] };
        let kept = Self { ticks: self.ticks[..count].to_vec(), places: (0..count).map(place).collect() };
        (kept, place(count))
    }

    fn heap_bytes(&self) -> usize {
        self.ticks.capacity() * 16 + self.places.capacity() * 12
    }
}

/// A summary in a block: times count from its first tick.
#[derive(Clone, Copy, Debug)]
struct Packed {
    sum: i64,
    low: i64,
    high: i64,
    first: u32,
    last: u32,
    low_at: u32,
    high_at: u32,
    /// Group; the number of steps is in the two bits above.
    group: u32,
}

const GROUP_BITS: u32 = 30;

impl Packed {
    fn new(group: u32, base: Ticks, s: &Summary<i64>) -> Self {
        let offset = |t: Ticks| t.0.wrapping_sub(base.0) as u32;
        Self {
            sum: s.sum,
            low: s.low,
            high: s.high,
            first: offset(s.first),
            last: offset(s.last),
            low_at: offset(s.low_at),
            high_at: offset(s.high_at),
            group: u32::from(s.steps) << GROUP_BITS | group,
        }
    }

    fn unpack(&self, base: Ticks) -> (u32, Summary<i64>) {
        let tick = |offset: u32| Ticks(base.0.wrapping_add(offset.into()));
        let summary = Summary {
            steps: (self.group >> GROUP_BITS) as u8,
            sum: self.sum,
            low: self.low,
            low_at: tick(self.low_at),
            high: self.high,
            high_at: tick(self.high_at),
            first: tick(self.first),
            last: tick(self.last),
        };
        (self.group & ((1 << GROUP_BITS) - 1), summary)
    }
}

/// Entries of blocks, or of nodes above them, side by side.
#[derive(Debug)]
struct Level<E> {
    entries: Vec<E>,
    /// Where each node's entries begin, and where the last one's end.
    starts: Vec<u32>,
}

impl<E> Default for Level<E> {
    fn default() -> Self {
        Self { entries: Vec::new(), starts: vec![0] }
    }
}

impl<E> Level<E> {
    fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    fn of(&self, node: usize) -> &[E] {
        &self.entries[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    fn first(&self, nodes: usize) -> Self
    where
        E: Clone,
    {
        let entries = self.entries[..self.starts[nodes] as usize].to_vec();
        Self { entries, starts: self.starts[..=nodes].to_vec() }
    }

    fn end_node(&mut self) {
        self.starts.push(self.entries.len() as u32);
    }

    fn append(&mut self, mut part: Self) {
        let shift = self.entries.len() as u32;
        self.entries.append(&mut part.entries);
        self.starts.extend(part.starts[1..].iter().map(|start| start + shift));
    }

    fn heap_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<E>() + self.starts.capacity() * 4
    }
}

/// Blocks, or nodes, under one node above.
const FAN: usize = 16;

/// What some groups of sites do in each block.
#[derive(Debug, Default)]
pub(super) struct Pyramid {
    blocks: Level<Packed>,
    upper: Vec<Level<(u32, Summary<i64>)>>,
}

impl Pyramid {
    fn from_parts(parts: Vec<Level<Packed>>, blocks: &Blocks, groups: usize) -> Self {
        let mut all = Level::default();
        all.entries.reserve_exact(parts.iter().map(|part| part.entries.len()).sum());
        all.starts.reserve_exact(blocks.ticks.len());
        parts.into_iter().for_each(|part| all.append(part));
        let mut pyramid = Self { blocks: all, upper: Vec::new() };
        let mut joint = Joint { sums: vec![Summary::default(); groups], touched: Vec::new() };
        let mut level = Level::default();
        for (block, node) in (0..pyramid.blocks.nodes()).zip(1..) {
            let base = blocks.ticks[block].0;
            pyramid.blocks.of(block).iter().for_each(|entry| joint.add(entry.unpack(base)));
            if node % FAN == 0 {
                joint.end(&mut level);
            }
        }
        joint.forget();
        while level.nodes() > 0 {
            let mut next = Level::default();
            for node in 0..level.nodes() {
                level.of(node).iter().for_each(|&entry| joint.add(entry));
                if (node + 1) % FAN == 0 {
                    joint.end(&mut next);
                }
            }
            joint.forget();
            pyramid.upper.push(std::mem::replace(&mut level, next));
        }
        pyramid
    }

    /// Number of blocks under a node of a level; level 0 are the blocks.
    fn width(level: usize) -> usize {
        FAN.saturating_pow(level as u32)
    }

    /// The highest level of which a whole node begins at `block` and ends at `end` at
    /// the latest, and fits into what `fits` says of its last block.
    pub(super) fn largest(&self, block: usize, end: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let exists = |level: usize| level == 0 || block / Self::width(level) < self.upper[level - 1].nodes();
        (0..=self.upper.len())
            .take_while(|&level| {
                let width = Self::width(level);
                block.is_multiple_of(width) && block + width <= end && exists(level) && fits(block + width - 1)
            })
            .last()
    }

    /// The entries of the node of `level` at `block`, and the block behind it.
    pub(super) fn node(&self, blocks: &Blocks, level: usize, block: usize, mut take: impl FnMut(u32, &Summary<i64>)) -> usize {
        let width = Self::width(level);
        match level.checked_sub(1) {
            None => {
                let base = blocks.ticks[block].0;
                for (group, summary) in self.blocks.of(block).iter().map(|entry| entry.unpack(base)) {
                    take(group, &summary);
                }
            }
            Some(upper) => self.upper[upper].of(block / width).iter().for_each(|(group, summary)| take(*group, summary)),
        }
        block + width
    }

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.blocks.heap_bytes() + self.upper.iter().map(Level::heap_bytes).sum::<usize>()
    }
}

/// Puts entries together into those of the node above.
struct Joint {
    sums: Vec<Summary<i64>>,
    touched: Vec<u32>,
}

impl Joint {
    fn add(&mut self, (group, summary): (u32, Summary<i64>)) {
        let sum = &mut self.sums[group as usize];
        if sum.steps == 0 {
            self.touched.push(group);
        }
        sum.append(&summary);
    }

    /// Drops the beginning of a node that has no end.
    fn forget(&mut self) {
        self.touched.drain(..).for_each(|group| self.sums[group as usize] = Summary::default());
    }

    fn end(&mut self, level: &mut Level<(u32, Summary<i64>)>) {
        for group in self.touched.drain(..) {
            level.entries.push((group, std::mem::take(&mut self.sums[group as usize])));
        }
        level.end_node();
    }
}

/// Sums up the items of one block after the other.
struct Drafts {
    sketches: Vec<Sketch<i64>>,
    has: Vec<bool>,
    touched: Vec<u32>,
    level: Level<Packed>,
}

impl Drafts {
    fn new(groups: usize) -> Self {
        Self { sketches: vec![Sketch::default(); groups], has: vec![false; groups], touched: Vec::new(), level: Level::default() }
    }

    #[inline]
    fn add(&mut self, group: u32, item: &Item) {
        let of = group as usize;
        if !self.has[of] {
            self.has[of] = true;
            self.touched.push(group);
        }
        self.sketches[of].change(item.at, item.delta);
    }

    fn end_block(&mut self, base: Ticks) {
        for group in self.touched.drain(..) {
            self.has[group as usize] = false;
            let summary = self.sketches[group as usize].take();
            if summary.steps > 0 {
                self.level.entries.push(Packed::new(group, base, &summary));
            }
        }
        self.level.end_node();
    }

    /// Ends a block before the tick at `at`, some of which is there already.
    fn end_block_before(&mut self, at: Ticks, base: Ticks) {
        let Self { sketches, has, touched, level } = self;
        touched.retain(|&group| {
            let (summary, has_more) = sketches[group as usize].split(at);
            if summary.steps > 0 {
                level.entries.push(Packed::new(group, base, &summary));
            }
            has[group as usize] = has_more;
            has_more
        });
        level.end_node();
    }
}

/// Parts that workers do one at a time, and about how many events one is worth.
const PARTS: u64 = 64;
const PART_LEAST: u64 = 1 << 14;

/// The most groups that entries can number.
pub(super) const MOST_GROUPS: usize = 1 << GROUP_BITS;

/// Cuts all events into blocks of about `size`, and sums them up by groups of sites.
/// `known` are those of an earlier publication of the trace, whose groups have the same
/// numbers: all but its last block, whose tick may not have been over, are taken over.
pub(super) fn cut(
    trace: &Trace,
    order: &Order,
    size: usize,
    (group_of, groups): (&Groups, usize),
    known: Option<(&Blocks, &Pyramid)>,
    cancel: &Cancel,
) -> Result<(Blocks, Pyramid), Cancelled> {
    let rows = &trace.rows;
    let (mut blocks, mut levels, start) = known.map_or_else(Default::default, |(blocks, pyramid)| {
        let (kept, start) = blocks.all_but_last(rows);
        let level = pyramid.blocks.first(kept.ticks.len());
        (kept, vec![level], start)
    });
    let end = Order::end(rows);
    let count = (end.distance(start) / PART_LEAST).clamp(1, PARTS);
    let mut places = vec![start];
    places.extend(order.cuts(rows, start, end, count as usize).into_iter().map(|(_, place)| place));
    places.push(end);
    let pick = |_: RowId, site: SiteId, _: bool| group_of.of(site);
    let parts: Result<Vec<(Blocks, Level<Packed>)>, Cancelled> = places
        .par_windows(2)
        .map(|part| {
            let mut cutter = Cutter::new(size, groups, part[0]);
            Feed::new(rows, order, &pick, None).run((part[0], part[1]), cancel, |item| cutter.add(item))?;
            Ok(cutter.finish())
        })
        .collect();
    for (part, level) in parts? {
        blocks.ticks.extend(part.ticks);
        blocks.places.extend(part.places);
        levels.push(level);
    }
    blocks.places.push(end);
    let pyramid = Pyramid::from_parts(levels, &blocks, groups);
    Ok((blocks, pyramid))
}

/// Cuts one part into blocks.
struct Cutter {
    size: usize,
    /// Only the beginnings of the blocks are among the places.
    blocks: Blocks,
    drafts: Drafts,
    /// Events of the present block, and those of them at its last tick.
    events: usize,
    at_tick: usize,
    /// Where that tick begins, and where the next item is.
    tick: Place,
    next: Place,
}

impl Cutter {
    fn new(size: usize, groups: usize, from: Place) -> Self {
        let (blocks, drafts) = (Blocks::default(), Drafts::new(groups));
        Self { size, blocks, drafts, events: 0, at_tick: 0, tick: from, next: from }
    }

    #[inline]
    fn add(&mut self, item: &Item) {
        match self.blocks.ticks.last_mut() {
            Some((_, last)) if *last == item.at => {
                if self.at_tick == self.size && self.events > self.size {
                    self.end_before_tick(item.at);
                }
            }
            Some((first, last)) => {
                // Times count from the first tick in 32 bits.
                let is_far = item.at.0.wrapping_sub(first.0) as u64 > u32::MAX.into();
                (self.tick, self.at_tick) = (self.next, 0);
                if self.events >= self.size || is_far {
                    let first = *first;
                    self.drafts.end_block(first);
                    self.begin(item.at);
                } else {
                    *last = item.at;
                }
            }
            None => self.begin(item.at),
        }
        self.events += 1;
        self.at_tick += 1;
        self.drafts.add(item.of, item);
        match item.kind {
            Kind::Birth => self.next.birth = item.place + 1,
            Kind::Late => self.next.late = item.place + 1,
            Kind::Death => self.next.death = item.place + 1,
        }
    }

    fn begin(&mut self, at: Ticks) {
        self.blocks.ticks.push((at, at));
        self.blocks.places.push(self.tick);
        self.events = 0;
    }

    /// The tick is a block of its own: an edge before or behind it must not need to
    /// look at all its events.
    #[cold]
    fn end_before_tick(&mut self, at: Ticks) {
        let Some((first, last)) = self.blocks.ticks.last_mut() else { return };
        self.drafts.end_block_before(at, *first);
        // The last tick before is not known any more; this one was not reached.
        *last = Ticks(at.0 - 1);
        self.begin(at);
        self.events = self.at_tick;
    }

    fn finish(mut self) -> (Blocks, Level<Packed>) {
        if let Some(&(first, _)) = self.blocks.ticks.last() {
            self.drafts.end_block(first);
        }
        (self.blocks, self.drafts.level)
    }
}

/// The same blocks for the series of `of`, which `group_of` has as groups. `wanted` are
/// rows, if not all, outside of which nothing belongs to any group.
pub(super) fn regroup(
    trace: &Trace,
    order: &Order,
    blocks: &Blocks,
    group_of: &Groups,
    of: &SeriesOf,
    wanted: Option<&Bits>,
    cancel: &Cancel,
) -> Result<Pyramid, Cancelled> {
    let pick = |_: RowId, site: SiteId, _: bool| group_of.of(site);
    let count = blocks.ticks.len();
    let each = count.div_ceil(PARTS as usize).max(1);
    let parts: Result<Vec<Level<Packed>>, Cancelled> = (0..count.div_ceil(each))
        .into_par_iter()
        .map(|part| {
            let (from, to) = (part * each, count.min((part + 1) * each));
            let places = (blocks.places[from], blocks.places[to]);
            let mut drafts = Drafts::new(of.count);
            let mut block = from;
            Feed::new(&trace.rows, order, &pick, wanted).run(places, cancel, |item| {
                while item.at > blocks.ticks[block].1 {
                    drafts.end_block(blocks.ticks[block].0);
                    block += 1;
                }
                of.reach(item.of).for_each(|series| drafts.add(series, item));
            })?;
            blocks.ticks[block..to].iter().for_each(|&(first, _)| drafts.end_block(first));
            Ok(drafts.level)
        })
        .collect();
    Ok(Pyramid::from_parts(parts?, blocks, of.count))
}

impl Blocks {
    /// Bytes of the blocks and a pyramid over them.
    pub(super) fn bytes_with(&self, pyramid: &Pyramid) -> usize {
        self.heap_bytes() + pyramid.heap_bytes()
    }
}
