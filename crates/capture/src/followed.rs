//! Decides which processes are recorded. Page events of other processes stay out of the files.
//!
//! The kernel session delivers the page events of every process, with stacks, threads and command lines, including
//! those of other users; and whoever reads the files may have fewer rights than the recorder. [`Followed`] stands
//! between the session's consumer and its lane: it learns from the stream itself which processes there are, and passes
//! on only the events that belong to recorded ones.
//!
//! * A process is followed because its id was given, because its image has one of the given names, or because a
//!   followed process started it. It is followed until it ends, since process ids are reused.
//! * A page event belongs to the process in its payload. If it comes before the start event of that process (pages of a
//!   child are allocated before it is announced), it waits for the start event, and for nothing else. If the process is
//!   not announced in time, the event is dropped and counted.
//! * A thread event or thread name belongs to the process of the thread. Process events of processes that are not
//!   followed pass without their command line.
//! * A CPU sample belongs to the process of its thread, which thread events name; it waits for them as page events wait
//!   for their process. Samples of idle CPUs are dropped.
//! * A page fault is treated like a sample if its thread is known; else it waits for its stack, which names its process.
//! * A stack is treated like its event (same time, same thread), whenever it comes.
//! * Events that are about no process pass, because the rest is read with them. An event of a kind that is not known,
//!   or that cannot be read, may be another process's, and is dropped.
//!
//! It also detects that Windows hides the addresses of kernel modules.
//!
//! Events keep their order, except those that had to wait: they are passed on, in their own order, before the event
//! that decided about them.
//!
//! Cost: one table lookup for each event, two for a stack if pages of other processes were just allocated; no
//! allocation for events of known processes, except for page faults without a thread. Memory: the waiting events (4 MB
//! as they are counted, and as much for samples, in vectors that may have as much spare capacity), and tables of limited
//! size.

mod callers;
mod elsewhere;
mod faults;
mod lifetimes;
mod names;
#[cfg(test)]
mod tests;
mod threads;
mod waiting;

use std::collections::VecDeque;

use callers::Callers;
pub use elsewhere::Elsewhere;
use faults::ThreadlessFaults;
use lifetimes::{FollowedLifetimes, Told};
use names::Names;
use threads::Threads;
use waiting::Waiting;

use super::constants::SYSTEM_PROCESS;
use crate::etl::write::NewEvent;
use crate::events::{Event, EventOwner, ProcessChange, ProcessEvent, ProcessInfo, Record, command_line, event_owner};
use crate::units::{Pid, Tid};

/// The thread id of an idle CPU.
const IDLE: Tid = Tid(0);

/// Which processes to follow. The default has no restriction: everything is recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// Ids of running processes, or of processes whose start event is still to come.
    pub pids: Vec<u32>,
    /// File names of images, for example `game.exe`; case does not matter.
    pub names: Vec<String>,
    /// Whether the processes that a followed one starts are followed too.
    pub children: bool,
}

/// A process that is followed from now on, as announced in the stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Started {
    /// Its id.
    pub pid: u32,
    /// Id of its parent, which may have ended.
    pub parent: u32,
    /// The file name of its image.
    pub name: String,
    /// Why it is followed.
    pub because: Because,
}

/// The reason why a process is followed; the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Because {
    /// Its id was given.
    Told,
    /// Its image has one of the names.
    Name,
    /// A followed process started it.
    Parent,
}

/// Passes on the events of the followed processes.
#[derive(Debug)]
pub struct Followed {
    /// The wanted image names; `None` if all processes are followed.
    names: Option<Names>,
    children: bool,
    lifetimes: FollowedLifetimes,
    callers: Callers,
    threads: Threads,
    waiting: Waiting,
    /// Samples and page faults of threads that no thread event has named yet.
    samples: Waiting,
    /// Page faults without a thread.
    faults: ThreadlessFaults,
    news: VecDeque<Started>,
    dropped: u64,
    undecided: u64,
    hides_kernel: bool,
    /// The latest time of an event.
    now: i64,
}

