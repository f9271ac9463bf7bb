//! The one kind of table in the window: columns, one of which takes the remaining room, and many lines,
//! of which only the visible ones are drawn. The views provide the lines.
//!
//! Cost of a frame: the visible cells; in a tree also the lines above the first visible one.

mod cells;
mod header;
mod sticky;

use std::ops::Range;
use std::sync::Arc;

use eframe::egui::{self, Align, Color32, Id, Layout, Rect, Sense, Ui, UiBuilder, pos2};
use egui_table::{CellInfo, Column, HeaderCellInfo, HeaderRow, PrefetchInfo, Table, TableDelegate, TableState};

use crate::app::base::table::column::{self, Chosen, Placed, Plan};
use crate::app::base::table::{Export, Format, TableSource};
pub use crate::app::base::table::{ListColumn, Value, Width, widest};
use crate::app::commands::Command;
pub use cells::{Name, Share, Style, TRIANGLE, bar, branch, name, name_at, number, triangle};

/// The contents of a list.
pub trait List {
    /// Called before these lines are drawn.
    fn prepare(&mut self, _rows: Range<usize>) {}
    /// The value of a cell.
    fn value(&self, row: usize, column: usize) -> Value;
    /// A number's share of a whole, in the column that sorts.
    fn share(&self, _row: usize, _column: usize) -> Option<Share> {
        None
    }
    /// The name of that whole.
    fn whole(&self, _row: usize, _column: usize) -> String {
        String::new()
    }
    /// Draws a cell that shows more than its value.
    fn cell(&mut self, ui: &mut Ui, row: usize, column: usize) {
        plain(self, ui, row, column);
    }
    /// The parent of a line in a tree.
    fn parent(&self, _row: usize) -> Option<usize> {
        None
    }
    /// The number of a line's ancestors.
    fn depth(&self, _row: usize) -> usize {
        0
    }
    /// Whether a line is selected.
    fn is_selected(&self, row: usize) -> bool;
    /// Called when a line was clicked.
    fn clicked(&mut self, row: usize);
    /// Called when a line was double-clicked.
    fn double_clicked(&mut self, _row: usize) {}
    /// The line to scroll to, if it is not visible.
    fn revealed(&self) -> Option<usize> {
        None
    }
    /// The context menu of a line, above the entries that all lists have.
    fn menu(&mut self, ui: &mut Ui, row: usize);
    /// Pushes a command.
    fn push(&mut self, command: Command);
    /// The whole list for copying and export, if it can be long.
    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        None
    }
    /// The key that copies the selected line; empty if there is none.
    fn copy_key(&self) -> &'static str {
        ""
    }
    /// The column that sorts the list, and whether the largest come first.
    fn sorted_by(&self) -> Option<(usize, bool)> {
        None
    }
    /// Why a column's numbers are bounds; `None` if they are exact.
    fn bound(&self, _column: usize) -> Option<String> {
        None
    }
    /// Called when a header was clicked.
    fn header_clicked(&mut self, _column: usize) {}
    /// Whether a column is shown; `None` if the table itself remembers that.
    fn is_shown(&self, _column: usize) -> Option<bool> {
        None
    }
    /// Shows or hides a column, if the list itself remembers that.
    fn show_column(&mut self, _column: usize, _shown: bool) {}
}

/// Draws a cell with its value only.
pub fn plain<L: List + ?Sized>(list: &L, ui: &mut Ui, row: usize, column: usize) {
    let value = list.value(row, column);
    if let Value::Text(text) = &value {
        name(ui, Name::new(text, Style::Plain));
        return;
    }
    let share = list.share(row, column).filter(|_| list.sorted_by().is_some_and(|(by, _)| by == column));
    let whole = || list.whole(row, column);
    number(ui, &value, share.map(|share| (share, &whole as &dyn Fn() -> String)));
}

const HEADER_HEIGHT: f32 = 24.0;
const ROW_HEIGHT: f32 = 21.0;

