//! What the numbers are: the rules, the oracle, the queries.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../oracle/mod.rs"]
mod oracle;

mod activity;
mod address_map;
mod allocators;
mod call_lines;
mod callers;
mod choices;
mod commit_parts;
mod counters;
mod cut;
mod diff;
mod exercise;
mod exports;
mod faults;
mod findings;
mod follow;
mod freed;
mod functions;
mod generations;
mod gpu_memory;
mod habits;
mod heap_numbers;
mod hostile_replay;
mod index;
mod kernel_callers;
mod key_map;
mod listing;
mod losses;
mod manifests;
mod numbers;
mod owners;
mod pages;
mod pix;
mod playback;
mod prepared;
mod row_set;
mod rules;
mod samples;
mod stack_rules;
mod tree;
mod what_if;
