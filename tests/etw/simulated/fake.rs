//! ETW as far as a recorder sees it: functions with the signatures of evntrace.h that keep
//! sessions in a list, note how they are called, and hand events to callbacks.
#![allow(unsafe_code, reason = "C functions are played, and C structures filled in")]
#![allow(clippy::missing_safety_doc, reason = "they are called as Windows' own are")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use highwater::events::class;
use windows_sys::Win32::Foundation::{FILETIME, SetLastError};
use windows_sys::Win32::System::Diagnostics::Etw::{
    CONTROLTRACE_HANDLE, ENABLE_TRACE_PARAMETERS, EVENT_HEADER_EXTENDED_DATA_ITEM, EVENT_RECORD, EVENT_TRACE_LOGFILEW,
    EVENT_TRACE_PROPERTIES, PEVENT_RECORD_CALLBACK, PROCESSTRACE_HANDLE,
};
use windows_sys::Win32::System::Performance::QueryPerformanceCounter;
use windows_sys::Win32::System::SystemInformation::GetSystemTimePreciseAsFileTime;
use windows_sys::core::GUID;

use super::events::{HEAP, KERNEL, Lanes, Told, USER};
use super::patch;

/// What this Windows does and has seen. One test at a time has it.
pub struct Etw {
    pub sessions: Vec<Session>,
    /// Names of calls in their order, with the lane of their session.
    pub calls: Vec<String>,
    /// Error codes that calls return, by their name, or by that and a lane.
    pub refusals: HashMap<&'static str, u32>,
    /// Most sessions that may run.
    pub limit: usize,
    /// What sessions tell.
    pub lanes: Lanes,
    /// So many of the kernel's last events come only when its session is stopped.
    pub held: usize,
    /// Each lane stops telling after so many events, for as long as its session runs.
    pub pause_after: usize,
    /// Clocks at the first event: of the trace, the counter, and the system's.
    pub clocks: Option<(i64, i64, i64)>,
    pub trace_start: i64,
}

/// A session.
pub struct Session {
    pub name: String,
    pub lane: usize,
    pub is_running: bool,
    /// As it was started, and as it was updated.
    pub properties: Vec<Vec<u8>>,
    pub stacks: Vec<u8>,
    pub masks: Vec<u8>,
    pub providers: Vec<Provider>,
    pub events_lost: u32,
    pub buffers_lost: u32,
    consumer: Option<Consumer>,
}

/// A provider that was switched on: GUID, level, any keyword, properties.
pub type Provider = (GUID, u8, u64, u32);

#[derive(Clone, Copy)]
struct Consumer {
    callback: PEVENT_RECORD_CALLBACK,
    context: usize,
    mode: u32,
    is_closed: bool,
}

static ETW: Mutex<Option<Etw>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();
static TURN: Mutex<()> = Mutex::new(());

/// ETW for one test.
pub struct Simulated {
    _turn: MutexGuard<'static, ()>,
}

impl Simulated {
    /// With these events to tell.
    pub fn new(lanes: Lanes, trace_start: i64) -> Self {
        static PATCH: Once = Once::new();
        PATCH.call_once(|| {
            let found = patch::redirect(&FUNCTIONS.map(|(name, function)| (name, function())));
            for (name, _) in FUNCTIONS {
                // Nobody may have a way to the real one that leads around this.
                assert!(found.contains(&name) || name == "TraceQueryInformation", "{name} is not imported");
            }
        });
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        *lock() = Some(Etw {
            sessions: Vec::new(),
            calls: Vec::new(),
            refusals: HashMap::new(),
            limit: 64,
            lanes,
            held: 0,
            pause_after: usize::MAX,
            clocks: None,
            trace_start,
        });
        Self { _turn: turn }
    }

    /// Looks at it, or changes it.
    pub fn with<R>(&self, look: impl FnOnce(&mut Etw) -> R) -> R {
        let result = with(look);
        CHANGED.notify_all();
        result
    }

    /// Names of the sessions that run.
    pub fn running(&self) -> Vec<String> {
        self.with(|etw| etw.sessions.iter().filter(|s| s.is_running).map(|s| s.name.clone()).collect())
    }
}

fn lock() -> MutexGuard<'static, Option<Etw>> {
    ETW.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<R>(look: impl FnOnce(&mut Etw) -> R) -> R {
    look(lock().as_mut().expect("a test must be running"))
}

