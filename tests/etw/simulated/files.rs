//! Windows' own reader of files, and its manifests:
//!
//! * OpenTrace with the name of a file: a file that is not there is refused (2).
//! * ProcessTrace hands over all events of the file, its header event first.
//! * TdhGetEventInformation: an event whose provider has no manifest is not found (1168); with too little room (122) the
//!   size that is needed is told.
#![allow(unsafe_code, reason = "C functions are played")]
#![allow(clippy::missing_safety_doc, reason = "they are called as Windows' own are")]

use std::path::Path;

use highwater::etl::{EventId, Guid, RawEvent, ReadBuffer, TraceFile};
use highwater::problem::Problems;
use highwater::units::PointerSize;
use windows_sys::Win32::System::Diagnostics::Etw::{EVENT_RECORD, TDH_CONTEXT, TRACE_EVENT_INFO};

use super::deliver::hand_over;
use super::events::Told;
use super::state::{Consumer, with};
use crate::constants::*;

/// Hands over the events of a file.
pub fn deliver(path: &Path, consumer: Consumer) {
    let file = TraceFile::open(path).unwrap();
    let (mut scratch, mut all) = (ReadBuffer::default(), Vec::new());
    for buffer in &file.buffers {
        file.read_buffer(buffer, &mut scratch, &mut Problems::default());
        all.extend(scratch.events().map(|raw| told(&raw)));
    }
    all.sort_by_key(|told| told.time);
    all.iter().for_each(|told| hand_over(told, consumer, (0, 0, 0)));
}

fn told(raw: &RawEvent<'_>) -> Told {
    let (provider, id, opcode, classic) = match raw.id {
        EventId::Provider { provider, id } => (provider, id, 0, 0),
        EventId::Class { class, opcode } => (class, 0, opcode, HEADER_CLASSIC),
        EventId::Hook(hook) => (Guid::from_bytes([(hook >> 8) as u8; 16]), 0, hook as u8, HEADER_CLASSIC),
        EventId::Opaque => (Guid::from_bytes([0xFF; 16]), 0, 0, HEADER_CLASSIC),
    };
    let bits = if raw.pointer == PointerSize::Four { HEADER_32_BIT } else { HEADER_64_BIT };
    Told {
        time: raw.time,
        flags: bits | classic,
        tid: raw.tid.0,
        version: raw.version as u8,
        opcode,
        ..Told::by(provider, id, raw.pid.0, raw.payload)
    }
}

pub unsafe extern "system" fn event_information(
    event: *const EVENT_RECORD,
    _contexts: u32,
    _context: *const TDH_CONTEXT,
    buffer: *mut TRACE_EVENT_INFO,
    size: *mut u32,
) -> u32 {
    if event.is_null() || size.is_null() {
        return INVALID_PARAMETER;
    }
    // SAFETY: as Windows, this believes what it is given.
    let (header, room) = unsafe { ((*event).EventHeader, *size as usize) };
    let guid = header.ProviderId;
    let provider = Guid::new(guid.data1, guid.data2, guid.data3, guid.data4);
    let key = (provider, header.EventDescriptor.Id, header.EventDescriptor.Version);
    let found = with(|etw| {
        etw.calls.push("TdhGetEventInformation".to_owned());
        etw.refusals
            .get("TdhGetEventInformation")
            .map_or_else(|| etw.manifests.get(&key).cloned().ok_or(NO_MANIFEST), |code| Err(*code))
    });
    let info = match found {
        Ok(info) => info,
        Err(code) => return code,
    };
    // SAFETY: the caller's place for the answer, with as much room as it says.
    unsafe {
        *size = info.len() as u32;
        if room < info.len() || buffer.is_null() {
            return INSUFFICIENT_BUFFER;
        }
        std::ptr::copy_nonoverlapping(info.as_ptr(), buffer.cast::<u8>(), info.len());
    }
    0
}
