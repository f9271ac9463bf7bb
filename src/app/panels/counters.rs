//! Counters on the graph and in the list of sources: thin lines, with a scale of their own if that of
//! the heaps does not suit them.
//!
//! The second scale is a power of two times the first, so that both share the grid lines and both have
//! round numbers of bytes.

use eframe::egui::{self, Align2, FontId, Pos2, Rect, Sense, Shape, Stroke, Ui};
use egui_plot::{AxisHints, GridMark, HPlacement, PlotPoint, PlotTransform};

use super::timeline::axes::bytes_mark;
use crate::app::base::theme;
use crate::app::commands::{Commands, DocCommand};
use crate::app::document::Document;
use crate::app::state::counters::CounterLine;
use crate::app::state::graph::{Graph, LineOf};
use crate::app::widgets::icons::shortened;
use crate::model::{CounterId, CounterOwner};
use crate::query::{HEIGHT, Series, counter_at, counter_label, counter_owner, counter_text, reported_range};
use crate::units::Ticks;

/// The graph's vertical scales.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scales {
    /// Upper end of the graph, in bytes of the heaps' scale.
    pub top: f64,
    /// Bytes of a counter per byte of the heaps' scale; a power of two.
    pub counter_factor: f64,
}

impl Scales {
    /// Scales with some space above the highest lines. Counters have a scale of their own only if they
    /// would not fit the heaps' scale, or lie at its bottom.
    pub fn of(document: &Document) -> Self {
        let peak = document.answers.graph.as_ref().map_or(0, Graph::peak);
        let sizes = document.counters.lines().iter().filter(|line| !is_reported(document, line.id));
        let counters = sizes.map(|line| line.line.peak).max().unwrap_or(0);
        Self::new(peak, counters)
    }

    fn new(peak: u64, counters: u64) -> Self {
        const AIR: f64 = 1.08;
        const LOWEST: f64 = 1.0 / 8.0;
        let top = |peak: u64| (peak as f64 * AIR).max(1024.0);
        if peak == 0 {
            return Self { top: top(counters), counter_factor: 1.0 };
        }
        let share = counters as f64 * AIR / top(peak);
        let counter_factor = if counters == 0 || (LOWEST..=1.0).contains(&share) { 1.0 } else { share.log2().ceil().exp2() };
        Self { top: top(peak), counter_factor }
    }

    /// The divisor of a counter's values on the heaps' scale. Numbers that a program reported have no axis: the largest is near the
    /// top.
    pub fn factor(self, document: &Document, id: CounterId) -> f64 {
        const PART: f64 = 0.9;
        if is_reported(document, id) { HEIGHT as f64 / (self.top * PART) } else { self.counter_factor }
    }

    /// The axes: the heaps' at the left, this many points wide; and the counters' at the right, if it is a different one.
    pub fn axes(self, left: f32, color: egui::Color32) -> Vec<AxisHints<'static>> {
        let left = AxisHints::new_y().label("").min_thickness(left).formatter(|mark, _| bytes_mark(mark.value));
        let mut axes = vec![left];
        if self.counter_factor != 1.0 {
            let mark = move |mark: GridMark, _: &std::ops::RangeInclusive<f64>| bytes_mark(mark.value * self.counter_factor);
            let right = AxisHints::new_y().label("").min_thickness(62.0).placement(HPlacement::Right);
            axes.push(right.formatter(mark).tick_label_color(color));
        }
        axes
    }
}

/// Colour of a counter.
fn color(document: &Document, id: CounterId, visuals: &egui::Visuals) -> egui::Color32 {
    theme::line(document.color_of(&LineOf::Counter(id)), visuals)
}

/// Draws the lines.
pub fn paint(document: &Document, scales: Scales, transform: &PlotTransform, ui: &Ui, painter: &egui::Painter) {
    for line in document.counters.lines().iter().filter(|line| line.points.len() > 1) {
        let factor = scales.factor(document, line.id);
        let at = |point: &PlotPoint| transform.position_from_point(&PlotPoint::new(point.x, point.y / factor));
        let points: Vec<Pos2> = line.points.iter().map(at).collect();
        painter.add(Shape::line(points, Stroke::new(1.0, color(document, line.id, ui.visuals()))));
    }
    if scales.counter_factor != 1.0 {
        let at = transform.frame().right_top() + egui::vec2(-4.0, 2.0);
        let color = ui.visuals().weak_text_color();
        painter.text(at, Align2::RIGHT_TOP, "Counters: right scale", FontId::proportional(11.5), color);
    }
}

