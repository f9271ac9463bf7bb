//! Processes, trackers and images that exist by the end of the interval, and the later events that still name them:
//! rundowns, ends of processes, images and managed methods, closes of trackers. Whatever begins later belongs to none of them.

use crate::events::{
    Event, ImageChange, LifetimeChange, ProcessChange, ProcessEvent, ProcessInfo, ProcessLifetimes, Record, Sign,
};
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::{Layer, Pid};

/// State of a tracker.
#[derive(Clone, Copy, Default, Debug)]
struct Tracker {
    is_named: bool,
    is_closed: bool,
}

/// Processes and trackers that are known so far.
#[derive(Debug)]
pub(super) struct Known {
    lifetimes: ProcessLifetimes<()>,
    /// Ticks in a second.
    frequency: i64,
    /// The latest time that was met: an event that comes late happens when it comes.
    now: i64,
    trackers: KeyedMap<Pid, KeyedMap<u64, Tracker>>,
    /// Ids that stand for other processes, ...
    over: KeyedSet<Pid>,
    /// ... and places where other images may be, after the interval.
    unmapped: KeyedSet<(Pid, u64)>,
}

impl Known {
    /// Nothing is known yet; the clock has `frequency` ticks in a second.
    pub(super) fn new(frequency: u64) -> Self {
        Self {
            lifetimes: ProcessLifetimes::default(),
            frequency: i64::try_from(frequency).unwrap_or(i64::MAX),
            now: i64::MIN,
            trackers: KeyedMap::default(),
            over: KeyedSet::default(),
            unmapped: KeyedSet::default(),
        }
    }

    /// A record before the end of the interval.
    pub(super) fn note(&mut self, record: &Record) {
        self.now = self.now.max(record.time);
        for (pid, sign) in Sign::of(record) {
            self.lifetimes.shows(pid, sign, self.now, || ());
        }
        match &record.event {
            Event::Process(change, info) => self.process(record.pid, *change, info),
            Event::HeapOpen { layer: Layer::Tracker, heap, name } => {
                let tracker = self.trackers.entry(record.pid).or_default().entry(*heap).or_default();
                *tracker = Tracker { is_named: name.is_some() || (tracker.is_named && !tracker.is_closed), is_closed: false };
            }
            Event::HeapClose { layer: Layer::Tracker, heap, name } => {
                // A tracker of which nothing is known is not closed by it.
                let trackers = self.trackers.get_mut(&record.pid);
                if let Some(tracker) = trackers.and_then(|trackers| trackers.get_mut(heap)) {
                    *tracker = Tracker { is_named: tracker.is_named || name.is_some(), is_closed: true };
                }
            }
            Event::Alloc { layer: Layer::Tracker, heap, .. } | Event::Realloc { layer: Layer::Tracker, heap, .. } => {
                self.trackers.entry(record.pid).or_default().entry(*heap).or_default();
            }
            _ => {}
        }
    }

    /// Applies an event of a process.
    fn process(&mut self, pid: Pid, change: ProcessChange, info: &ProcessInfo) {
        match self.change(pid, change, info) {
            LifetimeChange::Past | LifetimeChange::Same { .. } => {}
            LifetimeChange::Begins { .. } | LifetimeChange::Ends(()) => drop(self.trackers.remove(&pid)),
        }
    }

    fn change(&mut self, pid: Pid, change: ProcessChange, info: &ProcessInfo) -> LifetimeChange<()> {
        let event = ProcessEvent::new(change, info, self.now);
        self.lifetimes.apply(pid, &event, self.frequency, || ())
    }

    /// A process that had pages in the interval starts after it, and its start is written: later events are not about the
    /// interval.
    pub(super) fn starts_later(&mut self, pid: Pid) {
        self.over.insert(pid);
    }

