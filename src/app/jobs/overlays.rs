//! Makes the marks, frames, CPU lines, page faults and lines of GPU memory that the graph draws.

use std::sync::Arc;

use super::ahead::PartKey;
use super::query_cache::{FramesKey, PictureKey};
use super::{Part, Query, QueryContext};
use crate::app::state::graph::{GraphLine, LineOf};
use crate::app::state::overlay::Overlay;
use crate::app::state::overlays::{
    CommitPartShown, CommitShown, FaultsShown, FramesOf, FramesShown, GpuShown, MemoryShown, OverlayAnswer, ProcessorsShown,
};
use crate::events::FaultKind;
use crate::model::{CounterId, PresentLane, ProcessId, SiteId};
use crate::query::{
    Cancelled, CommitPart, CommitRequest, FrameLine, FrameRequest, FrameSums, FrameTimes, MOST_FRAMES, Mask, ProcessCommit,
    RangeOwners, Series, SeriesOf, TouchedBytes, by_heap, commit_parts, counter_series, fault_series, frame_bars, frame_sums,
    mark_spots, process_counters, process_faults, process_samples, processor_series, series, touched_sites,
};
use crate::units::{Interval, Layer, Ticks};

/// Minimum number of samples in a bin of the CPU lane: fewer do not give a meaningful share.
const SAMPLES_A_BIN: f64 = 8.0;

/// Sends the picture, as far as it has changed.
pub(super) fn picture(query: &Query, context: &mut QueryContext<'_>) -> Result<(), Cancelled> {
    let asked = query.overlays;
    let names = asked.commit.map(|_| context.cache.names_turn());
    let key = PictureKey { view: query.view, bins: query.bins, asked, rows: context.cache.rows_of(query), names };
    context.picture(PartKey::Overlays(key), |context, tell| {
        tell(Part::OverlayAnswer(Box::new(happened(query, context)?)));
        Ok(())
    })
}

fn happened(query: &Query, context: &mut QueryContext<'_>) -> Result<OverlayAnswer, Cancelled> {
    let asked = query.overlays;
    let trace = context.trace();
    let mut happened = OverlayAnswer::default();
    if asked.marks {
        happened.spots = mark_spots(&trace.activity.marks, query.view, query.bins, context.cancel)?;
    }
    if let Some(process) = asked.processors {
        happened.processors = Some(processors(query, context, process)?);
    }
    if let Some(of) = asked.frames {
        happened.frames = frames(query, context, of)?;
    }
    if let Some(of) = asked.memory {
        happened.memory = memory(query, context, of)?;
    }
    // While the trace grows it would be stale at once.
    if let Some(process) = asked.commit.filter(|_| !query.growing) {
        happened.commit = commit(query, context, process)?;
    }
    if let Some(process) = asked.faults {
        happened.faults = Some(faults(query, context, process)?);
    }
    for of in asked.gpu.into_iter().flatten() {
        happened.gpu.extend(gpu(query, context, of)?);
    }
    Ok(happened)
}

fn frames(query: &Query, context: &mut QueryContext<'_>, of: FramesOf) -> Result<Option<FramesShown>, Cancelled> {
    let Some(lane) = context.trace().activity.presents.get(of.chain) else { return Ok(None) };
    // While the trace grows the sums would be stale at once.
    let has_sums = !query.growing;
    let lines = if has_sums { context.frames(of, query.view)? } else { Arc::new(without_sums(lane, query.view)) };
    let bars = frame_bars(&lines, query.view, query.bins);
    let in_sight = lines.partition_point(|line| line.interval.to <= query.view.from)
        ..lines.partition_point(|line| line.interval.from < query.view.to);
    let times = FrameTimes::of(lines.get(in_sight).unwrap_or_default());
    let allocated = FramesShown::allocated(&bars);
    Ok(times.map(|times| FramesShown { of, bars, allocated, times, has_sums }))
}

fn without_sums(lane: &PresentLane, interval: Interval) -> Vec<FrameLine> {
    let frames = lane.ending_in(interval);
    let line = |number: usize| Some(FrameLine { number, interval: lane.frame(number)?, sums: FrameSums::default() });
    frames.take(MOST_FRAMES).filter_map(line).collect()
}

