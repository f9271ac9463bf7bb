//! Queries about program activity while memory changed: marks, frames of a game with the allocations in each, CPU samples
//! and page faults by process and by place in the code, GPU memory, scopes with the allocations in them, and numbers that programs report.

mod fault_entries;
mod faults;
mod frames;
mod gpu;
mod listing;
mod marks;
mod processors;
mod reported;
mod scopes;

pub use fault_entries::{CallerTouches, CommitTouches, FaultEntries, FaultEntry, fault_entries};
pub(super) use faults::process_of_fault;
pub use faults::{FaultNumbers, fault_series, fault_sums, has_faults, process_faults};
pub use frames::{
    FrameBar, FrameLine, FrameRequest, FrameSums, FrameTimes, MOST_FRAMES, chain_label, frame_bars, frame_lanes, frame_name,
    frame_sums, main_frames,
};
pub use gpu::{GpuEntry, StepNumbers, bytes_at_edges, gpu_entries, main_gpu};
pub use listing::{
    ActivityEntries, ChainEntry, ChainFrames, FrameCounts, FrameEntry, LayerFrames, MarkEntries, MarkEntry, PerFrame,
    ProcessorEntries, ProcessorEntry, api_name, has_samples, layers_of, mark_entries, processor_entries, sort_by_allocated,
};
pub use marks::{MarkRequest, MarkSpot, find_mark, mark_places, mark_spots, marks};
pub use processors::{
    ProcessSamples, SampleNumbers, process_samples, processor_series, sample_counts, sample_sums, sample_sums_where,
    sampled_stacks,
};
pub use reported::{ReportedEntry, reported_entries};
pub use scopes::{MOST_SCOPES, ScopeEntry, ScopeRequest, ScopeSums, each_scope, scope_count, scope_sums};
