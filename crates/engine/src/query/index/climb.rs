//! The highest rises of lines, from changes in time order that count for a node and all nodes above it.
//!
//! Changes are collected in blocks. In a block each node is visited once: with the sum of the changes below it, and with a bound on
//! what it can reach, as if all rises came before all falls. Only lines whose bound exceeds the highest value so far are followed
//! change by change; of many changes these are few. Where there are few changes a node, or few nodes above another, all lines are
//! followed.

use crate::query::line_tree::{LineTree, NOBODY};
use crate::query::row_set::each_bit;
use crate::units::Ticks;

/// Number of changes in a block: enough that nodes are visited rarely, and few enough that bounds are close.
const BLOCK: usize = 512;

/// Mean number of nodes on the way up, and changes a node, from which on blocks pay.
const DEEP: usize = 6;
const MANY: u64 = 1 << 10;

/// Number of changes at one tick from which on those of a node are added up.
const LONG_TICK: usize = 1 << 16;

/// The effect of a stretch of time on a line: its change, and its highest rise above the start of the stretch.
pub(super) struct Rise {
    pub(super) line: u32,
    pub(super) sum: i64,
    pub(super) high: i64,
}

/// Changes in a block.
#[derive(Clone, Copy, Default)]
struct Sum {
    all: i64,
    rises: i64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.rises += other.rises;
    }
}

/// State of the lines while changes are processed.
pub(super) struct Climb<'a> {
    line_tree: &'a LineTree,
    /// Whether bounds decide which lines are followed.
    is_bounded: bool,
    /// By line: the value after all previous blocks, the highest value after a tick, and whether it ever changed.
    now: Vec<i64>,
    high: Vec<i64>,
    has: Vec<bool>,
    /// The current block: tick, node and change; and where its last tick begins.
    block: Vec<(Ticks, u32, i64)>,
    tick: usize,
    /// Work space, empty between blocks.
    sums: Vec<Sum>,
    visited: BitsFromTop,
    line_sums: Vec<Sum>,
    lines: Vec<u32>,
    is_followed: Vec<bool>,
    /// By visited node, the nearest followed node at or above it.
    followed: Vec<u32>,
}

impl<'a> Climb<'a> {
    /// Starts with values of 0, for about so many changes.
    pub(super) fn new(line_tree: &'a LineTree, changes: u64) -> Self {
        let (lines, nodes) = (line_tree.len(), line_tree.nodes());
        Self {
            line_tree,
            is_bounded: changes >= MANY * nodes as u64 && line_tree.mean_depth() >= DEEP,
            now: vec![0; lines],
            high: vec![0; lines],
            has: vec![false; lines],
            block: Vec::new(),
            tick: 0,
            sums: vec![Sum::default(); nodes],
            visited: BitsFromTop(vec![0; nodes.div_ceil(64)]),
            line_sums: vec![Sum::default(); lines],
            lines: Vec::new(),
            is_followed: vec![false; lines],
            followed: vec![NOBODY; nodes],
        }
    }

    /// Adds a change; ticks must not decrease.
    #[inline]
    pub(super) fn add(&mut self, at: Ticks, node: u32, delta: i64) {
        if self.block.last().is_some_and(|last| last.0 != at) {
            if self.block.len() >= BLOCK {
                self.end_block(self.block.len());
            }
            self.tick = self.block.len();
        }
        self.block.push((at, node, delta));
        if self.block.len() >= LONG_TICK.max(4 * self.sums.len()) {
            self.shorten();
        }
    }

    /// Returns the effects on all lines that changed.
    pub(super) fn finish(mut self) -> Vec<Rise> {
        self.end_block(self.block.len());
        let changed = (0..self.has.len()).filter(|&line| self.has[line]);
        changed.map(|line| Rise { line: line as u32, sum: self.now[line], high: self.high[line] }).collect()
    }

    /// Ends the block before the current tick, and adds up the changes of each node at that tick.
    #[cold]
    fn shorten(&mut self) {
        self.end_block(self.tick);
        self.block.sort_unstable_by_key(|&(_, node, _)| node);
        self.block.dedup_by(|next, first| {
            let is_same = next.1 == first.1;
            first.2 += if is_same { next.2 } else { 0 };
            is_same
        });
    }

