//! The main graph: outstanding size over time, one line a heap. Drag selects,
//! the wheel zooms, Ctrl+click sets pins; the cursor reads all lines.
//!
//! The lines come from the query worker with at most a few points a pixel, so a
//! frame costs the same for any trace.

use eframe::egui::{self, Align2, Color32, FontId, PointerButton, Pos2, Rect, Stroke, Ui};
use egui_plot::{GridMark, Plot, PlotBounds, PlotPoint, PlotTransform};

use super::brush::brush;
use super::counters::{self, Scales};
use super::losses;
use crate::app::HighwaterApp;
use crate::app::commands::{Commands, DocCommand};
use crate::app::document::Document;
use crate::app::graph::{LineOf, Split};
use crate::app::theme;
use crate::format;
use crate::query::{ByClass, heap_label, layer_label};
use crate::units::{Interval, Ticks};

/// Where the last frame's graph was, so that the overview lines up with it.
pub fn frame_id() -> egui::Id {
    egui::Id::unique("graph frame")
}

pub fn show(app: &mut HighwaterApp, ui: &mut Ui) {
    let Some(document) = &mut app.document else { return };
    // Whole hundreds, so that resizing by a pixel asks for nothing new.
    document.set_bins(((ui.available_width() as usize).div_ceil(100) * 100).clamp(200, 1000));
    let document = &*document;
    let clock = document.trace.clock;
    let seconds = |t: Ticks| clock.seconds(t);
    let view = (seconds(document.view().from), seconds(document.view().to).max(seconds(document.view().from) + 1e-9));
    let scales = Scales::of(document);
    // A label takes up to 80 points.
    let labels = f64::from(ui.available_width() / 90.0).clamp(2.0, 12.0);
    let plot = Plot::new("outstanding size")
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_axis_zoom_drag(false)
        .allow_double_click_reset(false)
        .show_crosshair(false)
        .set_margin_fraction(egui::Vec2::ZERO)
        .grid_color(ui.visuals().widgets.noninteractive.bg_stroke.color)
        .grid_fade(0.0)
        .x_grid_spacer(move |input| seconds_grid(input.bounds, labels))
        .y_grid_spacer(|input| binary_grid(input.bounds))
        .x_axis_formatter(|mark, _| seconds_mark(mark))
        .custom_y_axes(scales.axes(ui.visuals().weak_text_color()))
        .label_formatter(|_| None);
    let response = plot.show(ui, |plot| plot.set_plot_bounds(PlotBounds::from_min_max([view.0, 0.0], [view.1, scales.top])));
    let graph = Graph { document, transform: response.transform, scales };
    ui.data_mut(|data| data.insert_temp(frame_id(), *response.transform.frame()));
    response.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Outstanding size over time"));
    graph.paint(ui);
    graph.interact(ui, &response.response, &mut app.commands);
}

/// Grid lines at powers of two, as people count bytes.
fn binary_grid((from, to): (f64, f64)) -> Vec<GridMark> {
    marks(from, to, ((to - from) / 5.0).max(1.0).log2().ceil().exp2())
}

/// Grid lines at 1, 2 or 5 times a power of ten, all of one weight: every label is readable.
fn seconds_grid((from, to): (f64, f64), count: f64) -> Vec<GridMark> {
    let rough = ((to - from) / count).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|&step| step >= rough * 0.999).unwrap_or(power * 10.0);
    marks(from, to, step)
}

fn marks(from: f64, to: f64, step: f64) -> Vec<GridMark> {
    let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
    (first..=last.min(first.saturating_add(100))).map(|i| GridMark { value: i as f64 * step, step_size: step }).collect()
}

/// Bytes beside a grid line.
pub fn bytes_mark(value: f64) -> String {
    let text = format::bytes(value.max(0.0) as u64);
    text.replace(".00 ", " ").replace("0 B", "0")
}

fn seconds_mark(mark: GridMark) -> String {
    let decimals = (-mark.step_size.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{:.decimals$} s", mark.value)
}

struct Graph<'a> {
    document: &'a Document,
    transform: PlotTransform,
    scales: Scales,
}

