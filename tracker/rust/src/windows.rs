//! ETW and the process's heap: all that is asked of Windows.

use core::ffi::c_void;
use core::ptr;

use windows_sys::core::GUID;
use windows_sys::Win32::System::Diagnostics::Etw::{
    EventProviderEnabled, EventRegister, EventUnregister, EventWrite, EVENT_DATA_DESCRIPTOR, EVENT_DATA_DESCRIPTOR_0,
    EVENT_DESCRIPTOR, EVENT_FILTER_DESCRIPTOR,
};
use windows_sys::Win32::System::Memory::{GetProcessHeap, HeapAlloc, HeapFree};
#[cfg(feature = "live")]
use windows_sys::Win32::System::Memory::{VirtualAlloc, VirtualFree, MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE};

use crate::provider::{self, KEYWORD, LEVEL};

static VISUAL_STUDIO: GUID = GUID::from_u128(0x988917C5_5748_42A8_A127_A9A2285265D5);

/// Registers the provider; 0 if that fails.
pub(crate) fn register() -> u64 {
    let mut handle = 0;
    // SAFETY: the callback is a function of this module, which `unregister` takes back.
    let failed = unsafe { EventRegister(&VISUAL_STUDIO, Some(control), ptr::null(), &mut handle) };
    if failed == 0 {
        handle as u64
    } else {
        0
    }
}

pub(crate) fn unregister(provider: u64) {
    // SAFETY: a handle of `register`; the call waits for a callback that runs.
    unsafe { EventUnregister(provider as i64) };
}

pub(crate) fn is_enabled(provider: u64) -> bool {
    // SAFETY: a handle of `register`.
    unsafe { EventProviderEnabled(provider as i64, LEVEL, KEYWORD) }
}

pub(crate) fn write(provider: u64, id: u16, payload: *const u8, bytes: usize) {
    let event =
        EVENT_DESCRIPTOR { Id: id, Version: 1, Channel: 16, Level: LEVEL, Opcode: (id - 90) as u8, Task: 0, Keyword: KEYWORD };
    let data =
        EVENT_DATA_DESCRIPTOR { Ptr: payload as u64, Size: bytes as u32, Anonymous: EVENT_DATA_DESCRIPTOR_0 { Reserved: 0 } };
    // SAFETY: both live until the call returns, and the payload has so many bytes.
    unsafe { EventWrite(provider as i64, &event, 1, &data) };
}

/// Memory that is no allocator's of Rust; null if there is none.
pub(crate) fn take(bytes: usize) -> *mut u8 {
    // SAFETY: every process has a heap.
    unsafe { HeapAlloc(GetProcessHeap(), 0, bytes).cast() }
}

/// Gives memory back.
///
/// # Safety
/// It came from `take`, and is used no longer.
pub(crate) unsafe fn give(memory: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { HeapFree(GetProcessHeap(), 0, memory.cast()) };
}

/// Zeroed pages; null if there are none.
#[cfg(feature = "live")]
pub(crate) fn take_pages(bytes: usize) -> *mut u8 {
    // SAFETY: nothing is there before.
    unsafe { VirtualAlloc(ptr::null(), bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE).cast() }
}

/// Gives pages back.
///
/// # Safety
/// They came from `take_pages`, and are used no longer.
#[cfg(feature = "live")]
pub(crate) unsafe fn give_pages(memory: *mut u8, _: usize) {
    // SAFETY: the caller's promise.
    unsafe { VirtualFree(memory.cast(), 0, MEM_RELEASE) };
}

unsafe extern "system" fn control(
    _: *const GUID,
    code: u32,
    level: u8,
    any: u64,
    _: u64,
    _: *const EVENT_FILTER_DESCRIPTOR,
    _: *mut c_void,
) {
    provider::control(code, level, any);
}
