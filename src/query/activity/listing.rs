//! Marks, frames and processor samples as the machine interface has them.
//!
//! A trace that has none of a kind has no entry of it. Cost: that of [`marks`], of [`frame_sums`] for each layer of
//! each swap chain that is told of ([`CHAINS`] at most), and of [`process_samples`].

use std::cmp::Reverse;

use serde::Serialize;

use super::{FrameLine, FrameRequest, MarkRequest, ProcessSamples, chain_label, frame_lanes, frame_sums, marks, process_samples};
use crate::events::PresentApi;
use crate::model::{IntervalOrigin, Mark, PresentLane, ProcessId, Trace};
use crate::query::{Cancel, Cancelled, GroupNumbers, Index, Mask};
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Ticks};

/// Swap chains that are told of, those with most frames.
pub const CHAINS: usize = 16;

/// Marks of one answer.
pub const MARKS: usize = 10_000;

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

/// Marks that were written in an interval, by processes of this name or id, and by none that is known.
#[derive(Clone, Debug, Default)]
pub struct MarkEntries {
    /// The first of them, by time.
    pub list: Vec<MarkEntry>,
    /// How many more there are.
    pub left_out: usize,
}

/// See [`MarkEntries`]; `text` as in [`MarkRequest`].
pub fn mark_entries(trace: &Trace, interval: Interval, process: Option<&str>, text: &str, most: usize) -> MarkEntries {
    let is_meant = |id: ProcessId| process.is_none_or(|wanted| trace.process(id).is_called(wanted));
    let found = marks(trace, &MarkRequest { interval, process: None, text });
    let mut found = found.into_iter().filter(|mark| mark.process.is_none_or(is_meant));
    let list: Vec<MarkEntry> = found.by_ref().take(most).map(|mark| MarkEntry::of(trace, mark)).collect();
    MarkEntries { list, left_out: found.count() }
}

/// What some frames come to, one of them on average.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct PerFrame {
    pub allocated_count_per_frame: f64,
    pub allocated_size_per_frame: f64,
    pub freed_count_per_frame: f64,
    pub freed_size_per_frame: f64,
}

impl PerFrame {
    /// Of so many frames; `None` of none.
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

/// A frame with what its process allocated and freed in it, in one layer.
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
    /// As the answer has it.
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
    /// What it is called.
    #[serde(skip)]
    pub label: String,
    pub api: &'static str,
    pub swap_chain: String,
    pub frames: usize,
    pub mean_s: f64,
    pub max_s: f64,
}

impl ChainEntry {
    /// `None` if no frame ends in the interval.
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
        })
    }
}

/// The interface, as the machine interface names it.
pub fn api_name(api: PresentApi) -> &'static str {
    match api {
        PresentApi::Dxgi => "dxgi",
        PresentApi::D3d9 => "d3d9",
        PresentApi::Marks => "marks",
    }
}

/// A swap chain and what was allocated in its frames.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct ChainFrames {
    #[serde(flatten)]
    pub chain: ChainEntry,
    pub layers: Vec<LayerFrames>,
}

/// The same in one layer.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct LayerFrames {
    pub layer: &'static str,
    #[serde(flatten)]
    pub per_frame: PerFrame,
    /// Those with most allocated bytes.
    pub worst: Vec<FrameEntry>,
}

/// The layers in which a process has memory, of some sites.
pub fn layers_of(trace: &Trace, process: ProcessId, mask: &Mask) -> Vec<Layer> {
    let mut has = [false; Layer::ALL.len()];
    for (id, site) in (0..).map(crate::model::SiteId).zip(&trace.sites) {
        if trace.process_of(site) == process && mask.classes(id) != 0 {
            has[trace.layer_of(site) as usize] = true;
        }
    }
    Layer::ALL.into_iter().filter(|&layer| has[layer as usize]).collect()
}

/// Frames in the order of allocated bytes, most first; then by number.
pub fn sort_by_allocated(lines: &mut [FrameLine]) {
    lines.sort_by_key(|line| (Reverse(line.sums.allocated_size), Reverse(line.sums.allocated_count), line.number));
}

/// The swap chains of processes of this name or id with frames in an interval, those with most frames first, with
/// the `worst` frames of each layer.
pub fn chain_frames(
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
        for layer in layers_of(trace, lane.process, mask) {
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

/// How many frames each process hands over in an interval, of the swap chain with most of them in it: what lies outside
/// of the interval makes no difference, so that a part that was cut out says the same.
#[derive(Clone, Debug, Default)]
pub struct FrameCounts(KeyedMap<(u32, Option<u64>), usize>);

impl FrameCounts {
    /// Of all processes.
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

    /// Whether no process has any.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the rows of a group of one process come to in a frame: what the interval has, by the frames that it
    /// hands over.
    pub fn per_frame(&self, pid: Option<u32>, process_start_s: Option<f64>, numbers: &GroupNumbers) -> Option<PerFrame> {
        if self.is_empty() {
            return None;
        }
        let frames = *self.0.get(&(pid?, process_start_s.map(f64::to_bits)))?;
        let GroupNumbers { allocated_count, allocated_size, freed_count, freed_size, .. } = *numbers;
        PerFrame::of(frames, [allocated_count, allocated_size, freed_count, freed_size])
    }
}

/// What processors ran.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct ProcessorEntries {
    pub sampling_interval_s: f64,
    /// How that is known.
    pub sampling_interval_is: IntervalOrigin,
    /// Samples of idle processors, in all of the trace.
    pub idle: u64,
    /// Samples of threads of no process that is known, in the interval.
    pub unknown: u64,
    pub processes: Vec<ProcessorEntry>,
}

/// Samples of one process, or of a part of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct ProcessorEntry {
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    #[serde(flatten)]
    pub samples: SampleNumbers,
}

/// Samples, and what they stand for.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct SampleNumbers {
    pub samples: u64,
    pub seconds: f64,
    /// Of one processor.
    pub share: f64,
}

impl SampleNumbers {
    /// What so many samples of an interval are.
    pub fn of(trace: &Trace, interval: Interval, samples: u64) -> Self {
        let seconds = samples as f64 * trace.activity.samples.interval / trace.clock.frequency as f64;
        let length = interval.len() as f64 / trace.clock.frequency as f64;
        Self { samples, seconds, share: if length > 0.0 { seconds / length } else { 0.0 } }
    }
}

/// Whether a trace has samples.
pub fn has_samples(trace: &Trace) -> bool {
    let samples = &trace.activity.samples;
    !samples.list.is_empty() || samples.idle > 0
}

/// Samples of processes of this name or id, most first.
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

/// All of the kind that a report tells.
#[derive(Clone, Debug, Default)]
pub struct ActivityEntries {
    /// Those of the interval; `None` if the trace has none at all.
    pub marks: Option<MarkEntries>,
    /// See [`ActivityEntries::marks`].
    pub frames: Option<Vec<ChainFrames>>,
    /// See [`ActivityEntries::marks`].
    pub processors: Option<ProcessorEntries>,
    /// See [`FrameCounts`].
    pub frame_counts: FrameCounts,
}

impl ActivityEntries {
    /// Of an interval; of processes of this name or id, if one is given; frames with memory of the rows that `mask`
    /// chooses.
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
            frame_counts: FrameCounts::of(trace, interval),
        })
    }
}
