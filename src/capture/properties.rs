//! The bytes that StartTraceW, ControlTraceW and TraceSetInformation want:
//! `EVENT_TRACE_PROPERTIES` in its 64-bit form with the session's name and, for heaps,
//! the extension block that says whose heaps and which stacks; and what a query
//! leaves in it. Pure: nothing here calls the system.
//!
//! Facts: the structure is Microsoft's (evntrace.h). That a session whose GUID is that
//! of the heap class logs heaps, and the extension block, are what PerfView does
//! (`ETWKernelControl.cs`), with the names that System Informer has for them
//! (`ntwmi.h`). All properties are as long as PerfView's (`TraceEventSession.cs`): room for two
//! of the longest names and 256 bytes, so some 4 KB lie behind the block; whoever takes its
//! length of 0xFF for one finds that many words there.
//!
//! UNVERIFIED on a real system: how many pids an item takes. Whether the block must be aligned does not matter: names
//! are so long that it stands at a multiple of eight right behind them, where PerfView puts it.

use super::constants::*;
use super::{CaptureError, Request};
use crate::etl::write::Loss;
use crate::etl::{Guid, u32_at};
use crate::events::{class, hook};

/// Longest name of a session or file, in UTF-16 units without NUL.
const MAX_NAME: usize = MOST_NAME_UNITS - 1;
/// Where an extension block may stand: at a multiple of this.
const ALIGNMENT: usize = 8;

/// The name of a session that the process `pid` has for this kind of events. The id has twelve digits,
/// whatever it is, so that the extension block behind a heap session's name stands at a multiple of eight always.
pub fn session_name(pid: u32, kind: &str) -> String {
    format!("{SESSION_PREFIX}{pid:012}-{kind}")
}

/// The names of all sessions that the process `pid` may have.
pub fn session_names(pid: u32) -> [String; 3] {
    [KERNEL_SESSION, HEAP_SESSION, USER_SESSION].map(|kind| session_name(pid, kind))
}

/// Kind of session: the kernel's events.
pub const KERNEL_SESSION: &str = "kernel";
/// Kind of session: heaps.
pub const HEAP_SESSION: &str = "heap";
/// Kind of session: providers of programs.
pub const USER_SESSION: &str = "user";

/// What the names of all our sessions begin with.
pub const SESSION_PREFIX: &str = "highwater-";

/// A session as it is to be started.
#[derive(Clone, Copy, Debug)]
pub struct SessionProperties<'a> {
    /// Name, by which it is found again after a crash.
    pub name: &'a str,
    /// What kind of session.
    pub kind: SessionKind<'a>,
    /// Its memory.
    pub buffers: Buffers,
    /// Events are delivered after so many seconds at the latest.
    pub flush_seconds: u32,
}

/// What kind of session. All deliver in real time, with the performance counter as clock.
#[derive(Clone, Copy, Debug)]
pub enum SessionKind<'a> {
    /// Heaps of these processes; one of pid 0 is that of all to come which the registry
    /// names. Stacks are those of these hooks.
    Heap {
        /// Whose.
        pids: &'a [u32],
        /// Hooks of events that get stacks.
        stacks: &'a [u16],
    },
    /// The kernel's events, in a session of its own (Windows 8 and later).
    Kernel {
        /// A GUID that no other session has.
        guid: Guid,
        /// What of the kernel's events; 0 while stacks are not chosen yet.
        flags: u32,
    },
    /// Providers of programs, which are switched on one by one.
    Providers {
        /// A GUID that no other session has.
        guid: Guid,
    },
}

/// One thing that an extension block says.
enum Item<'a> {
    Pids(&'a [u32]),
    StackWalk(&'a [u16]),
}

impl SessionProperties<'_> {
    /// The structure for StartTraceW.
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
                // Behind names of ours it stands there already.
                bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
                // The offset stands in 16 bits, and a name is no longer than MAX_NAME.
                let place = EXTENDED | bytes.len() as u32;
                put(&mut bytes, AT_ENABLE_FLAGS, place);
                bytes.extend(block.into_iter().flat_map(u32::to_le_bytes));
            }
            SessionKind::Kernel { flags, .. } => put(&mut bytes, AT_ENABLE_FLAGS, flags),
            SessionKind::Providers { .. } => {}
        }
        // Nothing is behind the block but this room.
        bytes.resize(WHOLE.max(bytes.len() + 4 * LONGEST_BLOCK), 0);
        Ok(Properties::new(&bytes))
    }
}

