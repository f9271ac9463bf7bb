//! The tree of sources: process → layer → heap or tracker, each heap with its
//! small line, outstanding size now, peak and Impacting Size of the interval: those of
//! the whole heap, whatever the filter. Clicking a name filters everything to it; the
//! coloured box shows or hides its line.

use std::sync::Arc;

use eframe::egui::{self, Align2, FontId, Pos2, Rect, Sense, Stroke, Ui};

use super::counters;
use super::overview::small_line;
use crate::app::HighwaterApp;
use crate::app::commands::{Commands, DocCommand};
use crate::app::digest::Source;
use crate::app::document::{Document, source_of};
use crate::app::filters::{Chip, Predicate};
use crate::app::theme;
use crate::format;
use crate::model::{Heap, HeapId};
use crate::query::{Key, Path, heap_label, layer_label};
use crate::units::{Interval, Layer, Ticks};

pub fn show(app: &mut HighwaterApp, ui: &mut Ui) {
    let Some(document) = &app.document else { return };
    let commands = &mut app.commands;
    ui.add_space(2.0);
    ui.horizontal(|ui| {
        ui.strong("Sources");
        if !document.filters().is_all() {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.small_button("Show all").on_hover_text("Clear the filter").clicked() {
                    commands.doc(DocCommand::ClearFilter);
                }
            });
        }
    });
    let (sources, tops) = (&document.digest.sources, &document.digest.tops);
    egui::ScrollArea::vertical().auto_shrink(false).show_viewport(ui, |ui, visible| {
        let total = tops.last().copied().unwrap_or(0.0);
        let (area, _) = ui.allocate_exact_size(egui::vec2(ui.available_width(), total), Sense::hover());
        // Only what is in sight is looked at, however many heaps there are.
        let first = tops.partition_point(|&top| top < visible.top()).saturating_sub(1);
        let lines = sources.iter().zip(tops).skip(first);
        for (source, &top) in lines.take_while(|&(_, &top)| top <= visible.bottom()) {
            let rect = Rect::from_min_size(area.left_top() + egui::vec2(0.0, top), egui::vec2(area.width(), source.height()));
            Line { document, rect }.show(ui, *source, commands);
        }
    });
}

/// A heap's name under the name of its layer.
fn short_label(heap: &Heap) -> String {
    match heap.layer {
        Layer::Heap => format!("{:#x}{}", heap.handle, if heap.is_default { " (default)" } else { "" }),
        _ => heap_label(heap),
    }
}

struct Line<'a> {
    document: &'a Document,
    rect: Rect,
}

/// A clickable name; the whole line is its target.
struct Name<'a> {
    text: &'a str,
    indent: f32,
    font: FontId,
    /// Points that stay free at the right.
    free: f32,
    /// The numbers that stand beside it, for those who do not see them.
    numbers: Option<String>,
    /// When it was at its most, if that is known.
    peak_at: Option<Ticks>,
}

impl<'a> Name<'a> {
    fn new(text: &'a str, indent: f32, size: f32) -> Self {
        Self { text, indent, font: FontId::proportional(size), free: 0.0, numbers: None, peak_at: None }
    }
}

