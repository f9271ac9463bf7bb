//! A plain table: some columns, many lines of which only those in sight are drawn.
//! What is in a cell is the business of whoever shows it.

use eframe::egui::{self, Align, Layout, Sense, Ui};
use egui_table::{CellInfo, Column, HeaderCellInfo, HeaderRow, Table, TableDelegate, TableState};

/// A column of a list.
pub struct ListColumn {
    pub title: &'static str,
    /// What it says, for those who point at its header.
    pub hint: &'static str,
    pub width: f32,
    /// Numbers stand at the right.
    pub is_number: bool,
}

/// What a list shows.
pub trait List {
    /// What a cell says.
    fn text(&self, row: usize, column: usize) -> String;
    /// Draws a cell.
    fn cell(&mut self, ui: &mut Ui, row: usize, column: usize);
    /// Whether a line is lit.
    fn is_selected(&self, row: usize) -> bool;
    /// A line was clicked.
    fn clicked(&mut self, row: usize);
    /// A line was clicked twice.
    fn double_clicked(&mut self, _row: usize) {}
    /// The line to scroll to, if it is not in sight.
    fn revealed(&self) -> Option<usize> {
        None
    }
    /// The menu of a line, above what all lists have.
    fn menu(&mut self, ui: &mut Ui, row: usize);
    /// Takes what is to be copied.
    fn copy(&mut self, text: String);
    /// The column it is sorted by, and whether the largest come first.
    fn sorted_by(&self) -> Option<(usize, bool)> {
        None
    }
    /// Why a column's numbers are bounds, if they are.
    fn bound(&self, _column: usize) -> Option<String> {
        None
    }
    /// A header was clicked.
    fn header_clicked(&mut self, _column: usize) {}
}

const HEADER_HEIGHT: f32 = 24.0;
const ROW_HEIGHT: f32 = 21.0;

/// Draws a list; its first column stays when it is scrolled sideways.
pub fn show(ui: &mut Ui, id: &'static str, columns: &[ListColumn], rows: usize, list: &mut dyn List) {
    let column = |column: &ListColumn| {
        Column::new(column.width).range(40.0..=1600.0).resizable(true).id(egui::Id::unique((id, column.title)))
    };
    let widths = columns.iter().map(|of| (column(of), of.width)).collect::<Vec<_>>();
    let mut table = Table::new()
        .id_salt(id)
        .num_rows(rows as u64)
        .columns(columns.iter().map(column).collect::<Vec<_>>())
        .num_sticky_cols(1)
        .headers([HeaderRow::new(HEADER_HEIGHT)]);
    set_first_widths(ui, &table, widths);
    if let Some(row) = list.revealed() {
        table = table.scroll_to_row(row as u64, None);
    }
    table.show(ui, &mut Delegate { columns, rows, list });
}

/// A table would begin with the widths of its first lines.
pub fn set_first_widths(ui: &Ui, table: &Table, columns: impl IntoIterator<Item = (Column, f32)>) {
    let id = table.get_id(ui);
    if TableState::load(ui.ctx(), id).is_none() {
        let col_widths = columns.into_iter().enumerate().map(|(i, (column, width))| (column.id_for(i), width)).collect();
        TableState { col_widths, parent_width: None }.store(ui.ctx(), id);
    }
}

/// The button in a column's header: its title, with a star if its numbers are bounds, and
/// when it is pointed at what they mean and why they are bounds.
pub fn header_button(ui: &mut Ui, title: &str, hint: &str, bound: Option<String>) -> egui::Response {
    let (title, hint) = match bound {
        Some(bound) => (format!("{title} *"), format!("{hint}\n\n{bound}")),
        None => (title.to_owned(), hint.to_owned()),
    };
    ui.add(egui::Button::new(egui::RichText::new(title).strong()).frame(false)).on_hover_text(hint)
}

/// Points that a triangle takes.
pub const TRIANGLE: f32 = 14.0;

