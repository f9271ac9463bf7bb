//! Tests that the demo is what it claims to be: facts counted by a plain scan of its records.

use std::io::Cursor;
use std::ops::ControlFlow;

use super::super::program;
use super::*;
use crate::etl::{Source, TraceFile};
use crate::events::{Event, EventCounts, Merge, PageRange, ProcessChange, Record, StackPart, mem};
use crate::synth::images::{APP, Function, IMAGES, Image};
use crate::tables::KeyedMap;
use crate::units::{Layer, Pid};

/// The committed file.
const TRACE: &[u8] = include_bytes!("../../../../../assets/demo.etl");

struct Demo {
    records: Vec<(Record, Vec<u64>)>,
    counts: EventCounts,
    start: i64,
}

fn demo() -> Demo {
    let files = [TraceFile::from_source(Source::Memory(TRACE), "demo:".to_owned()).unwrap()];
    let mut merge = Merge::of_records(&files);
    let mut records = Vec::new();
    let flow = merge.run::<()>(
        |item, stack| {
            records.push((item.record().into_owned(), stack.frames().addresses().to_vec()));
            ControlFlow::Continue(())
        },
        |_| ControlFlow::Continue(i64::MAX),
    );
    assert!(flow.is_continue());
    assert_eq!(merge.totals().problems.list(), []);
    assert_eq!(files[0].problems.list(), []);
    Demo { records, counts: merge.totals().counts, start: files[0].header.start_ticks }
}

/// Functions of a stack, outermost first.
fn functions(frames: &[u64]) -> Vec<&'static str> {
    frames.iter().rev().map(|&address| function_at(address).1.name).collect()
}

fn function_at(address: u64) -> (&'static Image, &'static Function) {
    let image = IMAGES.into_iter().find(|i| (i.base..i.base + i.size).contains(&address));
    let image = image.unwrap_or_else(|| panic!("{address:#x} is in no image"));
    let rva = (address - image.base) as u32;
    // A return address is behind the call, so it is never the start of a function.
    let function = image.functions.iter().find(|f| (f.rva + 1..f.rva + f.size).contains(&rva));
    (image, function.unwrap_or_else(|| panic!("{}+{rva:#x} is in no function", image.file)))
}

impl Demo {
    fn of(&self, pid: u32) -> impl Iterator<Item = &Record> {
        self.records.iter().map(|(record, _)| record).filter(move |r| r.pid == Pid(pid))
    }

    /// Ranges that were committed or given back, with ticks since the trace start.
    fn pages(&self, pid: u32, freed: bool) -> Vec<(i64, PageRange)> {
        let range = |record: &Record| match record.event {
            Event::VirtualAlloc(range) if !freed && range.flags & mem::COMMIT != 0 => Some((record.time - self.start, range)),
            Event::VirtualFree(range) if freed => Some((record.time - self.start, range)),
            _ => None,
        };
        self.records.iter().filter_map(|(r, _)| range(r)).filter(|(_, range)| range.owner == Pid(pid)).collect()
    }

    /// Functions of the stacks of an event, kernel part first.
    fn stacks(&self, owner: i64) -> Vec<(StackPart, Vec<&'static str>)> {
        let part = |(record, frames): &(Record, Vec<u64>)| match record.event {
            Event::Stack { owner: of, part, .. } if of == owner => Some((part, functions(frames))),
            _ => None,
        };
        self.records.iter().filter_map(part).collect()
    }
}

#[test]
fn the_committed_file_is_this_scenario() {
    let written = write(Cursor::new(Vec::new())).unwrap().into_inner();
    assert!(written == TRACE, "assets/demo.etl is not what the code writes; assets/README.md tells how to make it");
    assert!(TRACE.len() <= 1_500_000);
}

