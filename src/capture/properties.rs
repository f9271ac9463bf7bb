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
//! UNVERIFIED on a real system: how many pids an item takes; and whether the block must be
//! aligned (it stands right behind the name, as PerfView puts it, so at a multiple of 2).

use super::{CaptureError, Request};
use crate::etl::write::Loss;
use crate::etl::{Guid, u32_at};
use crate::events::{class, hook};

/// Bytes of the structure without what follows it.
const SIZE: usize = 0x78;
/// Longest name of a session or file, in UTF-16 units without NUL.
const MAX_NAME: usize = 1023;

/// Bits of `LogFileMode`.
mod log_mode {
    pub(super) const REAL_TIME: u32 = 0x0000_0100;
    pub(super) const SYSTEM_LOGGER: u32 = 0x0200_0000;
    pub(super) const INDEPENDENT_SESSION: u32 = 0x0800_0000;
}

/// Bits of `EnableFlags` of a kernel session.
pub mod kernel_flag {
    /// Processes start and end.
    pub const PROCESS: u32 = 0x0000_0001;
    /// Threads do.
    pub const THREAD: u32 = 0x0000_0002;
    /// Images are loaded and unloaded.
    pub const IMAGE_LOAD: u32 = 0x0000_0004;
    /// VirtualAlloc and VirtualFree.
    pub const VIRTUAL_ALLOC: u32 = 0x0000_4000;
    /// What processors run is looked at again and again, with the interval that the machine has.
    pub const PROFILE: u32 = 0x0200_0000;
}

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
        /// Bits of [`kernel_flag`]; 0 while stacks are not chosen yet.
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
        use log_mode::{INDEPENDENT_SESSION, REAL_TIME, SYSTEM_LOGGER};
        let (guid, mode) = match self.kind {
            SessionKind::Heap { .. } => (class::HEAP, REAL_TIME | INDEPENDENT_SESSION),
            SessionKind::Kernel { guid, .. } => (guid, REAL_TIME | SYSTEM_LOGGER),
            SessionKind::Providers { guid } => (guid, REAL_TIME),
        };
        let mut bytes = head(self.name)?;
        bytes[0x18..0x28].copy_from_slice(&guid.to_bytes());
        let Buffers { size_kb, minimum, maximum } = self.buffers;
        for (at, value) in [(0x30, size_kb), (0x34, minimum), (0x38, maximum), (0x40, mode), (0x44, self.flush_seconds)] {
            put(&mut bytes, at, value);
        }
        match self.kind {
            SessionKind::Heap { pids, stacks } => {
                let block = extension(&[Item::Pids(pids), Item::StackWalk(stacks)])?;
                // The offset stands in 16 bits, and a name is no longer than MAX_NAME.
                let place = EXTENDED | bytes.len() as u32;
                put(&mut bytes, 0x48, place);
                bytes.extend(block.into_iter().flat_map(u32::to_le_bytes));
            }
            SessionKind::Kernel { flags, .. } => put(&mut bytes, 0x48, flags),
            SessionKind::Providers { .. } => {}
        }
        // Nothing is behind the block but this room.
        bytes.resize(WHOLE.max(bytes.len() + LONGEST_BLOCK), 0);
        Ok(Properties::new(&bytes))
    }
}

/// Bytes of properties, as PerfView has them.
const WHOLE: usize = SIZE + 2 * 2 * (MAX_NAME + 1) + 256;
/// Bytes of an extension block whose length is 0xFF words.
const LONGEST_BLOCK: usize = 0xFF * 4;

/// `EnableFlags` that are the place of an extension block: length 0xFF (the block says
/// it itself) and flag 0x80 in the upper half, the offset in the lower.
const EXTENDED: u32 = 0x80FF_0000;

