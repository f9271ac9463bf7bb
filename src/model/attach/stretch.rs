//! The stacks of a whole stretch: what its lists say is told to rows and frees by groups,
//! all look-ups of a group being begun before the first is needed.
//!
//! While a stretch is followed nothing else comes, so that nobody waits for what comes with
//! it, but for keys that are given after its last record, or after one that defines a key.

use super::frees::RecentFree;
use super::keyed::KeyOwner;
use super::{Attach, Ended, Origin, Rooms, StackRef, Waiting};
use crate::events::{Event, Frames, Item, Place, Record, Slice};
use crate::model::lives::{BlockChange, EndedRow, Numbering};
use crate::model::stretches::{BareBlock, Definition, FramedBlock, KeyedBlock, ListedBlock, SliceBlocks, Stretch};
use crate::model::{HeapId, RowId, SiteId};
use crate::units::{Pid, Ticks, Tid};

/// So many look-ups are begun together.
const TOGETHER: usize = 128;

/// A stretch that is followed, and what its numbers stand for.
#[derive(Clone, Copy)]
struct Followed<'a> {
    slice: &'a Slice<SliceBlocks>,
    numbering: &'a Numbering,
    trace_start: i64,
}

impl Followed<'_> {
    fn heap(&self, block: ListedBlock) -> HeapId {
        self.numbering.heap(block.ranked)
    }

    fn row(&self, block: ListedBlock) -> RowId {
        self.numbering.row(block.ranked)
    }

    fn ended(&self, block: ListedBlock) -> Ended {
        Ended { heap: self.heap(block), row: EndedRow::In(self.numbering.slot(block.ranked)) }
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

    /// Raw time, thread, and what was ended.
    fn recent(&self, bare: &BareBlock) -> RecentFree {
        let place = self.place(bare.block);
        (place.time(), self.slice.thread(place), self.ended(bare.block))
    }
}

fn begins(block: ListedBlock) -> bool {
    block.ranked.change == BlockChange::Begins
}

impl Attach {
    /// Whether no event waits for what an event of a block can bring.
    pub(in crate::model) fn waits_for_none(&self) -> bool {
        self.held.is_empty() && self.early.is_empty() && self.fragments.is_empty()
    }

    /// The blocks of a stretch have the stacks that came with them; others wait for theirs.
    pub(in crate::model) fn follow_stretch(
        &mut self,
        rooms: &mut Rooms<'_>,
        slice: &Slice<SliceBlocks>,
        stretch: &Stretch,
        numbering: &Numbering,
    ) {
        let (blocks, followed) = (slice.made(), Followed { slice, numbering, trace_start: self.trace_start });
        self.follow_keys(rooms, stretch, followed);
        if !blocks.framed(stretch).is_empty() {
            self.settle_framed(rooms); // sites are numbered as they come
        }
        for framed in blocks.framed(stretch).chunks(TOGETHER) {
            self.give_framed(rooms, framed, followed);
        }
        self.await_bare(rooms, blocks.bare(stretch), followed);
        self.frees.await_stacks(blocks.freed_bare(stretch), |bare| followed.recent(bare));
    }

    /// Keys are given, and defined.
    fn follow_keys(&mut self, rooms: &mut Rooms<'_>, stretch: &Stretch, followed: Followed<'_>) {
        let blocks = followed.slice.made();
        let mut definitions = blocks.definitions(stretch).iter().peekable();
        let mut first = stretch.from.keyed;
        for keyed in blocks.keyed(stretch).chunks(TOGETHER) {
            let touched = keyed.iter().fold(0, |sum, keyed| sum ^ self.stacks.touch_key(keyed.key));
            std::hint::black_box(touched);
            let end = first + keyed.len() as u32;
            let mut left = keyed;
            while let Some(definition) = definitions.next_if(|definition| definition.keyed <= end) {
                let (before, behind) = left.split_at((definition.keyed - first) as usize);
                self.define_in_stretch(rooms, definition, before, followed);
                (left, first) = (behind, definition.keyed);
            }
            // Before the next definition, wherever that is, nothing else is defined.
            let last = definitions.peek().map_or(stretch.last, |next| followed.slice.order()[next.order as usize].time());
            self.give_keyed(rooms, left, last, followed);
            first = end;
        }
        for definition in definitions {
            self.define_in_stretch(rooms, definition, &[], followed);
        }
    }

    /// A key is defined, behind blocks with keys.
    fn define_in_stretch(
        &mut self,
        rooms: &mut Rooms<'_>,
        definition: &Definition,
        before: &[KeyedBlock],
        followed: Followed<'_>,
    ) {
        let place = followed.slice.order()[definition.order as usize];
        let (item, stack) = followed.slice.item(place);
        self.give_keyed(rooms, before, place.time(), followed);
        if let Item::Record(&Record { event: Event::StackDefinition { part, key, .. }, .. }) = item {
            self.define(rooms, part, key, stack.frames(), place.time());
        }
    }

    /// Blocks whose key may be given until a raw time, before it is defined anew.
    fn give_keyed(&mut self, rooms: &mut Rooms<'_>, blocks: &[KeyedBlock], last: i64, followed: Followed<'_>) {
        for &KeyedBlock { key, given, block } in blocks {
            let owner = match begins(block) {
                true => KeyOwner::Began(followed.row(block)),
                false => KeyOwner::Freed(followed.ended(block).row),
            };
            let whose = (followed.heap(block), owner);
            if given > last {
                let from = Origin { raw: last, time: followed.time(block), pid: Pid::NONE, tid: Tid::NONE };
                self.await_meaning(rooms, from, whose, key, given);
            } else {
                self.give_key(rooms, whose, key, given, || followed.time(block));
            }
        }
    }

    fn give_framed(&mut self, rooms: &mut Rooms<'_>, blocks: &[FramedBlock], followed: Followed<'_>) {
        let touched = blocks.iter().fold(0, |sum, framed| sum ^ self.stacks.touch_whole(followed.frames(framed)));
        std::hint::black_box(touched);
        for framed in blocks {
            let (block, frames) = (framed.block, followed.frames(framed));
            if begins(block) {
                let heap = followed.heap(block);
                let site = self.framed_site(heap, frames, rooms.world.heap(heap).process, followed.time(block));
                rooms.lives.rows.set_site(followed.row(block), site);
            } else {
                let stack = self.stacks.frames(frames);
                self.tell_freed(rooms, followed.ended(block), stack, Pid::NONE, followed.time(block));
            }
        }
    }

    /// A stack may still come for blocks that began without one.
    fn await_bare(&mut self, rooms: &mut Rooms<'_>, blocks: &[BareBlock], followed: Followed<'_>) {
        let mut latest: Option<(HeapId, SiteId)> = None;
        for &BareBlock { block, freed } in blocks {
            let heap = followed.heap(block);
            let site = match latest {
                Some((known, site)) if known == heap => site,
                _ => self.site(heap, StackRef::NONE, rooms.world.heap(heap).process, followed.time(block)),
            };
            latest = Some((heap, site));
            let row = followed.row(block);
            rooms.lives.rows.set_site(row, site);
            let freed = freed.map(|rank| vec![Ended { heap, row: EndedRow::In(followed.numbering.slot_of(rank)) }]);
            let waiting = Waiting::new(row.0..row.0 + 1, false).freeing(freed.unwrap_or_default());
            let place = followed.place(block);
            self.pending.add(place.time(), followed.slice.thread(place), waiting);
        }
    }
}
