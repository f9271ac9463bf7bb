//! Scope and budget of a load, and how much of the budget is used.

use crate::model::Cut;
use crate::model::scope::Scope;
use crate::units::Ticks;

/// Number of records between two checks of the memory in use.
pub(super) const EVERY: u32 = 64;

/// Bytes a row that the sums of sites at checkpoints may take, which are prepared for queries as soon
/// as the trace is there (`query::Index`).
pub const SUMS_A_ROW: usize = 3;
/// Bytes a row that the sums of heaps over blocks of events may take, which are prepared likewise (`query::Index`).
pub const BLOCKS_A_ROW: usize = 4;
/// Bytes a row that sites and sizes of rows in the order of their deaths may take, which are prepared likewise (`query::Index`).
pub const OUTLIVING_A_ROW: usize = 2;
/// Bytes a row of all that is prepared for queries: also 2 for the parts of the rows in which each site occurs.
pub const PREPARED_A_ROW: usize = SUMS_A_ROW + BLOCKS_A_ROW + OUTLIVING_A_ROW + 2;

/// Bytes of a row that tell who freed it, if frees have stacks.
pub(super) const FREED_AT: u64 = 4;

/// Scope and budget of one load.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) scope: Scope,
    pub(super) reads_all: bool,
    pub(super) budget: u64,
    /// Most rows, and places in the order of deaths, that can be numbered.
    pub(super) numbers: u64,
    /// Bytes in use at which rows that ended are forgotten.
    pub(super) forget_at: u64,
    /// Rows that ended before this are gone.
    pub(super) forgotten: Option<Ticks>,
    pub(super) countdown: u32,
    pub(super) alive: Alive,
    pub(super) cut: Option<Cut>,
}

/// Numbers of what was alive at the latest check.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alive {
    /// Blocks, the most at any check: their tables do not shrink.
    pub(super) blocks: u64,
    /// Committed ranges.
    pub(super) ranges: u64,
    /// All rows at that time, alive or not.
    pub(super) rows: usize,
}

impl Default for Limit {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            reads_all: true,
            budget: u64::MAX,
            numbers: u32::MAX.into(),
            forget_at: u64::MAX,
            forgotten: None,
            countdown: EVERY,
            alive: Alive::default(),
            cut: None,
        }
    }
}

impl Limit {
    pub(super) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Whether stacks are still read: after a cut, stacks of events before it may take some more
    /// memory.
    #[inline(always)]
    pub(super) fn has_room_for_stacks(&self) -> bool {
        self.cut.is_none_or(|cut| !cut.stacks_missing)
    }
}
