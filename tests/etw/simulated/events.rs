//! A generated trace as the events that ETW would hand over: by session, in the order of
//! time, with the classes and types that a consumer sees instead of hooks.

use std::collections::HashMap;

use highwater::etl::write::{Descriptor, NewEvent};
use highwater::etl::{EventId, Guid, HeaderKind, RawEvent, ReadBuffer, TraceFile};
use highwater::events::{Event, EventOwner, Record, class, event_owner, hook};
use highwater::problem::Problems;
use highwater::units::PointerSize;

use super::admit::Kind;
use super::deliver::ticks;
use crate::constants::*;

/// One event, with all that its record points to.
#[derive(Clone, Debug)]
pub struct Told {
    pub processor: u16,
    pub time: i64,
    pub flags: u16,
    pub pid: u32,
    pub tid: u32,
    pub provider: Guid,
    pub id: u16,
    pub version: u8,
    pub opcode: u8,
    pub level: u8,
    pub keyword: u64,
    pub items: Vec<(u16, Vec<u8>)>,
    pub payload: Vec<u8>,
    /// Whether the payload begins with the time of another event.
    pub names_a_time: bool,
    /// Of what kinds the events of that time and thread are: two can have one tick.
    pub owners: Vec<Kind>,
    /// Id and name of the process that it tells of.
    pub process: Option<(u32, String)>,
}

impl Told {
    /// What a program tells by a provider of its own, now.
    pub fn by(provider: Guid, id: u16, pid: u32, payload: &[u8]) -> Self {
        let (level, keyword) = said_by(provider);
        Self {
            processor: 0,
            time: ticks(),
            flags: HEADER_64_BIT | HEADER_PROCESSOR_INDEX,
            pid,
            tid: 7,
            provider,
            id,
            version: 0,
            opcode: 0,
            level,
            keyword,
            items: Vec::new(),
            payload: payload.to_vec(),
            names_a_time: false,
            owners: Vec::new(),
            process: None,
        }
    }

    /// What the kernel tells in the name of a thread (process and thread), now.
    pub fn of_kernel(class: Guid, opcode: u8, (pid, tid): (u32, u32), payload: &[u8]) -> Self {
        let flags = HEADER_64_BIT | HEADER_PROCESSOR_INDEX | HEADER_CLASSIC;
        Self { flags, tid, version: 2, opcode, ..Self::by(class, 0, pid, payload) }
    }

    pub fn say_the_other_width(&mut self) {
        self.flags ^= HEADER_32_BIT | HEADER_64_BIT;
    }

    /// A word of its payload.
    pub fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.payload[at..at + 4].try_into().unwrap())
    }

    /// Whether it tells of a thread.
    pub fn is_of_a_thread(&self) -> bool {
        self.provider == class::THREAD
    }

    /// Whether it is a stack, a part of one, or the key of one.
    pub fn is_stack(&self) -> bool {
        self.provider == class::STACK_WALK
    }
}

/// Level and keyword of what a provider tells here.
fn said_by(provider: Guid) -> (u8, u64) {
    match provider {
        // Direct3D says that its events are of no level; the highest bit is of a channel.
        class::DXGI | class::D3D9 => (0, 1 << 63 | KEYWORD_PRESENTS),
        class::DXG_KRNL => (0, 1 << 62 | 1 | KEYWORD_KERNEL_PRESENTS),
        class::CLR | class::CLR_RUNDOWN => (LEVEL_INFORMATION, KEYWORD_METHODS),
        class::CUSTOM_HEAP => (LEVEL_INFORMATION, KEYWORD_CUSTOM_HEAP),
        _ => (LEVEL_INFORMATION, 0),
    }
}

/// What each session has to tell: kernel, heap, user.
pub type Lanes = [Vec<Told>; 3];

pub const KERNEL: usize = 0;
pub const HEAP: usize = 1;
pub const USER: usize = 2;

/// Classes by the group of a hook, as Microsoft's documentation has them.
const CLASSES: [(u16, Guid); 7] = [
    (0x02, class::PAGE_FAULT),
    (0x03, class::PROCESS),
    (0x05, class::THREAD),
    (0x0F, class::PERF_INFO),
    (0x10, class::HEAP),
    (0x14, class::IMAGE),
    (0x18, class::STACK_WALK),
];

