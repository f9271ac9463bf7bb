//! Habits of requests: temporary blocks, containers that grow, and blocks that another thread frees. The first two are seen in
//! the order in which one thread allocates.
//!
//! For these, rows are looked at in chunks of 65,536, in the order of their births; what would need a look across the border of two chunks is
//! left out. So the numbers are the same with any number of workers, and at most a few blocks of each thread and chunk are missed.

use super::{Cost, FunctionGroups, Habit, Question, added};
use crate::query::fold::VisitedChunk;
use crate::query::{Bucket, Cancelled};
use crate::tables::KeyedMap;
use crate::units::{Ticks, Tid};

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

/// The requests of one group, or of all.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// All blocks.
    born: Bucket,
    temporary: Bucket,
    cross_thread: Bucket,
    /// Blocks that a larger one has replaced.
    outgrown: Bucket,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.born.add(other.born);
        self.temporary.add(other.temporary);
        self.cross_thread.add(other.cross_thread);
        self.outgrown.add(other.outgrown);
    }
}

/// A block of a thread.
#[derive(Clone, Copy)]
struct Block {
    group: u32,
    birth: Ticks,
    death: Ticks,
    size: u64,
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

/// Finds what costs enough.
pub(super) fn find(question: &Question<'_>, groups: &FunctionGroups) -> Result<Vec<Cost>, Cancelled> {
    let sums = sums(question, groups)?;
    let count = groups.list.iter().map(|group| group.source + 1).max().unwrap_or(0);
    let mut of_source = vec![Bucket::default(); count];
    groups.list.iter().zip(&sums).for_each(|(group, sums)| of_source[group.source].add(sums.born));
    let mut costs = Vec::new();
    for (group, (its, sums)) in groups.list.iter().zip(&sums).enumerate() {
        let all = of_source[its.source];
        let Sums { born, temporary, cross_thread, outgrown } = *sums;
        let is_part = |part: u64, least: f64, of: u64| part as f64 >= least * of as f64;
        let are_most = |blocks: Bucket| {
            blocks.count >= LEAST_BLOCKS
                && is_part(blocks.count, MOSTLY, born.count)
                && is_part(blocks.count, LEAST_OF_REQUESTS, all.count)
        };
        if are_most(temporary) {
            costs.push(Cost { habit: Habit::Temporary, group, blocks: temporary, part: None });
        }
        if are_most(cross_thread) {
            costs.push(Cost { habit: Habit::CrossThread, group, blocks: cross_thread, part: Some(born.count) });
        }
        if outgrown.count >= LEAST_OUTGROWN
            && is_part(outgrown.size, LEAST_OF_FUNCTION, born.size)
            && is_part(outgrown.size, LEAST_OF_BYTES, all.size)
        {
            costs.push(Cost { habit: Habit::Growing, group, blocks: outgrown, part: None });
        }
    }
    Ok(costs)
}

/// Returns the requests of each group in the interval.
fn sums(question: &Question<'_>, groups: &FunctionGroups) -> Result<Vec<Sums>, Cancelled> {
    let trace = question.index.trace();
    let process_of_site: Vec<u32> = trace.sites.iter().map(|site| trace.process_of(site).0).collect();
    let rows = question.index.visit();
    let none = || vec![Sums::default(); groups.list.len()];
    let new = || (none(), Scan::new(question, groups, &process_of_site));
    let parts = rows.fold_chunks(&rows.born_in(question.interval), question.cancel, new, |(sums, scan), visited| {
        scan.run(visited, sums);
    })?;
    let parts: Vec<Vec<Sums>> = parts.into_iter().map(|(sums, _)| sums).collect();
    Ok(added(none(), &parts, Sums::add))
}

/// The threads' last blocks in one chunk. Its tables are used again for the next chunk.
struct Scan<'a> {
    question: &'a Question<'a>,
    groups: &'a FunctionGroups,
    process_of_site: &'a [u32],
    /// Numbers of the threads of each process, and the thread that was asked for last with its number.
    threads: KeyedMap<(u32, Tid), u32>,
    latest: ((u32, Tid), u32),
    /// The last block of each thread, in any heap.
    last: Vec<Block>,
    /// By group and number of the thread.
    chains: KeyedMap<(u32, u32), Chain>,
}

impl<'a> Scan<'a> {
    fn new(question: &'a Question<'a>, groups: &'a FunctionGroups, process_of_site: &'a [u32]) -> Self {
        let (threads, chains, nobody) = (KeyedMap::default(), KeyedMap::default(), (u32::MAX, Tid::NONE));
        Self { question, groups, process_of_site, threads, latest: (nobody, 0), last: Vec::new(), chains }
    }

    fn run(&mut self, visited: &VisitedChunk<'_>, sums: &mut [Sums]) {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each(|at| {
            let (birth, site) = (chunk.birth(at), sites[at].0 as usize);
            let Some(group) = self.groups.of_site[site] else { return };
            if !self.question.interval.contains(birth) {
                return;
            }
            let block = Block { group, birth, death: chunk.death(at), size: chunk.size(at) };
            sums[group as usize].born.add_row(block.size);
            if chunk.is_cross_thread(at) {
                sums[group as usize].cross_thread.add_row(block.size);
            }
            let thread = chunk.thread(at);
            if thread.is_known() {
                self.follow((self.process_of_site[site], thread), block, sums);
            }
        });
        #[allow(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
        for ((group, _), chain) in self.chains.drain() {
            sums[group as usize].outgrown.add(chain.end());
        }
        self.threads.clear();
        self.last.clear();
        self.latest.0 = (u32::MAX, Tid::NONE);
    }

    /// Returns the number of a thread, and the last block that it allocated before this one.
    fn exchange(&mut self, thread: (u32, Tid), block: Block) -> (u32, Option<Block>) {
        if self.latest.0 != thread {
            let next = self.last.len() as u32;
            self.latest = (thread, *self.threads.entry(thread).or_insert(next));
        }
        let number = self.latest.1;
        match self.last.get_mut(number as usize) {
            Some(last) => (number, Some(std::mem::replace(last, block))),
            None => {
                self.last.push(block);
                (number, None)
            }
        }
    }

    /// Takes the next block of a thread.
    fn follow(&mut self, thread: (u32, Tid), block: Block, sums: &mut [Sums]) {
        let (thread, before) = self.exchange(thread, block);
        if let Some(before) = before.filter(|before| before.death < block.birth) {
            sums[before.group as usize].temporary.add_row(before.size);
        }
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
