//! Builds the bytes for StartTraceW, ControlTraceW and TraceSetInformation: `EVENT_TRACE_PROPERTIES` in its 64-bit form
//! with the session's name and, for heaps, the extension block that selects processes and stacks. Also reads the
//! structure after a query. Pure: nothing here calls the system.
//!
//! Sources: the structure is Microsoft's (evntrace.h). That a session with the GUID of the heap class logs heap events,
//! and the extension block, are taken from PerfView (`ETWKernelControl.cs`), with the names of System Informer
//! (`ntwmi.h`). All properties are as long as PerfView's (`TraceEventSession.cs`): room for two of the longest names
//! and 256 bytes, so some 4 KB follow the block. If Windows takes the block's length field of 0xFF literally, it finds
//! that many words there.
//!
//! UNVERIFIED on a real system: how many process ids an item takes. Whether the block must be aligned does not matter:
//! names have such a length that the block is at a multiple of eight directly behind the name, where PerfView puts it.

use super::constants::*;
use super::{CaptureError, Request};
use crate::etl::write::Loss;
use crate::etl::{Guid, u32_at};
use crate::events::{FaultKind, class, hook};

/// Maximum length of a session or file name in UTF-16 units, without NUL.
const MAX_NAME: usize = MOST_NAME_UNITS - 1;
/// Alignment of an extension block.
const ALIGNMENT: usize = 8;

/// The name of a session of the process `pid` for this kind of events. The id is padded to twelve digits, so that the
/// extension block behind a heap session's name is always at a multiple of eight.
pub fn session_name(pid: u32, kind: &str) -> String {
    format!("{SESSION_PREFIX}{pid:012}-{kind}")
}

/// The names of all sessions that the process `pid` may have.
pub fn session_names(pid: u32) -> [String; 3] {
    [KERNEL_SESSION, HEAP_SESSION, USER_SESSION].map(|kind| session_name(pid, kind))
}

/// Kind of session: kernel events.
pub(crate) const KERNEL_SESSION: &str = "kernel";
/// Kind of session: heap events.
pub(crate) const HEAP_SESSION: &str = "heap";
/// Kind of session: user-mode providers.
pub(crate) const USER_SESSION: &str = "user";

/// Prefix of the names of all our sessions.
pub(crate) const SESSION_PREFIX: &str = "highwater-";

/// The parameters of a session to start.
#[derive(Clone, Copy, Debug)]
pub struct SessionProperties<'a> {
    /// The name, by which the session is found again after a crash.
    pub name: &'a str,
    /// The kind of session.
    pub kind: SessionKind<'a>,
    /// Its buffers.
    pub buffers: Buffers,
    /// Events are delivered after this many seconds at the latest.
    pub flush_seconds: u32,
}

/// A kind of session. All deliver in real time, with the performance counter as clock.
#[derive(Clone, Copy, Debug)]
pub enum SessionKind<'a> {
    /// Heap events of these processes. The process id 0 stands for all future processes whose image is named in the
    /// registry. Events with these hooks get stacks.
    Heap {
        /// The process ids.
        pids: &'a [u32],
        /// The hooks of the events that get stacks.
        stacks: &'a [u16],
    },
    /// Kernel events, in a private session (Windows 8 and later).
    Kernel {
        /// A GUID that no other session has.
        guid: Guid,
        /// The kernel's enable flags; 0 while stacks are not chosen yet.
        flags: u32,
    },
    /// User-mode providers, which are enabled one by one.
    Providers {
        /// A GUID that no other session has.
        guid: Guid,
    },
}

