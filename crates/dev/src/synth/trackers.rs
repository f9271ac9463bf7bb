//! Custom heaps: named trackers open; their blocks are allocated, moved and freed with stacks inside the events; some
//! trackers close with blocks alive, one is never announced, and one free in a few hundred is of a block that nobody
//! allocated.
//!
//! Memory: 24 bytes per live block.

use std::io::{Seek, Write};

use super::cast::{self, Process};
use super::stacks::{Caller, StackSet, StackWriter};
use super::timeline::write_all;
use super::{Clock, Options, close};
use crate::etl::write::WriteError;
use crate::events::Event;
use crate::events::encode::RecordWriter;
use crate::random::Random;
use crate::units::{Layer, PointerSize};

const NAMES: [&str; 6] = ["PhysicsHeap", "TextureCache", "Scene graph", "Строки", "audio.ring", ""];
const LAYER: Layer = Layer::Tracker;

struct Tracker {
    handle: u64,
    name: &'static str,
    is_open: bool,
    top: u64,
    live: Vec<(u64, u64)>,
}

struct Traffic<'w, W> {
    w: &'w mut RecordWriter<W>,
    clock: &'w mut Clock,
    random: Random,
    stacks: StackWriter,
    processes: Vec<Process>,
    /// All trackers, those of one process side by side.
    trackers: Vec<Tracker>,
    each: usize,
    processors: u64,
    /// Maximum live blocks of each tracker.
    limit: usize,
    pointers: Vec<PointerSize>,
}

/// Writes the scenario.
pub(super) fn generate<W: Write + Seek>(
    options: &Options,
    mut random: Random,
    clock: &mut Clock,
    w: &mut RecordWriter<W>,
) -> Result<(), WriteError> {
    let processes = cast::programs(options);
    let sets = StackSet::of_processes(options, &processes, &mut random);
    let count = options.processes * options.heaps;
    let tracker = |n: u32| {
        // Handles are per process, so those of two processes may be equal.
        let number = u64::from(n % options.heaps);
        let handle = 0x01D0_4A20_0000 + number * 0x40;
        let name = NAMES[number as usize % NAMES.len()];
        Tracker { handle, name, is_open: false, top: 0x01D1_0000_0000 + number * 0x10_0000_0000, live: Vec::new() }
    };
    let mut traffic = Traffic {
        w,
        clock,
        random,
        stacks: StackWriter::new(options, sets),
        processes,
        trackers: (0..count).map(tracker).collect(),
        each: options.heaps as usize,
        processors: options.processors.into(),
        limit: (options.live / count).max(1) as usize,
        pointers: (0..options.processes).map(|n| options.pointer(n)).collect(),
    };
    traffic.open()?;
    for _ in 0..options.events {
        traffic.step()?;
    }
    traffic.close()
}

impl<W: Write + Seek> Traffic<'_, W> {
    fn open(&mut self) -> Result<(), WriteError> {
        for process in &self.processes {
            write_all(process.rundown(self.clock.after(1000), 0, false), self.w)?;
        }
        // The session began after the first tracker was opened: its name is never recorded.
        self.trackers[0].is_open = true;
        Ok(())
    }

    fn close(&mut self) -> Result<(), WriteError> {
        close(self.w, self.clock, &mut self.stacks, &self.processes)
    }

    fn step(&mut self) -> Result<(), WriteError> {
        let index = self.random.index(self.trackers.len());
        let tracker = &self.trackers[index];
        let (any, full) = (!tracker.live.is_empty(), tracker.live.len() >= self.limit);
        match self.random.below(1000) {
            _ if !tracker.is_open => self.open_tracker(index),
            0 if index > 0 && self.random.one_in(4) => self.close_tracker(index),
            0..=59 if any => self.resize(index),
            60..=63 => self.free(index, None),
            64..=529 if !full => self.allocate(index),
            _ if any => {
                let victim = self.random.index(self.trackers[index].live.len());
                self.free(index, Some(victim))
            }
            _ => self.allocate(index),
        }
    }

    fn put(&mut self, index: usize, event: Event) -> Result<(), WriteError> {
        let process_index = index / self.each;
        let caller = Caller::any(&self.processes[process_index], self.processors, &mut self.random);
        let time = self.clock.after(1 + self.random.below(400) as i64);
        let record = caller.record(time, event);
        let stack = (process_index, self.stacks.choose(process_index, &mut self.random));
        self.stacks.put_inline(self.w, self.clock, caller.processor, &record, stack, self.pointers[process_index])
    }

    fn open_tracker(&mut self, index: usize) -> Result<(), WriteError> {
        let Tracker { handle: heap, name, ref mut is_open, .. } = self.trackers[index];
        *is_open = true;
        let name = (!name.is_empty()).then(|| name.into());
        self.put(index, Event::HeapOpen { layer: LAYER, heap, name })
    }

    fn close_tracker(&mut self, index: usize) -> Result<(), WriteError> {
        let tracker = &mut self.trackers[index];
        tracker.is_open = false;
        tracker.live.clear();
        let name = (!tracker.name.is_empty()).then(|| tracker.name.into());
        let heap = tracker.handle;
        self.put(index, Event::HeapClose { layer: LAYER, heap, name })
    }

    fn size(&mut self) -> u64 {
        16 + self.random.skewed(256) * self.random.below(256)
    }

    fn place(&mut self, index: usize, size: u64) -> u64 {
        let tracker = &mut self.trackers[index];
        let address = tracker.top;
        tracker.top += size.next_multiple_of(16);
        address
    }

    fn allocate(&mut self, index: usize) -> Result<(), WriteError> {
        let size = self.size();
        let address = self.place(index, size);
        self.trackers[index].live.push((address, size));
        self.put(index, Event::Alloc { layer: LAYER, heap: self.trackers[index].handle, address, size })
    }

    /// Frees a live block, or without one a block that nobody allocated.
    fn free(&mut self, index: usize, victim: Option<usize>) -> Result<(), WriteError> {
        let tracker = &mut self.trackers[index];
        let (address, _) = victim.map_or((0xDEAD_0000, 0), |victim| tracker.live.swap_remove(victim));
        let heap = tracker.handle;
        self.put(index, Event::Free { layer: LAYER, heap, address })
    }

    fn resize(&mut self, index: usize) -> Result<(), WriteError> {
        let victim = self.random.index(self.trackers[index].live.len());
        let (old, old_size) = self.trackers[index].live[victim];
        let size = self.size();
        let stays = size <= old_size;
        let new = if stays { old } else { self.place(index, size) };
        self.trackers[index].live[victim] = (new, size);
        self.put(index, Event::Realloc { layer: LAYER, heap: self.trackers[index].handle, old, new, size })
    }
}
