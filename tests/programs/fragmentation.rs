//! `highwater pages`, and what findings and limits say of pages.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{highwater, json, skip};

/// The pages of the demo at a moment in the middle.
fn demo() -> Value {
    json(["pages", "demo:", "--at", "30", "--json"])
}

fn sum(list: &Value, key: &str) -> u64 {
    list.as_array().unwrap().iter().map(|entry| entry[key].as_u64().unwrap()).sum()
}

#[test]
fn live_blocks_and_bytes_are_those_of_a_report() {
    let pages = demo();
    let report = json(["report", "demo:", "--from", "30", "--to", "30", "--by", "process,heap", "--json"]);
    for heap in pages["heaps"].as_array().unwrap() {
        let is_it = |group: &&Value| ["process", "pid", "layer", "heap"].iter().all(|key| group[key] == heap[key]);
        let group = report["groups"].as_array().unwrap().iter().find(is_it).unwrap();
        assert_eq!(heap["live_bytes"], group["outstanding_to"]);
        assert_eq!(heap["live_blocks"], group["count"]);
        assert!(heap["sparse_pages"].as_u64() <= heap["touched_pages"].as_u64());
    }
    let others = report["groups"].as_array().unwrap().iter().filter(|group| group["layer"] != "commit").count();
    assert_eq!(pages["heaps"].as_array().unwrap().len(), others);
    let of_heaps = json(["pages", "demo:", "--at", "30", "--layer", "heap", "--process", "MemoryTestApp", "--json"]);
    assert!(of_heaps["heaps"].as_array().unwrap().iter().all(|heap| heap["layer"] == "heap" && heap["pid"] == 4660));
    assert!(sum(&pages["pinning"], "pages") <= sum(&pages["heaps"], "sparse_pages"));
}

#[test]
fn a_habit_says_what_it_is_and_how_many_blocks_it_costs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("temporary.etl");
    fs::write(&file, crate::common::trace::temporary()).unwrap();
    let file = file.to_str().unwrap();
    let told = json(["findings", file, "--kind", "habit", "--json"]);
    // The next block of the thread tells that one was temporary: the last has none.
    let [habit] = &told["findings"].as_array().unwrap()[..] else { panic!("{told}") };
    assert_eq!((&habit["habit"], &habit["count"], &habit["bytes"]), (&"temporary".into(), &1_199.into(), &(1_199 * 40).into()));
    assert_eq!(habit["function"], "Game.exe!+0x4000");
    let text = highwater(["findings", file, "--kind", "habit"]).out;
    assert!(text.contains("1,199 blocks (46.84 KB) in Game.exe!+0x4000, heap 0x1d0000, are freed before"), "{text}");
}

#[test]
fn other_conditions_and_moments_outside_the_trace_are_bad_arguments() {
    for words in [
        &["--layer", "commit"][..],
        &["--size", "1.."],
        &["--frame", "main"],
        &["--from", "1"],
        &["--at", "-5"],
        &["--heap", "0x12345678"],
        &["--by", "nothing"],
    ] {
        let run = highwater([&["pages", "demo:"], words].concat());
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(2), "", 1), "{words:?}: {run:?}");
    }
    let late = highwater(["pages", "demo:", "--at", "100"]);
    assert!(late.code == Some(0) && late.err.contains("--at is after the end"), "{late:?}");
}

#[test]
fn limits_are_held_against_the_same_pages() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.toml");
    let pages = demo();
    let heaps = pages["heaps"].as_array().unwrap();
    let of_layer = |layer: &str, of: &dyn Fn(&Value) -> u64| -> u64 {
        heaps.iter().filter(|heap| heap["layer"] == layer && heap["pid"] == 4660).map(of).sum()
    };
    let number = |heap: &Value, key: &str| heap[key].as_u64().unwrap();
    let touched = of_layer("tracker", &|heap| number(heap, "touched_pages"));
    let waste = of_layer("tracker", &|heap| number(heap, "touched_pages") * 4096 - number(heap, "live_bytes"));
    assert!(touched > 1 && waste > 1);
    let check = |touched: u64, waste: u64| {
        let rule = "[[rule]]\nname = \"pages\"\nprocess = 4660\nlayer = \"tracker\"\nto = 30\n";
        fs::write(&rules, format!("{rule}touched = {touched}\nwaste = {waste}\n")).unwrap();
        let run = highwater(["check", "demo:", "--rules", rules.to_str().unwrap(), "--json"]);
        let told: Value = serde_json::from_str(&run.out).unwrap();
        (run.code, told["rules"][0]["groups"].clone())
    };
    assert_eq!(check(touched, waste).0, Some(0));
    let (code, groups) = check(touched - 1, waste - 1);
    assert_eq!(code, Some(3));
    for (measure, value) in [("touched", touched), ("waste", waste)] {
        let broken = groups.as_array().unwrap().iter().find(|group| group["measure"] == measure).unwrap();
        assert_eq!((&broken["value"], &broken["broken"]), (&value.into(), &true.into()), "{broken}");
    }
    // Per heap they are those of the heap.
    let rule = "[[rule]]\nprocess = 4660\nlayer = \"tracker\"\nto = 30\nby = [\"process\", \"heap\"]\ntouched = 0\n";
    fs::write(&rules, rule).unwrap();
    let run = highwater(["check", "demo:", "--rules", rules.to_str().unwrap(), "--json"]);
    let told: Value = serde_json::from_str(&run.out).unwrap();
    for group in told["rules"][0]["groups"].as_array().unwrap() {
        let heap = heaps.iter().find(|heap| heap["heap"] == group["heap"] && heap["pid"] == group["pid"]).unwrap();
        assert_eq!(heap["touched_pages"], group["value"]);
    }
}

#[test]
fn a_recorded_game_has_nearly_empty_pages_and_the_finding_says_so() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/game-allocations.etl");
    if !path.is_file() {
        return skip("no corpus");
    }
    let path = path.to_str().unwrap();
    let pages = json(["pages", path, "--json"]);
    assert_eq!(sum(&pages["heaps"], "sparse_pages"), 113);
    let findings = json(["findings", path, "--kind", "fragmentation", "--json"]);
    let text = findings["findings"][0]["text"].as_str().unwrap();
    assert!(text.contains("113 nearly empty pages") && text.contains("19.05 KB of blocks keep 452.00 KB"), "{text}");
}
