//! Lanes: one line each, with its own scale, and its name and value at the left. Only whole lanes are drawn; how many do
//! not fit stands below the names, and the wheel over the names scrolls to them.
//!
//! Cost: the visible lanes.

use std::ops::Range;
use std::sync::Arc;

use eframe::egui::{self, Align2, Color32, FontId, Pos2, Rect, Sense, Ui, vec2};

use super::canvas::{Canvas, Drawn, LaneLabel};
use super::{axes, difference, names, overlays};
use crate::app::base::theme;
use crate::app::commands::{Commands, DocCommand};
use crate::app::document::{Document, Split};
use crate::app::panels::counters;
use crate::app::state::alignment::Alignment;
use crate::app::state::answers::LayerOf;
use crate::app::state::filters::{Chip, Predicate};
use crate::app::state::graph::{Arrangement, GraphLine, LineOf};
use crate::app::state::lanes::{Lane, Parts};
use crate::app::state::overlay::Overlay;
use crate::app::widgets::icons::{short_value, shortened};
use crate::app::widgets::{line, list};
use crate::format;
use crate::query::{Series, TypeKey, number_text};
use crate::units::{Interval, Ticks};

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
        // Above the lanes of the process, for comparison with them.
        let mut lanes: Vec<Wanted> =
            document.draws(Overlay::Memory).then(|| part(LineOf::Overlay(Overlay::Memory))).into_iter().collect();
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
        let others =
            Overlay::ALL.into_iter().filter(|&what| !matches!(what, Overlay::Marks | Overlay::Memory) && document.draws(what));
        lanes.extend(others.map(LineOf::Overlay).map(part));
        let counters = document.counters.lines().iter().map(|line| LineOf::Counter(line.id));
        lanes.extend(counters.map(part));
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

    /// Splits off the lanes that stay at the bottom, as far as they fit into this height. They are the
    /// ones that do not show sizes, for comparison with all others.
    fn parted(self, height: f32) -> (Vec<Wanted>, Vec<Wanted>) {
        let mut room = if height < ROOM_FOR_LOW { 0.0 } else { height * LOW_PART };
        self.0.into_iter().partition(|lane| {
            let is_low = matches!(lane.of, LineOf::Overlay(what) if what != Overlay::Memory) && room >= LOW;
            room -= if is_low { LOW } else { 0.0 };
            is_low
        })
    }
}

impl Wanted {
    fn height(&self) -> f32 {
        if self.is_part { PART } else { LANE }
    }
}

/// The lanes that are visible when they are scrolled this far: only whole ones, at least one.
fn whole(heights: &[f32], room: f32, scrolled: f32) -> Range<usize> {
    let mut top = 0.0;
    let above = |height: &&f32| {
        let is_above = top < scrolled - 1.0;
        top += **height;
        is_above
    };
    let first = heights.iter().take_while(above).count().min(heights.len().saturating_sub(1));
    let mut used = 0.0;
    let fits = |height: &&f32| {
        used += **height;
        used <= room + 1.0
    };
    let count = heights[first..].iter().take_while(fits).count();
    first..(first + count.max(1)).min(heights.len())
}

fn scrolled_id() -> egui::Id {
    egui::Id::unique("lanes scrolled")
}

/// The number of lanes that have no room, below the names; a click shows the next ones.
fn others(ui: &mut Ui, place: Rect, (count, page, hidden): (usize, f32, f32)) {
    if count == 0 || place.height() < 12.0 {
        return;
    }
    let text = if count == 1 { "1 more lane".to_owned() } else { format!("{count} more lanes") };
    let place = Rect::from_min_size(place.left_top() + vec2(22.0, 0.0), vec2((place.width() - 40.0).max(0.0), 16.0));
    let response = ui.interact(place, ui.scope_id().with("more lanes"), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &text));
    let color = if response.hovered() { ui.visuals().strong_text_color() } else { ui.visuals().weak_text_color() };
    ui.painter().text(place.left_center(), Align2::LEFT_CENTER, &text, FontId::proportional(11.5), color);
    if response.clicked() {
        let by = ui.data(|data| data.get_temp::<f32>(scrolled_id())).unwrap_or(0.0);
        let next = if by >= hidden - 1.0 { 0.0 } else { (by + page).min(hidden) };
        ui.data_mut(|data| data.insert_temp(scrolled_id(), next));
    }
    response.on_hover_text("Click for the next ones, or turn the wheel over the names");
}

