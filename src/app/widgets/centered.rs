//! A text in place of an empty view.

use eframe::egui::{Label, Ui, WidgetText};

/// Draws a text in the upper middle of what is left of a view; long ones are wrapped.
pub fn centered(ui: &mut Ui, text: impl Into<WidgetText>) {
    ui.vertical_centered(|ui| {
        ui.add_space((ui.available_height() * 0.3).min(120.0));
        ui.add(Label::new(text).wrap());
    });
}
