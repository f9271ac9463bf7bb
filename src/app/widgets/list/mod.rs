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

use crate::app::base::table::column::{self, Chosen, Placed, Plan, Wanted};
pub use crate::app::base::table::{ColumnOf, Goes, ListColumn, Value, widest};
use crate::app::base::table::{Export, Format, Head, TableSource, TypedTable};
use crate::app::commands::{Command, Commands};
pub use cells::{NO_STACK, Name, Share, Style, TRIANGLE, bar, branch, name, name_at, number, triangle};

/// A table on the screen: the look of its cells, its order, and the actions on its lines.
pub trait List<T: TypedTable> {
    /// Called before the lines are drawn, with the columns that fit.
    fn placed(&mut self, _columns: &[T::Column]) {}
    /// Called before these lines are drawn.
    fn prepare(&mut self, _rows: Range<usize>) {}
    /// The value of a cell.
    fn value(&self, table: &T, row: usize, column: T::Column) -> Value {
        table.value(row, column)
    }
    /// A number's share of a whole.
    fn share(&self, _row: usize, _column: T::Column) -> Option<Share> {
        None
    }
    /// Whether a column shows shares: by default the one that sorts.
    fn has_bars(&self, column: T::Column) -> bool {
        self.sorted(column).is_some()
    }
    /// The look of a line's name, which is the text in the column that takes the remaining room.
    fn name<'n>(&'n self, _row: usize, text: &'n str) -> Name<'n> {
        Name::new(text, Style::Plain)
    }
    /// Draws a cell that shows more than its value.
    fn cell(&mut self, ui: &mut Ui, row: usize, column: T::Column, value: &Value) {
        plain(self, ui, row, column, value);
    }
    /// The parent of a line in a tree.
    fn parent(&self, _row: usize) -> Option<usize> {
        None
    }
    /// Whether a line is selected.
    fn is_selected(&self, _row: usize) -> bool {
        false
    }
    /// Called when a line was clicked.
    fn clicked(&mut self, _row: usize) {}
    /// Called when a line was double-clicked.
    fn double_clicked(&mut self, _row: usize) {}
    /// The line to scroll to, if it is not visible.
    fn revealed(&self) -> Option<usize> {
        None
    }
    /// The context menu of a line, above the entries that all lists have.
    fn menu(&mut self, _ui: &mut Ui, _row: usize) {}
    /// The key that copies the selected line; empty if there is none.
    fn copy_key(&self) -> &'static str {
        ""
    }
    /// Whether the largest come first, if a column sorts the list. The first such column is marked.
    fn sorted(&self, _column: T::Column) -> Option<bool> {
        None
    }
    /// Why a column's numbers are bounds; `None` if they are exact.
    fn bound(&self, _column: T::Column) -> Option<String> {
        None
    }
    /// The title of a column.
    fn title(&self, column: T::Column) -> &'static str {
        column.head().title
    }
    /// Called when a header was clicked.
    fn header_clicked(&mut self, _column: T::Column) {}
    /// Whether a column is shown; `None` if the table itself remembers that.
    fn is_shown(&self, _column: T::Column) -> Option<bool> {
        None
    }
    /// Shows or hides a column, if the list itself remembers that.
    fn show_column(&mut self, _column: T::Column, _shown: bool) {}
}

/// Draws a cell with its value only.
pub fn plain<T: TypedTable, L: List<T> + ?Sized>(list: &L, ui: &mut Ui, row: usize, column: T::Column, value: &Value) {
    let head = column.head();
    match value {
        Value::Text(text) if head.is_rest() => _ = name(ui, list.name(row, text)),
        Value::Text(text) if !head.is_number => _ = name(ui, Name::new(text, Style::Plain)),
        _ => {
            let share = if list.has_bars(column) { list.share(row, column) } else { None };
            number(ui, value, share.as_ref());
        }
    }
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

/// Draws a table that can be long, and therefore be exported. Returns the commands of the entries that all lists have.
pub fn show<T: TypedTable + Send + Sync + 'static>(
    ui: &mut Ui,
    id: &'static str,
    table: &Arc<T>,
    list: &mut impl List<T>,
) -> Commands {
    draw(ui, id, (&**table, Some(Arc::clone(table) as Arc<dyn TableSource>)), list)
}

/// Draws a short table, which can only be copied, like [`show`].
pub fn show_short<T: TypedTable>(ui: &mut Ui, id: &'static str, table: &T, list: &mut impl List<T>) -> Commands {
    draw(ui, id, (table, None), list)
}

