//! The main graph: outstanding size over time, in lanes with a scale each or together on one scale. A
//! drag selects, the wheel zooms, Ctrl+click sets pins; the cursor shows the values of all lines.
//!
//! The lines come from the query worker with at most a few points per pixel, so that a frame costs the
//! same for any trace.

mod axes;
mod cursor;
mod difference;
mod flags;
mod happenings;
mod keys;
mod lanes;
mod marks;
mod menu;
mod names;
mod selection;
mod together;
mod wheel;

use eframe::egui::{self, PointerButton, Pos2, Rect, Ui};
use egui_plot::{AxisHints, Plot, PlotBounds, PlotPoint, PlotTransform};

use super::counters::Scales;
use super::line;
use super::losses;
use crate::app::answers::LayerOf;
use crate::app::commands::keys::{MARK, is_pressed};
use crate::app::commands::{Commands, DocCommand};
use crate::app::context::PanelContext;
use crate::app::document::Document;
use crate::app::graph::{Arrangement, Graph, GraphLine, LineOf, Split};
use crate::app::happenings::Happening;
use crate::app::picture::{self, Subject};
use crate::app::state::ids::Stop;
use crate::app::theme;
use crate::query::Finding;
use crate::query::Series;
use crate::units::{Interval, Ticks};
pub use axes::bytes_mark;
pub use flags::{edges as mark_edges, one_mark};
pub use keys::take as take_keys;
use lanes::Lanes;
pub use names::{line_name, name_of, short_label};

/// Points at the top of the graph for the icons of the time axis.
const MARKS: f32 = 20.0;
/// Points for the numbers beside the lines, if these share one scale.
const SCALE: f32 = 62.0;
/// Points at its bottom for the lifetimes of the selected line.
const LIVES: f32 = 6.0;

/// The id under which the graph's last place is kept, so that the overview is aligned with it.
pub fn frame_id() -> egui::Id {
    egui::Id::unique("graph frame")
}

/// Name of the graph for screen readers.
pub const NAME: &str = "Outstanding size over time";

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let Some(document) = context.document else { return };
    // A multiple of 100, so that resizing by a pixel does not cause a new query. One bin for two points
    // of the screen shows the ups and downs as well as one for each.
    context.drawn.bins = Some((((ui.available_width() / 2.0) as usize).div_ceil(100) * 100).clamp(200, 1000));
    let lanes = Lanes::of(document);
    let scales = Scales::of(document);
    let outer = ui.available_rect_before_wrap();
    let frame = picture::Frame::begin(ui, Subject::Graph);
    let (response, transform) = plot(document, lanes.as_ref(), scales, ui);
    let findings = context.views.iter().flat_map(|views| views.findings(document)).collect();
    let canvas = Canvas { document, findings, transform, scales };
    ui.data_mut(|data| data.insert_temp(frame_id(), canvas.frame()));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, NAME));
    let commands = &mut context.commands;
    canvas.paint_ground(ui);
    let cursor = cursor::at(&canvas, &response, ui);
    let rows = lanes.map(|lanes| lanes.show(&canvas, outer, cursor, ui, commands));
    if rows.is_none() {
        together::paint(&canvas, ui);
        together::legend(&canvas, outer, cursor, ui, commands);
    }
    if document.answers.graph.is_some() && canvas.is_empty() {
        canvas.say_nothing(ui);
    }
    canvas.paint_lives(ui);
    selection::paint(&canvas, ui);
    flags::show(&canvas, rows.is_some().then_some(outer), ui, commands);
    marks::show(&canvas, rows.as_deref(), ui, commands);
    difference::paint_pins(&canvas, ui);
    canvas.interact(ui, &response, rows.as_deref(), cursor, commands);
    selection::chip(&canvas, ui, commands);
    frame.end(ui, outer);
}

