//! A capture that is still being recorded: its files are looked at some times a second,
//! and what came is replayed and published, until the capture is complete or nobody
//! wants to follow it any more.
//!
//! Streams reach their files at different times, so records go on only when they are
//! [`WINDOW`] older than the latest one anywhere, or when nothing has come for so long.
//! As long as none comes later than that, the model meets the records in the order of
//! the complete files, and ends as the trace that opening them gives. If one does, or if
//! anything else was not as opening finds it, the files are loaded anew at the end; while
//! they grow, what came late is applied when it comes.
//!
//! What a ring has deleted by then stays, and nothing can be loaded anew.

use std::time::{Duration, Instant};

use super::lanes::Lanes;
use super::replay::{About, Replay};
use super::{Input, Plan, Stopped, Watch, load_planned};
use crate::etl::OpenError;
use crate::events::{Merge, latest_time};
use crate::model::{Clock, Trace};

/// So late a record may reach its file, seen from the latest in any: twice the time
/// after which sessions write what they have.
pub const WINDOW: Duration = Duration::from_secs(2);

/// Follows files, or folders of recordings, that are still written. The trace is the one
/// that opening them gives when they are complete.
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
    let mut merge = Merge::new(&[]).within(plan.for_decoding()).marking(plan.marks.clone());
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
    let about = About { capture: &lanes.capture, plan, losses, tells_scope: true };
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
    About { capture: &lanes.capture, plan, losses: Default::default(), tells_scope: true }
}

fn stopped(_: Stopped) -> OpenError {
    OpenError::Stopped
}

/// Up to which moment everything is there.
#[derive(Debug)]
struct Frontier {
    /// In ticks.
    window: i64,
    latest: Option<i64>,
    until: i64,
    /// How long nothing has come.
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

    /// Never goes back.
    fn until(&mut self) -> i64 {
        let Some(latest) = self.latest else { return self.until };
        let window = if self.is_quiet() { 0 } else { self.window };
        self.until = self.until.max(latest.saturating_sub(window));
        self.until
    }
}

/// A load that ends as what is shown already, but for what came late.
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
