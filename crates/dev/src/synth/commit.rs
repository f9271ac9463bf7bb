//! VirtualAlloc traffic: regions are reserved, committed in overlapping pieces, decommitted in part and released.
//! Processes end and others start, sometimes with an id that was used before, and with memory that their parent
//! committed for them. Stacks come in two parts: the kernel's at once, the user's when the thread leaves the kernel,
//! sometimes on another processor. A system call has one user part for all its events, under the time of the first,
//! which may be an event that is not in the trace.
//!
//! Memory: a few dozen regions per process.

use std::io::{Seek, Write};

use super::cast::{self, Process};
use super::stacks::{Caller, StackSet, StackWriter};
use super::timeline::write_all;
use super::{Clock, Headers, Options, close};
use crate::etl::write::WriteError;
use crate::events::encode::RecordWriter;
use crate::events::{CommittedRegion, Event, FaultKind, PageFault, PageRange, mem};
use crate::random::Random;
use crate::units::{Pid, Tid};

const PAGE: u64 = 0x1000;
const GRANULE: u64 = 0x1_0000;
/// Maximum regions of a process.
const MAX_REGIONS: usize = 48;

#[derive(Clone, Copy)]
struct Region {
    base: u64,
    size: u64,
}

/// An event of a system call: its pages, its [`mem`] bits, and its kind.
type PageCall = (Region, u32, fn(PageRange) -> Event);

struct Traffic<'w, W> {
    w: &'w mut RecordWriter<W>,
    clock: &'w mut Clock,
    random: Random,
    stacks: StackWriter,
    processes: Vec<Process>,
    regions: Vec<Vec<Region>>,
    /// Address of the next region of each process.
    tops: Vec<u64>,
    processors: u64,
    threads: u32,
    /// Number of processes so far.
    born: u32,
    headers: Headers,
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
    let mut traffic = Traffic {
        w,
        clock,
        random,
        stacks: StackWriter::new(options, sets),
        regions: vec![Vec::new(); processes.len()],
        tops: vec![0x0001_0000_0000; processes.len()],
        processes,
        processors: options.processors.into(),
        threads: options.threads,
        born: options.processes,
        headers: Headers::any(options),
    };
    traffic.open()?;
    let mut left = options.events;
    while left > 0 {
        left = left.saturating_sub(traffic.step()?);
        if options.faults {
            traffic.touch()?;
        }
    }
    traffic.close()
}

