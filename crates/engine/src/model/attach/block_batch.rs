//! The stacks of a whole batch. Rows and frees get the stacks in its lists up to each batch event (a stack
//! that comes behind its event, a definition of a key, a sample or page fault), then that event is handled. Look-ups
//! are started in groups, before the first result is needed.
//!
//! While a batch is followed no other event comes, so nothing waits for stacks that come with it,
//! except for keys that are given after the next batch event.
//!
//! Nearly all batches can be followed by any thread, because they concern nothing but stacks and sites: see
//! [`LentAttach`](super::LentAttach).

use std::sync::Arc;

use super::frees::RecentFree;
use super::keyed::KeyOwner;
use super::{Attach, Ended, LentAttach, Origin, Rooms, StackRef, Waiting};
use crate::events::{Event, Frames, Item, Place, Record, Slice};
use crate::model::allocations::{BlockChange, EndedRow, Numbering, RankedBlock};
use crate::model::block_batches::{BareBlock, BlockBatch, FramedBlock, KeyedBlock, ListEnds, ListedBlock, SliceBlocks};
use crate::model::stack::{KeyPlace, SiteUser, WholePlace};
use crate::model::{HeapId, RowId, SiteId};
use crate::units::{Pid, Ticks, Tid};

/// Number of look-ups that are started together.
const TOGETHER: usize = 64;

/// A batch whose rows have numbers, to be followed, and how far it was.
#[derive(Debug)]
pub(in crate::model) struct NumberedBatch {
    slice: Arc<Slice<SliceBlocks>>,
    /// Its number in the slice.
    number: usize,
    numbering: Numbering,
    /// The batch events that were handled, and the parts of the lists.
    events: usize,
    done: ListEnds,
}

impl NumberedBatch {
    pub(in crate::model) fn new(slice: &Arc<Slice<SliceBlocks>>, number: usize, numbering: Numbering) -> Self {
        let done = slice.made().block_batches()[number].from.lists;
        Self { slice: Arc::clone(slice), number, numbering, events: 0, done }
    }

    fn block_batch(&self) -> &BlockBatch {
        &self.slice.made().block_batches()[self.number]
    }

    /// Whether CPU samples or page faults are among its events.
    pub(in crate::model) fn has_samples(&self) -> bool {
        self.block_batch().has_samples
    }

    /// Number of frames of its stacks.
    pub(in crate::model) fn frames(&self) -> u32 {
        self.block_batch().frames()
    }

    /// Number of its records.
    pub(in crate::model) fn len(&self) -> u32 {
        self.block_batch().len()
    }
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

impl LentAttach {
    /// Whether nothing waits for what an event of a batch can bring.
    pub(in crate::model) fn waits_for_none(&self, block_batch: &BlockBatch) -> bool {
        // They were lent when nothing waited, and a batch that is followed makes nothing wait.
        self.is_away() || (**self).waits_for_none(block_batch)
    }
}

impl Attach {
    /// Whether nothing waits for what an event of a batch can bring.
    fn waits_for_none(&self, block_batch: &BlockBatch) -> bool {
        // The kernel parts in it are those of samples and page faults, and no other event at the ticks of those has
        // one.
        let is_of_row = block_batch.has_kernel_parts
            && self.pending.latest_in_kernel().is_some_and(|raw| Ticks::from_raw(raw, self.trace_start) >= block_batch.first);
        self.held.is_empty() && self.early.is_empty() && self.fragments.is_empty() && !is_of_row
    }

    /// Gives the blocks of a batch the stacks that came with them; the others wait for theirs. Without the
    /// other rooms it stops before a batch event that concerns them; returns whether all was done.
    #[inline(never)] // scripts/bench.py counts it
    pub(in crate::model) fn follow(&mut self, batch: &mut NumberedBatch, mut rooms: Option<&mut Rooms<'_>>) -> bool {
        let slice = &*batch.slice;
        let block_batch = &slice.made().block_batches()[batch.number];
        let followed = Followed { slice, numbering: &batch.numbering, trace_start: self.trace_start };
        self.row_sites.extend_to(batch.numbering.row_of(block_batch.begun().end as u32).0 as usize);
        self.settle_framed(); // sites are numbered as they come
        for batch_event in &slice.made().batch_events(block_batch)[batch.events..] {
            let place = slice.order()[batch_event.order as usize];
            self.give_stacks(batch.done, batch_event.before, place.time(), followed);
            batch.done = batch_event.before;
            if let (Item::Record(record), stack) = slice.item(place)
                && !self.batch_event(rooms.as_deref_mut(), record, stack.frames())
            {
                return false;
            }
            batch.events += 1;
        }
        self.give_stacks(batch.done, block_batch.to.lists, block_batch.last, followed);
        self.note_last(slice, block_batch);
        true
    }

    /// Notes that the threads of events at the last tick of a batch have written at it, stacks and
    /// definitions apart.
    fn note_last(&mut self, slice: &Slice<SliceBlocks>, block_batch: &BlockBatch) {
        let places = &slice.order()[block_batch.order()];
        let writer = |place: &Place| match slice.item(*place).0 {
            Item::Block(block) => Some((block.time, block.tid)),
            Item::Record(record) => record.event.may_have_stack().then_some((record.time, record.tid)),
        };
        let Some((last, _)) = places.iter().rev().find_map(writer) else { return };
        let earlier = places.partition_point(|place| place.time() < last);
        for (time, tid) in places[earlier..].iter().filter_map(writer) {
            if time == last {
                self.note(time, tid);
            }
        }
    }

