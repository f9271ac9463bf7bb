//! `highwater whatif`.

use std::io::Cursor;

use highwater_dev::synth::{Options, Scenario, generate};
use serde_json::Value;

use crate::common::{highwater, json};

fn model<'a>(answer: &'a Value, name: &str) -> &'a Value {
    answer["models"].as_array().unwrap().iter().find(|model| model["model"] == name).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn recorded_pages_are_those_of_the_same_moment() {
    let of_heap = ["--process", "MemoryTestApp", "--heap", "0x1d0000", "--json"];
    let answer = json([&["whatif", "demo:"][..], &of_heap].concat());
    let recorded = model(&answer, "recorded");
    let at = recorded["at_s"].to_string();
    let pages = json([&["pages", "demo:", "--at", &at][..], &of_heap].concat());
    let heap = &pages["heaps"][0];
    let (touched, live) = (heap["touched_pages"].as_u64().unwrap(), heap["live_bytes"].as_u64().unwrap());
    assert!(touched > 0);
    assert_eq!(recorded["peak_touched_bytes"], touched * 4096);
    assert_eq!(recorded["waste"], touched * 4096 - live);
    let pinned: u64 = pages["pinning"].as_array().unwrap().iter().map(|group| group["pages"].as_u64().unwrap()).sum();
    assert_eq!(recorded["pinned"], pinned);
}

#[test]
fn pools_and_arenas_are_listed_where_they_are_asked_for() {
    let names = |words: &[&str]| -> Vec<String> {
        let answer = json([&["whatif", "demo:", "--layer", "heap", "--json"], words].concat());
        answer["models"].as_array().unwrap().iter().map(|model| model["model"].as_str().unwrap().to_owned()).collect()
    };
    let always = ["recorded", "nt_heap", "segment_heap", "mimalloc", "jemalloc"];
    assert_eq!(names(&[]), always);
    let all = names(&["--pool-by", "responsible", "--arena-by", "thread"]);
    assert_eq!(all[5..7], ["pool by responsible", "arena by thread"]);
    assert!(all.len() > 7 && all[7..].contains(&"pool for ThumbnailServer.dll!FolderIndex.Add".to_owned()), "{all:?}");
}

#[test]
fn the_text_says_what_a_pool_would_save_and_what_the_columns_mean() {
    let run = highwater(["whatif", "demo:", "--layer", "heap", "--pool-by", "responsible"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.contains("nt_heap (approximate)"), "{run:?}");
    assert!(run.out.contains("\nA pool for ThumbnailServer.dll!FolderIndex.Add would"), "{run:?}");
    assert!(run.out.contains("would take the peak from 3.12 MB to 2.6"), "{run:?}");
    assert!(run.out.contains("\nPinned: such pages less than a tenth in use"), "{run:?}");
}

#[test]
fn keys_that_are_not_known_at_the_allocation_are_bad_arguments() {
    for words in [&["--pool-by", "lifetime"][..], &["--arena-by", "freed_stack"], &["--layer", "commit"], &["--at", "3"]] {
        let run = highwater([&["whatif", "demo:"], words].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{words:?}: {run:?}");
    }
}

#[test]
fn a_trace_without_frames_has_one_arena_a_process_and_says_so() {
    let text = highwater(["whatif", "demo:", "--layer", "heap", "--arena-by", "frame", "--json"]);
    assert!(!text.out.contains("no frames were recorded"), "{text:?}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.etl");
    let options = Options { scenario: Scenario::Heap, events: 2_000, ..Options::default() };
    let bytes = generate(&options, Cursor::new(Vec::new())).unwrap().into_inner();
    std::fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap();
    let [frame, heap] = ["frame", "owner"].map(|key| json(["whatif", path, "--layer", "heap", "--arena-by", key, "--json"]));
    let doubts = frame["doubts"].as_array().unwrap();
    assert!(doubts.contains(&Value::from("no frames were recorded, so all blocks of a process are in one arena")), "{doubts:?}");
    // All blocks of heaps have one owner.
    assert_eq!(model(&frame, "arena by frame")["peak_touched_bytes"], model(&heap, "arena by owner")["peak_touched_bytes"]);
}
