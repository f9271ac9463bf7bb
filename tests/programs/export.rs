//! Exports: each has the numbers of the report, and files are whole or not there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::common::{Run, highwater, json};
use serde_json::Value;
use tempfile::TempDir;

const LAYERS: [&str; 3] = ["commit", "heap", "tracker"];
const VALUES: [(&str, &str); 5] = [
    ("outstanding", "outstanding_to"),
    ("impacting", "impacting_size"),
    ("allocated", "allocated_size"),
    ("count", "count"),
    ("peak", "peak"),
];

/// A part of the demo in which all classes occur.
const PART: [&str; 4] = ["--from", "7.5", "--to", "21"];

fn export(format: &str, words: &[&str]) -> Run {
    highwater(["export", "demo:", "--format", format, "-o", "-"].iter().chain(words).copied())
}

fn exported(format: &str, words: &[&str]) -> String {
    let run = export(format, words);
    assert_eq!(run.code, Some(0), "{}", run.err);
    run.out
}

fn parsed(format: &str, words: &[&str]) -> Value {
    serde_json::from_str(&exported(format, words)).unwrap()
}

/// The groups of a report of the same part.
fn groups(by: &str, words: &[&str]) -> Vec<Value> {
    let report = json(["report", "demo:", "--json", "--by", by].iter().chain(words).copied());
    report["groups"].as_array().unwrap().clone()
}

/// What the report has in each process and stack, by the stack's text from the process on.
fn by_stack(words: &[&str], field: &str) -> BTreeMap<String, i128> {
    let mut sums = BTreeMap::new();
    for group in groups("process,stack", words) {
        let frames = group["stack"].as_array().unwrap().iter().map(|frame| frame.as_str().unwrap().replace(';', ":"));
        let mut frames: Vec<String> = frames.collect();
        if frames.is_empty() {
            frames.push("(no stack recorded)".to_owned());
        }
        let process = format!("{} ({})", group["process"].as_str().unwrap(), group["pid"]);
        *sums.entry(format!("{process};{}", frames.join(";"))).or_default() += number(&group[field]);
    }
    sums.retain(|_, sum| *sum != 0);
    sums
}

fn number(value: &Value) -> i128 {
    value.as_i64().map(i128::from).or(value.as_u64().map(i128::from)).unwrap()
}

fn each_layer_and_value(check: impl Fn(&[&str], &str, &str)) {
    for layer in LAYERS {
        for (value, field) in VALUES {
            check(&[&PART[..], &["--layer", layer]].concat(), value, field);
        }
    }
}

#[test]
fn folded_stacks_weigh_what_the_report_says() {
    each_layer_and_value(|words, value, field| {
        let mut sums = BTreeMap::new();
        for line in exported("folded", &[words, &["--value", value]].concat()).lines() {
            let (stack, weight) = line.rsplit_once(' ').unwrap();
            *sums.entry(stack.to_owned()).or_default() += weight.parse::<i128>().unwrap();
        }
        assert_eq!(sums, by_stack(words, field), "{words:?} {value}");
    });
}

#[test]
fn speedscope_samples_weigh_what_the_report_says() {
    each_layer_and_value(|words, value, field| {
        let file = parsed("speedscope", &[words, &["--value", value]].concat());
        let frames = file["shared"]["frames"].as_array().unwrap();
        let mut sums = BTreeMap::new();
        for (profile, sign) in file["profiles"].as_array().unwrap().iter().zip([1, -1]) {
            let (samples, weights) = (profile["samples"].as_array().unwrap(), profile["weights"].as_array().unwrap());
            assert_eq!(samples.len(), weights.len());
            for (sample, weight) in samples.iter().zip(weights) {
                let name = |frame: &Value| frames[frame.as_u64().unwrap() as usize]["name"].as_str().unwrap().replace(';', ":");
                let stack = sample.as_array().unwrap().iter().map(name).collect::<Vec<_>>().join(";");
                *sums.entry(stack).or_default() += sign * number(weight);
            }
            assert_eq!(number(&profile["endValue"]), weights.iter().map(number).sum::<i128>());
            assert_eq!(profile["unit"], if value == "count" { "none" } else { "bytes" });
        }
        assert_eq!(sums, by_stack(words, field), "{words:?} {value}");
    });
}

