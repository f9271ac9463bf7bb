//! The tree table, and beside it the butterfly of the selected function.

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{self, Align, Color32, FontId, Key, Layout, Modifiers, Ui, vec2};

use super::tools::above_table;
use super::{CallTable, CallTrees, Grouping, Wish, magnitude, wings};
use crate::app::commands::Command;
use crate::app::filters::Predicate;
use crate::app::jobs::ForestKind;
use crate::app::panels::columns::{explanation, number_color, title, width};
use crate::app::panels::list::{self, List, ListColumn, TRIANGLE};
use crate::app::panels::losses;
use crate::app::theme;
use crate::app::views::Around;
use crate::app::views::histograms::AnyBucket;
use crate::format;
use crate::query::{CallLine, Column, FrameName, NodeKey, RowCondition, RowGrouping, layer_label};

/// Columns that can be shown; what only single allocations have is none of them.
const COLUMNS: [Column; 7] =
    [Column::Name, Column::Count, Column::Impacting, Column::Size, Column::OutstandingFrom, Column::OutstandingTo, Column::Peak];

/// Those of what died.
const FREED_COLUMNS: [Column; 3] = [Column::Name, Column::Count, Column::Size];

/// Where no free has a stack.
const NO_FREE_STACKS: &str = "No free in this trace has a call stack. To see who frees, record them: \
                              highwater record --stacks --free-stacks, or with xperf -stackwalk VirtualFree \
                              for commit and HeapFree for heaps.";

/// Points that a name has at least, however deep its line is.
const NAME_ROOM: f32 = 220.0;

/// What the user did to the table.
enum Did {
    Select(usize),
    Toggle(usize),
    SortBy(Column),
}

pub fn show<const FREES: bool>(view: &mut CallTrees<FREES>, around: &mut Around<'_>, ui: &mut Ui) {
    above_table(view, around, ui);
    let Some(table) = &view.table else {
        around.wait(ui);
        return;
    };
    if let Some(butterfly) = &table.butterfly {
        let room = ui.available_width();
        let shown = egui::Panel::right("butterfly").resizable(true).default_size((room * 0.42).clamp(240.0, 560.0));
        let shown = shown.size_range(220.0..=(room - 200.0).max(240.0));
        let can_go_back = !view.middles_before.is_empty();
        let did = shown.show(ui, |ui| wings::show(ui, table, butterfly, can_go_back, around)).inner;
        if let Some(did) = did {
            wings::carry_out(view, did);
            around.ask();
            return; // the rest follows with the next frame
        }
    }
    if FREES && table.trace.free_sites.is_empty() {
        ui.centered_and_justified(|ui| ui.label(NO_FREE_STACKS));
        return;
    }
    if table.lines.is_empty() {
        let text = match table.asked.search.trim().is_empty() {
            true if FREES => format!("{}: nothing was freed in this interval.", layer_label(table.layer)),
            true => format!("{}: nothing was alive in this interval.", layer_label(table.layer)),
            false => "Nothing in this interval has that in its name.".to_owned(),
        };
        ui.centered_and_justified(|ui| ui.label(text));
        return;
    }
    if table.asked.grouping == Grouping::Sites(ForestKind::ByTag) && table.functions.rules().tags().is_empty() {
        ui.weak(
            "No rule names stacks yet: choose Name these stacks\u{2026} in the menu of a function, or View, Stack rules\u{2026}",
        );
    }
    if FREES && table.lines.iter().all(|line| table.key(line) == NodeKey::NoStack) {
        ui.weak("What was freed in this layer and interval was recorded without stacks.");
    }
    let columns: &[Column] = if FREES { &FREED_COLUMNS } else { &COLUMNS };
    let columns: Vec<Column> = columns.iter().copied().filter(|&column| FREES || around.settings.shows(column)).collect();
    let room = ui.available_width();
    let titles: Vec<ListColumn> = columns.iter().map(|&column| list_column(column, &table.asked, room)).collect();
    let by_key = keys(ui, table);
    let is_key = by_key.is_some();
    let reveal = std::mem::take(&mut view.reveal).then_some(table.selected).flatten();
    let mut lines = Lines { table, columns: &columns, reveal, did: by_key, around };
    list::show(ui, "functions", &titles, table.lines.len(), &mut lines);
    let Some(did) = lines.did else { return };
    match did {
        Did::Select(index) => {
            view.select(index);
            view.reveal = is_key;
        }
        Did::Toggle(index) => view.toggle(index),
        Did::SortBy(column) => view.wish.sort = view.wish.sort.by(column),
    }
    around.ask();
}

