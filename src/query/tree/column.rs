//! The columns of the table and the orders they make.

use std::cmp::Ordering;

use crate::query::Numbers;

/// What lines can be sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are those of the columns")]
pub enum Column {
    Name,
    Count,
    Size,
    /// By absolute value.
    Impacting,
    OutstandingFrom,
    OutstandingTo,
    Peak,
    AllocTime,
    FreeTime,
    Address,
    Thread,
}

impl Column {
    /// All columns, in the order in which they are shown.
    pub const ALL: [Self; 11] = [
        Self::Name,
        Self::Count,
        Self::Impacting,
        Self::Size,
        Self::OutstandingFrom,
        Self::OutstandingTo,
        Self::Peak,
        Self::AllocTime,
        Self::FreeTime,
        Self::Address,
        Self::Thread,
    ];

    /// Stable name for settings.
    pub fn id(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Count => "count",
            Self::Size => "size",
            Self::Impacting => "impacting-size",
            Self::OutstandingFrom => "outstanding-from",
            Self::OutstandingTo => "outstanding-to",
            Self::Peak => "peak",
            Self::AllocTime => "alloc-time",
            Self::FreeTime => "free-time",
            Self::Address => "address",
            Self::Thread => "thread",
        }
    }
}

/// Order of the lines below each node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sort {
    /// By what.
    pub column: Column,
    /// Largest first.
    pub descending: bool,
}

impl Default for Sort {
    fn default() -> Self {
        Self { column: Column::Impacting, descending: true }
    }
}

/// What a column sorts nodes by. Columns of single allocations, and the peak,
/// which comes later, leave nodes in an order of their own.
pub(super) fn measure(column: Column, n: &Numbers) -> u64 {
    match column {
        Column::Count => n.count,
        Column::Size | Column::Peak => n.size,
        Column::OutstandingFrom => n.outstanding_from,
        Column::OutstandingTo => n.outstanding_to,
        _ => n.impacting.unsigned_abs(),
    }
}

/// Order of two lines under one node; equal numbers come by size, then by name.
pub(super) fn compare(sort: Sort, a: &Numbers, a_label: &str, b: &Numbers, b_label: &str) -> Ordering {
    let order = match sort.column {
        Column::Name => a_label.cmp(b_label),
        column => measure(column, a).cmp(&measure(column, b)),
    };
    let order = if sort.descending { order.reverse() } else { order };
    order.then(b.size.cmp(&a.size)).then_with(|| a_label.cmp(b_label))
}