#[test]
fn the_program_is_built_from_the_committed_sources() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/demo");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "h" || end == "cpp")).collect();
    files.sort();
    let mut hasher = crc32fast::Hasher::new();
    for path in files {
        hasher.update(path.file_name().unwrap().as_encoded_bytes());
        hasher.update(b"\0");
        // As they were built, whatever line endings the machine prefers.
        hasher.update(std::fs::read_to_string(&path).unwrap().replace("\r\n", "\n").as_bytes());
    }
    assert_eq!(hasher.finalize(), program::SOURCES, "the sources changed: run scripts/demo.sh");
}

#[test]
fn every_frame_is_a_return_address_in_a_known_function() {
    for (_, frames) in demo().records {
        functions(&frames);
    }
    assert!(APP.function("Main").is_some());
}

#[test]
fn the_program_lives_within_the_trace() {
    let demo = demo();
    let life: Vec<_> = demo
        .of(APP_PID)
        .filter_map(|r| match r.event {
            Event::Process(change, _) => Some((change, r.time - demo.start)),
            _ => None,
        })
        .collect();
    assert_eq!(life, [(ProcessChange::Start, APP_START), (ProcessChange::End, APP_END)]);
    let last = demo.records.last().unwrap().0.time - demo.start;
    assert!((TRACE_END..TRACE_END + 2_000_000).contains(&last), "{last}");
}

#[test]
fn the_program_commits_126_megabytes() {
    let demo = demo();
    let commits = demo.pages(APP_PID, false);
    let sum: u64 = commits.iter().map(|(_, range)| range.size).sum();
    assert_eq!(sum, 126 << 20);
    assert_eq!(app::other_commits(), OTHER_COMMITS);
    // No page is committed twice at the same time, so each request is a row.
    let mut alive: Vec<PageRange> = Vec::new();
    let freed = demo.pages(APP_PID, true);
    for (at, range) in &commits {
        alive.retain(|a| !freed.iter().any(|(gone, f)| gone < at && f.base <= a.base && a.base < f.base + f.size));
        assert!(alive.iter().all(|a| range.base >= a.base + a.size || a.base >= range.base + range.size));
        alive.push(*range);
    }
    let big: Vec<i64> = commits.iter().filter(|(_, r)| r.size == BUFFER).map(|(at, _)| *at).collect();
    let mut expected = vec![BUFFER_TIME, STEP];
    expected.extend(SPIKES);
    expected.sort_unstable();
    assert_eq!(big, expected);
    let released: Vec<i64> = freed.iter().filter(|(_, r)| r.size == BUFFER).map(|(at, _)| *at).collect();
    assert_eq!(released.len(), 11);
    for spike in SPIKES {
        assert!(released.contains(&(spike + SPIKE_TICKS)));
    }
    // Nothing else happens around the step.
    assert!(commits.iter().all(|(at, _)| *at == STEP || at.abs_diff(STEP) > 15_000_000));
}

#[test]
fn big_buffers_have_the_callers_of_the_exercise() {
    let demo = demo();
    for (at, callers) in [
        (BUFFER_TIME, ["Main", "AllocateWorkingBuffers", "VirtualAlloc"].as_slice()),
        (STEP, &["Main", "VirtualAlloc"]),
        (SPIKES[7], &["Main", "Operation1", "ManipulateTemporaryBuffer", "VirtualAlloc"]),
    ] {
        let stacks = demo.stacks(demo.start + at);
        let [(StackPart::Kernel, kernel), (StackPart::User, user)] = stacks.as_slice() else { panic!("{stacks:?}") };
        assert_eq!(kernel[0], "KiSystemServiceCopyEnd");
        assert_eq!(user[..3], ["RtlUserThreadStart", "BaseThreadInitThunk", "__scrt_common_main_seh"]);
        assert_eq!(user[3..3 + callers.len()], *callers);
    }
}

