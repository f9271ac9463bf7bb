//! highwater: where did the memory go? Reads and analyses Windows memory traces (ETW, `.etl`).
//!
//! Modules, in the order of the data flow; dependencies go one way only: ([`archive`] →) [`etl`] bytes → [`events`]
//! records → [`model`] one immutable trace → [`query`] answers for an interval → `app` (window) and [`cli`] (text,
//! JSON). `ARCHITECTURE.md` has the map.

#[cfg(feature = "gui")]
pub mod app;
pub mod archive;
pub mod capture;
pub mod cli;
pub mod editor;
pub mod events;
pub mod export;
pub mod format;
pub mod limits;
pub mod load;
pub mod model;
pub mod nearest;
pub mod open_error;
pub mod panics;
pub mod paths;
pub mod pattern;
pub mod pe;
pub mod platform;
pub mod problem;
pub mod query;
pub mod seconds;
pub mod stack_rules;
pub mod symbols;
pub mod synth;
pub mod tables;
pub mod time_spec;
pub mod toml_file;
pub mod units;
pub mod utc;

pub use highwater_etl as etl;
