//! Reads the text of a source file around a line.

use std::path::Path;

use crate::format::plain;
use crate::toml_file::any_text_of;

/// Maximum size of a file in bytes.
const MOST: u64 = 8 << 20;
/// Maximum length of a line in characters; the rest is cut off.
const LETTERS: usize = 400;

/// Some lines of a source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    /// Number of the first line, counted from 1.
    pub first: u32,
    /// The lines, without control characters; a tab becomes four spaces.
    pub lines: Vec<String>,
}

/// Reads a line with `around` lines before and behind it. The error is the end of a sentence.
///
/// Text that is neither UTF-8 nor UTF-16 with a byte order mark is read as ASCII, with replacement characters for the rest.
pub fn excerpt(file: &Path, line: u32, around: u32) -> Result<Excerpt, String> {
    excerpt_of(&any_text_of(file, MOST).map_err(|reason| format!("cannot be read: {reason}"))?, line, around)
}

/// Takes the excerpt from a text.
pub fn excerpt_of(text: &str, line: u32, around: u32) -> Result<Excerpt, String> {
    let first = line.saturating_sub(around).max(1);
    let count = (line.saturating_sub(first) + around + 1) as usize;
    let lines: Vec<String> = text.lines().skip(first as usize - 1).take(count).map(shown).collect();
    if (line.saturating_sub(first) as usize) < lines.len() {
        Ok(Excerpt { first, lines })
    } else {
        Err(format!("has no line {line}: it is another version of it"))
    }
}

fn shown(line: &str) -> String {
    let cut: String = line.chars().take(LETTERS).collect();
    plain(&cut.trim_end().replace('\t', "    "))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_around_a_line_are_read_whatever_the_file_is_written_in() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.cpp");
        fs::write(&file, "one\n\ttwo\r\nthr\u{e9}e\nfour\nfive").unwrap();
        let lines = |line, around| excerpt(&file, line, around).map(|of| (of.first, of.lines.join("|")));
        assert_eq!(lines(2, 1), Ok((1, "one|    two|thr\u{e9}e".to_owned())));
        assert_eq!(lines(5, 2), Ok((3, "thr\u{e9}e|four|five".to_owned())));
        assert_eq!(lines(1, 0), Ok((1, "one".to_owned())));
        assert!(lines(6, 9).unwrap_err().contains("no line 6"), "a line behind the end is of another file");
        assert!(lines(u32::MAX, 9).is_err());
        // Text in a code page, with a control character.
        fs::write(&file, b"gr\xfc\xdfe \x1b[31m\n").unwrap();
        let read = excerpt(&file, 1, 3).unwrap().lines;
        assert!(read[0].starts_with("gr") && !read[0].contains('\u{1b}'), "{read:?}");
        let wide: Vec<u8> = [0xFF, 0xFE].into_iter().chain("x\ny".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        fs::write(&file, wide).unwrap();
        assert_eq!(lines(2, 1), Ok((1, "x|y".to_owned())));
        fs::write(&file, "x".repeat(10_000)).unwrap();
        assert_eq!(excerpt(&file, 1, 1).unwrap().lines[0].len(), LETTERS);
        assert!(excerpt(folder.path(), 1, 1).is_err() && excerpt(&folder.path().join("none"), 1, 1).is_err());
    }
}
