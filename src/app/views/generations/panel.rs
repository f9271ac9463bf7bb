//! The table of generations, a bar for each.

use eframe::egui::{self, RichText, Sense, Ui, pos2, vec2};

use super::{Generations, Left};
use crate::app::commands::{Command, DocCommand};
use crate::app::filters::Predicate;
use crate::app::panels::list::{self, List, ListColumn};
use crate::app::theme;
use crate::app::views::Around;
use crate::format;

const COLUMNS: [ListColumn; 5] = [
    column("Function", "The function that wanted the memory: the innermost one that is not the allocator's", 320.0, false),
    column("Repeats", "In how many generations it allocated something that is still there at the end", 84.0, true),
    column("Left behind", "Bytes that were allocated in any of the generations and are still there", 100.0, true),
    column("Count", "Allocations that are still there", 70.0, true),
    column("By generation", "What each generation has left behind, the first on the left", 300.0, false),
];

const fn column(title: &'static str, hint: &'static str, width: f32, is_number: bool) -> ListColumn {
    ListColumn { title, hint, width, is_number }
}

/// Parts into which a button cuts what is in sight.
const PARTS: usize = 8;

pub fn tools(view: &mut Generations, around: &mut Around<'_>, ui: &mut Ui) {
    view.layer.show(around, ui);
    let hint = "Set marks that cut the view into eight generations of the same length";
    if ui.button("Cut evenly").on_hover_text(hint).clicked() {
        around.commands.doc(DocCommand::MarkEvenly(PARTS));
    }
    let any = !around.document.marks.is_empty();
    if ui.add_enabled(any, egui::Button::new("Remove marks")).on_hover_text("Take all marks away").clicked() {
        around.commands.doc(DocCommand::ClearMarks);
    }
}

pub fn show(view: &mut Generations, around: &mut Around<'_>, ui: &mut Ui) {
    if around.document.marks.is_empty() {
        ui.centered_and_justified(|ui| {
            ui.label(
                "Mark the moments between repetitions of the same work: M with the pointer on the graph, or while recording. \
                 What each repetition leaves behind is listed here; what leaves something every time leaks.",
            )
        });
        return;
    }
    let Some(left) = &view.left else {
        around.wait(ui);
        return;
    };
    if left.groups.is_empty() {
        ui.centered_and_justified(|ui| ui.label("Nothing that was allocated in these generations is still there at the end."));
        return;
    }
    list::show(ui, "generations", &COLUMNS, left.groups.len(), &mut Lines { left, around });
}

struct Lines<'a, 'b> {
    left: &'a Left,
    around: &'a mut Around<'b>,
}

impl Lines<'_, '_> {
    fn name(&self, row: usize) -> Option<String> {
        let function = self.left.groups.get(row)?.function?;
        Some(self.left.functions.name(function).to_string())
    }

    fn bars(&self, ui: &mut Ui, row: usize) {
        let Some(group) = self.left.groups.get(row) else { return };
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width().min(320.0), 16.0), Sense::hover());
        let most = group.left.iter().map(|left| left.size).max().unwrap_or(0).max(1) as f32;
        let width = rect.width() / group.left.len() as f32;
        let color = theme::series(0, ui.visuals());
        for (i, left) in group.left.iter().enumerate() {
            let height = (left.size as f32 / most * rect.height()).max(if left.count > 0 { 2.0 } else { 0.0 });
            let start = rect.left() + i as f32 * width;
            let bar = egui::Rect::from_min_max(
                pos2(start + 1.0, rect.bottom() - height),
                pos2(start + (width - 1.0).max(2.0), rect.bottom()),
            );
            ui.painter().rect_filled(bar, 1.0, color);
        }
        response.on_hover_ui(|ui| {
            let clock = self.around.document.trace.clock;
            for (edges, left) in self.left.asked.edges.windows(2).zip(&group.left) {
                let [from, to] = [edges[0], edges[1]].map(|t| clock.seconds(t));
                let (size, count) = (format::bytes(left.size), format::count(left.count));
                ui.label(format!("{from:.3} s to {to:.3} s: {size}, count {count}"));
            }
        });
    }
}

impl List for Lines<'_, '_> {
    fn text(&self, row: usize, column: usize) -> String {
        let Some(group) = self.left.groups.get(row) else { return String::new() };
        match column {
            0 => self.name(row).unwrap_or_else(|| "(no stack recorded)".to_owned()),
            1 => format!("{} of {}", group.repeats, group.left.len()),
            2 => format::bytes(group.all.size),
            3 => format::count(group.all.count),
            _ => group.left.iter().map(|left| format::bytes(left.size)).collect::<Vec<_>>().join("; "),
        }
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: usize) {
        if column == 4 {
            self.bars(ui, row);
            return;
        }
        let mut text = RichText::new(self.text(row, column));
        if column == 0 {
            text = text.monospace().size(12.0);
        }
        let is_each = self.left.groups.get(row).is_some_and(|group| group.repeats == group.left.len() && group.repeats > 1);
        if column == 1 && is_each {
            text = text.color(theme::growth(ui.visuals()));
        }
        ui.add(egui::Label::new(text).truncate());
    }

    fn is_selected(&self, _: usize) -> bool {
        false
    }

    fn clicked(&mut self, _: usize) {}

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let Some(name) = self.name(row) else { return };
        self.around.offer_filters(ui, "this function", Predicate::Function(name.as_str().into()));
        self.around.offer_rules(ui, &name);
    }

    fn copy(&mut self, text: String) {
        self.around.commands.push(Command::Copy(text));
    }
}
