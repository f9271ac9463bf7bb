//! Whose pages are recorded. The kernel's session delivers VirtualAlloc and VirtualFree of
//! all processes; what belongs to none that is followed is left out here, before it reaches
//! its lane, with its stacks. All other events pass.
//!
//! Who is followed is known from the session's own events (starts, rundowns and ends of
//! processes) and from who calls [`Followed::follow`]. A page event belongs to the process
//! in its payload. What is committed for a child comes before the child's start, so events
//! of a process that is not known yet wait for it; what waits for too long is taken for
//! another program's, and counted. A stack goes where its event went: it may come late, in
//! two parts, and when its process has ended.
//!
//! Memory: some MB for what waits and for what became of events whose caller does not tell
//! it; an entry a process. Cost: a look-up or two an event. Nothing is allocated for events of
//! known processes.

#[cfg(test)]
mod tests;
mod waiting;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use self::waiting::{EventKey, Fate, Fates, HeldEvent, WaitingEvents};
use crate::etl::write::NewEvent;
use crate::etl::{Extended, RawEvent};
use crate::events::{self, Event, ProcessChange, ProcessInfo, hook, kernel_hook};

/// Who is followed. What fits one of them is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// The processes that have these ids now, or have them next.
    pub pids: Vec<u32>,
    /// All whose image has one of these file names, whatever their case.
    pub names: Vec<String>,
    /// All that a followed one starts: launchers and the stubs of shops end at once.
    pub with_children: bool,
}

/// Why a process is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Because {
    /// Its id was chosen, at the start or by [`Followed::follow`].
    Id,
    /// The name of its image was.
    Name,
    /// A followed process started it.
    Child,
}

/// A process that is followed from now on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Started {
    /// Its id.
    pub pid: u32,
    /// That of the process which started it.
    pub parent: u32,
    /// File name of its image.
    pub name: String,
    /// Why.
    pub because: Because,
}

/// Takes events of the kernel's session and passes on those that are to be recorded.
#[derive(Debug)]
pub struct Followed {
    /// `None` to record everything.
    rules: Option<Rules>,
    /// Processes that run.
    lives: FxHashMap<u32, Life>,
    /// Followed processes that ended last.
    ended: VecDeque<EndedLife>,
    fates: Fates,
    waiting: WaitingEvents,
    news: VecDeque<Started>,
    dropped: u64,
    undecided: u64,
}

/// A process that runs.
#[derive(Clone, Copy, Debug)]
struct Life {
    /// Address of the kernel's object: another one is another life. `None` while no event has told of it.
    key: Option<u64>,
    /// Its own events are not older.
    from: i64,
    /// `None` if it is not followed.
    because: Option<Because>,
}

/// A followed process that has ended: its last stacks may come after that.
#[derive(Clone, Copy, Debug)]
struct EndedLife {
    pid: u32,
    from: i64,
    until: i64,
}

/// As many processes as Windows may have; more are lies, or ends that were lost.
const MAX_LIVES: usize = 1 << 16;
const MAX_ENDED: usize = 64;
/// Who asks for news less often misses the oldest.
const MAX_NEWS: usize = 1024;

