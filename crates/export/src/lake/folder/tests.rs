//! Tests how captures are added and replaced, and what is left if that fails or is interrupted.

use std::ops::RangeBounds;

use super::*;

/// Writes something for each table.
fn fill(text: &str) -> impl FnOnce(&Path) -> Result<(), LakeError> + '_ {
    move |draft| {
        for table in TABLES {
            fs::create_dir(draft.join(table.name))?;
            fs::write(draft.join(table.name).join("part-0000.parquet"), text)?;
        }
        Ok(())
    }
}

fn text(folder: &Path, table: &str, capture: &str) -> Option<String> {
    fs::read_to_string(folder.join(table).join(format!("capture={capture}")).join("part-0000.parquet")).ok()
}

/// The text of each table.
fn texts(folder: &Path, capture: &str) -> Vec<Option<String>> {
    TABLES.iter().map(|table| text(folder, table.name, capture)).collect()
}

/// The texts of a whole capture.
fn all(text: &str) -> Vec<Option<String>> {
    vec![Some(text.to_owned()); TABLES.len()]
}

fn nothing() -> Vec<Option<String>> {
    vec![None; TABLES.len()]
}

fn visible(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = entries(folder).unwrap().into_iter().map(|(_, name)| name).collect();
    names.sort();
    names
}

#[test]
fn a_capture_comes_as_a_whole_once_and_is_replaced_if_that_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    assert!(!lake.has("a").unwrap());
    assert_eq!(lake.add("a", false, fill("one")).unwrap().0, Outcome::Written);
    assert!(lake.has("a").unwrap());
    assert_eq!(lake.add("a", false, fill("two")).unwrap().0, Outcome::WasThere);
    assert_eq!(text(folder.path(), "stacks", "a").as_deref(), Some("one"));
    assert_eq!(lake.add("a", true, fill("two")).unwrap().0, Outcome::Written);
    assert_eq!(texts(folder.path(), "a"), all("two"));
    drop(lake);
    let mut names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    names.sort();
    assert_eq!(visible(folder.path()), names, "nothing else remains");
}

#[test]
fn what_fails_leaves_nothing_and_what_was_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    lake.add("a", false, fill("one")).unwrap();
    let broken = |draft: &Path| {
        fill("half")(draft)?;
        Err::<(), _>(LakeError::Stopped)
    };
    assert!(lake.add("a", true, broken).is_err() && lake.add("b", false, broken).is_err());
    // A table is missing: it cannot be moved.
    for table in TABLES {
        let incomplete = |draft: &Path| {
            fill("half")(draft)?;
            Ok(fs::remove_dir_all(draft.join(table.name))?)
        };
        assert!(lake.add("a", true, incomplete).is_err() && lake.add("c", false, incomplete).is_err(), "{}", table.name);
    }
    assert_eq!(texts(folder.path(), "a"), all("one"));
    for capture in ["b", "c"] {
        assert_eq!(texts(folder.path(), capture), nothing(), "{capture}");
    }
}

#[test]
fn leftovers_of_the_dead_go_and_those_who_live_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let living = Lake::open(path).unwrap();
    living.add("a", false, fill("one")).unwrap();
    // Killed before it had an owner file, while writing, and between two moves.
    fs::create_dir(path.join("_staging-early")).unwrap();
    fs::create_dir_all(path.join("_staging-dead/b/allocations")).unwrap();
    fs::write(path.join("_staging-dead").join(OWNER), "").unwrap();
    fs::create_dir_all(path.join("allocations/capture=b")).unwrap();
    fs::write(path.join("allocations/capture=b/part-0000.parquet"), "half").unwrap();
    let second = Lake::open(path).unwrap();
    let staging = visible(path).into_iter().filter(|name| name.starts_with(STAGING)).count();
    assert_eq!(staging, 2, "{:?}", visible(path));
    assert!(text(path, "allocations", "b").is_none());
    assert_eq!(text(path, "allocations", "a").as_deref(), Some("one"));
    // Both exports go on, with the same capture, too.
    assert_eq!(living.add("c", false, fill("first")).unwrap().0, Outcome::Written);
    assert_eq!(second.add("c", false, fill("second")).unwrap().0, Outcome::WasThere);
    drop((living, second));
    assert!(visible(path).iter().all(|name| !name.starts_with('_')));
    assert_eq!(text(path, "captures", "c").as_deref(), Some("first"));
}

/// Number of moves if a capture replaces another; a new capture needs only the second half.
fn moves() -> usize {
    2 * TABLES.len()
}

/// A rename function that fails at these calls.
fn failing(which: impl RangeBounds<usize>) -> impl FnMut(&Path, &Path) -> io::Result<()> {
    let mut next = 0usize;
    move |from, to| {
        let this = next;
        next += 1;
        if which.contains(&this) { Err(io::Error::other("somebody has it open")) } else { fs::rename(from, to) }
    }
}

