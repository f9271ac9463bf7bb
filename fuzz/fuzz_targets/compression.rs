//! All forms of compression: hostile streams, and what was compressed comes back.
#![no_main]

#[path = "../../tests/common/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::compression(data));
