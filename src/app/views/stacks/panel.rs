//! The table. Only visible cells are drawn; the list of open lines comes ready from the query
//! worker.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use eframe::egui::{self, Align, Layout, Sense, Ui};
use egui_table::{CellInfo, Column as TableColumn, HeaderCellInfo, HeaderRow, PrefetchInfo, TableDelegate};

use super::{Did, Stacks, Table, text};
use crate::app::commands::{Command, DocCommand};
use crate::app::document::Document;
use crate::app::filters::{Chip, Predicate};
use crate::app::panels::columns::{explanation, number_color, sort_mark, title, width};
use crate::app::panels::{frames, list, losses, stack_rules};
use crate::app::views::Around;
use crate::format;
use crate::query::{Column, Key, TreeRow};
use crate::units::{Interval, Ticks};

pub fn show(view: &mut Stacks, around: &mut Around<'_>, ui: &mut Ui) {
    let reveal = view.selected.take_reveal();
    let Some(table) = &view.table else {
        around.wait(ui);
        return;
    };
    if table.tree.is_empty() {
        ui.centered_and_justified(|ui| ui.label(format::sentence(nothing(view, around.document))));
        return;
    }
    if view.shows_details {
        let room = ui.available_width();
        let shown = egui::Panel::right("details").resizable(true).default_size((room * 0.34).clamp(240.0, 420.0));
        let shown = shown.size_range(200.0..=(room - 200.0).max(220.0));
        shown.show(ui, |ui| details(view, table, around, ui));
    }
    let columns: Vec<Column> = Column::ALL.into_iter().filter(|&c| around.settings.shows(c)).collect();
    let mut shown = egui_table::Table::new()
        .id_salt("allocations")
        .num_rows(table.tree.len() as u64)
        .columns(columns.iter().map(|&c| table_column(c)).collect::<Vec<_>>())
        .num_sticky_cols(1)
        .headers([HeaderRow::new(HEADER_HEIGHT)]);
    list::set_first_widths(ui, &shown, columns.iter().map(|&column| (table_column(column), width(column))));
    if let (true, Some(index)) = (reveal, view.selected.index()) {
        shown = shown.scroll_to_row(index as u64, None);
    }
    let area = ui.available_rect_before_wrap();
    let pointer = ui.ctx().pointer_hover_pos().filter(|&at| area.contains(at) && ui.rect_contains_pointer(area));
    let mut lines = Lines { view, table, around, visible: 0..0, rows: Vec::new(), columns: &columns, pointer, did: None };
    shown.show(ui, &mut lines);
    let (did, visible) = (lines.did, lines.visible.start as usize..lines.visible.end as usize);
    view.look_at(visible, around);
    if let Some(did) = did {
        view.carry_out(did, around);
    }
}

/// What stands above the table.
pub fn tools(view: &mut Stacks, around: &mut Around<'_>, ui: &mut Ui) {
    // What is not in the table cannot be meant.
    let selected = view.selected.path().filter(|_| view.selected.index().is_some()).cloned();
    let changes = selected.is_some() && around.document.filters().under().any.first() != selected.as_ref();
    let button = ui.add_enabled(changes, egui::Button::new("Filter to Selection"));
    if button.on_hover_text("Show only what is under the selected line (Enter)").clicked()
        && let Some(path) = selected
    {
        view.filter_to(path, around);
    }
    if ui.button("Collapse all").on_hover_text("Close all nodes").clicked() {
        view.carry_out(Did::CollapseAll, around);
    }
    let hint = "Of the selected line: its outstanding size over time, how its sizes and lifetimes are distributed, its stack";
    if ui.selectable_label(view.shows_details, "Details").on_hover_text(hint).clicked() {
        view.shows_details = !view.shows_details;
        around.ask();
    }
    if let Some(shown) = frames::switch(ui, !around.document.fold, false) {
        around.commands.push(Command::ShowAllocators(shown));
    }
}

/// Frames that are listed at most.
const FRAMES: usize = 100;

/// What is known of the selected line.
fn details(view: &Stacks, table: &Table, around: &mut Around<'_>, ui: &mut Ui) {
    let (Some(index), Some(row)) = (view.selected.index(), view.selected_row()) else {
        ui.centered_and_justified(|ui| ui.weak("Select a line for its details."));
        return;
    };
    egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.add(egui::Label::new(egui::RichText::new(&row.label).strong()).wrap());
        match table.closer.as_ref().filter(|closer| closer.path == row.path) {
            Some(closer) => closer.show(around, ui),
            None => _ = ui.weak("Computing\u{2026}"),
        }
        let above = std::iter::successors(Some(index), |&line| table.tree.parent(line));
        let mut frames = above.filter_map(|line| table.tree.frame(&table.trace, line)).peekable();
        if frames.peek().is_none() {
            return;
        }
        ui.separator();
        ui.strong("Stack");
        for (frame, level) in frames.by_ref().take(FRAMES) {
            frames::line(ui, &frame, level);
        }
        if frames.peek().is_some() {
            ui.weak("\u{2026}");
        }
    });
}

