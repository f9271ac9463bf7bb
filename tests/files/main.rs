//! Traces as files: real ones, odd ones, damaged ones, several at once.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "gui")]
#[path = "../common/window.rs"]
mod driver;
#[path = "../oracle/mod.rs"]
mod oracle;

mod activity;
mod archives;
mod bad_input;
mod budget;
mod cases;
mod copies;
mod corpus;
mod memory;
mod merge;
mod odd_files;
mod prepared;
mod stress;
mod stretches;
mod tracker_header;
mod volume;
#[cfg(windows)]
mod windows_files;