/// An extension block. Each count stands before what it counts.
fn extension(items: &[Item<'_>]) -> Result<Vec<u32>, CaptureError> {
    const MAX_HOOKS: usize = 256;
    let mut block = vec![0];
    let mut count = 0;
    for item in items {
        let (kind, words): (u32, Vec<u32>) = match item {
            Item::StackWalk([]) => continue,
            Item::Pids(pids) => (2, pids.to_vec()),
            Item::StackWalk(hooks) => (3, hooks.iter().take(MAX_HOOKS).map(|&hook| hook.into()).collect()),
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
    const TRACED_GUID: u32 = 0x0002_0000;
    const CLOCK_QPC: u32 = 1;
    let units: Vec<u16> = name.encode_utf16().collect();
    if units.is_empty() || units.len() > MAX_NAME || units.contains(&0) {
        return Err(CaptureError::BadRequest(format!("a session cannot be called {name:?}")));
    }
    let mut bytes = vec![0; SIZE];
    put(&mut bytes, 0x28, CLOCK_QPC);
    put(&mut bytes, 0x2C, TRACED_GUID);
    put(&mut bytes, 0x74, SIZE as u32); // the session's name; there is no file
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
        put(room, 0, size);
        Self(words)
    }

    /// Room for what ControlTraceW answers when it queries, stops or flushes a session:
    /// the names of the session and of its file can both be as long as names get.
    pub fn for_answer() -> Self {
        const NAME_BYTES: usize = 2 * (MAX_NAME + 1);
        let mut bytes = vec![0; SIZE + 2 * NAME_BYTES];
        put(&mut bytes, 0x74, SIZE as u32);
        put(&mut bytes, 0x70, (SIZE + NAME_BYTES) as u32);
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
        bytes.copy_from_slice(&self.bytes()[0x18..0x28]); // every answer is longer
        Guid::from_bytes(bytes)
    }

    /// How the session goes, after a query.
    pub fn statistics(&self) -> Statistics {
        let field = |at| u32_at(self.bytes(), at).unwrap_or(0);
        Statistics {
            buffer_size_kb: field(0x30),
            maximum_buffers: field(0x38),
            buffers: field(0x50),
            free_buffers: field(0x54),
            events_lost: field(0x58),
            buffers_written: field(0x5C),
            log_buffers_lost: field(0x60),
            real_time_buffers_lost: field(0x64),
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

impl Buffers {
    /// For heaps, of which a busy program writes some 400 MB a second. Windows makes them more as
    /// they are needed: up to an eighth of the machine's memory (bytes).
    pub fn heap(processors: u32, memory: u64) -> Self {
        Self::of(processors.saturating_mul(2).max(64), memory / 8)
    }

    /// For the kernel's events: up to a 32nd.
    pub fn kernel(processors: u32, memory: u64) -> Self {
        Self::of(processors.saturating_mul(4).max(16), memory / 32)
    }

    /// For trackers and other providers, which write as much as they please: up to a 32nd.
    pub fn user(processors: u32, memory: u64) -> Self {
        Self::of(processors.saturating_mul(2).max(16), memory / 32)
    }

    /// Twice the least at the most, if there is little memory.
    fn of(minimum: u32, most: u64) -> Self {
        let most = u32::try_from(most >> 20).unwrap_or(u32::MAX);
        Self { size_kb: 1024, minimum, maximum: minimum.saturating_mul(2).max(most) }
    }

    /// The sizes that the user asks for instead.
    pub fn or(self, request: &Request) -> Self {
        let size_kb = request.buffer_size.map_or(self.size_kb, |bytes| bytes.div_ceil(1024).clamp(64, 1024));
        let maximum = request.buffers.unwrap_or(self.maximum).max(4);
        Self { size_kb, minimum: self.minimum.min(maximum), maximum }
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

/// `CLASSIC_EVENT_ID`: class, type, seven bytes of nothing.
fn classic_id(class: Guid, opcode: u8) -> [u8; 24] {
    let mut id = [0; 24];
    id[..16].copy_from_slice(&class.to_bytes());
    id[16] = opcode;
    id
}

#[cfg(test)]
mod tests;
