//! Work in the background: one thread for each load, one for all queries.
//!
//! Queries are answered newest first: a query that the user's next action made
//! stale is cancelled, and one that waits is replaced. Answers come back in parts
//! (totals and tree at once, peaks and graph when ready), each with the document
//! it belongs to. Intermediate results are kept for the next query: opening a node
//! does not look at the rows again. As soon as a trace is complete its index is built
//! aside; until it is there, the table comes from a scan, and the graph waits.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use eframe::egui;

use super::failure::Failure;
use crate::etl::OpenError;
use crate::load::{Capture, Estimate, Input, Plan, Scope, Watch, load_planned};
use crate::model::{CounterId, HeapId, Trace};
use crate::panics::{self, Caught};
use crate::query::{
    ByClass, Cancel, Cancelled, Column, Filter, Index, IndexOptions, Series, SeriesOf, Totals, Tree, TreeRequest, UnmatchedGroup,
    by_heap, counter_series, peaks, series, sort_by_peak, spans, totals, tree, unmatched_groups,
};
use crate::units::Interval;

/// Tells documents apart: answers to a closed one are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobId(u64);

/// What a load tells.
#[derive(Debug)]
pub enum LoadEvent {
    /// The trace so far, or the complete one.
    Trace(Arc<Trace>),
    /// The trace needs more memory than may be used; the load waits for a choice.
    TooLarge(TooLarge),
    /// Nothing could be read, or the load broke.
    Failed(Failure),
}

/// What a trace needs, and what may be used.
#[derive(Clone, Debug)]
pub struct TooLarge {
    pub estimate: Arc<Estimate>,
    /// Bytes.
    pub budget: u64,
}

/// A load that is running. Dropping it stops it.
#[derive(Debug)]
pub struct LoadJob {
    pub id: JobId,
    pub inputs: Vec<Input>,
    shared: Arc<Progress>,
    events: Receiver<LoadEvent>,
    choice: Sender<Scope>,
}

#[derive(Debug, Default)]
struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    stop: AtomicBool,
    /// Whether the window has shown the last publication and wants the next.
    wants_trace: AtomicBool,
}

impl LoadJob {
    /// Begins to load; a trace may use about `budget` bytes.
    pub fn start(ctx: egui::Context, inputs: Vec<Input>, budget: u64) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (send, events) = channel();
        let (choice, chosen) = channel();
        let shared = Arc::new(Progress::default());
        let id = JobId(NEXT.fetch_add(1, Ordering::Relaxed));
        let job = Self { id, inputs: inputs.clone(), shared: Arc::clone(&shared), events, choice };
        std::thread::spawn(move || {
            let watch = Watcher { second_half: false, shared, send: send.clone(), ctx: ctx.clone() };
            let result = panics::catch(|| run_load(&inputs, budget, &chosen, watch));
            let event = match result {
                Ok(Ok(Some(trace))) => Some(LoadEvent::Trace(Arc::new(trace))),
                Ok(Ok(None)) => None,
                Ok(Err(reason)) => Some(LoadEvent::Failed(Failure::expected(reason))),
                Err(caught) => Some(LoadEvent::Failed(Failure::internal("the loading", &inputs, &caught))),
            };
            if let Some(event) = event {
                let _ = send.send(event); // nobody listens any more once the job is dropped
            }
            ctx.request_repaint();
        });
        job
    }

    pub fn drain(&mut self) -> Vec<LoadEvent> {
        self.events.try_iter().collect()
    }

    /// Tells what to load of a trace that needs too much memory.
    pub fn choose(&self, scope: Scope) {
        let _ = self.choice.send(scope); // the worker listens as long as it waits
    }

    /// Asks for the next publication of the growing trace.
    pub fn want_trace(&self) {
        self.shared.wants_trace.store(true, Ordering::Relaxed);
    }

    /// Part that is done, 0 to 1.
    pub fn progress(&self) -> f32 {
        let total = self.shared.total.load(Ordering::Relaxed).max(1);
        self.shared.done.load(Ordering::Relaxed) as f32 / total as f32
    }
}

