//! Passes records from the merge to the builder, and traces to the observer, independent of the source of the records.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::capture::Capture;
use super::plan::{self, Plan, describe_scope};
use super::watch::{Stopped, Watch};
use super::{copied, playback};
use crate::events::{EventCounts, Merge, Tick, Totals};
use crate::model::{Builder, InputState, Loss, Machine, Trace};
use crate::problem::ProblemKind;

/// Publishing may take at most one part in this many of the loading time: of a file, and of what is followed or played
/// back, which must be shown as it goes.
const PUBLISH_SHARE: u32 = 40;
const PUBLISH_SHARE_LIVE: u32 = 8;

/// The description of a load: everything except the records.
#[derive(Debug)]
pub(super) struct About<'a> {
    pub(super) capture: &'a Capture,
    pub(super) plan: &'a Plan,
    /// The losses recorded in the buffers.
    pub(super) losses: Arc<[Loss]>,
    /// The machine that recorded it.
    pub(super) machine: Machine,
    /// Whether to report that only a part was loaded; not if the load only looks for problems.
    pub(super) tells_scope: bool,
}

impl About<'_> {
    pub(super) fn builder(&self) -> Builder {
        let Self { capture, plan, .. } = self;
        Builder::new(capture.clock(), capture.trace_start(), capture.losses())
            .limited(plan.scope.clone(), plan.for_rows(capture))
            .when_full(plan.when_full)
    }

    /// The state of the input for a trace. `totals` is complete once loading is.
    fn state(&self, totals: &Totals, builder: &Builder, complete: bool) -> InputState {
        let Self { capture, plan, losses, machine, .. } = self;
        let name = capture.files.first().map_or("", |f| f.name.as_str());
        let mut problems = capture.problems.clone();
        // Omissions come first, because they affect all numbers.
        if let Some(cut) = builder.cut() {
            problems.add(ProblemKind::LimitReached, name, 0, plan::describe_cut(cut, plan.budget, capture.clock()));
        }
        if let Some(at) = builder.forgotten() {
            problems.add(ProblemKind::LimitReached, name, 0, plan::describe_forgotten(at, plan.budget, capture.clock()));
        }
        if self.tells_scope && !plan.scope.is_all() {
            let what = describe_scope(&plan.scope, |pid| builder.process_name(pid));
            problems.add(ProblemKind::LimitReached, name, 0, format!("only {what} was loaded; all numbers are about that part"));
        }
        problems.append(totals.problems.clone());
        for left_out in builder.counters_left_out().into_iter().chain(builder.activity_left_out(complete)) {
            problems.add(ProblemKind::LimitReached, name, 0, left_out);
        }
        if complete && !totals.counts.has_memory_events() {
            problems.add(ProblemKind::NoMemoryEvents, name, 0, no_memory_events(&totals.counts));
        }
        InputState {
            counts: totals.counts,
            times: totals.times,
            problem_count: problems.total(),
            problems: problems.list(),
            copies: totals.copies.by_file(),
            machine: machine.clone(),
            duplicate_events: totals.copies.total(),
            tracker_names: totals.tracker_names.clone(),
            losses: copied::losses(losses, &totals.copies),
            symbol_folders: capture.symbol_folders(),
            complete,
        }
    }
}

/// The message for a capture without memory events.
pub fn no_memory_events(counts: &EventCounts) -> &'static str {
    if counts.heap_snapshot > 0 {
        return "this trace has heap snapshots (Microsoft-Windows-Heap-Snapshot) and no heap events; only WPA reads these snapshots, \
                since their layout is not public; record heap events instead: with highwater record, or with wpr \
                -HeapTracingConfig game.exe enable, a restart of the program, wpr -start Heap -start VirtualAllocation, and wpr \
                -stop game.etl";
    }
    "this trace has no memory events (heaps, VirtualAlloc, custom allocators), so it has no allocations to show; record the \
     program with highwater record, with Record\u{2026} in the window, or with wpr -start VirtualAllocation -start Heap (which needs \
     heap tracing to be switched on for the program: wpr -HeapTracingConfig game.exe enable)"
}

/// A trace that is being built, and the state of its publishing.
#[derive(Debug)]
pub(super) struct Replay {
    pub(super) builder: Builder,
    /// Whether the capture is followed: then records for a time that was published already are only provisional. (The
    /// result of other loads does not depend on when they were published.)
    is_followed: bool,
    /// The raw time until which it was last published.
    shown: Option<i64>,
    next: Instant,
    /// The raw time at which the merge should stop, so that exactly the records up to it are published.
    stand: Option<i64>,
}

