//! No input breaks it: thousands of damaged traces on every run, each opened,
//! loaded and asked. None may panic, hang, or take much more memory than it has
//! bytes.
//!
//! The same cases come every time. `HIGHWATER_MUTATIONS` says how many (20,000),
//! `HIGHWATER_SEED` gives others, and `HIGHWATER_CASE` runs a single one, leaving
//! the damaged file where it says. `HIGHWATER_DIGESTS` names a file that gets a line
//! for each case: two versions of the engine that say the same write the same lines.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the numbers of a run are worth reading")]

mod common;
mod damage;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use common::bodies::{self, Reached};
use common::packed;
use damage::base::{self, Base};
use damage::file::damaged;
use damage::memory::{self, Counted, WORKERS};
use highwater::random::Random;
use zip::CompressionMethod;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Memory of a case: at most so much for each byte of its files …
const BYTES_PER_BYTE: usize = 64;
/// … and so much besides: room for one buffer of the largest believable size, and
/// for what a damaged size of a compressed one expands to.
const BYTES_BESIDES: usize = 8 << 20;

/// Time of a case: at most so much, and so much for each MB of its files; a few
/// milliseconds are usual.
const SECONDS: f64 = 5.0;
const SECONDS_A_MB: f64 = 20.0;

/// A case that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// A run over some bases.
struct Run {
    bases: Vec<Base>,
    seed: u64,
    cases: u64,
    next: AtomicU64,
    done: AtomicBool,
    /// What each worker is at, and since when.
    current: [Mutex<Option<(u64, Instant)>>; WORKERS],
    /// Held for reading by every case, for writing by one that must be alone.
    alone: RwLock<()>,
    results: Mutex<Results>,
    folder: tempfile::TempDir,
}

#[derive(Default)]
struct Results {
    events: u64,
    rows: u64,
    /// What the cases say, by case.
    digests: BTreeMap<u64, u64>,
    largest_peak: usize,
    slowest: Duration,
    /// What went wrong, with the cases in which it did.
    failures: BTreeMap<String, Vec<u64>>,
}

impl Run {
    fn new(bases: Vec<Base>, cases: u64) -> Self {
        Self {
            bases,
            seed: from_env("HIGHWATER_SEED").unwrap_or(1),
            cases,
            next: AtomicU64::new(0),
            done: AtomicBool::new(false),
            current: [const { Mutex::new(None) }; WORKERS],
            alone: RwLock::new(()),
            results: Mutex::default(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// All cases on all workers, watched.
    fn go(&self) {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(move || self.work(worker))).collect();
            scope.spawn(|| self.watch());
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            self.done.store(true, Ordering::Relaxed);
        });
    }

    fn work(&self, worker: usize) {
        loop {
            let case = self.next.fetch_add(1, Ordering::Relaxed);
            if case >= self.cases {
                return;
            }
            let start = Instant::now();
            *self.current[worker].lock().unwrap() = Some((case, start));
            self.one(worker, case);
            *self.current[worker].lock().unwrap() = None;
            let mut results = self.results.lock().unwrap();
            results.slowest = results.slowest.max(start.elapsed());
        }
    }

