//! The numbers by which ETW is played: Windows' own, in a table of its own, each held against windows-sys or against
//! its public definition while this is compiled. A recorder that says another number is not understood.
#![cfg_attr(not(windows), allow(dead_code, reason = "ETW is played on Windows; elsewhere the numbers are compared"))]

use std::mem::offset_of;

use windows_sys::Win32::Foundation as errors;
use windows_sys::Win32::System::Diagnostics::Etw::{self as etw, EVENT_TRACE_PROPERTIES as PROPERTIES};

use crate::held::{as_published, as_windows_has, number};

as_windows_has! {
    /// The first group mask: processes.
    FLAG_PROCESS: u32 = 0x0000_0001, etw::EVENT_TRACE_FLAG_PROCESS;
    /// Threads.
    FLAG_THREAD: u32 = 0x0000_0002, etw::EVENT_TRACE_FLAG_THREAD;
    /// Images.
    FLAG_IMAGE_LOAD: u32 = 0x0000_0004, etw::EVENT_TRACE_FLAG_IMAGE_LOAD;
    /// Page faults that read nothing.
    FLAG_PAGE_FAULTS: u32 = 0x0000_1000, etw::EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS;
    /// Page faults that read.
    FLAG_HARD_FAULTS: u32 = 0x0000_2000, etw::EVENT_TRACE_FLAG_MEMORY_HARD_FAULTS;
    /// Pages.
    FLAG_VIRTUAL_ALLOC: u32 = 0x0000_4000, etw::EVENT_TRACE_FLAG_VIRTUAL_ALLOC;
    /// Views of files.
    FLAG_VAMAP: u32 = 0x0000_8000, etw::EVENT_TRACE_FLAG_VAMAP;
    /// Samples of processors.
    FLAG_PROFILE: u32 = 0x0100_0000, etw::EVENT_TRACE_FLAG_PROFILE;
    /// Operations on files.
    FLAG_FILE_IO: u32 = 0x0200_0000, etw::EVENT_TRACE_FLAG_FILE_IO;
    /// A private session of the kernel's events.
    SYSTEM_LOGGER: u32 = 0x0200_0000, etw::EVENT_TRACE_SYSTEM_LOGGER_MODE;
    /// Type of pages: the first kind of page fault that reads nothing, ...
    FIRST_FAULT: u8 = 10, etw::EVENT_TRACE_TYPE_MM_TF;
    /// ... first touches, ...
    DEMAND_ZERO_FAULT: u8 = 11, etw::EVENT_TRACE_TYPE_MM_DZF;
    /// ... and the last kind.
    LAST_FAULT: u8 = 15, etw::EVENT_TRACE_TYPE_MM_AV;
    /// Each event with its own width of pointers, ...
    HEADER_32_BIT: u16 = 0x20, etw::EVENT_HEADER_FLAG_32_BIT_HEADER;
    /// ... this or that.
    HEADER_64_BIT: u16 = 0x40, etw::EVENT_HEADER_FLAG_64_BIT_HEADER;
    /// Of a class and a type.
    HEADER_CLASSIC: u16 = 0x100, etw::EVENT_HEADER_FLAG_CLASSIC_HEADER;
    /// The processor's number takes two bytes.
    HEADER_PROCESSOR_INDEX: u16 = 0x200, etw::EVENT_HEADER_FLAG_PROCESSOR_INDEX;
    /// Item of an event: its stack, of 32 bits ...
    ITEM_STACK_32: u16 = 5, etw::EVENT_HEADER_EXT_TYPE_STACK_TRACE32;
    /// ... or of 64.
    ITEM_STACK_64: u16 = 6, etw::EVENT_HEADER_EXT_TYPE_STACK_TRACE64;
    /// A provider's events are to have stacks.
    PROPERTY_STACK: u32 = 4, etw::EVENT_ENABLE_PROPERTY_STACK_TRACE;
    /// Filter: processes.
    FILTER_PIDS: u32 = 0x8000_0004, etw::EVENT_FILTER_TYPE_PID;
    /// Filter: events.
    FILTER_EVENTS: u32 = 0x8000_0200, etw::EVENT_FILTER_TYPE_EVENT_ID;
    /// Most ids of processes in a filter.
    MOST_FILTER_PIDS: usize = 8, etw::MAX_EVENT_FILTER_PID_COUNT;
    /// Most ids of events in one.
    MOST_FILTER_EVENTS: usize = 64, etw::MAX_EVENT_FILTER_EVENT_ID_COUNT;
    /// The consumer wants the session's clock.
    RAW_TIMESTAMP: u32 = 0x1000, etw::PROCESS_TRACE_MODE_RAW_TIMESTAMP;
    /// ControlTrace: how does it go?
    CONTROL_QUERY: u32 = 0, etw::EVENT_TRACE_CONTROL_QUERY;
    /// ControlTrace: end it.
    CONTROL_STOP: u32 = 1, etw::EVENT_TRACE_CONTROL_STOP;
    /// ControlTrace: change it.
    CONTROL_UPDATE: u32 = 2, etw::EVENT_TRACE_CONTROL_UPDATE;
    /// TraceSetInformation: what gets stacks.
    CLASS_STACKS: i32 = 3, etw::TraceStackTracingInfo;
    /// TraceSetInformation: what is on.
    CLASS_MASKS: i32 = 4, etw::TraceSystemTraceEnableFlagsInfo;
    /// Informational.
    LEVEL_INFORMATION: u8 = 4, etw::TRACE_LEVEL_INFORMATION;
    /// Where the session's GUID stands.
    AT_GUID: usize = 0x18, offset_of!(PROPERTIES, Wnode.Guid);
    /// The clock and the flags of the node.
    AT_CLOCK: usize = 0x28, offset_of!(PROPERTIES, Wnode.ClientContext);
    /// Fewest buffers.
    AT_MINIMUM_BUFFERS: usize = 0x34, offset_of!(PROPERTIES, MinimumBuffers);
    /// Most buffers.
    AT_MAXIMUM_BUFFERS: usize = 0x38, offset_of!(PROPERTIES, MaximumBuffers);
    /// Mode, ...
    AT_LOG_FILE_MODE: usize = 0x40, offset_of!(PROPERTIES, LogFileMode);
    /// ... and flags, or the place of the extension block.
    AT_ENABLE_FLAGS: usize = 0x48, offset_of!(PROPERTIES, EnableFlags);
    /// Of winerror.h.
    ACCESS_DENIED: u32 = 5, errors::ERROR_ACCESS_DENIED;
    /// Of winerror.h.
    INVALID_PARAMETER: u32 = 87, errors::ERROR_INVALID_PARAMETER;
    /// Of winerror.h.
    CALL_NOT_IMPLEMENTED: u32 = 120, errors::ERROR_CALL_NOT_IMPLEMENTED;
    /// Of winerror.h.
    FILE_NOT_FOUND: u32 = 2, errors::ERROR_FILE_NOT_FOUND;
    /// Of winerror.h.
    INSUFFICIENT_BUFFER: u32 = 122, errors::ERROR_INSUFFICIENT_BUFFER;
    /// Of winerror.h: no manifest has the event.
    NO_MANIFEST: u32 = 1168, errors::ERROR_NOT_FOUND;
    /// Of winerror.h.
    ALREADY_EXISTS: u32 = 183, errors::ERROR_ALREADY_EXISTS;
    /// Of winerror.h.
    PRIVILEGE_NOT_HELD: u32 = 1314, errors::ERROR_PRIVILEGE_NOT_HELD;
    /// Of winerror.h.
    NO_RESOURCES: u32 = 1450, errors::ERROR_NO_SYSTEM_RESOURCES;
    /// Of winerror.h.
    ACTIVE_CONNECTIONS: u32 = 2402, errors::ERROR_ACTIVE_CONNECTIONS;
    /// Of winerror.h.
    NOT_FOUND: u32 = 4201, errors::ERROR_WMI_INSTANCE_NOT_FOUND;
}

