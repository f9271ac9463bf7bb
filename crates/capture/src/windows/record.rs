//! Converts the events that ETW passes to a consumer (`EVENT_RECORD`, evntcons.h) into the events of our files.
//!
//! * A classic event has a class and a type. Kernel and heap events get back the hook and the header that they have in
//!   a session's own file; the payload is the same.
//! * Other classic events, and manifest-based and self-describing ones, keep their identity in an EVENT header, with
//!   their extended items (stacks, names and types of fields).
//! * The session's own events are left out: our files have a header of their own, and losses are found by querying the session.
//!
//! Cost: fields are read in place; nothing is allocated or copied.
#![allow(unsafe_code, reason = "an EVENT_RECORD points to its parts; each access says why it is sound")]

use std::slice;

use windows_sys::Win32::System::Diagnostics::Etw::{
    EVENT_HEADER_EXTENDED_DATA_ITEM, EVENT_HEADER_FLAG_32_BIT_HEADER, EVENT_HEADER_FLAG_CLASSIC_HEADER,
    EVENT_HEADER_FLAG_PROCESSOR_INDEX, EVENT_HEADER_FLAG_TRACE_MESSAGE, EVENT_RECORD, EventTraceGuid,
};

use super::journal::RawEvent;
use crate::etl::write::{Descriptor, NewEvent};
use crate::etl::{EventId, ExtendedItem, Guid, HeaderKind};
use crate::events::{class, kernel_hook};
use crate::units::{Pid, PointerSize, Tid};

/// The class of ETW's own events: file headers, ends of rundowns.
const EVENT_TRACE: Guid = guid(&EventTraceGuid);

/// Maximum number of extended items: more than there are kinds.
const MOST_ITEMS: usize = 24;