fn list_column(column: Column, wish: &Wish, room: f32) -> ListColumn {
    let (title, hint) = match (column, wish.grouping) {
        (Column::Count, _) if wish.frees => ("Freed", "Allocations that died in the interval"),
        (Column::Size, _) if wish.frees => ("Freed Size", "Bytes of those that died in the interval"),
        (Column::Name, Grouping::Sites(ForestKind::ByTag)) => {
            ("Tag", "The name that the first rule that fits gives to the stack")
        }
        (Column::Name, Grouping::Sites(ForestKind::ByModule)) if wish.frees => {
            ("Module", "The module of the function that freed")
        }
        (Column::Name, Grouping::Sites(ForestKind::ByModule)) => ("Module", "The module of the function that wanted the memory"),
        (Column::Name, Grouping::Sites(ForestKind::TopDown)) => {
            ("Function", "From the thread's start inwards: under each function what it called")
        }
        (Column::Name, Grouping::INVERTED) => ("Function", "Innermost functions outside, and under each what called it"),
        (Column::Name, Grouping::Sites(ForestKind::ByFunction)) if wish.frees => {
            ("Function", "The function that freed: the innermost one that is not the allocator's")
        }
        (Column::Name, Grouping::Sites(ForestKind::ByFunction)) => {
            ("Function", "The function that wanted the memory: the innermost one that is not the allocator's")
        }
        (Column::Name, Grouping::Rows(RowGrouping::Heap)) => ("Heap", "Where the memory lies"),
        (Column::Name, Grouping::Rows(RowGrouping::Type)) => ("Type", "The C++ type that was allocated"),
        (Column::Name, Grouping::Rows(RowGrouping::Thread)) => ("Thread", "The thread that allocated"),
        (Column::Name, Grouping::Rows(RowGrouping::Size)) => ("Sizes", "Powers of two, in bytes"),
        (Column::Name, Grouping::Rows(RowGrouping::Lifetime)) => (
            "LifeTimes",
            "Decades of seconds from birth to death; what has no end was never freed, or was there before the trace",
        ),
        _ => (title(column), explanation(column)),
    };
    let is_number = column != Column::Name;
    let width = if is_number { width(column) } else { (room * 0.36).clamp(NAME_ROOM, width(column)) };
    ListColumn { title, hint, width, is_number }
}

/// What keys do to the selected line, unless a text field wants them.
fn keys(ui: &Ui, table: &CallTable) -> Option<Did> {
    if ui.ctx().egui_wants_keyboard_input() {
        return None;
    }
    let pressed = |key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
    let last = table.lines.len().checked_sub(1)?;
    for (key, by) in [(Key::ArrowUp, -1), (Key::ArrowDown, 1), (Key::PageUp, -20), (Key::PageDown, 20)] {
        if pressed(key) {
            return Some(Did::Select(table.selected.map_or(0, |index| index.saturating_add_signed(by).min(last))));
        }
    }
    let index = table.selected?;
    let line = table.lines.get(index)?;
    if pressed(Key::ArrowRight) && line.has_children {
        return Some(if line.is_open { Did::Select((index + 1).min(last)) } else { Did::Toggle(index) });
    }
    if pressed(Key::ArrowLeft) {
        return if line.is_open { Some(Did::Toggle(index)) } else { line.parent.map(|parent| Did::Select(parent as usize)) };
    }
    None
}

struct Lines<'a, 'b> {
    table: &'a CallTable,
    columns: &'a [Column],
    reveal: Option<usize>,
    did: Option<Did>,
    around: &'a mut Around<'b>,
}

impl Lines<'_, '_> {
    fn line(&self, row: usize) -> Option<&CallLine> {
        self.table.lines.get(row)
    }

    fn column(&self, column: usize) -> Column {
        self.columns.get(column).copied().unwrap_or(Column::Name)
    }

    fn name_cell(&mut self, ui: &mut Ui, row: usize) {
        let table = self.table;
        let Some(line) = table.lines.get(row) else { return };
        let (key, name) = (table.key(line), table.name(line));
        if table.asked.grouping.is_tree() {
            ui.add_space(line.depth as f32 * 13.0 - 2.0);
            if line.has_children {
                if list::triangle(ui, line.is_open, &name).clicked() {
                    self.did = Some(Did::Toggle(row));
                }
            } else {
                ui.add_space(TRIANGLE);
            }
        }
        let job = name_job(ui, table, key, &name);
        // The column grows with what is in it: with deep stacks, but not with long names.
        let room = vec2(ui.available_width().max(NAME_ROOM), ui.available_height());
        let label = egui::Label::new(job).truncate();
        let label = ui.allocate_ui_with_layout(room, Layout::left_to_right(Align::Center), |ui| ui.add(label)).inner;
        label.on_hover_ui(|ui| details(ui, table, line, &name));
    }
}

