//! The block that each thread allocated last in each NT heap, within one batch.
//!
//! Cost: a comparison and a store an allocation. If threads share a place, a block that leaves it goes
//! to a list, in which the latest of a thread counts.

/// Most steps, or blocks, that are searched for what happened before a realloc.
pub(super) const LOOK_BACK: usize = 64;

const PLACES_BITS: u32 = 6;

/// A block that begins in a batch: numbers of its actor and its thread in the slice, and its rank.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::model) struct LatestBlock {
    pub(in crate::model) actor: u16,
    pub(in crate::model) thread: u16,
    pub(in crate::model) rank: u32,
}

/// The latest blocks of a slice; the latest of the open batch are in `places`.
#[derive(Clone, Debug, Default)]
pub(super) struct LatestOfSlice {
    /// Blocks in their order: if there are several of a thread and heap, the last one counts.
    list: Vec<LatestBlock>,
    places: Places,
}

#[derive(Clone, Debug)]
struct Places {
    blocks: [LatestBlock; 1 << PLACES_BITS],
    /// A bit for each place that is taken.
    taken: u64,
}

impl Default for Places {
    fn default() -> Self {
        Self { blocks: [LatestBlock::default(); 1 << PLACES_BITS], taken: 0 }
    }
}

impl LatestOfSlice {
    /// Notes that a block begins.
    #[inline(always)]
    pub(super) fn set(&mut self, block: LatestBlock) {
        let place = place_of(block.actor, block.thread);
        let there = &mut self.places.blocks[place];
        let is_taken = self.places.taken >> place & 1 != 0;
        if is_taken && (there.actor, there.thread) != (block.actor, block.thread) {
            self.list.push(*there);
        }
        *there = block;
        self.places.taken |= 1 << place;
    }

    /// Rank of the latest block of a thread in the open batch, whose blocks stand behind `first` in
    /// the list; `None` if it is not known.
    pub(super) fn of(&self, first: u32, actor: u16, thread: u16) -> Option<u32> {
        let place = place_of(actor, thread);
        let placed = (self.places.taken >> place & 1 != 0).then_some(&self.places.blocks[place]);
        let left = self.list[first as usize..].iter().rev().take(LOOK_BACK);
        let mut known = placed.into_iter().chain(left);
        known.find(|block| (block.actor, block.thread) == (actor, thread)).map(|block| block.rank)
    }

    /// Ends the batch: moves its blocks to the list.
    pub(super) fn end_batch(&mut self) {
        let mut taken = std::mem::take(&mut self.places.taken);
        while taken != 0 {
            self.list.push(self.places.blocks[taken.trailing_zeros() as usize]);
            taken &= taken - 1;
        }
    }

    pub(super) fn list(&self) -> &[LatestBlock] {
        &self.list
    }

    pub(super) fn len(&self) -> u32 {
        self.list.len() as u32
    }

    pub(super) fn truncate(&mut self, len: u32) {
        self.list.truncate(len as usize);
        self.places.taken = 0;
    }
}

#[inline(always)]
fn place_of(actor: u16, thread: u16) -> usize {
    (u32::from(actor) << 16 | u32::from(thread)).wrapping_mul(0x9E37_79B9) as usize >> (u32::BITS - PLACES_BITS)
}
