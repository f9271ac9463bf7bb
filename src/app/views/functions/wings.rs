//! The butterfly on the screen: callers above, the function in the middle, callees below, with all numbers in
//! the same columns. Only the rows on the screen are drawn.

use std::sync::Arc;

use eframe::egui::{self, Align2, FontId, Rect, Response, Sense, Ui, WidgetInfo, pos2, vec2};

use super::butterfly::{Butterflied, ProcessLife, Sides};
use super::panel::menu;
use super::{CallTable, CallTrees};
use crate::app::views::ViewContext;
use crate::app::widgets::columns::{number_color, title, value};
use crate::app::widgets::list::{Name, Style, bar, name_at};
use crate::query::{Column, Functions, Neighbour, NodeKey, Numbers, magnitude};

const LINE: f32 = 20.0;

/// Points at the right that are left free for scroll bars.
const GUTTER: f32 = 14.0;

const COLUMNS: [(Column, f32); 3] = [(Column::Impacting, 96.0), (Column::Size, 78.0), (Column::Count, 58.0)];

/// The user's action on the butterfly.
pub enum Action {
    Middle(Arc<str>),
    Back,
    Close,
    Process(ProcessLife),
}

pub fn carry_out<const FREES: bool>(view: &mut CallTrees<FREES>, did: Action) {
    match did {
        Action::Middle(name) => view.put_into_middle(&name),
        Action::Back => view.middle_before(),
        Action::Close => view.close_butterfly(),
        Action::Process(process) => view.wish.process = Some(process),
    }
}

pub fn show(
    ui: &mut Ui,
    table: &CallTable,
    of: &Butterflied,
    can_go_back: bool,
    context: &mut ViewContext<'_>,
) -> Option<Action> {
    ui.spacing_mut().item_spacing.y = 0.0;
    let mut did = bar_above(ui, of, can_go_back);
    let Some(sides) = &of.sides else {
        ui.add_space(8.0);
        ui.strong(&*of.name);
        ui.add_space(4.0);
        ui.weak("This function has nothing in this layer and interval.");
        return did;
    };
    let (functions, by) = (&*table.functions, bar_column(table.sort().column, &sides.total));
    let mut wing = |ui: &mut Ui, word: &'static str, list: &[Neighbour], height: f32| {
        let area = egui::ScrollArea::vertical().id_salt(word).max_height(height).auto_shrink([false, true]);
        area.show_rows(ui, LINE, list.len(), |ui, rows| {
            for neighbour in &list[rows] {
                if let Some(name) = neighbour_line(ui, word, functions, by, neighbour, sides, context) {
                    did = Some(Action::Middle(name));
                }
            }
        });
    };
    let (callers, callees) = (&sides.both.callers, &sides.both.callees);
    headings(ui, "Called by", by);
    let rest = ui.available_height() - 4.0 * LINE - 10.0;
    let [above, below] = [callers, callees].map(|list| list.len() as f32 * LINE);
    let above = above.min((rest / 2.0).max(rest - below)).max(LINE);
    wing(ui, "Caller", callers, above);
    ui.add_space(3.0);
    middle(ui, &of.name, by, sides);
    ui.add_space(3.0);
    headings(ui, "Calls", by);
    let rest = ui.available_height();
    wing(ui, "Callee", callees, rest.max(LINE));
    did
}

/// Draws the header: the back button, the process or a choice of it, and the close button.
fn bar_above(ui: &mut Ui, of: &Butterflied, can_go_back: bool) -> Option<Action> {
    let mut did = None;
    ui.horizontal(|ui| {
        if back_button(ui, can_go_back).clicked() {
            did = Some(Action::Back);
        }
        ui.strong("Butterfly");
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let cross = ui.add(egui::Button::new("\u{d7}").frame(false)).on_hover_text("Close");
            cross.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, "Close butterfly"));
            if cross.clicked() {
                did = Some(Action::Close);
            }
            let Some(sides) = &of.sides else { return };
            let label =
                |life: ProcessLife| sides.processes.iter().find(|(other, _)| *other == life).map_or("", |(_, label)| label);
            if sides.processes.len() < 2 {
                ui.add(egui::Label::new(egui::RichText::new(label(sides.process)).weak()).truncate());
                return;
            }
            let shown = egui::ComboBox::from_id_salt("butterfly process").width(ui.available_width().min(200.0)).truncate();
            shown.selected_text(label(sides.process)).show_ui(ui, |ui| {
                for (life, label) in &sides.processes {
                    if ui.selectable_label(*life == sides.process, label).clicked() {
                        did = Some(Action::Process(*life));
                    }
                }
            });
        });
    });
    did
}

/// A button with a painted arrow to the left, because not every font has arrows.
fn back_button(ui: &mut Ui, is_enabled: bool) -> Response {
    let button = ui.add_enabled(is_enabled, egui::Button::new(" ").min_size(vec2(22.0, 20.0)));
    button.widget_info(|| WidgetInfo::labeled(egui::Role::Button, is_enabled, "Function before"));
    let visuals = ui.visuals();
    let color = if is_enabled { visuals.text_color() } else { visuals.weak_text_color().gamma_multiply(0.5) };
    let (at, stroke) = (button.rect.center(), egui::Stroke::new(1.5, color));
    let tip = at - vec2(3.0, 0.0);
    ui.painter().line(vec![tip + vec2(5.0, -4.5), tip, tip + vec2(5.0, 4.5)], stroke);
    button.on_hover_text("Back to the previous function")
}

/// Minimum width of names in points; columns of numbers are left out for it.
const NAME_ROOM: f32 = 120.0;

