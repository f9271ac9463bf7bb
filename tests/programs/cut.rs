//! `highwater cut`: a part of a trace as a trace of its own.

use std::path::{Path, PathBuf};

use crate::common::trace::{session, small, story, trace};
use crate::common::{corpus, highwater, json};
use highwater::events::{Event, ImageFile, ImageId, Record};
use highwater::units::{Pid, Tid};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a small trace.
struct Folder {
    _folder: TempDir,
    path: PathBuf,
    small: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let small = path.join("small.etl");
        std::fs::write(&small, self::small(false)).unwrap();
        Self { _folder: folder, path, small }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

fn cut(file: &Path, words: &[&str], out: &Path) -> crate::common::Run {
    let run = highwater(["cut", file.to_str().unwrap(), "--replace", "-o", out.to_str().unwrap()].iter().chain(words));
    assert_eq!(run.code, Some(0), "{}", run.err);
    run
}

/// The groups of a report on an interval; names and numbers, nothing else.
fn groups(file: &Path, from: &str, to: &str, by: &str) -> Value {
    let report = json(["report", "--json", file.to_str().unwrap(), "--from", from, "--to", to, "--by", by]);
    report["groups"].clone()
}

const BY: &str = "process,heap,stack,thread,type";

#[test]
fn the_numbers_of_the_interval_are_those_of_the_whole_trace() {
    let folder = Folder::new();
    let out = folder.file("part.etl");
    for [from, to] in [["5", "6"], ["-2", "-1"]] {
        let file = folder.small.to_str().unwrap();
        let run = highwater(["cut", file, "-o", out.to_str().unwrap(), "--from", from, "--to", to]);
        assert!(run.code == Some(2) && !out.exists(), "nothing is known of that time: {run:?}");
    }
    for [from, to] in [["0", "1"], ["0.00004", "0.00009"], ["0.00007", "0.00007"]] {
        let run = cut(&folder.small, &["--from", from, "--to", to], &out);
        assert!(run.err.contains("events") && run.out.is_empty(), "{run:?}");
        assert_eq!(groups(&out, from, to, BY), groups(&folder.small, from, to, BY), "{from} to {to}");
        let info = json(["info", "--json", out.to_str().unwrap()]);
        let is_damage = |problem: &Value| problem["kind"] != "no_memory_events";
        assert!(!info["problems"].as_array().unwrap().iter().any(is_damage), "{info}");
        let whole = json(["info", "--json", folder.small.to_str().unwrap()]);
        assert_eq!(info["files"][0]["start_utc"], whole["files"][0]["start_utc"]);
        assert_eq!(info["files"][0]["logger"], whole["files"][0]["logger"]);
    }
}

#[test]
fn no_other_file_is_lost_by_a_draft_and_nothing_is_printed() {
    let folder = Folder::new();
    // What was once the name of a draft.
    let whole = folder.file("part.etl.new");
    std::fs::copy(&folder.small, &whole).unwrap();
    let out = folder.file("part.etl");
    cut(&whole, &["--from", "0.00004", "--to", "0.00009"], &out);
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&folder.small).unwrap());
    assert_eq!(groups(&out, "0.00004", "0.00009", BY), groups(&folder.small, "0.00004", "0.00009", BY));
    let run = highwater(["cut", "demo:", "-o", "-"]);
    assert!(run.code == Some(2) && run.out.is_empty() && !Path::new("-").exists(), "{run:?}");
    let run = highwater(["export", whole.to_str().unwrap(), "--format", "csv", "-o", whole.to_str().unwrap()]);
    assert!(run.code == Some(2) && run.err.contains("this file is read"), "{run:?}");
}

