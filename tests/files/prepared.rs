//! Prepared traces as files: found again, and found out when anything about them is wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use highwater::events::TrackerProviders;
use highwater::load::prepared::{PreparedPlace, PreparedTraces, Providers};
use highwater::load::{Capture, DEMO_TRACE, Input, Stopped, Unwatched, Watch, load};
use highwater::model::Trace;
use highwater::random::Random;

use crate::common::trace::small;

struct Prepared {
    folder: tempfile::TempDir,
    traces: PreparedTraces,
    inputs: Vec<Input>,
}

impl Prepared {
    /// A trace in a file, and the prepared trace of it.
    fn of(bytes: &[u8]) -> Self {
        let this = Self::empty(bytes);
        assert!(this.keep());
        this
    }

    fn empty(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.etl");
        fs::write(&path, bytes).unwrap();
        let traces = PreparedTraces::new(folder.path().join("cache"), 1 << 30).of_any_size();
        Self { folder, traces, inputs: vec![Input::File(path)] }
    }

    fn place(&self) -> PreparedPlace {
        self.place_with(&[])
    }

    fn place_with(&self, marks: &[String]) -> PreparedPlace {
        let trackers = TrackerProviders::default();
        self.traces.place(&self.inputs, Providers { marks, trackers: &trackers, descriptions: &[] }).unwrap()
    }

    fn keep(&self) -> bool {
        let place = self.place();
        place.keep(&fresh(&self.inputs), &[self.inputs[0].name()], &mut || true).unwrap()
    }

    fn open(&self) -> Option<Trace> {
        self.place().open(u64::MAX, &mut Unwatched).unwrap()
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(self.folder.path().join("cache")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    fn file(&self) -> PathBuf {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        files.into_iter().next().unwrap()
    }
}

fn fresh(inputs: &[Input]) -> Trace {
    load(&Capture::open(inputs).unwrap(), &mut Unwatched).unwrap()
}

/// Texts of all rows, which name everything that rows have.
fn rows(trace: &Trace) -> Vec<String> {
    trace.rows.chunks().flat_map(|chunk| chunk.rows().map(|row| format!("{row:?}")).collect::<Vec<_>>()).collect()
}

#[test]
fn a_trace_opens_again_from_what_was_kept() {
    let prepared = Prepared::of(DEMO_TRACE);
    let (trace, again) = (fresh(&prepared.inputs), prepared.open().unwrap());
    assert_eq!(rows(&again), rows(&trace));
    assert_eq!((again.problems.len(), again.counts, again.symbol_folders.len()), (trace.problems.len(), trace.counts, 0));
    assert!(again.builder() != trace.builder(), "it is not a publication of the same load");
    fs::create_dir(format!("{}.NGENPDB", prepared.inputs[0].name())).unwrap();
    assert_eq!(prepared.open().unwrap().symbol_folders.len(), 1, "folders of symbols are looked for anew");
    assert_eq!(prepared.files().len(), 1);
}

#[test]
fn another_file_other_providers_or_too_little_memory_and_it_is_read_anew() {
    let prepared = Prepared::of(DEMO_TRACE);
    assert!(prepared.place().open(1000, &mut Unwatched).unwrap().is_none());
    assert!(prepared.place_with(&["Some-Provider".to_owned()]).open(u64::MAX, &mut Unwatched).unwrap().is_none());
    assert!(prepared.open().is_some(), "these did not remove it");
    // As long as before, and with the same times; only the last byte differs.
    let path = prepared.inputs[0].path().unwrap().to_owned();
    let modified = path.metadata().unwrap().modified().unwrap();
    let mut bytes = DEMO_TRACE.to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    fs::File::options().append(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert!(prepared.open().is_none());
    assert_eq!(prepared.files(), [] as [PathBuf; 0], "it is of no use any more");
    assert!(prepared.keep() && prepared.open().is_some());
}

#[test]
fn a_damaged_file_is_found_out_and_removed() {
    let prepared = Prepared::of(&small(false));
    let (file, whole) = (prepared.file(), fs::read(prepared.file()).unwrap());
    let mut random = Random::new(1);
    let check = |bytes: &[u8], what: &str| {
        fs::write(&file, bytes).unwrap();
        assert!(prepared.open().is_none(), "{what}");
        assert!(!file.exists(), "{what}");
    };
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << random.index(8);
        check(&damaged, &format!("byte {at}"));
    }
    for length in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
        check(&whole[..length], &format!("cut at {length}"));
    }
    check(&[&whole[..], &[0]].concat(), "longer");
    check(&[&whole[..], &whole[..]].concat(), "twice");
    check(&vec![0; whole.len()], "nothing but zeros");
    check(DEMO_TRACE, "another file");
    fs::write(&file, &whole).unwrap();
    assert!(prepared.open().is_some(), "and whole it is good");
}

#[test]
fn a_folder_or_an_unfinished_file_at_the_place_is_no_trace() {
    let prepared = Prepared::of(&small(false));
    let file = prepared.file();
    fs::remove_file(&file).unwrap();
    assert!(prepared.open().is_none());
    fs::create_dir(&file).unwrap();
    assert!(prepared.open().is_none() && file.is_dir());
}

#[test]
fn nothing_is_kept_of_files_that_changed_meanwhile_or_when_it_is_stopped() {
    let prepared = Prepared::empty(DEMO_TRACE);
    let (place, trace) = (prepared.place(), fresh(&prepared.inputs));
    let mut calls = 0;
    let stop = &mut || {
        calls += 1;
        calls < 3
    };
    assert!(!place.keep(&trace, &[], stop).unwrap());
    let mut bytes = DEMO_TRACE.to_vec();
    bytes.push(0);
    fs::write(prepared.inputs[0].path().unwrap(), bytes).unwrap();
    assert!(!place.keep(&trace, &[], &mut || true).unwrap());
    assert_eq!(prepared.files(), [] as [PathBuf; 0], "no draft is left");
}

#[test]
fn the_folder_keeps_to_its_size_and_forgets_what_was_not_used_for_longest() {
    let folder = tempfile::tempdir().unwrap();
    let input = |name: &str| {
        let path = folder.path().join(name);
        fs::write(&path, DEMO_TRACE).unwrap();
        vec![Input::File(path)]
    };
    let cache = folder.path().join("cache");
    let (trackers, descriptions) = (TrackerProviders::default(), []);
    let providers = Providers { marks: &[], trackers: &trackers, descriptions: &descriptions };
    let keep = |limit: u64, inputs: &[Input]| {
        let place = PreparedTraces::new(cache.clone(), limit).of_any_size().place(inputs, providers).unwrap();
        place.keep(&fresh(inputs), &[], &mut || true).unwrap()
    };
    let is_kept = |inputs: &[Input]| {
        let traces = PreparedTraces::new(cache.clone(), 1).of_any_size();
        traces.place(inputs, providers).unwrap().open(u64::MAX, &mut Unwatched).unwrap().is_some()
    };
    let (first, second, third) = (input("1.etl"), input("2.etl"), input("3.etl"));
    assert!(keep(u64::MAX, &first));
    let size = fs::read_dir(&cache).unwrap().next().unwrap().unwrap().metadata().unwrap().len();
    let pause = || std::thread::sleep(Duration::from_millis(30));
    pause();
    assert!(keep(u64::MAX, &second));
    pause();
    assert!(is_kept(&first), "now it was used later than the second");
    pause();
    assert!(keep(size * 5 / 2, &third));
    assert!(is_kept(&first) && !is_kept(&second) && is_kept(&third));
    assert!(!keep(size / 2, &second), "too large to be kept at all");
    PreparedTraces::new(cache.clone(), 0).clear();
    assert!(!is_kept(&first) && fs::read_dir(&cache).unwrap().next().is_none());
}

#[test]
fn neither_the_demo_nor_a_small_file_nor_a_folder_has_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let traces = PreparedTraces::new(folder.path().to_owned(), 1 << 30);
    let any = traces.clone().of_any_size();
    let trackers = TrackerProviders::default();
    let has_place = |traces: &PreparedTraces, inputs: &[Input]| {
        traces.place(inputs, Providers { marks: &[], trackers: &trackers, descriptions: &[] }).is_some()
    };
    let small = Input::File(folder.path().join("a.etl"));
    assert!(!has_place(&any, std::slice::from_ref(&small)), "it is not there");
    fs::write(small.path().unwrap(), DEMO_TRACE).unwrap();
    assert!(has_place(&any, std::slice::from_ref(&small)) && !has_place(&traces, std::slice::from_ref(&small)));
    assert!(!has_place(&any, &[Input::Demo]) && !has_place(&any, &[small, Input::Demo]) && !has_place(&any, &[]));
    assert!(!has_place(&any, &[Input::File(folder.path().to_owned())]));
}

