//! The table of live blocks, for sessions that start later: what a program allocated before, they hear at their start.
//!
//! A block takes one of [`TRIES`] places from that of its hash on, in the newest part of the table that has one; nothing ever
//! moves. Whoever changes a place or tells of it makes it busy first, so what a session hears of one block is in order, and each
//! session's start tells of it once. There is no lock of the table: threads wait for each other only over one place, as long as
//! one event is written, and never while a part is added.
//!
//! Memory: pages of the system, 32 bytes a place, in parts of which each has twice the places of the one before; the table grows
//! up to [`MOST_PARTS`] parts (67 million places, 2 GB) and never shrinks. Blocks that find no place are told to sessions that
//! listen, and not to later ones.

use core::mem::size_of;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::provider::{is_on, tell_alloc, tell_free, tell_realloc};
use crate::system;

/// Places of the first part, a power of two.
const FIRST_PLACES: usize = 4096;
const MOST_PARTS: usize = 14;
const TRIES: usize = 32;

/// States of a place. One that was used once is never unused again, so a search ends at the first unused one.
const UNUSED: u32 = 0;
const BUSY: u32 = 1;
const LIVE: u32 = 2;
const FREED: u32 = 3;

/// A place of the table. All but the state belongs to whoever made it busy.
struct Place {
    state: AtomicU32,
    /// The session's start that knows of the block, 0 for none.
    session: AtomicU32,
    tracker: AtomicU64,
    address: AtomicUsize,
    size: AtomicUsize,
}

/// A part of the table, in front of its places.
struct Part {
    older: *const Part,
    count: usize,
}

/// The newest part.
static PARTS: AtomicPtr<Part> = AtomicPtr::new(ptr::null_mut());
/// Counts the starts of sessions.
static SESSION: AtomicU32 = AtomicU32::new(0);
/// The first of those since when somebody has listened all the time.
static SINCE: AtomicU32 = AtomicU32::new(0);

/// Notes that a session starts, or asks, before the gate opens.
pub(crate) fn session_starts() {
    let session = SESSION.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
    if !is_on() {
        SINCE.store(session, Ordering::SeqCst);
    }
}

/// Tells of all live blocks, behind an open gate.
pub(crate) fn tell_all() {
    each(|place| {
        if place.hold() {
            place.tell();
            place.leave(LIVE);
        }
    });
}

/// Forgets the blocks of a tracker that closes.
pub(crate) fn forget(tracker: u64) {
    each(|place| {
        if place.tracker.load(Ordering::Relaxed) == tracker && place.hold() {
            let is_its = place.tracker.load(Ordering::Relaxed) == tracker;
            place.leave(if is_its { FREED } else { LIVE });
        }
    });
}

pub(crate) fn alloc(tracker: u64, block: usize, size: usize) {
    match take(tracker, block, size) {
        Some(place) => {
            // It took its place before the gate is looked at, and `tell_all` looks at places behind the open gate: with these
            // operations in one order for all threads (SeqCst), one of both tells of the block.
            place.tell();
            place.leave(LIVE);
        }
        None if is_on() => tell_alloc(tracker, block, size),
        None => {}
    }
}

pub(crate) fn free(tracker: u64, block: usize) {
    let place = find(tracker, block);
    // A session that is about to hear of the block never does; one that has heard of it hears the end.
    if is_on() && place.map_or(true, Place::is_known) {
        tell_free(tracker, block);
    }
    if let Some(place) = place {
        place.leave(FREED);
    }
}

pub(crate) fn realloc(tracker: u64, old: usize, block: usize, size: usize) {
    let before = find(tracker, old);
    let was_known = before.map_or(true, Place::is_known);
    if let Some(before) = before {
        before.leave(FREED);
    }
    let place = take(tracker, block, size);
    let session = SESSION.load(Ordering::SeqCst);
    if is_on() {
        if was_known {
            tell_realloc(tracker, old, block, size);
        } else {
            tell_alloc(tracker, block, size);
        }
        if let Some(place) = place {
            place.session.store(session, Ordering::Relaxed);
        }
    }
    if let Some(place) = place {
        place.leave(LIVE);
    }
}

