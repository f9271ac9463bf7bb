//! Heap traffic: blocks of realistic sizes live and die on several heaps, addresses are reused at once, some blocks
//! grow in place and some move.
//!
//! A moving realloc is recorded as Windows records it: Alloc of the new block, Free of the old, then the ReAlloc
//! record as a summary. Now and then a block is freed that was allocated before the trace, and a small heap is
//! created and destroyed with its blocks still alive.
//!
//! Cost: about as many random numbers and cache misses as events. Memory: 16 bytes per live block, and the addresses
//! to reuse.

use std::io::{Seek, Write};

use super::cast::{self, Process};
use super::counters::{self, HeapSizes};
use super::gpu::{self, GpuSizes};
use super::pix::{self, PixProcess};
use super::stacks::{Caller, StackSet, StackWriter};
use super::timeline::{record, write_all};
use super::{Clock, Headers, Options, close};
use crate::etl::write::WriteError;
use crate::events::Event;
use crate::events::encode::RecordWriter;
use crate::random::Random;
use crate::units::{Layer, PointerSize};

/// Ranges of sizes: how often, from, to.
const SIZES: [(u32, u64, u64); 6] =
    [(450, 8, 64), (300, 65, 256), (150, 257, 1024), (80, 1025, 4096), (19, 4097, 65_536), (1, 65_537, 1 << 20)];

/// The largest block of a size class.
const LARGEST: u64 = 1 << 20;

/// Number of size classes; blocks of a class share their addresses.
const CLASSES: usize = 64 + 32 + 6;

/// The size class of a size: its number, and the smallest and largest size in it. Each of its blocks occupies as much
/// as the largest.
fn class_of(size: u64) -> (usize, u64, u64) {
    match size.max(1) {
        size @ 1..=1024 => {
            let room = size.next_multiple_of(16);
            (room as usize / 16 - 1, room - 15, room)
        }
        size @ 1025..=16_384 => {
            let room = size.next_multiple_of(512);
            (64 + room as usize / 512 - 1, room - 511, room)
        }
        size => {
            let room = size.next_power_of_two().min(LARGEST);
            (96 + room.trailing_zeros() as usize - 15, room / 2 + 1, room)
        }
    }
}

/// A heap that hands out addresses, those that were freed last first.
pub(super) struct Addresses {
    handle: u64,
    /// Address of the next new block.
    top: u64,
    free: Vec<Vec<u64>>,
}

impl Addresses {
    pub(super) fn new(number: u64, pointer: PointerSize) -> Self {
        let handle = match pointer {
            // Between the images; a heap that outgrows its range runs into the next one's.
            PointerSize::Four => 0x1100_0000 + number * 0x0180_0000,
            PointerSize::Eight => 0x0200_0000_0000 + number * 0x10_0000_0000,
        };
        Self { handle, top: handle + 0x740, free: vec![Vec::new(); CLASSES] }
    }

    pub(super) fn handle(&self) -> u64 {
        self.handle
    }

    /// The event of its creation.
    pub(super) fn opened(&self) -> Event {
        Event::HeapOpen { layer: Layer::Heap, heap: self.handle, name: None }
    }

    pub(super) fn take(&mut self, size: u64) -> u64 {
        if size > LARGEST {
            // Addresses of larger blocks are not used again.
            let address = self.top;
            self.top += size.next_multiple_of(0x1_0000);
            return address;
        }
        let (class, _, room) = class_of(size);
        if let Some(address) = self.free[class].pop() {
            return address;
        }
        let address = self.top;
        self.top += room;
        address
    }

    pub(super) fn give_back(&mut self, address: u64, size: u64) {
        if size <= LARGEST {
            self.free[class_of(size).0].push(address);
        }
    }
}

#[derive(Clone, Copy)]
struct Block {
    address: u64,
    size: u32,
    /// Index in `Traffic::heaps`.
    heap: u32,
}

