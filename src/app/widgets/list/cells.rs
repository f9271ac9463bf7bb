//! The look of cells in all tables: names shortened in their middle, lines of a tree, numbers with a bar for their share.

use std::ops::Range;
use std::sync::Arc;

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{self, Align, Color32, FontId, Galley, Layout, Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, vec2};

use super::Value;
use crate::app::base::table::column::MARGIN;
use crate::app::base::theme;
use crate::app::widgets::columns::number_color;
use crate::format;
use crate::query::SHARED;

/// The style of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    #[default]
    Plain,
    Strong,
    /// A placeholder for something without a name.
    Weak,
    /// A type or similar.
    Code,
    /// A function: the module before its `!` is faint.
    Frame,
    /// The function that the view is about.
    StrongFrame,
    /// A sentence, which is cut at its end; names are cut in their middle.
    Sentence,
}

/// Name of the function of allocations without a recorded stack.
pub const NO_STACK: &str = "(no stack recorded)";

/// A name in a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Name<'a> {
    pub text: &'a str,
    pub style: Style,
    /// The search text, which is highlighted.
    pub searched: &'a str,
}

impl<'a> Name<'a> {
    pub fn new(text: &'a str, style: Style) -> Self {
        Self { text, style, searched: "" }
    }

    /// The faint parts: modules, and separators between the names of those that share a line.
    fn modules(&self) -> Vec<Range<usize>> {
        let mut modules = Vec::new();
        if !matches!(self.style, Style::Frame | Style::StrongFrame) {
            return modules;
        }
        let mut start = 0;
        for part in self.text.split(SHARED) {
            modules.push(start..start + module_of(part));
            start += part.len() + SHARED.len();
            modules.push(start - SHARED.len()..start);
        }
        modules
    }

    fn found(&self) -> Range<usize> {
        let searched = self.searched.trim().to_ascii_lowercase();
        // Lowercase ASCII letters keep the length of the name.
        let found = if searched.is_empty() { None } else { self.text.to_ascii_lowercase().find(&searched) };
        found.map_or(0..0, |at| at..at + searched.len())
    }

    fn job(&self, ui: &Ui, range: &[Range<usize>]) -> LayoutJob {
        let visuals = ui.visuals();
        let (font, text) = match self.style {
            Style::Plain | Style::Sentence => (FontId::proportional(13.0), visuals.text_color()),
            Style::Strong => (FontId::proportional(13.0), visuals.strong_text_color()),
            Style::Weak => (FontId::proportional(13.0), visuals.weak_text_color()),
            Style::Frame | Style::Code => (FontId::monospace(12.0), visuals.text_color()),
            Style::StrongFrame => (FontId::monospace(12.0), visuals.strong_text_color()),
        };
        let (modules, found) = (self.modules(), self.found());
        let turns: Vec<usize> = modules.iter().chain([&found]).flat_map(|range| [range.start, range.end]).collect();
        let mut job = LayoutJob { break_on_newline: false, ..LayoutJob::default() };
        for (part, range) in range.iter().enumerate() {
            if part > 0 {
                let format = TextFormat { font_id: font.clone(), color: visuals.weak_text_color(), ..TextFormat::default() };
                job.append("\u{2026}", 0.0, format);
            }
            let mut edges: Vec<usize> = turns.iter().map(|&at| at.clamp(range.start, range.end)).collect();
            edges.extend([range.start, range.end]);
            edges.sort_unstable();
            for edge in edges.windows(2).filter(|edge| edge[0] < edge[1]) {
                let is_module = modules.iter().any(|module| module.contains(&edge[0]));
                let color = if is_module { visuals.weak_text_color() } else { text };
                let is_found = found.contains(&edge[0]);
                let background = if is_found { visuals.warn_fg_color.gamma_multiply(0.35) } else { Color32::TRANSPARENT };
                let format = TextFormat { font_id: font.clone(), color, background, ..TextFormat::default() };
                job.append(&format::plain(&self.text[edge[0]..edge[1]]), 0.0, format);
            }
        }
        job
    }

