//! From a checkpoint to the edge of an interval: each birth and death in between
//! moves its row from one class to another. With `G` as in [`super::table`], first
//! the left edge moves with the right one standing still, then the right one; every
//! event is looked at once, and the sums are exact whatever the order.

use std::ops::Range;

use super::order::{Order, Place, by_chunk};
use super::table::Table;
use super::words::{Slot, Word};
use crate::model::{CHUNK, RowId, SiteId, Trace};
use crate::query::LifetimeClass;
use crate::units::Ticks;

/// What the classes of each site change by, in the words of their sums; in all much
/// smaller than the answer, so that it mostly stays near the processor.
#[derive(Debug)]
pub(super) struct Changes {
    pub(super) narrow: Vec<[u32; 4]>,
    pub(super) wide: Vec<[u64; 4]>,
    pub(super) full: Vec<[[u64; 2]; 4]>,
}

impl Changes {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.narrow.fill(Default::default());
        self.wide.fill(Default::default());
        self.full.fill(Default::default());
    }

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.narrow.capacity() * 16 + self.wide.capacity() * 32 + self.full.capacity() * 64
    }
}

/// Rows of one strip beside a checkpoint, and what they mean for the classes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shift {
    /// The left edge moves; the right one is at this tick.
    Left(Ticks),
    /// The right edge moves; the left one is at this tick.
    Right(Ticks),
    /// An empty interval moves as a whole.
    Both,
}

/// The class that a row is added to, and the class that it is taken from, as their
/// numbers: chosen without a branch, for which of two it is is pure chance.
type Move = (u8, u8);

const AIFI: u8 = LifetimeClass::Aifi as u8;
const AIFO: u8 = LifetimeClass::Aifo as u8;
const AOFI: u8 = LifetimeClass::Aofi as u8;
const AOFO: u8 = LifetimeClass::Aofo as u8;
/// No class.
const NONE: u8 = 4;

impl Shift {
    /// What a birth means that the edge passes.
    #[inline]
    fn birth(self, death: Ticks) -> Move {
        match self {
            Self::Left(right) => {
                let dies = u8::from(death < right);
                (AOFO - dies * (AOFO - AOFI), AIFO - dies * (AIFO - AIFI))
            }
            Self::Right(_) => (AIFO, NONE),
            Self::Both => (AOFO, NONE),
        }
    }

    /// What a death means that the edge passes.
    #[inline]
    fn death(self, born_before: bool) -> Move {
        match self {
            Self::Left(_) => (NONE, AOFI),
            Self::Right(_) => {
                let before = u8::from(born_before);
                (AIFI + before * (AOFI - AIFI), AIFO + before * (AOFO - AIFO))
            }
            Self::Both => (NONE, AOFO),
        }
    }
}

#[inline]
fn shift<W: Word>(cell: &mut [W; 4], (to, from): Move, size: u64) {
    if let Some(word) = cell.get_mut(to as usize) {
        *word = word.plus(W::row(size));
    }
    if let Some(word) = cell.get_mut(from as usize) {
        *word = word.minus(W::row(size));
    }
}

/// Moves of rows that are gathered, so that the processor can look for the places of
/// many at once.
struct Moves<'a> {
    slots: &'a [Slot],
    changes: &'a mut Changes,
    back: bool,
    list: Vec<(SiteId, Move, u64)>,
}

/// Moves gathered at a time.
const GATHERED: usize = 128;

impl Moves<'_> {
    #[inline]
    fn put(&mut self, site: SiteId, way: Move, size: u64) {
        if self.list.len() == GATHERED {
            self.carry_out();
        }
        self.list.push((site, way, size));
    }

    fn carry_out(&mut self) {
        let mut slots = [Slot::None; GATHERED];
        for (slot, (site, ..)) in slots.iter_mut().zip(&self.list) {
            *slot = self.slots[site.0 as usize];
        }
        for (slot, (_, (to, from), size)) in slots.into_iter().zip(self.list.drain(..)) {
            let way = if self.back { (from, to) } else { (to, from) };
            match slot {
                Slot::None => {}
                Slot::Narrow(at) => shift(&mut self.changes.narrow[at as usize], way, size),
                Slot::Wide(at) => shift(&mut self.changes.wide[at as usize], way, size),
                Slot::Full(at) => shift(&mut self.changes.full[at as usize], way, size),
            }
        }
    }
}