    /// Nothing can stop a thread that hangs: say which case it is, and end.
    fn watch(&self) {
        while !self.done.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
            for current in &self.current {
                if let Some((case, since)) = *current.lock().unwrap()
                    && since.elapsed() > LIMIT
                {
                    eprintln!("case {case} hangs: HIGHWATER_SEED={} HIGHWATER_CASE={case}", self.seed);
                    std::process::abort();
                }
            }
        }
    }

    fn random(&self, case: u64) -> Random {
        Random::new(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(case))
    }

    /// The files of a case; now and then there are two of one capture.
    fn files(&self, worker: usize, case: u64) -> (Vec<PathBuf>, usize) {
        let mut random = self.random(case);
        let count = if random.one_in(8) { 2 } else { 1 };
        let mut size = 0;
        let paths = (0..count).map(|n| {
            let bytes = damaged(&self.bases, &mut random);
            size += bytes.len();
            let path = self.folder.path().join(format!("{worker}-{n}.etl"));
            std::fs::write(&path, bytes).unwrap();
            path
        });
        (paths.collect(), size)
    }

    fn one(&self, worker: usize, case: u64) {
        let (paths, size) = self.files(worker, case);
        let allowed = BYTES_PER_BYTE * size + BYTES_BESIDES;
        let shared = self.alone.read().unwrap();
        let start = Instant::now();
        let (mut result, mut used) = measure(worker, &paths, case);
        let took = start.elapsed().as_secs_f64();
        drop(shared);
        if used > allowed {
            // Perhaps the neighbour did it.
            let _alone = self.alone.write().unwrap();
            (result, used) = measure(worker, &paths, case);
        }
        if result.is_ok() && used > allowed {
            result = Err(format!("took {} MB for a trace of {} KB", used >> 20, size >> 10));
        }
        if result.is_ok() && took > SECONDS + SECONDS_A_MB * size as f64 / f64::from(1 << 20) {
            result = Err(format!("took {took:.0} s for a trace of {} KB", size >> 10));
        }
        let mut results = self.results.lock().unwrap();
        match result {
            Ok(Reached { events, rows, digest }) => {
                results.digests.insert(case, digest);
                results.events += u64::from(events > 20);
                results.rows += u64::from(rows > 0);
                results.largest_peak = results.largest_peak.max(used.saturating_sub(BYTES_PER_BYTE * size));
            }
            Err(message) => results.failures.entry(message).or_default().push(case),
        }
    }

    /// Prints how far the cases came, and fails if any failed.
    fn verdict(&self, what: &str) {
        let results = self.results.lock().unwrap();
        let Results { events, rows, digests, largest_peak, slowest, failures } = &*results;
        let cases = self.cases;
        println!("{what}: {cases} cases; {events} gave events, {rows} allocations; the slowest took {} ms", slowest.as_millis());
        println!("memory: at most {} KB beyond {BYTES_PER_BYTE} for each byte", largest_peak >> 10);
        if let Some(path) = std::env::var_os("HIGHWATER_DIGESTS") {
            let lines: String = digests.iter().map(|(case, digest)| format!("{what} {case} {digest:x}\n")).collect();
            let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
            file.write_all(lines.as_bytes()).unwrap();
        }
        for (message, cases) in failures {
            eprintln!("{} cases: {message}\n  HIGHWATER_SEED={} HIGHWATER_CASE={}", cases.len(), self.seed, cases[0]);
        }
        assert!(failures.is_empty(), "{} kinds of failures, see above", failures.len());
    }
}

/// Opens the files and asks all; tells what went wrong, and how much memory it took.
fn measure(worker: usize, paths: &[PathBuf], case: u64) -> (Result<Reached, String>, usize) {
    let before = memory::begin(worker);
    let result = catch_unwind(AssertUnwindSafe(|| bodies::open_files(paths, case)));
    let used = memory::peak(worker) - before.min(memory::peak(worker));
    let text = |payload: Box<dyn std::any::Any + Send>| match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().map_or_else(|| "a panic".to_owned(), |text| (*text).to_owned()),
    };
    (result.map_err(text), used)
}

/// How many cases a run has, unless the environment says it.
const CASES: u64 = 20_000;

/// Memory is counted for the whole process: one run at a time.
static TURN: Mutex<()> = Mutex::new(());

fn run(what: &str, bases: impl FnOnce() -> Vec<Base>, cases: u64, share_with_events: u64, share_with_rows: u64) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let run = Run::new(bases(), cases); // they take memory, too
    if let Some(case) = from_env("HIGHWATER_CASE") {
        let (paths, _) = run.files(0, case);
        for path in &paths {
            let kept = std::env::temp_dir().join(format!("highwater-case-{case}-{}", path.file_name().unwrap().display()));
            std::fs::copy(path, &kept).unwrap();
            println!("case {case} of {what}: {}", kept.display());
        }
        println!("{:?}", bodies::open_files(&paths, case));
        return;
    }
    run.go();
    run.verdict(what);
    // What only breaks the front door says nothing of the rooms behind it.
    let results = run.results.lock().unwrap();
    assert!(results.events * 100 >= cases * share_with_events, "too few cases gave events");
    assert!(results.rows * 100 >= cases * share_with_rows, "too few cases gave allocations");
}

