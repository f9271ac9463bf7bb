//! Recording on Windows against a simulated ETW: what sessions are asked for, byte by byte,
//! what becomes of the events they deliver, and what goes wrong. On other systems only that the numbers are right which
//! both sides say.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests say what they expect by unwrapping it")]

mod constants;
#[path = "../../crates/capture/src/held.rs"]
mod held;

#[cfg(windows)]
mod activity;
#[cfg(windows)]
mod admitted;
#[cfg(windows)]
mod beside;
#[cfg(windows)]
mod cost;
#[cfg(windows)]
mod documents;
#[cfg(windows)]
mod followed;
#[cfg(windows)]
mod left;
#[cfg(windows)]
mod manifests;
#[cfg(windows)]
mod remote;
#[cfg(windows)]
mod running;
#[cfg(windows)]
mod scene;
#[cfg(windows)]
mod self_test;
#[cfg(windows)]
mod simulated;
#[cfg(windows)]
mod start;

#[cfg(windows)]
use scene::{FIRST, Scene, groups, of_all, poll_until, poll_until_quiet, request, session_name, words};