    /// Handles a batch event; `false` if it concerns other rooms, and these are not there.
    #[inline(never)]
    fn batch_event(&mut self, rooms: Option<&mut Rooms<'_>>, record: &Record, frames: Frames<'_>) -> bool {
        let &Record { time: raw, pid, tid, ref event } = record;
        if let Event::StackDefinition { part, key, .. } = *event {
            self.define(part, key, frames, raw);
            return true;
        }
        if self.stack_of_block_came(record, frames) {
            return true;
        }
        let Some(rooms) = rooms else { return false };
        let from = Origin { raw, time: Ticks::from_raw(raw, self.trace_start), pid, tid };
        match *event {
            Event::Sample { address, count } => self.sample(rooms, from, address, count),
            Event::Fault(fault) => self.fault(rooms, from, fault),
            _ => self.stack_came(rooms, from, record, frames),
        }
        true
    }

    /// Handles a part of the lists: blocks get the stacks that came with them, with keys given up to
    /// the raw time `last`, before any key is defined anew; the others wait.
    #[inline(always)]
    fn give_stacks(&mut self, from: ListEnds, to: ListEnds, last: i64, followed: Followed<'_>) {
        let blocks = followed.slice.made();
        if to.keyed > from.keyed {
            self.give_keyed(blocks.keyed(from.keyed..to.keyed), last, followed);
        }
        if to.framed > from.framed {
            self.give_framed(blocks.framed(from.framed..to.framed), followed);
        }
        if to.bare > from.bare {
            self.await_bare(blocks.bare(from.bare..to.bare), followed);
        }
        if to.freed_bare > from.freed_bare {
            self.frees.await_stacks(blocks.freed_bare(from.freed_bare..to.freed_bare), |bare| followed.recent(bare));
        }
    }

    fn give_keyed(&mut self, blocks: &[KeyedBlock], last: i64, followed: Followed<'_>) {
        for blocks in blocks.chunks(TOGETHER) {
            let mut places = [KeyPlace::default(); TOGETHER];
            for (place, keyed) in places.iter_mut().zip(blocks) {
                *place = self.stacks.place_of_key(keyed.key);
            }
            for (&place, &KeyedBlock { key, given, block }) in places.iter().zip(blocks) {
                let owner = match begins(block.ranked) {
                    true => KeyOwner::Began(followed.row(block.ranked)),
                    false => KeyOwner::Freed(followed.ended(block.ranked).row),
                };
                let whose = (followed.heap(block.ranked), owner);
                if given > last {
                    let from = Origin { raw: last, time: followed.time(block), pid: Pid::NONE, tid: Tid::NONE };
                    self.await_meaning(from, whose, key, given);
                } else {
                    self.give_key(whose, (key, place), given, || followed.time(block));
                }
            }
        }
    }

    fn give_framed(&mut self, blocks: &[FramedBlock], followed: Followed<'_>) {
        for blocks in blocks.chunks(TOGETHER) {
            let mut places = [WholePlace::default(); TOGETHER];
            for (place, framed) in places.iter_mut().zip(blocks) {
                *place = self.stacks.place_of_whole(framed.stack_hash);
            }
            for (&place, framed) in places.iter().zip(blocks) {
                self.give_frames(framed, place, followed);
            }
        }
    }

    #[inline(always)]
    fn give_frames(&mut self, framed: &FramedBlock, place: WholePlace, followed: Followed<'_>) {
        let FramedBlock { stack_hash, block, .. } = *framed;
        let (heap, is_new) = (followed.heap(block.ranked), begins(block.ranked));
        if !is_new && framed.frames.is_empty() {
            return; // an empty stack tells nothing
        }
        let user = if is_new { SiteUser::allocating(heap) } else { SiteUser::freeing(heap) };
        let known = self.stacks.site_of_whole(place, stack_hash, user);
        let site = known.unwrap_or_else(|| self.framed_site(user, followed.frames(framed), followed.time(block)));
        match is_new {
            true => self.row_sites.set(followed.row(block.ranked), site),
            false => self.tell_freeing_site(followed.ended(block.ranked).row, site),
        }
    }

    /// Makes blocks that began without a stack wait for one.
    fn await_bare(&mut self, blocks: &[BareBlock], followed: Followed<'_>) {
        let mut latest: Option<(HeapId, SiteId)> = None;
        for &BareBlock { ranked, time, tid, freed } in blocks {
            let (heap, at) = (followed.heap(ranked), Ticks::from_raw(time, self.trace_start));
            let site = match latest {
                Some((known, site)) if known == heap => site,
                _ => self.site(heap, StackRef::NONE, self.owner(heap), at),
            };
            latest = Some((heap, site));
            let row = followed.row(ranked);
            self.row_sites.set(row, site);
            let freed = freed.map(|rank| vec![Ended { heap, row: EndedRow::In(followed.numbering.slot_of(rank)) }]);
            self.pending.add(time, tid, Waiting::of_block(row, at, tid).freeing(freed.unwrap_or_default()));
        }
    }
}