/// Draws the axes; returns the plot's response and its transform to the screen.
fn plot(document: &Document, lanes: Option<&Lanes>, scales: Scales, ui: &mut Ui) -> (egui::Response, PlotTransform) {
    let seconds = |t: Ticks| document.trace.clock.seconds(t);
    let view = (seconds(document.view().from), seconds(document.view().to).max(seconds(document.view().from) + 1e-9));
    // A label takes up to 80 points.
    let labels = f64::from(ui.available_width() / 90.0).clamp(2.0, 12.0);
    let is_scaled = lanes.is_none();
    let at_the_left = match lanes {
        Some(_) => vec![AxisHints::new_y().label("").min_thickness(Lanes::heading(ui)).formatter(|_, _| String::new())],
        None => scales.axes(Lanes::heading(ui), ui.visuals().weak_text_color()),
    };
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
        .x_grid_spacer(move |input| axes::seconds_grid(input.bounds, labels))
        .y_grid_spacer(move |input| if is_scaled { axes::binary_grid(input.bounds) } else { Vec::new() })
        .x_axis_formatter(axes::seconds_mark)
        .custom_y_axes(at_the_left)
        .label_formatter(|_| None);
    let shown = plot.show(ui, |plot| plot.set_plot_bounds(PlotBounds::from_min_max([view.0, 0.0], [view.1, scales.top])));
    (shown.response, shown.transform)
}

/// The graph's place on the screen, and its contents.
struct Canvas<'a> {
    document: &'a Document,
    /// The findings in the filtered rows, as far as they are known.
    findings: Vec<&'a Finding>,
    transform: PlotTransform,
    scales: Scales,
}

/// A line's points for drawing, and its data.
struct Drawn<'a> {
    points: &'a [PlotPoint],
    line: &'a Series,
}