    /// Lays out the text in this much room, without its middle if it is too long. Returns also whether it was cut.
    fn galley(&self, ui: &Ui, room: f32) -> (Arc<Galley>, bool) {
        let ends = ends(self.text);
        let whole = ui.painter().layout_job(self.job(ui, &ends));
        if whole.size().x <= room {
            return (whole, ends.len() > 1);
        }
        let Some(row) = whole.rows.first() else { return (whole, false) };
        let letter = row.glyphs.first().map_or(8.0, |glyph| glyph.advance_width.max(4.0));
        let room = (room - 1.5 * letter).max(letter);
        let right = |at: usize| row.glyphs[at].pos.x + row.glyphs[at].advance_width;
        let all = row.glyphs.len();
        // The end of a function's name is the most important part; where several share a line, the last of them.
        let part = match self.style {
            Style::Sentence => 1.0,
            _ if self.text.contains(SHARED) => 0.15,
            _ => 0.4,
        };
        let head = (0..all).take_while(|&at| right(at) <= part * room).count();
        let left = if head > 0 { right(head - 1) } else { 0.0 };
        let tail = (head..all).rev().take_while(|&at| whole.size().x - row.glyphs[at].pos.x <= room - left).count();
        let chars = |n: usize| self.text.char_indices().nth(n).map_or(self.text.len(), |(at, _)| at);
        let back = self.text.char_indices().rev().take(tail).last().map_or(self.text.len(), |(at, _)| at);
        let cut = [0..chars(head), back.max(chars(head))..self.text.len()];
        (ui.painter().layout_job(self.job(ui, &cut)), true)
    }
}

/// Length in bytes of the module before a function's name, including its `!`.
fn module_of(name: &str) -> usize {
    let end = name.find('!').map_or(0, |at| at + 1);
    let is_operator = |before: &str| before.contains([':', '<', '(']) || before.ends_with("operator!");
    if is_operator(&name[..end]) { 0 } else { end }
}

/// Maximum number of letters laid out at each end of a long name: more are never visible.
const END: usize = 400;

/// The whole text, or both ends of a long one.
fn ends(text: &str) -> Vec<Range<usize>> {
    let head = text.char_indices().nth(END).map(|(at, _)| at);
    let tail = text.char_indices().rev().nth(END).map(|(at, _)| at);
    match head.zip(tail) {
        Some((head, tail)) if head < tail => vec![0..head, tail..text.len()],
        _ => std::iter::once(0..text.len()).collect(),
    }
}

/// Draws a name in the rest of its cell, with the whole name as a tooltip if it was cut.
pub fn name(ui: &mut Ui, name: Name<'_>) -> Response {
    let room = (ui.available_width() - 4.0).max(8.0);
    let (galley, is_cut) = name.galley(ui, room);
    let size = vec2(galley.size().x.min(room), galley.size().y);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, name.text));
    ui.painter().galley(rect.min, galley, ui.visuals().text_color());
    if is_cut { response.on_hover_text(name.text) } else { response }
}

/// Paints a name in a place, without its middle if the place is too narrow.
pub fn name_at(ui: &Ui, place: Rect, name: Name<'_>) {
    let (galley, _) = name.galley(ui, place.width());
    let at = egui::pos2(place.left(), place.center().y - galley.size().y / 2.0);
    ui.painter().galley(at, galley, ui.visuals().text_color());
}

/// Size of a triangle in points.
pub const TRIANGLE: f32 = 14.0;

/// Indent in points of each level of a tree.
const STEP: f32 = 13.0;

/// Indent in points before the triangle of a line. In a deep tree the steps get smaller, so that names
/// keep some room; deeper lines still have a larger indent.
fn indent(depth: usize, room: f32) -> f32 {
    let (straight, wide) = (room * 0.3, depth as f32 * STEP);
    let beyond = (wide - straight).max(0.0);
    wide.min(straight) + beyond / (1.0 + beyond / (room * 0.25).max(1.0))
}

/// Maximum number of guide lines, one for each level above.
const GUIDES: usize = 64;

/// Draws the start of a tree line before its name: the indent with a thin guide line per level, and a
/// triangle if it has children (`is_open`). Returns whether the triangle was clicked.
pub fn branch(ui: &mut Ui, depth: usize, is_open: Option<bool>, name: &str) -> bool {
    let cell = ui.max_rect();
    let room = cell.width();
    let stroke = Stroke::new(1.0, ui.visuals().widgets.noninteractive.bg_stroke.color);
    let mut last = f32::NEG_INFINITY;
    for above in 0..depth.min(GUIDES) {
        let x = (cell.left() + indent(above, room) + TRIANGLE / 2.0).round() + 0.5;
        if x - last >= 4.0 {
            ui.painter().vline(x, cell.y_range(), stroke);
            last = x;
        }
    }
    ui.spacing_mut().item_spacing.x = 0.0;
    ui.add_space(indent(depth, room));
    let Some(is_open) = is_open else {
        ui.add_space(TRIANGLE + 4.0);
        return false;
    };
    let clicked = triangle(ui, is_open, name).clicked();
    ui.add_space(4.0);
    clicked
}

