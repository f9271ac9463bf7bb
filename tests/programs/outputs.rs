//! What commands write: never over a file that is read, however it is named, and over another only if that is said.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::lanes::{deliver, take_apart};
use crate::common::trace::small;
use crate::common::{Run, highwater};
use highwater::capture::Recording;
use tempfile::TempDir;

/// A folder with a trace that has other names, too, and files of rules.
struct Folder {
    folder: TempDir,
    /// What leads to the trace.
    names: Vec<PathBuf>,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("game.etl"), small(false)).unwrap();
        fs::write(path("rules.toml"), "[[rule]]\npeak = \"1G\"\n").unwrap();
        fs::write(path("stacks.toml"), "").unwrap();
        fs::hard_link(path("game.etl"), path("hard.etl")).unwrap();
        fs::create_dir(path("sub")).unwrap();
        let mut names = vec![path("game.etl"), path("hard.etl"), path("sub/../game.etl")];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("game.etl"), path("soft.etl")).unwrap();
            names.push(path("soft.etl"));
        }
        if cfg!(windows) {
            names.push(path("GAME.ETL"));
        }
        Self { folder, names }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, words: &[&str], out: &Path) -> Run {
        let out = out.to_str().unwrap();
        let word = |word: &&str| match *word {
            "OUT" => out.to_owned(),
            name if name.ends_with(".etl") || name.ends_with(".toml") => self.path(name).to_str().unwrap().to_owned(),
            other => other.to_owned(),
        };
        highwater(words.iter().map(word))
    }

    /// All files that can be lost.
    fn texts(&self) -> Vec<Vec<u8>> {
        let read = |name: &PathBuf| fs::read(name).unwrap();
        self.names.iter().chain(&[self.path("rules.toml"), self.path("stacks.toml")]).map(read).collect()
    }

    fn count(&self) -> usize {
        fs::read_dir(self.folder.path()).unwrap().count()
    }
}

#[test]
fn a_file_that_is_read_is_never_written_over_whatever_is_given() {
    let folder = Folder::new();
    let (before, count) = (folder.texts(), folder.count());
    for out in &folder.names {
        for words in [
            &["export", "game.etl", "--format", "csv", "--replace", "-o", "OUT"][..],
            &["export", "game.etl", "--format", "pprof", "--layer", "heap", "--replace", "-o", "OUT"],
            &["export", "demo:", "game.etl", "--format", "csv", "--replace", "-o", "OUT"],
            &["cut", "game.etl", "--from", "0", "--replace", "-o", "OUT"],
            &["check", "game.etl", "--rules", "rules.toml", "--junit", "OUT"],
            &["check", "game.etl", "--init", "--force", "-o", "OUT"],
            &["check", "game.etl", "--init", "--force", "--rules", "OUT"],
            &["game.etl", "--screenshot", "OUT", "--replace"],
        ] {
            let run = folder.run(words, out);
            assert!(run.code == Some(2) && run.err.contains("this file is read"), "{words:?} to {}: {run:?}", out.display());
        }
    }
    // What a command is given besides is read, too.
    for (words, out) in [
        (&["check", "game.etl", "--rules", "rules.toml", "--junit", "OUT"][..], "rules.toml"),
        (&["check", "game.etl", "--rules", "rules.toml", "--stack-rules", "stacks.toml", "--junit", "OUT"], "stacks.toml"),
        (&["check", "game.etl", "--init", "--stack-rules", "stacks.toml", "--force", "-o", "OUT"], "stacks.toml"),
        (&["export", "game.etl", "--stack-rules", "stacks.toml", "--format", "csv", "--replace", "-o", "OUT"], "stacks.toml"),
    ] {
        let run = folder.run(words, &folder.path(out));
        assert!(run.code == Some(2) && run.err.contains("this file is read"), "{words:?}: {run:?}");
    }
    assert_eq!((folder.texts(), folder.count()), (before, count));
}

