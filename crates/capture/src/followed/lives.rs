//! Which process had an id at which time, and whether it is followed.
//!
//! For each id, the process that has it now and the one that had it before are kept, for late events. Events come
//! nearly in order, and each is judged by its own time.

use std::collections::VecDeque;

use crate::events::ProcessChange;
use crate::tables::KeyedMap;

/// More processes than a machine has; further ones are ignored.
const MOST: usize = 1 << 16;
/// Number of ended processes that are kept.
const MOST_ENDED: usize = 4096;

/// The known processes.
#[derive(Debug, Default)]
pub(super) struct Lives {
    of: KeyedMap<u32, Lifetimes>,
    /// Process ids and end times, in the order of their end events.
    ended: VecDeque<(u32, i64)>,
}

/// The processes of one id; at least one of the two is present.
#[derive(Clone, Copy, Debug, Default)]
struct Lifetimes {
    now: Option<Life>,
    before: Option<Ended>,
}

#[derive(Clone, Copy, Debug)]
enum Life {
    /// It is followed, but the stream has not named it yet.
    Awaited { from: i64 },
    /// The stream did not name it in time, so it is not followed until then.
    Presumed,
    /// The stream has named it, first at the time `since`.
    Named { key: u64, since: i64, followed: FollowedFrom },
}

/// The time from which a process is followed; `None` if it is not. Earlier events were dropped already, so their stacks
/// are dropped too.
type FollowedFrom = Option<i64>;

#[derive(Clone, Copy, Debug)]
struct Ended {
    /// The last moment at which it had the id.
    at: i64,
    followed: FollowedFrom,
}

/// The news in a process event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    /// None: the process is known, or has ended.
    Known,
    /// A new process.
    New,
    /// The first event of a process whose id was given beforehand.
    Awaited,
}

impl Life {
    fn followed(self) -> FollowedFrom {
        match self {
            Self::Awaited { from } => Some(from),
            Self::Presumed => None,
            Self::Named { followed, .. } => followed,
        }
    }
}

impl Lives {
    /// Number of ids in the table.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.of.len().max(self.ended.len())
    }

    /// Follows the process that has this id now, or the next one that is named with it. `now` is the newest event time.
    pub(super) fn follow(&mut self, pid: u32, now: i64) {
        let lifetimes = self.of.entry(pid).or_default();
        let from_now = now.saturating_add(1);
        lifetimes.now = Some(match lifetimes.now {
            Some(Life::Named { key, since, followed }) => Life::Named { key, since, followed: followed.or(Some(from_now)) },
            Some(Life::Presumed) => Life::Awaited { from: from_now },
            Some(Life::Awaited { from }) => Life::Awaited { from },
            None => Life::Awaited { from: i64::MIN },
        });
    }

    /// Whether the process that had this id at this time is followed at that time; `None` if it is not known.
    pub(super) fn was_followed(&self, pid: u32, at: i64) -> Option<bool> {
        let lifetimes = self.of.get(&pid)?;
        let followed = match lifetimes.before {
            Some(before) if at <= before.at => before.followed,
            _ => lifetimes.now?.followed(),
        };
        Some(followed.is_some_and(|from| from <= at))
    }

    /// Whether the process that has this id now is followed.
    pub(super) fn is_followed(&self, pid: u32) -> bool {
        self.of.get(&pid).and_then(|lifetimes| lifetimes.now).and_then(Life::followed).is_some()
    }

    /// Ids of the processes that are followed now, ascending.
    pub(super) fn followed(&self) -> Vec<u32> {
        let now = |(&pid, lifetimes): (&u32, &Lifetimes)| lifetimes.now.and_then(Life::followed).map(|_| pid);
        let mut pids: Vec<u32> = self.of.iter().filter_map(now).collect();
        pids.sort_unstable();
        pids
    }

    /// Presumes that the process with this id is not followed, until it is named. Does nothing if the id is known:
    /// after the end of a process, the waiting events were its last ones and say nothing about the next process.
    pub(super) fn presume_foreign(&mut self, pid: u32) {
        if !self.of.contains_key(&pid) && self.of.len() < MOST {
            self.of.insert(pid, Lifetimes { now: Some(Life::Presumed), before: None });
        }
    }

    /// Learns from a process event; `is_wanted` says whether such a process is to be followed.
    pub(super) fn learn(&mut self, pid: u32, time: i64, change: ProcessChange, key: u64, is_wanted: bool) -> Told {
        if self.of.len() >= MOST && !self.of.contains_key(&pid) {
            return Told::Known;
        }
        let lifetimes = self.of.entry(pid).or_default();
        if lifetimes.before.is_some_and(|before| time <= before.at) {
            return Told::Known; // a late event of an ended process
        }
        if change == ProcessChange::End {
            self.end(pid, time, is_wanted);
            return Told::Known;
        }
        let named = |followed| Some(Life::Named { key, since: time, followed });
        let followed = is_wanted.then_some(i64::MIN);
        match lifetimes.now {
            // A process that starts during the rundown is announced twice. A system that hides its addresses writes
            // zeros as keys.
            Some(Life::Named { key: known, .. }) if known == key && (key != 0 || change != ProcessChange::Start) => Told::Known,
            Some(Life::Awaited { from }) => {
                lifetimes.now = named(Some(from));
                Told::Awaited
            }
            Some(Life::Presumed) => {
                lifetimes.now = named(is_wanted.then_some(time));
                Told::New
            }
            None => {
                lifetimes.now = named(followed);
                Told::New
            }
            Some(Life::Named { since, .. }) if time < since => Told::Known, // a late event of an earlier process
            Some(Life::Named { .. }) => {
                // The end event of the earlier process was lost.
                self.end(pid, time.saturating_sub(1), is_wanted);
                self.of.entry(pid).or_default().now = named(followed);
                Told::New
            }
        }
    }

    /// Notes the end of a process; if it was unknown, `is_wanted` says whether it should have been followed.
    fn end(&mut self, pid: u32, at: i64, is_wanted: bool) {
        let lifetimes = self.of.entry(pid).or_default();
        let followed = match lifetimes.now {
            // A late end event of an earlier process.
            Some(Life::Named { since, .. }) if at < since => return,
            Some(life) => life.followed(),
            None => is_wanted.then_some(i64::MIN),
        };
        *lifetimes = Lifetimes { now: None, before: Some(Ended { at, followed }) };
        self.ended.push_back((pid, at));
        if self.ended.len() > MOST_ENDED {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((pid, at)) = self.ended.pop_front() else { return };
        let Some(lifetimes) = self.of.get_mut(&pid) else { return };
        if lifetimes.before.is_some_and(|before| before.at == at) {
            lifetimes.before = None;
        }
        if lifetimes.before.is_none() && lifetimes.now.is_none() {
            self.of.remove(&pid);
        }
    }
}