/// Bytes of properties, as PerfView has them.
const WHOLE: usize = PROPERTIES_SIZE + 2 * 2 * (MAX_NAME + 1) + 256;

/// An extension block. Each count stands before what it counts.
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

/// Fixed part and name.
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

/// An `EVENT_TRACE_PROPERTIES` and what belongs to it, in memory that is aligned as
/// the structure wants it and does not move.
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

    /// Room for what ControlTraceW answers when it queries, stops or flushes a session:
    /// the names of the session and of its file can both be as long as names get.
    pub fn for_answer() -> Self {
        const NAME_BYTES: usize = MOST_NAME_UNITS * 2;
        let mut bytes = vec![0; PROPERTIES_SIZE + 2 * NAME_BYTES];
        put(&mut bytes, AT_LOGGER_NAME, PROPERTIES_SIZE as u32);
        put(&mut bytes, AT_LOG_FILE_NAME, (PROPERTIES_SIZE + NAME_BYTES) as u32);
        Self::new(&bytes)
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }

    /// Where the system reads and writes it: [`Properties::bytes`] bytes, aligned to 8.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    /// The session's GUID, after a query.
    pub fn guid(&self) -> Guid {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.bytes()[AT_GUID..AT_GUID + 16]); // every answer is longer
        Guid::from_bytes(bytes)
    }

    /// How the session goes, after a query.
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

/// What a query says of a session. Losses count from its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// KB of a buffer.
    pub buffer_size_kb: u32,
    /// Most buffers there may be.
    pub maximum_buffers: u32,
    /// Buffers there are.
    pub buffers: u32,
    /// Of these, how many hold nothing.
    pub free_buffers: u32,
    /// Events for which there was no room.
    pub events_lost: u32,
    /// Buffers that were delivered.
    pub buffers_written: u32,
    /// Buffers that could not be written to a file.
    pub log_buffers_lost: u32,
    /// Buffers that the consumer did not take in time.
    pub real_time_buffers_lost: u32,
}

impl Statistics {
    /// What was lost since an earlier query, for [`LaneWriter::lost`](super::LaneWriter::lost).
    pub fn losses_since(&self, before: &Self) -> impl Iterator<Item = Loss> + use<> {
        let events = self.events_lost.wrapping_sub(before.events_lost);
        let lost = |of: &Self| of.log_buffers_lost.wrapping_add(of.real_time_buffers_lost);
        let buffers = lost(self).wrapping_sub(lost(before));
        [(events > 0).then_some(Loss::Events(events)), (buffers > 0).then_some(Loss::Buffers(buffers))].into_iter().flatten()
    }
}

/// A session's memory, which the system does not page out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffers {
    /// KB of one; the documented maximum is 1,024. Longer events are dropped.
    pub size_kb: u32,
    /// So many there are at least; the system wants two for each processor.
    pub minimum: u32,
    /// So many there are at most.
    pub maximum: u32,
}

/// Most memory that the buffers of all sessions together may take, in bytes: 2 GB, or an eighth of the machine's
/// memory where that is less.
pub fn most_buffer_memory(memory: u64) -> u64 {
    const MOST: u64 = 2 << 30;
    MOST.min(memory / 8)
}

impl Buffers {
    /// For heaps, of which a busy program writes some 400 MB a second: Windows makes buffers more as they are needed,
    /// up to two thirds of all that the sessions may have together on a machine with this memory (bytes).
    pub fn heap(processors: u32, memory: u64, request: &Request) -> Self {
        Self::of(processors.saturating_mul(2).max(64), processors, most_buffer_memory(memory) / 6 * 4, request)
    }

