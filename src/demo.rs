//! The built-in demo trace.

/// The bytes of `assets/demo.etl`.
pub const TRACE: &[u8] = &[];
