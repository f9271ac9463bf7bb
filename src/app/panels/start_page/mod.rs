//! The window without a trace: ways to open one, questions it can answer, and recent traces.

mod recent;

use eframe::egui::{self, CornerRadius, FontId, Rect, RichText, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::command_table::why_not_record;
use super::context::PanelContext;
use crate::app::base::theme;
use crate::app::commands::{Command, Commands, LoadCommand, RecordCommand, keys};
use crate::app::state::walk::{Walk, Walking};
use crate::load::Input;

/// Maximum width in points.
const WIDTH: f32 = 940.0;

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    if context.loading.is_some() && context.scope_choice.is_none() {
        loading(context, ui);
        return;
    }
    let width = WIDTH.min(ui.available_width() - 48.0);
    let top = (ui.available_height() * 0.07).clamp(10.0, 64.0);
    egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.add_space(top);
        ui.horizontal(|ui| {
            ui.add_space(((ui.available_width() - width) / 2.0).max(0.0));
            ui.vertical(|ui| {
                ui.set_width(width);
                contents(context, ui);
                ui.add_space(16.0);
            });
        });
    });
}

fn contents(context: &mut PanelContext<'_>, ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.label(RichText::new("highwater").size(30.0).strong());
        ui.add_space(6.0);
        ui.label(RichText::new("Where did the memory go?").size(17.0).weak());
    });
    ui.add_space(12.0);
    ways_in(context, ui);
    ui.add_space(22.0);
    heading("Learn with the demo trace", ui);
    ui.weak("Three short tours. In a trace of your own, start with the tab Findings.");
    ui.add_space(4.0);
    questions(context.commands, ui);
    recent::show(context, ui);
}

fn heading(text: &str, ui: &mut Ui) {
    ui.label(RichText::new(text).size(15.0).strong());
    ui.add_space(4.0);
}

/// The area for dropping files, with buttons for opening them in other ways.
fn ways_in(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let is_over = ui.input(|i| !i.raw.hovered_files.is_empty());
    let is_narrow = ui.available_width() < 640.0;
    let size = vec2(ui.available_width(), if is_narrow { 132.0 } else { 104.0 });
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, "Drop a trace here"));
    area(rect, is_over, ui);
    let inner = rect.shrink2(vec2(22.0, 14.0));
    let (texts, buttons) = if is_narrow {
        inner.split_top_bottom_at_y(inner.top() + 58.0)
    } else {
        inner.split_left_right_at_x(inner.right() - 424.0)
    };
    let words = egui::UiBuilder::new().max_rect(texts).layout(egui::Layout::top_down(egui::Align::Min));
    let words = &mut ui.new_child(words);
    words.add_space(if is_narrow { 0.0 } else { (texts.height() - 46.0) / 2.0 });
    let title = if is_over { "Let go to open" } else { "Drop a trace here" };
    words.label(RichText::new(title).size(17.0).strong());
    let what = ".etl, also in a .zip or .diagsession. Several files of one recording open together.";
    words.add(egui::Label::new(RichText::new(what).weak()).wrap());
    let align = if is_narrow {
        egui::Layout::left_to_right(egui::Align::Center)
    } else {
        egui::Layout::right_to_left(egui::Align::Center)
    };
    let buttons = &mut ui.new_child(egui::UiBuilder::new().max_rect(buttons).layout(align));
    let mut all = [way_open as fn(&mut PanelContext<'_>, &mut Ui), way_record, way_demo];
    if !is_narrow {
        all.reverse(); // they are laid out from the right
    }
    all.into_iter().for_each(|way| way(context, buttons));
}

/// The drop area: a dashed frame, which is highlighted while files are dragged over the window.
fn area(rect: Rect, is_over: bool, ui: &Ui) {
    let visuals = ui.visuals();
    let accent = theme::series(0, visuals);
    let fill = if is_over { accent.gamma_multiply(0.22) } else { visuals.faint_bg_color };
    ui.painter().rect_filled(rect, 8.0, fill);
    let line = if is_over { Stroke::new(2.0, accent) } else { Stroke::new(1.5, visuals.widgets.noninteractive.bg_stroke.color) };
    if is_over {
        ui.painter().rect_stroke(rect, 8.0, line, egui::StrokeKind::Inside);
        return;
    }
    let r = rect.shrink(1.0);
    let corners = [r.left_top(), r.right_top(), r.right_bottom(), r.left_bottom(), r.left_top()];
    ui.painter().extend(Shape::dashed_line(&corners, line, 7.0, 5.0));
}

fn way_open(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let text = RichText::new("Open\u{2026}").size(16.0).color(ui.visuals().strong_text_color());
    let button = egui::Button::new(text).min_size(vec2(132.0, 38.0)).fill(ui.visuals().selection.bg_fill);
    context.commands.on_click(&ui.add(button).on_hover_text(keys::first(keys::OPEN)), Command::OpenDialog);
}

fn way_record(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let can_record = context.recorder.is_some() && !context.is_recording();
    let record = ui.add_enabled_ui(can_record, |ui| big_button(ui, "Record\u{2026}")).inner;
    let record = record.on_hover_text(keys::hint("Watch a running program", keys::RECORD));
    context.commands.on_click(&record.on_disabled_hover_text(why_not_record(context)), RecordCommand::Show(true));
}

fn way_demo(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let button = big_button(ui, "Demo trace").on_hover_text("A program with a step, ten spikes and a leak");
    context.commands.on_click(&button, Command::Open(vec![Input::Demo]));
}

fn big_button(ui: &mut Ui, text: &str) -> egui::Response {
    ui.add(egui::Button::new(RichText::new(text).size(16.0)).min_size(vec2(132.0, 38.0)))
}

/// A card for each walk through the demo.
fn questions(commands: &mut Commands, ui: &mut Ui) {
    let gap = 10.0;
    let width = (ui.available_width() - 2.0 * gap) / 3.0;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = gap;
        for walk in Walk::ALL {
            commands.on_click(&card(walk, vec2(width, 112.0), ui), Command::Walk(Some(Walking { walk, at: 0 })));
        }
    });
}

