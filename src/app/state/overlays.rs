//! Program activity that is drawn beside the graph's lines: marks on the time axis, a lane with a
//! program's frames, and lanes of CPU use, page faults and GPU memory. Holds which of these are requested, and the latest answer.

use std::collections::BTreeSet;

use super::graph::GraphLine;
use super::overlay::Overlay;
use crate::events::SegmentGroup;
use crate::model::ProcessId;
use crate::query::{FrameBar, FrameTimes, MarkSpot};
use crate::units::{Interval, Layer, Ticks};

/// The frames of one swap chain, with the layer whose allocations are summed for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FramesOf {
    /// The chain's number in [`Activity::presents`](crate::model::Activity).
    pub chain: usize,
    pub layer: Layer,
}

/// The request for the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OverlayRequest {
    pub marks: bool,
    /// The swap chain in scope, whether or not it is drawn.
    pub chain: Option<usize>,
    pub frames: Option<FramesOf>,
    /// The process whose share of the CPUs has its own line.
    pub processors: Option<Option<ProcessId>>,
    /// The process whose page faults are drawn; all processes without one.
    pub faults: Option<Option<ProcessId>>,
    /// The process whose memory is drawn as the system saw it, and the layer that is known of it.
    pub memory: Option<(ProcessId, Layer)>,
    /// The process whose commit is drawn by what it is for.
    pub commit: Option<ProcessId>,
    /// Places of the GPU memory to draw in [`Activity::gpu`](crate::model::Activity), by segment group.
    pub gpu: [Option<usize>; SegmentGroup::ALL.len()],
}

/// The frames in a view.
#[derive(Debug)]
pub struct FramesShown {
    pub of: FramesOf,
    /// In order of time.
    pub bars: Vec<FrameBar>,
    /// The median and the maximum over the bars of the most bytes that one frame of a bar allocated.
    pub allocated: (u64, u64),
    /// Frame times of the frames in the bars.
    pub times: FrameTimes,
    /// Whether the sums of allocations are known.
    pub has_sums: bool,
}

impl FramesShown {
    /// The median and the maximum of the bars' largest allocations.
    pub fn allocated(bars: &[FrameBar]) -> (u64, u64) {
        let mut all: Vec<u64> = bars.iter().map(|bar| bar.most_allocated).collect();
        all.sort_unstable();
        (all.get(all.len() / 2).copied().unwrap_or(0), all.last().copied().unwrap_or(0))
    }

    /// How far the largest allocation in a bar exceeds the usual, from 0 to 1. If all frames allocate
    /// alike, it is 0 for each.
    pub fn excess(&self, bar: &FrameBar) -> f32 {
        let (usual, most) = self.allocated;
        let all = (most - usual).max(usual).max(1);
        // The square root makes a tenth of the maximum visible too.
        (bar.most_allocated.saturating_sub(usual) as f64 / all as f64).sqrt() as f32
    }
}

/// CPU use, in thousandths of one CPU.
#[derive(Debug)]
pub struct ProcessorsShown {
    /// The process whose share has its own line.
    pub process: Option<ProcessId>,
    pub own: Option<GraphLine>,
    pub all: GraphLine,
    /// The average over the view: of the process, else of all.
    pub average: u64,
}

/// Page faults in a view.
#[derive(Debug)]
pub struct FaultsShown {
    /// Hard faults in each bin.
    pub hard: GraphLine,
    /// Hard and soft faults in each bin.
    pub all: GraphLine,
    /// Seconds of a bin.
    pub bin_seconds: f64,
    /// Hard and soft faults in the view.
    pub counts: (u64, u64),
    /// Bytes that the process committed in the trace and that are committed at the end of the view, and the touched part of them;
    /// `None` if that is not known.
    pub touched: Option<(u64, u64)>,
}

/// GPU memory of a process on an adapter, in one segment group.
#[derive(Debug)]
pub struct GpuShown {
    /// Its place in [`Activity::gpu`](crate::model::Activity).
    pub of: usize,
    pub group: SegmentGroup,
    pub usage: Option<GraphLine>,
    pub budget: Option<GraphLine>,
    pub commitment: Option<GraphLine>,
}

/// The memory that the system gave a process, and how much of it is known.
#[derive(Debug)]
pub struct MemoryShown {
    pub process: ProcessId,
    /// The layer of what is known: the largest one of the process.
    pub layer: Layer,
    /// All that is outstanding in the layer, whatever is filtered.
    pub known: GraphLine,
    pub commit: GraphLine,
    pub working_set: Option<GraphLine>,
    pub private_working_set: Option<GraphLine>,
    /// Known bytes and commit charge where the commit charge peaks in the view.
    pub at_peak: Option<(u64, u64)>,
}

/// The commit of a process by what it is for.
#[derive(Debug)]
pub struct CommitShown {
    /// The parts, the lowest first.
    pub parts: Vec<CommitPartShown>,
    /// The commit charge that the system sampled.
    pub total: Option<GraphLine>,
}

/// A part of commit.
#[derive(Debug)]
pub struct CommitPartShown {
    pub name: String,
    pub peak: u64,
    /// The sum of the part and all parts below it.
    pub sum: GraphLine,
}

