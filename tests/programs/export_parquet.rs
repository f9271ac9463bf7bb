//! `highwater export --format parquet`: many captures, each there as a whole or not at all.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::trace::small;
use crate::common::{Run, highwater, json};

const TABLES: [&str; 10] =
    ["allocations", "captures", "frames", "game_frames", "heaps", "marks", "modules", "processes", "series", "stacks"];

/// A folder with captures and another with tables.
struct Fleet {
    folder: TempDir,
}

impl Fleet {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn lake(&self) -> PathBuf {
        self.path("lake")
    }

    /// A capture of its own for each number of leaks.
    fn capture(&self, name: &str, leaks: u32) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let nightly = format!("1,2,{leaks},3,4,5");
        highwater_dev::command::synth(["nightly", "-o", text(&path), "--nightly", &nightly]).unwrap();
        path
    }

    fn export<S: AsRef<Path>>(&self, files: &[S], more: &[&str]) -> Run {
        let files = files.iter().map(|file| text(file.as_ref()));
        let lake = self.lake();
        highwater(
            ["export"].into_iter().chain(files).chain(["--format", "parquet", "-o", text(&lake)]).chain(more.iter().copied()),
        )
    }

    /// The names of the captures that count.
    fn captures(&self) -> Vec<String> {
        let mut names: Vec<String> = self.rows("captures").iter().map(|row| string(row, "name")).collect();
        names.sort();
        names
    }

    /// All rows of a table.
    fn rows(&self, table: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        for part in folders(&self.lake().join(table)) {
            for file in std::fs::read_dir(part).unwrap() {
                let reader = SerializedFileReader::new(File::open(file.unwrap().path()).unwrap()).unwrap();
                rows.extend(reader.get_row_iter(None).unwrap().map(Result::unwrap));
            }
        }
        rows
    }

    /// Where an export writes that is going on, or was killed.
    fn staging(&self) -> Option<PathBuf> {
        folders(&self.lake()).into_iter().find(|path| text(path).contains("_staging-"))
    }

    /// Parts of captures are in all tables or in none, and nothing else remains.
    fn assert_whole(&self) {
        let names = |path: PathBuf| -> Vec<String> {
            folders(&path).iter().map(|part| part.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(self.lake()), TABLES);
        for table in TABLES {
            assert_eq!(names(self.lake().join(table)), names(self.lake().join("captures")), "{table}");
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Folders in a folder, by name.
fn folders(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(other, _)| *other == name).unwrap().1
}

fn string(row: &Row, name: &str) -> String {
    match field(row, name) {
        Field::Str(text) => text.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn long(row: &Row, name: &str) -> i64 {
    match field(row, name) {
        Field::Long(value) => *value,
        other => panic!("{name}: {other:?}"),
    }
}

/// Rows and bytes by layer.
type Sums = BTreeMap<String, (i64, i64)>;

fn sums(rows: &[Row]) -> Sums {
    let mut sums = Sums::new();
    for row in rows {
        let (count, size) = sums.entry(string(row, "layer")).or_default();
        (*count, *size) = (*count + 1, *size + long(row, "size"));
    }
    sums
}

fn reported(file: &str, words: &[&str]) -> Sums {
    let report = json(["report", file, "--json", "--by", "process"].iter().chain(words));
    let mut sums = Sums::new();
    for group in report["groups"].as_array().unwrap() {
        let number = |name: &str| group[name].as_i64().unwrap();
        let (count, size) = sums.entry(group["layer"].as_str().unwrap().to_owned()).or_default();
        (*count, *size) = (*count + number("count"), *size + number("size"));
    }
    sums
}

#[test]
fn rows_and_sums_are_those_of_a_report_of_the_same_choice() {
    let choices: [&[&str]; 4] = [
        &[],
        &["--from", "5", "--to", "20"],
        &["--process", "memorytestapp.exe", "--layer", "heap", "--freed", "never"],
        &["--size", "1K..", "--type", "Contact", "--to", "30"],
    ];
    for words in choices {
        let fleet = Fleet::new();
        let run = fleet.export(&["demo:"], words);
        assert!(run.code == Some(0) && run.err.lines().all(|line| line.contains("--symbols FOLDER")), "{words:?}: {}", run.err);
        let rows = fleet.rows("allocations");
        assert!(!rows.is_empty());
        assert_eq!(sums(&rows), reported("demo:", words), "{words:?}");
        fleet.assert_whole();
    }
}

#[test]
fn a_broken_capture_does_not_hold_up_the_others() {
    let fleet = Fleet::new();
    let good = [fleet.capture("a.etl", 10), fleet.capture("b.etl", 20)];
    let broken = fleet.path("broken.etl");
    std::fs::write(&broken, "this is no trace at all, but a line of text").unwrap();
    let missing = fleet.path("missing.etl");
    let run = fleet.export(&[&good[0], &broken, &missing, &good[1]], &[]);
    assert_eq!(run.code, Some(1));
    let lines: Vec<&str> = run.err.lines().collect();
    assert_eq!(lines.len(), 3, "{}", run.err);
    assert!(lines[0].contains("broken.etl") && lines[1].contains("missing.etl"), "{}", run.err);
    assert!(lines[2].contains("2 of 4 captures"), "{}", run.err);
    assert!(run.out.starts_with("2 captures written"), "{}", run.out);
    assert_eq!(fleet.captures(), ["a", "b"]);
    fleet.assert_whole();
    // Quiet, only what went wrong is said.
    let run = fleet.export(&[&good[0], &broken], &["--quiet"]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(run.err.contains("broken.etl"), "{}", run.err);
}

#[test]
fn what_is_there_is_left_out_and_replaced_only_if_that_is_asked() {
    let fleet = Fleet::new();
    let first = fleet.capture("mon/trace.etl", 10);
    let second = fleet.capture("tue/trace.etl", 20);
    let copy = fleet.path("copy.etl");
    std::fs::copy(&first, &copy).unwrap();
    assert!(fleet.export(&[&first, &second, &first], &["--tag", "build=1"]).out.contains("2 captures written"));
    assert_eq!(fleet.captures(), ["trace", "trace"], "of one name, but they are two");
    let run = fleet.export(&[&first], &["--tag", "build=2"]);
    assert_eq!(run.code, Some(0));
    assert!(run.out.contains("0 captures written; 1 already there"), "{}", run.out);
    let builds = || {
        let mut builds: Vec<String> = fleet.rows("captures").iter().map(|row| string(row, "build")).collect();
        builds.sort();
        builds
    };
    assert_eq!(builds(), ["1", "1"]);
    assert!(fleet.export(&[&first], &["--replace", "--tag", "build=2"]).out.contains("1 capture written"));
    assert_eq!(builds(), ["1", "2"]);
    fleet.assert_whole();
    // The same bytes in a file of another name are another capture: people tell them apart.
    fleet.export(&[&copy], &[]);
    assert_eq!(fleet.captures(), ["copy", "trace", "trace"]);
}

#[test]
fn several_files_of_one_recording_are_one_capture_if_that_is_said() {
    let fleet = Fleet::new();
    let path = fleet.path("small.etl");
    std::fs::write(&path, small(false)).unwrap();
    let again = fleet.path("again.etl");
    std::fs::write(&again, small(false)).unwrap();
    fleet.export(&[&path, &again], &["--one-capture"]);
    let rows = fleet.rows("captures");
    assert_eq!(rows.len(), 1);
    let files = field(&rows[0], "files").to_string();
    assert!(files.contains("small.etl") && files.contains("again.etl"), "{files}");
}

#[test]
fn a_file_of_a_recording_that_cannot_be_read_is_a_problem_as_in_a_report() {
    let fleet = Fleet::new();
    let path = fleet.path("small.etl");
    std::fs::write(&path, small(false)).unwrap();
    for others in [&["missing.etl"][..], &["missing.etl", "none*.etl"]] {
        let mut files: Vec<PathBuf> = others.iter().map(|name| fleet.path(name)).collect();
        files.push(path.clone());
        let run = fleet.export(&files, &["--one-capture", "--replace"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        for name in others {
            assert_eq!(run.err.lines().filter(|line| line.contains(name)).count(), 1, "{}", run.err);
        }
        let rows = fleet.rows("captures");
        assert_eq!((rows.len(), string(&rows[0], "name")), (1, "small".to_owned()));
        let words = ["report", "--json"].into_iter().chain(files.iter().map(|file| text(file)));
        assert_eq!(Value::from(long(&rows[0], "problems")), json(words)["quality"]["problems"]);
    }
    // So it is the capture that the others make alone.
    assert!(fleet.export(&[&path], &["--one-capture"]).out.contains("1 already there"));
    let run = fleet.export(&[fleet.path("missing.etl"), fleet.path("none*.etl")], &["--one-capture"]);
    assert_eq!((run.code, run.err.lines().count()), (Some(1), 1), "{}", run.err);
    assert!(run.err.contains("missing.etl"), "{}", run.err);
    fleet.assert_whole();
}

#[test]
fn tags_are_kept_and_bad_ones_refused() {
    let fleet = Fleet::new();
    let file = fleet.capture("a.etl", 1);
    let tags = ["--tag", "build=1240", "--tag", "machine=render-07", "--tag", "branch=a=b"];
    assert_eq!(fleet.export(&[&file], &tags).code, Some(0));
    let rows = fleet.rows("captures");
    assert_eq!((string(&rows[0], "build"), string(&rows[0], "machine")), ("1240".to_owned(), "render-07".to_owned()));
    assert!(field(&rows[0], "tags").to_string().contains("\"branch\" -> \"a=b\""));
    for bad in [
        &["--tag", "build"][..],
        &["--tag", "=1"],
        &["--tag", "machine="],
        &["--tag", "build= "],
        &["--tag", "a=1", "--tag", "a=2"],
        &["--by", "type"],
        &["--fold"],
        &["--top", "3"],
    ] {
        let run = fleet.export(&[&file], bad);
        assert_eq!((run.code, run.err.lines().count()), (Some(2), 1), "{bad:?}: {}", run.err);
    }
    let run = highwater(["export", text(&file), "--format", "csv", "-o", text(&fleet.path("a.csv")), "--tag", "a=1"]);
    assert_eq!(run.code, Some(2), "{}", run.err);
}

#[test]
fn stars_are_expanded_where_the_shell_did_not() {
    let fleet = Fleet::new();
    fleet.capture("a1.etl", 1);
    fleet.capture("a2.etl", 2);
    fleet.capture("b.etl", 3);
    assert_eq!(fleet.export(&[fleet.path("a*.etl")], &[]).code, Some(0));
    assert_eq!(fleet.captures(), ["a1", "a2"]);
    let run = fleet.export(&[fleet.path("c*.etl")], &[]);
    assert_eq!((run.code, run.err.lines().count()), (Some(1), 1));
    assert!(run.err.contains("c*.etl"), "{}", run.err);
    // One without files does not hold up the others.
    let run = fleet.export(&[fleet.path("c*.etl"), fleet.path("b*.etl")], &[]);
    assert_eq!((run.code, run.err.lines().count()), (Some(1), 2), "{}", run.err);
    assert!(run.err.contains("c*.etl: no file matches") && run.err.contains("1 of 2 captures"), "{}", run.err);
    assert!(run.out.starts_with("1 capture written"), "{}", run.out);
    assert_eq!(fleet.captures(), ["a1", "a2", "b"]);
    fleet.assert_whole();
}

#[test]
fn a_folder_that_does_not_tell_which_captures_count_is_left_as_it_is() {
    let fleet = Fleet::new();
    let file = fleet.capture("a.etl", 1);
    fleet.export(&[&file], &[]);
    let captures = fleet.lake().join("captures");
    let aside = fleet.path("aside");
    std::fs::rename(&captures, &aside).unwrap();
    let run = fleet.export(&[&file], &[]);
    assert_eq!((run.code, run.err.lines().count()), (Some(1), 1), "{}", run.err);
    assert!(run.err.contains(text(&captures)), "{}", run.err);
    std::fs::rename(&aside, &captures).unwrap();
    assert!(fleet.export(&[&file], &[]).out.contains("1 already there"));
    fleet.assert_whole();
}

/// Begins an export and kills it as soon as it writes, if it is not done by then.
fn kill_while_it_writes(fleet: &Fleet, file: &Path) {
    let lake = fleet.lake();
    let words = ["export", text(file), "--format", "parquet", "-o", text(&lake)];
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    let mut child = command.args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while fleet.staging().is_none_or(|staging| folders(&staging).is_empty()) && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not write");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_export_that_was_killed_leaves_nothing_that_counts_and_is_cleaned_up() {
    let fleet = Fleet::new();
    let large = fleet.path("large.etl");
    let words = ["heap", "-o", text(&large), "--events", "60000", "--stacks", "keys"];
    highwater_dev::command::synth(words).unwrap();
    // In the middle of its work: something of it is there, and nothing counts yet. It can be too fast for us.
    let was_killed = (0..20).any(|_| {
        kill_while_it_writes(&fleet, &large);
        let was_killed = fleet.staging().is_some() && folders(&fleet.lake().join("captures")).is_empty();
        if !was_killed {
            std::fs::remove_dir_all(fleet.lake()).unwrap();
        }
        was_killed
    });
    assert!(was_killed, "each time it was done before it was killed");
    assert_eq!(fleet.export(&[&large], &[]).code, Some(0));
    assert_eq!(fleet.captures(), ["large"]);
    fleet.assert_whole();
}

#[test]
fn two_exports_into_one_folder_do_each_other_no_harm() {
    let fleet = Fleet::new();
    let files: Vec<PathBuf> = (0..4).map(|n| fleet.capture(&format!("{n}.etl"), n)).collect();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let run = fleet.export(&files, &[]);
                assert_eq!(run.code, Some(0), "{}", run.err);
            });
        }
    });
    assert_eq!(fleet.captures(), ["0", "1", "2", "3"]);
    fleet.assert_whole();
    let found: Vec<Value> = fleet.rows("captures").iter().map(|row| long(row, "allocations").into()).collect();
    assert_eq!(found.len(), 4);
}

#[test]
fn the_questions_of_the_document_are_those_that_are_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(root.join("docs/fleet.md")).unwrap().replace('\r', "");
    for name in ["stacks", "types", "machines", "churn", "exit", "builds"] {
        let sql = std::fs::read_to_string(root.join(format!("scripts/fleet/{name}.sql"))).unwrap().replace('\r', "");
        assert!(
            document.contains(&format!("```sql\n{}\n```", sql.trim_end())),
            "scripts/fleet/{name}.sql is not in docs/fleet.md"
        );
    }
}