/// A part of a shift that one worker does at a time.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    shift: Shift,
    back: bool,
    events: Events,
}

#[derive(Clone, Debug)]
enum Events {
    /// Births in order, by row number, inside one chunk.
    Births(Range<u32>),
    /// Births out of order.
    Late(Range<u32>),
    Deaths(Range<u32>),
}

/// Deaths that are put into the order of rows together.
const DEATHS_A_PIECE: u32 = 1 << 18;

impl Piece {
    /// All pieces of the way of an edge from one place to another.
    pub(super) fn of(shift: Shift, from: Place, to: Place, pieces: &mut Vec<Self>) {
        let back = from.birth > to.birth || from.late > to.late || from.death > to.death;
        let (low, high) = if back { (to, from) } else { (from, to) };
        let mut add = |events| pieces.push(Self { shift, back, events });
        by_chunk(low.birth, high.birth).for_each(|range| add(Events::Births(range)));
        if low.late < high.late {
            add(Events::Late(low.late..high.late));
        }
        let mut at = low.death;
        while at < high.death {
            let end = at.saturating_add(DEATHS_A_PIECE).min(high.death);
            add(Events::Deaths(at..end));
            at = end;
        }
    }

    /// Adds its events to the changes of their sites.
    pub(super) fn add_to(&self, trace: &Trace, order: &Order, table: &Table, changes: &mut Changes) {
        let rows = &trace.rows;
        let mut moves = Moves { slots: &table.slots, changes, back: self.back, list: Vec::with_capacity(GATHERED) };
        match self.events.clone() {
            Events::Births(range) => {
                let chunk = rows.chunk(range.start as usize / CHUNK);
                let first = chunk.first().0;
                for at in (range.start - first) as usize..(range.end - first) as usize {
                    if !order.late.has(chunk.id(at)) {
                        moves.put(chunk.sites()[at], self.shift.birth(chunk.death(at)), chunk.size(at));
                    }
                }
            }
            Events::Late(range) => {
                for &id in &rows.out_of_order()[range.start as usize..range.end as usize] {
                    moves.put(rows.site(id), self.shift.birth(rows.death(id)), rows.size(id));
                }
            }
            Events::Deaths(range) => self.deaths(trace, order, range, &mut moves),
        }
        moves.carry_out();
    }

    fn deaths(&self, trace: &Trace, order: &Order, range: Range<u32>, moves: &mut Moves<'_>) {
        let rows = &trace.rows;
        // Where the left edge lies among the rows, so that births need no look.
        let left = match self.shift {
            Shift::Right(t) => Some((t, order.place(rows, t).birth)),
            _ => None,
        };
        let is_before = |id: RowId| match left {
            Some((t, _)) if order.late.has(id) => rows.birth(id) < t,
            Some((_, first)) => id.0 < first,
            None => true,
        };
        let ids = &super::order::deaths(rows)[range.start as usize..range.end as usize];
        for id in in_row_order(ids, rows.len()) {
            moves.put(rows.site(id), self.shift.death(is_before(id)), rows.size(id));
        }
    }
}

/// Rows that stand close together.
const NEAR: u32 = 12;

/// The same rows, those close together side by side: to look at rows here and there
/// in all of memory costs several times as much.
fn in_row_order(ids: &[RowId], rows: usize) -> Vec<RowId> {
    let bucket = |id: RowId| (id.0 >> NEAR) as usize;
    let mut next = vec![0u32; (rows >> NEAR) + 2];
    ids.iter().for_each(|&id| next[bucket(id) + 1] += 1);
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    let mut ordered = vec![RowId(0); ids.len()];
    for &id in ids {
        let place = &mut next[bucket(id)];
        ordered[*place as usize] = id;
        *place += 1;
    }
    ordered
}