    /// Passes on the first changes of the block, up to the end of a tick.
    fn end_block(&mut self, count: usize) {
        if !self.is_bounded {
            self.follow_all(count);
            return self.forget(count);
        }
        for &(_, node, delta) in &self.block[..count] {
            self.sums[node as usize].add(Sum { all: delta, rises: delta.max(0) });
            self.visited.insert(node);
        }
        self.climb();
        if self.bound() {
            self.follow(count);
        }
        for line in self.lines.drain(..) {
            (self.line_sums[line as usize], self.is_followed[line as usize]) = (Sum::default(), false);
        }
        each_bit(&self.visited.0, 0..self.sums.len(), |node| self.sums[node] = Sum::default());
        self.visited.0.fill(0);
        self.forget(count);
    }

    /// Removes changes that were passed on.
    fn forget(&mut self, count: usize) {
        self.block.drain(..count);
        self.tick = 0;
    }

    /// Adds the sums of each node to its line and to the node above it.
    fn climb(&mut self) {
        let Self { line_tree, sums, line_sums, lines, has, .. } = self;
        self.visited.each(|node| {
            let sum = sums[node as usize];
            let line = line_tree.line(node);
            lines.push(line);
            has[line as usize] = true;
            line_sums[line as usize].add(sum);
            let above = Some(line_tree.above(node)).filter(|&above| above != NOBODY);
            if let Some(above) = above {
                sums[above as usize].add(sum);
            }
            above
        });
    }

    /// Moves on the lines that cannot exceed their highest value in this block. Returns whether others have to be followed.
    fn bound(&mut self) -> bool {
        let mut any = false;
        for &line in &self.lines {
            let line = line as usize;
            let sum = std::mem::take(&mut self.line_sums[line]);
            if self.now[line] + sum.rises > self.high[line] {
                self.is_followed[line] = true;
                any = true;
            } else {
                self.now[line] += sum.all;
            }
        }
        any
    }

    /// Follows lines change by change.
    fn follow(&mut self, count: usize) {
        let Self { line_tree, followed, is_followed, now, high, .. } = self;
        each_bit(&self.visited.0, 0..line_tree.nodes(), |node| {
            let (above, line) = (line_tree.above(node as u32), line_tree.line(node as u32));
            followed[node] = match is_followed[line as usize] {
                true => node as u32,
                false if above == NOBODY => NOBODY,
                false => followed[above as usize],
            };
        });
        let next = |node: u32| if node == NOBODY { NOBODY } else { followed[node as usize] };
        each_tick(&self.block[..count], line_tree, next, now, high, |_| {});
    }

    /// Follows all lines change by change.
    fn follow_all(&mut self, count: usize) {
        let Self { line_tree, now, high, has, .. } = self;
        each_tick(&self.block[..count], line_tree, |node| node, now, high, |line| has[line as usize] = true);
    }
}

/// Carries out changes on the lines of some nodes: `next` returns the nearest of these nodes at or above a node. Calls `each` with
/// each line that changes.
#[inline]
fn each_tick(
    block: &[(Ticks, u32, i64)],
    line_tree: &LineTree,
    next: impl Fn(u32) -> u32,
    now: &mut [i64],
    high: &mut [i64],
    mut each: impl FnMut(u32),
) {
    let mut changed: Vec<u32> = Vec::new();
    let mut tick = Ticks::BEFORE_TRACE;
    let mut end_tick = |changed: &mut Vec<u32>, now: &[i64]| {
        // Only at the end of a tick are its changes complete.
        for line in changed.drain(..) {
            let line = line as usize;
            high[line] = high[line].max(now[line]);
        }
    };
    for &(at, node, delta) in block {
        let mut node = next(node);
        if node != NOBODY && at != tick {
            end_tick(&mut changed, now);
            tick = at;
        }
        while node != NOBODY {
            let line = line_tree.line(node);
            now[line as usize] += delta;
            changed.push(line);
            each(line);
            node = next(line_tree.above(node));
        }
    }
    end_tick(&mut changed, now);
}