impl<W: Write + Seek> Traffic<'_, W> {
    /// Writes the processes, which all existed before the trace, the first of them with committed memory.
    fn open(&mut self) -> Result<(), WriteError> {
        for (index, process) in self.processes.iter().enumerate() {
            let time = self.clock.after(1000);
            write_all(process.rundown(time, 0, false), self.w)?;
            if index > 0 {
                continue;
            }
            for n in 0..4 {
                let (base, size) = (0x7000_0000 + n * 0x100_0000, (n + 1) * GRANULE);
                let region = CommittedRegion { base, size, committed: size, owner: Pid(process.pid) };
                let caller = Caller { processor: 0, pid: process.pid, tid: process.threads[0].0 };
                self.w.put(0, &caller.record(time, Event::CommitRundown(region)), &[])?;
                self.regions[0].push(Region { base, size });
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), WriteError> {
        close(self.w, self.clock, &mut self.stacks, &self.processes)
    }

    fn caller(&mut self, process: usize) -> Caller {
        Caller::any(&self.processes[process], self.processors, &mut self.random)
    }

    /// Writes one action of a program; returns the number of its events.
    fn step(&mut self) -> Result<u64, WriteError> {
        let process = self.random.index(self.processes.len());
        let room = self.regions[process].len() < MAX_REGIONS;
        let any = !self.regions[process].is_empty();
        match self.random.below(1000) {
            0 if self.random.one_in(3) => self.replace(process),
            0..=249 if room => self.reserve(process, false),
            250..=399 if room => self.reserve(process, true),
            400..=699 if any => self.commit(process),
            700..=849 if any => self.decommit(process),
            850..=854 => self.free_unknown(process),
            _ if any => self.release(process),
            _ => self.reserve(process, true),
        }
    }

    fn reserve(&mut self, process: usize, commit: bool) -> Result<u64, WriteError> {
        let size = (1 + self.random.skewed(64)) * GRANULE;
        let base = self.tops[process];
        self.tops[process] = base + size + GRANULE;
        let region = Region { base, size };
        self.regions[process].push(region);
        if commit && self.random.one_in(3) {
            let alloc = |flags| (region, flags, Event::VirtualAlloc as _);
            return self.system_call(process, &[alloc(mem::RESERVE), alloc(mem::COMMIT)]);
        }
        let flags = mem::RESERVE | if commit { mem::COMMIT } else { 0 };
        self.put(process, region, flags, Event::VirtualAlloc)
    }

    /// A random range of pages in a random region, with no other alignment.
    fn piece(&mut self, process: usize) -> Region {
        let regions = &self.regions[process];
        let region = regions[self.random.index(regions.len())];
        let pages = region.size / PAGE;
        let from = self.random.below(pages);
        let count = 1 + self.random.skewed(pages - from);
        Region { base: region.base + from * PAGE, size: count * PAGE }
    }

    /// Commits pages, some of which may be committed already.
    fn commit(&mut self, process: usize) -> Result<u64, WriteError> {
        let piece = self.piece(process);
        self.put(process, piece, mem::COMMIT, Event::VirtualAlloc)
    }

    /// Decommits pages, some of which may not be committed.
    fn decommit(&mut self, process: usize) -> Result<u64, WriteError> {
        let piece = self.piece(process);
        self.put(process, piece, mem::DECOMMIT, Event::VirtualFree)
    }

    fn release(&mut self, process: usize) -> Result<u64, WriteError> {
        let index = self.random.index(self.regions[process].len());
        let region = self.regions[process].swap_remove(index);
        self.put(process, region, mem::RELEASE, Event::VirtualFree)
    }

    /// Releases a region from before the trace.
    fn free_unknown(&mut self, process: usize) -> Result<u64, WriteError> {
        let base = 0x5000_0000 + self.random.below(256) * GRANULE;
        self.put(process, Region { base, size: GRANULE }, mem::RELEASE, Event::VirtualFree)
    }

    fn put(&mut self, process: usize, region: Region, flags: u32, event: fn(PageRange) -> Event) -> Result<u64, WriteError> {
        self.system_call(process, &[(region, flags, event)])
    }

    /// Writes the events and stacks of a system call.
    fn system_call(&mut self, process: usize, events: &[PageCall]) -> Result<u64, WriteError> {
        let caller = self.caller(process);
        // A sample of the processor; only its stack is written.
        let sample = self.random.one_in(8).then(|| self.clock.after(1));
        if let Some(time) = sample {
            self.put_kernel(caller, time)?;
        }
        let mut first = sample;
        for &(Region { base, size }, flags, event) in events {
            let time = self.clock.after(1 + self.random.below(4000) as i64);
            let event = event(PageRange { base, size, owner: Pid(caller.pid), flags });
            let has_stack = matches!(event, Event::VirtualAlloc(_));
            // Without a thread in the header, only the time tells whose stack it is.
            self.w.style.header = self.headers.turn();
            let result = self.w.put(caller.processor, &caller.record(time, event), &[]);
            self.w.style.header = None;
            result?;
            if has_stack {
                self.put_kernel(caller, time)?;
                first.get_or_insert(time);
            }
        }
        if let Some(first) = first {
            // The thread may leave the kernel on another processor.
            let processor = if self.random.one_in(8) { self.random.below(self.processors) as u16 } else { caller.processor };
            self.clock.after(self.random.below(200) as i64);
            let stack = (process, self.stacks.choose(process, &mut self.random));
            self.stacks.put(self.w, self.clock, Caller { processor, ..caller }, first, stack)?;
        }
        Ok(events.len() as u64)
    }

    fn put_kernel(&mut self, caller: Caller, owner: i64) -> Result<(), WriteError> {
        let index = self.random.below(4);
        let time = self.clock.after(2);
        self.stacks.put_kernel(self.w, time, caller, owner, index)
    }

    /// Writes up to four page faults of a process in one of its regions, mostly first touches.
    fn touch(&mut self) -> Result<(), WriteError> {
        let process = self.random.index(self.processes.len());
        for _ in 0..self.random.below(5) {
            if self.regions[process].is_empty() {
                return Ok(());
            }
            let (caller, page) = (self.caller(process), self.piece(process).base);
            let time = self.clock.after(1 + self.random.below(2000) as i64);
            let kinds = if self.random.one_in(4) { &FaultKind::ALL[..] } else { &[FaultKind::DemandZero] };
            let address = page + self.random.below(PAGE);
            let fault = match kinds[self.random.index(kinds.len())] {
                FaultKind::Hard => PageFault::Hard { address, started: time - self.random.below(9000) as i64, bytes: 0x8000 },
                kind => PageFault::Soft { kind, address, code: 0x7FF6_0000_1000 + self.random.below(64) },
            };
            let mut record = caller.record(time, Event::Fault(fault));
            if fault.kind() != FaultKind::Hard && self.random.one_in(2) {
                (record.pid, record.tid) = (Pid::NONE, Tid::NONE); // only the stack names the process
            }
            self.w.style.header = self.headers.turn();
            let result = self.w.put(caller.processor, &record, &[]);
            self.w.style.header = None;
            result?;
            self.put_kernel(caller, time)?;
            let stack = (process, self.stacks.choose(process, &mut self.random));
            self.stacks.put(self.w, self.clock, caller, time, stack)?;
        }
        Ok(())
    }

    /// Ends a process and starts another in its place, every second time with the same id.
    fn replace(&mut self, process: usize) -> Result<u64, WriteError> {
        let time = self.clock.after(500);
        let old = self.processes[process].clone();
        write_all(old.end(time, 0, 5), self.w)?;
        self.clock.after(old.modules.len() as i64 * 5 + 500);
        self.regions[process].clear();
        self.tops[process] = 0x0001_0000_0000;
        self.born += 1;
        let pid = if self.born.is_multiple_of(2) { old.pid } else { 100_000 + 4 * self.born };
        self.processes[process] = Process { pid, ..cast::program(process as u32, pid, self.threads) };
        // The parent prepares the child's memory before the child is announced.
        let parent = Caller { processor: 0, pid: old.parent, tid: old.parent + 8 };
        let region = Region { base: 0x7FFE_0000, size: 2 * PAGE };
        let flags = mem::COMMIT | mem::RESERVE;
        let range = PageRange { base: region.base, size: region.size, owner: Pid(pid), flags };
        let time = self.clock.after(10);
        self.w.put(0, &parent.record(time, Event::VirtualAlloc(range)), &[])?;
        self.regions[process].push(region);
        let time = self.clock.after(50);
        write_all(self.processes[process].start(time, 0, Tid(parent.tid), 7), self.w)?;
        self.clock.after(100);
        Ok(1)
    }
}
