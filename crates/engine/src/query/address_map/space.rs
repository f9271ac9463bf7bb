//! The regions, blocks and committed pages of a process at a moment.

use std::sync::Arc;

use super::piece::{LEFT_OUT, Piece, Taken, owned};
use super::sums::{Sums, sums};
use crate::model::{HeapId, ProcessId, Trace};
use crate::query::fold::Visit;
use crate::query::pages::ReservedRanges;
use crate::query::{Cancel, Cancelled, Index, Mask, PAGE};
use crate::units::{Layer, Ticks};

/// Blocks outside of known reservations are one region if fewer bytes are between them: what Windows reserves at least.
const NEAR: u64 = 64 << 10;

/// A reserved range, or a run of live blocks outside of all known reservations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// First byte.
    pub first: u64,
    /// Last byte.
    pub last: u64,
    /// Whether it is a reservation.
    pub is_reserved: bool,
    /// The heap or tracker with most bytes in it, or the commit of the process if no block is in it. `None` if the filters
    /// leave nothing of it.
    pub owner: Option<HeapId>,
    /// Its numbers; the group is that of the owner.
    pub sums: Sums,
}

impl Region {
    /// Number of bytes.
    pub fn bytes(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    /// Whether a block is in it, one that the filters leave out included.
    pub fn has_blocks(&self) -> bool {
        self.sums.has_blocks()
    }
}

/// The live blocks and committed pages of a process at a moment: what all maps of that moment are made of. Cost: a parallel
/// scan of the rows; a sort of those that are alive, 24 bytes each.
#[derive(Debug)]
pub struct AddressSpace {
    pub(super) trace: Arc<Trace>,
    /// Blocks by address; every byte has one owner.
    pub(super) blocks: Vec<Piece>,
    /// Committed ranges by address.
    pub(super) committed: Vec<Piece>,
    /// By address; without overlaps. Every block and committed range is in some.
    pub(super) regions: Vec<Region>,
    /// The pages that have a block or are committed, as ranges of bytes. No two of them are neighbours.
    pub(super) used: Vec<(u64, u64)>,
}

/// The finds of one worker.
#[derive(Default)]
struct Alive {
    trackers: Vec<Piece>,
    heaps: Vec<Piece>,
    left_out: Vec<Piece>,
    committed: Vec<Piece>,
    committed_left_out: Vec<Piece>,
}

impl AddressSpace {
    /// Finds what is alive in a process at a moment. Blocks that the index or the mask leave out are there, too, but not
    /// told apart.
    pub fn at(index: &Index, mask: &Mask, (process, at): (ProcessId, Ticks), cancel: &Cancel) -> Result<Self, Cancelled> {
        let trace = index.shared_trace();
        let Alive { trackers, heaps, left_out, committed, committed_left_out } = alive(index, mask, (process, at), cancel)?;
        let blocks = owned([trackers, heaps, left_out]);
        let committed = owned([committed, committed_left_out]);
        cancel.check()?;
        let mut moments = vec![Ticks::BEFORE_TRACE; trace.processes.len()];
        if let Some(moment) = moments.get_mut(process.0 as usize) {
            *moment = at;
        }
        let reserved = apart(ReservedRanges::at(trace, &moments).of(process));
        let used = joined(&blocks, &committed, |before, next| next / PAGE <= (before / PAGE).saturating_add(1));
        let mut space = Self { trace: Arc::clone(trace), blocks, committed, regions: Vec::new(), used };
        space.find_regions(&reserved, cancel)?;
        Ok(space)
    }

