//! The groups of a comparison as a table, and the order in which they stand.

use std::cmp::Ordering;

use eframe::egui::{self, RichText, Ui};

use super::{Difference, Grouping};
use crate::app::commands::{Command, DocCommand};
use crate::app::filters::Predicate;
use crate::app::panels::list::{self, List, ListColumn};
use crate::app::theme;
use crate::app::views::Around;
use crate::format;
use crate::model::{Heap, HeapId};
use crate::query::{Compared, Group, RowCondition, TypeKey, layer_label};
use crate::units::{Layer, Tid};

/// Frames that are listed when a stack is pointed at.
const FRAMES: usize = 32;

/// What a column says of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cell {
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

/// The column by which groups stand, and whether the largest come first; at the beginning
/// those with the largest change, whatever its sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Order(Option<(Cell, bool)>);

impl Order {
    pub fn sort(self, difference: &mut Difference) {
        let Difference { groups, order, .. } = difference;
        *order = (0..groups.len()).collect();
        if let Some((cell, descending)) = self.0 {
            order.sort_by(|&a, &b| {
                let ordering = cell.compare(&groups[a], &groups[b]);
                if descending { ordering.reverse() } else { ordering }
            });
        }
    }
}

impl Cell {
    fn all(grouping: Grouping) -> Vec<Self> {
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

    fn column(self) -> ListColumn {
        let (title, hint, width, is_number) = match self {
            Self::Process => ("Process", "One life of a process", 180.0, false),
            Self::Heap => ("Handle", "Heap or tracker", 110.0, false),
            Self::Stack => ("Stack", "The function that wanted the memory, and when pointed at its stack", 320.0, false),
            Self::Type => ("Type", "The C++ type that was allocated", 240.0, false),
            Self::Function => ("Function", "The function that wanted the memory", 320.0, false),
            Self::Module => ("Module", "The module of the function that wanted the memory", 200.0, false),
            Self::Tag => ("Tag", "The name that a rule gives to the stack", 240.0, false),
            Self::Thread => ("Thread", "Thread that allocated", 90.0, true),
            Self::Layer => ("Layer", "Layers nest and are never added together", 140.0, false),
            Self::A => ("A", "Outstanding at the end of A", 96.0, true),
            Self::B => ("B", "Outstanding at the end of B", 96.0, true),
            Self::Delta => ("Delta", "B minus A", 100.0, true),
            Self::Allocated => ("Allocated", "How much more was allocated inside B than inside A", 104.0, true),
            Self::Count => ("Count", "How many more allocations were alive at some moment of B than of A", 90.0, true),
            Self::Peak => ("Peak", "How much larger the peak of B is than that of A", 100.0, true),
        };
        ListColumn { title, hint, width, is_number }
    }

    fn number(self, group: &Group<Compared>) -> Option<i64> {
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

    fn is_change(self) -> bool {
        self == Self::Delta
    }

    fn text(self, group: &Group<Compared>) -> String {
        let or = |text: &Option<String>, none: &str| text.clone().unwrap_or_else(|| none.to_owned());
        let number = || self.number(group).unwrap_or(0);
        match self {
            Self::Process => or(&group.process, ""),
            Self::Heap => or(&group.heap, "\u{2014}"),
            Self::Stack | Self::Function => or(&group.function, "(no stack recorded)"),
            Self::Type => or(&group.allocated_type, ""),
            Self::Module => or(&group.module, "(no module)"),
            Self::Tag => or(&group.tag, ""),
            Self::Thread => group.thread.map_or_else(|| "\u{2014}".to_owned(), |id| id.to_string()),
            Self::Layer => {
                let layer = Layer::ALL.into_iter().find(|layer| layer.name() == group.layer);
                layer.map_or(group.layer, layer_label).to_owned()
            }
            Self::A | Self::B => format::bytes(number().unsigned_abs()),
            Self::Delta | Self::Allocated | Self::Peak => format::signed_bytes(number()),
            Self::Count => signed_count(number()),
        }
    }

    fn compare(self, a: &Group<Compared>, b: &Group<Compared>) -> Ordering {
        match self.number(a).zip(self.number(b)) {
            Some((a, b)) => a.cmp(&b),
            None if self == Self::Thread => a.thread.cmp(&b.thread),
            None => self.text(a).to_lowercase().cmp(&self.text(b).to_lowercase()),
        }
    }
}

fn signed_count(n: i64) -> String {
    let sign = match n {
        0 => "",
        1.. => "+",
        _ => "\u{2212}",
    };
    format!("{sign}{}", format::count(n.unsigned_abs()))
}

/// Whether any key of a group contains a text in small letters.
pub fn matches(group: &Group<Compared>, text: &str) -> bool {
    let keys = [&group.process, &group.heap, &group.allocated_type, &group.function, &group.module, &group.tag];
    let thread = group.thread.map(|id| id.to_string());
    let keys = keys.into_iter().flatten().chain(group.stack.iter().flatten()).chain(&thread);
    keys.into_iter().any(|key| key.to_lowercase().contains(text))
}

pub fn show(difference: &mut Difference, order: &mut Order, around: &mut Around<'_>, ui: &mut Ui) {
    let before = *order;
    let cells = Cell::all(difference.grouping);
    let columns: Vec<ListColumn> = cells.iter().map(|cell| cell.column()).collect();
    let id = difference.grouping.label();
    let rows = difference.order.len();
    list::show(ui, id, &columns, rows, &mut Lines { difference, cells: &cells, order, around });
    if *order != before {
        order.sort(difference);
    }
}

struct Lines<'a, 'b> {
    difference: &'a Difference,
    cells: &'a [Cell],
    order: &'a mut Order,
    around: &'a mut Around<'b>,
}

impl<'a> Lines<'a, '_> {
    /// The heap of the open trace that a group is of, if it is one.
    fn heap(&self, group: &Group<Compared>) -> Option<HeapId> {
        let trace = &self.around.document.trace;
        let is_it = |heap: &&Heap| {
            let process = trace.process(heap.process);
            let is_its = (group.process.as_ref(), group.pid) == (Some(&process.label()), Some(process.pid.0));
            is_its && heap.layer.name() == group.layer && heap.key() == group.heap
        };
        let mut heaps = (0..).zip(&trace.heaps).filter(|(_, heap)| is_it(heap));
        let (id, _) = heaps.next().filter(|_| self.difference.grouping == Grouping::Heap)?;
        heaps.next().is_none().then_some(HeapId(id))
    }

    fn text_of(&self, cell: Cell, group: &Group<Compared>) -> String {
        let is_awaited = cell == Cell::Peak && !self.difference.has_peaks;
        if is_awaited { "\u{2026}".to_owned() } else { cell.text(group) }
    }

    fn group(&self, row: usize) -> Option<&'a Group<Compared>> {
        self.difference.groups.get(*self.difference.order.get(row)?)
    }
}

