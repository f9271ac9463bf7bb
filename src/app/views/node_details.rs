//! The details of one node of the tree, beside its table: its numbers, its outstanding size over time, and how
//! its sizes and lifetimes are distributed.

use std::sync::{Arc, Weak};

use eframe::egui::{self, Align2, FontId, Rect, Sense, Stroke, Ui, vec2};

use super::histograms::{BucketKind, Measure, Scale, histogram_chart};
use super::view::ViewContext;
use crate::app::base::theme;
use crate::app::jobs::QueryContext;
use crate::app::widgets::columns;
use crate::app::widgets::line::{self, small_corners};
use crate::format;
use crate::model::{NodeId, Trace};
use crate::query::{CallLines, Cancelled, Details, Filter, Numbers, Path, Series, SourceLine, details, layer_of};
use crate::units::{Interval, Ticks};

/// Points of the graph of outstanding size.
const BINS: usize = 300;

/// The details of one node.
#[derive(Clone)]
pub struct NodeDetails {
    pub path: Path,
    trace: Weak<Trace>,
    interval: Interval,
    /// `None` if the node has several layers below it: they nest, so their sizes are not added.
    details: Option<Arc<Details>>,
    /// For a frame: the numbers of each source line of its function.
    lines: Option<Arc<CallLines>>,
}

impl NodeDetails {
    /// Computes the details of a node. Cost: see [`details`].
    pub fn of(path: &Path, query: &mut QueryContext<'_>) -> Result<Self, Cancelled> {
        let trace = query.trace();
        let found = match layer_of(trace, path) {
            Some(layer) => {
                let mut mask = Filter::under(path.clone()).mask(trace);
                mask.and(&query.mask);
                Some(Arc::new(details(&query.index, query.interval(), &mask, layer, BINS, query.cancel)?))
            }
            None => None,
        };
        let lines = lines(path, query)?.map(Arc::new);
        Ok(Self { path: path.clone(), trace: Arc::downgrade(trace), interval: query.interval(), details: found, lines })
    }

    /// The numbers of a line of a source file, if it belongs to the node's function.
    pub fn at_line(&self, line: &SourceLine) -> Option<&Numbers> {
        self.lines.as_ref().filter(|lines| lines.file == line.file)?.at(line.line)
    }

    /// Whether the details are about this trace.
    pub fn is_of(&self, trace: &Arc<Trace>) -> bool {
        std::ptr::eq(self.trace.as_ptr(), Arc::as_ptr(trace))
    }

    pub fn show(&self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let Some(details) = &self.details else {
            ui.weak("Layers of memory nest: select one of them.");
            return;
        };
        if self.interval.is_empty() {
            ui.label(format::sentence(&columns::in_words(&details.numbers, self.interval)));
        } else {
            self.numbers(details, context, ui);
            show_line(ui, &details.line, self.interval, context);
        }
        for (kind, sums) in
            [(BucketKind::Size, &details.histogram.by_size), (BucketKind::Lifetime, &details.histogram.by_lifetime)]
        {
            ui.add_space(4.0);
            ui.allocate_ui(vec2(ui.available_width(), 140.0), |ui| {
                ui.set_min_height(140.0);
                histogram_chart(sums, kind, (Measure::Bytes, Scale::Linear), context, ui);
            });
        }
    }

    fn numbers(&self, details: &Details, context: &ViewContext<'_>, ui: &mut Ui) {
        let n = &details.numbers;
        let peak_at = context.document.trace.clock.seconds(details.line.peak_at);
        let pairs = [
            [("Count", format::count(n.count)), ("Size", format::bytes(n.size))],
            [("At Start", format::bytes(n.outstanding_from)), ("At End", format::bytes(n.outstanding_to))],
            [("Impacting Size", format::signed_bytes(n.impacting)), ("Peak", format::bytes(details.line.peak))],
        ];
        egui::Grid::new("numbers").num_columns(4).spacing([12.0, 2.0]).show(ui, |ui| {
            for pair in pairs {
                for (name, value) in pair {
                    ui.weak(name);
                    ui.label(value);
                }
                ui.end_row();
            }
        });
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            ui.strong("Outstanding size");
            ui.weak(format!("peak at {peak_at:.3} s"));
        });
    }
}

/// The numbers of each source line of a frame's function, for calls by the same callers.
fn lines(path: &Path, query: &mut QueryContext<'_>) -> Result<Option<CallLines>, Cancelled> {
    let frame = path.last().and_then(|key| key.frame()).filter(|(node, _)| *node != NodeId::ROOT);
    let Some(frame) = frame else { return Ok(None) };
    let totals = query.totals()?;
    let upper: Path = path.iter().take_while(|key| key.frame().is_none()).copied().collect();
    let mut mask = Filter::under(upper).mask(query.trace());
    mask.and(&query.mask);
    CallLines::of((query.trace(), query.names()), (&totals, &mask), frame, query.cancel)
}

/// Draws a line graph over an interval, filled down to zero, with the value at the pointer in a tooltip.
fn show_line(ui: &mut Ui, of: &Series, interval: Interval, context: &ViewContext<'_>) {
    let clock = &context.document.trace.clock;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 96.0), Sense::hover());
    let area = Rect::from_min_max(rect.min + vec2(0.0, 14.0), rect.max - vec2(0.0, 16.0));
    let (weak, color) = (ui.visuals().weak_text_color(), theme::series(0, ui.visuals()));
    let painter = ui.painter().with_clip_rect(rect);
    let corners = small_corners(of, area, interval, of.peak);
    painter.add(line::fill(&corners, area, color.gamma_multiply(0.25)));
    painter.add(line::stroke(corners, 1.0, color));
    painter.hline(area.x_range(), area.bottom(), Stroke::new(1.0, weak));
    let font = FontId::proportional(11.0);
    painter.text(rect.left_top(), Align2::LEFT_TOP, format::bytes(of.peak), font.clone(), weak);
    let edge = |t: Ticks| format!("{:.3} s", clock.seconds(t));
    painter.text(rect.left_bottom(), Align2::LEFT_BOTTOM, edge(interval.from), font.clone(), weak);
    painter.text(rect.right_bottom(), Align2::RIGHT_BOTTOM, edge(interval.to), font, weak);
    if let Some(at) = response.hover_pos().filter(|_| area.width() > 1.0) {
        let part = f64::from((at.x - area.left()) / area.width()).clamp(0.0, 1.0);
        let t = Ticks(interval.from.0.saturating_add((interval.len() as f64 * part) as i64));
        painter.vline(at.x, area.y_range(), Stroke::new(1.0, weak));
        response.on_hover_text_at_pointer(format!("{}: {}", edge(t), format::bytes(of.value_at(t))));
    }
}
