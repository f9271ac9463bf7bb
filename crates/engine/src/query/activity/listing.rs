//! Marks, frames and CPU samples in the form of the machine interface.
//!
//! A kind that the trace does not contain has no entry. Cost: that of [`marks`], of [`frame_sums`] for each layer of
//! each listed swap chain ([`CHAINS`] at most), and of [`process_samples`].

use std::cmp::Reverse;

use serde::Serialize;

use super::reported::has_reported;
use super::{
    FrameLine, FrameRequest, GpuEntry, MarkRequest, ProcessSamples, ReportedEntry, SampleNumbers, chain_label, frame_lanes,
    frame_sums, gpu_entries, marks, process_samples, reported_entries,
};
use crate::events::PresentApi;
use crate::json::is_zero;
use crate::model::{IntervalOrigin, Mark, PresentLane, ProcessId, Trace};
use crate::query::{Cancel, Cancelled, GroupNumbers, Index, Mask};
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Ticks};

/// Largest number of swap chains listed; those with most frames are.
pub(super) const CHAINS: usize = 16;

/// Largest number of marks in one answer.
pub(super) const MARKS: usize = 10_000;

/// A mark.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct MarkEntry {
    pub at_s: f64,
    pub from_s: f64,
    pub to_s: f64,
    pub text: String,
    pub provider: String,
    pub process: Option<String>,
    pub pid: Option<u32>,
}

impl MarkEntry {
    fn of(trace: &Trace, mark: &Mark) -> Self {
        let process = mark.process.map(|process| trace.process(process));
        let [at_s, from_s, to_s] = [mark.at, mark.from, mark.to].map(|at| trace.clock.seconds(at));
        Self {
            at_s,
            from_s,
            to_s,
            text: mark.text.to_string(),
            provider: trace.activity.marks.provider(mark).label(),
            process: process.map(|process| process.label()),
            pid: process.map(|process| process.pid.0),
        }
    }
}

/// The marks written in an interval by processes with a name or id, and those without a known process.
#[derive(Clone, Debug, Default)]
pub struct MarkEntries {
    /// The earliest marks, by time.
    pub list: Vec<MarkEntry>,
    /// Number of marks left out.
    pub left_out: usize,
}

/// Collects at most `most` marks (see [`MarkEntries`]); `text` is as in [`MarkRequest`].
pub fn mark_entries(trace: &Trace, interval: Interval, process: Option<&str>, text: &str, most: usize) -> MarkEntries {
    let is_meant = |id: ProcessId| process.is_none_or(|wanted| trace.process(id).is_called(wanted));
    let found = marks(trace, &MarkRequest { interval, process: None, text });
    let mut found = found.into_iter().filter(|mark| mark.process.is_none_or(is_meant));
    let list: Vec<MarkEntry> = found.by_ref().take(most).map(|mark| MarkEntry::of(trace, mark)).collect();
    MarkEntries { list, left_out: found.count() }
}

/// Averages per frame.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct PerFrame {
    pub allocated_count_per_frame: f64,
    pub allocated_size_per_frame: f64,
    pub freed_count_per_frame: f64,
    pub freed_size_per_frame: f64,
}

impl PerFrame {
    /// Divides sums by a number of frames; `None` for zero frames.
    fn of(frames: usize, [allocated_count, allocated_size, freed_count, freed_size]: [u64; 4]) -> Option<Self> {
        let each = |sum: u64| sum as f64 / frames as f64;
        (frames > 0).then(|| Self {
            allocated_count_per_frame: each(allocated_count),
            allocated_size_per_frame: each(allocated_size),
            freed_count_per_frame: each(freed_count),
            freed_size_per_frame: each(freed_size),
        })
    }
}

/// A frame with the allocations and frees of its process in it, in one layer.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct FrameEntry {
    pub number: usize,
    pub from_s: f64,
    pub to_s: f64,
    pub allocated_count: u64,
    pub allocated_size: u64,
    pub freed_count: u64,
    pub freed_size: u64,
}

impl FrameEntry {
    /// Converts a frame to the form of the answer.
    pub fn of(trace: &Trace, line: &FrameLine) -> Self {
        let [from_s, to_s] = [line.interval.from, line.interval.to].map(|at| trace.clock.seconds(at));
        let super::FrameSums { allocated_count, allocated_size, freed_count, freed_size } = line.sums;
        Self { number: line.number, from_s, to_s, allocated_count, allocated_size, freed_count, freed_size }
    }
}

/// The frames of a swap chain that end in an interval.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct ChainEntry {
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    /// Display name; not serialized.
    #[serde(skip)]
    pub label: String,
    pub api: &'static str,
    pub swap_chain: String,
    pub frames: usize,
    pub mean_s: f64,
    pub max_s: f64,
    /// Presents of other windows that the graphics kernel reported, which are no frames.
    #[serde(skip_serializing_if = "is_zero")]
    pub other_presents: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub other_windows: u64,
}