#[test]
fn the_heap_leaks_as_in_the_exercise() {
    let demo = demo();
    let blocks: Vec<(i64, u64)> = demo
        .of(APP_PID)
        .filter_map(|r| match r.event {
            Event::Alloc { layer: Layer::Heap, heap: LEAKING_HEAP, size, .. } => Some((r.time, size)),
            _ => None,
        })
        .collect();
    assert_eq!(blocks.len() as u64, HEAP_BLOCKS);
    assert_eq!(blocks.iter().map(|b| b.1).sum::<u64>(), HEAP_BYTES);
    let (leaks, starts): (Vec<_>, Vec<_>) = blocks.iter().partition(|(time, _)| *time >= demo.start + LOOP_START);
    assert_eq!(leaks.len() as u64, LEAKS);
    assert!(leaks.iter().all(|(_, size)| *size == LEAK_SIZE));
    assert!(starts.iter().all(|(_, size)| *size > 2 * LEAK_SIZE));
    let ten_seconds = leaks.iter().filter(|(time, _)| (130_000_000..230_000_000).contains(&(time - demo.start))).count();
    assert!((318..=322).contains(&ten_seconds), "{ten_seconds}");
    assert!(!demo.of(APP_PID).any(|r| matches!(r.event, Event::Free { heap: LEAKING_HEAP, .. })));
    for (time, _) in leaks {
        let stacks = demo.stacks(time);
        let [(StackPart::User, user)] = stacks.as_slice() else { panic!("{stacks:?}") };
        assert_eq!(user[3..6], ["Main", "InnerLoopOperation", "operator new"]);
    }
}

/// Blocks alive at the end by layer, heap and address, and the number of frees that met no block.
fn replay(demo: &Demo, pid: u32) -> (KeyedMap<(Layer, u64, u64), u64>, u64) {
    let (mut live, mut unmatched) = (KeyedMap::default(), 0);
    for record in demo.of(pid) {
        match record.event {
            Event::Alloc { layer, heap, address, size } => {
                assert_eq!(live.insert((layer, heap, address), size), None, "{record:?}");
            }
            Event::Free { layer, heap, address } => unmatched += u64::from(live.remove(&(layer, heap, address)).is_none()),
            Event::Realloc { layer, heap, old, new, size } => {
                // A summary, or the operation itself.
                if old != new {
                    live.remove(&(layer, heap, old));
                }
                live.insert((layer, heap, new), size);
            }
            Event::HeapClose { layer, heap, .. } => live.retain(|key, _| (key.0, key.1) != (layer, heap)),
            _ => {}
        }
    }
    (live, unmatched)
}

#[test]
fn other_heaps_and_the_tracker_are_consistent() {
    let demo = demo();
    let (live, unmatched) = replay(&demo, APP_PID);
    assert_eq!(unmatched, 0);
    assert_eq!(live.len() as u64, HEAP_BLOCKS, "only the leak is left");
    let (live, unmatched) = replay(&demo, SERVICE_PID);
    assert_eq!(unmatched, UNMATCHED_FREES);
    let bytes: u64 = live.values().sum();
    assert!((300_000..800_000).contains(&bytes), "{bytes}");
    let closing = demo.of(APP_PID).find_map(|r| match &r.event {
        Event::HeapClose { layer: Layer::Tracker, heap: TRACKER_HANDLE, name } => Some((r.time - demo.start, name.clone())),
        _ => None,
    });
    assert_eq!(closing, Some((TRACKER_CLOSE, Some(TRACKER.into()))));
}

#[test]
fn it_shows_every_kind_of_event_but_gpu_memory_pix_views_and_page_faults() {
    let counts = demo().counts;
    let is_absent = |name: &str| {
        ["gpu_", "pix_", "view_"].iter().any(|rare| name.starts_with(rare))
            || name == "access_violation"
            || name.ends_with("_fault")
    };
    assert!(counts.named().all(|(name, count)| (count > 0) != is_absent(name)), "{counts:?}");
    assert!(counts.total > 5_000 && counts.inline_stack > 1_000 && counts.stack_key_ref > 500, "{counts:?}");
}
