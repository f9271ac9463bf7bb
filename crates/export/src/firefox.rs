//! The Firefox Profiler's processed profile, written with samply's library. A process has one thread: its *native
//! allocations* are the values of sites, at the moments at which they came about, and a track shows the outstanding
//! bytes. Frames are named as in reports.
//!
//! * *outstanding*: what is alive at the end, at its allocation. *allocated*: what was allocated, at its allocation.
//! * *impacting*: what was allocated and stayed, at its allocation; what was there and was freed, negative, at its free.
//! * *count*: one byte per row, at its birth. *peak*: the largest size of each stack, at the start.
//!
//! What was there before the interval is placed at its start.
//!
//! Processor samples are the samples of the threads ([`samples`]), marks are their markers ([`markers`]); with the
//! value *samples* there is no memory.
//!
//! Memory: the profile, which has an entry for each site and stretch of time in which it has rows, each frame and
//! stack once, and at most [`samples::MOST`] samples.

mod lines;
mod markers;
mod samples;

use std::collections::BTreeMap;
use std::io::Write;

use fxprof_processed_profile::{
    CategoryHandle, Frame, FrameFlags, FrameInfo, Profile, ReferenceTimestamp, SamplingInterval, StackHandle, ThreadHandle,
    Timestamp,
};

use super::stacks::{self, ProcessNames, StackMet, clamped, no_frames, weight};
use super::{ExportError, Exported, Value};
use crate::model::ProcessId;
use crate::query::{LifetimeClass, RowSeen, heap_series, site_moments};
use crate::tables::KeyedMap;
use crate::units::Ticks;
use crate::utc::unix_nanos;

/// Writes a profile.
pub fn firefox(exported: &Exported<'_>, value: Value, out: &mut dyn Write) -> Result<(), ExportError> {
    exported.only_layer(value)?;
    let mut drawn = Drawn::new(exported);
    if value != Value::Samples {
        stacks::each(exported, value, |stack| {
            let (made, node) = (drawn.stack(&stack), stack.stack.0);
            if let Some(made) = made {
                drawn.stacks.insert((stack.process, node), (made, weight(&stack.numbers, value)));
            }
            Ok(())
        })?;
        match value {
            Value::Peak => drawn.peaks(),
            _ => drawn.moments(value)?,
        }
        drawn.counters()?;
    }
    drawn.samples()?;
    drawn.markers();
    drawn.lines.write(&drawn.profile, out)?;
    Ok(out.write_all(b"\n")?)
}

/// A profile that is being built.
struct Drawn<'a> {
    exported: &'a Exported<'a>,
    profile: Profile,
    threads: KeyedMap<ProcessId, ThreadOf>,
    names: ProcessNames<'a>,
    lines: lines::Lines,
    /// Stacks and their weights, by process and node of the trie, which identify a stack.
    stacks: KeyedMap<(ProcessId, u32), (StackHandle, i128)>,
    /// Number of entries; an entry has its number where the format wants the address of a block.
    entries: u64,
}

#[derive(Clone, Copy)]
struct ThreadOf {
    process: fxprof_processed_profile::ProcessHandle,
    thread: ThreadHandle,
}

impl<'a> Drawn<'a> {
    fn new(exported: &'a Exported<'a>) -> Self {
        let (trace, from) = (exported.trace(), exported.interval().from);
        let start = unix_nanos(trace.clock.start_time).unwrap_or(0) as f64 / 1e6 + trace.clock.seconds(from) * 1e3;
        let reference = ReferenceTimestamp::from_millis_since_unix_epoch(start.max(0.0));
        let every = trace.activity.samples.interval / trace.clock.frequency.max(1) as f64;
        let every =
            if every > 0.0 { SamplingInterval::from_nanos((every * 1e9) as u64) } else { SamplingInterval::from_millis(1) };
        let mut profile = Profile::new("highwater", reference, every);
        profile.set_symbolicated(true);
        let (threads, stacks, names) = (KeyedMap::default(), KeyedMap::default(), ProcessNames::new(trace));
        Self { exported, profile, threads, names, lines: lines::Lines::default(), stacks, entries: 0 }
    }