impl Replay {
    pub(super) fn new(builder: Builder) -> Self {
        let next = Instant::now() + Duration::from_millis(30);
        Self { builder, is_followed: false, shown: None, next, stand: None }
    }

    /// Creates a replay for a capture that is still being recorded.
    pub(super) fn following(builder: Builder) -> Self {
        Self { is_followed: true, ..Self::new(builder) }
    }

    /// Replays the records of the merge. `until` returns the raw time up to which to replay.
    pub(super) fn run<W: Watch>(
        &mut self,
        merge: &mut Merge<'_>,
        about: &About<'_>,
        watch: &mut W,
        mut until: impl FnMut(&W, Instant) -> i64,
    ) -> Result<(), Stopped> {
        let total = about.capture.bytes();
        let gatherer = self.builder.gatherer();
        // Both closures of the merge use it, never at the same time.
        let this = RefCell::new(self);
        let result = merge.run_slices(
            &gatherer,
            |slice| {
                this.borrow_mut().builder.apply_slice(slice);
                ControlFlow::Continue(())
            },
            |Tick { totals, is_held, must_let_go }| {
                if must_let_go {
                    this.borrow_mut().builder.take_back();
                }
                if !watch.progress(totals.bytes, total) {
                    return ControlFlow::Break(Stopped);
                }
                let now = Instant::now();
                let limit = until(watch, now);
                ControlFlow::Continue(this.borrow_mut().tick(about, totals, watch, (limit, is_held), now))
            },
        );
        match result {
            ControlFlow::Break(stopped) => Err(stopped),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// Publishes the trace from time to time, and waits if there is nothing else to do. Returns the raw time up to
    /// which to go on.
    fn tick(
        &mut self,
        about: &About<'_>,
        totals: &Totals,
        watch: &mut impl Watch,
        (limit, is_held): (i64, bool),
        now: Instant,
    ) -> i64 {
        if !is_held && self.stand.is_none() && watch.wants_trace() && now >= self.next {
            self.stand = Some(self.builder.reached()).filter(|&stand| stand > watch.shown_to());
        }
        match self.stand.map(|stand| stand.min(limit)) {
            Some(stand) if !is_held => return stand,
            Some(stand) => {
                self.stand = None;
                self.show(about, totals, watch, stand, now);
            }
            None if is_held && !self.show(about, totals, watch, limit, now) => playback::nap(),
            None => {}
        }
        limit
    }

    /// Publishes the trace, which reaches up to `limit`, if it is due. A trace that has not advanced is not published again.
    pub(super) fn show(&mut self, about: &About<'_>, totals: &Totals, watch: &mut impl Watch, limit: i64, now: Instant) -> bool {
        let has_begun = totals.times.is_none_or(|(first, _)| first <= limit);
        let is_new = self.shown != Some(limit) && limit > watch.shown_to();
        let is_due = has_begun && watch.wants_trace() && now >= self.next && is_new;
        if is_due {
            if self.is_followed {
                self.builder.pass(limit);
            }
            watch.publish(self.unfinished(about, totals, limit));
            self.shown = Some(limit);
            let share = if self.is_followed || watch.speed().is_some() { PUBLISH_SHARE_LIVE } else { PUBLISH_SHARE };
            self.next = now + (now.elapsed() * share).max(Duration::from_millis(60));
        }
        is_due
    }

    /// Returns the trace so far, which reaches up to `limit`.
    pub(super) fn unfinished(&mut self, about: &About<'_>, totals: &Totals, limit: i64) -> Trace {
        let mut state = about.state(totals, &self.builder, false);
        // Records that are decoded but not applied have not happened yet.
        state.times = state.times.map(|(first, last)| (first, last.min(limit)));
        self.builder.publish(state)
    }

    /// Returns the complete trace.
    pub(super) fn complete(mut self, about: &About<'_>, totals: &Totals) -> Trace {
        about.plan.descriptions.iter().for_each(|schema| self.builder.describe(schema));
        self.builder.set_losses(copied::lost(&about.capture.files, &totals.copies));
        let state = about.state(totals, &self.builder, true);
        self.builder.publish(state)
    }
}
