//! Arenas: each block goes behind the one before, at a multiple of 16 bytes. Nothing of an arena is given back before its last
//! block is freed; then all of it is, and the next block of the same arena begins a new one.

use super::allocator::{Allocator, Place, Request, Spaces};
use crate::query::PAGE;
use crate::tables::KeyedMap;

/// Bytes to whose multiples blocks are aligned.
const ALIGNMENT: u64 = 16;

/// An arena for each process and group.
#[derive(Default, Debug)]
pub(super) struct Arenas {
    arenas: KeyedMap<(u32, u32), Arena>,
    spaces: Spaces,
    pages: u128,
}

#[derive(Debug)]
struct Arena {
    space: u64,
    /// End of the last block. Addresses end at 2^64, and so does a block that would run beyond.
    end: u64,
    blocks: u32,
}

impl Arena {
    /// Number of pages up to the end.
    fn pages(&self) -> u128 {
        u128::from(self.end.div_ceil(PAGE))
    }
}

impl Allocator for Arenas {
    fn allocate(&mut self, request: &Request) -> Place {
        let spaces = &mut self.spaces;
        let new = || Arena { space: spaces.open(), end: 0, blocks: 0 };
        let arena = self.arenas.entry((request.process, request.group)).or_insert_with(new);
        self.pages -= arena.pages();
        let first = arena.end.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
        arena.end = first.saturating_add(request.needed());
        arena.blocks += 1;
        self.pages += arena.pages();
        Place { space: arena.space, first }
    }

    fn free(&mut self, request: &Request, _: Place) {
        let key = (request.process, request.group);
        let Some(arena) = self.arenas.get_mut(&key) else { return };
        arena.blocks -= 1;
        if arena.blocks == 0 {
            self.pages -= arena.pages();
            self.arenas.remove(&key);
        }
    }

    fn pages(&self) -> u128 {
        self.pages
    }
}