/// A set of nodes.
struct BitsFromTop(Vec<u64>);

impl BitsFromTop {
    #[inline]
    fn insert(&mut self, node: u32) {
        self.0[node as usize / 64] |= 1 << (node % 64);
    }

    /// Calls `each` with the nodes in descending order. It may return a smaller one to insert.
    fn each(&mut self, mut each: impl FnMut(u32) -> Option<u32>) {
        for word in (0..self.0.len()).rev() {
            let mut smaller = u64::MAX;
            while self.0[word] & smaller != 0 {
                let bit = 63 - (self.0[word] & smaller).leading_zeros();
                smaller = (1 << bit) - 1;
                if let Some(node) = each(word as u32 * 64 + bit) {
                    self.insert(node);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values of all lines after each tick, line by line.
    fn expected(line_tree: &LineTree, changes: &[(i64, u32, i64)]) -> Vec<(i64, i64)> {
        let mut lines = vec![(0, 0); line_tree.len()];
        for tick in changes.chunk_by(|a, b| a.0 == b.0) {
            for &(_, node, delta) in tick {
                line_tree.up(node).for_each(|line| lines[line as usize].0 += delta);
            }
            lines.iter_mut().for_each(|(now, high)| *high = (*high).max(*now));
        }
        lines
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn blocks_find_the_highest_value_after_any_tick(
            above in prop::collection::vec(prop::option::weighted(0.8, any::<u32>()), 1..200),
            lines in prop::option::of(1..30u32),
            gap in 0..3i64,
            seed in any::<u64>(),
        ) {
            let above: Vec<u32> = (0..).zip(&above).map(|(node, above)| above.filter(|_| node > 0).map_or(NOBODY, |above| above % node.max(1))).collect();
            let line_tree = match lines {
                // The lines on the way up differ.
                Some(lines) => {
                    let depth = |node: u32| std::iter::successors(Some(node), |&node| Some(above[node as usize]).filter(|&above| above != NOBODY)).count() as u32;
                    let of: Vec<u32> = (0..above.len() as u32).map(|node| (depth(node) - 1) * lines + node % lines).collect();
                    LineTree::shared(of.iter().max().map_or(0, |last| *last as usize + 1), above.clone(), of)
                }
                None => LineTree::shared(above.len(), above.clone(), (0..above.len() as u32).collect()),
            };
            let mut random = crate::random::Random::new(seed);
            let mut at = 0;
            let changes: Vec<(i64, u32, i64)> = (0..3 * BLOCK).map(|_| {
                at += i64::from(random.index(4) > 0) * gap;
                (at, random.index(above.len()) as u32, random.index(200) as i64 - 99)
            }).collect();
            for is_bounded in [false, true] {
                let mut climb = Climb { is_bounded, ..Climb::new(&line_tree, 0) };
                changes.iter().for_each(|&(at, node, delta)| climb.add(Ticks(at), node, delta));
                let mut found = vec![(0, 0); line_tree.len()];
                climb.finish().into_iter().for_each(|rise| found[rise.line as usize] = (rise.sum, rise.high));
                prop_assert_eq!(found, expected(&line_tree, &changes));
            }
        }
    }

    #[test]
    fn a_tick_of_any_length_takes_bounded_memory() {
        let line_tree = LineTree::shared(2, vec![NOBODY, 0], vec![0, 1]);
        let mut climb = Climb::new(&line_tree, 0);
        climb.add(Ticks(1), 1, 5);
        for i in 0..3 * LONG_TICK as i64 {
            climb.add(Ticks(2), (i % 2) as u32, if i % 4 < 2 { 3 } else { -2 });
            assert!(climb.block.len() <= LONG_TICK);
        }
        climb.add(Ticks(3), 0, -7);
        let sum = 3 * LONG_TICK as i64 / 2;
        let rises: Vec<(u32, i64, i64)> = climb.finish().into_iter().map(|rise| (rise.line, rise.sum, rise.high)).collect();
        assert_eq!(rises, [(0, 5 + sum - 7, 5 + sum), (1, 5 + sum / 2, 5 + sum / 2)]);
    }
}
