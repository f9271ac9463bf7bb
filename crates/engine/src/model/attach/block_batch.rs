//! The stacks of a whole batch. Rows and frees get the stacks in its lists up to each batch event (a stack
//! that comes behind its event, a definition of a key, a sample or page fault), then that event is handled. Look-ups
//! are started in groups, before the first result is needed.
//!
//! While a batch is followed no other event comes, so nothing waits for stacks that come with it,
//! except for keys that are given after the next batch event.

use std::ops::Range;

use super::frees::RecentFree;
use super::keyed::KeyOwner;
use super::{Attach, Ended, Origin, Rooms, StackRef, Waiting};
use crate::events::{Event, Frames, Item, Place, Record, Slice};
use crate::model::allocations::{BlockChange, EndedRow, Numbering, RankedBlock};
use crate::model::block_batches::{BareBlock, BlockBatch, FramedBlock, KeyedBlock, ListEnds, ListedBlock, SliceBlocks};
use crate::model::stack::{KeyPlace, SiteUser, WholePlace};
use crate::model::{HeapId, RowId, SiteId};
use crate::units::{Pid, Ticks, Tid};

/// Number of look-ups that are started together.
const TOGETHER: usize = 64;

/// Places of the keys or stacks that are needed next, by number in their list.
struct Places<P> {
    list: [P; TOGETHER],
    first: u32,
    end: u32,
    /// Length of the list.
    all: u32,
}

impl<P: Copy + Default> Places<P> {
    fn of(all: u32) -> Self {
        Self { list: [P::default(); TOGETHER], first: 0, end: 0, all }
    }

    /// The place of the entry with a number, which grows from call to call. If it was not looked up
    /// yet, it is, together with those behind it.
    #[inline(always)]
    fn get(&mut self, number: u32, look: impl FnMut(u32) -> P) -> P {
        if number >= self.end {
            (self.first, self.end) = (number, self.all.min(number.saturating_add(TOGETHER as u32)));
            self.list.iter_mut().zip((self.first..self.end).map(look)).for_each(|(place, found)| *place = found);
        }
        self.list[(number - self.first) as usize % TOGETHER]
    }
}

/// The places of the keys and of the stacks of a batch.
struct Found {
    keys: Places<KeyPlace>,
    whole: Places<WholePlace>,
}

/// A batch that is followed, and the meaning of its numbers.
#[derive(Clone, Copy)]
struct Followed<'a> {
    slice: &'a Slice<SliceBlocks>,
    numbering: &'a Numbering,
    trace_start: i64,
}

impl Followed<'_> {
    fn heap(&self, block: RankedBlock) -> HeapId {
        self.numbering.heap(block)
    }

    fn row(&self, block: RankedBlock) -> RowId {
        self.numbering.row(block)
    }

    fn ended(&self, block: RankedBlock) -> Ended {
        Ended { heap: self.heap(block), row: EndedRow::In(self.numbering.slot(block)) }
    }

    fn place(&self, block: ListedBlock) -> Place {
        self.slice.order()[block.order as usize]
    }

    fn time(&self, block: ListedBlock) -> Ticks {
        Ticks::from_raw(self.place(block).time(), self.trace_start)
    }

    fn frames(&self, framed: &FramedBlock) -> Frames<'_> {
        self.slice.frames(self.place(framed.block), framed.frames)
    }

    /// Raw time, thread, and the row that was ended.
    fn recent(&self, bare: &BareBlock) -> RecentFree {
        (bare.time, bare.tid, self.ended(bare.ranked))
    }
}

fn begins(block: RankedBlock) -> bool {
    block.change == BlockChange::Begins
}

impl Attach {
    /// Whether nothing waits for what an event of a batch can bring.
    pub(in crate::model) fn waits_for_none(&self, block_batch: &BlockBatch) -> bool {
        // The kernel parts in it are those of samples and page faults, and no other event at the ticks of those has
        // one.
        let is_of_row = block_batch.has_kernel_parts
            && self.pending.latest_in_kernel().is_some_and(|raw| Ticks::from_raw(raw, self.trace_start) >= block_batch.first);
        self.held.is_empty() && self.early.is_empty() && self.fragments.is_empty() && !is_of_row
    }

    /// Gives the blocks of a batch the stacks that came with them; the others wait for theirs.
    pub(in crate::model) fn follow_batch(
        &mut self,
        rooms: &mut Rooms<'_>,
        slice: &Slice<SliceBlocks>,
        block_batch: &BlockBatch,
        numbering: &Numbering,
    ) {
        let followed = Followed { slice, numbering, trace_start: self.trace_start };
        let (mut done, ends) = (block_batch.from.lists, block_batch.to.lists);
        if ends.framed > done.framed {
            self.settle_framed(rooms); // sites are numbered as they come
        }
        let mut found = Found { keys: Places::of(ends.keyed), whole: Places::of(ends.framed) };
        for batch_event in slice.made().batch_events(block_batch) {
            let place = slice.order()[batch_event.order as usize];
            self.give_stacks(rooms, done, batch_event.before, place.time(), &mut found, followed);
            done = batch_event.before;
            if let (Item::Record(record), stack) = slice.item(place) {
                self.batch_event(rooms, record, stack.frames());
            }
        }
        self.give_stacks(rooms, done, ends, block_batch.last, &mut found, followed);
    }

