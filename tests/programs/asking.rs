//! Questions that cannot be answered as they are asked say so: filters that name nothing, intervals outside of
//! the trace, files of several captures, commands that are none. And what is doubtful is said wherever numbers are.

use std::path::{Path, PathBuf};

use highwater::etl::SessionHeader;
use highwater::events::{Event, FrameRange, ImageChange, ImageInfo, ProcessChange, ProcessInfo, Record, StackPart};
use highwater::units::{Layer, Pid, Tid};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::trace::{BUFFER, session, small, story, trace, without_memory_events};
use crate::common::{Run, highwater, json, skip};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(&self, name: &str, bytes: &[u8]) -> &'static str {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned().leak()
    }
}

fn run(words: &[&str]) -> Run {
    highwater(words)
}

/// Asserts that this is a bad argument, told in one line with these words.
fn refused(words: &[&str], told: &[&str]) {
    let run = run(words);
    assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(2), "", 1), "{words:?}: {run:?}");
    for part in told {
        assert!(run.err.contains(part), "{words:?} does not say {part:?}: {}", run.err);
    }
}

/// The same story in another boot of the machine.
fn other_boot() -> Vec<u8> {
    let session = session(false);
    trace(SessionHeader { start_time: session.start_time + 86_400 * 10_000_000, ..session }, &story())
}

#[test]
fn a_filter_that_names_nothing_is_refused_with_the_nearest_names_in_every_command() {
    let folder = Folder::new();
    let file = folder.with("a.etl", &small(false));
    let rules = folder.with("rules.toml", b"[[rule]]\npeak = \"1G\"\n");
    let out = folder.path("out");
    let out = out.to_str().unwrap();
    for command in [
        &["report", file][..],
        &["report", file, "--json"],
        &["functions", file],
        &["findings", file],
        &["pages", file],
        &["whatif", file],
        &["frames", file],
        &["scopes", file],
        &["marks", file],
        &["processors", file],
        &["check", file, "--rules", rules],
        &["check", file, "--init"],
        &["export", file, "--format", "csv", "-o", out],
        &["export", file, "--format", "folded", "--layer", "heap", "-o", out],
        &["cut", file, "-o", out],
        &["diff", file, file, "--fail-over", "1", "--quiet"],
    ] {
        refused(&[command, &["--process", "gam.exe"]].concat(), &["gam.exe", "nearest", "\"Game.exe\""]);
        refused(&[command, &["--process", "466"]].concat(), &["466", "\"4660\""]);
    }
    refused(&["pages", file, "--heap", "Phisics"], &["\"Physics\""]);
    for command in [&["report", file][..], &["functions", file], &["findings", file], &["diff", file, file]] {
        refused(&[command, &["--heap", "0x1d000"]].concat(), &["0x1d000", "\"0x1d0000\""]);
        refused(&[command, &["--heap", "Phisics"]].concat(), &["\"Physics\""]);
        refused(&[command, &["--thread", "22"]].concat(), &["22", "\"2\""]);
        refused(&[command, &["--type", "Node"]].concat(), &["Node", "symbols are missing"]);
        refused(&[command, &["--type", "No*"]].concat(), &["symbols are missing"]);
    }
    refused(&["report", "demo:", "--type", "Partikle"], &["Partikle", "nearest"]);
    refused(&["report", "demo:", "--from", "mark:no such mark"], &["no such mark", "mark"]);
    assert!(!Path::new(out).exists(), "nothing is written");
}

