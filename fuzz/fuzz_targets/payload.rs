//! Payloads of all kinds of events, through the writer and a whole load.
#![no_main]

#[path = "../../tests/common/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bodies::payload(data);
});
