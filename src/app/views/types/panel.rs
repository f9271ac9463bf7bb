//! The table of types. A click filters all views to one type.

use std::borrow::Borrow;
use std::sync::Arc;

use eframe::egui::{self, Ui};

use super::{Line, TypeTable, Types};
use crate::app::base::table::{FlatTable, SavedSort, TableSource, TypedColumn};
use crate::app::base::theme;
use crate::app::commands::DocCommand;
use crate::app::state::filters::{Chip, Predicate};
use crate::app::state::graph::{LineOf, Split};
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::columns::{list_column, restored, saved, value};
use crate::app::widgets::drop_down::drop_down;
use crate::app::widgets::list::{self, ColumnOf, List, ListColumn, Name, Share, Style, Value};
use crate::app::widgets::losses;
use crate::query::{Column, Sort, TypeKey, UNKNOWN_TYPE, layer_label};

/// A column of numbers, which sorts by them.
macro_rules! numbers {
    ($column:ident) => {
        list_column(Column::$column)
            .by(Column::$column, |_, line: &Line| value(Column::$column, &line.group.numbers, line.peak, None))
    };
}

impl Pane for Types {
    fn forget(&mut self) {
        self.table = None;
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let Some(table) = &self.table else {
            context.wait(ui);
            return;
        };
        if table.lines.is_empty() {
            let text = match self.search.is_empty() {
                true => "Nothing was alive in this interval.",
                false => "No type in this interval matches the search.",
            };
            context.nothing(ui, text);
            return;
        }
        if table.lines.iter().all(|line| &*line.group.key.name == UNKNOWN_TYPE) {
            ui.weak(
                "No types known: they come from symbols of modules built with /Zi or /Z7. The tab Symbols says what was found.",
            );
        }
        let chosen = context.document.filters().chosen_type().cloned();
        let mut lines = Lines { split: self.split, sort: &mut self.sort, chosen, table, searched: &self.search, context };
        let pushed = list::show(ui, "types", table, &mut lines);
        context.commands.append(pushed);
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(Arc::clone(self.table.as_ref()?) as Arc<dyn TableSource>)
    }

    fn order(&self) -> Option<SavedSort> {
        saved(self.sort)
    }

    fn set_order(&mut self, order: Option<&SavedSort>) {
        let has = |column| TypeTable::COLUMNS.iter().any(|own| own.key == Some(column));
        self.sort = restored(order, has).unwrap_or_default();
    }

    /// Draws the choice of how the graph is split. Layers nest, so each has a stacked graph of its own.
    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let layers = context.document.source_list.layers.iter().map(|sum| Split::Stack(sum.layer));
        let layers: Vec<Split> = [Split::Sources, Split::Types].into_iter().chain(layers).collect();
        let shown = drop_down(ui, "graph split", 170.0, split_label(self.split));
        shown.show_ui(ui, |ui| {
            for split in layers {
                if ui.selectable_label(self.split == split, split_label(split)).clicked() {
                    self.split = split;
                    context.ask();
                }
            }
        });
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.search)
    }

    fn search(&mut self, text: String) {
        self.search = text;
    }

    fn split(&self) -> Split {
        self.split
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

struct Lines<'a, 'b> {
    split: Split,
    sort: &'a mut Sort,
    chosen: Option<TypeKey>,
    table: &'a Arc<TypeTable>,
    searched: &'a str,
    context: &'a mut ViewContext<'b>,
}

impl<'a> Lines<'a, '_> {
    fn key(&self, row: usize) -> Option<&'a TypeKey> {
        Some(&self.table.lines.get(row)?.group.key)
    }

    /// The colour of the type's line on the graph, if it has one.
    fn color(&self, key: &TypeKey, ui: &Ui) -> Option<egui::Color32> {
        let number = self.context.document.color_of(&LineOf::Type(key.clone()))?;
        Some(theme::series(number, ui.visuals()))
    }
}

