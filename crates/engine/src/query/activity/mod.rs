//! Queries about program activity while memory changed: marks, frames of a game with the allocations in each, CPU samples
//! by process and by place in the code, and GPU memory.

mod frames;
mod gpu;
mod listing;
mod marks;
mod processors;

pub use frames::{
    FrameBar, FrameLine, FrameRequest, FrameSums, FrameTimes, MOST_FRAMES, chain_label, frame_bars, frame_lanes, frame_name,
    frame_sums, main_frames,
};
pub use gpu::{GpuEntry, StepNumbers, gpu_entries, main_gpu};
pub use listing::{
    ActivityEntries, ChainEntry, ChainFrames, FrameCounts, FrameEntry, LayerFrames, MarkEntries, MarkEntry, PerFrame,
    ProcessorEntries, ProcessorEntry, api_name, chain_frames, has_samples, layers_of, mark_entries, processor_entries,
    sort_by_allocated,
};
pub use marks::{MarkRequest, MarkSpot, find_mark, mark_places, mark_spots, marks};
pub use processors::{
    ProcessSamples, SampleNumbers, process_samples, processor_series, sample_counts, sample_sums, sample_sums_where,
    sampled_stacks,
};
