//! Windows: `GlobalMemoryStatusEx` (sysinfoapi.h).
#![allow(unsafe_code, reason = "the system's own interface is a C function; the call below says why it is sound")]

use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};

/// Bytes of physical memory that the system manages.
pub(super) fn physical_memory() -> Option<u64> {
    let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..MEMORYSTATUSEX::default() };
    // SAFETY: the function writes at most `dwLength` bytes to the structure, which lives
    // on this stack frame, is ours alone and has exactly that size.
    let done = unsafe { GlobalMemoryStatusEx(&raw mut status) };
    (done != 0).then_some(status.ullTotalPhys)
}
