//! Traces that stay loaded between the questions of `highwater mcp`, so that each question does not load its trace anew.
//! Commands that answer once keep nothing in memory, but use prepared traces ([`prepared`]).
//!
//! A trace is known by its files (names, and their state when they were opened: identity, size, times) and by the
//! providers whose events are marks or blocks of trackers; so a file that was changed or replaced is read again. Only
//! traces that are loaded whole are kept, for what is loaded of others depends on the question.
//!
//! Bound: the last four, together at most half of the memory that traces may use, or one that is larger. Before another trace
//! is loaded, as many are dropped as it needs room ([`super::memory::make_room`]). Answers of `info` are kept, too: the last
//! four, of at most a megabyte each.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::memory::Memory;
use super::providers::ProvidersAsked;
use super::{Failure, prepared};
use crate::events::TrackerProviders;
use crate::load::{Capture, Input};
use crate::model::Trace;
use crate::platform::{FileStamp, file_stamp};

/// Most traces that are kept.
const MOST: usize = 4;

/// Largest answer that is kept, in bytes.
const LARGEST_ANSWER: usize = 1 << 20;

/// Everything that is kept; `None` where nothing is.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// Traces, and answers of `info`, which reads its files without loading a trace; the newest last.
#[derive(Default)]
struct Kept {
    traces: Vec<(Key, Arc<Trace>)>,
    answers: Vec<(Key, Arc<str>)>,
}

/// The origin of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Key {
    /// Inputs, each with the state of its file; the demo has none.
    files: Vec<(Input, Option<FileStamp>)>,
    marks: Vec<String>,
    trackers: TrackerProviders,
}

impl Key {
    /// Whether it is of the same inputs, which have changed since.
    fn is_later_than(&self, other: &Self) -> bool {
        let names = |key: &Self| key.files.iter().map(|(input, _)| input.clone()).collect::<Vec<_>>();
        self.files != other.files && names(self) == names(other)
    }
}

/// The place of a trace among those that are kept in memory, or where none are, among the prepared ones.
#[derive(Debug)]
pub(super) struct Place {
    key: Option<Key>,
    prepared: prepared::Place,
}

/// Keeps traces from now on.
#[cfg(feature = "mcp")]
pub(super) fn keep_traces() {
    kept().get_or_insert_default();
}

/// Whether traces are kept in memory.
pub(super) fn keeps_traces() -> bool {
    kept().is_some()
}

/// The place of the trace in these files. The state of the files is that of this moment, so they must be opened later.
pub(super) fn place(inputs: &[Input], providers: &ProvidersAsked) -> Result<Place, Failure> {
    if !keeps_traces() {
        return Ok(Place { key: None, prepared: prepared::Place::of(inputs, providers)? });
    }
    let stamped = |input: &Input| match input.path() {
        None => Some((input.clone(), None)),
        Some(path) => Some((input.clone(), Some(file_stamp(path)?))),
    };
    let files: Option<_> = inputs.iter().map(stamped).collect();
    let (marks, trackers) = (providers.marks().to_vec(), providers.trackers()?);
    Ok(Place { key: files.map(|files| Key { files, marks, trackers }), prepared: prepared::Place::NONE })
}

/// Bytes that the kept traces hold.
pub(super) fn bytes() -> u64 {
    kept().as_ref().map_or(0, |kept| bytes_of(&kept.traces))
}

/// Drops the trace that was not asked about for longest.
pub(super) fn drop_oldest() {
    if let Some(kept) = kept().as_mut().filter(|kept| !kept.traces.is_empty()) {
        kept.traces.remove(0);
    }
}

impl Place {
    /// The place; without that of a prepared trace if the files may belong to several captures.
    pub(super) fn for_one_capture(self, is_one: bool) -> Self {
        Self { prepared: self.prepared.for_one_capture(is_one), ..self }
    }

    /// Whether there is a trace in memory.
    pub(super) fn is_known(&self) -> bool {
        kept().as_ref().is_some_and(|kept| self.position(&kept.traces).is_some())
    }

    /// The trace, which becomes the newest; a prepared one only if it takes no more memory than `budget` bytes.
    pub(super) fn trace(&self, budget: u64) -> Option<Arc<Trace>> {
        let mut kept = kept();
        let Some(Kept { traces, .. }) = kept.as_mut() else { return self.prepared.trace(budget) };
        let found = traces.remove(self.position(traces)?);
        let trace = Arc::clone(&found.1);
        traces.push(found);
        Some(trace)
    }

    /// The answer that was kept.
    pub(super) fn answer(&self) -> Option<Arc<str>> {
        let kept = kept();
        let answers = &kept.as_ref()?.answers;
        answers.get(self.position(answers)?).map(|(_, answer)| Arc::clone(answer))
    }

    /// Keeps an answer about the files.
    pub(super) fn keep_answer(&self, answer: &str) {
        let mut kept = kept();
        let (Some(key), Some(kept)) = (&self.key, kept.as_mut().filter(|_| answer.len() <= LARGEST_ANSWER)) else { return };
        kept.answers.retain(|(other, _)| other != key && !key.is_later_than(other));
        kept.answers.push((key.clone(), answer.into()));
        let too_many = kept.answers.len().saturating_sub(MOST);
        kept.answers.drain(..too_many);
    }

    /// Keeps a trace that was loaded whole from this capture.
    pub(super) fn keep(&self, trace: &Arc<Trace>, capture: &Capture, memory: Memory) {
        self.prepared.keep(trace, capture);
        let is_whole = trace.scope.is_all() && trace.cut.is_none() && trace.forgotten.is_none();
        let mut kept = kept();
        let (Some(key), Some(Kept { traces, .. })) = (&self.key, kept.as_mut().filter(|_| is_whole)) else { return };
        traces.retain(|(other, _)| !key.is_later_than(other));
        traces.push((key.clone(), Arc::clone(trace)));
        while traces.len() > MOST || (traces.len() > 1 && bytes_of(traces) > memory.budget() / 2) {
            traces.remove(0);
        }
    }

    fn position<T>(&self, kept: &[(Key, T)]) -> Option<usize> {
        kept.iter().position(|(key, _)| Some(key) == self.key.as_ref())
    }
}

fn bytes_of(traces: &[(Key, Arc<Trace>)]) -> u64 {
    traces.iter().map(|(_, trace)| trace.load_bytes).sum()
}

/// Locks the list; it is consistent even if a thread has panicked.
fn kept() -> MutexGuard<'static, Option<Kept>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}