#[test]
fn of_a_trace_that_does_not_fit_the_part_goes_on_to_its_end() {
    let folder = Folder::new();
    let whole = folder.file("large.etl");
    let words = ["heap", "--events", "300000", "-o", whole.to_str().unwrap()];
    highwater_dev::command::synth(words).unwrap();
    let little = &["--memory-limit", "4"];
    let report = |file: &Path, words: &[&str]| json(["report", "--json", file.to_str().unwrap()].iter().chain(words));
    let known = report(&whole, little);
    assert!(known["interval"]["to_s"].as_f64() < report(&whole, &[])["interval"]["to_s"].as_f64(), "it does not fit");
    let out = folder.file("part.etl");
    cut(&whole, &[&["--from", "0"][..], little].concat(), &out);
    assert_eq!(report(&out, &["--by", BY])["groups"], report(&whole, &["--by", BY])["groups"]);
    let late = report(&whole, &[])["interval"]["to_s"].to_string();
    let words =
        ["cut", whole.to_str().unwrap(), "--from", &late, "--memory-limit", "4", "--replace", "-o", out.to_str().unwrap()];
    let run = highwater(words);
    assert!(run.code == Some(1) && run.err.contains("later than what could be loaded"), "{run:?}");
}

#[test]
fn the_demo_is_cut_and_gets_smaller() {
    let folder = Folder::new();
    let (out, again) = (folder.file("part.etl"), folder.file("again.etl"));
    cut(Path::new("demo:"), &["--from", "10", "--to", "12"], &out);
    let whole = json(["info", "--json", "demo:"])["files"][0]["bytes"].as_u64().unwrap();
    assert!(std::fs::metadata(&out).unwrap().len() < whole / 2);
    assert_eq!(groups(&out, "10", "12", BY), groups(Path::new("demo:"), "10", "12", BY));
    cut(&out, &["--from", "10.5", "--to", "11"], &again);
    assert_eq!(groups(&again, "10.5", "11", BY), groups(Path::new("demo:"), "10.5", "11", BY));
}

#[test]
fn of_other_processes_there_is_no_memory_but_names() {
    let folder = Folder::new();
    let whole = folder.file("heap.etl");
    let words = ["heap", "--events", "4000", "--processes", "3", "--stacks", "keys", "-o", whole.to_str().unwrap()];
    highwater_dev::command::synth(words).unwrap();
    let all = groups(&whole, "0", "1000", "process");
    let pid = all[1]["pid"].to_string();
    let out = folder.file("part.etl");
    cut(&whole, &["--from", "0.001", "--to", "1000", "--process", &pid], &out);
    let report = |file: &Path, words: &[&str]| {
        let to = ["report", "--json", file.to_str().unwrap(), "--from", "0.001", "--to", "1000", "--by", BY];
        json(to.iter().chain(words))["groups"].clone()
    };
    assert_eq!(report(&out, &[]), report(&whole, &["--process", &pid]));
    let left = groups(&out, "0", "1000", "process");
    assert_eq!(left.as_array().unwrap().len(), 1);
}