impl Graph<'_> {
    fn x_of(&self, t: Ticks) -> f32 {
        let seconds = self.document.trace.clock.seconds(t);
        self.transform.position_from_point(&PlotPoint::new(seconds, 0.0)).x
    }

    fn time_at(&self, x: f32) -> Ticks {
        let point = self.transform.value_from_position(Pos2::new(x, self.frame().center().y));
        let view = self.document.view();
        self.document.trace.clock.ticks(point.x).clamp(view.from, view.to)
    }

    fn frame(&self) -> Rect {
        *self.transform.frame()
    }

    /// The part of an interval that is on the screen.
    fn rect_of(&self, interval: Interval) -> Rect {
        let frame = self.frame();
        let (left, right) = (self.x_of(interval.from).max(frame.left()), self.x_of(interval.to).min(frame.right()));
        Rect::from_x_y_ranges(left..=right.max(left + 1.0), frame.y_range())
    }

    fn paint(&self, ui: &Ui) {
        let document = self.document;
        let painter = ui.painter().with_clip_rect(self.frame());
        let visuals = ui.visuals();
        let graph = document.answers.graph.as_ref();
        if let Some(stack) = graph.filter(|graph| graph.is_stacked()) {
            // From the top: the lower ones cover what is theirs.
            for line in stack.lines.iter().rev() {
                let color = theme::series(line.of.color(), visuals);
                self.paint_line(&painter, &line.points, color, visuals.extreme_bg_color.lerp_to_gamma(color, 0.5));
            }
        }
        losses::paint(document, self.frame(), |t| self.x_of(t), ui, &painter);
        for line in graph.filter(|graph| !graph.is_stacked()).iter().flat_map(|graph| &graph.lines) {
            let color = theme::series(line.of.color(), visuals);
            self.paint_line(&painter, &line.points, color, color.gamma_multiply(0.08));
        }
        counters::paint(document, self.scales, &self.transform, ui, &painter);
        for span in &document.answers.spans {
            painter.rect_filled(self.rect_of(*span), 0.0, theme::highlight(visuals));
        }
        if let Some(selection) = document.selection {
            let rect = self.rect_of(selection);
            painter.rect_filled(rect, 0.0, theme::selection_fill(visuals));
            let edge = Stroke::new(1.0, visuals.text_color());
            painter.vline(rect.left(), rect.y_range(), edge);
            painter.vline(rect.right(), rect.y_range(), edge);
        }
        let color = theme::mark(visuals);
        for (mark, number) in document.marks.iter().zip(1..).filter(|(mark, _)| document.view().contains(**mark)) {
            let x = self.x_of(*mark);
            painter.vline(x, self.frame().y_range(), Stroke::new(1.0, color));
            let place = Pos2::new(x + 3.0, self.frame().top() + 1.0);
            painter.text(place, Align2::LEFT_TOP, number, FontId::proportional(11.0), color);
        }
        self.paint_pins(ui, &painter);
    }

    /// A line and the area under it. The points already have the level of
    /// detail of the screen, so nothing is left out or joined here.
    fn paint_line(&self, painter: &egui::Painter, points: &[PlotPoint], color: Color32, fill: Color32) {
        let frame = self.frame();
        let points: Vec<Pos2> = points.iter().map(|point| self.transform.position_from_point(point)).collect();
        let mut area = egui::Mesh::default();
        for (i, point) in points.iter().enumerate() {
            let corner = area.vertices.len() as u32;
            area.colored_vertex(*point, fill);
            area.colored_vertex(Pos2::new(point.x, frame.bottom()), fill);
            if i > 0 && point.x > points[i - 1].x {
                area.add_triangle(corner - 2, corner - 1, corner);
                area.add_triangle(corner - 1, corner, corner + 1);
            }
        }
        painter.add(egui::Shape::mesh(area));
        painter.add(egui::Shape::line(points, Stroke::new(1.5, color)));
    }

    fn paint_pins(&self, ui: &Ui, painter: &egui::Painter) {
        let document = self.document;
        let frame = self.frame();
        let color = theme::pin(ui.visuals());
        for (pin, name) in document.pins.iter().zip(["A", "B"]) {
            let x = self.x_of(*pin);
            painter.vline(x, frame.y_range(), Stroke::new(1.5, color));
            painter.text(Pos2::new(x + 3.0, frame.bottom() - 2.0), Align2::LEFT_BOTTOM, name, FontId::proportional(13.0), color);
        }
        let [a, b] = document.pins[..] else { return };
        let Some((interval, by_heap)) = &document.answers.pins else { return };
        if *interval != Interval::new(a, b) {
            return;
        }
        let place = egui::Area::new(egui::Id::unique("pin difference")).fixed_pos(frame.left_top() + egui::vec2(8.0, 6.0));
        place.show(ui.ctx(), |ui| {
            let paper = egui::Frame::popup(ui.style()).multiply_with_opacity(0.85).shadow(egui::Shadow::NONE);
            paper.show(ui, |ui| difference(ui, document, *interval, by_heap));
        });
    }

    fn interact(&self, ui: &Ui, response: &egui::Response, commands: &mut Commands) {
        let document = self.document;
        let pointer =
            response.hover_pos().or(response.interact_pointer_pos()).filter(|_| response.hovered() || response.dragged());
        if let Some(brush) = brush(ui, response) {
            let selection = Interval::new(self.time_at(brush.from), self.time_at(brush.to));
            if document.selection != Some(selection) {
                commands.doc(DocCommand::Select(Some(selection)));
            }
        }
        if response.dragged_by(PointerButton::Middle) {
            self.pan(-response.drag_delta().x, commands);
        }
        let Some(pointer) = pointer else { return };
        let at = self.time_at(pointer.x);
        if response.clicked() {
            let inside = document.selection.is_some_and(|s| s.contains(at));
            if ui.input(|i| i.modifiers.command) {
                commands.doc(DocCommand::Pin(at));
            } else if response.double_clicked() {
                commands.doc(DocCommand::ZoomToSelection);
            } else if document.selection.is_some() && !inside {
                commands.doc(DocCommand::Select(None));
            }
        }
        let is_typing = ui.ctx().egui_wants_keyboard_input();
        if !is_typing && ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, egui::Key::M)) {
            commands.doc(DocCommand::Mark(Some(at)));
        }
        self.wheel(ui, at, commands);
        response.context_menu(|ui| self.menu(ui, at, commands));
        if !response.context_menu_opened() {
            self.cursor(ui, response, pointer, at);
        }
    }

    fn wheel(&self, ui: &Ui, at: Ticks, commands: &mut Commands) {
        let (scroll, zoom) = ui.input(|i| (i.smooth_scroll_delta(), i.zoom_delta()));
        if scroll.x != 0.0 {
            self.pan(-scroll.x, commands);
        }
        let factor = if zoom != 1.0 { zoom } else { (scroll.y / 240.0).exp() };
        if (factor - 1.0).abs() > 1e-3 {
            let view = self.document.view();
            let part = |edge: Ticks| (edge.0.saturating_sub(at.0) as f64 / f64::from(factor)).round() as i64;
            let (from, to) = (at.0.saturating_add(part(view.from)), at.0.saturating_add(part(view.to)));
            if to - from >= 10 {
                commands.doc(DocCommand::ZoomStep(Interval { from: Ticks(from), to: Ticks(to) }));
            }
        }
    }

    /// Moves the view by some points, not beyond the trace.
    fn pan(&self, points: f32, commands: &mut Commands) {
        let (view, span) = (self.document.view(), self.document.trace.span);
        let by = (f64::from(points) / f64::from(self.frame().width().max(1.0)) * view.len() as f64) as i64;
        let by = by.clamp(span.from.0.saturating_sub(view.from.0), span.to.0.saturating_sub(view.to.0));
        if by != 0 {
            commands.doc(DocCommand::ZoomStep(Interval { from: Ticks(view.from.0 + by), to: Ticks(view.to.0 + by) }));
        }
    }

    fn menu(&self, ui: &mut Ui, at: Ticks, commands: &mut Commands) {
        // The pointer moves on into the menu; the place of the click is kept.
        let id = egui::Id::unique("graph menu time");
        let clicked = ui.input(|i| i.pointer.secondary_clicked());
        let at = match ui.data(|data| data.get_temp::<i64>(id)).filter(|_| !clicked) {
            Some(kept) => Ticks(kept),
            None => {
                ui.data_mut(|data| data.insert_temp(id, at.0));
                at
            }
        };
        let document = self.document;
        let mut item = |ui: &mut Ui, enabled, text: &str, command| {
            if ui.add_enabled(enabled, egui::Button::new(text)).clicked() {
                commands.doc(command);
            }
        };
        item(ui, document.selection.is_some(), "Zoom to selection", DocCommand::ZoomToSelection);
        item(ui, document.history.can_go_back(), "Unzoom", DocCommand::Back);
        item(ui, document.view() != document.trace.span, "Whole trace", DocCommand::ZoomOut);
        ui.separator();
        let instant = Interval { from: at.next(), to: at.next() };
        item(ui, true, "What was alive here", DocCommand::Select(Some(instant)));
        item(ui, true, "Mark this moment", DocCommand::Mark(Some(at)));
        item(ui, !document.marks.is_empty(), "Remove marks", DocCommand::ClearMarks);
        ui.separator();
        item(ui, true, "Set a pin here", DocCommand::Pin(at));
        item(ui, !document.pins.is_empty(), "Remove pins", DocCommand::ClearPins);
    }

    /// The cursor line and what all lines read there.
    fn cursor(&self, ui: &Ui, response: &egui::Response, pointer: Pos2, at: Ticks) {
        let frame = self.frame();
        if !frame.contains(pointer) || ui.input(|i| i.pointer.any_down() && !response.dragged()) {
            return;
        }
        let weak = ui.visuals().weak_text_color();
        ui.painter().with_clip_rect(frame).vline(pointer.x, frame.y_range(), Stroke::new(1.0, weak));
        let document = self.document;
        let Some(graph) = &document.answers.graph else { return };
        let reach = self.time_at(pointer.x + 3.0).0.saturating_sub(at.0).max(1);
        let lost = losses::around(document, at, reach);
        let (mut values, sum) = graph.values_at(at);
        values.sort_by_key(|&(of, value)| (std::cmp::Reverse(value), of.color()));
        let tooltip = egui::Tooltip::always_open(ui.ctx().clone(), response.layer_id, response.id, egui::PopupAnchor::Pointer);
        tooltip.gap(14.0).show(|ui| {
            ui.strong(format!("{:.6} s", document.trace.clock.seconds(at)));
            if let Some(selection) = document.selection.filter(|_| response.dragged()) {
                ui.label(format!("selected {}", format::duration(document.trace.clock.seconds(Ticks(selection.len())))));
            }
            egui::Grid::new("cursor readout").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
                if let (Some(sum), Split::Stack(layer)) = (sum, graph.split) {
                    ui.strong(layer_label(layer));
                    ui.strong(format::bytes(sum));
                    ui.end_row();
                }
                for (of, value) in values.into_iter().take(12) {
                    ui.colored_label(theme::series(of.color(), ui.visuals()), name_of(document, of));
                    ui.label(format::bytes(value));
                    ui.end_row();
                }
                for (id, name, value) in counters::readout(document, at).into_iter().take(12) {
                    ui.colored_label(counters::color(document, id, ui.visuals()), name);
                    ui.label(value.map_or_else(|| "\u{2014}".to_owned(), format::bytes));
                    ui.end_row();
                }
            });
            for line in lost {
                ui.colored_label(theme::loss(ui.visuals()), line);
            }
        });
    }
}