/// Who takes what passes.
pub type Pass<'a> = &'a mut dyn FnMut(&NewEvent<'_>);

impl Followed {
    /// Follows who fits these rules; everybody if there are none.
    pub fn new(rules: Option<Rules>) -> Self {
        let chosen = rules.iter().flat_map(|rules| &rules.pids);
        let lives = chosen.map(|&pid| (pid, Life::CHOSEN)).collect();
        Self {
            lives,
            rules,
            ended: VecDeque::new(),
            fates: Fates::default(),
            waiting: WaitingEvents::default(),
            news: VecDeque::new(),
            dropped: 0,
            undecided: 0,
        }
    }

    /// Follows a process from now on, whatever the rules; it may be one whose start is still to be told.
    pub fn follow(&mut self, pid: u32, pass: Pass<'_>) {
        let life = self.lives.entry(pid).or_insert(Life::CHOSEN);
        life.because.get_or_insert(Because::Id);
        self.decide(pid, true, pass);
    }

    /// Takes an event, and passes on what can be told by now: this event, others, or none.
    pub fn take(&mut self, event: &NewEvent<'_>, pass: Pass<'_>) {
        if self.rules.is_none() {
            return pass(event);
        }
        match kernel_hook(event.id) {
            Some(hook::VIRTUAL_ALLOC | hook::VIRTUAL_FREE | hook::VIRTUAL_RUNDOWN_START) => self.take_pages(event, pass),
            Some(hook::STACK | hook::STACK_KEY_REF_KERNEL | hook::STACK_KEY_REF_USER) => self.take_stack(event, pass),
            Some(hook::PROCESS_START..=hook::PROCESS_RUNDOWN_END) => self.take_process(event, pass),
            _ => pass(event),
        }
    }

    /// Whether a process that runs is followed.
    pub fn is_followed(&self, pid: u32) -> bool {
        self.rules.is_none() || self.lives.get(&pid).is_some_and(Life::is_followed)
    }

    /// Ids of the followed processes that run, or are to be, in order; empty where everything is recorded.
    pub fn pids(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = self.lives.iter().filter(|(_, life)| life.is_followed()).map(|(pid, _)| *pid).collect();
        pids.sort_unstable();
        pids
    }

    /// Processes that became followed since the last call and have told their names, oldest first.
    pub fn news(&mut self) -> Vec<Started> {
        self.news.drain(..).collect()
    }

    /// Events that were left out, stacks too.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Those of them of which nobody could tell whose they are.
    pub fn undecided(&self) -> u64 {
        self.undecided
    }

    fn take_pages(&mut self, event: &NewEvent<'_>, pass: Pass<'_>) {
        let Some(owner) = events::page_owner(&raw(event)) else { return pass(event) };
        let key = EventKey::new(event.time, event.tid);
        let caller = self.lives.get(&event.pid.0).map(Life::is_followed);
        match self.lives.get(&owner.0).map(Life::is_followed) {
            Some(true) => {
                // Else the stack's process tells as much.
                if caller != Some(true) {
                    self.fates.set(key, Fate::Kept);
                }
                pass(event);
            }
            Some(false) => {
                if caller != Some(false) {
                    self.fates.set(key, Fate::Dropped);
                }
                self.dropped += 1;
            }
            None => {
                self.fates.set(key, Fate::Waits(owner.0));
                self.wait(HeldEvent::new(event, owner.0, key, false));
            }
        }
    }

    fn take_stack(&mut self, event: &NewEvent<'_>, pass: Pass<'_>) {
        let Some(of) = events::stack_owner(&raw(event)) else { return pass(event) };
        let key = EventKey::new(of.time, of.tid);
        match self.fates.get(key) {
            Some(Fate::Waits(owner)) => self.wait(HeldEvent::new(event, owner, key, true)),
            Some(Fate::Kept) => pass(event),
            None if self.was_followed(of.pid.0, of.time) => pass(event),
            Some(Fate::Dropped) | None => self.dropped += 1,
        }
    }

    /// Whether a process was followed when it did something.
    fn was_followed(&self, pid: u32, time: i64) -> bool {
        let ended = || self.ended.iter().any(|life| life.pid == pid && (life.from..=life.until).contains(&time));
        self.lives.get(&pid).is_some_and(|life| life.is_followed() && time >= life.from) || ended()
    }

    fn wait(&mut self, event: HeldEvent) {
        self.waiting.push(event);
        while let Some(oldest) = self.waiting.too_much() {
            // Its stacks, should they wait too, follow it.
            self.fates.set(oldest.key, Fate::Dropped);
            self.dropped += 1;
            self.undecided += 1;
        }
    }

    fn take_process(&mut self, event: &NewEvent<'_>, pass: Pass<'_>) {
        if let Some(record) = events::process(&raw(event))
            && let Event::Process(change, info) = record.event
        {
            let pid = record.pid.0;
            match change {
                ProcessChange::End => self.end(pid, event.time, info.key),
                ProcessChange::Start => self.begin(pid, event.time, true, *info, pass),
                ProcessChange::Rundown => self.begin(pid, i64::MIN, false, *info, pass),
            }
        }
        pass(event);
    }

    /// A process runs, since it was started or for longer.
    fn begin(&mut self, pid: u32, from: i64, is_start: bool, info: ProcessInfo, pass: Pass<'_>) {
        let before = self.lives.get(&pid).copied();
        if before.is_some_and(|life| life.key == Some(info.key)) {
            return;
        }
        let because = match before {
            Some(Life { key: None, because, .. }) => because,
            // Where its end was not told, its id is another's now.
            _ => self.reason(is_start, &info),
        };
        self.make_room();
        self.lives.insert(pid, Life { key: Some(info.key), from, because });
        self.decide(pid, because.is_some(), pass);
        if let Some(because) = because {
            if self.news.len() == MAX_NEWS {
                self.news.pop_front();
            }
            self.news.push_back(Started { pid, parent: info.parent, name: info.name, because });
        }
    }

    fn reason(&self, is_start: bool, info: &ProcessInfo) -> Option<Because> {
        let rules = self.rules.as_ref()?;
        if rules.names.iter().any(|name| is_named(info, name)) {
            return Some(Because::Name);
        }
        // Of those that run already, the id of the parent may be another's by now.
        (is_start && rules.with_children && self.is_followed(info.parent)).then_some(Because::Child)
    }

    fn end(&mut self, pid: u32, time: i64, key: u64) {
        let is_that = |life: &Life| life.key.is_none_or(|known| known == key);
        let Some(life) = self.lives.get(&pid).copied().filter(is_that) else { return };
        self.lives.remove(&pid);
        if life.is_followed() {
            if self.ended.len() == MAX_ENDED {
                self.ended.pop_front();
            }
            self.ended.push_back(EndedLife { pid, from: life.from, until: time });
        }
    }

    /// It is known now whether a process is followed: what waited for that goes on.
    fn decide(&mut self, pid: u32, is_followed: bool, pass: Pass<'_>) {
        let Self { fates, waiting, dropped, .. } = self;
        waiting.release(pid, |event| {
            let is_lost = event.is_stack && fates.get(event.key) == Some(Fate::Dropped);
            if is_followed && !is_lost {
                fates.set(event.key, Fate::Kept);
                event.with(|event| pass(event));
            } else {
                fates.set(event.key, Fate::Dropped);
                *dropped += 1;
            }
        });
    }

    /// Where ends were lost, the others have to be told of again.
    fn make_room(&mut self) {
        if self.lives.len() >= MAX_LIVES {
            self.lives.retain(|_, life| life.is_followed());
        }
        if self.lives.len() >= MAX_LIVES {
            self.lives.clear();
        }
    }
}

impl Life {
    /// Of which no event has told yet.
    const CHOSEN: Self = Self { key: None, from: i64::MIN, because: Some(Because::Id) };

    fn is_followed(&self) -> bool {
        self.because.is_some()
    }
}

/// Whether a process runs an image of this name. What events say of it may be cut off (15
/// bytes are what the kernel's object has) and is in one of the old code pages: then the
/// command line's program counts too.
fn is_named(info: &ProcessInfo, name: &str) -> bool {
    const CUT_OFF: usize = 14;
    let is_same = |said: &str| said.to_lowercase() == name.to_lowercase();
    let is_vague = info.name.len() >= CUT_OFF || !info.name.is_ascii() || info.name.contains('?');
    is_same(&info.name) || is_vague && is_same(program_of(&info.command_line))
}

/// File name of the program that a command line begins with.
fn program_of(command_line: &str) -> &str {
    let program = match command_line.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => command_line.split([' ', '\t']).next(),
    };
    program.and_then(|program| program.rsplit(['\\', '/']).next()).unwrap_or_default()
}

/// As decoders want it; they look at no items.
fn raw<'a>(event: &NewEvent<'a>) -> RawEvent<'a> {
    let NewEvent { kind, pointer, time, pid, tid, id, version, payload, .. } = *event;
    RawEvent { kind, pointer, time, pid, tid, id, version, extended: Extended::default(), payload, offset: 0 }
}
