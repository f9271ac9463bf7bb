//! A trace taken apart: its events as ETW sessions would deliver them, by lane.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use highwater::capture::{BUFFER_SIZE, Images, Lane, LaneWriter, Recording, Session};
use highwater::etl::write::{Descriptor, NewEvent};
use highwater::etl::{EventId, Extended, ExtendedItem, Guid, HeaderKind, ReadBuffer, TraceFile};
use highwater::events::{Event, Merge, class, hook, tracker};
use highwater::pe;
use highwater::problem::Problems;
use highwater::units::{Pid, PointerSize, Tid};

/// An event with memory of its own.
#[derive(Clone, Debug)]
pub struct Delivered {
    pub lane: Lane,
    pub processor: u16,
    pub time: i64,
    kind: HeaderKind,
    pointer: PointerSize,
    pid: Pid,
    tid: Tid,
    pub id: EventId,
    version: u16,
    descriptor: Descriptor,
    items: Vec<(u16, Vec<u8>)>,
    pub payload: Vec<u8>,
}

impl Delivered {
    /// Gives it to a lane as a consumer does.
    pub fn give(&self, writer: &mut LaneWriter) {
        let items: Vec<ExtendedItem<'_>> = self.items.iter().map(|(kind, data)| ExtendedItem { kind: *kind, data }).collect();
        let Self { processor, time, kind, pointer, pid, tid, id, version, descriptor, .. } = *self;
        let payload = &self.payload;
        let event = NewEvent { processor, time, kind, pointer, pid, tid, id, version, descriptor, extended: &items, payload };
        writer.take(&event).unwrap();
    }

    /// Whether it tells what others mean.
    pub fn names_something(&self) -> bool {
        match self.id {
            EventId::Provider { provider, id } => provider == class::CUSTOM_HEAP && [tracker::OPEN, tracker::CLOSE].contains(&id),
            _ => match hook_of(self.id) {
                hook::HEAP_CREATE | hook::HEAP_DESTROY | hook::GROUP_MASKS | hook::THREAD_SET_NAME => true,
                hook => matches!(hook >> 8, 0x03 | 0x05 | 0x14),
            },
        }
    }
}

/// What a file says, and what the machine that recorded it would say of its images.
pub struct Apart {
    pub session: Session,
    /// By time; each processor's in its order.
    pub events: Vec<Delivered>,
    pub machine: Machine,
}

/// Images and volumes of a trace.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    pub images: HashMap<String, pe::Image>,
    pub volumes: Vec<(String, String)>,
    /// How often it was asked for each path.
    pub asked: HashMap<String, u32>,
}

impl Images for Machine {
    fn identity(&mut self, nt_path: &str) -> Option<pe::Image> {
        *self.asked.entry(nt_path.to_owned()).or_default() += 1;
        self.images.get(nt_path).cloned()
    }

    fn volumes(&mut self) -> Vec<(String, String)> {
        self.volumes.clone()
    }
}

const SYSTEM_CONFIG_EX_VOLUME: u8 = 0x23;

/// Takes a file apart.
pub fn take_apart(path: &Path) -> Apart {
    let file = TraceFile::open(path).unwrap();
    let header = &file.header;
    let session = Session {
        frequency: header.frequency,
        start_ticks: header.start_ticks,
        start_time: header.start_time,
        boot_time: header.boot_time,
        processors: header.processors,
        os: header.os,
        buffer_size: BUFFER_SIZE,
        pointer_size: header.pointer_size as u8,
    };
    let mut events = Vec::new();
    let (mut scratch, mut problems) = (ReadBuffer::default(), Problems::default());
    let mut buffers: Vec<_> = file.buffers.iter().collect();
    buffers.sort_by_key(|buffer| (buffer.processor, buffer.order()));
    for buffer in buffers {
        file.read_buffer(buffer, &mut scratch, &mut problems);
        let mut of_buffer = scratch.events();
        while let Some(raw) = of_buffer.next() {
            let injected = match raw.id {
                EventId::Hook(0) => true,
                EventId::Class { class: class::IMAGE_ID, .. } => true,
                EventId::Class { class: class::SYSTEM_CONFIG_EX, opcode } => opcode == SYSTEM_CONFIG_EX_VOLUME,
                _ => false,
            };
            if injected {
                continue;
            }
            let bytes = of_buffer.bytes_of(&raw);
            events.push(Delivered {
                lane: Lane::Pages,
                processor: buffer.processor,
                time: raw.time,
                kind: raw.kind,
                pointer: raw.pointer,
                pid: raw.pid,
                tid: raw.tid,
                id: raw.id,
                version: raw.version,
                descriptor: descriptor(raw.kind, bytes),
                items: items(raw.extended),
                payload: raw.payload.to_vec(),
            });
        }
    }
    events.sort_by_key(|event| event.time);
    choose_lanes(&mut events);
    Apart { session, events, machine: machine(file) }
}

fn items(extended: Extended<'_>) -> Vec<(u16, Vec<u8>)> {
    extended.map(|item| (item.kind, item.data.to_vec())).collect()
}

