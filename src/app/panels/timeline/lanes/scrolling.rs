//! Scrolling of lanes by the wheel over their names: which lanes are visible, and how many are not.

use std::ops::Range;

use eframe::egui::{self, Align2, FontId, Pos2, Rect, Sense, Ui, vec2};

use crate::format;

/// The lanes that are visible when they are scrolled this far: only whole ones, at least one.
pub(super) fn whole(heights: &[f32], room: f32, scrolled: f32) -> Range<usize> {
    let mut top = 0.0;
    let above = |height: &&f32| {
        let is_above = top < scrolled - 1.0;
        top += **height;
        is_above
    };
    let first = heights.iter().take_while(above).count().min(heights.len().saturating_sub(1));
    let mut used = 0.0;
    let fits = |height: &&f32| {
        used += **height;
        used <= room + 1.0
    };
    let count = heights[first..].iter().take_while(fits).count();
    first..(first + count.max(1)).min(heights.len())
}

fn scrolled_id() -> egui::Id {
    egui::Id::unique("lanes scrolled")
}

/// The number of lanes that have no room, below the names; a click shows the next ones.
pub(super) fn others(ui: &mut Ui, place: Rect, (count, page, hidden): (usize, f32, f32)) {
    if count == 0 || place.height() < 12.0 {
        return;
    }
    let text = format::plural(count as u64, "more lane");
    let place = Rect::from_min_size(place.left_top() + vec2(22.0, 0.0), vec2((place.width() - 40.0).max(0.0), 16.0));
    let response = ui.interact(place, ui.scope_id().with("more lanes"), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &text));
    let color = if response.hovered() { ui.visuals().strong_text_color() } else { ui.visuals().weak_text_color() };
    ui.painter().text(place.left_center(), Align2::LEFT_CENTER, &text, FontId::proportional(11.5), color);
    if response.clicked() {
        let by = ui.data(|data| data.get_temp::<f32>(scrolled_id())).unwrap_or(0.0);
        let next = if by >= hidden - 1.0 { 0.0 } else { (by + page).min(hidden) };
        ui.data_mut(|data| data.insert_temp(scrolled_id(), next));
    }
    response.on_hover_text("Click for the next ones, or turn the wheel over the names");
}

/// How far the lanes are scrolled, by the wheel over the names.
pub(super) fn scroll(ui: &Ui, area: Rect, names_end: f32, hidden: f32) -> f32 {
    let id = scrolled_id();
    let hidden = hidden.max(0.0);
    let mut by = ui.data(|data| data.get_temp::<f32>(id)).unwrap_or(0.0);
    let names = Rect::from_x_y_ranges(area.left()..=names_end, area.y_range());
    if hidden > 0.0 && ui.rect_contains_pointer(names) {
        by -= ui.input(egui::InputState::smooth_scroll_delta).y;
    }
    by = by.clamp(0.0, hidden);
    ui.data_mut(|data| data.insert_temp(id, by));
    if hidden > 0.0 {
        // The scroll position, as a thin bar at the left edge.
        let part = area.height() / (area.height() + hidden);
        let top = area.top() + (area.height() * (1.0 - part)) * by / hidden;
        let bar = Rect::from_min_size(Pos2::new(area.left(), top), vec2(3.0, area.height() * part));
        ui.painter().rect_filled(bar, 1.5, ui.visuals().weak_text_color().gamma_multiply(0.6));
    }
    by
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lanes_are_drawn_and_each_can_be_scrolled_to() {
        let heights = [46.0, 46.0, 38.0, 46.0, 46.0];
        assert_eq!(whole(&heights, 230.0, 0.0), 0..5, "all fit");
        assert_eq!(whole(&heights, 120.0, 0.0), 0..2, "no half one");
        assert_eq!(whole(&heights, 120.0, 30.0), 1..3);
        let hidden = heights.iter().sum::<f32>() - 120.0;
        assert_eq!(whole(&heights, 120.0, hidden), 3..5, "the last ones at the end");
        assert_eq!(whole(&heights, 20.0, 0.0), 0..1, "one, however low it is");
        assert_eq!(whole(&[], 120.0, 0.0), 0..0);
    }
}
