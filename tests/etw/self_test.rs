//! The self-test, with an ETW that tells what the recorded program does, all of it or less.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use highwater::capture::windows::self_test::TargetProgram;
use highwater::capture::windows::target::{self, Blocks, TRACKER_NAME};
use highwater::events::{Event, ImageChange, ImageInfo, PageRange, ThreadStack, class, mem};
use highwater::units::{Layer, Pid};
use serde_json::Value;

use crate::Scene;
use crate::simulated::children::children;
use crate::simulated::events::{Lanes, Told, USER};
use crate::simulated::state::{Etw, change};
use crate::simulated::story::Story;

const IMAGE: &str = "highwater.exe";
const BASE: u64 = 0x1_4000_0000;
const HEAP: u64 = 0x1D_0000;
const TRACKER: u64 = 0x7E57;

/// What ETW would tell of the program, which has this id.
fn story(pid: u32, heap: Blocks) -> Lanes {
    let mut story = Story::of(pid);
    story.start(4, IMAGE);
    let path = format!(r"\Device\HarddiskVolume1\{IMAGE}");
    let image = ImageInfo { base: BASE, size: 0x10_0000, checksum: 0, time_stamp: 1, path };
    story.tell(Event::Image(ImageChange::Load, Box::new(image)));
    let address = |i: u64| 0x20_0000 + i * 0x20_0000;
    let frames = [0x7FFF_0000_1000, BASE + 0x1000];
    for i in 0..heap.count {
        story.tell(Event::Alloc { layer: Layer::Heap, heap: HEAP, address: address(i), size: heap.size });
        story.stack(&frames);
    }
    (0..heap.freed).for_each(|i| story.tell(Event::Free { layer: Layer::Heap, heap: HEAP, address: address(i) }));
    let Blocks { count, size, freed } = target::COMMIT;
    let range = |i, flags| PageRange { base: address(i), size, owner: Pid(pid), flags };
    for i in 0..count {
        story.tell(Event::VirtualAlloc(range(i, mem::COMMIT | mem::RESERVE)));
        story.stack(&frames);
    }
    (0..freed).for_each(|i| story.tell(Event::VirtualFree(range(i, mem::RELEASE))));
    let Blocks { count, size, freed } = target::TRACKER;
    story.tell(Event::HeapOpen { layer: Layer::Tracker, heap: TRACKER, name: Some(TRACKER_NAME.into()) });
    for i in 0..count {
        let event = Event::Alloc { layer: Layer::Tracker, heap: TRACKER, address: address(i), size };
        story.tell_with_stack(event, &frames[1..]);
    }
    (0..freed).for_each(|i| story.tell(Event::Free { layer: Layer::Tracker, heap: TRACKER, address: address(i) }));
    // A processor is busy with the program's thread.
    story.tell(Event::ThreadStart(ThreadStack::default()));
    for _ in 0..target::FEWEST_SAMPLES {
        story.tell(Event::Sample { address: BASE + 0x1000, count: 1 });
        story.stack(&frames);
    }
    let mut lanes = story.lanes();
    lanes[USER].extend(beside_memory(pid));
    lanes
}

/// Marks, frames and methods, as the program tells of them.
fn beside_memory(pid: u32) -> Vec<Told> {
    let text = |text: &str| text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let mark: Vec<u8> = target::MARK_TEXT.bytes().chain([0]).collect();
    let marks = (0..target::MARKS).map(|_| Told::by(class::MULTI_MAIN, 102, pid, &mark));
    let frames = (0..target::FRAMES).map(|_| Told::by(class::MULTI_FRAME_RATE, 200, pid, &[0; 4]));
    let methods = (0..target::METHODS).map(|number| {
        let words = [number, 1, 0x5000_0000 + number * 0x100].into_iter().flat_map(u64::to_le_bytes);
        let more = [0x40_u32, 1, target::JITTED].into_iter().flat_map(u32::to_le_bytes);
        let name = format!("{}{number}", target::METHOD_NAME);
        let texts = text("").into_iter().chain(text(&name)).chain(text("void  ()"));
        let payload: Vec<u8> = words.chain(more).chain(texts).chain([1, 0]).collect();
        Told { version: 1, ..Told::by(class::CLR, 143, pid, &payload) }
    });
    marks.chain(frames).chain(methods).collect()
}