impl Followed {
    /// Creates a filter. `frequency` is the number of ticks in a second of event time.
    pub fn new(rules: &Rules, frequency: u64) -> Self {
        let restricts = !rules.pids.is_empty() || !rules.names.is_empty();
        let mut lifetimes = FollowedLifetimes::default();
        for &pid in &rules.pids {
            lifetimes.follow(pid, i64::MIN);
        }
        Self {
            names: restricts.then(|| Names::new(&rules.names)),
            children: rules.children,
            lifetimes,
            callers: Callers::default(),
            threads: Threads::default(),
            waiting: Waiting::new(frequency),
            samples: Waiting::new(frequency),
            faults: ThreadlessFaults::default(),
            news: VecDeque::new(),
            dropped: 0,
            undecided: 0,
            hides_kernel: false,
            now: i64::MIN,
        }
    }

    /// Takes the next event of the stream; calls `pass` with each event to be recorded now.
    pub fn take(&mut self, event: &NewEvent<'_>, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        if self.names.is_none() {
            return pass(event);
        }
        self.now = self.now.max(event.time);
        match event_owner(event) {
            None => self.dropped += 1,
            Some(EventOwner::Everybody) => pass(event),
            Some(EventOwner::Process(Record { time, pid, event: Event::Process(change, info), .. })) => {
                self.expire();
                // The end event of a process is its last, so the state before it decides.
                let was_followed = self.lifetimes.is_followed(pid.0);
                self.learn((pid.0, time), event.pid.0, change, &info);
                self.settle(pid.0, pass);
                self.pass_process((pid, time), was_followed, event, pass);
            }
            Some(EventOwner::Process(Record { time, pid, .. })) => self.pass_process((pid, time), false, event, pass),
            // It ended long ago, its id may have been reused, and everything needed about it came earlier.
            Some(EventOwner::DefunctProcess(_)) => pass_without_line(event, pass),
            Some(EventOwner::Image { pid: Pid(0..=SYSTEM_PROCESS), base: 0 }) => {
                self.hides_kernel = true;
                pass(event);
            }
            Some(EventOwner::Image { .. }) => pass(event),
            Some(EventOwner::Thread { pid, tid, has_ended }) => {
                self.threads.learn(tid.0, pid.0, has_ended);
                for (at, sample) in self.samples.take(tid.0) {
                    sample.give(&mut |sample| self.judge((pid.0, at), sample, pass));
                }
                self.judge((pid.0, event.time), event, pass);
            }
            Some(EventOwner::ThreadName(pid)) => self.judge((pid.0, event.time), event, pass),
            Some(EventOwner::Sample(IDLE)) => self.dropped += 1,
            Some(EventOwner::Fault(tid)) if !tid.is_known() => {
                let given_up = u64::from(self.faults.push(event));
                self.dropped += given_up;
                self.undecided += given_up;
            }
            Some(EventOwner::Sample(tid) | EventOwner::Fault(tid)) => match self.threads.owner(tid.0) {
                Some(pid) => self.judge((pid, event.time), event, pass),
                None => {
                    self.samples.push(tid.0, event.time, event);
                    self.expire();
                }
            },
            Some(EventOwner::Pages(owner)) => {
                self.callers.note(event, owner);
                self.judge((owner.0, event.time), event, pass);
            }
            Some(EventOwner::Stack { owner, pid, tid }) => {
                if let Some(fault) = self.faults.take(owner) {
                    fault.give(&mut |fault| self.judge((pid.0, owner), fault, pass));
                }
                let pid = self.callers.owner_of_pages(owner, tid).unwrap_or(pid);
                self.judge((pid.0, owner), event, pass);
            }
        }
    }

    /// Follows a process that the rules do not name, from now on until it ends. Passes on the events that have waited
    /// for a decision about it.
    pub fn follow(&mut self, pid: u32, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        if self.names.is_some() {
            self.expire();
            self.lifetimes.follow(pid, self.now);
            self.settle(pid, pass);
        }
    }

    /// Whether the process that has this id now is followed; always true without restrictions.
    pub fn is_followed(&self, pid: u32) -> bool {
        self.names.is_none() || self.lifetimes.is_followed(pid)
    }

    /// Whether Windows hides the addresses of kernel modules. It does so (Windows 11 24H2) if the process lacks the
    /// debug privilege; kernel frames cannot be symbolized then.
    pub fn hides_kernel(&self) -> bool {
        self.hides_kernel
    }

    /// Passes on a process event, with its command line only if the process is followed or was until now.
    fn pass_process(&self, (pid, at): (Pid, i64), was_followed: bool, event: &NewEvent<'_>, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        if was_followed || self.lifetimes.was_followed(pid.0, at) == Some(true) {
            return pass(event);
        }
        pass_without_line(event, pass);
    }

    /// Whether the process that had this id at this time was followed then; `None` if that is not known yet.
    fn was_followed(&self, pid: u32, at: i64) -> Option<bool> {
        if self.names.is_none() { Some(true) } else { self.lifetimes.was_followed(pid, at) }
    }

    /// Ids of the followed processes that have not ended, ascending; empty without restrictions.
    pub fn pids(&self) -> Vec<u32> {
        self.lifetimes.followed()
    }

    /// The processes that the stream announced as followed since the last call. Processes whose ids were given are
    /// among them once the stream has named them.
    pub fn news(&mut self) -> Vec<Started> {
        self.news.drain(..).collect()
    }

    /// Number of dropped events.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Number of dropped events whose process was not announced in time; they may or may not have been wanted.
    pub fn undecided(&self) -> u64 {
        self.undecided
    }

    /// Passes on, drops or holds back an event that belongs to the process with this id at this time.
    fn judge(&mut self, (pid, at): (u32, i64), event: &NewEvent<'_>, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        match self.lifetimes.was_followed(pid, at) {
            Some(true) => pass(event),
            Some(false) => self.dropped += 1,
            None => {
                self.waiting.push(pid, at, event);
                self.expire();
            }
        }
    }

    /// Learns from a process event. `writer` is the process that wrote it: for a start, the process that called
    /// CreateProcess, whichever parent it named.
    fn learn(&mut self, (pid, time): (u32, i64), writer: u32, change: ProcessChange, info: &ProcessInfo) {
        let because = if self.names.as_ref().is_some_and(|names| names.have(info)) {
            Some(Because::Name)
        } else {
            let is_child = self.children && change == ProcessChange::Start;
            let followed = |pid| self.lifetimes.was_followed(pid, time) == Some(true);
            (is_child && (followed(info.parent) || followed(writer))).then_some(Because::Parent)
        };
        let because = match self.lifetimes.learn(pid, &ProcessEvent::new(change, info, time), because.is_some()) {
            Told::Known => None,
            Told::New => because,
            Told::Awaited => Some(Because::Told),
        };
        if let Some(because) = because {
            self.tell(Started { pid, parent: info.parent, name: info.name.clone(), because });
        }
    }

    /// Queues news. The queue is bounded, since nobody may ask for it: the oldest entries are dropped.
    fn tell(&mut self, started: Started) {
        const MOST_NEWS: usize = 1024;
        if self.news.len() == MOST_NEWS {
            self.news.pop_front();
        }
        self.news.push_back(started);
    }

    /// Passes on or drops the events that have waited for a decision about a process.
    fn settle(&mut self, pid: u32, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        let Self { lifetimes, waiting, dropped, .. } = self;
        *dropped += waiting.settle(pid, |at| lifetimes.was_followed(pid, at), pass);
    }

    /// Drops events that have waited too long or take too much memory.
    fn expire(&mut self) {
        while let Some((_, events)) = self.samples.expire(self.now) {
            self.dropped += events;
            self.undecided += events;
        }
        while let Some((pid, events)) = self.waiting.expire(self.now) {
            self.dropped += events;
            self.undecided += events;
            self.lifetimes.presume_foreign(pid);
        }
    }
}

/// Passes on a process event without its command line.
fn pass_without_line(event: &NewEvent<'_>, pass: &mut dyn FnMut(&NewEvent<'_>)) {
    const NOTHING: [u8; 2] = [0; 2];
    let Some(line) = command_line(event) else { return pass(event) };
    let payload = [&event.payload[..line.start], &NOTHING[..], &event.payload[line.end..]].concat();
    pass(&NewEvent { payload: &payload, ..*event });
}
