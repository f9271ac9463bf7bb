//! What is known of a trace in the formats of other programs, one file a format. Numbers come from
//! `query`, bytes are written by libraries; nothing here knows of the command line or the window.
//!
//! All formats stream: besides what a question takes, memory is bounded, however many rows there are.

mod format;
#[cfg(feature = "parquet")]
pub mod lake;

pub use format::{Format, Value};
