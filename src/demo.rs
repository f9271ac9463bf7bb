//! The built-in demo trace; `synth::demo` makes it and says what is in it.

/// The bytes of `assets/demo.etl`.
pub const TRACE: &[u8] = include_bytes!("../assets/demo.etl");
