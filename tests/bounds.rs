//! What small files may cost that were made to cost much: seconds and memory, for each of
//! them. A new one is one line in [`INPUTS`].
//!
//! Memory is the most that was allocated at once, which is the same in every run but for
//! what threads do side by side. Seconds are some ten times what they take without
//! optimisation, for machines are busy; what they were before was far beyond.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]
#![allow(clippy::print_stdout, reason = "the numbers of a run are worth reading")]

#[path = "bounds/names.rs"]
mod bounds_of_names;
mod common;
#[path = "common/hostile_queries.rs"]
#[allow(dead_code, reason = "each test uses its own part")]
mod hostile_queries;
#[path = "damage/memory.rs"]
#[allow(dead_code, reason = "one worker measures here")]
mod memory;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::hostile_tables::{self as tables, Keys};
use common::trace::{session, trace};
use common::{hostile, hostile_replay};
use highwater::events::{Event, Record, TrackerProviders, survey};
use highwater::export::cut::{Request, cut};
use highwater::export::{Exported, Format, Value, write};
use highwater::load::{Capture, Input, Plan, Unwatched, Watch, load, load_planned};
use highwater::model::{Processes, Trace};
use highwater::query::{
    By, Cancel, Fold, Forest, Functions, FunctionsRequest, Index, IndexOptions, Mask, ReportFilter, ReportRequest, RowSort,
    TreeRequest, UnmatchedRequest, findings, function_sums, functions, histogram, peaks, report, rows, totals, tree, unmatched,
};
use highwater::symbols::Names;
use highwater::units::{Interval, Layer, Pid, Ticks, Tid};
use hostile_queries::{Told, chain, many_heaps};
use memory::Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// A file, what is asked of it, and what that may cost.
struct Bound {
    name: &'static str,
    bytes: fn() -> Vec<u8>,
    /// Returns what was said of the file, which must contain `says`.
    asked: fn(&Path) -> String,
    says: &'static str,
    seconds: f64,
    megabytes: usize,
}

