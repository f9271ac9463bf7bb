//! Damaged traces: what they are made of, what is done to them, and what it may cost.

pub mod base;
pub mod file;
pub mod memory;
pub mod record;
