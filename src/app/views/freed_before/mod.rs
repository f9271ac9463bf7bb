//! Frees of what was allocated before the recording, or whose allocation was lost: who freed, in which heap, how often,
//! and for pages how many bytes.
//!
//! They are no rows, so of the filters only those by process, layer and heap hold.

mod panel;

use std::sync::Arc;

use super::view::View;
use crate::app::base::table::{Sort, SortKey};
use crate::app::document::Document;
use crate::app::jobs::{QueryContext, drop_aside};
use crate::app::state::ids::ViewId;
use crate::model::Trace;
use crate::query::{By, Cancelled, Path, ReportFilter, UnmatchedGroup, UnmatchedRequest, unmatched};
use crate::units::Interval;

/// The sort key of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Bytes first, then the number of frees.
    #[default]
    Size,
    Count,
    First,
    Name,
}

impl SortKey for Order {
    fn names() -> impl IntoIterator<Item = (Self, &'static str)> {
        [(Self::Size, "size"), (Self::Count, "count"), (Self::First, "first"), (Self::Name, "name")]
    }
}

/// The view's request.
#[derive(PartialEq)]
pub struct Request {
    interval: Interval,
    under: Vec<Path>,
    search: String,
    sort: Sort<Order>,
}

/// The list.
pub struct Listed {
    trace: Arc<Trace>,
    groups: Vec<UnmatchedGroup>,
}

/// State of the view.
#[derive(Clone)]
pub struct FreedBefore {
    search: String,
    sort: Sort<Order>,
    selected: Option<usize>,
    listed: Option<Arc<Listed>>,
}

impl Default for FreedBefore {
    fn default() -> Self {
        let sort = Sort { by: Order::Size, descending: true };
        Self { search: String::new(), sort, selected: None, listed: None }
    }
}

impl View for FreedBefore {
    const ID: ViewId = ViewId::FreedBefore;
    type Request = Request;
    type Answer = Listed;

    fn request(&self, document: &Document) -> Option<Request> {
        let under = document.filters().under().any;
        Some(Request { interval: document.interval(), under, search: self.search.trim().to_lowercase(), sort: self.sort })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Listed)) -> Result<(), Cancelled> {
        let trace = Arc::clone(query.trace());
        let asked = UnmatchedRequest {
            interval: request.interval,
            by: vec![By::Process, By::Heap, By::Stack],
            filter: ReportFilter::default(),
            under: request.under.clone(),
            fold: query.folds(),
        };
        let mut groups = unmatched(&trace, query.names(), &asked, query.cancel)?;
        let has = |text: &String| text.to_lowercase().contains(&request.search);
        groups.retain(|group| group.stack.iter().flatten().chain(&group.process).chain(&group.heap).any(has));
        match request.sort.by {
            Order::Size => {}
            Order::Count => groups.sort_by_key(|group| std::cmp::Reverse(group.count)),
            Order::First => groups.sort_by_key(|group| std::cmp::Reverse(group.times.0)),
            Order::Name => groups.sort_by(|a, b| b.responsible.cmp(&a.responsible)),
        }
        // The engine's order is the largest first.
        if !request.sort.descending {
            groups.reverse();
        }
        tell(Listed { trace, groups });
        Ok(())
    }

    fn bytes(listed: &Listed) -> usize {
        let texts =
            |group: &UnmatchedGroup| group.stack.iter().flatten().map(|frame| size_of_val(frame) + frame.len()).sum::<usize>();
        listed.groups.iter().map(|group| size_of_val(group) + texts(group)).sum()
    }

    fn take(&mut self, listed: Listed) {
        let stack_of = |listed: &Listed, row: usize| listed.groups.get(row).and_then(|group| group.stack.clone());
        let before = self.listed.as_deref();
        self.selected = self.selected.filter(|row| before.and_then(|before| stack_of(before, *row)) == stack_of(&listed, *row));
        drop_aside(self.listed.replace(Arc::new(listed)));
    }
}
