//! Lifetimes of processes: which process has an id at which time.
//!
//! The one state machine for that: the replay (`model::world`), the writer of a part of a trace (`export::cut`) and the
//! recorder's filter (`capture::followed`) all ask it.
//!
//! | event | a process has the id | no process has it |
//! |-|-|-|
//! | start | the same process if the key says so, or if all that is known of it is what happened just before its start; else the next one, and the end of the other was lost | a process begins |
//! | rundown | the same process, unless both keys are known and differ: then the next one | a process that ran before, unless the key is that of the one that ended last: the kernel keeps ended processes while something refers to them |
//! | end | it ends, unless the key is that of the one before it: a second session logged that end again | a process that was not seen has ended, unless the key is that of the one that ended last |
//!
//! A key is the address of the kernel's object, 0 where it is hidden. Events may come late: one from before the end of the
//! earlier process is about that one, and changes nothing.
//!
//! Cost: a hash operation an event. Memory: an entry for each id, with the process that has it and the one before.

use super::{CommittedRegion, Event, PageRange, ProcessChange, ProcessInfo, Record};
use crate::tables::KeyedMap;
use crate::units::Pid;

/// Seconds before its start in which a parent can commit pages in a process.
const BEFORE_START_SECONDS: i64 = 1;

/// Part of a second before its start in which the events that a process writes itself can come: they lie in other
/// buffers than its start, from another processor, whose clock may be behind a little.
const WRITTEN_BEFORE_START: i64 = 1_000;

/// An event of a process, as far as lifetimes depend on it.
#[derive(Clone, Copy, Debug)]
pub struct ProcessEvent {
    /// Its kind.
    pub change: ProcessChange,
    /// The kernel's object; 0 if it is hidden.
    pub key: u64,
    /// Whether it names the image.
    pub has_name: bool,
    /// Its time, in ticks.
    pub time: i64,
}

impl ProcessEvent {
    /// The event of this time.
    pub fn new(change: ProcessChange, info: &ProcessInfo, time: i64) -> Self {
        Self { change, key: info.key, has_name: !info.name.is_empty(), time }
    }
}

/// Evidence of a process in events other than its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// Something happened to it: it can still be before its start.
    Seen,
    /// It wrote an event of heaps or trackers itself.
    Wrote,
    /// The kernel says that it did something, or that it ran before the trace.
    Acted,
}

impl Sign {
    /// The processes that a record gives evidence of.
    pub fn of(record: &Record) -> impl Iterator<Item = (Pid, Self)> + use<> {
        let writer = |sign| [Some((record.pid, sign)), None];
        let signs = match record.event {
            ref event if event.is_failed_realloc() => [None; 2],
            Event::Alloc { .. } | Event::Realloc { .. } | Event::HeapOpen { .. } => writer(Self::Wrote),
            Event::VirtualAlloc(PageRange { owner, .. }) => [Some((owner, Self::Seen)), Some((record.pid, Self::Acted))],
            Event::CommitRundown(CommittedRegion { owner, .. }) => [Some((owner, Self::Acted)), None],
            Event::Image(..) | Event::ImageFile(_) | Event::ImageId(_) | Event::ThreadName(_) => writer(Self::Seen),
            Event::HeapClose { .. }
            | Event::Free { .. }
            | Event::VirtualFree(_)
            | Event::Stack { .. }
            | Event::StackRef { .. }
            | Event::StackDefinition { .. }
            | Event::Process(..)
            | Event::ThreadStart(_)
            | Event::ThreadRundown(_)
            | Event::Volume(_)
            | Event::Counter(_)
            | Event::Sample { .. }
            | Event::Fault(_)
            | Event::Activity(_)
            | Event::Lost(_) => [None; 2],
        };
        signs.into_iter().flatten().filter(|(pid, _)| pid.is_known())
    }
}

/// Consequence of an event for the processes of its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LifetimeChange<T> {
    /// It is about a process that is over.
    Past,
    /// It is about the process that has the id.
    Same {
        /// That process.
        process: T,
        /// Whether this is its start.
        starts: bool,
    },
    /// A process has the id from now on.
    Begins {
        /// That process.
        process: T,
        /// The one that had the id until now: its end was lost.
        ended: Option<T>,
    },
    /// The process that had the id has ended.
    Ends(T),
}

/// The processes of all ids; `T` stands for a process.
#[derive(Clone, Debug)]
pub struct ProcessLifetimes<T>(KeyedMap<Pid, Lifetimes<T>>);

/// The processes of one id; at least one of the two is there.
#[derive(Clone, Copy, Debug)]
struct Lifetimes<T> {
    present: Option<Present<T>>,
    /// The one that ended last.
    ended: Option<Ended<T>>,
}

