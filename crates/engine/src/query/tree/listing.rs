//! Single allocations, the innermost lines of the tree.
//!
//! Cost: one parallel scan of the column of sites, from the end of the interval back to the first row that is listed, and
//! a closer look at the rows of the listed sites. Chunks in which none of them can be born are skipped, and so are parts in
//! which none of the sites occurs, as far as the index knows ([`Totals::parts`]).

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::lines::{Leaf, Listing, Tree, allocation_peak};
use super::question::Question;
use super::{Column, Sort};
use crate::model::{CHUNK, Chunk, RowId, Rows};
use crate::query::fold::{Visit, VisitedChunk};
use crate::query::{Cancelled, LifetimeClass, Totals};
use crate::units::{Interval, Ticks};

/// Largest number of single allocations listed below one node.
pub(super) const MAX_ALLOCATIONS: usize = 100_000;

/// Number of rows that each worker scans before it is known whether all rows were found.
const WAVE: usize = 16 * CHUNK;

/// Adds the allocations of all open leaves to the tree, with one scan of the rows. Rows born last come first, and the scan
/// ends with the last row that the sums tell of: blocks that were alive before the interval are mostly young.
pub(super) fn fill(question: &Question<'_>, tree: &mut Tree, leaves: &[Leaf]) -> Result<(), Cancelled> {
    if leaves.is_empty() {
        return Ok(());
    }
    let rows = &question.trace.rows;
    let order = ListingOrder { rows, sort: question.request.sort };
    let wanted = Wanted::of(question.trace.sites.len(), leaves);
    let visit = Visit { rows, chosen: question.totals.chosen().map(|chosen| &**chosen) };
    let mut ranges = ranges(visit, question.totals, leaves, tree.interval);
    ranges.reverse();
    let a_wave = WAVE * rayon::current_num_threads() / ranges.iter().map(Range::len).max().unwrap_or(1).max(1);
    let mut all = Listed::new(leaves);
    let count = |leaf: &Leaf| leaf.sites.iter().map(|&site| question.totals.of(site).get(leaf.class).count).sum::<u64>();
    let expected: u64 = leaves.iter().map(count).sum();
    for wave in ranges.chunks(a_wave.max(1)) {
        if all.count >= expected {
            break;
        }
        let parts = visit.fold_ranges(
            wave,
            rayon::current_num_threads(),
            question.cancel,
            || Listed::new(leaves),
            |found, visited| {
                wanted.scan(visited, tree.interval, |leaf, at| {
                    found.add(&order, leaf, [(order.rank(&visited.chunk, at), visited.chunk.id(at))]);
                    found.count += 1;
                });
            },
        )?;
        for part in parts {
            all.count += part.count;
            part.of_leaf.into_iter().enumerate().for_each(|(leaf, found)| all.add(&order, leaf, found));
        }
    }
    let mut before = 0;
    for (leaf, mut list) in leaves.iter().zip(all.of_leaf) {
        question.cancel.check()?;
        order.keep_first(&mut list);
        list.par_sort_unstable_by(|a, b| order.compare(a, b));
        let ids: Arc<[RowId]> = list.into_iter().map(|(_, id)| id).collect();
        if !ids.is_empty() {
            let listed = ids.len();
            tree.listings.push(Listing { line: leaf.line, after: leaf.after, before, rows: ids });
            before += listed;
        }
    }
    Ok(())
}

/// Returns the row numbers among which rows of the leaves can be, in ascending order.
fn ranges(visit: Visit<'_>, totals: &Totals, leaves: &[Leaf], interval: Interval) -> Vec<Range<usize>> {
    let chunks = visit.born_in(births(leaves, interval));
    let sites = leaves.iter().flat_map(|leaf| leaf.sites.iter().copied());
    match totals.parts().and_then(|parts| parts.rows_of(sites)) {
        None => visit.whole(&chunks),
        Some(mut ranges) => {
            ranges.retain(|range| chunks.binary_search(&(range.start / CHUNK)).is_ok());
            ranges
        }
    }
}

/// Returns the interval in which rows of the leaves can be born.
fn births(leaves: &[Leaf], interval: Interval) -> Interval {
    let is_inside = |leaf: &Leaf| matches!(leaf.class, LifetimeClass::Aifi | LifetimeClass::Aifo);
    let from = if leaves.iter().all(is_inside) { interval.from } else { Ticks::BEFORE_TRACE };
    let to = if leaves.iter().any(is_inside) { interval.to } else { interval.from };
    Interval { from, to }
}

