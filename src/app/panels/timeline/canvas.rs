//! The graph's place on the screen: where a moment and a size lie, and what is drawn behind and below the lines.

use std::cell::Cell;

use eframe::egui::{self, Color32, Pos2, Rect, Ui};
use egui_plot::{PlotPoint, PlotTransform};

use crate::app::base::theme;
use crate::app::document::Document;
use crate::app::panels::counters::Scales;
use crate::app::state::answers::LayerOf;
use crate::app::state::graph::{Graph, GraphLine, LineOf};
use crate::app::state::overlay::Overlay;
use crate::app::widgets::{line, losses};
use crate::query::{Finding, Series};
use crate::units::{Interval, Ticks};

/// Points at its bottom for the lifetimes of the selected line.
pub const LIVES: f32 = 6.0;

/// Height of the strip in points.
pub const STRIP: f32 = 19.0;

/// Points at the top of the graph for the icons of the time axis.
pub const MARKS: f32 = 20.0;

/// Points for the numbers beside the lines, if these share one scale.
pub const SCALE: f32 = 62.0;

/// The id under which the graph's last place is kept, so that the overview is aligned with it.
pub fn frame_id() -> egui::Id {
    egui::Id::unique("graph frame")
}

/// The graph's place on the screen, and its contents.
pub struct Canvas<'a> {
    pub document: &'a Document,
    /// The findings in the filtered rows, as far as they are known.
    pub findings: Vec<&'a Finding>,
    pub transform: PlotTransform,
    pub scales: Scales,
    /// Whether the pointer is over an icon that has a tooltip of its own, in place of that of the cursor.
    pub has_tooltip: Cell<bool>,
}

/// A line's points for drawing, and its data.
pub struct Drawn<'a> {
    pub points: &'a [PlotPoint],
    pub line: &'a Series,
}

impl<'a> Canvas<'a> {
    pub fn graph(&self) -> Option<&'a Graph> {
        self.document.answers.graph.as_ref()
    }

    /// A line of the graph or of a counter, if its answer has arrived.
    pub fn drawn(&self, of: &LineOf) -> Option<Drawn<'a>> {
        match of {
            LineOf::Counter(id) => {
                let line = self.document.counters.lines().iter().find(|line| line.id == *id)?;
                Some(Drawn { points: &line.points, line: &line.line })
            }
            of => self.graph()?.line(of).map(|line| Drawn { points: &line.points, line: &line.line }),
        }
    }

    /// Takes note of an icon with a tooltip of its own.
    pub fn note_icon(&self, icon: &egui::Response) {
        self.has_tooltip.set(self.has_tooltip.get() || icon.contains_pointer());
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        let has_lines = self.graph().is_some_and(|graph| !graph.lines.is_empty());
        !has_lines && self.document.counters.lines().is_empty()
    }

    pub fn x_of(&self, t: Ticks) -> f32 {
        self.x_of_seconds(self.document.trace.clock.seconds(t))
    }

    pub fn x_of_seconds(&self, seconds: f64) -> f32 {
        self.transform.position_from_point(&PlotPoint::new(seconds, 0.0)).x
    }

    pub fn time_at(&self, x: f32) -> Ticks {
        let point = self.transform.value_from_position(Pos2::new(x, self.frame().center().y));
        let view = self.document.view();
        self.document.trace.clock.ticks(point.x).clamp(view.from, view.to)
    }

    pub fn frame(&self) -> Rect {
        *self.transform.frame()
    }

    /// The area of the lines: between the icons of the axis and the lifetimes.
    pub fn lines(&self) -> Rect {
        let frame = self.frame();
        let strip = if self.document.draws(Overlay::Marks) { STRIP } else { 0.0 };
        let top = frame.top() + MARKS + strip;
        Rect::from_x_y_ranges(frame.x_range(), top..=(frame.bottom() - LIVES - 2.0).max(top))
    }

    /// The visible part of an interval.
    pub fn rect_of(&self, interval: Interval) -> Rect {
        let frame = self.frame();
        let (left, right) = (self.x_of(interval.from).max(frame.left()), self.x_of(interval.to).min(frame.right()));
        Rect::from_x_y_ranges(left..=right.max(left + 1.0), frame.y_range())
    }

    /// The corners of a line in `area`, whose top represents `top` bytes.
    pub fn corners(&self, points: &[PlotPoint], area: Rect, top: f64) -> Vec<Pos2> {
        let y = |value: f64| area.bottom() - (area.height() * (value / top) as f32).min(area.height() + 1.0);
        line::visible(points.iter().map(|point| Pos2::new(self.x_of_seconds(point.x), y(point.y))))
    }

    pub fn paint_ground(&self, ui: &Ui) {
        let painter = ui.painter().with_clip_rect(self.frame());
        losses::paint(self.document, self.frame(), |t| self.x_of(t), ui, &painter);
    }

    /// Says why nothing is drawn.
    pub fn say_nothing(&self, ui: &Ui) {
        let document = self.document;
        let text = if !document.is_settled() {
            "Loading\u{2026}".to_owned()
        } else if let Some(why) = document.why_nothing() {
            why
        } else if document.trace.complete && document.trace.rows.is_empty() {
            "Nothing to draw: this trace holds no allocations.".to_owned()
        } else {
            "No line is shown. Click the eye beside a source to show its line.".to_owned()
        };
        let (area, color) = (self.frame().shrink2(egui::vec2(24.0, 4.0)), ui.visuals().weak_text_color());
        let font = egui::FontId::proportional(14.0);
        let mut job = egui::text::LayoutJob::simple(text.clone(), font, color, area.width());
        job.halign = egui::Align::Center;
        let words = ui.painter().layout_job(job);
        let top = (area.center().y - words.size().y / 2.0).max(area.top());
        let behind = Rect::from_center_size(egui::pos2(area.center().x, top + words.size().y / 2.0), words.size());
        ui.painter().with_clip_rect(area).rect_filled(behind.expand(4.0), 3.0, ui.visuals().extreme_bg_color);
        ui.painter().with_clip_rect(area).galley(Pos2::new(area.center().x, top), words, color);
        let response = ui.interact(area, ui.scope_id().with("nothing to draw"), egui::Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &text));
    }

    /// The lifetimes of the table's selected line, as a band under the lines.
    pub fn paint_lives(&self, ui: &Ui) {
        let Some(lives) = &self.document.answers.lifetime_band else { return };
        let (frame, color) = (self.frame(), theme::highlight(ui.visuals()));
        let painter = ui.painter().with_clip_rect(frame);
        for span in &lives.spans {
            let rect = self.rect_of(*span);
            let band = Rect::from_x_y_ranges(rect.x_range(), frame.bottom() - LIVES..=frame.bottom());
            painter.rect_filled(band, 0.0, color);
        }
    }

    /// The outstanding size of the table's selected line.
    pub fn selected_line(&self, is_wanted: impl Fn(LayerOf) -> bool) -> Option<&'a GraphLine> {
        let (of, line) = self.document.answers.lifetime_band.as_ref()?.line.as_ref()?;
        is_wanted(*of).then_some(line)
    }
}

/// The contents of a lane's heading, besides its name.
#[derive(Default)]
pub struct LaneLabel {
    pub color: Color32,
    /// Its value at the cursor, or in the view.
    pub value: Option<String>,
    /// More about the value, as a tooltip of the heading.
    pub hint: String,
    /// A number on its scale, with its position.
    pub scale: Option<(f32, String)>,
    /// The time of its peak.
    pub peak_at: Option<Ticks>,
}
