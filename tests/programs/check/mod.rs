//! `highwater check`.

mod ci;
mod numbers;
mod output;
mod rules;

use std::fs;
use std::path::PathBuf;

use crate::common::trace::{session, trace};
use crate::common::{Run, highwater};
use highwater::events::{Event, ProcessChange, ProcessInfo, Record};
use highwater::units::{Layer, Pid, Tid};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with traces and rules.
struct Folder {
    folder: TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    fn check(&self, capture: &str, rules: &str, words: &[&str]) -> Run {
        let rules = self.write("rules.toml", rules);
        highwater(["check", capture, "--rules", &rules].iter().chain(words))
    }

    /// The JSON, and the exit code.
    fn checked(&self, capture: &str, rules: &str, words: &[&str]) -> (Value, Option<i32>) {
        let run = self.check(capture, rules, &[words, &["--json"]].concat());
        (serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{run:?}")), run.code)
    }
}

/// Two programs of one name, one of which comes back under its id; one leaves blocks behind.
fn namesakes() -> Vec<u8> {
    let mut records = Vec::new();
    let mut tell = |time: i64, pid: u32, event: Event| {
        records.push((Record { time: 1_000 + time, pid: Pid(pid), tid: Tid(2), event }, Vec::new()));
    };
    let info = |name: &str| Box::new(ProcessInfo { key: 0xA000, parent: 1, name: name.into(), command_line: String::new() });
    let alloc = |address, size| Event::Alloc { layer: Layer::Heap, heap: 0x1_0000, address, size };
    let free = |address| Event::Free { layer: Layer::Heap, heap: 0x1_0000, address };
    for pid in [10, 20] {
        tell(10, pid, Event::Process(ProcessChange::Start, info("Game.exe")));
        tell(11, pid, Event::HeapOpen { layer: Layer::Heap, heap: 0x1_0000, name: None });
    }
    for i in 0..3 {
        tell(100 + i, 10, alloc(0x1000 * (i as u64 + 1), 100));
    }
    tell(200, 20, alloc(0x1000, 1000));
    tell(300, 10, free(0x1000));
    tell(500, 10, Event::Process(ProcessChange::End, info("Game.exe")));
    tell(600, 10, Event::Process(ProcessChange::Start, info("Game.exe")));
    tell(601, 10, Event::HeapOpen { layer: Layer::Heap, heap: 0x1_0000, name: None });
    tell(610, 10, alloc(0x9000, 50));
    tell(650, 10, free(0x9000));
    tell(700, 10, Event::Process(ProcessChange::End, info("Game.exe")));
    trace(session(false), &records)
}

/// A trace whose names are meant to break what they are written into.
fn hostile_names() -> Vec<u8> {
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event| {
        records.push((Record { time: 1_000 + time, pid: Pid(10), tid: Tid(2), event }, Vec::new()));
    };
    let name = "Game\u{1b}[31m\n<b>&\"']]>.exe".to_owned();
    let info = Box::new(ProcessInfo { key: 0xA000, parent: 1, name, command_line: String::new() });
    tell(10, Event::Process(ProcessChange::Start, info));
    for (heap, name) in
        [(0x77, "a\u{1}]]><x>&amp;\"\n\u{fffe}|`@team"), (0x78, "b = \"x\"\n[[rule]]"), (0x79, "it's \\ \"quoted\"")]
    {
        tell(20, Event::HeapOpen { layer: Layer::Tracker, heap, name: Some(name.into()) });
        tell(30, Event::Alloc { layer: Layer::Tracker, heap, address: 0x1000, size: 4096 });
    }
    trace(session(false), &records)
}

/// A program with names that rules have to quote, and two trackers that are one to a rule.
fn quoted_names() -> Vec<u8> {
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event| {
        records.push((Record { time: 1_000 + time, pid: Pid(10), tid: Tid(2), event }, Vec::new()));
    };
    let info = ProcessInfo { key: 0xA000, parent: 1, name: "my \"game\" \\ it's.exe".to_owned(), command_line: String::new() };
    tell(10, Event::Process(ProcessChange::Start, Box::new(info)));
    let names = ["b = \"x\" [[rule]] # \\", "it's \\u0041 \"quoted\"", "Pool", "pool"];
    for (heap, name) in (0x77..).zip(names) {
        tell(20, Event::HeapOpen { layer: Layer::Tracker, heap, name: Some(name.into()) });
        tell(30, Event::Alloc { layer: Layer::Tracker, heap, address: 0x1000, size: 10 << 20 });
    }
    tell(9_000_000, Event::Free { layer: Layer::Tracker, heap: 0x77, address: 0x1000 });
    trace(session(false), &records)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap()
}
