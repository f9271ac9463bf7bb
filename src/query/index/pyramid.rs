//! What each group of sites does in each block of a stretch of events, and in each
//! sixteen blocks, and so on up to all of them: the graph of any view is put together from
//! the largest pieces that fit into its bins.
//!
//! Groups without a step in a block take no room there. An entry takes 48 bytes, one of an
//! upper level 72. Where so many groups are active that the entries of all levels would
//! take more than is granted, the lower levels are left out, and their blocks have to be
//! walked through ([`super::lines`]).

use super::blocks::EventBlocks;
use super::feed::{Item, NOBODY};
use crate::query::summary::{Sketch, Summary};
use crate::units::Ticks;

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

/// The most groups that entries can number.
pub(super) const MOST_GROUPS: usize = 1 << GROUP_BITS;

/// Bytes of an entry of a block.
pub(super) const ENTRY: usize = size_of::<Packed>();

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
    fn of(&self, node: usize) -> &[E] {
        &self.entries[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    fn end_node(&mut self) {
        self.starts.push(self.entries.len() as u32);
    }

    /// Bytes of what is in it.
    fn bytes(&self) -> usize {
        self.entries.len() * size_of::<E>() + self.starts.len() * 4
    }

    fn shrink(&mut self) {
        self.entries.shrink_to_fit();
        self.starts.shrink_to_fit();
    }
}

/// Blocks, or nodes, under one node above.
const FAN: usize = 16;

/// What some groups of sites do in each block of a stretch.
#[derive(Debug, Default)]
pub(super) struct Pyramid {
    blocks: Level<Packed>,
    upper: Vec<Level<(u32, Summary<i64>)>>,
    /// Levels from the blocks up that are left out.
    missing: usize,
    /// Number of blocks.
    count: usize,
}

impl Pyramid {
    /// Number of blocks under a node of a level; level 0 are the blocks.
    fn width(level: usize) -> usize {
        FAN.saturating_pow(level as u32)
    }

    /// Whether even single blocks are known.
    pub(super) fn is_whole(&self) -> bool {
        self.missing == 0
    }

    /// The highest level of which a whole node begins at `block` and ends at `end` at
    /// the latest, and fits into what `fits` says of its last block.
    pub(super) fn largest(&self, block: usize, end: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let is_one = |&level: &usize| {
            let behind = self.behind(level, block);
            block.is_multiple_of(Self::width(level)) && behind <= end && fits(behind - 1)
        };
        (self.missing..=self.upper.len()).take_while(is_one).last()
    }

    /// Behind the node of `level` at `block`.
    fn behind(&self, level: usize, block: usize) -> usize {
        block.saturating_add(Self::width(level)).min(self.count)
    }

    /// The entries of the node of `level` at `block`, and the block behind it.
    pub(super) fn node(
        &self,
        blocks: &EventBlocks,
        level: usize,
        block: usize,
        mut take: impl FnMut(u32, &Summary<i64>),
    ) -> usize {
        match level.checked_sub(1) {
            None => {
                let base = blocks.ticks(block).0;
                for (group, summary) in self.blocks.of(block).iter().map(|entry| entry.unpack(base)) {
                    take(group, &summary);
                }
            }
            Some(upper) => {
                let entries = self.upper[upper].of(block / Self::width(level));
                entries.iter().for_each(|(group, summary)| take(*group, summary));
            }
        }
        self.behind(level, block)
    }

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.blocks.bytes() + self.upper.iter().map(Level::bytes).sum::<usize>()
    }
}

/// Values of those among many groups that have one.
struct Active<V> {
    /// By group the place of its value, or [`NOBODY`].
    place: Vec<u32>,
    values: Vec<(u32, V)>,
}

impl<V: Default> Active<V> {
    fn new(groups: usize) -> Self {
        Self { place: vec![NOBODY; groups], values: Vec::new() }
    }

    #[inline]
    fn of(&mut self, group: u32) -> &mut V {
        let Self { place, values } = self;
        let place = &mut place[group as usize];
        if *place == NOBODY {
            *place = values.len() as u32;
            values.push((group, V::default()));
        }
        &mut values[*place as usize].1
    }

    /// Hands over all values, of which none is left.
    fn drain(&mut self) -> impl Iterator<Item = (u32, V)> {
        let Self { place, values } = self;
        values.drain(..).inspect(|(group, _)| place[*group as usize] = NOBODY)
    }
}

/// Makes the pyramid of a stretch while its events come by.
pub(super) struct Writer {
    /// Bytes that all levels may take together.
    granted: usize,
    groups: usize,
    sketches: Active<Sketch<i64>>,
    blocks: Option<Level<Packed>>,
    upper: Vec<Upper>,
    count: usize,
}

