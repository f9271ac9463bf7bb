//! What things are called on screen and in reports. Frames are `module!+0xrva`
//! until symbols give them names.

use crate::model::{Heap, ProcessId, Trace};
use crate::units::{Layer, Ticks, Tid};

/// A frame of `process` at the time `at`: `module!+0xrva`, or the bare address
/// where no module is known. The rva is that of the recorded return address.
pub fn frame_label(trace: &Trace, process: ProcessId, address: u64, at: Ticks) -> String {
    match trace.module_at(process, address, at) {
        Some(module) => format!("{}!+{:#x}", module.name(), address - module.base),
        None => format!("{address:#x}"),
    }
}

/// A heap, tracker or commit as the window names it.
pub fn heap_label(heap: &Heap) -> String {
    match (heap.layer, &heap.name) {
        (Layer::Commit, _) => layer_label(Layer::Commit).to_owned(),
        (Layer::Heap, _) => {
            let default = if heap.is_first { " (default)" } else { "" };
            format!("Windows NT heap {:#x}{default}", heap.handle)
        }
        (Layer::Tracker, Some(name)) => name.to_string(),
        (Layer::Tracker, None) => format!("Tracker {:#x}", heap.handle),
    }
}

/// A layer as the window names it.
pub fn layer_label(layer: Layer) -> &'static str {
    match layer {
        Layer::Commit => "Commit (VirtualAlloc)",
        Layer::Heap => "Windows NT heaps",
        Layer::Tracker => "Custom trackers",
    }
}

/// A thread's id, and its name if an event gave one.
pub fn thread_label(trace: &Trace, process: ProcessId, thread: Tid) -> String {
    match trace.thread_names.get(&(process, thread)) {
        Some(name) => format!("{thread} ({name})"),
        None if thread.is_known() => thread.to_string(),
        None => String::new(),
    }
}