/// An item of an extension block.
enum Item<'a> {
    Pids(&'a [u32]),
    StackWalk(&'a [u16]),
}

impl SessionProperties<'_> {
    /// Builds the structure for StartTraceW.
    pub fn build(&self) -> Result<Properties, CaptureError> {
        let (guid, mode) = match self.kind {
            SessionKind::Heap { .. } => (class::HEAP, REAL_TIME_MODE | INDEPENDENT_SESSION_MODE),
            SessionKind::Kernel { guid, .. } => (guid, REAL_TIME_MODE | SYSTEM_LOGGER_MODE),
            SessionKind::Providers { guid } => (guid, REAL_TIME_MODE),
        };
        let mut bytes = head(self.name)?;
        bytes[AT_GUID..AT_GUID + 16].copy_from_slice(&guid.to_bytes());
        let Buffers { size_kb, minimum, maximum } = self.buffers;
        for (at, value) in [
            (AT_BUFFER_SIZE, size_kb),
            (AT_MINIMUM_BUFFERS, minimum),
            (AT_MAXIMUM_BUFFERS, maximum),
            (AT_LOG_FILE_MODE, mode),
            (AT_FLUSH_TIMER, self.flush_seconds),
        ] {
            put(&mut bytes, at, value);
        }
        match self.kind {
            SessionKind::Heap { pids, stacks } => {
                let block = extension(&[Item::Pids(pids), Item::StackWalk(stacks)])?;
                // Behind our own session names it is aligned already.
                bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
                // The offset has 16 bits, which suffice since names are limited to MAX_NAME.
                let place = EXTENDED | bytes.len() as u32;
                put(&mut bytes, AT_ENABLE_FLAGS, place);
                bytes.extend(block.into_iter().flat_map(u32::to_le_bytes));
            }
            SessionKind::Kernel { flags, .. } => put(&mut bytes, AT_ENABLE_FLAGS, flags),
            SessionKind::Providers { .. } => {}
        }
        // Zero padding follows the block.
        bytes.resize(WHOLE.max(bytes.len() + 4 * LONGEST_BLOCK), 0);
        Ok(Properties::new(&bytes))
    }
}

/// Size of the properties in bytes, as in PerfView.
const WHOLE: usize = PROPERTIES_SIZE + 2 * 2 * (MAX_NAME + 1) + 256;

/// Builds an extension block. Each count precedes the data that it counts.
fn extension(items: &[Item<'_>]) -> Result<Vec<u32>, CaptureError> {
    let mut block = vec![0];
    let mut count = 0;
    for item in items {
        let (kind, words): (u32, Vec<u32>) = match item {
            Item::StackWalk([]) => continue,
            Item::Pids(pids) => (ITEM_PIDS, pids.to_vec()),
            Item::StackWalk(hooks) => (ITEM_STACKS, hooks.iter().take(MAX_STACK_HOOKS).map(|&hook| hook.into()).collect()),
        };
        block.push(kind << 16 | (words.len() as u32 + 1));
        block.extend(words);
        count += 1;
    }
    if block.len() > usize::from(u16::MAX) {
        return Err(CaptureError::BadRequest("so many processes cannot be recorded together".to_owned()));
    }
    block[0] = count << 16 | block.len() as u32;
    Ok(block)
}

/// Builds the fixed part and the name.
fn head(name: &str) -> Result<Vec<u8>, CaptureError> {
    let units: Vec<u16> = name.encode_utf16().collect();
    if units.is_empty() || units.len() > MAX_NAME || units.contains(&0) {
        return Err(CaptureError::BadRequest(format!("a session cannot be called {name:?}")));
    }
    let mut bytes = vec![0; PROPERTIES_SIZE];
    put(&mut bytes, AT_CLOCK, CLOCK_QPC);
    put(&mut bytes, AT_NODE_FLAGS, TRACED_GUID);
    put(&mut bytes, AT_LOGGER_NAME, PROPERTIES_SIZE as u32); // there is no file
    bytes.extend(units.into_iter().chain([0]).flat_map(u16::to_le_bytes));
    Ok(bytes)
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// An `EVENT_TRACE_PROPERTIES` and the data behind it, in memory that is aligned for the structure and does not move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Properties(Vec<u64>);

impl Properties {
    fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0; bytes.len().div_ceil(8)];
        let room: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        room[..bytes.len()].copy_from_slice(bytes);
        let size = room.len() as u32;
        put(room, AT_WHOLE_SIZE, size);
        Self(words)
    }

    /// Creates properties for the answer of ControlTraceW to a query, stop or flush. The names of the session and of
    /// its file both fit at their maximum length.
    pub fn for_answer() -> Self {
        const NAME_BYTES: usize = MOST_NAME_UNITS * 2;
        let mut bytes = vec![0; PROPERTIES_SIZE + 2 * NAME_BYTES];
        put(&mut bytes, AT_LOGGER_NAME, PROPERTIES_SIZE as u32);
        put(&mut bytes, AT_LOG_FILE_NAME, (PROPERTIES_SIZE + NAME_BYTES) as u32);
        Self::new(&bytes)
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }

    /// The address that the system reads and writes: [`Properties::bytes`] bytes, aligned to 8.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    /// The session's GUID, after a query.
    pub fn guid(&self) -> Guid {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.bytes()[AT_GUID..AT_GUID + 16]); // the structure is longer
        Guid::from_bytes(bytes)
    }

    /// The state of the session, after a query.
    pub fn statistics(&self) -> Statistics {
        let field = |at| u32_at(self.bytes(), at).unwrap_or(0);
        Statistics {
            buffer_size_kb: field(AT_BUFFER_SIZE),
            maximum_buffers: field(AT_MAXIMUM_BUFFERS),
            buffers: field(AT_NUMBER_OF_BUFFERS),
            free_buffers: field(AT_FREE_BUFFERS),
            events_lost: field(AT_EVENTS_LOST),
            buffers_written: field(AT_BUFFERS_WRITTEN),
            log_buffers_lost: field(AT_LOG_BUFFERS_LOST),
            real_time_buffers_lost: field(AT_REAL_TIME_BUFFERS_LOST),
        }
    }
}

