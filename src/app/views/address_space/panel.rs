//! The map with its tools.

use eframe::egui::{self, Key, Modifiers, Sense, Ui, vec2};

use super::colors::{ColorBy, Palette};
use super::draw::{self, Drawing, LINE, Measures};
use super::hover::{self, Did, Spot};
use super::lines::Lines;
use super::zoom::Direction;
use super::{AddressSpaceMap, Mapped, Zoom};
use crate::app::jobs::drop_aside;
use crate::app::state::filters::Filters;
use crate::app::state::view_choices::ViewChoices;
use crate::app::views::rows::details;
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::drop_down::drop_down;
use crate::format;
use crate::model::{ProcessId, RowId};
use crate::query::KeyMap;

impl Pane for AddressSpaceMap {
    fn forget(&mut self) {
        self.lines = None;
        drop_aside(self.mapped.take());
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        if self.mapped.is_none() {
            match self.process_in(context.document).is_none() && context.document.is_settled() {
                true => context.nothing(ui, "No process has allocated memory."),
                false => context.wait(ui),
            }
            return;
        }
        if let Some(row) = self.selected {
            self.details(row, context, ui);
        }
        self.map(context, ui);
    }

    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        self.processes(context, ui);
        ui.weak("Colour by:");
        drop_down(ui, "address space colours", 140.0, self.color_by.label()).show_ui(ui, |ui| {
            for by in ColorBy::ALL {
                if ui.selectable_label(by == self.color_by, by.label()).on_hover_text(by.hint()).clicked() {
                    self.color_by = by;
                    context.ask();
                }
            }
        });
        let hint = "Show the moment of the graph's cursor while it is there; else, and without this, the end of the interval";
        if ui.selectable_label(!self.keeps_to_end, "Follow cursor").on_hover_text(hint).clicked() {
            self.keeps_to_end = !self.keeps_to_end;
            context.ask();
        }
        self.way(context, ui);
    }

    fn follows_cursor(&self) -> bool {
        !self.keeps_to_end
    }

    fn keys(&mut self, context: &mut ViewContext<'_>, ctx: &egui::Context) {
        let pressed = |key| ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        let middle = self.mapped.as_ref().and_then(|mapped| mapped.map.cells.get(mapped.map.cells.len() / 2));
        let middle = middle.map_or(0, |cell| cell.number.saturating_mul(self.cell()));
        if pressed(Key::Plus) || pressed(Key::Equals) {
            self.step(Direction::In, middle, context);
        } else if pressed(Key::Minus) {
            self.step(Direction::Out, middle, context);
        }
    }

    fn has_selected(&self) -> bool {
        self.selected.is_some()
    }

    fn unselect(&mut self) {
        self.selected = None;
    }

    fn add_choices(&self, choices: &mut ViewChoices) {
        choices.grouping = (self.color_by != ColorBy::default()).then(|| self.color_by.key().to_owned());
    }

    fn take_choices(&mut self, choices: &ViewChoices) {
        let of = |key: &String| ColorBy::ALL.into_iter().find(|by| by.key() == key);
        self.color_by = choices.grouping.as_ref().and_then(of).unwrap_or_default();
    }

    fn filtered(&mut self, _: &Filters) {
        self.menu = None;
    }

    fn renumber(&mut self, map: &KeyMap) {
        self.process = self.process.and_then(|process| map.process(process));
        (self.selected, self.menu) = (None, None);
    }
}

impl AddressSpaceMap {
    fn cell(&self) -> u64 {
        self.mapped.as_ref().map_or(1, |mapped| mapped.map.cell)
    }

    fn step(&mut self, direction: Direction, address: u64, context: &mut ViewContext<'_>) {
        let Some(mapped) = &self.mapped else { return };
        // A step follows from what is on the screen, so the next one waits for the answer.
        let is_current = mapped.range == self.zoom.range();
        if is_current && self.zoom.step(direction, &mapped.map, address) {
            context.ask();
        }
    }

    /// Draws the choice of a process; its name if the filter or the trace leave no choice.
    fn processes(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let document = context.document;
        let Some(now) = self.process_in(document) else { return };
        let label = |process: ProcessId| document.trace.process(process).label_with_id();
        let mut all: Vec<ProcessId> = document.lanes().iter().map(|lane| lane.of.0).chain([now]).collect();
        all.sort_unstable_by_key(|process| process.0);
        all.dedup();
        if all.len() < 2 || document.process_of_filter().is_some() {
            ui.weak(label(now));
            return;
        }
        let mut chosen = None;
        drop_down(ui, "address space process", 200.0, label(now)).show_ui(ui, |ui| {
            for process in all {
                if ui.selectable_label(process == now, label(process)).clicked() {
                    chosen = Some(process);
                }
            }
        });
        if let Some(process) = chosen.filter(|process| *process != now) {
            self.process = Some(process);
            (self.zoom, self.selected) = (Zoom::default(), None);
            context.ask();
        }
    }

    /// Draws the way from the whole process to the range in view.
    fn way(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let count = self.zoom.way().len();
        if count == 0 {
            return;
        }
        let mut to = None;
        if ui.button("Out").on_hover_text("Show the larger range (-, or Ctrl+wheel)").clicked() {
            to = Some(count - 1);
        }
        if ui.link("Whole process").clicked() {
            to = Some(0);
        }
        for (i, (first, last)) in self.zoom.way().iter().enumerate() {
            ui.weak("\u{203a}");
            let text = format!("{first:#x}, {}", format::bytes((last - first).saturating_add(1)));
            if i + 1 == count {
                ui.label(text);
            } else if ui.link(text).clicked() {
                to = Some(i + 1);
            }
        }
        if to.is_some_and(|to| self.zoom.back_to(to)) {
            context.ask();
        }
    }

