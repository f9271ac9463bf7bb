//! What one query leaves for the next: the index, sums of intervals, types.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::app::filters::Filters;
use crate::app::graph::Split;
use crate::model::{CounterId, HeapId, Trace};
use crate::panics;
use crate::query::{Cancel, Cancelled, Index, IndexOptions, Totals, Types, totals};
use crate::symbols::Names;
use crate::units::Interval;

/// Results that the next query may use again.
#[derive(Default)]
pub struct Kept {
    /// Answers by scans until the prepared one is there.
    index: Option<Arc<Index>>,
    /// That of a growing trace, for its next publication.
    grown: Option<Arc<Index>>,
    preparing: Option<Preparing>,
    /// Whether it was prepared, or could not be.
    was_prepared: bool,
    totals: Vec<Arc<Totals>>,
    pub(super) overview_done: bool,
    pub(super) graph: Option<GraphKey>,
    /// Types, and the names that they follow from.
    types: Option<(Arc<Names>, Arc<Types>)>,
    /// Counts how often types were made.
    pub(super) types_turn: u64,
    pub(super) counters: Option<(Interval, Vec<CounterId>, usize)>,
    /// The interval of the sources' changes.
    pub(super) sources: Option<Interval>,
}

/// What the lines of a graph follow from.
#[derive(PartialEq)]
pub(super) struct GraphKey {
    pub(super) view: Interval,
    pub(super) heaps: Vec<HeapId>,
    pub(super) bins: usize,
    pub(super) filters: Filters,
    pub(super) split: Split,
    /// The turn of the types, if they count.
    pub(super) types: Option<u64>,
}

/// The index of a trace that does not grow on its way. Dropping it stops the work.
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
    /// What there is to answer questions about `trace`; of a growing one, all that is kept up
    /// from publication to publication.
    pub(super) fn index(&mut self, trace: &Arc<Trace>, growing: bool, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        let known = self.index.take().filter(|index| Arc::ptr_eq(index.shared_trace(), trace));
        let index = match known {
            Some(index) => index,
            None => {
                let grown = self.grown.take().filter(|grown| trace.continues(grown.trace()));
                *self = Self { grown, ..Self::default() };
                if growing {
                    let grown = Index::grown(Arc::clone(trace), self.grown.as_deref(), &IndexOptions::default(), cancel)?;
                    Arc::clone(self.grown.insert(Arc::new(grown)))
                } else {
                    Arc::new(Index::scan(Arc::clone(trace)))
                }
            }
        };
        if !growing && !std::mem::replace(&mut self.was_prepared, true) {
            self.preparing = Some(Preparing::start(Arc::clone(trace)));
        }
        let ready = self.preparing.as_ref().and_then(|preparing| preparing.done.try_recv().ok());
        Ok(self.keep(ready.map_or(index, Arc::new)))
    }

    /// The same with all that is being prepared: to wait for it is faster than to sort
    /// all changes of a large trace.
    pub(super) fn prepared(&mut self, index: Arc<Index>, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
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

    /// The types of all sites, as far as the names go.
    pub(super) fn types(&mut self, trace: &Trace, names: &Arc<Names>, cancel: &Cancel) -> Result<Arc<Types>, Cancelled> {
        if let Some((of, types)) = &self.types
            && Arc::ptr_eq(of, names)
        {
            return Ok(Arc::clone(types));
        }
        let types = Arc::new(Types::of(trace, names, cancel)?);
        self.types = Some((Arc::clone(names), Arc::clone(&types)));
        self.types_turn += 1;
        Ok(types)
    }

    pub(super) fn totals(&mut self, index: &Index, interval: Interval, cancel: &Cancel) -> Result<Arc<Totals>, Cancelled> {
        if let Some(known) = self.totals.iter().find(|t| t.interval == interval) {
            return Ok(Arc::clone(known));
        }
        let new = Arc::new(totals(index, interval, cancel)?);
        self.totals.insert(0, Arc::clone(&new));
        self.totals.truncate(KEPT_TOTALS);
        Ok(new)
    }
}
