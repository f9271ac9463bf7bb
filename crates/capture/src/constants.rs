//! Windows' own numbers that recording uses. Each is checked at compile time, either against windows-sys or against the
//! public definition quoted beside it ([`held`](super::held)). No other file in `capture` defines such a number;
//! `tests/etw/constants.rs` searches for any that does.
//!
//! Event classes and hooks are those of the reader ([`events`](crate::events)), which real traces confirm. The classes
//! that windows-sys declares are compared here.

#[cfg(any(windows, test))]
use std::mem::offset_of;

#[cfg(any(windows, test))]
use windows_sys::Win32::Foundation as errors;
#[cfg(any(windows, test))]
use windows_sys::Win32::System::Diagnostics::Etw::{self as etw, CLASSIC_EVENT_ID, EVENT_TRACE_PROPERTIES as PROPERTIES};

use super::held::{as_published, as_windows_has, number};

as_windows_has! {
    /// `LogFileMode`: events are delivered to a real-time consumer.
    REAL_TIME_MODE: u32 = 0x0000_0100, etw::EVENT_TRACE_REAL_TIME_MODE;
    /// `LogFileMode`: a private session for kernel events (system logger).
    SYSTEM_LOGGER_MODE: u32 = 0x0200_0000, etw::EVENT_TRACE_SYSTEM_LOGGER_MODE;
    /// `LogFileMode`: an event that this session loses is not lost to others, nor the other way round.
    INDEPENDENT_SESSION_MODE: u32 = 0x0800_0000, etw::EVENT_TRACE_INDEPENDENT_SESSION_MODE;
    /// `Wnode.Flags`: event tracing.
    TRACED_GUID: u32 = 0x0002_0000, etw::WNODE_FLAG_TRACED_GUID;

    /// `EnableFlags`: process starts and ends.
    FLAG_PROCESS: u32 = 0x0000_0001, etw::EVENT_TRACE_FLAG_PROCESS;
    /// `EnableFlags`: thread starts and ends.
    FLAG_THREAD: u32 = 0x0000_0002, etw::EVENT_TRACE_FLAG_THREAD;
    /// `EnableFlags`: image loads and unloads.
    FLAG_IMAGE_LOAD: u32 = 0x0000_0004, etw::EVENT_TRACE_FLAG_IMAGE_LOAD;
    /// `EnableFlags`: page faults that read nothing.
    FLAG_PAGE_FAULTS: u32 = 0x0000_1000, etw::EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS;
    /// `EnableFlags`: page faults that read pages from a file.
    FLAG_HARD_FAULTS: u32 = 0x0000_2000, etw::EVENT_TRACE_FLAG_MEMORY_HARD_FAULTS;
    /// `EnableFlags`: VirtualAlloc and VirtualFree.
    FLAG_VIRTUAL_ALLOC: u32 = 0x0000_4000, etw::EVENT_TRACE_FLAG_VIRTUAL_ALLOC;
    /// `EnableFlags`: views of files and of shared memory that are mapped and unmapped; images are not among them.
    FLAG_VAMAP: u32 = 0x0000_8000, etw::EVENT_TRACE_FLAG_VAMAP;
    /// `EnableFlags`: CPU samples, at the machine's sampling interval.
    FLAG_PROFILE: u32 = 0x0100_0000, etw::EVENT_TRACE_FLAG_PROFILE;

    /// Level: informational and more severe events, and events without a level.
    LEVEL_INFORMATION: u8 = 4, etw::TRACE_LEVEL_INFORMATION;
    /// Level: all events.
    LEVEL_VERBOSE: u8 = 5, etw::TRACE_LEVEL_VERBOSE;
    /// Maximum number of process ids in a filter of EnableTraceEx2.
    MAX_FILTER_PIDS: usize = 8, etw::MAX_EVENT_FILTER_PID_COUNT;
    /// Maximum number of event ids in a filter of EnableTraceEx2.
    MAX_FILTER_IDS: usize = 64, etw::MAX_EVENT_FILTER_EVENT_ID_COUNT;
}

