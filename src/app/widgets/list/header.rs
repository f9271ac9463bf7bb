//! The headers of a table: titles that sort, edges that can be dragged, and at the right end a button
//! that chooses columns.

use eframe::egui::containers::menu::{MenuButton, MenuConfig};
use eframe::egui::{
    self, Button, CursorIcon, FontId, Id, Rect, RichText, Role, Sense, Stroke, TextStyle, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use super::{Delegate, END, HEADER_HEIGHT, List};
use crate::app::base::table::column::{Chosen, MARGIN, MARK};
use crate::app::base::table::{Head, TypedTable};

/// Draws the header of a column, which may be the one that sorts, or of the empty space after the last.
pub fn cell<T: TypedTable>(ui: &mut Ui, column: Option<(T::Column, bool)>, list: &mut impl List<T>) {
    let rect = ui.max_rect();
    ui.painter().rect_filled(rect, 0.0, ui.visuals().faint_bg_color);
    let Some((column, sorts)) = column else { return };
    let (head, title, bound) = (column.head(), list.title(column), list.bound(column));
    let title = if bound.is_some() { format!("{title} *") } else { title.to_owned() };
    let response = ui.interact(rect, ui.scope_id().with("title"), Sense::click());
    let sorted = list.sorted(column).filter(|_| sorts);
    response.widget_info(|| {
        let order = sorted.map(|descending| if descending { "Sorted, descending" } else { "Sorted, ascending" });
        let info = WidgetInfo::labeled(Role::Button, true, title.as_str());
        WidgetInfo { current_text_value: order.map(str::to_owned), ..info }
    });
    let visuals = ui.visuals();
    let is_lit = response.hovered() || response.has_focus();
    let color = if is_lit { visuals.strong_text_color() } else { visuals.text_color() };
    let font: FontId = TextStyle::Body.resolve(ui.style());
    let mark = if sorted.is_some() { MARK } else { 0.0 };
    let room = rect.width() - 2.0 * MARGIN - mark;
    let text = egui::WidgetText::from(RichText::new(&title).font(font).color(color));
    let galley = text.into_galley(ui, Some(egui::TextWrapMode::Truncate), room, TextStyle::Body);
    let (left, mark_at) = match head.is_number {
        true => (rect.right() - MARGIN - mark - galley.size().x, rect.right() - MARGIN - 4.0),
        false => (rect.left() + 6.0, rect.left() + 6.0 + galley.size().x + MARK - 4.0),
    };
    ui.painter().galley(pos2(left, rect.center().y - galley.size().y / 2.0), galley, color);
    if let Some(descending) = sorted {
        sort_mark(ui, pos2(mark_at, rect.center().y), descending);
    }
    if response.clicked() {
        list.header_clicked(column);
    }
    response.on_hover_ui(|ui| {
        ui.label(head.hint);
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
pub(super) fn show<T: TypedTable>(ui: &mut Ui, area: Rect, chosen: &mut Chosen, of: &mut Delegate<'_, T, impl List<T>>) {
    let head = |column: usize| of.columns[column].head();
    let header = Rect::from_min_size(area.min, vec2(area.width(), HEADER_HEIGHT));
    let line = ui.visuals().widgets.noninteractive.bg_stroke;
    ui.painter().hline(header.x_range(), header.bottom() - 0.5, line);
    let rest = of.plan.placed.iter().position(|placed| head(placed.column).is_rest());
    let mut x = area.left();
    for (place, placed) in of.plan.placed.iter().enumerate() {
        let (left, right) = (x, x + placed.width);
        x = right;
        // The edge away from the column of the rest is movable, because the other one is anchored.
        let (edge, is_left) = match rest {
            Some(rest) if place == rest => continue,
            Some(rest) if place > rest => (left, true),
            _ => (right, false),
        };
        ui.painter().vline(edge, header.y_range().shrink(5.0), line);
        let title = head(placed.column).title;
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
        choice(ui, chosen, of);
    });
}

/// The button that chooses the visible columns, and lists those that do not fit.
fn choice<T: TypedTable>(ui: &mut Ui, chosen: &mut Chosen, of: &mut Delegate<'_, T, impl List<T>>) {
    let no_room: Vec<&str> = of.plan.no_room.iter().map(|&column| of.columns[column].head().title).collect();
    ui.spacing_mut().button_padding = vec2(3.0, 1.0);
    let stays = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    let button = Button::new(RichText::new("\u{2026}").strong()).frame_when_inactive(false);
    let (button, _) = MenuButton::from_button(button).config(stays).ui(ui, |ui| {
        for &column in of.columns {
            let head = column.head();
            if head.is_rest() {
                continue;
            }
            let was_shown = of.list.is_shown(column).unwrap_or(!chosen.hidden.contains(head.title));
            let mut shown = was_shown;
            ui.checkbox(&mut shown, head.title).on_hover_text(head.hint);
            if shown == was_shown {
                continue;
            }
            of.list.show_column(column, shown);
            if shown {
                chosen.hidden.remove(head.title)
            } else {
                chosen.hidden.insert(head.title)
            };
        }
        if !no_room.is_empty() {
            ui.separator();
            ui.weak(format!("No room here for: {}", no_room.join(", ")));
        }
        if !chosen.widths.is_empty() && ui.button("Reset widths").clicked() {
            chosen.widths.clear();
        }
    });
    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Columns"));
    if !no_room.is_empty() {
        // A dot says that some columns do not fit.
        let at = button.rect.right_top() + vec2(-4.0, 5.0);
        ui.painter().circle_filled(at, 2.0, ui.visuals().warn_fg_color);
    }
    button.on_hover_text(match no_room.is_empty() {
        true => "Columns".to_owned(),
        false => format!("Columns; no room for {}", no_room.join(", ")),
    });
}
