//! The thread that keeps traces, one after the other, without being in anybody's way: it rests as long as it works, stops as soon
//! as nobody else holds the trace, and nothing waits for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::PreparedPlace;
use crate::model::Trace;
use highwater_engine::panics;

/// Traces that are to be kept, at most one at a time.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    /// Held by the thread that writes.
    turn: Arc<Mutex<()>>,
    waiting: Arc<AtomicUsize>,
    /// How often all that is being kept was dropped.
    stopped: Arc<AtomicUsize>,
}

impl Keeper {
    /// Keeps a trace on a thread of its own.
    pub(super) fn start(&self, place: PreparedPlace, trace: Arc<Trace>, names: Vec<String>) {
        let (turn, waiting, stopped) = (Arc::clone(&self.turn), Arc::clone(&self.waiting), Arc::clone(&self.stopped));
        let before = stopped.load(Ordering::Relaxed);
        waiting.fetch_add(1, Ordering::Relaxed);
        let keep = move || {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let mut last = Instant::now();
            let mut go_on = || {
                thread::sleep(last.elapsed());
                last = Instant::now();
                Arc::strong_count(&trace) > 1 && stopped.load(Ordering::Relaxed) == before
            };
            // A trace that cannot be kept is read anew the next time.
            let _ = panics::catch(|| place.keep(&trace, &names, &mut go_on));
            waiting.fetch_sub(1, Ordering::Relaxed);
        };
        let started = thread::Builder::new().name("keeping".to_owned()).spawn(keep);
        if started.is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether a trace is being kept, or waits for that.
    pub(super) fn is_at_work(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Drops what is being kept, and what waits.
    pub(super) fn stop(&self) {
        self.stopped.fetch_add(1, Ordering::Relaxed);
    }
}