#[test]
fn the_ending_of_a_program_and_the_module_of_a_function_may_be_left_out() {
    let folder = Folder::new();
    let file = folder.with("a.etl", &small(false));
    let of = |name: &str| json(["report", file, "--json", "--process", name])["groups"].clone();
    assert_eq!(of("game"), of("Game.exe"));
    assert_eq!(of("GAME").as_array().unwrap().len(), 3);
    let callers = |of: &str| {
        let functions = json(["functions", file, "--json", "--of", of])["functions"].clone();
        let entries = functions.as_array().unwrap().clone();
        entries.into_iter().filter(|entry| entry["callers"].is_array()).collect::<Vec<Value>>()
    };
    assert!(!callers("+0x2000").is_empty());
    assert_eq!(callers("+0x2000"), callers("game.exe!+0x2000"));
    refused(&["functions", file, "--of", "+0x2001"], &["nearest", "\"Game.exe!+0x2000\""]);
}

#[test]
fn a_function_of_several_modules_is_not_guessed() {
    let folder = Folder::new();
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event, frames: &[u64]| {
        records.push((Record { time: 1_000 + time, pid: Pid(8), tid: Tid(2), event }, frames.to_vec()));
    };
    let info = ProcessInfo { key: 0xA000, parent: 1, name: "game.exe".into(), command_line: String::new() };
    tell(1, Event::Process(ProcessChange::Start, Box::new(info)), &[]);
    for (i, name) in ["a.dll", "b.dll"].iter().enumerate() {
        let base = 0x1000_0000 * (i as u64 + 1);
        let path = format!(r"\Device\Volume1\{name}");
        let image = ImageInfo { base, size: 0x10_0000, checksum: 0, time_stamp: 7, path };
        tell(2 + i as i64, Event::Image(ImageChange::Load, Box::new(image)), &[]);
    }
    tell(10, Event::HeapOpen { layer: Layer::Heap, heap: 1, name: None }, &[]);
    tell(11, Event::Alloc { layer: Layer::Heap, heap: 1, address: 0x5000, size: 16 }, &[]);
    let stack = Event::Stack { owner: 1_011, part: StackPart::User, frames: FrameRange::default() };
    tell(12, stack, &[0x1000_0777, 0x2000_0777]);
    let file = folder.with("a.etl", &trace(session(false), &records));
    refused(&["functions", file, "--of", "+0x777"], &["\"a.dll!+0x777\"", "\"b.dll!+0x777\"", "several modules"]);
    assert_eq!(run(&["functions", file, "--of", "B.DLL!+0x777"]).code, Some(0));
}

#[test]
fn a_diff_refuses_what_neither_side_has() {
    let folder = Folder::new();
    let file = folder.with("a.etl", &small(false));
    refused(&["diff", file, "demo:", "--process", "nobody.exe"], &["nobody.exe", "a.etl", "demo:"]);
    let one = run(&["diff", file, "demo:", "--process", "game.exe", "--json"]);
    assert_eq!(one.code, Some(0), "{one:?}");
    let answer: Value = serde_json::from_str(&one.out).unwrap();
    assert!(answer["doubts"].to_string().contains("B: no matching allocations"), "{answer}");
    // A lacks the process and B the heap: each is had by one.
    let crossed = run(&["diff", file, "demo:", "--process", "TelemetryService", "--heap", "0x1d0000", "--json"]);
    assert_eq!(crossed.code, Some(0), "{crossed:?}");
}

#[test]
fn a_rule_about_what_is_not_there_is_skipped_with_a_line_unless_it_is_required() {
    let folder = Folder::new();
    let file = folder.with("a.etl", &small(false));
    let rule = |more: &str| format!("[[rule]]\nname = \"r\"\nprocess = \"gam.exe\"\npeak = \"1G\"\n{more}");
    let rules = folder.with("rules.toml", rule("").as_bytes());
    let skipped = run(&["check", file, "--rules", rules, "--json"]);
    assert_eq!(skipped.code, Some(0), "{skipped:?}");
    let answer: Value = serde_json::from_str(&skipped.out).unwrap();
    assert_eq!(answer["rules"][0]["outcome"], "skipped");
    assert!(skipped.err.contains("rule r") && skipped.err.contains("\"Game.exe\""), "{}", skipped.err);
    let rules = folder.with("rules.toml", rule("required = true\n").as_bytes());
    assert_eq!(run(&["check", file, "--rules", rules]).code, Some(3));
    let rules = folder.with("rules.toml", rule("heap = \"0x9\"\n").replace("gam.exe", "game").as_bytes());
    let heap = run(&["check", file, "--rules", rules]);
    assert!(heap.code == Some(0) && heap.err.contains("0x9") && heap.err.contains("\"0x1d0000\""), "{heap:?}");
}

