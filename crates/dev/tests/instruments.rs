//! `highwater-dev`, the program itself.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

use std::process::{Command, Output};

fn highwater_dev(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_highwater-dev")).args(words).output().unwrap()
}

#[test]
fn the_demo_that_it_writes_is_the_committed_one_and_an_existing_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("demo.etl");
    let words = ["synth", "demo", "-o", out.to_str().unwrap()];
    let run = highwater_dev(&words);
    assert!(run.status.success() && run.stdout.is_empty() && run.stderr.is_empty(), "{run:?}");
    assert!(std::fs::read(&out).unwrap() == include_bytes!("../../../assets/demo.etl"));
    let run = highwater_dev(&words);
    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&run.stderr).contains("--replace replaces it"), "{run:?}");
}

#[test]
fn a_failure_is_one_sentence() {
    let run = highwater_dev(&["synth", "demo", "-o", "no/such/folder/out.etl"]);
    assert_eq!(run.status.code(), Some(1));
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(said.starts_with("highwater-dev: no/such/folder/out.etl: ") && said.lines().count() == 1, "{said}");
    assert_eq!(highwater_dev(&["synth", "heap"]).status.code(), Some(2), "there is nowhere to write");
}