#[test]
fn another_thread_keeps_a_trace_as_long_as_somebody_has_it() {
    let wait = |prepared: &Prepared| {
        let start = Instant::now();
        while prepared.traces.is_at_work() {
            assert!(start.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    let prepared = Prepared::empty(DEMO_TRACE);
    let trace = Arc::new(fresh(&prepared.inputs));
    assert!(prepared.place().wants(&trace, Duration::ZERO));
    prepared.place().keep_later(&trace, Vec::new());
    wait(&prepared);
    assert!(prepared.open().is_some());
    prepared.traces.clear();
    let place = prepared.place();
    place.keep_later(&Arc::new(fresh(&prepared.inputs)), Vec::new());
    wait(&prepared);
    assert_eq!(prepared.files(), [] as [PathBuf; 0], "nobody has it any more");
}

/// A watcher that stops at once.
struct Impatient;

impl Watch for Impatient {
    fn progress(&mut self, _: u64, _: u64) -> bool {
        false
    }

    fn publish(&mut self, _: Trace) {}
}

#[test]
fn opening_can_be_stopped_and_an_archive_opens_without_being_expanded() {
    let prepared = Prepared::of(DEMO_TRACE);
    assert_eq!(prepared.place().open(u64::MAX, &mut Impatient).err(), Some(Stopped));
    assert!(prepared.open().is_some(), "that did not remove it");
    let packed = crate::common::packed::zip(&[("a.etl", DEMO_TRACE)], &[zip::CompressionMethod::Deflated]);
    let archive = Prepared::of(&packed);
    assert_eq!(rows(&archive.open().unwrap()), rows(&prepared.open().unwrap()));
    assert!(Path::new(&archive.inputs[0].name()).is_file());
}
