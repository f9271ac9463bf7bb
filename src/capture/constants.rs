//! The numbers that recording says to Windows and that are not ours: each is held against windows-sys, or
//! against the public definition that stands beside it, while it is compiled ([`held`](super::held)). Nothing else in
//! `capture` writes such a number down; `tests/etw/constants.rs` looks for those that do.
//!
//! Classes and hooks of events are those of the reader ([`events`](crate::events)), which real traces prove; those
//! that windows-sys has are compared here.

#[cfg(any(windows, test))]
use std::mem::offset_of;

#[cfg(any(windows, test))]
use windows_sys::Win32::Foundation as errors;
#[cfg(any(windows, test))]
use windows_sys::Win32::System::Diagnostics::Etw::{self as etw, CLASSIC_EVENT_ID, EVENT_TRACE_PROPERTIES as PROPERTIES};

use super::held::{as_published, as_windows_has, number};

as_windows_has! {
    /// `LogFileMode`: events go to a consumer.
    REAL_TIME_MODE: u32 = 0x0000_0100, etw::EVENT_TRACE_REAL_TIME_MODE;
    /// `LogFileMode`: a session of the kernel's events beside others.
    SYSTEM_LOGGER_MODE: u32 = 0x0200_0000, etw::EVENT_TRACE_SYSTEM_LOGGER_MODE;
    /// `LogFileMode`: it loses events where others do not.
    INDEPENDENT_SESSION_MODE: u32 = 0x0800_0000, etw::EVENT_TRACE_INDEPENDENT_SESSION_MODE;
    /// `Wnode.Flags`.
    TRACED_GUID: u32 = 0x0002_0000, etw::WNODE_FLAG_TRACED_GUID;

    /// `EnableFlags`: processes start and end.
    FLAG_PROCESS: u32 = 0x0000_0001, etw::EVENT_TRACE_FLAG_PROCESS;
    /// `EnableFlags`: threads do.
    FLAG_THREAD: u32 = 0x0000_0002, etw::EVENT_TRACE_FLAG_THREAD;
    /// `EnableFlags`: images are loaded and unloaded.
    FLAG_IMAGE_LOAD: u32 = 0x0000_0004, etw::EVENT_TRACE_FLAG_IMAGE_LOAD;
    /// `EnableFlags`: VirtualAlloc and VirtualFree.
    FLAG_VIRTUAL_ALLOC: u32 = 0x0000_4000, etw::EVENT_TRACE_FLAG_VIRTUAL_ALLOC;
    /// `EnableFlags`: what processors run is looked at again and again, with the interval that the machine has.
    FLAG_PROFILE: u32 = 0x0100_0000, etw::EVENT_TRACE_FLAG_PROFILE;

    /// Level: informational, and whatever says that it is of no level.
    LEVEL_INFORMATION: u8 = 4, etw::TRACE_LEVEL_INFORMATION;
    /// Level: everything.
    LEVEL_VERBOSE: u8 = 5, etw::TRACE_LEVEL_VERBOSE;
    /// Most ids of processes in a filter of EnableTraceEx2.
    MAX_FILTER_PIDS: usize = 8, etw::MAX_EVENT_FILTER_PID_COUNT;
    /// Most ids of events in one.
    MAX_FILTER_IDS: usize = 64, etw::MAX_EVENT_FILTER_EVENT_ID_COUNT;
}

