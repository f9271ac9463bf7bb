//! Tests of the tables of a trace, which the parquet crate's own reader reads again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use super::file::GROUP_ROWS;
use super::*;
use crate::model::Trace;
use crate::query::{By, Fold, ReportFilter, ReportRequest, report};
use crate::units::Ticks;
use highwater_dev::synth::{Options, Scenario, StackForm, generate};
use highwater_load::{Capture, Input, Unwatched, load};

fn demo() -> Arc<Trace> {
    Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap())
}

fn write(trace: &Arc<Trace>, folder: &Path, room: Option<DiskRoom>) -> Result<u64, LakeError> {
    let index = Index::for_one_question(Arc::clone(trace), &Cancel::default())?;
    let (mask, names) = (Mask::all(trace), Names::default());
    let question = Question { index: &index, interval: trace.span, mask: &mask, names: &names, room };
    let about = About { name: "demo".to_owned(), tags: vec![("build".to_owned(), "7".to_owned())], ..About::default() };
    write_tables(&question, &about, folder, &Telling::new(&|_| {}))
}

/// The files of a table, in order.
fn files(folder: &Path, table: &str) -> Vec<SerializedFileReader<File>> {
    let mut paths: Vec<_> = fs::read_dir(folder.join(table)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| SerializedFileReader::new(File::open(path).unwrap()).unwrap()).collect()
}

fn rows(folder: &Path, table: &str) -> Vec<Row> {
    files(folder, table)
        .iter()
        .flat_map(|file| file.get_row_iter(None).unwrap().map(Result::unwrap).collect::<Vec<_>>())
        .collect()
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(other, _)| *other == name).unwrap().1
}

