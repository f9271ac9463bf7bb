//! The trace's marks, in a strip below the axis' icons: a flag with its text where there is room, else
//! ticks with their number; a mark with a duration is a bar. Also the list of marks under the pointer,
//! and their context menu.
//!
//! Cost: the spots of the latest answer, at most a few for each bin of the graph. Only the texts that are drawn are read.

use eframe::egui::{self, Align2, FontId, Pos2, Rect, Response, Sense, Stroke, Ui, vec2};

use super::canvas::{Canvas, MARKS, STRIP};
use super::wheel;
use crate::app::base::theme;
use crate::app::commands::{Commands, DocCommand};
use crate::app::document::{Document, lasting};
use crate::app::state::graph::LineOf;
use crate::app::state::ids::{Stop, Tab, ViewId};
use crate::app::state::overlay::Overlay;
use crate::app::widgets::icons::shortened;
use crate::app::widgets::mark_menu::{edges, one_mark};
use crate::format;
use crate::model::Mark;
use crate::query::MarkSpot;
use crate::units::{Interval, Ticks};

/// Minimum room in points for a text, including the gap to the next.
const ROOM: f32 = 34.0;
/// Ticks closer together than this are merged.
const CLOSE: f32 = 8.0;
/// Maximum width of a text in points.
const WIDEST: f32 = 180.0;
/// Number of rows of bars.
const LEVELS: usize = 3;
/// Number of marks listed under the pointer.
const LISTED: usize = 8;
/// Distance in points at which a dragged edge snaps to a mark.
const STICKY: f32 = 5.0;

/// Spots that share a text.
#[derive(Clone, PartialEq, Debug)]
struct Flag {
    /// Indices of the first and last spot.
    first: usize,
    last: usize,
    /// Position of the first tick.
    left: f32,
    /// Position at which the text begins.
    text: f32,
    /// Width available for the text in points; 0 if it is not shown.
    room: f32,
}

/// Groups spots that stand close together, so that they share a text. A group without enough room
/// before the next one has no text. `xs` are the positions from left to right, `end` is the end of the
/// strip. No text reaches the next tick.
fn flags(xs: &[f32], end: f32) -> Vec<Flag> {
    let mut flags: Vec<Flag> = Vec::new();
    let mut first = 0;
    for (at, &x) in xs.iter().enumerate() {
        let next = xs.get(at + 1).copied();
        let room = next.unwrap_or(end) - x;
        if room >= CLOSE || next.is_none() {
            let room = if room >= ROOM { (room - 8.0).min(WIDEST) } else { 0.0 };
            flags.push(Flag { first, last: at, left: xs[first], text: x + 4.0, room });
            first = at + 1;
        }
    }
    flags
}

/// Draws the strip, with its name if the names of lanes are beside the graph.
pub fn show(canvas: &Canvas<'_>, outer: Option<Rect>, ui: &mut Ui, commands: &mut Commands) {
    let document = canvas.document;
    if !document.draws(Overlay::Marks) {
        return;
    }
    let frame = canvas.frame();
    let strip = Rect::from_x_y_ranges(frame.x_range(), frame.top() + MARKS..=frame.top() + MARKS + STRIP);
    if let Some(outer) = outer {
        heading(canvas, outer, strip, ui, commands);
    }
    let spots = &document.overlays.answer.spots;
    let in_sight: Vec<&MarkSpot> = spots
        .iter()
        .filter(|spot| canvas.x_of(spot.during.to) >= frame.left() && canvas.x_of(spot.during.from) <= frame.right())
        .collect();
    let xs: Vec<f32> = in_sight.iter().map(|spot| canvas.x_of(spot.during.from).max(frame.left())).collect();
    bars(canvas, strip, &in_sight, ui);
    for flag in flags(&xs, frame.right()) {
        flag_of(canvas, strip, &flag, &in_sight[flag.first..=flag.last], &xs[flag.first..=flag.last], ui, commands);
    }
}

/// The name of the strip, at the left.
fn heading(canvas: &Canvas<'_>, outer: Rect, strip: Rect, ui: &mut Ui, commands: &mut Commands) {
    let rect = Rect::from_x_y_ranges(outer.left()..=strip.left() - 2.0, strip.y_range());
    if rect.width() < 40.0 {
        return;
    }
    let count = canvas.document.trace.activity.marks.list.len() as u64;
    let response = ui.interact(rect, ui.scope_id().with("marks of the trace"), Sense::click());
    let told = format::count(count);
    response.widget_info(|| {
        let info = egui::WidgetInfo::labeled(egui::Role::Button, true, "Marks of the trace");
        egui::WidgetInfo { current_text_value: Some(told.clone()), ..info }
    });
    let visuals = ui.visuals();
    let color = if response.hovered() { visuals.strong_text_color() } else { visuals.weak_text_color() };
    let at = Pos2::new(rect.left() + 24.0, rect.center().y);
    ui.painter().text(at, Align2::LEFT_CENTER, "Marks", FontId::proportional(11.5), color);
    commands.on_click(&response, DocCommand::ShowTab(Tab::View(ViewId::Marks)));
    response.context_menu(|ui| {
        commands.on_click(&ui.button("Hide the marks"), DocCommand::ShowLine(LineOf::Overlay(Overlay::Marks), false));
    });
    response.on_hover_text(format!("{told} marks in the trace. Click to list them"));
}