    /// Turns a record after the interval, which ends at the raw time `end`, into one about something that existed in it; `None` if
    /// it is about nothing such.
    pub(super) fn after(&mut self, record: Record, end: i64) -> Option<Record> {
        self.now = self.now.max(record.time);
        if self.over.contains(&record.pid) && !matches!(record.event, Event::Volume(_)) {
            return None;
        }
        match record.event {
            Event::Process(change, mut info) => {
                let known = self.lifetimes.key(record.pid);
                let is_its = self.process_after(record.pid, change, &info);
                if change == ProcessChange::End && known != 0 {
                    // Who ends under an id is who ran under it, whatever its object is said to be.
                    info.key = known;
                }
                let event = Event::Process(ProcessChange::Rundown, info);
                is_its.then_some(Record { event, ..record })
            }
            Event::Image(change, info) => {
                let is_known = !self.unmapped.contains(&(record.pid, info.base));
                if change != ImageChange::Rundown {
                    self.unmapped.insert((record.pid, info.base));
                }
                let event = Event::Image(ImageChange::Rundown, info);
                (is_known && change != ImageChange::Load).then_some(Record { event, ..record })
            }
            Event::ImageFile(ref file) => (!self.unmapped.contains(&(record.pid, file.base))).then_some(record),
            Event::ImageId(ref id) => (!self.unmapped.contains(&(record.pid, id.base))).then_some(record),
            Event::HeapOpen { layer: Layer::Tracker, heap, name: Some(name) }
            | Event::HeapClose { layer: Layer::Tracker, heap, name: Some(name) } => {
                let tracker = self.trackers.entry(record.pid).or_default().entry(heap).or_default();
                let Tracker { is_named, is_closed } = std::mem::replace(tracker, Tracker { is_named: true, is_closed: true });
                let event = Event::HeapOpen { layer: Layer::Tracker, heap, name: Some(name) };
                (!is_named && !is_closed).then_some(Record { event, ..record })
            }
            Event::HeapOpen { layer: Layer::Tracker, heap, name: None } => {
                self.trackers.entry(record.pid).or_default().entry(heap).or_default().is_closed = false;
                None
            }
            Event::HeapClose { layer: Layer::Tracker, heap, name: None } => {
                self.trackers.entry(record.pid).or_default().entry(heap).or_default().is_closed = true;
                None
            }
            Event::CommitRundown(ref region) => (!self.over.contains(&region.owner)).then_some(record),
            Event::ThreadName(_) | Event::ThreadRundown(_) | Event::Volume(_) => Some(record),
            Event::Activity(activity) => {
                let event = Event::Activity(Box::new(activity.known_later(end)?));
                Some(Record { event, ..record })
            }
            Event::HeapOpen { layer: Layer::Heap | Layer::Commit, .. }
            | Event::HeapClose { layer: Layer::Heap | Layer::Commit, .. }
            | Event::Alloc { .. }
            | Event::Free { .. }
            | Event::Realloc { .. }
            | Event::VirtualAlloc(_)
            | Event::VirtualFree(_)
            | Event::Stack { .. }
            | Event::StackRef { .. }
            | Event::StackDefinition { .. }
            | Event::ThreadStart(_)
            | Event::Counter(_)
            | Event::Sample { .. }
            | Event::Fault(_)
            | Event::Lost(_) => None,
        }
    }

    /// Whether an event of a process after the interval is about one that was there in it.
    fn process_after(&mut self, pid: Pid, change: ProcessChange, info: &ProcessInfo) -> bool {
        match self.change(pid, change, info) {
            LifetimeChange::Past => false,
            LifetimeChange::Same { .. } => true,
            // Only stacks may have named it in the interval.
            LifetimeChange::Begins { ended: None, .. } if change == ProcessChange::Rundown => true,
            LifetimeChange::Begins { .. } => {
                self.over.insert(pid);
                false
            }
            LifetimeChange::Ends(()) => {
                self.over.insert(pid);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Tid;

    const PID: Pid = Pid(7);

    fn record(time: i64, event: Event) -> Record {
        Record { time, pid: PID, tid: Tid(70), event }
    }

    fn process(time: i64, change: ProcessChange, key: u64) -> Record {
        let info = ProcessInfo { key, name: "game.exe".to_owned(), ..ProcessInfo::default() };
        record(time, Event::Process(change, Box::new(info)))
    }

    fn open(time: i64, name: Option<&str>) -> Record {
        record(time, Event::HeapOpen { layer: Layer::Tracker, heap: 0x50, name: name.map(Into::into) })
    }

    fn after(before: &[Record]) -> Known {
        let mut known = Known::new(10_000);
        before.iter().for_each(|record| known.note(record));
        known
    }

    #[test]
    fn a_tracker_that_was_opened_just_before_its_process_started_is_known() {
        let mut known = after(&[open(99, Some("Physics")), process(100, ProcessChange::Start, 1)]);
        assert_eq!(known.after(open(200, Some("Audio")), 1000), None, "it is named already");
        let mut known = after(&[open(9, Some("Physics")), process(100, ProcessChange::Start, 1)]);
        assert!(known.after(open(200, Some("Audio")), 1000).is_some(), "that was the process before it");
    }

    #[test]
    fn an_end_that_is_logged_late_is_not_that_of_who_has_the_id_since() {
        let [start, end] = [ProcessChange::Start, ProcessChange::End];
        let lives = [process(10, start, 1), process(20, end, 1), process(30, start, 2), open(40, None)];
        let mut known = after(&lives);
        assert_eq!(known.after(process(50, end, 1), 1000), None);
        assert!(known.after(process(70, end, 2), 1000).is_some(), "a rundown of who ran in the interval");
        // In the interval it ends nothing either.
        let mut known = after(&[&lives[..], &[process(50, end, 1)]].concat());
        assert!(known.after(open(60, Some("Physics")), 1000).is_some(), "its name comes late");
    }

    #[test]
    fn a_free_after_the_end_of_a_process_begins_no_other() {
        let range = crate::events::PageRange { base: 0x1000, size: 0x1000, owner: Pid(8), flags: 0 };
        let free = record(30, Event::VirtualFree(range));
        let mut known = after(&[process(10, ProcessChange::Start, 1), process(20, ProcessChange::End, 1), free]);
        assert_eq!(known.after(process(40, ProcessChange::Rundown, 1), 1000), None);
    }
}
