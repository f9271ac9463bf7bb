//! The table of single allocations, with the details of the selected one beside it.

use std::borrow::Borrow;
use std::sync::Arc;

use eframe::egui::{self, Ui};

use super::{Listed, Rows, details};
use crate::app::base::table::{FlatTable, SavedSort, TableSource, TypedColumn};
use crate::app::commands::DocCommand;
use crate::app::jobs::drop_aside;
use crate::app::state::filters::Predicate;
use crate::app::state::view_choices::{NodePlace, ViewChoices};
use crate::app::views::{Pane, ViewContext, questions};
use crate::app::widgets::list::{self, ColumnOf, List, ListColumn, NO_STACK, Name, Style, Value, widest};
use crate::format;
use crate::model::{Row, RowId};
use crate::query::{Bounds, Key, RowColumn, RowCondition, RowSort, heap_label, thread_label};
use crate::units::{Interval, Ticks};

impl Pane for Rows {
    fn forget(&mut self) {
        drop_aside(self.listed.take());
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let Some(listed) = &self.listed else {
            context.wait(ui);
            return;
        };
        if listed.table.rows.is_empty() {
            context.nothing(ui, "Nothing was alive in this interval.");
            return;
        }
        if let Some(row) = self.selected {
            let width = (ui.available_width() * 0.36).max(220.0);
            egui::Panel::right("allocation").resizable(true).default_size(width).show(ui, |ui| {
                egui::ScrollArea::both()
                    .auto_shrink(false)
                    .show(ui, |ui| details::show(ui, (&listed.trace, &listed.names), row, context.commands));
            });
        }
        let (shown, count) = (listed.table.rows.len(), listed.table.count);
        if count > shown as u64 {
            ui.weak(format!("The first {} of {}.", format::count(shown as u64), format::count(count)));
        }
        let (sort, selected) = (&mut self.sort, &mut self.selected);
        let pushed = list::show(ui, "rows", listed, &mut Lines { listed, sort, selected, context });
        context.commands.append(pushed);
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(Arc::clone(self.listed.as_ref()?) as Arc<dyn TableSource>)
    }

    fn order(&self) -> Option<SavedSort> {
        SavedSort::new(self.sort.column, self.sort.descending)
    }

    fn set_order(&mut self, order: Option<&SavedSort>) {
        let sort = order.and_then(|order| Some(RowSort { column: order.key()?, descending: order.descending }));
        self.sort = sort.unwrap_or_default();
    }

    fn add_choices(&self, choices: &mut ViewChoices) {
        choices.selected = self.selected.map(|row| NodePlace::Path([Key::Row(row)].into()));
    }

    fn take_choices(&mut self, choices: &ViewChoices) {
        self.selected = match &choices.selected {
            Some(NodePlace::Path(path)) => path.iter().find_map(|key| if let Key::Row(row) = *key { Some(row) } else { None }),
            _ => None,
        };
    }

    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        questions::menu(context, ui);
    }
}

struct Lines<'a, 'b> {
    listed: &'a Arc<Listed>,
    sort: &'a mut RowSort,
    selected: &'a mut Option<RowId>,
    context: &'a mut ViewContext<'b>,
}

impl Listed {
    /// The allocation in a row of the table; `None` if there is no such row.
    pub(super) fn row(&self, index: usize) -> Option<(RowId, Row)> {
        let id = *self.table.rows.get(index)?;
        Some((id, self.trace.rows.get(id)))
    }

    /// The function that requested the memory: the innermost one that does not belong to the allocator.
    pub(super) fn function(&self, row: &Row) -> Option<String> {
        let function = self.functions.function(self.functions.responsible(row.site))?;
        Some(self.functions.name(function).to_string())
    }

    fn handle(&self, row: &Row) -> Value {
        let (trace, site) = (&self.trace, self.trace.site(row.site));
        Value::Text(format!("{}: {}", trace.process_name(trace.process_of(site)), heap_label(trace.heap(site.heap))))
    }
}

