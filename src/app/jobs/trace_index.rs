//! The index of the trace that is asked about. While a trace grows, it is extended from publication to publication. That of a
//! complete trace is prepared in the background: first what graphs need, in a large trace from the last publication and the
//! events since.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::model::Trace;
use crate::panics;
use crate::query::{Cancel, Cancelled, Index, IndexOptions};

/// Rows from which on the index of the last publication is used. That of smaller traces is soon prepared, and does not depend on
/// when there was a publication.
const LARGE: usize = 1 << 18;

/// How often a query that waits for the index checks whether it was cancelled.
const PATIENCE: Duration = Duration::from_millis(4);

/// The latest index of a trace, and the one that is being prepared.
#[derive(Default)]
pub(super) struct TraceIndex {
    latest: Option<Arc<Index>>,
    /// That of the previous publication, as long as there is none of this trace.
    earlier: Option<Arc<Index>>,
    preparing: Option<Preparing>,
    /// Whether preparing has begun, also if it has failed since.
    was_prepared: bool,
}

impl TraceIndex {
    /// Whether there is an index of this trace.
    pub(super) fn is_of(&self, trace: &Arc<Trace>) -> bool {
        self.latest.as_ref().is_some_and(|index| Arc::ptr_eq(index.shared_trace(), trace))
    }

    /// The state with which another trace begins: the last index, if the trace continues the one of that.
    pub(super) fn left_for(&mut self, trace: &Trace) -> Self {
        let known = self.latest.take().or(self.earlier.take());
        Self { earlier: known.filter(|known| trace.continues(known.trace())), ..Self::default() }
    }

    /// The index as it is now: extended if the trace grows, else one that answers by scanning the rows until the one is ready
    /// that it begins to prepare.
    pub(super) fn get(&mut self, trace: &Arc<Trace>, growing: bool, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        let index = match &self.latest {
            Some(index) => Arc::clone(index),
            None if growing => {
                let earlier = self.earlier.as_deref();
                let grown = Index::grown(Arc::clone(trace), earlier, &IndexOptions::default(), cancel)?;
                self.earlier = None;
                Arc::new(grown)
            }
            None => Arc::new(Index::scan(Arc::clone(trace))),
        };
        if !growing {
            self.prepare(trace);
        }
        let ready = self.preparing.as_ref().and_then(|preparing| preparing.done.try_iter().last());
        Ok(self.keep(ready.map_or(index, Arc::new)))
    }

    /// An index for graphs: this one if it has their data, else the one that is being prepared. Waiting for it is faster than
    /// sorting all changes of a large trace.
    pub(super) fn drawn(&mut self, index: Arc<Index>, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        self.awaited(index, Index::is_drawn, cancel)
    }

    /// The index, once all of it is prepared.
    pub(super) fn prepared(&mut self, index: Arc<Index>, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        self.awaited(index, Index::is_prepared, cancel)
    }

    /// Whether the index is prepared, or no better one comes.
    pub(super) fn is_final(&self) -> bool {
        self.was_prepared && self.preparing.is_none()
    }

    /// Begins to prepare the index of a trace that does not grow, once.
    fn prepare(&mut self, trace: &Arc<Trace>) {
        if !std::mem::replace(&mut self.was_prepared, true) {
            let earlier = self.earlier.take().or_else(|| self.latest.clone());
            self.preparing = Some(Preparing::start(Arc::clone(trace), earlier.filter(|_| trace.rows.len() >= LARGE)));
        }
    }

    /// The index that is being prepared, once it has enough; `index` if it has, or there is none.
    fn awaited(
        &mut self,
        mut index: Arc<Index>,
        has_enough: impl Fn(&Index) -> bool,
        cancel: &Cancel,
    ) -> Result<Arc<Index>, Cancelled> {
        while let Some(preparing) = self.preparing.as_ref().filter(|_| !has_enough(&index)) {
            match preparing.done.recv_timeout(PATIENCE) {
                Ok(ready) => index = self.keep(Arc::new(ready)),
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
        self.latest = Some(Arc::clone(&index));
        index
    }
}

/// The index of a complete trace while it is being prepared. Dropping it stops the work.
struct Preparing {
    cancel: Cancel,
    /// The index with what graphs need, and then with everything.
    done: Receiver<Index>,
}

impl Preparing {
    fn start(trace: Arc<Trace>, earlier: Option<Arc<Index>>) -> Self {
        let (send, done) = channel();
        let cancel = Cancel::default();
        let theirs = cancel.clone();
        let prepare = move || {
            let options = IndexOptions::default();
            let begun = Index::begin(trace, earlier.as_deref(), &options, &theirs)?;
            drop(earlier);
            let _ = send.send(begun.clone()); // the receiver is gone if the work is no longer needed
            let _ = send.send(begun.finish(&options, &theirs)?);
            Ok(())
        };
        std::thread::spawn(move || match panics::catch(prepare) {
            Ok(Ok(()) | Err(Cancelled)) => {}
            Err(fault) => log::error!("no index, queries go on by scans: {fault}"),
        });
        Self { cancel, done }
    }
}

impl Drop for Preparing {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Event, Record};
    use crate::model::{Builder, Clock, InputState};
    use crate::units::{Layer, Pid, Tid};

    /// Publications of a trace with so many allocations: when half of them are there, and the complete one.
    fn publications(rows: usize) -> [Arc<Trace>; 2] {
        let mut builder = Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, 0, (0, 0));
        let mut publish = |numbers: std::ops::Range<usize>, complete: bool| {
            let last = numbers.end as i64;
            for number in numbers {
                let event = Event::Alloc { layer: Layer::Heap, heap: 0x10_0000, address: 64 * number as u64, size: 32 };
                builder.apply(&Record { time: number as i64, pid: Pid(4), tid: Tid(8), event }, &[]);
            }
            Arc::new(builder.publish(InputState { times: Some((0, last)), complete, ..InputState::default() }))
        };
        [publish(0..rows / 2, false), publish(rows / 2..rows, true)]
    }

    /// Asks for the index of the complete trace, after one while it grew; returns whether the one that is prepared begins with
    /// that.
    fn uses_publication(rows: usize) -> bool {
        let (never, [growing, complete]) = (Cancel::default(), publications(rows));
        assert_eq!(complete.rows.len(), rows);
        let mut indexes = TraceIndex::default();
        let grown = indexes.get(&growing, true, &never).unwrap();
        assert!(grown.is_drawn() && !indexes.is_final() && indexes.preparing.is_none());
        indexes = indexes.left_for(&complete);
        let first = indexes.get(&complete, false, &never).unwrap();
        assert!(indexes.is_of(&complete) && indexes.earlier.is_none());
        let drawn = indexes.drawn(first, &never).unwrap();
        assert!(drawn.is_drawn());
        let prepared = indexes.prepared(drawn, &never).unwrap();
        assert!(prepared.is_prepared() && indexes.is_final());
        prepared.shares_blocks(&grown)
    }

    #[test]
    fn the_index_of_a_large_trace_begins_with_that_of_its_last_publication() {
        assert!(uses_publication(LARGE));
        assert!(!uses_publication(LARGE - 1));
    }
}
