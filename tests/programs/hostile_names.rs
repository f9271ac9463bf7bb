//! Names that would write to the terminal, or that a spreadsheet would compute: no answer for people and no table has
//! them as they are. Long ones are cut where they are read.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::hostile_names::{ESCAPES, INJECTED, METHOD, MODULE, PID, all_called};
use crate::common::{highwater, json, skip};

/// A trace in a folder of its own; where the system has such names for files, it is called as hostile as what is in it.
struct Hostile {
    folder: TempDir,
    trace: PathBuf,
}

impl Hostile {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join(if cfg!(windows) { "trace.etl" } else { "t\u{1b}[31m\r\nINJECTED\u{9b}\u{202e}.etl" });
        std::fs::write(&trace, all_called(name, 40)).unwrap();
        Self { folder, trace }
    }

    fn word(&self) -> &str {
        self.trace.to_str().unwrap()
    }
}

/// The generated input of that name beside the repository; `None`, and a word about it, where it is missing.
fn case(name: &str) -> Option<String> {
    let path = std::path::absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases").join(name)).unwrap();
    if path.is_file() {
        return Some(path.to_str().unwrap().to_owned());
    }
    skip("no cases");
    None
}

/// Whether a terminal only shows a letter, and a line goes on behind it.
fn is_shown(c: char) -> bool {
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !(c.is_control() || breaks || turns)
}

/// What is wrong with a text for people.
fn faults(text: &str) -> Option<String> {
    let raw = text.chars().find(|&c| c != '\n' && !is_shown(c)).map(|c| format!("{c:?} is raw"));
    let broken =
        text.lines().any(|line| line.trim_start().starts_with(INJECTED)).then(|| "a name has a line of its own".to_owned());
    raw.or(broken)
}

/// Runs a command for people; nothing of what it says may be obeyed.
fn told(words: &[&str], codes: &[i32]) -> String {
    let run = highwater(words);
    assert!(run.code.is_some_and(|code| codes.contains(&code)), "{words:?}: {run:?}");
    for text in [&run.out, &run.err] {
        if let Some(fault) = faults(text) {
            panic!("{words:?}: {fault}: {text:?}");
        }
    }
    run.out + &run.err
}

/// Every command that answers in text, on a trace.
fn all_commands(trace: &str, rules: &str, out: &str) -> Vec<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let method = format!("{:#x}@0.0003", METHOD + 16);
    let image = format!("{:#x}@0.0003", MODULE + 0x1010);
    vec![
        words(&["report", trace, "--by", "process,heap,stack"]),
        words(&["report", trace, "--by", "process,function,module,type,tag,thread"]),
        words(&["functions", trace]),
        words(&["findings", trace]),
        words(&["marks", trace]),
        words(&["frames", trace]),
        words(&["processors", trace, "--by", "function"]),
        words(&["processors", trace, "--by", "stack"]),
        words(&[
            "diff",
            &format!("{trace}@..0.0002"),
            &format!("{trace}@0.0002.."),
            "--by",
            "process,heap,stack",
            "--fail-over",
            "1",
        ]),
        words(&["diff", &format!("{trace}@..0.0002"), &format!("{trace}@0.0002.."), "--markdown", "--by", "process,stack"]),
        words(&["info", trace]),
        words(&["symbols", "check", trace]),
        words(&["symbols", "lookup", trace, "--pid", &PID.to_string(), &method, &image]),
        words(&["check", trace, "--rules", rules]),
        words(&["check", trace, "--init"]),
        words(&["report", trace, "--from", "mark:none"]),
        words(&["cut", trace, "--from", "0.0001", "--to", "0.0003", "-o", out]),
    ]
}

fn check_all(trace: &str, folder: &Path) -> Vec<String> {
    let rules = folder.join("limits.toml");
    std::fs::write(&rules, "[[rule]]\nname = \"small\"\nby = [\"process\", \"heap\", \"stack\"]\npeak = 1\n").unwrap();
    let out = folder.join("part.etl");
    let commands = all_commands(trace, rules.to_str().unwrap(), out.to_str().unwrap());
    let run = |words: Vec<String>| told(&words.iter().map(String::as_str).collect::<Vec<_>>(), &[0, 2, 3]);
    commands.into_iter().map(run).collect()
}

#[test]
fn nothing_that_a_trace_or_a_file_is_called_writes_to_the_terminal() {
    let hostile = Hostile::new(ESCAPES);
    let told = check_all(hostile.word(), hostile.folder.path());
    // What is shown has the names, or nothing was tested.
    let with_names = told.iter().filter(|text| text.contains("\u{fffd}[2J") || text.contains("&#91;2J")).count();
    assert!(with_names >= 12, "{with_names}");
    // The lines of the caller and callee of one function are sentences, too.
    let functions = json(["functions", "--json", hostile.word(), "--top", "1"]);
    let name = functions["functions"][0]["function"].as_str().unwrap();
    assert!(name.contains('\u{1b}') && name.contains('\u{202e}'), "JSON keeps names as they are: {name:?}");
    assert!(self::told(&["functions", hostile.word(), "--of", name], &[0]).contains("Callers of"), "{name:?}");
}

#[test]
fn a_case_with_escapes_in_its_names_is_only_shown() {
    let Some(case) = case("hostile-escapes.zip") else { return };
    let folder = tempfile::tempdir().unwrap();
    check_all(&case, folder.path());
}

