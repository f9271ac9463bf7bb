//! Allocators that tell blocks apart by size, as docs/what-if.md defines them.
//!
//! Sources: size classes of jemalloc from its manual (*Implementation notes*) and of mimalloc from `include/mimalloc/types.h`
//! of microsoft/mimalloc (`MI_SMALL_PAGE_SIZE`, `MI_MEDIUM_PAGE_SIZE` and the largest objects of each); buckets of the
//! low-fragmentation heap and sizes of the segment heap from M. V. Yason, *Windows 10 Segment Heap Internals* (2016).

use super::allocator::{Allocator, Place, Request, Spaces};
use super::gaps::Gaps;
use super::slabs::{Class, Slabs};
use crate::query::PAGE;

const KB: u64 = 1024;

/// The rules of an allocator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::query) enum Policy {
    /// The NT heap with its low-fragmentation heap.
    NtHeap,
    SegmentHeap,
    Mimalloc,
    Jemalloc,
    /// Pools with slots of the requested size.
    Pools,
}

/// Where a block of some size belongs.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// In a slot.
    Slot(Class),
    /// In a gap, of which it takes so many bytes.
    Gap(u64),
    /// In pages of its own.
    Own,
}

impl Policy {
    /// Returns the bytes that a block of some size takes.
    pub(in crate::query) fn taken(self, size: u64) -> u64 {
        match self.kind(size.max(1)) {
            Kind::Slot(class) => class.slot,
            Kind::Gap(bytes) => bytes,
            Kind::Own => size.max(1).div_ceil(PAGE).saturating_mul(PAGE),
        }
    }

    fn kind(self, size: u64) -> Kind {
        let slot = |slot, slab| Kind::Slot(Class { slot, slab });
        match self {
            Self::NtHeap => match size {
                ..=16_376 => slot(bucket(size + 8), 64 * KB),
                16_377..=520_192 => Kind::Gap((size + 8).next_multiple_of(16)),
                _ => Kind::Own,
            },
            Self::SegmentHeap => match size {
                ..=16_368 => slot(bucket(size), 64 * KB),
                16_369..=131_072 => Kind::Gap((size + 16).next_multiple_of(16)),
                _ => Kind::Own,
            },
            Self::Mimalloc => match size {
                ..=16_384 => slot(size_class(size), 64 * KB),
                16_385..=131_072 => slot(size_class(size), 512 * KB),
                _ => Kind::Own,
            },
            Self::Jemalloc => match size {
                ..=14_336 => slot(size_class(size), least_common_multiple(size_class(size), PAGE)),
                _ => Kind::Own,
            },
            Self::Pools => match size {
                ..=65_536 => slot(size.next_multiple_of(16), 64 * KB),
                _ => Kind::Own,
            },
        }
    }
}

/// The bytes of the low-fragmentation heap's bucket for some bytes, at most 16 KB.
fn bucket(bytes: u64) -> u64 {
    let step = match bytes {
        ..=1_024 => 16,
        1_025..=2_048 => 64,
        2_049..=4_096 => 128,
        4_097..=8_192 => 256,
        _ => 512,
    };
    bytes.next_multiple_of(step)
}

/// The size class for some bytes, at least 1: 8, the multiples of 16 up to 128, then four classes for each doubling.
fn size_class(bytes: u64) -> u64 {
    match bytes {
        ..=8 => 8,
        9..=128 => bytes.next_multiple_of(16),
        _ => bytes.next_multiple_of(1 << ((bytes - 1).ilog2() - 2)),
    }
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let common = 1 << a.trailing_zeros().min(b.trailing_zeros()); // one of both is a power of two
    a / common * b
}

/// An allocator with the rules of a policy.
#[derive(Debug)]
pub(super) struct Sized {
    policy: Policy,
    slabs: Slabs,
    gaps: Gaps,
    /// Pages of blocks that have theirs alone.
    own: u128,
    spaces: Spaces,
}

impl Sized {
    pub(super) fn new(policy: Policy) -> Self {
        Self { policy, slabs: Slabs::default(), gaps: Gaps::default(), own: 0, spaces: Spaces::default() }
    }
}

impl Allocator for Sized {
    fn allocate(&mut self, request: &Request) -> Place {
        match self.policy.kind(request.needed()) {
            Kind::Slot(class) => self.slabs.allocate(request, class, &mut self.spaces),
            Kind::Gap(length) => self.gaps.allocate(request, length, &mut self.spaces),
            Kind::Own => {
                self.own += u128::from(request.needed().div_ceil(PAGE));
                Place { space: self.spaces.open(), first: 0 }
            }
        }
    }

    fn free(&mut self, request: &Request, place: Place) {
        match self.policy.kind(request.needed()) {
            Kind::Slot(class) => self.slabs.free(request, class, place),
            Kind::Gap(length) => self.gaps.free(request, length, place),
            Kind::Own => self.own -= u128::from(request.needed().div_ceil(PAGE)),
        }
    }

    fn pages(&self) -> u128 {
        self.slabs.pages() + self.gaps.pages() + self.own
    }
}
