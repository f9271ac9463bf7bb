//! The requests of the window for one state, and the parts of the answer.

use std::any::Any;
use std::sync::Arc;

use crate::app::state::alignment::{Alignment, Laid};
use crate::app::state::answers::{CommittedLine, LifetimeBand, Overview};
use crate::app::state::filters::Filters;
use crate::app::state::graph::{Arrangement, LineOf, Split};
use crate::app::state::ids::ViewId;
use crate::app::state::lanes::Lane;
use crate::app::state::overlays::{OverlayAnswer, OverlayRequest};
use crate::model::{BuilderId, CounterId, HeapId, Trace};
use crate::panics::Caught;
use crate::query::{ByClass, Fold, Path, Series};
use crate::symbols::Names;
use crate::units::{Interval, Ticks};

/// An answer of a view's own type.
pub type AnyAnswer = Box<dyn Any + Send>;

/// Identifies a document: answers to a closed one are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobId(pub(super) u64);

/// All that the window requests for one state.
pub struct Query {
    pub document: JobId,
    pub trace: Arc<Trace>,
    /// Whether another publication of the trace is on its way.
    pub growing: bool,
    /// The interval that the graph shows.
    pub view: Interval,
    /// The interval that the tables show.
    pub interval: Interval,
    /// Heaps with a line on the graph, if all lines share one scale.
    pub heaps: Vec<HeapId>,
    /// Lanes of the graph, if each line has its own scale.
    pub lanes: Vec<Lane>,
    /// Counters with a line on the graph.
    pub counters: Vec<CounterId>,
    /// Marks, frames and CPU use on the graph.
    pub overlays: OverlayRequest,
    /// Points across the graph.
    pub bins: usize,
    /// The filters that rows must pass.
    pub filters: Filters,
    /// The names known so far.
    pub names: Arc<Names>,
    /// Which frames are folded away.
    pub fold: Fold,
    /// The kind of lines on the graph, and their arrangement.
    pub split: Split,
    pub arrangement: Arrangement,
    /// The node of the tree whose lifetimes are drawn on the graph.
    pub highlight: Option<Path>,
    /// The interval between the pins.
    pub pins: Option<Interval>,
    /// The trace whose lines are drawn over those of the graph, and where.
    pub laid: Option<(Arc<Trace>, Alignment)>,
}

/// One part of the answer.
#[derive(Debug)]
pub enum Part {
    /// Small lines of all heaps and layers over the whole trace.
    Overview(Arc<Overview>),
    /// Small lines of all heaps and layers, of the rows that these filters leave.
    Left(Filters, Arc<Overview>),
    /// The graph's lines.
    Graph(Split, Vec<(LineOf, Series)>),
    /// Lines of the query's counters.
    Counters { view: Interval, ids: Vec<CounterId>, lines: Vec<Series> },
    /// Committed bytes in the lanes of heaps and trackers.
    Committed(Vec<CommittedLine>),
    /// Lines of the trace that is laid over the graph.
    Laid(Laid),
    /// Marks, frames and CPU use.
    OverlayAnswer(Box<OverlayAnswer>),
    /// The filtered sums of each heap in the query's interval.
    Sources { trace: Arc<Trace>, by_heap: Vec<ByClass> },
    /// The answer to a view's request.
    View(ViewId, AnyAnswer),
    /// When the highlighted node was alive.
    LifetimeBand(Option<LifetimeBand>),
    /// The worker panicked; no more parts follow.
    Failed(Caught),
    /// Sums by heap between the pins.
    Pins { interval: Interval, by_heap: Vec<ByClass> },
}

/// A part and the document it belongs to.
#[derive(Debug)]
pub struct Answer {
    pub document: JobId,
    /// The builder whose numbers of heaps, processes and stacks it uses.
    pub builder: BuilderId,
    pub part: Part,
}

impl Query {
    /// The moments at the edges of `count` equal parts of the view, each once.
    pub(super) fn moments(&self, count: usize) -> Vec<Ticks> {
        let (from, length, count) = (i128::from(self.view.from.0), i128::from(self.view.len()), count.max(1) as i128);
        let mut moments: Vec<Ticks> = (0..=count).map(|n| Ticks((from + length * n / count) as i64)).collect();
        moments.dedup();
        moments
    }

    pub(super) fn answer(&self, part: Part) -> Answer {
        Answer { document: self.document, builder: self.trace.builder(), part }
    }
}