/// A row with its sort key; smaller keys come first. Rows with equal keys are sorted by birth, then by id.
type Ranked = (u64, RowId);

/// The rows found so far.
struct Listed {
    /// Of each leaf, in any order; at least the first [`MAX_ALLOCATIONS`] of those found.
    of_leaf: Vec<Vec<Ranked>>,
    /// Number of rows found.
    count: u64,
}

impl Listed {
    fn new(leaves: &[Leaf]) -> Self {
        Self { of_leaf: vec![Vec::new(); leaves.len()], count: 0 }
    }

    fn add(&mut self, order: &ListingOrder<'_>, leaf: usize, found: impl IntoIterator<Item = Ranked>) {
        let list = &mut self.of_leaf[leaf];
        list.extend(found);
        if list.len() >= 2 * MAX_ALLOCATIONS {
            order.keep_first(list);
        }
    }
}

/// The requested order.
struct ListingOrder<'a> {
    rows: &'a Rows,
    sort: Sort,
}

impl ListingOrder<'_> {
    fn rank(&self, chunk: &Chunk<'_>, at: usize) -> u64 {
        let time = |t: Ticks| t.0 as u64 ^ 1 << 63; // in the order of signed numbers
        let rank = match self.sort.column {
            Column::FreeTime => time(chunk.death(at)),
            Column::Address | Column::Name => chunk.address(at),
            Column::AllocTime => time(chunk.birth(at)),
            Column::Peak => allocation_peak(&chunk.row(at)),
            _ => chunk.size(at),
        };
        if self.sort.descending { !rank } else { rank }
    }

    fn compare(&self, a: &Ranked, b: &Ranked) -> std::cmp::Ordering {
        let births = || self.rows.birth(a.1).cmp(&self.rows.birth(b.1));
        a.0.cmp(&b.0).then_with(births).then(a.1.cmp(&b.1))
    }

    /// Keeps only the first [`MAX_ALLOCATIONS`] rows, in any order.
    fn keep_first(&self, list: &mut Vec<Ranked>) {
        if list.len() > MAX_ALLOCATIONS {
            list.select_nth_unstable_by(MAX_ALLOCATIONS, |a, b| self.compare(a, b));
            list.truncate(MAX_ALLOCATIONS);
        }
    }
}

/// No leaf.
const NONE: u32 = u32::MAX;

/// The leaf that each site is listed below.
struct Wanted {
    /// A bit for each remainder of the id of a listed site. It rejects most rows and is small enough for the L1 cache.
    filter: [u64; FILTER],
    /// For each site an index into `leaves`; [`NONE`] if it is not listed.
    slot: Vec<u32>,
    /// Leaves by class.
    leaves: Vec<[u32; 4]>,
}

/// Number of words of the filter.
const FILTER: usize = 512;

impl Wanted {
    fn of(sites: usize, leaves: &[Leaf]) -> Self {
        let mut wanted = Self { filter: [0; FILTER], slot: vec![NONE; sites], leaves: Vec::new() };
        for (leaf, site) in leaves.iter().enumerate().flat_map(|(i, leaf)| leaf.sites.iter().map(move |site| ((i, leaf), site))) {
            let slot = &mut wanted.slot[site.0 as usize];
            if *slot == NONE {
                *slot = wanted.leaves.len() as u32;
                wanted.leaves.push([NONE; 4]);
                wanted.filter[site.0 as usize / 64 % FILTER] |= 1 << (site.0 % 64);
            }
            wanted.leaves[*slot as usize][leaf.1.class as usize] = leaf.0 as u32;
        }
        wanted
    }

    /// Calls `found` with the listed rows of a chunk: the leaf, and the index in the chunk.
    fn scan(&self, visited: &VisitedChunk<'_>, interval: Interval, mut found: impl FnMut(usize, usize)) {
        let (chunk, sites) = (&visited.chunk, &visited.chunk.sites()[..visited.chunk.len()]);
        visited.each(|at| {
            let i = sites[at].0 as usize;
            if self.filter[i / 64 % FILTER] >> (i % 64) & 1 == 0 {
                return;
            }
            let slot = self.slot[i];
            if slot == NONE {
                return;
            }
            let Some(class) = LifetimeClass::of(chunk.birth(at), chunk.death(at), interval) else { return };
            let leaf = self.leaves[slot as usize][class as usize];
            if leaf != NONE {
                found(leaf as usize, at);
            }
        });
    }
}
