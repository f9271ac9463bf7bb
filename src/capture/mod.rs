//! Recording: what ETW sessions deliver becomes files that this program and others
//! open. Portable but for the sessions themselves, so nearly all of it is tested
//! without Windows.
//!
//! * [`Request`] says what to record, [`CaptureError`] why that does not work.
//! * [`Recording`] keeps the *lanes*: growing `.etl` files, in one folder. Consumers hand each
//!   event to a [`LaneWriter`].
//! * [`Followed`] knows whose pages are recorded.
//! * [`Recorder`] is who does that, for the window; [`control`] is what they say to each other
//!   if it is another process.
//! * [`StopWhen`] ends a recording by itself, and [`MemorySample`] is what it judges.
//! * [`properties`] has the exact bytes that StartTraceW and its like want, [`providers`] what is
//!   asked of programs.
//!
//! Knows nothing of the model, of queries and of the window: whoever looks on reads
//! the growing files.

pub mod constants;
pub mod control;
mod error;
mod files;
mod folder;
mod followed;
mod held;
mod images;
mod inputs;
mod lane;
mod merge;
mod notes;
pub mod properties;
pub mod providers;
mod recorder;
mod recording;
mod request;
mod ring;
mod room;
mod sample;
mod status;
mod stop_when;
mod stream;
mod unfinished;
#[cfg(windows)]
pub mod windows;

pub use error::CaptureError;
pub use files::{is_recording, lane_file};
pub use folder::Folder;
pub use followed::{Because, Elsewhere, Followed, Rules, Started};
pub use images::{DiskImages, Images};
pub use merge::{Summary, recover, recover_on, save};
pub use notes::{Note, Notes};
pub use recorder::{Aftermath, Leftovers, Program, Pulse, Recorder, Running};
pub use recording::{BUFFER_SIZE, LaneWriter, Recording, Session};
pub use request::{Children, MAX_CONDITIONS, Request, Ring, Target};
pub use room::{AskSpace, Storage};
pub use sample::{Cost, MemorySample, ProcessSample};
pub use status::{LaneStatus, Status};
pub use stop_when::{GROWTH_SAMPLES, Measure, StopWatch, StopWhen};
pub use unfinished::is_unfinished;

/// What is kept together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lane {
    /// What names all else: processes, threads, images, and that heaps and trackers begin and end.
    Context,
    /// What the kernel tells besides: VirtualAlloc, memory counters, and the stacks of its events.
    Pages,
    /// Heaps, and their stacks.
    Heap,
    /// Custom heap trackers and other providers of programs.
    User,
}

impl Lane {
    /// All lanes.
    pub const ALL: [Self; 4] = [Self::Context, Self::Pages, Self::Heap, Self::User];

    /// Its files are called so.
    pub fn name(self) -> &'static str {
        match self {
            Self::Context => files::CONTEXT,
            Self::Pages => "pages",
            Self::Heap => "heap",
            Self::User => "user",
        }
    }

    /// Whether old events may go: the context is what all others are read with.
    pub fn wraps(self) -> bool {
        self != Self::Context
    }
}