#[test]
fn undamaged_bases_load_without_a_problem() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.etl");
    for base in base::ours() {
        let bytes = base.bytes();
        assert!((4 << 10..200 << 10).contains(&bytes.len()), "{}: {} bytes", base.name, bytes.len());
        std::fs::write(&path, bytes).unwrap();
        let reached = bodies::open_files(std::slice::from_ref(&path), 1);
        assert!(reached.events > 140 && reached.rows > 40, "{}: {reached:?}", base.name);
        let capture = highwater::load::Capture::open(&[highwater::load::Input::File(path.clone())]).unwrap();
        assert_eq!(capture.problems.total() + highwater::events::survey(&capture.files[0]).problems.total(), 0, "{}", base.name);
        let events: usize = base.pieces.iter().map(|piece| piece.events().len()).sum();
        assert_eq!(events as u64, reached.events, "{}: all its events can be damaged", base.name);
    }
}

/// Runs a fuzz target's body on noise, and on `seeds` with a few bytes changed.
fn feed(times: u64, seeds: &[Vec<u8>], body: impl Fn(&[u8])) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut random = Random::new(from_env("HIGHWATER_SEED").unwrap_or(1));
    for _ in 0..times {
        let mut data = match seeds.get(random.index(seeds.len() + 1)) {
            Some(seed) => seed.clone(),
            None => (0..random.below(300)).map(|_| random.bits() as u8).collect(),
        };
        for _ in 0..random.below(6) {
            let at = random.index(data.len());
            if let Some(byte) = data.get_mut(at) {
                *byte = random.bits() as u8;
            }
        }
        body(&data);
    }
}

#[test]
fn noise_and_damage_break_no_buffer_and_no_stream() {
    let ours = base::ours();
    let pieces = || ours.iter().flat_map(|base| &base.pieces);
    let buffers: Vec<_> = pieces().map(|piece| piece.plain.clone()).collect();
    feed(20_000, &buffers, bodies::buffer);
    let streams: Vec<_> = pieces()
        .filter(|piece| piece.compressed)
        .map(|piece| [&(piece.plain.len() as u16 - 72).to_le_bytes()[..], &piece.raw[72..]].concat())
        .collect();
    feed(4_000, &streams, bodies::compression);
}

#[test]
fn noise_and_damage_break_no_archive() {
    let traces: Vec<Vec<u8>> = base::ours().iter().take(3).map(Base::bytes).collect();
    let seed = |kind: u8, archive: Vec<u8>| [vec![kind], archive].concat();
    let seeds: Vec<Vec<u8>> = traces
        .iter()
        .flat_map(|trace| {
            let members: [(&str, &[u8]); 2] = [("kernel.etl", trace), ("sub/notes.txt", b"no trace")];
            let zipped = [CompressionMethod::Deflated, CompressionMethod::Stored].map(|method| packed::zip(&members, &[method]));
            let compound = packed::compound(&[("/sc/kernel.etl", trace), ("/notes", b"no trace")]);
            zipped.into_iter().map(|zip| seed(0, zip)).chain([seed(1, compound)]).collect::<Vec<_>>()
        })
        .collect();
    assert!(seeds.iter().all(|seed| bodies::archive(seed).rows > 40), "undamaged they are read");
    let reached = Cell::new(0);
    feed(600, &seeds, |data| reached.set(reached.get() + u32::from(bodies::archive(data).rows > 0)));
    assert!(reached.get() > 100, "too few cases gave allocations: {}", reached.get());
}

#[test]
fn noise_breaks_no_payload() {
    // Every kind of event with a payload of zeros, and with one of long text.
    let of = |fill: &[u8]| -> Vec<u8> {
        let kinds = 0..bodies::PAYLOAD_KINDS as u8;
        kinds.flat_map(|kind| [&[kind, kind << 3, 120][..], &fill.repeat(120)[..120]].concat()).collect()
    };
    feed(3_000, &[of(&[0]), of(&[0x41, 0]), of(&[0xFF])], |data| {
        bodies::payload(data);
    });
}

#[test]
fn no_damage_to_generated_traces_breaks_anything() {
    run("generated traces", base::ours, from_env("HIGHWATER_MUTATIONS").unwrap_or(CASES), 75, 70);
}

#[test]
fn no_damage_to_real_traces_breaks_anything() {
    let Some(folder) = common::corpus() else { return };
    let cases = from_env("HIGHWATER_MUTATIONS").unwrap_or(CASES) / 10;
    run("real traces", || base::real(&folder), cases, 40, 0);
}
