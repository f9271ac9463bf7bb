//! The list of marks.

use std::borrow::Borrow;
use std::sync::Arc;

use eframe::egui::{self, Ui};

use super::{Listed, Marks, Order};
use crate::app::base::table::{FlatTable, Sort, TableSource, TypedColumn};
use crate::app::commands::DocCommand;
use crate::app::document::lasting;
use crate::app::jobs::drop_aside;
use crate::app::state::ids::{MOST_MARKS, Stop, Tab, ViewId};
use crate::app::state::overlay::Overlay;
use crate::app::state::overlays::centered;
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::list::{self, ColumnOf, List, ListColumn, Name, Style, Value, widest};
use crate::app::widgets::mark_menu::{edges, one_mark};
use crate::model::Mark;
use crate::query::thread_label;
use crate::units::{Interval, Ticks};

/// Zooming to a mark without a duration shortens the view by this factor, with the mark in the middle.
const ZOOM: i64 = 20;

impl Pane for Marks {
    fn forget(&mut self) {
        drop_aside(self.listed.take());
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        if !Overlay::Marks.is_in(&context.document.trace) && context.document.is_settled() {
            ui.centered_and_justified(|ui| {
                ui.label(
                    "The trace has no marks. Marks are written by xperf -m and wpr -marker, by UIforETW, by the .NET runtime \
                     (collections), and by providers that are chosen when it is recorded.",
                )
            });
            return;
        }
        let Some(listed) = &self.listed else {
            context.wait(ui);
            return;
        };
        if listed.places.is_empty() {
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
            true => "Let the marks in the view cut it into generations: what each stretch left behind",
            false => "There are more than 100 marks in the view: zoom in, so that generations can be told apart",
        };
        let button = egui::Button::new("As edges of generations");
        if ui.add_enabled(are_all && !edges.is_empty(), button).on_hover_text(hint).on_disabled_hover_text(hint).clicked() {
            context.commands.push(DocCommand::MarkAll(edges));
            context.commands.push(DocCommand::ShowTab(Tab::View(ViewId::Generations)));
        }
        debug_assert_eq!(MOST_MARKS, 100, "the hint says so");
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
        Some(Arc::clone(self.listed.as_ref()?) as Arc<dyn TableSource>)
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
    fn duration(&self, mark: &Mark) -> Value {
        lasting(mark).map_or(Value::Nothing, |during| Value::Duration(self.trace.clock.seconds(Ticks(during.len()))))
    }

    fn process(&self, mark: &Mark) -> Value {
        mark.process.map_or(Value::Nothing, |process| Value::Text(self.trace.process(process).label_with_id()))
    }

    fn thread(&self, mark: &Mark) -> Value {
        match mark.process {
            Some(process) => Value::Text(thread_label(&self.trace, process, mark.tid)),
            None if mark.tid.is_known() => Value::Text(mark.tid.to_string()),
            None => Value::Nothing,
        }
    }
}

impl FlatTable for Listed {
    const TITLE: &'static str = "Marks";
    type Line = Mark;
    type Key = Order;
    const COLUMNS: &'static [TypedColumn<Self, Mark, Order>] = &[
        ListColumn::number("Start", "When it was written; of what lasts, when that began", widest::MOMENT)
            .by(Order::Time, |listed, mark| Value::moment(mark.from, &listed.trace.clock)),
        ListColumn::number("Duration", "How long that lasts of which it tells: a collection, a scope", widest::DURATION)
            .by(Order::Duration, Listed::duration),
        ListColumn::rest("Text", "What it says").by(Order::Text, |_, mark| Value::text(&*mark.text)),
        ListColumn::text("By", "Who wrote it: marks of xperf and wpr, the runtime's collections, or a provider", 160.0)
            .of(|listed, mark| Value::Text(listed.trace.activity.marks.provider(mark).label())),
        ListColumn::text("Process", "In which process it was written", 180.0).of(Listed::process),
        ListColumn::number("Thread", "In which thread", widest::THREAD).of(Listed::thread),
    ];

    fn len(&self) -> usize {
        self.places.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<Mark>> {
        self.mark(row).map(|(_, mark)| mark)
    }
}

impl List<Listed> for Lines<'_, '_> {
    fn name<'n>(&'n self, _: usize, text: &'n str) -> Name<'n> {
        Name { text, style: Style::Plain, searched: self.searched }
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
        // By duration the longest come first, otherwise the smallest.
        *self.sort = self.sort.clicked(column.key, |by| by == Order::Duration);
        self.context.ask();
    }
}
