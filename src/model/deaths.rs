//! The rows of a complete trace in the order of their deaths: 4 bytes each.

use super::RowId;
use super::rows::Rows;
use crate::units::Ticks;

/// Row ids by death; those of one tick in any order.
#[derive(Clone, Debug, Default)]
pub struct DeathOrder {
    rows: Vec<RowId>,
}

impl DeathOrder {
    /// Number of rows that died.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none died.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes in memory.
    pub fn heap_bytes(&self) -> usize {
        self.rows.capacity() * 4
    }

    /// All rows that died, in order.
    pub fn rows(&self) -> &[RowId] {
        &self.rows
    }

    /// By sorting all rows: for those who have no better way.
    pub(super) fn sorted(rows: &Rows) -> Self {
        let ids = (0..rows.len() as u32).map(RowId);
        let mut died: Vec<RowId> = ids.filter(|&id| rows.death(id) != Ticks::NEVER).collect();
        died.sort_by_key(|&id| rows.death(id));
        Self { rows: died }
    }
}