/// A name as it stands in the table: a function stands out before its module, the one in the
/// middle of the butterfly most, and what the search found is lit.
fn name_job(ui: &Ui, table: &CallTable, key: NodeKey, name: &str) -> LayoutJob {
    let visuals = ui.visuals();
    let (font, text, module) = match key {
        NodeKey::Function(function) => {
            let is_middle = table.butterfly.as_ref().is_some_and(|butterfly| &*butterfly.name == name);
            let text = if is_middle { visuals.strong_text_color() } else { visuals.text_color() };
            let module = match table.functions.name(function) {
                FrameName::Function(module, _) | FrameName::InModule(module, _) => module.len() + 1,
                FrameName::At(_) | FrameName::NoStack => 0,
            };
            (FontId::monospace(12.0), text, module)
        }
        NodeKey::Module(_)
        | NodeKey::Tag(_)
        | NodeKey::Heap(_)
        | NodeKey::Type(_)
        | NodeKey::Thread(..)
        | NodeKey::Size(_)
        | NodeKey::Lifetime(_) => (FontId::proportional(13.0), visuals.text_color(), 0),
        _ => (FontId::proportional(13.0), visuals.weak_text_color(), 0),
    };
    let searched = table.asked.search.trim().to_ascii_lowercase();
    let lower = name.to_ascii_lowercase(); // as long as the name itself
    let found = if searched.is_empty() { None } else { lower.find(&searched) };
    let found = found.map_or(0..0, |at| at..at + searched.len());
    let mut job = LayoutJob::default();
    let mut edges = [0, module, found.start, found.end, name.len()];
    edges.sort_unstable();
    for edge in edges.windows(2).filter(|edge| edge[0] < edge[1]) {
        let color = if edge[1] <= module { visuals.weak_text_color() } else { text };
        let is_found = found.contains(&edge[0]);
        let background = if is_found { visuals.warn_fg_color.gamma_multiply(0.35) } else { Color32::TRANSPARENT };
        let format = TextFormat { font_id: font.clone(), color, background, ..TextFormat::default() };
        job.append(&name[edge[0]..edge[1]], 0.0, format);
    }
    job
}

/// What a line is, and its share of all.
fn details(ui: &mut Ui, table: &CallTable, line: &CallLine, name: &str) {
    ui.strong(name);
    for column in [Column::Size, Column::OutstandingTo] {
        let (part, whole) = (magnitude(column, &line.numbers), magnitude(column, &table.whole));
        if whole > 0 {
            let share = 100.0 * part as f64 / whole as f64;
            ui.label(format!("{share:.1} % of {}, by {}", layer_label(table.layer), title(column)));
        }
    }
    ui.weak(match table.asked.frees {
        true => "Double click to open or close",
        false => "Click for callers and callees, double click to open or close",
    });
}

/// Paints a bar behind a number; a change has the colour of its sign.
pub fn bar(ui: &Ui, rect: egui::Rect, column: Column, change: i64, share: f32) {
    let visuals = ui.visuals();
    let color = match column {
        Column::Impacting => number_color(change, visuals),
        _ => theme::series(0, visuals),
    };
    let width = (rect.width() * share.clamp(0.0, 1.0)).max(if share > 0.0 { 1.0 } else { 0.0 });
    let bar = egui::Rect::from_min_size(rect.min, vec2(width, rect.height()));
    ui.painter().rect_filled(bar, 2.0, color.gamma_multiply(if visuals.dark_mode { 0.24 } else { 0.20 }));
}

