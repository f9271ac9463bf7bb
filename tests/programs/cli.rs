//! The machine interface: arguments, exit codes, and the form of the JSON.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::trace::small;
use crate::common::{highwater, json};
use serde_json::Value;
use tempfile::TempDir;

/// A small trace on disk.
struct Trace {
    _folder: TempDir,
    path: PathBuf,
}

impl Trace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.etl");
        std::fs::write(&path, small(false)).unwrap();
        Self { _folder: folder, path }
    }

    fn report(&self, words: &[&str]) -> Value {
        json(["report", "--json", self.path.to_str().unwrap()].iter().chain(words))
    }

    /// The value of a field in each group.
    fn column(&self, words: &[&str], field: &str) -> Vec<Value> {
        self.report(words)["groups"].as_array().unwrap().iter().map(|group| group[field].clone()).collect()
    }
}

/// The names of an object's fields in the order in which they are printed.
fn keys(text: &str, of: &str) -> Vec<String> {
    let object = &text[text.find(of).unwrap() + of.len()..];
    let mut depth = 0;
    let mut keys = Vec::new();
    let mut rest = object;
    while let Some(at) = rest.find(['{', '}', '[', ']', '"']) {
        match rest.as_bytes()[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => break,
            b'}' | b']' => depth -= 1,
            _ => {
                let end = at + 1 + rest[at + 1..].find('"').unwrap();
                if depth == 1 && rest[end + 1..].starts_with(':') {
                    keys.push(rest[at + 1..end].to_owned());
                }
                rest = &rest[end + 1..];
                continue;
            }
        }
        rest = &rest[at + 1..];
    }
    keys
}

#[test]
fn info_has_the_fields_of_the_contract_in_its_order() {
    let trace = Trace::new();
    let text = highwater(["info", "--json", trace.path.to_str().unwrap()]).out;
    assert_eq!(keys(&text, ""), ["schema", "files", "events", "problems", "providers", "doubts"]);
    let file = [
        "path",
        "bytes",
        "buffers",
        "compressed",
        "format",
        "logger",
        "os",
        "processors",
        "pointer_size",
        "clock",
        "start_utc",
        "duration_s",
        "events_lost",
        "buffers_lost",
        "copy_of",
        "duplicate_events",
    ];
    assert_eq!(keys(&text, "\"files\":["), file);
    let events = [
        "total",
        "heap_create",
        "heap_destroy",
        "heap_alloc",
        "heap_free",
        "heap_realloc",
        "virtual_alloc",
        "virtual_free",
        "tracker_open",
        "tracker_close",
        "tracker_alloc",
        "tracker_free",
        "tracker_realloc",
        "stack",
        "stack_key_ref",
        "stack_key_definition",
        "inline_stack",
        "process_start",
        "process_end",
        "process_rundown",
        "image_load",
        "image_unload",
        "image_rundown",
        "image_id_rsds",
    ];
    assert_eq!(keys(&text, "\"events\":"), events);
    let info: Value = serde_json::from_str(&text).unwrap();
    let file = &info["files"][0];
    assert_eq!(file["path"], trace.path.to_str().unwrap());
    assert_eq!((&file["os"], &file["clock"]), (&"10.0.26100".into(), &"qpc".into()));
    assert_eq!(file["start_utc"], "2026-01-01T00:00:00Z");
    assert_eq!(file["duration_s"], 0.000142);
}

#[test]
fn reports_have_the_fields_of_the_contract_in_its_order() {
    let trace = Trace::new();
    let more = highwater(["report", "--json", "--with", "commit", trace.path.to_str().unwrap()]).out;
    assert_eq!(keys(&more, ""), ["schema", "interval", "groups", "quality", "doubts", "commit"]);
    let text = highwater(["report", "--json", trace.path.to_str().unwrap()]).out;
    assert_eq!(keys(&text, ""), ["schema", "interval", "groups", "quality", "doubts"]);
    assert_eq!(keys(&text, "\"interval\":"), ["from_s", "to_s"]);
    let group = [
        "process",
        "pid",
        "process_start_s",
        "layer",
        "heap",
        "stack",
        "freed_stack",
        "type",
        "thread",
        "function",
        "module",
        "tag",
        "responsible",
        "responsible_module",
        "source",
        "size_bucket",
        "lifetime_bucket",
        "outstanding_from",
        "outstanding_to",
        "peak",
        "count",
        "size",
        "allocated_count",
        "allocated_size",
        "freed_count",
        "freed_size",
        "impacting_size",
        "aifi",
        "aifo",
        "aofi",
        "aofo",
    ];
    assert_eq!(keys(&text, "\"groups\":["), group);
    assert_eq!(keys(&text, "\"aofo\":"), ["count", "size"]);
    let quality = [
        "events_lost",
        "buffers_lost",
        "unmatched_frees",
        "superseded_allocations",
        "problems",
        "inferred_frees",
        "duplicate_events",
    ];
    assert_eq!(keys(&text, "\"quality\":"), quality);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["schema"], "highwater.report/1");
    assert_eq!(report["interval"], serde_json::json!({"from_s": 0.0, "to_s": 0.0001421}));
    assert_eq!(report["quality"]["problems"], 0);
}