// Every recorder is a 64-bit program.
as_windows_has! {
    /// Size of `EVENT_TRACE_PROPERTIES` in bytes, without the data behind it.
    PROPERTIES_SIZE: usize = 0x78, size_of::<PROPERTIES>();
    /// Offset of the total size: the structure and the data behind it, in bytes.
    AT_WHOLE_SIZE: usize = 0x00, offset_of!(PROPERTIES, Wnode.BufferSize);
    /// Offset of the session's GUID.
    AT_GUID: usize = 0x18, offset_of!(PROPERTIES, Wnode.Guid);
    /// Offset of the clock that stamps events.
    AT_CLOCK: usize = 0x28, offset_of!(PROPERTIES, Wnode.ClientContext);
    /// Offset of the node's flags.
    AT_NODE_FLAGS: usize = 0x2C, offset_of!(PROPERTIES, Wnode.Flags);
    /// Offset of the buffer size in KB.
    AT_BUFFER_SIZE: usize = 0x30, offset_of!(PROPERTIES, BufferSize);
    /// Offset of the minimum number of buffers.
    AT_MINIMUM_BUFFERS: usize = 0x34, offset_of!(PROPERTIES, MinimumBuffers);
    /// Offset of the maximum number of buffers.
    AT_MAXIMUM_BUFFERS: usize = 0x38, offset_of!(PROPERTIES, MaximumBuffers);
    /// Offset of the session's mode.
    AT_LOG_FILE_MODE: usize = 0x40, offset_of!(PROPERTIES, LogFileMode);
    /// Offset of the flush timer: a buffer is delivered after this many seconds.
    AT_FLUSH_TIMER: usize = 0x44, offset_of!(PROPERTIES, FlushTimer);
    /// Offset of the kernel's enable flags, or of the position of an extension block.
    AT_ENABLE_FLAGS: usize = 0x48, offset_of!(PROPERTIES, EnableFlags);
    /// Query result: offset of the number of buffers.
    AT_NUMBER_OF_BUFFERS: usize = 0x50, offset_of!(PROPERTIES, NumberOfBuffers);
    /// Query result: offset of the number of empty buffers.
    AT_FREE_BUFFERS: usize = 0x54, offset_of!(PROPERTIES, FreeBuffers);
    /// Query result: offset of the number of lost events.
    AT_EVENTS_LOST: usize = 0x58, offset_of!(PROPERTIES, EventsLost);
    /// Query result: offset of the number of delivered buffers.
    AT_BUFFERS_WRITTEN: usize = 0x5C, offset_of!(PROPERTIES, BuffersWritten);
    /// Query result: offset of the number of buffers that could not be written to a file.
    AT_LOG_BUFFERS_LOST: usize = 0x60, offset_of!(PROPERTIES, LogBuffersLost);
    /// Query result: offset of the number of buffers that no consumer took.
    AT_REAL_TIME_BUFFERS_LOST: usize = 0x64, offset_of!(PROPERTIES, RealTimeBuffersLost);
    /// Offset of the position of the file name.
    AT_LOG_FILE_NAME: usize = 0x70, offset_of!(PROPERTIES, LogFileNameOffset);
    /// Offset of the position of the session name.
    AT_LOGGER_NAME: usize = 0x74, offset_of!(PROPERTIES, LoggerNameOffset);
    /// Size of `CLASSIC_EVENT_ID` in bytes.
    CLASSIC_ID_SIZE: usize = 24, size_of::<CLASSIC_EVENT_ID>();
    /// Offset of the event type in a `CLASSIC_EVENT_ID`.
    AT_CLASSIC_TYPE: usize = 16, offset_of!(CLASSIC_EVENT_ID, Type);
}