/// A process that has its id.
#[derive(Clone, Copy, Debug)]
struct Present<T> {
    process: T,
    key: u64,
    /// Time of the first event about it.
    since: i64,
    /// Whether its next event is about it, whatever that says.
    is_expected: bool,
    has_started: bool,
    has_name: bool,
    has_acted: bool,
    /// Time of the first event that it wrote.
    first_wrote: Option<i64>,
}

/// A process that had its id.
#[derive(Clone, Copy, Debug)]
struct Ended<T> {
    process: T,
    key: u64,
    /// The last time at which it had the id.
    at: i64,
}

fn is_same(key: u64, other: u64) -> bool {
    key != 0 && key == other
}

fn are_two(key: u64, other: u64) -> bool {
    key != 0 && other != 0 && key != other
}

impl<T> Ended<T> {
    /// Whether an event is about this process.
    fn is_meant(&self, event: &ProcessEvent) -> bool {
        let is_now = event.time == self.at;
        event.time < self.at
            || match event.change {
                ProcessChange::Start => is_now && is_same(self.key, event.key),
                ProcessChange::Rundown => is_same(self.key, event.key),
                ProcessChange::End => is_same(self.key, event.key) || (is_now && !are_two(self.key, event.key)),
            }
    }
}

impl<T> Present<T> {
    fn new(process: T, since: i64) -> Self {
        let (has_started, has_name, has_acted) = (false, false, false);
        Self { process, key: 0, since, is_expected: false, has_started, has_name, has_acted, first_wrote: None }
    }

    /// Whether nothing shows that it ran before a start at this time.
    fn can_start(&self, time: i64, frequency: i64) -> bool {
        let has_run = self.first_wrote.is_some_and(|wrote| time.saturating_sub(wrote) > frequency / WRITTEN_BEFORE_START);
        !self.has_started && !self.has_acted && !has_run
    }

    /// Whether a start is that of this process, of which only what happened just before it is known.
    fn awaits(&self, event: &ProcessEvent, frequency: i64) -> bool {
        let soon = frequency.saturating_mul(BEFORE_START_SECONDS);
        let is_soon = event.time.saturating_sub(self.since) <= soon;
        !self.has_name && is_soon && !are_two(self.key, event.key) && self.can_start(event.time, frequency)
    }

    fn learn(&mut self, event: &ProcessEvent, starts: bool) {
        self.has_started |= starts;
        self.has_name |= event.has_name;
        if self.key == 0 {
            self.key = event.key;
        }
        if self.is_expected {
            (self.is_expected, self.since) = (false, event.time);
        }
    }

    fn end(self, at: i64) -> Ended<T> {
        Ended { process: self.process, key: self.key, at }
    }
}

/// The decision about an event.
enum Meant {
    Past,
    Present { starts: bool },
    Next,
    End,
}

impl<T: Copy> Lifetimes<T> {
    /// The process that an event is about.
    fn meant(&self, event: &ProcessEvent, frequency: i64) -> Meant {
        let ProcessEvent { change, key, time, .. } = *event;
        let is_of_ended = self.ended.as_ref().is_some_and(|ended| ended.is_meant(event));
        let Some(present) = &self.present else {
            return match change {
                _ if is_of_ended => Meant::Past,
                ProcessChange::End => Meant::End,
                ProcessChange::Start | ProcessChange::Rundown => Meant::Next,
            };
        };
        let is_before = self.ended.as_ref().is_some_and(|ended| time < ended.at);
        match change {
            _ if is_before => Meant::Past,
            ProcessChange::End if is_of_ended && are_two(present.key, key) => Meant::Past,
            ProcessChange::End if time < present.since => Meant::Past,
            ProcessChange::End => Meant::End,
            _ if present.is_expected => Meant::Present { starts: change == ProcessChange::Start },
            ProcessChange::Start if is_same(present.key, key) || present.awaits(event, frequency) => {
                Meant::Present { starts: present.can_start(time, frequency) }
            }
            ProcessChange::Rundown if !are_two(present.key, key) => Meant::Present { starts: false },
            ProcessChange::Start | ProcessChange::Rundown if time < present.since => Meant::Past,
            ProcessChange::Start | ProcessChange::Rundown => Meant::Next,
        }
    }
}

impl<T> Default for ProcessLifetimes<T> {
    fn default() -> Self {
        Self(KeyedMap::default())
    }
}

impl<T: Copy> ProcessLifetimes<T> {
    /// The process that has an id now, if any event named it.
    pub fn present(&self, pid: Pid) -> Option<T> {
        Some(self.0.get(&pid)?.present.as_ref()?.process)
    }

