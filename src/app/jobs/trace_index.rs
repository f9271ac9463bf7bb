//! The index of the trace that is asked about. While a trace grows, it is extended from publication to publication, and once more for the
//! first query after a large trace is complete. Then the index of the complete trace is prepared in the background.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::model::Trace;
use crate::panics;
use crate::query::{Cancel, Cancelled, Index, IndexOptions};

/// Rows from which on preparing the index takes longer than a user gladly waits.
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

    /// What another trace can use of it.
    pub(super) fn left_for(&mut self, trace: &Trace) -> Self {
        let known = self.latest.take().or(self.earlier.take());
        Self { earlier: known.filter(|known| trace.continues(known.trace())), ..Self::default() }
    }

    /// The index as it is now. It begins to prepare that of a complete trace, but not beside the first query if that can do without:
    /// both would take twice as long.
    pub(super) fn get(&mut self, trace: &Arc<Trace>, growing: bool, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        let (index, is_known) = match &self.latest {
            Some(index) => (Arc::clone(index), true),
            None => (Arc::new(self.first(trace, growing, cancel)?), false),
        };
        if !growing && (is_known || !index.is_drawn()) {
            self.prepare(trace);
        }
        let ready = self.preparing.as_ref().and_then(|preparing| preparing.done.try_iter().last());
        Ok(self.keep(ready.map_or(index, Arc::new)))
    }

    /// The index for the first query: one that is extended, else one that answers by scanning the rows.
    fn first(&self, trace: &Arc<Trace>, growing: bool, cancel: &Cancel) -> Result<Index, Cancelled> {
        let earlier = self.earlier.as_deref();
        if growing || earlier.is_some() && trace.rows.len() >= LARGE {
            return Index::grown(Arc::clone(trace), earlier, &IndexOptions::default(), cancel);
        }
        Ok(Index::scan(Arc::clone(trace)))
    }

    /// An index for graphs: this one if it has their data, else the one that is being prepared. Waiting for it is faster than sorting
    /// all changes of a large trace.
    pub(super) fn drawn(&mut self, index: Arc<Index>, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        self.awaited(index, Index::is_drawn, cancel)
    }

    /// The index of a complete trace, once all of it is prepared.
    pub(super) fn prepared(&mut self, index: Arc<Index>, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        self.prepare(index.shared_trace());
        self.awaited(index, Index::is_prepared, cancel)
    }

    /// Whether the index is prepared, or no better one comes.
    pub(super) fn is_final(&self) -> bool {
        self.was_prepared && self.preparing.is_none()
    }

    fn prepare(&mut self, trace: &Arc<Trace>) {
        if !std::mem::replace(&mut self.was_prepared, true) {
            self.preparing = Some(Preparing::start(Arc::clone(trace)));
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
        self.earlier = None;
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
    fn start(trace: Arc<Trace>) -> Self {
        let (send, done) = channel();
        let cancel = Cancel::default();
        let theirs = cancel.clone();
        let prepare = move || {
            let options = IndexOptions::default();
            let begun = Index::begin(trace, &options, &theirs)?;
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

    /// The index for the first query about the complete trace, after one while it grew.
    fn first_of_complete(rows: usize) -> (TraceIndex, Arc<Index>) {
        let (never, [growing, complete]) = (Cancel::default(), publications(rows));
        assert_eq!(complete.rows.len(), rows);
        let mut indexes = TraceIndex::default();
        let grown = indexes.get(&growing, true, &never).unwrap();
        assert!(grown.is_drawn() && !indexes.is_final() && indexes.preparing.is_none());
        indexes = indexes.left_for(&complete);
        let first = indexes.get(&complete, false, &never).unwrap();
        assert!(indexes.is_of(&complete) && indexes.earlier.is_none());
        (indexes, first)
    }

    #[test]
    fn a_large_trace_is_drawn_from_what_it_had_before_it_was_complete_and_prepared_after_that() {
        let never = Cancel::default();
        let (mut indexes, first) = first_of_complete(LARGE);
        assert!(first.is_drawn() && !first.is_prepared() && indexes.preparing.is_none());
        let drawn = indexes.drawn(Arc::clone(&first), &never).unwrap();
        assert!(Arc::ptr_eq(&drawn, &first) && !indexes.is_final());
        assert!(indexes.prepared(first, &never).unwrap().is_prepared() && indexes.is_final());
    }

    #[test]
    fn the_next_query_of_a_large_trace_begins_to_prepare_if_the_first_one_was_cancelled() {
        let (mut indexes, first) = first_of_complete(LARGE);
        indexes.get(first.shared_trace(), false, &Cancel::default()).unwrap();
        assert!(indexes.was_prepared);
    }

    #[test]
    fn a_small_trace_is_prepared_at_once() {
        let (mut indexes, first) = first_of_complete(LARGE - 1);
        assert!(indexes.was_prepared);
        let never = Cancel::default();
        let drawn = indexes.drawn(first, &never).unwrap();
        assert!(drawn.is_drawn());
        assert!(indexes.prepared(drawn, &never).unwrap().is_prepared() && indexes.is_final());
    }
}