// Everything that records has 64 bits.
as_windows_has! {
    /// Bytes of `EVENT_TRACE_PROPERTIES`, without what follows it.
    PROPERTIES_SIZE: usize = 0x78, size_of::<PROPERTIES>();
    /// Bytes of the structure and of all that follows it.
    AT_WHOLE_SIZE: usize = 0x00, offset_of!(PROPERTIES, Wnode.BufferSize);
    /// GUID of the session.
    AT_GUID: usize = 0x18, offset_of!(PROPERTIES, Wnode.Guid);
    /// Which clock stamps events.
    AT_CLOCK: usize = 0x28, offset_of!(PROPERTIES, Wnode.ClientContext);
    /// Flags of the node.
    AT_NODE_FLAGS: usize = 0x2C, offset_of!(PROPERTIES, Wnode.Flags);
    /// KB of a buffer.
    AT_BUFFER_SIZE: usize = 0x30, offset_of!(PROPERTIES, BufferSize);
    /// Fewest buffers.
    AT_MINIMUM_BUFFERS: usize = 0x34, offset_of!(PROPERTIES, MinimumBuffers);
    /// Most buffers.
    AT_MAXIMUM_BUFFERS: usize = 0x38, offset_of!(PROPERTIES, MaximumBuffers);
    /// Kind of session.
    AT_LOG_FILE_MODE: usize = 0x40, offset_of!(PROPERTIES, LogFileMode);
    /// Seconds after which a buffer is handed over.
    AT_FLUSH_TIMER: usize = 0x44, offset_of!(PROPERTIES, FlushTimer);
    /// Events of the kernel, or the place of an extension block.
    AT_ENABLE_FLAGS: usize = 0x48, offset_of!(PROPERTIES, EnableFlags);
    /// Answer: buffers there are.
    AT_NUMBER_OF_BUFFERS: usize = 0x50, offset_of!(PROPERTIES, NumberOfBuffers);
    /// Answer: of these, empty ones.
    AT_FREE_BUFFERS: usize = 0x54, offset_of!(PROPERTIES, FreeBuffers);
    /// Answer: events that were lost.
    AT_EVENTS_LOST: usize = 0x58, offset_of!(PROPERTIES, EventsLost);
    /// Answer: buffers that were handed over.
    AT_BUFFERS_WRITTEN: usize = 0x5C, offset_of!(PROPERTIES, BuffersWritten);
    /// Answer: buffers that no file took.
    AT_LOG_BUFFERS_LOST: usize = 0x60, offset_of!(PROPERTIES, LogBuffersLost);
    /// Answer: buffers that no consumer took.
    AT_REAL_TIME_BUFFERS_LOST: usize = 0x64, offset_of!(PROPERTIES, RealTimeBuffersLost);
    /// Where the name of the file stands.
    AT_LOG_FILE_NAME: usize = 0x70, offset_of!(PROPERTIES, LogFileNameOffset);
    /// Where the name of the session stands.
    AT_LOGGER_NAME: usize = 0x74, offset_of!(PROPERTIES, LoggerNameOffset);
    /// Bytes of `CLASSIC_EVENT_ID`.
    CLASSIC_ID_SIZE: usize = 24, size_of::<CLASSIC_EVENT_ID>();
    /// The type in it.
    AT_CLASSIC_TYPE: usize = 16, offset_of!(CLASSIC_EVENT_ID, Type);
}

as_windows_has! {
    /// Of winerror.h.
    ERROR_FILE_NOT_FOUND: u32 = 2, errors::ERROR_FILE_NOT_FOUND;
    /// Of winerror.h.
    ERROR_ACCESS_DENIED: u32 = 5, errors::ERROR_ACCESS_DENIED;
    /// Of winerror.h.
    ERROR_NOT_ENOUGH_MEMORY: u32 = 8, errors::ERROR_NOT_ENOUGH_MEMORY;
    /// Of winerror.h.
    ERROR_OUTOFMEMORY: u32 = 14, errors::ERROR_OUTOFMEMORY;
    /// Of winerror.h.
    ERROR_INVALID_PARAMETER: u32 = 87, errors::ERROR_INVALID_PARAMETER;
    /// Of winerror.h.
    ERROR_DISK_FULL: u32 = 112, errors::ERROR_DISK_FULL;
    /// Of winerror.h.
    ERROR_BAD_PATHNAME: u32 = 161, errors::ERROR_BAD_PATHNAME;
    /// Of winerror.h.
    ERROR_ALREADY_EXISTS: u32 = 183, errors::ERROR_ALREADY_EXISTS;
    /// Of winerror.h.
    ERROR_ELEVATION_REQUIRED: u32 = 740, errors::ERROR_ELEVATION_REQUIRED;
    /// Of winerror.h.
    ERROR_CANCELLED: u32 = 1223, errors::ERROR_CANCELLED;
    /// Of winerror.h.
    ERROR_PRIVILEGE_NOT_HELD: u32 = 1314, errors::ERROR_PRIVILEGE_NOT_HELD;
    /// Of winerror.h.
    ERROR_INVALID_WINDOW_HANDLE: u32 = 1400, errors::ERROR_INVALID_WINDOW_HANDLE;
    /// Of winerror.h.
    ERROR_NO_SYSTEM_RESOURCES: u32 = 1450, errors::ERROR_NO_SYSTEM_RESOURCES;
    /// Of winerror.h.
    ERROR_WMI_INSTANCE_NOT_FOUND: u32 = 4201, errors::ERROR_WMI_INSTANCE_NOT_FOUND;
}