/// Name of a function, and the address of ours.
type Played = (&'static str, fn() -> usize);

const FUNCTIONS: [Played; 9] = [
    ("StartTraceW", || start_trace as *const () as usize),
    ("ControlTraceW", || control_trace as *const () as usize),
    ("EnableTraceEx2", || enable_trace as *const () as usize),
    ("TraceSetInformation", || set_information as *const () as usize),
    ("TraceQueryInformation", || query_information as *const () as usize),
    ("QueryAllTracesW", || query_all as *const () as usize),
    ("OpenTraceW", || open_trace as *const () as usize),
    ("ProcessTrace", || process_trace as *const () as usize),
    ("CloseTrace", || close_trace as *const () as usize),
];

const LANES: [&str; 3] = ["kernel", "heap", "user"];
const ALREADY_EXISTS: u32 = 183;
const NO_RESOURCES: u32 = 1450;
const NOT_FOUND: u32 = 4201;
const INVALID_PARAMETER: u32 = 87;

impl Etw {
    /// Notes a call, and tells what it is to be refused with.
    fn called(&mut self, name: &'static str, lane: usize) -> Result<(), u32> {
        let with_lane = format!("{name} {}", LANES[lane]);
        let refusal = self.refusals.iter().find(|(key, _)| **key == name || **key == with_lane).map(|(_, code)| *code);
        self.calls.push(with_lane);
        refusal.map_or(Ok(()), Err)
    }

    fn find(&mut self, handle: u64, name: &str) -> Result<usize, u32> {
        let is_it = |(i, s): (usize, &Session)| s.is_running && (handle_of(i) == handle || handle == 0 && s.name == name);
        (0..self.sessions.len()).find(|i| is_it((*i, &self.sessions[*i]))).ok_or(NOT_FOUND)
    }
}

fn handle_of(index: usize) -> u64 {
    0x1000 + index as u64
}

fn code(result: Result<(), u32>) -> u32 {
    result.err().unwrap_or(0)
}

unsafe extern "system" fn start_trace(
    handle: *mut CONTROLTRACE_HANDLE,
    name: *const u16,
    properties: *mut EVENT_TRACE_PROPERTIES,
) -> u32 {
    // SAFETY: as Windows, this believes what it is given.
    let (name, bytes) = unsafe { (text(name), block(properties)) };
    code(with(|etw| {
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        const SYSTEM_LOGGER: u32 = 0x0200_0000;
        let lane = match bytes[0x18..0x28] == class::HEAP.to_bytes() {
            true => HEAP,
            false if number(0x40) & SYSTEM_LOGGER != 0 => KERNEL,
            false => USER,
        };
        etw.called("StartTraceW", lane)?;
        if etw.sessions.iter().any(|s| s.is_running && s.name == name) {
            return Err(ALREADY_EXISTS);
        }
        if etw.sessions.iter().filter(|s| s.is_running).count() >= etw.limit {
            return Err(NO_RESOURCES);
        }
        etw.sessions.push(Session { properties: vec![bytes], lane, ..Session::called(&name) });
        // SAFETY: the caller's place for the answer.
        unsafe { (*handle).Value = handle_of(etw.sessions.len() - 1) };
        Ok(())
    }))
}

impl Session {
    /// One that runs, nobody knows since when.
    pub fn called(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            lane: KERNEL,
            is_running: true,
            properties: Vec::new(),
            stacks: Vec::new(),
            masks: Vec::new(),
            providers: Vec::new(),
            events_lost: 0,
            buffers_lost: 0,
            consumer: None,
        }
    }
}

unsafe extern "system" fn control_trace(
    handle: CONTROLTRACE_HANDLE,
    name: *const u16,
    properties: *mut EVENT_TRACE_PROPERTIES,
    control: u32,
) -> u32 {
    // SAFETY: as Windows, this believes what it is given.
    let (name, bytes) = unsafe { (text(name), block(properties)) };
    let result = with(|etw| {
        const CALLS: [&str; 3] = ["ControlTraceW(QUERY)", "ControlTraceW(STOP)", "ControlTraceW(UPDATE)"];
        let index = etw.find(handle.Value, &name)?;
        etw.called(CALLS[control as usize], etw.sessions[index].lane)?;
        let session = &mut etw.sessions[index];
        match control {
            1 => session.is_running = false,
            2 => session.properties.push(bytes),
            _ => {}
        }
        // SAFETY: the caller's structure.
        let answer = unsafe { &mut *properties };
        answer.NumberOfBuffers = 40;
        answer.FreeBuffers = 30;
        answer.EventsLost = session.events_lost;
        answer.RealTimeBuffersLost = session.buffers_lost;
        Ok(())
    });
    CHANGED.notify_all();
    code(result)
}