/// All events of a trace that a session would deliver.
pub fn lanes(trace: &TraceFile) -> Lanes {
    // Events come from processors that this machine has.
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get()) as u16;
    let mut all = Vec::new();
    let mut scratch = ReadBuffer::default();
    for buffer in &trace.buffers {
        trace.read_buffer(buffer, &mut scratch, &mut Problems::default());
        for raw in scratch.events() {
            let (provider, id, opcode, is_classic, lane) = match raw.id {
                EventId::Hook(hook) => {
                    let Some((group, class)) = CLASSES.iter().find(|(group, _)| *group == hook >> 8) else { continue };
                    // Loads of images are shown in the class of images.
                    let class = if hook == hook::IMAGE_LOAD { class::IMAGE } else { *class };
                    (class, 0, hook as u8, true, if *group == 0x10 { HEAP } else { KERNEL })
                }
                EventId::Provider { provider: class::CUSTOM_HEAP, id } => (class::CUSTOM_HEAP, id, 0, false, USER),
                // What merging adds, and the rest of the file's own.
                _ => continue,
            };
            let bits = if raw.pointer == PointerSize::Four { HEADER_32_BIT } else { HEADER_64_BIT };
            let is_stack = matches!(raw.id, EventId::Hook(hook::STACK | hook::STACK_KEY_REF_KERNEL | hook::STACK_KEY_REF_USER));
            assert!(raw.kind != HeaderKind::PerfInfo || !raw.pid.is_known());
            let ((level, keyword), process) = (said_by(provider), named(&raw));
            let told = Told {
                processor: buffer.processor % processors,
                time: raw.time,
                flags: bits | HEADER_PROCESSOR_INDEX | if is_classic { HEADER_CLASSIC } else { 0 },
                pid: raw.pid.0,
                tid: raw.tid.0,
                provider,
                id,
                version: raw.version as u8,
                opcode,
                level,
                keyword,
                items: raw.extended.map(|item| (item.kind, item.data.to_vec())).collect(),
                payload: raw.payload.to_vec(),
                names_a_time: is_stack,
                owners: Vec::new(),
                process,
            };
            all.push((lane, told));
        }
    }
    // As ProcessTrace hands them over.
    all.sort_by_key(|(_, told)| told.time);
    split(all)
}

/// Id and name of the process that an event tells of.
fn named(raw: &RawEvent<'_>) -> Option<(u32, String)> {
    let RawEvent { kind, pointer, time, pid, tid, id, version, payload, .. } = *raw;
    let descriptor = Descriptor::default();
    let event = NewEvent { processor: 0, time, kind, pointer, pid, tid, id, version, descriptor, extended: &[], payload };
    match event_owner(&event)? {
        EventOwner::Process(Record { pid, event: Event::Process(_, info), .. }) => Some((pid.0, info.name)),
        _ => None,
    }
}

/// Stacks come with the session of the event that they belong to: one of the same time, and of the same thread where
/// several have it.
fn split(all: Vec<(usize, Told)>) -> Lanes {
    let mut at: HashMap<i64, Vec<(u32, usize, Kind)>> = HashMap::new();
    for (lane, told) in all.iter().filter(|(lane, told)| *lane != USER && !told.is_stack()) {
        at.entry(told.time).or_default().push((told.tid, *lane, (told.provider, told.opcode)));
    }
    let mut lanes = Lanes::default();
    for (lane, mut told) in all {
        let owners = if told.names_a_time { at.get(&i64::from_le_bytes(told.payload[..8].try_into().unwrap())) } else { None };
        let all = owners.map_or(&[][..], Vec::as_slice);
        // Events of heaps come with heaps' session, and so do their stacks.
        let is_its = |(tid, ..): &&(u32, usize, Kind)| *tid == told.word(12);
        let own: Vec<_> = all.iter().filter(is_its).collect();
        let of = if own.is_empty() { all.iter().take(1).collect() } else { own };
        let lane = of.iter().map(|(_, lane, _)| *lane).max().unwrap_or(lane);
        told.owners = of.iter().filter(|(_, of, _)| *of == lane).map(|(_, _, kind)| *kind).collect();
        lanes[lane].push(told);
    }
    lanes
}
