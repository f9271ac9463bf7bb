//! Starts a program with administrator rights: Windows asks the user, in front of the requesting window. Such a program
//! inherits no handles, so it is talked to through pipes.
//!
//! Sources: Microsoft's pages of ShellExecuteEx ("runas"; "you should always call CoInitialize(Ex) before", in this
//! way) and of how programs split their command line.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::marker::PhantomData;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr;

use windows_sys::Win32::Foundation::{HWND, WAIT_OBJECT_0};
use windows_sys::Win32::System::Com::{COINIT_APARTMENTTHREADED, COINIT_DISABLE_OLE1DDE, CoInitializeEx, CoUninitialize};
use windows_sys::Win32::System::Threading::WaitForSingleObject;
use windows_sys::Win32::UI::Shell::{
    SEE_MASK_NO_CONSOLE, SEE_MASK_NOASYNC, SEE_MASK_NOCLOSEPROCESS, SHELLEXECUTEINFOW, ShellExecuteExW,
};
use windows_sys::Win32::UI::WindowsAndMessaging::SW_HIDE;

use super::refusal::Refusal;
use super::wide::wide;

/// A started program; Windows may not return a process handle.
#[derive(Debug)]
pub(super) struct Elevated(Option<OwnedHandle>);

impl Elevated {
    /// Whether it may still be running; true without a process handle.
    pub(super) fn may_run(&self) -> bool {
        // SAFETY: the handle is open; where it may not be waited for, that is another answer.
        self.0.as_ref().is_none_or(|process| unsafe { WaitForSingleObject(process.as_raw_handle(), 0) } != WAIT_OBJECT_0)
    }
}

/// Starts a program with these arguments after the user consents. The prompt appears in front of this window (`HWND`; 0
/// if there is none).
pub(super) fn run_elevated(window: isize, program: &Path, words: &[String]) -> Result<Elevated, Refusal> {
    let _com = Com::begin();
    let line = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let (verb, file, parameters) = (wide("runas"), wide(program), wide(line));
    let mut info = SHELLEXECUTEINFOW {
        cbSize: size_of::<SHELLEXECUTEINFOW>() as u32,
        fMask: SEE_MASK_NOASYNC | SEE_MASK_NO_CONSOLE | SEE_MASK_NOCLOSEPROCESS,
        hwnd: window as HWND,
        lpVerb: verb.as_ptr(),
        lpFile: file.as_ptr(),
        lpParameters: parameters.as_ptr(),
        lpDirectory: ptr::null(),
        nShow: SW_HIDE,
        ..SHELLEXECUTEINFOW::default()
    };
    // SAFETY: the structure says its size; the three texts end with zeros and outlive the call.
    // A window that is gone by now is an error, or none.
    if unsafe { ShellExecuteExW(&raw mut info) } == 0 {
        return Err(Refusal::last("ShellExecuteExW"));
    }
    // SAFETY: the handle, if there is one, was just made for us to close.
    Ok(Elevated((!info.hProcess.is_null()).then(|| unsafe { OwnedHandle::from_raw_handle(info.hProcess) })))
}

/// COM on this thread, which shell extensions need, until it is dropped.
struct Com {
    is_ours: bool,
    _of_this_thread: PhantomData<*const ()>,
}

impl Com {
    fn begin() -> Self {
        // SAFETY: the reserved pointer is null. A thread that has COM in another way keeps it.
        let answer = unsafe { CoInitializeEx(ptr::null(), (COINIT_APARTMENTTHREADED | COINIT_DISABLE_OLE1DDE) as u32) };
        Self { is_ours: answer >= 0, _of_this_thread: PhantomData }
    }
}

impl Drop for Com {
    fn drop(&mut self) {
        if self.is_ours {
            // SAFETY: `begin` succeeded, on this thread: this cannot be sent to another.
            unsafe { CoUninitialize() };
        }
    }
}

/// Quotes a word so that it is parsed as one argument: in quotes, with inner quotes escaped, and the backslashes before
/// any quote, too.
pub(super) fn quoted(word: &str) -> String {
    let mut line = String::from('"');
    let mut backslashes = 0;
    for c in word.chars() {
        match c {
            '\\' => backslashes += 1,
            '"' => {
                line.extend(std::iter::repeat_n('\\', backslashes + 1));
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
        line.push(c);
    }
    line.extend(std::iter::repeat_n('\\', backslashes));
    line.push('"');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_one_word_each() {
        for (word, line) in [
            ("", r#""""#),
            ("record", r#""record""#),
            (r"C:\a b\", r#""C:\a b\\""#),
            (r#"say "hi""#, r#""say \"hi\"""#),
            (r#"a\"b"#, r#""a\\\"b""#),
        ] {
            assert_eq!(quoted(word), line);
        }
    }
}
