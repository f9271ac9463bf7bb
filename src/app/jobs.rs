//! Background work: one thread for each load, one for all queries.
//!
//! The newest query is answered first: a query made stale by the user's next action is cancelled, and a
//! waiting one is replaced. Answers arrive in parts (totals and tree at once, peaks and graph when
//! ready), each with the document it belongs to. Intermediate results are kept for the next query, so
//! that opening a node does not read the rows again. As soon as a trace stops growing, its index is
//! built in the background; until it is ready, the table comes from a scan, and the graph waits. While
//! the trace grows, the graph is made from that of the publication before and the new rows.

mod answer;
pub mod apart;
mod ask;
mod committed;
mod laid;
mod lines;
mod load;
pub mod load_scope;
pub mod overlays;
pub mod player;
mod query;
pub mod query_cache;
pub mod query_context;
pub mod writing;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use eframe::egui;

use crate::panics;
use crate::query::Cancel;
use answer::{AnswerTo, answer};
pub use ask::{Ask, Request};
pub use load::{LoadEvent, LoadJob, TooLarge};
pub use query::{Answer, AnyAnswer, JobId, Part, Query};
pub use query_cache::ForestKind;
use query_cache::QueryCache;
pub use query_context::QueryContext;

/// The window's handle to the query thread.
pub struct Queries {
    inbox: Arc<Inbox>,
    wake: Sender<()>,
    answers: Receiver<Answer>,
}

#[derive(Default)]
struct Inbox {
    /// The newest request and the switch that cancels it.
    next: Mutex<Option<(Request, Cancel)>>,
    running: Mutex<Cancel>,
    busy: AtomicBool,
    /// Whether the running query has answered everything but what takes longer ([`Ask::complete`]).
    completing: AtomicBool,
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
            let mut cache = QueryCache::default();
            while woken.recv().is_ok() {
                while let Some((request, cancel)) = theirs.take() {
                    let start = Instant::now();
                    let to = AnswerTo { send: &send, ctx: &ctx, completing: &theirs.completing };
                    if let Err(caught) = panics::catch(|| answer(&request, &cancel, &mut cache, &to)) {
                        cache = QueryCache::default();
                        let _ = send.send(request.query.answer(Part::Failed(caught)));
                    }
                    theirs.completing.store(false, Ordering::Release);
                    *lock(&theirs.last) = Some((Instant::now(), start.elapsed()));
                }
                ctx.request_repaint(); // so that the status bar shows that nothing is running
            }
        });
        Self { inbox, wake, answers }
    }

    /// Submits a request, which replaces a waiting one. If `urgent`, the running query is stale and is
    /// cancelled; otherwise (the trace has grown) it may finish.
    pub fn submit(&self, request: Request, urgent: bool) {
        let cancel = Cancel::default();
        if urgent {
            lock(&self.inbox.running).cancel();
        }
        self.inbox.put(request, cancel);
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

    /// Whether the newest query has answered everything that the graph and the visible views show, and goes on with what
    /// takes longer.
    pub fn is_completing(&self) -> bool {
        self.inbox.completing.load(Ordering::Acquire) && lock(&self.inbox.next).is_none()
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
    fn put(&self, request: Request, cancel: Cancel) {
        let mut next = lock(&self.next);
        *next = Some((request, cancel));
        self.busy.store(true, Ordering::Release);
    }

    /// Takes the next query, or notes that there is none. The lock is held, so that no query can arrive in between.
    fn take(&self) -> Option<(Request, Cancel)> {
        let mut next = lock(&self.next);
        match next.take() {
            Some(next) => {
                *lock(&self.running) = next.1.clone();
                Some(next)
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
