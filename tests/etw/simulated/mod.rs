//! A simulated ETW: see the three parts.

pub mod events;
pub mod fake;
mod patch;
