//! Allocators that a program uses and that report none of their blocks: of those only pages are seen, so heaps look empty.
//! Known by the modules that a process has loaded, and where it is linked into the program, by the names of functions.
//!
//! Cost: a pass over the modules of processes whose memory was recorded, once for a trace.

use super::{Process, ProcessId, Trace};
use crate::format::plain;
use crate::units::Layer;

/// Most that are told.
pub(crate) const MOST_SILENT: usize = 4;

/// An allocator of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SilentAllocator {
    /// The process.
    pub process: ProcessId,
    /// Name of the allocator.
    pub name: &'static str,
    /// The evidence: a module's file name, or a function.
    pub evidence: String,
    /// How to make its blocks visible, as the end of a sentence.
    pub recipe: &'static str,
}

impl SilentAllocator {
    /// The allocator that a function of a process belongs to, if it is one of the known ones.
    pub fn of_function(process: ProcessId, module: &str, function: &str) -> Option<Self> {
        let fits = |beginning: &&str| function.starts_with(beginning);
        let (name, .., recipe) = *KNOWN.iter().find(|(_, _, functions, _)| functions.iter().any(fits))?;
        Some(Self { process, name, evidence: plain(&format!("{module}!{function}")), recipe })
    }

    /// The whole sentence, without a full stop.
    pub fn sentence(&self, trace: &Trace) -> String {
        let Self { process, name, evidence, recipe } = self;
        let process = trace.process_name(*process);
        format!("{process} uses {name} ({evidence}), which reports no blocks here, so that only its pages are seen: {recipe}")
    }
}

const WRAP: &str = "record it through tracker/highwater.h (guide: My game has its own allocator)";

/// Name, modules, functions, recipe.
type Known = (&'static str, &'static [&'static str], &'static [&'static str], &'static str);

/// Allocators by the beginning, or with `*` in front the end, of a module's file name without its extension, and by the
/// beginning of a function's name.
const KNOWN: [Known; 7] = [
    (
        "mimalloc",
        &["mimalloc", "libmimalloc"],
        &["mi_malloc", "mi_calloc", "mi_realloc", "mi_new", "mi_heap_", "_mi_"],
        "build it with MI_TRACK_ETW=ON",
    ),
    (
        "jemalloc",
        &["jemalloc", "libjemalloc"],
        &["je_malloc", "je_calloc", "je_realloc", "je_arena_", "je_large_", "je_extent_", "je_pages_"],
        WRAP,
    ),
    ("rpmalloc", &["rpmalloc", "librpmalloc"], &["rpmalloc", "rpcalloc", "rprealloc", "rpaligned_"], WRAP),
    ("tcmalloc", &["tcmalloc", "libtcmalloc"], &["tc_malloc", "tc_new", "tcmalloc::"], WRAP),
    ("snmalloc", &["snmalloc", "libsnmalloc"], &["sn_malloc", "snmalloc::"], WRAP),
    ("tbbmalloc", &["tbbmalloc"], &["scalable_malloc", "scalable_realloc", "rml::internal::"], WRAP),
    (
        "Unreal's allocator",
        &["unrealeditor-core", "ue4editor-core", "*-win64-shipping", "*-win64-test", "*-win64-debuggame"],
        &["FMemory::", "FMallocBinned", "FMallocAnsi::", "FMallocMimalloc::"],
        "start it with -ansimalloc (not in shipping builds), or wrap FMalloc (guide: My game has its own allocator)",
    ),
];

/// Allocators of processes with recorded memory that report no blocks; of processes with trackers none.
pub(super) fn silent_allocators(trace: &Trace) -> Vec<SilentAllocator> {
    let found = (0..).map(ProcessId).zip(&trace.processes).filter_map(|(id, process)| {
        if !trace.lacks_trackers(id) {
            return None;
        }
        let (name, module, recipe) = of_process(process)?;
        Some(SilentAllocator { process: id, name, evidence: plain(&module), recipe })
    });
    found.take(MOST_SILENT).collect()
}

impl Trace {
    /// Whether memory of a process was recorded, and no tracker of it: an allocator of its own would be silent.
    pub(crate) fn lacks_trackers(&self, process: ProcessId) -> bool {
        let mut layers = self.heaps.iter().filter(|heap| heap.process == process).map(|heap| heap.layer).peekable();
        let has_memory = self.heaps.is_empty() || layers.peek().is_some();
        has_memory && layers.all(|layer| layer != Layer::Tracker)
    }
}

fn of_process(process: &Process) -> Option<(&'static str, String, &'static str)> {
    process.modules.iter().find_map(|module| {
        let file = module.name();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_lowercase();
        let fits = |pattern: &&'static str| match pattern.strip_prefix('*') {
            Some(end) => stem.ends_with(end),
            None => stem.starts_with(pattern),
        };
        let (name, .., recipe) = KNOWN.iter().find(|(_, patterns, ..)| patterns.iter().any(fits))?;
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
