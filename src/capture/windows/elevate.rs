//! This program once more, with the rights of an administrator: Windows asks the user.
//! What is started so inherits nothing, so it is talked to through pipes.
//!
//! Facts: Microsoft's pages of ShellExecuteEx ("runas") and of how programs split their
//! command line.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::path::Path;
use std::ptr;

use windows_sys::Win32::UI::Shell::{SEE_MASK_NO_CONSOLE, SEE_MASK_NOASYNC, SHELLEXECUTEINFOW, ShellExecuteExW};
use windows_sys::Win32::UI::WindowsAndMessaging::SW_HIDE;

use super::refusal::Refusal;
use super::wide::wide;

/// Starts a program with these words after the user said yes.
pub(super) fn run_elevated(program: &Path, words: &[String]) -> Result<(), Refusal> {
    let line = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let (verb, file, parameters) = (wide("runas"), wide(program), wide(line));
    let mut info = SHELLEXECUTEINFOW {
        cbSize: size_of::<SHELLEXECUTEINFOW>() as u32,
        fMask: SEE_MASK_NOASYNC | SEE_MASK_NO_CONSOLE,
        lpVerb: verb.as_ptr(),
        lpFile: file.as_ptr(),
        lpParameters: parameters.as_ptr(),
        lpDirectory: ptr::null(),
        nShow: SW_HIDE,
        ..SHELLEXECUTEINFOW::default()
    };
    // SAFETY: the structure says its size; the three texts end with zeros and outlive the call.
    if unsafe { ShellExecuteExW(&raw mut info) } == 0 {
        return Err(Refusal::last("ShellExecuteExW"));
    }
    Ok(())
}

/// A word as it must stand in a command line to be one word again: in quotes, with those
/// inside, and the backslashes before any of them, escaped.
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