/// The sums of a Firefox profile's native allocations by stack.
fn firefox_sums(profile: &Value) -> BTreeMap<String, i128> {
    let mut sums = BTreeMap::new();
    let list = |value: &Value| value.as_array().unwrap().clone();
    for thread in list(&profile["threads"]) {
        let (strings, stacks) = (list(&thread["stringArray"]), &thread["stackTable"]);
        let (frame_of, prefix) = (list(&stacks["frame"]), list(&stacks["prefix"]));
        let (func_of, names) = (list(&thread["frameTable"]["func"]), list(&thread["funcTable"]["name"]));
        let name = |stack: usize| {
            let func = func_of[frame_of[stack].as_u64().unwrap() as usize].as_u64().unwrap() as usize;
            strings[names[func].as_u64().unwrap() as usize].as_str().unwrap().replace(';', ":")
        };
        let Some(allocations) = thread.get("nativeAllocations") else { continue };
        let (times, weights) = (list(&allocations["time"]), list(&allocations["weight"]));
        assert!(times.is_sorted_by_key(|time| time.as_f64().unwrap()), "the format wants entries in the order of time");
        assert_eq!(allocations["weightType"], "bytes");
        for (stack, weight) in list(&allocations["stack"]).iter().zip(&weights) {
            let mut frames = Vec::new();
            let mut at = stack.as_u64();
            while let Some(stack) = at {
                frames.push(name(stack as usize));
                at = prefix[stack as usize].as_u64();
            }
            frames.push(thread["processName"].as_str().unwrap().to_owned());
            frames.reverse();
            *sums.entry(frames.join(";")).or_default() += number(weight);
        }
    }
    sums.retain(|_, sum| *sum != 0);
    sums
}

#[test]
fn firefox_allocations_weigh_what_the_report_says() {
    each_layer_and_value(|words, value, field| {
        let profile = parsed("firefox", &[words, &["--value", value]].concat());
        assert_eq!(firefox_sums(&profile), by_stack(words, field), "{words:?} {value}");
    });
}

#[test]
fn a_firefox_profile_tells_when_it_came_about() {
    let profile = parsed("firefox", &["--layer", "commit", "--value", "allocated"]);
    let threads = profile["threads"].as_array().unwrap();
    let times = threads.iter().filter_map(|thread| thread["nativeAllocations"]["time"].as_array()).flatten();
    let moments: std::collections::BTreeSet<u64> = times.map(|time| time.as_f64().unwrap() as u64).collect();
    assert!(moments.len() > 10 && moments.last() > Some(&20_000), "{moments:?}");
    // And a track of what is outstanding, which ends where the report does.
    for counter in profile["counters"].as_array().unwrap() {
        let samples = &counter["samples"]["count"];
        let sum: f64 = samples.as_array().unwrap().iter().map(|change| change.as_f64().unwrap()).sum();
        let pid = counter["pid"].as_str().unwrap();
        let words = ["--layer", "commit", "--process", pid];
        let expected: i128 = groups("process", &words).iter().map(|group| number(&group["outstanding_to"])).sum();
        assert_eq!(sum as i128, expected, "process {pid}");
    }
}

/// Samples of each process and stack of a part, by the stack's text from the process on.
fn samples_by_stack(words: &[&str]) -> BTreeMap<String, i128> {
    let answer = json(["processors", "demo:", "--json", "--by", "stack"].iter().chain(words).copied());
    let mut sums = BTreeMap::new();
    for of in answer["stacks"].as_array().unwrap() {
        let frames = of["stack"].as_array().unwrap().iter().map(|frame| frame.as_str().unwrap().replace(';', ":"));
        let process = format!("{} ({})", of["process"].as_str().unwrap(), of["pid"]);
        *sums.entry([vec![process], frames.collect()].concat().join(";")).or_default() += number(&of["samples"]);
    }
    assert!(sums.len() > 5);
    sums
}

