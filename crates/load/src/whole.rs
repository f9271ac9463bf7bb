//! Loads a whole capture, or a part of it.

use std::collections::BTreeSet;

use super::capture::{Capture, losses};
use super::plan::Plan;
use super::playback::Playback;
use super::replay::{About, Replay};
use super::watch::{Stopped, Watch};
use crate::events::{Merge, TrackerProviders};
use crate::model::{Processes, Scope, Trace};

/// Replays the whole capture. The time is linear in its size.
pub fn load(capture: &Capture, watch: &mut impl Watch) -> Result<Trace, Stopped> {
    load_planned(capture, &Plan::default(), watch)
}

/// Replays a part of a capture, or as much of it as fits into the memory budget.
pub fn load_planned(capture: &Capture, plan: &Plan, watch: &mut impl Watch) -> Result<Trace, Stopped> {
    replayed(capture, plan, true, watch)
}

/// Finds the problems and losses of a capture. Returns a trace without memory events, with the problems that a load
/// without a memory limit would have.
pub fn inspect(capture: &Capture, trackers: &TrackerProviders, watch: &mut impl Watch) -> Result<Trace, Stopped> {
    let scope = Scope { processes: Processes::Only(BTreeSet::new()), layers: Vec::new(), stacks: false };
    replayed(capture, &Plan { scope, trackers: trackers.clone(), ..Plan::default() }, false, watch)
}

fn replayed(capture: &Capture, plan: &Plan, tells_scope: bool, watch: &mut impl Watch) -> Result<Trace, Stopped> {
    let total = capture.bytes();
    let losses = losses(capture, || watch.progress(0, total));
    if !watch.progress(0, total) {
        return Err(Stopped);
    }
    let about = About { capture, plan, losses, machine: capture.machine(), tells_scope };
    let mut merge = Merge::new(&capture.files).within(plan.for_decoding()).reading(plan.marks.clone(), plan.trackers.clone());
    let mut playback = Playback::new(capture.trace_start(), capture.clock().frequency);
    let mut replay = Replay::new(about.builder());
    replay.run(&mut merge, &about, watch, |watch, now| playback.advance(watch.speed(), now))?;
    Ok(replay.complete(&about, merge.totals()))
}
