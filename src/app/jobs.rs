//! Background work: one thread for each load, one for all queries.
//!
//! The newest query is answered first: a query made stale by the user's next action is cancelled, and a
//! waiting one is replaced. Answers arrive in parts (totals and tree at once, peaks and graph when
//! ready), each with the document it belongs to. Intermediate results are kept for the next query, so
//! that opening a node does not read the rows again. While a trace grows, the graph is made from that of
//! the publication before and the new rows. As soon as it stops growing, its index is built in the
//! background, first what graphs need; until it is ready, the table comes from a scan, and the graph waits.
//!
//! When nothing has been asked for a moment, the query thread makes the answers to what the window will probably ask next
//! ([`Queries::foresee`]), each once. Whatever the window asks cancels this.

mod ahead;
mod answer;
pub mod apart;
mod ask;
mod committed;
mod inbox;
mod laid;
mod lines;
mod load;
pub mod load_scope;
pub mod overlays;
pub mod player;
mod query;
pub mod query_cache;
pub mod query_context;
mod trace_index;
pub mod writing;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use eframe::egui;

use crate::panics;
use answer::{AnswerTo, answer};
pub use ask::{Ask, Request};
pub use inbox::QueryTimes;
use inbox::{AheadRequest, Inbox, Submitted};
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

/// How long nothing is asked before the query thread works ahead.
const PAUSE: Duration = Duration::from_millis(120);

impl Queries {
    pub fn start(ctx: egui::Context) -> Self {
        let (wake, woken) = channel();
        let (send, answers) = channel();
        let inbox = Arc::new(Inbox::default());
        let theirs = Arc::clone(&inbox);
        std::thread::spawn(move || {
            let mut cache = QueryCache::default();
            while wait(&woken, &theirs, &mut cache) {
                while let Some(Submitted { request, cancel, at }) = theirs.take() {
                    let begun = Instant::now();
                    let to = AnswerTo::new(&send, &ctx, &theirs);
                    if let Err(caught) = panics::catch(|| answer(&request, &cancel, &mut cache, Some(&to))) {
                        cache = QueryCache::default();
                        let _ = send.send(request.query.answer(Part::Failed(caught)));
                    }
                    let shown = to.shown.get();
                    theirs.completing.store(false, Ordering::Release);
                    theirs.note(QueryTimes { asked: at, begun, shown, ended: Instant::now() });
                }
                ctx.request_repaint(); // so that the status bar shows that nothing is running
            }
        });
        Self { inbox, wake, answers }
    }

    /// Submits a request, which replaces a waiting one. If `urgent`, the running query is stale and is
    /// cancelled; otherwise (the trace has grown) it may finish.
    pub fn submit(&self, request: Request, urgent: bool) {
        self.inbox.put(request, urgent);
        let _ = self.wake.send(()); // the thread lives as long as the sender
    }

    /// Has the answers to other requests made while nothing is asked, the first ones first; they replace those that were
    /// foreseen before.
    pub fn foresee(&self, requests: Vec<Request>) {
        self.inbox.foresee(requests, true);
        let _ = self.wake.send(());
    }

    /// Has the answer to a request made that has become more probable than all others.
    pub fn foresee_first(&self, request: Request) {
        self.inbox.foresee(vec![request], false);
        let _ = self.wake.send(());
    }

    /// Drops the waiting query, cancels the running one, and drops what was made ahead.
    pub fn cancel(&self) {
        self.inbox.clear();
        let _ = self.wake.send(());
    }

    /// Whether answers are being made that nobody has asked for.
    pub fn works_ahead(&self) -> bool {
        self.inbox.is_ahead()
    }

    /// Number of parts of answers that had been made ahead, and of those that had not.
    pub fn parts(&self) -> [usize; 2] {
        self.inbox.parts.each_ref().map(|parts| parts.load(Ordering::Relaxed))
    }

    /// The times of the last query that was answered.
    pub fn last_times(&self) -> Option<QueryTimes> {
        self.inbox.last()
    }

    pub fn is_busy(&self) -> bool {
        self.inbox.is_busy()
    }

    /// Whether the newest query has answered everything that the graph and the visible views show, and goes on with what
    /// takes longer.
    pub fn is_completing(&self) -> bool {
        self.inbox.completing.load(Ordering::Acquire) && !self.inbox.has_next()
    }

    /// Time until a growing trace may be queried again; `None` while a query runs. A query is followed
    /// by a pause of `rest` times its own duration, because its numbers are stale at the next
    /// publication.
    pub fn rest_left(&self, rest: u32) -> Option<Duration> {
        if self.is_busy() {
            return None;
        }
        let left = |last: QueryTimes| ((last.ended - last.begun) * rest).saturating_sub(last.ended.elapsed());
        Some(self.inbox.last().map_or(Duration::ZERO, left))
    }

    pub fn drain(&self) -> Vec<Answer> {
        self.answers.try_iter().collect()
    }
}

impl Drop for Queries {
    fn drop(&mut self) {
        self.inbox.clear(); // nobody takes the answers
    }
}

/// Waits until the window asks for something, and works ahead meanwhile. Returns whether the window is still there.
fn wait(woken: &Receiver<()>, inbox: &Inbox, cache: &mut QueryCache) -> bool {
    loop {
        let is_woken = match inbox.has_ahead() {
            true => woken.recv_timeout(PAUSE),
            false => woken.recv().map_err(RecvTimeoutError::from),
        };
        match is_woken {
            Ok(()) if inbox.is_busy() => return true,
            Ok(()) if inbox.has_ahead() => {} // a moment later, if nothing else comes
            Ok(()) => cache.forget_ahead(),
            Err(RecvTimeoutError::Timeout) => work_ahead(inbox, cache),
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// Makes answers that nobody has asked for yet, until the window asks for something.
fn work_ahead(inbox: &Inbox, cache: &mut QueryCache) {
    while let Some(AheadRequest { request, cancel, is_first }) = inbox.take_ahead() {
        if is_first {
            cache.begin_ahead();
        }
        match panics::catch(|| answer(&request, &cancel, cache, None)) {
            Ok(_) if cancel.check().is_err() => return inbox.put_back(request),
            Ok(_) => {} // made, or there is no room for it
            Err(fault) => {
                log::error!("no answers ahead: {fault}");
                inbox.drop_ahead();
                cache.forget_ahead();
            }
        }
    }
}

/// Drops a value that may be large on a worker, so that the window does not wait for it.
pub fn drop_aside(old: impl Send + 'static) {
    rayon::spawn(move || drop(old));
}
