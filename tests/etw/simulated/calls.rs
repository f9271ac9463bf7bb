//! The functions of evntrace.h as far as a recorder calls them, with their signatures. They
//! keep sessions in a list, note how they are called, and refuse what Microsoft's pages say
//! that Windows refuses:
//!
//! * StartTrace: a GUID that a running session has is refused as a name is (183); properties
//!   whose extension block could be as long as its length of 0xFF says must have that room,
//!   or are not valid (87), as are fewer buffers at most than at least. A block at an odd place is refused, too: what
//!   Windows makes of one is written nowhere.
//! * EnableTraceEx2: a type of filter stands there once, with at most 8 processes or 64 events, or is not
//!   valid (87); so is any of them where there are none yet (Windows 8).
//! * TraceSetInformation: samples of processors need a right (1314, SeSystemProfilePrivilege).
//! * QueryAllTraces tells of sessions that the caller may ask about; of others ControlTrace says that access is denied (5).
//! * ControlTrace: EnableFlags in an update are for system loggers only (87); a stop may say
//!   that there still are consumers (2402), and stops all the same.
//! * The system's clock may be set; times of events go on as if it had not been.
#![allow(unsafe_code, reason = "C functions are played")]
#![allow(clippy::missing_safety_doc, reason = "they are called as Windows' own are")]

use std::ffi::c_void;

use highwater::etl::Guid;
use highwater::events::class;
use windows_sys::Win32::Foundation::{FILETIME, SetLastError};
use windows_sys::Win32::System::Diagnostics::Etw::{
    CONTROLTRACE_HANDLE, ENABLE_TRACE_PARAMETERS, EVENT_TRACE_LOGFILEW, EVENT_TRACE_PROPERTIES, PROCESSTRACE_HANDLE,
};
use windows_sys::core::GUID;

use super::admit::{extension, traced_images};
use super::deliver::{process_trace, system_time, ticks};
use super::events::{HEAP, KERNEL, Told, USER};
use super::files::event_information;
use super::state::{CHANGED, Consumer, Provider, Session, handle_of, lock, with};
use crate::constants::*;

/// Name of a function, and the address of ours.
type Played = (&'static str, fn() -> usize);

pub const FUNCTIONS: [Played; 11] = [
    ("StartTraceW", || start_trace as *const () as usize),
    ("ControlTraceW", || control_trace as *const () as usize),
    ("EnableTraceEx2", || enable_trace as *const () as usize),
    ("TraceSetInformation", || set_information as *const () as usize),
    ("TraceQueryInformation", || query_information as *const () as usize),
    ("QueryAllTracesW", || query_all as *const () as usize),
    ("OpenTraceW", || open_trace as *const () as usize),
    ("ProcessTrace", || process_trace as *const () as usize),
    ("CloseTrace", || close_trace as *const () as usize),
    ("TdhGetEventInformation", || event_information as *const () as usize),
    ("GetSystemTimePreciseAsFileTime", || precise_time as *const () as usize),
];

/// Handles of sessions are small numbers, those of consumers begin here.
pub const FIRST_CONSUMER: u64 = 0x2000;

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
        let guid: [u8; 16] = bytes[AT_GUID..AT_GUID + 16].try_into().unwrap();
        let lane = match guid == class::HEAP.to_bytes() {
            true => HEAP,
            false if number(&bytes, AT_LOG_FILE_MODE) & SYSTEM_LOGGER != 0 => KERNEL,
            false => USER,
        };
        etw.called("StartTraceW", lane)?;
        check(&bytes, etw.most_heap_pids)?;
        if etw.sessions.iter().any(|s| s.is_running && (s.name == name || s.guid == guid && guid != [0; 16])) {
            return Err(ALREADY_EXISTS);
        }
        if etw.sessions.iter().filter(|s| s.is_running).count() >= etw.limit {
            return Err(NO_RESOURCES);
        }
        let images = if lane == HEAP { traced_images() } else { Vec::new() };
        let properties = vec![bytes];
        etw.sessions.push(Session { guid, properties, lane, images, is_foreign: false, ..Session::called(&name) });
        // SAFETY: the caller's place for the answer.
        unsafe { (*handle).Value = handle_of(etw.sessions.len() - 1) };
        Ok(())
    }))
}