unsafe extern "system" fn enable_trace(
    handle: CONTROLTRACE_HANDLE,
    provider: *const GUID,
    _code: u32,
    level: u8,
    any: u64,
    _all: u64,
    _timeout: u32,
    parameters: *const ENABLE_TRACE_PARAMETERS,
) -> u32 {
    code(with(|etw| {
        let index = etw.find(handle.Value, "")?;
        etw.called("EnableTraceEx2", etw.sessions[index].lane)?;
        // SAFETY: as Windows, this believes what it is given.
        let provider = unsafe { (*provider, level, any, parameters.as_ref().map_or(0, |p| p.EnableProperty)) };
        etw.sessions[index].providers.push(provider);
        Ok(())
    }))
}

unsafe extern "system" fn set_information(
    handle: CONTROLTRACE_HANDLE,
    class: i32,
    information: *const c_void,
    length: u32,
) -> u32 {
    code(with(|etw| {
        let index = etw.find(handle.Value, "")?;
        // SAFETY: as Windows, this believes what it is given.
        let bytes = unsafe { std::slice::from_raw_parts(information.cast::<u8>(), length as usize) }.to_vec();
        let lane = etw.sessions[index].lane;
        match class {
            3 => {
                etw.called("TraceSetInformation(3)", lane)?;
                etw.sessions[index].stacks = bytes;
            }
            4 => {
                etw.called("TraceSetInformation(4)", lane)?;
                etw.sessions[index].masks = bytes;
            }
            _ => return Err(INVALID_PARAMETER),
        }
        Ok(())
    }))
}

unsafe extern "system" fn query_information(_: CONTROLTRACE_HANDLE, _: i32, _: *mut c_void, _: u32, _: *mut u32) -> u32 {
    INVALID_PARAMETER
}

unsafe extern "system" fn query_all(blocks: *mut *mut EVENT_TRACE_PROPERTIES, room: u32, count: *mut u32) -> u32 {
    code(with(|etw| {
        etw.called("QueryAllTracesW", KERNEL)?;
        let names: Vec<Vec<u16>> =
            etw.sessions.iter().filter(|s| s.is_running).map(|s| s.name.encode_utf16().chain([0]).collect()).collect();
        assert!(names.len() <= room as usize);
        for (i, name) in names.iter().enumerate() {
            // SAFETY: as Windows, this believes that there is room where the structure says so.
            unsafe {
                let block = *blocks.add(i);
                let to = block.cast::<u8>().add((*block).LoggerNameOffset as usize).cast::<u16>();
                assert!((*block).LoggerNameOffset as usize + 2 * name.len() <= (*block).Wnode.BufferSize as usize);
                to.copy_from_nonoverlapping(name.as_ptr(), name.len());
            }
        }
        // SAFETY: the caller's place for the answer.
        unsafe { *count = names.len() as u32 };
        Ok(())
    }))
}

unsafe extern "system" fn open_trace(log: *mut EVENT_TRACE_LOGFILEW) -> PROCESSTRACE_HANDLE {
    // SAFETY: as Windows, this believes what it is given.
    let (name, consumer) = unsafe {
        let log = &*log;
        let consumer = Consumer {
            callback: log.Anonymous2.EventRecordCallback,
            context: log.Context as usize,
            mode: log.Anonymous1.ProcessTraceMode,
            is_closed: false,
        };
        (text(log.LoggerName), consumer)
    };
    let opened = with(|etw| {
        let index = etw.find(0, &name)?;
        etw.called("OpenTraceW", etw.sessions[index].lane)?;
        etw.sessions[index].consumer = Some(consumer);
        Ok(handle_of(index))
    });
    PROCESSTRACE_HANDLE {
        Value: opened.unwrap_or_else(|code: u32| {
            // SAFETY: a plain number.
            unsafe { SetLastError(code) };
            u64::MAX
        }),
    }
}

unsafe extern "system" fn close_trace(handle: PROCESSTRACE_HANDLE) -> u32 {
    with(|etw| {
        let session = &mut etw.sessions[(handle.Value - 0x1000) as usize];
        let consumer = session.consumer.as_mut().expect("it was opened");
        assert!(!std::mem::replace(&mut consumer.is_closed, true), "{} is closed twice", session.name);
    });
    CHANGED.notify_all();
    0
}