/// The state of a session from a query. Losses count from its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Size of a buffer in KB.
    pub buffer_size_kb: u32,
    /// Maximum number of buffers.
    pub maximum_buffers: u32,
    /// Number of buffers.
    pub buffers: u32,
    /// Number of empty buffers.
    pub free_buffers: u32,
    /// Events lost because there was no room.
    pub events_lost: u32,
    /// Delivered buffers.
    pub buffers_written: u32,
    /// Buffers that could not be written to a file.
    pub log_buffers_lost: u32,
    /// Buffers that the consumer did not take in time.
    pub real_time_buffers_lost: u32,
}

impl Statistics {
    /// The losses since an earlier query, for [`LaneWriter::lost`](super::LaneWriter::lost).
    pub fn losses_since(&self, before: &Self) -> impl Iterator<Item = Loss> + use<> {
        let events = self.events_lost.wrapping_sub(before.events_lost);
        let lost = |of: &Self| of.log_buffers_lost.wrapping_add(of.real_time_buffers_lost);
        let buffers = lost(self).wrapping_sub(lost(before));
        [(events > 0).then_some(Loss::Events(events)), (buffers > 0).then_some(Loss::Buffers(buffers))].into_iter().flatten()
    }
}

/// The buffers of a session. Windows does not page them out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffers {
    /// Size of a buffer in KB; the documented maximum is 1,024. Events that are longer are dropped.
    pub size_kb: u32,
    /// Minimum number of buffers; Windows needs two for each CPU.
    pub minimum: u32,
    /// Maximum number of buffers.
    pub maximum: u32,
}

/// Memory limit for the buffers of all sessions together, in bytes: 2 GB, or an eighth of the machine's memory if that is less.
pub fn most_buffer_memory(memory: u64) -> u64 {
    const MOST: u64 = 2 << 30;
    MOST.min(memory / 8)
}

impl Buffers {
    /// Buffers for heap events, of which a busy program writes some 400 MB a second: Windows adds buffers as needed, up
    /// to two thirds of the limit for all sessions on a machine with this memory (bytes).
    pub fn heap(processors: u32, memory: u64, request: &Request) -> Self {
        Self::of(processors.saturating_mul(2).max(64), processors, most_buffer_memory(memory) / 6 * 4, request)
    }

    /// Buffers for kernel events: up to a sixth of the limit.
    pub fn kernel(processors: u32, memory: u64, request: &Request) -> Self {
        Self::of(processors.saturating_mul(4).max(16), processors, most_buffer_memory(memory) / 6, request)
    }

    /// Buffers for trackers and other providers, whose volume is unpredictable: up to a sixth of the limit.
    pub fn user(processors: u32, memory: u64, request: &Request) -> Self {
        Self::of(processors.saturating_mul(2).max(16), processors, most_buffer_memory(memory) / 6, request)
    }

