//! The tree table, with the butterfly of the selected function beside it.

use std::sync::Arc;

use eframe::egui::{self, Key, Modifiers, Ui};

use super::table::{self, Titled};
use super::tools::above_table;
use super::{CallTable, CallTrees, Grouping, choices, tools, wings};
use crate::app::base::table::{SavedSort, TableSource};
use crate::app::commands::keys::{Owner, STEPS};
use crate::app::commands::{Command, Setting};
use crate::app::document::Document;
use crate::app::jobs::{ForestKind, drop_aside};
use crate::app::state::filters::Predicate;
use crate::app::state::ids::Place;
use crate::app::state::view_choices::ViewChoices;
use crate::app::views::histograms::AnyBucket;
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::centered::centered;
use crate::app::widgets::columns::{self, title};
use crate::app::widgets::list::{self, List, Name, Share, Style, Value};
use crate::app::widgets::{losses, source_lines};
use crate::format;
use crate::model::Trace;
use crate::query::{CallLine, Column, NodeKey, RowGrouping, SHARED, SiteLabels, layer_label, magnitude};
use crate::stack_rules::NO_TAG;
use crate::units::Layer;

/// The hint for a trace in which no free has a stack.
const NO_FREE_STACKS: &str = "No free in this trace has a call stack. To see who frees, record them: \
                              highwater record --stacks --free-stacks, or with xperf -stackwalk VirtualFree \
                              for commit and HeapFree for heaps.";

/// The user's action on the table.
enum Action {
    Select(usize),
    Toggle(usize),
    SortBy(Column),
}