/// Converts an event and passes it to `take`; returns `None` for an event that is left out.
///
/// # Safety
/// The record is one that ETW, or its simulation, is just passing to us: its pointers are null, or point to as many
/// bytes as it says, which do not change until this returns.
pub(super) unsafe fn convert<R>(record: &EVENT_RECORD, take: impl FnOnce(&NewEvent<'_>) -> R) -> Option<R> {
    let header = &record.EventHeader;
    let flags = u32::from(header.Flags);
    let provider = guid(&header.ProviderId);
    let is_classic = flags & EVENT_HEADER_FLAG_CLASSIC_HEADER != 0;
    if flags & EVENT_HEADER_FLAG_TRACE_MESSAGE != 0 || is_classic && (provider == EVENT_TRACE || provider == class::LOST_EVENT) {
        return None;
    }
    let said = &header.EventDescriptor;
    let (pid, tid) = (Pid(header.ProcessId), Tid(header.ThreadId));
    let id = if is_classic {
        EventId::Class { class: provider, opcode: said.Opcode }
    } else {
        EventId::Provider { provider, id: said.Id }
    };
    let (kind, id) = match kernel_hook(id) {
        // Stack events, and rundown events of merged sessions, have headers without a thread.
        Some(hook) if !pid.is_known() && !tid.is_known() => (HeaderKind::PerfInfo, EventId::Hook(hook)),
        Some(hook) => (HeaderKind::System, EventId::Hook(hook)),
        None => (HeaderKind::Event, id),
    };
    let mut items = [ExtendedItem { kind: 0, data: &[] }; MOST_ITEMS];
    let mut count = 0;
    if kind == HeaderKind::Event {
        // SAFETY: the caller's promise.
        for item in unsafe { parts(record.ExtendedData.cast_const(), record.ExtendedDataCount) }.iter().take(MOST_ITEMS) {
            // SAFETY: the caller's promise; on 64 bits every address is a pointer.
            let data = unsafe { parts(item.DataPtr as *const u8, item.DataSize) };
            items[count] = ExtendedItem { kind: item.ExtType, data };
            count += 1;
        }
    }
    let event = NewEvent {
        processor: processor(record),
        time: header.TimeStamp,
        kind,
        pointer: if flags & EVENT_HEADER_FLAG_32_BIT_HEADER == 0 { PointerSize::Eight } else { PointerSize::Four },
        pid,
        tid,
        id,
        version: said.Version.into(),
        descriptor: Descriptor {
            channel: said.Channel,
            level: said.Level,
            opcode: said.Opcode,
            task: said.Task,
            keyword: said.Keyword,
        },
        extended: &items[..count],
        // SAFETY: the caller's promise.
        payload: unsafe { parts(record.UserData.cast(), record.UserDataLength) },
    };
    Some(take(&event))
}

/// Describes an event for the self-test's report: everything, but only the start of the payload.
///
/// # Safety
/// As for [`convert`].
pub(super) unsafe fn describe(record: &EVENT_RECORD, lane: &'static str) -> RawEvent {
    const MOST_BYTES: usize = 64;
    let (header, said) = (&record.EventHeader, &record.EventHeader.EventDescriptor);
    // SAFETY: the caller's promise.
    let (items, payload) = unsafe {
        (
            parts(record.ExtendedData.cast_const(), record.ExtendedDataCount),
            parts(record.UserData.cast::<u8>(), record.UserDataLength),
        )
    };
    RawEvent {
        lane,
        provider: guid(&header.ProviderId).to_string(),
        id: said.Id,
        version: said.Version,
        opcode: said.Opcode,
        keyword: said.Keyword,
        flags: header.Flags,
        header_type: header.HeaderType,
        event_property: header.EventProperty,
        pid: header.ProcessId,
        tid: header.ThreadId,
        time: header.TimeStamp,
        // SAFETY: both forms are plain numbers in the same two bytes, so any bits are valid.
        processor_index: unsafe { record.BufferContext.Anonymous.ProcessorIndex },
        extended: items.iter().take(MOST_ITEMS).map(|item| (item.ExtType, item.DataSize)).collect(),
        payload_len: record.UserDataLength,
        payload: payload.iter().take(MOST_BYTES).map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// The number of the CPU. Events from machines with more than 256 CPUs have a flag; the number then takes both bytes.
fn processor(record: &EVENT_RECORD) -> u16 {
    let number = &record.BufferContext.Anonymous;
    // SAFETY: both forms are plain numbers in the same two bytes, so any bits are valid.
    unsafe {
        if u32::from(record.EventHeader.Flags) & EVENT_HEADER_FLAG_PROCESSOR_INDEX == 0 {
            number.Anonymous.ProcessorNumber.into()
        } else {
            number.ProcessorIndex
        }
    }
}

/// A slice of `count` values at this address.
///
/// # Safety
/// The address is null, or that of `count` values that do not change during `'a`.
unsafe fn parts<'a, T>(address: *const T, count: u16) -> &'a [T] {
    if address.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise. ETW aligns its structures; bytes need no alignment.
    unsafe { slice::from_raw_parts(address, count.into()) }
}

pub(super) const fn guid(guid: &windows_sys::core::GUID) -> Guid {
    Guid::new(guid.data1, guid.data2, guid.data3, guid.data4)
}

/// Converts a GUID to the type of the system functions.
pub(super) fn windows_guid(guid: Guid) -> windows_sys::core::GUID {
    let b = guid.to_bytes();
    windows_sys::core::GUID {
        data1: u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        data2: u16::from_le_bytes([b[4], b[5]]),
        data3: u16::from_le_bytes([b[6], b[7]]),
        data4: [b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]],
    }
}

// The address in an extended item has the size of a pointer only on 64-bit systems.
const _: () = assert!(size_of::<usize>() == 8 && size_of::<EVENT_HEADER_EXTENDED_DATA_ITEM>() == 16);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::extended_type;

    fn record(provider: Guid, flags: u32) -> EVENT_RECORD {
        let mut record = EVENT_RECORD::default();
        record.EventHeader.ProviderId = windows_guid(provider);
        record.EventHeader.Flags = flags as u16;
        record.EventHeader.ProcessId = 4660;
        record.EventHeader.ThreadId = 77;
        record
    }

    /// The converted event's header, id and pointer size.
    fn shape(record: &EVENT_RECORD) -> Option<(HeaderKind, EventId, PointerSize)> {
        // SAFETY: the record points to nothing.
        unsafe { convert(record, |event| (event.kind, event.id, event.pointer)) }
    }

    const CLASSIC: u32 = EVENT_HEADER_FLAG_CLASSIC_HEADER;

    #[test]
    fn kernel_and_heap_events_get_back_their_hooks() {
        let mut heap = record(class::HEAP, CLASSIC);
        heap.EventHeader.EventDescriptor.Opcode = 33;
        assert_eq!(shape(&heap), Some((HeaderKind::System, EventId::Hook(0x1021), PointerSize::Eight)));
        let mut image = record(class::IMAGE, CLASSIC | EVENT_HEADER_FLAG_32_BIT_HEADER);
        image.EventHeader.EventDescriptor.Opcode = 10;
        assert_eq!(shape(&image), Some((HeaderKind::System, EventId::Hook(0x030A), PointerSize::Four)));
    }

    #[test]
    fn stacks_have_a_header_without_a_thread() {
        let mut stack = record(class::STACK_WALK, CLASSIC);
        stack.EventHeader.EventDescriptor.Opcode = 32;
        (stack.EventHeader.ProcessId, stack.EventHeader.ThreadId) = (u32::MAX, u32::MAX);
        assert_eq!(shape(&stack), Some((HeaderKind::PerfInfo, EventId::Hook(0x1820), PointerSize::Eight)));
    }

    #[test]
    fn what_etw_says_of_itself_is_left_out() {
        assert_eq!(shape(&record(EVENT_TRACE, CLASSIC)), None);
        assert_eq!(shape(&record(class::LOST_EVENT, CLASSIC)), None);
        assert_eq!(shape(&record(class::CUSTOM_HEAP, EVENT_HEADER_FLAG_TRACE_MESSAGE)), None);
    }

    #[test]
    fn events_of_providers_keep_their_id_their_items_and_their_payload() {
        let stack = [7_u8; 24];
        let payload = [1_u8, 2, 3];
        let mut item = EVENT_HEADER_EXTENDED_DATA_ITEM {
            ExtType: extended_type::STACK_TRACE64,
            DataSize: 24,
            DataPtr: stack.as_ptr() as u64,
            ..EVENT_HEADER_EXTENDED_DATA_ITEM::default()
        };
        let mut tracker = record(class::CUSTOM_HEAP, 0);
        tracker.EventHeader.EventDescriptor.Id = 100;
        tracker.EventHeader.EventDescriptor.Keyword = 1 << 63;
        (tracker.ExtendedData, tracker.ExtendedDataCount) = (&raw mut item, 1);
        (tracker.UserData, tracker.UserDataLength) = (payload.as_ptr().cast_mut().cast(), 3);
        tracker.EventHeader.TimeStamp = 99;
        // SAFETY: the record points to the two arrays and the item above, with their lengths.
        let told = unsafe {
            convert(&tracker, |event| {
                assert_eq!(event.id, EventId::Provider { provider: class::CUSTOM_HEAP, id: 100 });
                assert_eq!((event.kind, event.time, event.payload), (HeaderKind::Event, 99, payload.as_slice()));
                assert_eq!((event.extended.len(), event.extended[0].kind), (1, extended_type::STACK_TRACE64));
                assert_eq!(event.extended[0].data, stack);
                assert_eq!(event.descriptor.keyword, 1 << 63);
            })
        };
        assert_eq!(told, Some(()));
    }

    #[test]
    fn processors_beyond_256_have_numbers_of_two_bytes() {
        let mut event = record(class::HEAP, CLASSIC);
        event.BufferContext.Anonymous.ProcessorIndex = 0x0301;
        assert_eq!(processor(&event), 1);
        event.EventHeader.Flags |= EVENT_HEADER_FLAG_PROCESSOR_INDEX as u16;
        assert_eq!(processor(&event), 0x0301);
    }

    #[test]
    fn nothing_is_read_where_a_record_points_nowhere() {
        let mut event = record(class::CUSTOM_HEAP, 0);
        (event.ExtendedDataCount, event.UserDataLength) = (3, 500);
        // SAFETY: both pointers are null.
        let sizes = unsafe { convert(&event, |event| (event.extended.len(), event.payload.len())) };
        assert_eq!(sizes, Some((0, 0)));
    }
}
