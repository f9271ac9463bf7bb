//! Background work: one thread for each load, one for all queries.
//!
//! The newest query is answered first: a query made stale by the user's next action is cancelled, and a
//! waiting one is replaced. Answers arrive in parts (totals and tree at once, peaks and graph when
//! ready), each with the document it belongs to. Intermediate results are kept for the next query, so
//! that opening a node does not read the rows again. As soon as a trace stops growing, its index is
//! built in the background; until it is ready, the table comes from a scan, and the graph waits. While
//! the trace grows, the graph is made from that of the publication before and the new rows.

mod answer;
mod ask;
mod ground;
mod happenings;
mod kept;
mod lines;
mod load;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use eframe::egui;

use super::answers::{Lives, Overview};
use super::filters::Filters;
use super::graph::{Arrangement, LineOf, Split};
use super::happenings::{Asked, Happened};
use super::lanes::Lane;
use super::state::ids::ViewId;
use crate::model::{BuilderId, CounterId, HeapId, Trace};
use crate::panics::{self, Caught};
use crate::query::{ByClass, Cancel, Fold, Path, Series, UnmatchedGroup};
use crate::symbols::Names;
use crate::units::Interval;
use answer::answer;
pub use ask::{AnyAnswer, Ask};
pub use ground::Ground;
pub use kept::ForestKind;
use kept::Kept;
pub use load::{LoadEvent, LoadJob, TooLarge};

/// Identifies a document: answers to a closed one are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobId(u64);

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
    pub happenings: Asked,
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
    /// Requests of the visible views.
    pub asks: Vec<Box<dyn Ask>>,
    /// The node of the tree whose lifetimes are drawn on the graph.
    pub highlight: Option<Path>,
    /// The interval between the pins.
    pub pins: Option<Interval>,
}

/// One part of the answer.
#[derive(Debug)]
pub enum Part {
    /// Small lines of all heaps and layers over the whole trace.
    Overview(Arc<Overview>),
    /// Small lines of all heaps and layers, of the rows that these filters leave.
    Left(Filters, Arc<Overview>),
    /// Unmatched frees by place, and the number of places.
    Unmatched(Vec<UnmatchedGroup>, usize),
    /// The graph's lines.
    Graph(Split, Vec<(LineOf, Series)>),
    /// Lines of the query's counters.
    Counters { view: Interval, ids: Vec<CounterId>, lines: Vec<Series> },
    /// Marks, frames and CPU use.
    Happened(Box<Happened>),
    /// The filtered sums of each heap in the query's interval.
    Sources { trace: Arc<Trace>, by_heap: Vec<ByClass> },
    /// The answer to a view's request.
    View(ViewId, AnyAnswer),
    /// When the highlighted node was alive.
    Lives(Option<Lives>),
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
    fn answer(&self, part: Part) -> Answer {
        Answer { document: self.document, builder: self.trace.builder(), part }
    }
}

/// The window's handle to the query thread.
pub struct Queries {
    inbox: Arc<Inbox>,
    wake: Sender<()>,
    answers: Receiver<Answer>,
}

#[derive(Default)]
struct Inbox {
    /// The newest query and the switch that cancels it.
    next: Mutex<Option<(Query, Cancel)>>,
    running: Mutex<Cancel>,
    busy: AtomicBool,
    /// When the last query was answered, and how long it took.
    last: Mutex<Option<(Instant, Duration)>>,
}

impl Queries {
    pub fn start(ctx: egui::Context) -> Self {
        let (wake, woken) = channel();
        let (send, answers) = channel();
        let inbox = Arc::new(Inbox::default());
        let theirs = Arc::clone(&inbox);
        std::thread::spawn(move || {
            let mut kept = Kept::default();
            while woken.recv().is_ok() {
                while let Some((query, cancel)) = theirs.take() {
                    let start = Instant::now();
                    if let Err(caught) = panics::catch(|| answer(&query, &cancel, &mut kept, &send, &ctx)) {
                        kept = Kept::default();
                        let _ = send.send(query.answer(Part::Failed(caught)));
                    }
                    *lock(&theirs.last) = Some((Instant::now(), start.elapsed()));
                }
                ctx.request_repaint(); // so that the status bar shows that nothing is running
            }
        });
        Self { inbox, wake, answers }
    }

    /// Submits a query, which replaces a waiting one. If `urgent`, the running query is stale and is
    /// cancelled; otherwise (the trace has grown) it may finish.
    pub fn submit(&self, query: Query, urgent: bool) {
        let cancel = Cancel::default();
        if urgent {
            lock(&self.inbox.running).cancel();
        }
        self.inbox.put(query, cancel);
        let _ = self.wake.send(()); // the thread lives as long as the sender
    }

    /// Drops the waiting query and cancels the running one.
    pub fn cancel(&self) {
        lock(&self.inbox.next).take();
        lock(&self.inbox.running).cancel();
    }

    pub fn is_busy(&self) -> bool {
        self.inbox.busy.load(Ordering::Acquire)
    }

    /// Time until a growing trace may be queried again; `None` while a query runs. A query is followed
    /// by a pause of `rest` times its own duration, because its numbers are stale at the next
    /// publication.
    pub fn rest_left(&self, rest: u32) -> Option<Duration> {
        if self.is_busy() {
            return None;
        }
        let left = |(at, cost): (Instant, Duration)| (cost * rest).saturating_sub(at.elapsed());
        Some(lock(&self.inbox.last).map_or(Duration::ZERO, left))
    }

    pub fn drain(&self) -> Vec<Answer> {
        self.answers.try_iter().collect()
    }
}

impl Inbox {
    fn put(&self, query: Query, cancel: Cancel) {
        let mut next = lock(&self.next);
        *next = Some((query, cancel));
        self.busy.store(true, Ordering::Release);
    }

    /// Takes the next query, or notes that there is none. The lock is held, so that no query can arrive in between.
    fn take(&self) -> Option<(Query, Cancel)> {
        let mut next = lock(&self.next);
        match next.take() {
            Some(query) => {
                *lock(&self.running) = query.1.clone();
                Some(query)
            }
            None => {
                self.busy.store(false, Ordering::Release);
                None
            }
        }
    }
}

/// Drops a value that may be large on a worker, so that the window does not wait for it.
pub fn drop_aside(old: impl Send + 'static) {
    rayon::spawn(move || drop(old));
}

/// Locks even after a panic elsewhere, which cannot leave these values half-changed.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