fn processors(query: &Query, context: &QueryContext<'_>, process: Option<ProcessId>) -> Result<ProcessorsShown, Cancelled> {
    let trace = context.trace();
    let in_bin = trace.activity.samples.interval.max(1.0) * SAMPLES_A_BIN;
    let bins = query.bins.min((query.view.len() as f64 / in_bin) as usize).max(1);
    let draw = |process| {
        let line = processor_series(trace, process, query.view, bins, context.cancel)?;
        Ok(GraphLine::new(trace.clock, LineOf::Overlay(Overlay::Processors), line))
    };
    let shares = process_samples(trace, query.view).into_iter();
    let shares = shares.filter(|samples| process.is_none_or(|process| samples.process == Some(process)));
    let average = (shares.map(|samples| samples.share).sum::<f64>() * 1000.0).round() as u64;
    Ok(ProcessorsShown { process, own: process.map(|process| draw(Some(process))).transpose()?, all: draw(None)?, average })
}

/// Kinds of soft faults. [`FaultKind::HardPage`] is a second report of hard ones.
const SOFT: [FaultKind; 5] =
    [FaultKind::DemandZero, FaultKind::CopyOnWrite, FaultKind::Transition, FaultKind::GuardPage, FaultKind::AccessViolation];

/// The page faults of a process or of all, and what of the process's commit was touched.
fn faults(query: &Query, context: &mut QueryContext<'_>, process: Option<ProcessId>) -> Result<FaultsShown, Cancelled> {
    let (trace, cancel) = (context.trace(), context.cancel);
    let bins = query.bins.clamp(1, query.view.len().clamp(1, MOMENTS as i64) as usize);
    let draw = |kinds: &[FaultKind]| {
        let line = fault_series(trace, process, kinds, (query.view, bins), cancel)?;
        Ok(GraphLine::new(trace.clock, LineOf::Overlay(Overlay::Faults), line))
    };
    let mut counts = (0, 0);
    for (of, numbers) in process_faults(trace, query.view, cancel)? {
        if process.is_none() || of == process {
            let soft: u64 = SOFT.iter().map(|kind| numbers.of(*kind)).sum();
            counts = (counts.0 + numbers.of(FaultKind::Hard), counts.1 + soft);
        }
    }
    let (hard, all) = (draw(&[FaultKind::Hard])?, draw(&[&SOFT[..], &[FaultKind::Hard]].concat())?);
    // While the trace grows it would be stale at once.
    let touched = match process.filter(|_| !query.growing) {
        Some(process) => touched_sites(context.all_rows(), query.view.to, |of| of == process, cancel)?,
        None => None,
    };
    let mut sum = TouchedBytes::default();
    touched.into_iter().flatten().for_each(|(_, bytes)| sum.add(bytes));
    let touched = (sum.committed > 0).then_some((sum.committed, sum.touched));
    let bin_seconds = query.view.len() as f64 / bins as f64 / trace.clock.frequency as f64;
    Ok(FaultsShown { hard, all, bin_seconds, counts, touched })
}

/// The memory that the system gave a process, and how much of it is known, of all rows.
fn memory(query: &Query, context: &mut QueryContext<'_>, of: (ProcessId, Layer)) -> Result<Option<MemoryShown>, Cancelled> {
    let (process, layer) = of;
    let trace = context.trace();
    let Some(counters) = process_counters(trace, process) else { return Ok(None) };
    let cancel = context.cancel;
    let graph_line = |line| GraphLine::new(trace.clock, LineOf::Overlay(Overlay::Memory), line);
    let draw = |id: Option<CounterId>| {
        let lines = counter_series(trace, id.as_slice(), query.view, query.bins, cancel)?;
        Ok(lines.into_iter().next().map(graph_line))
    };
    let Some(commit) = draw(Some(counters.commit))? else { return Ok(None) };
    let sums = context.all_totals_of(query.view)?;
    let is_its: Vec<bool> = trace.heaps.iter().map(|heap| (heap.process, heap.layer) == (process, layer)).collect();
    let site = |site: SiteId| is_its[trace.site(site).heap.0 as usize].then_some(0);
    let lines = series(context.all_rows(), &sums, &SeriesOf::new(trace, 1, site), query.bins, cancel)?;
    let Some(known) = lines.into_iter().next() else { return Ok(None) };
    // While the trace grows it would be stale at once.
    let at = Some(commit.line.peak_at).filter(|_| commit.line.peak > 0 && !query.growing);
    let at_peak = at.map(|at| Ok((outstanding(context, &is_its, at)?, commit.line.peak))).transpose()?;
    let (working_set, private_working_set) = (draw(counters.working_set)?, draw(counters.private_working_set)?);
    Ok(Some(MemoryShown { process, layer, known: graph_line(known), commit, working_set, private_working_set, at_peak }))
}

/// Most parts of commit, all small ones being one; and most moments at which they are known.
const PARTS: usize = 8;
const MOMENTS: usize = 1 << 9;

