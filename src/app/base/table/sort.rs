//! The order of a table.

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
