//! The rows of the table on the screen: their cells, tooltips and menus.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use eframe::egui::{self, Ui};

use super::table::Table;
use super::{Action, Stacks, text};
use crate::app::commands::{Command, DocCommand, Setting};
use crate::app::state::filters::{Chip, Predicate};
use crate::app::state::ids::ViewId;
use crate::app::views::{Pointed, ViewContext};
use crate::app::widgets::columns::{self, title};
use crate::app::widgets::list::{self, List, Name, Share, Style, Value};
use crate::app::widgets::{frames, losses, rule_menu, source_lines};
use crate::model::NodeId;
use crate::query::{Column, Key, TreeRow, layer_label, layer_meaning, magnitude};
use crate::units::{Interval, Ticks};

/// The rows of the table, while they are drawn.
pub struct Lines<'a, 'b> {
    pub view: &'a Stacks,
    pub table: &'a Table,
    pub context: &'a mut ViewContext<'b>,
    /// The rows on the screen, and their contents.
    pub visible: Range<usize>,
    pub rows: Vec<Rc<TreeRow>>,
    pub revealed: Option<usize>,
    pub action: Option<Action>,
}

impl List<Table> for Lines<'_, '_> {
    fn prepare(&mut self, rows: Range<usize>) {
        if self.visible != rows {
            self.rows = rows.clone().map_while(|index| self.table.row(index).map(Rc::new)).collect();
            self.visible = rows;
        }
    }

    fn value(&self, table: &Table, row: usize, column: Column) -> Value {
        self.row(row).map_or(Value::Nothing, |line| text::of_cell(table, &line, row, column))
    }

    fn share(&self, row: usize, column: Column) -> Option<Share> {
        let line = self.row(row).filter(|line| !line.mixes_layers)?;
        let number = match column {
            Column::Peak => self.table.tree.peak(&self.table.trace, &self.table.peaks, row)?,
            Column::Touched => return columns::touched_share(self.table.touched(row)??),
            Column::Name | Column::Source | Column::AllocTime | Column::FreeTime | Column::Address | Column::Thread => {
                return None;
            }
            column => magnitude(column, &line.numbers),
        };
        let layer = text::layer(&line)?;
        let whole = match column {
            Column::Impacting => columns::all_change(layer),
            column => format!("{}, by {}", layer_label(layer), title(column)),
        };
        Share::of(number, self.table.wholes.of(layer), whole)
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: Column, value: &Value) {
        match (column, self.row(row)) {
            (Column::Name, Some(line)) => self.name_cell(ui, &line, row),
            // At the left, although the header is at the right.
            (Column::Thread, Some(_)) if let Value::Text(text) = value => _ = list::name(ui, Name::new(text, Style::Plain)),
            (_, Some(line)) if !line.mixes_layers => list::plain(self, ui, row, column, value),
            _ => {}
        }
    }

    fn parent(&self, row: usize) -> Option<usize> {
        self.table.tree.parent(row)
    }

    fn is_selected(&self, row: usize) -> bool {
        self.view.selected.index() == Some(row)
    }

    fn clicked(&mut self, row: usize) {
        self.action = self.row(row).map(|line| Action::Select(Some(Arc::clone(&line.path))));
    }

    fn double_clicked(&mut self, row: usize) {
        if let Some(line) = self.row(row).filter(|line| line.has_children) {
            self.action = Some(Action::Toggle(Arc::clone(&line.path), !line.is_open));
        }
    }

    fn revealed(&self) -> Option<usize> {
        self.revealed
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        if let Some(line) = self.row(row) {
            self.row_menu(ui, &line, row);
        }
    }

    fn copy_key(&self) -> &'static str {
        "Ctrl+C"
    }

    fn sorted(&self, column: Column) -> Option<bool> {
        let sort = self.view.sort.in_interval(self.table.interval);
        (column == sort.column).then_some(sort.descending)
    }

    fn has_bars(&self, column: Column) -> bool {
        column == Column::Touched || self.sorted(column).is_some()
    }

    fn bound(&self, column: Column) -> Option<String> {
        losses::bound(&self.table.trace, self.table.interval, column)
    }

    fn title(&self, column: Column) -> &'static str {
        columns::title_at(column, self.table.interval)
    }

    fn header_clicked(&mut self, column: Column) {
        self.action = Some(Action::SortBy(column));
    }

    fn is_shown(&self, column: Column) -> Option<bool> {
        let has_numbers = columns::has_numbers(column, &self.table.trace, self.table.frames);
        Some(has_numbers && columns::is_shown(column, self.table.interval, self.context.settings))
    }

    fn show_column(&mut self, column: Column, shown: bool) {
        self.context.commands.push(Setting::Column(column, shown));
    }
}

