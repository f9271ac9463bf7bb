//! Rows, and frees, whose stack is given by a key.
//!
//! The key came with the event but was given a little after it, and a definition in between may end the
//! key's old meaning. So the rows wait until their key is defined or enough of them wait, and then get
//! their sites all at once.

use crate::model::allocations::EndedRow;
use crate::model::{HeapId, RowId, SiteId};
use crate::units::Ticks;

/// The owner of a stack: a row that began, or a free.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeyOwner {
    Began(RowId),
    Freed(EndedRow),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct KeyedRow {
    pub(super) owner: KeyOwner,
    pub(super) heap: HeapId,
    /// When the row began, or was freed.
    pub(super) at: Ticks,
    pub(super) key: u64,
    /// Raw time at which the key was given.
    pub(super) time: i64,
}

/// The rows that wait.
#[derive(Debug, Default)]
pub(super) struct Keyed {
    pub(super) rows: Vec<KeyedRow>,
    /// Number of rows above which they are settled; higher if many have to wait long.
    pub(super) limit: usize,
    pub(super) keys: AwaitedKeys,
    /// Whether a definition of the latest tick may be the meaning of one of the keys.
    pub(super) may_be_fresh: bool,
}

/// The keys of the rows that wait, and some more: a bit for each value of a hash.
#[derive(Debug)]
pub(super) struct AwaitedKeys([u64; Self::WORDS]);

impl AwaitedKeys {
    const WORDS: usize = 64;

    fn place(key: u64) -> (usize, u64) {
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((hash >> 58) as usize, 1 << (hash >> 52 & 63))
    }

    #[inline(always)]
    pub(super) fn add(&mut self, key: u64) {
        let (word, bit) = Self::place(key);
        self.0[word] |= bit;
    }

    pub(super) fn may_have(&self, key: u64) -> bool {
        let (word, bit) = Self::place(key);
        self.0[word] & bit != 0
    }
}

impl Default for AwaitedKeys {
    fn default() -> Self {
        Self([0; Self::WORDS])
    }
}

impl Keyed {
    /// Gives rows their new numbers; those without one are dropped.
    pub(super) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) {
        self.rows.retain_mut(|keyed| match &mut keyed.owner {
            KeyOwner::Began(row) => number(*row).map(|new| *row = new).is_some(),
            KeyOwner::Freed(ended) => ended.renumber(&number),
        });
    }

    /// Rows or slots that frees ended.
    pub(super) fn freed(&mut self) -> impl Iterator<Item = &mut EndedRow> {
        self.rows.iter_mut().filter_map(|keyed| match &mut keyed.owner {
            KeyOwner::Freed(ended) => Some(ended),
            KeyOwner::Began(_) => None,
        })
    }
}

impl SiteId {
    /// Site of a row that is not settled yet; never in a published trace.
    pub(in crate::model) const UNKNOWN: Self = Self(u32::MAX);
}