impl<'a> Canvas<'a> {
    fn graph(&self) -> Option<&'a Graph> {
        self.document.answers.graph.as_ref()
    }

    /// A line of the graph or of a counter, if its answer has arrived.
    fn drawn(&self, of: &LineOf) -> Option<Drawn<'a>> {
        match of {
            LineOf::Counter(id) => {
                let line = self.document.counters.lines().iter().find(|line| line.id == *id)?;
                Some(Drawn { points: &line.points, line: &line.line })
            }
            of => self.graph()?.line(of).map(|line| Drawn { points: &line.points, line: &line.line }),
        }
    }

    /// Whether there is nothing to draw.
    fn is_empty(&self) -> bool {
        let has_lines = self.graph().is_some_and(|graph| !graph.lines.is_empty());
        !has_lines && self.document.counters.lines().is_empty()
    }

    fn x_of(&self, t: Ticks) -> f32 {
        self.x_of_seconds(self.document.trace.clock.seconds(t))
    }

    fn x_of_seconds(&self, seconds: f64) -> f32 {
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

    /// The area of the lines: between the icons of the axis and the lifetimes.
    fn lines(&self) -> Rect {
        let frame = self.frame();
        let strip = if self.document.draws(Happening::Marks) { flags::STRIP } else { 0.0 };
        let top = frame.top() + MARKS + strip;
        Rect::from_x_y_ranges(frame.x_range(), top..=(frame.bottom() - LIVES - 2.0).max(top))
    }

    /// The visible part of an interval.
    fn rect_of(&self, interval: Interval) -> Rect {
        let frame = self.frame();
        let (left, right) = (self.x_of(interval.from).max(frame.left()), self.x_of(interval.to).min(frame.right()));
        Rect::from_x_y_ranges(left..=right.max(left + 1.0), frame.y_range())
    }

    /// The corners of a line in `area`, whose top represents `top` bytes.
    fn corners(&self, points: &[PlotPoint], area: Rect, top: f64) -> Vec<Pos2> {
        let y = |value: f64| area.bottom() - (area.height() * (value / top) as f32).min(area.height() + 1.0);
        line::visible(points.iter().map(|point| Pos2::new(self.x_of_seconds(point.x), y(point.y))))
    }

    fn paint_ground(&self, ui: &Ui) {
        let painter = ui.painter().with_clip_rect(self.frame());
        losses::paint(self.document, self.frame(), |t| self.x_of(t), ui, &painter);
    }

    /// Says why nothing is drawn.
    fn say_nothing(&self, ui: &Ui) {
        let document = self.document;
        let text = if !document.is_settled() {
            "Loading\u{2026}"
        } else if document.trace.complete && document.trace.rows.is_empty() {
            "Nothing to draw: the trace holds no allocations."
        } else {
            "No line is switched on: the list of sources has a switch for each."
        };
        let (at, color) = (self.frame().center(), ui.visuals().weak_text_color());
        ui.painter().text(at, egui::Align2::CENTER_CENTER, text, egui::FontId::proportional(14.0), color);
    }

    /// The lifetimes of the table's selected line, as a band under the lines.
    fn paint_lives(&self, ui: &Ui) {
        let Some(lives) = &self.document.answers.lives else { return };
        let (frame, color) = (self.frame(), theme::highlight(ui.visuals()));
        let painter = ui.painter().with_clip_rect(frame);
        for span in &lives.spans {
            let rect = self.rect_of(*span);
            let band = Rect::from_x_y_ranges(rect.x_range(), frame.bottom() - LIVES..=frame.bottom());
            painter.rect_filled(band, 0.0, color);
        }
    }

    /// The outstanding size of the table's selected line.
    fn selected_line(&self, is_wanted: impl Fn(LayerOf) -> bool) -> Option<&'a GraphLine> {
        let (of, line) = self.document.answers.lives.as_ref()?.line.as_ref()?;
        is_wanted(*of).then_some(line)
    }

    fn interact(
        &self,
        ui: &Ui,
        response: &egui::Response,
        rows: Option<&[lanes::Row]>,
        cursor: Option<Ticks>,
        commands: &mut Commands,
    ) {
        selection::drag(self, ui, response, commands);
        if response.dragged_by(PointerButton::Middle) {
            wheel::pan(self, -response.drag_delta().x, commands);
        }
        keys::press(self, ui, response, commands);
        let pointer =
            response.hover_pos().or(response.interact_pointer_pos()).filter(|_| response.hovered() || response.dragged());
        let pointer = pointer.filter(|_| !picture::is_taken_of(ui.ctx(), Subject::Graph));
        let at = pointer.map(|pointer| self.time_at(pointer.x));
        // Whether the pointer is on the graph or has moved on into the menu.
        response.context_menu(|ui| menu::show(self, ui, at, commands));
        let Some((pointer, at)) = pointer.zip(at) else {
            cursor::paint(self, ui, cursor);
            return;
        };
        let frame = happenings::frame_at(self, rows, pointer).map(|bar| bar.longest);
        if frame.is_some() && !response.dragged() {
            ui.set_cursor_icon(egui::CursorIcon::PointingHand);
        }
        match frame {
            Some(frame) if response.double_clicked() => commands.doc(DocCommand::ZoomInto(frame.interval)),
            None if response.double_clicked() => commands.doc(DocCommand::ZoomToSelection),
            _ if response.clicked() && ui.input(|i| i.modifiers.command) => commands.doc(DocCommand::Pin(at)),
            Some(frame) if response.clicked() => commands.doc(DocCommand::StepTo(Stop::Frame(frame.number))),
            _ => {}
        }
        let is_typing = ui.ctx().egui_wants_keyboard_input() && !response.has_focus();
        if !is_typing && is_pressed(ui.ctx(), MARK) {
            commands.doc(DocCommand::Mark(Some(at)));
        }
        wheel::turn(self, ui, at, commands);
        cursor::paint(self, ui, cursor);
        if !response.context_menu_opened() {
            cursor::tell(self, ui, response, rows, pointer);
        }
    }
}

/// Whether each line has its own scale.
fn has_lanes(document: &Document) -> bool {
    document.arrangement() == Arrangement::Lanes && !matches!(document.graph_split(), Split::Stack(_))
}
