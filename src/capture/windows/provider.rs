//! The session of providers in programs: custom heap trackers now, with their stacks. ferrisetw
//! starts it and switches the provider on; who consumes it is a [`Consumer`](super::consumer)
//! like that of the other sessions, which asks for raw times.
//!
//! ferrisetw opens what it starts, and consumers get events from when they are opened on. So its
//! own stays open until ours is ([`Opened`]).
//!
//! Facts: the source of ferrisetw 1.2.0; the provider's events as in `events::encode`.

use std::time::Duration;

use ferrisetw::native::{EvntraceNativeError, TraceHandle};
use ferrisetw::provider::{Provider, TraceFlags};
use ferrisetw::trace::{LoggingMode, TraceError, TraceProperties, UserTrace};
use windows_sys::Win32::Foundation::{ERROR_ALREADY_EXISTS, ERROR_INVALID_HANDLE, ERROR_INVALID_NAME};
use windows_sys::Win32::System::Diagnostics::Etw::PROCESSTRACE_HANDLE;

use super::consumer;
use super::journal;
use super::refusal::Refusal;
use super::session::{self, Session};
use crate::capture::properties::Buffers;
use crate::events::class;

/// What ferrisetw has opened, until this is dropped.
#[derive(Debug)]
pub(super) struct Opened(TraceHandle);

impl Drop for Opened {
    fn drop(&mut self) {
        consumer::close(PROCESSTRACE_HANDLE { Value: self.0.Value });
    }
}

/// Starts a session of custom heap trackers.
pub(super) fn start(name: &str, stacks: bool, buffers: Buffers) -> Result<(Session, Opened), Refusal> {
    // ferrisetw takes the address of what it opens with for used for ever if it could not be
    // opened, and then refuses it as if the session existed: the next try has another one.
    const TRIES: usize = 4;
    let mut taken = Vec::new();
    loop {
        match try_start(name, stacks, buffers) {
            Err(Refusal { code: ERROR_ALREADY_EXISTS, .. }) if taken.len() < TRIES => taken.push(Box::new(0_usize)),
            other => return other,
        }
    }
}

fn try_start(name: &str, stacks: bool, buffers: Buffers) -> Result<(Session, Opened), Refusal> {
    const INFORMATIONAL: u8 = 4;
    let flags = if stacks { TraceFlags::EVENT_ENABLE_PROPERTY_STACK_TRACE } else { TraceFlags::empty() };
    let guid = class::CUSTOM_HEAP.to_string();
    let provider = Provider::by_guid(guid.as_str()).level(INFORMATIONAL).trace_flags(flags).build();
    let properties = TraceProperties {
        buffer_size: buffers.size_kb,
        min_buffer: buffers.minimum,
        max_buffer: buffers.maximum,
        flush_timer: Duration::from_secs(1),
        // A buffer for each processor, unlike ferrisetw's own choice.
        log_file_mode: LoggingMode::EVENT_TRACE_REAL_TIME_MODE,
    };
    let started = UserTrace::new().named(name.to_owned()).set_trace_properties(properties).enable(provider).start();
    let started = started.map_err(|error| refusal(&error));
    journal::note(CALL, name, started.as_ref().err().map_or(0, |refusal| refusal.code));
    match started {
        Ok((trace, handle)) => {
            // Its own end would stop the session by a number that by then can be another's; the
            // little memory that it holds is left to the process.
            std::mem::forget(trace);
            Ok((Session::started(name), Opened(handle)))
        }
        Err(refusal) => {
            // Where it cannot be opened it runs all the same.
            let _ = session::stop(name);
            Err(refusal)
        }
    }
}

const CALL: &str = "StartTraceW, EnableTraceEx2, OpenTraceW";

fn refusal(error: &TraceError) -> Refusal {
    match error {
        TraceError::InvalidTraceName => Refusal { call: CALL, code: ERROR_INVALID_NAME },
        TraceError::EtwNativeError(EvntraceNativeError::InvalidHandle) => Refusal { call: CALL, code: ERROR_INVALID_HANDLE },
        TraceError::EtwNativeError(EvntraceNativeError::AlreadyExist) => Refusal { call: CALL, code: ERROR_ALREADY_EXISTS },
        TraceError::EtwNativeError(EvntraceNativeError::IoError(error)) => Refusal::from_io(CALL, error),
    }
}
