//! The one tree table. Only visible cells are drawn; the list of open lines comes
//! ready from the query worker.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use eframe::egui::{self, Align, Layout, Sense, Ui};
use egui_table::{CellInfo, Column as TableColumn, HeaderCellInfo, HeaderRow, PrefetchInfo, Table, TableDelegate};

use super::{frames, list, losses};
use crate::app::HighwaterApp;
use crate::app::answers::Table as Shown;
use crate::app::commands::{Command, Commands, DocCommand};
use crate::app::document::Document;
use crate::app::filters::{Chip, Predicate};
use crate::app::theme;
use crate::format;
use crate::query::{Column, Key, TreeRow, thread_label};
use crate::units::{Interval, Ticks};

/// Header of a column, in WPA's words where it has them.
pub fn title(column: Column) -> &'static str {
    match column {
        Column::Name => "Process / Heap / Type / Stack",
        Column::Count => "Count",
        Column::Size => "Size",
        Column::Impacting => "Impacting Size",
        Column::OutstandingFrom => "At Start",
        Column::OutstandingTo => "At End",
        Column::Peak => "Peak",
        Column::AllocTime => "Alloc/Commit Time",
        Column::FreeTime => "Free/Decommit Time",
        Column::Address => "Address",
        Column::Thread => "Thread",
    }
}

/// What a column's number means.
pub fn explanation(column: Column) -> &'static str {
    match column {
        Column::Name => {
            "Process, layer of memory, heap or tracker, Impacting Type, Type (lifetime class), call stack from the thread's start inwards, single allocations"
        }
        Column::Count => "Allocations alive at some moment of the interval",
        Column::Size => "Their bytes in all, however short they lived (requested bytes in heaps)",
        Column::Impacting => {
            "Change of the outstanding size between the edges of the interval: what was allocated in it and stayed, minus what was freed in it and was there before"
        }
        Column::OutstandingFrom => "Outstanding size: bytes alive at the interval's left edge",
        Column::OutstandingTo => "Outstanding size: bytes alive at the interval's right edge",
        Column::Peak => "Largest outstanding size in the interval",
        Column::AllocTime => "When a block was allocated or a range committed, since the trace start",
        Column::FreeTime => "When it was freed or decommitted; \u{2014} if never",
        Column::Address => "First byte",
        Column::Thread => "Thread that allocated",
    }
}

/// Points of a column at first.
pub fn width(column: Column) -> f32 {
    match column {
        Column::Name => 360.0,
        Column::Count => 66.0,
        Column::AllocTime | Column::FreeTime => 136.0,
        Column::Address => 124.0,
        Column::Thread => 110.0,
        Column::Impacting => 118.0,
        _ => 84.0,
    }
}

pub fn show(app: &mut HighwaterApp, ui: &mut Ui) {
    let Some(document) = &mut app.document else { return };
    let reveal = document.selected.take_reveal();
    let document = &*document;
    let Some(shown) = &document.answers.table else {
        let text = if document.answers.failed { "Nothing could be computed" } else { "Computing\u{2026}" };
        ui.centered_and_justified(|ui| ui.weak(text));
        return;
    };
    if shown.tree.is_empty() {
        ui.centered_and_justified(|ui| ui.label(format::sentence(nothing(document))));
        return;
    }
    let columns: Vec<Column> = Column::ALL.into_iter().filter(|&c| app.settings.shows(c)).collect();
    let mut table = Table::new()
        .id_salt("allocations")
        .num_rows(shown.tree.len() as u64)
        .columns(columns.iter().map(|&c| table_column(c)).collect::<Vec<_>>())
        .num_sticky_cols(1)
        .headers([HeaderRow::new(HEADER_HEIGHT)]);
    list::set_first_widths(ui, &table, columns.iter().map(|&column| (table_column(column), width(column))));
    if let (true, Some(index)) = (reveal, document.selected.index()) {
        table = table.scroll_to_row(index as u64, None);
    }
    let area = ui.available_rect_before_wrap();
    let pointer = ui.ctx().pointer_hover_pos().filter(|&at| area.contains(at) && ui.rect_contains_pointer(area));
    let commands = &mut app.commands;
    let mut delegate =
        Delegate { document, table: shown, visible: 0..0, rows: Vec::new(), columns: &columns, pointer, commands, hide: None };
    table.show(ui, &mut delegate);
    let (hide, visible) = (delegate.hide, delegate.visible.start as usize..delegate.visible.end as usize);
    if let Some(column) = hide {
        app.commands.push(Command::ShowColumn(column, false));
    }
    let (trace, tree) = (Arc::clone(&shown.trace), Arc::clone(&shown.tree));
    if let Some(names) = app.document.as_mut().and_then(|document| document.names.as_mut()) {
        names.look_at(&trace, &tree, visible);
    }
}