#[test]
fn the_same_question_gets_the_same_bytes() {
    let trace = Trace::new();
    for words in [&["info", "--json"][..], &["report", "--json", "--by", "process,heap,stack,type,thread"]] {
        let ask = || highwater(words.iter().chain([&trace.path.to_str().unwrap()])).out;
        assert_eq!(ask(), ask());
    }
}

#[test]
fn keys_that_are_not_asked_for_are_null() {
    let trace = Trace::new();
    for (by, present) in [
        ("process", &["process", "pid", "process_start_s"][..]),
        ("heap", &["heap"]),
        ("stack", &["stack"]),
        ("freed_stack", &["freed_stack"]),
        ("type", &["type"]),
        ("thread", &["thread"]),
        ("size", &["size_bucket"]),
        ("lifetime", &["lifetime_bucket"]),
    ] {
        for group in trace.report(&["--by", by, "--layer", "heap"])["groups"].as_array().unwrap() {
            assert_eq!(group["layer"], "heap");
            for key in [
                "process",
                "pid",
                "process_start_s",
                "heap",
                "stack",
                "freed_stack",
                "type",
                "thread",
                "size_bucket",
                "lifetime_bucket",
                "function",
                "module",
            ] {
                assert_eq!(group[key].is_null(), !present.contains(&key), "--by {by}: {key}");
            }
        }
    }
}

#[test]
fn filters_take_names_and_numbers_in_any_case() {
    let trace = Trace::new();
    let all: [Value; 3] = ["commit".into(), "tracker".into(), "heap".into()];
    let mut layers = trace.column(&[], "layer");
    layers.sort_by_key(|layer| all.iter().position(|l| l == layer));
    assert_eq!(layers, all);
    for name in ["Game.exe", "GAME.EXE", "game", "4660"] {
        assert_eq!(trace.column(&["--process", name], "layer").len(), 3, "{name}");
    }
    for name in ["gam", "466", "0x1234"] {
        assert_eq!(highwater(["report", trace.path.to_str().unwrap(), "--process", name]).code, Some(2), "{name}");
    }
    assert_eq!(trace.column(&["--layer", "TRACKER"], "heap"), ["Physics"]);
    assert_eq!(trace.column(&["--heap", "physics"], "layer"), ["tracker"]);
    assert_eq!(trace.column(&["--heap", "0X1d0000"], "layer"), ["heap"]);
    assert_eq!(trace.column(&["--top", "1"], "layer").len(), 1);
    assert_eq!(trace.column(&["--top", "0"], "layer").len(), 0);
}

#[test]
fn edges_are_ticks_and_half_open() {
    let trace = Trace::new();
    // The first block is allocated 100 ticks of 100 ns into the trace and freed 5 ticks later.
    let heap = |from: &str, to: &str| {
        let report = trace.report(&["--layer", "heap", "--from", from, "--to", to]);
        report["groups"].get(0).map(|group| ["aifi", "aifo", "aofi", "aofo"].map(|class| group[class]["count"].as_u64().unwrap()))
    };
    assert_eq!(heap("0", "0.00001"), None, "allocated at the right edge");
    assert_eq!(heap("0.00001", "0.0000101"), Some([0, 1, 0, 0]), "allocated at the left edge");
    assert_eq!(heap("0.00001", "0.0000105"), Some([0, 1, 0, 0]), "freed at the right edge");
    assert_eq!(heap("0.00001", "0.0000106"), Some([1, 0, 0, 0]));
    assert_eq!(heap("0.0000105", "0.0000106"), Some([0, 0, 1, 0]), "freed at the left edge");
    assert_eq!(heap("0.0000106", "0.0000107"), None);
    assert_eq!(heap("0.0000101", "0.0000101"), Some([0, 0, 0, 1]), "an empty interval");
    assert_eq!(heap("0.00001014", "0.00001046"), Some([0, 0, 0, 1]), "to the nearest tick");
    assert_eq!(heap("-5", "0.00001006"), Some([0, 1, 0, 0]), "before the trace start");
}