impl Line<'_> {
    fn show(&self, ui: &mut Ui, item: Source, commands: &mut Commands) {
        let document = self.document;
        match item {
            Source::Process(id) => {
                let process = document.trace.process(id);
                let name = format!("{} ({})", process.label(), process.pid);
                self.name(ui, Name::new(&name, 0.0, 14.0), &[Key::Process(id)], commands);
            }
            Source::Layer(process, layer) => {
                let keys = [Key::Process(process), Key::Layer(layer)];
                self.name(ui, Name::new(layer_label(layer), 12.0, 12.5), &keys, commands);
            }
            Source::Heap(id) => self.heap(ui, id, commands),
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
        let at = self.rect.left_bottom() + egui::vec2(indent + 4.0, -3.0);
        let painter = ui.painter().with_clip_rect(self.rect);
        painter.text(at, Align2::LEFT_BOTTOM, name, font, ui.visuals().text_color());
    }

    fn other_counters(&self, ui: &mut Ui, count: usize, commands: &mut Commands) {
        let listed = self.document.counters.list_all;
        let others = format!("{count} other process{}", if count == 1 { "" } else { "es" });
        let text = if listed { format!("Hide {others}") } else { format!("Show {others}") };
        let rect = self.rect.shrink2(egui::vec2(16.0, 2.0));
        if ui.put(rect, egui::Button::new(text).small()).clicked() {
            commands.doc(DocCommand::ListAllCounters(!listed));
        }
    }

    fn name(&self, ui: &mut Ui, name: Name<'_>, keys: &[Key], commands: &mut Commands) {
        let path: Path = keys.into();
        let response = ui.interact(self.rect, ui.scope_id().with(("source", &path)), Sense::click());
        response.widget_info(|| {
            let label = format!("Source {}", self.full_name(name.text, keys));
            let info = egui::WidgetInfo::labeled(egui::Role::Button, true, label);
            egui::WidgetInfo { current_text_value: name.numbers.clone(), ..info }
        });
        let selected = self.document.filters().under().any.contains(&path);
        let visuals = ui.visuals();
        if selected || response.hovered() {
            let fill = if selected {
                visuals.selection.bg_fill.gamma_multiply(0.75)
            } else {
                visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.5)
            };
            ui.painter().rect_filled(self.rect, 3.0, fill);
        }
        let at = self.rect.left_top() + egui::vec2(name.indent + 4.0, 3.0);
        let mut clip = self.rect.shrink2(egui::vec2(2.0, 0.0));
        clip.set_right(clip.right() - name.free);
        ui.painter().with_clip_rect(clip).text(at, Align2::LEFT_TOP, name.text, name.font, visuals.text_color());
        if response.clicked() {
            commands.doc(DocCommand::Filter((!selected).then(|| Arc::clone(&path))));
        }
        response.context_menu(|ui| self.menu(ui, &path, name.peak_at, commands));
        response.on_hover_text(if selected {
            "Click to show everything"
        } else {
            "Click to show only this. Right: outstanding size at the end and Impacting Size of the interval"
        });
    }

    /// What else can be done to a source.
    fn menu(&self, ui: &mut Ui, path: &Path, peak_at: Option<Ticks>, commands: &mut Commands) {
        if let Some(at) = peak_at
            && ui.button("What was alive at its peak").clicked()
        {
            commands.doc(DocCommand::Filter(Some(Arc::clone(path))));
            commands.doc(DocCommand::Select(Some(Interval { from: at.next(), to: at.next() })));
        }
        if ui.button("Leave this out").clicked() {
            commands.doc(DocCommand::AddChip(Chip::without(Predicate::Under(Arc::clone(path)))));
        }
    }

    /// A name that tells equal ones of two processes apart.
    fn full_name(&self, name: &str, keys: &[Key]) -> String {
        match keys {
            [Key::Process(process), _, ..] => format!("{}: {name}", self.document.trace.process(*process).label()),
            _ => name.to_owned(),
        }
    }

    fn heap(&self, ui: &mut Ui, id: HeapId, commands: &mut Commands) {
        let document = self.document;
        let index = id.0 as usize;
        let heap = document.trace.heap(id);
        let keys = source_of(heap.process, heap.layer, Some(id));
        let indent = if heap.layer == Layer::Commit { 12.0 } else { 24.0 };
        let (now, peak) = document.answers.overview.get(index).map_or((0, 0), |line| (line.last, line.peak));
        let (now, peak) = (format::bytes(now), format!("peak {}", format::bytes(peak)));
        let impacting = document.answers.change(id);
        let change = impacting.map_or_else(|| "\u{2013}".to_owned(), format::signed_bytes);
        let font = FontId::proportional(13.0);
        let room = ui.painter().layout_no_wrap(now.clone(), font.clone(), ui.visuals().text_color()).size().x + 8.0;
        let text = short_label(heap);
        let numbers = Some(format!("{now}, {peak}, impacting size {change}"));
        let peak_at = document.answers.overview.get(index).map(|line| line.peak_at);
        let name = Name { free: room, numbers, peak_at, ..Name::new(&text, indent + 18.0, 13.0) };
        self.name(ui, name, &keys, commands);
        self.swatch(ui, index, indent, commands);
        let (top, bottom) = (self.rect.top() + 3.0, self.rect.bottom() - 4.0);
        let right = self.rect.right() - 4.0;
        let left = self.rect.left() + indent + 22.0;
        self.sparkline(ui, Rect::from_x_y_ranges(left..=left + 56.0, bottom - 13.0..=bottom), index);
        let visuals = ui.visuals();
        let color = match impacting {
            Some(1..) => theme::growth(visuals),
            None | Some(0) => visuals.weak_text_color(),
            Some(_) => theme::shrinkage(visuals),
        };
        let painter = ui.painter().with_clip_rect(self.rect);
        let small = FontId::proportional(11.5);
        painter.text(Pos2::new(right, top), Align2::RIGHT_TOP, now, font, visuals.text_color());
        let change = painter.text(Pos2::new(right, bottom), Align2::RIGHT_BOTTOM, change, small.clone(), color);
        // In a narrow panel the peak gives way.
        let mut rest = self.rect;
        rest.set_right(change.left() - 6.0);
        let at = Pos2::new(left + 64.0, bottom);
        ui.painter().with_clip_rect(rest).text(at, Align2::LEFT_BOTTOM, peak, small, visuals.weak_text_color());
    }

    fn swatch(&self, ui: &mut Ui, heap: usize, indent: f32, commands: &mut Commands) {
        let shown = self.document.is_shown(heap);
        let rect = Rect::from_min_size(self.rect.left_top() + egui::vec2(indent + 4.0, 5.0), egui::vec2(12.0, 12.0));
        let response = ui.interact(rect.expand(3.0), ui.scope_id().with(("swatch", heap)), Sense::click());
        let name = heap_label(&self.document.trace.heaps[heap]);
        response.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, shown, format!("Show line of {name}")));
        let color = theme::series(heap, ui.visuals());
        if shown {
            ui.painter().rect_filled(rect, 3.0, color);
        } else {
            ui.painter().rect_stroke(rect, 3.0, Stroke::new(1.5, color), egui::StrokeKind::Inside);
        }
        if response.on_hover_text("Show or hide its line").clicked() {
            commands.doc(DocCommand::ShowHeap(heap, !shown));
        }
    }

    fn sparkline(&self, ui: &Ui, rect: Rect, heap: usize) {
        let Some(line) = self.document.answers.overview.get(heap) else { return };
        let color = theme::series(heap, ui.visuals());
        ui.painter().add(small_line(line, rect, self.document.trace.span, line.peak, color));
    }
}