impl CommitShown {
    /// The bytes of each part at a moment, the lowest first.
    pub fn at(&self, at: Ticks) -> Vec<(&str, u64)> {
        let mut below = 0;
        let mut all = Vec::new();
        for part in &self.parts {
            let sum = part.sum.line.value_at(at);
            all.push((part.name.as_str(), sum.saturating_sub(std::mem::replace(&mut below, sum))));
        }
        all
    }

    /// All known bytes at a moment.
    pub fn known_at(&self, at: Ticks) -> u64 {
        self.parts.last().map_or(0, |part| part.sum.line.value_at(at))
    }
}

/// The worker's answer.
#[derive(Debug, Default)]
pub struct OverlayAnswer {
    /// Marks as they are drawn.
    pub spots: Vec<MarkSpot>,
    pub frames: Option<FramesShown>,
    pub processors: Option<ProcessorsShown>,
    pub memory: Option<MemoryShown>,
    pub commit: Option<CommitShown>,
    pub faults: Option<FaultsShown>,
    pub gpu: Vec<GpuShown>,
}

impl OverlayAnswer {
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let Self { spots, frames, processors, memory, commit, faults, gpu } = self;
        let processors = processors.iter().flat_map(|shown| shown.own.iter().chain([&shown.all]));
        let memory = memory.iter().flat_map(|shown| {
            [&shown.known, &shown.commit].into_iter().chain(&shown.working_set).chain(&shown.private_working_set)
        });
        let commit = commit.iter().flat_map(|shown| shown.parts.iter().map(|part| &part.sum).chain(&shown.total));
        let faults = faults.iter().flat_map(|shown| [&shown.hard, &shown.all]);
        let gpu = gpu.iter().flat_map(|shown| shown.usage.iter().chain(&shown.budget).chain(&shown.commitment));
        let lines = processors.chain(memory).chain(commit).chain(faults).chain(gpu).map(GraphLine::bytes).sum::<usize>();
        size_of_val(&spots[..]) + frames.as_ref().map_or(0, |shown| size_of_val(&shown.bars[..])) + lines
    }

    /// The GPU memory of a segment group.
    pub fn gpu_of(&self, group: SegmentGroup) -> Option<&GpuShown> {
        self.gpu.iter().find(|shown| shown.group == group)
    }
}

/// The activity lanes' state in a document.
#[derive(Debug, Default)]
pub struct Overlays {
    /// The kinds that the user hid, or showed if they are hidden at first.
    pub switched: BTreeSet<Overlay>,
    /// The swap chain that the user has chosen.
    pub chain: Option<usize>,
    pub answer: OverlayAnswer,
}

impl Overlays {
    /// Shows or hides a kind of activity.
    pub fn show(&mut self, what: Overlay, shown: bool) {
        _ = if shown != what.is_hidden_at_first() { self.switched.remove(&what) } else { self.switched.insert(what) };
    }

    /// Whether a kind is shown if the trace has it.
    pub fn shows(&self, what: Overlay) -> bool {
        self.switched.contains(&what) == what.is_hidden_at_first()
    }

    /// Forgets the chosen chain and the answer, whose numbers are no longer valid.
    pub fn renumber(&mut self) {
        (self.chain, self.answer) = (None, OverlayAnswer::default());
    }
}

/// CPU use in percent, from thousandths of one CPU.
pub fn percent_of_processor(thousandths: u64) -> String {
    format!("{:.0} %", thousandths as f64 / 10.0)
}

/// A view of this length with the interval in its middle; longer if the interval would not fit.
pub fn centered(interval: Interval, length: i64, span: Interval) -> Interval {
    let length = length.max(interval.len() + interval.len() / 4).min(span.len());
    let middle = interval.from.0.saturating_add(interval.len() / 2);
    let last = span.to.0.saturating_sub(length).max(span.from.0);
    let from = middle.saturating_sub(length / 2).clamp(span.from.0, last);
    Interval { from: Ticks(from), to: Ticks(from.saturating_add(length)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{FrameLine, FrameSums};

    fn excesses(allocated: &[u64]) -> Vec<f32> {
        let interval = Interval { from: Ticks(0), to: Ticks(1) };
        let longest = FrameLine { number: 0, interval, sums: FrameSums::default() };
        let bar = |&most_allocated: &u64| FrameBar { during: interval, count: 1, longest, most_allocated };
        let bars: Vec<FrameBar> = allocated.iter().map(bar).collect();
        let times = FrameTimes { count: 1, mean: 1.0, median: 1, percentile_95: 1, longest: 1 };
        let of = FramesOf { chain: 0, layer: Layer::Heap };
        let shown = FramesShown { of, allocated: FramesShown::allocated(&bars), bars, times, has_sums: true };
        shown.bars.iter().map(|bar| shown.excess(bar)).collect()
    }

    #[test]
    fn frames_stand_out_by_what_they_allocate_beyond_the_usual() {
        assert_eq!(excesses(&[]), [0.0; 0]);
        assert_eq!(excesses(&[0, 0, 0]), [0.0; 3]);
        assert_eq!(excesses(&[40, 40, 40]), [0.0; 3], "all alike");
        assert_eq!(excesses(&[0, 0, 0, 100, 25]), [0.0, 0.0, 0.0, 1.0, 0.5], "where most allocate nothing");
        assert_eq!(excesses(&[100, 100, 100, 50, 125]), [0.0, 0.0, 0.0, 0.0, 0.5], "a little more stands out a little");
        assert_eq!(excesses(&[u64::MAX, 1, 1]), [1.0, 0.0, 0.0]);
    }
}