#[test]
fn stacks_of_samples_weigh_what_processors_says() {
    for part in [&[][..], &PART, &["--from", "mark:Level 2", "--process", "4660"]] {
        let words = [part, &["--value", "samples"]].concat();
        let expected = samples_by_stack(part);
        let total: i128 = expected.values().sum();
        let folded = exported("folded", &words);
        let mut lines: BTreeMap<String, i128> = BTreeMap::new();
        for (stack, weight) in folded.lines().map(|line| line.rsplit_once(' ').unwrap()) {
            *lines.entry(stack.to_owned()).or_default() += weight.parse::<i128>().unwrap();
        }
        assert_eq!(lines, expected);
        let profiles = parsed("speedscope", &words)["profiles"].clone();
        assert_eq!((number(&profiles[0]["endValue"]), &profiles[0]["unit"]), (total, &"none".into()));
        let alone = parsed("firefox", &words);
        let beside = parsed("firefox", &[part, &["--layer", "heap"]].concat());
        for profile in [&alone, &beside] {
            let threads = profile["threads"].as_array().unwrap();
            let count: i128 = threads.iter().map(|thread| number(&thread["samples"]["length"])).sum();
            assert_eq!(count, total);
        }
        assert!(firefox_sums(&alone).is_empty() && !firefox_sums(&beside).is_empty());
    }
}

#[test]
fn a_firefox_profile_has_marks_as_markers() {
    let marks = json(["marks", "demo:", "--json"]);
    let mut expected: Vec<(String, f64, f64)> = Vec::new();
    for mark in marks["marks"].as_array().unwrap() {
        let millis = |key: &str| (mark[key].as_f64().unwrap() * 1e6).round() / 1e3;
        expected.push((mark["text"].as_str().unwrap().to_owned(), millis("from_s"), millis("to_s")));
    }
    let mut found: Vec<(String, f64, f64)> = Vec::new();
    for thread in parsed("firefox", &["--layer", "heap"])["threads"].as_array().unwrap() {
        let markers = &thread["markers"];
        for (n, data) in markers["data"].as_array().unwrap().iter().enumerate() {
            let millis = |of: &Value| of[n].as_f64().map(|millis| (millis * 1e3).round() / 1e3);
            let text = &data["text"];
            let text = text.as_str().unwrap_or_else(|| thread["stringArray"][text.as_u64().unwrap() as usize].as_str().unwrap());
            let from = millis(&markers["startTime"]).unwrap();
            found.push((text.to_owned(), from, millis(&markers["endTime"]).filter(|to| *to > 0.0).unwrap_or(from)));
        }
    }
    let by_time = |a: &(String, f64, f64), b: &(String, f64, f64)| a.1.total_cmp(&b.1);
    expected.sort_by(by_time);
    found.sort_by(by_time);
    assert!(expected.len() > 2);
    assert_eq!(found, expected);
}

#[test]
fn samples_are_no_memory() {
    for words in [&["--layer", "heap"][..], &["--size", "1.."], &["--frame", "x"]] {
        let run = export("folded", &[words, &["--value", "samples"]].concat());
        assert!(run.code == Some(2) && run.err.contains(words[0]), "{}", run.err);
    }
}

