//! What this Windows knows: its sessions, who consumes them, its clocks, and how it is to behave.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use super::calls::{FIRST_CONSUMER, FUNCTIONS};
use super::events::{HEAP, KERNEL, Lanes, Told, USER};
use super::patch;
use crate::constants::{AT_MAXIMUM_BUFFERS, AT_MINIMUM_BUFFERS, FILE_NOT_FOUND, NOT_FOUND};
use highwater::etl::Guid;
use highwater::events::class;
use windows_sys::Win32::System::Diagnostics::Etw::PEVENT_RECORD_CALLBACK;

/// What this Windows does and has seen. One test at a time has it.
pub struct Etw {
    pub sessions: Vec<Session>,
    pub consumers: Vec<Consumer>,
    /// Files that were opened.
    pub files: Vec<PathBuf>,
    /// What the installed manifests say: a TRACE_EVENT_INFO by provider, id and version.
    pub manifests: HashMap<(Guid, u16, u8), Vec<u8>>,
    /// Names of calls in their order, with the lane of their session.
    pub calls: Vec<String>,
    /// Error codes that calls return, by their name, or by that and a lane.
    pub refusals: HashMap<&'static str, u32>,
    /// Most sessions that may run.
    pub limit: usize,
    /// Most processes whose heaps a session traces.
    pub most_heap_pids: usize,
    /// Whether this process may not ask about sessions that it has not started.
    pub hides_others: bool,
    /// What programs tell as soon as a provider is asked for one of these keywords: once.
    pub rundowns: Vec<(Guid, u64, Vec<Told>)>,
    /// Whether the user may not have samples of processors.
    pub refuses_samples: bool,
    /// Providers that cannot be switched on.
    pub refused_providers: Vec<Guid>,
    /// Whether providers can be filtered.
    pub has_filters: bool,
    /// What sessions tell.
    pub lanes: Lanes,
    /// So many of the kernel's last events come only when its session is stopped.
    pub held: usize,
    /// Each lane stops telling after so many events, for as long as its session runs.
    pub pause_after: usize,
    /// What a stopped session still holds comes so slowly.
    pub drain: Drain,
    /// Whether a session that is stopped says that it still has consumers.
    pub stops_are_busy: bool,
    /// Clocks at the first event: of the trace, the counter, and the system's.
    pub clocks: Option<(i64, i64, i64)>,
    pub trace_start: i64,
    /// By how much somebody has set the system's clock, in FILETIME's unit. Times of events do
    /// not follow it.
    pub clock_step: i64,
}

/// How the rest of a stopped session comes.
#[derive(Clone, Copy, Default)]
pub enum Drain {
    #[default]
    AtOnce,
    /// Bit by bit over this long.
    Over(Duration),
    /// Never.
    Stuck,
}

/// A session.
pub struct Session {
    pub name: String,
    pub guid: [u8; 16],
    pub lane: usize,
    pub is_running: bool,
    pub stopped_at: Option<Instant>,
    /// As it was started, and as it was updated.
    pub properties: Vec<Vec<u8>>,
    pub stacks: Vec<u8>,
    pub masks: Vec<u8>,
    /// Images for which the registry had heaps traced when it was started.
    pub images: Vec<String>,
    /// Whether the recording that is tested has not started it.
    pub is_foreign: bool,
    pub providers: Vec<Provider>,
    pub events_lost: u32,
    pub buffers_lost: u32,
}

/// A provider that was switched on, or asked for something else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Provider {
    pub guid: Guid,
    pub level: u8,
    pub any: u64,
    pub properties: u32,
    /// Type and bytes of each.
    pub filters: Vec<(u32, Vec<u8>)>,
}

/// Who opened a session.
#[derive(Clone, Copy)]
pub struct Consumer {
    pub session: usize,
    /// The file that was opened, and no session.
    pub file: Option<usize>,
    pub callback: PEVENT_RECORD_CALLBACK,
    pub context: usize,
    pub mode: u32,
    pub is_closed: bool,
}

static ETW: Mutex<Option<Etw>> = Mutex::new(None);
pub static CHANGED: Condvar = Condvar::new();
static TURN: Mutex<()> = Mutex::new(());

/// ETW for one test.
pub struct Simulated {
    _turn: MutexGuard<'static, ()>,
}

