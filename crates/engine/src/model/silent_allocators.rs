//! Allocators that a program uses and that report none of their blocks: of those only pages are seen, so heaps look empty.
//! Known by the modules that a process has loaded.
//!
//! Cost: a pass over the modules of processes whose memory was recorded, once for a trace.

use super::{Process, ProcessId, Trace};
use crate::format::plain;
use crate::units::Layer;

/// Most that are told.
const MOST: usize = 4;

/// An allocator of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SilentAllocator {
    /// The process.
    pub process: ProcessId,
    /// Name of the allocator.
    pub name: &'static str,
    /// File name of the module that shows it.
    pub module: String,
    /// How to make its blocks visible, as the end of a sentence.
    pub recipe: &'static str,
}

impl SilentAllocator {
    /// The whole sentence, without a full stop.
    pub fn sentence(&self, trace: &Trace) -> String {
        let Self { process, name, module, recipe } = self;
        let process = trace.process_name(*process);
        format!("{process} uses {name} ({module}), which reports no blocks here, so that only its pages are seen: {recipe}")
    }
}

const WRAP: &str = "record it through tracker/highwater.h (guide: My game has its own allocator)";

/// Allocators by the beginning, or with `*` in front the end, of a module's file name without its extension.
const KNOWN: [(&str, &[&str], &str); 7] = [
    ("mimalloc", &["mimalloc", "libmimalloc"], "build it with MI_TRACK_ETW=ON"),
    ("jemalloc", &["jemalloc", "libjemalloc"], WRAP),
    ("rpmalloc", &["rpmalloc", "librpmalloc"], WRAP),
    ("tcmalloc", &["tcmalloc", "libtcmalloc"], WRAP),
    ("snmalloc", &["snmalloc", "libsnmalloc"], WRAP),
    ("tbbmalloc", &["tbbmalloc"], WRAP),
    (
        "Unreal's allocator",
        &["unrealeditor-core", "ue4editor-core", "*-win64-shipping", "*-win64-test", "*-win64-debuggame"],
        "start it with -ansimalloc (not in shipping builds), or wrap FMalloc (guide: My game has its own allocator)",
    ),
];

/// Allocators of processes with recorded memory that report no blocks; of processes with trackers none.
pub(super) fn silent_allocators(trace: &Trace) -> Vec<SilentAllocator> {
    let has = |process: ProcessId, is_meant: &dyn Fn(Layer) -> bool| {
        trace.heaps.iter().any(|heap| heap.process == process && is_meant(heap.layer))
    };
    let has_memory = |process| trace.heaps.is_empty() || has(process, &|_| true);
    let found = (0..).map(ProcessId).zip(&trace.processes).filter_map(|(id, process)| {
        if !has_memory(id) || has(id, &|layer| layer == Layer::Tracker) {
            return None;
        }
        let (name, module, recipe) = of_process(process)?;
        Some(SilentAllocator { process: id, name, module: plain(&module), recipe })
    });
    found.take(MOST).collect()
}

fn of_process(process: &Process) -> Option<(&'static str, String, &'static str)> {
    process.modules.iter().find_map(|module| {
        let file = module.name();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_lowercase();
        let fits = |pattern: &&'static str| match pattern.strip_prefix('*') {
            Some(end) => stem.ends_with(end),
            None => stem.starts_with(pattern),
        };
        let (name, _, recipe) = KNOWN.iter().find(|(_, patterns, _)| patterns.iter().any(fits))?;
        Some((*name, file.to_owned(), *recipe))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Event, ImageChange, ImageInfo, Record};
    use crate::model::{Builder, Clock, InputState};
    use crate::units::{Pid, Tid};

    /// Processes 1, 2, …, each with a module and blocks in a layer.
    fn trace(of: &[(&str, Layer)]) -> Trace {
        let mut builder = Builder::new(Clock { frequency: 1, start_time: 0 }, 0, (0, 0));
        for ((path, layer), pid) in of.iter().zip(1..) {
            let image = ImageInfo { base: 0x1000, size: 0x1000, path: (*path).to_owned(), ..ImageInfo::default() };
            let events = [
                Event::Image(ImageChange::Load, Box::new(image)),
                Event::Alloc { layer: *layer, heap: 7, address: 0x10, size: 1 },
            ];
            for event in events {
                builder.apply(&Record { time: 1, pid: Pid(pid), tid: Tid(1), event }, &[]);
            }
        }
        builder.publish(InputState { complete: true, ..InputState::default() })
    }

    #[test]
    fn an_allocator_without_trackers_is_told_with_what_makes_it_visible() {
        let trace = trace(&[
            (r"\Device\Volume1\game\mimalloc.dll", Layer::Heap),
            (r"\Device\Volume1\game\MyGame-Win64-Shipping.exe", Layer::Heap),
            (r"\Device\Volume1\game\jemalloc.dll", Layer::Tracker),
            (r"\Device\Volume1\game\game.exe", Layer::Heap),
        ]);
        let told: Vec<String> = trace.silent_allocators().iter().map(|silent| silent.sentence(&trace)).collect();
        let [mimalloc, unreal] = &told[..] else { panic!("{told:?}") };
        assert!(mimalloc.contains("uses mimalloc (mimalloc.dll)") && mimalloc.contains("MI_TRACK_ETW"), "{mimalloc}");
        assert!(unreal.contains("Unreal's allocator (MyGame-Win64-Shipping.exe)") && unreal.contains("-ansimalloc"), "{unreal}");
    }
}