/// Every name that a trace can tell.
fn secrets() -> Vec<(Record, Vec<u64>)> {
    let mut records = story();
    let told = |event| (Record { time: 1_012, pid: Pid(4660), tid: Tid(2), event }, Vec::new());
    let pdb = r"D:\Secretbuild\Game.pdb".to_owned();
    let id = ImageId { base: 0x7FF7_0000_0000, guid: highwater::etl::Guid::new(1, 2, 3, [4; 8]), age: 5, pdb };
    let file = ImageFile { base: 0x7FF7_0000_0000, size: 0x10_0000, time_stamp: 7, name: "Game.exe".to_owned() };
    let volume = (r"\Device\Secretvolume\".to_owned(), r"Q:\".to_owned());
    records.splice(
        2..2,
        [
            told(Event::ImageFile(Box::new(file))),
            told(Event::ImageId(Box::new(id))),
            told(Event::Volume(Box::new(volume))),
            told(Event::ThreadName("Secretthread".into())),
        ],
    );
    records
}

#[test]
fn with_other_names_no_name_is_left_and_the_same_name_stays_the_same() {
    let folder = Folder::new();
    let whole = folder.file("secret.etl");
    let mut session = session(false);
    session.logger = "Secretsession".to_owned();
    std::fs::write(&whole, trace(session, &secrets())).unwrap();
    let out = folder.file("part.etl");
    cut(&whole, &["--from", "0", "--to", "0.0001", "--anonymise"], &out);
    let bytes = std::fs::read(&out).unwrap().to_ascii_lowercase();
    for name in ["game", "-fast", "volume1", "secret", "physics"] {
        let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for name in [name.as_bytes(), &wide] {
            assert!(!bytes.windows(name.len()).any(|part| part == name), "{name:?}");
        }
    }
    let of = groups(&out, "0", "0.0001", "process,stack");
    assert!(of.to_string().contains("program-1.exe!+0x1000"), "{of}");
    assert_eq!(of[0]["process"], "program-1.exe");
    assert!(groups(&out, "0", "0.0001", "heap").to_string().contains("tracker-1"));
    let text: Vec<u8> = b"program-1.pdb".to_vec();
    assert!(bytes.windows(text.len()).any(|part| part == text), "the PDB is called after its program");
    let numbers = |file: &Path| {
        let mut sizes: Vec<String> =
            groups(file, "0", "0.0001", "heap,thread").as_array().unwrap().iter().map(|g| g["size"].to_string()).collect();
        sizes.sort();
        sizes
    };
    assert_eq!(numbers(&out), numbers(&whole));
}

#[test]
fn quiet_says_nothing_and_bad_words_are_refused() {
    let folder = Folder::new();
    let out = folder.file("part.etl");
    let run = cut(&folder.small, &["--from", "0", "--to", "1", "--quiet"], &out);
    assert_eq!((run.out.as_str(), run.err.as_str()), ("", ""));
    let words = |file: &Path, out: &Path, from: &str, to: &str| {
        let words = ["cut", file.to_str().unwrap(), "--from", from, "--to", to, "-o", out.to_str().unwrap()];
        highwater(words)
    };
    let before = std::fs::read(&folder.small).unwrap();
    let run = words(&folder.small, &folder.small, "0", "1");
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert_eq!(std::fs::read(&folder.small).unwrap(), before, "what is read stays");
    assert_eq!(words(&folder.small, &out, "2", "1").code, Some(2));
    assert_eq!(words(&folder.file("none.etl"), &folder.file("other.etl"), "0", "1").code, Some(1));
    let nowhere = folder.file("no").join("such").join("part.etl");
    let run = words(&folder.small, &nowhere, "0", "0.0001");
    assert_eq!((run.code, run.err.lines().count()), (Some(1), 1), "{}", run.err);
}

#[test]
fn real_traces_are_cut_and_read() {
    let Some(corpus) = corpus() else { return };
    let folder = Folder::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(corpus).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "etl"));
    files.sort();
    for (i, file) in files.iter().enumerate() {
        let out = folder.file(&format!("{i}.etl"));
        let report = highwater(["report", file.to_str().unwrap(), "--from", "0.5", "--to", "2"]);
        if report.code == Some(2) && report.err.contains("the end of the trace") {
            continue; // it ends before that
        }
        for anonymise in [&["--anonymise"][..], &[]] {
            cut(file, &[&["--from", "0.5", "--to", "2", "--quiet"], anonymise].concat(), &out);
            let problems = json(["info", "--json", out.to_str().unwrap()])["problems"].clone();
            let is_damage = |problem: &Value| !["no_memory_events", "short_payload"].contains(&problem["kind"].as_str().unwrap());
            assert!(!problems.as_array().unwrap().iter().any(is_damage), "{}: {problems}", file.display());
        }
        let whole = groups(file, "0.5", "2", BY);
        let part = highwater(["report", out.to_str().unwrap(), "--from", "0.5", "--to", "2"]);
        if part.code == Some(2) && part.err.contains("the end of the trace") {
            assert_eq!(whole, Value::Array(Vec::new()), "{}: nothing happened that a part could have", file.display());
            continue;
        }
        assert_eq!(groups(&out, "0.5", "2", BY), whole, "{}", file.display());
    }
}
