//! A generated trace as the events that ETW would hand over: by session, in the order of
//! time, with the classes and types that a consumer sees instead of hooks.

use highwater::etl::{EventId, Guid, HeaderKind, ReadBuffer, TraceFile};
use highwater::events::{class, hook};
use highwater::problem::Problems;
use highwater::units::PointerSize;

use super::deliver::ticks;

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
    pub items: Vec<(u16, Vec<u8>)>,
    pub payload: Vec<u8>,
    /// Whether the payload begins with the time of another event.
    pub names_a_time: bool,
}

impl Told {
    /// What a program tells by a provider of its own, now.
    pub fn by(provider: Guid, id: u16, pid: u32, payload: &[u8]) -> Self {
        Self {
            processor: 0,
            time: ticks(),
            flags: BITS_64 | PROCESSOR_INDEX,
            pid,
            tid: 7,
            provider,
            id,
            version: 0,
            opcode: 0,
            items: Vec::new(),
            payload: payload.to_vec(),
            names_a_time: false,
        }
    }

    /// What the kernel tells in the name of a thread (process and thread), now.
    pub fn of_kernel(class: Guid, opcode: u8, (pid, tid): (u32, u32), payload: &[u8]) -> Self {
        Self { flags: BITS_64 | PROCESSOR_INDEX | CLASSIC, tid, version: 2, opcode, ..Self::by(class, 0, pid, payload) }
    }

    pub fn say_the_other_width(&mut self) {
        self.flags ^= BITS_32 | BITS_64;
    }
}

/// What each session has to tell: kernel, heap, user.
pub type Lanes = [Vec<Told>; 3];

pub const KERNEL: usize = 0;
pub const HEAP: usize = 1;
pub const USER: usize = 2;

/// Flags of event headers (evntcons.h).
const BITS_32: u16 = 0x20;
const BITS_64: u16 = 0x40;
const CLASSIC: u16 = 0x100;
const PROCESSOR_INDEX: u16 = 0x200;

/// Classes by the group of a hook, as Microsoft's documentation has them.
const CLASSES: [(u16, Guid); 6] = [
    (0x02, class::PAGE_FAULT),
    (0x03, class::PROCESS),
    (0x05, class::THREAD),
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
            let bits = if raw.pointer == PointerSize::Four { BITS_32 } else { BITS_64 };
            let is_stack = matches!(raw.id, EventId::Hook(hook::STACK | hook::STACK_KEY_REF_KERNEL | hook::STACK_KEY_REF_USER));
            assert!(raw.kind != HeaderKind::PerfInfo || !raw.pid.is_known());
            let told = Told {
                processor: buffer.processor % processors,
                time: raw.time,
                flags: bits | PROCESSOR_INDEX | if is_classic { CLASSIC } else { 0 },
                pid: raw.pid.0,
                tid: raw.tid.0,
                provider,
                id,
                version: raw.version as u8,
                opcode,
                items: raw.extended.map(|item| (item.kind, item.data.to_vec())).collect(),
                payload: raw.payload.to_vec(),
                names_a_time: is_stack,
            };
            all.push((lane, told));
        }
    }
    // As ProcessTrace hands them over.
    all.sort_by_key(|(_, told)| told.time);
    split(all)
}

/// Stacks come with the session of the event that they belong to.
fn split(all: Vec<(usize, Told)>) -> Lanes {
    let heap_times: std::collections::HashSet<i64> =
        all.iter().filter(|(lane, _)| *lane == HEAP).map(|(_, told)| told.time).collect();
    let mut lanes = Lanes::default();
    for (lane, told) in all {
        let of_heap = told.names_a_time && heap_times.contains(&i64::from_le_bytes(told.payload[..8].try_into().unwrap()));
        lanes[if of_heap { HEAP } else { lane }].push(told);
    }
    lanes
}
