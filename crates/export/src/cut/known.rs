//! Processes, trackers and images that exist by the end of the interval, and the later events that still name them:
//! rundowns, ends of processes, images and managed methods, closes of trackers. Whatever begins later belongs to none of them.

use crate::events::{CommittedRegion, Event, ImageChange, PageRange, ProcessChange, ProcessInfo, Record};
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::{Layer, Pid};

/// State of a tracker.
#[derive(Clone, Copy, Default, Debug)]
struct Tracker {
    is_named: bool,
    is_closed: bool,
}

/// Processes and trackers that are known so far.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The kernel's objects of the processes that run; 0 where no event told it.
    keys: KeyedMap<Pid, u64>,
    /// The kernel's object of the process that ended last under each id.
    ended: KeyedMap<Pid, u64>,
    trackers: KeyedMap<Pid, KeyedMap<u64, Tracker>>,
    /// Ids that stand for other processes, ...
    over: KeyedSet<Pid>,
    /// ... and places where other images may be, after the interval.
    unmapped: KeyedSet<(Pid, u64)>,
}

impl Known {
    /// A record before the end of the interval.
    pub(super) fn note(&mut self, record: &Record) {
        if shows_life(&record.event) && record.pid.is_known() {
            self.keys.entry(record.pid).or_default();
        }
        if let Event::VirtualAlloc(PageRange { owner, .. }) | Event::CommitRundown(CommittedRegion { owner, .. }) = record.event {
            self.keys.entry(owner).or_default();
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

    /// Lives as the replay tells them apart (`model::world::process`).
    fn process(&mut self, pid: Pid, change: ProcessChange, info: &ProcessInfo) {
        let known = self.keys.get(&pid).copied();
        let is_same = known.is_some_and(|known| known != 0 && known == info.key);
        match change {
            // A second session can log a start, and later than the first.
            ProcessChange::Start if is_same => {}
            ProcessChange::Start => {
                self.keys.insert(pid, info.key);
                self.trackers.remove(&pid);
            }
            _ if self.is_over(pid, info) => {}
            ProcessChange::End => {
                self.ended.insert(pid, known.filter(|&key| key != 0).unwrap_or(info.key));
                self.keys.remove(&pid);
                self.trackers.remove(&pid);
            }
            ProcessChange::Rundown => {
                if known.is_some_and(|known| known != 0 && info.key != 0 && known != info.key) {
                    self.trackers.remove(&pid);
                }
                let key = if info.key == 0 { known.unwrap_or(0) } else { info.key };
                self.keys.insert(pid, key);
            }
        }
    }

    /// Whether an event tells of a process that has ended: the kernel keeps it while something refers to it, and
    /// a second session can log its end.
    fn is_over(&self, pid: Pid, info: &ProcessInfo) -> bool {
        !self.keys.contains_key(&pid) && info.key != 0 && self.ended.get(&pid) == Some(&info.key)
    }

    /// Turns a record after the interval into one about something that existed in it; `None` if it is about nothing such.
    pub(super) fn after(&mut self, record: Record) -> Option<Record> {
        if self.over.contains(&record.pid) && !matches!(record.event, Event::Volume(_)) {
            return None;
        }
        match record.event {
            Event::Process(change, mut info) => {
                let is_its = self.process_after(record.pid, change, &info);
                if change == ProcessChange::End {
                    // Who ends under an id is who ran under it, whatever its object is said to be.
                    info.key = self.keys.get(&record.pid).copied().filter(|&key| key != 0).unwrap_or(info.key);
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
            Event::ThreadName(_) | Event::ThreadRundown | Event::Volume(_) => Some(record),
            Event::Activity(activity) => {
                let event = Event::Activity(Box::new(activity.known_later()?));
                Some(Record { event, ..record })
            }
            _ => None,
        }
    }

    /// Whether an event of a process after the interval is about one that was there in it.
    fn process_after(&mut self, pid: Pid, change: ProcessChange, info: &ProcessInfo) -> bool {
        let known = self.keys.get(&pid).copied().unwrap_or(0);
        let is_same = known != 0 && known == info.key;
        let is_other = known != 0 && info.key != 0 && known != info.key;
        match change {
            // A second session can log a start, and later than the first.
            ProcessChange::Start if is_same => true,
            ProcessChange::Start => {
                self.over.insert(pid);
                false
            }
            _ if self.is_over(pid, info) => false,
            ProcessChange::Rundown if is_other => {
                self.over.insert(pid);
                false
            }
            ProcessChange::Rundown => {
                self.keys.insert(pid, if info.key == 0 { known } else { info.key });
                true
            }
            ProcessChange::End => {
                self.over.insert(pid);
                true
            }
        }
    }
}

/// Whether an event shows that its process runs.
fn shows_life(event: &Event) -> bool {
    use Event::{Alloc, HeapOpen, Image, ImageFile, ImageId, Realloc, ThreadName, VirtualAlloc, VirtualFree};
    matches!(
        event,
        Alloc { .. }
            | HeapOpen { .. }
            | Realloc { .. }
            | VirtualAlloc(_)
            | VirtualFree(_)
            | Image(..)
            | ImageFile(_)
            | ImageId(_)
            | ThreadName(_)
    )
}
