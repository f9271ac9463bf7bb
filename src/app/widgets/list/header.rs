//! The headers of a table: titles that sort, edges that can be dragged, and at the right end a button
//! that chooses columns.

use eframe::egui::containers::menu::{MenuButton, MenuConfig};
use eframe::egui::{
    self, Button, CursorIcon, FontId, Id, Rect, RichText, Role, Sense, Stroke, TextStyle, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use super::{END, HEADER_HEIGHT, List, ListColumn};
use crate::app::base::table::column::{Chosen, MARGIN, MARK, Plan};

/// Draws the header of a column, or of the empty space after the last.
pub fn cell(ui: &mut Ui, column: Option<(usize, &ListColumn)>, list: &mut dyn List) {
    let rect = ui.max_rect();
    ui.painter().rect_filled(rect, 0.0, ui.visuals().faint_bg_color);
    let Some((index, column)) = column else { return };
    let bound = list.bound(index);
    let title = if bound.is_some() { format!("{} *", column.title) } else { column.title.to_owned() };
    let response = ui.interact(rect, ui.scope_id().with("title"), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, title.as_str()));
    let visuals = ui.visuals();
    let is_lit = response.hovered() || response.has_focus();
    let color = if is_lit { visuals.strong_text_color() } else { visuals.text_color() };
    let sorted = list.sorted_by().filter(|(by, _)| *by == index);
    let font: FontId = TextStyle::Body.resolve(ui.style());
    let mark = if sorted.is_some() { MARK } else { 0.0 };
    let room = rect.width() - 2.0 * MARGIN - mark;
    let text = egui::WidgetText::from(RichText::new(&title).font(font).color(color));
    let galley = text.into_galley(ui, Some(egui::TextWrapMode::Truncate), room, TextStyle::Body);
    let (left, mark_at) = match column.is_number {
        true => (rect.right() - MARGIN - mark - galley.size().x, rect.right() - MARGIN - 4.0),
        false => (rect.left() + 6.0, rect.left() + 6.0 + galley.size().x + MARK - 4.0),
    };
    ui.painter().galley(pos2(left, rect.center().y - galley.size().y / 2.0), galley, color);
    if let Some((_, descending)) = sorted {
        sort_mark(ui, pos2(mark_at, rect.center().y), descending);
    }
    if response.clicked() {
        list.header_clicked(index);
    }
    response.on_hover_ui(|ui| {
        ui.label(column.hint);
        bound.iter().for_each(|bound| _ = ui.label(bound));
    });
}

/// A small triangle; arrows are not in every font.
fn sort_mark(ui: &Ui, center: egui::Pos2, descending: bool) {
    let tip = if descending { 3.0 } else { -3.0 };
    let corners = [vec2(-4.0, -tip), vec2(4.0, -tip), vec2(0.0, tip)].map(|corner| center + corner).to_vec();
    ui.painter().add(egui::Shape::convex_polygon(corners, ui.visuals().text_color(), Stroke::NONE));
}

/// Draws the edges between headers, which can be dragged, and the button after the last.
pub fn show(ui: &mut Ui, area: Rect, columns: &[ListColumn], plan: &Plan, chosen: &mut Chosen, list: &mut dyn List) {
    let header = Rect::from_min_size(area.min, vec2(area.width(), HEADER_HEIGHT));
    let line = ui.visuals().widgets.noninteractive.bg_stroke;
    ui.painter().hline(header.x_range(), header.bottom() - 0.5, line);
    let rest = plan.placed.iter().position(|placed| columns[placed.column].is_rest());
    let mut x = area.left();
    for (place, placed) in plan.placed.iter().enumerate() {
        let (left, right) = (x, x + placed.width);
        x = right;
        // The edge away from the column of the rest is movable, because the other one is anchored.
        let (edge, is_left) = match rest {
            Some(rest) if place == rest => continue,
            Some(rest) if place > rest => (left, true),
            _ => (right, false),
        };
        ui.painter().vline(edge, header.y_range().shrink(5.0), line);
        let title = columns[placed.column].title;
        let grip = Rect::from_center_size(pos2(edge, header.center().y), vec2(8.0, HEADER_HEIGHT));
        let id = ui.scope_id().with(("edge", title));
        let response = ui.interact(grip, id, Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Splitter, true, format!("Width of {title}")));
        if response.hovered() || response.dragged() {
            ui.ctx().set_cursor_icon(CursorIcon::ResizeColumn);
            ui.painter().vline(edge, header.y_range(), ui.visuals().widgets.hovered.bg_stroke);
        }
        if let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged()) {
            chosen.widen(title, if is_left { right - at.x } else { at.x - left });
        }
        if response.double_clicked() {
            chosen.widths.remove(title);
        }
    }
    let end = Rect::from_min_max(pos2(area.right() - END, header.top()), header.max);
    ui.scope_builder(UiBuilder::new().max_rect(end.shrink(2.0)).id_salt(Id::unique("columns")), |ui| {
        choice(ui, columns, plan, chosen, list);
    });
}

/// The button that chooses the visible columns, and lists those that do not fit.
fn choice(ui: &mut Ui, columns: &[ListColumn], plan: &Plan, chosen: &mut Chosen, list: &mut dyn List) {
    ui.spacing_mut().button_padding = vec2(3.0, 1.0);
    let stays = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    let button = Button::new(RichText::new("\u{2026}").strong()).frame_when_inactive(false);
    let (button, _) = MenuButton::from_button(button).config(stays).ui(ui, |ui| {
        for (index, column) in columns.iter().enumerate() {
            if column.is_rest() {
                continue;
            }
            let was_shown = list.is_shown(index).unwrap_or(!chosen.hidden.contains(column.title));
            let mut shown = was_shown;
            ui.checkbox(&mut shown, column.title).on_hover_text(column.hint);
            if shown == was_shown {
                continue;
            }
            list.show_column(index, shown);
            if shown {
                chosen.hidden.remove(column.title)
            } else {
                chosen.hidden.insert(column.title)
            };
        }
        if !plan.no_room.is_empty() {
            ui.separator();
            let names: Vec<&str> = plan.no_room.iter().map(|&column| columns[column].title).collect();
            ui.weak(format!("No room here for: {}", names.join(", ")));
        }
        if !chosen.widths.is_empty() && ui.button("Widths as at first").clicked() {
            chosen.widths.clear();
        }
    });
    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Columns"));
    if !plan.no_room.is_empty() {
        // A dot says that some columns do not fit.
        let at = button.rect.right_top() + vec2(-4.0, 5.0);
        ui.painter().circle_filled(at, 2.0, ui.visuals().warn_fg_color);
    }
    let names: Vec<&str> = plan.no_room.iter().map(|&column| columns[column].title).collect();
    button.on_hover_text(match names.is_empty() {
        true => "Columns".to_owned(),
        false => format!("Columns; no room for {}", names.join(", ")),
    });
}