pub fn triangle(ui: &mut Ui, is_open: bool, name: &str) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(TRIANGLE, TRIANGLE), Sense::click());
    let verb = if is_open { "Collapse" } else { "Expand" };
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("{verb} {name}")));
    let icon = response.clone().with_new_rect(rect.shrink(2.5));
    egui::collapsing_header::paint_default_icon(ui, if is_open { 1.0 } else { 0.0 }, &icon);
    response
}

/// A number's share of a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Length of its bar, 0 to 1.
    pub bar: f32,
    /// The share; more than 1 if other numbers have the opposite sign.
    pub part: f64,
    /// The name of the whole.
    pub whole: String,
}

impl Share {
    /// A number's share of a whole with this name; `None` if either is zero.
    pub fn of(number: u64, whole: u64, name: impl Into<String>) -> Option<Self> {
        let part = number as f64 / whole as f64;
        (whole > 0 && number > 0).then(|| Self { bar: part.min(1.0) as f32, part, whole: name.into() })
    }
}

/// Draws a number at the right of its cell, on a bar for its share.
pub fn number(ui: &mut Ui, value: &Value, share: Option<&Share>) {
    if *value == Value::Nothing {
        return;
    }
    if let Some(share) = share {
        bar(ui, ui.max_rect().shrink2(vec2(3.0, 2.5)), value.change(), share.bar);
    }
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        ui.add_space(MARGIN);
        let mut text = egui::RichText::new(value.to_string()).color(color(value, ui));
        if matches!(value, Value::Address(_)) {
            text = text.monospace().size(12.0);
        }
        let has_tooltip = share.is_some() || matches!(value, Value::Awaited | Value::Later);
        let label = ui.add(egui::Label::new(text).truncate().show_tooltip_when_elided(!has_tooltip));
        if *value == Value::Awaited {
            label.on_hover_text("Being computed");
        } else if *value == Value::Later {
            label.on_hover_text("Computed when the trace no longer grows");
        } else if let Some(share) = share {
            label.on_hover_ui(|ui| _ = ui.label(format!("{} of {}", format::percent(share.part), share.whole)));
        }
    });
}

/// Changes have the colour of their sign, and zeros are faint.
fn color(value: &Value, ui: &Ui) -> Color32 {
    let visuals = ui.visuals();
    match value {
        value if value.is_zero() || matches!(value, Value::Awaited | Value::Later) => {
            visuals.weak_text_color().gamma_multiply(0.65)
        }
        Value::Change(change) => number_color(*change, visuals),
        _ => visuals.text_color(),
    }
}

/// Paints a bar behind a number; a change has the colour of its sign.
pub fn bar(ui: &Ui, rect: Rect, change: i64, share: f32) {
    let visuals = ui.visuals();
    let color = theme::change(change, visuals).unwrap_or(theme::share(visuals));
    let width = (rect.width() * share.clamp(0.0, 1.0)).max(if share > 0.0 { 1.0 } else { 0.0 });
    let bar = Rect::from_min_size(rect.min, vec2(width, rect.height()));
    ui.painter().rect_filled(bar, 2.0, color.gamma_multiply(if visuals.dark_mode { 0.22 } else { 0.20 }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_deeper_stands_further_right_and_leaves_room() {
        for room in [80.0f32, 300.0, 1200.0] {
            let steps: Vec<f32> = (0..2000).map(|depth| indent(depth, room)).collect();
            assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{room}");
            assert!(steps[1999] <= room * 0.56, "{room}: {}", steps[1999]);
        }
        assert_eq!(indent(4, 600.0), 52.0);
    }

    #[test]
    fn modules_stand_back_and_operators_do_not() {
        assert_eq!(module_of("game.exe!main"), 9);
        assert_eq!([module_of("Vector::operator!="), module_of("operator!"), module_of("main")], [0; 3]);
        let name = Name::new("a.exe!main \u{203a} run \u{203a} b.dll!f", Style::Frame);
        let dim: String = name.modules().into_iter().filter_map(|range| name.text.get(range)).collect::<Vec<_>>().join("|");
        assert_eq!(dim, "a.exe!| \u{203a} || \u{203a} |b.dll!");
    }

    #[test]
    fn long_texts_keep_both_ends_at_whole_letters() {
        assert_eq!(ends("abc"), std::iter::once(0..3).collect::<Vec<_>>());
        let text = "\u{e4}".repeat(3000);
        let ends = ends(&text);
        assert_eq!(ends.len(), 2);
        assert_eq!((text[ends[0].clone()].chars().count(), text[ends[1].clone()].chars().count()), (END, END + 1));
    }
}
