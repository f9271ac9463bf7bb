//! What has a name by the end of the interval, and what comes later that names it: rundowns, ends
//! of processes and images, closes of trackers. What begins later is nobody's whom the interval knows.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::events::{Event, ImageChange, ProcessChange, ProcessInfo, Record};
use crate::units::{Layer, Pid};

/// What is known of a tracker.
#[derive(Clone, Copy, Default, Debug)]
struct Tracker {
    is_named: bool,
    is_closed: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The kernel's objects of the processes that run.
    keys: FxHashMap<Pid, u64>,
    trackers: FxHashMap<Pid, FxHashMap<u64, Tracker>>,
    /// Ids that stand for other processes, ...
    over: FxHashSet<Pid>,
    /// ... and places where other images may be, after the interval.
    unmapped: FxHashSet<(Pid, u64)>,
}

impl Known {
    /// A record before the end of the interval.
    pub(super) fn note(&mut self, record: &Record) {
        match &record.event {
            Event::Process(change, info) => match change {
                ProcessChange::Start => {
                    self.keys.insert(record.pid, info.key);
                    self.trackers.remove(&record.pid);
                }
                ProcessChange::End => {
                    self.keys.remove(&record.pid);
                    self.trackers.remove(&record.pid);
                }
                ProcessChange::Rundown => {
                    let known = self.keys.entry(record.pid).or_default();
                    *known = if info.key == 0 { *known } else { info.key };
                }
            },
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

    /// What a record after the interval says of what was there in it, if anything.
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
            Event::ThreadName(_) | Event::Volume(_) => Some(record),
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
