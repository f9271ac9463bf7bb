//! The parameters of each session. All sessions start in the same steps: [`Plan::begin`] creates the session, then its
//! consumer is opened, then [`Plan::switch_on`] enables its events. Our own code makes the system calls: a library
//! would add imports to the elevated program that are not among Windows' KnownDLLs.
//!
//! * Kernel: a private system logger (Windows 8 and later). Its stacks are chosen before its events are enabled, and
//!   the events only when the consumer is open: running processes and images are reported at that moment, and only to a
//!   listener.
//! * Heaps: the session has the GUID of heaps, so its events come from the start. There is one for the whole machine.
//! * User-mode providers: custom heap trackers with stacks, and the optional ones ([`providers`]). If one cannot be
//!   enabled, only that one is missing.

use super::random::random_bytes;
use super::refusal::Refusal;
use super::session::{self, Session};
use crate::etl::Guid;
use crate::events::class;
use crate::properties::{
    Buffers, HEAP_SESSION, KERNEL_SESSION, SessionKind, SessionProperties, USER_SESSION, heap_stacks, kernel_flags,
    kernel_stacks, session_name, without_samples,
};
use crate::providers::{self, Purpose, Rundown, Wanted};
use crate::{CaptureError, Lane, Request, Target};

/// The plan for a session.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) name: String,
    /// The lane that its consumer fills.
    pub(super) lane: Lane,
    how: How,
    buffers: Buffers,
}

#[derive(Clone, Debug)]
enum How {
    Kernel {
        guid: Guid,
        flags: u32,
        stacks: Vec<u8>,
    },
    Heap {
        pids: Vec<u32>,
        stacks: Vec<u16>,
    },
    Providers {
        guid: Guid,
        wanted: Vec<Wanted>,
        /// Only these processes; all if empty.
        of: Vec<u32>,
        /// The recorded processes that run already.
        running: Vec<u32>,
    },
}

/// A session that was created.
pub(super) struct Begun {
    pub(super) session: Session,
    /// A part that is missing although the session is useful.
    pub(super) shortfall: Option<CaptureError>,
}

impl Plan {
    /// The kernel session: processes, threads and images, and page and sample events if requested.
    pub(super) fn kernel(request: &Request, machine: Machine) -> Self {
        let how = How::Kernel { guid: fresh_guid(), flags: kernel_flags(request), stacks: kernel_stacks(request) };
        Self {
            name: name(KERNEL_SESSION),
            lane: Lane::Pages,
            how,
            buffers: Buffers::kernel(machine.processors, machine.memory, request),
        }
    }

    /// The heap session: these processes, and those named in the registry.
    pub(super) fn heap(request: &Request, machine: Machine, pids: &[u32]) -> Self {
        // Process id 0 stands for future processes.
        let pids = if pids.is_empty() { vec![0] } else { pids.to_vec() };
        let how = How::Heap { pids, stacks: heap_stacks(request) };
        Self {
            name: name(HEAP_SESSION),
            lane: Lane::Heap,
            how,
            buffers: Buffers::heap(machine.processors, machine.memory, request),
        }
    }

    /// The provider session, if any provider is requested.
    pub(super) fn providers(request: &Request, machine: Machine, pids: &[u32]) -> Option<Self> {
        let wanted = providers::wanted(request);
        // Future processes cannot be in a filter.
        let of = if is_of(request) { pids.to_vec() } else { Vec::new() };
        (!wanted.is_empty()).then(|| Self {
            name: name(USER_SESSION),
            lane: Lane::User,
            how: How::Providers { guid: fresh_guid(), wanted, of, running: pids.to_vec() },
            buffers: Buffers::user(machine.processors, machine.memory, request),
        })
    }

