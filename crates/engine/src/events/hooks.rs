//! Numbers of events: kernel hooks (group << 8 | type), the class GUIDs under
//! which the same events appear in classic headers, and provider GUIDs.

use crate::etl::{EventId, Guid};

/// Kernel hooks.
pub mod hook {
    #![allow(missing_docs, reason = "the names are those of the events")]
    pub const GROUP_MASKS: u16 = 0x0005;
    pub const TRANSITION_FAULT: u16 = 0x020A;
    pub const DEMAND_ZERO_FAULT: u16 = 0x020B;
    pub const COPY_ON_WRITE_FAULT: u16 = 0x020C;
    pub const GUARD_PAGE_FAULT: u16 = 0x020D;
    pub const HARD_PAGE_FAULT: u16 = 0x020E;
    pub const ACCESS_VIOLATION: u16 = 0x020F;
    pub const HARD_FAULT: u16 = 0x0220;
    pub const VIRTUAL_ALLOC: u16 = 0x0262;
    pub const VIRTUAL_FREE: u16 = 0x0263;
    pub const HEAP_RANGE_RUNDOWN: u16 = 0x0264;
    pub const HEAP_RANGE_CREATE: u16 = 0x0265;
    pub const HEAP_RANGE_RESERVE: u16 = 0x0266;
    pub const HEAP_RANGE_RELEASE: u16 = 0x0267;
    pub const HEAP_RANGE_DESTROY: u16 = 0x0268;
    pub const MEM_INFO: u16 = 0x0270;
    pub const MEM_INFO_WS: u16 = 0x027D;
    pub const VIRTUAL_RUNDOWN_START: u16 = 0x0280;
    pub const PROCESS_START: u16 = 0x0301;
    pub const PROCESS_END: u16 = 0x0302;
    pub const PROCESS_RUNDOWN_START: u16 = 0x0303;
    pub const PROCESS_RUNDOWN_END: u16 = 0x0304;
    pub const IMAGE_LOAD: u16 = 0x030A;
    pub const PROCESS_DEFUNCT: u16 = 0x0327;
    pub const VIEW_MAP: u16 = 0x0425;
    pub const VIEW_UNMAP: u16 = 0x0426;
    pub const VIEW_RUNDOWN_START: u16 = 0x0427;
    pub const VIEW_RUNDOWN_END: u16 = 0x0428;
    pub const THREAD_START: u16 = 0x0501;
    pub const THREAD_RUNDOWN_START: u16 = 0x0503;
    pub const THREAD_RUNDOWN_END: u16 = 0x0504;
    pub const THREAD_SET_NAME: u16 = 0x0548;
    pub const MARK: u16 = 0x0F22;
    pub const SAMPLE: u16 = 0x0F2E;
    pub const SAMPLE_INTERVAL: u16 = 0x0F48;
    pub const SAMPLE_INTERVAL_START: u16 = 0x0F49;
    pub const HEAP_CREATE: u16 = 0x1020;
    pub const HEAP_ALLOC: u16 = 0x1021;
    pub const HEAP_REALLOC: u16 = 0x1022;
    pub const HEAP_DESTROY: u16 = 0x1023;
    pub const HEAP_FREE: u16 = 0x1024;
    pub const HEAP_EXPAND: u16 = 0x1025;
    pub const HEAP_SNAPSHOT: u16 = 0x1026;
    pub const HEAP_CONTRACT: u16 = 0x102A;
    pub const IMAGE_UNLOAD: u16 = 0x1402;
    pub const IMAGE_RUNDOWN_START: u16 = 0x1403;
    pub const IMAGE_RUNDOWN_END: u16 = 0x1404;
    pub const STACK: u16 = 0x1820;
    pub const STACK_KEY_CREATE: u16 = 0x1822;
    pub const STACK_KEY_DELETE: u16 = 0x1823;
    pub const STACK_KEY_RUNDOWN: u16 = 0x1824;
    pub const STACK_KEY_REF_KERNEL: u16 = 0x1825;
    pub const STACK_KEY_REF_USER: u16 = 0x1826;
}

/// Event classes and providers.
pub mod class {
    use super::Guid;