#[test]
fn json_is_the_answer_of_report() {
    for by in ["process,heap", "stack,type", "size,lifetime,thread", "function,module,tag"] {
        let words = [&PART[..], &["--by", by]].concat();
        let report = highwater(["report", "demo:", "--json"].iter().chain(&words).copied());
        assert_eq!(exported("json", &words), report.out);
        let top = [&words[..], &["--top", "2"]].concat();
        assert_eq!(parsed("json", &top)["groups"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn csv_has_a_line_a_group_with_the_columns_of_report() {
    let words = [&PART[..], &["--by", "process,heap,stack,size"]].concat();
    let text = exported("csv", &words);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let groups = groups("process,heap,stack,size", &PART);
    assert_eq!(rows.len(), groups.len());
    for (row, group) in rows.iter().zip(&groups) {
        for (name, cell) in header.iter().zip(row) {
            let part = name.split_once('_').filter(|(class, _)| ["aifi", "aifo", "aofi", "aofo"].contains(class));
            let expected = part.map_or(&group[name.as_str()], |(class, what)| &group[class][what]);
            let expected = match expected {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                Value::Array(list) if name == "stack" => list.iter().map(|f| f.as_str().unwrap()).collect::<Vec<_>>().join(";"),
                Value::Array(list) => format!("{}..{}", list[0], list[1]),
                Value::Number(number) if number.is_f64() => number.as_f64().unwrap().to_string(),
                other => other.to_string(),
            };
            assert_eq!(cell, expected, "{name}");
        }
    }
}

#[test]
fn formats_of_one_value_never_add_layers_up() {
    for format in ["folded", "pprof", "speedscope", "firefox"] {
        let run = highwater(["export", "demo:", "--format", format, "-o", "-"]);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{format}");
        assert!(run.err.contains("--layer") && run.err.lines().count() == 1, "{}", run.err);
    }
    // One heap is of one layer.
    assert!(!exported("folded", &["--heap", "PhysicsHeap", "--value", "allocated"]).is_empty());
}

#[test]
fn options_that_mean_nothing_to_a_format_are_refused() {
    for (format, option) in [("csv", "--value=peak"), ("json", "--value=count"), ("folded", "--by=stack"), ("pprof", "--top=3")] {
        let run = highwater(["export", "demo:", "--format", format, option, "-o", "-"]);
        assert_eq!(run.code, Some(2), "{format} {option}");
        assert!(run.err.contains(option.split('=').next().unwrap()), "{}", run.err);
    }
}

/// A generated trace without stacks.
fn without_stacks(folder: &Path) -> PathBuf {
    let path = folder.join("plain.etl");
    let words = ["heap", "-o", path.to_str().unwrap(), "--events", "2000", "--stacks", "none"];
    highwater_dev::command::synth(words).unwrap();
    path
}

#[test]
fn rows_without_a_stack_have_a_frame_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let trace = without_stacks(folder.path());
    let run = highwater(["export", trace.to_str().unwrap(), "--format", "folded", "-o", "-"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(!run.out.is_empty() && run.out.lines().all(|line| line.contains(";(no stack recorded) ")), "{}", run.out);
}

#[test]
fn folding_leaves_the_allocators_frames_out() {
    let words = ["--layer", "heap", "--process", "MemoryTestApp.exe"];
    let (all, folded) = (exported("folded", &words), exported("folded", &[&words[..], &["--fold"]].concat()));
    assert!(all.contains("operator new") && !folded.contains("operator new"), "{folded}");
    let sum = |text: &str| text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum::<u64>();
    assert_eq!(sum(&all), sum(&folded));
}

#[test]
fn nothing_at_all_is_a_heading_in_lists_and_no_file_of_stacks() {
    for (format, is_list) in
        [("csv", true), ("json", true), ("folded", false), ("pprof", false), ("speedscope", false), ("firefox", false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let words = ["export", "demo:", "--format", format, "--layer", "heap", "--size", "1..1", "-o", out.to_str().unwrap()];
        let run = highwater(words);
        // The demo has processor samples, which the Firefox Profiler shows as well.
        let is_written = is_list || format == "firefox";
        assert_eq!((run.code, out.is_file()), (Some(i32::from(!is_written)), is_written), "{format}: {}", run.err);
        assert_eq!(run.err.contains("no matching allocations"), format != "firefox", "{}", run.err);
    }
    // There are rows, but none of them has a number of this kind.
    let nothing = ["--layer", "heap", "--process", "MemoryTestApp.exe", "--freed", "..30", "--value", "outstanding"];
    let run = highwater(["export", "demo:", "--format", "folded", "-o", "-"].iter().chain(&nothing));
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", run.err);
    assert!(run.err.contains("--value outstanding") && run.err.contains("peak"), "{}", run.err);
}

/// A folder with a file from before.
fn with_old_file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.csv");
    std::fs::write(&out, "old").unwrap();
    (folder, out)
}

#[test]
fn an_export_that_fails_leaves_what_was_there() {
    let (folder, out) = with_old_file();
    let run = highwater(["export", "demo:", "--format", "folded", "--replace", "-o", out.to_str().unwrap()]);
    assert_eq!(run.code, Some(2), "several layers");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    let nowhere = folder.path().join("no such folder").join("out.csv");
    let run = highwater(["export", "demo:", "--format", "csv", "-o", nowhere.to_str().unwrap()]);
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("out.csv") && run.err.lines().count() == 1, "{}", run.err);
    let words = ["export", "demo:", "--format", "csv", "--quiet", "-o", out.to_str().unwrap()];
    let run = highwater(words);
    assert!(run.code == Some(2) && run.err.contains("is there already; --replace"), "{}", run.err);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "old");
    let run = highwater(words.into_iter().chain(["--replace"]));
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "", ""));
    assert!(std::fs::read_to_string(&out).unwrap().starts_with("process,pid,"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    for format in ["csv", "json", "folded", "pprof", "speedscope", "firefox"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let words = ["export", "demo:", "--layer", "heap", "--format", format, "-o", "-"];
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_highwater")).args(words).stdout(full).output().unwrap();
        assert_eq!(run.status.code(), Some(1), "{format}");
        assert!(String::from_utf8_lossy(&run.stderr).contains("could not be written"), "{format}");
    }
}