/// Points at the right end for the button that chooses columns and for the scroll bar.
const END: f32 = 24.0;

/// The state of a table that is kept for the session.
#[derive(Clone, Default)]
struct Kept {
    chosen: Chosen,
    /// Number of lines covered by sticky ones in the previous frame.
    covered: usize,
    /// The line to scroll to after a click on a sticky one.
    go_to: Option<usize>,
}

/// Draws a list.
pub fn show(ui: &mut Ui, id: &'static str, columns: &[ListColumn], rows: usize, list: &mut dyn List) {
    let kept_at = Id::unique(("list", id));
    let mut kept: Kept = ui.data_mut(|data| data.get_temp(kept_at)).unwrap_or_default();
    let area = ui.available_rect_before_wrap();
    let shown = |column: usize| list.is_shown(column).unwrap_or(!kept.chosen.hidden.contains(columns[column].title));
    let wanted = (0..columns.len()).filter(|&column| columns[column].is_rest() || shown(column));
    let widths: Vec<(usize, Option<f32>)> =
        wanted.map(|column| (column, column::width(ui, &columns[column], &kept.chosen))).collect();
    let least = columns.iter().find_map(|column| if let Width::Rest(least) = column.width { Some(least) } else { None });
    let plan = column::plan(&widths, least.unwrap_or(0.0), list.sorted_by().map(|(by, _)| by), area.width() - END);
    let table_columns: Vec<Column> =
        plan.placed.iter().map(|placed| placed.width).chain([END]).map(|width| Column::new(width).resizable(false)).collect();
    let mut table =
        Table::new().id_salt(id).num_rows(rows as u64).columns(table_columns).headers([HeaderRow::new(HEADER_HEIGHT)]);
    // Without a stored state the table would measure its first lines.
    let table_id = table.get_id(ui);
    TableState::default().store(ui.ctx(), table_id);
    if let Some(row) = kept.go_to.take() {
        let above = list.depth(row).min(sticky::MOST);
        table = table.scroll_to_row(row.saturating_sub(above) as u64, Some(Align::TOP));
    } else if let Some(row) = list.revealed() {
        // Keeps the line from being covered by the sticky lines.
        let above = row.saturating_sub(list.depth(row).min(sticky::MOST));
        table = table.scroll_to_rows(above as u64..=row as u64, None);
    }
    let body = Rect::from_min_max(pos2(area.left(), area.top() + HEADER_HEIGHT), area.max);
    let mut delegate = Delegate { columns, plan: &plan, rows, list, body, covered: kept.covered, first: None };
    table.show(ui, &mut delegate);
    let first = delegate.first;
    header::show(ui, area, columns, &plan, &mut kept.chosen, list);
    kept.covered = 0;
    if let Some(first) = first {
        let above = sticky::above(list, first, rows, body.height());
        kept.covered = above.len();
        let mut delegate = Delegate { columns, plan: &plan, rows, list, body, covered: 0, first: None };
        kept.go_to = sticky::show(ui, &mut delegate, &above);
    }
    if kept.go_to.is_some() {
        ui.ctx().request_repaint();
    }
    ui.data_mut(|data| data.insert_temp(kept_at, kept));
}

/// Paints the background of a line.
fn fill_row(ui: &Ui, rect: Rect, row: usize, is_selected: bool, is_hovered: bool) {
    let visuals = ui.visuals();
    let fill = if is_selected {
        visuals.selection.bg_fill.gamma_multiply(0.75)
    } else if is_hovered {
        visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.5)
    } else if row.is_multiple_of(2) {
        visuals.faint_bg_color
    } else {
        Color32::TRANSPARENT
    };
    ui.painter().rect_filled(rect, 0.0, fill);
}