#[test]
fn bad_arguments_exit_with_2_and_one_line() {
    let trace = Trace::new();
    let file = trace.path.to_str().unwrap();
    let cases: [&[&str]; 17] = [
        &["info"],
        &["report"],
        &["report", file, "--from", "2", "--to", "1"],
        &["report", "missing.etl", "--from", "2", "--to", "1"],
        &["report", file, "--from", "0.0001430"],
        &["report", file, "--to", "-1"],
        &["report", file, "--from", "nan"],
        &["report", file, "--to", "inf"],
        &["report", file, "--to", "1e-3"],
        &["report", file, "--to", "0.0000000001"],
        &["report", file, "--by", "colour"],
        &["report", file, "--by", ""],
        &["report", file, "--layer", "roof"],
        &["report", file, "--top", "-1"],
        &["report", file, "--from"],
        &["info", file, "--nonsense"],
        &["--nonsense"],
    ];
    for words in cases {
        let run = highwater(words);
        assert_eq!(run.code, Some(2), "{words:?}: {run:?}");
        assert_eq!(run.out, "", "{words:?}");
        assert_eq!(run.err.lines().count(), 1, "{words:?}: {}", run.err);
    }
}

/// Elsewhere it is said what is missing; under Windows and Wine the file is read, or it is said why not.
#[test]
fn what_only_windows_has_is_asked_for_on_windows_only() {
    let trace = Trace::new();
    let file = trace.path.to_str().unwrap();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("part.etl");
    let (info, cut) = (["info", "--json", file, "--with-windows"], ["cut", file, "-o", out.to_str().unwrap(), "--manifests"]);
    if cfg!(windows) {
        let run = highwater(info);
        let info: Value = serde_json::from_str(&run.out).unwrap();
        let compared = &info["files"][0]["with_windows"];
        assert_eq!(compared["ours"], info["events"]["total"], "{info}");
        assert!(compared["windows"] == compared["ours"] || compared["error"].is_string(), "{info}");
        assert_eq!(highwater(cut).code, Some(0));
        return;
    }
    for (words, said) in [(&info[..], "Windows' own reader"), (&cut[..], "manifests installed")] {
        let run = highwater(words);
        assert!(run.code == Some(2) && run.err.contains(said) && run.err.lines().count() == 1, "{run:?}");
    }
    assert!(!out.exists());
}