    /// For the kernel's events: up to a sixth.
    pub fn kernel(processors: u32, memory: u64, request: &Request) -> Self {
        Self::of(processors.saturating_mul(4).max(16), processors, most_buffer_memory(memory) / 6, request)
    }

    /// For trackers and other providers, which write as much as they please: up to a sixth.
    pub fn user(processors: u32, memory: u64, request: &Request) -> Self {
        Self::of(processors.saturating_mul(2).max(16), processors, most_buffer_memory(memory) / 6, request)
    }

    /// So many at first, as many as have room in `share` bytes at most. The sizes that the user asks for instead
    /// hold within that. Where the share is small for a machine with many processors, buffers are smaller.
    fn of(wanted: u32, processors: u32, share: u64, request: &Request) -> Self {
        /// KB; Windows' documented most is the first of them.
        const SIZES: [u32; 5] = [1024, 512, 256, 128, 64];
        let room = |size_kb: u32| u32::try_from(share / (u64::from(size_kb) << 10)).unwrap_or(u32::MAX);
        // The system wants two for each processor, and four are few.
        let least = processors.saturating_mul(2).max(4);
        let asked = request.buffer_size.map(|bytes| bytes.div_ceil(1024).clamp(64, 1024));
        let sizes = SIZES.into_iter().filter(|&size| asked.is_none_or(|asked| size < asked));
        let size_kb = asked.into_iter().chain(sizes).find(|&size| room(size) >= least).unwrap_or(SIZES[4]);
        let room = room(size_kb).max(least);
        let maximum = request.buffers.map_or(room, |asked| asked.clamp(least, room));
        Self { size_kb, minimum: wanted.min(maximum), maximum }
    }
}

/// Hooks of heap events that get stacks.
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

/// The list for TraceSetInformation (class 3, TraceStackTracingInfo) of a kernel
/// session: 24 bytes for each kind of event that gets stacks. It replaces the list
/// before; without any, none gets one.
pub fn kernel_stacks(request: &Request) -> Vec<u8> {
    let mut hooks = Vec::new();
    if request.commit && request.stacks {
        hooks.push(hook::VIRTUAL_ALLOC);
    }
    if request.commit && request.free_stacks {
        hooks.push(hook::VIRTUAL_FREE);
    }
    let pages = hooks.into_iter().map(|hook| (class::PAGE_FAULT, hook));
    // A sample without its stack says little.
    let samples = request.samples.then_some((class::PERF_INFO, hook::SAMPLE));
    pages.chain(samples).flat_map(|(class, hook)| classic_id(class, hook as u8)).collect()
}

/// The flags of a kernel session: processes, threads and images always.
pub fn kernel_flags(request: &Request) -> u32 {
    let commit = if request.commit { FLAG_VIRTUAL_ALLOC } else { 0 };
    let samples = if request.samples { FLAG_PROFILE } else { 0 };
    FLAG_PROCESS | FLAG_THREAD | FLAG_IMAGE_LOAD | commit | samples
}

/// The same without samples of processors; `None` if there are none among them.
pub fn without_samples(flags: u32) -> Option<u32> {
    (flags & FLAG_PROFILE != 0).then_some(flags & !FLAG_PROFILE)
}

/// Group masks as TraceSetInformation wants them (class 4, TraceSystemTraceEnableFlagsInfo): the first is that of
/// these flags, the others are for groups beyond.
pub fn group_masks(flags: u32) -> [u32; MASK_WORDS] {
    let mut masks = [0; MASK_WORDS];
    masks[0] = flags;
    masks
}

/// `CLASSIC_EVENT_ID`: class, type, seven bytes of nothing.
fn classic_id(class: Guid, opcode: u8) -> [u8; CLASSIC_ID_SIZE] {
    let mut id = [0; CLASSIC_ID_SIZE];
    id[..16].copy_from_slice(&class.to_bytes());
    id[AT_CLASSIC_TYPE] = opcode;
    id
}

#[cfg(test)]
mod tests;
