//! The requests that wait for the query thread: the newest that the window has asked, and those that it will probably ask
//! next. A request of the window drops these and cancels the one that runs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::ask::Request;
use crate::query::Cancel;

#[derive(Default)]
pub(super) struct Inbox {
    state: Mutex<State>,
    busy: AtomicBool,
    /// Whether the running query has answered everything but what takes longer ([`Ask::complete`](super::Ask::complete)).
    pub(super) completing: AtomicBool,
    /// Number of parts of answers that had been made ahead, and of those that had not.
    pub(super) parts: [AtomicUsize; 2],
}

/// The course of a query.
#[derive(Clone, Copy, Debug)]
pub struct QueryTimes {
    /// When the window asked, and when the query thread began.
    pub asked: Instant,
    pub begun: Instant,
    /// When everything was answered but what takes longer, if it came to that.
    pub shown: Option<Instant>,
    pub ended: Instant,
}

/// A request that the window has asked.
pub(super) struct Submitted {
    pub(super) request: Request,
    pub(super) cancel: Cancel,
    pub(super) at: Instant,
}

#[derive(Default)]
struct State {
    /// The newest request and the switch that cancels it.
    next: Option<Submitted>,
    running: Cancel,
    /// The last query that was answered.
    last: Option<QueryTimes>,
    ahead: Foreseen,
    running_ahead: Cancel,
    /// Whether one of them is being answered.
    is_ahead: bool,
}

/// Requests that the window will probably ask next, the most probable first.
#[derive(Default)]
struct Foreseen {
    requests: VecDeque<Request>,
    /// Whether none of the set has been taken yet.
    is_new: bool,
}

/// A request that nobody has asked yet.
pub(super) struct AheadRequest {
    pub(super) request: Request,
    pub(super) cancel: Cancel,
    /// Whether it is the first of its set.
    pub(super) is_first: bool,
}

impl Inbox {
    /// Takes a request of the window, which replaces a waiting one. If `urgent`, the running one is cancelled.
    pub(super) fn put(&self, request: Request, urgent: bool) {
        let mut state = self.state();
        if urgent {
            state.running.cancel();
        }
        state.drop_ahead();
        state.next = Some(Submitted { request, cancel: Cancel::default(), at: Instant::now() });
        self.busy.store(true, Ordering::Release);
    }

    /// Takes requests that the window will probably ask next: another set, or a single one that has become the most probable.
    pub(super) fn foresee(&self, requests: Vec<Request>, is_set: bool) {
        let mut state = self.state();
        state.running_ahead.cancel();
        if is_set {
            state.ahead = Foreseen { requests: requests.into(), is_new: true };
        } else {
            requests.into_iter().rev().for_each(|request| state.ahead.requests.push_front(request));
            state.ahead.requests.truncate(MOST_FORESEEN);
        }
    }

    /// Drops all waiting requests and cancels the running ones.
    pub(super) fn clear(&self) {
        let mut state = self.state();
        state.next = None;
        state.running.cancel();
        state.drop_ahead();
    }

    /// Takes the next query, or notes that there is none. The lock is held, so that no query can arrive in between.
    pub(super) fn take(&self) -> Option<Submitted> {
        let mut state = self.state();
        let next = state.next.take();
        match &next {
            Some(next) => state.running = next.cancel.clone(),
            None => self.busy.store(false, Ordering::Release),
        }
        next
    }

    /// Notes that a query was answered.
    pub(super) fn note(&self, times: QueryTimes) {
        self.state().last = Some(times);
    }

    /// The times of the last query that was answered.
    pub(super) fn last(&self) -> Option<QueryTimes> {
        self.state().last
    }

    /// Whether there are requests that nobody has asked yet.
    pub(super) fn has_ahead(&self) -> bool {
        !self.state().ahead.requests.is_empty()
    }

    /// Takes the next request that nobody has asked yet, unless the window has asked for something.
    pub(super) fn take_ahead(&self) -> Option<AheadRequest> {
        let mut state = self.state();
        state.is_ahead = false;
        if state.next.is_some() {
            return None;
        }
        let request = state.ahead.requests.pop_front()?;
        let cancel = Cancel::default();
        (state.running_ahead, state.is_ahead) = (cancel.clone(), true);
        Some(AheadRequest { request, cancel, is_first: std::mem::take(&mut state.ahead.is_new) })
    }

    /// Takes a request back that was cancelled for a more probable one, unless the window has asked for something.
    pub(super) fn put_back(&self, request: Request) {
        let mut state = self.state();
        state.is_ahead = false;
        if state.next.is_none() && !state.ahead.is_new && !state.ahead.requests.is_empty() {
            state.ahead.requests.insert(1, request);
        }
    }

    /// Whether there are requests that nobody has asked yet, or one is being answered.
    pub(super) fn is_ahead(&self) -> bool {
        let state = self.state();
        state.is_ahead || !state.ahead.requests.is_empty()
    }

    /// Drops the requests that nobody has asked yet.
    pub(super) fn drop_ahead(&self) {
        self.state().drop_ahead();
    }

    /// Whether a query waits or runs.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// Whether a request waits to be answered.
    pub(super) fn has_next(&self) -> bool {
        self.state().next.is_some()
    }

    /// Locks even after a panic elsewhere, which cannot leave the state half-changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Most requests that wait without having been asked.
const MOST_FORESEEN: usize = 64;

impl State {
    fn drop_ahead(&mut self) {
        self.running_ahead.cancel();
        self.ahead = Foreseen::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::jobs::JobId;
    use crate::app::jobs::query::tests::query;

    fn request(id: u64) -> Request {
        Request { query: query(JobId(id)), asks: Vec::new() }
    }

    fn taken(inbox: &Inbox) -> Option<(u64, Cancel)> {
        inbox.take_ahead().map(|next| (next.request.query.document.0, next.cancel))
    }

    #[test]
    fn a_request_of_the_window_cancels_what_nobody_has_asked() {
        let inbox = Inbox::default();
        inbox.foresee(vec![request(1), request(2)], true);
        let (first, cancel) = taken(&inbox).unwrap();
        assert!(first == 1 && cancel.check().is_ok() && inbox.is_ahead());
        inbox.put(request(3), false);
        assert!(cancel.check().is_err(), "at once, although the request is not urgent");
        assert!(taken(&inbox).is_none(), "and no other one begins");
        inbox.put_back(request(1));
        assert_eq!(inbox.take().unwrap().request.query.document.0, 3);
        assert!(taken(&inbox).is_none() && !inbox.is_ahead(), "they were about a state that is past");
    }

    #[test]
    fn a_more_probable_request_comes_first_and_the_others_go_on_after_it() {
        let inbox = Inbox::default();
        inbox.foresee(vec![request(1), request(2)], true);
        let (_, cancel) = taken(&inbox).unwrap();
        inbox.foresee(vec![request(9)], false);
        assert!(cancel.check().is_err());
        inbox.put_back(request(1));
        let order: Vec<u64> = std::iter::from_fn(|| taken(&inbox)).map(|(id, _)| id).collect();
        assert_eq!(order, [9, 1, 2]);
        inbox.foresee(vec![request(4)], true);
        inbox.foresee(vec![request(5)], true);
        assert_eq!(taken(&inbox).map(|(id, _)| id), Some(5), "of sets only the latest");
        inbox.clear();
        assert!(taken(&inbox).is_none());
    }
}
