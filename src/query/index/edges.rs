//! From moments whose sums are known to the edges of an interval: what the births and
//! deaths in between change of the sums. Each change is exact by itself, whatever the order.
//!
//! Each row is a point: when it was born, and when it dies. The sums of an interval from a to b
//! are those of four fields, and `L(i, j)`, the rows born before i that last until j, is all that
//! lies left of i and above j:
//!
//! ```text
//! dies
//!   │           │          │
//!   │ L(a,b) =  │          │ not
//!   │ AOFO      │ AIFO     │ born
//! b ┼───────────┼──────────┤ yet
//!   │ AOFI      │ AIFI     │
//! a ┼───────────┼──────────┘
//!   │ over      │
//!   └───────────┴──────────┴─── born
//!               a          b
//! ```
//!
//! A corner of `L` moves to the edge that is asked for by one strip upwards or downwards and
//! one to the left or right; whether rows of a strip belong to the field is told by their
//! other coordinate:
//!
//! ```text
//!   │ L(i,j)  ┊+++│        +++  born from i to a, die at b or later: put in
//! b ┼╌╌╌╌╌╌╌╌╌┊+++│
//!   │---------┊            ---  die from j to b, born before i: taken out
//! j ┼─────────┘
//!   └─────────┴───┴── born
//!             i   a
//! ```
//!
//! Cost: of most events a look at the birth or the death slot; only what changes a sum
//! costs more, for it stands anywhere in memory.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::checkpoints::Moment;
use super::order::{EventPosition, by_chunk, in_row_order};
use super::words::{Full, Word};
use crate::model::{CHUNK, RowId, SiteId, Trace};
use crate::query::{Cancel, Cancelled};
use crate::units::Ticks;

/// What the sums of each site change by, in words that hold those of all sites.
#[derive(Debug)]
pub(super) enum SumChanges {
    Wide(ChangeColumns<u64>),
    Full(ChangeColumns<Full>),
}

/// Changes of rows born between the edges, of those alive at the left and at the
/// right edge, and of those that live through the interval.
#[derive(Debug)]
pub(super) struct ChangeColumns<W>([Vec<W>; 4]);

/// Numbers of these columns.
const BORN: usize = 0;
const ALIVE: [usize; 2] = [1, 2];
const THROUGH: usize = 3;

impl<W: Word> ChangeColumns<W> {
    pub(super) fn new(sites: usize) -> Self {
        Self(std::array::from_fn(|_| vec![W::default(); sites]))
    }

    /// Adds the changes of one site to its sums: born before the edges, alive at
    /// them, living through.
    #[inline]
    pub(super) fn add_to(&self, site: usize, sums: &mut [W; 5]) {
        for (sum, column) in sums[1..].iter_mut().zip(&self.0) {
            *sum = sum.plus(column[site]);
        }
    }

    fn clear(&mut self) {
        self.0.iter_mut().for_each(|column| column.fill(W::default()));
    }

    fn heap_bytes(&self) -> usize {
        self.0.iter().map(|column| column.capacity() * size_of::<W>()).sum()
    }
}

impl SumChanges {
    pub(super) fn wide(&self) -> Option<&ChangeColumns<u64>> {
        if let Self::Wide(columns) = self { Some(columns) } else { None }
    }

    pub(super) fn full(&self) -> Option<&ChangeColumns<Full>> {
        if let Self::Full(columns) = self { Some(columns) } else { None }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        match self {
            Self::Wide(columns) => columns.clear(),
            Self::Full(columns) => columns.clear(),
        }
    }

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Wide(columns) => columns.heap_bytes(),
            Self::Full(columns) => columns.heap_bytes(),
        }
    }
}

/// How sums at known moments become those of an interval: by the events between.
pub(super) struct EdgeWalk {
    pieces: Vec<WalkPiece>,
}

/// A part of the way that one worker goes at a time.
#[derive(Clone, Debug)]
struct WalkPiece {
    events: EdgeEvents,
    column: usize,
    takes: bool,
}

#[derive(Clone, Debug)]
enum EdgeEvents {
    /// Births in order, by row number inside one chunk, of rows that die at a tick or later.
    Births(Range<u32>, Option<Ticks>),
    /// The same of births out of order.
    Late(Range<u32>, Option<Ticks>),
    /// Deaths of rows born before.
    Deaths(Range<u32>, Moment),
}

/// Deaths that are put into the order of rows together.
const DEATHS_A_PIECE: u32 = 1 << 18;

/// Fewer events than this are not worth a second worker, nor fewer than the sites
/// whose changes it would keep.
const WORTH_A_WORKER: usize = 1 << 13;

impl EdgeWalk {
    /// From sums of what is born before and alive at `edges`, and of what lives through
    /// `pair`, to those of `from` and `to`.
    pub(super) fn new([a, b]: [Moment; 2], pair: (Moment, Moment), from: Moment, to: Moment) -> Self {
        let mut walk = Self { pieces: Vec::new() };
        walk.births(a.1, from.1, None, (BORN, true));
        walk.births(b.1, to.1, None, (BORN, false));
        walk.lasting((a, a), (from, from), ALIVE[0]);
        walk.lasting((b, b), (to, to), ALIVE[1]);
        walk.lasting(pair, (from, to), THROUGH);
        walk
    }

