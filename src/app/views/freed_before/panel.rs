//! The list of frees, and the call stack of the selected line.

use std::borrow::Borrow;
use std::sync::Arc;

use eframe::egui::{self, RichText, Ui};

use super::{FreedBefore, Listed, Order};
use crate::app::base::table::{FlatTable, SavedSort, Sort, TableSource, TypedColumn};
use crate::app::jobs::drop_aside;
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::centered::centered;
use crate::app::widgets::list::{self, ColumnOf, List, ListColumn, Name, Style, Value, widest};
use crate::format;
use crate::query::{UnmatchedGroup, layer_label};
use crate::units::{Layer, Ticks};

/// Least height of the table above the stack of the selected line, in points.
const LEAST_TABLE: f32 = 80.0;

impl Pane for FreedBefore {
    fn forget(&mut self) {
        drop_aside(self.listed.take());
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let Some(listed) = self.listed.clone() else {
            context.wait(ui);
            return;
        };
        let trace = &context.document.trace;
        if trace.quality.unmatched_frees == 0 {
            centered(ui, "Every free in this trace has its allocation.");
            return;
        }
        if listed.groups.is_empty() {
            context.nothing(ui, "No frees of earlier allocations here.");
            return;
        }
        ui.horizontal_wrapped(|ui| {
            ui.weak(
                "Freed here, allocated before: blocks and pages from before the recording, or whose allocation was lost. They \
                 change no number elsewhere.",
            );
            let rest = trace.quality.unmatched_frees.saturating_sub(trace.unmatched.len() as u64);
            if rest > 0 {
                ui.weak(format!("{} more frees were counted, but are not listed.", format::count(rest)));
            }
        });
        if let Some(group) = self.selected.and_then(|row| listed.groups.get(row)) {
            let most = (ui.available_height() - LEAST_TABLE).max(LEAST_TABLE);
            let panel = egui::Panel::bottom("freed before").resizable(true).default_size(120.0).size_range(40.0..=most);
            panel.show(ui, |ui| stack(group, ui));
        }
        let Self { search, sort, selected, .. } = self;
        let pushed =
            list::show(ui, "freed before", &listed, &mut Lines { listed: &listed, searched: search, sort, selected, context });
        context.commands.append(pushed);
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.search)
    }

    fn search(&mut self, text: String) {
        self.search = text;
    }

    fn has_selected(&self) -> bool {
        self.selected.is_some()
    }

    fn unselect(&mut self) {
        self.selected = None;
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(Arc::clone(self.listed.as_ref()?) as Arc<dyn TableSource>)
    }

    fn order(&self) -> Option<SavedSort> {
        self.sort.saved()
    }

    fn set_order(&mut self, order: Option<&SavedSort>) {
        self.sort = order.and_then(Sort::of).unwrap_or(Self::default().sort);
    }
}

/// The frames of the selected line, innermost first.
fn stack(group: &UnmatchedGroup, ui: &mut Ui) {
    egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| match group.stack.as_deref() {
        None | Some([]) => {
            ui.weak("These frees came without a call stack: record the call stacks of frees (--free-stacks) to see who freed.");
        }
        Some(frames) => frames.iter().rev().for_each(|frame| drop(ui.label(RichText::new(frame).monospace().size(12.0)))),
    });
}

struct Lines<'a, 'b> {
    listed: &'a Arc<Listed>,
    searched: &'a str,
    sort: &'a mut Sort<Order>,
    selected: &'a mut Option<usize>,
    context: &'a mut ViewContext<'b>,
}

impl Listed {
    fn moment(&self, at: Ticks) -> Value {
        Value::moment(at, &self.trace.clock)
    }
}

/// The window's name of a layer that has this name in the machine interface.
fn layer_name(name: &str) -> &str {
    match Layer::ALL.into_iter().find(|layer| layer.name() == name) {
        Some(layer) => layer_label(layer),
        None => name,
    }
}

fn text(text: Option<&String>) -> Value {
    text.map_or(Value::Nothing, Value::text)
}

impl FlatTable for Listed {
    const TITLE: &'static str = "Freed before";
    type Line = UnmatchedGroup;
    type Key = Order;
    const COLUMNS: &'static [TypedColumn<Self, UnmatchedGroup, Order>] = &[
        ListColumn::rest("Freed by", "The responsible caller of the free")
            .by(Order::Name, |_, group| text(group.responsible.as_ref())),
        ListColumn::text("Process", "The process whose memory it was", 160.0).of(|_, group| text(group.process.as_ref())),
        ListColumn::text("Layer", "Commit, Windows NT heaps or custom trackers", 110.0)
            .of(|_, group| Value::text(layer_name(group.layer))),
        ListColumn::text("Heap", "The heap's handle, or the tracker's name", 110.0).of(|_, group| text(group.heap.as_ref())),
        ListColumn::number("Frees", "Number of frees without a known allocation", widest::COUNT)
            .by(Order::Count, |_, group| Value::Count(group.count)),
        ListColumn::number("Bytes", "Bytes of freed pages (an upper bound); frees of blocks have no size", widest::BYTES)
            .by(Order::Size, |_, group| group.size.map_or(Value::Nothing, Value::Bytes)),
        ListColumn::number("First", "When the first of them happened", widest::MOMENT)
            .by(Order::First, |listed, group| listed.moment(group.times.0)),
        ListColumn::number("Last", "When the last of them happened", widest::MOMENT)
            .of(|listed, group| listed.moment(group.times.1)),
    ];

    fn len(&self) -> usize {
        self.groups.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<UnmatchedGroup>> {
        self.groups.get(row)
    }
}

impl List<Listed> for Lines<'_, '_> {
    fn name<'n>(&'n self, _: usize, text: &'n str) -> Name<'n> {
        Name { text, style: Style::Plain, searched: self.searched }
    }

    fn is_selected(&self, row: usize) -> bool {
        *self.selected == Some(row)
    }

    fn clicked(&mut self, row: usize) {
        *self.selected = (row < self.listed.groups.len()).then_some(row);
    }

    fn sorted(&self, column: ColumnOf<Listed>) -> Option<bool> {
        (column.key == Some(self.sort.by)).then_some(self.sort.descending)
    }

    fn header_clicked(&mut self, column: ColumnOf<Listed>) {
        *self.sort = self.sort.clicked(column.key, |by| by != Order::Name && by != Order::First);
        self.context.ask();
    }
}
