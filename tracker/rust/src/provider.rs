//! Visual Studio's provider for custom heaps: events 100 to 104, version 1, channel 16, level 4.
//!
//! Layouts: allocation {address, size, tracker}, free {address, tracker}, resizing {address, size, old address, tracker},
//! each u64; opened and closed {u64 tracker, u32 260, UTF-16 name of 260 units}.

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicU8, Ordering};

#[cfg(feature = "live")]
use crate::live;
use crate::system;

const ALLOC: u16 = 100;
const FREE: u16 = 101;
const REALLOC: u16 = 102;
const OPEN: u16 = 103;
const CLOSE: u16 = 104;
pub(crate) const LEVEL: u8 = 4;
pub(crate) const KEYWORD: u64 = 1 << 63;
const NAME_UNITS: usize = 260;
/// Bytes of an event with a name, without the structure's padding.
const NAME_BYTES: usize = 12 + 2 * NAME_UNITS;

/// An open tracker, in memory of the system's own. The fields up to the name are the payload of the events 103 and 104.
#[repr(C)]
struct Node {
    handle: u64,
    units: u32,
    name: [u16; NAME_UNITS],
    next: *mut Node,
}

/// A tracker's place in the list of those that are open; null until then.
pub(crate) struct Open(AtomicPtr<Node>);

const QUIET: u8 = 0;
const LISTENS: u8 = 1;
const UNREGISTERED: u8 = 2;
/// Behind `unregister`, where blocks are not noted any more.
const GONE: u8 = 3;
/// All that is looked at while nobody listens.
static GATE: AtomicU8 = AtomicU8::new(UNREGISTERED);
static PROVIDER: AtomicU64 = AtomicU64::new(0);
/// The open trackers.
static NAMES: List = List { is_locked: AtomicBool::new(false), first: UnsafeCell::new(ptr::null_mut()) };

/// Whether nothing is to be done. With the table of live blocks there is, as long as a session may start.
#[inline(always)]
pub(crate) fn is_quiet() -> bool {
    match GATE.load(Ordering::Relaxed) {
        QUIET => cfg!(not(feature = "live")),
        gate => gate == GONE,
    }
}

#[inline(always)]
pub(crate) fn is_on() -> bool {
    GATE.load(Ordering::SeqCst) == LISTENS
}

#[cold]
#[inline(never)]
pub(crate) fn alloc(open: &Open, name: &str, block: usize, size: usize) {
    if block != 0 && wants() {
        live::alloc(open.handle(name), block, size);
    }
}

#[cold]
#[inline(never)]
pub(crate) fn free(open: &Open, name: &str, block: usize) {
    if block != 0 && wants() {
        live::free(open.handle(name), block);
    }
}

#[cold]
#[inline(never)]
pub(crate) fn realloc(open: &Open, name: &str, old: usize, block: usize, size: usize) {
    match (old, block) {
        (_, 0) if size > 0 => {} // it failed, and left the old block
        (_, 0) => free(open, name, old),
        (0, _) => alloc(open, name, block, size),
        _ if wants() => live::realloc(open.handle(name), old, block, size),
        _ => {}
    }
}

pub(crate) fn tell_alloc(tracker: u64, block: usize, size: usize) {
    write_words(ALLOC, [block as u64, size as u64, tracker]);
}

pub(crate) fn tell_free(tracker: u64, block: usize) {
    write_words(FREE, [block as u64, tracker]);
}

pub(crate) fn tell_realloc(tracker: u64, old: usize, block: usize, size: usize) {
    write_words(REALLOC, [block as u64, size as u64, old as u64, tracker]);
}

/// Without the table of live blocks they are told and not kept.
#[cfg(not(feature = "live"))]
mod live {
    pub(super) use super::{tell_alloc as alloc, tell_free as free, tell_realloc as realloc};

    pub(super) fn session_starts() {}
    pub(super) fn tell_all() {}
    pub(super) fn forget(_: u64) {}
}

/// Whether blocks are told now, or kept for later.
fn wants() -> bool {
    listens() || cfg!(feature = "live")
}

/// Whether a session listens. The first call of all registers the provider; what other threads do meanwhile is not told.
fn listens() -> bool {
    if GATE.compare_exchange(UNREGISTERED, QUIET, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        PROVIDER.store(system::register(), Ordering::Release);
        settle(false, true);
    }
    is_on()
}

/// Hears of a session: that it starts (1), stops (0), or asks for what there is (2). A call from inside of the
/// registration is passed over: `listens` looks after it.
pub(crate) fn control(code: u32, level: u8, keywords: u64) {
    let starts = code == 1 && (level == 0 || level >= LEVEL) && (keywords == 0 || keywords & KEYWORD != 0);
    if PROVIDER.load(Ordering::Acquire) == 0 {
        return;
    }
    settle(starts, code != 0);
}

