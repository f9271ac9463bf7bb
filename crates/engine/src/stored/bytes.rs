//! Bytes that grow while values are written, and bytes from which values are read; the texts come first.

use std::sync::Arc;

use super::Damaged;
use crate::tables::KeyedMap;

/// Bytes of values.
#[derive(Debug, Default)]
pub struct Out {
    bytes: Vec<u8>,
    texts: Vec<Box<str>>,
    numbers: KeyedMap<Box<str>, u32>,
}

impl Out {
    /// Appends bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the number of entries that follow.
    pub fn count(&mut self, count: usize) {
        self.bytes(&(count as u64).to_le_bytes());
    }

    /// Appends a text.
    pub fn text(&mut self, text: &str) {
        let number = match self.numbers.get(text) {
            Some(&number) => number,
            None => {
                let number = self.texts.len() as u32;
                self.texts.push(text.into());
                self.numbers.insert(text.into(), number);
                number
            }
        };
        self.bytes(&number.to_le_bytes());
    }

    /// All bytes: the texts, and what was appended.
    pub fn finish(self) -> Vec<u8> {
        let mut all = Self::default();
        all.count(self.texts.len());
        for text in &self.texts {
            all.count(text.len());
            all.bytes(text.as_bytes());
        }
        all.bytes(&self.bytes);
        all.bytes
    }
}

/// Bytes of texts that are copied for their owners; no trace has so many, and a file could name one long text very often.
const MOST_COPIED: usize = 256 << 20;

/// Bytes from which values are read.
#[derive(Debug)]
pub struct In<'a> {
    left: &'a [u8],
    texts: Vec<Arc<str>>,
    copied: usize,
}

impl<'a> In<'a> {
    /// The values in the bytes of an [`Out`].
    pub fn new(bytes: &'a [u8]) -> Result<Self, Damaged> {
        let mut all = Self { left: bytes, texts: Vec::new(), copied: 0 };
        for _ in 0..all.count()? {
            let length = all.count()?;
            let text = std::str::from_utf8(all.take(length)?).map_err(|_| Damaged)?;
            all.texts.push(text.into());
        }
        Ok(all)
    }

    /// The next bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Damaged> {
        let (taken, left) = self.left.split_at_checked(count).ok_or(Damaged)?;
        self.left = left;
        Ok(taken)
    }

    /// The next bytes, as many as an array has.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let (taken, left) = self.left.split_first_chunk().ok_or(Damaged)?;
        self.left = left;
        Ok(*taken)
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, Damaged> {
        self.array().map(|[byte]| byte)
    }

    /// A number of entries; each takes at least a byte.
    pub fn count(&mut self) -> Result<usize, Damaged> {
        let count = u64::from_le_bytes(self.array()?);
        usize::try_from(count).ok().filter(|&count| count <= self.left.len()).ok_or(Damaged)
    }

    /// A text.
    pub fn text(&mut self) -> Result<Arc<str>, Damaged> {
        let number = u32::from_le_bytes(self.array()?);
        self.texts.get(number as usize).cloned().ok_or(Damaged)
    }

    /// A text, copied.
    pub fn own_text(&mut self) -> Result<String, Damaged> {
        let text = self.text()?;
        self.copied += text.len();
        if self.copied <= MOST_COPIED { Ok((*text).to_owned()) } else { Err(Damaged) }
    }

    /// Whether everything was read.
    pub fn end(&self) -> Result<(), Damaged> {
        if self.left.is_empty() { Ok(()) } else { Err(Damaged) }
    }
}