/// What is wrong with a table for spreadsheets.
fn csv_faults(text: &str) -> Option<String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    for record in reader.records().map(Result::unwrap) {
        for cell in &record {
            let computed = cell.starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
            if (computed && cell.parse::<f64>().is_err()) || !cell.chars().all(is_shown) {
                return Some(format!("{cell:?}"));
            }
        }
    }
    None
}

fn tables(trace: &str, out: &Path) -> Vec<String> {
    let out = out.to_str().unwrap();
    let by = "process,heap,stack,function,module";
    let file = highwater(["export", trace, "--format", "csv", "-o", out, "--by", by]);
    assert_eq!(file.code, Some(0), "{}", file.err);
    let marks = highwater(["marks", trace, "--csv"]).out;
    let frames = highwater(["frames", trace, "--csv"]).out;
    vec![std::fs::read_to_string(out).unwrap(), marks, frames]
}

#[test]
fn no_cell_of_a_table_is_computed_or_has_control_characters() {
    let starts = ["=", "+", "-", "@", "\u{ff1d}", "\u{ff0b}", "\u{ff0d}", "\u{ff20}", "\n=", "\r+", "\t@", "\n", "\u{1b}=", " ="];
    for start in starts {
        let hostile = Hostile::new(&format!("{start}cmd|' /C calc'!A0;=1,\"\u{9b}\u{202e}"));
        for table in tables(hostile.word(), &hostile.folder.path().join("table.csv")) {
            assert_eq!(csv_faults(&table), None, "{start:?}: {table}");
            assert!(table.contains("cmd|' /C calc'!A0"), "{start:?}: names are there: {table}");
        }
    }
}

#[test]
fn a_case_with_formulas_for_names_is_text() {
    let Some(case) = case("hostile-csv-names.zip") else { return };
    let folder = tempfile::tempdir().unwrap();
    for table in tables(&case, &folder.path().join("table.csv")) {
        assert_eq!(csv_faults(&table), None, "{table}");
    }
}

/// The longest text anywhere in JSON.
fn longest(value: &Value) -> usize {
    match value {
        Value::String(text) => text.encode_utf16().count(),
        Value::Array(list) => list.iter().map(longest).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(longest).max().unwrap_or(0),
        _ => 0,
    }
}

#[test]
fn names_are_no_longer_than_windows_has_them() {
    let hostile = Hostile::new(&"n".repeat(30_000));
    let trace = hostile.word();
    for words in [
        &["report", "--json", trace, "--by", "process,heap,stack,function,module"][..],
        &["functions", "--json", trace],
        &["findings", "--json", trace],
        &["marks", "--json", trace],
        &["frames", "--json", trace],
        &["processors", "--json", trace, "--by", "stack"],
        &["diff", "--json", trace, trace, "--by", "process,heap,stack"],
    ] {
        let (answer, most) = (json(words), 2_000);
        assert!((200..most).contains(&longest(&answer)), "{words:?}: {}", longest(&answer));
    }
    let report = json(["report", "--json", trace, "--by", "process,heap,stack"]);
    let group = &report["groups"][0];
    assert_eq!(group["process"].as_str().unwrap().len(), 255);
    let module = group["stack"][0].as_str().unwrap().split('!').next().unwrap().len();
    assert_eq!(module, 255, "the name of a file");
    let trackers = report["groups"].as_array().unwrap().iter().filter(|group| group["layer"] == "tracker");
    assert!(trackers.clone().count() > 0 && trackers.clone().all(|group| group["heap"].as_str().unwrap().len() == 255));
}

#[test]
fn a_long_name_under_many_stacks_makes_no_long_answer() {
    let Some(case) = case("hostile-long-module.zip") else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("profile.json");
    let report = highwater(["report", &case, "--by", "stack", "--json"]);
    assert!(report.code == Some(0) && report.out.len() < 100 << 20, "{} bytes", report.out.len());
    let run = highwater(["export", &case, "--format", "firefox", "-o", out.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let bytes = std::fs::metadata(&out).unwrap().len();
    assert!(bytes < 100 << 20, "{bytes} bytes");
}

#[test]
fn a_part_that_was_cut_out_has_the_means_of_the_whole_a_frame() {
    let Some(case) = case("frames-two-chains.zip") else { return };
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("part.etl");
    let means = |file: &str, from: f64, to: f64| {
        let (from, to) = (from.to_string(), to.to_string());
        let report = json(["report", "--json", file, "--by", "process", "--from", &from, "--to", &to]);
        let groups = report["groups"].as_array().unwrap().clone();
        groups.iter().map(|group| group["allocated_count_per_frame"].as_f64()).collect::<Vec<_>>()
    };
    let whole = json(["report", "--json", &case])["interval"].clone();
    let (begin, end) = (whole["from_s"].as_f64().unwrap(), whole["to_s"].as_f64().unwrap());
    let at = |tenth: i32| begin + (end - begin) * f64::from(tenth) / 10.0;
    let mut met = 0;
    for (from, to) in (0..10).flat_map(|from| (from + 1..=10).map(move |to| (from, to))) {
        let _ = std::fs::remove_file(&part);
        let (from, to) = (format!("{:.7}", at(from)), format!("{:.7}", at(to)));
        let run = highwater(["cut", &case, "--from", &from, "--to", &to, "-o", part.to_str().unwrap()]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
        let [whole, part] = [case.as_str(), part.to_str().unwrap()].map(|file| means(file, from, to));
        assert_eq!(whole, part, "{from} to {to}");
        met += whole.iter().filter(|mean| mean.is_some()).count();
    }
    assert!(met > 0, "no frames at all");
}
