//! What each session is started with. All are started in the same steps: [`Plan::begin`] makes
//! the session, then its consumer is opened, then [`Plan::switch_on`] lets its events come. All are
//! started by calls of our own: a library that does it would bring imports into the program with an
//! administrator's rights that are not among Windows' KnownDLLs.
//!
//! * The kernel's: a private system logger (Windows 8 and later). Its stacks are chosen before
//!   its events are switched on, and these only when the consumer is there: processes and images
//!   that run already are told then, and only to who listens.
//! * Heaps: the session's GUID is that of heaps, so its events come from the start on. There is
//!   one for the whole machine.
//! * Providers of programs: custom heap trackers with the stacks of their events, and what is
//!   asked for beside memory ([`providers`]). Each that cannot be switched on is missed alone.

use super::random_bytes;
use super::refusal::Refusal;
use super::session::{self, Session};
use crate::capture::properties::{
    Buffers, HEAP_SESSION, KERNEL_SESSION, SessionKind, SessionProperties, USER_SESSION, heap_stacks, kernel_flags,
    kernel_stacks, session_name, without_samples,
};
use crate::capture::providers::{self, Purpose, Rundown, Wanted};
use crate::capture::{CaptureError, Lane, Request, Target};
use crate::etl::Guid;
use crate::events::class;

/// A session that is to be started.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) name: String,
    /// What its consumer fills.
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
        /// Only these; all if there are none.
        of: Vec<u32>,
        /// Who runs already.
        running: Vec<u32>,
    },
}

/// A session that was made.
pub(super) struct Begun {
    pub(super) session: Session,
    /// What it lacks, where it is of use all the same.
    pub(super) shortfall: Option<CaptureError>,
}

impl Plan {
    /// Processes, threads and images, and pages if they are wanted.
    pub(super) fn kernel(request: &Request, machine: Machine) -> Self {
        let how = How::Kernel { guid: fresh_guid(), flags: kernel_flags(request), stacks: kernel_stacks(request) };
        Self {
            name: name(KERNEL_SESSION),
            lane: Lane::Pages,
            how,
            buffers: Buffers::kernel(machine.processors, machine.memory, request),
        }
    }

    /// Heaps of these processes, and of those that the registry names.
    pub(super) fn heap(request: &Request, machine: Machine, pids: &[u32]) -> Self {
        // Process 0 stands for those that are not there yet.
        let pids = if pids.is_empty() { vec![0] } else { pids.to_vec() };
        let how = How::Heap { pids, stacks: heap_stacks(request) };
        Self {
            name: name(HEAP_SESSION),
            lane: Lane::Heap,
            how,
            buffers: Buffers::heap(machine.processors, machine.memory, request),
        }
    }

    /// Providers of programs, if any is asked for.
    pub(super) fn providers(request: &Request, machine: Machine, pids: &[u32]) -> Option<Self> {
        let wanted = providers::wanted(request);
        // Who comes later is in no filter.
        let of = if is_of(request) { pids.to_vec() } else { Vec::new() };
        (!wanted.is_empty()).then(|| Self {
            name: name(USER_SESSION),
            lane: Lane::User,
            how: How::Providers { guid: fresh_guid(), wanted, of, running: pids.to_vec() },
            buffers: Buffers::user(machine.processors, machine.memory, request),
        })
    }

    /// What it is called in sentences.
    pub(super) fn title(&self) -> &'static str {
        match self.how {
            How::Kernel { .. } => "the kernel session",
            How::Heap { .. } => "the heap session",
            How::Providers { .. } => "the session of providers",
        }
    }

    /// Makes the session. Nothing of it is left where that fails.
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

    /// Heaps of all of them, or of the first two where Windows takes no more: how many it does is written nowhere, and
    /// UIforETW says two.
    fn begin_heaps(&self, pids: &[u32], stacks: &[u16]) -> Result<Begun, CaptureError> {
        const TWO: usize = 2;
        let start = |pids| self.start(SessionKind::Heap { pids, stacks });
        let refused = match start(pids) {
            Ok(session) => return Ok(Begun { session, shortfall: None }),
            // With fewer processes these would be no better.
            Err(error @ CaptureError::HeapsTraced(_)) => return Err(error),
            Err(error) if pids.len() <= TWO => return Err(error),
            Err(error) => error,
        };
        let (kept, left_out) = pids.split_at(TWO);
        let Ok(session) = start(kept) else { return Err(refused) };
        Ok(Begun { session, shortfall: Some(CaptureError::HeapsLeftOut { pids: left_out.to_vec(), why: refused.to_string() }) })
    }

    /// Lets its events come: the consumer is there. What does not come of them is told; it is an
    /// error where none do.
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
        /// Events come to the consumer after so long at the latest.
        const FLUSH_SECONDS: u32 = 1;
        let properties =
            SessionProperties { name: &self.name, kind, buffers: self.buffers, flush_seconds: FLUSH_SECONDS }.build()?;
        Session::start(&self.name, &properties).or_else(|refusal| match self.in_the_way(refusal) {
            // Names hold the id of this process, so an earlier one of the same id left it.
            Obstacle::Leftover => session::stop(&self.name)
                .and_then(|()| Session::start(&self.name, &properties))
                .map_err(|refusal| self.refused(refusal)),
            Obstacle::HeapsOf(holder) => Err(CaptureError::HeapsTraced(holder)),
            Obstacle::Unknown => Err(self.refused(refusal)),
        })
    }

    /// What keeps a session from being started. That there is one already can mean its name, or its
    /// GUID: "you cannot start more than one session with the same session GUID" (StartTrace).
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

/// Whether all that is recorded runs already: nobody comes to them.
pub(super) fn is_of(request: &Request) -> bool {
    matches!(request.target, Target::Pids(_)) && !request.children.are_recorded
}

/// Samples need a right of their own: without it all else is recorded.
fn switch_on_kernel(session: &Session, flags: u32) -> Result<Vec<CaptureError>, CaptureError> {
    let refused = match session.enable_kernel(flags) {
        Ok(()) => return Ok(Vec::new()),
        Err(refusal) => refusal,
    };
    let failed = |refusal: Refusal| refusal.while_trying("the kernel's events could not be switched on");
    let Some(rest) = without_samples(flags) else { return Err(failed(refused)) };
    session.enable_kernel(rest).map_err(failed)?;
    Ok(vec![refused.while_trying("processor samples are not recorded")])
}

/// What of these is missing. That of several for one purpose is told once.
fn switch_on_each(session: &Session, wanted: &[Wanted], pids: &[u32]) -> Result<Vec<CaptureError>, CaptureError> {
    let mut refused: Vec<(Purpose, Refusal)> = Vec::new();
    let mut is_any_on = false;
    for one in wanted {
        // Memory comes first: trackers are asked for in the plainest way there is.
        let of = if one.purpose == Purpose::Trackers { &[][..] } else { pids };
        match session.enable_provider(one, of) {
            Ok(()) => is_any_on = true,
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
    /// Somebody else's session.
    HeapsOf(String),
    Unknown,
}

/// What buffers are made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    pub(super) processors: u32,
    /// Bytes.
    pub(super) memory: u64,
}

fn name(kind: &str) -> String {
    session_name(std::process::id(), kind)
}

/// A GUID that nobody else has: random, as version 4 is.
fn fresh_guid() -> Guid {
    let mut bytes = random_bytes();
    bytes[7] = bytes[7] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Guid::from_bytes(bytes)
}
