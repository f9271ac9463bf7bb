//! The table of types. A click filters everything to one.

use eframe::egui::{self, Ui};

use super::{TypeTable, Types};
use crate::app::commands::{Command, DocCommand};
use crate::app::filters::{Chip, Predicate};
use crate::app::graph::{LineOf, Split};
use crate::app::panels::columns::number_color;
use crate::app::panels::list::{self, List, ListColumn};
use crate::app::panels::losses;
use crate::app::theme;
use crate::app::views::Around;
use crate::format;
use crate::query::{Column, Sort, TypeGroup, TypeKey, UNKNOWN_TYPE, layer_label};

const COLUMNS: [ListColumn; 8] = [
    ListColumn {
        title: "Allocated type",
        hint: "C++ type of the allocations, as the compiler noted it at the call that allocates (S_HEAPALLOCSITE); where it noted none, or the symbols are not there, (unknown type)",
        width: 210.0,
        is_number: false,
    },
    ListColumn { title: "Layer", hint: "Layers of memory nest, so their sizes are never added", width: 132.0, is_number: false },
    number("Count", "Allocations alive at some moment of the interval", 70.0),
    number(
        "Impacting Size",
        "Change of the outstanding size between the edges of the interval: what was allocated in it and stayed, minus what was freed in it and was there before",
        118.0,
    ),
    number("Size", "Their bytes in all, however short they lived (requested bytes in heaps)", 88.0),
    number("At Start", "Outstanding size: bytes alive at the interval's left edge", 88.0),
    number("At End", "Outstanding size: bytes alive at the interval's right edge", 88.0),
    number("Peak", "Largest outstanding size in the interval", 88.0),
];

/// What each column is for the order; the layer is part of the name.
const SORTS: [Column; 8] = [
    Column::Name,
    Column::Name,
    Column::Count,
    Column::Impacting,
    Column::Size,
    Column::OutstandingFrom,
    Column::OutstandingTo,
    Column::Peak,
];

const fn number(title: &'static str, hint: &'static str, width: f32) -> ListColumn {
    ListColumn { title, hint, width, is_number: true }
}

pub fn show(view: &mut Types, around: &mut Around<'_>, ui: &mut Ui) {
    let Some(table) = &view.table else {
        around.wait(ui);
        return;
    };
    if table.groups.is_empty() {
        let text = match view.search.is_empty() {
            true => "Nothing was alive in this interval.",
            false => "No type in this interval has that in its name.",
        };
        ui.centered_and_justified(|ui| ui.label(text));
        return;
    }
    if table.groups.iter().all(|group| &*group.key.name == UNKNOWN_TYPE) {
        ui.weak("No type is known: types come from the symbols of modules that were built with /Zi or /Z7. The tab Symbols says what was found.");
    }
    let (rows, mut sort) = (table.groups.len(), view.sort);
    let chosen = around.document.filters().chosen_type().cloned();
    let mut lines = Lines { split: view.split, sort: &mut sort, chosen, table, around };
    list::show(ui, "types", &COLUMNS, rows, &mut lines);
    if sort != view.sort {
        view.sort = sort;
        around.ask();
    }
}

/// What the graph can have lines for, in words.
fn split_label(split: Split) -> String {
    match split {
        Split::Heaps => "Graph by heap".to_owned(),
        Split::Types => "Graph by type".to_owned(),
        Split::Stack(layer) => format!("Types stacked: {}", layer_label(layer)),
    }
}

/// Chooses what the graph has lines for. Layers nest, so each is a stack of its own.
pub fn split(view: &mut Types, around: &mut Around<'_>, ui: &mut Ui) {
    let layers = around.document.digest.layers.iter().map(|&(layer, _)| Split::Stack(layer));
    let layers: Vec<Split> = [Split::Heaps, Split::Types].into_iter().chain(layers).collect();
    let shown = egui::ComboBox::from_id_salt("graph split").width(170.0).selected_text(split_label(view.split));
    shown.show_ui(ui, |ui| {
        for split in layers {
            if ui.selectable_label(view.split == split, split_label(split)).clicked() {
                view.split = split;
                around.ask();
            }
        }
    });
}

