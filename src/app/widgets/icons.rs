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

/// A value in one line. If it is too long, its last parts are left out, and no number is cut or loses its unit.
pub fn short_value(painter: &Painter, value: &str, font: FontId, color: Color32, width: f32) -> Arc<Galley> {
    let whole = shortened(painter, value, font.clone(), color, width);
    if !whole.elided {
        return whole;
    }
    let mut shorter = shorter_values(value).into_iter().map(|value| shortened(painter, &value, font.clone(), color, width));
    shorter.find(|galley| !galley.elided).unwrap_or_else(|| shortened(painter, "\u{2026}", font, color, width))
}

/// Shorter forms of a value, the longest first: two numbers without the word before them, without what is in brackets at the
/// end, without the parts after commas, then with dots in place of the last words.
fn shorter_values(value: &str) -> Vec<String> {
    let bare = value.strip_prefix("peak ").filter(|numbers| numbers.contains(", "));
    let mut forms: Vec<String> = bare.into_iter().map(str::to_owned).collect();
    let mut rest = value;
    while let Some((short, _)) = rest.rsplit_once(" (").or_else(|| rest.rsplit_once(", ")) {
        forms.push(short.to_owned());
        rest = short;
    }
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit() || "+-\u{2212}".contains(c));
    let mut words: Vec<&str> = rest.split(' ').collect();
    while words.pop().is_some() && !words.is_empty() {
        // A number without its unit would be another number.
        if !words.last().is_some_and(|word| is_number(word)) {
            forms.push(format!("{} \u{2026}", words.join(" ")));
        }
    }
    forms
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lose_whole_parts_and_no_number_its_unit() {
        let dots = "\u{2026}";
        for (value, shorter) in [
            ("peak 400 MB, 50 MB known", &["400 MB, 50 MB known", "peak 400 MB", "peak \u{2026}"][..]),
            (
                "Known: 50 MB of 400 MB (12 %)",
                &["Known: 50 MB of 400 MB", "Known: 50 MB of \u{2026}", "Known: 50 MB \u{2026}", "Known: \u{2026}"],
            ),
            ("+1.20 MB from pin 1 to 2", &["+1.20 MB from pin 1 to \u{2026}", "+1.20 MB from pin \u{2026}"]),
            ("1,234", &[]),
            ("", &[]),
        ] {
            let forms = shorter_values(value);
            let is_shorter = |wanted: &&str| forms.iter().any(|form| form == wanted);
            assert!(shorter.iter().all(is_shorter) && (shorter.is_empty() == forms.is_empty()), "{value}: {forms:?}");
            assert!(!forms.iter().any(|form| form.ends_with(&format!("400 {dots}")) || form.ends_with(&format!("20 {dots}"))));
        }
    }

    #[test]
    fn the_longest_form_that_fits_is_shown() {
        let ctx = eframe::egui::Context::default();
        let mut output = ctx.run_ui(Default::default(), |ui| {
            let font = FontId::proportional(12.5);
            let width = |text: &str| ui.painter().layout_no_wrap(text.to_owned(), font.clone(), Color32::WHITE).size().x + 0.5;
            let value = "peak 400 MB, 50 MB known";
            for (form, room) in [
                (value, value),
                ("400 MB, 50 MB known", "peak 400 MB, 50 MB know"),
                ("peak 400 MB", "400 MB, 50 MB know"),
                ("peak 400 MB", "peak 400 MB"),
                ("peak \u{2026}", "peak 400 M"),
                ("\u{2026}", "peak"),
            ] {
                let shown = short_value(ui.painter(), value, font.clone(), Color32::WHITE, width(room));
                assert_eq!((shown.text(), shown.elided), (form, false), "in the room of {room}");
            }
        });
        output.textures_delta.clear();
    }
}
