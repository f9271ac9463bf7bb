//! Scopes by name: how often, how long, and what their threads allocated in them.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::sync::Arc;

use eframe::egui::Ui;

use super::{Cancelled, Layer, MOST_SCOPES, QueryContext, Request, ScopeRequest, Sort, scope_sums};
use crate::app::base::table::{FlatTable, TypedColumn};
use crate::app::views::ViewContext;
use crate::app::widgets::list::{self, ColumnOf, List, ListColumn, Name, Share, Style, Value, widest};
use crate::query::{ScopeEntry, scope_count};

/// The sort key of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamesOrder {
    Name,
    Count,
    Length,
    Allocations,
    Allocated,
}

impl NamesOrder {
    /// The number of a column that is a part of a total.
    fn magnitude(self, line: &ScopeEntry) -> Option<u64> {
        match self {
            Self::Count => Some(line.count),
            Self::Allocations => Some(line.allocated_count),
            Self::Allocated => Some(line.allocated_size),
            Self::Name | Self::Length => None,
        }
    }
}

/// The list's order, in which the most bytes come first by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamesSort(pub Sort<NamesOrder>);

impl Default for NamesSort {
    fn default() -> Self {
        Self(Sort { by: NamesOrder::Allocated, descending: true })
    }
}

/// The list.
pub struct Names {
    pub layer: Layer,
    lines: Vec<ScopeEntry>,
    /// Whether the view has more scopes than were looked at.
    pub is_cut: bool,
    /// The largest number in the sort column, if it is a part of a total.
    most: u64,
}

impl Names {
    /// Bytes of its rows.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.lines[..])
    }

    pub(super) fn of(request: &Request, query: &QueryContext<'_>) -> Result<Self, Cancelled> {
        let (interval, layer) = (request.view, request.layer);
        let asked = ScopeRequest { interval, process: None, layer, mask: &query.mask };
        let is_cut = scope_count(query.trace(), interval, None) > MOST_SCOPES;
        let mut lines = scope_sums(&query.index, &asked, query.cancel)?;
        let searched = request.search.to_lowercase();
        lines.retain(|line| [&line.scope, &line.provider].iter().any(|text| text.to_lowercase().contains(&searched)));
        let NamesSort(Sort { by, descending }) = request.names_sort;
        match by {
            NamesOrder::Name => lines.sort_by(|a, b| b.scope.cmp(&a.scope)),
            NamesOrder::Length => lines.sort_by(|a, b| b.length_s.total_cmp(&a.length_s)),
            by => lines.sort_by_key(|line| Reverse(by.magnitude(line))),
        }
        if !descending {
            lines.reverse();
        }
        let most = lines.iter().filter_map(|line| by.magnitude(line)).max().unwrap_or(0);
        Ok(Self { layer, lines, is_cut, most })
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Draws the list; returns the name of the scopes that the user wants to see each.
    pub fn show(
        self: &Arc<Self>,
        ui: &mut Ui,
        searched: &str,
        sort: &mut NamesSort,
        context: &mut ViewContext<'_>,
    ) -> Option<String> {
        let mut lines = Lines { names: self, searched, sort, context, opened: None };
        let pushed = list::show(ui, "scopes", self, &mut lines);
        let opened = lines.opened;
        context.commands.append(pushed);
        opened
    }
}

struct Lines<'a, 'b> {
    names: &'a Names,
    searched: &'a str,
    sort: &'a mut NamesSort,
    context: &'a mut ViewContext<'b>,
    /// The name of the scopes that the user wants to see each.
    opened: Option<String>,
}

impl Lines<'_, '_> {
    fn open(&mut self, row: usize) {
        self.opened = self.names.lines.get(row).map(|line| line.scope.clone());
    }
}

impl FlatTable for Names {
    const TITLE: &'static str = "Scopes";
    type Line = ScopeEntry;
    type Key = NamesOrder;
    const COLUMNS: &'static [TypedColumn<Self, ScopeEntry, NamesOrder>] = &[
        ListColumn::rest("Scope", "The name that the program gave it").by(NamesOrder::Name, |_, line| Value::text(&line.scope)),
        ListColumn::number("Count", "Number of such scopes in the view, in whole or in part", widest::COUNT)
            .by(NamesOrder::Count, |_, line| Value::Count(line.count)),
        ListColumn::number("Time", "Time in them in this view, of all threads together", widest::DURATION)
            .by(NamesOrder::Length, |_, line| Value::Duration(line.length_s)),
        ListColumn::number("Allocations", "Allocations of their own threads in them", widest::COUNT)
            .by(NamesOrder::Allocations, |_, line| Value::Count(line.allocated_count)),
        ListColumn::number("Allocated", "Bytes of these allocations", widest::BYTES)
            .by(NamesOrder::Allocated, |_, line| Value::Bytes(line.allocated_size)),
        ListColumn::text("Process", "The process whose threads were in them", 180.0)
            .of(|_, line| Value::Text(format!("{} ({})", line.process, line.pid))),
        ListColumn::text("By", "The provider that wrote them", 120.0).of(|_, line| Value::text(&line.provider)),
    ];

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<ScopeEntry>> {
        self.lines.get(row)
    }
}

impl List<Names> for Lines<'_, '_> {
    fn name<'n>(&'n self, _: usize, text: &'n str) -> Name<'n> {
        Name { text, style: Style::Plain, searched: self.searched }
    }

    fn share(&self, row: usize, column: ColumnOf<Names>) -> Option<Share> {
        let line = self.names.lines.get(row)?;
        Share::of(column.key?.magnitude(line)?, self.names.most, "the most of one name in the view")
    }

    fn double_clicked(&mut self, row: usize) {
        self.open(row);
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        if ui.button("List each of them").clicked() {
            self.open(row);
        }
    }

    fn sorted(&self, column: ColumnOf<Names>) -> Option<bool> {
        (column.key == Some(self.sort.0.by)).then_some(self.sort.0.descending)
    }

    fn header_clicked(&mut self, column: ColumnOf<Names>) {
        self.sort.0 = self.sort.0.clicked(column.key, |by| by != NamesOrder::Name);
        self.context.ask();
    }
}
