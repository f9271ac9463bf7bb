//! The main graph: outstanding size over time, in lanes with a scale each or together on one scale. A
//! drag selects, the wheel zooms, Ctrl+click sets pins; the cursor shows the values of all lines.
//!
//! The lines come from the query worker with at most a few points per pixel, so that a frame costs the
//! same for any trace.

pub mod axes;
mod canvas;
mod commit;
mod cursor;
mod difference;
mod faults;
mod flags;
mod gpu;
mod keys;
mod lanes;
mod marks;
mod menu;
mod names;
mod notes;
pub mod overlays;
mod selection;
mod system_memory;
mod together;
mod values;
mod wheel;

use std::cell::Cell;

use eframe::egui::{self, PointerButton, Ui};
use egui_plot::{AxisHints, Plot, PlotBounds, PlotTransform};

use super::context::PanelContext;
use super::counters::Scales;
use crate::app::commands::keys::{MARK, NOTE, is_pressed};
use crate::app::commands::{Command, Commands, DocCommand};
use crate::app::document::Document;
use crate::app::services::picture::{self, Subject};
use crate::app::state::ids::Stop;
use crate::units::Ticks;
use canvas::Canvas;
pub use canvas::frame_id;
pub use keys::take as take_keys;
use lanes::Lanes;
pub use names::{name_of, short_label};
pub use notes::edit as edit_note;

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
    let canvas = Canvas { document, findings, transform, scales, has_tooltip: Cell::new(false) };
    let before = ui.data_mut(|data| {
        let before = data.get_temp(frame_id());
        data.insert_temp(frame_id(), canvas.frame());
        before
    });
    if before != Some(canvas.frame()) {
        ui.ctx().request_repaint(); // the overview, which is drawn before the graph, is aligned with it
    }
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, NAME));
    let commands = &mut context.commands;
    canvas.paint_ground(ui);
    let cursor = cursor::at(&canvas, &response, ui);
    let followed = cursor.filter(|_| document.follows_cursor());
    if followed != document.moment {
        commands.push(DocCommand::ShowMoment(followed));
    }
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
    difference::paint_pins(&canvas, rows.is_some(), ui);
    notes::show(&canvas, ui, commands);
    interact(&canvas, ui, &response, rows.as_deref(), cursor, commands);
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
        None => scales.axes(together::width(document, Lanes::heading(ui), ui), ui.visuals().weak_text_color()),
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

/// Handles the pointer and the keys over the graph.
fn interact(
    canvas: &Canvas<'_>,
    ui: &Ui,
    response: &egui::Response,
    rows: Option<&[lanes::Row]>,
    cursor: Option<Ticks>,
    commands: &mut Commands,
) {
    selection::drag(canvas, ui, response, commands);
    if response.dragged_by(PointerButton::Middle) {
        wheel::pan(canvas, -response.drag_delta().x, commands);
    }
    keys::press(canvas, ui, response, commands);
    let pointer = response.hover_pos().or(response.interact_pointer_pos()).filter(|_| response.hovered() || response.dragged());
    let pointer = pointer.filter(|_| !picture::is_taken_of(ui.ctx(), Subject::Graph));
    let at = pointer.map(|pointer| canvas.time_at(pointer.x));
    // Whether the pointer is on the graph or has moved on into the menu.
    response.context_menu(|ui| menu::show(canvas, ui, at, commands));
    let Some((pointer, at)) = pointer.zip(at) else {
        cursor::paint(canvas, ui, cursor);
        return;
    };
    let frame = overlays::frame_at(canvas, rows, pointer).map(|bar| bar.longest);
    if frame.is_some() && !response.dragged() {
        ui.set_cursor_icon(egui::CursorIcon::PointingHand);
    }
    match frame {
        Some(frame) if response.double_clicked() => commands.push(DocCommand::ZoomInto(frame.interval)),
        None if response.double_clicked() => commands.push(DocCommand::ZoomToSelection),
        _ if response.clicked() && ui.input(|i| i.modifiers.command) => commands.push(DocCommand::Pin(at)),
        Some(frame) if response.clicked() => commands.push(DocCommand::StepTo(Stop::Frame(frame.number))),
        _ => {}
    }
    let is_typing = ui.ctx().egui_wants_keyboard_input() && !response.has_focus();
    if !is_typing && is_pressed(ui.ctx(), NOTE) {
        commands.push(Command::EditNote(Some(at)));
    }
    if !is_typing && is_pressed(ui.ctx(), MARK) {
        commands.push(DocCommand::Mark(Some(at)));
    }
    wheel::turn(canvas, ui, at, commands);
    cursor::paint(canvas, ui, cursor);
    if !response.context_menu_opened() && !canvas.has_tooltip.get() {
        cursor::tell(canvas, ui, response, rows, pointer);
    }
}
