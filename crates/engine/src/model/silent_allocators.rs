//! Allocators that a program uses and that report none of their blocks: of those only pages are seen, so heaps look empty.
//! Known by the modules that a process has loaded, and where it is linked into the program, by the names of functions.
//!
//! Cost: a pass over the modules of processes whose memory was recorded, and over the unmatched frees for each allocator found,
//! once for a trace.

use super::{Process, ProcessId, Trace, UnmatchedFree};
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

/// Name of the allocator and of its built-in tracker.
const MIMALLOC: &str = "mimalloc";

const WRAP: &str = "record it through tracker/highwater.h (guide: My game has its own allocator)";

/// Name, modules, functions, recipe.
type Known = (&'static str, &'static [&'static str], &'static [&'static str], &'static str);

/// Allocators by the beginning, or with `*` in front the end, of a module's file name without its extension, and by the
/// beginning of a function's name.
const KNOWN: [Known; 7] = [
    (
        MIMALLOC,
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

/// Allocators of processes with recorded memory that report no blocks.
pub(super) fn silent_allocators(trace: &Trace) -> Vec<SilentAllocator> {
    let found = (0..).map(ProcessId).zip(&trace.processes).filter_map(|(id, process)| {
        let (name, module, recipe) = of_process(process)?;
        trace.is_silent(id, name).then(|| SilentAllocator { process: id, name, evidence: plain(&module), recipe })
    });
    found.take(MOST_SILENT).collect()
}

impl Trace {
    /// Whether memory of a process was recorded, but no block or free that an allocator of this name could have reported.
    pub(crate) fn is_silent(&self, process: ProcessId, allocator: &str) -> bool {
        let mut own = self.heaps.iter().filter(|heap| heap.process == process).peekable();
        let has_memory = self.heaps.is_empty() || own.peek().is_some();
        let mut of_heaps = own.filter(|heap| heap.layer == Layer::Tracker).map(|heap| heap.name.as_deref());
        let is_its = |free: &&UnmatchedFree| free.layer == Layer::Tracker && self.process_of_free(free) == Some(process);
        let frees = self.unmatched.iter().filter(is_its);
        let mut of_frees = frees.map(|free| self.tracker_names.get(&free.handle).map(|name| &**name));
        let reports = |tracker| speaks_for(tracker, allocator);
        has_memory && !of_heaps.any(reports) && !of_frees.any(reports)
    }
}

/// Whether a tracker of this name may report the blocks of an allocator: any but another allocator's own.
fn speaks_for(tracker: Option<&str>, allocator: &str) -> bool {
    tracker != Some(MIMALLOC) || allocator == MIMALLOC
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

    /// A process with mimalloc's module and commit, and a free of the tracker with this name.
    fn told_with_free_of(name: &str) -> Vec<String> {
        let mut builder = Builder::new(Clock { frequency: 1, start_time: 0 }, 0, (0, 0));
        let path = r"\Device\Volume1\game\mimalloc.dll".to_owned();
        let handle = 1 << 63 | 0x77;
        for event in [
            Event::Image(ImageChange::Load, Box::new(ImageInfo { base: 0x1000, size: 0x1000, path, ..ImageInfo::default() })),
            Event::Alloc { layer: Layer::Heap, heap: 7, address: 0x10, size: 1 },
            Event::Free { layer: Layer::Tracker, heap: handle, address: 0x20 },
        ] {
            builder.apply(&Record { time: 1, pid: Pid(1), tid: Tid(1), event }, &[]);
        }
        let tracker_names = [(handle, name.into())].into();
        let trace = builder.publish(InputState { complete: true, tracker_names, ..InputState::default() });
        trace.silent_allocators().iter().map(|silent| silent.sentence(&trace)).collect()
    }

    #[test]
    fn an_allocator_that_only_frees_is_not_silent() {
        assert_eq!(told_with_free_of("mimalloc"), [""; 0]);
        assert_eq!(told_with_free_of("Pool 7"), [""; 0], "the pool may be mimalloc's");
    }

    #[test]
    fn the_tracker_of_mimalloc_speaks_for_mimalloc_alone() {
        assert!(speaks_for(Some("mimalloc"), "mimalloc") && !speaks_for(Some("mimalloc"), "jemalloc"));
        assert!(speaks_for(Some("Pool 7"), "jemalloc") && speaks_for(None, "mimalloc"));
    }
}
