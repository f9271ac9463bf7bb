//! The activity in scope: which swap chain, layer, process and adapter the lanes of frames, CPU use and GPU memory are about.

use super::Document;
use crate::app::state::overlay::Overlay;
use crate::app::state::overlays::{FramesOf, OverlayRequest};
use crate::events::SegmentGroup;
use crate::model::{Heap, PresentLane, ProcessId};
use crate::query::{Key, chain_label, frame_lanes, main_frames, main_gpu, process_counters};
use crate::units::Layer;

impl Document {
    /// Whether a kind is drawn: the trace has it, and the user has not hidden it.
    pub fn draws(&self, what: Overlay) -> bool {
        what.is_in(&self.trace) && self.overlays.shows(what)
    }

    /// The request for the graph.
    pub fn asked_overlays(&self) -> OverlayRequest {
        let frames = self.frames_in_scope();
        OverlayRequest {
            marks: self.draws(Overlay::Marks),
            chain: frames.map(|of| of.chain),
            frames: frames.filter(|_| self.draws(Overlay::Frames)),
            processors: self.draws(Overlay::Processors).then(|| self.sampled_in_scope()),
            memory: self.memory_in_scope().filter(|_| self.draws(Overlay::Memory)),
            commit: self.draws(Overlay::Commit).then(|| self.commit_in_scope()).flatten(),
            faults: self.draws(Overlay::Faults).then(|| self.faults_in_scope()),
            gpu: SegmentGroup::ALL.map(|group| self.gpu_in_scope(group).filter(|_| self.draws(Overlay::Gpu(group)))),
        }
    }

    /// The process whose memory is drawn as the system saw it: the one in scope, else the first with such counters; and its
    /// largest layer.
    pub fn memory_in_scope(&self) -> Option<(ProcessId, Layer)> {
        let has = |process: &ProcessId| process_counters(&self.trace, *process).is_some();
        let others = || self.lanes().iter().map(|lane| lane.of.0).find(has);
        let process = self.process_in_scope().filter(has).or_else(others)?;
        let has = |layer: &Layer| self.trace.heaps.iter().any(|heap| (heap.process, heap.layer) == (process, *layer));
        let peak = |layer: &Layer| self.answers.overview.peak_of((process, *layer));
        Some((process, Layer::ALL.into_iter().filter(has).max_by_key(peak)?))
    }

    /// The process whose commit is drawn: the one in scope, else the first lane's with committed ranges.
    pub fn commit_in_scope(&self) -> Option<ProcessId> {
        let is_its = |process: ProcessId| move |heap: &Heap| (heap.process, heap.layer) == (process, Layer::Commit);
        let has = |process: &ProcessId| self.trace.heaps.iter().any(is_its(*process));
        self.process_in_scope().filter(has).or_else(|| self.lanes().iter().map(|lane| lane.of.0).find(has))
    }

    /// The GPU memory in scope: that of the process of the filter; without one, of the largest process, else of the one that
    /// uses most; on the adapter of which it uses most.
    pub fn gpu_in_scope(&self, group: SegmentGroup) -> Option<usize> {
        let of = |process| main_gpu(&self.trace, group, process);
        match self.process_of_filter() {
            Some(process) => of(Some(process)),
            None => self.process_in_scope().and_then(|process| of(Some(process))).or_else(|| of(None)),
        }
    }

    /// The frames in scope: those of the chain that the user has chosen, else of the process in scope,
    /// else of the chain with the most frames. The layer is that of the filter, else the largest.
    pub fn frames_in_scope(&self) -> Option<FramesOf> {
        let presents = &self.trace.activity.presents;
        let chosen = self.overlays.chain.filter(|&chain| presents.get(chain).is_some_and(|lane| lane.frames() > 0));
        let of_process = || main_frames(&self.trace, Some(self.process_of_filter()?));
        let chain = chosen.or_else(of_process).or_else(|| main_frames(&self.trace, None))?;
        let process = presents.get(chain)?.process;
        let has = |layer: &Layer| self.trace.heaps.iter().any(|heap| (heap.process, heap.layer) == (process, *layer));
        let peak = |layer: &Layer| self.answers.overview.peak_of((process, *layer));
        let largest = || Layer::ALL.into_iter().filter(has).max_by_key(peak);
        Some(FramesOf { chain, layer: self.layer_of_filter().or_else(largest).unwrap_or(Layer::Heap) })
    }

    /// A swap chain, by its number.
    pub fn chain(&self, chain: usize) -> Option<&PresentLane> {
        self.trace.activity.presents.get(chain)
    }

    /// The swap chains by number, with names that include their process, those with the most frames first.
    pub fn chain_names(&self) -> Vec<(usize, String)> {
        let lanes = frame_lanes(&self.trace);
        let name = |&(number, lane): &(usize, &PresentLane)| {
            (number, format!("{}, {}", self.trace.process(lane.process).label_with_id(), chain_label(lane)))
        };
        lanes.iter().map(name).collect()
    }

    /// The process whose CPU use is drawn: that of the filter, else that of the frames, else the largest.
    pub fn sampled_in_scope(&self) -> Option<ProcessId> {
        let of_frames = || Some(self.chain(self.frames_in_scope()?.chain)?.process);
        self.process_of_filter().or_else(of_frames).or_else(|| self.process_in_scope())
    }

    /// The process whose page faults are drawn: the one in scope.
    pub fn faults_in_scope(&self) -> Option<ProcessId> {
        self.process_in_scope()
    }

    /// The process in scope: that of the filter, else the largest.
    pub fn process_in_scope(&self) -> Option<ProcessId> {
        self.process_of_filter().or_else(|| self.lanes().first().map(|lane| lane.of.0))
    }

    /// The process to which the filters restrict everything, if it is a single one.
    pub fn process_of_filter(&self) -> Option<ProcessId> {
        let paths = &self.filters().under().any;
        let mut processes = paths.iter().map(|path| match path.first() {
            Some(&Key::Process(process)) => Some(process),
            _ => None,
        });
        let first = processes.next()??;
        processes.all(|other| other == Some(first)).then_some(first)
    }

    /// The layer to which the nodes in the filter belong: that of the first node with a layer or heap in its path.
    pub fn layer_of_filter(&self) -> Option<Layer> {
        self.filters().under().any.iter().flat_map(|path| path.iter()).find_map(|key| match *key {
            Key::Layer(layer) => Some(layer),
            Key::Heap(heap) => Some(self.trace.heap(heap).layer),
            _ => None,
        })
    }
}
