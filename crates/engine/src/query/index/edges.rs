//! Sums of an interval, computed from moments with known sums and the births and deaths between those moments and the
//! interval's edges. Each change is exact by itself, in any order.
//!
//! A row is a point with two coordinates: its birth and its death. The sums of an interval from a to b are those of
//! four regions. `L(i, j)`, the rows born before i that are alive at j, is the region left of i and above j:
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
//! To move a corner of `L` to the requested edge takes one strip upwards or downwards and one to the left or right. The
//! other coordinate decides which rows of a strip belong to the region:
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
//! A strip that reaches over checkpoints is cut at them: where the other coordinate is beyond the next checkpoint, only the
//! rows that outlive the strip between checkpoints count ([`super::outliving`]).
//!
//! Cost: one sequential access per event to its birth or its death slot. Only events that change a sum cost more, since
//! their sums are scattered in memory.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::checkpoints::{Checkpoints, Moment};
use super::order::{EventPosition, by_chunk};
use super::outliving::{Outliving, each_in_row_order, keep_born_before};
use super::words::{Full, Word};
use crate::model::{CHUNK, SiteId, Trace};
use crate::query::{Cancel, Cancelled};
use crate::units::Ticks;

/// Changes of the sums of each site, in words wide enough for all sites.
#[derive(Debug)]
pub(super) enum SumChanges {
    Wide(ChangeColumns<u64>),
    Full(ChangeColumns<Full>),
}

/// Changes by site, in four columns: rows born between the edges, rows alive at the left and at the right edge, and
/// rows alive throughout the interval.
#[derive(Debug)]
pub(super) struct ChangeColumns<W>([Vec<W>; 4]);

/// Indices of the columns.
const BORN: usize = 0;
const ALIVE: [usize; 2] = [1, 2];
const THROUGH: usize = 3;

impl<W: Word> ChangeColumns<W> {
    pub(super) fn new(sites: usize) -> Self {
        Self(std::array::from_fn(|_| vec![W::default(); sites]))
    }

    /// Adds the changes of one site to its sums: born before the edges, alive at them, alive throughout.
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

    /// Resets all changes to 0.
    pub(super) fn clear(&mut self) {
        match self {
            Self::Wide(columns) => columns.clear(),
            Self::Full(columns) => columns.clear(),
        }
    }

    /// Returns the bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Wide(columns) => columns.heap_bytes(),
            Self::Full(columns) => columns.heap_bytes(),
        }
    }
}

/// The events that turn sums at known moments into those of an interval.
pub(super) struct EdgeWalk<'a> {
    /// The checkpoints at which strips are cut, if there are any, and the rows that are alive at them.
    strips: Option<(&'a Checkpoints, &'a Outliving)>,
    pieces: Vec<WalkPiece>,
}

/// The moments whose sums are known, from which a walk starts towards the two edges of an interval.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// Moments whose rows born before them are known.
    pub(super) born: [Moment; 2],
    /// Moments whose rows alive at them are known.
    pub(super) alive: [Moment; 2],
    /// Moments between which the rows alive throughout are known.
    pub(super) through: (Moment, Moment),
}

/// A part of a walk, processed by one worker.
#[derive(Clone, Debug)]
struct WalkPiece {
    events: EdgeEvents,
    /// Whether only rows that outlive the strip between checkpoints count.
    outliving: bool,
    column: usize,
    takes: bool,
}

#[derive(Clone, Debug)]
enum EdgeEvents {
    /// Births in order, by row number inside one chunk, of rows that die at this tick or later (if given).
    Births(Range<u32>, Option<Ticks>),
    /// Births out of order, of rows that die at this tick or later (if given).
    Late(Range<u32>, Option<Ticks>),
    /// Deaths of rows born before this moment (if given).
    Deaths(Range<u32>, Option<Moment>),
}

/// Number of deaths that are sorted into row order together.
const DEATHS_A_PIECE: u32 = 1 << 18;

/// Smallest number of events for which a second worker pays; must also exceed the number of sites, whose changes each
/// worker holds.
const WORTH_A_WORKER: usize = 1 << 13;

impl<'a> EdgeWalk<'a> {
    /// Plans the walk from known sums to those of `from` and `to`.
    pub(super) fn new(strips: Option<(&'a Checkpoints, &'a Outliving)>, known: Known, from: Moment, to: Moment) -> Self {
        let mut walk = Self { strips, pieces: Vec::new() };
        walk.births(known.born[0].1, from.1, None, (BORN, true));
        walk.births(known.born[1].1, to.1, None, (BORN, false));
        for ((known, edge), column) in known.alive.into_iter().zip([from, to]).zip(ALIVE) {
            walk.lasting((known, known), (edge, edge), column);
        }
        walk.lasting(known.through, (from, to), THROUGH);
        walk
    }

