//! Traces that are made to be slow say what is in them all the same. How fast they are is
//! measured elsewhere.

use std::io::{Read, Seek};
use std::sync::Arc;

use crate::common::hostile_replay::{OVERLAPPED, frees_without_process, overlapping_modules, threads_of_one_tick, volumes};
use crate::common::hostile_tables::{self as tables, Keys, unkeyed_hash};
use crate::common::trace::small;
use highwater::etl::{Source, TraceFile};
use highwater::events::TrackerProviders;
use highwater::export::cut::{Request, cut};
use highwater::export::{Exported, Format, Value, write};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{Module, NodeId, Processes, Trace};
use highwater::problem::Problems;
use highwater::query::{
    By, Cancel, Fold, Functions, FunctionsRequest, Index, IndexOptions, Mask, ReportFilter, ReportRequest, UnmatchedRequest,
    findings, functions, totals, unmatched,
};
use highwater::symbols::Names;
use highwater::units::{Interval, Ticks};

fn loaded(bytes: Vec<u8>) -> Trace {
    let file = TraceFile::from_source(Source::Memory(bytes.leak()), "hostile.etl".to_owned()).unwrap();
    load(&Capture { files: vec![file], problems: Problems::default() }, &mut Unwatched).unwrap()
}

#[test]
fn all_volumes_are_known_once_and_in_order() {
    let trace = loaded(volumes(300));
    let names: Vec<_> = trace.volumes.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(names, (0..300).map(|n| format!(r"\Device\Volume{n}")).collect::<Vec<_>>());
}

#[test]
fn stacks_of_frees_are_not_those_of_allocations_however_many_threads_write_at_a_tick() {
    for threads in [1, 31, 32, 33, 34, 500] {
        let trace = loaded(threads_of_one_tick(threads));
        assert_eq!((trace.rows.len(), trace.quality.unmatched_frees), (threads, threads as u64));
        let mut rows = trace.rows.chunks().flat_map(|chunk| chunk.rows());
        assert!(rows.all(|(_, row)| trace.site(row.site).stack == NodeId::ROOT));
        assert!(trace.unmatched.iter().all(|free| free.stack != NodeId::ROOT));
    }
}

#[test]
fn frames_in_many_modules_lie_in_the_one_that_was_mapped() {
    for stay in [true, false] {
        let trace = loaded(overlapping_modules(60, 2_000, stay));
        let modules = &trace.processes.iter().find(|process| !process.modules.is_empty()).unwrap().modules;
        assert_eq!((modules.len(), trace.sites.len()), (60, 2_000usize.div_ceil(192)));
        let mut met = Vec::new();
        for site in &trace.sites {
            for address in trace.stacks.chain(site.stack).map(|node| trace.stacks.address(node)) {
                assert!(address >= OVERLAPPED);
                let is_mapped = |module: &&Module| module.load <= site.first && site.first < module.unload;
                let expected = modules.iter().filter(|module| module.covers(address)).find(is_mapped).unwrap();
                let found = trace.module_at(site.caller, address, site.first).unwrap();
                assert!(std::ptr::eq(found, expected), "{} for {}", found.name(), expected.name());
                met.push(found.name());
            }
        }
        met.dedup();
        assert_eq!(met.len(), if stay { 1 } else { trace.sites.len() }, "{met:?}");
    }
}

#[test]
fn frees_that_no_header_and_no_stack_gives_to_a_process_end_the_only_block() {
    let trace = loaded(frees_without_process(5_000));
    assert_eq!((trace.quality.inferred_frees, trace.quality.unmatched_frees), (4_500, 500));
    assert_eq!((trace.rows.len(), trace.rows.by_death().len()), (5_500, 4_500));
    assert!(trace.processes.iter().all(|process| process.pid.is_known()), "nothing is nobody's");
}

