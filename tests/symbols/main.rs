//! Names of functions: where they are looked for and what is made of them.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

#[path = "../common/mod.rs"]
mod common;

mod builds;
mod cabinets;
mod demo;
#[cfg(feature = "symsrv")]
mod fetching;
mod in_traces;
mod names;
#[cfg(feature = "symsrv")]
mod servers;
mod sources;
#[cfg(feature = "symsrv")]
mod stores;
