//! The self-test's journal: the system calls and their results, and the first events of each session. Its report shows,
//! on another machine, where recording fails.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::refusal::Refusal;
use crate::Lane;

/// The recorded calls and events.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Journal {
    /// The calls, in their order.
    pub calls: Vec<Call>,
    /// The first events of each kind and lane.
    pub events: Vec<RawEvent>,
}

/// One system call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Call {
    /// The function and its operation: `ControlTraceW(STOP)`.
    pub call: &'static str,
    /// The object of the call: a session or a program.
    pub subject: String,
    /// Its Win32 error code; 0 is success.
    pub code: u32,
    /// The result of a call that queries something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// An event as ETW delivered it: the fields of its `EVENT_RECORD`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RawEvent {
    /// The lane of its session.
    pub lane: &'static str,
    /// The provider or class.
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
    /// Raw time.
    pub time: i64,
    /// The first two bytes of ETW_BUFFER_CONTEXT as one number.
    pub processor_index: u16,
    /// Type and bytes of each extended item.
    pub extended: Vec<(u16, u16)>,
    /// Bytes of the payload.
    pub payload_len: u16,
    /// The first bytes of the payload, in hexadecimal.
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

/// Maximum number of calls that are kept, since some calls are made by polling.
const MOST_CALLS: usize = 4096;
/// Maximum number of events of each kind; [`MOST_EVENTS`] is the total.
const EACH: usize = 3;
const MOST_EVENTS: usize = 200;

/// Starts to record calls and events.
pub(super) fn begin() {
    *JOURNAL.lock().unwrap_or_else(PoisonError::into_inner) = Some(Journal::default());
    IS_WANTED.store(true, Ordering::Relaxed);
}

/// Stops recording; returns the journal.
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

/// Whether the journal is being recorded.
pub(super) fn is_wanted() -> bool {
    IS_WANTED.load(Ordering::Relaxed)
}

/// Records a call if the journal is on.
pub(super) fn note(call: &'static str, subject: &str, code: u32) {
    note_answer(call, subject, code, None);
}

/// Records a call with its result if the journal is on.
pub(super) fn note_answer(call: &'static str, subject: &str, code: u32, answer: Option<String>) {
    with(|journal| {
        if journal.calls.len() < MOST_CALLS {
            journal.calls.push(Call { call, subject: subject.to_owned(), code, answer });
        }
    });
}

/// Records a call of a function that returns its error code, and turns the code into a result.
pub(super) fn check(call: &'static str, subject: &str, code: u32) -> Result<(), Refusal> {
    note(call, subject, code);
    Refusal::check(call, code)
}

/// Records an event of a lane if the journal is on and it is one of the first of its kind. If the journal is off, this
/// costs one check of a flag.
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