/// Points that a name has at least, however deep its line is.
const NAME_ROOM: f32 = 320.0;

const HEADER_HEIGHT: f32 = 24.0;
const ROW_HEIGHT: f32 = 21.0;

fn table_column(column: Column) -> TableColumn {
    TableColumn::new(width(column)).range(width(column).min(60.0)..=1200.0).resizable(true).id(egui::Id::unique(column.id()))
}

/// Why the table is empty.
fn nothing(view: &Stacks, document: &Document) -> &'static str {
    if !view.search.trim().is_empty() {
        "Nothing in this interval has that in its name."
    } else if !document.is_settled() {
        "Loading\u{2026}"
    } else if document.trace.complete && document.trace.rows.is_empty() && !document.trace.counts.has_memory_events() {
        crate::load::NO_MEMORY_EVENTS
    } else {
        "Nothing was alive in this interval."
    }
}

struct Lines<'a, 'b> {
    view: &'a Stacks,
    table: &'a Table,
    around: &'a mut Around<'b>,
    /// The lines on the screen, and what is in them.
    visible: Range<u64>,
    rows: Vec<Rc<TreeRow>>,
    columns: &'a [Column],
    /// Where the pointer is, if it is over the table: a row is drawn in parts, but lit as a whole.
    pointer: Option<egui::Pos2>,
    did: Option<Did>,
}

impl TableDelegate for Lines<'_, '_> {
    fn default_row_height(&self) -> f32 {
        ROW_HEIGHT
    }

    fn prepare(&mut self, info: &PrefetchInfo) {
        if self.visible != info.visible_rows {
            self.visible = info.visible_rows.clone();
            self.rows = self.visible.clone().map_while(|index| self.table.row(index as usize).map(Rc::new)).collect();
        }
    }

    fn header_cell_ui(&mut self, ui: &mut Ui, cell: &HeaderCellInfo) {
        let Some(&column) = self.columns.get(cell.col_range.start) else { return };
        ui.painter().rect_filled(ui.max_rect(), 0.0, ui.visuals().faint_bg_color);
        let sort = self.view.sort;
        let layout =
            if column == Column::Name { Layout::left_to_right(Align::Center) } else { Layout::right_to_left(Align::Center) };
        ui.with_layout(layout, |ui| {
            ui.add_space(4.0);
            if sort.column == column {
                sort_mark(ui, sort.descending);
            }
            let bound = losses::bound(&self.table.trace, self.table.interval, column);
            let button = list::header_button(ui, title(column), explanation(column), bound);
            if button.clicked() {
                self.did = Some(Did::SortBy(column));
            }
            button.context_menu(|ui| {
                if column != Column::Name && ui.button("Hide this column").clicked() {
                    self.around.commands.push(Command::ShowColumn(column, false));
                }
                ui.weak("All columns: menu View");
            });
        });
    }

    fn row_ui(&mut self, ui: &mut Ui, row_nr: u64) {
        let Some(row) = self.row(row_nr) else { return };
        let rect = ui.max_rect();
        // A row is drawn in two parts, the sticky column and the rest.
        let id = ui.scope_id().with(("row", row_nr, rect.left() as i64));
        let response = ui.interact(rect, id, Sense::click());
        let is_selected = self.view.selected.index() == Some(row_nr as usize);
        let is_hovered = self.pointer.is_some_and(|at| rect.y_range().contains(at.y));
        list::fill_row(ui, row_nr, is_selected, is_hovered);
        if response.clicked() {
            self.did = Some(Did::Select(Some(Arc::clone(&row.path))));
        }
        if response.double_clicked() && row.has_children {
            self.did = Some(Did::Toggle(Arc::clone(&row.path), !row.is_open));
        }
        response.context_menu(|ui| self.row_menu(ui, &row, row_nr as usize));
    }

