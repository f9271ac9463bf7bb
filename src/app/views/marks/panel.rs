//! The list of marks.

use std::borrow::Borrow;
use std::sync::Arc;

use eframe::egui::{self, Ui};

use super::{Line, Listed, MOST_SCOPES, Marks, Order, magnitude};
use crate::app::base::table::{FlatTable, SavedSort, Sort, TableSource, TypedColumn};
use crate::app::commands::DocCommand;
use crate::app::document::lasting;
use crate::app::jobs::drop_aside;
use crate::app::state::ids::{MOST_MARKS, Stop, Tab, ViewId};
use crate::app::state::overlay::Overlay;
use crate::app::state::overlays::centered;
use crate::app::state::view_choices::{NodePlace, ViewChoices};
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::centered::centered as in_place;
use crate::app::widgets::list::{self, ColumnOf, List, ListColumn, Name, Share, Style, Value, widest};
use crate::app::widgets::mark_menu::{edges, one_mark};
use crate::format;
use crate::model::Mark;
use crate::query::thread_label;
use crate::units::{Interval, Layer, Ticks};

/// Zooming to a mark without a duration shortens the view by this factor, with the mark in the middle.
const ZOOM: i64 = 20;

impl Pane for Marks {
    fn forget(&mut self) {
        drop_aside((self.listed.take(), self.names.take()));
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        if !Overlay::Marks.is_in(&context.document.trace) && context.document.is_settled() {
            in_place(
                ui,
                "The trace has no marks. Marks are written by xperf -m and wpr -marker, by UIforETW, by the .NET runtime \
                     (collections), and by providers that are chosen when it is recorded.",
            );
            return;
        }
        if self.is_by_name {
            self.show_names(context, ui);
            return;
        }
        let Some(listed) = &self.listed else {
            context.wait(ui);
            return;
        };
        if listed.lines.is_empty() {
            context.nothing(ui, "No mark was written in this view.");
            return;
        }
        let Self { search, sort, selected, .. } = self;
        let pushed = list::show(ui, "marks", listed, &mut Lines { listed, searched: search, sort, selected, context });
        context.commands.append(pushed);
    }

    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let document = context.document;
        let (edges, are_all) = edges(document, document.view());
        let hint = match are_all {
            true => "Use the marks in view as generation boundaries: what does each stretch leave behind?",
            false => "More than 100 marks in view: zoom in first",
        };
        let button = egui::Button::new("As generation boundaries");
        if ui.add_enabled(are_all && !edges.is_empty(), button).on_hover_text(hint).on_disabled_hover_text(hint).clicked() {
            context.commands.push(DocCommand::MarkAll(edges));
            context.commands.push(DocCommand::ShowTab(Tab::View(ViewId::Generations)));
        }
        debug_assert_eq!(MOST_MARKS, 100, "the hint says so");
        self.scope_tools(context, ui);
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.search)
    }

    fn search(&mut self, text: String) {
        self.search = text;
    }

    fn has_selected(&self) -> bool {
        self.selected.is_some()
    }

    fn unselect(&mut self) {
        self.selected = None;
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(match self.is_by_name {
            true => Arc::clone(self.names.as_ref()?) as Arc<dyn TableSource>,
            false => Arc::clone(self.listed.as_ref()?) as Arc<dyn TableSource>,
        })
    }

    fn order(&self) -> Option<SavedSort> {
        self.sort.saved()
    }

    fn set_order(&mut self, order: Option<&SavedSort>) {
        self.sort = order.and_then(Sort::of).unwrap_or(Self::default().sort);
    }

    fn layer(&self) -> Option<Layer> {
        self.layer.own()
    }

    fn set_layer(&mut self, layer: Option<Layer>) {
        self.layer = layer.into();
    }

    fn add_choices(&self, choices: &mut ViewChoices) {
        choices.selected = self.selected.map(NodePlace::Mark);
    }

    fn take_choices(&mut self, choices: &ViewChoices) {
        self.selected = match choices.selected {
            Some(NodePlace::Mark(place)) => Some(place),
            _ => None,
        };
    }
}

impl Marks {
    /// Draws the choice between marks and names of scopes, and that of a layer, if the view has scopes.
    fn scope_tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let each = self.listed.as_ref().filter(|listed| listed.scopes > 0);
        if each.is_none() && !self.is_by_name {
            return;
        }
        let hint = "One line per scope name: what the scopes' own threads allocated in them, nested scopes included";
        if ui.toggle_value(&mut self.is_by_name, "Scopes by name").on_hover_text(hint).clicked() {
            context.ask();
        }
        let layer = match self.is_by_name {
            true => self.names.as_ref().map(|names| names.layer),
            false => each.map(|listed| listed.layer),
        };
        self.layer.show_as(context, ui, layer);
        let is_cut = match self.is_by_name {
            true => self.names.as_ref().is_some_and(|names| names.is_cut),
            false => each.is_some_and(|listed| listed.scopes == MOST_SCOPES),
        };
        if is_cut {
            ui.weak(format!("Allocations only of the first {} scopes: zoom in", format::count(MOST_SCOPES as u64)));
        }
    }

    fn show_names(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let Some(names) = &self.names else {
            context.wait(ui);
            return;
        };
        if names.is_empty() {
            context.nothing(ui, "No thread was in a scope in this view.");
            return;
        }
        if let Some(opened) = names.show(ui, &self.search, &mut self.names_sort, context) {
            (self.search, self.is_by_name) = (opened, false);
            context.ask();
        }
    }
}