    /// Goes all the way, and tells what changes; several workers have each a part of it.
    pub(super) fn run(
        &self,
        trace: &Trace,
        no_changes: impl Fn() -> SumChanges + Sync,
        cancel: &Cancel,
    ) -> Result<Vec<SumChanges>, Cancelled> {
        let worth = WORTH_A_WORKER.max(trace.sites.len()) as u64;
        let workers = rayon::current_num_threads().min((self.events() / worth) as usize + 1);
        let next = AtomicUsize::new(0);
        let work = |_| {
            let mut changes = no_changes();
            while let Some(piece) = self.pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                cancel.check()?; // what is half done is dropped
                piece.add_to(trace, &mut changes);
            }
            Ok(changes)
        };
        (0..workers).into_par_iter().map(work).collect()
    }

    /// About how many events there are.
    pub(super) fn events(&self) -> u64 {
        let length = |piece: &WalkPiece| match &piece.events {
            EdgeEvents::Births(range, _) | EdgeEvents::Late(range, _) | EdgeEvents::Deaths(range, _) => range.len() as u64,
        };
        self.pieces.iter().map(length).sum()
    }

    /// From the rows born before i that last until j to those born before a that last
    /// until b; `i <= j` and `a <= b`. One edge after the other moves, the one first
    /// that passes fewer of them.
    fn lasting(&mut self, (i, j): (Moment, Moment), (a, b): (Moment, Moment), column: usize) {
        let goes_back = a.1.is_before(i.1);
        let (before, until) = if goes_back { (a, j) } else { (i, b) };
        self.births(i.1, a.1, Some(until.0), (column, false));
        self.deaths(j.1, b.1, before, (column, true));
    }

    fn births(&mut self, from: EventPosition, to: EventPosition, until: Option<Ticks>, (column, takes): (usize, bool)) {
        let (low, high, takes) = if to.is_before(from) { (to, from, !takes) } else { (from, to, takes) };
        let mut add = |events| self.pieces.push(WalkPiece { events, column, takes });
        by_chunk(low.birth, high.birth).for_each(|range| add(EdgeEvents::Births(range, until)));
        if low.late < high.late {
            add(EdgeEvents::Late(low.late..high.late, until));
        }
    }

    fn deaths(&mut self, from: EventPosition, to: EventPosition, before: Moment, (column, takes): (usize, bool)) {
        let (low, high, takes) = if to.is_before(from) { (to, from, !takes) } else { (from, to, takes) };
        let mut at = low.death;
        while at < high.death {
            let end = at.saturating_add(DEATHS_A_PIECE).min(high.death);
            self.pieces.push(WalkPiece { events: EdgeEvents::Deaths(at..end, before), column, takes });
            at = end;
        }
    }
}

impl WalkPiece {
    /// Adds its events to the changes of their sites.
    fn add_to(&self, trace: &Trace, changes: &mut SumChanges) {
        match changes {
            SumChanges::Wide(columns) => self.add_to_column(trace, &mut columns.0[self.column]),
            SumChanges::Full(columns) => self.add_to_column(trace, &mut columns.0[self.column]),
        }
    }

    fn add_to_column<W: Word>(&self, trace: &Trace, column: &mut [W]) {
        if self.takes {
            self.each(trace, |site, size| {
                let word = &mut column[site.0 as usize];
                *word = word.minus(W::row(size));
            });
        } else {
            self.each(trace, |site, size| {
                let word = &mut column[site.0 as usize];
                *word = word.plus(W::row(size));
            });
        }
    }

    /// Tells `put` all rows.
    fn each(&self, trace: &Trace, mut put: impl FnMut(SiteId, u64)) {
        let rows = &trace.rows;
        match &self.events {
            EdgeEvents::Births(range, until) => {
                let chunk = rows.chunk(range.start as usize / CHUNK);
                let (first, sites) = (chunk.first().0, chunk.sites());
                let lasts = |at: usize| until.is_none_or(|until| chunk.death(at) >= until);
                let is_late = |at: usize| chunk.is_out_of_order(at);
                let places = (range.start - first) as usize..(range.end - first) as usize;
                places.filter(|&at| lasts(at) && !is_late(at)).for_each(|at| put(sites[at], chunk.size(at)));
            }
            EdgeEvents::Late(range, until) => {
                let ids = rows.out_of_order().range(range.clone());
                let lasting = ids.filter(|&id| until.is_none_or(|until| rows.death(id) >= until));
                lasting.for_each(|id| put(rows.site(id), rows.size(id)));
            }
            EdgeEvents::Deaths(range, (tick, before)) => {
                let is_before = |id: RowId| match rows.is_out_of_order(id) {
                    true => rows.birth(id) < *tick,
                    false => id.0 < before.birth,
                };
                let ids: Vec<RowId> = rows.by_death().range(range.clone()).filter(|&id| is_before(id)).collect();
                let near = in_row_order(ids.iter().copied());
                near.into_iter().for_each(|(id, _)| put(rows.site(id), rows.size(id)));
            }
        }
    }
}
