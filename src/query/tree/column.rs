//! The columns of the table and the orders they make.

use std::cmp::Reverse;

use rayon::prelude::*;

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
    /// Where the line's function is in the source.
    Source,
    /// What was allocated in a frame of the game, on average.
    AllocationsPerFrame,
    BytesPerFrame,
    AllocTime,
    FreeTime,
    Address,
    Thread,
}

impl Column {
    /// All columns, in the order in which they are shown.
    pub const ALL: [Self; 14] = [
        Self::Name,
        Self::Count,
        Self::Impacting,
        Self::Size,
        Self::OutstandingFrom,
        Self::OutstandingTo,
        Self::Peak,
        Self::Source,
        Self::AllocationsPerFrame,
        Self::BytesPerFrame,
        Self::AllocTime,
        Self::FreeTime,
        Self::Address,
        Self::Thread,
    ];

    /// Whether only single allocations have it.
    pub fn is_of_allocations(self) -> bool {
        matches!(self, Self::AllocTime | Self::FreeTime | Self::Address | Self::Thread)
    }

    /// Whether it is there only for who asks for it.
    pub fn is_extra(self) -> bool {
        self.is_of_allocations() || self.is_per_frame() || self == Self::Source
    }

    /// Whether it is an average over frames.
    pub fn is_per_frame(self) -> bool {
        matches!(self, Self::AllocationsPerFrame | Self::BytesPerFrame)
    }

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
            Self::Source => "source",
            Self::AllocationsPerFrame => "allocations-per-frame",
            Self::BytesPerFrame => "bytes-per-frame",
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

impl Sort {
    /// The order when a user clicks on a column: once more turns it round.
    pub fn by(self, column: Column) -> Self {
        let again = self.column == column;
        Self { column, descending: if again { !self.descending } else { column != Column::Name } }
    }
}

impl Default for Sort {
    fn default() -> Self {
        Self { column: Column::Impacting, descending: true }
    }
}

/// What a column sorts nodes by, and what its bar is long by. Columns of single allocations, and the
/// peak, which comes later, leave nodes in an order of their own.
pub fn magnitude(column: Column, n: &Numbers) -> u64 {
    match column {
        Column::Count => n.count,
        Column::Size | Column::Peak => n.size,
        Column::OutstandingFrom => n.outstanding_from,
        Column::OutstandingTo => n.outstanding_to,
        Column::AllocationsPerFrame => n.allocated.count,
        Column::BytesPerFrame => n.allocated.size,
        _ => n.impacting.unsigned_abs(),
    }
}

/// Puts lines under one node into order; equal numbers come by size, then by name.
/// Names cost most, so they are only made where they decide; parallel.
pub(in crate::query) fn sort_lines<T: Send + Sync, Name: Ord + Send>(
    lines: &mut [T],
    sort: Sort,
    numbers: impl Fn(&T) -> Numbers + Sync,
    name: impl Fn(&T) -> Name + Sync,
) {
    if lines.len() < 2 {
        return;
    }
    let rank = |line: &T| {
        let numbers = numbers(line);
        let first = match sort.column {
            Column::Name => 0,
            column => magnitude(column, &numbers),
        };
        (if sort.descending { !first } else { first }, Reverse(numbers.size))
    };
    // Lines are large and numbers are sums: each is worked out once, and moved once.
    let ranks = lines.par_iter().with_min_len(MANY).map(rank);
    let mut order: Vec<((u64, Reverse<u64>), usize)> = ranks.zip(0..lines.len()).collect();
    order.par_sort_unstable();
    let name = |&(_, at): &(_, usize)| name(&lines[at]);
    if sort.column == Column::Name {
        match sort.descending {
            true => sort_by_name(&mut order, |line| Reverse(name(line))),
            false => sort_by_name(&mut order, name),
        }
    } else {
        order.chunk_by_mut(|a, b| a.0 == b.0).for_each(|equal| sort_by_name(equal, name));
    }
    arrange(lines, order.into_iter().map(|(_, from)| from).collect());
}

/// Lines that are worth waking other threads up for.
const MANY: usize = 1024;

fn sort_by_name<T: Send + Sync, Name: Ord + Send>(lines: &mut [T], name: impl Fn(&T) -> Name + Sync) {
    match lines.len() {
        0 | 1 => {}
        2..MANY => lines.sort_by_cached_key(name),
        _ => lines.par_sort_by_cached_key(name),
    }
}

/// Moves each item to its place: `from` has where the one comes from that belongs there.
fn arrange<T>(items: &mut [T], mut from: Vec<usize>) {
    for start in 0..items.len() {
        let mut at = start;
        while from[at] != start {
            let next = from[at];
            items.swap(at, next);
            from[at] = at;
            at = next;
        }
        from[at] = at;
    }
}
