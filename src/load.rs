//! Opens the files of one capture and replays them into a trace, which is published while it grows. This is the only
//! way from bytes to numbers; window, command line and tests all use it. A capture that is still being recorded is
//! followed ([`follow`]).

mod capture;
mod captures;
mod copied;
mod distinct;
mod estimate;
mod follow;
mod input;
mod lanes;
mod marks;
mod plan;
mod playback;
mod replay;
mod sample;
mod watch;
mod whole;

pub use crate::events::MarkProviders;
pub use crate::model::{Processes, Scope, WhenFull};
pub use capture::{Capture, Opened};
pub use captures::{MOST_APART, Together, together};
pub use estimate::{Estimate, Part};
pub use follow::follow;
pub use input::{DEMO_NAME, Input, reading};
pub use marks::MarksFound;
pub use plan::{Plan, default_budget, describe_scope};
pub use replay::no_memory_events;
pub use watch::{LOOK_EVERY, Stopped, Unwatched, Watch};
pub use whole::{inspect, load, load_planned};
