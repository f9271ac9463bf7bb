//! Losses: shaded spans on graph and overview, and words for tooltips and lists. Rows of a followed
//! capture that were dropped for lack of memory are shaded in the same way.
//!
//! Spans that share a pixel are drawn as one, so that a frame costs a pass over the losses (a few
//! thousand a file at most) and the visible ones.

use eframe::egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, Ui};

use crate::app::base::theme;
use crate::app::document::Document;
use crate::format;
use crate::model::{Loss, LostWhat, Trace};
use crate::query::Column;
use crate::units::{Interval, Ticks};

/// Minimum width of a loss in points.
const LEAST_WIDTH: f32 = 3.0;
/// Distance between stripes in points.
const STRIPES: f32 = 7.0;

/// Shades all losses across `frame`; `x_of` gives the position of a moment.
pub fn paint(document: &Document, frame: Rect, x_of: impl Fn(Ticks) -> f32, ui: &Ui, painter: &Painter) {
    let color = theme::loss(ui.visuals());
    for (left, right) in spans(document, frame, x_of) {
        let rect = Rect::from_x_y_ranges(left..=right, frame.y_range());
        painter.rect_filled(rect, 0.0, color.gamma_multiply(0.13));
        stripes(rect, color.gamma_multiply(0.45), painter);
        painter.rect_filled(Rect::from_x_y_ranges(left..=right, frame.top()..=frame.top() + 3.0), 0.0, color);
    }
}

/// The intervals in which data is missing: before the oldest rows kept, and around losses.
fn missing(document: &Document) -> impl Iterator<Item = Interval> + '_ {
    let trace = &document.trace;
    let forgotten = trace.forgotten.map(|until| Interval { from: trace.span.from, to: until });
    forgotten.into_iter().chain(trace.losses.iter().map(|loss| loss.interval))
}

/// The horizontal spans of all missing data, from left to right, merged where they touch.
fn spans(document: &Document, frame: Rect, x_of: impl Fn(Ticks) -> f32) -> Vec<(f32, f32)> {
    let end = document.trace.span.to;
    let mut spans: Vec<(f32, f32)> = Vec::new();
    for gap in missing(document) {
        let (a, b) = (x_of(gap.from), x_of(gap.to.min(end)));
        let spare = ((LEAST_WIDTH - (b - a)) / 2.0).max(0.0);
        let (left, right) = ((a - spare).max(frame.left()), (b + spare).min(frame.right()));
        if left >= right {
            continue;
        }
        match spans.last_mut() {
            Some(last) if left <= last.1 + 1.0 => last.1 = last.1.max(right),
            _ => spans.push((left, right)),
        }
    }
    spans
}

/// Slanted lines over a rectangle.
fn stripes(rect: Rect, color: Color32, painter: &Painter) {
    let painter = painter.with_clip_rect(rect.intersect(painter.clip_rect()));
    let (height, stroke) = (rect.height(), Stroke::new(1.0, color));
    // Stripes stay in place on the screen, wherever a span begins.
    let mut x = ((rect.left() - height) / STRIPES).floor() * STRIPES;
    while x < rect.right() {
        painter.add(Shape::line_segment([Pos2::new(x, rect.bottom()), Pos2::new(x + height, rect.top())], stroke));
        x += STRIPES;
    }
}

/// The losses around a moment, a line each; `reach` is the tolerance of the pointer.
pub fn around(document: &Document, at: Ticks, reach: i64) -> Vec<String> {
    const LINES: usize = 4;
    let near = Interval { from: Ticks(at.0.saturating_sub(reach)), to: Ticks(at.0.saturating_add(reach)) };
    let hit: Vec<&Loss> =
        document.trace.losses.iter().filter(|loss| loss.interval.from <= near.to && near.from <= loss.interval.to).collect();
    let mut lines: Vec<String> = hit.iter().take(LINES).map(|loss| describe(document, loss)).collect();
    if hit.len() > LINES {
        lines.push(format!("and {} more losses", format::count((hit.len() - LINES) as u64)));
    }
    if document.trace.forgotten.is_some_and(|until| at < until) {
        lines.push("Blocks freed before then were dropped, as memory was used up: sizes are at least these".to_owned());
    }
    lines
}

