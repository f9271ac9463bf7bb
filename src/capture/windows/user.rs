//! The session of providers in programs: custom heap trackers now, with their stacks,
//! through ferrisetw.
//!
//! What ferrisetw does not do is done here: times are FILETIME and are mapped to the
//! performance counter ([`Clocks`]); other processes' events are left out by us; the session
//! is stopped by name and drained before it is closed, since ferrisetw closes first and then
//! drops what was on its way.
//!
//! Facts: the source of ferrisetw 1.2.0; the provider's events as in `events::encode`.
#![allow(unsafe_code, reason = "the record behind ferrisetw's is reached by a cast, and its trace closed by a call of our own")]

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ferrisetw::EventRecord;
use ferrisetw::native::{EvntraceNativeError, TraceHandle};
use ferrisetw::provider::{Provider, TraceFlags};
use ferrisetw::trace::{LoggingMode, TraceError, TraceProperties, TraceTrait, UserTrace};
use windows_sys::Win32::Foundation::{ERROR_ALREADY_EXISTS, ERROR_INVALID_HANDLE, ERROR_INVALID_NAME};
use windows_sys::Win32::System::Diagnostics::Etw::{CloseTrace, EVENT_RECORD, PROCESSTRACE_HANDLE};

use super::clock::Clocks;
use super::consumer::Sink;
use super::refusal::Refusal;
use super::session;
use crate::capture::properties::{Buffers, Statistics};
use crate::events::class;

/// A running session and its consumer.
pub(super) struct UserSession {
    name: String,
    handle: TraceHandle,
    /// `None` once it has ended.
    thread: Option<JoinHandle<()>>,
}

/// What of the provider is recorded.
pub(super) struct Wanted {
    /// Only of these processes; of all if there are none.
    pub(super) pids: Vec<u32>,
    /// With the stacks of the events.
    pub(super) stacks: bool,
    /// Its memory.
    pub(super) buffers: Buffers,
}

impl UserSession {
    /// Starts both.
    pub(super) fn start(name: &str, sink: &Arc<Sink>, clocks: &Arc<Clocks>, wanted: Wanted) -> Result<Self, Refusal> {
        // What an earlier process of our id left, as with other sessions.
        session::stop(name)?;
        let Wanted { pids, stacks, buffers } = wanted;
        let (sink, clocks) = (Arc::clone(sink), Arc::clone(clocks));
        let on_event = move |event: &EventRecord, _: &_| {
            if pids.is_empty() || pids.contains(&event.process_id()) {
                // SAFETY: both are the C structure EVENT_RECORD: ferrisetw's is transparent over
                // that of the `windows` crate. It is ETW's own, on its way through ferrisetw.
                unsafe {
                    let record: &EVENT_RECORD = &*std::ptr::from_ref(event).cast();
                    sink.take(record, clocks.ticks_at(record.EventHeader.TimeStamp));
                }
            }
        };
        const INFORMATIONAL: u8 = 4;
        let flags = if stacks { TraceFlags::EVENT_ENABLE_PROPERTY_STACK_TRACE } else { TraceFlags::empty() };
        let guid = class::CUSTOM_HEAP.to_string();
        let provider = Provider::by_guid(guid.as_str()).level(INFORMATIONAL).trace_flags(flags).add_callback(on_event).build();
        let properties = TraceProperties {
            buffer_size: buffers.size_kb,
            min_buffer: buffers.minimum,
            max_buffer: buffers.maximum,
            flush_timer: Duration::from_secs(1),
            // A buffer for each processor, unlike ferrisetw's own choice.
            log_file_mode: LoggingMode::EVENT_TRACE_REAL_TIME_MODE,
        };
        let started = UserTrace::new().named(name.to_owned()).set_trace_properties(properties).enable(provider).start();
        let (trace, handle) = started.map_err(|error| {
            // Where it cannot be opened it runs all the same.
            let _ = session::stop(name);
            refusal(&error)
        })?;
        // Its own end would close before all events came, and stop the session by a number
        // that by then can be another's. So it is ended here, and the little memory that it
        // holds is left to the process.
        std::mem::forget(trace);
        let process = move || {
            let _ = UserTrace::process_from_handle(handle);
        };
        match thread::Builder::new().name(name.to_owned()).spawn(process) {
            Ok(thread) => Ok(Self { name: name.to_owned(), handle, thread: Some(thread) }),
            Err(error) => {
                close(handle);
                let _ = session::stop(name);
                Err(Refusal::from_io("CreateThread", &error))
            }
        }
    }

    /// What it lost, and how full it is.
    pub(super) fn query(&self) -> Result<Statistics, Refusal> {
        session::statistics(&self.name)
    }

    /// Whether no more events come: the session was stopped.
    pub(super) fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops it and waits until all of its events came; cuts that short after a while.
    pub(super) fn finish(mut self) -> Result<(), Refusal> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Refusal> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let stopped = session::stop(&self.name);
        const PATIENCE: Duration = Duration::from_secs(20);
        let end = Instant::now() + PATIENCE;
        while !thread.is_finished() && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        close(self.handle);
        let _ = thread.join();
        stopped
    }
}

fn close(handle: TraceHandle) {
    // SAFETY: the handle was opened and is closed once: who calls this gives it up.
    unsafe { CloseTrace(PROCESSTRACE_HANDLE { Value: handle.Value }) };
}

impl Drop for UserSession {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

// The two declarations of one C structure.
const _: () =
    assert!(size_of::<EventRecord>() == size_of::<EVENT_RECORD>() && align_of::<EventRecord>() == align_of::<EVENT_RECORD>());

fn refusal(error: &TraceError) -> Refusal {
    const CALL: &str = "StartTraceW, EnableTraceEx2 or OpenTraceW";
    match error {
        TraceError::InvalidTraceName => Refusal { call: CALL, code: ERROR_INVALID_NAME },
        TraceError::EtwNativeError(EvntraceNativeError::InvalidHandle) => Refusal { call: CALL, code: ERROR_INVALID_HANDLE },
        TraceError::EtwNativeError(EvntraceNativeError::AlreadyExist) => Refusal { call: CALL, code: ERROR_ALREADY_EXISTS },
        TraceError::EtwNativeError(EvntraceNativeError::IoError(error)) => Refusal::from_io(CALL, error),
    }
}