/// Bars of marks with a duration, in several rows if they overlap.
fn bars(canvas: &Canvas<'_>, strip: Rect, spots: &[&MarkSpot], ui: &Ui) {
    let painter = ui.painter().with_clip_rect(canvas.frame());
    let color = theme::mark(ui.visuals());
    let mut ends = [f32::NEG_INFINITY; LEVELS];
    for spot in spots.iter().filter(|spot| spot.lasts) {
        let rect = canvas.rect_of(spot.during);
        let level = ends.iter().position(|&end| end <= rect.left()).unwrap_or(LEVELS - 1);
        ends[level] = ends[level].max(rect.right());
        let top = strip.top() + 1.0;
        let all = Rect::from_x_y_ranges(rect.x_range(), top..=strip.bottom());
        painter.rect_filled(all, 1.0, color.gamma_multiply(0.16));
        let bar = Rect::from_min_size(Pos2::new(rect.left(), top + 3.0 * level as f32), vec2(rect.width().max(2.0), 2.5));
        painter.rect_filled(bar, 1.0, color);
    }
}

fn flag_of(canvas: &Canvas<'_>, strip: Rect, flag: &Flag, spots: &[&MarkSpot], xs: &[f32], ui: &mut Ui, commands: &mut Commands) {
    let document = canvas.document;
    let marks = &document.trace.activity.marks;
    let count: usize = spots.iter().map(|spot| spot.count).sum();
    let Some(first) = spots.first().and_then(|spot| marks.list.get(spot.first)) else { return };
    let words = if count == 1 { first.text.to_string() } else { format!("{} marks", format::count(count as u64)) };
    let visuals = ui.visuals().clone();
    let color = theme::mark(&visuals);
    let painter = ui.painter().with_clip_rect(canvas.frame());
    let galley = (flag.room > 0.0).then(|| shortened(&painter, &words, FontId::proportional(11.0), color, flag.room));
    let right = galley.as_ref().map_or(xs.last().copied().unwrap_or(flag.left) + 3.0, |galley| flag.text + galley.size().x + 2.0);
    let rect = Rect::from_x_y_ranges(flag.left - 3.0..=right, strip.y_range());
    let response = ui.interact(rect, ui.scope_id().with(("mark", spots.first().map(|spot| spot.first))), Sense::click());
    canvas.note_icon(&response);
    let label = if count == 1 { format!("Mark {words}") } else { words };
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &label));
    let is_lit = response.hovered() || response.has_focus();
    for &x in xs {
        painter.vline(x, strip.top() + 2.0..=strip.bottom() - 1.0, Stroke::new(if is_lit { 2.0 } else { 1.5 }, color));
    }
    if count == 1 {
        // The tick extends down to the axis, so that lines can be compared with it.
        let to = canvas.frame().bottom();
        painter.vline(xs[0], strip.bottom()..=to, Stroke::new(1.0, color.gamma_multiply(if is_lit { 0.7 } else { 0.22 })));
    }
    if let Some(galley) = galley {
        let at = Pos2::new(flag.text, strip.center().y - galley.size().y / 2.0 + 1.0);
        let behind = Rect::from_min_size(at, galley.size()).expand2(vec2(2.0, 0.0));
        painter.rect_filled(behind, 2.0, visuals.extreme_bg_color.gamma_multiply(0.75));
        painter.galley(at, galley, color);
    }
    if let Some(pointer) = response.hover_pos().filter(|_| response.hovered()) {
        wheel::turn(canvas, ui, canvas.time_at(pointer.x), commands);
    }
    let all = together(spots);
    let command = if count == 1 { DocCommand::StepTo(Stop::Mark(spots[0].first)) } else { DocCommand::Zoom(with_room(all)) };
    commands.on_click(&response, command);
    response.context_menu(|ui| menu(document, first, spots[0].first, (count, all), ui, commands));
    hover(document, spots, count, response);
}

/// The interval from the first of some spots to the last.
fn together(spots: &[&MarkSpot]) -> Interval {
    let from = spots.iter().map(|spot| spot.during.from).min().unwrap_or_default();
    Interval { from, to: spots.iter().map(|spot| spot.during.to).max().unwrap_or_default() }
}

/// An interval with some time around it.
fn with_room(Interval { from, to }: Interval) -> Interval {
    let room = (to.0.saturating_sub(from.0) / 8).max(8);
    Interval { from: Ticks(from.0.saturating_sub(room)), to: Ticks(to.0.saturating_add(room)) }
}

