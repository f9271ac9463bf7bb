//! Habits of requests: temporary blocks, containers that grow, and blocks that another thread frees. The first two are seen in
//! the order in which one thread allocates.
//!
//! For these, rows are looked at in chunks of 65,536, in the order of their births; what would need a look across the border of two chunks is
//! left out. So the numbers are the same with any number of workers, and at most a few blocks of each thread and chunk are missed.

use super::{Cost, FunctionGroups, Habit, Question, added};
use crate::model::{Site, SiteId};
use crate::query::fold::VisitedChunk;
use crate::query::{Bucket, Cancelled};
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks, Tid};

/// Temporary blocks, and those freed by another thread, are reported if a function has so many, if they are so large a part
/// of all that it allocates, and so large a part of the requests to its heap.
const LEAST_BLOCKS: u64 = 1_000;
const MOSTLY: f64 = 0.5;
const LEAST_OF_REQUESTS: f64 = 0.1;

/// Outgrown blocks are reported if a function has so many, if they have so large a part of the bytes that it allocates, and so
/// large a part of the bytes allocated from its heap.
const LEAST_OUTGROWN: u64 = 100;
const LEAST_OF_FUNCTION: f64 = 0.25;
const LEAST_OF_BYTES: f64 = 0.05;

/// Blocks in a row, each larger by a factor of 1.3 to 2.1, that count as a container that grows. Containers of C++, Rust and
/// others grow by a half or by the double.
const LEAST_STEPS: u32 = 4;

/// The requests of one group that have a habit.
#[derive(Clone, Copy, Default)]
struct Sums {
    temporary: Bucket,
    cross_thread: Bucket,
    /// Blocks that a larger one has replaced.
    outgrown: Bucket,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.temporary.add(other.temporary);
        self.cross_thread.add(other.cross_thread);
        self.outgrown.add(other.outgrown);
    }
}

/// Number of the blocks of groups that are too small for any habit.
const SMALL: u32 = u32::MAX - 1;

/// Number of the blocks that are in no group.
const NO_GROUP: u32 = u32::MAX;

/// The number of a site's group among those that are looked at ([`SMALL`] or [`NO_GROUP`] if it is not), and its process.
#[derive(Clone, Copy)]
struct SiteGroup {
    number: u32,
    process: u32,
}

/// A block of a thread; of a small group only that is known.
#[derive(Clone, Copy)]
struct Block {
    /// Number of its group.
    group: u32,
    birth: Ticks,
    death: Ticks,
    size: u64,
}

impl Block {
    /// A block that counts for nothing.
    const OTHER: Self = Self { group: SMALL, birth: Ticks::BEFORE_TRACE, death: Ticks::NEVER, size: 0 };
}

/// Blocks of one thread and group, of which each has replaced the one before.
struct Chain {
    last: Block,
    /// When the block before the last was freed.
    before: Ticks,
    /// Number of blocks.
    steps: u32,
    /// All blocks but the last.
    outgrown: Bucket,
}

impl Chain {
    fn new(first: Block) -> Self {
        Self { last: first, before: Ticks::BEFORE_TRACE, steps: 1, outgrown: Bucket::default() }
    }

    /// Whether a block can be the next: larger by the factor, and born while the last was alive (it is copied) or at the
    /// moment at which that is freed (a realloc), but after the one before the last was freed.
    fn goes_on(&self, next: &Block) -> bool {
        let grown = (13 * u128::from(self.last.size)..=21 * u128::from(self.last.size)).contains(&(10 * u128::from(next.size)));
        let is_copied = self.last.death >= next.birth && self.last.death != Ticks::NEVER;
        grown && self.last.size > 0 && is_copied && self.before <= next.birth
    }

    /// Adds the next block. It must be after [`Chain::goes_on`].
    fn push(&mut self, next: Block) {
        self.outgrown.add_row(self.last.size);
        self.before = self.last.death;
        self.last = next;
        self.steps += 1;
    }

    /// The blocks that were replaced, if there were enough.
    fn end(&self) -> Bucket {
        if self.steps >= LEAST_STEPS { self.outgrown } else { Bucket::default() }
    }
}

/// Finds what costs enough. The totals tell which groups are too small for each habit; no more than some tens in a heap are
/// looked at.
pub(super) fn find(question: &Question<'_>, groups: &FunctionGroups) -> Result<Vec<Cost>, Cancelled> {
    let mut born = vec![Bucket::default(); groups.list.len()];
    for (site, group) in (0..).map(SiteId).zip(&groups.of_site) {
        group.iter().for_each(|&group| born[group as usize].add(question.totals.of(site).numbers().allocated));
    }
    let count = groups.list.iter().map(|group| group.source + 1).max().unwrap_or(0);
    let mut of_source = vec![Bucket::default(); count];
    groups.list.iter().zip(&born).for_each(|(group, born)| of_source[group.source].add(*born));
    let is_part = |part: u64, least: f64, of: u64| part as f64 >= least * of as f64;
    let are_most = |group: usize, blocks: Bucket| {
        blocks.count >= LEAST_BLOCKS
            && is_part(blocks.count, MOSTLY, born[group].count)
            && is_part(blocks.count, LEAST_OF_REQUESTS, of_source[groups.list[group].source].count)
    };
    let are_grown = |group: usize, blocks: Bucket| {
        blocks.count >= LEAST_OUTGROWN
            && is_part(blocks.size, LEAST_OF_FUNCTION, born[group].size)
            && is_part(blocks.size, LEAST_OF_BYTES, of_source[groups.list[group].source].size)
    };
    // A group cannot have more blocks with a habit than blocks.
    let can = |&group: &usize| are_most(group, born[group]) || are_grown(group, born[group]);
    let looked: Vec<usize> = (0..groups.list.len()).filter(can).collect();
    let mut costs = Vec::new();
    for (&group, sums) in looked.iter().zip(sums(question, groups, &looked)?) {
        let Sums { temporary, cross_thread, outgrown } = sums;
        if are_most(group, temporary) {
            costs.push(Cost { habit: Habit::Temporary, group, blocks: temporary, part: None });
        }
        if are_most(group, cross_thread) {
            costs.push(Cost { habit: Habit::CrossThread, group, blocks: cross_thread, part: Some(born[group].count) });
        }
        if are_grown(group, outgrown) {
            costs.push(Cost { habit: Habit::Growing, group, blocks: outgrown, part: None });
        }
    }
    Ok(costs)
}