as_windows_has! {
    /// Win32 error code (winerror.h).
    ERROR_FILE_NOT_FOUND: u32 = 2, errors::ERROR_FILE_NOT_FOUND;
    /// Win32 error code (winerror.h).
    ERROR_ACCESS_DENIED: u32 = 5, errors::ERROR_ACCESS_DENIED;
    /// Win32 error code (winerror.h).
    ERROR_NOT_ENOUGH_MEMORY: u32 = 8, errors::ERROR_NOT_ENOUGH_MEMORY;
    /// Win32 error code (winerror.h).
    ERROR_OUTOFMEMORY: u32 = 14, errors::ERROR_OUTOFMEMORY;
    /// Win32 error code (winerror.h).
    ERROR_INVALID_PARAMETER: u32 = 87, errors::ERROR_INVALID_PARAMETER;
    /// Win32 error code (winerror.h).
    ERROR_DISK_FULL: u32 = 112, errors::ERROR_DISK_FULL;
    /// Win32 error code (winerror.h).
    ERROR_BAD_PATHNAME: u32 = 161, errors::ERROR_BAD_PATHNAME;
    /// Win32 error code (winerror.h).
    ERROR_ALREADY_EXISTS: u32 = 183, errors::ERROR_ALREADY_EXISTS;
    /// Win32 error code (winerror.h).
    ERROR_ELEVATION_REQUIRED: u32 = 740, errors::ERROR_ELEVATION_REQUIRED;
    /// Win32 error code (winerror.h).
    ERROR_CANCELLED: u32 = 1223, errors::ERROR_CANCELLED;
    /// Win32 error code (winerror.h).
    ERROR_PRIVILEGE_NOT_HELD: u32 = 1314, errors::ERROR_PRIVILEGE_NOT_HELD;
    /// Win32 error code (winerror.h).
    ERROR_INVALID_WINDOW_HANDLE: u32 = 1400, errors::ERROR_INVALID_WINDOW_HANDLE;
    /// Win32 error code (winerror.h).
    ERROR_NO_SYSTEM_RESOURCES: u32 = 1450, errors::ERROR_NO_SYSTEM_RESOURCES;
    /// Win32 error code (winerror.h).
    ERROR_WMI_INSTANCE_NOT_FOUND: u32 = 4201, errors::ERROR_WMI_INSTANCE_NOT_FOUND;
}

