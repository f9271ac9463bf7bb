//! The filters as chips: each has its words, a click that inverts it, and a cross that removes it.

use eframe::egui::{self, Button, RichText};

use crate::app::commands::{Commands, DocCommand};
use crate::app::document::Document;
use crate::app::state::filters::{Chip, Predicate};
use crate::model::NodeId;
use crate::query::{ImpactingType, Key, LifetimeClass, Path, Recorded, Words, heap_label, layer_label};
use crate::symbols::Names;

/// Mean width of a letter in points.
const LETTER: f32 = 6.5;

/// Smallest number of letters of a chip's text.
const LEAST: usize = 10;

/// Points around the text of a chip: its margins, its cross, and the gap to the next one.
const AROUND: f32 = 34.0;

/// Draws the chips so that so many points beside them stay free, unless there are very many.
pub fn show(document: &Document, beside: f32, commands: &mut Commands, ui: &mut egui::Ui) {
    let chips = document.filters().chips();
    let most = ((ui.available_width() - beside) / chips.len().max(1) as f32 - AROUND) / LETTER;
    for chip in chips {
        let words = words(document, chip);
        let frame = egui::Frame::new().fill(ui.visuals().widgets.inactive.weak_bg_fill).corner_radius(9).inner_margin(2);
        frame.show(ui, |ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            let color = if chip.is_excluded { ui.visuals().warn_fg_color } else { ui.visuals().strong_text_color() };
            let text = RichText::new(shortened(&words, (most as usize).max(LEAST))).color(color);
            let hint = if chip.is_excluded { "Show only this instead" } else { "Exclude this instead" };
            let button = ui.add(Button::new(text).frame(false)).on_hover_text(format!("{words}\n{hint}"));
            commands.on_click(&button, DocCommand::TurnChip(chip.what.clone()));
            let cross = ui.add(Button::new("\u{d7}").frame(false).small()).on_hover_text("Remove this filter");
            cross.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Remove filter {words}")));
            commands.on_click(&cross, DocCommand::RemoveChip(chip.what.clone()));
        });
    }
}

/// The beginning of a chip that leaves something out, which is never cut.
const WITHOUT: &str = "without ";

/// Cuts a long text in its middle: its start says in which process, its end names the place.
fn shortened(words: &str, most: usize) -> String {
    let letters: Vec<char> = words.chars().collect();
    if letters.len() <= most {
        return words.to_owned();
    }
    if let Some(what) = words.strip_prefix(WITHOUT) {
        return format!("{WITHOUT}{}", shortened(what, most.saturating_sub(WITHOUT.len()).max(LEAST)));
    }
    // The end says most.
    let first = most / 3;
    let last = letters.len() - (most - first - 1);
    letters[..first].iter().chain(&['\u{2026}']).chain(&letters[last..]).collect()
}

pub fn words(document: &Document, chip: &Chip) -> String {
    let what = match &chip.what {
        Predicate::Under(path) => node(document, path),
        Predicate::Function(name) => name.to_string(),
        Predicate::Module(name) => format!("module {name}"),
        Predicate::Owner(name) => format!("owner {name}"),
        Predicate::Tag(name) => format!("tag {name}"),
        Predicate::Row(_, words) => words.to_string(),
        Predicate::Type(key) => format!("{} ({})", key.name, layer_label(key.layer)),
    };
    if chip.is_excluded { format!("{WITHOUT}{what}") } else { what }
}

/// A node of the tree in words.
fn node(document: &Document, path: &Path) -> String {
    let trace = &document.trace;
    let none = Names::default();
    let names = document.names.as_ref().map_or(&none, |names| names.known());
    let words = document.reading.words;
    let word = |key: &Key| match *key {
        Key::Process(id) => trace.process_name(id),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_chip_keeps_its_sign_and_its_place() {
        let words = "without Game.exe \u{203a} Windows NT heaps \u{203a} Heap 0x1234 \u{203a} game.dll!Level::load";
        let cut = shortened(words, 40);
        assert_eq!(cut.chars().count(), 40);
        assert!(cut.starts_with("without Game") && cut.ends_with("game.dll!Level::load"), "{cut}");
        assert_eq!(shortened("without a.exe", 40), "without a.exe");
        assert_eq!(shortened("a\u{203a}b\u{203a}c\u{203a}d", 4), "a\u{2026}\u{203a}d", "letters, not bytes");
    }
}
