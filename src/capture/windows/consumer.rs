//! The consumer of one session: a thread of its own on which ETW calls us with events.
//!
//! Contract: events go to a [`Sink`], in the order in which ETW hands them over. What a
//! callback does never leaves it as a panic: the sink then takes nothing more and says so.
//! A session is stopped before its consumer is closed: who is closed "will not receive any new
//! events".
//!
//! Cost of an event: a lock that somebody else holds once a second, and one copy.
//!
//! Facts: Microsoft's pages of OpenTrace, ProcessTrace and CloseTrace. Times are those of
//! the session's own clock (`PROCESS_TRACE_MODE_RAW_TIMESTAMP`), as in its file.
#![allow(unsafe_code, reason = "ETW's interface are C functions; each call says why it is sound")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::ERROR_NOT_ENOUGH_MEMORY;
use windows_sys::Win32::System::Diagnostics::Etw::{
    CloseTrace, EVENT_RECORD, EVENT_TRACE_LOGFILEW, EVENT_TRACE_LOGFILEW_0, EVENT_TRACE_LOGFILEW_1, OpenTraceW,
    PROCESS_TRACE_MODE_EVENT_RECORD, PROCESS_TRACE_MODE_RAW_TIMESTAMP, PROCESS_TRACE_MODE_REAL_TIME, PROCESSTRACE_HANDLE,
    ProcessTrace,
};

use super::journal;
use super::record::{convert, describe};
use super::refusal::Refusal;
use super::wide::wide;
use crate::capture::constants::RUNDOWN_ENDS;
use crate::capture::{Elsewhere, Followed, Lane, LaneWriter, Recording};
use crate::etl::EventId;
use crate::etl::write::NewEvent;
use crate::events::class;

/// Whose events are taken.
pub(super) enum Filter {
    /// All.
    Everybody,
    /// Those of these processes.
    Of(Vec<u32>),
    /// The kernel's, without the pages of processes that are not followed.
    Pages(Arc<Mutex<Followed>>),
    /// Those of the followed, and trackers of all.
    Programs(Arc<Mutex<Followed>>, Mutex<Elsewhere>),
}

/// Where the events of a session go.
pub(super) struct Sink {
    kind: Lane,
    lane: Mutex<LaneWriter>,
    filter: Filter,
    names: Mutex<Names>,
    has_panicked: AtomicBool,
}

/// What .NET runtimes have told of the code that they have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Names {
    /// Events.
    pub(super) events: u64,
    /// Processes that have told all that there is at the end.
    pub(super) complete: Vec<u32>,
}

impl Sink {
    pub(super) fn new(recording: &Recording, lane: Lane, filter: Filter) -> Arc<Self> {
        let (lane, kind) = (Mutex::new(recording.lane(lane)), lane);
        Arc::new(Self { kind, lane, filter, names: Mutex::default(), has_panicked: AtomicBool::new(false) })
    }

    /// Takes one event; never panics. That it could not be written is told by
    /// the lane's own status.
    ///
    /// # Safety
    /// As of [`convert`].
    pub(super) unsafe fn take(&self, record: &EVENT_RECORD) {
        let is_foreign = matches!(&self.filter, Filter::Of(pids) if !pids.contains(&record.EventHeader.ProcessId));
        if is_foreign || self.has_panicked() {
            return;
        }
        let taken = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the caller's promise.
            journal::note_event(self.kind, |lane| unsafe { describe(record, lane) });
            // SAFETY: the caller's promise.
            unsafe { convert(record, |event| self.put(event)) };
        }));
        if taken.is_err() {
            self.has_panicked.store(true, Ordering::Relaxed);
        }
    }

    /// What cannot be written is in the lane's status.
    fn put(&self, event: &NewEvent<'_>) {
        let mut lane = self.lane();
        match &self.filter {
            Filter::Everybody | Filter::Of(_) => self.record(&mut lane, event),
            Filter::Pages(followed) => lock(followed).take(event, &mut |event| drop(lane.take(event))),
            Filter::Programs(..) if matches!(event.id, EventId::Provider { provider: class::CUSTOM_HEAP, .. }) => {
                self.record(&mut lane, event);
            }
            Filter::Programs(followed, elsewhere) => {
                let followed = lock(followed);
                lock(elsewhere).take(&followed, event, &mut |event| self.record(&mut lane, event));
            }
        }
    }

    /// Takes what has waited for the kernel's session to tell of its process.
    pub(super) fn settle(&self) {
        if let Filter::Programs(followed, elsewhere) = &self.filter {
            let (mut lane, followed) = (self.lane(), lock(followed));
            lock(elsewhere).settle(&followed, &mut |event| self.record(&mut lane, event));
        }
    }

    fn record(&self, lane: &mut LaneWriter, event: &NewEvent<'_>) {
        if let EventId::Provider { provider: class::CLR_RUNDOWN, id } = event.id {
            let mut names = lock(&self.names);
            names.events += 1;
            if id == RUNDOWN_ENDS && names.complete.len() < MOST_COMPLETE {
                names.complete.push(event.pid.0);
            }
        }
        drop(lane.take(event));
    }

    /// What .NET runtimes have told so far of the code that they have.
    pub(super) fn names(&self) -> Names {
        lock(&self.names).clone()
    }

    /// The lane, for who counts its losses.
    pub(super) fn lane(&self) -> MutexGuard<'_, LaneWriter> {
        lock(&self.lane)
    }

    /// Whether a fault of this program ended the taking of events.
    pub(super) fn has_panicked(&self) -> bool {
        self.has_panicked.load(Ordering::Relaxed)
    }
}

