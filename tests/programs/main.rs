//! The programs as one starts them.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/mapped.rs"]
mod mapped;
#[path = "../common/pages.rs"]
mod pages;

mod asking;
#[cfg(feature = "parquet")]
mod bisect;
mod check;
mod ci_example;
mod ci_templates;
mod cli;
mod cli_functions;
mod commit;
mod completions;
#[cfg(feature = "console")]
mod console;
mod cut;
mod diff;
mod documents;
mod examples;
mod export;
#[cfg(feature = "parquet")]
mod export_parquet;
#[cfg(not(feature = "parquet"))]
mod export_without_parquet;
mod faults;
mod fragmentation;
mod frames;
mod hostile_names;
mod keep_going;
mod lines;
mod marks;
#[cfg(feature = "mcp")]
mod mcp;
mod mingw;
mod outputs;
mod page;
mod prepared;
mod record;
mod recording;
mod responsible;
mod schemas;
mod scopes;
mod symbols;
mod terminal;
mod trackers;
mod unmatched;
mod what_if;