#[test]
fn an_interval_outside_of_the_trace_is_refused_and_one_that_reaches_beyond_says_so() {
    let folder = Folder::new();
    let file = folder.with("a.etl", &small(false));
    let out = folder.path("out.etl");
    for command in [
        &["report", file][..],
        &["functions", file],
        &["findings", file],
        &["marks", file],
        &["frames", file],
        &["scopes", file],
        &["processors", file],
        &["cut", file, "-o", out.to_str().unwrap()],
    ] {
        refused(&[command, &["--from", "5", "--to", "6"]].concat(), &["--from", "end of the trace"]);
        refused(&[command, &["--from", "-6", "--to", "-5"]].concat(), &["--to", "start of the trace"]);
        refused(&[command, &["--from", "-6", "--to", "0"]].concat(), &["start of the trace"]);
    }
    refused(&["diff", &format!("{file}@5..6"), file], &["end of the trace"]);
    let beyond = run(&["report", file, "--to", "5", "--json"]);
    assert_eq!((beyond.code, beyond.err.lines().count()), (Some(0), 1), "{beyond:?}");
    assert!(beyond.err.contains("end of the trace"), "{}", beyond.err);
    let answer: Value = serde_json::from_str(&beyond.out).unwrap();
    assert_eq!(answer["groups"], json(["report", file, "--json"])["groups"]);
    let before = run(&["report", file, "--from", "-1"]);
    assert!(before.code == Some(0) && before.err.contains("start of the trace"), "{before:?}");
    for inside in [["--from", "0", "--to", "0"], ["--from", "0.0001421", "--to", "0.0001421"]] {
        let run = run(&[&["report", file][..], &inside].concat());
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{inside:?}");
    }
}

#[test]
fn files_of_several_captures_are_told_and_each_is_answered_for_on_demand() {
    let folder = Folder::new();
    let (a, b) = (folder.with("a.etl", &small(false)), folder.with("b.etl", &other_boot()));
    let rules = folder.with("rules.toml", b"[[rule]]\npeak = \"1K\"\n");
    let out = folder.path("out");
    let out = out.to_str().unwrap();
    for command in [
        &["info", a, b][..],
        &["report", a, b],
        &["functions", a, b],
        &["findings", a, b],
        &["frames", a, b],
        &["marks", a, b],
        &["processors", a, b],
        &["check", a, b, "--rules", rules],
        &["export", a, b, "--format", "csv", "-o", out],
        &["cut", a, b, "-o", out],
    ] {
        let run = run(command);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{command:?}: {run:?}");
        let lines: Vec<&str> = run.err.lines().collect();
        assert_eq!(lines.len(), 3, "{command:?}: {run:?}");
        assert!(lines[0].contains("2 captures") && lines[1].contains("a.etl"), "{run:?}");
        assert!(lines[2].contains("b.etl") && lines[2].contains("another boot"), "{run:?}");
    }
    for command in ["info", "report", "functions", "findings", "frames", "marks", "processors"] {
        let run = run(&[command, a, b, "--each", "--json"]);
        assert_eq!(run.code, Some(0), "{command}: {run:?}");
        let answers: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let files: Vec<String> = answers.iter().map(|answer| answer["files"][0].to_string()).collect();
        assert!(files.len() == 2 && files[0].contains("a.etl") && files[1].contains("b.etl"), "{command}: {files:?}");
        let text = highwater([command, a, b, "--each"]).out;
        assert!(command == "info" || (text.contains(&format!("== {a}\n")) && text.contains(&format!("== {b}\n"))), "{text}");
    }
    // Each has the answer that it has alone.
    let each = run(&["report", a, b, "--each", "--json"]).out;
    let alone = json(["report", b, "--json"]);
    let second: Value = serde_json::from_str(each.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&second["groups"], &second["quality"]), (&alone["groups"], &alone["quality"]));
    let junit = folder.path("out.xml");
    let checked = run(&["check", a, b, "--each", "--rules", rules, "--junit", junit.to_str().unwrap()]);
    assert_eq!(checked.code, Some(3), "{checked:?}");
    assert_eq!(std::fs::read_to_string(&junit).unwrap().matches("<testsuite ").count(), 2);
    refused(&["export", a, b, "--each", "--format", "csv", "-o", out], &["--each"]);
    assert_eq!(run(&["report", a, "--each"]).code, Some(0));
}

