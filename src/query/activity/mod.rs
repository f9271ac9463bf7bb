//! What programs did while memory changed, as questions: marks, frames of a game with what was
//! allocated in each, processors by process and place in the code.

mod frames;
mod marks;
mod processors;

pub use frames::{FrameLine, FrameRequest, FrameSums, frame_lanes, frame_name, frame_sums, main_frames, mean_frame};
pub use marks::{MarkRequest, find_mark, marks};
pub use processors::{ProcessSamples, process_samples, processor_series, sample_sums};
