//! Follows a capture that is still being recorded: checks its files several times a second, and replays and publishes
//! new events, until the capture is complete or following is no longer wanted.
//!
//! Streams reach their files at different times, so records are replayed only when they are [`WINDOW`] older than the
//! newest one in any file, or when nothing has come for that time. If no record is later than that, the model sees the
//! records in the order of the complete files, and the result is the trace that opening them gives. If a record is
//! later, or anything else differs from what opening finds, the files are loaded anew at the end; while they grow, late
//! records are applied when they come.
//!
//! If a ring has deleted files in the meantime, their events stay in the trace, and nothing can be loaded anew.

use std::time::{Duration, Instant};

use super::input::Input;
use super::lanes::Lanes;
use super::plan::Plan;
use super::replay::{About, Replay};
use super::watch::{Stopped, Watch};
use super::whole::load_planned;
use crate::events::{Merge, latest_time};
use crate::model::{Clock, Trace};
use crate::open_error::OpenError;

/// How late a record may reach its file, relative to the newest record in any file: twice the flush interval of sessions.
const WINDOW: Duration = Duration::from_secs(2);

/// Follows files, or folders of recordings, that are still being written. The result is the trace that opening the
/// complete files gives.
pub fn follow(inputs: &[Input], plan: &Plan, watch: &mut impl Watch) -> Result<Trace, OpenError> {
    let mut lanes = Lanes::new(inputs)?;
    let mut came = lanes.look(false)?;
    while lanes.capture.files.is_empty() {
        if !watch.progress(0, 0) || !watch.follows() {
            return Err(OpenError::Stopped);
        }
        watch.rest();
        came = lanes.look(false)?;
    }
    let (clock, start) = (lanes.capture.clock(), lanes.capture.trace_start());
    let mut merge = Merge::new(&[]).within(plan.for_decoding()).reading(plan.marks.clone(), plan.trackers.clone());
    let mut frontier = Frontier::new(clock);
    let mut replay = Replay::following(about(&lanes, plan).builder());
    loop {
        let is_last = came.is_all || !watch.follows();
        frontier.see(&came.parts);
        came.parts.into_iter().for_each(|(place, part)| merge.add(place, part));
        if is_last {
            break;
        }
        let until = frontier.until();
        merge.hold_at(until);
        replay.builder.set_losses(lanes.capture.losses());
        let about = about(&lanes, plan);
        replay.run(&mut merge, &about, watch, |_, _| until).map_err(stopped)?;
        replay.show(&about, merge.totals(), watch, until, Instant::now());
        frontier.pass(watch.rest());
        came = lanes.look(frontier.is_quiet())?;
    }
    lanes.finish().into_iter().for_each(|(place, part)| merge.add(place, part));
    merge.hold_at(i64::MAX);
    let bytes = lanes.capture.bytes();
    let losses = lanes.all_losses(|| watch.progress(merge.totals().bytes, bytes));
    replay.builder.set_losses(lanes.capture.losses());
    let about = About { capture: &lanes.capture, plan, losses, machine: lanes.capture.machine(), tells_scope: true };
    replay.run(&mut merge, &about, watch, |_, _| i64::MAX).map_err(stopped)?;
    let is_clean = lanes.agrees && merge.late() == 0 && merge.totals().problems.total() == 0;
    let is_same = is_clean && (lanes.capture.clock(), lanes.capture.trace_start()) == (clock, start);
    if is_same || !lanes.is_there {
        return Ok(replay.complete(&about, merge.totals()));
    }
    drop(replay);
    load_planned(&lanes.capture, plan, &mut Unshown(watch)).map_err(stopped)
}

fn about<'a>(lanes: &'a Lanes, plan: &'a Plan) -> About<'a> {
    // The kernel writes the name of the machine when its session ends.
    let machine = lanes.capture.machine_in_headers();
    About { capture: &lanes.capture, plan, losses: Default::default(), machine, tells_scope: true }
}

fn stopped(_: Stopped) -> OpenError {
    OpenError::Stopped
}

/// The time up to which all records have arrived.
#[derive(Debug)]
struct Frontier {
    /// [`WINDOW`] in ticks.
    window: i64,
    latest: Option<i64>,
    until: i64,
    /// Time since the last new data.
    quiet: Duration,
}

impl Frontier {
    fn new(clock: Clock) -> Self {
        let window = (WINDOW.as_secs() as i64).saturating_mul(i64::try_from(clock.frequency).unwrap_or(i64::MAX));
        Self { window, latest: None, until: i64::MIN, quiet: Duration::ZERO }
    }

    fn see(&mut self, parts: &[(u64, crate::etl::TraceFile)]) {
        if !parts.is_empty() {
            self.quiet = Duration::ZERO;
            self.latest = self.latest.max(parts.iter().filter_map(|(_, part)| latest_time(part)).max());
        }
    }

    fn pass(&mut self, time: Duration) {
        self.quiet = self.quiet.saturating_add(time);
    }

    fn is_quiet(&self) -> bool {
        self.quiet >= WINDOW
    }

    /// The raw time up to which records can be replayed. Never goes back.
    fn until(&mut self) -> i64 {
        let Some(latest) = self.latest else { return self.until };
        let window = if self.is_quiet() { 0 } else { self.window };
        self.until = self.until.max(latest.saturating_sub(window));
        self.until
    }
}

/// An observer for the final load, which does not publish: its result is on screen already, except for late records.
struct Unshown<'w, W>(&'w mut W);

impl<W: Watch> Watch for Unshown<'_, W> {
    fn progress(&mut self, done: u64, total: u64) -> bool {
        self.0.progress(done, total)
    }

    fn publish(&mut self, _trace: Trace) {}

    fn wants_trace(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_the_window_is_known_and_all_when_nothing_comes() {
        let mut frontier = Frontier::new(Clock { frequency: 10, start_time: 0 });
        assert_eq!(frontier.until(), i64::MIN);
        frontier.latest = Some(100);
        assert_eq!(frontier.until(), 80);
        frontier.latest = Some(90);
        assert_eq!(frontier.until(), 80, "it never goes back");
        frontier.pass(WINDOW / 2);
        assert_eq!(frontier.until(), 80);
        frontier.pass(WINDOW / 2);
        assert_eq!(frontier.until(), 90);
        frontier.latest = Some(i64::MIN);
        assert_eq!(frontier.until(), 90);
    }
}
