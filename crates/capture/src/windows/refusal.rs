//! A failed system call: its name and its code (winerror.h), so that a report from another machine shows where it
//! failed. [`CaptureError`] makes a sentence of it.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::io;

use windows_sys::Win32::Foundation::{ERROR_GEN_FAILURE, GetLastError};

use crate::CaptureError;
use crate::constants::HRESULT_CODE;

/// A failed system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    /// Name of the function.
    pub(super) call: &'static str,
    /// Its Win32 error code.
    pub(super) code: u32,
}

impl Refusal {
    /// For a function that returns its error code; 0 is success.
    pub(super) fn check(call: &'static str, code: u32) -> Result<(), Self> {
        if code == 0 { Ok(()) } else { Err(Self { call, code }) }
    }

    /// For a function that sets the last error, called just before on this thread.
    pub(super) fn last(call: &'static str) -> Self {
        // SAFETY: the function has no arguments and reads a value of this thread.
        Self { call, code: unsafe { GetLastError() } }
    }

    /// For a function that another library has called for us.
    pub(super) fn from_io(call: &'static str, error: &io::Error) -> Self {
        // Some libraries put HRESULTs into the OS error; the Win32 code is the low half.
        Self { call, code: error.raw_os_error().map_or(ERROR_GEN_FAILURE, |code| code as u32 & HRESULT_CODE) }
    }

    /// Converts it to an error of the recording: `what` is the failed action, as the start of a sentence.
    pub(super) fn while_trying(self, what: &str) -> CaptureError {
        CaptureError::Windows { what: format!("{what} ({})", self.call), code: self.code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_inside_an_hresult_is_found() {
        let error = io::Error::from_raw_os_error(0x8007_0005_u32 as i32);
        assert_eq!(Refusal::from_io("OpenTraceW", &error), Refusal { call: "OpenTraceW", code: 5 });
    }

    #[test]
    fn the_sentence_names_what_was_tried_the_call_and_the_code() {
        let text = Refusal { call: "StartTraceW", code: 1450 }.while_trying("the heap session could not be started").to_string();
        assert!(text.starts_with("the heap session could not be started (StartTraceW): ") && text.contains("1450"), "{text}");
    }
}