    fn cell_ui(&mut self, ui: &mut Ui, cell: &CellInfo) {
        let index = cell.row_nr as usize;
        let (Some(row), Some(&column)) = (self.row(cell.row_nr), self.columns.get(cell.col_nr)) else { return };
        if column == Column::Name {
            self.name_cell(ui, &row, index);
            return;
        }
        let text = text::of_cell(self.table, &row, index, column);
        let color = match column {
            Column::Impacting => number_color(row.numbers.impacting, ui.visuals()),
            _ => ui.visuals().text_color(),
        };
        if text.is_empty() {
            return;
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.add_space(6.0);
            ui.add(egui::Label::new(egui::RichText::new(text).color(color)).extend());
        });
    }
}

impl Lines<'_, '_> {
    fn row(&self, index: u64) -> Option<Rc<TreeRow>> {
        self.rows.get(index.checked_sub(self.visible.start)? as usize).cloned()
    }

    fn name_cell(&mut self, ui: &mut Ui, row: &TreeRow, index: usize) {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.add_space(4.0 + row.depth as f32 * 13.0);
            if row.has_children {
                if list::triangle(ui, row.is_open, &row.label).clicked() {
                    self.did = Some(Did::Toggle(Arc::clone(&row.path), !row.is_open));
                }
            } else {
                ui.add_space(list::TRIANGLE);
            }
            let mut text = egui::RichText::new(&row.label);
            if matches!(row.path.last(), Some(Key::Frame(_) | Key::Inlined(..) | Key::Row(_))) {
                text = text.monospace().size(12.0);
            } else if row.depth == 0 {
                text = text.strong();
            }
            // The column grows with what is in it: with deep stacks, but not with long names.
            let room = egui::vec2(ui.available_width().max(NAME_ROOM), ui.available_height());
            let label = egui::Label::new(text).truncate();
            let label = ui.allocate_ui_with_layout(room, Layout::left_to_right(Align::Center), |ui| ui.add(label)).inner;
            if let Some(meaning) = meaning(row) {
                label.on_hover_text(meaning);
            } else if let Some((frame, level)) = self.table.tree.frame(&self.table.trace, index) {
                label.on_hover_ui(|ui| frames::details(ui, &frame, level));
            }
        });
    }

    fn row_menu(&mut self, ui: &mut Ui, row: &TreeRow, index: usize) {
        if ui.button("Filter to Selection").clicked() {
            self.view.filter_to(Arc::clone(&row.path), self.around);
        }
        if ui.button("Leave this out").clicked()
            && let Some(path) = self.view.present(Arc::clone(&row.path), &self.around.document.trace)
        {
            self.around.commands.doc(DocCommand::AddChip(Chip::without(Predicate::Under(path))));
        }
        if ui.add_enabled(!self.around.document.filters().is_all(), egui::Button::new("Clear filter")).clicked() {
            self.around.commands.doc(DocCommand::ClearFilter);
        }
        if let Some(life) = row.allocation.and_then(|(_, row)| self.life(row.birth, row.death))
            && ui.button("Zoom to its life").clicked()
        {
            self.around.commands.doc(DocCommand::Zoom(life));
        }
        if let Some((frame, level)) = self.table.tree.frame(&self.table.trace, index) {
            stack_rules::offer(ui, &frame.name(level).to_string(), self.around.commands);
        }
        ui.separator();
        if ui.add(egui::Button::new("Copy line").shortcut_text("Ctrl+C")).clicked() {
            self.around.commands.push(Command::Copy(text::of_line(self.table, row, index)));
        }
        if let Some((frame, level)) = self.table.tree.frame(&self.table.trace, index)
            && ui.button("Copy frame").on_hover_text("Module, function, source file and line").clicked()
        {
            self.around.commands.push(Command::Copy(frames::as_text(&frame, level)));
        }
        if ui.button("Copy table").clicked() {
            self.around.commands.push(Command::Copy(text::of_table(self.table)));
        }
    }

    /// A block's life with some room around it.
    fn life(&self, birth: Ticks, death: Ticks) -> Option<Interval> {
        let span = self.around.document.trace.span;
        let (from, to) = (birth.max(span.from), death.min(span.to));
        let room = (to.0.checked_sub(from.0)? / 5).max(self.table.interval.len() / 10_000).max(1);
        Some(Interval { from: Ticks(from.0.saturating_sub(room)), to: Ticks(to.0.saturating_add(room)) })
    }
}

/// What a line's name stands for.
fn meaning(row: &TreeRow) -> Option<&'static str> {
    match row.path.last()? {
        Key::Process(_) if row.mixes_layers => Some("Layers of memory nest, so their sizes are never added"),
        Key::Impacting(kind) => Some(kind.meaning()),
        Key::Class(class) => Some(class.meaning()),
        _ => None,
    }
}
