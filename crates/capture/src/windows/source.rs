//! A source of events: a session, its consumer, and the lane that it fills. It is the same for all kinds of sessions;
//! the differences are in their [`Plan`].
//!
//! ```text
//! start ─▶ Running ─ stop ─▶ Stopping ─ all events came, or timeout ─▶ Drained
//! ```
//!
//! A stopped session still has events for its consumer, which must not be closed before they have come. Stopping is
//! fast and draining may be slow, so an owner of several sources stops all of them and then drains them together.
//! Dropping one stops it and waits for nothing.

use std::sync::Arc;

use super::clock;
use super::consumer::{Consumer, Names, Sink};
use super::plan::{Begun, Plan};
use super::refusal::Refusal;
use super::session::Session;
use crate::CaptureError;
use crate::etl::write::Loss;
use crate::properties::Statistics;
use crate::providers::{self, Rundown};

/// A session that was started.
pub(super) struct Source {
    plan: Plan,
    sink: Arc<Sink>,
    phase: Phase,
    /// Parts that have been missing from its start.
    pub(super) shortfalls: Vec<CaptureError>,
    /// The result of the last query.
    pub(super) seen: Statistics,
    /// The performance counter at the last query.
    at: i64,
}

enum Phase {
    /// The session runs and events come.
    Running { session: Session, consumer: Consumer },
    /// The session was stopped; the consumer receives the events in its buffers.
    Stopping(Consumer),
    /// No more events come.
    Drained,
}

impl Source {
    /// Starts a session and its consumer. If that fails, nothing of it is left running.
    pub(super) fn start(plan: Plan, sink: Arc<Sink>) -> Result<Self, CaptureError> {
        let Begun { session, shortfall } = plan.begin()?;
        let refused = |refusal: Refusal| refusal.while_trying(&format!("the events of {} could not be had", plan.title()));
        let consumer = Consumer::start(&plan.name, &sink).map_err(refused)?;
        let shortfalls = shortfall.into_iter().chain(plan.switch_on(&session)?).collect();
        let phase = Phase::Running { session, consumer };
        Ok(Self { plan, sink, phase, shortfalls, seen: Statistics::default(), at: clock::ticks() })
    }

    /// Queries losses. The error is the current problem of the session.
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

    /// Asks the .NET runtimes of these processes to report their code. Returns whether they were asked: not if that is
    /// not recorded.
    pub(super) fn ask_for_names(&self, pids: &[u32]) -> Result<bool, CaptureError> {
        let Phase::Running { session, .. } = &self.phase else { return Ok(false) };
        if !self.plan.has_managed() {
            return Ok(false);
        }
        let asked = session.enable_provider(&providers::rundown(Rundown::AtEnd), pids);
        asked.map(|()| true).map_err(|refusal| refusal.while_trying("names of managed code could not be asked for"))
    }

    /// The progress of these reports.
    pub(super) fn names(&self) -> Names {
        self.sink.names()
    }

    /// Stops the session. The events in its buffers still come.
    pub(super) fn stop(&mut self) -> Result<(), CaptureError> {
        let Phase::Running { mut session, consumer } = std::mem::replace(&mut self.phase, Phase::Drained) else { return Ok(()) };
        // Queries the last losses while the session still exists.
        if let Ok(asked) = session.query() {
            self.note(asked);
        }
        let stopped = session.stop();
        self.phase = Phase::Stopping(consumer);
        stopped.map_err(|refusal| refusal.while_trying(&format!("{} could not be stopped", self.plan.title())))
    }

    /// Whether all events of the stopped session have come.
    pub(super) fn is_drained(&self) -> bool {
        match &self.phase {
            Phase::Running { .. } => false,
            Phase::Stopping(consumer) => consumer.is_done(),
            Phase::Drained => true,
        }
    }

    /// Closes the consumer. Events that the stopped session still held are lost and counted.
    pub(super) fn close(&mut self) -> Result<(), CaptureError> {
        let Phase::Stopping(consumer) = std::mem::replace(&mut self.phase, Phase::Drained) else { return Ok(()) };
        // By now the kernel session has announced all processes.
        self.sink.settle();
        if !consumer.is_done() {
            // The exact number is unknown: at least the buffers in use at the last query.
            let rest = self.seen.buffers.saturating_sub(self.seen.free_buffers).max(1);
            let _ = self.sink.lane().lost(self.at, Loss::Buffers(rest));
        }
        let closed = consumer.close();
        closed.map_err(|refusal| refusal.while_trying(&format!("the events of {} did not come to their end", self.plan.title())))
    }

    /// Reports the losses since the last query to the lane.
    fn note(&mut self, now: Statistics) {
        for loss in now.losses_since(&self.seen) {
            // Nothing was missing until the previous query.
            let _ = self.sink.lane().lost(self.at, loss);
        }
        (self.seen, self.at) = (now, clock::ticks());
    }
}