impl<const FREES: bool> Pane for CallTrees<FREES> {
    fn forget(&mut self) {
        drop_aside(self.table.take());
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        above_table(self, context, ui);
        let Some(table) = &self.table else {
            context.wait(ui);
            return;
        };
        if let Some(butterfly) = &table.butterfly {
            let room = ui.available_width();
            let shown = egui::Panel::right("butterfly").resizable(true).default_size((room * 0.42).clamp(240.0, 560.0));
            let shown = shown.size_range(220.0..=(room - 200.0).max(240.0));
            let can_go_back = !self.middles_before.is_empty();
            let did = shown.show(ui, |ui| wings::show(ui, table, butterfly, can_go_back, context)).inner;
            if let Some(did) = did {
                wings::carry_out(self, did);
                context.ask();
                return; // the rest follows with the next frame
            }
        }
        if FREES && table.trace.free_sites.is_empty() {
            centered(ui, NO_FREE_STACKS);
            return;
        }
        if table.lines.is_empty() {
            let text = match table.asked.search.trim().is_empty() {
                true if FREES => format!("{}: nothing was freed in this interval.", layer_label(table.layer)),
                true => format!("{}: nothing was alive in this interval.", layer_label(table.layer)),
                false => "Nothing in this interval matches the search.".to_owned(),
            };
            context.nothing(ui, &text);
            return;
        }
        if table.asked.grouping == Grouping::Rows(RowGrouping::Tag) && table.functions.rules().tags().is_empty() {
            ui.weak(
                "No rule names stacks yet: choose Tag these stacks\u{2026} in the menu of a function, or View, Stack rules\u{2026}",
            );
        }
        if FREES && table.lines.iter().all(|line| table.key(line) == NodeKey::NoStack) {
            ui.weak("What was freed in this layer and interval was recorded without stacks.");
        }
        let by_key = keys(ui, table, self.line);
        let is_key = by_key.is_some();
        let reveal = std::mem::take(&mut self.reveal).then_some(self.line).flatten();
        let mut lines = Lines { table, selected: self.line, reveal, did: by_key, context };
        let pushed = list::show(ui, "functions", table, &mut lines);
        let did = lines.did;
        context.commands.append(pushed);
        let Some(did) = did else { return };
        match did {
            Action::Select(index) => {
                self.select(index);
                self.reveal = is_key;
            }
            Action::Toggle(index) => self.toggle(index),
            Action::SortBy(column) => self.wish.sort = self.wish.sort.by(column),
        }
        context.ask();
    }

    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        tools::beside_tabs(self, context, ui);
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.wish.search)
    }

    fn search(&mut self, text: String) {
        self.wish.search = text;
        self.seeks = false;
    }

    fn settle(&mut self, _: &Trace) -> bool {
        self.seeks && self.go_to_first()
    }

    fn go_to_found(&mut self, _: &Document) {
        self.seeks = true;
        self.go_to_first();
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(Arc::clone(self.table.as_ref()?) as Arc<dyn TableSource>)
    }

    fn order(&self) -> Option<SavedSort> {
        columns::saved(self.wish.sort)
    }

    fn set_order(&mut self, order: Option<&SavedSort>) {
        let sort = columns::restored(order, |column| table::has(column, FREES));
        self.wish.sort = sort.unwrap_or(Self::default().wish.sort);
    }

    fn layer(&self) -> Option<Layer> {
        self.wish.layer.own()
    }

    fn set_layer(&mut self, layer: Option<Layer>) {
        self.wish.layer = layer.into();
    }

    fn add_choices(&self, choices: &mut ViewChoices) {
        choices::add(&self.wish, choices);
    }

    fn take_choices(&mut self, choices: &ViewChoices) {
        self.group(choices::grouping(choices, FREES));
        self.wish.opened = choices::opened(choices);
        self.unselect();
        self.wish.selected = choices::selected(choices, self.wish.grouping);
        self.wish.middle = choices.middle.clone().filter(|_| !FREES);
        self.awaits_line = self.wish.selected.is_some();
    }

    fn show_place(&mut self, place: &Place, _: &Document) -> bool {
        let (grouping, layer, name) = match place {
            _ if FREES => return false,
            Place::Heap(_) => return false,
            Place::Function(layer, name) => (Grouping::Sites(ForestKind::ByFunction), *layer, name),
            Place::Module(layer, name) => (Grouping::Sites(ForestKind::ByModule), *layer, name),
            Place::Type(layer, name) => (Grouping::Rows(RowGrouping::Type), *layer, name),
            Place::Tag(layer, name) => (Grouping::Rows(RowGrouping::Tag), *layer, name),
        };
        self.group(grouping);
        self.wish.layer.keep(layer);
        self.wish.search.clear();
        self.wish.selected = Some([Arc::clone(name)].into());
        self.close_butterfly();
        self.awaits_line = true;
        true
    }

    fn has_selected(&self) -> bool {
        self.wish.selected.is_some()
    }

    fn unselect(&mut self) {
        self.wish.selected = None;
        self.close_butterfly();
        self.line = None;
    }

    fn says(&self) -> Option<String> {
        let table = self.table.as_ref()?;
        let line = table.lines.get(self.line?)?;
        let n = &line.numbers;
        let name = table.own_name(line);
        Some(match FREES {
            true => format!("{name}: freed {}, {}", format::count(n.count), format::bytes(n.size)),
            false => format!("{name}: {}", columns::in_words(n, table.interval)),
        })
    }
}

/// The action of a pressed key on the selected row, unless a text field has the focus.
fn keys(ui: &Ui, table: &CallTable, selected: Option<usize>) -> Option<Action> {
    if !Owner::now(ui.ctx()).is_table(ui.ctx()) {
        return None;
    }
    let pressed = |key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
    let last = table.lines.len().checked_sub(1)?;
    for (key, by) in STEPS {
        if pressed(key) {
            return Some(Action::Select(selected.map_or(0, |index| index.saturating_add_signed(by).min(last))));
        }
    }
    let index = selected?;
    let line = table.lines.get(index)?;
    if pressed(Key::ArrowRight) && line.has_children {
        return Some(if line.is_open { Action::Select((index + 1).min(last)) } else { Action::Toggle(index) });
    }
    if pressed(Key::ArrowLeft) {
        return if line.is_open {
            Some(Action::Toggle(index))
        } else {
            line.parent.map(|parent| Action::Select(parent as usize))
        };
    }
    None
}

