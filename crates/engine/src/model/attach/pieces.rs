//! The rows that ranges of committed pages were split into.

use crate::model::RowId;
use crate::tables::KeyedMap;

/// Entries of one generation.
const GENERATION: usize = 1 << 17;

/// Pieces that committed rows were split into, so that a stack that comes after the split reaches all
/// of them. Bounded: two generations of entries; when the younger is full, the older one is dropped.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    young: KeyedMap<RowId, Vec<RowId>>,
    old: KeyedMap<RowId, Vec<RowId>>,
}

impl Pieces {
    /// Notes that `piece` was a part of `whole`.
    pub(super) fn add(&mut self, whole: RowId, piece: RowId) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.entry(whole).or_default().push(piece);
    }

    /// Gives rows their new numbers. Rows without one are dropped, with their list of pieces.
    pub(super) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) {
        for map in [&mut self.young, &mut self.old] {
            let known =
                |(row, pieces): (RowId, Vec<RowId>)| Some((number(row)?, pieces.into_iter().filter_map(&number).collect()));
            *map = std::mem::take(map).into_iter().filter_map(known).collect();
        }
    }

    /// All rows that were split off `row`, and off those.
    pub(super) fn of(&self, row: RowId) -> Vec<RowId> {
        let pieces = |whole: RowId| [&self.old, &self.young].into_iter().filter_map(move |map| map.get(&whole)).flatten();
        let mut all: Vec<RowId> = pieces(row).copied().collect();
        let mut next = 0;
        while let Some(&piece) = all.get(next) {
            all.extend(pieces(piece));
            next += 1;
        }
        all
    }
}
