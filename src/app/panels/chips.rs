//! The filters as chips: each has its words, a click that inverts it, and a cross that removes it.

use eframe::egui::{self, Button, RichText};

use crate::app::commands::{Commands, DocCommand};
use crate::app::document::Document;
use crate::app::state::filters::{Chip, Predicate};
use crate::model::NodeId;
use crate::query::{ImpactingType, Key, LifetimeClass, Path, Recorded, Words, heap_label, layer_label};
use crate::symbols::Names;

/// Maximum length of a chip's text in characters.
const LONGEST: usize = 64;

pub fn show(document: &Document, commands: &mut Commands, ui: &mut egui::Ui) {
    for chip in document.filters().chips() {
        let words = words(document, chip);
        let frame = egui::Frame::new().fill(ui.visuals().widgets.inactive.weak_bg_fill).corner_radius(9).inner_margin(2);
        frame.show(ui, |ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            let color = if chip.is_excluded { ui.visuals().warn_fg_color } else { ui.visuals().strong_text_color() };
            let text = RichText::new(shortened(&words)).color(color);
            let hint = if chip.is_excluded { "Show only this instead" } else { "Leave this out instead" };
            if ui.add(Button::new(text).frame(false)).on_hover_text(format!("{words}\n{hint}")).clicked() {
                commands.doc(DocCommand::TurnChip(chip.what.clone()));
            }
            let cross = ui.add(Button::new("\u{d7}").frame(false).small()).on_hover_text("Take this filter away");
            cross.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Remove filter {words}")));
            if cross.clicked() {
                commands.doc(DocCommand::RemoveChip(chip.what.clone()));
            }
        });
    }
}

/// Cuts the start of a long path, because its end says most.
fn shortened(words: &str) -> String {
    let count = words.chars().count();
    match count > LONGEST {
        true => format!("\u{2026}{}", words.chars().skip(count - LONGEST).collect::<String>()),
        false => words.to_owned(),
    }
}

fn words(document: &Document, chip: &Chip) -> String {
    let what = match &chip.what {
        Predicate::Under(path) => node(document, path),
        Predicate::Function(name) => name.to_string(),
        Predicate::Module(name) => format!("module {name}"),
        Predicate::Owner(name) => format!("owner {name}"),
        Predicate::Tag(name) => format!("tag {name}"),
        Predicate::Row(_, words) => words.to_string(),
        Predicate::Type(key) => format!("{} ({})", key.name, layer_label(key.layer)),
    };
    if chip.is_excluded { format!("without {what}") } else { what }
}

/// A node of the tree in words.
fn node(document: &Document, path: &Path) -> String {
    let trace = &document.trace;
    let none = Names::default();
    let names = document.names.as_ref().map_or(&none, |names| names.known());
    let words = document.reading.words;
    let word = |key: &Key| match *key {
        Key::Process(id) => trace.process(id).label(),
        Key::Layer(layer) => layer_label(layer).to_owned(),
        Key::Heap(heap) => heap_label(trace.heap(heap)),
        Key::Impacting(kind) => match (words, kind) {
            (Words::Wpa, _) => kind.name().to_owned(),
            // Both of its lifetime classes: either can be the larger one.
            (Words::Plain, ImpactingType::Impacting) => "Grew or shrank (Impacting)".to_owned(),
            (Words::Plain, _) => kind.words(0).to_owned(),
        },
        Key::Class(class) => match (words, class) {
            (Words::Wpa, _) => class.name().to_owned(),
            (Words::Plain, LifetimeClass::Aofi) => "Given back (Impacting)".to_owned(),
            (Words::Plain, _) => class.impacting().words(0).to_owned(),
        },
        Key::Frame(NodeId::ROOT) => "(no stack recorded)".to_owned(),
        Key::Frame(node) | Key::Inlined(node, _) | Key::Inside(node, _) => {
            let process = path.iter().find_map(|k| if let Key::Process(id) = k { Some(*id) } else { None });
            let level = key.frame().map_or(0, |(_, level)| level);
            let frame = |process| Recorded::of(trace, names, node, process, trace.span.to, false);
            process.map_or_else(|| format!("{:#x}", trace.stacks.address(node)), |p| frame(p).name(level).to_string())
        }
        Key::Row(row) => format!("{:#x}", trace.rows.get(row).address),
    };
    // A heap's name includes its layer, and in plain words a class's name includes its type.
    let has_heap = path.iter().any(|k| matches!(k, Key::Heap(_)));
    let has_class = words == Words::Plain && path.iter().any(|k| matches!(k, Key::Class(_)));
    let is_told = |k: &&Key| !(has_heap && matches!(k, Key::Layer(_)) || has_class && matches!(k, Key::Impacting(_)));
    let parts: Vec<String> = path.iter().filter(is_told).map(word).collect();
    parts.join(" \u{203a} ")
}
