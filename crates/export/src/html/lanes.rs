//! The graph of a page: a lane for each line, one below the other on a common axis, as SVG.

use std::fmt::Write;

use maud::{Markup, html};

use super::{Page, text};
use crate::units::Layer;
use highwater_engine::format;

/// A line of the graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Lane {
    /// Its name: a process and a layer, a heap, or a part of one.
    pub name: String,
    /// The layer, which decides the colour.
    pub layer: Layer,
    /// Seconds and outstanding bytes, by time; two points at one time are a step.
    pub points: Vec<(f64, u64)>,
    /// Highest outstanding bytes.
    pub peak: u64,
}

/// Size of the picture: its width, and the height of a lane and of its heading.
const WIDTH: f64 = 1000.0;
const LANE: f64 = 56.0;
const HEADING: f64 = 18.0;
/// Height of the axis below.
const AXIS: f64 = 24.0;

/// Draws all lanes of a page.
pub(super) fn draw(page: &Page) -> Markup {
    let scale = Scale::new(page.span);
    let each = LANE + HEADING;
    let height = page.lanes.len() as f64 * each;
    html! {
        @if page.lanes.is_empty() { p { "No memory events." } }
        @else {
            svg role="img" aria-label="Outstanding size over time" viewBox=(format!("0 0 {WIDTH} {}", height + AXIS)) {
                @if let Some((from, to)) = page.selected {
                    @let (left, right) = (scale.x(from), scale.x(to));
                    rect.selected x=(tenth(left)) y="0" width=(tenth((right - left).max(1.0))) height=(height) {
                        title { (seconds(from)) " to " (seconds(to)) }
                    }
                }
                @for (at, lane) in page.lanes.iter().enumerate() {
                    @let top = at as f64 * each;
                    text.lane x="0" y=(tenth(top + 13.0)) {
                        (text(&lane.name)) " \u{00b7} peak " (format::bytes(lane.peak))
                    }
                    path class=(lane.layer.name()) d=(path(lane, &scale, top + HEADING)) {
                        title { (text(&lane.name)) ": peak " (format::bytes(lane.peak)) }
                    }
                    line.base x1="0" x2=(WIDTH) y1=(tenth(top + each)) y2=(tenth(top + each)) {}
                }
                @for (number, (at, note)) in (1..).zip(&page.notes).filter(|(_, (at, _))| scale.shows(*at)) {
                    @let x = scale.x(*at);
                    line.note x1=(tenth(x)) x2=(tenth(x)) y1="0" y2=(tenth(height)) { title { (text(note)) } }
                    text.note x=(tenth(x + 3.0)) y=(tenth(height - 4.0)) { (number) }
                }
                @for at in scale.ticks() {
                    @let x = scale.x(at);
                    line.tick x1=(tenth(x)) x2=(tenth(x)) y1="0" y2=(tenth(height + 4.0)) {}
                    text.axis x=(tenth(x)) y=(tenth(height + 17.0)) text-anchor=(scale.anchor(x)) { (seconds(at)) }
                }
            }
            @if !page.notes.is_empty() {
                ol.notes { @for (at, note) in &page.notes { li { b { (scale.rounded(*at)) } " " (text(note)) } } }
            }
            @if page.lanes_left_out > 0 { p.rest { "\u{2026} and " (page.lanes_left_out) " smaller ones" } }
        }
    }
}

/// The area below a line, as the data of a path. Steps that a tenth of a unit does not show are left out.
fn path(lane: &Lane, scale: &Scale, top: f64) -> String {
    let y = |bytes: u64| top + LANE * (1.0 - bytes as f64 / lane.peak.max(1) as f64);
    let bottom = top + LANE;
    let Some((first, last)) = lane.points.first().zip(lane.points.last()) else { return String::new() };
    let mut path = format!("M{},{}", tenth(scale.x(first.0)), tenth(bottom));
    let mut before = String::new();
    for &(at, bytes) in &lane.points {
        let point = format!("L{},{}", tenth(scale.x(at)), tenth(y(bytes)));
        if point != before {
            path.push_str(&point);
            before = point;
        }
    }
    // Writing to a string cannot fail.
    let _ = write!(path, "L{},{}Z", tenth(scale.x(last.0)), tenth(bottom));
    path
}

/// From seconds to the units of the picture.
struct Scale {
    from: f64,
    length: f64,
}

impl Scale {
    fn new((from, to): (f64, f64)) -> Self {
        Self { from, length: (to - from).max(1e-9) }
    }

    fn shows(&self, at: f64) -> bool {
        (self.from..=self.from + self.length).contains(&at)
    }

    fn x(&self, at: f64) -> f64 {
        ((at - self.from) / self.length * WIDTH).clamp(0.0, WIDTH)
    }

    /// About eight round times.
    fn ticks(&self) -> Vec<f64> {
        let rough = self.length / 8.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|&step| step >= rough).unwrap_or(rough);
        let first = (self.from / step).ceil();
        (0..12).map(|n| (first + f64::from(n)) * step).take_while(|&at| at <= self.from + self.length * 1.000_001).collect()
    }

    /// A time, to a thousandth of a second or what can be told apart in the picture.
    fn rounded(&self, at: f64) -> String {
        let step = (self.length / (10.0 * WIDTH)).min(1e-3);
        seconds((at / step).round() * step)
    }

    /// Where the text of a tick stands: those at the edges stay in the picture.
    fn anchor(&self, x: f64) -> &'static str {
        match x {
            x if x < 20.0 => "start",
            x if x > WIDTH - 40.0 => "end",
            _ => "middle",
        }
    }
}

/// A number with one digit behind the point, without a needless zero.
fn tenth(n: f64) -> String {
    let text = format!("{n:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A time, with as many digits as it has, nine at most.
fn seconds(at: f64) -> String {
    let text = format!("{at:.9}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{} s", if text == "-0" { "0" } else { text })
}
