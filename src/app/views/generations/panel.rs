//! The table of generations, with a bar for each of them.

use std::borrow::Borrow;
use std::sync::Arc;

use eframe::egui::{self, Sense, Ui, pos2, vec2};

use super::{Generations, Left};
use crate::app::base::table::{FlatTable, TableSource, TypedColumn};
use crate::app::base::theme;
use crate::app::commands::DocCommand;
use crate::app::jobs::drop_aside;
use crate::app::state::filters::Predicate;
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::centered::centered;
use crate::app::widgets::list::{self, ColumnOf, List, ListColumn, NO_STACK, Name, Share, Style, Value, widest};
use crate::app::widgets::mark_menu::edges;
use crate::format;
use crate::query::GenerationGroup;
use crate::units::Layer;

/// Cells that show more than their value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Special {
    Repeats,
    LeftBehind,
    ByGeneration,
}

/// Number of generations into which the button cuts the view.
const PARTS: usize = 8;

impl Pane for Generations {
    fn forget(&mut self) {
        drop_aside(self.left.take());
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        if context.document.marks().is_empty() {
            centered(
                ui,
                "Mark the moments between repetitions of the same work: M with the pointer on the graph, or while recording. \
                     What each repetition leaves behind is listed here. A place that leaves memory behind every time leaks.",
            );
            return;
        }
        let Some(left) = &self.left else {
            context.wait(ui);
            return;
        };
        if left.groups.is_empty() {
            context.nothing(ui, "Nothing that was allocated in these generations is still there at the end.");
            return;
        }
        let pushed = list::show(ui, "generations", left, &mut Lines { left, searched: &self.search, context });
        context.commands.append(pushed);
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(Arc::clone(self.left.as_ref()?) as Arc<dyn TableSource>)
    }

    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        self.layer.show(context, ui);
        let hint = "Divide the view into eight generations of equal length";
        context.commands.on_click(&ui.button("Cut evenly").on_hover_text(hint), DocCommand::MarkEvenly(PARTS));
        let (edges, are_all) = edges(context.document, context.document.interval());
        if !edges.is_empty() {
            let hint = match are_all {
                true => "Use the marks of the trace as generation boundaries",
                false => "Too many marks in the interval for generations",
            };
            let button = ui.add_enabled(are_all, egui::Button::new("At the trace's marks"));
            context.commands.on_click(&button.on_hover_text(hint).on_disabled_hover_text(hint), DocCommand::MarkAll(edges));
        }
        let any = !context.document.marks().is_empty();
        let button = ui.add_enabled(any, egui::Button::new("Remove marks")).on_hover_text("Remove all your marks");
        context.commands.on_click(&button, DocCommand::ClearMarks);
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.search)
    }

    fn search(&mut self, text: String) {
        self.search = text;
    }

    fn layer(&self) -> Option<Layer> {
        self.layer.own()
    }

    fn set_layer(&mut self, layer: Option<Layer>) {
        self.layer = layer.into();
    }
}

struct Lines<'a, 'b> {
    left: &'a Arc<Left>,
    searched: &'a str,
    context: &'a mut ViewContext<'b>,
}

impl Left {
    fn name(&self, group: &GenerationGroup) -> Option<String> {
        Some(self.functions.name(group.function?).to_string())
    }
}

impl FlatTable for Left {
    const TITLE: &'static str = "Generations";
    type Line = GenerationGroup;
    type Key = Special;
    const COLUMNS: &'static [TypedColumn<Self, GenerationGroup, Special>] = &[
        ListColumn::rest("Function", "The function that wanted the memory: the innermost one that is not the allocator's")
            .of(|left, group| Value::Text(left.name(group).unwrap_or_else(|| NO_STACK.to_owned()))),
        ListColumn::number("Repeats", "Number of generations that left something behind", "100 of 100")
            .by(Special::Repeats, |_, group| Value::Text(format!("{} of {}", group.repeats, group.left.len()))),
        ListColumn::number(
            "Left behind",
            "Bytes that were allocated in any of the generations and are still there",
            widest::BYTES,
        )
        .by(Special::LeftBehind, |_, group| Value::Bytes(group.all.size)),
        ListColumn::number("Count", "Allocations that are still there", widest::COUNT)
            .of(|_, group| Value::Count(group.all.count)),
        ListColumn::text("By generation", "What each generation has left behind, the first on the left", 260.0)
            .by(Special::ByGeneration, |_, group| {
                Value::Text(group.left.iter().map(|left| format::bytes(left.size)).collect::<Vec<_>>().join("; "))
            }),
    ];

    fn len(&self) -> usize {
        self.groups.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<GenerationGroup>> {
        self.groups.get(row)
    }
}

impl Lines<'_, '_> {
    fn bars(&self, ui: &mut Ui, group: &GenerationGroup) {
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
            let clock = self.context.document.trace.clock;
            for (edges, left) in self.left.asked.edges.windows(2).zip(&group.left) {
                let [from, to] = [edges[0], edges[1]].map(|t| clock.seconds(t));
                let (size, count) = (format::bytes(left.size), format::count(left.count));
                ui.label(format!("{from:.3} s to {to:.3} s: {size}, count {count}"));
            }
        });
    }
}

impl List<Left> for Lines<'_, '_> {
    fn share(&self, row: usize, _: ColumnOf<Left>) -> Option<Share> {
        Share::of(self.left.groups.get(row)?.all.size, self.left.whole, "all that was left behind")
    }

    fn has_bars(&self, column: ColumnOf<Left>) -> bool {
        column.key == Some(Special::LeftBehind)
    }

    fn name<'n>(&'n self, row: usize, text: &'n str) -> Name<'n> {
        let has_stack = self.left.groups.get(row).is_some_and(|group| group.function.is_some());
        Name { text, style: if has_stack { Style::Frame } else { Style::Weak }, searched: self.searched }
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: ColumnOf<Left>, value: &Value) {
        let Some(group) = self.left.groups.get(row) else { return };
        if column.key == Some(Special::ByGeneration) {
            return self.bars(ui, group);
        }
        // Highlights functions that leave something in every generation.
        if column.key == Some(Special::Repeats) && group.repeats == group.left.len() && group.repeats > 1 {
            ui.visuals_mut().override_text_color = Some(theme::growth(ui.visuals()));
        }
        list::plain(self, ui, row, column, value);
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let Some(name) = self.left.groups.get(row).and_then(|group| self.left.name(group)) else { return };
        self.context.offer_filters(ui, "this function", Predicate::Function(name.as_str().into()));
        self.context.offer_rules(ui, &name);
    }
}
