//! Births and deaths between two positions of the event order, one by one in time order.
//!
//! Rows are read in batches, so that many cache misses of deaths overlap: dead rows are stored in birth order and thus
//! scattered.

use super::order::{EventPosition, in_row_order};
use crate::model::{CHUNK, RowId, Rows, SiteId};
use crate::query::{Cancel, Cancelled, RowSet};
use crate::units::Ticks;

/// The group of rows that are not wanted.
pub(super) use crate::query::line_tree::NOBODY;

/// Kind of an item, which also determines the list that its place refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Birth,
    /// A birth out of order.
    Late,
    Death,
}

/// A birth or a death.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) at: Ticks,
    /// Bytes allocated (positive) or freed (negative).
    pub(super) delta: i64,
    /// The number that `pick` returned for the row.
    pub(super) of: u32,
    /// Row number of a birth in order, else index in the list of its kind.
    pub(super) place: u32,
    pub(super) kind: Kind,
}

/// Number of births read at once.
const BATCH: usize = 512;

/// Number of deaths read at once: enough that rows stored close together are read together, and few enough to fit into
/// the cache.
const DEATHS: u32 = 1 << 15;

/// Items of one kind that were read and not consumed yet.
#[derive(Debug)]
struct Batch {
    items: Vec<Item>,
    head: usize,
}

impl Batch {
    fn new() -> Self {
        Self { items: Vec::new(), head: 0 }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.head == self.items.len()
    }

    fn clear(&mut self) {
        self.items.clear();
        self.items.reserve(BATCH);
        self.head = 0;
    }

    #[inline]
    fn at(&self) -> Ticks {
        self.items.get(self.head).map_or(Ticks::NEVER, |item| item.at)
    }
}

/// Reads births and deaths for which `pick` returns a number. `pick` gets the row, its site, and whether the item is
/// its birth.
pub(super) struct Feed<'a, P> {
    rows: &'a Rows,
    pick: &'a P,
    /// The only rows that count, if not all do; other rows are not read.
    wanted: Option<&'a RowSet>,
    next: EventPosition,
    end: EventPosition,
    births: Batch,
    late: Batch,
    deaths: Batch,
    dead: Vec<(RowId, u32)>,
}

impl Item {
    const NOBODY: Self = Self { at: Ticks::NEVER, delta: 0, of: NOBODY, place: 0, kind: Kind::Death };
}

impl<'a, P: Fn(RowId, SiteId, bool) -> u32> Feed<'a, P> {
    pub(super) fn new(rows: &'a Rows, pick: &'a P, wanted: Option<&'a RowSet>) -> Self {
        let (next, end) = Default::default();
        Self { rows, pick, wanted, next, end, births: Batch::new(), late: Batch::new(), deaths: Batch::new(), dead: Vec::new() }
    }

    /// Calls `each` with all items between two positions in time order; items of one tick come in any order.
    pub(super) fn run(
        &mut self,
        (from, to): (EventPosition, EventPosition),
        cancel: &Cancel,
        mut each: impl FnMut(&Item),
    ) -> Result<(), Cancelled> {
        (self.next, self.end) = (from, to);
        [&mut self.births, &mut self.late, &mut self.deaths].into_iter().for_each(Batch::clear);
        loop {
            self.fill();
            cancel.check()?;
            match (self.births.is_empty(), self.late.is_empty(), self.deaths.is_empty()) {
                (true, true, true) => return Ok(()),
                (false, true, true) => drain(&mut self.births, &mut each),
                (true, true, false) => drain(&mut self.deaths, &mut each),
                (true, false, true) => drain(&mut self.late, &mut each),
                (false, true, false) => merge(&mut self.births, &mut self.deaths, &mut each),
                (_, false, _) => self.run_late(&mut each),
            }
        }
    }

    /// Processes items as long as births out of order are pending.
    fn run_late(&mut self, each: &mut impl FnMut(&Item)) {
        while !self.late.is_empty() && !self.others_may_come() {
            let (birth, late, death) = (self.births.at(), self.late.at(), self.deaths.at());
            let next = if birth <= death && birth <= late {
                &mut self.births
            } else if death <= late {
                &mut self.deaths
            } else {
                &mut self.late
            };
            each(&next.items[next.head]);
            next.head += 1;
        }
    }

    /// Returns whether births or deaths that are not read yet may come first.
    fn others_may_come(&self) -> bool {
        self.births.is_empty() && self.next.birth < self.end.birth || self.deaths.is_empty() && self.next.death < self.end.death
    }

