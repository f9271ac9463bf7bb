//! `report --unmatched`: frees of what was allocated before, by who freed.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{highwater, json as answer, skip};

/// A file of the cases; `None` where they are missing.
fn case(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases").join(name);
    if !path.is_file() {
        skip("no cases");
        return None;
    }
    Some(path.to_str().unwrap().to_owned())
}

#[test]
fn frees_are_told_by_stack_and_pages_with_their_bytes() {
    let Some(file) = case("frees-only.zip") else { return };
    let told = answer(["report", &file, "--unmatched", "--json"]);
    assert_eq!(told["schema"], "highwater.unmatched/1");
    let stack = json!(["game.exe!+0x2222", "game.exe!+0x1111", "ntdll.dll!+0x1234"]);
    let common = |layer: &str, heap: Value, size: Value| {
        json!({"process": "game.exe", "pid": 4660, "process_start_s": null, "layer": layer, "heap": heap, "stack": stack,
            "responsible": "game.exe!+0x1111", "count": 5, "size": size})
    };
    let expected = json!([common("commit", Value::Null, json!(2_621_440)), common("heap", json!("0x1d0000"), Value::Null)]);
    let mut groups = told["groups"].clone();
    for group in groups.as_array_mut().unwrap() {
        assert!(group["process_start_s"].is_null() || group["process_start_s"].is_number());
        group["process_start_s"] = Value::Null;
    }
    assert_eq!(groups, expected);
    let text = highwater(["report", &file, "--unmatched"]);
    assert!(text.out.contains("10 frees of blocks allocated before the trace") && text.out.contains("2.50 MB"), "{text:?}");

    let count = |words: &[&str]| {
        let told = answer([&["report", &file, "--unmatched", "--json"], words].concat());
        told["groups"].as_array().unwrap().iter().map(|group| group["count"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(count(&["--layer", "heap"]), [5]);
    assert_eq!(count(&["--heap", "0x1D0000", "--by", "responsible_module"]), [5], "a heap that only frees tell of");
    assert_eq!(count(&["--process", "4660", "--by", "process"]), [5, 5]);
    assert_eq!(count(&["--frame", "0x2222", "--top", "1"]), [5]);
    assert_eq!(count(&["--not-frame", "0x2222"]), [0_u64; 0]);
    assert_eq!(count(&["--to", "0.0000001"]), [0_u64; 0]);
}

#[test]
fn the_whole_of_a_trace_has_as_many_as_its_quality_says() {
    let told = answer(["report", "demo:", "--unmatched", "--json"]);
    let counts = told["groups"].as_array().unwrap().iter().map(|group| group["count"].as_u64().unwrap());
    let report = answer(["report", "demo:", "--json"]);
    assert_eq!(json!(counts.sum::<u64>()), report["quality"]["unmatched_frees"]);
    for name in ["placeholders.zip", "virtual-free-after-exit.zip", "heap-before-start.zip"] {
        let Some(file) = case(name) else { return };
        assert_eq!(answer(["report", &file, "--unmatched", "--json"])["groups"], json!([]), "{name}");
    }
}

#[test]
fn an_export_has_the_groups_of_the_report() {
    let Some(file) = case("frees-only.zip") else { return };
    let told = answer(["report", &file, "--unmatched", "--json"]);
    let export = |words: &[&str]| {
        let run = highwater([&["export", &file, "-o", "-", "--unmatched", "--format"], words].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        run.out
    };
    assert_eq!(serde_json::from_str::<Value>(&export(&["json"])).unwrap(), told);
    let csv = export(&["csv", "--by", "process,responsible"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("process,pid,") && lines[0].ends_with(",count,size"), "{csv}");
    assert!(lines.len() == 3 && lines[1].contains("game.exe!+0x1111") && lines[1].ends_with(",5,2621440"), "{csv}");
    let folded = export(&["folded", "--layer", "heap"]);
    assert_eq!(folded.trim_end(), "game.exe (4660);game.exe!+0x2222;game.exe!+0x1111;ntdll.dll!+0x1234 5");

    for (words, told) in [
        (&["--format", "folded"][..], "--layer"),
        (&["--format", "pprof"], "use csv, json or folded"),
        (&["--format", "csv", "--by", "type"], "--by type"),
        (&["--format", "folded", "--by", "heap"], "do not apply to folded"),
        (&["--format", "csv", "--rows"], "--rows"),
    ] {
        let run = highwater([&["export", &file, "-o", "-", "--unmatched"], words].concat());
        assert!(run.code == Some(2) && run.err.contains(told), "{words:?} {run:?}");
    }
    let none = highwater(["export", &file, "-o", "-", "--unmatched", "--format", "folded", "--to", "0.0000001"]);
    assert!(none.code == Some(1) && none.err.contains("no file was written"), "{none:?}");
}

#[test]
fn what_no_free_tells_is_refused_with_what_there_is() {
    let run = highwater(["report", "demo:", "--unmatched", "--by", "type"]);
    assert!(run.code == Some(2) && run.err.contains("--by type") && run.err.contains("responsible_module"), "{run:?}");
    let run = highwater(["report", "demo:", "--unmatched", "--size", "1.."]);
    assert!(run.code == Some(2) && run.err.contains("--size does not apply to --unmatched"), "{run:?}");
    let run = highwater(["report", "demo:", "--unmatched", "--heap", "0x77"]);
    assert!(run.code == Some(2) && run.err.contains("0x77"), "{run:?}");
    assert_eq!(highwater(["report", "demo:", "--unmatched", "--sources"]).code, Some(2));
}