as_published! {
    /// `Wnode.ClientContext`: the performance counter.
    CLOCK_QPC: u32 = 1, "ClientContext 1: Query performance counter (QPC)", "Microsoft's page of WNODE_HEADER";
    /// `EnableFlags` that are the place of an extension block: its length stands in the block itself. The
    /// offset is the lower half.
    EXTENDED: u32 = 0x80FF_0000, "EVENT_TRACE_FLAG_EXT_ITEMS 0x80FF0000", "System Informer's ntwmi.h";
    /// Words of an extension block, if that length is taken for one.
    LONGEST_BLOCK: usize = 0xFF, "EVENT_TRACE_FLAG_EXT_LEN_NEW_STRUCT 0xFF", "System Informer's ntwmi.h";
    /// Item of an extension block: ids of processes.
    ITEM_PIDS: u32 = 2, "ETW_EXT_PIDS 0x0002", "System Informer's ntwmi.h";
    /// Item of an extension block: hooks of events that get stacks.
    ITEM_STACKS: u32 = 3, "ETW_EXT_STACKWALK_FILTER 0x0003", "System Informer's ntwmi.h";
    /// Most hooks in it.
    MAX_STACK_HOOKS: usize = 256, "ETW_MAX_STACKWALK_FILTER 256", "System Informer's ntwmi.h";
    /// Most sessions that a machine has.
    MOST_SESSIONS: usize = 64, "at most 64 sessions", "Microsoft's page of QueryAllTraces";
    /// Most units of a session's name, with its zero.
    MOST_NAME_UNITS: usize = 1024, "the session name is limited to 1024 characters", "Microsoft's page of StartTrace";
    /// What of an HRESULT is a code of Win32.
    HRESULT_CODE: u32 = 0xFFFF, "HRESULT_CODE(hr) ((hr) & 0xFFFF)", "winerror.h";
    /// FILETIME of a millisecond.
    MILLISECOND: i64 = 10_000, "10000 intervals in a millisecond", "Microsoft's page of FILETIME";
    /// Words of a group mask.
    MASK_WORDS: usize = 8, "PERF_NUM_MASKS 8", "System Informer's ntwmi.h";
    /// `TracingFlags` of an image: heaps.
    TRACE_HEAPS: u32 = 1, "TracingFlags 1 (HeapTracingEnabled)", "PerfView's ETWKernelControl.cs and System Informer's ntpebteb.h";
    /// `PS_PROTECTION`: the bits that say which kind; 0 for none.
    PROTECTION_KIND: u32 = 7, "UCHAR Type : 3 bits, mask 0x7", "System Informer's ntpsapi.h";
    /// The process of the kernel; the idle process is before it.
    SYSTEM_PROCESS: u32 = 4, "SYSTEM_PROCESS_ID ((HANDLE)4)", "System Informer's phlib";

    /// Filter of events: these are let in.
    FILTER_IN: u16 = 1, "FilterIn TRUE (1)", "Microsoft's page of EVENT_FILTER_EVENT_ID";
    /// Microsoft-Windows-DXGI and -D3D9: presents.
    KEYWORD_PRESENTS: u64 = 2, "Keyword::Events 0x2", "PresentMon's Microsoft_Windows_DXGI.h and Microsoft_Windows_D3D9.h";
    /// Microsoft-Windows-DXGI.
    DXGI_PRESENT_START: u16 = 42, "Present_Start 0x002a", "PresentMon's Microsoft_Windows_DXGI.h";
    /// Microsoft-Windows-DXGI.
    DXGI_PRESENT_STOP: u16 = 43, "Present_Stop 0x002b", "PresentMon's Microsoft_Windows_DXGI.h";
    /// Microsoft-Windows-DXGI.
    DXGI_PLANES_START: u16 = 55, "PresentMultiplaneOverlay_Start 0x0037", "PresentMon's Microsoft_Windows_DXGI.h";
    /// Microsoft-Windows-DXGI.
    DXGI_PLANES_STOP: u16 = 56, "PresentMultiplaneOverlay_Stop 0x0038", "PresentMon's Microsoft_Windows_DXGI.h";
    /// Microsoft-Windows-D3D9.
    D3D9_PRESENT_START: u16 = 1, "Present_Start 0x0001", "PresentMon's Microsoft_Windows_D3D9.h";
    /// Microsoft-Windows-D3D9.
    D3D9_PRESENT_STOP: u16 = 2, "Present_Stop 0x0002", "PresentMon's Microsoft_Windows_D3D9.h";

    /// .NET runtime: collections of garbage.
    KEYWORD_GC: u64 = 0x1, "GCKeyword 0x00000001", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime: modules.
    KEYWORD_LOADER: u64 = 0x8, "LoaderKeyword 0x00000008", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime: code that is compiled.
    KEYWORD_JIT: u64 = 0x10, "JITKeyword 0x00000010", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime: code that was compiled before.
    KEYWORD_NGEN: u64 = 0x20, "NGenKeyword 0x00000020", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime's rundown: tell all as what was there at the start.
    KEYWORD_START_RUNDOWN: u64 = 0x40, "StartRundownKeyword 0x00000040", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime: all of it once more when its process ends.
    KEYWORD_END_ENUMERATION: u64 = 0x80, "EndEnumerationKeyword 0x00000080", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime's rundown: tell all as what is there at the end.
    KEYWORD_END_RUNDOWN: u64 = 0x100, "EndRundownKeyword 0x00000100", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime: not of whole images that were compiled before.
    KEYWORD_NO_NGEN_IMAGES: u64 = 0x4_0000, "OverrideAndSuppressNGenEventsKeyword 0x00040000", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime's rundown: what it says last of what there is at the end.
    RUNDOWN_ENDS: u16 = 146, "DCEndComplete_V1 146", "Microsoft's page of CLR ETW method events";
    /// .NET runtime, flags of a method: compiled while its program ran.
    METHOD_JITTED: u32 = 8, "0x8: JIT-compiled method", "Microsoft's page of CLR ETW method events";
    /// Visual Studio's custom heaps: units of a name.
    TRACKER_NAME_UNITS: usize = 260, "nameLength 260", "the object code of VSCustomNativeHeapEtwProvider.lib";
    /// A provider of .NET describes its events with this id.
    MANIFEST_EVENT: u16 = 0xFFFE, "ManifestEventID 0xFFFE", "PerfView's TraceEvent";
}