    fn fill(&mut self) {
        while self.births.is_empty() && self.next.birth < self.end.birth {
            self.fill_births();
        }
        while self.deaths.is_empty() && self.next.death < self.end.death {
            self.fill_deaths();
        }
        while self.late.is_empty() && self.next.late < self.end.late {
            self.fill_late();
        }
    }

    fn fill_births(&mut self) {
        self.births.clear();
        let chunk = self.rows.chunk(self.next.birth as usize / CHUNK);
        let first = chunk.first().0;
        let to = self.end.birth.min(first + chunk.len() as u32).min(self.next.birth.saturating_add(BATCH as u32));
        let all_in_order = !chunk.has_out_of_order();
        let places = (self.next.birth - first) as usize..(to - first) as usize;
        let (items, pick) = (&mut self.births.items, self.pick);
        let mut look = |at: usize| {
            if !all_in_order && chunk.is_out_of_order(at) {
                return;
            }
            let id = chunk.id(at);
            let of = pick(id, chunk.sites()[at], true);
            if of != NOBODY {
                let (at, delta) = (chunk.birth(at), chunk.size(at) as i64);
                items.push(Item { at, delta, of, place: id.0, kind: Kind::Birth });
            }
        };
        match self.wanted {
            Some(wanted) => wanted.each_of_chunk(self.next.birth as usize / CHUNK, places, look),
            None => places.for_each(&mut look),
        }
        self.next.birth = to;
    }

    fn fill_deaths(&mut self) {
        self.deaths.clear();
        let to = self.end.death.min(self.next.death.saturating_add(DEATHS));
        self.dead.resize((to - self.next.death) as usize, (RowId(0), 0));
        let (mut place, mut count) = (self.next.death, 0);
        for part in self.rows.by_death().parts(self.next.death..to) {
            for (&id, place) in part.iter().zip(place..) {
                // Whether a row is wanted is unpredictable, so unwanted rows are skipped without a branch.
                self.dead[count] = (id, place);
                count += usize::from(self.wanted.is_none_or(|wanted| wanted.has(id)));
            }
            place += part.len() as u32;
        }
        self.dead.truncate(count);
        self.deaths.items.resize(self.dead.len(), Item::NOBODY);
        for (id, i) in in_row_order(self.dead.iter().map(|&(id, _)| id)) {
            let of = (self.pick)(id, self.rows.site(id), false);
            if of != NOBODY {
                let (at, delta) = (self.rows.death(id), -(self.rows.size(id) as i64));
                let place = self.dead[i as usize].1;
                self.deaths.items[i as usize] = Item { at, delta, of, place, kind: Kind::Death };
            }
        }
        self.deaths.items.retain(|item| item.of != NOBODY);
        self.next.death = to;
    }

    fn fill_late(&mut self) {
        self.late.clear();
        let to = self.end.late.min(self.next.late.saturating_add(BATCH as u32));
        let is_wanted = |id: RowId| self.wanted.is_none_or(|wanted| wanted.has(id));
        for (id, place) in self.rows.out_of_order().range(self.next.late..to).zip(self.next.late..) {
            if !is_wanted(id) {
                continue;
            }
            let of = (self.pick)(id, self.rows.site(id), true);
            if of != NOBODY {
                let (at, delta) = (self.rows.birth(id), self.rows.size(id) as i64);
                self.late.items.push(Item { at, delta, of, place, kind: Kind::Late });
            }
        }
        self.next.late = to;
    }
}

/// Processes all remaining items of a batch.
fn drain(batch: &mut Batch, each: &mut impl FnMut(&Item)) {
    batch.items[batch.head..].iter().for_each(each);
    batch.head = batch.items.len();
}

/// Processes the items of both batches in time order, until one batch is empty.
fn merge(a: &mut Batch, b: &mut Batch, each: &mut impl FnMut(&Item)) {
    let (left, right) = (&a.items[a.head..], &b.items[b.head..]);
    let (mut i, mut j) = (0, 0);
    while let (Some(first), Some(second)) = (left.get(i), right.get(j)) {
        // Which item is next is unpredictable, so it is chosen without a branch.
        let takes_left = first.at <= second.at;
        each(if takes_left { first } else { second });
        i += usize::from(takes_left);
        j += usize::from(!takes_left);
    }
    (a.head, b.head) = (a.head + i, b.head + j);
}
