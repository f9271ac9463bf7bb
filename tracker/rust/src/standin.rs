//! A stand-in for ETW in tests: keeps the events that a listening session would have.

#[cfg(feature = "live")]
use std::alloc::alloc_zeroed;
use std::alloc::{alloc, dealloc, Layout};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Mutex;
use std::vec::Vec;

use crate::provider;

const HANDLE: u64 = 0x5151;
const NODE: Layout = match Layout::from_size_align(1024, 16) {
    Ok(layout) => layout,
    Err(_) => panic!(),
};

static SESSIONS: AtomicU32 = AtomicU32::new(0);
static REGISTERED: AtomicU64 = AtomicU64::new(0);
static EVENTS: Mutex<Vec<(u16, Vec<u8>)>> = Mutex::new(Vec::new());

/// The events since the last call.
pub(crate) fn played() -> Vec<(u16, Vec<u8>)> {
    std::mem::take(&mut EVENTS.lock().unwrap())
}

pub(crate) fn is_registered() -> bool {
    REGISTERED.load(Ordering::SeqCst) != 0
}

pub(crate) fn start(level: u8, keywords: u64) {
    SESSIONS.fetch_add(1, Ordering::SeqCst);
    if is_registered() {
        provider::control(1, level, keywords);
    }
}

pub(crate) fn stop() {
    assert_ne!(SESSIONS.fetch_sub(1, Ordering::SeqCst), 0);
    if is_registered() {
        provider::control(0, 0, 0);
    }
}

pub(crate) fn ask() {
    provider::control(2, 0, 0);
}

/// As Windows may: calls back before it hands out the handle.
pub(crate) fn register() -> u64 {
    assert_eq!(REGISTERED.swap(HANDLE, Ordering::SeqCst), 0);
    if SESSIONS.load(Ordering::SeqCst) > 0 {
        provider::control(1, 4, 0);
    }
    HANDLE
}

pub(crate) fn unregister(provider: u64) {
    assert_eq!(REGISTERED.swap(0, Ordering::SeqCst), provider);
}

pub(crate) fn is_enabled(provider: u64) -> bool {
    provider == HANDLE && SESSIONS.load(Ordering::SeqCst) > 0
}

pub(crate) fn write(provider: u64, id: u16, payload: *const u8, bytes: usize) {
    assert_eq!(provider, HANDLE, "an event that no session can have");
    // SAFETY: the payload has so many bytes.
    let payload = unsafe { std::slice::from_raw_parts(payload, bytes) };
    if SESSIONS.load(Ordering::SeqCst) > 0 {
        EVENTS.lock().unwrap().push((id, payload.to_vec()));
    }
}

pub(crate) fn take(bytes: usize) -> *mut u8 {
    assert!(bytes <= NODE.size());
    // SAFETY: not of size 0.
    unsafe { alloc(NODE) }
}

pub(crate) unsafe fn give(memory: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { dealloc(memory, NODE) };
}

#[cfg(feature = "live")]
fn pages(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 4096).unwrap()
}

#[cfg(feature = "live")]
pub(crate) fn take_pages(bytes: usize) -> *mut u8 {
    // SAFETY: not of size 0.
    unsafe { alloc_zeroed(pages(bytes)) }
}

#[cfg(feature = "live")]
pub(crate) unsafe fn give_pages(memory: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { dealloc(memory, pages(bytes)) };
}
