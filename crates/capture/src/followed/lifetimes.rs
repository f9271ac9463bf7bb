//! Which process had an id at which time ([`ProcessLifetimes`]), and whether it is followed.
//!
//! For each id, the process that has it now and the one that had it before are kept, for late events. Events come
//! nearly in order, and each is judged by its own time.

use std::collections::VecDeque;

use crate::events::{LifetimeChange, ProcessEvent, ProcessLifetimes};
use crate::units::Pid;

/// More processes than a machine has; further ones are ignored.
const MOST: usize = 1 << 16;
/// Number of ended processes that are kept.
const MOST_ENDED: usize = 4096;

/// The known processes.
#[derive(Debug, Default)]
pub(super) struct FollowedLifetimes {
    lifetimes: ProcessLifetimes<Following>,
    /// Process ids and end times, in the order of their end events.
    ended: VecDeque<(Pid, i64)>,
}

/// Whether a process is followed.
#[derive(Clone, Copy, Debug)]
enum Following {
    /// It is followed, but the stream has not named it yet.
    Awaited { from: i64 },
    /// The stream did not name it in time, so it is not followed until then.
    Presumed,
    /// The stream has named it.
    Named(FollowedFrom),
}

/// The time from which a process is followed; `None` if it is not. Earlier events were dropped already, so their stacks
/// are dropped too.
type FollowedFrom = Option<i64>;

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

impl Following {
    fn from(self) -> FollowedFrom {
        match self {
            Self::Awaited { from } => Some(from),
            Self::Presumed => None,
            Self::Named(followed) => followed,
        }
    }
}

impl FollowedLifetimes {
    /// Number of ids in the table.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lifetimes.len().max(self.ended.len())
    }

    /// Follows the process that has this id now, or the next one that is named with it. `now` is the newest event time.
    pub(super) fn follow(&mut self, pid: u32, now: i64) {
        let from_now = now.saturating_add(1);
        let Some(following) = self.lifetimes.present_mut(Pid(pid)) else {
            self.lifetimes.expect(Pid(pid), Following::Awaited { from: i64::MIN });
            return;
        };
        *following = match *following {
            Following::Named(followed) => Following::Named(followed.or(Some(from_now))),
            Following::Presumed => Following::Awaited { from: from_now },
            Following::Awaited { from } => Following::Awaited { from },
        };
    }

    /// Whether the process that had this id at this time is followed at that time; `None` if it is not known.
    pub(super) fn was_followed(&self, pid: u32, at: i64) -> Option<bool> {
        let following = self.lifetimes.at(Pid(pid), at)?;
        Some(following.from().is_some_and(|from| from <= at))
    }

    /// Whether the process that has this id now is followed.
    pub(super) fn is_followed(&self, pid: u32) -> bool {
        self.lifetimes.present(Pid(pid)).and_then(Following::from).is_some()
    }

    /// Ids of the processes that are followed now, ascending.
    pub(super) fn followed(&self) -> Vec<u32> {
        let present = self.lifetimes.all_present();
        let mut pids: Vec<u32> = present.filter(|(_, following)| following.from().is_some()).map(|(pid, _)| pid.0).collect();
        pids.sort_unstable();
        pids
    }

    /// Presumes that the process with this id is not followed, until it is named. Does nothing if the id is known:
    /// after the end of a process, the waiting events were its last ones and say nothing about the next process.
    pub(super) fn presume_foreign(&mut self, pid: u32) {
        if !self.lifetimes.has(Pid(pid)) && self.lifetimes.len() < MOST {
            self.lifetimes.expect(Pid(pid), Following::Presumed);
        }
    }

    /// Learns from a process event; `is_wanted` says whether such a process is to be followed.
    pub(super) fn learn(&mut self, pid: u32, event: &ProcessEvent, is_wanted: bool) -> Told {
        let pid = Pid(pid);
        if self.lifetimes.len() >= MOST && !self.lifetimes.has(pid) {
            return Told::Known;
        }
        let named = Following::Named(is_wanted.then_some(i64::MIN));
        // No event but those of processes is noted here, so none can have come just before a start.
        match self.lifetimes.apply(pid, event, 0, || named) {
            LifetimeChange::Past => Told::Known,
            LifetimeChange::Same { process, .. } => {
                let (news, followed) = match process {
                    Following::Awaited { from } => (Told::Awaited, Some(from)),
                    Following::Presumed => (Told::New, is_wanted.then_some(event.time)),
                    Following::Named(followed) => (Told::Known, followed),
                };
                if let Some(following) = self.lifetimes.present_mut(pid) {
                    *following = Following::Named(followed);
                }
                news
            }
            LifetimeChange::Begins { ended, .. } => {
                if ended.is_some() {
                    self.keep_ended(pid);
                }
                Told::New
            }
            LifetimeChange::Ends(_) => {
                self.keep_ended(pid);
                Told::Known
            }
        }
    }

    /// Notes that a process has ended, and forgets the oldest one that has.
    fn keep_ended(&mut self, pid: Pid) {
        self.ended.extend(self.lifetimes.ended_at(pid).map(|at| (pid, at)));
        if self.ended.len() > MOST_ENDED
            && let Some((pid, at)) = self.ended.pop_front()
        {
            self.lifetimes.forget_ended(pid, at);
        }
    }
}