fn hover(document: &Document, spots: &[&MarkSpot], count: usize, response: Response) {
    response.on_hover_cursor(egui::CursorIcon::PointingHand).on_hover_ui(|ui| {
        let marks = &document.trace.activity.marks;
        let listed = spots.iter().flat_map(|spot| spot.first..spot.first + if spot.lasts { 1 } else { spot.count });
        for mark in listed.filter_map(|place| marks.list.get(place)).take(LISTED) {
            ui.strong(&*mark.text);
            ui.label(described(document, mark));
        }
        if count > LISTED {
            ui.weak(format!("and {} more", format::count((count - LISTED) as u64)));
        }
        let click = match (count, spots.first()) {
            (1, Some(spot)) if spot.lasts => "Click to select it",
            (1, _) => "Click to put the cursor there",
            _ => "Click to zoom to them",
        };
        ui.weak(click);
    });
}

/// A mark's time, duration, provider and process.
pub fn described(document: &Document, mark: &Mark) -> String {
    let trace = &document.trace;
    let mut parts = vec![format!("{:.6} s", trace.clock.seconds(mark.from))];
    if let Some(during) = lasting(mark) {
        parts.push(format!("for {}", format::duration(trace.clock.seconds(Ticks(during.len())))));
    }
    parts.push(trace.activity.marks.provider(mark).label());
    parts.extend(mark.process.map(|process| trace.process_name(process)));
    parts.join(" \u{b7} ")
}

/// The context menu of a mark, or of several that stand together.
fn menu(document: &Document, mark: &Mark, place: usize, (count, all): (usize, Interval), ui: &mut Ui, commands: &mut Commands) {
    let mut item = |ui: &mut Ui, text: &str, command| {
        commands.on_click(&ui.button(text), command);
    };
    if count > 1 {
        item(ui, "Zoom to these marks", DocCommand::Zoom(with_room(all)));
        item(ui, "Select from the first to the last", DocCommand::Select(Some(all)));
    } else {
        for (text, command) in one_mark(document, mark, place) {
            item(ui, text, command);
        }
    }
    ui.separator();
    let (edges, are_all) = edges(document, document.view());
    let text = if are_all {
        "Use visible marks as generation boundaries"
    } else {
        "Use the first visible marks as generation boundaries"
    };
    item(ui, text, DocCommand::MarkAll(edges));
    item(ui, "List the marks", DocCommand::ShowTab(Tab::View(ViewId::Marks)));
}

/// The mark to which an edge at this position snaps.
pub fn near(canvas: &Canvas<'_>, x: f32) -> Option<Ticks> {
    let document = canvas.document;
    if !document.draws(Overlay::Marks) {
        return None;
    }
    let far = |at: Ticks| (canvas.x_of(at) - x).abs();
    let edges = document.overlays.answer.spots.iter().flat_map(|spot| match spot {
        spot if spot.lasts => vec![spot.during.from, spot.during.to],
        spot if spot.count == 1 => vec![spot.during.from],
        _ => Vec::new(), // it is ambiguous which mark is meant
    });
    let own = document.marks().iter().copied();
    edges.chain(own).filter(|&at| far(at) <= STICKY).min_by(|&a, &b| far(a).total_cmp(&far(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_stands_close_together_shares_a_text_and_what_has_no_room_has_none() {
        let all = flags(&[10.0, 100.0, 105.0, 109.0, 280.0, 300.0, 390.0], 400.0);
        let told: Vec<_> = all.iter().map(|flag| (flag.first, flag.last, flag.left, flag.room > 0.0)).collect();
        let expected = [(0, 0, 10.0, true), (1, 3, 100.0, true), (4, 4, 280.0, false), (5, 5, 300.0, true), (6, 6, 390.0, false)];
        assert_eq!(told, expected);
        assert_eq!(flags(&[], 400.0), []);
    }

    proptest! {
        #[test]
        fn no_text_lies_over_another_or_over_a_tick_and_no_mark_is_lost(
            steps in prop::collection::vec(0.0f32..90.0, 0..60), end in 0.0f32..200.0,
        ) {
            let xs: Vec<f32> = steps.iter().scan(0.0, |x, step| { *x += step; Some(*x) }).collect();
            let end = xs.last().copied().unwrap_or(0.0) + end;
            let all = flags(&xs, end);
            let spots: Vec<usize> = all.iter().flat_map(|flag| flag.first..=flag.last).collect();
            prop_assert_eq!(spots, (0..xs.len()).collect::<Vec<_>>());
            for flag in all.iter().filter(|flag| flag.room > 0.0) {
                let next = xs.get(flag.last + 1).copied().unwrap_or(end);
                prop_assert!(flag.text > xs[flag.last] && flag.text + flag.room < next);
            }
        }
    }
}
