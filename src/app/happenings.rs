//! Program activity that is drawn beside the graph's lines: marks on the time axis, a lane with a
//! program's frames, and a lane of CPU use. Holds which of these are requested, and the latest answer.

use std::collections::BTreeSet;

use super::document::Document;
use super::graph::GraphLine;
use super::views::layer_of_filter;
use crate::model::{PresentLane, ProcessId, Trace};
use crate::query::{FrameBar, FrameTimes, Key, MarkSpot, chain_label, frame_lanes, main_frames};
use crate::units::{Interval, Layer, Ticks};

/// A kind of activity that can be drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Happening {
    /// Marks on the time axis.
    Marks,
    /// The frames of a program, in a lane.
    Frames,
    /// CPU use, in a lane.
    Processors,
}

impl Happening {
    /// All kinds, from top to bottom.
    pub const ALL: [Self; 3] = [Self::Marks, Self::Frames, Self::Processors];

    /// Whether a trace has data of this kind.
    pub fn is_in(self, trace: &Trace) -> bool {
        match self {
            Self::Marks => !trace.activity.marks.list.is_empty(),
            Self::Frames => trace.activity.presents.iter().any(|lane| lane.frames() > 0),
            Self::Processors => !trace.activity.samples.list.is_empty(),
        }
    }

    /// Name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marks => "Marks",
            Self::Frames => "Frames",
            Self::Processors => "Processors",
        }
    }
}

/// The frames of one swap chain, with the layer whose allocations are summed for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FramesOf {
    /// The chain's number in [`Activity::presents`](crate::model::Activity).
    pub chain: usize,
    pub layer: Layer,
}

/// The request for the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Asked {
    pub marks: bool,
    /// The swap chain in scope, whether or not it is drawn.
    pub chain: Option<usize>,
    pub frames: Option<FramesOf>,
    /// The process whose share of the CPUs has its own line.
    pub processors: Option<Option<ProcessId>>,
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

/// The worker's answer.
#[derive(Debug, Default)]
pub struct Happened {
    /// Marks as they are drawn.
    pub spots: Vec<MarkSpot>,
    pub frames: Option<FramesShown>,
    pub processors: Option<ProcessorsShown>,
}

/// The activity lanes' state in a document.
#[derive(Debug, Default)]
pub struct Happenings {
    hidden: BTreeSet<Happening>,
    /// The swap chain that the user has chosen.
    pub chain: Option<usize>,
    pub answer: Happened,
}

impl Happenings {
    /// Shows or hides a kind of activity.
    pub fn show(&mut self, what: Happening, shown: bool) {
        _ = if shown { self.hidden.remove(&what) } else { self.hidden.insert(what) };
    }

    /// Forgets the chosen chain and the answer, whose numbers are no longer valid.
    pub fn renumber(&mut self) {
        (self.chain, self.answer) = (None, Happened::default());
    }
}

impl Document {
    /// Whether a kind is drawn: the trace has it, and the user has not hidden it.
    pub fn draws(&self, what: Happening) -> bool {
        what.is_in(&self.trace) && !self.happenings.hidden.contains(&what)
    }

    /// The request for the graph.
    pub fn asked_happenings(&self) -> Asked {
        let frames = self.frames_in_scope();
        Asked {
            marks: self.draws(Happening::Marks),
            chain: frames.map(|of| of.chain),
            frames: frames.filter(|_| self.draws(Happening::Frames)),
            processors: self.draws(Happening::Processors).then(|| self.process_in_scope()),
        }
    }

    /// The frames in scope: those of the chain that the user has chosen, else of the process in scope,
    /// else of the chain with the most frames. The layer is that of the filter, else the largest.
    pub fn frames_in_scope(&self) -> Option<FramesOf> {
        let presents = &self.trace.activity.presents;
        let chosen = self.happenings.chain.filter(|&chain| presents.get(chain).is_some_and(|lane| lane.frames() > 0));
        let of_process = || main_frames(&self.trace, Some(self.process_of_filter()?));
        let chain = chosen.or_else(of_process).or_else(|| main_frames(&self.trace, None))?;
        let process = presents.get(chain)?.process;
        let has = |layer: &Layer| self.trace.heaps.iter().any(|heap| (heap.process, heap.layer) == (process, *layer));
        let peak = |layer: &Layer| self.answers.overview.peak_of((process, *layer));
        let largest = || Layer::ALL.into_iter().filter(has).max_by_key(peak);
        Some(FramesOf { chain, layer: layer_of_filter(self).or_else(largest).unwrap_or(Layer::Heap) })
    }

    /// A swap chain, by its number.
    pub fn chain(&self, chain: usize) -> Option<&PresentLane> {
        self.trace.activity.presents.get(chain)
    }

    /// The swap chains by number, with names that include their process, those with the most frames first.
    pub fn chain_names(&self) -> Vec<(usize, String)> {
        let lanes = frame_lanes(&self.trace);
        let name = |&(number, lane): &(usize, &PresentLane)| {
            let process = self.trace.process(lane.process);
            (number, format!("{} ({}), {}", process.label(), process.pid, chain_label(lane)))
        };
        lanes.iter().map(name).collect()
    }

    /// The process in scope: that of the filter, else the largest.
    pub fn process_in_scope(&self) -> Option<ProcessId> {
        self.process_of_filter().or_else(|| self.lanes().first().map(|lane| lane.of.0))
    }

    /// The process to which the filters restrict everything, if it is a single one.
    fn process_of_filter(&self) -> Option<ProcessId> {
        let paths = &self.filters().under().any;
        let mut processes = paths.iter().map(|path| match path.first() {
            Some(&Key::Process(process)) => Some(process),
            _ => None,
        });
        let first = processes.next()??;
        processes.all(|other| other == Some(first)).then_some(first)
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