    /// Walks all events and returns the changes; each worker returns a part of them.
    pub(super) fn run(
        &self,
        trace: &Trace,
        no_changes: impl Fn() -> SumChanges + Sync,
        cancel: &Cancel,
    ) -> Result<Vec<SumChanges>, Cancelled> {
        let worth = WORTH_A_WORKER.max(trace.sites.len()) as u64;
        let workers = rayon::current_num_threads().min((self.events() / worth) as usize + 1);
        let next = AtomicUsize::new(0);
        let outliving = self.strips.map(|(_, outliving)| outliving);
        let work = |_| {
            let mut changes = no_changes();
            while let Some(piece) = self.pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                cancel.check()?; // a half-finished result is dropped
                piece.add_to(trace, outliving.filter(|_| piece.outliving), &mut changes);
            }
            Ok(changes)
        };
        (0..workers).into_par_iter().map(work).collect()
    }

    /// Returns the approximate number of events.
    pub(super) fn events(&self) -> u64 {
        let length = |piece: &WalkPiece| match &piece.events {
            EdgeEvents::Births(range, _) | EdgeEvents::Late(range, _) | EdgeEvents::Deaths(range, _) => range.len() as u64,
        };
        self.pieces.iter().map(length).sum()
    }

    /// Adds the walk from rows born before i that are alive at j to rows born before a that are alive at b; `i <= j`
    /// and `a <= b`. The edges move one after the other, starting with the one that passes fewer rows.
    fn lasting(&mut self, (i, j): (Moment, Moment), (a, b): (Moment, Moment), column: usize) {
        let goes_back = a.1.is_before(i.1);
        let (before, until) = if goes_back { (a, j) } else { (i, b) };
        self.births(i.1, a.1, Some(until.0), (column, false));
        self.deaths(j.1, b.1, before, (column, true));
    }

    fn births(&mut self, from: EventPosition, to: EventPosition, until: Option<Ticks>, (column, takes): (usize, bool)) {
        let (low, high, takes) = if to.is_before(from) { (to, from, !takes) } else { (from, to, takes) };
        let mut add = |events, outliving| self.pieces.push(WalkPiece { events, outliving, column, takes });
        let mut at = low.birth;
        while at < high.birth {
            let (end, outlives) = match self.strips {
                None => (high.birth, false),
                Some((checkpoints, _)) => {
                    let (next, place) = checkpoints.at(checkpoints.strip_of_birth(at) + 1);
                    (place.birth.min(high.birth), until.is_some_and(|until| until >= next))
                }
            };
            by_chunk(at, end).for_each(|range| add(EdgeEvents::Births(range, until), outlives));
            at = end;
        }
        if low.late < high.late {
            add(EdgeEvents::Late(low.late..high.late, until), false);
        }
    }

    fn deaths(&mut self, from: EventPosition, to: EventPosition, before: Moment, (column, takes): (usize, bool)) {
        let (low, high, takes) = if to.is_before(from) { (to, from, !takes) } else { (from, to, takes) };
        let mut at = low.death;
        while at < high.death {
            let mut end = at.saturating_add(DEATHS_A_PIECE).min(high.death);
            let (mut outliving, mut before) = (false, Some(before));
            if let Some((checkpoints, _)) = self.strips {
                let strip = checkpoints.strip_of_death(at);
                end = end.min(checkpoints.at(strip + 1).1.death);
                let start = checkpoints.at(strip);
                outliving = before.is_some_and(|before| before.0 <= start.0);
                // What outlives a strip was born before the next one starts.
                before = before.filter(|&before| !outliving || before != start);
            }
            self.pieces.push(WalkPiece { events: EdgeEvents::Deaths(at..end, before), outliving, column, takes });
            at = end;
        }
    }
}

impl WalkPiece {
    /// Adds its events to the changes of their sites; if `outliving` is given, only the rows in it count.
    fn add_to(&self, trace: &Trace, outliving: Option<&Outliving>, changes: &mut SumChanges) {
        match changes {
            SumChanges::Wide(columns) => self.add_to_column(trace, outliving, &mut columns.0[self.column]),
            SumChanges::Full(columns) => self.add_to_column(trace, outliving, &mut columns.0[self.column]),
        }
    }

    fn add_to_column<W: Word>(&self, trace: &Trace, outliving: Option<&Outliving>, column: &mut [W]) {
        if self.takes {
            self.each(trace, outliving, |site, size| {
                let word = &mut column[site.0 as usize];
                *word = word.minus(W::row(size));
            });
        } else {
            self.each(trace, outliving, |site, size| {
                let word = &mut column[site.0 as usize];
                *word = word.plus(W::row(size));
            });
        }
    }

    /// Calls `put` for all rows of the piece.
    fn each(&self, trace: &Trace, outliving: Option<&Outliving>, mut put: impl FnMut(SiteId, u64)) {
        let rows = &trace.rows;
        match &self.events {
            EdgeEvents::Births(range, until) => {
                let chunk = rows.chunk(range.start as usize / CHUNK);
                let (first, sites) = (chunk.first().0, chunk.sites());
                let all_in_order = !chunk.has_out_of_order();
                let mut put_at = |at: usize| {
                    if all_in_order || !chunk.is_out_of_order(at) {
                        put(sites[at], chunk.size(at));
                    }
                };
                let places = (range.start - first) as usize..(range.end - first) as usize;
                match (outliving, until) {
                    (Some(outliving), &Some(until)) => outliving.births(&chunk, places, |at| {
                        if chunk.death(at) >= until {
                            put_at(at);
                        }
                    }),
                    (None, &Some(until)) => chunk.each_lasting(places, until, put_at),
                    (_, None) => places.for_each(put_at),
                }
            }
            EdgeEvents::Late(range, until) => {
                let ids = rows.out_of_order().range(range.clone());
                let lasting = ids.filter(|&id| until.is_none_or(|until| rows.death(id) >= until));
                lasting.for_each(|id| put(rows.site(id), rows.size(id)));
            }
            EdgeEvents::Deaths(range, before) => match outliving {
                Some(outliving) => outliving.deaths(rows, range.clone(), *before, put),
                None => {
                    let mut ids = rows.by_death().range(range.clone()).collect();
                    keep_born_before(rows, &mut ids, *before);
                    each_in_row_order(rows, &ids, put);
                }
            },
        }
    }
}
