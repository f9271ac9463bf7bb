//! The demo is what it says it is.

use std::io::Cursor;

use super::*;

#[test]
fn the_committed_file_is_this_scenario() {
    let written = write(Cursor::new(Vec::new())).unwrap().into_inner();
    assert!(written == TRACE, "assets/demo.etl is not what the code writes; see assets/README.md");
    assert!(TRACE.len() <= 1_500_000);
}

#[test]
fn the_other_commits_are_six_megabytes() {
    assert_eq!(app::other_commits(), OTHER_COMMITS);
}
