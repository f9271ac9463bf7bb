//! Opens the files of one capture and replays them into a trace, which is published while it grows. This is the only
//! way from bytes to numbers; window, command line and tests all use it. A capture that is still being recorded is
//! followed ([`follow()`]). Traces inside archives are opened by [`archive`].
//!
//! Knows the engine, and which folders are recordings; neither the window nor the command line, neither symbols nor
//! formats of other programs.

#![deny(unreachable_pub)]

use highwater_engine::{events, format, model, open_error, panics, problem, stored, tables, units, utc};
use highwater_etl as etl;
use highwater_files::{paths, platform};

#[cfg(test)]
use highwater_engine::random;

pub mod archive;
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
pub mod prepared;
mod preview;
mod replay;
mod sample;
mod watch;
mod whole;

pub use capture::{Capture, Opened};
pub use captures::{Together, together};
pub use estimate::{Estimate, Part};
pub use follow::follow;
pub use highwater_engine::events::MarkProviders;
pub use highwater_engine::model::{Processes, Scope, WhenFull};
pub use input::{DEMO_NAME, DEMO_TRACE, INVESTIGATION, Input, is_investigation, reading};
pub use marks::MarksFound;
pub use plan::{Plan, default_budget, describe_scope};
pub use prepared::{PreparedPlace, PreparedTraces};
pub use preview::Preview;
pub use replay::no_memory_events;
pub use watch::{Stopped, Unwatched, Watch};
pub use whole::{inspect, load, load_planned};
