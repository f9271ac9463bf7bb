//! The columns of a comparison, their values, and the order of the groups.

use std::cmp::Ordering;
use std::sync::Arc;

use super::table::Listed;
use super::{Difference, Grouping};
use crate::app::base::table::{Head, SavedSort, SortKey};
use crate::app::widgets::columns::Wholes;
use crate::app::widgets::list::{Goes, ListColumn, NO_STACK, Value, widest};
use crate::query::{Compared, Group, layer_label};
use crate::units::Layer;

/// The content of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    Process,
    Heap,
    Stack,
    Type,
    Function,
    Module,
    Tag,
    Thread,
    Layer,
    A,
    B,
    Delta,
    Allocated,
    Count,
    Peak,
}

/// The sort column, and whether the largest come first. Without one, the groups with the largest change come
/// first, whatever its sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Order(pub Option<(Cell, bool)>);

impl SortKey for Cell {
    fn names() -> impl IntoIterator<Item = (Self, &'static str)> {
        [
            (Self::Process, "process"),
            (Self::Heap, "heap"),
            (Self::Stack, "stack"),
            (Self::Type, "type"),
            (Self::Function, "function"),
            (Self::Module, "module"),
            (Self::Tag, "tag"),
            (Self::Thread, "thread"),
            (Self::Layer, "layer"),
            (Self::A, "a"),
            (Self::B, "b"),
            (Self::Delta, "change"),
            (Self::Allocated, "allocated"),
            (Self::Count, "count"),
            (Self::Peak, "peak"),
        ]
    }
}

impl Order {
    /// The order for a file; `None` if the user has not chosen one.
    pub fn saved(self) -> Option<SavedSort> {
        self.0.and_then(|(cell, descending)| SavedSort::new(cell, descending))
    }

    /// The order of a file; without one, or without such a column, the largest change comes first.
    pub fn of(saved: Option<&SavedSort>) -> Self {
        Self(saved.and_then(|saved| Some((saved.key()?, saved.descending))))
    }

    /// The sort column, or the default one.
    fn cell(self) -> Cell {
        self.0.map_or(Cell::Delta, |(cell, _)| cell)
    }

    pub fn sort(self, difference: &mut Difference) {
        let Difference { listed, wholes, .. } = difference;
        let Listed { groups, order, .. } = Arc::make_mut(listed);
        let mut sorted: Vec<usize> = (0..groups.len()).collect();
        *wholes = Wholes::default();
        for group in groups.iter() {
            if let (Some(number), Some(layer)) = (self.cell().number(group), layer(group)) {
                wholes.add(layer, number.unsigned_abs());
            }
        }
        if let Some((cell, descending)) = self.0 {
            sorted.sort_by(|&a, &b| {
                let ordering = cell.compare(&groups[a], &groups[b]);
                if descending { ordering.reverse() } else { ordering }
            });
        }
        *order = sorted.into();
    }
}

impl Cell {
    pub fn all(grouping: Grouping) -> Vec<Self> {
        let keys: &[Self] = match grouping {
            Grouping::Heap => &[Self::Process, Self::Heap],
            Grouping::Stack => &[Self::Stack],
            Grouping::Type => &[Self::Type],
            Grouping::Function => &[Self::Function],
            Grouping::Module => &[Self::Module],
            Grouping::Tag => &[Self::Tag],
            Grouping::Thread => &[Self::Process, Self::Thread],
        };
        let numbers = [Self::Layer, Self::A, Self::B, Self::Delta, Self::Allocated, Self::Count, Self::Peak];
        keys.iter().copied().chain(numbers).collect()
    }

    pub fn number(self, group: &Group<Compared>) -> Option<i64> {
        let Compared { a, b, delta } = &group.numbers;
        let unsigned = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Some(match self {
            Self::A => unsigned(a.outstanding_to),
            Self::B => unsigned(b.outstanding_to),
            Self::Delta => delta.outstanding_to,
            Self::Allocated => delta.allocated_size,
            Self::Count => delta.count,
            Self::Peak => delta.peak,
            _ => return None,
        })
    }

    pub fn value(self, group: &Group<Compared>) -> Value {
        let or = |text: &Option<String>, none: &str| Value::Text(text.clone().unwrap_or_else(|| none.to_owned()));
        let number = || self.number(group).unwrap_or(0);
        match self {
            Self::Process => or(&group.process, ""),
            Self::Heap => or(&group.heap, "\u{2014}"),
            Self::Stack | Self::Function => or(&group.function, NO_STACK),
            Self::Type => or(&group.allocated_type, ""),
            Self::Module => or(&group.module, "(no module)"),
            Self::Tag => or(&group.tag, ""),
            Self::Thread => group.thread.map_or_else(|| Value::text("\u{2014}"), |id| Value::Text(id.to_string())),
            Self::Layer => Value::text(layer(group).map_or(group.layer, layer_label)),
            Self::A | Self::B => Value::Bytes(number().unsigned_abs()),
            Self::Delta | Self::Allocated | Self::Peak => Value::Change(number()),
            Self::Count => Value::CountChange(number()),
        }
    }

    fn compare(self, a: &Group<Compared>, b: &Group<Compared>) -> Ordering {
        match self.number(a).zip(self.number(b)) {
            Some((a, b)) => a.cmp(&b),
            None if self == Self::Thread => a.thread.cmp(&b.thread),
            None => self.value(a).to_string().to_lowercase().cmp(&self.value(b).to_string().to_lowercase()),
        }
    }
}

impl Head for Cell {
    fn head(self) -> ListColumn {
        match self {
            Self::Process => ListColumn::short("Process", "One life of a process"),
            Self::Heap => ListColumn::text("Handle", "Heap or tracker", 126.0).goes(Goes::First),
            Self::Stack => ListColumn::short("Stack", "The function that wanted the memory; its stack as a tooltip"),
            Self::Type => ListColumn::short("Type", "The C++ type that was allocated"),
            Self::Function => ListColumn::short("Function", "The function that wanted the memory"),
            Self::Module => ListColumn::short("Module", "The module of the function that wanted the memory"),
            Self::Tag => ListColumn::short("Tag", "The tag that a rule gives to the stack"),
            Self::Thread => ListColumn::text("Thread", "Thread that allocated", 90.0),
            Self::Layer => ListColumn::text("Layer", "Layers nest and are never added together", 140.0).goes(Goes::First),
            Self::A => ListColumn::number("A", "Outstanding at the end of A", widest::BYTES).goes(Goes::Last),
            Self::B => ListColumn::number("B", "Outstanding at the end of B", widest::BYTES).goes(Goes::Last),
            Self::Delta => {
                ListColumn::number("Change", "Outstanding at the end of B minus that of A", widest::CHANGE).goes(Goes::Last)
            }
            Self::Allocated => {
                ListColumn::number("Allocated", "How much more was allocated inside B than inside A", widest::CHANGE)
            }
            Self::Count => ListColumn::number(
                "Count",
                "How many more allocations were alive at some moment of B than of A",
                widest::COUNT_CHANGE,
            ),
            Self::Peak => ListColumn::number("Peak", "How much larger the peak of B is than that of A", widest::CHANGE),
        }
    }
}

/// The layer of a group.
pub fn layer(group: &Group<Compared>) -> Option<Layer> {
    Layer::ALL.into_iter().find(|layer| layer.name() == group.layer)
}