#[test]
fn what_one_of_several_captures_has_not_is_a_line_for_that_one() {
    let folder = Folder::new();
    let session = session(false);
    let later = SessionHeader { start_time: session.start_time + 86_400 * 10_000_000, ..session };
    let renamed = |record: &Record| match &record.event {
        Event::Process(change, info) => {
            let info = ProcessInfo { name: "Other.exe".into(), ..(**info).clone() };
            Record { event: Event::Process(*change, Box::new(info)), ..record.clone() }
        }
        _ => record.clone(),
    };
    let records: Vec<_> = story().iter().map(|(record, frames)| (renamed(record), frames.clone())).collect();
    let (a, b) = (folder.with("a.etl", &small(false)), folder.with("b.etl", &trace(later, &records)));
    let one = run(&["report", a, b, "--each", "--json", "--process", "game.exe"]);
    assert_eq!((one.code, one.out.lines().count(), one.err.lines().count()), (Some(0), 1, 1), "{one:?}");
    assert!(one.err.contains("b.etl") && one.err.contains("Other.exe"), "{}", one.err);
    let none = run(&["report", a, b, "--each", "--process", "nobody.exe"]);
    assert_eq!((none.code, none.out.as_str(), none.err.lines().count()), (Some(2), "", 3), "{none:?}");
    #[cfg(feature = "parquet")]
    {
        let lake = folder.path("lake");
        let lake = lake.to_str().unwrap();
        let run = highwater(["export", a, b, "--format", "parquet", "--process", "game.exe", "-o", lake]);
        assert!(run.code == Some(0) && run.out.starts_with("1 capture written"), "{run:?}");
        assert!(run.err.contains("Other.exe"), "{run:?}");
    }
}

#[test]
fn a_mistyped_command_ends_at_once_and_names_the_nearest() {
    refused(&["reprot"], &["reprot", "did you mean report?"]);
    refused(&["reprot", "demo:", "--json"], &["did you mean report?"]);
    refused(&["exprot", "demo:"], &["did you mean export?"]);
    for words in [&["nowhere.etl"][..], &["./nowhere"], &["replay", "nowhere.etl"], &["report", "nowhere.etl"]] {
        let run = run(words);
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(1), "", 1), "{words:?}: {run:?}");
        assert!(run.err.contains("nowhere"), "{run:?}");
    }
}

/// A capture whose last buffers are missing, as a copy that was stopped leaves it.
fn cut_at_a_buffers_edge() -> Vec<u8> {
    let mut bytes = small(false);
    assert_eq!(bytes.len() % BUFFER, 0);
    bytes.truncate(bytes.len() - 2 * BUFFER);
    bytes
}