as_published! {
    /// Flags that are the place of an extension block.
    EXTENDED: u32 = 0x80FF_0000, "EVENT_TRACE_FLAG_EXT_ITEMS 0x80FF0000", "System Informer's ntwmi.h";
    /// Words of the longest block.
    LONGEST_BLOCK: usize = 255, "EVENT_TRACE_FLAG_EXT_LEN_NEW_STRUCT 0xFF", "System Informer's ntwmi.h";
    /// Item of a block: processes.
    ITEM_PIDS: u32 = 2, "ETW_EXT_PIDS 0x0002", "System Informer's ntwmi.h";
    /// Item of a block: hooks that get stacks.
    ITEM_STACKS: u32 = 3, "ETW_EXT_STACKWALK_FILTER 0x0003", "System Informer's ntwmi.h";
    /// Group of heaps in a hook.
    GROUP_HEAP: u16 = 0x1000, "EVENT_TRACE_GROUP_HEAP 0x1000", "System Informer's ntwmi.h";
    /// Hook: a block of a heap is allocated, ...
    HEAP_ALLOC: u16 = 0x1021, "EVENT_TRACE_GROUP_HEAP 0x1000 | 0x21", "System Informer's ntwmi.h";
    /// ... allocated anew, ...
    HEAP_REALLOC: u16 = 0x1022, "EVENT_TRACE_GROUP_HEAP 0x1000 | 0x22", "System Informer's ntwmi.h";
    /// ... and freed.
    HEAP_FREE: u16 = 0x1024, "EVENT_TRACE_GROUP_HEAP 0x1000 | 0x24", "System Informer's ntwmi.h";
    /// Type of pages: allocated, ...
    VIRTUAL_ALLOC: u8 = 98, "PERFINFO_LOG_TYPE_VIRTUAL_ALLOC 0x62", "System Informer's ntwmi.h";
    /// ... freed, ...
    VIRTUAL_FREE: u8 = 99, "PERFINFO_LOG_TYPE_VIRTUAL_FREE 0x63", "System Informer's ntwmi.h";
    /// ... there at the start, ...
    VIRTUAL_RUNDOWN_START: u8 = 128, "PERFINFO_LOG_TYPE_VIRTUAL_ALLOC_DC_START 0x80", "System Informer's ntwmi.h";
    /// ... and at the end.
    VIRTUAL_RUNDOWN_END: u8 = 129, "PERFINFO_LOG_TYPE_VIRTUAL_ALLOC_DC_END 0x81", "System Informer's ntwmi.h";
    /// Type of pages: a page fault that reads.
    HARD_FAULT: u8 = 32, "PERFINFO_LOG_TYPE_HARDFAULT 0x20", "System Informer's ntwmi.h";
    /// Type of files: a view is mapped, ...
    MAP_FILE: u8 = 37, "FileIOMapFile: opcode 37", "TraceEvent's KernelTraceEventParser.cs";
    /// ... and the last of the types about views, those that exist at the end.
    MAP_FILE_RUNDOWN_END: u8 = 40, "FileIOMapFileDCStop: opcode 40", "TraceEvent's KernelTraceEventParser.cs";
    /// Type of performance events: a mark, ...
    MARK: u8 = 34, "PERFINFO_LOG_TYPE_MARK 0x22", "System Informer's ntwmi.h";
    /// ... a sample of a processor, ...
    SAMPLE: u8 = 46, "PERFINFO_LOG_TYPE_SAMPLED_PROFILE 0x2e", "System Informer's ntwmi.h";
    /// ... how far apart these are from now on, ...
    SAMPLE_INTERVAL: u8 = 72, "PERFINFO_LOG_TYPE_SAMPLED_PROFILE_SET_INTERVAL 0x48", "System Informer's ntwmi.h";
    /// ... at the start and at the end.
    SAMPLE_INTERVAL_START: u8 = 73, "PERFINFO_LOG_TYPE_SAMPLED_PROFILE_DC_START 0x49", "System Informer's ntwmi.h";
    /// See above.
    SAMPLE_INTERVAL_END: u8 = 74, "PERFINFO_LOG_TYPE_SAMPLED_PROFILE_DC_END 0x4a", "System Informer's ntwmi.h";
    /// Bit 0 of an image's `TracingFlags`.
    TRACE_HEAPS: u32 = 1, "TracingFlags 1 (HeapTracingEnabled)", "PerfView's ETWKernelControl.cs";
    /// Direct3D: presents.
    KEYWORD_PRESENTS: u64 = 2, "Keyword::Events 0x2", "PresentMon's Microsoft_Windows_DXGI.h";
    /// The graphics kernel: presents.
    KEYWORD_KERNEL_PRESENTS: u64 = 0x800_0000, "Keyword::Present 0x8000000", "PresentMon's Microsoft_Windows_DxgKrnl.h";
    /// The graphics kernel: GPU memory.
    KEYWORDS_OF_GPU: u64 = 0x84, "References 0x4 | Memory 0x80", "manifests of DxgKrnl in jdu2600/Windows10EtwEvents";
    /// .NET runtime: code that is compiled or was.
    KEYWORD_METHODS: u64 = 0x30, "JITKeyword 0x00000010 | NGenKeyword 0x00000020", "Microsoft's page of CLR ETW keywords";
    /// The runtime's rundown: at the start, ...
    KEYWORD_START_RUNDOWN: u64 = 0x40, "StartRundownKeyword 0x00000040", "Microsoft's page of CLR ETW keywords";
    /// ... and at the end.
    KEYWORD_END_RUNDOWN: u64 = 0x100, "EndRundownKeyword 0x00000100", "Microsoft's page of CLR ETW keywords";
    /// All that is asked of the .NET runtime.
    KEYWORDS_OF_RUNTIME: u64 = 0x4_00B9, "0x1 | 0x8 | 0x10 | 0x20 | 0x80 | 0x40000", "Microsoft's page of CLR ETW keywords";
    /// All that is asked of its rundown: the start's, ...
    KEYWORDS_AT_START: u64 = 0x4_0078, "0x8 | 0x10 | 0x20 | 0x40 | 0x40000", "Microsoft's page of CLR ETW keywords";
    /// ... and the end's.
    KEYWORDS_AT_END: u64 = 0x4_0138, "0x8 | 0x10 | 0x20 | 0x100 | 0x40000", "Microsoft's page of CLR ETW keywords";
    /// Custom heaps, all of their events.
    KEYWORD_CUSTOM_HEAP: u64 = 0x8000_0000_0000_0000, "keyword 0x8000000000000000", "the object code of Visual Studio's library";
    /// Import directory of a program, ...
    IMPORT_DIRECTORY: usize = 1, "IMAGE_DIRECTORY_ENTRY_IMPORT 1", "Microsoft's page of the PE format";
    /// ... the directories in its optional header, ...
    AT_DIRECTORIES: usize = 112, "Export Table 112", "Microsoft's page of the PE format";
    /// ... and that behind signature and file header.
    AT_OPTIONAL_HEADER: usize = 24, "24 bytes of signature and file header", "Microsoft's page of the PE format";
    /// An import that has no name.
    IMPORT_BY_NUMBER: u64 = 1 << 63, "IMAGE_ORDINAL_FLAG64 0x8000000000000000", "winnt.h";
}

