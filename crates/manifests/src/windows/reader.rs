//! Windows' own reader (OpenTrace, ProcessTrace), by way of `ferrisetw::FileTrace`.
//!
//! It runs on a thread of its own, which is left behind if it makes no progress: a caller waits for a file only as long
//! as events come.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use ferrisetw::native::EvntraceNativeError;
use ferrisetw::trace::{FileTrace, TraceError, TraceTrait};
use ferrisetw::{EventRecord, SchemaLocator};

use crate::callback::CallbackState;

/// Time without an event after which Windows is no longer waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Most refused tries to open a file; see [`open`].
const MOST_REFUSED: u32 = 10;

/// Reads a file; returns the number of events. `on_event` may panic: then no more events are given to it, and that is an
/// error.
pub(super) fn read(
    path: &Path,
    on_event: impl FnMut(&EventRecord, &SchemaLocator) + Send + Sync + 'static,
) -> Result<u64, String> {
    let state = Arc::new(CallbackState::default());
    let (tell, told) = channel();
    let (path, of_thread) = (path.to_owned(), Arc::clone(&state));
    let thread = thread::Builder::new().name("reader of Windows".to_owned());
    let spawned = thread.spawn(move || {
        let _ = tell.send(run(&path, &of_thread, on_event)); // the receiver may have gone
    });
    spawned.map_err(|reason| format!("a thread could not be started: {reason}"))?;
    let (mut last, mut since) = (0, Instant::now());
    loop {
        match told.recv_timeout(Duration::from_millis(200)) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return Err("Windows' reader broke off".to_owned()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let events = state.events();
        if events != last {
            (last, since) = (events, Instant::now());
        } else if since.elapsed() > PATIENCE {
            return Err(format!("Windows' reader has stopped after {events} events"));
        }
    }
}

fn run(
    path: &Path,
    state: &Arc<CallbackState>,
    mut on_event: impl FnMut(&EventRecord, &SchemaLocator) + Send + Sync + 'static,
) -> Result<u64, String> {
    let of_callback = Arc::clone(state);
    let on_event = move |record: &EventRecord, locator: &SchemaLocator| {
        of_callback.on_event(|| on_event(record, locator));
    };
    let mut trace = open(path, on_event).map_err(|error| format!("Windows could not open the file: {}", words(&error)))?;
    let read = trace.process();
    drop(trace); // closes the file
    read.map_err(|error| format!("Windows could not read the file: {}", words(&error)))?;
    if state.has_panicked() { Err("an internal error stopped reading".to_owned()) } else { Ok(state.events()) }
}

/// Opens a file. `ferrisetw` remembers the address of each callback until it is closed, and that of a failed open for
/// ever: a new callback at such an address is refused. Before the next try, blocks of the same size take such addresses:
/// twice as many each time, since there may be many of them.
fn open(
    path: &Path,
    on_event: impl FnMut(&EventRecord, &SchemaLocator) + Send + Sync + 'static,
) -> Result<FileTrace, TraceError> {
    let on_event = Arc::new(std::sync::RwLock::new(on_event));
    let mut in_use: Vec<Box<usize>> = Vec::new();
    let mut refused = 0;
    loop {
        let shared = Arc::clone(&on_event);
        let this = move |record: &EventRecord, locator: &SchemaLocator| {
            if let Ok(mut on_event) = shared.write() {
                on_event(record, locator);
            }
        };
        match FileTrace::new(path.to_owned(), this).start() {
            Err(TraceError::EtwNativeError(EvntraceNativeError::AlreadyExist)) if refused < MOST_REFUSED => {
                in_use.extend((0..1 << refused).map(Box::new));
                refused += 1;
            }
            Err(error) => return Err(error),
            Ok((trace, _)) => return Ok(trace),
        }
    }
}

/// The error in words. Some are HRESULTs of a Windows error, which is in their lower half.
fn words(error: &TraceError) -> String {
    const OF_WINDOWS: u32 = 0x8007;
    match error {
        TraceError::EtwNativeError(EvntraceNativeError::IoError(error)) => match error.raw_os_error().map(i32::cast_unsigned) {
            Some(code) if code >> 16 == OF_WINDOWS => io::Error::from_raw_os_error((code & 0xFFFF).cast_signed()).to_string(),
            _ => error.to_string(),
        },
        TraceError::EtwNativeError(EvntraceNativeError::InvalidHandle) => "it gave no handle".to_owned(),
        other => format!("{other:?}"),
    }
}
