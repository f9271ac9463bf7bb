//! What is no trace, half a trace or a damaged one gets one clear sentence, an
//! exit code, and as many numbers as can be saved; never a panic.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::trace::{BUFFER, small, without_memory_events};
use crate::common::{Run, highwater, json};
use highwater::etl::{Source, TraceFile};
use highwater::events::survey;
use highwater::load::{Capture, Input, Unwatched, Watch, load};
use highwater::model::Trace;
use highwater::problem::{ProblemKind, Problems};
use highwater::query::{
    By, Cancel, Filter, Fold, Index, IndexOptions, ReportFilter, ReportRequest, SeriesOf, TreeRequest, peaks, report, series,
    spans, totals, tree,
};
use highwater::units::{Interval, Ticks};
use proptest::prelude::*;
use tempfile::TempDir;

/// A folder with one file in it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// Runs a command on a file, as text and as JSON.
fn both(command: &str, path: &Path) -> [Run; 2] {
    [highwater([command.as_ref(), path.as_os_str()]), highwater([command.as_ref(), "--json".as_ref(), path.as_os_str()])]
}

/// The file is refused with exit code 1 and one line that names it and says this.
fn assert_refused(path: &Path, what: &str) {
    for run in ["info", "report"].into_iter().flat_map(|command| both(command, path)) {
        assert_eq!(run.code, Some(1), "{run:?}");
        assert_eq!(run.out, "");
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        assert!(run.err.contains(path.to_str().unwrap()) && run.err.contains(what), "{}", run.err);
    }
}