    /// Its name in sentences.
    pub(super) fn title(&self) -> &'static str {
        match self.how {
            How::Kernel { .. } => "the kernel session",
            How::Heap { .. } => "the heap session",
            How::Providers { .. } => "the session of providers",
        }
    }

    /// Creates the session. If that fails, nothing of it is left.
    pub(super) fn begin(&self) -> Result<Begun, CaptureError> {
        let begun = |session| Begun { session, shortfall: None };
        match &self.how {
            How::Kernel { guid, stacks, .. } => {
                let session = self.start(SessionKind::Kernel { guid: *guid, flags: 0 })?;
                let asked = if stacks.is_empty() { Ok(()) } else { session.trace_stacks(stacks) };
                let lacking = |refusal: Refusal| refusal.while_trying("commit is recorded without call stacks");
                Ok(Begun { shortfall: asked.err().map(lacking), ..begun(session) })
            }
            How::Heap { pids, stacks } => self.begin_heaps(pids, stacks),
            How::Providers { guid, .. } => self.start(SessionKind::Providers { guid: *guid }).map(begun),
        }
    }

    /// Starts the heap session for all processes, or for the first two if Windows accepts no more: the limit is not
    /// documented, and UIforETW says two.
    fn begin_heaps(&self, pids: &[u32], stacks: &[u16]) -> Result<Begun, CaptureError> {
        const TWO: usize = 2;
        let start = |pids| self.start(SessionKind::Heap { pids, stacks });
        let refused = match start(pids) {
            Ok(session) => return Ok(Begun { session, shortfall: None }),
            // Fewer processes would not help against these errors.
            Err(error @ CaptureError::HeapsTraced(_)) => return Err(error),
            Err(error) if pids.len() <= TWO => return Err(error),
            Err(error) => error,
        };
        let (kept, left_out) = pids.split_at(TWO);
        let Ok(session) = start(kept) else { return Err(refused) };
        Ok(Begun { session, shortfall: Some(CaptureError::HeapsLeftOut { pids: left_out.to_vec(), why: refused.to_string() }) })
    }

    /// Enables the events; the consumer is open by now. Returns what is missing; it is an error if nothing could be enabled.
    pub(super) fn switch_on(&self, session: &Session) -> Result<Vec<CaptureError>, CaptureError> {
        match &self.how {
            How::Kernel { flags, .. } => switch_on_kernel(session, *flags),
            How::Providers { wanted, of, running, .. } => {
                let mut missing = switch_on_each(session, wanted, of)?;
                if self.has_managed() && !running.is_empty() {
                    let asked = session.enable_provider(&providers::rundown(Rundown::AtStart), running);
                    missing.extend(asked.err().map(|refusal| refusal.while_trying(Purpose::Managed.missing())));
                }
                Ok(missing)
            }
            How::Heap { .. } => Ok(Vec::new()),
        }
    }

    /// Whether the .NET runtime is recorded.
    pub(super) fn has_managed(&self) -> bool {
        matches!(&self.how, How::Providers { wanted, .. } if wanted.iter().any(|one| one.purpose == Purpose::Managed))
    }

    fn start(&self, kind: SessionKind<'_>) -> Result<Session, CaptureError> {
        /// Events reach the consumer after this time at the latest.
        const FLUSH_SECONDS: u32 = 1;
        let properties =
            SessionProperties { name: &self.name, kind, buffers: self.buffers, flush_seconds: FLUSH_SECONDS }.build()?;
        Session::start(&self.name, &properties).or_else(|refusal| match self.in_the_way(refusal) {
            // Session names contain the id of this process, so it was left by an earlier process with the same id.
            Obstacle::Leftover => session::stop(&self.name)
                .and_then(|()| Session::start(&self.name, &properties))
                .map_err(|refusal| self.refused(refusal)),
            Obstacle::HeapsOf(holder) => Err(CaptureError::HeapsTraced(holder)),
            Obstacle::Unknown => Err(self.refused(refusal)),
        })
    }

    /// Finds out what prevents a session from being started. ERROR_ALREADY_EXISTS can refer to its name or to its GUID:
    /// "you cannot start more than one session with the same session GUID" (StartTrace).
    fn in_the_way(&self, refusal: Refusal) -> Obstacle {
        use windows_sys::Win32::Foundation::ERROR_ALREADY_EXISTS;
        if refusal.code != ERROR_ALREADY_EXISTS {
            return Obstacle::Unknown;
        }
        let all = session::running().unwrap_or_default();
        if all.iter().any(|known| known.name == self.name) {
            return Obstacle::Leftover;
        }
        let holder = all.into_iter().find(|known| matches!(self.how, How::Heap { .. }) && known.guid == class::HEAP);
        holder.map_or(Obstacle::Unknown, |known| Obstacle::HeapsOf(known.name))
    }

    fn refused(&self, refusal: Refusal) -> CaptureError {
        refusal.while_trying(&format!("{} could not be started", self.title()))
    }
}

/// Whether only processes are recorded that run already, so that none can be added.
pub(super) fn is_of(request: &Request) -> bool {
    matches!(request.target, Target::Pids(_)) && !request.children.are_recorded
}

/// Enables kernel events. CPU samples need a privilege of their own; without it, the rest is enabled.
fn switch_on_kernel(session: &Session, flags: u32) -> Result<Vec<CaptureError>, CaptureError> {
    let refused = match session.enable_kernel(flags) {
        Ok(()) => return Ok(Vec::new()),
        Err(refusal) => refusal,
    };
    let failed = |refusal: Refusal| refusal.while_trying("the kernel's events could not be switched on");
    let Some(rest) = without_samples(flags) else { return Err(failed(refused)) };
    session.enable_kernel(rest).map_err(failed)?;
    Ok(vec![refused.while_trying("CPU samples are not recorded")])
}

/// Enables providers; returns what is missing, once for each purpose.
fn switch_on_each(session: &Session, wanted: &[Wanted], pids: &[u32]) -> Result<Vec<CaptureError>, CaptureError> {
    let mut refused: Vec<(Purpose, Refusal)> = Vec::new();
    let mut is_any_on = false;
    for one in wanted {
        let of = if one.is_of_processes() { pids } else { &[][..] };
        match session.enable_provider(one, of) {
            Ok(()) => {
                is_any_on = true;
                if one.state {
                    session.ask_for_state(one);
                }
            }
            Err(refusal) if refused.iter().all(|(purpose, _)| *purpose != one.purpose) => refused.push((one.purpose, refusal)),
            Err(_) => {}
        }
    }
    match refused.first() {
        Some((_, refusal)) if !is_any_on => Err(refusal.while_trying("no provider could be switched on")),
        _ => Ok(refused.iter().map(|(purpose, refusal)| refusal.while_trying(purpose.missing())).collect()),
    }
}

enum Obstacle {
    Leftover,
    /// The heap session of another program, by its name.
    HeapsOf(String),
    Unknown,
}

/// The facts about the machine that determine the buffers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    pub(super) processors: u32,
    /// In bytes.
    pub(super) memory: u64,
}

fn name(kind: &str) -> String {
    session_name(std::process::id(), kind)
}

/// A random GUID (version 4).
fn fresh_guid() -> Guid {
    let mut bytes = random_bytes();
    bytes[7] = bytes[7] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Guid::from_bytes(bytes)
}
