//! The marks of the trace in the visible part of the graph, as a list: time, duration, text, and who wrote
//! each. The list covers the view, not the selection: a click goes to a mark and keeps the others in the list.
//!
//! Cost: a look at each mark of the view on a worker, and a sort unless by time; a row is formatted when it is drawn.

mod panel;

use std::sync::Arc;

use super::view::View;
use crate::app::base::table::Sort;
use crate::app::document::Document;
use crate::app::jobs::{QueryContext, drop_aside};
use crate::app::state::ids::ViewId;
use crate::model::{Mark, Trace};
use crate::query::{Cancelled, MarkRequest, mark_places};
use crate::units::Interval;

/// The sort key of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    #[default]
    Time,
    Duration,
    Text,
}

/// The view's request.
pub struct Request {
    view: Interval,
    search: String,
    sort: Sort<Order>,
}

/// The list.
pub struct Listed {
    trace: Arc<Trace>,
    /// Indices into the trace's list of marks.
    places: Vec<u32>,
}

impl Listed {
    /// The mark in a row, with its index in the trace's list; `None` if there is no such row.
    fn mark(&self, row: usize) -> Option<(usize, &Mark)> {
        let place = *self.places.get(row)? as usize;
        Some((place, self.trace.activity.marks.list.get(place)?))
    }
}

/// State of the view.
#[derive(Default)]
pub struct Marks {
    search: String,
    sort: Sort<Order>,
    /// The index of the selected mark in the trace's list.
    selected: Option<usize>,
    listed: Option<Arc<Listed>>,
}

impl View for Marks {
    const ID: ViewId = ViewId::Marks;
    type Request = Request;
    type Answer = Listed;

    fn request(&self, document: &Document) -> Option<Request> {
        Some(Request { view: document.view(), search: self.search.trim().to_owned(), sort: self.sort })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Listed)) -> Result<(), Cancelled> {
        let trace = Arc::clone(query.trace());
        let marks = &trace.activity.marks;
        // A mark at the very end of the view is listed too.
        let interval = Interval { from: request.view.from, to: request.view.to.next() };
        let mut places = mark_places(marks, &MarkRequest { interval, process: None, text: &request.search });
        query.cancel.check()?;
        let mark = |place: u32| marks.list.get(place as usize);
        match request.sort.by {
            Order::Time => {}
            Order::Duration => places.sort_by_key(|&place| mark(place).map(|mark| mark.to.0.saturating_sub(mark.from.0))),
            Order::Text => places.sort_by(|&a, &b| mark(a).map(|mark| &mark.text).cmp(&mark(b).map(|mark| &mark.text))),
        }
        if request.sort.descending {
            places.reverse();
        }
        tell(Listed { trace, places });
        Ok(())
    }

    fn take(&mut self, listed: Listed) {
        if self.listed.as_ref().is_some_and(|before| before.trace.builder() != listed.trace.builder()) {
            self.selected = None; // its index may have changed
        }
        drop_aside(self.listed.replace(Arc::new(listed)));
    }
}