impl Simulated {
    /// With these events to tell.
    pub fn new(lanes: Lanes, trace_start: i64) -> Self {
        static PATCH: Once = Once::new();
        PATCH.call_once(|| {
            let found = patch::redirect(&FUNCTIONS.map(|(name, function)| (name, function())));
            for (name, _) in FUNCTIONS {
                // Nobody may have a way to the real one that leads around this.
                assert!(found.contains(&name), "{name} is not imported");
            }
        });
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        *lock() = Some(Etw {
            sessions: Vec::new(),
            consumers: Vec::new(),
            files: Vec::new(),
            manifests: HashMap::new(),
            calls: Vec::new(),
            refusals: HashMap::new(),
            limit: 64,
            most_heap_pids: usize::MAX,
            hides_others: false,
            refuses_samples: false,
            rundowns: Vec::new(),
            refused_providers: Vec::new(),
            has_filters: true,
            lanes,
            held: 0,
            pause_after: usize::MAX,
            drain: Drain::AtOnce,
            stops_are_busy: false,
            clocks: None,
            trace_start,
            clock_step: 0,
        });
        Self { _turn: turn }
    }

    /// Looks at it, or changes it.
    pub fn with<R>(&self, look: impl FnOnce(&mut Etw) -> R) -> R {
        change(look)
    }

    /// Names of the sessions that run.
    pub fn running(&self) -> Vec<String> {
        self.with(|etw| etw.sessions.iter().filter(|s| s.is_running).map(|s| s.name.clone()).collect())
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        // Whoever still waits for events of this test goes on.
        with(|etw| etw.consumers.iter_mut().for_each(|consumer| consumer.is_closed = true));
        CHANGED.notify_all();
    }
}

pub fn lock() -> MutexGuard<'static, Option<Etw>> {
    ETW.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same from another thread of the test.
pub fn change<R>(look: impl FnOnce(&mut Etw) -> R) -> R {
    let result = with(look);
    CHANGED.notify_all();
    result
}

pub fn with<R>(look: impl FnOnce(&mut Etw) -> R) -> R {
    look(lock().as_mut().expect("a test must be running"))
}

const LANES: [&str; 3] = ["kernel", "heap", "user"];

impl Etw {
    /// Notes a call, and tells what it is to be refused with.
    pub fn called(&mut self, name: &'static str, lane: usize) -> Result<(), u32> {
        let with_lane = format!("{name} {}", LANES[lane]);
        let refusal = self.refusals.iter().find(|(key, _)| **key == name || **key == with_lane).map(|(_, code)| *code);
        self.calls.push(with_lane);
        refusal.map_or(Ok(()), Err)
    }

    /// Opens a file.
    pub fn open_file(&mut self, path: PathBuf, consumer: Consumer) -> Result<u64, u32> {
        self.calls.push("OpenTraceW file".to_owned());
        if let Some(code) = self.refusals.get("OpenTraceW file") {
            return Err(*code);
        }
        if !path.is_file() {
            return Err(FILE_NOT_FOUND);
        }
        self.files.push(path);
        self.consumers.push(Consumer { file: Some(self.files.len() - 1), ..consumer });
        Ok(FIRST_CONSUMER + self.consumers.len() as u64 - 1)
    }

    pub fn find(&mut self, handle: u64, name: &str) -> Result<usize, u32> {
        let is_it = |(i, s): (usize, &Session)| s.is_running && (handle_of(i) == handle || handle == 0 && s.name == name);
        (0..self.sessions.len()).find(|i| is_it((*i, &self.sessions[*i]))).ok_or(NOT_FOUND)
    }

    /// The last session of a lane that ran.
    pub fn of(&mut self, lane: usize) -> &mut Session {
        self.sessions.iter_mut().rfind(|session| session.lane == lane).expect("it was started")
    }
}

pub fn handle_of(session: usize) -> u64 {
    0x1000 + session as u64
}

impl Session {
    /// One that runs, nobody knows since when.
    pub fn called(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            guid: [0; 16],
            lane: KERNEL,
            is_running: true,
            stopped_at: None,
            properties: Vec::new(),
            stacks: Vec::new(),
            masks: Vec::new(),
            images: Vec::new(),
            is_foreign: true,
            providers: Vec::new(),
            events_lost: 0,
            buffers_lost: 0,
        }
    }

    /// The same, and it traces heaps.
    pub fn of_heaps(name: &str) -> Self {
        Self { guid: class::HEAP.to_bytes(), lane: HEAP, ..Self::called(name) }
    }

    /// Whether what it is to tell was switched on.
    pub fn has_begun(&self) -> bool {
        match self.lane {
            KERNEL => !self.masks.is_empty(),
            USER => !self.providers.is_empty(),
            _ => true,
        }
    }

    pub fn stop(&mut self) {
        self.is_running = false;
        self.stopped_at = Some(Instant::now());
    }

    /// Buffers it has: after losses it makes itself more, up to what it was allowed at its start.
    pub fn buffers(&self) -> u32 {
        let word =
            |at: usize| self.properties.first().map_or(0, |bytes| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
        let (minimum, maximum) = (word(AT_MINIMUM_BUFFERS), word(AT_MAXIMUM_BUFFERS));
        if self.events_lost > 0 { maximum } else { minimum }
    }
}
