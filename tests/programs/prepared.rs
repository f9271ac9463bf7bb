//! Prepared traces from the command line: the same answers, byte for byte, and nothing kept unless that is asked for.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::game::game;
use crate::common::trace::small;
use crate::common::{Run, corpus};
use highwater::load::DEMO_TRACE;

struct Account {
    folder: tempfile::TempDir,
}

impl Account {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn run(&self, prepared: Option<&str>, words: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
        command.args(words).env("HIGHWATER_CACHE_DIR", self.cache()).env_remove("HIGHWATER_PREPARED");
        prepared.into_iter().for_each(|how| _ = command.env("HIGHWATER_PREPARED", how));
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn kept(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.cache().join("traces")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// Traces that were generated, and those of the corpus.
fn traces(folder: &Path) -> Vec<PathBuf> {
    let generated = [("demo.etl", DEMO_TRACE.to_vec()), ("game.etl", game()), ("small.etl", small(true))];
    let mut all: Vec<PathBuf> = Vec::new();
    for (name, bytes) in generated {
        all.push(folder.join(name));
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let real = corpus().map(|folder| std::fs::read_dir(folder).unwrap());
    let real = real.into_iter().flatten().map(|entry| entry.unwrap().path());
    all.extend(real.filter(|path| path.extension().is_some_and(|extension| extension == "etl")));
    all
}

const COMMANDS: [&[&str]; 8] = [
    &["report", "--json", "--by", "process,heap,stack,thread,responsible"],
    &["report", "--unmatched"],
    &["findings", "--json"],
    &["functions", "--json"],
    &["pages", "--json"],
    &["marks", "--json"],
    &["processors", "--json"],
    &["export", "--format", "csv", "-o", "-"],
];

#[test]
fn every_answer_from_a_prepared_trace_is_that_of_its_files() {
    let account = Account::new();
    for trace in traces(account.folder.path()) {
        let file = trace.to_str().unwrap();
        let all = |how: Option<&str>| COMMANDS.map(|words| account.run(how, &[words, &[file]].concat()));
        let before = account.kept().len();
        let fresh = all(Some("off"));
        assert_eq!(account.kept().len(), before, "nothing is kept");
        let keeping = account.run(Some("keep"), &["report", "--json", file]);
        assert_eq!(keeping.code, Some(0), "{}", keeping.err);
        assert_eq!(account.kept().len(), before + 1, "{file}: {}", keeping.err);
        // Small files are read anew unless all are kept.
        for (again, fresh) in all(Some("keep")).iter().zip(&fresh) {
            assert_eq!((again.code, &again.out), (fresh.code, &fresh.out), "{file}");
            assert_eq!(again.err, fresh.err, "{file}");
        }
        assert_eq!(account.kept().len(), before + 1);
    }
}

#[test]
fn nothing_is_kept_unless_it_is_asked_for() {
    let account = Account::new();
    let file = account.folder.path().join("demo.etl");
    std::fs::write(&file, DEMO_TRACE).unwrap();
    let file = file.to_str().unwrap();
    for how in [None, Some("read"), Some("off"), Some("")] {
        assert_eq!(account.run(how, &["report", file]).code, Some(0));
        assert!(account.kept().is_empty(), "{how:?}");
    }
    let wrong = account.run(Some("always"), &["report", file]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("HIGHWATER_PREPARED: expected off, read or keep"), "{}", wrong.err);
}