    /// Kernel group 02.
    pub const PAGE_FAULT: Guid = Guid::new(0x3D6FA8D3, 0xFE05, 0x11D0, [0x9D, 0xDA, 0x00, 0xC0, 0x4F, 0xD7, 0xBA, 0x7C]);
    /// Kernel group 03.
    pub const PROCESS: Guid = Guid::new(0x3D6FA8D0, 0xFE05, 0x11D0, [0x9D, 0xDA, 0x00, 0xC0, 0x4F, 0xD7, 0xBA, 0x7C]);
    /// Kernel group 04.
    pub const FILE_IO: Guid = Guid::new(0x90CBDC39, 0x4A3E, 0x11D1, [0x84, 0xF4, 0x00, 0x00, 0xF8, 0x04, 0x64, 0xE3]);
    /// Kernel group 05.
    pub const THREAD: Guid = Guid::new(0x3D6FA8D1, 0xFE05, 0x11D0, [0x9D, 0xDA, 0x00, 0xC0, 0x4F, 0xD7, 0xBA, 0x7C]);
    /// Kernel group 0F.
    pub const PERF_INFO: Guid = Guid::new(0xCE1DBFB4, 0x137E, 0x4DA6, [0x87, 0xB0, 0x3F, 0x59, 0xAA, 0x10, 0x2C, 0xBC]);
    /// Kernel group 10.
    pub const HEAP: Guid = Guid::new(0x222962AB, 0x6180, 0x4B88, [0xA8, 0x25, 0x34, 0x6B, 0x75, 0xF2, 0xA2, 0x4A]);
    /// Kernel group 14.
    pub const IMAGE: Guid = Guid::new(0x2CB15D1D, 0x5FC1, 0x11D2, [0xAB, 0xE1, 0x00, 0xA0, 0xC9, 0x11, 0xF5, 0x18]);
    /// Kernel group 18.
    pub const STACK_WALK: Guid = Guid::new(0xDEF2FE46, 0x7BD6, 0x4B80, [0xBD, 0x94, 0xF5, 0x7F, 0xE2, 0x0D, 0x0C, 0xE3]);
    /// Image identities, injected when a trace is merged.
    pub const IMAGE_ID: Guid = Guid::new(0xB3E675D7, 0x2554, 0x4F18, [0x83, 0x0B, 0x27, 0x62, 0x73, 0x25, 0x60, 0xDE]);
    /// System description, injected when a trace is merged.
    pub const SYSTEM_CONFIG_EX: Guid = Guid::new(0x9B79EE91, 0xB5FD, 0x41C0, [0xA2, 0x43, 0x42, 0x48, 0xE2, 0x66, 0xE9, 0xD0]);
    /// Losses of a real-time session.
    pub const LOST_EVENT: Guid = Guid::new(0x6A399AE0, 0x4BC6, 0x4DE9, [0x87, 0x0B, 0x36, 0x57, 0xF8, 0x94, 0x7E, 0x7E]);
    /// Microsoft-Windows-Kernel-Memory.
    pub const KERNEL_MEMORY: Guid = Guid::new(0xD1D93EF7, 0xE1F2, 0x4F45, [0x99, 0x43, 0x03, 0xD2, 0x45, 0xFE, 0x6C, 0x00]);
    /// Descriptions of events, injected when a trace is merged.
    pub const EVENT_METADATA: Guid = Guid::new(0xBBCCF6C1, 0x6CD1, 0x48C4, [0x80, 0xFF, 0x83, 0x94, 0x82, 0xE3, 0x76, 0x71]);
    /// Microsoft-Windows-DXGI.
    pub const DXGI: Guid = Guid::new(0xCA11C036, 0x0102, 0x4A2D, [0xA6, 0xAD, 0xF0, 0x3C, 0xFE, 0xD5, 0xD3, 0xC9]);
    /// Microsoft-Windows-D3D9.
    pub const D3D9: Guid = Guid::new(0x783ACA0A, 0x790E, 0x4D7F, [0x84, 0x51, 0xAA, 0x85, 0x05, 0x11, 0xC6, 0xB9]);
    /// Microsoft-Windows-DxgKrnl, the graphics kernel.
    pub const DXG_KRNL: Guid = Guid::new(0x802EC45A, 0x1E99, 0x4B83, [0x99, 0x20, 0x87, 0xC9, 0x82, 0x77, 0xBA, 0x9D]);
    /// Microsoft-Windows-DotNETRuntime.
    pub const CLR: Guid = Guid::new(0xE13C0D23, 0xCCBC, 0x4E12, [0x93, 0x1B, 0xD9, 0xCC, 0x2E, 0xEE, 0x27, 0xE4]);
    /// Microsoft-Windows-DotNETRuntimeRundown.
    pub const CLR_RUNDOWN: Guid = Guid::new(0xA669021C, 0xC450, 0x4609, [0xA0, 0x35, 0x5A, 0xF5, 0x9A, 0xF4, 0xDF, 0x18]);
    /// UIforETW's Multi-Main.
    pub const MULTI_MAIN: Guid = Guid::new(0x231CF54B, 0x22A0, 0x49E4, [0xA5, 0x9A, 0x47, 0x05, 0x2A, 0x30, 0xFF, 0xED]);
    /// UIforETW's Multi-Worker.
    pub const MULTI_WORKER: Guid = Guid::new(0xE9C3DA11, 0xE2A5, 0x48FD, [0x9C, 0xD3, 0x17, 0xE7, 0xC7, 0x64, 0xD3, 0x03]);
    /// UIforETW's Multi-FrameRate.
    pub const MULTI_FRAME_RATE: Guid = Guid::new(0x2B25961D, 0xBA6E, 0x4D79, [0xBE, 0xC7, 0x36, 0x05, 0x36, 0x6E, 0x2E, 0x09]);
    /// Provider of WPR's heap snapshots; their layout is not public.
    pub const HEAP_SNAPSHOT: Guid = Guid::new(0x901D2AFA, 0x4FF6, 0x46D7, [0x8D, 0x0E, 0x53, 0x64, 0x5E, 0x1A, 0x47, 0xF5]);
    /// mimalloc, built with `MI_TRACK_ETW`.
    pub const MIMALLOC: Guid = Guid::new(0x138F4DBB, 0xEE04, 0x4899, [0xAA, 0x0A, 0x57, 0x2A, 0xD4, 0x47, 0x57, 0x79]);
    /// PIX's event run-time (WinPixEventRuntime).
    pub const PIX: Guid = Guid::new(0x8819CA17, 0x7FAA, 0x4184, [0xAF, 0xB7, 0xA4, 0x12, 0x0C, 0xA7, 0x93, 0xCD]);
    /// Visual Studio's provider for custom heaps.
    pub const CUSTOM_HEAP: Guid = Guid::new(0x988917C5, 0x5748, 0x42A8, [0xA1, 0x27, 0xA9, 0xA2, 0x28, 0x52, 0x65, 0xD5]);
}

