//! A list of which one is chosen, among tools that wrap.

use eframe::egui::{ComboBox, Ui};

/// Minimum width of a list in points, however little room there is.
const NARROWEST: f32 = 60.0;

/// A list of this width that shows what is chosen. It begins a row of its own where tools wrap and the row has no
/// room for it: egui does not wrap such lists by itself.
pub fn drop_down(ui: &mut Ui, id: &str, width: f32, chosen: impl Into<String>) -> ComboBox<'static> {
    let is_first = ui.cursor().left() <= ui.max_rect().left() + 1.0;
    if !is_first && ui.available_size_before_wrap().x < width {
        ui.end_row();
    }
    ComboBox::from_id_salt(id).width(width.min(ui.available_size_before_wrap().x.max(NARROWEST))).selected_text(chosen.into())
}