impl ChainEntry {
    /// Summarizes a swap chain; `None` if no frame ends in the interval.
    pub fn of(trace: &Trace, lane: &PresentLane, interval: Interval) -> Option<Self> {
        let frames = lane.ending_in(interval);
        let (first, last) = (lane.frame(frames.start)?.from, lane.frame(frames.end.checked_sub(1)?)?.to);
        let times = lane.times.range(frames.start..frames.end + 1);
        let longest = times.fold((0, first), |(longest, before), &at| (longest.max(at.0.saturating_sub(before.0)), at)).0;
        let process = trace.process(lane.process);
        let seconds = |ticks: i64| ticks as f64 / trace.clock.frequency as f64;
        Some(Self {
            process: process.label(),
            pid: process.pid.0,
            process_start_s: process.start.map(|at| trace.clock.seconds(at)),
            label: chain_label(lane),
            api: api_name(lane.api),
            swap_chain: format!("{:#x}", lane.swap_chain),
            frames: frames.len(),
            mean_s: seconds(last.0.saturating_sub(first.0)) / frames.len() as f64,
            max_s: seconds(longest),
            other_presents: lane.others.presents,
            other_windows: lane.others.windows.into(),
        })
    }
}

/// Returns the name of the graphics API in the machine interface.
pub fn api_name(api: PresentApi) -> &'static str {
    match api {
        PresentApi::Dxgi => "dxgi",
        PresentApi::D3d9 => "d3d9",
        PresentApi::DxgKrnl => "dxgkrnl",
        PresentApi::Marks => "marks",
    }
}

/// A swap chain with the allocations in its frames.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct ChainFrames {
    #[serde(flatten)]
    pub chain: ChainEntry,
    pub layers: Vec<LayerFrames>,
}

/// Allocations in a swap chain's frames, in one layer.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct LayerFrames {
    pub layer: &'static str,
    #[serde(flatten)]
    pub per_frame: PerFrame,
    /// The frames with most allocated bytes.
    pub worst: Vec<FrameEntry>,
}

/// Returns the layers in which a process, or any, has sites that the mask includes.
pub fn layers_of(trace: &Trace, process: Option<ProcessId>, mask: &Mask) -> Vec<Layer> {
    let mut has = [false; Layer::ALL.len()];
    for (id, site) in (0..).map(crate::model::SiteId).zip(&trace.sites) {
        if process.is_none_or(|process| trace.process_of(site) == process) && mask.classes(id) != 0 {
            has[trace.layer_of(site) as usize] = true;
        }
    }
    Layer::ALL.into_iter().filter(|&layer| has[layer as usize]).collect()
}

/// Sorts frames by allocated bytes, largest first, then by allocated blocks, largest first, then by number.
pub fn sort_by_allocated(lines: &mut [FrameLine]) {
    lines.sort_by_key(|line| (Reverse(line.sums.allocated_size), Reverse(line.sums.allocated_count), line.number));
}

/// Returns the swap chains that have frames in an interval, of processes with a name or id, those with most frames
/// first; each with the `worst` frames of each layer.
pub(crate) fn chain_frames(
    index: &Index,
    interval: Interval,
    process: Option<&str>,
    (mask, worst): (&Mask, usize),
    cancel: &Cancel,
) -> Result<Vec<ChainFrames>, Cancelled> {
    let trace = index.trace();
    let is_meant = |lane: &PresentLane| process.is_none_or(|wanted| trace.process(lane.process).is_called(wanted));
    let lanes = frame_lanes(trace).into_iter().filter(|(_, lane)| is_meant(lane));
    let chains = lanes.filter_map(|(number, lane)| Some((number, lane, ChainEntry::of(trace, lane, interval)?)));
    let mut chains: Vec<_> = chains.collect();
    chains.sort_by_key(|(number, _, chain)| (Reverse(chain.frames), *number));
    chains.truncate(CHAINS);
    let mut all = Vec::with_capacity(chains.len());
    for (number, lane, chain) in chains {
        let mut layers = Vec::new();
        for layer in layers_of(trace, Some(lane.process), mask) {
            let mut lines = frame_sums(index, &FrameRequest { lane: number, interval, layer, mask }, cancel)?;
            let sum = |of: fn(&FrameLine) -> u64| lines.iter().map(of).fold(0, u64::saturating_add);
            let sums = [
                sum(|line| line.sums.allocated_count),
                sum(|line| line.sums.allocated_size),
                sum(|line| line.sums.freed_count),
                sum(|line| line.sums.freed_size),
            ];
            let Some(per_frame) = PerFrame::of(lines.len(), sums) else { continue };
            sort_by_allocated(&mut lines);
            let worst = lines.iter().filter(|line| line.sums.allocated_count > 0).take(worst);
            layers.push(LayerFrames {
                layer: layer.name(),
                per_frame,
                worst: worst.map(|line| FrameEntry::of(trace, line)).collect(),
            });
        }
        all.push(ChainFrames { chain, layers });
    }
    Ok(all)
}

/// Number of presents of each process in an interval, for its swap chain with most of them. Only presents inside the
/// interval count, so a part cut out of the trace gives the same numbers.
#[derive(Clone, Debug, Default)]
pub struct FrameCounts(KeyedMap<(u32, Option<u64>), usize>);

