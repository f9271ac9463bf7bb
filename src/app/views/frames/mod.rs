//! The frames of a program in the visible part of the graph, the longest first: the duration of each, and what
//! was allocated and freed in it, in one layer and within the filters. The list covers the view, not the
//! selection: a click selects a frame and keeps the others in the list.
//!
//! Cost: see [`QueryContext::frames`]; then a pass over the frames in the view, and a sort.

mod panel;

use std::cmp::Reverse;
use std::sync::Arc;

use super::layers::LayerChoice;
use super::view::View;
use crate::app::base::table::{Sort, SortKey};
use crate::app::document::Document;
use crate::app::jobs::{QueryContext, drop_aside};
use crate::app::state::ids::ViewId;
use crate::app::state::overlays::FramesOf;
use crate::model::Trace;
use crate::query::{Cancelled, FrameLine, FrameTimes};
use crate::units::Interval;

/// The sort key of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    Number,
    #[default]
    Duration,
    Allocations,
    Allocated,
    Frees,
    Freed,
    Net,
}

impl Order {
    /// The number by which rows are sorted.
    fn of(self, line: &FrameLine) -> i128 {
        let sums = &line.sums;
        match self {
            Self::Number => line.number as i128,
            Self::Duration => line.interval.len().into(),
            Self::Allocations => sums.allocated_count.into(),
            Self::Allocated => sums.allocated_size.into(),
            Self::Frees => sums.freed_count.into(),
            Self::Freed => sums.freed_size.into(),
            Self::Net => net(line).into(),
        }
    }

    /// The number by which rows are sorted as a part of a total; `None` for numbers that are not parts of one.
    fn magnitude(self, line: &FrameLine) -> Option<u64> {
        let is_part = !matches!(self, Self::Number | Self::Net);
        is_part.then(|| u64::try_from(self.of(line)).unwrap_or(0))
    }
}

impl SortKey for Order {
    fn names() -> impl IntoIterator<Item = (Self, &'static str)> {
        [
            (Self::Number, "number"),
            (Self::Duration, "duration"),
            (Self::Allocations, "allocations"),
            (Self::Allocated, "allocated"),
            (Self::Frees, "frees"),
            (Self::Freed, "freed"),
            (Self::Net, "net"),
        ]
    }
}

/// The view's request.
#[derive(PartialEq)]
pub struct Request {
    of: Option<FramesOf>,
    view: Interval,
    sort: Sort<Order>,
}

/// The list.
pub struct Listed {
    trace: Arc<Trace>,
    of: FramesOf,
    lines: Vec<FrameLine>,
    /// The largest number in the sort column, or 0 if its numbers are not parts of a total.
    most: u64,
    /// `None` if there are no frames.
    times: Option<FrameTimes>,
}

/// State of the view.
#[derive(Clone)]
pub struct Frames {
    layer: LayerChoice,
    sort: Sort<Order>,
    listed: Option<Arc<Listed>>,
}

impl Default for Frames {
    fn default() -> Self {
        Self { layer: LayerChoice::default(), sort: Sort { by: Order::default(), descending: true }, listed: None }
    }
}

/// Bytes that a frame added to what is outstanding.
fn net(line: &FrameLine) -> i64 {
    let sums = &line.sums;
    (i128::from(sums.allocated_size) - i128::from(sums.freed_size)).clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl View for Frames {
    const ID: ViewId = ViewId::Frames;
    type Request = Request;
    type Answer = Option<Listed>;

    fn request(&self, document: &Document) -> Option<Request> {
        let of = document.frames_in_scope().map(|of| FramesOf { layer: self.layer.chosen(document).unwrap_or(of.layer), ..of });
        Some(Request { of, view: document.view(), sort: self.sort })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Option<Listed>)) -> Result<(), Cancelled> {
        let Some(of) = request.of else {
            tell(None);
            return Ok(());
        };
        let all = query.frames(of, request.view)?;
        // Counts a frame where it ends, so that it is in exactly one of two adjacent views.
        let place = |at| all.partition_point(|line| line.interval.to <= at);
        let mut lines = all.get(place(request.view.from)..place(request.view.to)).unwrap_or_default().to_vec();
        let times = FrameTimes::of(&lines);
        let by = request.sort.by;
        match request.sort.descending {
            true => lines.sort_by_key(|line| Reverse(by.of(line))),
            false => lines.sort_by_key(|line| by.of(line)),
        }
        let most = lines.iter().filter_map(|line| by.magnitude(line)).max().unwrap_or(0);
        tell(Some(Listed { trace: Arc::clone(query.trace()), of, lines, most, times }));
        Ok(())
    }

    fn bytes(listed: &Option<Listed>) -> usize {
        listed.iter().map(|listed| size_of_val(&listed.lines[..])).sum()
    }

    fn take(&mut self, listed: Option<Listed>) {
        drop_aside(std::mem::replace(&mut self.listed, listed.map(Arc::new)));
    }
}
