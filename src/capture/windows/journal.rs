//! What Windows was called with and what it answered, and what the first events of each session
//! looked like, while somebody wants to know: the self-test, whose report tells from another
//! machine where recording stops.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::refusal::Refusal;
use crate::capture::Lane;

/// What was noted.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Journal {
    /// In their order.
    pub calls: Vec<Call>,
    /// The first of each kind and lane.
    pub events: Vec<RawEvent>,
}

/// One call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Call {
    /// The function, and what of it: `ControlTraceW(STOP)`.
    pub call: &'static str,
    /// What it was for: a session, a program.
    pub subject: String,
    /// Its Win32 error code; 0 is success.
    pub code: u32,
    /// What it answered, of calls that ask for something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// An event as ETW handed it over: the fields of its `EVENT_RECORD`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RawEvent {
    /// The lane of its session.
    pub lane: &'static str,
    /// Provider or class.
    pub provider: String,
    /// See EVENT_DESCRIPTOR.
    pub id: u16,
    /// See EVENT_DESCRIPTOR.
    pub version: u8,
    /// See EVENT_DESCRIPTOR.
    pub opcode: u8,
    /// See EVENT_DESCRIPTOR.
    pub keyword: u64,
    /// See EVENT_HEADER.
    pub flags: u16,
    /// See EVENT_HEADER.
    pub header_type: u16,
    /// See EVENT_HEADER.
    pub event_property: u16,
    /// See EVENT_HEADER.
    pub pid: u32,
    /// See EVENT_HEADER.
    pub tid: u32,
    /// Raw.
    pub time: i64,
    /// The whole number of ETW_BUFFER_CONTEXT's first two bytes.
    pub processor_index: u16,
    /// Type and bytes of each extended item.
    pub extended: Vec<(u16, u16)>,
    /// Bytes of the payload.
    pub payload_len: u16,
    /// The first of them.
    pub payload: String,
}

impl RawEvent {
    fn is_of_the_kind(&self, other: &Self) -> bool {
        let kind = |event: &Self| (event.lane, event.id, event.opcode, event.flags);
        kind(self) == kind(other) && self.provider == other.provider
    }
}

static IS_WANTED: AtomicBool = AtomicBool::new(false);
static JOURNAL: Mutex<Option<Journal>> = Mutex::new(None);

/// More calls are not kept: somebody polls.
const MOST_CALLS: usize = 4096;
/// So many of each kind, and in all.
const EACH: usize = 3;
const MOST_EVENTS: usize = 200;

/// From now on it is noted.
pub(super) fn begin() {
    *JOURNAL.lock().unwrap_or_else(PoisonError::into_inner) = Some(Journal::default());
    IS_WANTED.store(true, Ordering::Relaxed);
}

/// What was noted. No more is.
pub(super) fn end() -> Journal {
    IS_WANTED.store(false, Ordering::Relaxed);
    JOURNAL.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
}

fn with(note: impl FnOnce(&mut Journal)) {
    if is_wanted()
        && let Some(journal) = JOURNAL.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
    {
        note(journal);
    }
}

/// Whether somebody wants it.
pub(super) fn is_wanted() -> bool {
    IS_WANTED.load(Ordering::Relaxed)
}

/// Notes a call if somebody wants it.
pub(super) fn note(call: &'static str, subject: &str, code: u32) {
    note_answer(call, subject, code, None);
}

/// The same with what was answered.
pub(super) fn note_answer(call: &'static str, subject: &str, code: u32, answer: Option<String>) {
    with(|journal| {
        if journal.calls.len() < MOST_CALLS {
            journal.calls.push(Call { call, subject: subject.to_owned(), code, answer });
        }
    });
}

/// The same of a function that returns its error, with what that means.
pub(super) fn check(call: &'static str, subject: &str, code: u32) -> Result<(), Refusal> {
    note(call, subject, code);
    Refusal::check(call, code)
}

/// Notes an event of a lane if somebody wants it and it is one of the first of its kind.
/// Without that it costs one look at a flag.
pub(super) fn note_event(lane: Lane, event: impl FnOnce(&'static str) -> RawEvent) {
    with(|journal| {
        if journal.events.len() < MOST_EVENTS {
            let event = event(lane.name());
            if journal.events.iter().filter(|known| known.is_of_the_kind(&event)).count() < EACH {
                journal.events.push(event);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_noted_while_somebody_wants_them() {
        let ours = |journal: Journal| journal.calls.into_iter().filter(|call| call.call == "Test").collect::<Vec<_>>();
        note("Test", "before", 0);
        begin();
        note("Test", "heap", 183);
        assert_eq!(ours(end()), [Call { call: "Test", subject: "heap".to_owned(), code: 183, answer: None }]);
        note("Test", "after", 0);
        assert_eq!(ours(end()), []);
    }
}