/// The self-test while ETW tells this of each program that is started; its report, and whether it is content.
fn tested(heap: Blocks, prepare: impl FnOnce(&mut Etw)) -> (Result<(), String>, Value) {
    let scene = Scene::silent();
    scene.etw.with(prepare);
    let is_over = Arc::new(AtomicBool::new(false));
    let narrator = {
        let is_over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            let mut known = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                for pid in children(IMAGE) {
                    if !known.contains(&pid) {
                        known.push(pid);
                        let story = story(pid, heap);
                        change(|etw| {
                            etw.go_on(story);
                        });
                    }
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        })
    };
    let words = vec!["record".to_owned(), "--self-test-target".to_owned()];
    let program = TargetProgram { path: env!("CARGO_BIN_EXE_highwater").into(), words };
    let folder = scene.place.path().join("self-test");
    // What a run left that was ended in the middle.
    let left = folder.join("0").join("launch.recording");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("context.etl"), []).unwrap();
    let done = highwater::cli::self_test(&folder, &[program]);
    is_over.store(true, Ordering::Relaxed);
    narrator.join().unwrap();
    let text = std::fs::read_to_string(folder.join("self-test.json")).unwrap();
    (done, serde_json::from_str(&text).unwrap())
}

#[test]
fn what_is_recorded_as_it_was_done_is_well_in_each_way() {
    let (done, report) = tested(target::HEAP, |_| {});
    assert_eq!(done, Ok(()), "{report:#}");
    let recordings = report["recordings"].as_array().unwrap();
    let ways: Vec<&str> = recordings.iter().map(|recording| recording["way"].as_str().unwrap()).collect();
    assert_eq!(ways, ["launch", "pid", "name"]);
    for recording in recordings {
        assert_eq!(recording["heap"]["found"]["count"], 1000);
        for what in ["marks", "frames", "methods", "samples"] {
            let number = &recording["beside_memory"][what];
            assert!(number["found"].as_u64() >= number["expected"].as_u64() && number["expected"] != 0, "{what}: {recording:#}");
        }
        let calls: Vec<&str> = recording["calls"].as_array().unwrap().iter().map(|call| call["call"].as_str().unwrap()).collect();
        for call in ["StartTraceW", "OpenTraceW", "TraceSetInformation(TraceStackTracingInfo)", "ControlTraceW(STOP)"] {
            assert!(calls.contains(&call), "{call} in {calls:?}");
        }
        // What Windows says is on: processes, threads, images, pages, views, samples.
        let masks = recording["calls"].as_array().unwrap().iter().find(|call| call["answer"].is_string()).unwrap();
        assert_eq!(masks["call"], "TraceQueryInformation(TraceSystemTraceEnableFlagsInfo)");
        assert!(masks["answer"].as_str().unwrap().starts_with("0x0100c007 0x00000000 "), "{masks}");
        let lanes: Vec<&str> =
            recording["events"].as_array().unwrap().iter().map(|event| event["lane"].as_str().unwrap()).collect();
        assert!(lanes.contains(&"heap") && lanes.contains(&"user") && lanes.len() < 60, "the first of each kind: {lanes:?}");
    }
    assert_eq!(report["complaints"], Value::Array(Vec::new()));
}

#[test]
fn what_is_missing_is_told_with_the_codes_of_windows() {
    let less = Blocks { count: target::HEAP.count - 1, ..target::HEAP };
    let (done, report) = tested(less, |etw| {
        etw.refusals.insert("EnableTraceEx2", 87);
    });
    assert!(done.unwrap_err().contains("self-test.json"));
    let complaints: Vec<&str> = report["complaints"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for way in ["launch", "pid", "name"] {
        let of_way = |wanted: &str| complaints.iter().any(|text| text.contains(&format!("by {way}: ")) && text.contains(wanted));
        assert!(of_way("heap: 1000 blocks of 4321000 bytes in all, 400 freed were expected and 999"), "{complaints:#?}");
        for missing in ["marks: 12 were expected", "frames: 30 were expected", "managed code: 5 were expected"] {
            assert!(of_way(missing), "{missing} in {complaints:#?}");
        }
        assert!(!of_way("samples: "), "{complaints:#?}");
        assert!(of_way("Windows error 87") && of_way("tracker: 500 blocks"), "{complaints:#?}");
        assert!(!of_way("commit: "), "{complaints:#?}");
    }
}

/// Without samples of processors, and with another mask than was asked for.
#[test]
fn what_windows_did_not_switch_on_is_told() {
    let (done, report) = tested(target::HEAP, |etw| etw.refuses_samples = true);
    done.unwrap_err();
    let complaints: Vec<&str> = report["complaints"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for way in ["launch", "pid", "name"] {
        let of_way = |wanted: &str| complaints.iter().any(|text| text.contains(&format!("by {way}: ")) && text.contains(wanted));
        assert!(of_way("samples: at least 20 were expected and 0 found"), "{complaints:#?}");
        assert!(of_way("Windows has switched on 0xc007 of the kernel's events, and not 0x1000000"), "{complaints:#?}");
    }
}