struct Lines<'a, 'b> {
    split: Split,
    sort: &'a mut Sort,
    chosen: Option<TypeKey>,
    table: &'a TypeTable,
    around: &'a mut Around<'b>,
}

impl Lines<'_, '_> {
    /// The colour of its line, if there is one.
    fn color(&self, key: &TypeKey, ui: &Ui) -> Option<egui::Color32> {
        let mut lines = self.around.document.answers.graph.iter().flat_map(|graph| &graph.lines);
        let line = lines.find(|line| matches!(&line.of, LineOf::Type(_, other) if other == key))?;
        Some(theme::series(line.of.color(), ui.visuals()))
    }
}

impl List for Lines<'_, '_> {
    fn text(&self, row: usize, column: usize) -> String {
        let Some(TypeGroup { key, numbers: n, .. }) = self.table.groups.get(row) else { return String::new() };
        match column {
            0 => key.name.to_string(),
            1 => layer_label(key.layer).to_owned(),
            2 => format::count(n.count),
            3 => format::signed_bytes(n.impacting),
            4 => format::bytes(n.size),
            5 => format::bytes(n.outstanding_from),
            6 => format::bytes(n.outstanding_to),
            _ => {
                let peak = self.table.peaks.as_ref().and_then(|peaks| peaks.get(row));
                peak.map_or_else(|| "\u{2026}".to_owned(), |&peak| format::bytes(peak))
            }
        }
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: usize) {
        let Some(group) = self.table.groups.get(row) else { return };
        let mut text = egui::RichText::new(self.text(row, column));
        if column == 0 {
            // Those without a line keep the place free, so that names stand below each other.
            if self.split != Split::Heaps {
                let (rect, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), egui::Sense::hover());
                if let Some(color) = self.color(&group.key, ui) {
                    ui.painter().rect_filled(rect, 3.0, color);
                }
            }
            if &*group.key.name != UNKNOWN_TYPE {
                text = text.monospace().size(12.0);
            }
        } else if column == 3 {
            text = text.color(number_color(group.numbers.impacting, ui.visuals()));
        }
        ui.add(egui::Label::new(text).extend());
    }

    fn is_selected(&self, row: usize) -> bool {
        self.chosen.is_some() && self.table.groups.get(row).map(|group| &group.key) == self.chosen.as_ref()
    }

    fn clicked(&mut self, row: usize) {
        let Some(group) = self.table.groups.get(row) else { return };
        let what = Predicate::Type(group.key.clone());
        self.around.commands.doc(match self.is_selected(row) {
            true => DocCommand::RemoveChip(what),
            false => DocCommand::AddChip(Chip::only(what)),
        });
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let is_chosen = self.is_selected(row);
        if ui.button(if is_chosen { "Show all types" } else { "Filter to this type" }).clicked() {
            self.clicked(row);
        }
        if let Some(group) = self.table.groups.get(row)
            && ui.button("Leave this type out").clicked()
        {
            self.around.commands.doc(DocCommand::AddChip(Chip::without(Predicate::Type(group.key.clone()))));
        }
    }

    fn copy(&mut self, text: String) {
        self.around.commands.push(Command::Copy(text));
    }

    fn sorted_by(&self) -> Option<(usize, bool)> {
        let sort = *self.sort;
        SORTS.iter().position(|&column| column == sort.column).map(|column| (column, sort.descending))
    }

    fn bound(&self, column: usize) -> Option<String> {
        losses::bound(&self.around.document.trace, self.table.interval, SORTS[column])
    }

    fn header_clicked(&mut self, column: usize) {
        *self.sort = self.sort.by(SORTS[column]);
    }
}
