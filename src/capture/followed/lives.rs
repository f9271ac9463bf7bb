//! Which process had an id when, and whether it is followed.
//!
//! Of each id the process that has it now is known, and the one that had it before, for what comes
//! of it late. Events are nearly in order: each is judged by its own time.

use std::collections::VecDeque;

use crate::events::ProcessChange;
use crate::tables::KeyedMap;

/// More processes than a machine has; of further ones nothing is remembered.
const MOST: usize = 1 << 16;
/// So many that have ended are remembered.
const MOST_ENDED: usize = 4096;

/// The processes.
#[derive(Debug, Default)]
pub(super) struct Lives {
    of: KeyedMap<u32, Lifetimes>,
    /// Ids and their ends, in the order in which these were told.
    ended: VecDeque<(u32, i64)>,
}

/// The processes of one id; one of the two is there.
#[derive(Clone, Copy, Debug, Default)]
struct Lifetimes {
    now: Option<Life>,
    before: Option<Ended>,
}

#[derive(Clone, Copy, Debug)]
enum Life {
    /// It is followed, and the stream did not name it yet.
    Awaited { from: i64 },
    /// The stream did not name it in time, so it is not followed until it does.
    Presumed,
    /// The stream named it, first at `since`.
    Named { key: u64, since: i64, followed: FollowedFrom },
}

/// It is followed as to what comes at this time or later; `None` if it is not. What came before was
/// dropped already, so its stacks are too.
type FollowedFrom = Option<i64>;

#[derive(Clone, Copy, Debug)]
struct Ended {
    /// The last moment at which the id was its.
    at: i64,
    followed: FollowedFrom,
}

/// What a process event brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    /// Nothing: the process was known, or has ended.
    Known,
    /// A process that nobody knew of.
    New,
    /// The first word of one whose id was told from outside.
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
    /// Ids that are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.of.len().max(self.ended.len())
    }

    /// Follows whoever has this id now, or is the next to be named with it. Time has come to `now`.
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

    /// Whether the process that had an id at a time is followed as to that time; `None` if it is not
    /// known.
    pub(super) fn was_followed(&self, pid: u32, at: i64) -> Option<bool> {
        let lifetimes = self.of.get(&pid)?;
        let followed = match lifetimes.before {
            Some(before) if at <= before.at => before.followed,
            _ => lifetimes.now?.followed(),
        };
        Some(followed.is_some_and(|from| from <= at))
    }

    /// Whether the process that has an id now is followed.
    pub(super) fn is_followed(&self, pid: u32) -> bool {
        self.of.get(&pid).and_then(|lifetimes| lifetimes.now).and_then(Life::followed).is_some()
    }

    /// The ids of those that are followed now, in order.
    pub(super) fn followed(&self) -> Vec<u32> {
        let now = |(&pid, lifetimes): (&u32, &Lifetimes)| lifetimes.now.and_then(Life::followed).map(|_| pid);
        let mut pids: Vec<u32> = self.of.iter().filter_map(now).collect();
        pids.sort_unstable();
        pids
    }

    /// Who has this id is taken for one that is not followed, as long as nothing is said of it. After
    /// the end of a process these were its last events, and say nothing of the next.
    pub(super) fn presume_foreign(&mut self, pid: u32) {
        if !self.of.contains_key(&pid) && self.of.len() < MOST {
            self.of.insert(pid, Lifetimes { now: Some(Life::Presumed), before: None });
        }
    }

    /// Takes note of a process event; `is_wanted` says whether such a process is to be followed.
    pub(super) fn learn(&mut self, pid: u32, time: i64, change: ProcessChange, key: u64, is_wanted: bool) -> Told {
        if self.of.len() >= MOST && !self.of.contains_key(&pid) {
            return Told::Known;
        }
        let lifetimes = self.of.entry(pid).or_default();
        if lifetimes.before.is_some_and(|before| time <= before.at) {
            return Told::Known; // a late word of one that has ended
        }
        if change == ProcessChange::End {
            self.end(pid, time, is_wanted);
            return Told::Known;
        }
        let named = |followed| Some(Life::Named { key, since: time, followed });
        let followed = is_wanted.then_some(i64::MIN);
        match lifetimes.now {
            // Who starts during the rundown is told of twice. A system that hides its addresses has zeros.
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
            Some(Life::Named { since, .. }) if time < since => Told::Known, // late, of one before it
            Some(Life::Named { .. }) => {
                // Its end was lost.
                self.end(pid, time.saturating_sub(1), is_wanted);
                self.of.entry(pid).or_default().now = named(followed);
                Told::New
            }
        }
    }

    /// A process ends; if nobody knew of it, `is_wanted` says whether it was to be followed.
    fn end(&mut self, pid: u32, at: i64, is_wanted: bool) {
        let lifetimes = self.of.entry(pid).or_default();
        let followed = match lifetimes.now {
            // The end of one before it, told late.
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