#[test]
fn help_and_version_are_answers() {
    for words in [&["--help"][..], &["--version"], &["report", "--help"], &["info", "--help"]] {
        let run = highwater(words);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        assert!(!run.out.is_empty());
    }
    assert!(!highwater(["--help"]).out.contains("measure"), "an instrument of the project, not of its users");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_highwater"))
        .args(["report", "demo:", "--json", "--by", "process,heap,stack"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn the_built_in_demo_is_a_file_wherever_one_is_wanted() {
    let info = json(["info", "--json", "demo:"]);
    assert_eq!(info["files"][0]["path"], "demo:");
    assert_eq!(info["files"][0]["compressed"], true);
    assert!(info["events"]["heap_alloc"].as_u64().unwrap() > 1000);
}

#[test]
fn text_for_people_tells_the_same_story() {
    let trace = Trace::new();
    let file = trace.path.to_str().unwrap();
    let info = highwater(["info", file]).out;
    assert!(info.contains("Windows 10.0.26100, 2 processors") && info.contains("heap alloc"), "{info}");
    let report = highwater(["report", file, "--by", "process,heap,stack"]).out;
    for text in ["Game.exe (4660)", "tracker", "Physics", "Game.exe!+0x2000", "0x7ffe00000000", "No events were lost."] {
        assert!(report.contains(text), "{text} is missing in\n{report}");
    }
    assert!(report.lines().all(|line| line == line.trim_end()));
}

#[test]
fn rows_are_chosen_by_ranges_and_further_options_are_further_conditions() {
    let trace = Trace::new();
    // 60 blocks of 40 bytes, one each 20 ticks of 100 ns from tick 100 on; each third is freed 5 ticks later.
    let heap = |words: &[&str]| {
        let report = trace.report(&[&["--layer", "heap"], words].concat());
        report["groups"].get(0).map_or(0, |group| group["count"].as_u64().unwrap())
    };
    assert_eq!(heap(&[]), 60);
    for (words, count) in [
        (&["--allocated", "0.00001..0.000012"][..], 1),
        (&["--allocated", "0.00001..0.0000121"], 2),
        (&["--allocated", "..0.000012", "--allocated", "0.0000101.."], 0),
        (&["--allocated", "0.00001..0.00001"], 0),
        (&["--freed", "never"], 40),
        (&["--freed", ".."], 20),
        (&["--freed", "0.0000105..0.0000106"], 1),
        (&["--freed", "0.0000105..0.0000106|never"], 41),
        (&["--freed", "0.0000105..0.0000106|never", "--freed", ".."], 1),
        (&["--size", "40..41"], 60),
        (&["--size", "41..1K"], 0),
        (&["--size", "..40"], 0),
        (&["--lifetime", "0.0000005..0.0000006"], 20),
        (&["--lifetime", "0.0000006.."], 40),
        (&["--lifetime", "..0.0000005"], 0),
        (&["--thread", "2"], 30),
        (&["--thread", "2", "--thread", "3"], 0),
        (&["--type", "(unknown*"], 60),
        (&["--frame", "GAME.exe!+0x1001"], 12),
        (&["--frame", "game.exe!+0x2000", "--frame", "+0x1001"], 12),
        (&["--not-frame", "+0x1001"], 48),
        (&["--not-frame", "+0x1001", "--frame", "+0x1001"], 0),
    ] {
        assert_eq!(heap(words), count, "{words:?}");
    }
    let sizes = trace.report(&["--layer", "heap", "--by", "size,lifetime"]);
    let group = |i: usize| (sizes["groups"][i]["size_bucket"].clone(), sizes["groups"][i]["lifetime_bucket"].clone());
    assert_eq!(group(0), (serde_json::json!([32, 64]), serde_json::json!([0.0, null])));
    assert_eq!(group(1), (serde_json::json!([32, 64]), serde_json::json!([0.0, 0.000001])));
    let text = highwater(["report", trace.path.to_str().unwrap(), "--by", "size,lifetime"]).out;
    assert!(text.contains("Block size") && text.contains("no end seen"), "{text}");
}

#[test]
fn ranges_that_are_none_are_refused() {
    let trace = Trace::new();
    let file = trace.path.to_str().unwrap();
    for words in [
        ["--allocated", "1"],
        ["--allocated", "2..1"],
        ["--allocated", "1..2|never"],
        ["--allocated", "never"],
        ["--freed", "1"],
        ["--freed", "1..x"],
        ["--freed", "never|never"],
        ["--freed", "2..1|never"],
        ["--size", "16"],
        ["--size", "2K..1K"],
        ["--size", "-1..2"],
        ["--size", "1..2|never"],
        ["--lifetime", "0.5"],
        ["--lifetime", "1..0.5"],
        ["--lifetime", "nan.."],
        ["--thread", "4294967295"],
        ["--thread", "two"],
    ] {
        let run = highwater(["report", file].iter().chain(&words));
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(2), "", 1), "{words:?}: {run:?}");
    }
}

#[test]
fn a_saved_investigation_is_told_with_the_command_for_its_trace() {
    let trace = Trace::new();
    let file = trace.path.with_file_name("why.highwater");
    std::fs::write(&file, "version = 1\n[trace]\nfiles = [\"small.etl\"]\n").unwrap();
    let (named, own) = (file.to_str().unwrap(), trace.path.to_str().unwrap());
    for words in [&["report", named, "--json"][..], &["info", named], &["findings", "--top", "3", named]] {
        let run = highwater(words);
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{words:?}");
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        assert!(run.err.contains(&format!("{named}: this is a saved investigation of {own} and holds no trace")), "{}", run.err);
        if cfg!(not(windows)) {
            let instead: Vec<&str> = words.iter().map(|word| if *word == named { own } else { word }).collect();
            assert!(run.err.contains(&format!("highwater {}", instead.join(" "))), "{}", run.err);
            assert_eq!(highwater(instead).code, Some(0), "the command works");
        }
    }
    for words in [&["diff", named, own][..], &["functions", named]] {
        let run = highwater(words);
        assert!(run.code == Some(1) && run.err.contains("this is a saved investigation of "), "{words:?} {}", run.err);
    }
    // A comparison is told with the command that compares.
    let other = trace.path.with_file_name("before.etl");
    std::fs::write(&other, small(false)).unwrap();
    let text = "version = 1\n[trace]\nfiles = [\"small.etl\"]\n[baseline]\nfiles = [\"before.etl\"]\n";
    std::fs::write(&file, text).unwrap();
    let run = highwater(["diff", "--by", "type", named, "--json"]);
    assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(1), "", 1), "{run:?}");
    assert!(run.err.contains("a saved investigation, which compares two traces and holds neither"), "{}", run.err);
    if cfg!(not(windows)) {
        let instead = ["diff", "--by", "type", other.to_str().unwrap(), own, "--json"];
        assert!(run.err.contains(&format!("highwater {}", instead.join(" "))), "{}", run.err);
        assert_eq!(highwater(instead).code, Some(0), "the command works");
    }
    std::fs::write(&file, "version = 1\n[trace]\nfiles = [\"small.etl\"]\n").unwrap();
    assert_eq!(highwater(["diff", named]).code, Some(2), "without a trace to compare with, an argument is missing");
    // A text of another kind is told as before.
    std::fs::write(&file, "no investigation").unwrap();
    assert!(highwater(["report", named]).err.contains("this is not an ETW trace"));
}
