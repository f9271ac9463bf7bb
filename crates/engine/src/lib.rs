//! The engine of highwater: records of a Windows memory trace become one immutable trace, and questions about any
//! interval of it get exact answers. Knows neither the window nor the command line, neither how files become a load nor
//! where names of functions come from.
//!
//! # Rooms
//!
//! In the order of the data flow; each uses only those before it, and the shared words.
//!
//! - [`events`]: payloads become typed records; all processors and files are merged into time order. `events::encode`
//!   is the way back.
//! - [`model`]: `Builder` replays records into a `Trace`: processes and modules over time, heaps, interned stacks, a row
//!   for each allocation.
//! - [`stack_rules`]: which frames are the allocator's, a library's or the user's own; folds and tags.
//! - [`names`]: what is known of addresses at one moment, and the rules for stacks at that moment.
//! - [`query`]: pure functions of (trace, interval, filter); `Index` is what is prepared for them.
//! - [`limits`]: rules that limit numbers of a trace, and whether it keeps them.
//!
//! Shared words: [`units`], [`problem`], [`format`](mod@format), [`json`], [`ndjson`], [`utc`], [`seconds`], [`time_spec`], [`nearest`],
//! [`pattern`], [`tables`], [`toml_file`], [`pe`], [`open_error`], [`panics`], [`random`], [`stored`](mod@stored). `seconds` and `time_spec` need a trace to say what a time means, so they
//! are above `model` and `query`.
//!
//! # Invariants
//!
//! - A bad record becomes a [`problem::Problem`] and is skipped; nothing here prints or ends the process.
//! - A published trace never changes; the publications of one load share what did not change.
//! - `query::LifetimeClass::of` is the only place that classifies a row.
//! - Names label numbers and never change them, but where a question is about functions, types or tags.
//! - Hash tables have random keys ([`tables`]), and no result depends on their order.
//! - Only files of rules and images are opened here ([`toml_file`], [`pe`]), none without a limit of its size.

#![deny(unreachable_pub)]

use highwater_etl as etl;
use highwater_files::paths;

pub mod events;
pub mod format;
pub mod json;
pub mod limits;
pub mod model;
pub mod names;
pub mod ndjson;
pub mod nearest;
pub mod open_error;
pub mod panics;
pub mod pattern;
pub mod pe;
pub mod problem;
pub mod query;
pub mod random;
pub mod seconds;
pub mod stack_rules;
pub mod stored;
pub mod tables;
pub mod time_spec;
pub mod toml_file;
pub mod units;
pub mod utc;