    /// The regions, by address.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    fn find_regions(&mut self, reserved: &[(u64, u64)], cancel: &Cancel) -> Result<(), Cancelled> {
        let mut ranges: Vec<(u64, u64, bool)> = reserved.iter().map(|&(first, last)| (first, last, true)).collect();
        let is_near = |before: u64, next: u64| {
            let behind = reserved.partition_point(|(first, _)| *first <= before);
            next - before <= NEAR && reserved.get(behind).is_none_or(|(first, _)| *first > next)
        };
        let runs = joined(&outside(&self.blocks, reserved), &outside(&self.committed, reserved), is_near);
        ranges.extend(runs.into_iter().map(|(first, last)| (first, last, false)));
        ranges.sort_unstable();
        let trace = Arc::clone(&self.trace);
        let bounds: Vec<(u64, u64)> = ranges.iter().map(|&(first, last, _)| (first, last)).collect();
        let found = sums(self, &bounds, &|site| trace.site(site).heap.0, cancel)?;
        let region = |((first, last, is_reserved), sums): ((u64, u64, bool), Sums)| Region {
            first,
            last,
            is_reserved,
            owner: sums.group.map(HeapId),
            sums,
        };
        self.regions = ranges.into_iter().zip(found).map(region).collect();
        Ok(())
    }
}

fn alive(index: &Index, mask: &Mask, (process, at): (ProcessId, Ticks), cancel: &Cancel) -> Result<Alive, Cancelled> {
    let trace = index.trace();
    let chosen = index.chosen();
    let (rows, deaths) = (Visit { rows: &trace.rows, chosen: None }, trace.last_deaths());
    let parts = rows.fold_chunks(&rows.born_before(at), cancel, Alive::default, |alive, visited| {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each_alive(deaths, at, |i| {
            if chunk.death(i) < at || chunk.birth(i) >= at {
                return;
            }
            let (row, site) = (chunk.id(i), sites[i]);
            let heap = trace.heap(trace.site(site).heap);
            if heap.process != process {
                return;
            }
            let is_shown = mask.classes(site) != 0 && chosen.is_none_or(|rows| rows.has(row));
            let list = match heap.layer {
                Layer::Commit if is_shown => &mut alive.committed,
                Layer::Commit => &mut alive.committed_left_out,
                _ if !is_shown => &mut alive.left_out,
                Layer::Tracker => &mut alive.trackers,
                Layer::Heap => &mut alive.heaps,
            };
            list.push(Piece::new((chunk.address(i), chunk.size(i)), row, if is_shown { site } else { LEFT_OUT }));
        });
    })?;
    Ok(parts.into_iter().fold(Alive::default(), Alive::joined))
}

impl Alive {
    fn joined(self, other: Self) -> Self {
        let join = |mut ours: Vec<Piece>, theirs: Vec<Piece>| {
            if ours.is_empty() {
                return theirs;
            }
            ours.extend(theirs);
            ours
        };
        Self {
            trackers: join(self.trackers, other.trackers),
            heaps: join(self.heaps, other.heaps),
            left_out: join(self.left_out, other.left_out),
            committed: join(self.committed, other.committed),
            committed_left_out: join(self.committed_left_out, other.committed_left_out),
        }
    }
}

/// Ranges in order without the parts that earlier ones have: before a rundown, ranges can overlap that the rundown reported and
/// that were reserved before it.
fn apart(ranges: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (first, last) in ranges {
        let end = all.last().map(|(_, end)| *end);
        if end.is_none_or(|end| end < last) {
            all.push((end.map_or(first, |end| first.max(end + 1)), last));
        }
    }
    all
}

/// The parts of pieces outside of some ranges, as pieces.
fn outside(pieces: &[Piece], ranges: &[(u64, u64)]) -> Vec<Piece> {
    let mut taken = Taken::new(ranges);
    let mut parts = Vec::new();
    for piece in pieces {
        taken.each_free((piece.first, piece.last()), |from, last| parts.push(piece.part(from, last)));
    }
    parts
}

/// The bytes of two lists of pieces as ranges in order; two of them are one if `is_one` says so of the last byte of one and the
/// first of the next.
fn joined(a: &[Piece], b: &[Piece], is_one: impl Fn(u64, u64) -> bool) -> Vec<(u64, u64)> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    loop {
        let is_a = match (a.peek(), b.peek()) {
            (Some(a), Some(b)) => a.first <= b.first,
            (None, None) => return ranges,
            (of_a, _) => of_a.is_some(),
        };
        let Some(piece) = (if is_a { a.next() } else { b.next() }) else { return ranges };
        match ranges.last_mut() {
            Some((_, last)) if piece.first <= *last || is_one(*last, piece.first) => *last = (*last).max(piece.last()),
            _ => ranges.push((piece.first, piece.last())),
        }
    }
}