impl FrameCounts {
    /// Counts the presents of all processes.
    pub fn of(trace: &Trace, interval: Interval) -> Self {
        let mut counts = KeyedMap::default();
        for lane in &trace.activity.presents {
            let process = trace.process(lane.process);
            let place = |at: Ticks| lane.times.partition_point(|&time| time < at);
            let frames = place(interval.to) - place(interval.from);
            let key = (process.pid.0, process.start.map(|at| trace.clock.seconds(at).to_bits()));
            let most = counts.entry(key).or_insert(0);
            *most = frames.max(*most);
        }
        counts.retain(|_, frames| *frames > 0);
        Self(counts)
    }

    /// Returns whether no process has frames in the interval.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Divides the numbers of a group of one process by the frames of that process in the interval.
    pub fn per_frame(&self, pid: Option<u32>, process_start_s: Option<f64>, numbers: &GroupNumbers) -> Option<PerFrame> {
        if self.is_empty() {
            return None;
        }
        let frames = *self.0.get(&(pid?, process_start_s.map(f64::to_bits)))?;
        let GroupNumbers { allocated_count, allocated_size, freed_count, freed_size, .. } = *numbers;
        PerFrame::of(frames, [allocated_count, allocated_size, freed_count, freed_size])
    }
}

/// CPU samples by process.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct ProcessorEntries {
    pub sampling_interval_s: f64,
    /// Where the sampling interval comes from.
    pub sampling_interval_is: IntervalOrigin,
    /// Samples of idle CPUs, in the whole trace.
    pub idle: u64,
    /// Samples of threads without a known process, in the interval.
    pub unknown: u64,
    pub processes: Vec<ProcessorEntry>,
}

/// CPU samples of one process, or of a part of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct ProcessorEntry {
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    #[serde(flatten)]
    pub samples: SampleNumbers,
}

/// Returns whether a trace has CPU samples.
pub fn has_samples(trace: &Trace) -> bool {
    let samples = &trace.activity.samples;
    !samples.list.is_empty() || samples.idle > 0
}

/// Returns the CPU samples of processes with a name or id, those with most samples first.
pub fn processor_entries(trace: &Trace, interval: Interval, process: Option<&str>) -> ProcessorEntries {
    let samples = &trace.activity.samples;
    let all = process_samples(trace, interval);
    let entry = |id: ProcessId, of: &ProcessSamples| {
        let process = trace.process(id);
        ProcessorEntry {
            process: process.label(),
            pid: process.pid.0,
            process_start_s: process.start.map(|at| trace.clock.seconds(at)),
            samples: SampleNumbers { samples: of.count, seconds: of.seconds, share: of.share },
        }
    };
    let is_meant = |id: ProcessId| process.is_none_or(|wanted| trace.process(id).is_called(wanted));
    let known = all.iter().filter_map(|samples| Some((samples.process?, samples)));
    ProcessorEntries {
        sampling_interval_s: samples.interval / trace.clock.frequency as f64,
        sampling_interval_is: samples.interval_origin,
        idle: samples.idle,
        unknown: all.iter().filter(|samples| samples.process.is_none()).map(|samples| samples.count).sum(),
        processes: known.filter(|(id, _)| is_meant(*id)).map(|(id, of)| entry(id, of)).collect(),
    }
}

/// The marks, frames, CPU samples, GPU memory and programs' own counters of a report.
#[derive(Clone, Debug, Default)]
pub struct ActivityEntries {
    /// Marks of the interval; `None` if the whole trace has none.
    pub marks: Option<MarkEntries>,
    /// Frames of the interval; `None` if the whole trace has none.
    pub frames: Option<Vec<ChainFrames>>,
    /// CPU samples of the interval; `None` if the whole trace has none.
    pub processors: Option<ProcessorEntries>,
    /// GPU memory in the interval; `None` if the whole trace has none.
    pub gpu_memory: Option<Vec<GpuEntry>>,
    /// Numbers that programs report, in the interval; `None` if the whole trace has none.
    pub counters: Option<Vec<ReportedEntry>>,
    /// Frames per process.
    pub frame_counts: FrameCounts,
}

impl ActivityEntries {
    /// Collects the entries of an interval, of processes with a name or id if one is given; memory per frame is that of
    /// the rows in `mask`.
    pub fn of(
        index: &Index,
        interval: Interval,
        process: Option<&str>,
        (mask, worst): (&Mask, usize),
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let trace = index.trace();
        let activity = &trace.activity;
        let has_frames = activity.presents.iter().any(|lane| lane.frames() > 0);
        Ok(Self {
            marks: (!activity.marks.list.is_empty()).then(|| mark_entries(trace, interval, process, "", MARKS)),
            frames: has_frames.then(|| chain_frames(index, interval, process, (mask, worst), cancel)).transpose()?,
            processors: has_samples(trace).then(|| processor_entries(trace, interval, process)),
            gpu_memory: (!activity.gpu.is_empty()).then(|| gpu_entries(trace, interval, process)),
            counters: has_reported(trace).then(|| reported_entries(trace, interval, process)),
            frame_counts: FrameCounts::of(trace, interval),
        })
    }
}
