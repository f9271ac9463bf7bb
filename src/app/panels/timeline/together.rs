//! All lines on one scale, or the types of a layer stacked; at the left their names and values.

use eframe::egui::{self, Align2, Color32, FontId, Painter, Pos2, Rect, Sense, Ui, vec2};

use super::canvas::Canvas;
use super::names;
use super::values::{self, Value, What};
use crate::app::base::theme;
use crate::app::commands::{Commands, DocCommand};
use crate::app::document::Document;
use crate::app::panels::counters;
use crate::app::state::graph::{Graph, GraphLine, LineOf, Split};
use crate::app::widgets::icons::{short_text, short_value};
use crate::app::widgets::line;
use crate::format;
use crate::model::ProcessId;
use crate::query::layer_label;
use crate::units::Ticks;

/// Height of a name in points.
const ROW: f32 = 18.0;

/// Largest part of a row for the value.
const VALUE: f32 = 0.74;

/// Room in points beside names and values.
const BEFORE_NAME: f32 = 8.0;
const BEFORE_VALUE: f32 = 6.0;
const AFTER_VALUE: f32 = 2.0;

/// The widest of usual values.
const WIDEST_VALUE: &str = "1001.42 MB";

/// The largest part of the graph's width for the legend, and its largest width in points.
const LEGEND_PART: f32 = 0.4;
const WIDEST: f32 = 320.0;

/// Draws the lines.
pub fn paint(canvas: &Canvas<'_>, ui: &Ui) {
    let painter = ui.painter().with_clip_rect(canvas.frame());
    let visuals = ui.visuals();
    let color = |line: &GraphLine| theme::line(canvas.document.color_of(&line.of), visuals);
    let graph = canvas.graph();
    if let Some(stack) = graph.filter(|graph| graph.is_stacked()) {
        // From the top down: lower lines are painted over the higher ones.
        for line in stack.lines.iter().rev() {
            let color = color(line);
            draw(canvas, &painter, line, color, Some(visuals.extreme_bg_color.lerp_to_gamma(color, 0.5)));
        }
    }
    if let Some(line) = canvas.selected_line(|_| true) {
        let color = theme::highlight(visuals);
        draw(canvas, &painter, line, color, Some(color.gamma_multiply(0.25)));
    }
    for line in graph.filter(|graph| !graph.is_stacked()).iter().flat_map(|graph| &graph.lines) {
        // Overlapping areas would be unreadable.
        draw(canvas, &painter, line, color(line), None);
    }
    counters::paint(canvas.document, canvas.scales, &canvas.transform, ui, &painter);
}

fn draw(canvas: &Canvas<'_>, painter: &Painter, of: &GraphLine, color: Color32, fill: Option<Color32>) {
    let frame = canvas.frame();
    let corners = canvas.corners(&of.points, frame, canvas.scales.top);
    if let Some(fill) = fill {
        painter.add(line::fill(&corners, frame, fill));
    }
    painter.add(line::stroke(corners, 1.5, color));
}