const fn bound(
    name: &'static str,
    bytes: fn() -> Vec<u8>,
    (asked, says): (fn(&Path) -> String, &'static str),
    seconds: f64,
    megabytes: usize,
) -> Bound {
    Bound { name, bytes, asked, says, seconds, megabytes }
}

#[rustfmt::skip]
const INPUTS: [Bound; 44] = [
    bound("24 streams of 64 MiB", || hostile::wide_streams(24, 1, 64 << 20, usize::MAX), (opened, "claims to hold 64.00 MB"), 2.0, 40),
    bound("24 streams of 16 MiB from nothing", || hostile::wide_streams(24, 2, 16 << 20, usize::MAX), (opened, "claims to hold 16.00 MB"), 2.0, 40),
    bound("500 buffers of 1 MiB from nothing", || hostile::wide_streams(100, 5, 1 << 20, usize::MAX), (opened, "over 200 times as much"), 10.0, 60),
    bound("24 streams of 1 MiB that are believed", || hostile::wide_streams(24, 2, 1 << 20, 32), (opened, "898705 events"), 20.0, 60),
    bound("ties that wait for one another", || hostile::handovers(330, 1, 660), (opened, ""), 2.0, 20),
    bound("ties on 128 streams", || hostile::handovers(128, 4, 10_000), (opened, ""), 5.0, 30),
    bound("carried batches", || hostile::carried(65_000, 18_000), (opened, ""), 10.0, 60),
    bound("carried batches, cut", || hostile::carried(65_000, 18_000), (cut_out, "events"), 20.0, 80),
    bound("24 streams of 1 MiB, cut", || hostile::wide_streams(24, 2, 1 << 20, 32), (cut_out, "events"), 40.0, 150),
    bound("exports of 40,000 processes", || written(many_processes(40_000)), (exported, "exports"), 30.0, 300),
    bound("deep stacks", || hostile::deep_stacks(2_000), (opened, ""), 10.0, 40),
    bound("nested storages", || hostile::nested_storages(5_700), (opened, "nested"), 2.0, 40),
    bound("streams that are hard to find", || hostile::many_streams(4_000, 1_500), (opened, "holds no ETW trace"), 10.0, 40),
    bound("volumes", || hostile_replay::volumes(60_000), (opened, ""), 5.0, 100),
    bound("threads of one tick", || hostile_replay::threads_of_one_tick(40_000), (asked, "1 groups"), 10.0, 200),
    bound("modules over one another", || hostile_replay::overlapping_modules(8_000, 40_000, true), (asked, "groups"), 10.0, 200),
    bound("modules one after the other", || hostile_replay::overlapping_modules(8_000, 40_000, false), (asked, "groups"), 10.0, 200),
    bound("a chain of 190 frames", || written(chain(190, 4_000)), (asked, "1 groups"), 10.0, 200),
    bound("10,000 active heaps", || written(many_heaps(10_000, 40_000)), (asked, "groups"), 10.0, 200),
    bound("views of deep stacks", || hostile::deep_stacks(2_000), (viewed, "functions"), 20.0, 300),
    bound("views of a chain of 190 frames", || written(chain(190, 4_000)), (viewed, "190 functions"), 10.0, 200),
    bound("views of 10,000 active heaps", || written(many_heaps(10_000, 40_000)), (viewed, "0 functions"), 20.0, 300),
    bound("views of modules over one another", || hostile_replay::overlapping_modules(8_000, 40_000, true), (viewed, "functions"), 20.0, 300),
    bound("views of modules one after the other", || hostile_replay::overlapping_modules(8_000, 40_000, false), (viewed, "functions"), 20.0, 300),
    bound("heap handles that collide", || tables::heaps(Keys::Colliding(0), 50_000), (asked, "groups"), 10.0, 200),
    bound("bases of images that collide", || tables::images(Keys::Colliding(0), 50_000), (opened, "50"), 10.0, 100),
    bound("bases of images to come that collide", || tables::early_ids(Keys::Colliding(0), 50_000), (opened, "100"), 10.0, 100),
    bound("addresses of frames that collide", || tables::frames(Keys::Colliding(0), 50_000), (viewed, "50000 functions"), 10.0, 300),
    bound("keys of stacks that collide", || tables::stack_keys(Keys::Colliding(0), 50_000), (opened, "100"), 10.0, 100),
    bound("starts of methods that collide", || tables::methods(Keys::Colliding(0), 50_000), (opened, "50"), 10.0, 100),
    bound("handles of counters that collide", || tables::counters(Keys::Colliding(1), 30_000), (published, "publications"), 10.0, 100),
    bound("commits over committed pages", || tables::commits_over(8_000), (asked, "groups"), 5.0, 60),
    bound("decommits over reserved pages", || tables::decommits_over(8_000), (opened, "16"), 5.0, 60),
    bound("pages that are split and come back", || tables::split_pages(4_000), (asked, "groups"), 10.0, 60),
    bound("a function in 8,000 processes", || tables::one_function_in_processes(8_000), (asked_of_function, "8000 with callers"), 10.0, 100),
    bound("equal blocks at one tick, cut", || tables::equal_blocks(15_000), (cut_late, "events"), 10.0, 60),
    bound("a large tick, cut", || tables::a_large_tick(15_000), (cut_late, "events"), 10.0, 60),
    bound("counters of many lives", || tables::counters_of_many_lives(30_000), (published, "publications"), 10.0, 100),
    bound("frees of many lives", || tables::frees_of_many_lives(30_000), (unmatched_frees, "30000 groups"), 10.0, 100),
    bound("an archive of what expands again", || tables::archive(&[tables::alike_buffers(400)]), (opened, "over 200 times as much"), 5.0, 100),
    bound("an archive of many that expand again", || tables::archive(&vec![tables::alike_buffers(20); 100]), (opened, "over 200 times as much"), 10.0, 250),
    bound("members over one another", || tables::members_over_one_another(200), (opened, "more bytes than it has"), 5.0, 60),
    bound("many processes of one function, viewed", || tables::one_function_in_processes(8_000), (viewed, "3 functions"), 20.0, 200),
    bound("repeated tables of sectors", || hostile::repeated_tables(2_800), (opened, "more tables than sectors"), 2.0, 20),
];

/// Files of the shared folder, where they are.
#[rustfmt::skip]
const CASES: [Bound; 4] = [
    bound("hostile-colliding-heaps", Vec::new, (asked, "25000 groups"), 5.0, 100),
    bound("hostile-commit-over", Vec::new, (asked, "groups"), 5.0, 60),
    bound("hostile-decommit-reserved", Vec::new, (opened, "events"), 5.0, 60),
    bound("hostile-functions-of", Vec::new, (asked_of_function, "2000 with callers"), 5.0, 60),
];

/// Memory that a trace may use here: less than most machines have, so that it is dealt out.
const BUDGET: u64 = 256 << 20;

fn written(records: impl Iterator<Item = Told>) -> Vec<u8> {
    trace(session(false), &records.collect::<Vec<_>>())
}

/// So many processes, each with a heap and a block of its own.
fn many_processes(processes: u32) -> impl Iterator<Item = Told> {
    (1..=processes).map(|n| {
        let event = Event::Alloc { layer: Layer::Heap, heap: 0x1_0000 + u64::from(n), address: 0x1000, size: u64::from(n) };
        (Record { time: 1_000 + i64::from(n), pid: Pid(4 * n), tid: Tid(7), event }, Vec::new())
    })
}

/// Opens and loads it, and asks what window and report ask: the groups by stack, and the
/// peaks of all open lines.
fn asked(path: &Path) -> String {
    let never = Cancel::default();
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let trace = Arc::new(load(&capture, &mut Unwatched).unwrap());
    let index = Index::build(Arc::clone(&trace), &IndexOptions::default(), &never).unwrap();
    let by = vec![By::Process, By::Heap, By::Stack];
    let request = ReportRequest {
        interval: trace.span,
        by,
        filter: ReportFilter::default(),
        top: None,
        fold: Fold::Nothing,
        sources: false,
    };
    let groups = report(&index, &request, &never).unwrap().groups.len();
    let totals = totals(&index, trace.span, &never).unwrap();
    let tree = tree(&trace, &totals, &TreeRequest::default(), &never).unwrap();
    let peaks = peaks(&index, trace.span, &tree, &never).unwrap();
    assert_eq!(peaks.len(), tree.len());
    format!("{groups} groups")
}

/// Opens and loads it, and asks what the views of the window ask.
fn viewed(path: &Path) -> String {
    let never = Cancel::default();
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let trace = Arc::new(load(&capture, &mut Unwatched).unwrap());
    let index = Index::build(Arc::clone(&trace), &IndexOptions::default(), &never).unwrap();
    let (names, mask) = (Names::default(), Mask::all(&trace));
    let functions = Functions::of(&trace, &names, Fold::Allocator, &never).unwrap();
    let totals = totals(&index, trace.span, &never).unwrap();
    let sums = function_sums(&trace, &functions, &totals, &mask, &never).unwrap();
    let trees = [Forest::top_down(&functions), Forest::inverted(&functions, &never).unwrap()];
    for layer in Layer::ALL {
        trees.iter().for_each(|tree| drop(tree.sums(&trace, &totals, &mask, layer)));
        histogram(&index, trace.span, &mask, layer, &never).unwrap();
    }
    rows(&index, trace.span, &mask, RowSort::default(), 1000, &never).unwrap();
    let found = findings(&index, trace.span, &mask, &names, &never).unwrap();
    format!("{} functions, {} sums, {} findings", functions.len(), sums.len(), found.len())
}

/// Opens and loads it, as the command line does.
fn opened(path: &Path) -> String {
    match Capture::open(&[Input::File(path.to_owned())]) {
        Err(refusal) => refusal.to_string(),
        Ok(capture) => {
            let surveyed: u64 = capture.files.iter().map(|file| survey(file).counts.total).sum();
            let plan = Plan { budget: BUDGET, ..Plan::default() };
            let trace = load_planned(&capture, &plan, &mut Unwatched).unwrap();
            assert_eq!(trace.counts.total, surveyed, "the survey and the load count alike");
            let problems = trace.problems.iter().map(|problem| problem.detail.as_str());
            format!("{surveyed} events\n{}", problems.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Opens and loads it, and cuts all of it out.
fn cut_out(path: &Path) -> String {
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let trace = load_planned(&capture, &Plan { budget: BUDGET, ..Plan::default() }, &mut Unwatched).unwrap();
    let request = Request {
        files: &capture.files,
        trace: &trace,
        trace_start: capture.trace_start(),
        interval: trace.span,
        processes: &Processes::All,
        trackers: &TrackerProviders::default(),
        anonymises: false,
        descriptions: &[],
    };
    let summary = cut(&request, tempfile::tempfile().unwrap(), &mut |_, _| true).unwrap();
    format!("{} events", summary.events)
}

/// The same for the last tick of it.
fn cut_late(path: &Path) -> String {
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let trace = load(&capture, &mut Unwatched).unwrap();
    let interval = Interval { from: Ticks(trace.span.to.0 - 1), to: trace.span.to };
    let (trace_start, processes) = (capture.trace_start(), &Processes::All);
    let request = Request {
        files: &capture.files,
        trace: &trace,
        trace_start,
        interval,
        processes,
        trackers: &TrackerProviders::default(),
        anonymises: false,
        descriptions: &[],
    };
    let summary = cut(&request, tempfile::tempfile().unwrap(), &mut |_, _| true).unwrap();
    format!("{} events", summary.events)
}

/// Opens and loads it, and takes what is known of it again and again.
fn published(path: &Path) -> String {
    struct Often(usize);
    impl Watch for Often {
        fn progress(&mut self, _: u64, _: u64) -> bool {
            true
        }

        fn publish(&mut self, _: Trace) {
            self.0 += 1;
        }
    }
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let mut often = Often(0);
    let trace = load(&capture, &mut often).unwrap();
    format!("{} counters, {} publications", trace.counters.len(), often.0)
}

/// Opens and loads it, and asks for the callers and callees of a function.
fn asked_of_function(path: &Path) -> String {
    let (never, names) = (Cancel::default(), Names::default());
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let trace = Arc::new(load(&capture, &mut Unwatched).unwrap());
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let all = Functions::of(&trace, &names, Fold::Nothing, &never).unwrap();
    let totals = totals(&index, trace.span, &never).unwrap();
    let request = FunctionsRequest { mask: Mask::all(&trace), of: Some("0x500000".to_owned()), top: None };
    let (groups, _) = functions((&index, &Names::default()), &all, &totals, &request, &never).unwrap();
    format!("{} with callers", groups.iter().filter(|group| group.callers.is_some()).count())
}

/// Opens and loads it, and asks for the frees of blocks that were not alive.
fn unmatched_frees(path: &Path) -> String {
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let trace = load(&capture, &mut Unwatched).unwrap();
    let request = UnmatchedRequest {
        interval: trace.span,
        by: vec![By::Process, By::Heap, By::Stack],
        filter: ReportFilter::default(),
        under: Vec::new(),
        fold: Fold::Nothing,
    };
    format!("{} groups", unmatched(&trace, &Names::default(), &request, &Cancel::default()).unwrap().len())
}

/// Opens and loads it, and writes it in all formats of one file.
fn exported(path: &Path) -> String {
    let (never, names) = (Cancel::default(), Names::default());
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let trace = Arc::new(load(&capture, &mut Unwatched).unwrap());
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let request = ReportRequest {
        interval: trace.span,
        by: vec![By::Process],
        filter: ReportFilter::default(),
        top: None,
        fold: Fold::Nothing,
        sources: false,
    };
    let exported = Exported::new(&index, &names, &request, &never).unwrap();
    let formats = Format::ALL.into_iter().filter(|format| *format != Format::Parquet);
    let written = formats.map(|format| write(&exported, format, Value::Outstanding, &mut std::io::sink()).unwrap());
    format!("{} exports", written.count())
}

impl Bound {
    /// What it took, and what was wrong with that.
    fn check(&self, folder: &Path) -> Option<String> {
        let path = folder.join("hostile.etl");
        std::fs::write(&path, (self.bytes)()).unwrap();
        self.check_file(&path)
    }

    /// The same for a file that is there.
    fn check_file(&self, path: &Path) -> Option<String> {
        let Self { name, says, seconds, megabytes, .. } = self;
        let size = path.metadata().unwrap().len() as usize;
        let before = memory::begin(0);
        let start = Instant::now();
        let said = (self.asked)(path);
        let took = start.elapsed();
        let used = memory::peak(0).saturating_sub(before);
        let tenths = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        println!("{name}: {:.3} MB, {:.2} s, {:.1} MB of memory", tenths(size), took.as_secs_f64(), tenths(used));
        if !said.contains(says) {
            return Some(format!("{name}: it does not say {says:?}, but {:?}", said.chars().take(300).collect::<String>()));
        }
        let is_within = took < Duration::from_secs_f64(*seconds) && used < megabytes << 20;
        (!is_within).then(|| {
            format!("{name}: {:.1} s and {:.0} MB; at most {seconds} s and {megabytes} MB", took.as_secs_f64(), tenths(used))
        })
    }
}

#[test]
fn no_small_file_takes_much_time_or_memory() {
    let folder = tempfile::tempdir().unwrap();
    let only = std::env::var("HIGHWATER_BOUND").unwrap_or_default();
    let inputs = INPUTS.iter().chain(&bounds_of_names::INPUTS).filter(|input| input.name.contains(&only));
    let mut faults: Vec<String> = inputs.filter_map(|input| input.check(folder.path())).collect();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases");
    for case in CASES.iter().filter(|case| case.name.contains(&only)) {
        let path = cases.join(format!("{}.zip", case.name));
        match path.is_file() {
            true => faults.extend(case.check_file(&path)),
            false => common::skip("no such case"),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Kinds of tables, traces whose keys meet in one place of them or not, and what is asked of those.
type Tables = [(&'static str, fn(Keys, usize) -> Vec<u8>, fn(&Path) -> String); 6];

#[test]
#[ignore = "prints how much longer keys that collide take than random ones, side by side"]
#[allow(clippy::print_stdout, reason = "this is what it is for")]
fn keys_that_collide_take_as_long_as_random_ones() {
    let all: Tables = [
        ("heap handles", tables::heaps, asked),
        ("bases of images", tables::images, opened),
        ("bases of images to come", tables::early_ids, opened),
        ("addresses of frames", tables::frames, viewed),
        ("keys of stacks", tables::stack_keys, opened),
        ("starts of methods", tables::methods, opened),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (what, trace, ask) in all {
        let files = [Keys::Random, Keys::Colliding(0)].map(|keys| {
            let path = folder.path().join(format!("{keys:?}.etl"));
            std::fs::write(&path, trace(keys, 100_000)).unwrap();
            path
        });
        let mut best = [f64::INFINITY; 2];
        for turn in 0..10 {
            let start = Instant::now();
            ask(&files[turn % 2]);
            best[turn % 2] = best[turn % 2].min(start.elapsed().as_secs_f64());
        }
        println!("{what}: {:.2} x ({:.3} s, {:.3} s)", best[1] / best[0], best[0], best[1]);
    }
}