/// Returns the requests of some groups in the interval.
fn sums(question: &Question<'_>, groups: &FunctionGroups, looked: &[usize]) -> Result<Vec<Sums>, Cancelled> {
    if looked.is_empty() {
        return Ok(Vec::new());
    }
    let trace = question.index.trace();
    let mut numbers = vec![SMALL; groups.list.len()];
    (0..).zip(looked).for_each(|(number, &group)| numbers[group] = number);
    let site_group = |(group, site): (&Option<u32>, &Site)| SiteGroup {
        number: group.map_or(NO_GROUP, |group| numbers[group as usize]),
        process: trace.process_of(site).0,
    };
    let sites: Vec<SiteGroup> = groups.of_site.iter().zip(&trace.sites).map(site_group).collect();
    let rows = question.index.visit();
    let none = || vec![Sums::default(); looked.len()];
    let new = || (none(), Scan::new(question.interval, &sites));
    let parts = rows.fold_evenly(&rows.born_in(question.interval), question.cancel, new, |(sums, scan), visited| {
        scan.run(visited, sums);
    })?;
    let parts: Vec<Vec<Sums>> = parts.into_iter().map(|(sums, _)| sums).collect();
    Ok(added(none(), &parts, Sums::add))
}

/// Threads met recently, by the lower bits of their id.
const RECENT: usize = 64;

/// Most threads that are remembered from one chunk to the next.
const MOST_THREADS: usize = 1 << 12;

/// The threads' last blocks in one chunk. Its tables are used again for the next chunk.
struct Scan<'a> {
    interval: Interval,
    sites: &'a [SiteGroup],
    /// Numbers of the threads of each process, and of those met recently.
    threads: KeyedMap<(u32, Tid), u32>,
    recent: [((u32, Tid), u32); RECENT],
    /// The last block of each thread, in any heap.
    last: Vec<Block>,
    /// By group and number of the thread.
    chains: KeyedMap<(u32, u32), Chain>,
}

/// No thread has this number.
const NO_THREAD: ((u32, Tid), u32) = ((u32::MAX, Tid::NONE), 0);

impl<'a> Scan<'a> {
    fn new(interval: Interval, sites: &'a [SiteGroup]) -> Self {
        let (threads, chains) = (KeyedMap::default(), KeyedMap::default());
        Self { interval, sites, threads, recent: [NO_THREAD; RECENT], last: Vec::new(), chains }
    }

    fn run(&mut self, visited: &VisitedChunk<'_>, sums: &mut [Sums]) {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each(|at| {
            let (SiteGroup { number: group, process }, birth) = (self.sites[sites[at].0 as usize], chunk.birth(at));
            if group == NO_GROUP || !self.interval.contains(birth) {
                return;
            }
            if group != SMALL && chunk.is_cross_thread(at) {
                sums[group as usize].cross_thread.add_row(chunk.size(at));
            }
            let thread = chunk.thread(at);
            if !thread.is_known() {
                return;
            }
            let thread = self.number((process, thread));
            let last = &mut self.last[thread as usize];
            if last.group != SMALL && last.death < birth {
                sums[last.group as usize].temporary.add_row(last.size);
            }
            if group == SMALL {
                last.group = SMALL;
            } else {
                *last = Block { group, birth, death: chunk.death(at), size: chunk.size(at) };
                let block = *last;
                self.follow(thread, block, sums);
            }
        });
        #[allow(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
        for ((group, _), chain) in self.chains.drain() {
            sums[group as usize].outgrown.add(chain.end());
        }
        if self.last.len() > MOST_THREADS {
            self.threads.clear();
            self.last.clear();
            self.recent = [NO_THREAD; RECENT];
        }
        self.last.fill(Block::OTHER);
    }

    /// Returns the number of a thread.
    #[inline]
    fn number(&mut self, thread: (u32, Tid)) -> u32 {
        // Windows numbers threads in steps of four.
        let recent = &mut self.recent[(thread.1.0 / 4) as usize % RECENT];
        if recent.0 != thread {
            let next = self.last.len() as u32;
            *recent = (thread, *self.threads.entry(thread).or_insert(next));
            if recent.1 == next {
                self.last.push(Block::OTHER);
            }
        }
        recent.1
    }

    /// Takes the next block of a thread.
    fn follow(&mut self, thread: u32, block: Block, sums: &mut [Sums]) {
        match self.chains.get_mut(&(block.group, thread)) {
            Some(chain) if chain.goes_on(&block) => chain.push(block),
            Some(chain) => {
                sums[block.group as usize].outgrown.add(chain.end());
                *chain = Chain::new(block);
            }
            None => drop(self.chains.insert((block.group, thread), Chain::new(block))),
        }
    }
}