impl Lines<'_, '_> {
    fn row(&self, index: usize) -> Option<Rc<TreeRow>> {
        let known = index.checked_sub(self.visible.start).and_then(|at| self.rows.get(at));
        known.cloned().or_else(|| self.table.row(index).map(Rc::new))
    }

    fn name_cell(&mut self, ui: &mut Ui, row: &TreeRow, index: usize) {
        if row.has_children && !row.is_open && ui.rect_contains_pointer(ui.max_rect()) {
            self.context.pointed = Some(Pointed::Node(ViewId::Stacks, Arc::clone(&row.path)));
        }
        if list::branch(ui, row.depth, row.has_children.then_some(row.is_open), &row.label) {
            self.action = Some(Action::Toggle(Arc::clone(&row.path), !row.is_open));
        }
        let style = match row.path.last() {
            Some(Key::Frame(NodeId::ROOT)) => Style::Weak,
            _ if row.is_foreign => Style::Weak,
            Some(Key::Frame(_) | Key::Inlined(..)) => Style::Frame,
            Some(Key::Row(_)) => Style::Code,
            _ if row.depth == 0 => Style::Strong,
            _ => Style::Plain,
        };
        let label = list::name(ui, Name { text: &row.label, style, searched: &self.table.search });
        if let Some(place) = self.table.place(index) {
            ui.add_space(8.0);
            list::name(ui, Name::new(&place, Style::Weak));
        }
        if let Some((_, allocation)) = &row.allocation {
            ui.add_space(10.0);
            list::name(ui, Name::new(&text::of_life(&self.table.trace, allocation), Style::Weak));
        }
        if let Some(meaning) = meaning(row) {
            label.on_hover_text(meaning);
        } else if matches!(row.path.last(), Some(Key::Inside(..))) {
            label.on_hover_ui(|ui| {
                self.table.tree.shared_frames(&self.table.trace, index).iter().for_each(|name| _ = ui.weak(name));
            });
        } else if let Some((frame, level)) = self.table.tree.frame(&self.table.trace, index) {
            label.on_hover_ui(|ui| {
                let shared = self.table.tree.shared_frames(&self.table.trace, index);
                for name in shared.iter().take(shared.len().saturating_sub(1)) {
                    ui.weak(name);
                }
                frames::details(ui, &frame, level);
            });
        }
    }

    fn row_menu(&mut self, ui: &mut Ui, row: &TreeRow, index: usize) {
        if ui.button("Filter to this line").clicked() {
            self.view.filter_to(Arc::clone(&row.path), self.context);
        }
        if ui.button("Exclude this").clicked()
            && let Some(path) = self.view.present(Arc::clone(&row.path), &self.context.document.trace)
        {
            let path = self.view.for_filter(path);
            self.context.commands.push(DocCommand::AddChip(Chip::without(Predicate::Under(path))));
        }
        let button = ui.add_enabled(!self.context.document.filters().is_all(), egui::Button::new("Clear filter"));
        self.context.commands.on_click(&button, DocCommand::ClearFilter);
        if let Some(life) = row.allocation.and_then(|(_, row)| self.life(row.birth, row.death))
            && ui.button("Zoom to its life").clicked()
        {
            self.context.commands.push(DocCommand::ZoomInto(life));
        }
        let Some((frame, level)) = self.table.tree.frame(&self.table.trace, index) else { return };
        source_lines::offer(ui, &frame, level, self.context.commands);
        rule_menu::offer(ui, &frame.name(level).to_string(), self.context.commands);
        let button = ui.button("Copy frame").on_hover_text("Module, function, source file and line");
        self.context.commands.on_click(&button, Command::Copy(frames::as_text(&frame, level)));
    }

    /// The lifetime of a block, with some space on both sides.
    fn life(&self, birth: Ticks, death: Ticks) -> Option<Interval> {
        let span = self.context.document.trace.span;
        let (from, to) = (birth.max(span.from), death.min(span.to));
        let room = (to.0.checked_sub(from.0)? / 5).max(self.table.interval.len() / 10_000).max(1);
        Some(Interval { from: Ticks(from.0.saturating_sub(room)), to: Ticks(to.0.saturating_add(room)) })
    }
}

/// The tooltip of a row's name: WPA's term and its meaning, or why a process with several layers has no sizes.
fn meaning(row: &TreeRow) -> Option<String> {
    let said = |name: &str, meaning: &str| format!("WPA's {name}: {meaning}");
    match *row.path.last()? {
        Key::Process(_) if row.mixes_layers => Some("Layers of memory nest, so their sizes are never added".to_owned()),
        Key::Layer(layer) => Some(layer_meaning(layer).to_owned()),
        Key::Impacting(kind) => Some(said(kind.name(), kind.meaning())),
        Key::Class(class) => {
            let kind = class.impacting();
            Some(format!("{}\n{}", said(kind.name(), kind.meaning()), said(class.name(), class.meaning())))
        }
        _ => None,
    }
}
