//! Archives: zip, both kinds of `.diagsession`, and what is in them.
#![no_main]

#[path = "../../tests/common/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bodies::archive(data);
});