pub fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Whether properties are valid ones for a start.
fn check(bytes: &[u8], most_pids: usize) -> Result<(), u32> {
    let flags = number(bytes, AT_ENABLE_FLAGS);
    let block = (flags & 0xFFFF) as usize;
    let is_valid = flags & EXTENDED != EXTENDED || block % 8 == 0 && block + 4 * LONGEST_BLOCK <= bytes.len();
    let maximum = number(bytes, AT_MAXIMUM_BUFFERS);
    let has_buffers = maximum == 0 || number(bytes, AT_MINIMUM_BUFFERS) <= maximum;
    if !is_valid || !has_buffers {
        return Err(INVALID_PARAMETER);
    }
    let is_too_much = |(kind, words): &(u32, Vec<u32>)| *kind == ITEM_PIDS && words.len() > most_pids;
    if extension(bytes).iter().any(is_too_much) { Err(INVALID_PARAMETER) } else { Ok(()) }
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
        if etw.hides_others && etw.sessions[index].is_foreign {
            return Err(ACCESS_DENIED);
        }
        let session = &mut etw.sessions[index];
        let is_of_kernel = number(&bytes, AT_LOG_FILE_MODE) & SYSTEM_LOGGER != 0;
        match control {
            CONTROL_STOP => session.stop(),
            CONTROL_UPDATE if number(&bytes, AT_ENABLE_FLAGS) != 0 && !is_of_kernel => return Err(INVALID_PARAMETER),
            CONTROL_UPDATE => session.properties.push(bytes),
            CONTROL_QUERY => {}
            _ => return Err(INVALID_PARAMETER),
        }
        // SAFETY: the caller's structure.
        let answer = unsafe { &mut *properties };
        answer.NumberOfBuffers = session.buffers();
        answer.FreeBuffers = answer.NumberOfBuffers / 4 * 3;
        answer.EventsLost = session.events_lost;
        answer.RealTimeBuffersLost = session.buffers_lost;
        if control == CONTROL_STOP && etw.stops_are_busy { Err(ACTIVE_CONNECTIONS) } else { Ok(()) }
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
    let code = code(with(|etw| {
        let index = etw.find(handle.Value, "")?;
        etw.called("EnableTraceEx2", etw.sessions[index].lane)?;
        // SAFETY: as Windows, this believes what it is given.
        let (guid, properties, filters) = unsafe {
            let properties = parameters.as_ref().map_or(0, |p| p.EnableProperty);
            (std::mem::transmute::<GUID, [u8; 16]>(*provider), properties, filters(parameters))
        };
        check_filters(&filters, etw.has_filters)?;
        let provider = Provider { guid: Guid::from_bytes(guid), level, any, properties, filters };
        if etw.refused_providers.contains(&provider.guid) {
            return Err(CALL_NOT_IMPLEMENTED);
        }
        let (is_due, rest): (Vec<_>, Vec<_>) =
            etw.rundowns.drain(..).partition(|(of, keywords, _)| *of == provider.guid && any & keywords != 0);
        etw.rundowns = rest;
        let told = is_due.into_iter().flat_map(|(.., told)| told);
        etw.lanes[USER].extend(told.map(|told| Told { time: ticks(), ..told }));
        etw.calls.push(format!("EnableTraceEx2 {guid} {any:#x}", guid = provider.guid));
        etw.sessions[index].providers.push(provider);
        Ok(())
    }));
    CHANGED.notify_all();
    code
}

/// Type and bytes of each filter.
///
/// # Safety
/// Null, or parameters that lead to as many filters as they say.
unsafe fn filters(parameters: *const ENABLE_TRACE_PARAMETERS) -> Vec<(u32, Vec<u8>)> {
    // SAFETY: the caller's promise.
    let Some(parameters) = (unsafe { parameters.as_ref() }) else { return Vec::new() };
    let filter = |i: usize| {
        // SAFETY: the caller's promise.
        unsafe {
            let filter = *parameters.EnableFilterDesc.add(i);
            (filter.Type, std::slice::from_raw_parts(filter.Ptr as *const u8, filter.Size as usize).to_vec())
        }
    };
    (0..parameters.FilterDescCount as usize).map(filter).collect()
}

fn check_filters(filters: &[(u32, Vec<u8>)], are_known: bool) -> Result<(), u32> {
    let is_valid = |(kind, bytes): &(u32, Vec<u8>)| match *kind {
        FILTER_PIDS => !bytes.is_empty() && bytes.len() % 4 == 0 && bytes.len() <= 4 * MOST_FILTER_PIDS,
        FILTER_EVENTS => {
            let count = u16::from_le_bytes([bytes[2], bytes[3]]) as usize;
            bytes[..2] == [1, 0] && (1..=MOST_FILTER_EVENTS).contains(&count) && bytes.len() == 4 + 2 * count
        }
        _ => false,
    };
    let is_twice = |i: usize| filters[..i].iter().any(|(kind, _)| *kind == filters[i].0);
    let are_valid = filters.iter().all(is_valid) && !(0..filters.len()).any(is_twice);
    if filters.is_empty() || are_known && are_valid { Ok(()) } else { Err(INVALID_PARAMETER) }
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
            CLASS_STACKS => {
                etw.called("TraceSetInformation(3)", lane)?;
                etw.sessions[index].stacks = bytes;
            }
            CLASS_MASKS => {
                etw.called("TraceSetInformation(4)", lane)?;
                if etw.refuses_samples && number(&bytes, 0) & FLAG_PROFILE != 0 {
                    return Err(PRIVILEGE_NOT_HELD);
                }
                etw.sessions[index].masks = bytes;
            }
            _ => return Err(INVALID_PARAMETER),
        }
        Ok(())
    }))
}

