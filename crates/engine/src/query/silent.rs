//! Allocators that report none of their blocks, also those that are linked into the program: functions in the stacks of
//! its pages and heaps show them, where names are known.
//!
//! Cost: a look at the named frames of a bounded number of sites a process.

use super::Recorded;
use crate::model::{MOST_SILENT, NodeId, ProcessId, SilentAllocator, Site, Trace};
use crate::names::Names;
use crate::tables::{KeyedMap, KeyedSet};

/// Largest number of sites of a process that are looked at: an allocator is in nearly every stack of its pages.
const SITES: u32 = 4096;

/// Returns the allocators that modules show, then those that names show, of each process at most one.
pub fn silent_allocators(trace: &Trace, names: &Names) -> Vec<SilentAllocator> {
    let mut found = trace.silent_allocators().to_vec();
    let mut known: KeyedSet<ProcessId> = found.iter().map(|silent| silent.process).collect();
    let mut looked: KeyedMap<ProcessId, u32> = KeyedMap::default();
    let mut seen: KeyedSet<(ProcessId, NodeId)> = KeyedSet::default();
    for site in &trace.sites {
        let process = trace.heap(site.heap).process;
        if found.len() >= MOST_SILENT || known.contains(&process) {
            continue;
        }
        let count = looked.entry(process).or_default();
        *count += 1;
        if *count > SITES {
            continue;
        }
        if let Some(silent) = of_site(trace, names, (process, site), &mut seen) {
            known.insert(process);
            if trace.is_silent(process, silent.name) {
                found.push(silent);
            }
        }
    }
    found
}

/// The allocator that a frame of a site's stack shows; frames that were seen before are passed over.
fn of_site(
    trace: &Trace,
    names: &Names,
    (process, site): (ProcessId, &Site),
    seen: &mut KeyedSet<(ProcessId, NodeId)>,
) -> Option<SilentAllocator> {
    trace.stacks.chain(site.stack).take_while(|node| seen.insert((process, *node))).find_map(|node| {
        let frame = Recorded::of(trace, names, node, site.caller, site.first, node == site.stack);
        let module = frame.module()?.name();
        let function = |level| Some(frame.function(level)?.function.to_owned());
        frame.shown(false).filter_map(function).find_map(|function| SilentAllocator::of_function(process, module, &function))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::events::{Event, FrameRange, ImageChange, ImageInfo, Record, StackPart};
    use crate::model::{Builder, Clock, InputState};
    use crate::names::{Frame, ModuleKey, NamesBuilder};
    use crate::units::{Layer, Pid, Tid};

    /// A program of one module that has blocks in a layer, allocated by a function at 0x10 that one at 0x20 called.
    fn trace(layer: Layer) -> Trace {
        let mut builder = Builder::new(Clock { frequency: 1, start_time: 0 }, 0, (0, 0));
        let path = r"\Device\Volume1\game\game.exe".to_owned();
        let image = ImageInfo { base: 0x1000, size: 0x1000, path, time_stamp: 7, ..ImageInfo::default() };
        let mut apply = |time, event, frames: &[u64]| {
            builder.apply(&Record { time, pid: Pid(1), tid: Tid(1), event }, frames);
        };
        apply(1, Event::Image(ImageChange::Load, Box::new(image)), &[]);
        apply(2, Event::Alloc { layer, heap: 7, address: 0x10, size: 1 }, &[]);
        let stack = Event::Stack { owner: 2, part: StackPart::User, frames: FrameRange::default() };
        apply(2, stack, &[0x1010, 0x1020]);
        builder.publish(InputState { complete: true, ..InputState::default() })
    }

    fn told(trace: &Trace, function: &str) -> Vec<String> {
        let mut builder = NamesBuilder::default();
        for (rva, function) in [(0x10, "operator new"), (0x1f, function), (0x20, function)] {
            builder.add(rva, [Frame { function, file: None, line: None }]);
        }
        let mut names = Names::default();
        names.set(&ModuleKey::of(&trace.processes[0].modules[0]), Some(Arc::new(builder.finish())));
        silent_allocators(trace, &names).iter().map(|silent| silent.sentence(trace)).collect()
    }

    #[test]
    fn an_allocator_inside_the_program_is_told_by_a_function_unless_it_reports_blocks() {
        let of_heap = trace(Layer::Heap);
        let told_of = |function| told(&of_heap, function);
        let [sentence] = &told_of("mi_heap_malloc_zero")[..] else { panic!("one is told") };
        assert!(
            sentence.contains("uses mimalloc (game.exe!mi_heap_malloc_zero)") && sentence.contains("MI_TRACK_ETW"),
            "{sentence}"
        );
        assert_eq!(told_of("mi_score"), [""; 0], "a function of the game");
        assert!(told_of("FMallocBinned2::Malloc")[0].contains("Unreal's allocator"));
        assert_eq!(told(&trace(Layer::Tracker), "mi_heap_malloc_zero"), [""; 0], "its blocks are seen");
        assert!(silent_allocators(&of_heap, &Names::default()).is_empty(), "without names nothing is known");
    }
}
