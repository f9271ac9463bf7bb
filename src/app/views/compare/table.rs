//! The groups of a comparison as a sortable table.

use std::sync::Arc;

use eframe::egui::{RichText, Ui};

use super::cells::{Cell, Order, layer};
use super::{Difference, Grouping};
use crate::app::base::table::{Head, TypedTable};
use crate::app::commands::DocCommand;
use crate::app::state::filters::Predicate;
use crate::app::state::ids::Place;
use crate::app::views::ViewContext;
use crate::app::widgets::list::{self, List, NO_STACK, Name, Share, Style, Value};
use crate::format;
use crate::model::{Heap, HeapId};
use crate::query::{Compared, Group, TypeKey, layer_label};
use crate::units::{Layer, Tid};

/// Most frames in the tooltip of a stack.
const FRAMES: usize = 32;

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
        &mut Lines { difference, order, searched, context, has_handles: true },
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
    /// Whether there is room for the column of handles.
    has_handles: bool,
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
    fn placed(&mut self, columns: &[Cell]) {
        self.has_handles = columns.contains(&Cell::Heap);
    }

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
            // Without the column of handles the first one tells the heaps of a process apart.
            (Cell::Process, Value::Text(process)) if !self.has_handles && group.heap.is_some() => {
                let text = group.heap.iter().chain([process]).map(String::as_str).collect::<Vec<_>>().join(", ");
                list::name(ui, Name { text: &text, style: Style::Plain, searched: self.searched });
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