    #[inline(never)]
    fn batch_event(&mut self, rooms: &mut Rooms<'_>, record: &Record, frames: Frames<'_>) {
        let &Record { time: raw, pid, tid, ref event } = record;
        let from = Origin { raw, time: Ticks::from_raw(raw, self.trace_start), pid, tid };
        match *event {
            Event::StackDefinition { part, key, .. } => self.define(rooms, part, key, frames, raw),
            Event::Sample { address, count } => self.sample(rooms, from, address, count),
            Event::Fault(fault) => self.fault(rooms, from, fault),
            _ => self.stack_came(rooms, from, record, frames),
        }
    }

    /// Handles a part of the lists: blocks get the stacks that came with them, with keys given up to
    /// the raw time `last`, before any key is defined anew; the others wait.
    #[inline(always)]
    fn give_stacks(
        &mut self,
        rooms: &mut Rooms<'_>,
        from: ListEnds,
        to: ListEnds,
        last: i64,
        found: &mut Found,
        followed: Followed<'_>,
    ) {
        let blocks = followed.slice.made();
        if to.keyed > from.keyed {
            self.give_keyed(rooms, from.keyed..to.keyed, last, found, followed);
        }
        if to.framed > from.framed {
            self.give_framed(rooms, from.framed..to.framed, found, followed);
        }
        if to.bare > from.bare {
            self.await_bare(rooms, blocks.bare(from.bare..to.bare), followed);
        }
        if to.freed_bare > from.freed_bare {
            self.frees.await_stacks(blocks.freed_bare(from.freed_bare..to.freed_bare), |bare| followed.recent(bare));
        }
    }

    fn give_keyed(&mut self, rooms: &mut Rooms<'_>, range: Range<u32>, last: i64, found: &mut Found, followed: Followed<'_>) {
        let blocks = followed.slice.made();
        for (number, &KeyedBlock { key, given, block }) in range.clone().zip(blocks.keyed(range)) {
            let place = found.keys.get(number, |number| self.stacks.place_of_key(blocks.one_keyed(number).key));
            let owner = match begins(block.ranked) {
                true => KeyOwner::Began(followed.row(block.ranked)),
                false => KeyOwner::Freed(followed.ended(block.ranked).row),
            };
            let whose = (followed.heap(block.ranked), owner);
            if given > last {
                let from = Origin { raw: last, time: followed.time(block), pid: Pid::NONE, tid: Tid::NONE };
                self.await_meaning(rooms, from, whose, key, given);
            } else {
                self.give_key(rooms, whose, (key, place), given, || followed.time(block));
            }
        }
    }
    fn give_framed(&mut self, rooms: &mut Rooms<'_>, range: Range<u32>, found: &mut Found, followed: Followed<'_>) {
        let blocks = followed.slice.made();
        for (number, framed) in range.clone().zip(blocks.framed(range)) {
            let place = found.whole.get(number, |number| self.stacks.place_of_whole(blocks.one_framed(number).stack_hash));
            let FramedBlock { stack_hash, block, .. } = *framed;
            let (heap, is_new) = (followed.heap(block.ranked), begins(block.ranked));
            if !is_new && framed.frames.is_empty() {
                continue; // an empty stack tells nothing
            }
            let user = if is_new { SiteUser::allocating(heap) } else { SiteUser::freeing(heap) };
            let site = self.stacks.site_of_whole(place, stack_hash, user).unwrap_or_else(|| {
                self.framed_site(user, followed.frames(framed), rooms.world.heap(heap).process, followed.time(block))
            });
            match is_new {
                true => rooms.allocations.rows.set_site(followed.row(block.ranked), site),
                false => self.tell_freeing_site(rooms, followed.ended(block.ranked).row, site),
            }
        }
    }

    /// Makes blocks that began without a stack wait for one.
    fn await_bare(&mut self, rooms: &mut Rooms<'_>, blocks: &[BareBlock], followed: Followed<'_>) {
        let mut latest: Option<(HeapId, SiteId)> = None;
        for &BareBlock { ranked, time, tid, freed } in blocks {
            let heap = followed.heap(ranked);
            let site = match latest {
                Some((known, site)) if known == heap => site,
                _ => self.site(heap, StackRef::NONE, rooms.world.heap(heap).process, Ticks::from_raw(time, self.trace_start)),
            };
            latest = Some((heap, site));
            let row = followed.row(ranked);
            rooms.allocations.rows.set_site(row, site);
            let freed = freed.map(|rank| vec![Ended { heap, row: EndedRow::In(followed.numbering.slot_of(rank)) }]);
            let waiting = Waiting::new(row.0..row.0 + 1, false).freeing(freed.unwrap_or_default());
            self.pending.add(time, tid, waiting);
        }
    }
}
