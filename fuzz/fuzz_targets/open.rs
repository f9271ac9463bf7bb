//! A whole file by its content: opened, loaded and asked.
#![no_main]

#[path = "../../tests/common/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bodies::open(data);
});
