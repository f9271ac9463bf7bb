//! Slabs: ranges of pages that are divided into slots of one size.
//!
//! A block goes to the lowest free slot of the oldest slab of its class that has one. A slab without blocks is given back.

use std::collections::BTreeSet;

use super::allocator::{Place, Request, Spaces};
use crate::query::PAGE;
use crate::tables::KeyedMap;

/// A class of blocks: the bytes of its slots, and of its slabs, which hold at least one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Class {
    pub(super) slot: u64,
    pub(super) slab: u64,
}

/// Slabs that share their slots: process, pool and class.
type Key = (u32, u32, Class);

/// The slabs of a model.
#[derive(Default, Debug)]
pub(super) struct Slabs {
    /// Slabs by their space.
    slabs: KeyedMap<u64, Slab>,
    /// Spaces of the slabs with free slots.
    open: KeyedMap<Key, BTreeSet<u64>>,
    pages: u128,
}

#[derive(Debug)]
struct Slab {
    /// A bit for each slot that is free.
    free: Box<[u64]>,
    /// Number of words of `free` at the beginning that have no bit.
    full_words: usize,
    used: u32,
    /// Number of blocks on each page.
    blocks: Box<[u16]>,
}

impl Slabs {
    /// Returns the place of a new block of a class.
    pub(super) fn allocate(&mut self, request: &Request, class: Class, spaces: &mut Spaces) -> Place {
        let open = self.open.entry((request.process, request.group, class)).or_default();
        let space = open.first().copied().unwrap_or_else(|| {
            let space = spaces.open();
            open.insert(space);
            space
        });
        let slab = self.slabs.entry(space).or_insert_with(|| Slab::new(class));
        let first = slab.take() * class.slot;
        if slab.is_full() {
            open.remove(&space);
        }
        self.pages += slab.touch(first, request.needed()) as u128;
        Place { space, first }
    }

    /// Frees a block of a class.
    pub(super) fn free(&mut self, request: &Request, class: Class, place: Place) {
        let Some(slab) = self.slabs.get_mut(&place.space) else { return };
        self.pages -= slab.leave(place.first, request.needed()) as u128;
        slab.give(place.first / class.slot);
        let key = (request.process, request.group, class);
        let open = self.open.entry(key).or_default();
        open.insert(place.space);
        if slab.used == 0 {
            self.slabs.remove(&place.space);
            open.remove(&place.space);
        }
        if open.is_empty() {
            self.open.remove(&key);
        }
    }

    pub(super) fn pages(&self) -> u128 {
        self.pages
    }
}

impl Slab {
    fn new(class: Class) -> Self {
        let slots = (class.slab / class.slot) as usize;
        let mut free = vec![u64::MAX; slots.div_ceil(64)].into_boxed_slice();
        if let (Some(last), true) = (free.last_mut(), !slots.is_multiple_of(64)) {
            *last = (1 << (slots % 64)) - 1;
        }
        let blocks = vec![0; class.slab.div_ceil(PAGE) as usize].into_boxed_slice();
        Self { free, full_words: 0, used: 0, blocks }
    }

    fn is_full(&self) -> bool {
        self.full_words == self.free.len()
    }

    /// Takes the lowest free slot. There must be one.
    fn take(&mut self) -> u64 {
        let word = self.full_words;
        let slot = self.free[word].trailing_zeros();
        self.free[word] &= self.free[word] - 1;
        self.full_words += self.free[word..].iter().take_while(|word| **word == 0).count();
        self.used += 1;
        word as u64 * 64 + u64::from(slot)
    }

    fn give(&mut self, slot: u64) {
        let word = (slot / 64) as usize;
        self.free[word] |= 1 << (slot % 64);
        self.full_words = self.full_words.min(word);
        self.used -= 1;
    }

    /// Counts a block on its pages; returns the number of pages that it is the first on.
    fn touch(&mut self, first: u64, bytes: u64) -> usize {
        let pages = self.pages_of(first, bytes);
        pages.iter_mut().for_each(|blocks| *blocks += 1);
        pages.iter().filter(|blocks| **blocks == 1).count()
    }

    /// Removes a block from its pages; returns the number of pages that it was the last on.
    fn leave(&mut self, first: u64, bytes: u64) -> usize {
        let pages = self.pages_of(first, bytes);
        pages.iter_mut().for_each(|blocks| *blocks -= 1);
        pages.iter().filter(|blocks| **blocks == 0).count()
    }

    fn pages_of(&mut self, first: u64, bytes: u64) -> &mut [u16] {
        &mut self.blocks[(first / PAGE) as usize..=((first + (bytes - 1)) / PAGE) as usize]
    }
}
