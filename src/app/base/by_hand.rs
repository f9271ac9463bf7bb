//! The user's own switches, kept apart from what is derived from the data, so that the rest can be
//! decided again whenever more of the trace is known.

use std::collections::BTreeMap;

/// The switches that the user has moved.
#[derive(Clone, Debug)]
pub struct ByHand<K>(BTreeMap<K, bool>);

impl<K> Default for ByHand<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> FromIterator<(K, bool)> for ByHand<K> {
    fn from_iter<I: IntoIterator<Item = (K, bool)>>(switched: I) -> Self {
        Self(switched.into_iter().collect())
    }
}

impl<K: Ord + Copy> ByHand<K> {
    /// Records that the user switched it.
    pub fn switch(&mut self, id: K, is_on: bool) {
        self.0.insert(id, is_on);
    }

    /// How the user switched it; `None` if they did not.
    pub fn get(&self, id: K) -> Option<bool> {
        self.0.get(&id).copied()
    }

    /// All that the user switched, in order.
    pub fn all(&self) -> impl Iterator<Item = (K, bool)> {
        self.0.iter().map(|(&id, &is_on)| (id, is_on))
    }

    /// Renumbers the entries; those without a new number are dropped.
    pub fn renumber(&mut self, number: impl Fn(K) -> Option<K>) {
        self.0 = self.all().filter_map(|(id, is_on)| Some((number(id)?, is_on))).collect();
    }
}