struct Lines<'a, 'b> {
    table: &'a Arc<CallTable>,
    selected: Option<usize>,
    reveal: Option<usize>,
    did: Option<Action>,
    context: &'a mut ViewContext<'b>,
}

impl Lines<'_, '_> {
    fn line(&self, row: usize) -> Option<&CallLine> {
        self.table.lines.get(row)
    }

    fn name_cell(&mut self, ui: &mut Ui, row: usize, text: &str) {
        let table = self.table;
        let Some(line) = table.lines.get(row) else { return };
        if table.asked.grouping.is_tree()
            && list::branch(ui, line.depth as usize, line.has_children.then_some(line.is_open), text)
        {
            self.did = Some(Action::Toggle(row));
        }
        let is_middle = || table.butterfly.as_ref().is_some_and(|butterfly| *butterfly.name == *table.own_name(line));
        let style = match table.key(line) {
            NodeKey::Function(_) if is_middle() => Style::StrongFrame,
            NodeKey::Function(_) => Style::Frame,
            NodeKey::All | NodeKey::NoStack | NodeKey::NoModule => Style::Weak,
            NodeKey::Label(_) if text == NO_TAG => Style::Weak,
            _ => Style::Plain,
        };
        let label = list::name(ui, Name { text, style, searched: &table.asked.search });
        label.on_hover_ui(|ui| details(ui, table, line, text));
    }
}

/// Draws the tooltip of a row: its names and its share of the layer.
fn details(ui: &mut Ui, table: &CallTable, line: &CallLine, name: &str) {
    name.split(SHARED).for_each(|name| _ = ui.strong(name));
    for column in [Column::Size, Column::OutstandingTo] {
        let (part, whole) = (magnitude(column, &line.numbers), magnitude(column, &table.whole));
        if whole > 0 {
            let share = format::percent(part as f64 / whole as f64);
            ui.label(format!("{share} of {}, by {}", layer_label(table.layer), title(column)));
        }
    }
    ui.weak(match table.asked.frees {
        true => "Double click to open or close",
        false => "Click for callers and callees, double click to open or close",
    });
}

impl List<CallTable> for Lines<'_, '_> {
    fn share(&self, row: usize, Titled { column: of, .. }: Titled) -> Option<Share> {
        let line = self.line(row)?;
        let number = match of {
            Column::Name | Column::Source => return None,
            Column::Peak => self.table.peak(row)?,
            Column::Touched => return columns::touched_share(self.table.touched(row)??),
            _ => magnitude(of, &line.numbers),
        };
        if of == Column::Impacting {
            return Share::of(number, self.table.all_change, columns::all_change(self.table.layer));
        }
        let name = format!("{}, by {}", layer_label(self.table.layer), title(of));
        let share = Share::of(number, self.table.scale, name)?;
        // The share can exceed 100 %: a part can have changed more than the whole.
        let whole = magnitude(of, &self.table.whole);
        Some(if of == Column::Peak || whole == 0 { share } else { Share { part: number as f64 / whole as f64, ..share } })
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: Titled, value: &Value) {
        match (column.column, value) {
            (Column::Name, Value::Text(text)) => self.name_cell(ui, row, text),
            _ => list::plain(self, ui, row, column, value),
        }
    }

    fn parent(&self, row: usize) -> Option<usize> {
        self.line(row)?.parent.map(|parent| parent as usize)
    }

    fn is_shown(&self, Titled { column, .. }: Titled) -> Option<bool> {
        let has_numbers = self.table.has_numbers(column);
        (!self.table.asked.frees).then(|| has_numbers && columns::is_shown(column, self.table.interval, self.context.settings))
    }