/// The triangle before the name of a line with others under it.
pub fn triangle(ui: &mut Ui, is_open: bool, name: &str) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(egui::vec2(TRIANGLE, TRIANGLE), Sense::click());
    let verb = if is_open { "Collapse" } else { "Expand" };
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("{verb} {name}")));
    let icon = response.clone().with_new_rect(rect.shrink(2.0));
    egui::collapsing_header::paint_default_icon(ui, if is_open { 1.0 } else { 0.0 }, &icon);
    response
}

/// Paints what a table's line stands on.
pub fn fill_row(ui: &Ui, row: u64, is_selected: bool, is_hovered: bool) {
    let visuals = ui.visuals();
    let fill = if is_selected {
        visuals.selection.bg_fill.gamma_multiply(0.75)
    } else if is_hovered {
        visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.5)
    } else if row.is_multiple_of(2) {
        visuals.faint_bg_color
    } else {
        egui::Color32::TRANSPARENT
    };
    ui.painter().rect_filled(ui.max_rect(), 0.0, fill);
}

struct Delegate<'a> {
    columns: &'a [ListColumn],
    rows: usize,
    list: &'a mut dyn List,
}

fn layout(column: &ListColumn) -> Layout {
    if column.is_number { Layout::right_to_left(Align::Center) } else { Layout::left_to_right(Align::Center) }
}

impl Delegate<'_> {
    fn menu(&mut self, ui: &mut Ui, row: usize) {
        self.list.menu(ui, row);
        ui.separator();
        if ui.button("Copy line").clicked() {
            self.list.copy(self.line(row));
        }
        if ui.button("Copy table").clicked() {
            let header = self.columns.iter().map(|column| column.title).collect::<Vec<_>>().join("\t");
            let lines = (0..self.rows).map(|row| self.line(row));
            self.list.copy(std::iter::once(header).chain(lines).collect::<Vec<_>>().join("\n"));
        }
    }

    fn line(&self, row: usize) -> String {
        (0..self.columns.len()).map(|column| self.list.text(row, column)).collect::<Vec<_>>().join("\t")
    }
}

impl TableDelegate for Delegate<'_> {
    fn default_row_height(&self) -> f32 {
        ROW_HEIGHT
    }

    fn header_cell_ui(&mut self, ui: &mut Ui, cell: &HeaderCellInfo) {
        let index = cell.col_range.start;
        let Some(column) = self.columns.get(index) else { return };
        ui.painter().rect_filled(ui.max_rect(), 0.0, ui.visuals().faint_bg_color);
        let sorted = self.list.sorted_by().filter(|(by, _)| *by == index);
        ui.with_layout(layout(column), |ui| {
            ui.add_space(4.0);
            if let Some((_, descending)) = sorted {
                super::columns::sort_mark(ui, descending);
            }
            if header_button(ui, column.title, column.hint, self.list.bound(index)).clicked() {
                self.list.header_clicked(index);
            }
        });
    }

    fn row_ui(&mut self, ui: &mut Ui, row: u64) {
        let rect = ui.max_rect();
        let row = row as usize;
        // A row is drawn in two parts, the sticky column and the rest.
        let id = ui.scope_id().with(("row", row, rect.left() as i64));
        let response = ui.interact(rect, id, Sense::click());
        fill_row(ui, row as u64, self.list.is_selected(row), response.hovered());
        if response.clicked() {
            self.list.clicked(row);
        }
        if response.double_clicked() {
            self.list.double_clicked(row);
        }
        response.context_menu(|ui| self.menu(ui, row));
    }

    fn cell_ui(&mut self, ui: &mut Ui, cell: &CellInfo) {
        let Some(column) = self.columns.get(cell.col_nr) else { return };
        ui.with_layout(layout(column), |ui| {
            ui.add_space(6.0);
            self.list.cell(ui, cell.row_nr as usize, cell.col_nr);
        });
    }
}
