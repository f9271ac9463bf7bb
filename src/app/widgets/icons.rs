//! Small painted elements: icons, and texts that are shortened with a mark.

use std::sync::Arc;

use eframe::egui::{
    Color32, FontId, Galley, Painter, Pos2, Rect, Response, Role, Sense, Shape, Stroke, Ui, WidgetInfo, text, vec2,
};

/// An eye: open in a colour, or crossed out.
pub fn eye(ui: &Ui, rect: Rect, is_open: bool, color: Color32, is_lit: bool) {
    let painter = ui.painter().with_clip_rect(rect);
    let rect = rect.shrink(1.5);
    if is_lit {
        painter.rect_filled(rect.expand(1.5), 3.0, ui.visuals().widgets.hovered.weak_bg_fill);
    }
    let stroke = Stroke::new(1.3, color);
    let lid = |sign: f32| -> Vec<Pos2> {
        let point = |i: usize| {
            let part = i as f32 / 10.0;
            let bow = (part * std::f32::consts::PI).sin() * rect.height() * 0.34;
            Pos2::new(rect.left() + rect.width() * part, rect.center().y + sign * bow)
        };
        (0..=10).map(point).collect()
    };
    painter.add(Shape::line(lid(-1.0), stroke));
    painter.add(Shape::line(lid(1.0), stroke));
    match is_open {
        true => _ = painter.circle_filled(rect.center(), rect.height() * 0.21, color),
        false => {
            let corner = vec2(rect.width() * 0.38, rect.height() * 0.38);
            painter.line_segment([rect.center() - corner, rect.center() + corner], stroke);
        }
    }
}

/// A text in one line, shortened if it is too long.
pub fn shortened(painter: &Painter, words: &str, font: FontId, color: Color32, width: f32) -> Arc<Galley> {
    let mut job = text::LayoutJob::simple_singleline(words.to_owned(), font, color);
    job.wrap = text::TextWrapping::truncate_at_width(width.max(10.0));
    painter.layout_job(job)
}

/// A value in one line: if it is too long, without what is in brackets at its end.
pub fn short_value(painter: &Painter, value: &str, font: FontId, color: Color32, width: f32) -> Arc<Galley> {
    let whole = shortened(painter, value, font.clone(), color, width);
    match value.rsplit_once(" (") {
        Some((short, _)) if whole.elided => shortened(painter, short, font, color, width),
        _ => whole,
    }
}

/// Paints a text at the left of a place, shortened if it is too long.
pub fn short_text(ui: &Ui, place: Rect, words: &str, font: FontId, color: Color32) {
    let galley = shortened(ui.painter(), words, font, color, place.width());
    let at = Pos2::new(place.left(), place.center().y - galley.size().y / 2.0);
    ui.painter().with_clip_rect(place.expand2(vec2(0.0, 4.0))).galley(at, galley, color);
}

/// An icon that a button shows instead of words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Icon {
    Back,
    Forward,
    /// A magnifier.
    Zoom,
    /// A line from edge to edge.
    Whole,
    /// A crossed-out funnel.
    NoFilter,
}

impl Icon {
    /// Its lines in a unit square around the origin.
    fn lines(self) -> Vec<Vec<(f32, f32)>> {
        let arrow = |side: f32| vec![vec![(side * 0.12, -0.36), (-side * 0.24, 0.0), (side * 0.12, 0.36)]];
        match self {
            Self::Back => arrow(1.0),
            Self::Forward => arrow(-1.0),
            Self::Zoom => {
                let around = |i: i32| {
                    let angle = i as f32 * std::f32::consts::TAU / 20.0;
                    (-0.08 + 0.27 * angle.cos(), -0.08 + 0.27 * angle.sin())
                };
                let plus = [vec![(-0.21, -0.08), (0.05, -0.08)], vec![(-0.08, -0.21), (-0.08, 0.05)]];
                [(0..=20).map(around).collect(), vec![(0.12, 0.12), (0.38, 0.38)]].into_iter().chain(plus).collect()
            }
            Self::NoFilter => vec![
                vec![(0.12, 0.02), (0.12, 0.2), (-0.08, 0.36), (-0.08, 0.02), (-0.38, -0.34), (0.42, -0.34), (0.27, -0.16)],
                vec![(0.24, 0.06), (0.46, 0.28)],
                vec![(0.46, 0.06), (0.24, 0.28)],
            ],
            Self::Whole => vec![
                vec![(-0.42, -0.3), (-0.42, 0.3)],
                vec![(0.42, -0.3), (0.42, 0.3)],
                vec![(-0.3, 0.0), (0.3, 0.0)],
                vec![(-0.16, -0.14), (-0.3, 0.0), (-0.16, 0.14)],
                vec![(0.16, -0.14), (0.3, 0.0), (0.16, 0.14)],
            ],
        }
    }
}

/// A button with an icon; the name is for screen readers.
pub fn icon_button(ui: &mut Ui, is_possible: bool, icon: Icon, name: &str) -> Response {
    let button = ui.add_enabled_ui(is_possible, |ui| {
        let (rect, response) = ui.allocate_exact_size(vec2(27.0, 22.0), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Button, is_possible, name));
        let visuals = ui.style().interact(&response);
        ui.painter().rect(rect, visuals.corner_radius, visuals.weak_bg_fill, visuals.bg_stroke, eframe::egui::StrokeKind::Inside);
        let stroke = Stroke::new(1.6, visuals.fg_stroke.color);
        for line in icon.lines() {
            let points = line.into_iter().map(|(x, y)| rect.center() + vec2(x, y) * 15.0).collect();
            ui.painter().add(Shape::line(points, stroke));
        }
        response
    });
    button.inner
}
