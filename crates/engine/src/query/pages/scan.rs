//! A scan for the blocks and committed ranges that are alive at a moment of each process.

use super::committed::{CommittedRanges, ReservedRanges};
use super::touched::{Block, PageCounts, PinnedPages, TouchedPages};
use crate::model::{HeapId, ProcessId};
use crate::query::alive::first_and_last;
use crate::query::grouping::{RowKey, RowKeys};
use crate::query::{Cancel, Cancelled, Index};
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::{Layer, Ticks};

/// The blocks to look at, and their groups.
pub(in crate::query) struct Scan<'a> {
    pub(in crate::query) index: &'a Index,
    /// The moment of each process.
    pub(in crate::query) moments: &'a [Ticks],
    /// The group of each site; `None` for sites that are not asked about.
    pub(in crate::query) of_site: &'a [Option<u32>],
    /// Keys by which blocks of one site differ, if any are asked for.
    pub(in crate::query) row_keys: Option<RowKeys<'a>>,
}

/// A heap or tracker with live blocks. Those of one process that have the same name are one.
#[derive(Clone, Copy, Debug)]
pub(in crate::query) struct FoundHeap {
    pub(in crate::query) heap: HeapId,
    pub(in crate::query) live_blocks: u64,
    pub(in crate::query) live_bytes: u64,
    pub(in crate::query) pages: PageCounts,
    /// Bytes committed in the reservations that hold a block; `None` if none is known.
    pub(in crate::query) committed_bytes: Option<u64>,
    /// Blocks that no known reservation holds.
    pub(in crate::query) unreserved_blocks: u64,
}

/// The result of a scan.
pub(in crate::query) struct Found {
    pub(in crate::query) heaps: Vec<FoundHeap>,
    /// Groups of blocks: the group of their sites, and what else tells them apart.
    pub(in crate::query) groups: Vec<(u32, RowKey)>,
    /// Sparse pages with blocks of one group only, by group.
    pub(in crate::query) pinned: Vec<PinnedPages>,
}

/// Tables for all workers.
struct Tables {
    reserved: ReservedRanges,
    /// The heaps, those of one process and name as one, each with its first.
    heaps: Vec<(ProcessId, Layer, HeapId)>,
    /// Number of each heap of the trace among those.
    number: Vec<u32>,
}

/// The finds of one worker.
#[derive(Default)]
struct Alive {
    /// Blocks, bytes, and blocks that no reservation holds, of each heap.
    sums: Vec<[u64; 3]>,
    touched: TouchedPages,
    committed: CommittedRanges,
    /// Heaps, and numbers of the reservations of their process that hold a block of theirs.
    held: KeyedSet<(u32, u32)>,
    groups: Vec<(u32, RowKey)>,
    numbers: KeyedMap<(u32, RowKey), u32>,
    /// The heap and reservation of the latest block, which is often that of the next one.
    latest: Option<(u32, u32)>,
}

impl Scan<'_> {
    /// Finds what is alive; `count` is the number of groups of sites.
    pub(in crate::query) fn run(&self, count: usize, cancel: &Cancel) -> Result<Found, Cancelled> {
        let tables = Tables::new(self);
        let (rows, deaths) = (self.index.visit(), self.index.trace().last_deaths());
        let (earliest, latest) = first_and_last(self.moments.iter().copied()).unwrap_or((Ticks::NEVER, Ticks::BEFORE_TRACE));
        let new = || Alive { sums: vec![[0; 3]; tables.heaps.len()], ..Alive::default() };
        let parts = rows.fold_chunks(&rows.born_before(latest), cancel, new, |alive, visited| {
            let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
            visited.each_alive(deaths, earliest, |i| {
                let (site, life) = (sites[i], (chunk.birth(i), chunk.death(i)));
                let number = tables.number[self.index.trace().site(site).heap.0 as usize];
                let (process, layer, _) = tables.heaps[number as usize];
                let at = self.moments[process.0 as usize];
                if life.0 >= at || life.1 < at {
                    return;
                }
                let (address, size) = (chunk.address(i), chunk.size(i));
                if layer == Layer::Commit {
                    alive.committed.add(process, address, size);
                } else if let Some(group) = self.of_site[site.0 as usize] {
                    let key = |keys: &RowKeys<'_>| keys.key(|| chunk.thread(i), || chunk.freed_at(i), size, life);
                    let group = self.row_keys.as_ref().map_or(group, |keys| alive.group((group, key(keys))));
                    alive.add(&tables, process, Block::new(number, address, size), group);
                }
            });
        })?;
        cancel.check()?;
        let mut all = Alive::joined(parts);
        if self.row_keys.is_none() {
            all.groups = (0..count as u32).map(|group| (group, RowKey::default())).collect();
        }
        Ok(all.found(&tables))
    }
}

