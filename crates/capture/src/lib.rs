//! Recording: writes the events of ETW sessions to files that this program and others open. Everything except the
//! sessions themselves is portable, so nearly all of it is tested without Windows.
//!
//! * [`Request`] says what to record, [`CaptureError`] why that fails.
//! * [`Recording`] writes the *lanes*: growing `.etl` files in one folder. Consumers pass each event to a [`LaneWriter`].
//! * [`Followed`] knows the processes whose page events are recorded.
//! * [`volume::measure`] measures, before a recording, how much it would write.
//! * [`Recorder`] is the window's interface to recording; [`control`] is the protocol if it is another process.
//! * [`StopWhen`] is a condition that ends a recording, and [`MemorySample`] is the data that it checks.
//! * [`properties`] builds the bytes for StartTraceW and related functions; [`providers`] lists the providers to enable.
//!
//! Does not depend on the model, on queries or on the window: a live view reads the growing files.

#![deny(unreachable_pub)]

use highwater_engine::{events, format, open_error, pe, problem, tables, units};
use highwater_etl as etl;
use highwater_files::{paths, platform};

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
pub mod volume;
#[cfg(windows)]
pub mod windows;
mod wprp;

pub use error::CaptureError;
pub use files::{Lane, is_recording, lane_file};
pub use folder::Folder;
pub use followed::{Because, Elsewhere, Followed, Rules, Started};
pub use images::{DiskImages, Images, Manifests};
pub use merge::{Summary, recover, recover_on, save};
pub use notes::{Note, Notes};
pub use recorder::{Aftermath, Leftovers, Program, Pulse, Recorder, Running};
pub use recording::{BUFFER_SIZE, LaneWriter, Recording, Session};
pub use request::{Allocator, Children, MAX_CONDITIONS, Request, Ring, Target};
pub use room::{AskSpace, Storage};
pub use sample::{Cost, MemorySample, ProcessSample};
pub use status::{LaneStatus, Status};
pub use stop_when::{GROWTH_SAMPLES, Measure, StopWatch, StopWhen};
pub use unfinished::is_unfinished;
pub use wprp::recording_profile;
