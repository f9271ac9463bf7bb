//! Which processes are recorded: what comes of the pages of others stays out of the files.
//!
//! The kernel's session has the pages of every process, with their stacks, their threads and their command lines, those of
//! other users among them; and who looks at the files may have fewer rights than the recorder. [`Followed`] stands
//! between its consumer and its lane: it learns from the stream itself which processes there are,
//! and passes on what is needed of them.
//!
//! * A process is followed because its id was told, because its image has one of the names, or
//!   because one that is followed started it. It is that until it ends: ids are used again.
//! * Pages belong to the process in their payload. What comes before the start event of that
//!   process (pages of a child are made before it is announced) waits for it, and for nothing else;
//!   of a process that is not announced in time it is dropped, and counted.
//! * Threads belong to their process, and their names. Of a process that is not followed the events pass without the
//!   command line.
//! * A sample of a processor belongs to the process of its thread, as events of threads tell; it waits for
//!   those as pages do for processes. Of idle processors nothing is passed on.
//! * A stack goes with its event, wherever and whenever it comes: same time, same thread.
//! * All else passes, for it is what the rest is read with.
//!
//! It notices that Windows hides where the kernel's modules are.
//!
//! What is passed on keeps its order, but for what had to wait: that comes, in its own order,
//! before the event that decided.
//!
//! Cost: one look into a table an event, two of a stack where pages of other processes were just
//! allocated; nothing is allocated for events of processes that are known. Memory: what waits (4 MB as
//! it is counted, and as much of samples, in vectors that may have as much to spare), and tables of fixed most sizes.

mod callers;
mod elsewhere;
mod lives;
mod names;
#[cfg(test)]
mod tests;
mod threads;
mod waiting;

use std::collections::VecDeque;

use callers::Callers;
pub use elsewhere::Elsewhere;
use lives::{Lives, Told};
use names::Names;
use threads::Threads;
use waiting::Waiting;

use super::constants::SYSTEM_PROCESS;
use crate::etl::write::NewEvent;
use crate::events::{Event, ProcessChange, ProcessInfo, Record, Whose, command_line, whose};
use crate::units::{Pid, Tid};

/// The thread of a processor that has nothing to do.
const IDLE: Tid = Tid(0);

/// What is followed. The default restricts nothing: then everything is recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// Processes that run, or whose start event is still to come.
    pub pids: Vec<u32>,
    /// File names of images, for example `game.exe`; upper and lower case are the same.
    pub names: Vec<String>,
    /// Whether the processes that a followed one starts are followed too.
    pub children: bool,
}

/// A process that is followed from now on, as the stream told it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Started {
    /// Its id.
    pub pid: u32,
    /// Id of its parent, which may have ended.
    pub parent: u32,
    /// File name of its image.
    pub name: String,
    /// Why it is followed.
    pub because: Because,
}

/// Why a process is followed; the first that fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Because {
    /// Somebody told its id.
    Told,
    /// Of the name of its image.
    Name,
    /// A followed process started it.
    Parent,
}

/// Passes on what comes of the followed processes.
#[derive(Debug)]
pub struct Followed {
    /// `None` if all are.
    names: Option<Names>,
    children: bool,
    lives: Lives,
    callers: Callers,
    threads: Threads,
    waiting: Waiting,
    /// Samples of threads that nobody told of yet.
    samples: Waiting,
    news: VecDeque<Started>,
    dropped: u64,
    undecided: u64,
    hides_kernel: bool,
    /// The latest time of an event.
    now: i64,
}

impl Followed {
    /// `frequency`: ticks a second of the events' times.
    pub fn new(rules: &Rules, frequency: u64) -> Self {
        let restricts = !rules.pids.is_empty() || !rules.names.is_empty();
        let mut lives = Lives::default();
        for &pid in &rules.pids {
            lives.follow(pid, i64::MIN);
        }
        Self {
            names: restricts.then(|| Names::new(&rules.names)),
            children: rules.children,
            lives,
            callers: Callers::default(),
            threads: Threads::default(),
            waiting: Waiting::new(frequency),
            samples: Waiting::new(frequency),
            news: VecDeque::new(),
            dropped: 0,
            undecided: 0,
            hides_kernel: false,
            now: i64::MIN,
        }
    }