/// By how much each line changed between the pins, the largest change first.
fn difference(ui: &mut Ui, document: &Document, between: Interval, by_heap: &[ByClass]) {
    ui.style_mut().spacing.item_spacing.y = 1.0;
    let [a, b] = [between.from, between.to].map(|t| document.trace.clock.seconds(t));
    ui.strong(format!("A {a:.6} s to B {b:.6} s: {}", format::duration(b - a)));
    let change = |heap: usize| by_heap.get(heap).map_or(0, |sums| sums.numbers().impacting);
    let mut heaps: Vec<usize> = document.lines().iter().map(|heap| heap.0 as usize).collect();
    heaps.sort_by_key(|&heap| std::cmp::Reverse(change(heap).unsigned_abs()));
    for heap in heaps.into_iter().filter(|&heap| change(heap) != 0) {
        let text = format!("{}  {}", format::signed_bytes(change(heap)), line_name(document, heap));
        ui.colored_label(theme::series(heap, ui.visuals()), text);
    }
}

/// What a line of the graph is called.
fn name_of(document: &Document, of: &LineOf) -> String {
    match of {
        LineOf::Heap(heap) => line_name(document, heap.0 as usize),
        LineOf::Type(_, key) => format!("{} ({})", key.name, layer_label(key.layer)),
        LineOf::OtherTypes(_, layer) => format!("Other types ({})", layer_label(*layer)),
    }
}

/// A heap's name, with its process where there are several.
pub fn line_name(document: &Document, heap: usize) -> String {
    let Some(heap) = document.trace.heaps.get(heap) else { return String::new() };
    let name = heap_label(heap);
    match document.digest.has_many_processes {
        true => format!("{}: {name}", document.trace.process(heap.process).label()),
        false => name,
    }
}