#[test]
fn a_file_with_fewer_buffers_than_were_written_is_a_doubt_wherever_numbers_are() {
    let folder = Folder::new();
    let (cut, whole) = (folder.with("cut.etl", &cut_at_a_buffers_edge()), folder.with("whole.etl", &small(false)));
    let rules = folder.with("rules.toml", b"[[rule]]\npeak = \"1G\"\n");
    let info = json(["info", cut, "--json"]);
    let problems = info["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{info}");
    assert_eq!(problems[0]["kind"], "missing_buffers");
    assert!(problems[0]["detail"].as_str().unwrap().starts_with("2 of the "), "{info}");
    let text = highwater(["info", cut]).out;
    assert!(text.contains("a part of it is missing"), "{text}");
    let report = json(["report", cut, "--json"]);
    assert_eq!(report["quality"]["problems"], 1);
    let asked = |file: &str| {
        [
            json(["info", file, "--json"]),
            json(["report", file, "--json"]),
            json(["functions", file, "--json"]),
            json(["findings", file, "--json", "--layer", "commit"]),
            json(["diff", file, file, "--json"]),
            json(["check", file, "--rules", rules, "--json"]),
        ]
    };
    for answer in asked(cut) {
        let doubts = answer["doubts"].to_string();
        assert!(doubts.contains("were written are not in the file"), "{answer}");
    }
    for answer in asked(whole) {
        let mut doubts: Vec<String> = serde_json::from_value(answer["doubts"].clone()).unwrap();
        doubts.retain(|doubt| !doubt.starts_with("no names for "));
        assert!(doubts.is_empty(), "{answer}");
    }
    for command in ["report", "functions", "findings"] {
        let run = highwater([command, cut]);
        assert!(run.out.contains("numbers may be off") && run.out.contains("are not in the file"), "{command}: {run:?}");
    }
    let junit = folder.path("out.xml");
    let checked = run(&["check", cut, "--rules", rules, "--junit", junit.to_str().unwrap()]);
    assert!(checked.code == Some(0) && checked.err.contains("numbers may be off"), "{checked:?}");
    assert!(std::fs::read_to_string(&junit).unwrap().contains("are not in the file"));
    let markdown = run(&["diff", cut, whole, "--markdown"]);
    assert!(markdown.code == Some(0) && markdown.out.contains("are not in the file"), "{markdown:?}");
}

#[test]
fn damage_and_files_that_cannot_be_read_are_doubts() {
    let folder = Folder::new();
    let whole = small(false);
    let mut damaged = whole.clone();
    damaged[2 * BUFFER + 0x48..2 * BUFFER + 0x60].fill(0xEE);
    let inside = whole[..whole.len() - BUFFER / 2].to_vec();
    for (name, bytes) in [("damaged.etl", damaged), ("inside.etl", inside)] {
        let file = folder.with(name, &bytes);
        let report = json(["report", file, "--json"]);
        assert!(report["doubts"].as_array().is_some_and(|doubts| !doubts.is_empty()), "{name}: {report}");
        assert!(report["doubts"].to_string().contains(name), "{report}");
    }
    let file = folder.with("a.etl", &whole);
    let gone = folder.path("gone.etl");
    let report = json(["report", file, gone.to_str().unwrap(), "--json"]);
    assert!(report["doubts"].to_string().contains("gone.etl"), "{report}");
}

#[test]
fn a_program_that_ran_before_the_trace_is_a_doubt_unless_its_heap_began_in_it() {
    let folder = Folder::new();
    let records: Vec<_> = story().into_iter().filter(|(record, _)| !matches!(record.event, Event::Process(..))).collect();
    let opened = folder.with("opened.etl", &trace(session(false), &records));
    let doubts = |file: &str, layer: &str| json(["report", file, "--json", "--layer", layer])["doubts"].to_string();
    assert_eq!(doubts(opened, "heap"), "[]");
    assert!(doubts(opened, "commit").contains("ran before the trace"));
    let records: Vec<_> =
        records.into_iter().filter(|(record, _)| !matches!(record.event, Event::HeapOpen { layer: Layer::Heap, .. })).collect();
    let running = folder.with("running.etl", &trace(session(false), &records));
    assert!(doubts(running, "heap").contains("ran before the trace"));
    assert_eq!(doubts(running, "tracker"), "[]");
}