/// Points that a name has at least, however deep its line is.
const NAME_ROOM: f32 = 320.0;

const HEADER_HEIGHT: f32 = 24.0;
const ROW_HEIGHT: f32 = 21.0;

fn table_column(column: Column) -> TableColumn {
    TableColumn::new(width(column)).range(width(column).min(60.0)..=1200.0).resizable(true).id(egui::Id::unique(column.id()))
}

/// Why the table is empty.
fn nothing(document: &Document) -> &'static str {
    if !document.search.trim().is_empty() {
        "Nothing in this interval has that in its name."
    } else if !document.is_settled() {
        "Loading\u{2026}"
    } else if document.trace.complete && document.trace.rows.is_empty() && !document.trace.counts.has_memory_events() {
        crate::load::NO_MEMORY_EVENTS
    } else {
        "Nothing was alive in this interval."
    }
}

struct Delegate<'a> {
    document: &'a Document,
    table: &'a Shown,
    /// The lines on the screen, and what is in them.
    visible: Range<u64>,
    rows: Vec<Rc<TreeRow>>,
    columns: &'a [Column],
    /// Where the pointer is, if it is over the table: a row is drawn in parts, but lit as a whole.
    pointer: Option<egui::Pos2>,
    commands: &'a mut Commands,
    hide: Option<Column>,
}