unsafe extern "system" fn process_trace(
    handles: *const PROCESSTRACE_HANDLE,
    count: u32,
    _: *const FILETIME,
    _: *const FILETIME,
) -> u32 {
    assert_eq!(count, 1, "one session a call");
    // SAFETY: as Windows, this believes what it is given.
    let index = (unsafe { (*handles).Value } - 0x1000) as usize;
    let mut at = 0;
    loop {
        let mut guard = lock();
        let etw = guard.as_mut().expect("a test must be running");
        let session = &etw.sessions[index];
        let (lane, is_running, consumer) = (session.lane, session.is_running, session.consumer.expect("it was opened"));
        let has_begun = lane != KERNEL || !session.masks.is_empty();
        let all = etw.lanes[lane].len();
        let due =
            if is_running && has_begun { (all - if lane == KERNEL { etw.held } else { 0 }).min(etw.pause_after) } else { all };
        if consumer.is_closed || !is_running && (at >= due.min(etw.pause_after) || etw.pause_after < all) {
            return 0;
        }
        if at >= due || is_running && !has_begun {
            let _ = CHANGED.wait_timeout(guard, Duration::from_millis(20));
            continue;
        }
        let clocks = etw.clocks();
        let batch: Vec<Told> = etw.lanes[lane][at..due].iter().take(1000).cloned().collect();
        drop(guard);
        at += batch.len();
        for told in &batch {
            hand_over(told, consumer, clocks);
        }
    }
}

impl Etw {
    /// The trace begins when the first event is told.
    fn clocks(&mut self) -> (i64, i64, i64) {
        *self.clocks.get_or_insert_with(|| {
            let (mut ticks, mut time) = (0, FILETIME::default());
            // SAFETY: both fill in what is ours.
            unsafe {
                QueryPerformanceCounter(&raw mut ticks);
                GetSystemTimePreciseAsFileTime(&raw mut time);
            }
            (self.trace_start, ticks, i64::from(time.dwHighDateTime) << 32 | i64::from(time.dwLowDateTime))
        })
    }
}

fn hand_over(told: &Told, consumer: Consumer, (start, ticks, time): (i64, i64, i64)) {
    const RAW_TIMESTAMP: u32 = 0x1000;
    let mut payload = told.payload.clone();
    if told.names_a_time {
        let named = i64::from_le_bytes(payload[..8].try_into().unwrap()) - start + ticks;
        payload[..8].copy_from_slice(&named.to_le_bytes());
    }
    let mut items: Vec<EVENT_HEADER_EXTENDED_DATA_ITEM> = told
        .items
        .iter()
        .map(|(kind, data)| EVENT_HEADER_EXTENDED_DATA_ITEM {
            ExtType: *kind,
            DataSize: data.len() as u16,
            DataPtr: data.as_ptr() as u64,
            ..EVENT_HEADER_EXTENDED_DATA_ITEM::default()
        })
        .collect();
    let mut record = EVENT_RECORD::default();
    let header = &mut record.EventHeader;
    header.Flags = told.flags;
    (header.ProcessId, header.ThreadId) = (told.pid, told.tid);
    // Both clocks have 10 MHz, here and in generated traces.
    header.TimeStamp = told.time - start + if consumer.mode & RAW_TIMESTAMP != 0 { ticks } else { time };
    header.ProviderId = guid(told.provider.to_bytes());
    header.EventDescriptor.Id = told.id;
    header.EventDescriptor.Version = told.version;
    header.EventDescriptor.Opcode = told.opcode;
    record.BufferContext.Anonymous.ProcessorIndex = told.processor;
    (record.ExtendedData, record.ExtendedDataCount) = (items.as_mut_ptr(), items.len() as u16);
    (record.UserData, record.UserDataLength) = (payload.as_mut_ptr().cast(), payload.len() as u16);
    record.UserContext = consumer.context as *mut c_void;
    if let Some(callback) = consumer.callback {
        // SAFETY: the record and what it points to live until the callback returns.
        unsafe { callback(&raw mut record) };
    }
}

fn guid(b: [u8; 16]) -> GUID {
    GUID {
        data1: u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        data2: u16::from_le_bytes([b[4], b[5]]),
        data3: u16::from_le_bytes([b[6], b[7]]),
        data4: [b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]],
    }
}

/// # Safety
/// Null, or a text that ends with a zero.
unsafe fn text(text: *const u16) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let units = (0..).map(|i| unsafe { *text.add(i) }).take_while(|unit| *unit != 0);
    String::from_utf16(&units.collect::<Vec<_>>()).unwrap()
}

/// The structure and all that it says it has behind it.
///
/// # Safety
/// It is as long as it says, and aligned.
unsafe fn block(properties: *const EVENT_TRACE_PROPERTIES) -> Vec<u8> {
    assert!(properties.is_aligned());
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(properties.cast::<u8>(), (*properties).Wnode.BufferSize as usize).to_vec() }
}