unsafe extern "system" fn query_information(
    handle: CONTROLTRACE_HANDLE,
    class: i32,
    information: *mut c_void,
    length: u32,
    written: *mut u32,
) -> u32 {
    code(with(|etw| {
        let index = etw.find(handle.Value, "")?;
        etw.called("TraceQueryInformation(4)", etw.sessions[index].lane)?;
        let masks = &etw.sessions[index].masks;
        if class != CLASS_MASKS || masks.len() != length as usize {
            return Err(INVALID_PARAMETER);
        }
        // SAFETY: as Windows, this believes that there is so much room.
        unsafe {
            information.cast::<u8>().copy_from_nonoverlapping(masks.as_ptr(), masks.len());
            *written = length;
        }
        Ok(())
    }))
}

unsafe extern "system" fn query_all(blocks: *mut *mut EVENT_TRACE_PROPERTIES, room: u32, count: *mut u32) -> u32 {
    code(with(|etw| {
        etw.called("QueryAllTracesW", KERNEL)?;
        let hides = etw.hides_others;
        let running: Vec<&Session> = etw.sessions.iter().filter(|s| s.is_running && !(hides && s.is_foreign)).collect();
        assert!(running.len() <= room as usize);
        for (i, session) in running.iter().enumerate() {
            let name: Vec<u16> = session.name.encode_utf16().chain([0]).collect();
            // SAFETY: as Windows, this believes that there is room where the structure says so.
            unsafe {
                let block = *blocks.add(i);
                let to = block.cast::<u8>().add((*block).LoggerNameOffset as usize).cast::<u16>();
                assert!((*block).LoggerNameOffset as usize + 2 * name.len() <= (*block).Wnode.BufferSize as usize);
                to.copy_from_nonoverlapping(name.as_ptr(), name.len());
                (*block).Wnode.Guid = std::mem::transmute::<[u8; 16], GUID>(session.guid);
            }
        }
        // SAFETY: the caller's place for the answer.
        unsafe { *count = running.len() as u32 };
        Ok(())
    }))
}

unsafe extern "system" fn open_trace(log: *mut EVENT_TRACE_LOGFILEW) -> PROCESSTRACE_HANDLE {
    // SAFETY: as Windows, this believes what it is given.
    let (name, consumer) = unsafe {
        let log = &*log;
        let consumer = Consumer {
            session: 0,
            file: None,
            callback: log.Anonymous2.EventRecordCallback,
            context: log.Context as usize,
            mode: log.Anonymous1.ProcessTraceMode,
            is_closed: false,
        };
        ((text(log.LoggerName), text(log.LogFileName)), consumer)
    };
    let (name, file) = name;
    let opened = with(|etw| {
        if !file.is_empty() {
            return etw.open_file(file.into(), consumer);
        }
        let index = etw.find(0, &name)?;
        etw.called("OpenTraceW", etw.sessions[index].lane)?;
        etw.consumers.push(Consumer { session: index, ..consumer });
        Ok(FIRST_CONSUMER + etw.consumers.len() as u64 - 1)
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
        let consumer = &mut etw.consumers[(handle.Value - FIRST_CONSUMER) as usize];
        if consumer.file.is_some() {
            assert!(!std::mem::replace(&mut consumer.is_closed, true), "a file is closed twice");
            etw.calls.push("CloseTrace file".to_owned());
            return;
        }
        let lane = etw.sessions[consumer.session].lane;
        assert!(!std::mem::replace(&mut consumer.is_closed, true), "a consumer is closed twice");
        let _ = etw.called("CloseTrace", lane);
    });
    CHANGED.notify_all();
    0
}

unsafe extern "system" fn precise_time(time: *mut FILETIME) {
    // Also asked between tests.
    let step = lock().as_ref().map_or(0, |etw| etw.clock_step);
    let now = system_time() + step;
    // SAFETY: the caller's place for the answer.
    unsafe { *time = FILETIME { dwLowDateTime: now as u32, dwHighDateTime: (now >> 32) as u32 } };
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