impl TableDelegate for Delegate<'_> {
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
        let sort = self.document.sort;
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
                self.commands.doc(DocCommand::SortBy(column));
            }
            button.context_menu(|ui| {
                if column != Column::Name && ui.button("Hide this column").clicked() {
                    self.hide = Some(column);
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
        let is_selected = self.document.selected.index() == Some(row_nr as usize);
        let is_hovered = self.pointer.is_some_and(|at| rect.y_range().contains(at.y));
        list::fill_row(ui, row_nr, is_selected, is_hovered);
        if response.clicked() {
            self.commands.doc(DocCommand::SelectLine(Some(Arc::clone(&row.path))));
        }
        if response.double_clicked() && row.has_children {
            self.commands.doc(DocCommand::Toggle(Arc::clone(&row.path), !row.is_open));
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
        let text = cell_text(self.document, self.table, &row, index, column);
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

impl Delegate<'_> {
    fn row(&self, index: u64) -> Option<Rc<TreeRow>> {
        self.rows.get(index.checked_sub(self.visible.start)? as usize).cloned()
    }

    fn name_cell(&mut self, ui: &mut Ui, row: &TreeRow, index: usize) {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.add_space(4.0 + row.depth as f32 * 13.0);
            if row.has_children {
                if list::triangle(ui, row.is_open, &row.label).clicked() {
                    self.commands.doc(DocCommand::Toggle(Arc::clone(&row.path), !row.is_open));
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
            self.commands.doc(DocCommand::Filter(Some(Arc::clone(&row.path))));
        }
        if ui.button("Leave this out").clicked() {
            self.commands.doc(DocCommand::AddChip(Chip::without(Predicate::Under(Arc::clone(&row.path)))));
        }
        if ui.add_enabled(!self.document.filters().is_all(), egui::Button::new("Clear filter")).clicked() {
            self.commands.doc(DocCommand::ClearFilter);
        }
        if let Some(life) = row.allocation.and_then(|(_, row)| self.life(row.birth, row.death))
            && ui.button("Zoom to its life").clicked()
        {
            self.commands.doc(DocCommand::Zoom(life));
        }
        ui.separator();
        if ui.add(egui::Button::new("Copy line").shortcut_text("Ctrl+C")).clicked() {
            self.commands.push(Command::Copy(line_as_text(self.document, self.table, row, index)));
        }
        if let Some((frame, level)) = self.table.tree.frame(&self.table.trace, index)
            && ui.button("Copy frame").on_hover_text("Module, function, source file and line").clicked()
        {
            self.commands.push(Command::Copy(frames::as_text(&frame, level)));
        }
        if ui.button("Copy table").clicked() {
            self.commands.push(Command::Copy(table_as_text(self.document, self.table)));
        }
    }

    /// A block's life with some room around it.
    fn life(&self, birth: Ticks, death: Ticks) -> Option<Interval> {
        let span = self.document.trace.span;
        let (from, to) = (birth.max(span.from), death.min(span.to));
        let room = (to.0.checked_sub(from.0)? / 5).max(self.table.interval.len() / 10_000).max(1);
        Some(Interval { from: Ticks(from.0.saturating_sub(room)), to: Ticks(to.0.saturating_add(room)) })
    }
}

/// Colour of a change.
pub fn number_color(change: i64, visuals: &egui::Visuals) -> egui::Color32 {
    match change {
        1.. => theme::growth(visuals),
        0 => visuals.text_color(),
        _ => theme::shrinkage(visuals),
    }
}

/// A small triangle; arrows are not in every font.
pub fn sort_mark(ui: &mut Ui, descending: bool) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(8.0, 8.0), Sense::hover());
    let (base, tip) = if descending { (rect.top() + 1.0, rect.bottom() - 1.0) } else { (rect.bottom() - 1.0, rect.top() + 1.0) };
    let corners = vec![egui::pos2(rect.left(), base), egui::pos2(rect.right(), base), egui::pos2(rect.center().x, tip)];
    ui.painter().add(egui::Shape::convex_polygon(corners, ui.visuals().text_color(), egui::Stroke::NONE));
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

/// The text of a cell.
fn cell_text(document: &Document, table: &Shown, row: &TreeRow, index: usize, column: Column) -> String {
    if row.mixes_layers && column != Column::Name {
        return String::new();
    }
    let n = &row.numbers;
    let trace = &table.trace;
    match column {
        Column::Name => row.label.clone(),
        Column::Count => format::count(n.count),
        Column::Size => format::bytes(n.size),
        Column::Impacting => format::signed_bytes(n.impacting),
        Column::OutstandingFrom => format::bytes(n.outstanding_from),
        Column::OutstandingTo => format::bytes(n.outstanding_to),
        Column::Peak => {
            let peak = table.tree.peak(trace, &document.answers.peaks, index);
            peak.map_or_else(|| "\u{2026}".to_owned(), format::bytes)
        }
        Column::AllocTime | Column::FreeTime | Column::Address | Column::Thread => {
            let Some((_, allocation)) = &row.allocation else { return String::new() };
            let time = |t: Ticks| format::moment(t, trace.clock.seconds(t));
            match column {
                Column::AllocTime => time(allocation.birth),
                Column::FreeTime => time(allocation.death),
                Column::Address => format!("{:#x}", allocation.address),
                _ => {
                    let site = trace.site(allocation.site);
                    thread_label(trace, site.caller, allocation.thread)
                }
            }
        }
    }
}

/// One line with all columns, separated by tabs.
fn line_as_text(document: &Document, table: &Shown, row: &TreeRow, index: usize) -> String {
    Column::ALL.map(|column| cell_text(document, table, row, index, column)).join("\t")
}

/// The selected line.
pub fn selected_as_text(document: &Document) -> Option<String> {
    let (table, index) = (document.answers.table.as_ref()?, document.selected.index()?);
    Some(line_as_text(document, table, &table.row(index)?, index))
}

/// The whole table with its header, for a spreadsheet.
fn table_as_text(document: &Document, table: &Shown) -> String {
    let mut text = Column::ALL.map(title).join("\t");
    for (index, row) in table.tree.rows(&table.trace).enumerate() {
        text.push('\n');
        text.push_str(&"  ".repeat(row.depth));
        text.push_str(&line_as_text(document, table, &row, index));
    }
    text
}
