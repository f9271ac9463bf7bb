//! Captures that cannot be read, among many: `--keep-going` lists them and goes on.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::trace::small;
use crate::common::{Run, highwater};

/// A folder with a capture, a file that is none, and tables.
struct Night {
    folder: TempDir,
}

impl Night {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("good.etl"), small(false)).unwrap();
        fs::write(folder.path().join("bad.etl"), "no trace at all, but a text").unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn export(&self, names: &[&str], words: &[&str]) -> Run {
        let (lake, files) = (self.path("lake"), names.iter().map(|name| self.path(name)));
        let words = words.iter().map(PathBuf::from);
        let to = ["--format", "parquet", "-o"].map(PathBuf::from).into_iter().chain([lake]);
        highwater([PathBuf::from("export")].into_iter().chain(files).chain(to).chain(words))
    }

    /// The captures that are listed as unreadable.
    fn listed(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("lake/_unreadable.json")).unwrap();
        let list: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(list["schema"], "highwater.unreadable/1");
        list["captures"].as_array().unwrap().clone()
    }
}

fn change(path: &Path, after: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + after)).unwrap();
}

#[cfg(feature = "parquet")]
#[test]
fn one_bad_capture_is_listed_and_tried_again_when_it_changes() {
    let night = Night::new();
    change(&night.path("bad.etl"), 0);
    // Without the option it is a failure, as ever, and nothing is noted.
    let run = night.export(&["good.etl", "bad.etl"], &[]);
    assert!(run.code == Some(1) && !night.path("lake/_unreadable.json").exists(), "{run:?}");
    let run = night.export(&["good.etl", "bad.etl"], &["--keep-going"]);
    assert_eq!((run.code, run.err.lines().count()), (Some(0), 1), "{run:?}");
    assert!(run.err.contains("bad.etl: this is not an ETW trace"), "{run:?}");
    assert_eq!(run.out, "0 captures written; 1 already there; --replace writes them again; 1 unreadable\n");
    let listed = night.listed();
    let files =
        json!([{"file": std::path::absolute(night.path("bad.etl")).unwrap(), "bytes": 27, "changed": "2027-01-15T08:00:00Z"}]);
    assert_eq!((listed.len(), &listed[0]["files"], &listed[0]["until_changed"]), (1, &files, &json!(true)));
    assert!(listed[0]["reason"].as_str().unwrap().contains("this is not an ETW trace"));
    // The next night it is not looked at, until it is asked for, or has changed.
    let known = |words: &[&str]| {
        let run = night.export(&["good.etl", "bad.etl"], words);
        assert_eq!(run.code, Some(0), "{run:?}");
        let is_known = run.out.contains("1 unreadable and unchanged");
        assert_ne!(is_known, run.err.contains("bad.etl: this is not an ETW trace"), "{run:?}");
        is_known
    };
    assert!(known(&["--keep-going"]) && known(&["--keep-going", "--replace"]));
    assert!(!known(&["--keep-going", "--retry-unreadable"]) && known(&["--keep-going"]));
    change(&night.path("bad.etl"), 1);
    assert!(!known(&["--keep-going"]) && known(&["--keep-going"]));
    fs::write(night.path("bad.etl"), "another text").unwrap();
    change(&night.path("bad.etl"), 1);
    assert!(!known(&["--keep-going"]), "another size");
    assert_eq!(night.listed().len(), 1);
    // Once it can be read it is a capture, and listed no more; so is one that becomes readable without the option.
    fs::remove_file(night.path("bad.etl")).unwrap();
    highwater_dev::command::synth(["heap", "--events", "500", "-o", night.path("bad.etl").to_str().unwrap()]).unwrap();
    let run = night.export(&["good.etl", "bad.etl"], &[]);
    assert!(run.code == Some(0) && run.out.starts_with("1 capture written"), "{run:?}");
    assert!(night.listed().is_empty());
}

#[cfg(feature = "parquet")]
#[test]
fn other_failures_stay_failures() {
    let night = Night::new();
    // A file that is not there is tried each time; a pattern that fits nothing, and other arguments, are mistakes.
    for _ in 0..2 {
        let run = night.export(&["good.etl", "missing.etl"], &["--keep-going"]);
        assert!(run.code == Some(0) && run.err.contains("missing.etl: there is no such file"), "{run:?}");
    }
    assert_eq!((&night.listed()[0]["files"][0]["bytes"], &night.listed()[0]["until_changed"]), (&Value::Null, &json!(false)));
    for _ in 0..2 {
        let run = night.export(&["bad.etl"], &["--keep-going"]);
        assert!(run.code == Some(0) && run.out.starts_with("0 captures written; 1 unreadable"), "{run:?}");
    }
    if cfg!(windows) {
        assert_eq!(night.export(&["none*.etl"], &["--keep-going"]).code, Some(1));
    }
    let run = night.export(&["good.etl"], &["--retry-unreadable"]);
    assert!(run.code == Some(2) && run.err.contains("--keep-going"), "{run:?}");
    let out = night.path("out.csv");
    let run = highwater(["export", "demo:", "--format", "csv", "--keep-going", "-o", out.to_str().unwrap()]);
    assert!(run.code == Some(2) && run.err.contains("--keep-going is for --format parquet"), "{run:?}");
    // A list that cannot be read is not written over.
    fs::write(night.path("lake/_unreadable.json"), "mine").unwrap();
    let run = night.export(&["good.etl"], &["--keep-going"]);
    assert!(run.code == Some(1) && run.err.contains("_unreadable.json") && run.err.lines().count() == 1, "{run:?}");
    assert_eq!(fs::read_to_string(night.path("lake/_unreadable.json")).unwrap(), "mine");
    let run = night.export(&["good.etl"], &["--replace"]);
    assert!(run.code == Some(0) && run.err.contains("_unreadable.json"), "nobody asked for it: {run:?}");
    let folder = night.path("lake/_unreadable.json");
    fs::remove_file(&folder).unwrap();
    // Files of one recording are one capture: it is readable as long as one of them is.
    let run = night.export(&["good.etl", "bad.etl"], &["--one-capture", "--keep-going", "--replace"]);
    assert!(run.code == Some(0) && !run.out.contains("unreadable") && !folder.exists(), "{run:?}");
}

#[test]
fn symbols_of_many_traces_go_on_without_the_unreadable() {
    let night = Night::new();
    let [good, bad] = ["good.etl", "bad.etl"].map(|name| night.path(name).to_str().unwrap().to_owned());
    let check = |words: &[&str]| highwater(["symbols", "check"].iter().chain(words));
    assert_eq!(check(&[&good, &bad]).code, Some(1));
    let run = check(&[&good, &bad, "--keep-going"]);
    assert!(run.code == Some(0) && run.err.contains("bad.etl: this is not an ETW trace"), "{run:?}");
    assert_eq!(check(&[&bad, "--keep-going"]).code, Some(1), "nothing readable");
    assert_eq!(check(&["demo:", &bad, "--keep-going", "--fail-missing"]).code, Some(3));
}

#[test]
fn each_goes_on_by_itself() {
    let night = Night::new();
    let [good, bad] = ["good.etl", "bad.etl"].map(|name| night.path(name).to_str().unwrap().to_owned());
    let run = highwater(["report", &good, "demo:", &bad, "--each", "--ndjson"]);
    assert!(run.code == Some(0) && run.err.contains("bad.etl"), "{run:?}");
    let heads = run.out.lines().filter(|line| line.contains("\"schema\"")).count();
    assert_eq!(heads, 2, "{run:?}");
}
