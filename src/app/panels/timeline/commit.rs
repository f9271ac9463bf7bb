//! The lane of commit by what it is for: areas on top of each other that add up to all committed ranges that are known, and as a
//! grey line the commit charge that the system sampled.
//!
//! Cost: the points of the latest answer, one for each part and moment.

use eframe::egui::{Color32, FontId, Painter, Pos2, Rect, Visuals, vec2};

use super::axes;
use super::canvas::{Canvas, LaneLabel};
use crate::app::base::theme;
use crate::app::state::graph::GraphLine;
use crate::app::state::overlays::CommitShown;
use crate::app::widgets::line;
use crate::format;
use crate::query::known_part;
use crate::units::Ticks;

/// Draws the lane into `frame`; returns the contents of its heading.
pub fn paint(
    canvas: &Canvas<'_>,
    shown: Option<&CommitShown>,
    frame: Rect,
    painter: &Painter,
    cursor: Option<Ticks>,
    visuals: &Visuals,
) -> LaneLabel {
    let Some(shown) = shown else { return LaneLabel::default() };
    let Some(known) = shown.parts.last().map(|part| &part.sum) else { return LaneLabel::default() };
    let peak = shown.total.iter().chain([known]).map(|of| of.line.peak).max().unwrap_or(0);
    let top = (peak as f64 * axes::AIR).max(1.0);
    let corners = |of: &GraphLine| canvas.corners(&of.points, frame, top);
    // Each area covers all above it.
    for (place, part) in shown.parts.iter().enumerate().rev() {
        painter.add(line::fill(&corners(&part.sum), frame, color(place, visuals)));
    }
    if let Some(total) = &shown.total {
        painter.add(line::stroke(corners(total), 1.5, visuals.weak_text_color()));
    }
    legend(shown, frame, painter, visuals);
    let scale = (peak > 0).then(|| axes::round_below(top));
    LaneLabel {
        value: Some(match cursor {
            Some(at) => known_words(shown, at),
            None => format!("peak {}", format::bytes(known.line.peak)),
        }),
        hint: hint(shown),
        scale: scale.map(|round| (frame.bottom() - frame.height() * (round / top) as f32, axes::bytes_mark(round))),
        peak_at: Some(known.line.peak_at),
        ..LaneLabel::default()
    }
}

/// The colour of a part: opaque, because parts cover each other.
fn color(place: usize, visuals: &Visuals) -> Color32 {
    theme::series(place, visuals).lerp_to_gamma(visuals.extreme_bg_color, 0.35)
}

/// Draws the names of the parts with their colours along the top of the lane, as far as there is room.
fn legend(shown: &CommitShown, frame: Rect, painter: &Painter, visuals: &Visuals) {
    let mut at = frame.left_top() + vec2(6.0, 8.0);
    for (place, part) in shown.parts.iter().enumerate() {
        let words = painter.layout_no_wrap(format::plain(&part.name), FontId::proportional(10.5), visuals.text_color());
        let room = Rect::from_min_size(at - vec2(2.0, 7.0), vec2(words.size().x + 15.0, 14.0));
        if room.right() > frame.right() || room.bottom() > frame.bottom() {
            return;
        }
        painter.rect_filled(room, 2.0, visuals.extreme_bg_color.gamma_multiply(0.75));
        let spot = Rect::from_center_size(at + vec2(4.0, 0.0), vec2(7.0, 7.0));
        painter.rect_filled(spot, 1.5, color(place, visuals));
        let left = Pos2::new(at.x + 11.0, at.y - words.size().y / 2.0);
        at.x = room.right() + 5.0;
        painter.galley(left, words, visuals.text_color());
    }
}

/// How much of the commit charge is known at a moment.
fn known_words(shown: &CommitShown, at: Ticks) -> String {
    let known = shown.known_at(at);
    let total = shown.total.as_ref().filter(|total| total.line.is_known_at(at)).map(|total| total.line.value_at(at));
    total.map_or_else(|| format!("{} known", format::bytes(known)), |total| known_part(known, total))
}

fn hint(shown: &CommitShown) -> String {
    let mut text =
        "Committed ranges by what they are for; grey line: the commit charge, as Windows sampled it. What is not known has no \
                    events: stacks that grew, copied pages of images, and what was committed before the trace\nMost in view:"
            .to_owned();
    for part in &shown.parts {
        text += &format!("\n{}  {}", format::bytes(part.peak), format::plain(&part.name));
    }
    text
}

/// The values at a moment, a line each, the highest part first.
pub fn read(shown: Option<&CommitShown>, at: Ticks) -> Vec<String> {
    let Some(shown) = shown else { return Vec::new() };
    let parts = shown.at(at).into_iter().rev().filter(|(_, bytes)| *bytes > 0);
    let lines = parts.map(|(name, bytes)| format!("{}  {}", format::bytes(bytes), format::plain(name)));
    lines.chain([known_words(shown, at)]).collect()
}