struct Delegate<'a> {
    columns: &'a [ListColumn],
    plan: &'a Plan,
    rows: usize,
    list: &'a mut dyn List,
    /// The area of the lines.
    body: Rect,
    /// Number of lines at the top that are covered by their ancestors.
    covered: usize,
    /// The first visible line.
    first: Option<usize>,
}

impl Delegate<'_> {
    fn menu(&mut self, ui: &mut Ui, row: usize) {
        self.list.menu(ui, row);
        ui.separator();
        if ui.add(egui::Button::new("Copy line").shortcut_text(self.list.copy_key())).clicked() {
            self.list.push(Command::Copy(self.line(row)));
        }
        if let Some(table_source) = self.list.table_source() {
            for format in Format::ALL {
                if ui.button(format.label()).clicked() {
                    self.list.push(Command::Export(Export { table_source: Arc::clone(&table_source), format }));
                }
            }
            return;
        }
        if ui.button("Copy table").clicked() {
            let header = self.columns.iter().map(|column| column.title).collect::<Vec<_>>().join("\t");
            let lines = (0..self.rows).map(|row| "  ".repeat(self.list.depth(row)) + &self.line(row));
            self.list.push(Command::Copy(std::iter::once(header).chain(lines).collect::<Vec<_>>().join("\n")));
        }
    }

    fn line(&self, row: usize) -> String {
        (0..self.columns.len()).map(|column| self.list.value(row, column).to_string()).collect::<Vec<_>>().join("\t")
    }

    /// Handles pointer, clicks and context menu of a line; returns whether it was clicked.
    fn respond(&mut self, ui: &mut Ui, rect: Rect, row: usize) -> bool {
        let response = ui.interact(rect, ui.scope_id().with(("row", row)), Sense::click());
        fill_row(ui, rect, row, self.list.is_selected(row), response.contains_pointer());
        if response.clicked() {
            self.list.clicked(row);
        }
        if response.double_clicked() {
            self.list.double_clicked(row);
        }
        response.context_menu(|ui| self.menu(ui, row));
        response.clicked()
    }

    /// Draws a cell into a `ui` of its own.
    fn draw(&mut self, ui: &mut Ui, row: usize, column: usize) {
        ui.spacing_mut().item_spacing.x = 6.0;
        if !self.columns[column].is_number {
            ui.add_space(6.0);
        }
        self.list.cell(ui, row, column);
    }

    fn is_covered(&self, rect: Rect) -> bool {
        rect.bottom() <= self.body.top() + self.covered as f32 * ROW_HEIGHT + 0.5
    }
}

impl TableDelegate for Delegate<'_> {
    fn default_row_height(&self) -> f32 {
        ROW_HEIGHT
    }

    fn prepare(&mut self, info: &PrefetchInfo) {
        self.list.prepare(info.visible_rows.start as usize..info.visible_rows.end as usize);
    }

    fn header_cell_ui(&mut self, ui: &mut Ui, cell: &HeaderCellInfo) {
        let placed = self.plan.placed.get(cell.col_range.start);
        header::cell(ui, placed.map(|placed| (placed.column, &self.columns[placed.column])), self.list);
    }

    fn row_ui(&mut self, ui: &mut Ui, row: u64) {
        let rect = ui.max_rect();
        if rect.bottom() > self.body.top() + 1.0 {
            self.first = Some(self.first.map_or(row as usize, |first| first.min(row as usize)));
        }
        if !self.is_covered(rect) {
            self.respond(ui, rect, row as usize);
        }
    }

    fn cell_ui(&mut self, ui: &mut Ui, cell: &CellInfo) {
        let Some(&Placed { column, .. }) = self.plan.placed.get(cell.col_nr) else { return };
        let rect = ui.max_rect();
        if self.is_covered(rect) {
            return;
        }
        // The cell has its own area, which its contents cannot widen.
        let mut ui = ui.new_child(UiBuilder::new().max_rect(rect).layout(Layout::left_to_right(Align::Center)));
        self.draw(&mut ui, cell.row_nr as usize, column);
    }
}