/// The commit of a process by what it is for, of all rows.
fn commit(query: &Query, context: &mut QueryContext<'_>, process: ProcessId) -> Result<Option<CommitShown>, Cancelled> {
    let (trace, cancel, asked) = (context.trace(), context.cancel, context.asked());
    let owners = context.cache.range_owners.get((), asked, || RangeOwners::of(trace, cancel).map(Arc::new))?;
    let moments = query.moments(query.bins.clamp(1, MOMENTS));
    let of_process: Vec<bool> = (0..trace.processes.len() as u32).map(|id| id == process.0).collect();
    let request = CommitRequest { moments: &moments, of_process: &of_process, joins_heaps: true, most: PARTS };
    let found = commit_parts(context.all_rows(), context.names(), &owners, &request, cancel)?;
    let Some(ProcessCommit { parts, total, .. }) = found.into_iter().next() else { return Ok(None) };
    let line =
        |points: Vec<(Ticks, u64)>| GraphLine::new(trace.clock, LineOf::Overlay(Overlay::Commit), Series::of_points(points));
    let mut sums = vec![0u64; moments.len()];
    let mut add = |CommitPart { name, bytes, .. }: CommitPart| {
        sums.iter_mut().zip(&bytes).for_each(|(sum, bytes)| *sum = sum.saturating_add(*bytes));
        let peak = bytes.iter().copied().max().unwrap_or(0);
        CommitPartShown { name, peak, sum: line(moments.iter().copied().zip(sums.iter().copied()).collect()) }
    };
    let parts = parts.into_iter().map(&mut add).collect();
    let sampled: Vec<(Ticks, u64)> = moments.iter().zip(&total).filter_map(|(at, total)| Some((*at, (*total)?))).collect();
    Ok(Some(CommitShown { parts, total: (!sampled.is_empty()).then(|| line(sampled)) }))
}

/// Bytes outstanding in some heaps at a moment, of all rows.
fn outstanding(context: &mut QueryContext<'_>, is_wanted: &[bool], at: Ticks) -> Result<u64, Cancelled> {
    let trace = context.trace();
    let sums = context.all_totals_of(Interval { from: at, to: at })?;
    let by_heap = by_heap(trace, &sums, &Mask::all(trace), context.cancel)?;
    let wanted = by_heap.iter().zip(is_wanted).filter(|(_, is_wanted)| **is_wanted);
    Ok(wanted.map(|(sums, _)| sums.numbers().outstanding_to).fold(0, u64::saturating_add))
}

fn gpu(query: &Query, context: &QueryContext<'_>, of: usize) -> Result<Option<GpuShown>, Cancelled> {
    let trace = context.trace();
    let Some(series) = trace.activity.gpu.get(of) else { return Ok(None) };
    let draw = |id: Option<CounterId>| {
        let lines = counter_series(trace, id.as_slice(), query.view, query.bins, context.cancel)?;
        let what = LineOf::Overlay(Overlay::Gpu(series.group));
        Ok(lines.into_iter().next().map(|line| GraphLine::new(trace.clock, what, line)))
    };
    let (usage, budget, commitment) = (draw(series.usage)?, draw(series.budget)?, draw(series.commitment)?);
    Ok(Some(GpuShown { of, group: series.group, usage, budget, commitment }))
}

impl QueryContext<'_> {
    /// The number of frames of the swap chain in scope that end in the interval; `None` if there are none.
    pub fn frame_count(&self) -> Option<u64> {
        let lane = self.trace().activity.presents.get(self.query().overlays.chain?)?;
        Some(lane.ending_in(self.interval()).len() as u64).filter(|&count| count > 0)
    }

    /// The frames of a swap chain in order, with their filtered allocations: all frames if there are
    /// not too many, else those that end in an interval.
    pub fn frames(&mut self, of: FramesOf, interval: Interval) -> Result<Arc<Vec<FrameLine>>, Cancelled> {
        let Some(lane) = self.trace().activity.presents.get(of.chain) else { return Ok(Arc::default()) };
        let all = lane.times.get(0).zip(lane.times.last()).map(|(&from, &to)| Interval { from, to });
        let during = all.filter(|_| lane.frames() <= MOST_FRAMES).unwrap_or(interval);
        let query = self.query();
        let key = FramesKey { of, during, rows: self.cache.rows_of(query) };
        let request = FrameRequest { lane: of.chain, interval: during, layer: of.layer, mask: &self.mask };
        self.cache.frames.get(key, self.asked(), || frame_sums(&self.index, &request, self.cancel).map(Arc::new))
    }
}