/// The heights of the counters' lines at a moment, where they are known.
pub fn heights(document: &Document, at: Ticks) -> impl Iterator<Item = (CounterId, u64)> {
    let known = move |line: &Series| line.is_known_at(at).then(|| line.value_at(at));
    document.counters.lines().iter().filter_map(move |CounterLine { id, line, .. }| Some((*id, known(line)?)))
}

/// Whether a counter's line is the height of numbers that a program reported.
pub fn is_reported(document: &Document, id: CounterId) -> bool {
    document.trace.counters.get(id.0 as usize).is_some_and(|counter| !counter.kind.is_of_bytes())
}

/// The number of a reported counter at a moment; `None` for counters of bytes, whose lines have their values.
pub fn text_at(document: &Document, id: CounterId, at: Ticks) -> Option<String> {
    let counter = document.trace.counters.get(id.0 as usize).filter(|counter| !counter.kind.is_of_bytes())?;
    counter_at(counter, at).map(|value| counter_text(counter, value))
}

/// The smallest and largest number of a reported counter; `None` for counters of bytes.
pub fn range(document: &Document, id: CounterId) -> Option<(f32, f32)> {
    let counter = document.trace.counters.get(id.0 as usize).filter(|counter| !counter.kind.is_of_bytes())?;
    Some(reported_range(counter))
}

/// A counter's name with its owner's.
pub fn name(document: &Document, id: CounterId) -> String {
    let trace = &document.trace;
    let Some(counter) = trace.counters.get(id.0 as usize) else { return String::new() };
    match counter.owner {
        CounterOwner::System => counter_label(counter),
        _ => format!("{}: {}", counter_owner(trace, counter), counter_label(counter)),
    }
}

/// A counter's row in the list: switch, name, and largest value.
pub fn source(document: &Document, id: CounterId, rect: Rect, ui: &mut Ui, commands: &mut Commands) {
    let Some(counter) = document.trace.counters.get(id.0 as usize) else { return };
    let shown = document.counters.is_shown(id);
    let response = ui.interact(rect, ui.scope_id().with(("counter", id)), Sense::click());
    let full = name(document, id);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, shown, format!("Counter {full}")));
    let visuals = ui.visuals();
    if response.hovered() {
        ui.painter().rect_filled(rect, 3.0, visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.5));
    }
    let color = color(document, id, visuals);
    let swatch = Rect::from_min_size(rect.left_top() + egui::vec2(28.0, 5.0), egui::vec2(10.0, 10.0));
    if shown {
        ui.painter().rect_filled(swatch, 3.0, color);
    } else {
        ui.painter().rect_stroke(swatch, 3.0, Stroke::new(1.5, color), egui::StrokeKind::Inside);
    }
    let painter = ui.painter().with_clip_rect(rect);
    let peak = counter_text(counter, counter.peak);
    let at = Pos2::new(rect.right() - 4.0, rect.top() + 2.0);
    let peak = painter.text(at, Align2::RIGHT_TOP, peak, FontId::proportional(11.5), visuals.weak_text_color());
    let at = Pos2::new(swatch.right() + 6.0, rect.top() + 2.0);
    // Small enough for the handles that heaps have.
    let (font, color) = (FontId::proportional(12.0), visuals.text_color());
    painter.galley(at, shortened(&painter, &counter_label(counter), font, color, peak.left() - 4.0 - at.x), color);
    commands.on_click(&response, DocCommand::ShowLine(LineOf::Counter(id), !shown));
    response.on_hover_text(format!("{full}. Right: its largest value. Click to show or hide its line"));
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn counters_that_fit_share_the_scale_of_the_heaps() {
        for counters in [0, 2 * MB, 8 * MB] {
            assert_eq!(Scales::new(8 * MB, counters).counter_factor, 1.0);
        }
        let alone = Scales::new(0, 8 * MB);
        assert_eq!((alone.top, alone.counter_factor), (8.0 * MB as f64 * 1.08, 1.0));
    }

    #[test]
    fn others_get_one_that_they_fill_by_half_at_least() {
        for counters in [1, 4096, MB / 2, 9 * MB, 17 * MB, 1 << 40] {
            let Scales { top, counter_factor } = Scales::new(8 * MB, counters);
            assert_eq!(counter_factor.log2().fract(), 0.0, "the grid lines stay round");
            let height = counters as f64 / counter_factor / top;
            assert!((0.46..=1.0).contains(&height), "{counters}: {height}");
        }
    }
}