impl Drop for LoadJob {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

fn run_load(inputs: &[Input], budget: u64, chosen: &Receiver<Scope>, mut watch: Watcher) -> Result<Option<Trace>, String> {
    // Expanding an archive is the first half of the work.
    let mut expanded = false;
    let opened = Capture::open_watched(inputs, &mut |done, total| {
        expanded = true;
        watch.progress(done, total.saturating_mul(2))
    });
    watch.second_half = expanded;
    let capture = match opened {
        Ok(capture) => capture,
        Err(OpenError::Stopped) => return Ok(None),
        Err(e) => return Err(e.to_string()),
    };
    panics::reach("load");
    let Some(scope) = scope(&capture, budget, chosen, &watch) else { return Ok(None) };
    Ok(load_planned(&capture, &Plan { scope, budget }, &mut watch).ok())
}

/// Everything if there is room for it, else what the user chooses; `None` if the
/// load was given up.
fn scope(capture: &Capture, budget: u64, chosen: &Receiver<Scope>, watch: &Watcher) -> Option<Scope> {
    if capture.surely_fits(budget) {
        return Some(Scope::default());
    }
    let shared = &watch.shared;
    let estimate = Estimate::of(capture, || !shared.stop.load(Ordering::Relaxed))?;
    if estimate.total() <= budget {
        return Some(Scope::default());
    }
    let _ = watch.send.send(LoadEvent::TooLarge(TooLarge { estimate: Arc::new(estimate), budget }));
    watch.ctx.request_repaint();
    chosen.recv().ok() // the sender is gone once the job is dropped
}

struct Watcher {
    /// Whether the first half of the work, expanding, is done.
    second_half: bool,
    shared: Arc<Progress>,
    send: Sender<LoadEvent>,
    ctx: egui::Context,
}

impl Watch for Watcher {
    fn progress(&mut self, done: u64, total: u64) -> bool {
        let (done, total) = if self.second_half { (total + done, total.saturating_mul(2)) } else { (done, total) };
        self.shared.done.store(done, Ordering::Relaxed);
        self.shared.total.store(total, Ordering::Relaxed);
        !self.shared.stop.load(Ordering::Relaxed)
    }

    fn wants_trace(&self) -> bool {
        self.shared.wants_trace.load(Ordering::Relaxed)
    }

    fn publish(&mut self, trace: Trace) {
        self.shared.wants_trace.store(false, Ordering::Relaxed);
        let _ = self.send.send(LoadEvent::Trace(Arc::new(trace)));
        self.ctx.request_repaint();
    }
}

/// Everything the window wants to know at one moment.
#[derive(Clone, Debug)]
pub struct Query {
    pub document: JobId,
    pub trace: Arc<Trace>,
    /// Whether the next publication of the trace is on its way.
    pub growing: bool,
    /// What the graph shows.
    pub view: Interval,
    /// What the table shows.
    pub interval: Interval,
    /// Heaps with a line on the graph.
    pub heaps: Vec<HeapId>,
    /// Counters with a line on the graph.
    pub counters: Vec<CounterId>,
    /// Points across the graph.
    pub bins: usize,
    pub tree: TreeRequest,
    /// Whose lives to paint on the graph.
    pub highlight: Option<Filter>,
    /// Between the pins.
    pub pins: Option<Interval>,
}

/// One part of the answer.
#[derive(Debug)]
pub enum Part {
    /// Small lines of all heaps over the whole trace.
    Overview(Vec<Series>),
    /// Frees of unknown blocks by place, and of how many places.
    Unmatched(Vec<UnmatchedGroup>, usize),
    /// Lines of the query's heaps.
    Graph { view: Interval, heaps: Vec<HeapId>, lines: Vec<Series> },
    /// Lines of the query's counters.
    Counters { view: Interval, ids: Vec<CounterId>, lines: Vec<Series> },
    /// The table, and the trace that it was made of.
    Table { interval: Interval, trace: Arc<Trace>, tree: Arc<Tree> },
    /// Largest sizes of the table's lines.
    Peaks { tree: Arc<Tree>, peaks: Vec<u64> },
    /// When the highlighted rows were alive.
    Spans(Vec<Interval>),
    /// Nothing more: the worker panicked.
    Failed(Caught),
    /// Sums by heap between the pins.
    Pins { interval: Interval, by_heap: Vec<ByClass> },
}

/// A part and whose it is.
#[derive(Debug)]
pub struct Answer {
    pub document: JobId,
    pub part: Part,
}

/// The query thread, seen from the window.
#[derive(Debug)]
pub struct Queries {
    inbox: Arc<Inbox>,
    wake: Sender<()>,
    answers: Receiver<Answer>,
}

#[derive(Debug, Default)]
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
                        let _ = send.send(Answer { document: query.document, part: Part::Failed(caught) });
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