impl Place {
    /// Makes a place busy that is in one of two states.
    fn claim(&self, state: u32) -> bool {
        self.state.compare_exchange(state, BUSY, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Makes a place busy that has a block; waits while another thread tells of it.
    fn hold(&self) -> bool {
        loop {
            match self.state.load(Ordering::SeqCst) {
                LIVE if self.claim(LIVE) => return true,
                UNUSED | FREED => return false,
                _ => core::hint::spin_loop(),
            }
        }
    }

    fn leave(&self, state: u32) {
        if state == FREED {
            self.address.store(0, Ordering::Relaxed);
        }
        self.state.store(state, Ordering::Release);
    }

    /// Tells of a busy place's block, unless the latest session's start knows it.
    fn tell(&self) {
        let session = SESSION.load(Ordering::SeqCst);
        if is_on() && self.session.load(Ordering::Relaxed) != session {
            let size = self.size.load(Ordering::Relaxed);
            tell_alloc(self.tracker.load(Ordering::Relaxed), self.address.load(Ordering::Relaxed), size);
            self.session.store(session, Ordering::Relaxed);
        }
    }

    /// Whether a session that listens has heard of a busy place's block.
    fn is_known(&self) -> bool {
        let session = self.session.load(Ordering::Relaxed);
        session != 0 && session.wrapping_sub(SINCE.load(Ordering::SeqCst)) as i32 >= 0
    }
}

impl Part {
    fn places(&self) -> &[Place] {
        let first = (self as *const Self).wrapping_add(1).cast::<Place>();
        // SAFETY: `grow` takes zeroed memory for so many places behind each part, of which zero is a valid one, aligned as 8
        // bytes after two words are; parts are never given back.
        unsafe { core::slice::from_raw_parts(first, self.count) }
    }

    /// The places in which a block may be.
    fn tries(&self, tracker: u64, block: usize) -> impl Iterator<Item = &Place> {
        let mixed = ((block as u64 >> 3) ^ (tracker << 17)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (first, places) = ((mixed >> 24) as usize, self.places());
        (0..TRIES).map(move |at| &places[first.wrapping_add(at) & (places.len() - 1)])
    }
}

/// The parts, newest first.
fn parts(newest: *const Part) -> impl Iterator<Item = &'static Part> {
    // SAFETY: parts are never given back, and do not change once they are in the list.
    let part = |part: *const Part| unsafe { part.as_ref() };
    core::iter::successors(part(newest), move |newer| part(newer.older))
}

fn each(f: impl Fn(&Place)) {
    let newest = PARTS.load(Ordering::Acquire);
    let used = |place: &&Place| place.state.load(Ordering::SeqCst) != UNUSED;
    parts(newest).flat_map(Part::places).filter(used).for_each(f);
}

/// A busy place with a new block; `None` without room.
fn take(tracker: u64, block: usize, size: usize) -> Option<&'static Place> {
    loop {
        let newest = PARTS.load(Ordering::Acquire);
        for place in parts(newest).flat_map(|part| part.tries(tracker, block)) {
            let state = place.state.load(Ordering::Relaxed);
            if (state == UNUSED || state == FREED) && place.claim(state) {
                place.tracker.store(tracker, Ordering::Relaxed);
                place.address.store(block, Ordering::Relaxed);
                place.size.store(size, Ordering::Relaxed);
                place.session.store(0, Ordering::Relaxed);
                return Some(place);
            }
        }
        if !grow(newest) {
            return None;
        }
    }
}

/// The busy place of a live block.
fn find(tracker: u64, block: usize) -> Option<&'static Place> {
    let is_its =
        |place: &Place| place.address.load(Ordering::Relaxed) == block && place.tracker.load(Ordering::Relaxed) == tracker;
    for part in parts(PARTS.load(Ordering::Acquire)) {
        for place in part.tries(tracker, block) {
            if place.state.load(Ordering::Acquire) == UNUSED {
                break;
            }
            if is_its(place) && place.hold() {
                if is_its(place) {
                    return Some(place);
                }
                place.leave(LIVE);
            }
        }
    }
    None
}

/// Adds a part in front of `newest`, unless another thread was first; `false` without room.
fn grow(newest: *mut Part) -> bool {
    let all = parts(newest).count();
    if all >= MOST_PARTS {
        return false;
    }
    let count = FIRST_PLACES << all;
    let bytes = size_of::<Part>() + count * size_of::<Place>();
    let part = system::take_pages(bytes).cast::<Part>();
    if part.is_null() {
        return false;
    }
    // SAFETY: it is zeroed memory for a part and its places, on a page's edge, and nobody else's.
    unsafe { part.write(Part { older: newest, count }) };
    if PARTS.compare_exchange(newest, part, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: it came from `take_pages`, and nobody has it.
        unsafe { system::give_pages(part.cast(), bytes) };
    }
    true
}
