//! What several tests need: the program itself and the shared corpus.
#![allow(dead_code, reason = "each test uses its own part")]

pub mod bodies;
pub mod game;
pub mod hostile;
pub mod hostile_names;
pub mod hostile_replay;
pub mod hostile_tables;
pub mod lanes;
pub mod named;
pub mod packed;
pub mod recorded;
pub mod server;
pub mod session;
pub mod sought;
pub mod told;
pub mod trace;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What the program did.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs the program on these words.
pub fn highwater<S: AsRef<std::ffi::OsStr>>(words: impl IntoIterator<Item = S>) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_highwater")).args(words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Runs the program, which must succeed, and reads its JSON.
pub fn json<S: AsRef<std::ffi::OsStr>>(words: impl IntoIterator<Item = S>) -> Value {
    let run = highwater(words);
    assert_eq!(run.code, Some(0), "{}", run.err);
    serde_json::from_str(&run.out).unwrap()
}

/// The folder of real traces beside the repository; `None`, and a word about it,
/// where it is missing.
pub fn corpus() -> Option<PathBuf> {
    // Under Wine the folder of the sources has no drive until it is asked for.
    let folder = std::path::absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus")).unwrap();
    if folder.is_dir() {
        return Some(folder);
    }
    skip("no corpus");
    None
}

/// Says in the test's output why there was nothing to test.
#[allow(clippy::print_stdout, reason = "a test that passes silently would look as if it had tested something")]
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
}
