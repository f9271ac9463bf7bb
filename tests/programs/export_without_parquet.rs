//! What a build says that has no tables.

use crate::common::highwater;

#[test]
fn a_build_without_tables_says_which_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    let run = highwater(["export", "demo:", "--format", "parquet", "-o", lake.to_str().unwrap()]);
    assert_eq!((run.code, run.err.lines().count()), (Some(2), 1));
    assert!(run.err.contains("--features parquet"), "{}", run.err);
    assert!(!lake.exists());
}
