#![doc = include_str!("../README.md")]
#![no_std]

#[cfg(any(feature = "std", test))]
extern crate std;

use core::alloc::{GlobalAlloc, Layout};

#[cfg(all(feature = "live", any(windows, test)))]
mod live;
#[cfg(any(windows, test))]
mod provider;
#[cfg(all(windows, not(test)))]
#[path = "windows.rs"]
mod system;
// A stand-in for ETW, on every system.
#[cfg(all(feature = "live", test))]
mod live_tests;
#[cfg(not(any(windows, test)))]
#[path = "nothing.rs"]
mod provider;
#[cfg(test)]
#[path = "standin.rs"]
mod system;
#[cfg(test)]
mod tests;

use provider::Open;

/// A named tracker: the blocks of one allocator, arena or subsystem.
///
/// It opens at its first event that a session listens to, and closes when it is dropped: its blocks then count as freed.
pub struct Tracker {
    name: &'static str,
    open: Open,
}

impl Tracker {
    /// Creates a tracker, usually as a `static`. Of the name 259 UTF-16 units count.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, open: Open::new() }
    }

    /// Creates a tracker with a name of the moment, which is copied.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let tracker = Self::new("");
        tracker.open.now(name);
        tracker
    }

    /// Tells of a block after the inner allocation. Null is passed over: an allocation that failed.
    #[inline(always)]
    pub fn on_alloc(&self, block: *const u8, size: usize) {
        if !provider::is_quiet() {
            provider::alloc(&self.open, self.name, block as usize, size);
        }
    }

    /// Tells of a free before the inner free: after it another thread may already have got the block.
    #[inline(always)]
    pub fn on_free(&self, block: *const u8) {
        if !provider::is_quiet() {
            provider::free(&self.open, self.name, block as usize);
        }
    }

    /// Tells of a block that was resized and may have moved, for allocators whose old block no other thread can get
    /// before this call. Others tell of a free before, and of an allocation after.
    #[inline(always)]
    pub fn on_realloc(&self, old: *const u8, block: *const u8, size: usize) {
        if !provider::is_quiet() {
            provider::realloc(&self.open, self.name, old as usize, block as usize, size);
        }
    }
}

impl core::fmt::Debug for Tracker {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tracker").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether a session listens: for callers to whom a block's size costs something.
#[inline]
#[must_use]
pub fn is_on() -> bool {
    provider::is_on()
}

/// Takes the provider back, before the library that contains this is unloaded. Nothing is told any more.
pub fn unregister() {
    provider::unregister();
}

/// An allocator in front of another one, whose blocks belong to a tracker.
#[derive(Debug)]
pub struct Tracked<A> {
    tracker: Tracker,
    inner: A,
}

#[cfg(feature = "std")]
impl Tracked<std::alloc::System> {
    /// Tracks the system's allocator.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self::wrap(name, std::alloc::System)
    }
}

impl<A> Tracked<A> {
    /// Tracks any allocator.
    #[must_use]
    pub const fn wrap(name: &'static str, inner: A) -> Self {
        Self { tracker: Tracker::new(name), inner }
    }

    /// The tracker of all blocks.
    pub const fn tracker(&self) -> &Tracker {
        &self.tracker
    }
}

// SAFETY: all memory is the inner allocator's; telling of it touches no block, and allocates nothing from this allocator.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Tracked<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { self.inner.alloc(layout) };
        self.tracker.on_alloc(block, layout.size());
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { self.inner.alloc_zeroed(layout) };
        self.tracker.on_alloc(block, layout.size());
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.tracker.on_free(block);
        // SAFETY: the caller's promise.
        unsafe { self.inner.dealloc(block, layout) }
    }

    /// Two events: inside the inner allocator another thread may get the old block.
    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.tracker.on_free(block);
        // SAFETY: the caller's promise.
        let new = unsafe { self.inner.realloc(block, layout, size) };
        if new.is_null() {
            self.tracker.on_alloc(block, layout.size()); // it stays
        } else {
            self.tracker.on_alloc(new, size);
        }
        new
    }
}