impl FlatTable for TypeTable {
    const TITLE: &'static str = "Types";
    type Line = Line;
    type Key = Column;
    /// The columns of the table; the layer sorts by name.
    const COLUMNS: &'static [TypedColumn<Self, Line, Column>] = &[
        ListColumn::rest(
            "Allocated type",
            "C++ type of the allocations, as the compiler noted it at the call that allocates (S_HEAPALLOCSITE); where it noted none, or the symbols are not there, (unknown type)",
        )
        .by(Column::Name, |_, line| Value::text(&*line.group.key.name)),
        ListColumn::text("Layer", "Layers of memory nest, so their sizes are never added", 150.0)
            .by(Column::Name, |_, line| Value::text(layer_label(line.group.key.layer))),
        numbers!(Count),
        numbers!(Impacting),
        numbers!(Size),
        numbers!(OutstandingFrom),
        numbers!(OutstandingTo),
        numbers!(Peak),
    ];

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<Line>> {
        self.lines.get(row)
    }
}

impl List<TypeTable> for Lines<'_, '_> {
    fn share(&self, row: usize, column: ColumnOf<TypeTable>) -> Option<Share> {
        let line = self.table.lines.get(row)?;
        let layer = line.group.key.layer;
        let whole = match column.key {
            Some(Column::Impacting) => {
                format!("the change of all types in {}, growth and shrinkage together", layer_label(layer))
            }
            _ => format!("{} of all types in {}", column.head.title, layer_label(layer)),
        };
        Share::of(line.magnitude(column.key?)?, self.table.wholes.of(layer), whole)
    }

    fn name<'n>(&'n self, _: usize, text: &'n str) -> Name<'n> {
        Name { text, style: if text == UNKNOWN_TYPE { Style::Weak } else { Style::Code }, searched: self.searched }
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: ColumnOf<TypeTable>, value: &Value) {
        let Some(key) = self.key(row) else { return };
        // Types without a line leave the space of the swatch empty, so that all names are aligned.
        if column.head.is_rest() && self.split != Split::Sources {
            let (rect, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), egui::Sense::hover());
            if let Some(color) = self.color(key, ui) {
                ui.painter().rect_filled(rect, 3.0, color);
            }
        }
        list::plain(self, ui, row, column, value);
    }

    fn is_selected(&self, row: usize) -> bool {
        self.chosen.is_some() && self.key(row) == self.chosen.as_ref()
    }

    fn clicked(&mut self, row: usize) {
        let Some(what) = self.key(row).cloned().map(Predicate::Type) else { return };
        self.context.commands.push(match self.is_selected(row) {
            true => DocCommand::RemoveChip(what),
            false => DocCommand::AddChip(Chip::only(what)),
        });
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let is_chosen = self.is_selected(row);
        if ui.button(if is_chosen { "Show all types" } else { "Filter to this type" }).clicked() {
            self.clicked(row);
        }
        if let Some(key) = self.key(row)
            && ui.button("Exclude this type").clicked()
        {
            self.context.commands.push(DocCommand::AddChip(Chip::without(Predicate::Type(key.clone()))));
        }
    }

    fn sorted(&self, column: ColumnOf<TypeTable>) -> Option<bool> {
        let sort = self.sort.in_interval(self.table.interval);
        (column.key == Some(sort.column)).then_some(sort.descending)
    }

    fn bound(&self, column: ColumnOf<TypeTable>) -> Option<String> {
        losses::bound(&self.context.document.trace, self.table.interval, column.key?)
    }

    fn header_clicked(&mut self, column: ColumnOf<TypeTable>) {
        if let Some(column) = column.key {
            *self.sort = self.sort.by(column);
            self.context.ask();
        }
    }

    fn is_shown(&self, column: ColumnOf<TypeTable>) -> Option<bool> {
        // Otherwise (`None`) the list remembers which columns the user has hidden.
        column.key.filter(|_| self.table.interval.is_empty()).map(|column| column.says_something(self.table.interval))
    }
}
