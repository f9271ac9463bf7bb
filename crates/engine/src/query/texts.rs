//! Interned strings: equal texts have one number.

use std::sync::Arc;

use crate::tables::KeyedMap;

/// Interned strings.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    list: Vec<Arc<str>>,
    index: KeyedMap<Arc<str>, u32>,
}

impl Texts {
    /// Returns the number of a text; a new text gets the next number.
    pub(super) fn intern(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.index.get(text) {
            return known;
        }
        let (text, number): (Arc<str>, u32) = (text.into(), self.list.len() as u32);
        self.list.push(Arc::clone(&text));
        self.index.insert(text, number);
        number
    }

    /// Returns a text by its number.
    pub(super) fn text(&self, number: u32) -> &Arc<str> {
        &self.list[number as usize]
    }

    /// Returns the number of a text that is interned.
    pub(super) fn number(&self, text: &str) -> Option<u32> {
        self.index.get(text).copied()
    }

    /// Returns the number of different texts.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }
}
