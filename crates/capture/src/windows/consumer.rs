//! The consumer of one session: a thread on which ETW calls back with events.
//!
//! Contract: events go to a [`Sink`], in the order in which ETW delivers them. A panic never leaves the callback: the
//! sink then accepts no more events and reports that. A session is stopped before its consumer is closed: a closed
//! consumer "will not receive any new events".
//!
//! Cost of an event: a lock that another thread takes once a second, and one copy.
//!
//! Sources: Microsoft's pages of OpenTrace, ProcessTrace and CloseTrace. Times are those of the session's own clock
//! (`PROCESS_TRACE_MODE_RAW_TIMESTAMP`), as in its file.
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
use super::record::{convert, describe, guid};
use super::refusal::Refusal;
use super::wide::wide;
use crate::constants::RUNDOWN_ENDS;
use crate::etl::EventId;
use crate::etl::write::NewEvent;
use crate::events::{class, process_of};
use crate::{Elsewhere, Followed, Lane, LaneWriter, Recording};

/// The events that a sink accepts, by process.
pub(super) enum Filter {
    /// All events.
    Everybody,
    /// Events of these processes.
    Of(Vec<u32>),
    /// Kernel events, without page events of processes that are not followed.
    Pages(Arc<Mutex<Followed>>),
    /// Provider events of followed processes, and tracker events of all processes.
    Programs(Arc<Mutex<Followed>>, Mutex<Elsewhere>),
}

/// The destination of a session's events.
pub(super) struct Sink {
    kind: Lane,
    lane: Mutex<LaneWriter>,
    filter: Filter,
    names: Mutex<Names>,
    has_panicked: AtomicBool,
}

/// The progress of a .NET rundown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Names {
    /// Rundown events received.
    pub(super) events: u64,
    /// Processes whose end rundown is complete.
    pub(super) complete: Vec<u32>,
}

impl Sink {
    pub(super) fn new(recording: &Recording, lane: Lane, filter: Filter) -> Arc<Self> {
        let (lane, kind) = (Mutex::new(recording.lane(lane)), lane);
        Arc::new(Self { kind, lane, filter, names: Mutex::default(), has_panicked: AtomicBool::new(false) })
    }

    /// Takes one event; never panics. Write errors are in the lane's status.
    ///
    /// # Safety
    /// As for [`convert`].
    pub(super) unsafe fn take(&self, record: &EVENT_RECORD) {
        // The graphics kernel names the process of GPU memory in the payload.
        let names_process = guid(&record.EventHeader.ProviderId) == class::DXG_KRNL;
        let by_another = matches!(&self.filter, Filter::Of(pids) if !pids.contains(&record.EventHeader.ProcessId));
        if (by_another && !names_process) || self.has_panicked() {
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

    /// Filters and writes an event. Write errors are in the lane's status.
    fn put(&self, event: &NewEvent<'_>) {
        let mut lane = self.lane();
        match &self.filter {
            Filter::Of(pids) if !pids.contains(&process_of(event).0) => {}
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

    /// Writes the events that have waited until the kernel session announced their process.
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

    /// The progress of the .NET rundown so far.
    pub(super) fn names(&self) -> Names {
        lock(&self.names).clone()
    }

    /// The lane, for counting its losses.
    pub(super) fn lane(&self) -> MutexGuard<'_, LaneWriter> {
        lock(&self.lane)
    }

    /// Whether a panic made the sink stop accepting events.
    pub(super) fn has_panicked(&self) -> bool {
        self.has_panicked.load(Ordering::Relaxed)
    }
}

/// Maximum length of [`Names::complete`]; nobody waits for more.
const MOST_COMPLETE: usize = 1024;

/// Locks a mutex even if it is poisoned: after a panic the sink accepts nothing more, so inconsistent data are not used.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that runs `ProcessTrace`.
pub(super) struct Consumer {
    handle: PROCESSTRACE_HANDLE,
    thread: Option<JoinHandle<u32>>,
}

impl Consumer {
    /// Starts to consume the events of a running session.
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

    /// Whether ETW delivers no more events because the session was stopped.
    pub(super) fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops consuming, after all events of a stopped session came or if they come too slowly.
    pub(super) fn close(mut self) -> Result<(), Refusal> {
        let code = self.end();
        Refusal::check("ProcessTrace", code)
    }

    fn end(&mut self) -> u32 {
        /// `ProcessTrace` should return at once after closing. If it does not, its thread is left running; it keeps the
        /// sink alive.
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
        // Panics in callbacks are caught there, so the thread itself does not panic.
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

/// The callback for each event.
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
