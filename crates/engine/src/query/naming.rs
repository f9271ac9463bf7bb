//! Names on screen and in reports. Frames are `module!+0xrva` until symbols provide names.

use serde::Serialize;

use super::{FrameName, Recorded, SourceLine};
use crate::format::plain;
use crate::model::{Heap, NodeId, ProcessId, Site, Trace};
use crate::names::{FrameKind, Names};
use crate::units::{Layer, Ticks, Tid};

/// Returns the frames of a site's stack, outermost first, as far as names are known. An inlined function is a frame of
/// its own after the one that it was inlined into.
pub fn stack_labels(trace: &Trace, names: &Names, site: &Site) -> Vec<String> {
    frames_of_stack(trace, names, site.stack, site.caller, site.first)
}

/// Returns the frames of a stack of CPU samples, whose innermost frame is the sampled address.
pub fn sampled_labels(trace: &Trace, names: &Names, site: &Site) -> Vec<String> {
    labels(trace, names, site.stack, (site.caller, site.first), FrameKind::Sampled)
}

/// Returns the frames of any stack, of `process` at the time `at`.
pub fn frames_of_stack(trace: &Trace, names: &Names, stack: NodeId, process: ProcessId, at: Ticks) -> Vec<String> {
    labels(trace, names, stack, (process, at), FrameKind::Innermost)
}

/// Returns source file and line of each frame of a site's stack, in the order of [`stack_labels`].
pub(super) fn stack_sources(trace: &Trace, names: &Names, site: &Site) -> Vec<Option<String>> {
    let line = |(frame, level): (Recorded<'_>, u16)| SourceLine::of(&frame, level).map(|line| line.to_string());
    frames(trace, names, site.stack, (site.caller, site.first), FrameKind::Innermost).map(line).collect()
}

/// The address of a frame in its module, for questions to the module's PDB.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct FrameAddress {
    /// File name of the module.
    pub module: String,
    /// Address of the call from the module's base, in hex.
    pub rva: String,
}

impl FrameAddress {
    /// Returns the address of a recorded frame; `None` outside of modules, and for .NET methods.
    pub fn of(frame: &Recorded<'_>) -> Option<Self> {
        let (module, rva) = frame.place_in_module()?;
        Some(Self { module: module.name().to_owned(), rva: format!("{rva:#x}") })
    }
}

/// Returns the address of each frame of a site's stack, in the order of [`stack_labels`].
pub(super) fn stack_addresses(trace: &Trace, names: &Names, site: &Site) -> Vec<Option<FrameAddress>> {
    let address = |(frame, _): (Recorded<'_>, u16)| FrameAddress::of(&frame);
    frames(trace, names, site.stack, (site.caller, site.first), FrameKind::Innermost).map(address).collect()
}

fn labels(trace: &Trace, names: &Names, stack: NodeId, of: (ProcessId, Ticks), innermost: FrameKind) -> Vec<String> {
    frames(trace, names, stack, of, innermost).map(|(frame, level)| frame.name(level).to_string()).collect()
}

/// Returns the frames of a stack with their levels, outermost first.
fn frames<'a>(
    trace: &'a Trace,
    names: &'a Names,
    stack: NodeId,
    of: (ProcessId, Ticks),
    innermost: FrameKind,
) -> impl Iterator<Item = (Recorded<'a>, u16)> {
    let kind = move |node: NodeId| if node == stack { innermost } else { FrameKind::Caller };
    let frames = trace.stacks.path(stack).into_iter();
    let frames = frames.map(move |node| Recorded::of_kind(trace, names, node, of, kind(node)));
    frames.flat_map(|frame| frame.shown(false).map(move |level| (frame, level)))
}

/// The responsible caller and module of allocations without a stack.
pub const NO_STACK_KEY: &str = "(no stack)";

/// Number of frames, from the allocation outwards, that are searched for the allocated type; frames further out only
/// led to that code.
const TYPED_FRAMES: usize = 25;

/// Returns the C++ type of a site's allocations, if a call in its stack is known to allocate one.
pub fn allocated_type<'a>(trace: &Trace, names: &'a Names, site: &Site) -> Option<&'a str> {
    if names.is_empty() {
        return None;
    }
    trace.stacks.chain(site.stack).take(TYPED_FRAMES).find_map(|node: NodeId| {
        let address = trace.stacks.address(node);
        names.allocated_type(trace.module_at(site.caller, address, site.first)?, address)
    })
}

/// Name of the C++ type of allocations whose type is unknown.
pub const UNKNOWN_TYPE: &str = "(unknown type)";

/// Separator between the names of nodes that share a line.
pub const SHARED: &str = " \u{203a} ";

/// Returns the name of a line that several nodes share, from the outermost to the innermost. Each node is given as its
/// frame, if it is one, and its name. A module is named once for all adjacent nodes in it.
pub fn shared_label<'a, Name: FnOnce() -> String>(nodes: impl Iterator<Item = (Option<FrameName<'a>>, Name)>) -> String {
    let mut module = None;
    let names = nodes.map(|(frame, name)| {
        let around = std::mem::replace(&mut module, frame.and_then(FrameName::module));
        match frame {
            Some(FrameName::Function(own, name)) if Some(own) == around => name.to_owned(),
            _ => name(),
        }
    });
    names.collect::<Vec<_>>().join(SHARED)
}

/// Returns the name of a heap, tracker or commit in the window.
pub fn heap_label(heap: &Heap) -> String {
    match (heap.layer, &heap.name) {
        (Layer::Commit, _) => layer_label(Layer::Commit).to_owned(),
        (Layer::Heap, _) => {
            let default = if heap.is_default { " (default)" } else { "" };
            format!("Windows NT heap {:#x}{default}", heap.handle)
        }
        (Layer::Tracker, Some(name)) => plain(name),
        (Layer::Tracker, None) => format!("Tracker {:#x}", heap.handle),
    }
}

/// Returns the name of a layer in the window.
pub fn layer_label(layer: Layer) -> &'static str {
    match layer {
        Layer::Commit => "Commit (VirtualAlloc)",
        Layer::Heap => "Windows NT heaps",
        Layer::Tracker => "Custom trackers",
    }
}

/// Explains a layer to somebody who sees its name for the first time.
pub fn layer_meaning(layer: Layer) -> &'static str {
    match layer {
        Layer::Commit => "Pages that the process committed with VirtualAlloc; heaps and trackers lie in them",
        Layer::Heap => "Blocks of Windows' heaps: HeapAlloc, malloc, new",
        Layer::Tracker => "Blocks that other allocators report: mimalloc, PIX, Visual Studio's custom heaps, your own",
    }
}

/// Returns a thread's id, and its name if an event provided one.
pub fn thread_label(trace: &Trace, process: ProcessId, thread: Tid) -> String {
    match trace.thread_names.get(&(process, thread)) {
        Some(name) => format!("{thread} ({})", plain(name)),
        None if thread.is_known() => thread.to_string(),
        None => String::new(),
    }
}
