//! Each event, byte for byte, and when which events are written.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec;
use std::vec::Vec;

use crate::system::{ask, is_registered, played, start, stop};
use crate::{provider, Tracked, Tracker};

/// One test at a time: what they test is the process's.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    provider::reset();
    played();
    guard
}

pub(crate) fn at(address: usize) -> *const u8 {
    address as *const u8
}

pub(crate) fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The handle of an event with a name, whose bytes are checked.
fn name(event: &(u16, Vec<u8>), id: u16, name: &str) -> u64 {
    let handle = u64::from_le_bytes(event.1[..8].try_into().unwrap());
    let mut expected = words(&[handle]);
    expected.extend(260_u32.to_le_bytes());
    expected.extend(name.encode_utf16().chain(std::iter::repeat(0)).take(260).flat_map(u16::to_le_bytes));
    assert_eq!(expected.len(), 532);
    assert_eq!(*event, (id, expected));
    handle
}

#[test]
fn every_event_is_visual_studios() {
    let _alone = alone();
    start(4, 0);
    let tracker = Tracker::new("Größe 漢字 😀");
    tracker.on_alloc(at(0x7000), 0x1234);
    tracker.on_realloc(at(0x7000), at(0x9000), 7);
    tracker.on_free(at(0x9000));
    drop(tracker);
    let events = played();
    let handle = name(&events[0], 103, "Größe 漢字 😀");
    assert_eq!(events[1], (100, words(&[0x7000, 0x1234, handle])));
    assert_eq!(events[2], (102, words(&[0x9000, 7, 0x7000, handle])));
    assert_eq!(events[3], (101, words(&[0x9000, handle])));
    assert_eq!(name(&events[4], 104, "Größe 漢字 😀"), handle);
    assert_eq!(events.len(), 5);
    stop();
}

#[test]
fn nothing_is_told_while_nobody_listens() {
    let _alone = alone();
    let tracker = Tracker::new("First");
    assert!(!is_registered());
    tracker.on_alloc(at(0x1000), 1);
    assert!(is_registered() && !crate::is_on());
    tracker.on_free(at(0x1000));
    drop(Tracker::named("Level"));
    drop(tracker);
    start(3, 0); // not this much
    stop();
    assert_eq!(played(), vec![]);
}

#[test]
fn names_are_sent_to_each_session() {
    let _alone = alone();
    let first = Tracker::named("First");
    let second = Tracker::named("Second");
    let third = Tracker::named("Third");
    first.on_free(at(1));
    drop(second);
    start(4, 0);
    let events = played();
    assert_eq!(events.len(), 2);
    name(&events[0], 103, "Third");
    name(&events[1], 103, "First");
    start(5, 1 << 63);
    ask();
    assert_eq!(played().len(), 4);
    stop(); // one of two
    assert!(crate::is_on());
    first.on_alloc(at(0x30), 3);
    third.on_alloc(at(0x40), 3);
    assert_eq!(played().iter().filter(|(id, _)| *id == 100).count(), 2);
    stop();
    assert!(!crate::is_on());
    first.on_alloc(at(0x50), 3);
    assert_eq!(played(), vec![]);
}

#[test]
fn what_is_no_block_is_passed_over() {
    let _alone = alone();
    start(0, 0);
    let tracker = Tracker::new("First");
    tracker.on_alloc(at(0), 8);
    tracker.on_free(at(0));
    tracker.on_realloc(at(0x10), at(0), 8); // failed
    assert_eq!(played(), vec![]);
    tracker.on_realloc(at(0), at(0x20), 8);
    tracker.on_realloc(at(0x20), at(0), 0);
    assert_eq!(played().iter().map(|(id, _)| *id).collect::<Vec<_>>(), [103, 100, 101]);
    stop();
}

#[test]
fn long_names_are_cut_at_a_whole_character() {
    let _alone = alone();
    start(4, 0);
    let letters = "a".repeat(258);
    for (long, cut) in [("b".repeat(1000), "b".repeat(259)), (letters.clone() + "😀", letters), ("a\0b".into(), "a".into())] {
        let tracker = Tracker::named(&long);
        tracker.on_alloc(at(1), 1); // it was open before the provider was registered
        drop(tracker);
        let events = played();
        name(&events[0], 103, &cut);
        name(&events[events.len() - 1], 104, &cut);
    }
    stop();
}

#[test]
fn an_allocator_tells_of_all_blocks() {
    let _alone = alone();
    start(4, 0);
    let tracked = Tracked::wrap("game", System);
    let layout = Layout::from_size_align(100, 16).unwrap();
    let bigger = Layout::from_size_align(100_000, 16).unwrap();
    // SAFETY: blocks are given back with their layouts.
    let (block, zeroed) = unsafe {
        let block = tracked.alloc(layout);
        let block_then = block as u64;
        let block = tracked.realloc(block, layout, bigger.size());
        let zeroed = tracked.alloc_zeroed(layout);
        let told = (block as u64, zeroed as u64);
        tracked.dealloc(block, bigger);
        tracked.dealloc(zeroed, layout);
        ((block_then, told.0), told.1)
    };
    let events = played();
    let handle = name(&events[0], 103, "game");
    let expected = [
        (100, words(&[block.0, 100, handle])),
        (101, words(&[block.0, handle])),
        (100, words(&[block.1, 100_000, handle])),
        (100, words(&[zeroed, 100, handle])),
        (101, words(&[block.1, handle])),
        (101, words(&[zeroed, handle])),
    ];
    assert_eq!(events[1..], expected);
    stop();
}

/// Fails to resize, as without memory.
struct Full;

// SAFETY: all memory is the system's.
unsafe impl GlobalAlloc for Full {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, _: *mut u8, _: Layout, _: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
}

#[test]
fn a_block_that_cannot_grow_stays() {
    let _alone = alone();
    start(4, 0);
    let tracked = Tracked::wrap("full", Full);
    let layout = Layout::from_size_align(64, 8).unwrap();
    // SAFETY: the block is given back with its layout.
    unsafe {
        let block = tracked.alloc(layout);
        assert!(tracked.realloc(block, layout, 128).is_null());
        tracked.dealloc(block, layout);
    }
    let events = played();
    assert_eq!(events.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [103, 100, 101, 100, 101]);
    assert_eq!(events[1], events[3]);
    stop();
}

#[test]
fn threads_and_sessions_at_once() {
    let _alone = alone();
    let common = &Tracker::new("Common");
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            scope.spawn(move || {
                for step in 1..2000_usize {
                    let block = at((thread + 1) << 20 | step << 4);
                    let own = (step % 100 == 0).then(|| Tracker::named("Own"));
                    let tracker = own.as_ref().unwrap_or(common);
                    tracker.on_alloc(block, step);
                    tracker.on_free(block);
                }
            });
        }
        for _ in 0..50 {
            start(4, 0);
            std::thread::yield_now();
            stop();
        }
    });
    for (id, payload) in played() {
        let bytes = match id {
            100 => 24,
            101 => 16,
            _ => 532,
        };
        assert_eq!(payload.len(), bytes, "{id}");
    }
}
