//! Counts the bytes that are allocated, and the most that ever were since a worker
//! last asked.
#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Workers that measure.
pub const WORKERS: usize = 2;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAKS: [AtomicUsize; WORKERS] = [const { AtomicUsize::new(0) }; WORKERS];

/// The system's allocator, counted.
pub struct Counted;

/// Begins a measurement: what is allocated now.
pub fn begin(worker: usize) -> usize {
    let now = NOW.load(Relaxed);
    PEAKS[worker].store(now, Relaxed);
    now
}

/// The most that was allocated since [`begin`] of this worker, by all threads.
pub fn peak(worker: usize) -> usize {
    PEAKS[worker].load(Relaxed)
}

fn grown(by: usize) {
    let now = NOW.fetch_add(by, Relaxed).wrapping_add(by);
    for peak in &PEAKS {
        peak.fetch_max(now, Relaxed);
    }
}

// SAFETY: every call is handed on to the system's allocator as it came; counting
// touches nothing but atomic numbers.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promises are those that the system's allocator wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grown(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
}