/// All that is said of a trace, in as many ways as there are.
fn answers(capture: &Capture) -> Vec<(String, Vec<u8>)> {
    let (never, names) = (Cancel::default(), Names::default());
    let trace = Arc::new(load(capture, &mut Unwatched).unwrap());
    let index = Index::build(Arc::clone(&trace), &IndexOptions::default(), &never).unwrap();
    let interval = Interval { from: Ticks(trace.span.to.0 / 3), to: trace.span.to };
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    for by in [vec![By::Process], vec![By::Heap, By::Stack], vec![By::Thread, By::Type], vec![By::Function, By::Module]] {
        let request = ReportRequest {
            interval,
            by: by.clone(),
            filter: ReportFilter::default(),
            top: None,
            fold: Fold::Nothing,
            sources: false,
        };
        let exported = Exported::new(&index, &names, &request, &never).unwrap();
        for format in Format::ALL.into_iter().filter(|format| *format != Format::Parquet) {
            let mut bytes = Vec::new();
            let is_written = write(&exported, format, Value::Outstanding, &mut bytes).is_ok();
            all.push((format!("{by:?} as {format:?}: {is_written}"), bytes));
        }
    }
    let functions_of = Functions::of(&trace, &names, Fold::Allocator, &never).unwrap();
    let sums = totals(&index, interval, &never).unwrap();
    let request = FunctionsRequest { mask: Mask::all(&trace), of: None, top: None };
    let (groups, _) = functions((&index, &Names::default()), &functions_of, &sums, &request, &never).unwrap();
    all.push(("functions".to_owned(), serde_json::to_vec(&groups).unwrap()));
    let found = findings(&index, interval, &Mask::all(&trace), &names, &never).unwrap();
    all.push(("findings".to_owned(), format!("{found:?}").into()));
    all.push((
        "unmatched".to_owned(),
        format!("{:?}", unmatched(&trace, &names, &unmatched_request(interval), &never).unwrap()).into(),
    ));
    all.push(("counters".to_owned(), format!("{:?}", trace.counters).into()));
    all.push(("sites".to_owned(), format!("{:?}", trace.sites).into()));
    let (trace_start, processes) = (capture.trace_start(), &Processes::All);
    let request = Request {
        files: &capture.files,
        trace: &trace,
        trace_start,
        interval,
        processes,
        trackers: &TrackerProviders::default(),
        descriptions: &[],
        anonymises: true,
    };
    let mut file = tempfile::tempfile().unwrap();
    cut(&request, file.try_clone().unwrap(), &mut |_, _| true).unwrap();
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    all.push(("cut".to_owned(), bytes));
    all
}

#[test]
fn no_answer_depends_on_the_keys_of_tables() {
    let open = |bytes: Vec<u8>| {
        let file = TraceFile::from_source(Source::Memory(bytes.leak()), "hostile.etl".to_owned()).unwrap();
        Capture { files: vec![file], problems: Problems::default() }
    };
    let captures = [
        Capture::open(&[Input::Demo]).unwrap(),
        open(small(true)),
        open(tables::heaps(Keys::Random, 300)),
        open(tables::counters(Keys::Random, 300)),
        open(tables::one_function_in_processes(200)),
        open(threads_of_one_tick(200)),
    ];
    for capture in &captures {
        // Each table has a key of its own each time.
        let first = answers(capture);
        for _ in 0..3 {
            for ((what, first), (_, again)) in first.iter().zip(answers(capture)) {
                assert!(*first == again, "{}: {what} differs", capture.files[0].name);
            }
        }
    }
}

#[test]
fn keys_that_are_made_to_collide_would() {
    for (behind, words) in [(0, vec![1, 7]), (1, vec![3])] {
        let hash = |n| {
            let key = words.iter().copied().chain([Keys::Colliding(behind).at(n)]).chain((0..behind).map(|_| 9));
            unkeyed_hash(&key.collect::<Vec<_>>())
        };
        // The lower bits choose the place, and the upper seven are compared first.
        let place = |hash: u64| (hash & 0xF_FFFF, hash >> 57);
        assert!((2..50_000).all(|n| place(hash(n)) == place(hash(1))), "{behind}");
    }
}

#[test]
fn pages_that_are_committed_once_more_are_counted_once() {
    let count = 200;
    let trace = loaded(tables::commits_over(count));
    // The single pages, and the gaps between them, all at once.
    assert_eq!(trace.rows.len(), 2 * count);
    let bytes: u64 = trace.rows.chunks().flat_map(|chunk| chunk.rows()).map(|(_, row)| row.size).sum();
    assert_eq!(bytes, 0x1000 * 2 * count as u64);
    let trace = loaded(tables::decommits_over(count));
    assert_eq!((trace.rows.len(), trace.quality.unmatched_frees), (0, 0));
}

fn unmatched_request(interval: Interval) -> UnmatchedRequest {
    let (by, filter) = (vec![By::Process, By::Heap, By::Stack], ReportFilter::default());
    UnmatchedRequest { interval, by, filter, under: Vec::new(), fold: Fold::Nothing }
}