    /// Whether a growing trace may be asked about again: at most a ninth of the
    /// time goes into numbers that the next publication makes stale.
    pub fn is_rested(&self) -> bool {
        let rested = |(at, cost): (Instant, Duration)| at.elapsed() >= cost * 8;
        !self.is_busy() && lock(&self.inbox.last).is_none_or(rested)
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

/// Results that the next query may use again.
#[derive(Default)]
struct Kept {
    /// Answers by scans until the prepared one is there.
    index: Option<Arc<Index>>,
    preparing: Option<Preparing>,
    totals: Vec<Arc<Totals>>,
    overview_done: bool,
    graph: Option<(Interval, Vec<HeapId>, usize, Filter)>,
    counters: Option<(Interval, Vec<CounterId>, usize)>,
}

/// The index of a complete trace on its way. Dropping it stops the work.
struct Preparing {
    cancel: Cancel,
    done: Receiver<Index>,
}

impl Preparing {
    fn start(trace: Arc<Trace>) -> Self {
        let (send, done) = channel();
        let cancel = Cancel::default();
        let theirs = cancel.clone();
        std::thread::spawn(move || {
            match panics::catch(|| Index::build(trace, &IndexOptions::default(), &theirs)) {
                Ok(Ok(index)) => drop(send.send(index)), // nobody waits any more for that of a closed document
                Ok(Err(Cancelled)) => {}
                Err(fault) => log::error!("no index, queries go on by scans: {fault}"),
            }
        });
        Self { cancel, done }
    }
}

impl Drop for Preparing {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Totals of this many intervals are kept.
const KEPT_TOTALS: usize = 4;

/// How often a query that waits for the index looks whether it is stale.
const PATIENCE: Duration = Duration::from_millis(4);

impl Kept {
    /// What there is to answer questions about `trace`.
    fn index(&mut self, trace: &Arc<Trace>) -> Arc<Index> {
        let known = self.index.take().filter(|index| Arc::ptr_eq(index.shared_trace(), trace));
        let index = known.unwrap_or_else(|| {
            let preparing = trace.complete.then(|| Preparing::start(Arc::clone(trace)));
            *self = Self { preparing, ..Self::default() };
            Arc::new(Index::scan(Arc::clone(trace)))
        });
        let ready = self.preparing.as_ref().and_then(|preparing| preparing.done.try_recv().ok());
        self.keep(ready.map_or(index, Arc::new))
    }

    /// The same with all that is being prepared: to wait for it is faster than to sort
    /// all changes of a large trace.
    fn prepared(&mut self, index: Arc<Index>, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        while let Some(preparing) = &self.preparing {
            match preparing.done.recv_timeout(PATIENCE) {
                Ok(ready) => return Ok(self.keep(Arc::new(ready))),
                Err(RecvTimeoutError::Timeout) => cancel.check()?,
                Err(RecvTimeoutError::Disconnected) => self.preparing = None,
            }
        }
        Ok(index)
    }

    fn keep(&mut self, index: Arc<Index>) -> Arc<Index> {
        if index.is_prepared() {
            self.preparing = None;
        }
        self.index = Some(Arc::clone(&index));
        index
    }

    fn totals(&mut self, index: &Index, interval: Interval, cancel: &Cancel) -> Result<Arc<Totals>, Cancelled> {
        if let Some(known) = self.totals.iter().find(|t| t.interval == interval) {
            return Ok(Arc::clone(known));
        }
        let new = Arc::new(totals(index, interval, cancel)?);
        self.totals.insert(0, Arc::clone(&new));
        self.totals.truncate(KEPT_TOTALS);
        Ok(new)
    }
}

/// Places of unmatched frees that are listed.
const UNMATCHED_GROUPS: usize = 32;

/// Bins of the small lines.
const OVERVIEW_BINS: usize = 240;

fn answer(query: &Query, cancel: &Cancel, kept: &mut Kept, send: &Sender<Answer>, ctx: &egui::Context) -> Result<(), Cancelled> {
    panics::reach("query");
    let trace = query.trace.as_ref();
    let index = kept.index(&query.trace);
    let tell = |part| {
        let _ = send.send(Answer { document: query.document, part });
        ctx.request_repaint();
    };

    let sums = kept.totals(&index, query.interval, cancel)?;
    let tree = Arc::new(tree(trace, &sums, &query.tree, cancel)?);
    let table =
        |tree: &Arc<Tree>| Part::Table { interval: query.interval, trace: Arc::clone(&query.trace), tree: Arc::clone(tree) };
    tell(table(&tree));

    let index = kept.prepared(index, cancel)?;
    if !kept.overview_done {
        let all = kept.totals(&index, trace.span, cancel)?;
        let of = SeriesOf::new(trace, trace.heaps.len(), |site| Some(trace.site(site).heap.0));
        tell(Part::Overview(series(&index, &all, &of, OVERVIEW_BINS, cancel)?));
        let (groups, all) = unmatched_groups(trace, UNMATCHED_GROUPS);
        tell(Part::Unmatched(groups, all));
        kept.overview_done = true;
    }
    let graph = (query.view, query.heaps.clone(), query.bins, query.tree.filter.clone());
    if kept.graph.as_ref() != Some(&graph) {
        let sums = kept.totals(&index, query.view, cancel)?;
        let mut line_of = vec![None; trace.heaps.len()];
        query.heaps.iter().enumerate().for_each(|(i, heap)| line_of[heap.0 as usize] = Some(i as u32));
        let of = SeriesOf::new(trace, query.heaps.len(), |site| {
            line_of[trace.site(site).heap.0 as usize].filter(|_| tree.mask().classes(site) != 0)
        });
        let lines = series(&index, &sums, &of, query.bins, cancel)?;
        tell(Part::Graph { view: query.view, heaps: query.heaps.clone(), lines });
        kept.graph = Some(graph);
    }
    let counters = (query.view, query.counters.clone(), query.bins);
    if kept.counters.as_ref() != Some(&counters) {
        let lines = counter_series(trace, &query.counters, query.view, query.bins, cancel)?;
        tell(Part::Counters { view: query.view, ids: query.counters.clone(), lines });
        kept.counters = Some(counters);
    }
    if let Some(interval) = query.pins {
        let sums = kept.totals(&index, interval, cancel)?;
        tell(Part::Pins { interval, by_heap: by_heap(trace, &sums, tree.mask(), cancel)? });
    }
    if query.growing {
        return Ok(()); // what costs most would be stale at once
    }
    let lives = match &query.highlight {
        Some(filter) => spans(trace, query.interval, &filter.mask(trace), query.bins, cancel)?,
        None => Vec::new(),
    };
    tell(Part::Spans(lives));
    let (mut tree, mut peaks) = (Arc::clone(&tree), peaks(&index, query.interval, &tree, cancel)?);
    if query.tree.sort.column == Column::Peak {
        let (sorted, moved) = sort_by_peak(&tree, &peaks, query.tree.sort.descending);
        (tree, peaks) = (Arc::new(sorted), moved);
        tell(table(&tree));
    }
    tell(Part::Peaks { peaks, tree });
    Ok(())
}
