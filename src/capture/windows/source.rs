//! A source of events: a session, who consumes it, and the lane that it fills. The same for all
//! kinds of sessions; what differs is in their [`Plan`].
//!
//! ```text
//! start ─▶ Running ─ stop ─▶ Stopping ─ all came, or enough was waited ─▶ Drained
//! ```
//!
//! A session that is stopped still has events for its consumer, who must not be closed before
//! they came. Stopping takes no time and draining may: whoever has several stops all, then waits
//! for them together. Dropping one stops it and waits for nothing.

use std::sync::Arc;

use super::clock;
use super::consumer::{Consumer, Names, Sink};
use super::plan::{Begun, Plan};
use super::refusal::Refusal;
use super::session::Session;
use crate::capture::CaptureError;
use crate::capture::properties::Statistics;
use crate::capture::providers::{self, Rundown};
use crate::etl::write::Loss;

/// A session that was started.
pub(super) struct Source {
    plan: Plan,
    sink: Arc<Sink>,
    phase: Phase,
    /// What it lacks from its start on.
    pub(super) shortfalls: Vec<CaptureError>,
    /// How the session did at its last query, ...
    pub(super) seen: Statistics,
    /// ... and the counter then.
    at: i64,
}

enum Phase {
    /// Events come.
    Running { session: Session, consumer: Consumer },
    /// The session was stopped; the consumer gets what its buffers hold.
    Stopping(Consumer),
    /// Nothing comes any more.
    Drained,
}

impl Source {
    /// Starts a session, and to take its events. Where that fails nothing of it is left running.
    pub(super) fn start(plan: Plan, sink: Arc<Sink>) -> Result<Self, CaptureError> {
        let Begun { session, shortfall } = plan.begin()?;
        let refused = |refusal: Refusal| refusal.while_trying(&format!("the events of {} could not be had", plan.title()));
        let consumer = Consumer::start(&plan.name, &sink).map_err(refused)?;
        let shortfalls = shortfall.into_iter().chain(plan.switch_on(&session)?).collect();
        let phase = Phase::Running { session, consumer };
        Ok(Self { plan, sink, phase, shortfalls, seen: Statistics::default(), at: clock::ticks() })
    }

    /// Asks for losses. An error is what is wrong with it now.
    pub(super) fn look_after(&mut self) -> Result<(), CaptureError> {
        self.sink.settle();
        let Phase::Running { session, consumer } = &self.phase else { return Ok(()) };
        let title = self.plan.title();
        let is_done = consumer.is_done();
        let asked = session.query().map_err(|refusal| refusal.while_trying(&format!("{title} does not answer")))?;
        self.note(asked);
        let reason = if self.sink.has_panicked() {
            "an internal error ended it; please report it"
        } else if is_done {
            "another program stopped it"
        } else {
            return Ok(());
        };
        Err(CaptureError::BadRequest(format!("{title} records nothing more: {reason}")))
    }

    /// Has the .NET runtimes of these processes tell what code they have. Whether they were asked:
    /// not where that is not recorded.
    pub(super) fn ask_for_names(&self, pids: &[u32]) -> Result<bool, CaptureError> {
        let Phase::Running { session, .. } = &self.phase else { return Ok(false) };
        if !self.plan.has_managed() {
            return Ok(false);
        }
        let asked = session.enable_provider(&providers::rundown(Rundown::AtEnd), pids);
        asked.map(|()| true).map_err(|refusal| refusal.while_trying("names of managed code could not be asked for"))
    }

    /// What has come of that.
    pub(super) fn names(&self) -> Names {
        self.sink.names()
    }

    /// Stops the session. What its buffers hold still comes.
    pub(super) fn stop(&mut self) -> Result<(), CaptureError> {
        let Phase::Running { mut session, consumer } = std::mem::replace(&mut self.phase, Phase::Drained) else { return Ok(()) };
        // The last losses, while there is somebody to ask.
        if let Ok(asked) = session.query() {
            self.note(asked);
        }
        let stopped = session.stop();
        self.phase = Phase::Stopping(consumer);
        stopped.map_err(|refusal| refusal.while_trying(&format!("{} could not be stopped", self.plan.title())))
    }

    /// Whether all that a stopped session held came.
    pub(super) fn is_drained(&self) -> bool {
        match &self.phase {
            Phase::Running { .. } => false,
            Phase::Stopping(consumer) => consumer.is_done(),
            Phase::Drained => true,
        }
    }

    /// Takes nothing more. What a stopped session still held is lost, and counted.
    pub(super) fn close(&mut self) -> Result<(), CaptureError> {
        let Phase::Stopping(consumer) = std::mem::replace(&mut self.phase, Phase::Drained) else { return Ok(()) };
        // By now the kernel has told of everybody.
        self.sink.settle();
        if !consumer.is_done() {
            // Nobody tells how many: at least the buffers that were in use when it was asked last.
            let rest = self.seen.buffers.saturating_sub(self.seen.free_buffers).max(1);
            let _ = self.sink.lane().lost(self.at, Loss::Buffers(rest));
        }
        let closed = consumer.close();
        closed.map_err(|refusal| refusal.while_trying(&format!("the events of {} did not come to their end", self.plan.title())))
    }

    /// Passes on what was lost since the last time.
    fn note(&mut self, now: Statistics) {
        for loss in now.losses_since(&self.seen) {
            // Nothing was missing up to the query before this one.
            let _ = self.sink.lane().lost(self.at, loss);
        }
        (self.seen, self.at) = (now, clock::ticks());
    }
}
