//! Values by group, for many groups of which few have a value at a time.

use crate::query::index::feed::NOBODY;

/// The values of those groups that have one.
pub(super) struct Active<V> {
    /// For each group the index of its value, or [`NOBODY`].
    place: Vec<u32>,
    values: Vec<(u32, V)>,
}

impl<V> Default for Active<V> {
    /// Creates a table without groups, to which nothing can be added.
    fn default() -> Self {
        Self { place: Vec::new(), values: Vec::new() }
    }
}

impl<V: Default> Active<V> {
    pub(super) fn new(groups: usize) -> Self {
        Self { place: vec![NOBODY; groups], values: Vec::new() }
    }

    #[inline]
    pub(super) fn of(&mut self, group: u32) -> &mut V {
        let Self { place, values } = self;
        let place = &mut place[group as usize];
        if *place == NOBODY {
            *place = values.len() as u32;
            values.push((group, V::default()));
        }
        &mut values[*place as usize].1
    }

    /// Removes and returns all values.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u32, V)> {
        let Self { place, values } = self;
        values.drain(..).inspect(|(group, _)| place[*group as usize] = NOBODY)
    }
}
