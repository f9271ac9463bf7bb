//! The tree of sources: process → layer → heap or tracker, each with its small line, its outstanding
//! size at the end of the interval and its Impacting Size, after filtering. Filtered-out sources stay
//! in the list, without numbers. A click on a name filters everything to it; the eye shows or hides its
//! line.

use std::sync::Arc;

use eframe::egui::{self, Align2, Color32, FontId, Pos2, Rect, Sense, Ui, vec2};

use super::context::PanelContext;
use super::{counters, timeline};
use crate::app::base::theme;
use crate::app::commands::{Commands, DocCommand};
use crate::app::document::{Document, source_of};
use crate::app::state::answers::{LayerOf, SourceNumbers};
use crate::app::state::filters::{Chip, Predicate};
use crate::app::state::graph::LineOf;
use crate::app::state::source_list::Source;
use crate::app::widgets::columns::number_color;
use crate::app::widgets::icons::{eye, short_text};
use crate::app::widgets::line::small_line;
use crate::app::widgets::list;
use crate::format;
use crate::model::ProcessId;
use crate::query::{BEFORE_UNKNOWN, Earlier, Key, Path, Series, layer_label, layer_meaning};
use crate::units::{Interval, Layer, Ticks};

/// Points at the right of the first row that the part's grip takes ([`super::tiles`]).
const GRIP: f32 = 12.0;

/// Indent in points of a layer under its process, and of a heap under its layer.
const INDENT: f32 = 12.0;

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let Some(document) = context.document else { return };
    let commands = &mut context.commands;
    ui.add_space(2.0);
    head(document, ui, commands);
    let (sources, tops) = (&document.source_list.sources, &document.source_list.tops);
    if sources.is_empty() {
        ui.weak(nothing(document));
        return;
    }
    egui::ScrollArea::vertical().auto_shrink(false).show_viewport(ui, |ui, visible| {
        let total = tops.last().copied().unwrap_or(0.0);
        let (area, _) = ui.allocate_exact_size(vec2(ui.available_width(), total), Sense::hover());
        // Only visible rows are drawn, however many heaps there are.
        let first = tops.partition_point(|&top| top < visible.top()).saturating_sub(1);
        let lines = sources.iter().zip(tops).skip(first);
        for (source, &top) in lines.take_while(|&(_, &top)| top <= visible.bottom()) {
            let rect = Rect::from_min_size(area.left_top() + vec2(0.0, top), vec2(area.width(), source.height()));
            Line { document, rect }.show(ui, *source, commands);
        }
    });
}

/// Title, the interval of the numbers, and the search field.
fn head(document: &Document, ui: &mut Ui, commands: &mut Commands) {
    ui.horizontal(|ui| {
        ui.strong("Sources");
        let what = if document.selection().is_some() { "selection" } else { "view" };
        let hint = match document.filters().is_all() {
            _ if document.interval().is_empty() => "Bytes alive at this moment (outstanding)",
            true => "Above: bytes alive at the end of this interval (outstanding). Below: their change in it (Impacting Size)",
            false => "Filtered, above: bytes alive at the end of this interval. Below: their change in it (Impacting Size)",
        };
        ui.add(egui::Label::new(egui::RichText::new(format!("in the {what}")).weak()).truncate().show_tooltip_when_elided(false))
            .on_hover_text(hint);
        if !document.filters().is_all() {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.add_space(GRIP);
                commands.on_click(&ui.small_button("Show all").on_hover_text("Clear the filter"), DocCommand::ClearFilter);
            });
        }
    });
    let mut text = document.source_choice.search.clone();
    let field = egui::TextEdit::singleline(&mut text).hint_text("Find a process, heap or tracker").desired_width(f32::INFINITY);
    let field = ui.add(field);
    field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find sources"));
    if text != document.source_choice.search {
        commands.push(DocCommand::FindSources(text));
    }
    ui.add_space(2.0);
}

/// Why no source is listed.
fn nothing(document: &Document) -> &'static str {
    if !document.source_choice.search.trim().is_empty() {
        "No source matches the search."
    } else if !document.is_settled() {
        "Loading\u{2026}"
    } else {
        "The trace holds no allocations."
    }
}

