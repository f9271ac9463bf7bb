//! Errors of opening a file, and recognition of files that are not traces.

use std::io;

use thiserror::Error;

use super::{BUFFER_HEADER, MAX_BUFFER, u8_at, u16_at, u32_at};
use crate::text;

/// Why nothing of a file can be read. Each message is one sentence for people and
/// names the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no such file.
    #[error("{0}: there is no such file; check the path")]
    NotFound(String),
    /// It is a directory.
    #[error("{0}: this is a directory; name an .etl file in it")]
    Directory(String),
    /// No right to read it.
    #[error("{0}: no permission to read this file; copy it or ask for access")]
    Denied(String),
    /// Another program has it open and does not share it.
    #[error("{0}: another program has this file open exclusively; close it there, or copy the file")]
    Locked(String),
    /// The system does not accept the path.
    #[error("{0}: the path is too long or no valid name; move the file to a shorter one")]
    Name(String),
    /// It has no bytes.
    #[error("{0}: the file is empty; record the trace again")]
    Empty(String),
    /// It is something else.
    #[error("{0}: this is not an ETW trace, but {1}; open an .etl file")]
    NotATrace(String, &'static str),
    /// It is an archive of a kind that is not read: what it is, and how to unpack it.
    #[error("{0}: this is {1}; unpack it ({2}) and open the .etl files in it")]
    Packed(String, &'static str, &'static str),
    /// It claims what no recording has; the whole message.
    #[error("{0}")]
    Refused(String),
    /// The system could not read it.
    #[error("{0}: the system could not read the file ({1})")]
    Io(String, io::Error),
}

impl OpenError {
    /// Turns an error of the system about the file `name` into one for people.
    pub fn from_io(name: String, e: io::Error) -> Self {
        if cfg!(windows) {
            match e.raw_os_error() {
                Some(SHARING_VIOLATION | LOCK_VIOLATION) => return Self::Locked(name),
                Some(INVALID_NAME | FILENAME_TOO_LONG) => return Self::Name(name),
                _ => {}
            }
        }
        match e.kind() {
            io::ErrorKind::InvalidFilename => Self::Name(name),
            io::ErrorKind::NotFound => Self::NotFound(name),
            io::ErrorKind::IsADirectory => Self::Directory(name),
            io::ErrorKind::PermissionDenied => Self::Denied(name),
            _ => Self::Io(name, e),
        }
    }

    /// The error for a capture of PIX, known by the end of its name, whatever it holds; `None` for other names.
    pub fn capture_of_pix(name: &str) -> Option<Self> {
        const WHAT: &str = "a capture in PIX's own format; record the program with highwater record, or with wpr and the profile that \
                            highwater record --print-wprp prints: both record PIX's allocators too";
        name.to_lowercase().ends_with(".wpix").then(|| Self::NotATrace(name.to_owned(), WHAT))
    }

    /// The error for a file that begins with `head` and is no trace.
    pub(super) fn not_a_trace(name: &str, head: &[u8]) -> Self {
        let other = |what| Self::NotATrace(name.to_owned(), what);
        let packed = |what, how| Self::Packed(name.to_owned(), what, how);
        if let Some(size) = u32_at(head, 0).filter(|&size| size as usize > MAX_BUFFER && has_session_header(head)) {
            let (size, most) = (text::bytes(size.into()), text::bytes(MAX_BUFFER as u64));
            return Self::Refused(format!(
                "{name}: its first buffer says that it has {size}, and those of Windows have at most {most}; copy the file again"
            ));
        }
        if let Some(error) = Self::capture_of_pix(name) {
            return error;
        }
        match head {
            [b'%', b'P', b'D', b'F', ..] => other("a PDF document"),
            [b'P', b'K', 3 | 5 | 7, ..] => packed("a zip archive", "in its folder, \"Extract All\""),
            [b'M', b'S', b'C', b'F', ..] => packed("a cabinet archive", "`expand FILE.cab -F:* FOLDER`"),
            [b'7', b'z', 0xBC, 0xAF, ..] => packed("a 7z archive", "with 7-Zip or `tar -xf`"),
            [b'R', b'a', b'r', b'!', ..] => packed("a RAR archive", "with 7-Zip or WinRAR"),
            [0x1F, 0x8B, ..] => packed("a gzip archive", "with 7-Zip or `tar -xf`"),
            [0xD0, 0xCF, 0x11, 0xE0, ..] => packed("a compound file", "if it is a .diagsession, with Visual Studio"),
            [b'M', b'Z', ..] => other("a Windows program"),
            [0x7F, b'E', b'L', b'F', ..] => other("a Linux program"),
            _ if head.iter().all(|&b| b == 0) => other("a file of zeros"),
            _ => other("a file of another kind"),
        }
    }
}

// Windows' error numbers (winerror.h) for which Rust has no `ErrorKind`.
const SHARING_VIOLATION: i32 = 32;
const LOCK_VIOLATION: i32 = 33;
const INVALID_NAME: i32 = 123;
const FILENAME_TOO_LONG: i32 = 206;

/// Number of bytes that distinguish a trace from other files.
pub const SNIFF: usize = 0x50;

/// Cheap test on the first bytes: a header buffer with a session header event.
pub fn looks_like_etl(head: &[u8]) -> bool {
    let size_fits = u32_at(head, 0).is_some_and(|n| (BUFFER_HEADER..=MAX_BUFFER).contains(&(n as usize)));
    size_fits && has_session_header(head)
}

fn has_session_header(head: &[u8]) -> bool {
    u16_at(head, 0x36) == Some(4)
        && matches!(u8_at(head, 0x4A), Some(1 | 2))
        && u8_at(head, 0x4B) == Some(0xC0)
        && u16_at(head, 0x4E) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(e: io::Error) -> String {
        OpenError::from_io("a.etl".to_owned(), e).to_string()
    }

    #[test]
    fn a_name_that_the_system_refuses_is_said_to_be_one() {
        assert!(sentence(io::ErrorKind::InvalidFilename.into()).contains("too long"));
    }

    #[test]
    fn a_trace_whose_first_buffer_is_larger_than_any_is_told_apart_from_other_files() {
        let mut head = vec![0; SNIFF];
        head[0x36] = 4;
        head[0x4A] = 2;
        head[0x4B] = 0xC0;
        head[0..4].copy_from_slice(&(MAX_BUFFER as u32).to_le_bytes());
        assert!(looks_like_etl(&head), "the largest that Windows has");
        head[0..4].copy_from_slice(&(64u32 << 20).to_le_bytes());
        assert!(!looks_like_etl(&head));
        let sentence = OpenError::not_a_trace("a.etl", &head).to_string();
        assert!(sentence.contains("says that it has 64.00 MB") && sentence.contains("at most 16.00 MB"), "{sentence}");
    }

    #[test]
    #[cfg(windows)]
    fn windows_numbers_become_sentences() {
        let says = |number| sentence(io::Error::from_raw_os_error(number));
        for (number, word) in [(2, "no such file"), (3, "no such file"), (5, "permission"), (32, "another program")] {
            assert!(says(number).contains(word), "{number}: {}", says(number));
        }
        for (number, word) in [(33, "another program"), (123, "too long"), (206, "too long"), (1117, "could not read")] {
            assert!(says(number).contains(word), "{number}: {}", says(number));
        }
    }
}