/// Sends the names of the open trackers if a session listens, for one that starts or asks, then opens or shuts the gate.
/// Of two sessions one may still be there when the other stops: ETW knows. With the table of live blocks, those are sent after
/// the names, if this `may_be_new`.
fn settle(starts: bool, may_be_new: bool) {
    let list = NAMES.lock();
    let provider = PROVIDER.load(Ordering::Acquire);
    let listens = provider != 0 && (starts || system::is_enabled(provider));
    if listens {
        list.each(|node| write_name(OPEN, node));
    }
    if listens && may_be_new {
        live::session_starts();
    }
    GATE.store(if listens { LISTENS } else { QUIET }, Ordering::SeqCst);
    drop(list);
    if listens && may_be_new {
        live::tell_all();
    }
}

pub(crate) fn unregister() {
    GATE.store(GONE, Ordering::Release);
    let provider = PROVIDER.swap(0, Ordering::AcqRel);
    if provider != 0 {
        system::unregister(provider);
    }
    GATE.store(GONE, Ordering::Release); // a session may have started meanwhile
}

impl Open {
    pub(crate) const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Opens the tracker, unless it is open. Without memory it stays closed.
    pub(crate) fn now(&self, name: &str) {
        let list = NAMES.lock();
        if !self.0.load(Ordering::Acquire).is_null() {
            return;
        }
        let node = system::take(core::mem::size_of::<Node>()).cast::<Node>();
        if node.is_null() {
            return;
        }
        let mut units = [0; NAME_UNITS];
        let mut at = 0;
        for letter in name.chars().take_while(|&letter| letter != '\0') {
            if at + letter.len_utf16() >= NAME_UNITS {
                break;
            }
            at += letter.encode_utf16(&mut units[at..]).len();
        }
        // SAFETY: it is memory for a node, aligned as all memory of the system's heap is, and nobody else's.
        unsafe { node.write(Node { handle: node as u64, units: NAME_UNITS as u32, name: units, next: list.first() }) };
        list.set_first(node);
        if is_on() {
            // SAFETY: it was written above, and lives until it is closed.
            write_name(OPEN, unsafe { &*node });
        }
        self.0.store(node, Ordering::Release);
    }

    /// The handle in events, 0 without memory. Opens the tracker if it is not.
    fn handle(&self, name: &str) -> u64 {
        let node = self.0.load(Ordering::Acquire);
        if !node.is_null() {
            return node as u64;
        }
        self.now(name);
        self.0.load(Ordering::Acquire) as u64
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let node = *self.0.get_mut();
        if node.is_null() {
            return;
        }
        live::forget(node as u64);
        let list = NAMES.lock();
        list.remove(node);
        if is_on() {
            // SAFETY: it is no longer in the list, and this is its last reference.
            write_name(CLOSE, unsafe { &*node });
        }
        drop(list);
        // SAFETY: it came from `take`, and nobody has it any more.
        unsafe { system::give(node.cast()) };
    }
}

fn write_words<const N: usize>(id: u16, words: [u64; N]) {
    system::write(PROVIDER.load(Ordering::Acquire), id, words.as_ptr().cast(), 8 * N);
}

fn write_name(id: u16, node: &Node) {
    system::write(PROVIDER.load(Ordering::Acquire), id, (node as *const Node).cast(), NAME_BYTES);
}

/// The open trackers, one after the other. Locked only where a tracker opens or closes and a session starts or stops.
struct List {
    is_locked: AtomicBool,
    first: UnsafeCell<*mut Node>,
}

// SAFETY: the list is only touched under its lock.
unsafe impl Sync for List {}

struct Locked<'a>(&'a List);

impl List {
    fn lock(&self) -> Locked<'_> {
        while self.is_locked.swap(true, Ordering::Acquire) {
            core::hint::spin_loop();
        }
        Locked(self)
    }
}

impl Locked<'_> {
    fn first(&self) -> *mut Node {
        // SAFETY: under the lock.
        unsafe { *self.0.first.get() }
    }

    fn set_first(&self, node: *mut Node) {
        // SAFETY: under the lock.
        unsafe { *self.0.first.get() = node }
    }

    fn each(&self, mut f: impl FnMut(&Node)) {
        let mut at = self.first();
        while !at.is_null() {
            // SAFETY: nodes in the list are alive.
            let node = unsafe { &*at };
            f(node);
            at = node.next;
        }
    }

    fn remove(&self, node: *mut Node) {
        // SAFETY: it is in the list, so it is alive.
        let next = unsafe { (*node).next };
        if self.first() == node {
            return self.set_first(next);
        }
        let mut at = self.first();
        while !at.is_null() {
            // SAFETY: nodes in the list are alive, and nobody else has them under the lock.
            let before = unsafe { &mut *at };
            if before.next == node {
                before.next = next;
                return;
            }
            at = before.next;
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.0.is_locked.store(false, Ordering::Release);
    }
}

/// Begins anew, for the next test.
#[cfg(test)]
pub(crate) fn reset() {
    unregister();
    GATE.store(UNREGISTERED, Ordering::Release);
}