fn card(walk: Walk, size: egui::Vec2, ui: &mut Ui) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("Walk: {}", walk.name())));
    let visuals = ui.visuals();
    let is_lit = response.hovered() || response.has_focus();
    let line = if is_lit { visuals.widgets.hovered.fg_stroke.color } else { visuals.widgets.noninteractive.bg_stroke.color };
    let fill = if is_lit { visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.6) } else { visuals.faint_bg_color };
    ui.painter().rect(rect, CornerRadius::same(6), fill, Stroke::new(1.0, line), egui::StrokeKind::Inside);
    let inner = rect.shrink(12.0);
    let (picture, words) = inner.split_top_bottom_at_y(inner.top() + 34.0);
    shape_of(walk, picture.with_max_x(picture.left() + 110.0), ui);
    let title = ui.painter().layout_no_wrap(walk.name().to_owned(), FontId::proportional(15.0), visuals.strong_text_color());
    let at = pos2(words.left(), words.top() + 4.0);
    let below = at + vec2(0.0, title.size().y + 1.0);
    ui.painter().galley(at, title, visuals.text_color());
    let mut job = egui::text::LayoutJob::simple(
        walk.question().to_owned(),
        FontId::proportional(12.5),
        visuals.weak_text_color(),
        words.width(),
    );
    job.wrap.max_rows = 2;
    let question = ui.painter().layout_job(job);
    ui.painter().galley(below, question, visuals.weak_text_color());
    response.on_hover_text("A tour of the demo trace, step by step")
}

/// A sketch of the graph that the walk is about.
fn shape_of(walk: Walk, rect: Rect, ui: &Ui) {
    let (line, color): (&[(f32, f32)], _) = match walk {
        Walk::Growth => (&[(0.0, 0.3), (0.45, 0.3), (0.45, 0.85), (1.0, 0.85)], theme::series(1, ui.visuals())),
        Walk::Spike => (
            &[
                (0.0, 0.2),
                (0.2, 0.2),
                (0.2, 0.95),
                (0.25, 0.95),
                (0.25, 0.2),
                (0.6, 0.2),
                (0.6, 0.95),
                (0.65, 0.95),
                (0.65, 0.2),
                (1.0, 0.2),
            ],
            theme::series(4, ui.visuals()),
        ),
        Walk::Leak => (&[(0.0, 0.05), (0.3, 0.3), (0.55, 0.5), (0.8, 0.72), (1.0, 0.9)], theme::series(3, ui.visuals())),
    };
    let points = line.iter().map(|&(x, y)| pos2(rect.left() + rect.width() * x, rect.bottom() - rect.height() * y)).collect();
    let floor = ui.visuals().widgets.noninteractive.bg_stroke;
    ui.painter().hline(rect.x_range(), rect.bottom(), floor);
    ui.painter().add(Shape::line(points, Stroke::new(2.0, color)));
}

fn loading(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let Some(job) = context.loading else { return };
    let names: Vec<String> = job.inputs.iter().map(Input::name).collect();
    let progress = job.progress();
    ui.vertical_centered(|ui| {
        ui.add_space(ui.available_height() * 0.3);
        ui.label(RichText::new(format!("Loading {}", names.join(", "))).size(16.0));
        ui.add_space(10.0);
        ui.add(egui::ProgressBar::new(progress).desired_width(320.0).show_percentage());
        ui.add_space(10.0);
        context.commands.on_click(&ui.button("Cancel"), LoadCommand::Cancel);
    });
}