/// How far the lanes are scrolled, by the wheel over the names.
fn scroll(ui: &Ui, area: Rect, names_end: f32, hidden: f32) -> f32 {
    let id = scrolled_id();
    let hidden = hidden.max(0.0);
    let mut by = ui.data(|data| data.get_temp::<f32>(id)).unwrap_or(0.0);
    let names = Rect::from_x_y_ranges(area.left()..=names_end, area.y_range());
    if hidden > 0.0 && ui.rect_contains_pointer(names) {
        by -= ui.input(egui::InputState::smooth_scroll_delta).y;
    }
    by = by.clamp(0.0, hidden);
    ui.data_mut(|data| data.insert_temp(id, by));
    if hidden > 0.0 {
        // The scroll position, as a thin bar at the left edge.
        let part = area.height() / (area.height() + hidden);
        let top = area.top() + (area.height() * (1.0 - part)) * by / hidden;
        let bar = Rect::from_min_size(Pos2::new(area.left(), top), vec2(3.0, area.height() * part));
        ui.painter().rect_filled(bar, 1.5, ui.visuals().weak_text_color().gamma_multiply(0.6));
    }
    by
}

struct Shown<'a> {
    canvas: &'a Canvas<'a>,
    lane: &'a Wanted,
    rect: Rect,
    clip: Rect,
    cursor: Option<Ticks>,
}

