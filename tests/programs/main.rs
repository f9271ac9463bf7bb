//! The programs as one starts them.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/mapped.rs"]
mod mapped;
#[path = "../common/pages.rs"]
mod pages;

mod asking;
mod check;
mod ci_example;
mod cli;
mod cli_functions;
mod completions;
#[cfg(feature = "console")]
mod console;
mod cut;
mod diff;
mod export;
#[cfg(feature = "parquet")]
mod export_parquet;
#[cfg(not(feature = "parquet"))]
mod export_without_parquet;
mod frames;
mod hostile_names;
mod marks;
mod mingw;
mod outputs;
mod page;
mod record;
mod recording;
mod responsible;
mod symbols;
mod trackers;
mod unmatched;
