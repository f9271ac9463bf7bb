//! The details of a stack frame, for tooltips and for copying.

use eframe::egui::{self, RichText, Ui};

use super::source_lines;
use crate::app::commands::Commands;
use crate::format;
use crate::query::{Recorded, SourceLine};

/// Module, function and source of a frame, line by line.
pub fn details(ui: &mut Ui, frame: &Recorded<'_>, level: u16) {
    ui.strong(frame.name(level).to_string());
    if let Some(source) = source(frame, level) {
        ui.label(source);
    }
    if level > 0 {
        let into = frame.function(level - 1).map_or_else(String::new, |outer| format!(" into {}", outer.function));
        ui.label(format!("inlined{into}"));
    }
    if let Some(method) = frame.method() {
        ui.label(&*method.signature);
        ui.label(compiled(frame.module().is_some()));
        ui.weak(format!("{} bytes at {:#x}", format::count(method.size.into()), method.start));
    }
    match (frame.module(), frame.method()) {
        (Some(module), _) => {
            ui.weak(&*module.path);
            ui.weak(format!("returns to {:#x}, module +{:#x}", frame.address(), frame.address() - module.base));
        }
        (None, Some(method)) => {
            _ = ui.weak(format!("returns to {:#x}, method +{:#x}", frame.address(), frame.address() - method.start));
        }
        (None, None) => _ = ui.weak(format!("returns to {:#x}, in no module that the trace names", frame.address())),
    }
    if frame.module().is_some() && frame.function(0).is_none() {
        ui.weak("No name yet: the tab Symbols says why");
    }
}

/// When .NET compiled a method.
fn compiled(is_in_image: bool) -> &'static str {
    if is_in_image { "compiled by .NET before the program ran" } else { "compiled by .NET while the program ran" }
}

/// A frame in one line of text.
pub fn as_text(frame: &Recorded<'_>, level: u16) -> String {
    let name = frame.name(level).to_string();
    match source(frame, level) {
        Some(source) => format!("{name}\t{source}"),
        None => name,
    }
}

/// Source file and line.
pub fn source(frame: &Recorded<'_>, level: u16) -> Option<String> {
    let function = frame.function(level)?;
    let file = function.file?;
    Some(function.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")))
}

/// A line of a stack: the frame and its place in the source, which a click opens.
pub fn line(ui: &mut Ui, frame: &Recorded<'_>, level: u16, commands: &mut Commands) {
    let name = RichText::new(frame.name(level).to_string()).monospace().size(12.0);
    ui.add(egui::Label::new(name).extend()).on_hover_ui(|ui| details(ui, frame, level));
    if let Some(source) = source(frame, level) {
        let label = egui::Label::new(RichText::new(format!("    {source}")).weak().size(11.0)).extend();
        source_lines::on_click(ui.add(label.sense(egui::Sense::click())), SourceLine::of(frame, level).as_ref(), commands);
    }
}

/// Name of the switch that shows all frames.
const SWITCH: &str = "All frames";

/// A switch that shows all frames, not only the user's own; without its name in a narrow place.
pub fn switch(ui: &mut Ui, shown: bool, is_narrow: bool) -> Option<bool> {
    let mut shown = shown;
    let hint = "Also show frames of the allocator (RtlAllocateHeap, operator new, malloc, \u{2026}) and of libraries, those that start a thread, and those that your rules hide. Without them a stack ends at your own code";
    let response = ui.add(egui::Checkbox::new(&mut shown, if is_narrow { "" } else { SWITCH }));
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, shown, SWITCH));
    response.on_hover_text(hint).clicked().then_some(shown)
}