    /// Draws the details of the selected block beside the map.
    fn details(&self, row: RowId, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let Some(mapped) = &self.mapped else { return };
        let width = (ui.available_width() * 0.36).max(220.0);
        egui::Panel::right("block").resizable(true).default_size(width).show(ui, |ui| {
            egui::ScrollArea::both().auto_shrink(false).show(ui, |ui| {
                details::show(ui, (&mapped.kept.trace, &mapped.names), row, context.commands);
            });
        });
    }

    fn map(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let Some(mapped) = &self.mapped else { return };
        if mapped.map.cells.is_empty() {
            let text = match self.zoom.way().is_empty() {
                true => "Nothing was committed or alive at this moment.",
                false => "Nothing was committed or alive in this range at this moment.",
            };
            context.nothing(ui, text);
            return;
        }
        let palette = Palette::of(mapped, context.document);
        ui.label(mapped.summary());
        draw::legend(mapped, &palette, ui);
        ui.add_space(2.0);
        let measures = Measures::of(ui.available_width() - ui.spacing().scroll.allocated_width());
        let lines = match self.lines.take() {
            Some(lines) if lines.columns == measures.columns => lines,
            _ => Lines::of(&mapped.map, measures.columns),
        };
        let aim = self.zoom.aim.filter(|_| mapped.range == self.zoom.range());
        let aim = aim.map(|address| lines.with(&mapped.map, address));
        if aim.is_some() {
            self.zoom.aim = None;
        }
        let did = self.scrolled((&lines, &palette, measures), aim, context, ui);
        self.lines = Some(lines);
        match did {
            Some(Did::Zoom(range)) => {
                self.zoom.enter(range);
                context.ask();
            }
            Some(Did::Select(row)) => self.selected = if self.selected == Some(row) { None } else { Some(row) },
            Some(Did::Step(direction, address)) => self.step(direction, address, context),
            Some(Did::Filter(what)) => hover::filter(what, context),
            None => {}
        }
    }

    /// Draws the lines in view, `aim` in the middle of them.
    fn scrolled(
        &mut self,
        (lines, palette, measures): (&Lines, &Palette, Measures),
        aim: Option<usize>,
        context: &mut ViewContext<'_>,
        ui: &mut Ui,
    ) -> Option<Did> {
        let mut area = egui::ScrollArea::vertical().auto_shrink(false);
        if let Some(aim) = aim {
            area = area.vertical_scroll_offset((aim as f32 * LINE - ui.available_height() / 2.0).max(0.0));
        }
        area.show_viewport(ui, |ui, view| {
            let size = vec2(ui.available_width(), lines.all.len() as f32 * LINE);
            let (rect, response) = ui.allocate_exact_size(size, Sense::click());
            let mapped = self.mapped.as_ref()?;
            let label = format!("Address space of {}", mapped.process());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, label.clone()));
            let painter = ui.painter_at(ui.clip_rect());
            let visuals = ui.visuals().clone();
            let selected = self.selected;
            let drawing =
                Drawing { mapped, lines, palette, measures, corner: rect.min, visuals: &visuals, painter: &painter, selected };
            let first = (view.top() / LINE).floor().max(0.0) as usize;
            drawing.lines(first..((view.bottom() / LINE).ceil() as usize).min(lines.all.len()));
            let spot = response.hover_pos().and_then(|point| Spot::at(mapped, lines, measures, rect.min, point));
            if let Some(spot) = spot {
                drawing.pointed(&spot);
                response.clone().on_hover_ui_at_pointer(|ui| spot.tell(mapped, ui));
            }
            let mut did = spot.filter(|_| response.clicked()).and_then(|spot| spot.click(mapped));
            // The menu is about the place that was pointed at when it was opened.
            if !response.context_menu_opened() {
                self.menu = spot;
            }
            let menu = self.menu;
            response.context_menu(|ui| did = menu.and_then(|spot| spot.menu(mapped, context, ui)).or(did.take()));
            let direction = spot.and_then(|_| self.zoom.turn(ui.input(egui::InputState::zoom_delta)));
            direction.zip(spot).map(|(direction, spot)| Did::Step(direction, spot.address)).or(did)
        })
        .inner
    }
}

impl Mapped {
    /// The process, as it is labelled.
    fn process(&self) -> String {
        self.kept.trace.process(self.kept.process).label_with_id()
    }

    /// The numbers of the whole address space, and the size of a cell.
    fn summary(&self) -> String {
        let clock = &self.kept.trace.clock;
        let at = self.kept.at.clamp(self.kept.trace.span.from, self.kept.trace.span.to);
        let whole = &self.whole;
        let known = |bytes: u64, what: &str| if bytes > 0 { format!(", {} {what}", format::bytes(bytes)) } else { String::new() };
        let cut = if self.map.cut_at.is_some() { "; more follows: zoom or filter" } else { "" };
        format!(
            "At {:.3} s: {} live in {} blocks{}{}. A cell is {}{cut}.",
            clock.seconds(at),
            format::bytes(whole.live),
            format::count(whole.blocks),
            known(whole.committed, "committed"),
            known(whole.reserved, "reserved"),
            format::bytes(self.map.cell),
        )
    }
}
