//! The stacks of a whole stretch: what its lists say is told to rows and frees by groups,
//! all look-ups of a group being begun before the first is needed.
//!
//! While a stretch is followed nothing else comes, so that nobody waits for what comes with
//! it, but for keys that are given after its last record, or after one that defines a key.

use super::frees::RecentFree;
use super::keyed::KeyOwner;
use super::{Attach, Ended, Origin, Rooms, StackRef, Waiting};
use crate::events::{Event, Frames, Item, Place, Record, Slice};
use crate::model::lives::{BlockChange, EndedRow, Numbering, RankedBlock};
use crate::model::stack::{KeyPlace, WholePlace};
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

    /// Raw time, thread, and what was ended.
    fn recent(&self, bare: &BareBlock) -> RecentFree {
        (bare.time, bare.tid, self.ended(bare.ranked))
    }
}

fn begins(block: RankedBlock) -> bool {
    block.change == BlockChange::Begins
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
            let mut places = [KeyPlace::default(); TOGETHER];
            places.iter_mut().zip(keyed).for_each(|(place, keyed)| *place = self.stacks.place_of_key(keyed.key));
            let end = first + keyed.len() as u32;
            let mut left = (keyed, &places[..keyed.len()]);
            while let Some(definition) = definitions.next_if(|definition| definition.keyed <= end) {
                let before = (definition.keyed - first) as usize;
                let ((keyed, behind), (places, places_behind)) = (left.0.split_at(before), left.1.split_at(before));
                self.define_in_stretch(rooms, definition, (keyed, places), followed);
                (left, first) = ((behind, places_behind), definition.keyed);
            }
            // Before the next definition, wherever that is, nothing else is defined.
            let last = definitions.peek().map_or(stretch.last, |next| followed.slice.order()[next.order as usize].time());
            self.give_keyed(rooms, left, last, followed);
            first = end;
        }
        for definition in definitions {
            self.define_in_stretch(rooms, definition, Default::default(), followed);
        }
    }

    /// A key is defined, behind blocks with keys.
    fn define_in_stretch(
        &mut self,
        rooms: &mut Rooms<'_>,
        definition: &Definition,
        before: (&[KeyedBlock], &[KeyPlace]),
        followed: Followed<'_>,
    ) {
        let place = followed.slice.order()[definition.order as usize];
        let (item, stack) = followed.slice.item(place);
        self.give_keyed(rooms, before, place.time(), followed);
        if let Item::Record(&Record { event: Event::StackDefinition { part, key, .. }, .. }) = item {
            self.define(rooms, part, key, stack.frames(), place.time());
        }
    }

    /// Blocks whose key may be given until a raw time, before it is defined anew, and where the keys
    /// were found.
    fn give_keyed(
        &mut self,
        rooms: &mut Rooms<'_>,
        (blocks, places): (&[KeyedBlock], &[KeyPlace]),
        last: i64,
        followed: Followed<'_>,
    ) {
        for (&KeyedBlock { key, given, block }, &place) in blocks.iter().zip(places) {
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

    fn give_framed(&mut self, rooms: &mut Rooms<'_>, blocks: &[FramedBlock], followed: Followed<'_>) {
        let mut places = [WholePlace::default(); TOGETHER];
        places.iter_mut().zip(blocks).for_each(|(place, framed)| *place = self.stacks.place_of_whole(framed.digest));
        for (framed, &place) in blocks.iter().zip(&places) {
            let FramedBlock { digest, block, .. } = *framed;
            if begins(block.ranked) {
                let heap = followed.heap(block.ranked);
                let known = self.stacks.site_of_whole(place, digest, heap);
                let site = known.unwrap_or_else(|| {
                    self.framed_site(heap, followed.frames(framed), rooms.world.heap(heap).process, followed.time(block))
                });
                rooms.lives.rows.set_site(followed.row(block.ranked), site);
            } else {
                let stack = self.stacks.frames(followed.frames(framed));
                self.tell_freed(rooms, followed.ended(block.ranked), stack, Pid::NONE, followed.time(block));
            }
        }
    }

    /// A stack may still come for blocks that began without one.
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
            rooms.lives.rows.set_site(row, site);
            let freed = freed.map(|rank| vec![Ended { heap, row: EndedRow::In(followed.numbering.slot_of(rank)) }]);
            let waiting = Waiting::new(row.0..row.0 + 1, false).freeing(freed.unwrap_or_default());
            self.pending.add(time, tid, waiting);
        }
    }
}