as_published! {
    /// `Wnode.ClientContext`: the performance counter.
    CLOCK_QPC: u32 = 1, "ClientContext 1: Query performance counter (QPC)", "Microsoft's page of WNODE_HEADER";
    /// `EnableFlags` that hold the position of an extension block: its offset is the lower half, its length is in the block.
    EXTENDED: u32 = 0x80FF_0000, "EVENT_TRACE_FLAG_EXT_ITEMS 0x80FF0000", "System Informer's ntwmi.h";
    /// Length of an extension block in words, if Windows takes the length field for the length itself.
    LONGEST_BLOCK: usize = 0xFF, "EVENT_TRACE_FLAG_EXT_LEN_NEW_STRUCT 0xFF", "System Informer's ntwmi.h";
    /// Item of an extension block: process ids.
    ITEM_PIDS: u32 = 2, "ETW_EXT_PIDS 0x0002", "System Informer's ntwmi.h";
    /// Item of an extension block: hooks of the events that get stacks.
    ITEM_STACKS: u32 = 3, "ETW_EXT_STACKWALK_FILTER 0x0003", "System Informer's ntwmi.h";
    /// Maximum number of hooks in that item.
    MAX_STACK_HOOKS: usize = 256, "ETW_MAX_STACKWALK_FILTER 256", "System Informer's ntwmi.h";
    /// Maximum number of sessions on a machine.
    MOST_SESSIONS: usize = 64, "at most 64 sessions", "Microsoft's page of QueryAllTraces";
    /// Maximum length of a session name in UTF-16 units, with its NUL.
    MOST_NAME_UNITS: usize = 1024, "the session name is limited to 1024 characters", "Microsoft's page of StartTrace";
    /// Mask of the Win32 error code in an HRESULT.
    HRESULT_CODE: u32 = 0xFFFF, "HRESULT_CODE(hr) ((hr) & 0xFFFF)", "winerror.h";
    /// FILETIME units in a millisecond.
    MILLISECOND: i64 = 10_000, "10000 intervals in a millisecond", "Microsoft's page of FILETIME";
    /// Number of 32-bit words in a group mask.
    MASK_WORDS: usize = 8, "PERF_NUM_MASKS 8", "System Informer's ntwmi.h";
    /// `TracingFlags` of an image: heap tracing.
    TRACE_HEAPS: u32 = 1, "TracingFlags 1 (HeapTracingEnabled)", "PerfView's ETWKernelControl.cs and System Informer's ntpebteb.h";
    /// `PS_PROTECTION`: mask of the protection type; 0 means not protected.
    PROTECTION_KIND: u32 = 7, "UCHAR Type : 3 bits, mask 0x7", "System Informer's ntpsapi.h";
    /// Process id of the System process; the idle process has a lower one.
    SYSTEM_PROCESS: u32 = 4, "SYSTEM_PROCESS_ID ((HANDLE)4)", "System Informer's phlib";

    /// `EVENT_FILTER_EVENT_ID`: the listed events pass the filter.
    FILTER_IN: u16 = 1, "FilterIn TRUE (1)", "Microsoft's page of EVENT_FILTER_EVENT_ID";
    /// Microsoft-Windows-DXGI and -D3D9: keyword of presents.
    KEYWORD_PRESENTS: u64 = 2, "Keyword::Events 0x2", "PresentMon's Microsoft_Windows_DXGI.h and Microsoft_Windows_D3D9.h";
    /// Microsoft-Windows-DxgKrnl: keyword of presents, which Windows 11 has.
    KEYWORD_KERNEL_PRESENTS: u64 = 0x800_0000, "Keyword::Present 0x8000000", "PresentMon's Microsoft_Windows_DxgKrnl.h";
    /// Microsoft-Windows-DxgKrnl: keyword of budget, usage and commitment in the manifests of Windows 10 and 11, beside
    /// lists of allocations that are far more frequent, ...
    KEYWORD_GPU_REFERENCES: u64 = 4, "References 0x4", "manifests of DxgKrnl in repnz/etw-providers-docs and jdu2600/Windows10EtwEvents";
    /// ... and that of descriptions of Nsight Systems.
    KEYWORD_GPU_MEMORY: u64 = 0x80, "Keyword::Memory 0x80", "PresentMon's Microsoft_Windows_DxgKrnl.h";
    /// PIX: values of counters.
    KEYWORD_PIX_COUNTERS: u64 = 1, "keyword 0x1", "PIXETW.man in microsoft/PixEvents";
    /// PIX: allocations.
    KEYWORD_PIX_ALLOCATIONS: u64 = 2, "keyword 0x2", "PIXETW.man in microsoft/PixEvents";
    /// PIX: frees.
    KEYWORD_PIX_FREES: u64 = 4, "keyword 0x4", "PIXETW.man in microsoft/PixEvents";
    /// PIX: all that the program marks.
    KEYWORD_PIX_MARKS: u64 = 8, "keyword 0x8", "PIXETW.man in microsoft/PixEvents";
    /// Microsoft-Windows-DXGI: a present starts.
    DXGI_PRESENT_START: u16 = 42, "Present_Start 0x002a", "PresentMon's Microsoft_Windows_DXGI.h";
    /// Microsoft-Windows-DXGI: a present ends.
    DXGI_PRESENT_STOP: u16 = 43, "Present_Stop 0x002b", "PresentMon's Microsoft_Windows_DXGI.h";
    /// Microsoft-Windows-DXGI: a present of several planes starts.
    DXGI_PLANES_START: u16 = 55, "PresentMultiplaneOverlay_Start 0x0037", "PresentMon's Microsoft_Windows_DXGI.h";
    /// Microsoft-Windows-DXGI: a present of several planes ends.
    DXGI_PLANES_STOP: u16 = 56, "PresentMultiplaneOverlay_Stop 0x0038", "PresentMon's Microsoft_Windows_DXGI.h";
    /// Microsoft-Windows-DxgKrnl: a present, at its end.
    KERNEL_PRESENT: u16 = 184, "Present_Info 0x00b8", "PresentMon's Microsoft_Windows_DxgKrnl.h";
    /// Microsoft-Windows-DxgKrnl: a process's budget of GPU memory changes, ...
    GPU_BUDGET: u16 = 366, "VidMmProcessBudgetChange 366", "manifests of DxgKrnl in jdu2600/Windows10EtwEvents";
    /// ... its usage, ...
    GPU_USAGE: u16 = 367, "VidMmProcessUsageChange 367", "manifests of DxgKrnl in jdu2600/Windows10EtwEvents";
    /// ... its commitment.
    GPU_COMMITMENT: u16 = 371, "VidMmProcessCommitmentChange 371", "manifests of DxgKrnl in jdu2600/Windows10EtwEvents";
    /// Microsoft-Windows-D3D9: a present starts.
    D3D9_PRESENT_START: u16 = 1, "Present_Start 0x0001", "PresentMon's Microsoft_Windows_D3D9.h";
    /// Microsoft-Windows-D3D9: a present ends.
    D3D9_PRESENT_STOP: u16 = 2, "Present_Stop 0x0002", "PresentMon's Microsoft_Windows_D3D9.h";

    /// .NET runtime: garbage collections.
    KEYWORD_GC: u64 = 0x1, "GCKeyword 0x00000001", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime: module loads and unloads.
    KEYWORD_LOADER: u64 = 0x8, "LoaderKeyword 0x00000008", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime: JIT-compiled methods.
    KEYWORD_JIT: u64 = 0x10, "JITKeyword 0x00000010", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime: precompiled methods (NGen).
    KEYWORD_NGEN: u64 = 0x20, "NGenKeyword 0x00000020", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime's rundown: report all code and modules, as start-of-trace events.
    KEYWORD_START_RUNDOWN: u64 = 0x40, "StartRundownKeyword 0x00000040", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime: report everything once more when the process ends.
    KEYWORD_END_ENUMERATION: u64 = 0x80, "EndEnumerationKeyword 0x00000080", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime's rundown: report all code and modules, as end-of-trace events.
    KEYWORD_END_RUNDOWN: u64 = 0x100, "EndRundownKeyword 0x00000100", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime: leave out the methods of precompiled images.
    KEYWORD_NO_NGEN_IMAGES: u64 = 0x4_0000, "OverrideAndSuppressNGenEventsKeyword 0x00040000", "Microsoft's page of CLR ETW keywords";
    /// .NET runtime's rundown: the last event of the end-of-trace rundown.
    RUNDOWN_ENDS: u16 = 146, "DCEndComplete_V1 146", "Microsoft's page of CLR ETW method events";
    /// .NET runtime, method flags: JIT-compiled.
    METHOD_JITTED: u32 = 8, "0x8: JIT-compiled method", "Microsoft's page of CLR ETW method events";
    /// Visual Studio's custom heaps: length of a tracker's name in UTF-16 units.
    TRACKER_NAME_UNITS: usize = 260, "nameLength 260", "the object code of VSCustomNativeHeapEtwProvider.lib";
    /// Id of the event in which a .NET EventSource describes its events (its manifest).
    MANIFEST_EVENT: u16 = 0xFFFE, "ManifestEventID 0xFFFE", "PerfView's TraceEvent";
}

/// Compares the event classes that windows-sys declares.
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

/// Compares the constants of the self-test's target program, which can also be compiled alone and so has copies of them.
#[cfg(windows)]
const _: () = {
    use super::windows::target;
    use windows_sys::Win32::System::Memory::{MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE};
    assert!(target::COMMIT_AND_RESERVE == MEM_COMMIT | MEM_RESERVE && target::READ_WRITE == PAGE_READWRITE);
    assert!(target::RELEASE == MEM_RELEASE && target::INFORMATION == LEVEL_INFORMATION);
    assert!(target::COMPILATION == KEYWORD_JIT && target::JITTED == METHOD_JITTED && target::NAME_UNITS == TRACKER_NAME_UNITS);
};