    /// Takes the next event of the stream; `pass` gets what is to be recorded now.
    pub fn take(&mut self, event: &NewEvent<'_>, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        if self.names.is_none() {
            return pass(event);
        }
        self.now = self.now.max(event.time);
        match whose(event) {
            None => pass(event),
            Some(Whose::Process(Record { time, pid, event: Event::Process(change, info), .. })) => {
                self.expire();
                // The end of a process is the last that is known of it.
                let was_followed = self.lives.is_followed(pid.0);
                self.learn((pid.0, time), event.pid.0, change, &info);
                self.settle(pid.0, pass);
                self.pass_process((pid, time), was_followed, event, pass);
            }
            Some(Whose::Process(Record { time, pid, .. })) => self.pass_process((pid, time), false, event, pass),
            // It ended long ago, and its id may be another's; all that is wanted of it was told before.
            Some(Whose::DefunctProcess(_)) => pass_without_line(event, pass),
            Some(Whose::Image { pid: Pid(0..=SYSTEM_PROCESS), base: 0 }) => {
                self.hides_kernel = true;
                pass(event);
            }
            Some(Whose::Image { .. }) => pass(event),
            Some(Whose::Thread { pid, tid, has_ended }) => {
                self.threads.learn(tid.0, pid.0, has_ended);
                for (at, sample) in self.samples.take(tid.0) {
                    sample.give(&mut |sample| self.judge((pid.0, at), sample, pass));
                }
                self.judge((pid.0, event.time), event, pass);
            }
            Some(Whose::ThreadName(pid)) => self.judge((pid.0, event.time), event, pass),
            Some(Whose::Sample(IDLE)) => self.dropped += 1,
            Some(Whose::Sample(tid)) => match self.threads.owner(tid.0) {
                Some(pid) => self.judge((pid, event.time), event, pass),
                None => {
                    self.samples.push(tid.0, event.time, event);
                    self.expire();
                }
            },
            Some(Whose::Pages(owner)) => {
                self.callers.note(event, owner);
                self.judge((owner.0, event.time), event, pass);
            }
            Some(Whose::Stack { owner, pid, tid }) => {
                let pid = self.callers.owner_of_pages(owner, tid).unwrap_or(pid);
                self.judge((pid.0, owner), event, pass);
            }
        }
    }

    /// Follows a process that the rules do not name, from now on, until it ends. What has waited
    /// to know of it is passed on.
    pub fn follow(&mut self, pid: u32, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        if self.names.is_some() {
            self.expire();
            self.lives.follow(pid, self.now);
            self.settle(pid, pass);
        }
    }

    /// Whether a process is followed that has not ended; always if the rules restrict nothing.
    pub fn is_followed(&self, pid: u32) -> bool {
        self.names.is_none() || self.lives.is_followed(pid)
    }

    /// Whether Windows says of modules of the kernel that they are nowhere: it does so to who lacks the right to debug
    /// (Windows 11 24H2), and no frame of the kernel can have a name then.
    pub fn hides_kernel(&self) -> bool {
        self.hides_kernel
    }

    /// Passes on what tells of a process: with its command line only if it is followed, or was until now.
    fn pass_process(&self, (pid, at): (Pid, i64), was_followed: bool, event: &NewEvent<'_>, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        if was_followed || self.lives.was_followed(pid.0, at) == Some(true) {
            return pass(event);
        }
        pass_without_line(event, pass);
    }

    /// Whether the process that had an id at a time was followed then; `None` if it is not known yet.
    fn was_followed(&self, pid: u32, at: i64) -> Option<bool> {
        if self.names.is_none() { Some(true) } else { self.lives.was_followed(pid, at) }
    }

    /// Those that are followed and have not ended, in order; none if the rules restrict nothing.
    pub fn pids(&self) -> Vec<u32> {
        self.lives.followed()
    }

    /// The processes of which the stream told since the last call that they are followed. Those
    /// that were told by their ids are among them once the stream has named them.
    pub fn news(&mut self) -> Vec<Started> {
        self.news.drain(..).collect()
    }

    /// Events that were not passed on.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Those of them whose process was not announced in time: whether they were wanted is unknown.
    pub fn undecided(&self) -> u64 {
        self.undecided
    }

    /// Passes on, drops or keeps for later what belongs to a process at a time.
    fn judge(&mut self, (pid, at): (u32, i64), event: &NewEvent<'_>, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        match self.lives.was_followed(pid, at) {
            Some(true) => pass(event),
            Some(false) => self.dropped += 1,
            None => {
                self.waiting.push(pid, at, event);
                self.expire();
            }
        }
    }

    /// Takes note of what a process event says. `writer` is who wrote it: of a start the process
    /// that called for it, whoever it named as the parent.
    fn learn(&mut self, (pid, time): (u32, i64), writer: u32, change: ProcessChange, info: &ProcessInfo) {
        let because = if self.names.as_ref().is_some_and(|names| names.have(info)) {
            Some(Because::Name)
        } else {
            let is_child = self.children && change == ProcessChange::Start;
            let followed = |pid| self.lives.was_followed(pid, time) == Some(true);
            (is_child && (followed(info.parent) || followed(writer))).then_some(Because::Parent)
        };
        let because = match self.lives.learn(pid, time, change, info.key, because.is_some()) {
            Told::Known => None,
            Told::New => because,
            Told::Awaited => Some(Because::Told),
        };
        if let Some(because) = because {
            self.tell(Started { pid, parent: info.parent, name: info.name.clone(), because });
        }
    }

    /// Nobody may ask; the newest are what is of use then.
    fn tell(&mut self, started: Started) {
        const MOST_NEWS: usize = 1024;
        if self.news.len() == MOST_NEWS {
            self.news.pop_front();
        }
        self.news.push_back(started);
    }

    /// Decides what has waited to know of a process.
    fn settle(&mut self, pid: u32, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        let Self { lives, waiting, dropped, .. } = self;
        *dropped += waiting.settle(pid, |at| lives.was_followed(pid, at), pass);
    }

    /// Gives up what has waited too long, or takes too much memory.
    fn expire(&mut self) {
        while let Some((_, events)) = self.samples.expire(self.now) {
            self.dropped += events;
            self.undecided += events;
        }
        while let Some((pid, events)) = self.waiting.expire(self.now) {
            self.dropped += events;
            self.undecided += events;
            self.lives.presume_foreign(pid);
        }
    }
}

/// Passes on what tells of a process, without its command line.
fn pass_without_line(event: &NewEvent<'_>, pass: &mut dyn FnMut(&NewEvent<'_>)) {
    const NOTHING: [u8; 2] = [0; 2];
    let Some(line) = command_line(event) else { return pass(event) };
    let payload = [&event.payload[..line.start], &NOTHING[..], &event.payload[line.end..]].concat();
    pass(&NewEvent { payload: &payload, ..*event });
}
