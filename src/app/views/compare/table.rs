//! The groups of a comparison as a sortable table.

use std::cmp::Ordering;
use std::sync::Arc;

use eframe::egui::{RichText, Ui};

use super::{Difference, Grouping};
use crate::app::base::table::{Head, SavedSort, SortKey, TypedTable};
use crate::app::commands::DocCommand;
use crate::app::state::filters::Predicate;
use crate::app::state::ids::Place;
use crate::app::views::ViewContext;
use crate::app::widgets::columns::Wholes;
use crate::app::widgets::list::{self, List, ListColumn, NO_STACK, Name, Share, Style, Value, widest};
use crate::format;
use crate::model::{Heap, HeapId};
use crate::query::{Compared, Group, TypeKey, layer_label};
use crate::units::{Layer, Tid};

/// Most frames in the tooltip of a stack.
const FRAMES: usize = 32;

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
pub struct Order(Option<(Cell, bool)>);

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

    fn value(self, group: &Group<Compared>) -> Value {
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
            Self::Process => ListColumn::rest("Process", "One life of a process"),
            Self::Heap => ListColumn::text("Handle", "Heap or tracker", 126.0),
            Self::Stack => ListColumn::rest("Stack", "The function that wanted the memory; its stack as a tooltip"),
            Self::Type => ListColumn::rest("Type", "The C++ type that was allocated"),
            Self::Function => ListColumn::rest("Function", "The function that wanted the memory"),
            Self::Module => ListColumn::rest("Module", "The module of the function that wanted the memory"),
            Self::Tag => ListColumn::rest("Tag", "The tag that a rule gives to the stack"),
            Self::Thread => ListColumn::text("Thread", "Thread that allocated", 90.0),
            Self::Layer => ListColumn::text("Layer", "Layers nest and are never added together", 140.0),
            Self::A => ListColumn::number("A", "Outstanding at the end of A", widest::BYTES),
            Self::B => ListColumn::number("B", "Outstanding at the end of B", widest::BYTES),
            Self::Delta => ListColumn::number("Change", "Outstanding at the end of B minus that of A", widest::CHANGE),
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

fn layer(group: &Group<Compared>) -> Option<Layer> {
    Layer::ALL.into_iter().find(|layer| layer.name() == group.layer)
}

/// Whether any key of a group contains a text, which must be in lower case.
pub fn matches(group: &Group<Compared>, text: &str) -> bool {
    let keys = [&group.process, &group.heap, &group.allocated_type, &group.function, &group.module, &group.tag];
    let thread = group.thread.map(|id| id.to_string());
    let keys = keys.into_iter().flatten().chain(group.stack.iter().flatten()).chain(&thread);
    keys.into_iter().any(|key| key.to_lowercase().contains(text))
}

pub fn show(difference: &mut Difference, order: &mut Order, searched: &str, context: &mut ViewContext<'_>, ui: &mut Ui) {
    let before = *order;
    let pushed = list::show(
        ui,
        difference.listed.grouping.label(),
        &difference.listed,
        &mut Lines { difference, order, searched, context },
    );
    context.commands.append(pushed);
    if *order != before {
        order.sort(difference);
    }
}

/// The groups in their current order.
#[derive(Clone)]
pub struct Listed {
    pub grouping: Grouping,
    pub groups: Arc<[Group<Compared>]>,
    pub order: Arc<[usize]>,
    /// Whether the peaks are known; they are computed after the other numbers.
    pub has_peaks: bool,
}

impl Listed {
    fn group(&self, row: usize) -> Option<&Group<Compared>> {
        self.groups.get(*self.order.get(row)?)
    }
}

impl TypedTable for Listed {
    type Column = Cell;

    fn title(&self) -> &'static str {
        "Compare"
    }

    fn columns(&self) -> impl IntoIterator<Item = Cell> {
        Cell::all(self.grouping)
    }

    fn len(&self) -> usize {
        self.order.len()
    }

    fn value(&self, row: usize, cell: Cell) -> Value {
        match self.group(row) {
            Some(_) if cell == Cell::Peak && !self.has_peaks => Value::Awaited,
            Some(group) => cell.value(group),
            None => Value::Nothing,
        }
    }
}

struct Lines<'a, 'b> {
    difference: &'a Difference,
    order: &'a mut Order,
    searched: &'a str,
    context: &'a mut ViewContext<'b>,
}

impl Lines<'_, '_> {
    /// The line of another tab that a row stands for, if the open trace has it.
    fn place(&self, row: usize) -> Option<Place> {
        let Difference { listed, is_across, ours, .. } = self.difference;
        let group = listed.group(row)?;
        let Compared { a, b, .. } = &group.numbers;
        let own = if *ours == 0 { a } else { b };
        let is_there = !is_across || *own != Default::default();
        place(group, listed.grouping, self.heap(group)).filter(|_| is_there)
    }

    /// The heap of the open trace that a group stands for, if it is exactly one.
    fn heap(&self, group: &Group<Compared>) -> Option<HeapId> {
        let trace = &self.context.document.trace;
        let is_it = |heap: &&Heap| {
            let process = trace.process(heap.process);
            let is_its = (group.process.as_ref(), group.pid) == (Some(&process.label()), Some(process.pid.0));
            is_its && heap.layer.name() == group.layer && heap.key() == group.heap
        };
        let mut heaps = (0..).zip(&trace.heaps).filter(|(_, heap)| is_it(heap));
        let (id, _) = heaps.next().filter(|_| self.difference.listed.grouping == Grouping::Heap)?;
        heaps.next().is_none().then_some(HeapId(id))
    }
}

