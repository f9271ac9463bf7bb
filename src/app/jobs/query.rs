//! The requests of the window for one state, and the parts of the answer.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::app::state::alignment::{Alignment, Laid};
use crate::app::state::answers::{CommittedLine, LifetimeBand, Overview};
use crate::app::state::filters::Filters;
use crate::app::state::graph::{Arrangement, GraphLine, LineOf, Split};
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

impl JobId {
    /// An id that no other document has.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

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

impl Part {
    /// Bytes that it takes, roughly: those of its points. [`Ask::bytes`](super::Ask::bytes) knows those of a view's answer.
    pub(super) fn bytes(&self) -> usize {
        let of_overview = |of: &Overview| of.heaps.iter().chain(of.layers.values()).map(Series::bytes).sum();
        let of_lines = |lines: &mut dyn Iterator<Item = &GraphLine>| lines.map(GraphLine::bytes).sum::<usize>();
        match self {
            Self::Overview(overview) | Self::Left(_, overview) => of_overview(overview),
            Self::Graph(_, lines) => lines.iter().map(|(_, line)| line.bytes()).sum(),
            Self::Counters { lines, .. } => lines.iter().map(Series::bytes).sum(),
            Self::Committed(lines) => of_lines(&mut lines.iter().flat_map(|line| &line.parts)),
            Self::Laid(laid) => of_lines(&mut laid.lines.iter().map(|(_, line)| line)),
            Self::OverlayAnswer(answer) => answer.bytes(),
            Self::Sources { by_heap, .. } | Self::Pins { by_heap, .. } => size_of_val(&by_heap[..]),
            Self::LifetimeBand(band) => band.iter().map(LifetimeBand::bytes).sum(),
            Self::View(..) | Self::Failed(_) => 0,
        }
    }
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::load::{Capture, Input, Unwatched, load};

    /// A query about the demo.
    pub(in crate::app::jobs) fn query(document: JobId) -> Query {
        static DEMO: std::sync::LazyLock<Arc<Trace>> =
            std::sync::LazyLock::new(|| Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap()));
        let trace = Arc::clone(&DEMO);
        Query {
            document,
            growing: false,
            view: trace.span,
            interval: trace.span,
            heaps: Vec::new(),
            lanes: Vec::new(),
            counters: Vec::new(),
            overlays: OverlayRequest::default(),
            bins: 100,
            filters: Filters::default(),
            names: Arc::default(),
            fold: Fold::Nothing,
            split: Split::Sources,
            arrangement: Arrangement::default(),
            highlight: None,
            pins: None,
            laid: None,
            trace,
        }
    }
}
