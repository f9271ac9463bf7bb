//! The order of a table, also by names for files.

use serde::{Deserialize, Serialize};

/// A sort key, and whether the largest come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sort<K> {
    pub by: K,
    pub descending: bool,
}

impl<K: Copy + PartialEq> Sort<K> {
    /// Returns the order after a click on a column with this key, if it has one; a second click reverses it.
    pub fn clicked(self, key: Option<K>, is_descending_first: impl Fn(K) -> bool) -> Self {
        match key {
            Some(by) if by == self.by => Self { descending: !self.descending, ..self },
            Some(by) => Self { by, descending: is_descending_first(by) },
            None => self,
        }
    }
}

/// A sort key with a name in files, which never changes, whatever the column's caption is.
pub trait SortKey: Copy + PartialEq + 'static {
    /// All keys with their names.
    fn names() -> impl IntoIterator<Item = (Self, &'static str)>;
}

/// The order of a table in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SavedSort {
    pub by: String,
    pub descending: bool,
}

impl SavedSort {
    /// The order by a key; `None` if the key has no name.
    pub fn new<K: SortKey>(key: K, descending: bool) -> Option<Self> {
        let (_, name) = K::names().into_iter().find(|(other, _)| *other == key)?;
        Some(Self { by: name.to_owned(), descending })
    }

    /// The sort key, if the table has one of this name.
    pub fn key<K: SortKey>(&self) -> Option<K> {
        K::names().into_iter().find(|(_, name)| *name == self.by).map(|(key, _)| key)
    }
}

impl<K: SortKey> Sort<K> {
    /// The order for a file.
    pub fn saved(self) -> Option<SavedSort> {
        SavedSort::new(self.by, self.descending)
    }

    /// The order of a file, if the table has it.
    pub fn of(saved: &SavedSort) -> Option<Self> {
        Some(Self { by: saved.key()?, descending: saved.descending })
    }
}