    /// Converts a time to the time of the profile.
    fn time(&self, at: Ticks) -> Timestamp {
        let trace = self.exported.trace();
        let since = i128::from(at.0) - i128::from(self.exported.interval().from.0);
        let nanos = since.max(0) * 1_000_000_000 / i128::from(trace.clock.frequency.max(1));
        Timestamp::from_nanos_since_reference(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn thread(&mut self, id: ProcessId) -> ThreadOf {
        if let Some(&known) = self.threads.get(&id) {
            return known;
        }
        let pid = self.exported.trace().process(id).pid.0;
        let start = self.time(self.exported.interval().from);
        let name = self.names.of(id);
        let process = self.profile.add_process(&name, pid, start);
        let thread = self.profile.add_thread(process, pid, start, true);
        self.profile.set_thread_name(thread, &name);
        self.profile.add_initial_visible_thread(thread);
        if self.threads.is_empty() {
            self.profile.add_initial_selected_thread(thread);
        }
        let made = ThreadOf { process, thread };
        self.threads.insert(id, made);
        made
    }

    /// Adds a stack to the profile.
    fn stack(&mut self, stack: &StackMet<'_>) -> Option<StackHandle> {
        let ThreadOf { thread, .. } = self.thread(stack.process);
        let names = stack.frames.iter().map(|frame| {
            let (file, line) = frame.source();
            self.lines.label(frame.name().to_string(), file, line)
        });
        let names: Vec<String> = if stack.frames.is_empty() { vec![no_frames(stack).to_owned()] } else { names.collect() };
        let mut made: Option<StackHandle> = None;
        for name in names {
            let frame = Frame::Label(self.profile.intern_string(&name));
            let info = FrameInfo { frame, category_pair: CategoryHandle::OTHER.into(), flags: FrameFlags::empty() };
            let frame = self.profile.intern_frame(thread, info);
            made = Some(self.profile.intern_stack(thread, made, frame));
        }
        made
    }

    fn add(&mut self, process: ProcessId, stack: StackHandle, at: Ticks, weight: i128) {
        let Some(&ThreadOf { thread, .. }) = self.threads.get(&process) else { return };
        let at = self.time(at);
        self.entries += 1;
        self.profile.add_allocation_sample(thread, at, Some(stack), self.entries, clamped(weight));
    }

    /// Adds each stack once, with its weight, at the start.
    fn peaks(&mut self) {
        let mut all: Vec<_> =
            self.stacks.iter().map(|(&(process, node), &(stack, weight))| (process, node, stack, weight)).collect();
        all.sort_unstable_by_key(|&(process, node, ..)| (process, node));
        let from = self.exported.interval().from;
        all.into_iter()
            .filter(|(.., weight)| *weight != 0)
            .for_each(|(process, _, stack, weight)| self.add(process, stack, from, weight));
    }

    /// Adds the values of sites, at the moments at which they came about.
    fn moments(&mut self, value: Value) -> Result<(), ExportError> {
        let Exported { index, mask, cancel, .. } = self.exported;
        let (trace, interval) = (self.exported.trace(), self.exported.interval());
        let moments = site_moments(index, interval, mask, |row| counted(row, value, interval.from), cancel)?;
        for moment in moments {
            let site = trace.site(moment.site);
            let process = trace.process_of(site);
            if let Some(&(stack, _)) = self.stacks.get(&(process, site.stack.0)) {
                self.add(process, stack, moment.at, moment.weight);
            }
        }
        Ok(())
    }

    /// Adds a track of the outstanding bytes of each process, exact at evenly spread moments.
    fn counters(&mut self) -> Result<(), ExportError> {
        const MOST: usize = 512;
        /// Maximum numbers in memory, of all workers together.
        const NUMBERS: usize = 1 << 22;
        let Exported { index, mask, cancel, .. } = self.exported;
        let (trace, interval) = (self.exported.trace(), self.exported.interval());
        let steps = (NUMBERS / trace.heaps.len().max(1) / rayon::current_num_threads()).clamp(1, MOST) as i128;
        let length = i128::from(interval.to.0) - i128::from(interval.from.0);
        let moment = |step: i128| Ticks((i128::from(interval.from.0) + length * step / steps) as i64);
        let moments: Vec<Ticks> = (0..=steps).map(moment).collect();
        let held = heap_series(index, interval, mask, &moments, cancel)?;
        let mut of_processes: BTreeMap<ProcessId, Vec<u64>> =
            self.threads.keys().map(|&id| (id, vec![0; moments.len()])).collect();
        for (heap, held) in trace.heaps.iter().zip(held) {
            if let Some(sums) = of_processes.get_mut(&heap.process) {
                sums.iter_mut().zip(held).for_each(|(sum, held)| *sum = sum.saturating_add(held));
            }
        }
        for (id, held) in of_processes {
            let Some(&ThreadOf { process, .. }) = self.threads.get(&id) else { continue };
            let counter = self.profile.add_counter(process, "outstanding", "Memory", "Outstanding size");
            let mut before = 0u64;
            for (&at, now) in moments.iter().zip(held) {
                let at = self.time(at);
                self.profile.add_counter_sample(counter, at, now as f64 - before as f64, 0);
                before = now;
            }
        }
        Ok(())
    }
}

/// The time at which a row counts, and its weight; `None` if it does not count.
fn counted(RowSeen { class, birth, death, size }: RowSeen, value: Value, from: Ticks) -> Option<(Ticks, i128)> {
    use LifetimeClass::{Aifi, Aifo, Aofi, Aofo};
    let (born, bytes) = (birth.max(from), i128::from(size));
    match (value, class) {
        (Value::Count, _) => Some((born, 1)),
        (Value::Outstanding, Aifo | Aofo) | (Value::Allocated, Aifi | Aifo) | (Value::Impacting, Aifo) => Some((born, bytes)),
        (Value::Impacting, Aofi) => Some((death, -bytes)),
        _ => None,
    }
}
