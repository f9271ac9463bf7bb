//! Symbols of the program in the built-in demo. The trace itself is in `load`.

mod build;

use crate::etl::Guid;
use crate::symbols::{Embedded, PdbKey};

/// The symbols of `MemoryTestApp.exe`, whose sources are in `assets/demo`. The other images in the trace are made up
/// and have no symbols.
pub fn symbols() -> Embedded {
    let key = PdbKey { guid: Guid::from_bytes(build::GUID), age: build::AGE };
    Embedded { key, cabinet: build::CABINET, sources: &SOURCES }
}

/// Its source files, except those that stand for the C run-time.
const SOURCES: [(&str, &str); 4] = [
    (r"C:\MemoryTestApp\main.cpp", include_str!("../assets/demo/main.cpp")),
    (r"C:\MemoryTestApp\physics.cpp", include_str!("../assets/demo/physics.cpp")),
    (r"C:\MemoryTestApp\heap_tracker.cpp", include_str!("../assets/demo/heap_tracker.cpp")),
    (r"C:\MemoryTestApp\messages.cpp", include_str!("../assets/demo/messages.cpp")),
];
