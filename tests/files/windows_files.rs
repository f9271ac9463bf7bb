//! Files as only Windows has them: locked by a program, with paths longer than its
//! old limit, with names that it takes from nobody.

use std::fs::{self, OpenOptions};
use std::os::windows::fs::OpenOptionsExt;

use crate::common::highwater;
use crate::common::trace::small;

/// What the program says of a file that it cannot open: one line.
fn refusal(path: &str) -> String {
    let run = highwater(["info", path]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", run.err);
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    run.err
}

#[test]
fn a_trace_that_another_program_locks_is_said_to_be_locked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locked.etl");
    fs::write(&path, small(false)).unwrap();
    let lock = OpenOptions::new().read(true).share_mode(0).open(&path).unwrap();
    let message = refusal(path.to_str().unwrap());
    assert!(message.contains("locked.etl: another program has this file open exclusively"), "{message}");
    drop(lock);
    assert_eq!(highwater(["info", path.to_str().unwrap()]).code, Some(0));
}

#[test]
fn a_trace_that_is_being_written_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.etl");
    fs::write(&path, small(false)).unwrap();
    let _writer = OpenOptions::new().append(true).open(&path).unwrap();
    assert_eq!(highwater(["info", path.to_str().unwrap()]).code, Some(0));
}

#[test]
fn a_path_longer_than_260_characters_opens_and_a_name_longer_than_255_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut deep = folder.path().to_owned();
    while deep.as_os_str().len() < 400 {
        deep.push("a folder with a long name and an é in it");
    }
    fs::create_dir_all(&deep).unwrap();
    let path = deep.join("trace.etl");
    fs::write(&path, small(false)).unwrap();
    let run = highwater(["info", path.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{}", run.err);

    let message = refusal(folder.path().join("x".repeat(300)).to_str().unwrap());
    assert!(message.contains("too long") || message.contains("no such file"), "{message}");
}