/// A level above the blocks.
struct Upper {
    /// Of the present node.
    sums: Active<Summary<i64>>,
    /// Nodes below that are in it, and nodes of this level that are complete.
    below: usize,
    nodes: usize,
    level: Option<Level<(u32, Summary<i64>)>>,
}

impl Writer {
    pub(super) fn new(groups: usize, granted: usize) -> Self {
        let blocks = Some(Level::default());
        Self { granted, groups, sketches: Active::new(groups), blocks, upper: Vec::new(), count: 0 }
    }

    #[inline]
    pub(super) fn add(&mut self, group: u32, item: &Item) {
        self.sketches.of(group).change(item.at, item.delta);
    }

    /// Ends a block that began at `base`.
    pub(super) fn end_block(&mut self, base: Ticks) {
        let mut sketches = std::mem::replace(&mut self.sketches, Active { place: Vec::new(), values: Vec::new() });
        sketches.drain().for_each(|(group, mut sketch)| self.put(group, base, &sketch.take()));
        self.sketches = sketches;
        self.end_node();
    }

    /// Ends a block before the tick at `at`, some of which is there already.
    pub(super) fn end_block_before(&mut self, at: Ticks, base: Ticks) {
        let sketches: Vec<_> = self.sketches.drain().collect();
        for (group, mut sketch) in sketches {
            let (summary, has_more) = sketch.split(at);
            self.put(group, base, &summary);
            if has_more {
                *self.sketches.of(group) = sketch;
            }
        }
        self.end_node();
    }

    fn put(&mut self, group: u32, base: Ticks, summary: &Summary<i64>) {
        if summary.steps > 0 {
            self.blocks.iter_mut().for_each(|level| level.entries.push(Packed::new(group, base, summary)));
            self.upper(0).sums.of(group).append(summary);
        }
    }

    fn end_node(&mut self) {
        self.count += 1;
        end(&mut self.blocks, self.granted);
        self.upper(0).below += 1;
        let mut level = 0;
        while self.upper[level].below == FAN {
            self.end_upper(level);
            level += 1;
        }
    }

    /// A level; all below it are there.
    fn upper(&mut self, level: usize) -> &mut Upper {
        if self.upper.len() == level {
            let sums = Active::new(self.groups);
            self.upper.push(Upper { sums, below: 0, nodes: 0, level: Some(Level::default()) });
        }
        &mut self.upper[level]
    }

    /// Ends the present node of a level.
    fn end_upper(&mut self, level: usize) {
        self.upper(level + 1);
        let (lower, upper) = self.upper.split_at_mut(level + 1);
        let (own, above) = (&mut lower[level], &mut upper[0]);
        for (group, summary) in own.sums.drain() {
            above.sums.of(group).append(&summary);
            own.level.iter_mut().for_each(|level| level.entries.push((group, summary)));
        }
        (own.below, own.nodes) = (0, own.nodes + 1);
        above.below += 1;
        end(&mut own.level, self.granted);
    }

    /// The pyramid, in which the last node of a level may be smaller than the others.
    pub(super) fn finish(mut self) -> Pyramid {
        let mut levels = 0;
        if self.count > 1 {
            loop {
                if self.upper[levels].below > 0 {
                    self.end_upper(levels);
                }
                levels += 1;
                if self.upper[levels - 1].nodes == 1 {
                    break;
                }
            }
        }
        self.upper.truncate(levels);
        let upper: Vec<Option<Level<_>>> = self.upper.into_iter().map(|upper| upper.level).collect();
        let bytes = |level: usize| match level.checked_sub(1) {
            None => self.blocks.as_ref().map(Level::bytes),
            Some(above) => upper[above].as_ref().map(Level::bytes),
        };
        // From the top down as far as there is room.
        let (mut room, mut missing) = (self.granted, levels + 1);
        while let Some(left) = missing.checked_sub(1).and_then(bytes).and_then(|bytes| room.checked_sub(bytes)) {
            (room, missing) = (left, missing - 1);
        }
        let blocks = self.blocks.filter(|_| missing == 0).unwrap_or_default();
        let kept = |(level, of): (usize, Option<Level<_>>)| of.filter(|_| level >= missing).unwrap_or_default();
        let mut pyramid = Pyramid { blocks, upper: (1..).zip(upper).map(kept).collect(), missing, count: self.count };
        pyramid.blocks.shrink();
        pyramid.upper.iter_mut().for_each(Level::shrink);
        pyramid
    }
}

/// Ends the present node of a level, which is given up if it alone is too much.
fn end<E>(level: &mut Option<Level<E>>, granted: usize) {
    if let Some(entries) = level {
        entries.end_node();
        if entries.bytes() > granted {
            *level = None;
        }
    }
}
