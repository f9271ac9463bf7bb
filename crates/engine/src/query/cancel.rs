//! Cancellation of queries whose result is no longer needed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A cancellation flag, shared between the caller of a query and its worker.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// The error of a cancelled query; its partial result is discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

impl Cancel {
    /// Asks the query to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the query should stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns an error once cancelled; for `?` in the loops of queries.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}