/// Nobody waits for more.
const MOST_COMPLETE: usize = 1024;

/// After a panic the sink takes nothing more, so nothing half-done is read.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread in `ProcessTrace`.
pub(super) struct Consumer {
    handle: PROCESSTRACE_HANDLE,
    thread: Option<JoinHandle<u32>>,
}

impl Consumer {
    /// Begins to take the events of a running session.
    pub(super) fn start(session: &str, sink: &Arc<Sink>) -> Result<Self, Refusal> {
        let handle = open(session, sink)?;
        let held = Arc::clone(sink);
        let process = move || {
            // SAFETY: one open handle and no limits of time. The callbacks run inside this
            // call, on this thread, which holds the sink that they are given.
            let code = unsafe { ProcessTrace(&raw const handle, 1, ptr::null(), ptr::null()) };
            drop(held);
            code
        };
        match thread::Builder::new().name(session.to_owned()).spawn(process) {
            Ok(thread) => Ok(Self { handle, thread: Some(thread) }),
            Err(_) => {
                close(handle);
                Err(Refusal { call: "CreateThread", code: ERROR_NOT_ENOUGH_MEMORY })
            }
        }
    }

    /// Whether ETW hands over no more events: the session was stopped.
    pub(super) fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Takes no more events: all of a stopped session came, or they come too slowly.
    pub(super) fn close(mut self) -> Result<(), Refusal> {
        let code = self.end();
        Refusal::check("ProcessTrace", code)
    }

    fn end(&mut self) -> u32 {
        /// `ProcessTrace` returns at once when it is closed. If not, its thread is left alone with
        /// the sink, which it holds.
        const PATIENCE: Duration = Duration::from_secs(2);
        let Some(thread) = self.thread.take() else { return 0 };
        close(self.handle);
        let end = Instant::now() + PATIENCE;
        while !thread.is_finished() {
            if Instant::now() > end {
                return 0;
            }
            thread::sleep(Duration::from_millis(5));
        }
        // A panic of a callback is caught there, so there is none of the thread.
        thread.join().unwrap_or(0)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.end();
    }
}

fn open(session: &str, sink: &Arc<Sink>) -> Result<PROCESSTRACE_HANDLE, Refusal> {
    let mut name = wide(session);
    let mut log = EVENT_TRACE_LOGFILEW {
        LoggerName: name.as_mut_ptr(),
        Anonymous1: EVENT_TRACE_LOGFILEW_0 {
            ProcessTraceMode: PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD | PROCESS_TRACE_MODE_RAW_TIMESTAMP,
        },
        Anonymous2: EVENT_TRACE_LOGFILEW_1 { EventRecordCallback: Some(on_event) },
        Context: Arc::as_ptr(sink).cast_mut().cast(),
        ..EVENT_TRACE_LOGFILEW::default()
    };
    // SAFETY: the structure and the name, which ends with a zero, live until the call returns.
    // The callback is of the kind that the mode names; it is called in `ProcessTrace` only.
    let handle = unsafe { OpenTraceW(&raw mut log) };
    const INVALID: u64 = u64::MAX;
    let opened = if handle.Value == INVALID { Err(Refusal::last("OpenTraceW")) } else { Ok(handle) };
    journal::note("OpenTraceW", session, opened.as_ref().err().map_or(0, |refusal: &Refusal| refusal.code));
    opened
}

fn close(handle: PROCESSTRACE_HANDLE) {
    // SAFETY: the handle was opened and is closed once: who calls this gives it up.
    // That events are still on their way is no error.
    unsafe { CloseTrace(handle) };
}

/// What ETW calls for each event.
///
/// # Safety
/// ETW's promise: the record and all that it points to stay until this returns.
unsafe extern "system" fn on_event(record: *mut EVENT_RECORD) {
    // SAFETY: ETW hands over a record of its own, or null.
    let Some(record) = (unsafe { record.as_ref() }) else { return };
    let sink: *const Sink = record.UserContext.cast_const().cast();
    // SAFETY: the context is the sink of `open`, which the thread in `ProcessTrace` holds.
    let Some(sink) = (unsafe { sink.as_ref() }) else { return };
    // SAFETY: ETW's promise.
    unsafe { sink.take(record) };
}
