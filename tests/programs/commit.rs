//! What committed memory is for, as a report says it.

use std::fs;
use std::path::Path;

use highwater::etl::{SessionHeader, write::Writer};
use highwater::events::{
    CounterEvent, Event, PageRange, ProcessChange, ProcessInfo, ProcessMemory, Record, encode::RecordWriter, mem,
};
use highwater::units::{Pid, Tid};
use serde_json::Value;

use crate::common::{highwater, json};

/// The number of an entry.
fn number(entry: &Value, key: &str) -> u64 {
    entry[key].as_u64().unwrap()
}

#[test]
fn the_parts_add_up_to_the_commit_of_the_report() {
    for to in ["12", "30"] {
        let report = json(["report", "demo:", "--to", to, "--by", "process", "--with", "commit", "--json"]);
        let groups = report["groups"].as_array().unwrap();
        let commit = report["commit"].as_array().unwrap();
        assert!(!commit.is_empty());
        for entry in commit {
            let is_it = |group: &&Value| ["process", "pid", "process_start_s"].iter().all(|key| group[key] == entry[key]);
            let group = groups.iter().filter(is_it).find(|group| group["layer"] == "commit").unwrap();
            assert_eq!(number(entry, "known_bytes"), number(group, "outstanding_to"), "{entry}");
            let sum: u64 = entry["parts"].as_array().unwrap().iter().map(|part| number(part, "bytes")).sum();
            assert_eq!(number(entry, "known_bytes"), sum, "{entry}");
            assert_eq!(entry["at_s"], report["interval"]["to_s"]);
        }
        let alive = groups.iter().filter(|group| group["layer"] == "commit" && number(group, "outstanding_to") > 0).count();
        assert_eq!(commit.len(), alive);
    }
}

#[test]
fn the_text_says_it_when_it_is_asked() {
    let asked = highwater(["report", "demo:", "--process", "MemoryTestApp.exe", "--to", "30", "--with", "commit"]).out;
    assert!(asked.contains("\nCommit\nMemoryTestApp.exe") && asked.contains(" at 30 s. Known: "), "{asked}");
    let usual = highwater(["report", "demo:", "--to", "30"]).out;
    assert!(!usual.contains("Known: "), "{usual}");
}

/// A trace of a program that committed 1 MB, 3 MB by the commit charge that Windows sampled.
fn counted(path: &Path) {
    let mut w = RecordWriter::new(Writer::new(fs::File::create(path).unwrap(), SessionHeader::default()).unwrap());
    let pid = Pid(7);
    let mut put = |milliseconds: i64, event| {
        w.put(0, &Record { time: milliseconds * 10_000, pid, tid: Tid(8), event }, &[]).unwrap();
    };
    let info = ProcessInfo { key: 7, parent: 1, name: "game.exe".to_owned(), command_line: String::new() };
    put(0, Event::Process(ProcessChange::Rundown, Box::new(info)));
    let flags = mem::COMMIT | mem::RESERVE;
    put(10, Event::VirtualAlloc(PageRange { base: 0x100_0000, size: 1 << 20, owner: pid, flags }));
    let memory = ProcessMemory { pid, working_set: 0, commit: (3 << 20) / 4096, virtual_size: 0, private_working_set: 0 };
    put(20, Event::Counter(Box::new(CounterEvent::Chosen(vec![memory]))));
    w.finish().unwrap();
}

#[test]
fn mapped_views_are_said_beside_the_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mapped.etl");
    fs::write(&path, crate::common::trace::mapped()).unwrap();
    let file = path.to_str().unwrap();
    let text = highwater(["report", file, "--to", "0.0018", "--with", "commit"]).out;
    assert!(text.contains("Not in the total: 7.00 MB in 3 views of mapped files and shared memory."), "{text}");
    for (to, expected) in
        [("0.00025", (1, 4 << 20)), ("0.00035", (2, 5 << 20)), ("0.00045", (3, 14 << 20)), ("0.0018", (3, 7 << 20))]
    {
        let commit = json(["report", file, "--to", to, "--with", "commit", "--json"])["commit"][0].clone();
        let mapped = &commit["mapped"];
        assert_eq!((number(mapped, "views"), number(mapped, "bytes")), expected, "{to}: {commit}");
        let sum: u64 = commit["parts"].as_array().unwrap().iter().map(|part| number(part, "bytes")).sum();
        assert_eq!(number(&commit, "known_bytes"), sum, "the parts add up without them");
    }
    let without = json(["report", "demo:", "--with", "commit", "--json"]);
    assert!(without["commit"][0].get("mapped").is_none());
}

#[test]
fn what_is_not_known_of_the_commit_charge_can_be_limited() {
    let folder = tempfile::tempdir().unwrap();
    let (file, rules) = (folder.path().join("counted.etl"), folder.path().join("rules.toml"));
    counted(&file);
    let (file, rules_file) = (file.to_str().unwrap(), rules.to_str().unwrap());
    let text = highwater(["report", file, "--with", "commit"]).out;
    assert!(text.contains("Known: 1 MB of 3 MB (33 %)"), "{text}");
    assert!(text.contains("untagged"), "{text}");
    for (limit, code) in [("2M", 0), ("1.9M", 3)] {
        fs::write(&rules, format!("[[rule]]\nprocess = \"game.exe\"\nunknown = \"{limit}\"\n")).unwrap();
        let run = highwater(["check", file, "--rules", rules_file]);
        assert_eq!(run.code, Some(code), "{run:?}");
    }
}