/// Event ids of [`class::CUSTOM_HEAP`].
pub mod tracker {
    #![allow(missing_docs, reason = "the names are those of the events")]
    pub const ALLOC: u16 = 100;
    pub const FREE: u16 = 101;
    pub const REALLOC: u16 = 102;
    pub const OPEN: u16 = 103;
    pub const CLOSE: u16 = 104;
}

/// Event ids of [`class::DXG_KRNL`] about the GPU memory of a process and about its allocations.
pub mod gpu {
    #![allow(missing_docs, reason = "the names are those of the events")]
    pub(crate) const ALLOCATION_START: u16 = 33;
    pub(crate) const ALLOCATION_RUNDOWN: u16 = 35;
    pub const BUDGET: u16 = 366;
    pub(crate) const USAGE: u16 = 367;
    pub(crate) const COMMITMENT: u16 = 371;
}

/// Event ids of [`class::PIX`] that are no blocks of allocators.
pub(super) mod pix {
    pub(crate) const BLOCK_1: u16 = 18;
    pub(crate) const TIMING_HEADER: u16 = 19;
    pub(crate) const COUNTER: u16 = 20;
    pub(crate) const BLOCK_2: u16 = 22;
}

/// Event ids of [`class::KERNEL_MEMORY`].
pub(super) mod kernel_memory {
    pub(crate) const MEM_INFO: u16 = 1;
    pub(crate) const MEM_INFO_WS: u16 = 2;
}

/// Types of [`class::LOST_EVENT`].
pub mod lost {
    #![allow(missing_docs, reason = "the names are those of the events")]
    pub const EVENT: u8 = 32;
    pub const BUFFER: u8 = 33;
    pub const FILE: u8 = 34;
    /// Version with a payload of our own: u64 raw time up to which nothing was lost, u32 number of
    /// losses since.
    pub(crate) const DETAILED_VERSION: u16 = 0x4857;
}

/// Types of [`class::IMAGE_ID`] and [`class::SYSTEM_CONFIG_EX`].
pub(super) mod injected {
    pub(crate) const IMAGE_FILE: u8 = 0x00;
    pub(crate) const RSDS: u8 = 0x24;
    pub(crate) const BUILD_INFO: u8 = 0x20;
    pub(crate) const SYSTEM_PATHS: u8 = 0x21;
    pub(crate) const VOLUME_MAPPING: u8 = 0x23;
}

/// Classes of kernel groups, the most frequent first.
const GROUPS: [(Guid, u16); 8] = [
    (class::HEAP, 0x10),
    (class::STACK_WALK, 0x18),
    (class::PAGE_FAULT, 0x02),
    (class::PROCESS, 0x03),
    (class::THREAD, 0x05),
    (class::IMAGE, 0x14),
    (class::PERF_INFO, 0x0F),
    (class::FILE_IO, 0x04),
];

/// The kernel hook of an event, whatever header carries it; `None` for events of
/// other providers.
#[inline]
pub fn kernel_hook(id: EventId) -> Option<u16> {
    let hook = match id {
        EventId::Hook(hook) => hook,
        EventId::Class { class, opcode } => {
            let (_, group) = GROUPS.iter().find(|(guid, _)| *guid == class)?;
            group << 8 | u16::from(opcode)
        }
        EventId::Provider { .. } | EventId::Opaque => return None,
    };
    Some(one_of_each(hook))
}

/// The hook itself, or the usual one of a hook that has two.
#[inline(always)]
pub(super) fn one_of_each(hook: u16) -> u16 {
    // The load of an image is logged in the process group but shown in the image class.
    const IMAGE_LOAD_OF_IMAGE_CLASS: u16 = 0x140A;
    if hook == IMAGE_LOAD_OF_IMAGE_CLASS { hook::IMAGE_LOAD } else { hook }
}

/// The event as a classic header names it; `None` for groups of which nothing is read.
pub(super) fn class_id(hook: u16) -> Option<EventId> {
    let (class, _) = GROUPS.iter().find(|(_, group)| *group == hook >> 8)?;
    Some(EventId::Class { class: *class, opcode: hook as u8 })
}