impl Shown<'_> {
    fn show(&self, ui: &mut Ui, commands: &mut Commands) {
        let frame = Rect::from_x_y_ranges(self.canvas.frame().x_range(), self.rect.top() + 2.0..=self.rect.bottom() - 1.0);
        let painter = ui.painter().with_clip_rect(frame.intersect(self.clip));
        let told = match self.lane.of {
            LineOf::Overlay(what) => overlays::paint(self.canvas, what, frame, &painter, self.cursor, ui),
            _ => self.line(frame, &painter, ui),
        };
        let faint = ui.visuals().widgets.noninteractive.bg_stroke.color;
        let across = ui.painter().with_clip_rect(self.clip);
        across.hline(self.rect.x_range(), self.rect.bottom(), line::edge(faint));
        self.heading(ui, told, commands);
    }

    /// Draws a line that shows a size.
    fn line(&self, frame: Rect, painter: &egui::Painter, ui: &Ui) -> LaneLabel {
        let document = self.canvas.document;
        let visuals = ui.visuals();
        let color = theme::line(document.color_of(&self.lane.of), visuals);
        let drawn = self.canvas.drawn(&self.lane.of);
        let own = self.own_line();
        let other = document.laid_line(&self.lane.of);
        let others = [own.map(|own| own.line.peak), other.map(|(other, _)| other.line.peak)];
        let peak = others.into_iter().flatten().chain(drawn.as_ref().map(|drawn| drawn.line.peak)).max().unwrap_or(0);
        let top = (peak as f64 * axes::AIR).max(1.0);
        // Numbers that a program reported have no scale.
        let label = (peak > 0 && self.reported().is_none()).then(|| axes::round_below(top));
        let y = |value: f64| frame.bottom() - frame.height() * (value / top) as f32;
        if let Some(round) = label {
            let faint = visuals.widgets.noninteractive.bg_stroke.color;
            painter.hline(frame.x_range(), y(round), line::edge(faint.gamma_multiply(0.6)));
        }
        if let Some(drawn) = &drawn {
            let corners = self.canvas.corners(drawn.points, frame, top);
            painter.add(line::fill(&corners, frame, color.gamma_multiply(0.16)));
            painter.add(line::stroke(corners, 1.5, color));
        }
        if let Some(own) = own {
            let corners = self.canvas.corners(&own.points, frame, top);
            let color = theme::highlight(visuals);
            painter.add(line::fill(&corners, frame, color.gamma_multiply(0.35)));
            painter.add(line::stroke(corners, 1.0, color));
        }
        if let Some((other, _)) = other {
            let corners = self.canvas.corners(&other.points, frame, top);
            painter.add(line::stroke(corners, 1.0, visuals.text_color().gamma_multiply(0.7)));
        }
        if let Some((at, value)) = self.cursor.and_then(|at| Some((at, drawn.as_ref()?.value_at(at)?))) {
            painter.circle_filled(Pos2::new(self.canvas.x_of(at), y(value as f64)), 3.0, color);
        }
        LaneLabel {
            color,
            value: drawn.as_ref().and_then(|drawn| self.value(drawn)),
            hint: match self.reported() {
                Some((low, high)) => {
                    format!("Numbers that the program reports, from {} to {}", number_text(low), number_text(high))
                }
                None => drawn.as_ref().map(|drawn| hint(drawn.line) + &self.hint_of_other(other)).unwrap_or_default(),
            },
            scale: label.map(|round| (y(round), axes::bytes_mark(round))),
            peak_at: drawn.map(|drawn| drawn.line.peak_at),
        }
    }

    /// The text of the line's value: at the cursor; without one, of the selected interval, else the peak in the view.
    fn value(&self, drawn: &Drawn<'_>) -> Option<String> {
        let document = self.canvas.document;
        if let Some(at) = self.cursor {
            let number = if let LineOf::Counter(id) = self.lane.of { counters::text_at(document, id, at) } else { None };
            return drawn.value_at(at).map(|value| number.unwrap_or_else(|| format::bytes(value)));
        }
        if let Some((_, high)) = self.reported() {
            return Some(format!("peak {}", number_text(high)));
        }
        if let (None, Some(change)) = (document.selection(), difference::change_of(document, &self.lane.of)) {
            return Some(format!("{} from pin 1 to 2", format::signed_bytes(change)));
        }
        let numbers = match &self.lane.of {
            LineOf::Layer(process, layer) => document.source_list.numbers.get(&(*process, *layer)).copied(),
            LineOf::Heap(heap) => document.answers.numbers(*heap),
            _ => None,
        };
        Some(match document.selection().zip(numbers) {
            Some((selection, numbers)) if selection.is_empty() => format!("{} alive", format::bytes(numbers.at_end)),
            Some((_, numbers)) => format!("{} selected", format::signed_bytes(numbers.change)),
            None => format!("peak {}", format::bytes(drawn.line.peak)),
        })
    }

    /// The smallest and largest number of the lane, if a program reported them.
    fn reported(&self) -> Option<(f32, f32)> {
        if let LineOf::Counter(id) = self.lane.of { counters::range(self.canvas.document, id) } else { None }
    }

    /// The compared trace in the lane, in words.
    fn hint_of_other(&self, other: Option<(&GraphLine, &str)>) -> String {
        let Some((line, name)) = other else { return String::new() };
        let alignment = self.canvas.document.alignment.as_ref().map(Alignment::words).unwrap_or_default();
        format!("\nGrey line: {name}, peak {}. {alignment}", format::bytes(line.line.peak))
    }

    /// The line of the table's selected row, if it belongs to this lane.
    fn own_line(&self) -> Option<&GraphLine> {
        match self.lane.of {
            LineOf::Layer(process, layer) => self.canvas.selected_line(|of| of == (process, layer)),
            _ => None,
        }
    }

    /// Name, value and scale at the left.
    fn heading(&self, ui: &mut Ui, told: LaneLabel, commands: &mut Commands) {
        let document = self.canvas.document;
        let rect = Rect::from_x_y_ranges(self.rect.left()..=self.canvas.frame().left() - 2.0, self.rect.y_range());
        let response = ui.interact(rect.intersect(self.clip), ui.scope_id().with(("lane", &self.lane.of)), Sense::click());
        let value = told.value.unwrap_or_else(|| "\u{2013}".to_owned());
        let name = names::name_of(document, &self.lane.of);
        response.widget_info(|| {
            let info = egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Lane {name}"));
            egui::WidgetInfo { current_text_value: Some(format!("{value}\n{}", told.hint).trim().to_owned()), ..info }
        });
        if response.hovered() {
            let fill = ui.visuals().widgets.hovered.weak_bg_fill.gamma_multiply(0.4);
            ui.painter().with_clip_rect(self.clip).rect_filled(rect, 0.0, fill);
        }
        self.words(ui, rect, told.color, &value, told.scale);
        if let Some(is_open) = self.lane.opened {
            self.triangle(ui, rect, is_open, &name, commands);
        }
        if response.clicked() {
            self.filter(commands);
        }
        response.context_menu(|ui| self.menu(ui, told.peak_at, commands));
        let hint = if told.hint.is_empty() { String::new() } else { format!("\n{}", told.hint) };
        response.on_hover_text(format!("{name}{hint}\nClick to filter to it"));
    }

    fn words(&self, ui: &Ui, rect: Rect, color: Color32, value: &str, scale: Option<(f32, String)>) {
        let visuals = ui.visuals();
        let painter = ui.painter().with_clip_rect(rect.intersect(self.clip));
        let end = rect.right() - 4.0;
        let scale = scale.map(|(y, text)| {
            let at = Pos2::new(end, y.clamp(rect.top() + 6.0, rect.bottom() - 6.0));
            painter.text(at, Align2::RIGHT_CENTER, text, FontId::proportional(10.5), visuals.weak_text_color())
        });
        // The number on the scale takes room only from texts at the same height.
        let right_at = |y: f32| {
            let beside = scale.filter(|label| label.top() < y + 15.0 && y < label.bottom());
            beside.map_or(end, |label| label.left() - 6.0)
        };
        let bar = Rect::from_min_max(rect.left_top() + vec2(5.0, 5.0), Pos2::new(rect.left() + 8.0, rect.bottom() - 4.0));
        painter.rect_filled(bar, 1.5, color);
        let indent = if self.lane.is_part { 26.0 } else { 24.0 };
        let left = rect.left() + indent;
        let (name, whose) = names::heading(self.canvas.document, &self.lane.of);
        let text = |text: &str, size: f32, color: Color32, y: f32| {
            let galley = shortened(&painter, text, FontId::proportional(size), color, right_at(y) - left);
            painter.galley(Pos2::new(left, y), galley, color);
        };
        let mut y = rect.top() + (rect.height() * 0.07).clamp(2.0, 5.0);
        text(&name, if self.lane.is_part { 12.0 } else { 13.0 }, visuals.strong_text_color(), y);
        y += 17.0;
        let right = right_at(y);
        let value = short_value(&painter, value, FontId::proportional(12.5), visuals.text_color(), right - left);
        let whose_left = left + value.size().x + 8.0;
        painter.galley(Pos2::new(left, y), value, visuals.text_color());
        if whose.is_empty() {
            return;
        }
        // Below, if there is room, else beside.
        let color = visuals.weak_text_color();
        if rect.height() >= 58.0 {
            text(&whose, 11.0, color, y + 17.0);
        } else if right - whose_left > 24.0 {
            let galley = shortened(&painter, &whose, FontId::proportional(11.0), color, right - whose_left);
            painter.galley(Pos2::new(whose_left, y + 1.0), galley, color);
        }
    }

    fn triangle(&self, ui: &mut Ui, rect: Rect, is_open: bool, name: &str, commands: &mut Commands) {
        let LineOf::Layer(process, layer) = self.lane.of else { return };
        let place = Rect::from_min_size(rect.left_top() + vec2(9.0, 4.0), vec2(list::TRIANGLE, list::TRIANGLE));
        if !self.clip.contains_rect(place) {
            return;
        }
        let mut inner = ui.new_child(egui::UiBuilder::new().max_rect(place));
        if list::triangle(&mut inner, is_open, &format!("lane {name}")).clicked() {
            let to = if is_open { None } else { Some(self.first_parts((process, layer))) };
            commands.push(DocCommand::OpenLane((process, layer), to));
        }
    }

    /// The parts that an expanded lane shows at first: its heaps, or its functions if it has only one heap.
    fn first_parts(&self, of: LayerOf) -> Parts {
        let lane = self.lane_of(of);
        if lane.is_some_and(|lane| lane.only.is_none()) { Parts::Heaps } else { Parts::Functions }
    }

    /// Filters to the lane, or removes that filter.
    fn filter(&self, commands: &mut Commands) {
        let filters = self.canvas.document.filters();
        match (names::path(self.canvas.document, &self.lane.of), self.predicate()) {
            (Some(path), _) => {
                let is_filtered = filters.under().any.contains(&path);
                commands.push(DocCommand::Filter((!is_filtered).then_some(path)));
            }
            (None, Some(what)) if filters.chips().iter().any(|chip| chip.what == what) => {
                commands.push(DocCommand::RemoveChip(what));
            }
            (None, Some(what)) => commands.push(DocCommand::AddChip(Chip::only(what))),
            (None, None) => {}
        }
    }

    /// The predicate that the lane's rows meet.
    fn predicate(&self) -> Option<Predicate> {
        match &self.lane.of {
            LineOf::Part(process, layer, name) => match self.lane_of((*process, *layer))?.opened? {
                Parts::Types => Some(Predicate::Type(TypeKey { layer: *layer, name: Arc::clone(name) })),
                Parts::Functions => Some(Predicate::Function(Arc::clone(name))),
                Parts::Heaps => None,
            },
            LineOf::Type(key) => Some(Predicate::Type(key.clone())),
            of => names::path(self.canvas.document, of).map(Predicate::Under),
        }
    }

    fn lane_of(&self, of: LayerOf) -> Option<&Lane> {
        self.canvas.document.lanes().iter().find(|lane| lane.of == of)
    }

    fn menu(&self, ui: &mut Ui, peak_at: Option<Ticks>, commands: &mut Commands) {
        if let LineOf::Layer(process, layer) = self.lane.of {
            let lane = self.lane_of((process, layer));
            let opened = lane.and_then(|lane| lane.opened);
            let all =
                [(Parts::Heaps, "Heaps below it"), (Parts::Types, "Types below it"), (Parts::Functions, "Functions below it")];
            for (parts, text) in all {
                let is_there = parts != Parts::Heaps || lane.is_some_and(|lane| lane.only.is_none());
                if is_there && ui.radio(opened == Some(parts), text).clicked() {
                    let to = (opened != Some(parts)).then_some(parts);
                    commands.push(DocCommand::OpenLane((process, layer), to));
                }
            }
            ui.separator();
        }
        if let Some(what) = self.predicate() {
            commands.on_click(&ui.button("Filter to this"), DocCommand::AddChip(Chip::only(what.clone())));
            commands.on_click(&ui.button("Exclude this"), DocCommand::AddChip(Chip::without(what.clone())));
            if let Some(peak_at) = peak_at
                && ui.button("What was alive at its peak").clicked()
            {
                let at = peak_at.next();
                commands.push(DocCommand::AddChip(Chip::only(what)));
                commands.push(DocCommand::Select(Some(Interval { from: at, to: at })));
            }
        }
        if matches!(self.lane.of, LineOf::Layer(..) | LineOf::Heap(_) | LineOf::Counter(_) | LineOf::Overlay(_))
            && ui.button("Hide this lane").clicked()
        {
            commands.push(DocCommand::ShowLine(self.lane.of.clone(), false));
        }
    }
}