struct Traffic<'w, W> {
    w: &'w mut RecordWriter<W>,
    clock: &'w mut Clock,
    random: Random,
    stacks: StackWriter,
    /// Whether frees have stacks, too.
    free_stacks: bool,
    processes: Vec<Process>,
    pointers: Vec<PointerSize>,
    /// All heaps, those of one process side by side.
    heaps: Vec<Addresses>,
    heaps_each: usize,
    /// The processor on which each thread runs now.
    processors: Vec<u16>,
    threads_each: usize,
    processor_count: u64,
    live: Vec<Block>,
    headers: Headers,
    /// Sizes of all heaps, as their last events have them; only with counters.
    sizes: Option<Vec<HeapSizes>>,
    /// GPU memory of all processes, as its last events have it; only if it is wanted.
    gpu: Option<Vec<GpuSizes>>,
    /// PIX's blocks of all processes, if they are wanted.
    pix: Option<Vec<PixProcess>>,
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
    let pointers: Vec<_> = (0..options.processes).map(|n| options.pointer(n)).collect();
    let heaps = pointers.iter().flat_map(|pointer| (0..options.heaps).map(|n| Addresses::new(n.into(), *pointer))).collect();
    let processor_count = u64::from(options.processors);
    let sizes = options.counters.then(|| vec![HeapSizes::default(); (options.processes * options.heaps) as usize]);
    let gpu = options.gpu.then(|| vec![GpuSizes::default(); options.processes as usize]);
    let pix = options.pix.then(|| vec![PixProcess::default(); options.processes as usize]);
    let mut traffic = Traffic {
        sizes,
        gpu,
        pix,
        w,
        clock,
        stacks: StackWriter::new(options, sets),
        free_stacks: options.free_stacks,
        pointers,
        heaps,
        heaps_each: options.heaps as usize,
        processors: (0..options.processes * options.threads).map(|_| random.below(processor_count) as u16).collect(),
        threads_each: options.threads as usize,
        processor_count,
        live: Vec::with_capacity(options.live as usize),
        processes,
        random,
        headers: Headers::with_thread(options),
    };
    traffic.open()?;
    let mut left = options.events;
    while left > 0 {
        let before = options.events - left;
        left = left.saturating_sub(traffic.step(options.live as usize, left)?);
        let done = options.events - left;
        // How many of `n` evenly spread events are due in this step.
        let due = |n: u64| done * n / options.events - before * n / options.events;
        traffic.tell_sizes()?;
        if due(counters::SAMPLES) > 0 {
            traffic.sample()?;
        }
        if due(gpu::CHANGES) > 0 {
            traffic.change_gpu()?;
        }
        if due(pix::BLOCKS.min(options.events / 8)) > 0 {
            traffic.mark_scopes()?;
        }
        for _ in 0..due(options.samples) {
            traffic.take_sample()?;
        }
        if due(u64::from(options.lost_buffers) + 1) > 0 && left > 0 {
            traffic.lose_buffer()?;
        }
    }
    traffic.close()
}

