//! One lane on the screen: its line, and its heading with name, value and scale.

use eframe::egui::{self, Align2, Color32, FontId, Pos2, Rect, Sense, Shape, Stroke, Ui, vec2};

use super::super::canvas::{Canvas, LaneLabel};
use super::super::{axes, names, overlays, values};
use super::Wanted;
use crate::app::base::theme;
use crate::app::commands::Commands;
use crate::app::state::alignment::Alignment;
use crate::app::state::answers::CommittedLine;
use crate::app::state::graph::{GraphLine, LineOf};
use crate::app::state::overlay::Overlay;
use crate::app::widgets::icons::{short_value, shortened};
use crate::app::widgets::line;
use crate::format;
use crate::query::{Series, number_text};
use crate::units::Ticks;

/// Lengths of the dashes of committed bytes, and of the gaps between, in points.
const DASH: (f32, f32) = (4.0, 3.0);

/// A lane, and its place on the screen.
pub(super) struct Shown<'a> {
    pub(super) canvas: &'a Canvas<'a>,
    pub(super) lane: &'a Wanted,
    pub(super) rect: Rect,
    pub(super) clip: Rect,
    pub(super) cursor: Option<Ticks>,
}

impl Shown<'_> {
    pub(super) fn show(&self, ui: &mut Ui, commands: &mut Commands) {
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
        let committed = document.committed_line(&self.lane.of);
        let others = [own.map(|own| own.line.peak), other.map(|(other, _)| other.line.peak), committed.map(CommittedLine::peak)];
        let peak = others.into_iter().flatten().chain(drawn.as_ref().map(|drawn| drawn.line.peak)).max().unwrap_or(0);
        let top = (peak as f64 * axes::AIR).max(1.0);
        // Numbers that a program reported have no scale.
        let label = (peak > 0 && values::reported(document, &self.lane.of).is_none()).then(|| axes::round_below(top));
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
        for part in committed.into_iter().flat_map(|committed| &committed.parts) {
            let corners = self.canvas.corners(&part.points, frame, top);
            painter.extend(Shape::dashed_line(&corners, Stroke::new(1.0, color), DASH.0, DASH.1));
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
            value: values::of_line(self.canvas, &self.lane.of, self.cursor).map(|value| value.text()),
            hint: match values::reported(document, &self.lane.of) {
                Some((low, high)) => {
                    format!("Numbers that the program reports, from {} to {}", number_text(low), number_text(high))
                }
                None => drawn
                    .as_ref()
                    .map(|drawn| hint(drawn.line) + &hint_of_committed(committed, drawn.line) + &self.hint_of_other(other))
                    .unwrap_or_default(),
            },
            scale: label.map(|round| (y(round), axes::bytes_mark(round))),
            peak_at: drawn.map(|drawn| drawn.line.peak_at),
        }
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

    /// Names that include the process of the lane, the longest first, for a trace of several.
    fn names_with(&self, name: &str, whose: &str) -> Vec<String> {
        let is_needed = self.canvas.document.source_list.has_many_processes && !whose.is_empty();
        match self.lane.of {
            LineOf::Overlay(Overlay::Memory) if is_needed => {
                vec![format!("{name} of {whose}"), format!("Memory of {whose}"), name.to_owned()]
            }
            LineOf::Overlay(_) if is_needed => vec![format!("{name} of {whose}")],
            _ => Vec::new(),
        }
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
        let top = rect.top() + (rect.height() * 0.07).clamp(2.0, 5.0);
        let y = top + 17.0;
        let right = right_at(y);
        let value = short_value(&painter, value, FontId::proportional(12.5), visuals.text_color(), right - left);
        let whose_left = left + value.size().x + 8.0;
        painter.galley(Pos2::new(left, y), value, visuals.text_color());
        // Below, if there is room, else beside.
        let (is_below, is_beside) = (rect.height() >= 58.0, right - whose_left > 24.0);
        let size = if self.lane.is_part { 12.0 } else { 13.0 };
        let fits = |text: &String| {
            painter.layout_no_wrap(text.clone(), FontId::proportional(size), visuals.text_color()).size().x
                <= right_at(top) - left
        };
        let with_owner = if is_below || is_beside { None } else { self.names_with(&name, &whose).into_iter().find(fits) };
        text(&with_owner.unwrap_or(name), size, visuals.strong_text_color(), top);
        let color = visuals.weak_text_color();
        if whose.is_empty() {
        } else if is_below {
            text(&whose, 11.0, color, y + 17.0);
        } else if is_beside {
            let galley = shortened(&painter, &whose, FontId::proportional(11.0), color, right - whose_left);
            painter.galley(Pos2::new(whose_left, y + 1.0), galley, color);
        }
    }
}

/// Words for the bytes committed for a line at the end of the view.
fn hint_of_committed(committed: Option<&CommittedLine>, live: &Series) -> String {
    let Some(bytes) = committed.and_then(|line| line.parts.last()).map(|part| part.line.last) else { return String::new() };
    let share = live.last as f64 / bytes.max(1) as f64;
    format!(
        "\nDashed: committed where its blocks are, {} at the end, {} of it live",
        format::bytes(bytes),
        format::percent(share)
    )
}

/// The peak of a line in the view, and its value at the end.
fn hint(line: &Series) -> String {
    format!("Peak in view: {}\nAt the end of the view: {}", format::bytes(line.peak), format::bytes(line.last))
}
