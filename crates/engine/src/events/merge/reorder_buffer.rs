//! Records of a stream that wait, because the buffer behind theirs begins at the same time or earlier.
//!
//! Cost: a record is copied when it begins to wait and again when it goes on, and takes the logarithm
//! of the number of buffers with waiting records, however long it waits.

use std::collections::BTreeMap;

use crate::events::Batch;

/// Waiting records of one buffer, by time.
#[derive(Debug)]
struct Run {
    batch: Box<Batch>,
    /// Index of the first that has not gone on.
    at: usize,
}

/// The records of one stream that wait.
#[derive(Debug, Default)]
pub(super) struct ReorderBuffer {
    /// By the time of their next record, then in the order of the stream.
    runs: BTreeMap<(i64, u64), Run>,
    /// Number of runs so far, which is the number of the next.
    pushed: u64,
    waiting: usize,
}

impl ReorderBuffer {
    /// Number of waiting records.
    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    /// Adds records that stand behind all waiting ones in the stream.
    pub(super) fn push(&mut self, batch: Batch) {
        let Some(first) = batch.entries.first() else { return };
        self.waiting += batch.entries.len();
        self.runs.insert((first.time, self.pushed), Run { batch: Box::new(batch), at: 0 });
        self.pushed += 1;
    }

    /// Takes out the records earlier than `limit`, by time; equal times in the order of the stream.
    /// `None` if there are none.
    pub(super) fn take_earlier(&mut self, limit: Option<i64>) -> Option<Batch> {
        let is_earlier = |time: i64| limit.is_none_or(|limit| time < limit);
        let mut taken = Batch::default();
        while let Some(first) = self.runs.first_entry().filter(|run| is_earlier(run.key().0)) {
            let ((_, number), mut run) = first.remove_entry();
            let next = self.runs.first_key_value().map(|(key, _)| *key);
            let is_first = |time: i64| next.is_none_or(|next| (time, number) < next);
            while let Some(entry) = run.batch.entries.get(run.at).filter(|entry| is_earlier(entry.time) && is_first(entry.time)) {
                taken.put(*entry, &run.batch);
                run.at += 1;
            }
            if let Some(entry) = run.batch.entries.get(run.at) {
                self.runs.insert((entry.time, number), run);
            }
        }
        self.waiting -= taken.entries.len();
        (!taken.entries.is_empty()).then_some(taken)
    }
}
