//! Lanes: one line each, with its own scale, and its name and value at the left. Only whole lanes are drawn; how many do
//! not fit stands below the names, and the wheel over the names scrolls to them.
//!
//! Cost: the visible lanes.

mod acting;
mod drawing;
mod scrolling;

use eframe::egui::{Rect, Ui};

use super::canvas::Canvas;
use crate::app::commands::Commands;
use crate::app::document::{Document, Split};
use crate::app::state::graph::{Arrangement, LineOf};
use crate::app::state::overlay::Overlay;
use crate::units::Ticks;
use drawing::Shown;
use scrolling::{others, scroll, whole};

/// Minimum height in points of a lane, and of the parts of an expanded one.
const LANE: f32 = 38.0;
const PART: f32 = 34.0;

/// Height in points of a lane that stays at the bottom while the others are scrolled; the largest part
/// of the height for such lanes; and the minimum height for having any.
const LOW: f32 = 34.0;
const LOW_PART: f32 = 0.4;
const ROOM_FOR_LOW: f32 = 150.0;

/// A lane before it is laid out.
struct Wanted {
    of: LineOf,
    is_part: bool,
    /// Whether it is expanded; `None` if it cannot be.
    opened: Option<bool>,
}

/// All lanes of the graph.
pub struct Lanes(Vec<Wanted>);

/// A lane on the screen.
pub struct Row {
    pub of: LineOf,
    /// From the left edge of its name to the right edge of the graph.
    pub rect: Rect,
}

impl Lanes {
    /// The lanes of a document; `None` if all lines share one scale.
    pub fn of(document: &Document) -> Option<Self> {
        if !has_lanes(document) {
            return None;
        }
        let lines = document.answers.graph.iter().flat_map(|graph| &graph.lines).map(|line| &line.of);
        let part = |of: LineOf| Wanted { of, is_part: true, opened: None };
        // Above the lanes of the process, for comparison with them. A stack of areas needs the height of a whole lane.
        let above = [Overlay::Memory, Overlay::Commit].into_iter().filter(|&what| document.draws(what));
        let wanted = |what| Wanted { is_part: what != Overlay::Commit, ..part(LineOf::Overlay(what)) };
        let mut lanes: Vec<Wanted> = above.map(wanted).collect();
        match document.graph_split() {
            Split::Sources => {
                for lane in document.lanes() {
                    let (process, layer) = lane.of;
                    let opened = Some(lane.opened.is_some());
                    lanes.push(Wanted { of: LineOf::Layer(process, layer), is_part: false, opened });
                    lanes.extend(lane.heaps.iter().copied().map(LineOf::Heap).map(part));
                    let is_its = |of: &&LineOf| matches!(of, LineOf::Part(p, l, _) if (*p, *l) == lane.of);
                    lanes.extend(lines.clone().filter(is_its).cloned().map(part));
                }
            }
            Split::Types | Split::Stack(_) => {
                let is_type = |of: &&LineOf| matches!(of, LineOf::Type(_));
                lanes.extend(lines.filter(is_type).map(|of| Wanted { of: of.clone(), is_part: false, opened: None }));
            }
        }
        let counters = document.counters.lines().iter().map(|line| LineOf::Counter(line.id));
        lanes.extend(counters.map(part));
        // The last ones, because they stay at the bottom as far as there is room, frames longest.
        let is_other = |what: &Overlay| !matches!(what, Overlay::Marks | Overlay::Memory | Overlay::Commit);
        let mut others: Vec<Overlay> = Overlay::ALL.into_iter().filter(|what| is_other(what) && document.draws(*what)).collect();
        others.sort_by_key(|what| [Overlay::Processors, Overlay::Frames].iter().position(|last| last == what));
        lanes.extend(others.into_iter().map(LineOf::Overlay).map(part));
        Some(Self(lanes))
    }

    /// Width in points of the names at the left: enough for a layer beside its scale, if there is room.
    pub fn heading(ui: &Ui) -> f32 {
        let width = ui.available_width();
        (width * 0.2).clamp(176.0, 214.0).min(width * 0.4)
    }