    fn show_column(&mut self, Titled { column, .. }: Titled, shown: bool) {
        self.context.commands.push(Setting::Column(column, shown));
    }

    fn is_selected(&self, row: usize) -> bool {
        self.selected == Some(row)
    }

    fn clicked(&mut self, row: usize) {
        self.did = Some(Action::Select(row));
    }

    fn double_clicked(&mut self, row: usize) {
        self.did = Some(Action::Toggle(row));
    }

    fn revealed(&self) -> Option<usize> {
        self.reveal
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let Some(line) = self.table.lines.get(row) else { return };
        let (key, name) = (self.table.key(line), self.table.own_name(line));
        if !self.table.asked.frees {
            // Filters are about the functions that allocated, so the view of frees does not offer them.
            match (key, &self.table.labels, self.table.asked.grouping) {
                (NodeKey::Heap(id), ..) => self.context.offer_heap(ui, id),
                (NodeKey::Label(id), Some(SiteLabels::Types(types)), _) => {
                    self.context.offer_filters(ui, "this type", Predicate::Type(types.key(id).clone()));
                }
                (NodeKey::Label(_), _, Grouping::Rows(RowGrouping::Owner)) => {
                    self.context.offer_filters(ui, "this owner", Predicate::Owner(name.as_str().into()));
                }
                (NodeKey::Label(_), ..) => {
                    self.context.offer_filters(ui, "this tag", Predicate::Tag(name.as_str().into()));
                }
                _ => offer(ui, self.context, key, &name),
            }
        }
        if let Some(source) = self.table.source(line) {
            source_lines::offer_line(ui, source, self.context.commands);
        }
        copy_name(ui, self.context, &name);
    }

    fn sorted(&self, Titled { column, .. }: Titled) -> Option<bool> {
        let sort = self.table.sort();
        (column == sort.column).then_some(sort.descending)
    }

    fn has_bars(&self, Titled { column, .. }: Titled) -> bool {
        column == Column::Touched || column == self.table.sort().column
    }

    fn bound(&self, Titled { column, .. }: Titled) -> Option<String> {
        if self.table.asked.frees {
            return None;
        }
        losses::bound(&self.table.trace, self.table.interval, column)
    }

    fn header_clicked(&mut self, Titled { column, .. }: Titled) {
        self.did = Some(Action::SortBy(column));
    }
}

/// Draws the context menu of a function or module.
pub fn menu(ui: &mut Ui, context: &mut ViewContext<'_>, key: NodeKey, name: &str) {
    offer(ui, context, key, name);
    copy_name(ui, context, name);
}

fn offer(ui: &mut Ui, context: &mut ViewContext<'_>, key: NodeKey, name: &str) {
    let clock = &context.document.trace.clock;
    let (word, what) = match key {
        NodeKey::Function(_) => ("this function", Predicate::Function(name.into())),
        NodeKey::Module(_) => ("this module", Predicate::Module(name.into())),
        NodeKey::Thread(_, thread) if thread.is_known() => ("this thread", Predicate::thread(thread)),
        NodeKey::Size(bucket) => ("this size", AnyBucket::Size(bucket).predicate(clock)),
        NodeKey::Lifetime(bucket) => ("this lifetime", AnyBucket::Lifetime(bucket).predicate(clock)),
        NodeKey::All | NodeKey::NoStack | NodeKey::NoModule | NodeKey::Heap(_) | NodeKey::Label(_) | NodeKey::Thread(..) => {
            return;
        }
    };
    context.offer_filters(ui, word, what);
    if matches!(key, NodeKey::Function(_)) {
        context.offer_rules(ui, name);
    }
}

fn copy_name(ui: &mut Ui, context: &mut ViewContext<'_>, name: &str) {
    context.commands.on_click(&ui.button("Copy name"), Command::Copy(name.to_owned()));
}