/// Numbers of Windows that are not in a table: sources of `capture` and of these tests with what declares
/// a constant by a number, and is not among those that are ours.
#[test]
#[allow(clippy::print_stdout, reason = "says that it was skipped")]
fn every_number_of_windows_stands_in_a_table_that_is_held_against_its_definition() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let tables = ["crates/capture/src/constants.rs", "tests/etw/constants.rs"].map(|table| root.join(table));
    let mut files = Vec::new();
    for folder in ["crates/capture/src", "tests/etw"] {
        sources(&root.join(folder), &mut files);
    }
    if files.is_empty() {
        println!("skipped: the sources are not here");
        return;
    }
    assert!(files.len() > 60 && tables.iter().all(|table| files.contains(table)), "{files:?}");
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !tables.contains(file)) {
        let text = std::fs::read_to_string(file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        found.extend(numbers(&text).into_iter().filter(|constant| !is_ours(name, constant)).map(|of| format!("{name}: {of}")));
    }
    assert_eq!(found, Vec::<String>::new(), "put it into a table, or among those that are ours");
    // What is compared for a file that is compiled alone.
    let table = std::fs::read_to_string(&tables[0]).unwrap();
    for name in TARGET {
        assert!(table.contains(&format!("target::{name}")), "{name} is compared with nothing");
    }
    // And a table cannot have a number that is compared with nothing: no constant stands outside of the macros.
    for table in &tables {
        assert_eq!(numbers(&std::fs::read_to_string(table).unwrap()), Vec::<String>::new());
    }
}

