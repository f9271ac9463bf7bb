//! The table of types. A click filters all views to one type.

use std::sync::Arc;

use eframe::egui::{self, Ui};

use super::{TypeTable, Types};
use crate::app::base::table::{FlatTable, TableSource};
use crate::app::base::theme;
use crate::app::commands::{Command, DocCommand};
use crate::app::state::filters::{Chip, Predicate};
use crate::app::state::graph::{LineOf, Split};
use crate::app::views::ViewContext;
use crate::app::widgets::columns::{list_column, title, value};
use crate::app::widgets::list::{self, List, ListColumn, Name, Share, Style, Value};
use crate::app::widgets::losses;
use crate::query::{Column, Sort, TypeGroup, TypeKey, UNKNOWN_TYPE, layer_label, magnitude};

/// The columns of the table.
fn columns() -> [ListColumn; 8] {
    let mut columns = SORTS.map(list_column);
    columns[0] = ListColumn::rest(
        "Allocated type",
        "C++ type of the allocations, as the compiler noted it at the call that allocates (S_HEAPALLOCSITE); where it noted none, or the symbols are not there, (unknown type)",
    );
    columns[1] = ListColumn::text("Layer", "Layers of memory nest, so their sizes are never added", 150.0);
    columns
}

/// The sort key of each column; the layer sorts by name.
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

pub fn show(view: &mut Types, context: &mut ViewContext<'_>, ui: &mut Ui) {
    let Some(table) = &view.table else {
        context.wait(ui);
        return;
    };
    if table.groups.is_empty() {
        let text = match view.search.is_empty() {
            true => "Nothing was alive in this interval.",
            false => "No type in this interval has that in its name.",
        };
        context.nothing(ui, text);
        return;
    }
    if table.groups.iter().all(|group| &*group.key.name == UNKNOWN_TYPE) {
        ui.weak("No type is known: types come from the symbols of modules that were built with /Zi or /Z7. The tab Symbols says what was found.");
    }
    let (rows, mut sort) = (table.groups.len(), view.sort);
    let chosen = context.document.filters().chosen_type().cloned();
    let mut lines = Lines { split: view.split, sort: &mut sort, chosen, table, searched: &view.search, context };
    list::show(ui, "types", &columns(), rows, &mut lines);
    if sort != view.sort {
        view.sort = sort;
        context.ask();
    }
}

/// The label of a way to split the graph.
fn split_label(split: Split) -> String {
    match split {
        Split::Sources => "Graph by source".to_owned(),
        Split::Types => "Graph by type".to_owned(),
        Split::Stack(layer) => format!("Types stacked: {}", layer_label(layer)),
    }
}

/// Draws the choice of how the graph is split. Layers nest, so each has a stacked graph of its own.
pub fn split(view: &mut Types, context: &mut ViewContext<'_>, ui: &mut Ui) {
    let layers = context.document.source_list.layers.iter().map(|sum| Split::Stack(sum.layer));
    let layers: Vec<Split> = [Split::Sources, Split::Types].into_iter().chain(layers).collect();
    let shown = egui::ComboBox::from_id_salt("graph split").width(170.0).selected_text(split_label(view.split));
    shown.show_ui(ui, |ui| {
        for split in layers {
            if ui.selectable_label(view.split == split, split_label(split)).clicked() {
                view.split = split;
                context.ask();
            }
        }
    });
}

struct Lines<'a, 'b> {
    split: Split,
    sort: &'a mut Sort,
    chosen: Option<TypeKey>,
    table: &'a Arc<TypeTable>,
    searched: &'a str,
    context: &'a mut ViewContext<'b>,
}

impl Lines<'_, '_> {
    /// The colour of the type's line on the graph, if it has one.
    fn color(&self, key: &TypeKey, ui: &Ui) -> Option<egui::Color32> {
        let number = self.context.document.color_of(&LineOf::Type(key.clone()))?;
        Some(theme::series(number, ui.visuals()))
    }
}

impl TypeTable {
    fn peak(&self, row: usize) -> Option<u64> {
        self.peaks.as_ref()?.get(row).copied()
    }
}

impl FlatTable for TypeTable {
    const TITLE: &'static str = "Types";

    fn columns() -> impl AsRef<[ListColumn]> {
        columns()
    }

    fn len(&self) -> usize {
        self.groups.len()
    }

    fn value(&self, row: usize, column: usize) -> Value {
        let Some(TypeGroup { key, numbers: n, .. }) = self.groups.get(row) else { return Value::Nothing };
        match column {
            0 => Value::text(&*key.name),
            1 => Value::text(layer_label(key.layer)),
            _ => SORTS.get(column).map_or(Value::Nothing, |&column| value(column, n, self.peak(row), None)),
        }
    }
}

impl List for Lines<'_, '_> {
    fn value(&self, row: usize, column: usize) -> Value {
        self.table.value(row, column)
    }

    fn share(&self, row: usize, column: usize) -> Option<Share> {
        let group = self.table.groups.get(row)?;
        let number = match SORTS[column] {
            Column::Name => return None,
            Column::Peak => self.table.peak(row)?,
            column => magnitude(column, &group.numbers),
        };
        Share::of(number, self.table.wholes.of(group.key.layer))
    }

    fn whole(&self, row: usize, column: usize) -> String {
        let layer = self.table.groups.get(row).map_or("", |group| layer_label(group.key.layer));
        format!("{} of all types in {layer}", title(SORTS[column]))
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: usize) {
        let Some(group) = self.table.groups.get(row) else { return };
        if column > 0 {
            list::plain(self, ui, row, column);
            return;
        }
        // Types without a line leave the space of the swatch empty, so that all names are aligned.
        if self.split != Split::Sources {
            let (rect, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), egui::Sense::hover());
            if let Some(color) = self.color(&group.key, ui) {
                ui.painter().rect_filled(rect, 3.0, color);
            }
        }
        let style = if &*group.key.name == UNKNOWN_TYPE { Style::Weak } else { Style::Code };
        list::name(ui, Name { text: &group.key.name, style, searched: self.searched });
    }

    fn is_selected(&self, row: usize) -> bool {
        self.chosen.is_some() && self.table.groups.get(row).map(|group| &group.key) == self.chosen.as_ref()
    }

    fn clicked(&mut self, row: usize) {
        let Some(group) = self.table.groups.get(row) else { return };
        let what = Predicate::Type(group.key.clone());
        self.context.commands.doc(match self.is_selected(row) {
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
            && ui.button("Exclude this type").clicked()
        {
            self.context.commands.doc(DocCommand::AddChip(Chip::without(Predicate::Type(group.key.clone()))));
        }
    }

    fn push(&mut self, command: Command) {
        self.context.commands.push(command);
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(Arc::clone(self.table) as Arc<dyn TableSource>)
    }

    fn sorted_by(&self) -> Option<(usize, bool)> {
        let sort = self.sort.in_interval(self.table.interval);
        SORTS.iter().position(|&column| column == sort.column).map(|column| (column, sort.descending))
    }

    fn bound(&self, column: usize) -> Option<String> {
        losses::bound(&self.context.document.trace, self.table.interval, SORTS[column])
    }

    fn header_clicked(&mut self, column: usize) {
        *self.sort = self.sort.by(SORTS[column]);
    }

    fn is_shown(&self, column: usize) -> Option<bool> {
        // Otherwise (`None`) the list remembers which columns the user has hidden.
        self.table.interval.is_empty().then(|| SORTS[column].says_something(self.table.interval))
    }
}