impl List for Lines<'_, '_> {
    fn text(&self, row: usize, column: usize) -> String {
        let Some(line) = self.line(row) else { return String::new() };
        let n = &line.numbers;
        match self.column(column) {
            Column::Count => format::count(n.count),
            Column::Impacting => format::signed_bytes(n.impacting),
            Column::Size => format::bytes(n.size),
            Column::OutstandingFrom => format::bytes(n.outstanding_from),
            Column::OutstandingTo => format::bytes(n.outstanding_to),
            Column::Peak => {
                let peak = self.table.peaks.as_ref().and_then(|peaks| peaks.get(row));
                peak.map_or_else(|| "\u{2026}".to_owned(), |&peak| format::bytes(peak))
            }
            _ => format!("{}{}", "  ".repeat(line.depth as usize), self.table.name(line)),
        }
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: usize) {
        let of = self.column(column);
        if of == Column::Name {
            self.name_cell(ui, row);
            return;
        }
        let Some(line) = self.line(row) else { return };
        if of == self.table.asked.sort.column && self.table.scale > 0 {
            let value = match (of, &self.table.peaks) {
                (Column::Peak, peaks) => peaks.as_ref().and_then(|peaks| peaks.get(row)).copied().unwrap_or(0),
                _ => magnitude(of, &line.numbers),
            };
            let share = (value as f64 / self.table.scale as f64) as f32;
            bar(ui, ui.max_rect().shrink2(vec2(2.0, 2.0)), of, line.numbers.impacting, share);
        }
        let color = match of {
            Column::Impacting => number_color(line.numbers.impacting, ui.visuals()),
            _ => ui.visuals().text_color(),
        };
        ui.add(egui::Label::new(egui::RichText::new(self.text(row, column)).color(color)).extend());
    }

    fn is_selected(&self, row: usize) -> bool {
        self.table.selected == Some(row)
    }

    fn clicked(&mut self, row: usize) {
        self.did = Some(Did::Select(row));
    }

    fn double_clicked(&mut self, row: usize) {
        self.did = Some(Did::Toggle(row));
    }

    fn revealed(&self) -> Option<usize> {
        self.reveal
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let Some(line) = self.table.lines.get(row) else { return };
        let (key, name) = (self.table.key(line), self.table.name(line));
        if !self.table.asked.frees {
            // Filters are about who allocated.
            match (key, &self.table.types) {
                (NodeKey::Heap(id), _) => self.around.offer_heap(ui, id),
                (NodeKey::Type(id), Some(types)) => {
                    self.around.offer_filters(ui, "this type", Predicate::Type(types.key(id).clone()));
                }
                _ => offer(ui, self.around, key, &name),
            }
        }
        copy_name(ui, self.around, &name);
    }

    fn copy(&mut self, text: String) {
        self.around.commands.push(Command::Copy(text));
    }

    fn sorted_by(&self) -> Option<(usize, bool)> {
        let sort = self.table.asked.sort;
        self.columns.iter().position(|&column| column == sort.column).map(|column| (column, sort.descending))
    }

    fn bound(&self, column: usize) -> Option<String> {
        if self.table.asked.frees {
            return None;
        }
        losses::bound(&self.table.trace, self.table.interval, self.column(column))
    }

    fn header_clicked(&mut self, column: usize) {
        self.did = Some(Did::SortBy(self.column(column)));
    }
}

/// What can be done with a function or module.
pub fn menu(ui: &mut Ui, around: &mut Around<'_>, key: NodeKey, name: &str) {
    offer(ui, around, key, name);
    copy_name(ui, around, name);
}

fn offer(ui: &mut Ui, around: &mut Around<'_>, key: NodeKey, name: &str) {
    let clock = &around.document.trace.clock;
    let (word, what) = match key {
        NodeKey::Function(_) => ("this function", Predicate::Function(name.into())),
        NodeKey::Module(_) => ("this module", Predicate::Module(name.into())),
        NodeKey::Tag(_) | NodeKey::NoTag => ("this tag", Predicate::Tag(name.into())),
        NodeKey::Thread(_, thread) if thread.is_known() => {
            ("this thread", Predicate::Row(RowCondition::Thread(thread), format!("thread {thread}").into()))
        }
        NodeKey::Size(bucket) => ("this size", AnyBucket::Size(bucket).predicate(clock)),
        NodeKey::Lifetime(bucket) => ("this lifetime", AnyBucket::Lifetime(bucket).predicate(clock)),
        NodeKey::All | NodeKey::NoStack | NodeKey::NoModule | NodeKey::Heap(_) | NodeKey::Type(_) | NodeKey::Thread(..) => return,
    };
    around.offer_filters(ui, word, what);
    if matches!(key, NodeKey::Function(_)) {
        around.offer_rules(ui, name);
    }
}

fn copy_name(ui: &mut Ui, around: &mut Around<'_>, name: &str) {
    if ui.button("Copy name").clicked() {
        around.commands.push(Command::Copy(name.to_owned()));
    }
}
