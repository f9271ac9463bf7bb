//! Applies many blocks at once: puts in place what a worker gathered from a slice of the records.
//!
//! That is done only if no block can touch anything that waits, or a limit, before the others; else
//! they are replayed one by one, with the same result.

use std::sync::Arc;

use super::Builder;
use crate::events::{Item, Place, Slice};
use crate::model::HeapId;
use crate::model::pairing::may_have_stack;
use crate::model::stretches::{SliceBlocks, Stretch};
use crate::units::Ticks;

/// The meaning of a slice's numbers, as far as it is known.
#[derive(Debug)]
struct SliceNames {
    /// Heaps by number, and when they were looked up; [`NO_HEAP`] for those that are not known.
    heaps: Arc<[HeapId]>,
    generation: u64,
    /// Places of threads, by number.
    threads: Vec<u16>,
}

const NO_HEAP: HeapId = HeapId(u32::MAX);

impl Builder {
    /// Gathers in workers what [`Builder::apply_slice`] needs of slices of the records.
    pub fn gatherer(&self) -> SliceBlocks {
        SliceBlocks::new(self.trace_start, self.lives.spread())
    }

    /// Applies the records of the next slice in time order.
    pub fn apply_slice(&mut self, slice: &Slice<SliceBlocks>) {
        self.attach.owed.expect(slice.owed());
        let order = slice.order();
        let mut names = SliceNames { heaps: Arc::default(), generation: self.world.generation(), threads: Vec::new() };
        let mut next = 0;
        for stretch in slice.made().stretches() {
            let blocks = stretch.order();
            self.apply_each(slice, &order[next..blocks.start]);
            next = blocks.end;
            if !self.apply_stretch(slice, stretch, &mut names) {
                self.apply_each(slice, &order[blocks]);
            }
        }
        self.apply_each(slice, &order[next..]);
    }

    fn apply_each(&mut self, slice: &Slice<SliceBlocks>, places: &[Place]) {
        for &place in places {
            let (item, stack) = slice.item(place);
            self.apply_item(item, stack);
        }
    }

    /// Applies all blocks of a stretch, if that can be done at once; returns whether it was done.
    fn apply_stretch(&mut self, slice: &Slice<SliceBlocks>, stretch: &Stretch, names: &mut SliceNames) -> bool {
        let blocks = slice.made();
        let is_usual = stretch.first >= self.now
            && self.attach.waits_for_none(stretch)
            && self.lives.takes_stretches(stretch.first)
            && self.admits_stretch(stretch.len());
        if !is_usual || !self.find_names(blocks, stretch, names) {
            return false;
        }
        let steps = (blocks.steps(), std::array::from_fn(|shard| stretch.steps(shard)));
        let rows = (&blocks.rows, stretch.begun());
        let numbering = self.lives.follow_stretch(rows, &names.threads, stretch.freed(), steps, &names.heaps);
        for latest in blocks.latest(stretch) {
            let (heap, thread) = (names.heaps[usize::from(latest.actor)], blocks.threads()[usize::from(latest.thread)]);
            self.lives.latest.set(heap, thread, numbering.row_of(latest.rank));
        }
        self.note_last(slice, stretch);
        let (attach, mut rooms) = self.attach();
        attach.follow_stretch(&mut rooms, slice, stretch, &numbering);
        self.now = Ticks::from_raw(stretch.last, self.trace_start);
        self.admitted(stretch.len());
        true
    }

    /// Notes that the threads of events at the last tick of a stretch have written at it, stacks and
    /// definitions apart.
    fn note_last(&mut self, slice: &Slice<SliceBlocks>, stretch: &Stretch) {
        let places = &slice.order()[stretch.order()];
        let writer = |place: &Place| match slice.item(*place).0 {
            Item::Block(block) => Some((block.time, block.tid)),
            Item::Record(record) => may_have_stack(&record.event).then_some((record.time, record.tid)),
        };
        let Some((last, _)) = places.iter().rev().find_map(writer) else { return };
        let earlier = places.partition_point(|place| place.time() < last);
        for (time, tid) in places[earlier..].iter().filter_map(writer) {
            if time == last {
                self.attach.note(time, tid);
            }
        }
    }

    /// Finds the meaning of a stretch's numbers that did not occur before in its slice; `false` if one
    /// is not known.
    fn find_names(&mut self, blocks: &SliceBlocks, stretch: &Stretch, names: &mut SliceNames) -> bool {
        let threads = &blocks.threads()[names.threads.len()..stretch.threads as usize];
        for thread in threads {
            let Some(place) = self.lives.rows.place_of_thread(*thread) else { return false };
            names.threads.push(place);
        }
        if names.generation != self.world.generation() {
            (names.heaps, names.generation) = (Arc::default(), self.world.generation());
        }
        let actors = &blocks.actors()[..stretch.actors as usize];
        let is_unknown = |number: usize| names.heaps.get(number).is_none_or(|&heap| heap == NO_HEAP);
        if (0..actors.len()).any(is_unknown) {
            let find = |(number, &(pid, layer, handle)): (usize, &_)| match is_unknown(number) {
                true => self.world.find_heap(pid, layer, handle).unwrap_or(NO_HEAP),
                false => names.heaps[number],
            };
            names.heaps = actors.iter().enumerate().map(find).collect();
        }
        names.heaps.iter().enumerate().all(|(number, &heap)| heap != NO_HEAP || !stretch.has(number))
    }
}