#[test]
fn a_file_that_is_there_is_left_alone_unless_it_may_be_replaced() {
    let folder = Folder::new();
    let out = folder.path("out");
    for words in [
        &["export", "game.etl", "--format", "csv", "-o", "OUT"][..],
        &["export", "game.etl", "--format", "firefox", "--layer", "heap", "-o", "OUT"],
        &["cut", "game.etl", "--from", "0", "-o", "OUT"],
    ] {
        fs::write(&out, "a user's file").unwrap();
        let run = folder.run(words, &out);
        assert!(run.code == Some(2) && run.err.contains("--replace") && run.err.lines().count() == 1, "{words:?}: {run:?}");
        assert_eq!(fs::read(&out).unwrap(), b"a user's file", "{words:?}");
        let run = folder.run(&[words, &["--replace"]].concat(), &out);
        assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
        assert_ne!(fs::read(&out).unwrap(), b"a user's file", "{words:?}");
        fs::remove_file(&out).unwrap();
        assert_eq!(folder.run(words, &out).code, Some(0), "{words:?}: nothing was there");
    }
    let run = folder.run(&["game.etl", "--screenshot", "OUT"], &out);
    assert!(run.code == Some(2) && run.err.contains("--replace"), "{run:?}");
    // A report of a check is always written.
    fs::write(&out, "of the last night").unwrap();
    assert_eq!(folder.run(&["check", "game.etl", "--rules", "rules.toml", "--junit", "OUT"], &out).code, Some(0));
    assert!(fs::read_to_string(&out).unwrap().starts_with("<?xml"));
    // A folder gives way to nothing.
    let run = folder.run(&["cut", "game.etl", "--replace", "-o", "OUT"], &folder.path("sub"));
    assert!(run.code == Some(2) && run.err.contains("it is a folder"), "{run:?}");
}

#[cfg(unix)]
#[test]
fn a_device_is_written_to_without_a_word() {
    let folder = Folder::new();
    for words in [&["export", "game.etl", "--format", "csv", "-o", "OUT"][..], &["cut", "game.etl", "--quiet", "-o", "OUT"]] {
        let run = folder.run(words, Path::new("/dev/null"));
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{words:?}");
    }
}

#[test]
fn what_a_recording_left_is_not_written_over_and_neither_is_another_trace() {
    let folder = Folder::new();
    let (lanes, made) = (folder.path("game.recording"), folder.path("made.etl"));
    highwater_dev::command::synth(["heap", "--events", "2000", "-o", made.to_str().unwrap()]).unwrap();
    let apart = take_apart(&made);
    let recording = Recording::create(&lanes, &apart.session, None).unwrap();
    deliver(&recording, &apart.events, [0; 4], |_, _| {});
    recording.flush_if_due(crate::common::lanes::later()).unwrap();
    drop(recording);
    let lane = fs::read_dir(&lanes).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap();
    let before = (fs::read(&lane).unwrap(), folder.texts());
    let recover = |out: &Path, more: &[&str]| {
        let words = ["record", "--recover", lanes.to_str().unwrap(), "-o", out.to_str().unwrap()];
        highwater(words.iter().chain(more))
    };
    let run = recover(&lane, &["--replace"]);
    assert!(run.code == Some(2) && run.err.contains("this file is read"), "{run:?}");
    let run = recover(&folder.path("game.etl"), &[]);
    assert!(run.code == Some(2) && run.err.contains("--replace"), "{run:?}");
    assert_eq!((fs::read(&lane).unwrap(), folder.texts()), before);
    fs::write(folder.path("old.etl"), "old").unwrap();
    let run = recover(&folder.path("old.etl"), &["--replace"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(fs::metadata(folder.path("old.etl")).unwrap().len() > 1_000 && !lanes.exists());
    let names = fs::read_dir(folder.folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.ends_with(".new")), "no draft stays");
}

#[cfg(feature = "parquet")]
#[test]
fn tables_do_not_come_and_go_around_a_trace_that_is_read() {
    let folder = Folder::new();
    let words = |out: &'static str| ["export", out, "--format", "parquet", "-o", "OUT"];
    let lake = folder.path("lake");
    // Where tables have parts of captures that do not count, they are removed.
    let inside = lake.join("allocations/capture=mine");
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(lake.join("captures")).unwrap();
    fs::copy(folder.path("game.etl"), inside.join("game.etl")).unwrap();
    let run = folder.run(&words("lake/allocations/capture=mine/game.etl"), &lake);
    assert!(run.code == Some(2) && run.err.contains("a file that is read lies in this folder"), "{run:?}");
    assert!(inside.join("game.etl").exists());
    let run = folder.run(&words("game.etl"), &folder.path("rules.toml"));
    assert!(run.code == Some(2) && run.err.contains("not a folder"), "{run:?}");
}
