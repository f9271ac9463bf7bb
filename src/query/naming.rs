//! What things are called on screen and in reports. Frames are `module!+0xrva`
//! until symbols give them names.

use crate::model::{Heap, ProcessId, Trace};
use crate::units::{Layer, Ticks, Tid};

/// A frame of `process` at the time `at`: `module!+0xrva`, or the bare address
/// where no module is known. The rva is that of the recorded return address.
pub fn frame_label(trace: &Trace, process: ProcessId, address: u64, at: Ticks) -> String {
    FrameName::of(trace, process, address, at).to_string()
}

/// The name of a frame that is not written out yet; in the order of the names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameName<'a> {
    /// There is none.
    NoStack,
    /// Bare address.
    At(u64),
    /// Name and rva.
    InModule(&'a str, u64),
}

impl<'a> FrameName<'a> {
    pub(super) fn of(trace: &'a Trace, process: ProcessId, address: u64, at: Ticks) -> Self {
        match trace.module_at(process, address, at) {
            Some(module) => Self::InModule(module.name(), address - module.base),
            None => Self::At(address),
        }
    }
}

impl std::fmt::Display for FrameName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoStack => f.write_str("(no stack recorded)"),
            Self::At(address) => write!(f, "{address:#x}"),
            Self::InModule(module, rva) => write!(f, "{module}!+{rva:#x}"),
        }
    }
}

impl Ord for FrameName<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let (a, b) = match (*self, *other) {
            (Self::At(a), Self::At(b)) => (a, b),
            (Self::InModule(ours, a), Self::InModule(theirs, b)) if ours == theirs => (a, b),
            _ => return self.to_string().cmp(&other.to_string()),
        };
        // As text: the first digits first.
        let digits = |n: u64| (64 - n.leading_zeros()).div_ceil(4).max(1);
        let text = |n: u64| (n << (64 - 4 * digits(n)), digits(n));
        text(a).cmp(&text(b))
    }
}

impl PartialOrd for FrameName<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_in_the_order_of_their_names() {
        let numbers = [0, 1, 9, 0xa, 0xf, 0x10, 0x1a, 0xa0, 0x100, 0x1a0, 0xfff, 0x1000, u64::MAX, u64::MAX / 16, 1 << 60];
        let modules = ["a", "a.dll", "a!", "b.dll", "", "#", "0x1"];
        let in_module = modules.iter().flat_map(|name| numbers.map(|n| FrameName::InModule(name, n)));
        let names: Vec<_> = in_module.chain(numbers.map(FrameName::At)).chain([FrameName::NoStack]).collect();
        for a in &names {
            for b in &names {
                assert_eq!(a.cmp(b), a.to_string().cmp(&b.to_string()), "{a} and {b}");
            }
        }
    }
}
