//! Values by group where few of many groups have one at a time.

use crate::query::index::feed::NOBODY;

/// Values of those among many groups that have one.
pub(super) struct Active<V> {
    /// By group the place of its value, or [`NOBODY`].
    place: Vec<u32>,
    values: Vec<(u32, V)>,
}

impl<V> Default for Active<V> {
    /// Of no group: nothing can be added.
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

    /// Hands over all values, of which none is left.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u32, V)> {
        let Self { place, values } = self;
        values.drain(..).inspect(|(group, _)| place[*group as usize] = NOBODY)
    }
}