    /// Starts with `wanted` buffers, with as many as fit into `share` bytes as the maximum. Sizes that the user asks
    /// for are used within these limits. If the share is small for a machine with many CPUs, the buffers are smaller.
    fn of(wanted: u32, processors: u32, share: u64, request: &Request) -> Self {
        /// Buffer sizes in KB; the first is Windows' documented maximum.
        const SIZES: [u32; 5] = [1024, 512, 256, 128, 64];
        let room = |size_kb: u32| u32::try_from(share / (u64::from(size_kb) << 10)).unwrap_or(u32::MAX);
        // Windows needs two for each CPU; fewer than four are too few.
        let least = processors.saturating_mul(2).max(4);
        let asked = request.buffer_size.map(|bytes| bytes.div_ceil(1024).clamp(64, 1024));
        let sizes = SIZES.into_iter().filter(|&size| asked.is_none_or(|asked| size < asked));
        let size_kb = asked.into_iter().chain(sizes).find(|&size| room(size) >= least).unwrap_or(SIZES[4]);
        let room = room(size_kb).max(least);
        let maximum = request.buffers.map_or(room, |asked| asked.clamp(least, room));
        Self { size_kb, minimum: wanted.min(maximum), maximum }
    }
}

/// The hooks of the heap events that get stacks.
pub fn heap_stacks(request: &Request) -> Vec<u16> {
    let mut hooks = Vec::new();
    if request.stacks {
        hooks.extend([hook::HEAP_ALLOC, hook::HEAP_REALLOC]);
    }
    if request.free_stacks {
        hooks.push(hook::HEAP_FREE);
    }
    hooks
}

/// Builds the list for TraceSetInformation (class 3, TraceStackTracingInfo) of a kernel session: 24 bytes for each kind
/// of event that gets stacks. It replaces the previous list; with an empty list, no event gets a stack.
pub fn kernel_stacks(request: &Request) -> Vec<u8> {
    let mut hooks = Vec::new();
    if request.commit && request.stacks {
        hooks.push(hook::VIRTUAL_ALLOC);
    }
    if request.commit && request.free_stacks {
        hooks.push(hook::VIRTUAL_FREE);
    }
    // Only its stack names the process of a fault.
    if request.faults {
        hooks.extend(FaultKind::ALL.map(FaultKind::hook));
    }
    let pages = hooks.into_iter().map(|hook| (class::PAGE_FAULT, hook));
    // A sample without a stack says little.
    let samples = request.samples.then_some((class::PERF_INFO, hook::SAMPLE));
    pages.chain(samples).flat_map(|(class, hook)| classic_id(class, hook as u8)).collect()
}

/// The enable flags of a kernel session; processes, threads and images are always included.
pub fn kernel_flags(request: &Request) -> u32 {
    let commit = if request.commit { FLAG_VIRTUAL_ALLOC | FLAG_VAMAP } else { 0 };
    let samples = if request.samples { FLAG_PROFILE } else { 0 };
    let faults = if request.faults { FLAG_PAGE_FAULTS | FLAG_HARD_FAULTS } else { 0 };
    FLAG_PROCESS | FLAG_THREAD | FLAG_IMAGE_LOAD | commit | samples | faults
}

/// The flags without CPU samples; `None` if they do not include samples.
pub fn without_samples(flags: u32) -> Option<u32> {
    (flags & FLAG_PROFILE != 0).then_some(flags & !FLAG_PROFILE)
}

/// The group masks for TraceSetInformation (class 4, TraceSystemTraceEnableFlagsInfo): these flags are the first mask,
/// the other masks are for further groups.
pub fn group_masks(flags: u32) -> [u32; MASK_WORDS] {
    let mut masks = [0; MASK_WORDS];
    masks[0] = flags;
    masks
}

/// Builds a `CLASSIC_EVENT_ID`: class, type, seven zero bytes.
fn classic_id(class: Guid, opcode: u8) -> [u8; CLASSIC_ID_SIZE] {
    let mut id = [0; CLASSIC_ID_SIZE];
    id[..16].copy_from_slice(&class.to_bytes());
    id[AT_CLASSIC_TYPE] = opcode;
    id
}

#[cfg(test)]
mod tests;
