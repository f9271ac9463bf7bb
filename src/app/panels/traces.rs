//! The tabs of the open traces, at the right of the menus; only the name if there is one trace.

use eframe::egui::{self, Align, Layout, PointerButton, Role, Ui, WidgetInfo};

use super::context::PanelContext;
use crate::app::commands::Command;
use crate::app::workspace::open_traces::TraceTab;

/// Maximum width of a name in points.
const WIDEST: f32 = 220.0;

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let tabs = context.trace_tabs();
    if tabs.len() < 2 {
        if let Some(document) = context.document {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.add(egui::Label::new(egui::RichText::new(document.name()).weak()).truncate());
            });
        }
        return;
    }
    ui.separator();
    let width = (ui.available_width() / tabs.len() as f32 - 34.0).clamp(48.0, WIDEST);
    egui::ScrollArea::horizontal().show(ui, |ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        for (at, tab) in tabs.into_iter().enumerate() {
            let command = one(&tab, at, width, ui);
            command.into_iter().for_each(|command| context.commands.push(command));
        }
    });
}

fn one(tab: &TraceTab, at: usize, width: f32, ui: &mut Ui) -> Option<Command> {
    let fill = if tab.is_in_front { ui.visuals().widgets.inactive.bg_fill } else { egui::Color32::TRANSPARENT };
    let frame = egui::Frame::new().fill(fill).corner_radius(4).inner_margin(egui::Margin::symmetric(6, 2));
    let inside = frame.show(ui, |ui| {
        let color = if tab.is_in_front { ui.visuals().strong_text_color() } else { ui.visuals().weak_text_color() };
        let text = egui::RichText::new(&tab.name).color(color);
        let label = ui.scope(|ui| {
            ui.set_max_width(width);
            ui.add(
                egui::Label::new(text).truncate().show_tooltip_when_elided(false).selectable(false).sense(egui::Sense::click()),
            )
        });
        let label = label.inner.on_hover_text(&tab.name);
        label.widget_info(|| WidgetInfo::selected(Role::Tab, true, tab.is_in_front, format!("Trace {}", tab.name)));
        if tab.is_loading {
            ui.add(egui::Spinner::new().size(11.0));
        }
        let cross = ui.add(egui::Button::new("\u{d7}").frame(false).small()).on_hover_text("Close this trace");
        cross.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Close {}", tab.name)));
        let is_closed = cross.clicked() || label.clicked_by(PointerButton::Middle);
        match (is_closed, label.clicked()) {
            (true, _) => Some(Command::CloseTrace(at)),
            (false, true) => Some(Command::ShowTrace(at)),
            (false, false) => None,
        }
    });
    inside.inner
}
