//! Sources of events: a session of its own kind each, with its consumer and the lane that
//! it fills; and what is due for it once a second.
//!
//! A session that lost something gets twice the buffers, as long as they take no more than
//! an eighth of the machine's memory. ferrisetw's session keeps those it began with.

use std::sync::Arc;

use super::clock::{self, Clocks};
use super::consumer::{Consumer, Sink};
use super::random_bytes;
use super::refusal::Refusal;
use super::session::Session;
use super::user::{UserSession, Wanted};
use crate::capture::properties::{Buffers, SessionKind, SessionProperties, Statistics, heap_stacks, kernel_flag, kernel_stacks};
use crate::capture::{CaptureError, Lane, Recording, Request, Target};
use crate::etl::Guid;
use crate::etl::write::Loss;

/// Names of our sessions: this, the id of the process, the lane.
pub(super) const PREFIX: &str = "highwater-";

/// Events come to the consumer after so long at the latest.
const FLUSH_SECONDS: u32 = 1;

/// A session of our own.
pub(super) struct Source {
    plan: Plan,
    session: Session,
    consumer: Option<Consumer>,
    sink: Arc<Sink>,
    pub(super) health: Health,
}

/// What it was started with, and is updated with.
struct Plan {
    lane: Lane,
    name: String,
    kind: Kind,
    buffers: Buffers,
}

enum Kind {
    Kernel { guid: Guid, flags: u32 },
    Heap { pids: Vec<u32>, stacks: Vec<u16> },
}

pub(super) struct UserSource {
    session: UserSession,
    sink: Arc<Sink>,
    pub(super) health: Health,
}

/// How a session did at its last query.
pub(super) struct Health {
    pub(super) seen: Statistics,
    /// The counter then.
    at: i64,
}

/// What sources are made of.
pub(super) struct Sources<'a> {
    pub(super) request: &'a Request,
    pub(super) recording: &'a Recording,
    pub(super) processors: u32,
}

impl Sources<'_> {
    pub(super) fn kernel(&self) -> Result<Source, CaptureError> {
        let commit = if self.request.commit { kernel_flag::VIRTUAL_ALLOC } else { 0 };
        let flags = kernel_flag::PROCESS | kernel_flag::THREAD | kernel_flag::IMAGE_LOAD | commit;
        let kind = Kind::Kernel { guid: fresh_guid(), flags };
        let buffers = Buffers::kernel(self.processors).or(self.request);
        let source = Source::start(Plan { lane: Lane::Kernel, name: name(Lane::Kernel), kind, buffers }, self.recording)?;
        let refused = |refusal: Refusal| refusal.while_trying("the kernel's events could not be switched on");
        let stacks = kernel_stacks(self.request);
        if !stacks.is_empty() {
            source.session.trace_stacks(&stacks).map_err(refused)?;
        }
        let source = source.consume()?;
        source.session.enable(flags).map_err(refused)?;
        Ok(source)
    }

    pub(super) fn heap(&self, pids: &[u32]) -> Result<Source, CaptureError> {
        // Process 0 stands for those that are not there yet.
        let pids = if pids.is_empty() { vec![0] } else { pids.to_vec() };
        let kind = Kind::Heap { pids, stacks: heap_stacks(self.request) };
        let buffers = Buffers::heap(self.processors).or(self.request);
        Source::start(Plan { lane: Lane::Heap, name: name(Lane::Heap), kind, buffers }, self.recording)?.consume()
    }

    pub(super) fn user(&self, pids: &[u32], clocks: &Arc<Clocks>) -> Result<UserSource, CaptureError> {
        let sink = Sink::new(self.recording.lane(Lane::User));
        // A name is that of programs to come, whose ids nobody knows.
        let pids = if matches!(self.request.target, Target::Image(_)) { Vec::new() } else { pids.to_vec() };
        let wanted = Wanted { pids, stacks: self.request.stacks, buffers: Buffers::user(self.processors).or(self.request) };
        let session = UserSession::start(&name(Lane::User), &sink, clocks, wanted);
        let session = session.map_err(|refusal| refusal.while_trying("the session of trackers could not be started"))?;
        Ok(UserSource { session, sink, health: Health::new() })
    }
}

