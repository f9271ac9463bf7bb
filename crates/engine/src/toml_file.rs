//! Rule files in TOML, written by hand. The author may be malicious, so only files up to a maximum size are read, and
//! an error is one sentence with its line.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml_parser::parser::{Event, EventKind, RecursionGuard};

use crate::format::plain;
use crate::paths;

/// Maximum length of an error message in characters, since it can contain the names of keys.
const MOST_TOLD: usize = 300;

/// An error in the text of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadText {
    /// The line, counted from 1; `None` if the error is about the whole text.
    pub line: Option<usize>,
    /// The error in words.
    pub what: String,
}

impl fmt::Display for BadText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl BadText {
    /// Creates an error at a position of the text.
    pub fn at(text: &str, place: &Range<usize>, what: impl Into<String>) -> Self {
        let line = 1 + text.bytes().take(place.start).filter(|&byte| byte == b'\n').count();
        Self { line: Some(line), what: what.into() }
    }

    /// Returns the error as it stands behind the name of the file, as compilers write it: `:LINE: …`.
    pub fn behind_name(&self) -> String {
        let Self { line, what } = self;
        line.map_or_else(|| format!(": {what}"), |line| format!(":{line}: {what}"))
    }
}

/// Reads a file of at most `most` bytes. An error is one sentence that begins with the file's name, and the line if it is
/// known.
pub fn read<T>(path: &Path, most: u64, parse: impl FnOnce(&str) -> Result<T, BadText>) -> Result<T, String> {
    let text = text_of(path, most).map_err(|reason| format!("{} cannot be read: {reason}", path.display()))?;
    parse(&text).map_err(|bad| format!("{}{}", path.display(), bad.behind_name()))
}

/// Parses a text into a `T`.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, BadText> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let what = error.message().lines().collect::<Vec<_>>().join(", ");
        let what: String = plain(&what).chars().take(MOST_TOLD).collect();
        // For keys with too many parts the parser does not report a position.
        match error.span().map(|span| (span, what.clone())).or_else(|| too_deep(text)) {
            Some((span, what)) => BadText::at(text, &span, what),
            None => BadText { line: None, what },
        }
    })
}

/// Finds the first key with the most parts, if it has more than anybody writes.
fn too_deep(text: &str) -> Option<(Range<usize>, String)> {
    /// The parser refuses keys with more parts.
    const MOST_PARTS: usize = 80;
    let tokens = toml_parser::Source::new(text).lex().into_vec();
    let (mut deepest, mut now) = ((0, 0..0), (0, 0..0));
    let mut count = |event: Event| match event.kind() {
        EventKind::SimpleKey => {
            if now.0 == 0 {
                now.1 = event.span().start()..event.span().end();
            }
            now.0 += 1;
            if now.0 > deepest.0 {
                deepest.clone_from(&now);
            }
        }
        EventKind::KeySep | EventKind::Whitespace => {}
        _ => now.0 = 0,
    };
    let mut bounded = RecursionGuard::new(&mut count, MOST_PARTS as u32);
    toml_parser::parser::parse_document(&tokens, &mut bounded, &mut ());
    let (parts, place) = deepest;
    (parts >= MOST_PARTS).then(|| (place, format!("a key of {parts} parts is deeper than anything that is read")))
}

/// Reads the text of a regular file of at most `most` bytes, in UTF-8, or in UTF-16 with a byte order mark, as older
/// PowerShells write the output of a command.
pub fn text_of(path: &Path, most: u64) -> io::Result<String> {
    decoded(&bytes_of(path, most)?).map_err(|line| io::Error::other(format!("line {line} is not UTF-8 text")))
}

/// Reads a text like [`text_of`], with replacement characters for invalid bytes.
pub fn any_text_of(path: &Path, most: u64) -> io::Result<String> {
    let bytes = bytes_of(path, most)?;
    Ok(decoded(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned()))
}

fn bytes_of(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    paths::open_regular(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is larger than {} KB", most >> 10)));
    }
    Ok(bytes)
}

/// Decodes a text; the error is the number of the first invalid line.
fn decoded(bytes: &[u8]) -> Result<String, usize> {
    let line_at = |bytes: &[u8]| 1 + bytes.iter().filter(|&&byte| byte == b'\n').count();
    let order: Option<fn([u8; 2]) -> u16> = match bytes.get(..2) {
        Some([0xFF, 0xFE]) => Some(u16::from_le_bytes),
        Some([0xFE, 0xFF]) => Some(u16::from_be_bytes),
        _ => None,
    };
    let Some(order) = order else {
        return str::from_utf8(bytes).map(str::to_owned).map_err(|bad| line_at(&bytes[..bad.valid_up_to()]));
    };
    let units = bytes[2..].chunks(2).map(|pair| <[u8; 2]>::try_from(pair).map_or(0xD800, order));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.map_err(|_| line_at(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_in_what_editors_and_shells_write() {
        assert_eq!(decoded("a = \"\u{e4}\"\n".as_bytes()), Ok("a = \"\u{e4}\"\n".to_owned()));
        let wide = |order: fn(u16) -> [u8; 2]| "\u{feff}a = 1".encode_utf16().flat_map(order).collect::<Vec<u8>>();
        assert_eq!(decoded(&wide(u16::to_le_bytes)), Ok("a = 1".to_owned()));
        assert_eq!(decoded(&wide(u16::to_be_bytes)), Ok("a = 1".to_owned()));
        assert_eq!(decoded(b"a\n\nb\xff"), Err(3));
        assert!(decoded(b"\xff\xfea").is_err(), "half a character");
        assert_eq!(decoded(b""), Ok(String::new()));
    }

    #[test]
    fn what_is_told_of_a_text_is_short_and_plain() {
        let long = format!("\"\\u001b[2J{}\" = 1", "x".repeat(100_000));
        #[derive(serde::Deserialize, Debug)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        let bad = parse::<Nothing>(&long).unwrap_err();
        assert!(bad.what.chars().count() <= MOST_TOLD && !bad.what.contains('\u{1b}'), "{bad}");
    }

    #[test]
    fn a_key_that_is_too_deep_is_told_with_its_line() {
        let deep = |parts: usize| vec!["a"; parts].join(".");
        for text in [
            format!("b = 1\n\n{} = 1\n", deep(500)),
            format!("b.c = \"\"\"x.y\"\"\"\n# {}\n[{}]\nc = 1\n", deep(900), deep(81)),
            format!("b = 1\nc.d = 2\nd = {{ e = 1, {} = 2 }}\n", deep(100).replace('.', " . ")),
            format!("b = [\n1,\n{{ {} = 2 }} ]\n", deep(5000)),
        ] {
            let bad = parse::<toml::Table>(&text).unwrap_err();
            assert_eq!(bad.line, Some(3), "{bad}");
            assert!(bad.what.contains("parts"), "{bad}");
        }
        assert!(parse::<toml::Table>(&format!("{} = 1", deep(80))).is_ok());
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        std::fs::write(&file, vec![b'#'; 2048]).unwrap();
        assert_eq!(text_of(&file, 2048).unwrap().len(), 2048);
        assert_eq!(text_of(&file, 2047).unwrap_err().to_string(), "it is larger than 1 KB");
    }
}