/// The line of another tab that a group stands for, if there is one.
fn place(group: &Group<Compared>, grouping: Grouping, heap: Option<HeapId>) -> Option<Place> {
    let layer = layer(group)?;
    let name = |name: &Option<String>| name.as_deref().map(Into::into);
    match grouping {
        Grouping::Heap => heap.map(Place::Heap),
        Grouping::Stack | Grouping::Function => name(&group.function).map(|name| Place::Function(layer, name)),
        Grouping::Type => name(&group.allocated_type).map(|name| Place::Type(layer, name)),
        Grouping::Module => name(&group.module).map(|name| Place::Module(layer, name)),
        Grouping::Tag => name(&group.tag).map(|name| Place::Tag(layer, name)),
        Grouping::Thread => None,
    }
}

impl List<Listed> for Lines<'_, '_> {
    /// Goes to the line of the group in *Functions* or *Stacks*.
    fn clicked(&mut self, row: usize) {
        if let Some(place) = self.place(row) {
            self.context.commands.push(DocCommand::GoToPlace(place));
        }
    }

    fn share(&self, row: usize, cell: Cell) -> Option<Share> {
        let group = self.difference.listed.group(row)?;
        let layer = layer(group)?;
        let whole = format!("{} in {}, growth and shrinkage together", cell.head().title, layer_label(layer));
        Share::of(cell.number(group)?.unsigned_abs(), self.difference.wholes.of(layer), whole)
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, cell: Cell, value: &Value) {
        let Some(group) = self.difference.listed.group(row) else { return };
        match (cell, value) {
            (Cell::Stack | Cell::Function | Cell::Type, Value::Text(text)) => {
                let style = match cell {
                    _ if text == NO_STACK => Style::Weak,
                    Cell::Type => Style::Code,
                    _ => Style::Frame,
                };
                let label = list::name(ui, Name { text, style, searched: self.searched });
                let goes = self.place(row).is_some();
                if cell == Cell::Stack || goes {
                    label.on_hover_ui(|ui| {
                        if cell == Cell::Stack {
                            stack(ui, group);
                        }
                        if goes {
                            ui.weak("Click to show it in Functions");
                        }
                    });
                }
            }
            // Only the column of the change itself has the colours of growth.
            (Cell::Allocated | Cell::Peak, &Value::Change(change)) if change != 0 => {
                list::number(ui, &Value::Text(format::signed_bytes(change)), None);
            }
            _ => list::plain(self, ui, row, cell, value),
        }
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let Some(group) = self.difference.listed.group(row) else { return };
        if let Some(place) = self.place(row) {
            let tab = if matches!(place, Place::Heap(_)) { "Show in Stacks" } else { "Show in Functions" };
            self.context.commands.on_click(&ui.button(tab), DocCommand::GoToPlace(place));
        }
        if let Some(id) = self.heap(group) {
            self.context.offer_heap(ui, id);
        }
        for (word, what) in predicates(group) {
            self.context.offer_filters(ui, word, what);
        }
        if let Some(name) = &group.function {
            self.context.offer_rules(ui, name);
        }
        // The graph is of the open trace alone.
        let is_there = |side: usize| !self.difference.is_across || side == self.difference.ours;
        for (side, name) in ["A", "B"].into_iter().enumerate().filter(|(side, _)| is_there(*side)) {
            let button = ui.button(format!("Select {name} on the graph"));
            self.context.commands.on_click(&button, DocCommand::Select(Some(self.difference.sides[side])));
        }
    }

    fn sorted(&self, cell: Cell) -> Option<bool> {
        let (by, descending) = self.order.0.unwrap_or((Cell::Delta, true));
        (cell == by).then_some(descending)
    }

    fn header_clicked(&mut self, cell: Cell) {
        let descending = match self.order.0 {
            Some((by, descending)) if by == cell => !descending,
            _ => cell.head().is_number,
        };
        self.order.0 = Some((cell, descending));
    }
}

/// Draws the stack of a group, innermost frame first.
fn stack(ui: &mut Ui, group: &Group<Compared>) {
    for frame in group.stack.iter().flatten().rev().take(FRAMES) {
        ui.label(RichText::new(frame).monospace().size(12.0));
    }
    let more = group.stack.as_ref().map_or(0, Vec::len).saturating_sub(FRAMES);
    if more > 0 {
        ui.weak(format!("and {} frames outside of them", format::count(more as u64)));
    }
}

/// The predicates that filter to the rows of a group, with their names.
fn predicates(group: &Group<Compared>) -> impl Iterator<Item = (&'static str, Predicate)> {
    let layer = layer(group);
    let of_type = |(name, layer): (&String, Layer)| Predicate::Type(TypeKey { layer, name: name.as_str().into() });
    let name = |name: &Option<String>| name.as_deref().map(Into::into);
    let all = [
        ("this function", name(&group.function).map(Predicate::Function)),
        ("this type", group.allocated_type.as_ref().zip(layer).map(of_type)),
        ("this thread", group.thread.map(|thread| Predicate::thread(Tid(thread)))),
        ("this tag", name(&group.tag).map(Predicate::Tag)),
        ("this module", name(&group.module).map(Predicate::Module)),
    ];
    all.into_iter().filter_map(|(word, what)| Some((word, what?)))
}