fn draw<T: TypedTable, L: List<T>>(
    ui: &mut Ui,
    id: &'static str,
    (table, source): (&T, Option<Arc<dyn TableSource>>),
    list: &mut L,
) -> Commands {
    let columns: Vec<T::Column> = table.columns().into_iter().collect();
    let heads: Vec<ListColumn> = columns.iter().map(|column| column.head()).collect();
    let rows = table.len();
    let kept_at = Id::unique(("list", id));
    let mut kept: Kept = ui.data_mut(|data| data.get_temp(kept_at)).unwrap_or_default();
    let area = ui.available_rect_before_wrap();
    let shown = |at: usize| list.is_shown(columns[at]).unwrap_or(!kept.chosen.hidden.contains(heads[at].title));
    let wanted = (0..columns.len()).filter(|&at| heads[at].is_rest() || shown(at));
    let width = |at: usize| column::width(ui, &heads[at], &kept.chosen);
    let wanted: Vec<Wanted> = wanted.map(|at| Wanted { column: at, width: width(at), goes: heads[at].goes }).collect();
    let room = area.width() - END;
    let least = heads.iter().find_map(|head| head.least(room)).unwrap_or(0.0);
    let sorted = columns.iter().position(|&column| list.sorted(column).is_some());
    let plan = column::plan(&wanted, least, sorted, room);
    list.placed(&plan.placed.iter().map(|placed| columns[placed.column]).collect::<Vec<_>>());
    let table_columns: Vec<Column> =
        plan.placed.iter().map(|placed| placed.width).chain([END]).map(|width| Column::new(width).resizable(false)).collect();
    let mut drawn =
        Table::new().id_salt(id).num_rows(rows as u64).columns(table_columns).headers([HeaderRow::new(HEADER_HEIGHT)]);
    // Without a stored state the table would measure its first lines.
    let table_id = drawn.get_id(ui);
    TableState::default().store(ui.ctx(), table_id);
    if let Some(row) = kept.go_to.take() {
        let above = table.depth(row).min(sticky::MOST);
        drawn = drawn.scroll_to_row(row.saturating_sub(above) as u64, Some(Align::TOP));
    } else if let Some(row) = list.revealed() {
        // Keeps the line from being covered by the sticky lines.
        let above = row.saturating_sub(table.depth(row).min(sticky::MOST));
        drawn = drawn.scroll_to_rows(above as u64..=row as u64, None);
    }
    let body = Rect::from_min_max(pos2(area.left(), area.top() + HEADER_HEIGHT), area.max);
    let mut delegate = Delegate {
        table,
        source,
        columns: &columns,
        sorted,
        plan: &plan,
        list,
        commands: Commands::default(),
        body,
        covered: kept.covered,
        first: None,
    };
    drawn.show(ui, &mut delegate);
    header::show(ui, area, &mut kept.chosen, &mut delegate);
    kept.covered = 0;
    if let Some(first) = delegate.first {
        let above = sticky::above(delegate.list, first, rows, body.height());
        kept.covered = above.len();
        kept.go_to = sticky::show(ui, &mut delegate, &above);
    }
    if kept.go_to.is_some() {
        ui.ctx().request_repaint();
    }
    ui.data_mut(|data| data.insert_temp(kept_at, kept));
    delegate.commands
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

struct Delegate<'a, T: TypedTable, L> {
    table: &'a T,
    /// The table for exports, if it can be long.
    source: Option<Arc<dyn TableSource>>,
    columns: &'a [T::Column],
    /// The place of the column that sorts.
    sorted: Option<usize>,
    plan: &'a Plan,
    list: &'a mut L,
    commands: Commands,
    /// The area of the lines.
    body: Rect,
    /// Number of lines at the top that are covered by their ancestors.
    covered: usize,
    /// The first visible line.
    first: Option<usize>,
}

impl<T: TypedTable, L: List<T>> Delegate<'_, T, L> {
    fn menu(&mut self, ui: &mut Ui, row: usize) {
        self.list.menu(ui, row);
        ui.separator();
        if ui.add(egui::Button::new("Copy line").shortcut_text(self.list.copy_key())).clicked() {
            self.commands.push(Command::Copy(self.line(row)));
        }
        if let Some(table_source) = &self.source {
            for format in Format::ALL {
                if ui.button(format.label()).clicked() {
                    self.commands.push(Command::Export(Export { table_source: Arc::clone(table_source), format }));
                }
            }
            return;
        }
        if ui.button("Copy table").clicked() {
            let header = self.columns.iter().map(|column| column.head().title).collect::<Vec<_>>().join("\t");
            let lines = (0..self.table.len()).map(|row| "  ".repeat(self.table.depth(row)) + &self.line(row));
            self.commands.push(Command::Copy(std::iter::once(header).chain(lines).collect::<Vec<_>>().join("\n")));
        }
    }

    fn line(&self, row: usize) -> String {
        self.columns.iter().map(|&column| self.list.value(self.table, row, column).to_string()).collect::<Vec<_>>().join("\t")
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
    fn draw(&mut self, ui: &mut Ui, row: usize, at: usize) {
        let column = self.columns[at];
        ui.spacing_mut().item_spacing.x = 6.0;
        if !column.head().is_number {
            ui.add_space(6.0);
        }
        let value = self.list.value(self.table, row, column);
        self.list.cell(ui, row, column, &value);
    }

    fn is_covered(&self, rect: Rect) -> bool {
        rect.bottom() <= self.body.top() + self.covered as f32 * ROW_HEIGHT + 0.5
    }
}

impl<T: TypedTable, L: List<T>> TableDelegate for Delegate<'_, T, L> {
    fn default_row_height(&self) -> f32 {
        ROW_HEIGHT
    }

    fn prepare(&mut self, info: &PrefetchInfo) {
        self.list.prepare(info.visible_rows.start as usize..info.visible_rows.end as usize);
    }

    fn header_cell_ui(&mut self, ui: &mut Ui, cell: &HeaderCellInfo) {
        let placed = self.plan.placed.get(cell.col_range.start);
        let column = placed.map(|placed| (self.columns[placed.column], self.sorted == Some(placed.column)));
        header::cell(ui, column, self.list);
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
