//! The columns of the table and their sort orders.

use std::cmp::Reverse;

use rayon::prelude::*;

use crate::query::Numbers;
use crate::units::Interval;

/// The columns that lines can be sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are those of the columns")]
pub enum Column {
    Name,
    Count,
    Size,
    /// Sorted by absolute value.
    Impacting,
    OutstandingFrom,
    OutstandingTo,
    Peak,
    /// Touched part of what was committed in the trace and is alive at the end.
    Touched,
    /// Source line of the line's function.
    Source,
    /// Average number of allocations per frame of the game.
    AllocationsPerFrame,
    BytesPerFrame,
    AllocTime,
    FreeTime,
    Address,
    Thread,
}

impl Column {
    /// All columns, in display order.
    pub const ALL: [Self; 15] = [
        Self::Name,
        Self::Count,
        Self::Impacting,
        Self::Size,
        Self::OutstandingFrom,
        Self::OutstandingTo,
        Self::Peak,
        Self::Touched,
        Self::Source,
        Self::AllocationsPerFrame,
        Self::BytesPerFrame,
        Self::AllocTime,
        Self::FreeTime,
        Self::Address,
        Self::Thread,
    ];

    /// Returns whether only single allocations have a value in this column.
    pub(crate) fn is_of_allocations(self) -> bool {
        matches!(self, Self::AllocTime | Self::FreeTime | Self::Address | Self::Thread)
    }

    /// Returns whether the column is shown only on request.
    pub fn is_extra(self) -> bool {
        self.is_of_allocations() || self.is_per_frame() || self == Self::Source
    }

    /// Returns whether the column is an average over frames.
    pub fn is_per_frame(self) -> bool {
        matches!(self, Self::AllocationsPerFrame | Self::BytesPerFrame)
    }

    /// Whether it shows something of its own in an interval. At an instant nothing changes, and all sizes equal the one alive
    /// then.
    pub fn says_something(self, interval: Interval) -> bool {
        let is_doubled = matches!(self, Self::Impacting | Self::Size | Self::OutstandingFrom | Self::Peak);
        !interval.is_empty() || !(is_doubled || self.is_per_frame())
    }

    /// Returns a stable name for settings.
    pub fn id(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Count => "count",
            Self::Size => "size",
            Self::Impacting => "impacting-size",
            Self::OutstandingFrom => "outstanding-from",
            Self::OutstandingTo => "outstanding-to",
            Self::Peak => "peak",
            Self::Touched => "touched",
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

/// Sort order of the lines below each node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sort {
    /// The column.
    pub column: Column,
    /// Whether the largest come first.
    pub descending: bool,
}

impl Sort {
    /// Returns the order after a click on a column; a second click reverses it.
    pub fn by(self, column: Column) -> Self {
        let again = self.column == column;
        Self { column, descending: if again { !self.descending } else { column != Column::Name } }
    }

    /// Returns the order in an interval: by the size that is alive where the column says nothing of its own.
    pub fn in_interval(self, interval: Interval) -> Self {
        if self.column.says_something(interval) { self } else { Self { column: Column::OutstandingTo, ..self } }
    }
}

impl Default for Sort {
    fn default() -> Self {
        Self { column: Column::Impacting, descending: true }
    }
}

/// Returns the value by which a column sorts nodes, and which its bar shows. Peak and touched bytes are computed later; instead
/// of them it is the size, or the size that is alive at the end. For columns without numbers of nodes, the absolute impacting size.
pub fn magnitude(column: Column, n: &Numbers) -> u64 {
    match column {
        Column::Count => n.count,
        Column::Size | Column::Peak => n.size,
        Column::OutstandingFrom => n.outstanding_from,
        Column::OutstandingTo | Column::Touched => n.outstanding_to,
        Column::AllocationsPerFrame => n.allocated.count,
        Column::BytesPerFrame => n.allocated.size,
        _ => n.impacting.unsigned_abs(),
    }
}

/// Sorts the lines below one node; equal numbers are sorted by size, then by name. Names are the most expensive part,
/// so they are made only where they decide; parallel.
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
    // Lines are large and numbers are sums, so each number is computed once, and each line is moved once.
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

/// Smallest number of lines for which several threads pay.
const MANY: usize = 1024;

fn sort_by_name<T: Send + Sync, Name: Ord + Send>(lines: &mut [T], name: impl Fn(&T) -> Name + Sync) {
    match lines.len() {
        0 | 1 => {}
        2..MANY => lines.sort_by_cached_key(name),
        _ => lines.par_sort_by_cached_key(name),
    }
}

/// Permutes items in place: `from` has for each position the index of the item that belongs there.
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
