//! Files of rules that people write, in TOML. Whoever wrote one may have meant harm: it is read
//! up to a size, and what is wrong is one sentence with its line.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::paths;

/// Bytes of a file at most.
pub const MAX_FILE: u64 = 4 << 20;

/// What is wrong with the text of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadText {
    /// In which line, the first being 1; `None` if it is about all of it.
    pub line: Option<usize>,
    /// What, in words.
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
    /// Something wrong at a place of the text.
    pub fn at(text: &str, place: &Range<usize>, what: impl Into<String>) -> Self {
        let line = 1 + text.bytes().take(place.start).filter(|&byte| byte == b'\n').count();
        Self { line: Some(line), what: what.into() }
    }
}

/// What a text says, if it has the form of a `T`.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, BadText> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let what = error.message().lines().collect::<Vec<_>>().join(", ");
        match error.span() {
            Some(span) => BadText::at(text, &span, what),
            None => BadText { line: None, what },
        }
    })
}

/// The text of a regular file of at most [`MAX_FILE`] bytes.
pub fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    paths::open_regular(path)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MAX_FILE {
        true => Err(io::Error::other(format!("it is larger than {} MB", MAX_FILE >> 20))),
        false => Ok(text),
    }
}