/// A loss in one line: what, when, where.
pub fn describe(document: &Document, loss: &Loss) -> String {
    let seconds = |t: Ticks| format!("{:.6} s", document.trace.clock.seconds(t));
    let what = match (loss.what, loss.count) {
        (LostWhat::Events, None) => "Events".to_owned(),
        (LostWhat::Events, Some(1)) => "1 event".to_owned(),
        (LostWhat::Events, Some(n)) => format!("{} events", format::count(n)),
        (LostWhat::Buffers, None) => "Buffers".to_owned(),
        (LostWhat::Buffers, Some(1)) => "1 buffer".to_owned(),
        (LostWhat::Buffers, Some(n)) => format!("{} buffers", format::count(n)),
    };
    let Interval { from, to } = loss.interval;
    let when = match to {
        _ if from == to => format!("just before {}", seconds(from)),
        Ticks::NEVER => format!("after {}", seconds(from)),
        to => format!("between {} and {}", seconds(from), seconds(to)),
    };
    let whose = loss.processor.map(|p| format!(", processor {p}")).unwrap_or_default();
    let file = if document.trace.losses.iter().any(|other| other.file != loss.file) && !loss.file.is_empty() {
        format!(" ({})", loss.file)
    } else {
        String::new()
    };
    format!("{what} lost {when}{whose}{file}")
}

/// The time from which totals are bounds, in seconds, if anything was lost.
pub fn exact_until(document: &Document) -> Option<f64> {
    document.trace.exact_until().map(|t| document.trace.clock.seconds(t))
}

/// Why a column's numbers in an interval are bounds; `None` if they are exact. Events were lost
/// earlier, or rows that would count were dropped.
pub fn bound(trace: &Trace, interval: Interval, column: Column) -> Option<String> {
    use Column::{
        Address, AllocTime, AllocationsPerFrame, BytesPerFrame, Count, FreeTime, Impacting, Name, OutstandingFrom, OutstandingTo,
        Peak, Size, Source, Thread, Touched,
    };
    let (from, to) = match column {
        OutstandingFrom => (interval.from, interval.from),
        OutstandingTo | Touched => (interval.to, interval.to),
        Count | Size | Impacting | Peak => (interval.from, interval.to),
        FreeTime => (Ticks::NEVER, interval.to), // dropped rows are not listed
        AllocationsPerFrame | BytesPerFrame => (interval.from, interval.to),
        Name | Source | AllocTime | Address | Thread => return None,
    };
    let seconds = |t: Ticks| format!("{:.3} s", trace.clock.seconds(t));
    let lost = trace.exact_until().filter(|&until| until < to).map(|until| {
        let what = match column {
            AllocationsPerFrame | BytesPerFrame => "A lower bound, as allocations may be missing",
            Count => "Some allocations may be missing, and some may have been freed before",
            Size => {
                "A lower bound for what was allocated, as allocations may be missing; some blocks may have been freed before"
            }
            FreeTime => "The free may be one of the lost events",
            _ => {
                "Too high by what was freed in lost events (an upper bound if only frees are missing), too low by what was allocated in them (a lower bound if only allocations are)"
            }
        };
        format!("* Events were lost after {}. {what}", seconds(until))
    });
    let dropped = trace.forgotten.filter(|&until| from < until).map(|until| {
        let what = match column {
            Impacting if until <= to => "Too high by those of them that were alive at the interval's left edge",
            Impacting => "Without what they changed",
            _ => "A lower bound",
        };
        format!("* Blocks that were freed before {} were dropped, as memory was used up. {what}", seconds(until))
    });
    let reasons: Vec<String> = lost.into_iter().chain(dropped).collect();
    (!reasons.is_empty()).then(|| reasons.join("\n"))
}

/// The list of losses in the trace tab.
pub fn list(document: &Document, ui: &mut Ui) {
    const SHOWN: usize = 12;
    let trace = &document.trace;
    let Some(until) = exact_until(document) else { return };
    ui.strong("Losses");
    for loss in trace.losses.iter().take(SHOWN) {
        ui.label(describe(document, loss));
    }
    if trace.losses.len() > SHOWN {
        ui.weak(format!("and {} more; the graph shows where", format::count((trace.losses.len() - SHOWN) as u64)));
    }
    if trace.losses.is_empty() {
        ui.label("The time is not known: it may have been at any time.");
    }
    ui.weak(format!("{} (from {until:.6} s on)", bound_meaning()));
    ui.add_space(8.0);
}

/// The explanation of totals after a loss.
pub fn bound_meaning() -> &'static str {
    "After a loss totals are bounds: counts and sizes of what was allocated and freed are at least these; outstanding sizes \
     are too high where a free is missing, too low where an allocation is"
}

/// Shades losses on the overview, without stripes, which would be too fine there.
pub fn paint_overview(document: &Document, rect: Rect, x_of: impl Fn(Ticks) -> f32, ui: &Ui, painter: &Painter) {
    let color = theme::loss(ui.visuals());
    for (left, right) in spans(document, rect, x_of) {
        painter.rect_filled(Rect::from_x_y_ranges(left..=right, rect.y_range()), 0.0, color.gamma_multiply(0.25));
        painter.rect_filled(Rect::from_x_y_ranges(left..=right, rect.top()..=rect.top() + 2.0), 0.0, color);
    }
}