impl Tables {
    fn new(scan: &Scan<'_>) -> Self {
        let trace = scan.index.trace();
        let mut numbers: KeyedMap<(ProcessId, Layer, Option<String>), u32> = KeyedMap::default();
        let mut heaps = Vec::new();
        let ids = (0..).map(HeapId).zip(&trace.heaps);
        let number = ids.map(|(id, heap)| {
            *numbers.entry((heap.process, heap.layer, heap.key())).or_insert_with(|| {
                heaps.push((heap.process, heap.layer, id));
                heaps.len() as u32 - 1
            })
        });
        let number = number.collect();
        Self { reserved: ReservedRanges::at(trace, scan.moments), heaps, number }
    }
}

impl Alive {
    /// The number of a group, which is new if it was not met before.
    fn group(&mut self, key: (u32, RowKey)) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.groups.push(key);
            self.groups.len() as u32 - 1
        })
    }

    fn add(&mut self, tables: &Tables, process: ProcessId, block: Block, group: u32) {
        let is_held = |(heap, place): &(u32, u32)| *heap == block.heap && tables.reserved.holds(process, *place, block.first);
        if self.latest.filter(is_held).is_none() {
            self.latest = tables.reserved.find(process, block.first).map(|place| (block.heap, place));
            self.held.extend(self.latest);
        }
        let [blocks, bytes, unreserved] = &mut self.sums[block.heap as usize];
        *blocks += 1;
        *bytes = bytes.saturating_add(block.bytes());
        *unreserved += u64::from(self.latest.is_none());
        self.touched.add(&block, group);
    }

    /// The finds of all workers as one.
    fn joined(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        // There is at least one part.
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            let number: Vec<u32> = part.groups.iter().map(|&key| all.group(key)).collect();
            all.touched.join(part.touched, |group| number.get(group as usize).copied().unwrap_or(group));
            all.committed.join(part.committed);
            all.held.extend(part.held);
            let sums = all.sums.iter_mut().zip(part.sums);
            sums.for_each(|(sum, more)| *sum = [0, 1, 2].map(|i| sum[i].saturating_add(more[i])));
        }
        all
    }

    fn found(self, tables: &Tables) -> Found {
        let Self { sums, touched, committed, held, groups, .. } = self;
        let mut held: Vec<(u32, u32)> = held.into_iter().collect();
        held.sort_unstable();
        let committed = committed.sorted();
        let (pages, pinned) = touched.counts(sums.len(), groups.len());
        let of_heap = |(number, ([live_blocks, live_bytes, unreserved_blocks], pages)): (u32, ([u64; 3], PageCounts))| {
            let (process, _, heap) = tables.heaps[number as usize];
            let from = held.partition_point(|(heap, _)| *heap < number);
            let its = held[from..].iter().take_while(|(heap, _)| *heap == number);
            let bytes = its.map(|(_, place)| committed.bytes(process, tables.reserved.range(process, *place)));
            let committed_bytes = bytes.reduce(u64::saturating_add);
            FoundHeap { heap, live_blocks, live_bytes, pages, committed_bytes, unreserved_blocks }
        };
        let heaps = (0u32..).zip(sums.into_iter().zip(pages)).map(of_heap).filter(|heap| heap.live_blocks > 0).collect();
        Found { heaps, groups, pinned }
    }
}
