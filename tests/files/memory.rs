//! What `--memory-limit` holds for: everything that a trace can be full of, and what answers need. Linux tells what a program
//! used at most while it runs; elsewhere there is nothing to measure with.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "the numbers of a run are worth reading")]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::common::hostile_names::{Full, full_of, many_stacks};

const LIMIT: u64 = 64 << 20;

/// The limit and a quarter, and what a program can take between two looks of whoever watches.
const MOST: u64 = LIMIT + LIMIT / 4 + (24 << 20);

/// How a command ended.
struct Ended {
    code: Option<i32>,
    err: String,
    /// Bytes that it used at most.
    peak: u64,
}

/// Runs the program and looks at what it uses.
fn run(words: &[&str]) -> Ended {
    let mut program = Command::new(env!("CARGO_BIN_EXE_highwater"));
    let mut child = program.args(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let told = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = told.and_then(|told| told.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) << 10);
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    Ended { code: ended.code(), err, peak }
}

struct Written {
    folder: TempDir,
    trace: PathBuf,
}

impl Written {
    fn new(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("full.etl");
        std::fs::write(&trace, bytes).unwrap();
        Self { folder, trace }
    }

    /// A command stays within the limit, or says that it cannot and leaves nothing behind.
    fn check(&self, command: &[&str]) -> Ended {
        let trace = self.trace.to_str().unwrap();
        let words: Vec<&str> = command.iter().map(|&word| if word == "TRACE" { trace } else { word }).collect();
        let ended = run(&[&words[..], &["--memory-limit", "64"]].concat());
        println!("{command:?}: {:?}, {} MB, {}", ended.code, ended.peak >> 20, ended.err.chars().take(200).collect::<String>());
        assert!(ended.peak <= MOST, "{command:?}: {} MB", ended.peak >> 20);
        match ended.code {
            Some(0) => {}
            Some(1) => {
                assert!(ended.err.lines().count() <= 3 && ended.err.contains("--memory-limit"), "{command:?}: {}", ended.err);
            }
            _ => panic!("{command:?}: {:?}: {}", ended.code, ended.err),
        }
        let drafts = |path: &Path| path.extension().is_some_and(|extension| extension == "new");
        let left = std::fs::read_dir(self.folder.path()).unwrap().filter(|entry| drafts(&entry.as_ref().unwrap().path())).count();
        assert_eq!(left, 0, "{command:?} leaves a draft");
        ended
    }
}

#[test]
fn what_a_trace_is_full_of_beside_memory_counts() {
    for (kind, count, letters) in [
        (Full::Threads, 150_000, 250),
        (Full::Modules, 20_000, 1_000),
        (Full::Volumes, 60_000, 1_000),
        (Full::Processes, 2_200, 25_000),
        (Full::Trackers, 90_000, 250),
    ] {
        let written = Written::new(&full_of(kind, count, letters));
        println!("{kind:?}: {} MB", std::fs::metadata(&written.trace).unwrap().len() >> 20);
        let ended = written.check(&["report", "TRACE"]);
        assert!(ended.code == Some(1) || ended.err.contains("was reached"), "{kind:?}: {}", ended.err);
        written.check(&["info", "TRACE"]);
    }
}

#[test]
fn what_answers_need_counts() {
    let written = Written::new(&many_stacks(40_000, 60));
    let out = written.folder.path().join("out");
    let out = out.to_str().unwrap();
    let codes: Vec<Option<i32>> = [
        &["report", "TRACE"][..],
        &["report", "TRACE", "--by", "process,stack"],
        &["report", "TRACE", "--by", "process,stack", "--json"],
        &["functions", "TRACE"],
        &["functions", "TRACE", "--json"],
        &["findings", "TRACE"],
        &["diff", "TRACE", "TRACE", "--by", "process,stack"],
        &["export", "TRACE", "--format", "pprof", "-o", out],
        &["export", "TRACE", "--format", "firefox", "-o", out],
        &["export", "TRACE", "--format", "csv", "--by", "stack", "-o", out],
    ]
    .into_iter()
    .map(|command| {
        let _ = std::fs::remove_file(out);
        written.check(command).code
    })
    .collect();
    assert!(codes.contains(&Some(1)), "nothing was too much: {codes:?}");
}
