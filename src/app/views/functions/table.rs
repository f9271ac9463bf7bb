//! The columns and values of the tree table, for the window and for exports.

use super::{CallTable, Choices, Grouping};
use crate::app::base::table::{Head, ListColumn, TypedTable, Value};
use crate::app::jobs::ForestKind;
use crate::app::widgets::columns::{has_numbers, late, list_column, touched, value};
use crate::query::{Column, RowGrouping, TouchedBytes};
use crate::units::Layer;

/// Columns that can be shown; those of single allocations are not among them. The last one is only for lines that stand for
/// functions.
const COLUMNS: [Column; 11] = [
    Column::Name,
    Column::Count,
    Column::Impacting,
    Column::Size,
    Column::OutstandingFrom,
    Column::OutstandingTo,
    Column::Peak,
    Column::Touched,
    Column::AllocationsPerFrame,
    Column::BytesPerFrame,
    Column::Source,
];

/// Columns of the view of frees.
const FREED_COLUMNS: [Column; 3] = [Column::Name, Column::Count, Column::Size];

/// Whether the view can show a column.
pub fn has(column: Column, frees: bool) -> bool {
    if frees { FREED_COLUMNS.contains(&column) } else { COLUMNS.contains(&column) }
}

/// A column with its header, which depends on what the rows are.
#[derive(Clone, Copy)]
pub struct Titled {
    pub column: Column,
    head: ListColumn,
}

impl Head for Titled {
    fn head(self) -> ListColumn {
        self.head
    }
}

/// The header of a column.
fn head(column: Column, wish: &Choices) -> ListColumn {
    let plain = list_column(column);
    let (title, hint) = match (column, wish.grouping) {
        (Column::Source, _) => (plain.title, "Source line that requested most of it"),
        (Column::Count, _) if wish.frees => ("Freed", "Allocations that were freed in the interval"),
        (Column::Size, _) if wish.frees => ("Freed Size", "Bytes of those that were freed in the interval"),
        (Column::Name, Grouping::Rows(RowGrouping::Tag)) => ("Tag", "The tag of the first rule that matches the stack"),
        (Column::Name, Grouping::Sites(ForestKind::ByModule)) if wish.frees => {
            ("Module", "The module of the function that freed")
        }
        (Column::Name, Grouping::Sites(ForestKind::ByModule)) => ("Module", "The module of the function that wanted the memory"),
        (Column::Name, Grouping::Sites(ForestKind::TopDown)) => {
            ("Function", "From the thread's start inwards: under each function what it called")
        }
        (Column::Name, Grouping::INVERTED) => ("Function", "Innermost functions outside, and under each what called it"),
        (Column::Name, Grouping::Sites(ForestKind::ByFunction)) if wish.frees => {
            ("Function", "The function that freed: the innermost one that is not the allocator's")
        }
        (Column::Name, Grouping::Sites(ForestKind::ByFunction)) => {
            ("Function", "The function that wanted the memory: the innermost one that is not the allocator's")
        }
        (Column::Name, Grouping::Rows(RowGrouping::Owner)) => ("Owner", "Who keeps the memory, by the stack that committed it"),
        (Column::Name, Grouping::Rows(RowGrouping::Heap)) => ("Heap", "Where the memory lies"),
        (Column::Name, Grouping::Rows(RowGrouping::Type)) => ("Type", "The C++ type that was allocated"),
        (Column::Name, Grouping::Rows(RowGrouping::Thread)) => ("Thread", "The thread that allocated"),
        (Column::Name, Grouping::Rows(RowGrouping::Size)) => ("Sizes", "Powers of two, in bytes"),
        (Column::Name, Grouping::Rows(RowGrouping::Lifetime)) => (
            "LifeTimes",
            "Time from allocation to free, in powers of ten seconds; no end: never freed, or there before the trace",
        ),
        _ => return plain,
    };
    ListColumn { title, hint, ..plain }
}

impl CallTable {
    pub fn peak(&self, row: usize) -> Option<u64> {
        self.peaks.as_ref()?.get(row).copied()
    }

    /// The touched bytes of a row; `None` until they are computed.
    pub fn touched(&self, row: usize) -> Option<Option<TouchedBytes>> {
        match self.layer {
            Layer::Commit => Some(self.touched.as_ref()?.get(row).copied().filter(|bytes| bytes.committed > 0)),
            _ => Some(None),
        }
    }

    /// Whether there are numbers for a column.
    pub fn has_numbers(&self, column: Column) -> bool {
        has_numbers(column, &self.trace, self.frames) && (column != Column::Touched || self.layer == Layer::Commit)
    }

    fn shown(&self) -> &'static [Column] {
        match () {
            () if self.asked.frees => &FREED_COLUMNS,
            () if self.has_sources() => &COLUMNS,
            () => &COLUMNS[..COLUMNS.len() - 1],
        }
    }
}

impl TypedTable for CallTable {
    type Column = Titled;

    fn title(&self) -> &'static str {
        if self.asked.frees { "Freed by" } else { "Functions" }
    }

    fn columns(&self) -> impl IntoIterator<Item = Titled> {
        let has = |column: &&Column| **column != Column::Touched || self.has_numbers(Column::Touched);
        self.shown().iter().filter(has).map(|&column| Titled { column, head: head(column, &self.asked) })
    }

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn value(&self, row: usize, Titled { column, .. }: Titled) -> Value {
        let Some(line) = self.lines.get(row) else { return Value::Nothing };
        match column {
            Column::Name => Value::Text(self.name(line)),
            Column::Source if self.sources.is_none() => late(Value::Awaited, &self.trace),
            Column::Source => self.source(line).map_or(Value::Nothing, |line| Value::Text(line.short())),
            Column::Touched => touched(self.touched(row), &self.trace),
            column => late(value(column, &line.numbers, self.peak(row), self.frames), &self.trace),
        }
    }

    fn depth(&self, row: usize) -> usize {
        self.lines.get(row).map_or(0, |line| line.depth as usize)
    }

    fn is_tree(&self) -> bool {
        self.asked.grouping.is_tree()
    }
}