/// The classes of events that windows-sys has.
#[cfg(any(windows, test))]
const _: () = {
    use crate::events::class;
    assert!(is_same(class::PAGE_FAULT, etw::PageFaultGuid) && is_same(class::PROCESS, etw::ProcessGuid));
    assert!(is_same(class::THREAD, etw::ThreadGuid) && is_same(class::PERF_INFO, etw::PerfInfoGuid));
    assert!(is_same(class::IMAGE, etw::ImageLoadGuid));
};

#[cfg(any(windows, test))]
const fn is_same(ours: crate::etl::Guid, theirs: windows_sys::core::GUID) -> bool {
    let (ours, fourth) = (ours.to_bytes(), theirs.data4);
    let (first, second, third) = (theirs.data1.to_le_bytes(), theirs.data2.to_le_bytes(), theirs.data3.to_le_bytes());
    let theirs = [
        first[0], first[1], first[2], first[3], second[0], second[1], third[0], third[1], fourth[0], fourth[1], fourth[2],
        fourth[3], fourth[4], fourth[5], fourth[6], fourth[7],
    ];
    let mut i = 0;
    while i < ours.len() {
        if ours[i] != theirs[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// What the program of the self-test says to Windows: it is a file that is compiled alone, too.
#[cfg(windows)]
const _: () = {
    use super::windows::target;
    use windows_sys::Win32::System::Memory::{MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE};
    assert!(target::COMMIT_AND_RESERVE == MEM_COMMIT | MEM_RESERVE && target::READ_WRITE == PAGE_READWRITE);
    assert!(target::RELEASE == MEM_RELEASE && target::INFORMATION == LEVEL_INFORMATION);
    assert!(target::COMPILATION == KEYWORD_JIT && target::JITTED == METHOD_JITTED && target::NAME_UNITS == TRACKER_NAME_UNITS);
};