impl List for Lines<'_, '_> {
    fn text(&self, row: usize, column: usize) -> String {
        let group = self.group(row);
        self.cells.get(column).zip(group).map_or_else(String::new, |(cell, group)| self.text_of(*cell, group))
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: usize) {
        let (Some(cell), Some(group)) = (self.cells.get(column), self.group(row)) else { return };
        let mut text = RichText::new(self.text_of(*cell, group));
        if matches!(cell, Cell::Stack | Cell::Function | Cell::Type) {
            text = text.monospace().size(12.0);
        }
        match cell.number(group) {
            Some(0) => text = text.weak(),
            Some(change) if cell.is_change() => {
                let visuals = ui.visuals();
                text = text.color(if change > 0 { theme::growth(visuals) } else { theme::shrinkage(visuals) });
            }
            _ => {}
        }
        if *cell == Cell::Delta {
            text = text.strong();
        }
        let label = ui.add(egui::Label::new(text).truncate());
        if *cell == Cell::Stack {
            label.on_hover_ui(|ui| {
                for frame in group.stack.iter().flatten().rev().take(FRAMES) {
                    ui.label(RichText::new(frame).monospace().size(12.0));
                }
                let more = group.stack.as_ref().map_or(0, Vec::len).saturating_sub(FRAMES);
                if more > 0 {
                    ui.weak(format!("and {} frames outside of them", format::count(more as u64)));
                }
            });
        }
    }

    fn is_selected(&self, _: usize) -> bool {
        false
    }

    fn clicked(&mut self, _: usize) {}

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let Some(group) = self.group(row) else { return };
        if let Some(id) = self.heap(group) {
            self.around.offer_heap(ui, id);
        }
        for (word, what) in predicates(group) {
            self.around.offer_filters(ui, word, what);
        }
        if let Some(name) = &group.function {
            self.around.offer_rules(ui, name);
        }
        // A can be in another trace.
        let there = usize::from(self.difference.is_across);
        for (side, name) in ["A", "B"].into_iter().enumerate().skip(there) {
            if ui.button(format!("Select {name} on the graph")).clicked() {
                self.around.commands.doc(DocCommand::Select(Some(self.difference.sides[side])));
            }
        }
    }

    fn copy(&mut self, text: String) {
        self.around.commands.push(Command::Copy(text));
    }

    fn sorted_by(&self) -> Option<(usize, bool)> {
        let (cell, descending) = self.order.0?;
        Some((self.cells.iter().position(|of| *of == cell)?, descending))
    }

    fn header_clicked(&mut self, column: usize) {
        let Some(&cell) = self.cells.get(column) else { return };
        let is_number = cell.column().is_number;
        let descending = match self.order.0 {
            Some((of, descending)) if of == cell => !descending,
            _ => is_number,
        };
        self.order.0 = Some((cell, descending));
    }
}

/// What rows have that are of a group.
fn predicates(group: &Group<Compared>) -> impl Iterator<Item = (&'static str, Predicate)> {
    let layer = Layer::ALL.into_iter().find(|layer| layer.name() == group.layer);
    let of_type = |(name, layer): (&String, Layer)| Predicate::Type(TypeKey { layer, name: name.as_str().into() });
    let of_thread = |thread: u32| Predicate::Row(RowCondition::Thread(Tid(thread)), format!("thread {thread}").into());
    let name = |name: &Option<String>| name.as_deref().map(Into::into);
    let all = [
        ("this function", name(&group.function).map(Predicate::Function)),
        ("this type", group.allocated_type.as_ref().zip(layer).map(of_type)),
        ("this thread", group.thread.map(of_thread)),
        ("this tag", name(&group.tag).map(Predicate::Tag)),
        ("this module", name(&group.module).map(Predicate::Module)),
    ];
    all.into_iter().filter_map(|(word, what)| Some((word, what?)))
}
