//! The marks of the trace in the visible part of the graph, as a list: time, duration, text, and who wrote
//! each; for scopes also the filtered allocations of their threads in them, in one layer. Scopes can be listed by name instead.
//! The list covers the view, not the selection: a click goes to a mark and keeps the others in the list.
//!
//! Cost: a look at each mark of the view on a worker, and a sort unless by time; with scopes in view that of [`each_scope`] or
//! [`scope_sums`]. A row is formatted when it is drawn.

mod names;
mod panel;

use std::sync::Arc;

use super::layers::LayerChoice;
use super::view::View;
use crate::app::base::table::{Sort, SortKey};
use crate::app::document::Document;
use crate::app::jobs::{QueryContext, drop_aside};
use crate::app::state::ids::ViewId;
use crate::model::{Mark, Trace};
use crate::query::{Cancelled, MOST_SCOPES, MarkRequest, ScopeRequest, ScopeSums, each_scope, mark_places, scope_sums};
use crate::units::{Interval, Layer};
use names::{Names, NamesSort};

/// The sort key of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    #[default]
    Time,
    Duration,
    Text,
    Allocations,
    Allocated,
}

impl Order {
    /// Whether the largest come first after the first click on the column.
    fn is_descending_first(self) -> bool {
        !matches!(self, Self::Time | Self::Text)
    }
}

impl SortKey for Order {
    fn names() -> impl IntoIterator<Item = (Self, &'static str)> {
        [
            (Self::Time, "time"),
            (Self::Duration, "duration"),
            (Self::Text, "text"),
            (Self::Allocations, "allocations"),
            (Self::Allocated, "allocated"),
        ]
    }
}

/// The view's request.
#[derive(PartialEq)]
pub struct Request {
    view: Interval,
    search: String,
    sort: Sort<Order>,
    layer: Layer,
    /// Whether scopes are listed by name, and their order.
    is_by_name: bool,
    names_sort: NamesSort,
}

/// The view's answer.
pub enum Answer {
    Each(Listed),
    ByName(Names),
}

/// A mark of the list.
pub struct Line {
    /// Its index in the trace's list of marks.
    place: u32,
    /// The allocations in a scope.
    sums: Option<ScopeSums>,
}

/// The list.
pub struct Listed {
    trace: Arc<Trace>,
    layer: Layer,
    lines: Vec<Line>,
    /// Number of scopes in the list, of which allocations are known.
    scopes: usize,
    /// The largest number in the sort column, if it is one of allocations.
    most: u64,
}

impl Listed {
    /// The mark in a row, with its index in the trace's list; `None` if there is no such row.
    fn mark(&self, row: usize) -> Option<(usize, &Mark)> {
        let place = self.lines.get(row)?.place as usize;
        Some((place, self.trace.activity.marks.list.get(place)?))
    }

    fn of(request: &Request, query: &QueryContext<'_>) -> Result<Self, Cancelled> {
        let trace = Arc::clone(query.trace());
        let marks = &trace.activity.marks;
        // A mark at the very end of the view is listed too.
        let interval = Interval { from: request.view.from, to: request.view.to.next() };
        let places = mark_places(marks, &MarkRequest { interval, process: None, text: &request.search });
        query.cancel.check()?;
        let sums = each_scope(&query.index, &places, request.layer, &query.mask, query.cancel)?;
        let scopes = sums.iter().flatten().count();
        let mut lines: Vec<Line> = places.into_iter().zip(sums).map(|(place, sums)| Line { place, sums }).collect();
        let mark = |line: &Line| marks.list.get(line.place as usize);
        match request.sort.by {
            Order::Time => {}
            Order::Duration => lines.sort_by_key(|line| mark(line).map(|mark| mark.to.0.saturating_sub(mark.from.0))),
            Order::Text => lines.sort_by(|a, b| mark(a).map(|mark| &mark.text).cmp(&mark(b).map(|mark| &mark.text))),
            by @ (Order::Allocations | Order::Allocated) => lines.sort_by_key(|line| magnitude(by, line)),
        }
        if request.sort.descending {
            lines.reverse();
        }
        let most = lines.iter().filter_map(|line| magnitude(request.sort.by, line)).max().unwrap_or(0);
        Ok(Self { layer: request.layer, lines, scopes, most, trace: Arc::clone(&trace) })
    }
}

/// The number of a column that is a part of a total.
fn magnitude(by: Order, line: &Line) -> Option<u64> {
    match by {
        Order::Allocations => Some(line.sums?.allocated_count),
        Order::Allocated => Some(line.sums?.allocated_size),
        Order::Time | Order::Duration | Order::Text => None,
    }
}

/// State of the view.
#[derive(Clone, Default)]
pub struct Marks {
    search: String,
    sort: Sort<Order>,
    layer: LayerChoice,
    /// The index of the selected mark in the trace's list.
    selected: Option<usize>,
    listed: Option<Arc<Listed>>,
    /// Scopes by name: whether they are shown, and the list.
    is_by_name: bool,
    names_sort: NamesSort,
    names: Option<Arc<Names>>,
}

impl View for Marks {
    const ID: ViewId = ViewId::Marks;
    type Request = Request;
    type Answer = Answer;

    fn request(&self, document: &Document) -> Option<Request> {
        Some(Request {
            view: document.view(),
            search: self.search.trim().to_owned(),
            sort: self.sort,
            layer: self.layer.of(document),
            is_by_name: self.is_by_name,
            names_sort: self.names_sort,
        })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Answer)) -> Result<(), Cancelled> {
        tell(match request.is_by_name {
            true => Answer::ByName(Names::of(request, query)?),
            false => Answer::Each(Listed::of(request, query)?),
        });
        Ok(())
    }

    fn bytes(answer: &Answer) -> usize {
        match answer {
            Answer::Each(listed) => size_of_val(&listed.lines[..]),
            Answer::ByName(names) => names.bytes(),
        }
    }

    fn take(&mut self, answer: Answer) {
        let listed = match answer {
            Answer::ByName(names) => return drop_aside(self.names.replace(Arc::new(names))),
            Answer::Each(listed) => listed,
        };
        let mark = |of: &Listed| self.selected.and_then(|place| of.trace.activity.marks.list.get(place).cloned());
        let is_same = |before: &Listed| before.trace.builder() == listed.trace.builder() && mark(before) == mark(&listed);
        if self.listed.as_ref().is_some_and(|before| !is_same(before)) {
            self.selected = None; // its index may have changed: marks can come late
        }
        drop_aside(self.listed.replace(Arc::new(listed)));
    }
}