#[test]
fn a_constant_without_a_definition_is_found() {
    let source =
        "/// So.\n    pub(super) const PROFILE: u32 = 0x0200_0000;\nconst NAME: &str = \"x\";\nconst N: usize = 8 << 10;\n";
    assert_eq!(numbers(source), ["PROFILE", "N"]);
    assert!(!is_ours("properties.rs", "PROFILE"));
}

/// Names of constants that are declared by a number.
fn numbers(source: &str) -> Vec<String> {
    let constant = |line: &str| {
        let (before, rest) = line.split_once("const ")?;
        let is_declaration = before.trim().is_empty() || before.trim_end().ends_with("pub") || before.trim_end().ends_with(')');
        let (name, rest) = rest.split_once(':')?;
        let (_, value) = rest.split_once('=')?;
        let is_number = value.trim_start().starts_with(|c: char| c.is_ascii_digit());
        (is_declaration && is_number && !before.contains("//")).then(|| name.trim().to_owned())
    };
    source.lines().filter_map(constant).collect()
}

fn sources(folder: &std::path::Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
    files.sort();
}

/// Constants of the program of the self-test, which is compiled alone: `capture::constants` compares them.
const TARGET: [&str; 7] = ["COMMIT_AND_RESERVE", "READ_WRITE", "RELEASE", "INFORMATION", "COMPILATION", "JITTED", "NAME_UNITS"];