/// A folder with a whole capture `a`, and with new captures `a` and `b` in the staging folder of a killed export.
fn killed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    Lake::open(folder.path()).unwrap().add("a", false, fill("one")).unwrap();
    for capture in ["a", "b"] {
        let draft = draft(folder.path(), capture).draft;
        fs::create_dir_all(&draft).unwrap();
        fill("two")(&draft).unwrap();
    }
    fs::write(folder.path().join("_staging-dead").join(OWNER), "").unwrap();
    folder
}

fn draft<'a>(folder: &'a Path, capture: &'a str) -> Swap<'a> {
    Swap { folder, capture, draft: folder.join("_staging-dead").join(capture) }
}

#[test]
fn whatever_cannot_be_moved_the_capture_that_was_to_be_replaced_stays() {
    for at in 0..moves() {
        let folder = killed();
        assert!(draft(folder.path(), "a").publish_by(&mut failing(at..=at)).is_err(), "{at}");
        assert_eq!(texts(folder.path(), "a"), all("one"), "{at}");
        let is_moved = draft(folder.path(), "b").publish_by(&mut failing(at..=at)).is_ok();
        assert_eq!(is_moved, at >= TABLES.len(), "{at}");
        assert_eq!(texts(folder.path(), "b"), if is_moved { all("two") } else { nothing() }, "{at}");
    }
}

#[test]
fn an_export_killed_between_any_two_moves_leaves_the_old_capture_or_the_new_one() {
    for at in 0..=moves() {
        let folder = killed();
        let path = folder.path();
        for capture in ["a", "b"] {
            let _ = draft(path, capture).exchange(&mut failing(at..));
            if text(path, CAPTURES.name, capture).is_some() {
                assert_eq!(texts(path, capture), all(if at < moves() && capture == "a" { "one" } else { "two" }), "{at}");
            }
        }
        let _next = Lake::open(path).unwrap();
        assert_eq!(texts(path, "a"), all(if at < moves() { "one" } else { "two" }), "{at}");
        assert_eq!(texts(path, "b"), if at < TABLES.len() { nothing() } else { all("two") }, "{at}");
        assert!(!path.join("_staging-dead").exists(), "{at}");
    }
}

#[test]
fn an_export_killed_while_it_takes_a_move_back_leaves_the_old_capture() {
    for (at, undone) in (0..moves()).step_by(3).flat_map(|at| (0..=moves()).map(move |undone| (at, undone))) {
        let folder = killed();
        let swap = draft(folder.path(), "a");
        assert!(swap.exchange(&mut failing(at..)).is_err());
        let _ = swap.undo_by(&mut failing(undone..));
        let _next = Lake::open(folder.path()).unwrap();
        assert_eq!(texts(folder.path(), "a"), all("one"), "{at} {undone}");
    }
}

#[test]
fn what_waits_for_its_place_in_an_export_that_goes_on_is_no_leftover() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let living = Lake::open(path).unwrap();
    living.add("a", false, fill("one")).unwrap();
    let swap = Swap { folder: path, capture: "a", draft: living.staging.join("a") };
    fs::create_dir_all(&swap.draft).unwrap();
    fill("two")(&swap.draft).unwrap();
    // The capture could not be moved, and the moves could not be undone.
    assert!(swap.publish_by(&mut failing(3..)).is_err() && swap.is_halfway().unwrap());
    let second = Lake::open(path).unwrap();
    assert!(!second.has("a").unwrap());
    drop(living);
    assert_eq!(texts(path, "a"), all("one"));
    drop(second);
    assert!(visible(path).iter().all(|name| !name.starts_with('_')));
}

#[test]
fn without_the_table_that_tells_what_counts_nothing_is_taken_for_a_leftover() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    Lake::open(path).unwrap().add("a", false, fill("one")).unwrap();
    let captures = path.join(CAPTURES.name);
    fs::remove_dir_all(&captures).unwrap();
    for is_file in [false, true] {
        if is_file {
            fs::write(&captures, "").unwrap();
        }
        let said = Lake::open(path).unwrap_err().to_string();
        assert!(said.starts_with(&captures.display().to_string()) && said.contains("put it back"), "{said}");
        assert_eq!(text(path, "allocations", "a").as_deref(), Some("one"));
    }
    // But a first export that was killed had created that folder before any part.
    let folder = tempfile::tempdir().unwrap();
    drop(Lake::open(folder.path()).unwrap());
    fs::create_dir_all(folder.path().join("allocations/capture=b")).unwrap();
    drop(Lake::open(folder.path()).unwrap());
    assert!(!folder.path().join("allocations/capture=b").exists());
}

#[test]
#[cfg(unix)]
fn what_cannot_be_looked_at_is_not_taken_for_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let lake = Lake::open(path).unwrap();
    lake.add("a", false, fill("one")).unwrap();
    // A link to itself: looking at it fails for everybody.
    let row = part(path, &CAPTURES, "a");
    fs::remove_dir_all(&row).unwrap();
    std::os::unix::fs::symlink(&row, &row).unwrap();
    let said = [lake.has("a").unwrap_err(), lake.add("a", false, fill("two")).unwrap_err(), Lake::open(path).unwrap_err()];
    for said in said {
        assert!(said.to_string().starts_with(&row.display().to_string()), "{said}");
    }
    assert_eq!(text(path, "allocations", "a").as_deref(), Some("one"));
}