impl FlatTable for Listed {
    const TITLE: &'static str = "Allocations";
    type Line = Row;
    type Key = RowColumn;
    const COLUMNS: &'static [TypedColumn<Self, Row, RowColumn>] = &[
        ListColumn::number("Address", "Address of the first byte", widest::ADDRESS)
            .by(RowColumn::Address, |_, row| Value::Address(row.address)),
        ListColumn::number("Size", "Requested bytes, or the bytes of a committed range", widest::BYTES)
            .by(RowColumn::Size, |_, row| Value::Bytes(row.size)),
        ListColumn::rest("Function", "The function that wanted the memory: the innermost one that is not the allocator's")
            .of(|listed, row| Value::Text(listed.function(row).unwrap_or_else(|| NO_STACK.to_owned()))),
        ListColumn::number("Alloc/Commit Time", "Time of the allocation or commit, since the trace start", widest::MOMENT)
            .by(RowColumn::AllocTime, |listed, row| Value::moment(row.birth, &listed.trace.clock)),
        ListColumn::number("Free/Decommit Time", "Time of the free or decommit; \u{2014} if never", widest::MOMENT)
            .by(RowColumn::FreeTime, |listed, row| Value::moment(row.death, &listed.trace.clock)),
        ListColumn::number("LifeTime", "Time from allocation to free", widest::DURATION)
            .by(RowColumn::Lifetime, |listed, row| {
                details::lifetime(&listed.trace, row).map_or_else(|| Value::text("\u{2014}"), Value::Duration)
            }),
        ListColumn::text("Handle", "Heap, tracker or commit, and the process", 200.0).of(Listed::handle),
        ListColumn::number("Thread", "Thread that allocated", widest::THREAD)
            .by(RowColumn::Thread, |Listed { trace, .. }, row| {
                Value::Text(thread_label(trace, trace.site(row.site).caller, row.thread))
            }),
    ];

    fn len(&self) -> usize {
        self.table.rows.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<Row>> {
        self.row(row).map(|(_, row)| row)
    }
}

impl List<Listed> for Lines<'_, '_> {
    fn name<'n>(&'n self, _: usize, text: &'n str) -> Name<'n> {
        Name::new(text, if text == NO_STACK { Style::Weak } else { Style::Frame })
    }

    fn is_selected(&self, row: usize) -> bool {
        self.selected.is_some() && self.listed.table.rows.get(row).copied() == *self.selected
    }

    fn clicked(&mut self, row: usize) {
        let id = self.listed.table.rows.get(row).copied();
        *self.selected = if self.is_selected(row) { None } else { id };
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let Some((_, row)) = self.listed.row(row) else { return };
        self.context.commands.on_click(&ui.button("Zoom to its life"), DocCommand::ZoomInto(self.lifetime_with_room(&row)));
        ui.separator();
        let size = RowCondition::Size(Bounds { from: Some(row.size), to: row.size.checked_add(1) });
        let size = Predicate::Row(size, format!("size {}", format::bytes(row.size)).into());
        self.context.offer_filters(ui, "this size", size);
        let heap = self.listed.trace.site(row.site).heap;
        self.context.offer_heap(ui, heap);
        if row.thread.is_known() {
            self.context.offer_filters(ui, "this thread", Predicate::thread(row.thread));
        }
        if let Some(name) = self.listed.function(&row) {
            self.context.offer_filters(ui, "this function", Predicate::Function(name.as_str().into()));
            self.context.offer_rules(ui, &name);
        }
    }

    fn sorted(&self, column: ColumnOf<Listed>) -> Option<bool> {
        (column.key == Some(self.sort.column)).then_some(self.sort.descending)
    }

    fn header_clicked(&mut self, column: ColumnOf<Listed>) {
        if let Some(column) = column.key {
            *self.sort = self.sort.by(column);
            self.context.ask();
        }
    }
}

impl Lines<'_, '_> {
    /// The lifetime of an allocation, with some space on both sides.
    fn lifetime_with_room(&self, row: &Row) -> Interval {
        let span = self.listed.trace.span;
        let (from, to) = (row.birth.max(span.from), row.death.min(span.to));
        let room = (to.0.saturating_sub(from.0) / 5).max(span.len() / 100_000).max(1);
        Interval { from: Ticks(from.0.saturating_sub(room)), to: Ticks(to.0.saturating_add(room)) }
    }
}