/// Tooltip: where the known amount comes from.
const SAMPLED: &str = "Known means bytes alive in the largest layer of the process, compared with its private bytes as sampled.";
/// Tooltip: how to get all of it.
const WHOLE: &str = "To know all of it, start the program from the recording (Record\u{2026}).";

struct Line<'a> {
    document: &'a Document,
    rect: Rect,
}

/// A source with a line.
struct Entry<'a> {
    name: String,
    indent: f32,
    keys: Vec<Key>,
    /// The line that its eye shows or hides.
    of: LineOf,
    numbers: Option<SourceNumbers>,
    /// Its small line over the whole trace, after filtering.
    line: Option<&'a Series>,
    /// The layer that its triangle collapses, if there is something in it.
    closes: Option<LayerOf>,
}

impl Line<'_> {
    fn show(&self, ui: &mut Ui, item: Source, commands: &mut Commands) {
        let document = self.document;
        match item {
            Source::Process(id) => self.process(ui, id, commands),
            Source::Earlier(process, earlier) => self.earlier(ui, process, earlier),
            Source::Layer(process, layer) => {
                let of = (process, layer);
                let entry = Entry {
                    name: layer_label(layer).to_owned(),
                    indent: INDENT,
                    keys: vec![Key::Process(process), Key::Layer(layer)],
                    of: LineOf::Layer(process, layer),
                    numbers: document.source_list.numbers.get(&of).copied(),
                    line: document.left().and_then(|left| left.layer(of)),
                    closes: (layer != Layer::Commit).then_some(of),
                };
                self.entry(ui, &entry, commands);
            }
            Source::Heap(id) => {
                let heap = document.trace.heap(id);
                let entry = Entry {
                    name: timeline::short_label(heap),
                    indent: 2.0 * INDENT,
                    keys: source_of(heap.process, heap.layer, Some(id)),
                    of: LineOf::Heap(id),
                    numbers: document.answers.numbers(id),
                    line: document.left().and_then(|left| left.heap(id)),
                    closes: None,
                };
                self.entry(ui, &entry, commands);
            }
            Source::Counters => self.heading(ui, "Counters", 0.0, FontId::proportional(14.0)),
            Source::CounterOwner(index) => {
                let owner = document.counters.groups.get(index).map_or("", |group| &group.owner);
                self.heading(ui, owner, 12.0, FontId::proportional(12.5));
            }
            Source::Counter(id) => counters::source(document, id, self.rect, ui, commands),
            Source::OtherCounters(count) => self.other_counters(ui, count, commands),
        }
    }

    /// A name that cannot be clicked.
    fn heading(&self, ui: &Ui, name: &str, indent: f32, font: FontId) {
        let at = self.rect.left_bottom() + vec2(indent + 4.0, -3.0);
        let painter = ui.painter().with_clip_rect(self.rect);
        painter.text(at, Align2::LEFT_BOTTOM, name, font, ui.visuals().text_color());
    }

    fn other_counters(&self, ui: &mut Ui, count: usize, commands: &mut Commands) {
        let listed = self.document.counters.list_all;
        let others = format::counted(count as u64, "other process", "other processes");
        let text = if listed { format!("Hide {others}") } else { format!("Show {others}") };
        let rect = self.rect.shrink2(vec2(16.0, 2.0));
        commands.on_click(&ui.put(rect, egui::Button::new(text).small()), DocCommand::ListAllCounters(!listed));
    }

    fn process(&self, ui: &mut Ui, id: ProcessId, commands: &mut Commands) {
        let process = self.document.trace.process(id);
        let name = process.label_with_id();
        let keys = [Key::Process(id)];
        self.target(ui, &name, &keys, None, None, commands);
        self.triangle(ui, 2.0, (id, None), &name, commands);
        let mut right = self.rect.right() - 4.0;
        if process.start.is_none() {
            right = self.ran_before(ui, id, right) - 8.0;
        }
        let place = Rect::from_x_y_ranges(self.rect.left() + 20.0..=right, self.rect.y_range());
        short_text(ui, place, &name, FontId::proportional(14.0), ui.visuals().strong_text_color());
    }

    /// The note that a process was already running. Returns the left edge of the note.
    fn ran_before(&self, ui: &Ui, id: ProcessId, right: f32) -> f32 {
        let (at, font) = (Pos2::new(right, self.rect.center().y), FontId::proportional(11.5));
        let painter = ui.painter().with_clip_rect(self.rect);
        let place = painter.text(at, Align2::RIGHT_CENTER, "ran before", font, ui.visuals().weak_text_color());
        let response = ui.interact(place, ui.scope_id().with(("before", id)), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, BEFORE_UNKNOWN));
        response.on_hover_text(format!("{BEFORE_UNKNOWN} The process was already running. {WHOLE}"));
        place.left()
    }

    /// How much of the memory of a process that was already running is known.
    fn earlier(&self, ui: &mut Ui, process: ProcessId, earlier: Earlier) {
        let response = ui.interact(self.rect, ui.scope_id().with(("earlier", process)), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, earlier.sentence()));
        let place = Rect::from_min_max(self.rect.left_top() + vec2(20.0, 0.0), self.rect.right_bottom() - vec2(4.0, 4.0));
        short_text(ui, place, &earlier.known().unwrap_or_default(), FontId::proportional(11.5), ui.visuals().weak_text_color());
        response.on_hover_text(format!("{} {SAMPLED} {WHOLE}", earlier.sentence()));
    }

    /// The clickable area of a row, and its look when it is chosen or hovered.
    fn target(
        &self,
        ui: &mut Ui,
        name: &str,
        keys: &[Key],
        numbers: Option<&str>,
        line: Option<&Series>,
        commands: &mut Commands,
    ) {
        let path: Path = keys.into();
        let response = ui.interact(self.rect, ui.scope_id().with(("source", &path)), Sense::click());
        response.widget_info(|| {
            let label = format!("Source {}", self.full_name(name, keys));
            let info = egui::WidgetInfo::labeled(egui::Role::Button, true, label);
            egui::WidgetInfo { current_text_value: numbers.map(str::to_owned), ..info }
        });
        let is_chosen = self.document.filters().under().any.contains(&path);
        let visuals = ui.visuals();
        if is_chosen {
            ui.painter().rect_filled(self.rect, 3.0, visuals.selection.bg_fill.gamma_multiply(0.35));
            let bar = Rect::from_min_size(self.rect.min, vec2(3.0, self.rect.height()));
            ui.painter().rect_filled(bar, 1.5, visuals.hyperlink_color);
        } else if response.hovered() || response.has_focus() {
            ui.painter().rect_filled(self.rect, 3.0, visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.5));
        }
        commands.on_click(&response, DocCommand::Filter((!is_chosen).then(|| Arc::clone(&path))));
        response.context_menu(|ui| self.menu(ui, &path, line.map(|line| line.peak_at), commands));
        let peak = line.map(|line| {
            let at = self.document.trace.clock.seconds(line.peak_at);
            match (self.document.filters().is_all(), line.peak) {
                (true, peak) => format!("Peak of the whole trace: {} at {at:.3} s\n", format::bytes(peak)),
                (false, 0) => "Nothing of it matches the filters\n".to_owned(),
                (false, peak) => format!("Peak of the whole trace, filtered: {} at {at:.3} s\n", format::bytes(peak)),
            }
        });
        let click = if is_chosen { "Click to show everything" } else { "Click to show only this" };
        let meaning = match keys.last() {
            Some(Key::Layer(layer)) => format!("{}\n", layer_meaning(*layer)),
            _ => String::new(),
        };
        response.on_hover_text(format!("{}\n{meaning}{}{click}", self.full_name(name, keys), peak.unwrap_or_default()));
    }

    fn triangle(&self, ui: &mut Ui, left: f32, of: (ProcessId, Option<Layer>), name: &str, commands: &mut Commands) {
        let is_closed = self.document.source_choice.closed.contains(&of);
        let place = Rect::from_min_size(self.rect.left_top() + vec2(left, 5.0), vec2(list::TRIANGLE, list::TRIANGLE));
        let mut inner = ui.new_child(egui::UiBuilder::new().max_rect(place));
        let button = list::triangle(&mut inner, !is_closed, &format!("source {name}"));
        commands.on_click(&button, DocCommand::CloseSource(of, !is_closed));
    }

    /// The context menu of a source.
    fn menu(&self, ui: &mut Ui, path: &Path, peak_at: Option<Ticks>, commands: &mut Commands) {
        if let Some(at) = peak_at
            && ui.button("What was alive at its peak").clicked()
        {
            commands.push(DocCommand::Filter(Some(Arc::clone(path))));
            commands.push(DocCommand::Select(Some(Interval { from: at.next(), to: at.next() })));
        }
        commands.on_click(&ui.button("Exclude this"), DocCommand::AddChip(Chip::without(Predicate::Under(Arc::clone(path)))));
    }

    /// A name that includes the process, so that equal names of two processes differ.
    fn full_name(&self, name: &str, keys: &[Key]) -> String {
        match keys {
            [Key::Process(process), _, ..] => format!("{}: {name}", self.document.trace.process_name(*process)),
            _ => name.to_owned(),
        }
    }

    /// A layer, a heap or a tracker.
    fn entry(&self, ui: &mut Ui, entry: &Entry<'_>, commands: &mut Commands) {
        let is_left_out = !self.document.filters().is_all() && entry.line.is_some_and(|line| line.peak == 0);
        let numbers = entry.numbers.filter(|_| !is_left_out);
        let (at_end, change) = match numbers {
            Some(numbers) => (format::bytes(numbers.at_end), format::signed_bytes(numbers.change)),
            None => ("\u{2013}".to_owned(), "\u{2013}".to_owned()),
        };
        let is_instant = self.document.interval().is_empty();
        let told = match (is_left_out, is_instant) {
            (true, _) => "filtered out".to_owned(),
            (false, true) => format!("{at_end} alive"),
            (false, false) => format!("{at_end} at the end, impacting size {change}"),
        };
        // Nothing changes at an instant.
        let change = if is_instant { String::new() } else { change };
        self.target(ui, &entry.name, &entry.keys, Some(&told), entry.line, commands);
        if let Some(of) = entry.closes {
            self.triangle(ui, entry.indent - 8.0, (of.0, Some(of.1)), &self.full_name(&entry.name, &entry.keys), commands);
        }
        let visuals = ui.visuals().clone();
        let color = theme::line(self.document.color_of(&entry.of), &visuals);
        let left = self.rect.left() + entry.indent + 28.0;
        self.eye(ui, entry, self.document.shows(&entry.of), color, commands);
        let (top, bottom, right) = (self.rect.top() + 3.0, self.rect.bottom() - 3.0, self.rect.right() - 4.0);
        let painter = ui.painter().with_clip_rect(self.rect);
        let (font, small) = (FontId::proportional(13.0), FontId::proportional(11.5));
        let at_end = painter.text(Pos2::new(right, top), Align2::RIGHT_TOP, at_end, font.clone(), visuals.text_color());
        let place = Rect::from_min_max(Pos2::new(left, top), Pos2::new(at_end.left() - 8.0, top + 17.0));
        short_text(ui, place, &entry.name, font, visuals.text_color());
        let change_color = match numbers {
            Some(numbers) if numbers.change != 0 => number_color(numbers.change, &visuals),
            _ => visuals.weak_text_color(),
        };
        let change = painter.text(Pos2::new(right, bottom), Align2::RIGHT_BOTTOM, change, small, change_color);
        if let Some(line) = entry.line.filter(|_| !is_left_out) {
            let room = Rect::from_x_y_ranges(left..=(change.left() - 10.0).min(left + 120.0), bottom - 13.0..=bottom - 1.0);
            if room.width() > 20.0 {
                painter.add(small_line(line, room, self.document.trace.span, line.peak, color));
            }
        }
    }

    /// The button that shows or hides its line.
    fn eye(&self, ui: &mut Ui, entry: &Entry<'_>, is_shown: bool, color: Color32, commands: &mut Commands) {
        let middle = self.rect.left_top() + vec2(entry.indent + 16.0, 12.0);
        let rect = Rect::from_center_size(middle, vec2(16.0, 16.0));
        let response = ui.interact(rect, ui.scope_id().with(("eye", &entry.of)), Sense::click());
        let label = format!("Show line of {}", timeline::name_of(self.document, &entry.of));
        response.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, is_shown, label.clone()));
        eye(ui, rect, is_shown, color, response.hovered() || response.has_focus());
        let button = response.on_hover_text(if is_shown { "Hide its line" } else { "Show its line" });
        commands.on_click(&button, DocCommand::ShowLine(entry.of.clone(), !is_shown));
    }
}
