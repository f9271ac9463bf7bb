//! Work in the background: one thread for each load, one for all queries.
//!
//! Queries are answered newest first: a query that the user's next action made
//! stale is cancelled, and one that waits is replaced. Answers come back in parts
//! (totals and tree at once, peaks and graph when ready), each with the document
//! it belongs to. Intermediate results are kept for the next query: opening a node
//! does not look at the rows again. As soon as a trace does not grow any more its index
//! is built aside; until it is there, the table comes from a scan, and the graph waits.
//! While it grows, the graph comes from that of the publication before and what came.

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

/// Tells documents apart: answers to a closed one are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobId(u64);

/// Everything the window wants to know at one moment.
pub struct Query {
    pub document: JobId,
    pub trace: Arc<Trace>,
    /// Whether the next publication of the trace is on its way.
    pub growing: bool,
    /// What the graph shows.
    pub view: Interval,
    /// What the table shows.
    pub interval: Interval,
    /// Heaps with a line on the graph, where lines stand together.
    pub heaps: Vec<HeapId>,
    /// Its lanes, where they do not.
    pub lanes: Vec<Lane>,
    /// Counters with a line on the graph.
    pub counters: Vec<CounterId>,
    /// What else it shows.
    pub happenings: Asked,
    /// Points across the graph.
    pub bins: usize,
    /// Which rows count.
    pub filters: Filters,
    /// What is known of names by now.
    pub names: Arc<Names>,
    /// Whether frames of the allocator are left out.
    pub fold: Fold,
    /// What the graph has lines for, and how they stand.
    pub split: Split,
    pub arrangement: Arrangement,
    /// What the view in sight wants to know.
    pub asks: Vec<Box<dyn Ask>>,
    /// Whose lives to paint on the graph: a node of the tree.
    pub highlight: Option<Path>,
    /// Between the pins.
    pub pins: Option<Interval>,
}

/// One part of the answer.
#[derive(Debug)]
pub enum Part {
    /// Small lines of all heaps and layers over the whole trace.
    Overview(Arc<Overview>),
    /// The same of what filters leave.
    Left(Filters, Arc<Overview>),
    /// Frees of unknown blocks by place, and of how many places.
    Unmatched(Vec<UnmatchedGroup>, usize),
    /// Lines of what the query wants.
    Graph(Split, Vec<(LineOf, Series)>),
    /// Lines of the query's counters.
    Counters { view: Interval, ids: Vec<CounterId>, lines: Vec<Series> },
    /// Marks, frames and processors.
    Happened(Box<Happened>),
    /// What the filters leave of each heap in the query's interval.
    Sources { trace: Arc<Trace>, by_heap: Vec<ByClass> },
    /// For a view.
    View(ViewId, AnyAnswer),
    /// When the highlighted node was alive.
    Lives(Option<Lives>),
    /// Nothing more: the worker panicked.
    Failed(Caught),
    /// Sums by heap between the pins.
    Pins { interval: Interval, by_heap: Vec<ByClass> },
}

/// A part and whose it is.
#[derive(Debug)]
pub struct Answer {
    pub document: JobId,
    /// Whose numbers of heaps, processes and stacks it speaks of.
    pub builder: BuilderId,
    pub part: Part,
}

impl Query {
    fn answer(&self, part: Part) -> Answer {
        Answer { document: self.document, builder: self.trace.builder(), part }
    }
}

/// The query thread, seen from the window.
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
    /// When the last query was answered, and what it took.
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
                ctx.request_repaint(); // the status bar says that nothing is running any more
            }
        });
        Self { inbox, wake, answers }
    }

    /// Asks a query in place of one that waits. With `urgent`, the running one is
    /// stale and cancelled; without (the trace has grown), it may finish.
    pub fn submit(&self, query: Query, urgent: bool) {
        let cancel = Cancel::default();
        if urgent {
            lock(&self.inbox.running).cancel();
        }
        self.inbox.put(query, cancel);
        let _ = self.wake.send(()); // the thread lives as long as the sender
    }

    /// Drops what waits and stops what runs.
    pub fn cancel(&self) {
        lock(&self.inbox.next).take();
        lock(&self.inbox.running).cancel();
    }

    pub fn is_busy(&self) -> bool {
        self.inbox.busy.load(Ordering::Acquire)
    }

    /// How long until a growing trace may be asked about again, `None` while a query
    /// runs. A query that took some time is followed by `rest` times that, for its
    /// numbers are stale at the next publication.
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

    /// The next query, or rest: decided under the lock, so that no query can come in between.
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

/// Frees what may be large on a worker: the window does not wait for that either.
pub fn drop_aside(old: impl Send + 'static) {
    rayon::spawn(move || drop(old));
}

/// A panic elsewhere cannot leave these values half-changed.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
