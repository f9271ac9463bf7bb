//! TdhGetEventInformation with the record of a callback. `ferrisetw` asks the same, but keeps the fields private.
//!
//! The only file of this package with `unsafe` code. What is trusted: that `EventRecord` is the EVENT_RECORD that Windows
//! handed to the callback (it is `repr(transparent)`), and that Windows writes no more than it is given room for. The
//! bytes that it writes are only read by our own, checking reader.
#![allow(unsafe_code, reason = "a function of Windows is called")]

use std::ptr;

use ferrisetw::EventRecord;
use windows_sys::Win32::Foundation::ERROR_INSUFFICIENT_BUFFER;
use windows_sys::Win32::System::Diagnostics::Etw::{EVENT_RECORD, TRACE_EVENT_INFO, TdhGetEventInformation};

use crate::answers::MOST_INFO;

/// The TRACE_EVENT_INFO of an event, or the Windows error.
pub(super) fn event_information(record: &EventRecord) -> Result<Vec<u8>, u32> {
    const {
        assert!(size_of::<EventRecord>() == size_of::<EVENT_RECORD>());
        assert!(align_of::<EventRecord>() == align_of::<EVENT_RECORD>());
        assert!(align_of::<TRACE_EVENT_INFO>() <= align_of::<u64>());
    }
    let record = ptr::from_ref(record).cast::<EVENT_RECORD>();
    let mut size = 0;
    // SAFETY: the record is valid while the callback runs; without a buffer, only the size is written.
    let code = unsafe { TdhGetEventInformation(record, 0, ptr::null(), ptr::null_mut(), &raw mut size) };
    if code != ERROR_INSUFFICIENT_BUFFER || size == 0 || size as usize > MOST_INFO {
        return Err(code);
    }
    let mut words = vec![0u64; (size as usize).div_ceil(8)];
    let mut written = size;
    // SAFETY: as above; the buffer is aligned and has at least the size that is said.
    let code = unsafe { TdhGetEventInformation(record, 0, ptr::null(), words.as_mut_ptr().cast(), &raw mut written) };
    if code != 0 {
        return Err(code);
    }
    Ok(words.into_iter().flat_map(u64::to_ne_bytes).take(size.min(written) as usize).collect())
}