fn descriptor(kind: HeaderKind, bytes: &[u8]) -> Descriptor {
    match kind {
        HeaderKind::Event => Descriptor {
            channel: bytes[0x2B],
            level: bytes[0x2C],
            opcode: bytes[0x2D],
            task: u16::from_le_bytes([bytes[0x2E], bytes[0x2F]]),
            keyword: u64::from_le_bytes(bytes[0x30..0x38].try_into().unwrap()),
        },
        HeaderKind::Full | HeaderKind::Instance => Descriptor { level: bytes[5], ..Descriptor::default() },
        _ => Descriptor::default(),
    }
}

/// Group and type of a kernel event; nothing of others.
fn hook_of(id: EventId) -> u16 {
    match id {
        EventId::Hook(hook) => hook,
        EventId::Class { class: class::HEAP, opcode } => 0x1000 | u16::from(opcode),
        EventId::Class { class: class::STACK_WALK, opcode } => 0x1800 | u16::from(opcode),
        _ => 0,
    }
}

/// Heaps and trackers have lanes of their own; stacks go where their events do, and
/// what keys mean goes where the keys are.
fn choose_lanes(events: &mut [Delivered]) {
    let mut owners = HashMap::new();
    for event in events.iter_mut() {
        let hook = hook_of(event.id);
        event.lane = match event.id {
            EventId::Provider { .. } => Lane::User,
            _ if hook >> 8 == 0x10 => Lane::Heap,
            _ => Lane::Pages,
        };
        if hook >> 8 != 0x18 {
            owners.entry((event.time, event.tid)).or_insert(event.lane);
        }
    }
    let word = |payload: &[u8], at: usize| payload.get(at..at + 4).map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap()));
    let mut keys = HashMap::new();
    let stack =
        |event: &Delivered| matches!(hook_of(event.id), hook::STACK | hook::STACK_KEY_REF_KERNEL | hook::STACK_KEY_REF_USER);
    for event in events.iter_mut().filter(|event| stack(event)) {
        let owner = i64::from_le_bytes(event.payload[..8].try_into().unwrap());
        event.lane = owners.get(&(owner, Tid(word(&event.payload, 12)))).copied().unwrap_or(Lane::Pages);
        keys.insert(word(&event.payload, 16), event.lane);
    }
    let of_items = events.iter().find(|event| event.items.iter().any(|(kind, _)| [17, 18].contains(kind))).map(|e| e.lane);
    for event in events.iter_mut() {
        if matches!(hook_of(event.id), hook::STACK_KEY_CREATE | hook::STACK_KEY_DELETE | hook::STACK_KEY_RUNDOWN) {
            event.lane = of_items.or(keys.get(&word(&event.payload, 0)).copied()).unwrap_or(Lane::Pages);
        }
    }
}

fn machine(file: TraceFile) -> Machine {
    let mut machine = Machine::default();
    let mut ids: HashMap<(Pid, u64), (Guid, u32, String)> = HashMap::new();
    let mut stamps: HashMap<(Pid, u64), u32> = HashMap::new();
    let mut images = Vec::new();
    let files = [file];
    let flow = Merge::of_records(&files).run::<()>(
        |item, _| {
            let record = item.record();
            match &record.event {
                Event::ImageId(id) => {
                    ids.insert((record.pid, id.base), (id.guid, id.age, id.pdb.clone()));
                }
                Event::ImageFile(file) => {
                    stamps.insert((record.pid, file.base), file.time_stamp);
                }
                Event::Image(_, info) => images.push((record.pid, (**info).clone())),
                Event::Volume(paths) => machine.volumes.push((**paths).clone()),
                _ => {}
            }
            std::ops::ControlFlow::Continue(())
        },
        |_| std::ops::ControlFlow::Continue(i64::MAX),
    );
    assert!(flow.is_continue());
    for (pid, info) in images {
        let pdb = ids.get(&(pid, info.base)).cloned().map(|(guid, age, path)| pe::CodeView { guid, age, path });
        let image = machine.images.entry(info.path).or_insert(pe::Image {
            build: pe::Build { time_stamp: 0, size: info.size, checksum: 0 },
            pdb,
            bytes: 0,
            has_dwarf: false,
        });
        let merged = stamps.get(&(pid, info.base)).copied().unwrap_or(0);
        image.build.time_stamp = image.build.time_stamp.max(info.time_stamp).max(merged);
    }
    machine
}

/// Gives all events to a recording, those of each lane so many ticks late; the lanes'
/// order among each other is then another. `tick` is called after each.
pub fn deliver(recording: &Recording, events: &[Delivered], delays: [i64; 4], mut tick: impl FnMut(&Recording, i64)) {
    let mut writers = Lane::ALL.map(|lane| recording.lane(lane));
    let mut order: Vec<&Delivered> = events.iter().collect();
    order.sort_by_key(|event| event.time + delays[event.lane as usize]);
    for event in order {
        event.give(&mut writers[event.lane as usize]);
        tick(recording, event.time);
    }
}

/// A moment at which everything is due.
pub fn later() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}