impl<W: Write + Seek> Traffic<'_, W> {
    /// Writes the processes: the first was there before; the others start now, and their heaps are created.
    fn open(&mut self) -> Result<(), WriteError> {
        for index in 0..self.processes.len() {
            let time = self.clock.after(1000);
            let process = &self.processes[index];
            if index == 0 {
                write_all(process.rundown(time, 0, false), self.w)?;
                continue;
            }
            write_all(process.start(time, 0, crate::units::Tid(3996), 7), self.w)?;
            self.clock.after(100);
            for heap in 0..self.heaps_each {
                let caller = self.caller(index);
                let heap = self.heaps[index * self.heaps_each + heap].opened();
                self.put(index, caller, heap)?;
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), WriteError> {
        // The last process ends, if it is not the only one.
        if self.processes.len() > 1
            && let Some(last) = self.processes.pop()
        {
            let time = self.clock.after(100);
            write_all(last.end(time, 0, 5), self.w)?;
            self.clock.after(100);
        }
        close(self.w, self.clock, &mut self.stacks, &self.processes)
    }

    /// Writes the counters of heaps that have outgrown their ranges.
    fn tell_sizes(&mut self) -> Result<(), WriteError> {
        let Some(mut sizes) = self.sizes.take() else { return Ok(()) };
        for (index, sizes) in sizes.iter_mut().enumerate() {
            let heap = &self.heaps[index];
            let told = sizes.grow(heap.handle, heap.top - heap.handle);
            let process = index / self.heaps_each;
            let owner = &self.processes[process];
            self.w.style.pointer = self.pointers[process];
            for event in told {
                let record = record(self.clock.after(1), owner.pid, owner.threads[0].0, Event::Counter(Box::new(event)));
                self.w.put(0, &record, &[])?;
            }
            self.w.style.pointer = PointerSize::Eight;
        }
        self.sizes = Some(sizes);
        Ok(())
    }

    /// Writes the changes of GPU memory, if it is wanted.
    fn change_gpu(&mut self) -> Result<(), WriteError> {
        let Some(mut all) = self.gpu.take() else { return Ok(()) };
        let owners = self.processes.iter().zip(self.heaps.chunks(self.heaps_each));
        for ((owner, heaps), sizes) in owners.zip(&mut all) {
            let used = heaps.iter().map(|heap| heap.top - heap.handle).sum();
            for event in sizes.change(used) {
                let record = record(self.clock.after(1), owner.pid, owner.threads[0].0, event);
                self.w.put(0, &record, &[])?;
            }
        }
        self.gpu = Some(all);
        Ok(())
    }

    /// Writes PIX's events, if they are wanted.
    fn mark_scopes(&mut self) -> Result<(), WriteError> {
        let Some(mut all) = self.pix.take() else { return Ok(()) };
        let owners = self.processes.iter().zip(self.heaps.chunks(self.heaps_each));
        for ((owner, heaps), pix) in owners.zip(&mut all) {
            let used = heaps.iter().map(|heap| heap.top - heap.handle).sum();
            let now = self.clock.after(1);
            for event in pix.change(owner.threads.iter().copied(), now, used) {
                let record = record(self.clock.after(1), owner.pid, owner.threads[0].0, event);
                self.w.put(0, &record, &[])?;
            }
        }
        self.pix = Some(all);
        Ok(())
    }

    /// Writes samples of the system's memory, if there are counters.
    fn sample(&mut self) -> Result<(), WriteError> {
        let Some(sizes) = &self.sizes else { return Ok(()) };
        let committed = |heaps: &[HeapSizes]| heaps.iter().map(|heap| heap.committed).sum();
        let all: Vec<(u32, u64)> =
            self.processes.iter().zip(sizes.chunks(self.heaps_each)).map(|(p, heaps)| (p.pid, committed(heaps))).collect();
        for event in counters::sample(&all) {
            let time = self.clock.after(1);
            self.w.put(0, &record(time, 4, 8, event), &[])?;
        }
        Ok(())
    }

    /// Writes a processor sample and its stack.
    fn take_sample(&mut self) -> Result<(), WriteError> {
        let process = self.random.index(self.processes.len());
        let caller = self.caller(process);
        let index = self.stacks.choose(process, &mut self.random);
        let address = self.stacks.innermost(process, index);
        let owner = self.put(process, caller, Event::Sample { address, count: 1 })?;
        self.stacks.put(self.w, self.clock, caller, owner, (process, index))
    }

    /// Loses what the first processor with anything to lose has written lately.
    fn lose_buffer(&mut self) -> Result<(), WriteError> {
        for processor in 0..self.processor_count as u16 {
            if self.w.writer().drop_buffer(processor)? {
                break;
            }
        }
        Ok(())
    }

    /// A thread of a process, on the processor where it runs now.
    fn caller(&mut self, process: usize) -> Caller {
        let thread = self.random.index(self.threads_each);
        let processor = &mut self.processors[process * self.threads_each + thread];
        if self.random.one_in(64) {
            *processor = self.random.below(self.processor_count) as u16;
        }
        let owner = &self.processes[process];
        Caller { processor: *processor, pid: owner.pid, tid: owner.threads[thread].0 }
    }

    /// Writes an event some ticks after the last one; returns its time.
    fn put(&mut self, process: usize, caller: Caller, event: Event) -> Result<i64, WriteError> {
        let time = self.clock.after(1 + self.random.below(16) as i64);
        self.w.style.pointer = self.pointers[process];
        self.w.style.header = self.headers.turn();
        let result = self.w.put(caller.processor, &caller.record(time, event), &[]);
        // The kernel writes the stacks, with its own pointers.
        self.w.style.pointer = PointerSize::Eight;
        self.w.style.header = None;
        result.map(|()| time)
    }

    fn put_with_stack(&mut self, process: usize, caller: Caller, event: Event) -> Result<(), WriteError> {
        let owner = self.put(process, caller, event)?;
        let stack = (process, self.stacks.choose(process, &mut self.random));
        self.stacks.put(self.w, self.clock, caller, owner, stack)
    }

    /// Writes one action of a program; returns the number of its events.
    fn step(&mut self, limit: usize, left: u64) -> Result<u64, WriteError> {
        let full = self.live.len() >= limit;
        match self.random.below(1000) {
            0..=39 if !self.live.is_empty() => self.resize(),
            40..=41 => self.free_unknown(),
            42 if left > 100 && self.random.one_in(100) => self.scratch_heap(),
            43..=559 if !full => self.allocate(),
            _ if self.live.is_empty() => self.allocate(),
            _ => self.free(),
        }
    }

    fn size(&mut self) -> u64 {
        let weights = SIZES.map(|(weight, _, _)| weight);
        let (_, from, to) = SIZES[self.random.weighted(&weights)];
        self.random.between(from, to)
    }

    fn allocate(&mut self) -> Result<u64, WriteError> {
        let index = self.random.index(self.heaps.len());
        let process = index / self.heaps_each;
        let size = self.size();
        let caller = self.caller(process);
        let heap = &mut self.heaps[index];
        let (handle, address) = (heap.handle, heap.take(size));
        self.live.push(Block { address, size: size as u32, heap: index as u32 });
        self.put_with_stack(process, caller, Event::Alloc { layer: Layer::Heap, heap: handle, address, size })?;
        Ok(1)
    }

    /// Picks a live block, most often a young one.
    fn victim(&mut self) -> usize {
        let len = self.live.len();
        if self.random.one_in(4) { self.random.index(len) } else { len - 1 - self.random.index(len.min(64)) }
    }

    fn free(&mut self) -> Result<u64, WriteError> {
        let victim = self.victim();
        let block = self.live.swap_remove(victim);
        let index = block.heap as usize;
        let process = index / self.heaps_each;
        let caller = self.caller(process);
        let heap = &mut self.heaps[index];
        heap.give_back(block.address, block.size.into());
        let event = Event::Free { layer: Layer::Heap, heap: heap.handle, address: block.address };
        match self.free_stacks {
            true => self.put_with_stack(process, caller, event)?,
            false => drop(self.put(process, caller, event)?),
        }
        Ok(1)
    }

    fn resize(&mut self) -> Result<u64, WriteError> {
        let victim = self.victim();
        let block = self.live[victim];
        let index = block.heap as usize;
        let process = index / self.heaps_each;
        let caller = self.caller(process);
        let layer = Layer::Heap;
        let old = block.address;
        if self.random.one_in(2) {
            // A block that stays in its size class keeps its address.
            let (_, smallest, largest) = class_of(block.size.into());
            let size = self.random.between(smallest, largest);
            let heap = self.heaps[index].handle;
            self.live[victim].size = size as u32;
            self.put_with_stack(process, caller, Event::Realloc { layer, heap, old, new: old, size })?;
            return Ok(1);
        }
        let size = (u64::from(block.size) * 2).clamp(64, 1 << 20);
        let heap = &mut self.heaps[index];
        let new = heap.take(size);
        heap.give_back(old, block.size.into());
        let heap = heap.handle;
        self.live[victim] = Block { address: new, size: size as u32, ..block };
        self.put_with_stack(process, caller, Event::Alloc { layer, heap, address: new, size })?;
        self.put(process, caller, Event::Free { layer, heap, address: old })?;
        self.clock.after(20);
        self.put_with_stack(process, caller, Event::Realloc { layer, heap, old, new, size })?;
        Ok(3)
    }

    /// Frees a block from before the trace.
    fn free_unknown(&mut self) -> Result<u64, WriteError> {
        let process = self.random.index(self.processes.len());
        let caller = self.caller(process);
        let heap = self.heaps[process * self.heaps_each].handle;
        let address = heap - 0x10_0000 + self.random.below(0x1000) * 0x100;
        self.put(process, caller, Event::Free { layer: Layer::Heap, heap, address })?;
        Ok(1)
    }

    /// Creates a heap for one task, fills it, and destroys it as a whole.
    fn scratch_heap(&mut self) -> Result<u64, WriteError> {
        const HANDLE: u64 = 0x0190_0000; // the same each time
        let process = self.random.index(self.processes.len());
        let caller = self.caller(process);
        let (layer, heap) = (Layer::Heap, HANDLE);
        self.put(process, caller, Event::HeapOpen { layer, heap, name: None })?;
        let count = self.random.between(1, 50);
        for n in 0..count {
            let size = self.random.between(16, 512);
            self.put_with_stack(process, caller, Event::Alloc { layer, heap, address: heap + 0x740 + n * 512, size })?;
        }
        self.put(process, caller, Event::HeapClose { layer, heap, name: None })?;
        Ok(count + 2)
    }
}
