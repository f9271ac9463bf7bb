//! The programs as one starts them.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

#[path = "../common/mod.rs"]
mod common;

mod cli;
mod cli_functions;
#[cfg(feature = "console")]
mod console;
mod cut;
mod export;
mod record;
mod recorder;
mod recording;