/// Whether a constant is nobody's but ours: limits, times, sizes of our own tables, what tests make up.
fn is_ours(file: &str, constant: &str) -> bool {
    OURS.contains(&(file, constant)) || file == "target.rs" && TARGET.contains(&constant)
}

const OURS: &[(&str, &str)] = &[
    ("beside.rs", "BYTES"),
    ("callers.rs", "MOST"),
    ("calls.rs", "FIRST_CONSUMER"),
    ("clock.rs", "TRIES"),
    ("consumer.rs", "MOST_COMPLETE"),
    ("control.rs", "MOST"),
    ("documents.rs", "SECOND"),
    ("elsewhere.rs", "GAME"),
    ("elsewhere.rs", "OTHER"),
    ("events.rs", "HEAP"),
    ("faults.rs", "GAME"),
    ("faults.rs", "MOST"),
    ("faults.rs", "OTHER"),
    ("events.rs", "KERNEL"),
    ("events.rs", "USER"),
    ("examples.rs", "CHILD"),
    ("examples.rs", "GAME"),
    ("examples.rs", "OTHER"),
    ("folder.rs", "MOST"),
    ("followed.rs", "MOST_NEWS"),
    ("journal.rs", "EACH"),
    ("journal.rs", "MOST_CALLS"),
    ("journal.rs", "MOST_EVENTS"),
    ("launch.rs", "GIVEN_UP"),
    ("left.rs", "GONE"),
    ("lifetimes.rs", "CHILD"),
    ("lifetimes.rs", "GAME"),
    ("lifetimes.rs", "MOST"),
    ("lifetimes.rs", "MOST_ENDED"),
    ("listen.rs", "LINES"),
    ("merge.rs", "MOST"),
    ("merge.rs", "SHARES"),
    ("names.rs", "CUT"),
    ("names.rs", "MOST_BYTES"),
    ("notes.rs", "MOST_BYTES"),
    ("notes.rs", "MOST_NOTES"),
    ("oracle.rs", "PIDS"),
    ("orders.rs", "MOST"),
    ("pipe.rs", "BYTES"),
    ("plan.rs", "FLUSH_SECONDS"),
    ("plan.rs", "TWO"),
    ("privilege.rs", "MOST"),
    ("processes.rs", "GO_ON"),
    ("properties.rs", "ALIGNMENT"),
    ("properties.rs", "MOST"),
    ("providers.rs", "ANY_KEYWORD"),
    ("record.rs", "MOST_BYTES"),
    ("record.rs", "MOST_ITEMS"),
    ("recording.rs", "BUFFER_SIZE"),
    ("request.rs", "MAX_ALLOCATORS"),
    ("request.rs", "MAX_CONDITIONS"),
    ("request.rs", "MAX_MARKS"),
    ("request.rs", "MIN_RING"),
    ("ring.rs", "OPEN"),
    ("ring.rs", "PARTS"),
    ("room.rs", "GB"),
    ("room.rs", "PART"),
    ("room.rs", "RESERVE"),
    ("sample.rs", "MAX_PROCESSES"),
    ("sample.rs", "MOST"),
    ("samples.rs", "GAME"),
    ("samples.rs", "OTHER"),
    ("self_test.rs", "BASE"),
    ("self_test.rs", "HEAP"),
    ("self_test.rs", "TRACKER"),
    ("serve.rs", "QUEUE"),
    ("stop_when.rs", "GROWTH_SAMPLES"),
    ("stop_when.rs", "MB"),
    ("strangers.rs", "GAME"),
    ("strangers.rs", "OTHER"),
    ("stream.rs", "MOST_WAITING"),
    ("target.rs", "FEWEST_SAMPLES"),
    ("target.rs", "FRAMES"),
    ("target.rs", "HANDLE"),
    ("target.rs", "MARKS"),
    ("target.rs", "METHODS"),
    ("tests.rs", "FREQUENCY"),
    ("tests.rs", "GB"),
    ("threads.rs", "MOST"),
    ("threads.rs", "MOST_ENDED"),
    ("unfinished.rs", "MOST_STATE"),
    ("unfinished.rs", "VERSION"),
    ("waiting.rs", "MOST_BYTES"),
    ("waiting.rs", "PATIENCE"),
    ("watch.rs", "MOST_TOLD"),
    ("wprp.rs", "BUFFER_KB"),
];
