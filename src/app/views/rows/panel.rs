//! The table of single allocations, and beside it what is known of the selected one.

use eframe::egui::{self, RichText, Ui};

use super::{Listed, Rows, details};
use crate::app::commands::{Command, DocCommand};
use crate::app::filters::Predicate;
use crate::app::panels::list::{self, List, ListColumn};
use crate::app::views::Around;
use crate::format;
use crate::model::{Row, RowId};
use crate::query::{Bounds, RowColumn, RowCondition, RowSort, heap_label, thread_label};
use crate::units::{Interval, Ticks};

const COLUMNS: [ListColumn; 8] = [
    column("Address", "First byte", 126.0, true),
    column("Size", "Requested bytes, or the bytes of a committed range", 84.0, true),
    column("Function", "The function that wanted the memory: the innermost one that is not the allocator's", 250.0, false),
    column("Alloc/Commit Time", "When it was allocated or committed, since the trace start", 128.0, true),
    column("Free/Decommit Time", "When it was freed or decommitted; \u{2014} if never", 132.0, true),
    column("LifeTime", "From the one to the other", 84.0, true),
    column("Thread", "Thread that allocated", 110.0, true),
    column("Handle", "Heap, tracker or commit, and the process", 240.0, false),
];

const SORTS: [Option<RowColumn>; 8] = [
    Some(RowColumn::Address),
    Some(RowColumn::Size),
    None,
    Some(RowColumn::AllocTime),
    Some(RowColumn::FreeTime),
    Some(RowColumn::Lifetime),
    Some(RowColumn::Thread),
    None,
];

const fn column(title: &'static str, hint: &'static str, width: f32, is_number: bool) -> ListColumn {
    ListColumn { title, hint, width, is_number }
}

pub fn show(view: &mut Rows, around: &mut Around<'_>, ui: &mut Ui) {
    let Some(listed) = &view.listed else {
        around.wait(ui);
        return;
    };
    if listed.table.rows.is_empty() {
        ui.centered_and_justified(|ui| ui.label("Nothing was alive in this interval."));
        return;
    }
    if let Some(row) = view.selected {
        let width = (ui.available_width() * 0.36).max(220.0);
        egui::Panel::right("allocation").resizable(true).default_size(width).show(ui, |ui| {
            egui::ScrollArea::both().auto_shrink(false).show(ui, |ui| details::show(ui, listed, row));
        });
    }
    let (shown, count) = (listed.table.rows.len(), listed.table.count);
    if count > shown as u64 {
        ui.weak(format!("The first {} of {}.", format::count(shown as u64), format::count(count)));
    }
    let (mut sort, mut selected) = (view.sort, view.selected);
    list::show(ui, "rows", &COLUMNS, shown, &mut Lines { listed, sort: &mut sort, selected: &mut selected, around });
    view.selected = selected;
    if sort != view.sort {
        view.sort = sort;
        around.ask();
    }
}

struct Lines<'a, 'b> {
    listed: &'a Listed,
    sort: &'a mut RowSort,
    selected: &'a mut Option<RowId>,
    around: &'a mut Around<'b>,
}

impl Listed {
    /// A row, if there is one at this place.
    pub(super) fn row(&self, index: usize) -> Option<(RowId, Row)> {
        let id = *self.table.rows.get(index)?;
        Some((id, self.trace.rows.get(id)))
    }

    /// The function that wanted the memory.
    pub(super) fn function(&self, row: &Row) -> Option<String> {
        let function = self.functions.function(self.functions.place(row.site))?;
        Some(self.functions.name(function).to_string())
    }

    pub(super) fn time(&self, t: Ticks) -> String {
        format::moment(t, self.trace.clock.seconds(t))
    }

    /// How long it lived, if both its ends were seen.
    pub(super) fn lifetime(&self, row: &Row) -> String {
        let is_known = row.birth != Ticks::BEFORE_TRACE && row.death != Ticks::NEVER;
        let seconds = || self.trace.clock.seconds(row.death) - self.trace.clock.seconds(row.birth);
        if is_known { format::duration(seconds()) } else { "\u{2014}".to_owned() }
    }
}

impl List for Lines<'_, '_> {
    fn text(&self, row: usize, column: usize) -> String {
        let Some((_, row)) = self.listed.row(row) else { return String::new() };
        let trace = &self.listed.trace;
        let site = trace.site(row.site);
        match column {
            0 => format!("{:#x}", row.address),
            1 => format::bytes(row.size),
            2 => self.listed.function(&row).unwrap_or_else(|| "(no stack recorded)".to_owned()),
            3 => self.listed.time(row.birth),
            4 => self.listed.time(row.death),
            5 => self.listed.lifetime(&row),
            6 => thread_label(trace, site.caller, row.thread),
            _ => format!("{}: {}", trace.process(trace.process_of(site)).label(), heap_label(trace.heap(site.heap))),
        }
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: usize) {
        let text = RichText::new(self.text(row, column));
        let text = if matches!(column, 0 | 2) { text.monospace().size(12.0) } else { text };
        ui.add(egui::Label::new(text).truncate());
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
        if ui.button("Zoom to its life").clicked() {
            self.around.commands.doc(DocCommand::Zoom(self.life(&row)));
        }
        ui.separator();
        let size = RowCondition::Size(Bounds { from: Some(row.size), to: row.size.checked_add(1) });
        let size = Predicate::Row(size, format!("size {}", format::bytes(row.size)).into());
        self.around.offer_filters(ui, "this size", size);
        let heap = self.listed.trace.site(row.site).heap;
        self.around.offer_heap(ui, heap);
        if row.thread.is_known() {
            let thread = Predicate::Row(RowCondition::Thread(row.thread), format!("thread {}", row.thread).into());
            self.around.offer_filters(ui, "this thread", thread);
        }
        if let Some(name) = self.listed.function(&row) {
            self.around.offer_filters(ui, "this function", Predicate::Function(name.as_str().into()));
            self.around.offer_rules(ui, &name);
        }
    }

    fn copy(&mut self, text: String) {
        self.around.commands.push(Command::Copy(text));
    }

    fn sorted_by(&self) -> Option<(usize, bool)> {
        let column = SORTS.iter().position(|column| *column == Some(self.sort.column))?;
        Some((column, self.sort.descending))
    }

    fn header_clicked(&mut self, column: usize) {
        if let Some(column) = SORTS[column] {
            *self.sort = self.sort.by(column);
        }
    }
}

impl Lines<'_, '_> {
    /// Its life with some room around it.
    fn life(&self, row: &Row) -> Interval {
        let span = self.listed.trace.span;
        let (from, to) = (row.birth.max(span.from), row.death.min(span.to));
        let room = (to.0.saturating_sub(from.0) / 5).max(span.len() / 100_000).max(1);
        Interval { from: Ticks(from.0.saturating_sub(room)), to: Ticks(to.0.saturating_add(room)) }
    }
}
