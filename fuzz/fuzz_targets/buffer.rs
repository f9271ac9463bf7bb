//! One buffer: its header and the framing of its events.
#![no_main]

#[path = "../../tests/common/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::buffer(data));