fn long(row: &Row, name: &str) -> i64 {
    match field(row, name) {
        Field::Long(value) => *value,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn allocations_read_again_come_to_what_a_report_says() {
    let (trace, folder) = (demo(), tempfile::tempdir().unwrap());
    let written = write(&trace, folder.path(), None).unwrap();
    let mut sums: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    for row in rows(folder.path(), "allocations") {
        let Field::Str(layer) = field(&row, "layer") else { panic!("{row}") };
        let size = long(&row, "size") as u64;
        let (count, all, outstanding) = sums.entry(layer.clone()).or_default();
        (*count, *all) = (*count + 1, *all + size);
        if *field(&row, "death_s") == Field::Null {
            *outstanding += size;
        }
    }
    let never = Cancel::default();
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let request = ReportRequest {
        interval: trace.span,
        by: Vec::<By>::new(),
        filter: ReportFilter::default(),
        top: None,
        fold: Fold::Nothing,
        sources: false,
    };
    let expected: BTreeMap<String, (u64, u64, u64)> = report(&index, &request, &never)
        .unwrap()
        .groups
        .iter()
        .map(|group| (group.layer.to_owned(), (group.numbers.count, group.numbers.size, group.numbers.outstanding_to)))
        .collect();
    assert_eq!(sums.len(), 3);
    assert_eq!(sums, expected);
    assert_eq!(written, trace.rows.len() as u64);
    let captures = rows(folder.path(), "captures");
    let [capture] = captures.as_slice() else { panic!("{captures:?}") };
    assert_eq!(long(capture, "allocations"), written as i64);
    assert_eq!(long(capture, "unmatched_frees"), trace.quality.unmatched_frees as i64);
    assert!(field(capture, "tags").to_string().contains("\"build\" -> \"7\""), "{}", field(capture, "tags"));
}

#[test]
fn every_moment_and_place_is_that_of_the_row() {
    let (trace, folder) = (demo(), tempfile::tempdir().unwrap());
    write(&trace, folder.path(), None).unwrap();
    let seconds = |t: Ticks, none: Ticks| if t == none { Field::Null } else { Field::Double(trace.clock.seconds(t)) };
    let written = rows(folder.path(), "allocations");
    let chunks = trace.rows.chunks().flat_map(|chunk| chunk.rows().collect::<Vec<_>>());
    for (row, (_, original)) in written.iter().zip(chunks) {
        let site = trace.site(original.site);
        assert_eq!(*field(row, "birth_s"), seconds(original.birth, Ticks::BEFORE_TRACE));
        assert_eq!(*field(row, "death_s"), seconds(original.death, Ticks::NEVER));
        assert_eq!(long(row, "address") as u64, original.address);
        let thread = Some(original.thread).filter(|thread| thread.is_known());
        assert_eq!(*field(row, "thread"), thread.map_or(Field::Null, |thread| Field::Long(thread.0.into())));
        assert_eq!(long(row, "heap_id") as u32, site.heap.0);
        assert_eq!(long(row, "process_id") as u32, trace.process_of(site).0);
    }
}

#[test]
fn marks_and_frames_of_games_are_those_of_the_trace() {
    let (trace, folder) = (demo(), tempfile::tempdir().unwrap());
    write(&trace, folder.path(), None).unwrap();
    let seconds = |t: Ticks| Field::Double(trace.clock.seconds(t));
    let marks = rows(folder.path(), "marks");
    assert_eq!(marks.len(), trace.activity.marks.list.len());
    for (row, mark) in marks.iter().zip(trace.activity.marks.list.iter()) {
        assert_eq!(*field(row, "text"), Field::Str(mark.text.to_string()));
        assert_eq!([field(row, "from_s"), field(row, "to_s")], [&seconds(mark.from), &seconds(mark.to)]);
        assert_eq!(long(row, "process_id") as u32, mark.process.unwrap().0);
    }
    let [lane] = &trace.activity.presents[..] else { panic!("one swap chain") };
    let frames = rows(folder.path(), "game_frames");
    assert_eq!(frames.len(), lane.frames());
    for (number, row) in frames.iter().enumerate() {
        let frame = lane.frame(number).unwrap();
        assert_eq!([field(row, "from_s"), field(row, "to_s")], [&seconds(frame.from), &seconds(frame.to)]);
        assert_eq!((long(row, "number"), long(row, "swap_chain") as u64), (number as i64, lane.swap_chain));
        assert_eq!(long(row, "process_id") as u32, lane.process.0);
    }
}

#[test]
fn many_rows_are_several_files_and_groups_of_bounded_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.etl");
    let options = Options { scenario: Scenario::Heap, stacks: StackForm::None, events: 560_000, live: 500, ..Options::default() };
    generate(&options, File::create(&path).unwrap()).unwrap();
    let trace = Arc::new(load(&Capture::open(&[Input::File(path)]).unwrap(), &mut Unwatched).unwrap());
    assert!(trace.rows.len() > 2 * GROUP_ROWS);
    write(&trace, folder.path(), None).unwrap();
    let files = files(folder.path(), "allocations");
    let groups: Vec<i64> = files
        .iter()
        .flat_map(|file| file.metadata().row_groups().iter().map(|group| group.num_rows()).collect::<Vec<_>>())
        .collect();
    assert!(files.len() > 1 && groups.iter().all(|&rows| (1..=GROUP_ROWS as i64).contains(&rows)), "{groups:?}");
    assert_eq!(groups.iter().sum::<i64>(), trace.rows.len() as i64);
    // Statistics let query engines leave row groups out: births are in order.
    let place = table::ALLOCATIONS.columns.iter().position(|column| column.name == "birth_s").unwrap();
    let seconds = |bytes: Option<&[u8]>| f64::from_le_bytes(bytes.unwrap().try_into().unwrap());
    let births: Vec<(f64, f64)> = files
        .iter()
        .flat_map(|file| file.metadata().row_groups())
        .map(|group| group.column(place).statistics().unwrap())
        .map(|births| (seconds(births.min_bytes_opt()), seconds(births.max_bytes_opt())))
        .collect();
    assert!(births.iter().all(|(first, last)| first <= last), "{births:?}");
    assert!(births.is_sorted_by(|(_, last), (next, _)| last <= next), "{births:?}");
}

#[test]
fn a_full_disk_leaves_nothing_that_could_be_taken_for_a_capture() {
    let (trace, folder) = (demo(), tempfile::tempdir().unwrap());
    let lake = Lake::open(folder.path()).unwrap();
    let mut written = 0;
    lake.add("whole", false, |draft| {
        write(&trace, draft, None)?;
        let sizes = fs::read_dir(draft)?.flat_map(|table| fs::read_dir(table.unwrap().path()).unwrap());
        written = sizes.map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>();
        Ok(())
    })
    .unwrap();
    let parts = 40;
    for part in 0..parts {
        let room = DiskRoom::of(written * part / parts);
        let result = lake.add("cut", false, |draft| write(&trace, draft, Some(room)));
        let said = result.unwrap_err().to_string();
        assert!(said.contains("no space left"), "{part}: {said}");
        for table in table::TABLES {
            assert!(!folder.path().join(table.name).join("capture=cut").exists(), "{part}: {}", table.name);
        }
    }
    assert_eq!(lake.add("cut", false, |draft| write(&trace, draft, Some(DiskRoom::of(written)))).unwrap().0, Outcome::Written);
}