    /// The process that has an id now, to be changed.
    pub fn present_mut(&mut self, pid: Pid) -> Option<&mut T> {
        Some(&mut self.0.get_mut(&pid)?.present.as_mut()?.process)
    }

    /// The kernel's object of the process that has an id now; 0 if no event told it.
    pub fn key(&self, pid: Pid) -> u64 {
        self.0.get(&pid).and_then(|lifetimes| lifetimes.present.as_ref()).map_or(0, |present| present.key)
    }

    /// The process that has an id now, or else the one that ended last.
    pub fn latest(&self, pid: Pid) -> Option<T> {
        let lifetimes = self.0.get(&pid)?;
        lifetimes.present.as_ref().map(|present| present.process).or(lifetimes.ended.as_ref().map(|ended| ended.process))
    }

    /// The process that had an id at a time: of the present one and the one before it.
    pub fn at(&self, pid: Pid, time: i64) -> Option<T> {
        let lifetimes = self.0.get(&pid)?;
        match &lifetimes.ended {
            Some(ended) if time <= ended.at => Some(ended.process),
            _ => lifetimes.present.as_ref().map(|present| present.process),
        }
    }

    /// Whether anything is known of an id.
    pub fn has(&self, pid: Pid) -> bool {
        self.0.contains_key(&pid)
    }

    /// Number of ids of which anything is known.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is known of any id.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The processes that have an id now, in any order.
    pub fn all_present(&self) -> impl Iterator<Item = (Pid, T)> {
        self.0.iter().filter_map(|(&pid, lifetimes)| Some((pid, lifetimes.present.as_ref()?.process)))
    }

    /// Notes evidence of a process. Returns the process that has the id: a `new` one if none was known.
    pub fn shows(&mut self, pid: Pid, sign: Sign, time: i64, new: impl FnOnce() -> T) -> T {
        let lifetimes = self.of(pid);
        let present = lifetimes.present.get_or_insert_with(|| Present::new(new(), time));
        match sign {
            Sign::Seen => {}
            Sign::Wrote => drop(present.first_wrote.get_or_insert(time)),
            Sign::Acted => present.has_acted = true,
        }
        present.process
    }

    /// Adds a process that no event has named: the next event with its id is about it. To be called where no process has
    /// the id.
    pub fn expect(&mut self, pid: Pid, process: T) {
        self.of(pid).present = Some(Present { is_expected: true, ..Present::new(process, i64::MIN) });
    }

    /// Applies an event of a process on a clock of `frequency` ticks a second; `new` makes a process that was not known.
    pub fn apply(&mut self, pid: Pid, event: &ProcessEvent, frequency: i64, new: impl FnOnce() -> T) -> LifetimeChange<T> {
        let lifetimes = self.of(pid);
        match lifetimes.meant(event, frequency) {
            Meant::Past => LifetimeChange::Past,
            Meant::Present { starts } => {
                let present = lifetimes.present.get_or_insert_with(|| Present::new(new(), event.time));
                present.learn(event, starts);
                LifetimeChange::Same { process: present.process, starts }
            }
            Meant::Next => {
                let before = lifetimes.present.take().map(|present| present.end(event.time.saturating_sub(1)));
                lifetimes.ended = before.or(lifetimes.ended);
                let mut present = Present::new(new(), event.time);
                present.learn(event, event.change == ProcessChange::Start);
                let process = present.process;
                lifetimes.present = Some(present);
                LifetimeChange::Begins { process, ended: before.map(|ended| ended.process) }
            }
            Meant::End => {
                let mut present = lifetimes.present.take().unwrap_or_else(|| Present::new(new(), event.time));
                present.learn(event, false);
                let process = present.process;
                lifetimes.ended = Some(present.end(event.time));
                LifetimeChange::Ends(process)
            }
        }
    }

    /// The last time at which the process had an id that ended last under it.
    pub fn ended_at(&self, pid: Pid) -> Option<i64> {
        Some(self.0.get(&pid)?.ended.as_ref()?.at)
    }

    /// Forgets the process that ended last under an id, if it ended at this time.
    pub fn forget_ended(&mut self, pid: Pid, at: i64) {
        let Some(lifetimes) = self.0.get_mut(&pid) else { return };
        lifetimes.ended = lifetimes.ended.filter(|ended| ended.at != at);
        if lifetimes.ended.is_none() && lifetimes.present.is_none() {
            self.0.remove(&pid);
        }
    }

    fn of(&mut self, pid: Pid) -> &mut Lifetimes<T> {
        self.0.entry(pid).or_insert(Lifetimes { present: None, ended: None })
    }
}

#[cfg(test)]
mod tests;
