//! The interface of a model of an allocator.

/// A request for memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// Number of the process.
    pub(super) process: u32,
    /// Number of the pool or arena, if the model has several.
    pub(super) group: u32,
    /// Address at which the recorded program got the block.
    pub(super) address: u64,
    /// Requested bytes.
    pub(super) size: u64,
}

impl Request {
    /// The bytes that decide where the block fits: a block without bytes needs a place, too.
    pub(super) fn needed(&self) -> u64 {
        self.size.max(1)
    }
}

/// The place of a block: an address space of the model, and the first byte in it. Pages of different spaces are different.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) space: u64,
    pub(super) first: u64,
}

/// A model of an allocator.
pub(super) trait Allocator {
    /// Returns the place of a new block.
    fn allocate(&mut self, request: &Request) -> Place;

    /// Frees a block, by its request and place.
    fn free(&mut self, request: &Request, place: Place);

    /// Returns the number of touched pages.
    fn pages(&self) -> u128;
}

/// Numbers for the address spaces of a model.
#[derive(Default, Debug)]
pub(super) struct Spaces(u64);

impl Spaces {
    /// Returns the number of a new space.
    pub(super) fn open(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}
