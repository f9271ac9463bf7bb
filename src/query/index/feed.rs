//! Births and deaths between two places of the order, one by one in time.
//!
//! Rows are looked up in batches, so that the processor waits for many deaths at
//! once: they stand wherever they were born.

use super::bits::Bits;
use super::order::{Order, Place, deaths};
use crate::model::{CHUNK, RowId, Rows, SiteId};
use crate::units::Ticks;

/// For rows that nobody wants.
pub(in crate::query) const NOBODY: u32 = u32::MAX;

/// One birth or death.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) at: Ticks,
    /// Bytes that came, or went.
    pub(super) delta: i64,
    /// Whose: what `pick` said.
    pub(super) of: u32,
    /// Row number of a birth in order, else place in the list of its kind.
    place: u32,
}

/// Items of one kind that were looked up and not taken yet.
#[derive(Debug, Default)]
struct Batch {
    items: Vec<Item>,
    head: usize,
}

/// Items looked up at once.
const BATCH: usize = 512;
/// As many are in sight, if there are so many.
const IN_SIGHT: usize = 64;

impl Batch {
    #[inline]
    fn at(&self) -> Ticks {
        self.items.get(self.head).map_or(Ticks::NEVER, |item| item.at)
    }

    #[inline]
    fn len(&self) -> usize {
        self.items.len() - self.head
    }

    #[inline]
    fn take(&mut self) -> Option<Item> {
        let item = self.items.get(self.head).copied();
        self.head += 1;
        item
    }

    /// Makes room for more behind what is left.
    fn compact(&mut self) {
        self.items.drain(..self.head);
        self.head = 0;
    }

    /// Whether at least two items are in sight, all at one tick.
    fn is_all_at(&self, at: Ticks) -> bool {
        self.len() > 1 && self.items.last().is_some_and(|item| item.at == at)
    }
}

/// The births and deaths between two places for which `pick` names somebody.
/// `pick` is told the row, its site, and whether it is about its birth.
pub(super) struct Feed<'a, P> {
    rows: &'a Rows,
    order: &'a Order,
    pick: &'a P,
    /// Rows that `pick` can want, if that is known beforehand: spares looking at the others.
    wanted: Option<&'a Bits>,
    next: Place,
    end: Place,
    births: Batch,
    late: Batch,
    deaths: Batch,
}

impl<'a, P: Fn(RowId, SiteId, bool) -> u32> Feed<'a, P> {
    pub(super) fn new(rows: &'a Rows, order: &'a Order, (next, end): (Place, Place), pick: &'a P, wanted: Option<&'a Bits>) -> Self {
        let batch = Batch::default;
        Self { rows, order, pick, wanted, next, end, births: batch(), late: batch(), deaths: batch() }
    }

    /// The tick of the next item, [`Ticks::NEVER`] at the end. Looks ahead.
    pub(super) fn head(&mut self) -> Ticks {
        self.fill(IN_SIGHT);
        self.births.at().min(self.deaths.at()).min(self.late.at())
    }

    /// The next item if it is at `at`, which must be the head.
    #[inline]
    pub(super) fn next_at(&mut self, at: Ticks) -> Option<Item> {
        self.fill(1);
        if self.births.at() == at {
            return self.births.take();
        }
        if self.deaths.at() == at {
            return self.deaths.take();
        }
        if self.late.at() == at { self.late.take() } else { None }
    }

    /// Whether nothing but this tick is in sight, which is the head.
    pub(super) fn is_crowded(&self, at: Ticks) -> bool {
        self.births.is_all_at(at) || self.deaths.is_all_at(at) || self.late.is_all_at(at)
    }

    /// The place before the next item; only true if all rows are wanted.
    pub(super) fn place(&self) -> Place {
        let place = |batch: &Batch, next: u32| batch.items.get(batch.head).map_or(next, |item| item.place);
        Place {
            birth: place(&self.births, self.next.birth),
            late: place(&self.late, self.next.late),
            death: place(&self.deaths, self.next.death),
        }
    }

    #[inline]
    fn fill(&mut self, least: usize) {
        while self.births.len() < least && self.next.birth < self.end.birth {
            self.fill_births();
        }
        while self.deaths.len() < least && self.next.death < self.end.death {
            self.fill_deaths();
        }
        while self.late.len() < least && self.next.late < self.end.late {
            self.fill_late();
        }
    }

    #[cold]
    #[inline(never)]
    fn fill_births(&mut self) {
        self.births.compact();
        let chunk = self.rows.chunk(self.next.birth as usize / CHUNK);
        let first = chunk.first().0;
        let room = (BATCH - self.births.len()) as u32;
        let to = self.end.birth.min(first + chunk.len() as u32).min(self.next.birth + room);
        for at in (self.next.birth - first) as usize..(to - first) as usize {
            let id = chunk.id(at);
            if !self.order.late.is_empty() && self.order.late.has(id) {
                continue;
            }
            let of = (self.pick)(id, chunk.sites()[at], true);
            if of != NOBODY {
                self.births.items.push(Item { at: chunk.birth(at), delta: chunk.size(at) as i64, of, place: id.0 });
            }
        }
        self.next.birth = to;
    }

    #[cold]
    #[inline(never)]
    fn fill_deaths(&mut self) {
        self.deaths.compact();
        let room = (BATCH - self.deaths.len()) as u32;
        // A filter may leave few of many: then a longer stretch at a time.
        let stretch = if self.wanted.is_some() { 8 * room } else { room };
        let to = self.end.death.min(self.next.death.saturating_add(stretch));
        for place in self.next.death..to {
            let id = deaths(self.rows)[place as usize];
            if self.wanted.is_some_and(|wanted| !wanted.has(id)) {
                continue;
            }
            let of = (self.pick)(id, self.rows.site(id), false);
            if of != NOBODY {
                let delta = -(self.rows.size(id) as i64);
                self.deaths.items.push(Item { at: self.rows.death(id), delta, of, place });
            }
        }
        self.next.death = to;
    }

    #[cold]
    #[inline(never)]
    fn fill_late(&mut self) {
        self.late.compact();
        let room = (BATCH - self.late.len()) as u32;
        let to = self.end.late.min(self.next.late + room);
        for place in self.next.late..to {
            let id = self.rows.out_of_order()[place as usize];
            let of = (self.pick)(id, self.rows.site(id), true);
            if of != NOBODY {
                let delta = self.rows.size(id) as i64;
                self.late.items.push(Item { at: self.rows.birth(id), delta, of, place });
            }
        }
        self.next.late = to;
    }
}