struct Lines<'a, 'b> {
    listed: &'a Arc<Listed>,
    searched: &'a str,
    sort: &'a mut Sort<Order>,
    selected: &'a mut Option<usize>,
    context: &'a mut ViewContext<'b>,
}

impl Listed {
    /// A value of a line's mark.
    fn value(&self, line: &Line, of: impl Fn(&Mark) -> Value) -> Value {
        self.trace.activity.marks.list.get(line.place as usize).map_or(Value::Nothing, of)
    }

    fn duration(&self, line: &Line) -> Value {
        let seconds = |during: Interval| self.trace.clock.seconds(Ticks(during.len()));
        self.value(line, |mark| lasting(mark).map_or(Value::Nothing, |during| Value::Duration(seconds(during))))
    }

    fn process(&self, line: &Line) -> Value {
        let label = |process| Value::Text(self.trace.process(process).label_with_id());
        self.value(line, |mark| mark.process.map_or(Value::Nothing, label))
    }

    fn thread(&self, line: &Line) -> Value {
        self.value(line, |mark| match mark.process {
            Some(process) => Value::Text(thread_label(&self.trace, process, mark.tid)),
            None if mark.tid.is_known() => Value::Text(mark.tid.to_string()),
            None => Value::Nothing,
        })
    }
}

impl FlatTable for Listed {
    const TITLE: &'static str = "Marks";
    type Line = Line;
    type Key = Order;
    const COLUMNS: &'static [TypedColumn<Self, Line, Order>] = &[
        ListColumn::number("Start", "When it was written, or when what it describes began", widest::MOMENT)
            .by(Order::Time, |listed, line| listed.value(line, |mark| Value::moment(mark.from, &listed.trace.clock))),
        ListColumn::number("Duration", "Duration, if it has one: a collection, a scope", widest::DURATION)
            .by(Order::Duration, Listed::duration),
        ListColumn::rest("Text", "The text of the mark")
            .by(Order::Text, |listed, line| listed.value(line, |mark| Value::text(&*mark.text))),
        ListColumn::number("Allocations", "Allocations of a scope's own thread in it", widest::COUNT)
            .by(Order::Allocations, |_, line| line.sums.map_or(Value::Nothing, |sums| Value::Count(sums.allocated_count))),
        ListColumn::number("Allocated", "Bytes of these allocations", widest::BYTES)
            .by(Order::Allocated, |_, line| line.sums.map_or(Value::Nothing, |sums| Value::Bytes(sums.allocated_size))),
        ListColumn::text("By", "Who wrote it: marks of xperf and wpr, the runtime's collections, or a provider", 160.0)
            .of(|listed, line| listed.value(line, |mark| Value::Text(listed.trace.activity.marks.provider(mark).label()))),
        ListColumn::text("Process", "The process that wrote it", 180.0).of(Listed::process),
        ListColumn::number("Thread", "The thread that wrote it", widest::THREAD).of(Listed::thread),
    ];

    fn has(&self, key: Option<&Order>) -> bool {
        self.scopes > 0 || !matches!(key, Some(Order::Allocations | Order::Allocated))
    }

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<Line>> {
        self.lines.get(row)
    }
}

impl List<Listed> for Lines<'_, '_> {
    fn name<'n>(&'n self, _: usize, text: &'n str) -> Name<'n> {
        Name { text, style: Style::Plain, searched: self.searched }
    }

    fn share(&self, row: usize, column: ColumnOf<Listed>) -> Option<Share> {
        let line = self.listed.lines.get(row)?;
        Share::of(magnitude(column.key?, line)?, self.listed.most, "the most of one scope in the list")
    }

    fn is_selected(&self, row: usize) -> bool {
        self.selected.is_some() && self.listed.mark(row).map(|(place, _)| place) == *self.selected
    }

    fn clicked(&mut self, row: usize) {
        let Some((place, _)) = self.listed.mark(row) else { return };
        *self.selected = Some(place);
        self.context.commands.push(DocCommand::StepTo(Stop::Mark(place)));
    }

    fn double_clicked(&mut self, row: usize) {
        let Some((_, mark)) = self.listed.mark(row) else { return };
        let (view, span) = (self.context.document.view(), self.listed.trace.span);
        let during = lasting(mark);
        let at = during.unwrap_or(Interval { from: mark.at, to: mark.at });
        let length = if during.is_some() { at.len() + at.len() / 2 } else { view.len() / ZOOM };
        self.context.commands.push(DocCommand::Zoom(centered(at, length.max(10), span)));
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let Some((place, mark)) = self.listed.mark(row) else { return };
        for (text, command) in one_mark(self.context.document, mark, place) {
            self.context.commands.on_click(&ui.button(text), command);
        }
    }

    fn sorted(&self, column: ColumnOf<Listed>) -> Option<bool> {
        (column.key == Some(self.sort.by)).then_some(self.sort.descending)
    }

    fn header_clicked(&mut self, column: ColumnOf<Listed>) {
        *self.sort = self.sort.clicked(column.key, Order::is_descending_first);
        self.context.ask();
    }
}