#[test]
fn what_is_no_trace_is_refused_in_one_line() {
    let folder = Folder::new();
    assert_refused(&folder.path("missing.etl"), "no such file");
    assert_refused(folder.0.path(), "directory");
    assert_refused(&folder.with("empty.etl", b""), "empty");
    assert_refused(&folder.with("paper.etl", b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n1 0 obj"), "a PDF document");
    assert_refused(&folder.with("archive.etl", b"PK\x03\x04\x14\0\0\0\x08\0"), "zip archive is damaged");
    for (head, what) in [
        (b"MSCF\0\0\0\0".as_slice(), "a cabinet archive; unpack it (`expand"),
        (b"7z\xBC\xAF\x27\x1C\0\x04", "a 7z archive; unpack it"),
        (b"Rar!\x1A\x07\x01\0", "a RAR archive; unpack it"),
        (b"\x1F\x8B\x08\0\0\0\0\0", "a gzip archive; unpack it"),
        (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "compound file is damaged"),
    ] {
        assert_refused(&folder.with("packed.etl", head), what);
    }
    let empty_zip = [&b"PK\x05\x06"[..], &[0; 18]].concat();
    for bytes in [&b"anything"[..], &empty_zip] {
        assert_refused(
            &folder.with("game.WPIX", bytes),
            "a capture in PIX's own format; record the program with highwater record",
        );
    }
    assert_refused(&folder.with("zeros.etl", &[0; 100_000]), "a file of zeros");
    assert_refused(&folder.with("letter.etl", "Dear user,\nthis is no trace.\n".repeat(100).as_bytes()), "another kind");
    if cfg!(unix) {
        assert_refused(Path::new("/dev/zero"), "a device or a pipe");
    }
    assert_refused(&folder.with("short.etl", &small(false)[..60]), "not an ETW trace");
}

#[test]
fn one_unreadable_file_among_several_is_a_problem_and_no_failure() {
    let folder = Folder::new();
    let (good, bad) = (folder.with("good.etl", &small(false)), folder.path("missing.etl"));
    for pair in [[&good, &bad], [&bad, &good]] {
        let [a, b] = pair.map(|path| path.as_os_str());
        let info = json(["info".as_ref(), "--json".as_ref(), a, b]);
        assert_eq!(info["files"].as_array().unwrap().len(), 1);
        assert_eq!(info["problems"].as_array().unwrap().len(), 1);
        assert_eq!(info["problems"][0]["kind"], "unreadable_file");
        assert_eq!(info["problems"][0]["file"], bad.to_str().unwrap());
        let alone = json(["report".as_ref(), "--json".as_ref(), good.as_os_str()]);
        let both = json(["report".as_ref(), "--json".as_ref(), a, b]);
        assert_eq!(both["groups"], alone["groups"]);
        assert_eq!(both["quality"]["problems"], 1);
        let run = highwater(["report".as_ref(), "--json".as_ref(), a, b]);
        assert_eq!(run.err.lines().count(), 1);
        assert!(run.err.contains("missing.etl: there is no such file"), "{}", run.err);
    }
    let none = highwater(["report".as_ref(), bad.as_os_str(), folder.path("neither.etl").as_os_str()]);
    assert_eq!((none.code, none.err.lines().count()), (Some(1), 1));
}

#[test]
fn a_trace_without_memory_events_says_how_to_record_some() {
    let folder = Folder::new();
    let path = folder.with("quiet.etl", &without_memory_events());
    let [text, machine] = both("report", &path);
    for run in [&text, &machine] {
        assert_eq!(run.code, Some(0));
        assert_eq!(run.err.lines().count(), 1);
        assert!(run.err.contains("quiet.etl") && run.err.contains("record the program with highwater record"), "{}", run.err);
    }
    let report: serde_json::Value = serde_json::from_str(&machine.out).unwrap();
    assert_eq!(report["groups"], serde_json::json!([]));
    assert_eq!(report["quality"]["problems"], 1);
}

#[test]
fn a_cut_trace_opens_as_far_as_it_goes() {
    let folder = Folder::new();
    let whole = small(false);
    assert!(whole.len() > 4 * BUFFER, "cuts need several buffers");
    let path = folder.with("cut.etl", &whole[..2 * BUFFER + 1_000]);
    for command in ["info", "report"] {
        for run in both(command, &path) {
            assert_eq!(run.code, Some(0));
            assert_eq!(run.err.lines().count(), 1);
            assert!(run.err.contains("cut.etl: the file ends"), "{}", run.err);
        }
    }
    let info = json(["info".as_ref(), "--json".as_ref(), path.as_os_str()]);
    assert_eq!(info["problems"][0]["kind"], "truncated_buffer");
    assert_eq!(info["problems"][0]["offset"], 2 * BUFFER);
}

/// The bytes as an open capture of one file. They live as long as the test does.
fn capture(bytes: Vec<u8>) -> Option<Capture> {
    let file = TraceFile::from_source(Source::Memory(bytes.leak()), "test.etl".to_owned()).ok()?;
    Some(Capture { files: vec![file], problems: Problems::default() })
}

/// Asks everything that can be asked of a trace.
fn ask_all(trace: &Trace) {
    let cancel = Cancel::default();
    let index = &Index::build(Arc::new(trace.clone()), &IndexOptions::default(), &cancel).unwrap();
    let middle = Ticks(trace.span.from.0 / 2 + trace.span.to.0 / 2);
    for interval in [
        trace.span,
        Interval { from: middle, to: trace.span.to },
        Interval { from: Ticks(i64::MIN + 1), to: Ticks(i64::MAX - 1) },
    ] {
        let by = vec![By::Process, By::Heap, By::Stack, By::Type, By::Thread];
        let request =
            ReportRequest { interval, by, filter: ReportFilter::default(), top: None, fold: Fold::Nothing, sources: false };
        let groups = report(index, &request, &cancel).unwrap().groups;
        serde_json::to_string(&groups).unwrap();
        let totals = totals(index, interval, &cancel).unwrap();
        let lines = series(index, &totals, &SeriesOf::new(trace, 1, |_| Some(0)), 100, &cancel).unwrap();
        assert!(lines[0].points.len() <= 402);
        let tree = tree(trace, &totals, &TreeRequest::default(), &cancel).unwrap();
        peaks(index, interval, &tree, &cancel).unwrap();
        spans(index, interval, &Filter::all().mask(trace), 100, &cancel).unwrap();
    }
}

#[test]
fn wherever_a_trace_is_cut_what_is_left_counts() {
    for compressed in [false, true] {
        let whole = small(compressed);
        let all = survey(&capture(whole.clone()).unwrap().files[0]).counts;
        let mut events = 0;
        for cut in (0..whole.len()).step_by(61).chain([whole.len()]) {
            let Some(capture) = capture(whole[..cut].to_vec()) else {
                assert!(cut < 100, "{cut} bytes are enough to be a trace");
                continue;
            };
            let survey = survey(&capture.files[0]);
            let total = survey.counts.total;
            assert!(events <= total && total <= all.total, "{total} events in {cut} bytes, {events} in fewer");
            let told = survey.problems.total() + capture.files[0].problems.total();
            assert!(total == all.total || told > 0 || (cut % BUFFER == 0 || compressed), "a cut at {cut} goes unnoticed");
            events = total;
            let trace = load(&capture, &mut Unwatched).unwrap();
            assert_eq!(trace.counts, survey.counts);
            assert!(trace.rows.len() as u64 <= 2 * total);
            ask_all(&trace);
        }
        assert_eq!(events, all.total);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_trace_never_panics_and_never_grows(
        compressed: bool,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = small(compressed);
        for (at, byte) in &flips {
            let n = bytes.len();
            bytes[at.index(n)] = *byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let size = bytes.len();
        if let Some(capture) = capture(bytes) {
            let trace = load(&capture, &mut Unwatched).unwrap();
            prop_assert!(trace.counts.total <= size as u64 * 100, "{} events out of {size} bytes", trace.counts.total);
            prop_assert_eq!(survey(&capture.files[0]).counts, trace.counts);
            ask_all(&trace);
        }
    }

    /// Damage where it hurts most: lengths, sizes and offsets in the first bytes of
    /// buffers and of the session header.
    #[test]
    fn a_damaged_header_never_panics(
        compressed: bool,
        flips in prop::collection::vec((0..6usize, 0..0x120usize, prop::sample::select(vec![0u8, 1, 0x40, 0x7F, 0x80, 0xFF])), 1..6),
    ) {
        let mut bytes = small(compressed);
        for (buffer, at, byte) in flips {
            if let Some(place) = bytes.get_mut(buffer * BUFFER + at) {
                *place = byte;
            }
        }
        if let Some(capture) = capture(bytes) {
            ask_all(&load(&capture, &mut Unwatched).unwrap());
        }
    }
}

/// Does something to the file when the first progress is told.
struct Meddler<F: FnMut()>(Option<F>);

impl<F: FnMut()> Watch for Meddler<F> {
    fn progress(&mut self, _done: u64, _total: u64) -> bool {
        if let Some(mut meddle) = self.0.take() {
            meddle();
        }
        true
    }

    fn publish(&mut self, _trace: Trace) {}
}

fn load_and(path: &Path, meddle: impl FnMut()) -> Trace {
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    load(&capture, &mut Meddler(Some(meddle))).unwrap()
}

#[test]
fn a_file_that_is_cut_while_it_loads_ends_in_a_reported_problem() {
    let folder = Folder::new();
    let path = folder.with("shrinks.etl", &small(false));
    let all = load_and(&path, || {}).counts.total;
    for left in [0, 100, BUFFER as u64 + 100, 3 * BUFFER as u64] {
        fs::write(&path, small(false)).unwrap();
        let trace = load_and(&path, || OpenOptions::new().write(true).open(&path).unwrap().set_len(left).unwrap());
        assert!(trace.counts.total < all);
        // All buffers behind the cut are one problem, wherever it is.
        let told: Vec<_> = trace.problems.iter().filter(|p| p.kind == ProblemKind::TruncatedBuffer).collect();
        assert_eq!(told.len(), 1, "{:?}", trace.problems);
        assert_eq!(told[0].file, path.to_str().unwrap());
        assert!(
            told[0].detail.contains("; so are the next ") || told[0].detail.contains("; so is the next one"),
            "{}",
            told[0].detail
        );
        ask_all(&trace);
    }
}

#[test]
fn a_file_that_is_deleted_while_it_loads_does_no_harm() {
    let folder = Folder::new();
    let path = folder.with("goes.etl", &small(false));
    let trace = load_and(&path, || {
        // Systems that forbid it keep the file, which is as good.
        let _ = fs::remove_file(&path);
    });
    assert!(trace.counts.total > 100 || trace.quality.problems > 0);
    ask_all(&trace);
}

#[test]
fn a_file_that_grows_while_it_loads_is_read_as_it_was() {
    let folder = Folder::new();
    let whole = small(false);
    let path = folder.with("grows.etl", &whole[..3 * BUFFER]);
    let before = load_and(&path, || {}).counts;
    let trace = load_and(&path, || fs::write(&path, &whole).unwrap());
    assert_eq!(trace.counts, before);
}
