//! The recent traces: one line each, with picture, length, peak and the time of opening.

use eframe::egui::{self, CornerRadius, FontId, Rect, RichText, Sense, Ui, WidgetInfo, pos2, vec2};

use crate::app::base::theme;
use crate::app::commands::Command;
use crate::app::panels::context::PanelContext;
use crate::app::services::recent::{Picture, RecentTrace};
use crate::app::widgets::icons::shortened;
use crate::app::widgets::line as shape;
use crate::format;

const HEIGHT: f32 = 54.0;

/// Size of a picture in points.
const PICTURE: egui::Vec2 = vec2(112.0, 34.0);

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let PanelContext { recents, commands, .. } = context;
    if recents.list().is_empty() {
        return;
    }
    ui.add_space(22.0);
    ui.horizontal(|ui| {
        ui.label(RichText::new("Recent").size(15.0).strong());
        commands.on_click(&ui.small_button("Clear").on_hover_text("Forget the recent traces"), Command::ForgetRecent);
    });
    ui.add_space(2.0);
    ui.spacing_mut().item_spacing.y = 4.0;
    for trace in recents.list() {
        let (is_opened, is_forgotten) = line(trace, recents.is_missing(trace), ui);
        if is_forgotten {
            commands.push(Command::ForgetOneRecent(trace.files.clone()));
        } else if is_opened {
            commands.push(Command::Open(trace.inputs()));
        }
    }
}

/// A trace; returns whether to open it, and whether to forget it.
fn line(trace: &RecentTrace, is_missing: bool, ui: &mut Ui) -> (bool, bool) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::click());
    let name = trace.name();
    response.widget_info(|| {
        let info = WidgetInfo::labeled(egui::Role::Button, true, format!("Open recent {name}"));
        let told = |picture: &Picture| match picture.of.is_empty() {
            true => numbers(picture),
            false => format!("{}, {}", numbers(picture), picture.of),
        };
        let told = trace.picture.as_ref().map(told);
        WidgetInfo { current_text_value: told, ..info }
    });
    if ui.is_rect_visible(rect) {
        ground(rect, response.has_focus() || ui.rect_contains_pointer(rect), ui);
    }
    let cross = cross(rect, &name, ui);
    if ui.is_rect_visible(rect) {
        paint(trace, &name, is_missing, rect.with_max_x(cross.rect.left() - 10.0), ui);
    }
    let all = trace.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join("\n");
    let response = response.on_hover_text(if is_missing { format!("{all}\nSome of its files are missing") } else { all });
    (response.clicked(), cross.clicked())
}

fn cross(line: Rect, name: &str, ui: &mut Ui) -> egui::Response {
    let rect = Rect::from_center_size(pos2(line.right() - 20.0, line.center().y), vec2(24.0, 24.0));
    let mut place = ui.new_child(egui::UiBuilder::new().max_rect(rect));
    let cross = egui::Button::new(RichText::new("\u{d7}").size(16.0)).frame(false);
    let cross = place.add_sized(rect.size(), cross).on_hover_text("Remove it from this list; the file stays");
    cross.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("Forget recent {name}")));
    cross
}

fn ground(rect: Rect, is_lit: bool, ui: &Ui) {
    let visuals = ui.visuals();
    let fill = if is_lit { visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.6) } else { visuals.faint_bg_color };
    ui.painter().rect_filled(rect, CornerRadius::same(5), fill);
}

fn paint(trace: &RecentTrace, name: &str, is_missing: bool, rect: Rect, ui: &Ui) {
    let visuals = ui.visuals();
    let (weak, strong) = (visuals.weak_text_color(), visuals.strong_text_color());
    let picture = Rect::from_min_size(pos2(rect.left() + 10.0, rect.center().y - PICTURE.y / 2.0), PICTURE);
    draw(trace.picture.as_ref(), is_missing, picture, ui);
    let (upper, lower) = (rect.center().y - 10.0, rect.center().y + 10.0);
    // The name keeps some room to the left of the numbers.
    let room = (rect.right() - picture.right()) * 0.6;
    let right = |text: &str, y: f32, color: egui::Color32| {
        let galley = shortened(ui.painter(), text, FontId::proportional(12.5), color, room);
        let left = rect.right() - galley.size().x;
        ui.painter().galley(pos2(left, y - galley.size().y / 2.0), galley, color);
        left
    };
    let text = if is_missing { weak } else { visuals.text_color() };
    let above = right(&trace.picture.as_ref().map(numbers).unwrap_or_default(), upper, text);
    let when = if is_missing { Some("missing".to_owned()) } else { trace.opened() };
    let whose = trace.picture.as_ref().map(|picture| picture.of.clone()).filter(|of| !of.is_empty());
    let below: Vec<String> = whose.into_iter().chain(when).collect();
    let below = right(&below.join("  \u{b7}  "), lower, weak);
    let left = picture.right() + 14.0;
    let words = |text: &str, y: f32, size: f32, color, until: f32| {
        let mut job = egui::text::LayoutJob::simple_singleline(text.to_owned(), FontId::proportional(size), color);
        job.wrap = egui::text::TextWrapping::truncate_at_width((until - left - 16.0).max(0.0));
        let galley = ui.painter().layout_job(job);
        ui.painter().galley(pos2(left, y - galley.size().y / 2.0), galley, color);
    };
    words(name, upper, 15.0, if is_missing { weak } else { strong }, above);
    words(&trace.folder(), lower, 12.5, weak, below);
}

/// A trace's length and the peak of the line in its picture, if that line has a name.
fn numbers(picture: &Picture) -> String {
    match picture.of.is_empty() {
        true => length(picture.seconds),
        false => format!("{}  \u{b7}  peak {}", length(picture.seconds), format::bytes(picture.peak)),
    }
}

/// A length in seconds or a larger unit, rounded to useful precision.
fn length(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Draws the picture: the line with the largest peak.
fn draw(picture: Option<&Picture>, is_missing: bool, rect: Rect, ui: &Ui) {
    let visuals = ui.visuals();
    ui.painter().rect_filled(rect, 3.0, visuals.extreme_bg_color);
    let Some(picture) = picture.filter(|picture| picture.values.len() > 1) else { return };
    let color = if is_missing { visuals.weak_text_color() } else { theme::series(0, visuals) };
    let area = rect.shrink2(vec2(3.0, 4.0));
    let step = area.width() / (picture.values.len() - 1) as f32;
    let at =
        |(i, value): (usize, &u8)| pos2(area.left() + step * i as f32, area.bottom() - area.height() * f32::from(*value) / 255.0);
    let points: Vec<egui::Pos2> = picture.values.iter().enumerate().map(at).collect();
    ui.painter().add(shape::fill(&points, area, color.gamma_multiply(0.25)));
    ui.painter().add(shape::stroke(points, 1.3, color));
}