/// A row of the legend.
enum Row {
    /// The process of the following lines.
    Owner(String),
    /// The meaning of the values below it.
    Heading(&'static str),
    Line(Named),
}

/// A line's full name, the name that is shown, and its value.
struct Named {
    of: Option<LineOf>,
    name: String,
    short: String,
    value: Option<Value>,
}

/// Width in points of the legend and the scale beside it, at least this one: the names are whole, as far as the graph keeps most
/// of the room.
pub fn width(document: &Document, least: f32, ui: &Ui) -> f32 {
    let width = |text: String, size: f32| ui.painter().layout_no_wrap(text, FontId::proportional(size), Color32::WHITE).size().x;
    let value = width(WIDEST_VALUE.to_owned(), 11.5);
    let graph = document.answers.graph.as_ref();
    let names = graph.iter().flat_map(|graph| graph.lines.iter().map(|line| short_name(document, graph, &line.of)));
    let name = names.map(|name| width(name, 12.0)).fold(0.0, f32::max);
    let wanted = 4.0 + BEFORE_NAME + name + BEFORE_VALUE + value + AFTER_VALUE + super::canvas::SCALE;
    wanted.min(ui.available_width() * LEGEND_PART).clamp(least, WIDEST.max(least)).round()
}

/// The legend: names of the lines, and their values.
pub fn legend(canvas: &Canvas<'_>, outer: Rect, cursor: Option<Ticks>, ui: &mut Ui, commands: &mut Commands) {
    let frame = canvas.frame();
    let area =
        Rect::from_x_y_ranges(outer.left() + 4.0..=frame.left() - super::canvas::SCALE, frame.top() + 2.0..=frame.bottom());
    if area.width() < 40.0 {
        return;
    }
    let room = ((area.height() / ROW) as usize).max(1);
    let mut rows = rows(canvas, cursor);
    let what = rows.iter().find_map(|row| if let Row::Line(line) = row { Some(line.value.as_ref()?.what) } else { None });
    what.into_iter().for_each(|what| rows.insert(0, Row::Heading(what.heading())));
    if rows.len() > room {
        name_in_full(&mut rows);
    }
    let hidden = if rows.len() > room { rows.len() - (room - 1) } else { 0 };
    let shown = rows.len() - hidden;
    let faint = ui.visuals().weak_text_color();
    for (i, row) in rows.into_iter().take(shown).enumerate() {
        let rect = Rect::from_min_size(area.left_top() + vec2(0.0, i as f32 * ROW), vec2(area.width(), ROW));
        match row {
            Row::Owner(name) => short_text(ui, rect, &name, FontId::proportional(11.5), faint),
            Row::Heading(words) => {
                let at = Pos2::new(rect.right() - 2.0, rect.center().y);
                ui.painter().text(at, Align2::RIGHT_CENTER, words, FontId::proportional(10.5), faint);
            }
            Row::Line(line) => entry(canvas, rect, (line, what), ui, commands),
        }
    }
    if hidden > 0 {
        let at = area.left_top() + vec2(8.0, shown as f32 * ROW + 1.0);
        ui.painter().text(at, Align2::LEFT_TOP, format!("and {hidden} more"), FontId::proportional(11.5), faint);
    }
}

/// Drops the rows of owners, for which there is no room, and gives each line its full name.
fn name_in_full(rows: &mut Vec<Row>) {
    let all = rows.len();
    rows.retain(|row| !matches!(row, Row::Owner(_)));
    if rows.len() == all {
        return;
    }
    for row in rows {
        if let Row::Line(line) = row {
            line.short.clone_from(&line.name);
        }
    }
}

/// The lines in the order of drawing; if there are several processes, each one's name comes before its lines.
fn rows(canvas: &Canvas<'_>, cursor: Option<Ticks>) -> Vec<Row> {
    let Some(graph) = canvas.graph() else { return Vec::new() };
    let document = canvas.document;
    let whole = graph.lines.last().filter(|_| graph.is_stacked());
    // Without a cursor, the parts of a stack are those where it is highest.
    let at = cursor.or(whole.map(|whole| whole.line.peak_at));
    let (parts, sum) = at.map(|at| graph.values_at(at)).unwrap_or_default();
    let what = if cursor.is_some() { What::AtCursor } else { What::AtPeak };
    let value = |bytes: u64| Value { what, number: format::bytes(bytes) };
    let mut rows: Vec<Row> = Vec::new();
    if let Split::Stack(layer) = graph.split {
        let name = layer_label(layer).to_owned();
        rows.push(Row::Line(Named { of: None, short: name.clone(), name, value: sum.map(value) }));
    }
    // In a stack the highest line comes first.
    let lines = graph.lines.iter().map(|line| &line.of);
    let lines: Vec<&LineOf> = if graph.is_stacked() { lines.rev().collect() } else { lines.collect() };
    let mut last_owner = None;
    for of in lines {
        let owner = owner(document, of);
        if let Some(process) = owner.filter(|_| owner != last_owner) {
            rows.push(Row::Owner(document.trace.process_name(process)));
        }
        last_owner = owner;
        let value = match graph.is_stacked() {
            true => parts.iter().find(|(other, _)| *other == of).map(|(_, bytes)| value(*bytes)),
            false => values::of_line(canvas, of, cursor),
        };
        let (name, short) = (names::name_of(document, of), short_name(document, graph, of));
        rows.push(Row::Line(Named { of: Some(of.clone()), name, short, value }));
    }
    rows.extend(document.counters.lines().iter().map(|line| {
        let (of, name) = (LineOf::Counter(line.id), counters::name(document, line.id));
        Row::Line(Named { value: values::of_line(canvas, &of, cursor), of: Some(of), short: name.clone(), name })
    }));
    rows
}

/// The process under whose name a line stands, if there are several processes.
fn owner(document: &Document, of: &LineOf) -> Option<ProcessId> {
    names::owner(document, of).filter(|_| document.source_list.has_many_processes)
}

/// The name that a line has in the legend: without its layer in a stack of one layer, and under the name of a process.
fn short_name(document: &Document, graph: &Graph, of: &LineOf) -> String {
    let (short, layer) = names::heading(document, of);
    let is_short = owner(document, of).is_some() || graph.is_stacked() || layer.is_empty();
    if is_short { short } else { names::name_of(document, of) }
}

/// One line of the legend. A click filters to its subject.
fn entry(canvas: &Canvas<'_>, rect: Rect, (line, what): (Named, Option<What>), ui: &mut Ui, commands: &mut Commands) {
    let Named { of, name, short, value } = line;
    let none = || "\u{2013}".to_owned();
    let text = value.as_ref().map_or_else(none, Value::text);
    // The heading says what the numbers of most lines are.
    let shown = value.filter(|value| Some(value.what) == what).map_or_else(|| text.clone(), |value| value.number);
    let response = ui.interact(rect, ui.scope_id().with(("line", &name)), Sense::click());
    response.widget_info(|| {
        let info = egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Line of {name}"));
        egui::WidgetInfo { current_text_value: Some(text.clone()), ..info }
    });
    let visuals = ui.visuals().clone();
    if response.hovered() {
        ui.painter().rect_filled(rect, 2.0, visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.4));
    }
    if let Some(number) = of.as_ref().and_then(|of| canvas.document.color_of(of)) {
        let bar = Rect::from_min_size(rect.left_top() + vec2(0.0, 3.0), vec2(3.0, ROW - 6.0));
        ui.painter().rect_filled(bar, 1.5, theme::series(number, &visuals));
    }
    let at = Pos2::new(rect.right() - AFTER_VALUE, rect.center().y);
    let value = short_value(ui.painter(), &shown, FontId::proportional(11.5), visuals.text_color(), rect.width() * VALUE);
    let value_at = Align2::RIGHT_CENTER.anchor_size(at, value.size());
    ui.painter().galley(value_at.min, value, visuals.text_color());
    let place =
        Rect::from_min_max(rect.left_top() + vec2(BEFORE_NAME, 0.0), Pos2::new(value_at.left() - BEFORE_VALUE, rect.bottom()));
    short_text(ui, place, &short, FontId::proportional(12.0), visuals.text_color());
    if response.clicked()
        && let Some(path) = of.as_ref().and_then(|of| names::path(canvas.document, of))
    {
        let is_filtered = canvas.document.filters().under().any.contains(&path);
        commands.push(DocCommand::Filter((!is_filtered).then_some(path)));
    }
    response.on_hover_text(name);
}