impl Drawn<'_> {
    fn value_at(&self, at: Ticks) -> Option<u64> {
        self.line.is_known_at(at).then(|| self.line.value_at(at))
    }
}

/// The peak of a line in the view, and its value at the end.
fn hint(line: &Series) -> String {
    format!("Peak in view: {}\nAt the end of the view: {}", format::bytes(line.peak), format::bytes(line.last))
}

/// Whether each line has its own scale.
fn has_lanes(document: &Document) -> bool {
    document.arrangement() == Arrangement::Lanes && !matches!(document.graph_split(), Split::Stack(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lanes_are_drawn_and_each_can_be_scrolled_to() {
        let heights = [46.0, 46.0, 38.0, 46.0, 46.0];
        assert_eq!(whole(&heights, 230.0, 0.0), 0..5, "all fit");
        assert_eq!(whole(&heights, 120.0, 0.0), 0..2, "no half one");
        assert_eq!(whole(&heights, 120.0, 30.0), 1..3);
        let hidden = heights.iter().sum::<f32>() - 120.0;
        assert_eq!(whole(&heights, 120.0, hidden), 3..5, "the last ones at the end");
        assert_eq!(whole(&heights, 20.0, 0.0), 0..1, "one, however low it is");
        assert_eq!(whole(&[], 120.0, 0.0), 0..0);
    }
}