#[test]
fn modules_without_names_are_a_doubt_where_names_decide_the_answer() {
    let folder = Folder::new();
    let file = folder.with("a.etl", &small(false));
    let doubts = |words: &[&str]| json([&["report", file, "--json"][..], words].concat())["doubts"].to_string();
    assert_eq!(doubts(&["--by", "process,stack"]), "[]", "addresses tell stacks apart");
    for words in [&["--by", "type"][..], &["--by", "tag"], &["--frame", "+0x"], &["--by", "function", "--fold"]] {
        assert!(doubts(words).contains("no names for Game.exe"), "{words:?}: {}", doubts(words));
    }
    let findings = json(["findings", file, "--json"]);
    assert!(findings["doubts"].to_string().contains("no names for Game.exe"), "{findings}");
    assert_eq!(json(["report", "demo:", "--json", "--by", "type", "--process", "MemoryTestApp.exe"])["doubts"].to_string(), "[]");
}

#[test]
fn info_lists_what_a_report_counts() {
    let folder = Folder::new();
    let mut late: Vec<(Record, Vec<u64>)> = story();
    let last = late.len() - 1;
    late.swap(20, last);
    for (name, bytes) in [
        ("nothing.etl", without_memory_events()),
        ("whole.etl", small(false)),
        ("cut.etl", cut_at_a_buffers_edge()),
        ("late.etl", trace(session(false), &late)),
    ] {
        let file = folder.with(name, &bytes);
        let (info, report) = (json(["info", file, "--json"]), json(["report", file, "--json"]));
        assert_eq!(report["quality"]["problems"], info["problems"].as_array().unwrap().len(), "{name}: {info}");
    }
    let nothing = json(["info", folder.path("nothing.etl").to_str().unwrap(), "--json"]);
    assert_eq!(nothing["problems"][0]["kind"], "no_memory_events");
}

/// One of the small inputs that were made after reports of others' tools.
fn case(name: &str) -> Option<String> {
    let path = std::path::absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases").join(name)).unwrap();
    if path.is_file() {
        return Some(path.to_str().unwrap().to_owned());
    }
    skip("no cases");
    None
}

#[test]
fn a_heap_snapshot_is_named_and_how_to_record_a_heap_trace_is_said() {
    let Some(file) = case("heap-snapshot.zip") else { return };
    for command in ["report", "info"] {
        let run = highwater([command, &file]);
        assert_eq!(run.code, Some(0), "{run:?}");
        for part in ["Microsoft-Windows-Heap-Snapshot", "only WPA reads these snapshots", "wpr -start Heap", "-HeapTracingConfig"]
        {
            assert!(run.err.contains(part), "{command}: {part}: {}", run.err);
        }
        assert!(!run.err.contains("has no memory events"), "{}", run.err);
    }
    let info = json(["info", &file, "--json"]);
    assert_eq!(info["providers"][0]["name"], "Microsoft-Windows-Heap-Snapshot");
    assert_eq!(info["problems"][0]["kind"], "no_memory_events");
}

#[test]
fn builds_with_mingw_are_said_to_keep_their_names_as_dwarf_in_the_image() {
    for (name, module) in [("rsds-empty-name.zip", "mingw.exe"), ("mingw-image.zip", "m.exe")] {
        let Some(file) = case(name) else { return };
        let answer = json(["symbols", "check", &file, "--json"]);
        let modules = answer["modules"].as_array().unwrap();
        let found = modules.iter().find(|found| found["module"] == module).unwrap();
        let reason = found["reason"].as_str().unwrap();
        assert!(reason.contains("MinGW") && reason.contains("DWARF in the image"), "{name}: {reason}");
    }
}