/// The columns that fit, from the left; always with the column of the bars.
fn number_columns(rect: Rect, by: Column) -> Vec<(Column, Rect)> {
    let mut columns = COLUMNS.to_vec();
    let width = |columns: &[(Column, f32)]| columns.iter().map(|(_, width)| width).sum::<f32>();
    while columns.len() > 1 && rect.width() - GUTTER - width(&columns) < NAME_ROOM {
        let Some(last) = columns.iter().rposition(|(column, _)| *column != by) else { break };
        columns.remove(last);
    }
    let mut left = rect.right() - GUTTER - width(&columns);
    let place = |(column, width)| {
        let place = Rect::from_min_max(pos2(left, rect.top()), pos2(left + width, rect.bottom()));
        left += width;
        (column, place)
    };
    columns.into_iter().map(place).collect()
}

/// The column that bars show: the sort column of the table if it is one of [`COLUMNS`], else the size. Also the
/// size if nothing has changed.
fn bar_column(sort: Column, total: &Numbers) -> Column {
    let column = if matches!(sort, Column::Count | Column::Impacting) { sort } else { Column::Size };
    if magnitude(column, total) == 0 { Column::Size } else { column }
}

fn headings(ui: &mut Ui, word: &str, by: Column) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::hover());
    let color = ui.visuals().weak_text_color();
    let painter = ui.painter_at(rect);
    painter.text(rect.left_center() + vec2(4.0, 0.0), Align2::LEFT_CENTER, word, FontId::proportional(11.5), color);
    for (column, place) in number_columns(rect, by) {
        painter.text(place.right_center(), Align2::RIGHT_CENTER, title(column), FontId::proportional(11.5), color);
    }
}

fn numbers(ui: &Ui, rect: Rect, by: Column, n: &Numbers) {
    for (column, place) in number_columns(rect, by) {
        let color = match column {
            Column::Impacting => number_color(n.impacting, ui.visuals()),
            _ => ui.visuals().text_color(),
        };
        let text = value(column, n, None, None).to_string();
        ui.painter().text(place.right_center(), Align2::RIGHT_CENTER, text, FontId::proportional(13.0), color);
    }
}

/// All numbers of a row as text, for accessibility.
fn spoken(n: &Numbers) -> String {
    COLUMNS.map(|(column, _)| value(column, n, None, None).to_string()).join(", ")
}

/// Paints a name in the space left of the numbers.
fn name(ui: &Ui, rect: Rect, by: Column, name: Name<'_>) {
    let right = number_columns(rect, by).first().map_or(rect.right(), |(_, place)| place.left());
    name_at(ui, rect.with_min_x(rect.left() + 4.0).with_max_x((right - 4.0).max(rect.left() + 24.0)), name);
}

/// Draws the function in the middle: its total with all that it calls, and its own numbers.
fn middle(ui: &mut Ui, full: &str, by: Column, sides: &Sides) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 3.0 * LINE + 4.0), Sense::hover());
    let (total, own) = (spoken(&sides.total), spoken(&sides.own));
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, format!("{full}: total {total}; self {own}")));
    let visuals = ui.visuals();
    let fill = visuals.selection.bg_fill.gamma_multiply(if visuals.dark_mode { 0.35 } else { 0.45 });
    ui.painter().rect_filled(rect, 4.0, fill);
    let line = |i: usize| Rect::from_min_size(pos2(rect.left(), rect.top() + 2.0 + i as f32 * LINE), vec2(rect.width(), LINE));
    name_at(ui, line(0).shrink2(vec2(4.0, 0.0)), Name::new(full, Style::StrongFrame));
    for (i, word, n) in [(1, "Total", &sides.total), (2, "Self", &sides.own)] {
        name(ui, line(i), by, Name::new(word, Style::Plain));
        numbers(ui, line(i), by, n);
    }
    response.on_hover_text(full);
}

/// Draws a caller or callee; returns its name if it was clicked.
fn neighbour_line(
    ui: &mut Ui,
    word: &'static str,
    functions: &Functions,
    by: Column,
    neighbour: &Neighbour,
    sides: &Sides,
    context: &mut ViewContext<'_>,
) -> Option<Arc<str>> {
    let sense = if neighbour.function.is_some() { Sense::click() } else { Sense::hover() };
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), sense);
    let n = neighbour.sums.numbers();
    let full = match neighbour.function {
        Some(function) => functions.name(function).to_string(),
        None if word == "Caller" => "(start of the stack)".to_owned(),
        None => "(itself)".to_owned(),
    };
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("{word} {full}: {}", spoken(&n))));
    let visuals = ui.visuals();
    if response.hovered() && neighbour.function.is_some() {
        ui.painter().rect_filled(rect, 2.0, visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.6));
    }
    let whole = magnitude(by, &sides.total);
    if whole > 0 {
        let share = (magnitude(by, &n) as f64 / whole as f64) as f32;
        let room = Rect::from_min_max(rect.min, pos2(rect.right() - GUTTER, rect.bottom()));
        let change = if by == Column::Impacting { n.impacting } else { 0 };
        bar(ui, room.shrink2(vec2(0.0, 1.0)), change, share);
    }
    let style = if neighbour.function.is_some() { Style::Frame } else { Style::Weak };
    name(ui, rect, by, Name::new(&full, style));
    numbers(ui, rect, by, &n);
    let function = neighbour.function?;
    response.context_menu(|ui| menu(ui, context, NodeKey::Function(function), &full));
    let response = response.on_hover_cursor(egui::CursorIcon::PointingHand);
    let response = response.on_hover_text(format!("{full}\nClick to move it to the middle"));
    response.clicked().then(|| full.into())
}