    /// Draws the lanes; returns their places.
    pub fn show(self, canvas: &Canvas<'_>, outer: Rect, cursor: Option<Ticks>, ui: &mut Ui, commands: &mut Commands) -> Vec<Row> {
        let area = Rect::from_x_y_ranges(outer.left()..=canvas.frame().right(), canvas.lines().y_range());
        let (low, lanes) = self.parted(area.height());
        let low_area = Rect::from_x_y_ranges(area.x_range(), area.bottom() - LOW * low.len() as f32..=area.bottom());
        let area = Rect::from_x_y_ranges(area.x_range(), area.top()..=low_area.top());
        let heights: Vec<f32> = lanes.iter().map(Wanted::height).collect();
        let hidden = heights.iter().sum::<f32>() - area.height();
        let below = Rect::from_x_y_ranges(outer.left()..=canvas.frame().left(), canvas.frame().bottom()..=outer.bottom());
        let scrolled = scroll(ui, area, canvas.frame().left(), hidden);
        let shown = whole(&heights, area.height(), scrolled);
        others(ui, below, (heights.len() - shown.len(), area.height(), hidden));
        let stretch = area.height() / heights[shown.clone()].iter().sum::<f32>().max(1.0);
        let mut top = area.top();
        let mut rows = Vec::new();
        let lanes = lanes.into_iter().skip(shown.start).take(shown.len());
        let placed = lanes.map(|lane| (lane.height() * stretch, area, lane));
        let placed = placed.chain(low.into_iter().map(|lane| (LOW, low_area, lane)));
        let mut last = area;
        for (height, area, lane) in placed {
            if std::mem::replace(&mut last, area) != area {
                top = area.top();
            }
            let rect = Rect::from_x_y_ranges(area.x_range(), top..=top + height);
            top += height;
            if rect.intersects(area) && rect.bottom() > area.top() + 1.0 && rect.top() < area.bottom() - 1.0 {
                Shown { canvas, lane: &lane, rect, clip: area, cursor }.show(ui, commands);
                rows.push(Row { of: lane.of, rect: rect.intersect(area) });
            }
        }
        rows
    }

    /// Splits off the lanes that stay at the bottom: the last ones that fit into this height, so that the order is the same at
    /// every height. They are lanes that do not show sizes, for comparison with all others.
    fn parted(self, height: f32) -> (Vec<Wanted>, Vec<Wanted>) {
        let room = if height < ROOM_FOR_LOW { 0.0 } else { height * LOW_PART };
        let is_low =
            |lane: &&Wanted| matches!(lane.of, LineOf::Overlay(what) if !matches!(what, Overlay::Memory | Overlay::Commit));
        let mut lanes = self.0;
        let count = lanes.iter().rev().take((room / LOW) as usize).take_while(is_low).count();
        let low = lanes.split_off(lanes.len() - count);
        (low, lanes)
    }
}

impl Wanted {
    fn height(&self) -> f32 {
        if self.is_part { PART } else { LANE }
    }
}

/// Whether each line has its own scale.
fn has_lanes(document: &Document) -> bool {
    document.arrangement() == Arrangement::Lanes && !matches!(document.graph_split(), Split::Stack(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HeapId;

    #[test]
    fn lanes_have_the_same_order_at_every_height() {
        let low = [Overlay::Processors, Overlay::Frames].map(LineOf::Overlay);
        let all: Vec<LineOf> = [LineOf::Overlay(Overlay::Memory), LineOf::Heap(HeapId(1))].into_iter().chain(low).collect();
        let mut counts = Vec::new();
        for height in 0..400 {
            let lanes = all.iter().map(|of| Wanted { of: of.clone(), is_part: true, opened: None }).collect();
            let (low, others) = Lanes(lanes).parted(height as f32);
            counts.push(low.len());
            let order: Vec<LineOf> = others.into_iter().chain(low).map(|lane| lane.of).collect();
            assert_eq!(order, all, "at {height}");
        }
        counts.dedup();
        assert_eq!(counts, [0, 1, 2], "as many stay at the bottom as fit");
    }
}