impl Plan {
    /// The properties as they are at the start, or later.
    fn properties(&self, is_update: bool) -> SessionProperties<'_> {
        let kind = match &self.kind {
            // Switched on only when stacks are chosen and the consumer is there; an update
            // must name them, or they go off.
            Kind::Kernel { guid, flags } => SessionKind::Kernel { guid: *guid, flags: if is_update { *flags } else { 0 } },
            Kind::Heap { pids, stacks } => SessionKind::Heap { pids, stacks },
        };
        SessionProperties { name: &self.name, kind, buffers: self.buffers, flush_seconds: FLUSH_SECONDS }
    }
}

impl Source {
    fn start(plan: Plan, recording: &Recording) -> Result<Self, CaptureError> {
        let what = format!("the {} session could not be started", plan.lane.name());
        let session =
            Session::start(&plan.name, &plan.properties(false).build()?).map_err(|refusal| refusal.while_trying(&what))?;
        let sink = Sink::new(recording.lane(plan.lane));
        Ok(Self { plan, session, consumer: None, sink, health: Health::new() })
    }

    fn consume(mut self) -> Result<Self, CaptureError> {
        let what = || format!("the {} session's events could not be had", self.plan.lane.name());
        self.consumer = Some(Consumer::start(&self.plan.name, &self.sink).map_err(|refusal| refusal.while_trying(&what()))?);
        Ok(self)
    }

    /// Asks for losses, and has more buffers after some.
    pub(super) fn look_after(&mut self, memory: u64) -> Result<(), CaptureError> {
        let lane = self.plan.lane.name();
        let asked =
            self.session.query().map_err(|refusal| refusal.while_trying(&format!("the {lane} session does not answer")))?;
        let has_lost = self.health.note(asked, &self.sink);
        if has_lost && let Some(grown) = self.plan.buffers.grown(memory / MOST_OF_MEMORY) {
            self.plan.buffers = grown;
            let properties = self.plan.properties(true).build()?;
            let refused = |refusal: Refusal| refusal.while_trying(&format!("the {lane} session could not have more buffers"));
            self.session.update(properties).map_err(refused)?;
        }
        told(&self.sink, self.consumer.as_ref().is_some_and(Consumer::is_done), lane)
    }

    pub(super) fn finish(mut self) -> Result<(), CaptureError> {
        let refused =
            |refusal: Refusal| refusal.while_trying(&format!("the {} session could not be stopped", self.plan.lane.name()));
        // The last losses, while there is somebody to ask.
        if let Ok(asked) = self.session.query() {
            self.health.note(asked, &self.sink);
        }
        let stopped = self.session.stop().map_err(refused);
        let finished = self.consumer.take().map_or(Ok(()), Consumer::finish).map_err(refused);
        stopped.and(finished)
    }
}

impl UserSource {
    pub(super) fn look_after(&mut self) -> Result<(), CaptureError> {
        let asked = self.session.query().map_err(|refusal| refusal.while_trying("the session of trackers does not answer"))?;
        self.health.note(asked, &self.sink);
        told(&self.sink, self.session.is_done(), "user")
    }

    pub(super) fn finish(mut self) -> Result<(), CaptureError> {
        if let Ok(asked) = self.session.query() {
            self.health.note(asked, &self.sink);
        }
        self.session.finish().map_err(|refusal| refusal.while_trying("the session of trackers could not be stopped"))
    }
}

impl Health {
    fn new() -> Self {
        Self { seen: Statistics::default(), at: clock::ticks() }
    }

    /// Passes on what was lost since the last time. Whether anything was.
    fn note(&mut self, now: Statistics, sink: &Sink) -> bool {
        let losses: Vec<Loss> = now.losses_since(&self.seen).collect();
        for loss in &losses {
            // Nothing was missing up to the query before this one.
            let _ = sink.lane().lost(self.at, *loss);
        }
        (self.seen, self.at) = (now, clock::ticks());
        !losses.is_empty()
    }
}

/// Sessions never take more than this part of the machine's memory.
const MOST_OF_MEMORY: u64 = 8;

/// What is wrong with a source that answers.
fn told(sink: &Sink, is_done: bool, lane: &str) -> Result<(), CaptureError> {
    let reason = if sink.has_panicked() {
        "an internal error ended it; please report it"
    } else if is_done {
        "another program stopped its session"
    } else {
        return Ok(());
    };
    Err(CaptureError::BadRequest(format!("the {lane} lane records nothing more: {reason}")))
}

fn name(lane: Lane) -> String {
    format!("{PREFIX}{}-{}", std::process::id(), lane.name())
}

/// A GUID that nobody else has: random, as version 4 is.
fn fresh_guid() -> Guid {
    let mut bytes = random_bytes();
    bytes[7] = bytes[7] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Guid::from_bytes(bytes)
}
