//! Tests that generated traces read back without problems, say the same in every form, and are the same again for the
//! same options.

use std::io::Cursor;
use std::sync::Arc;

use super::*;
use crate::etl::compression::Algorithm;
use crate::etl::{Source, TraceFile};
use crate::events::EventCounts;
use crate::load::{Capture, Unwatched, load};
use crate::model::{Site, Trace};
use crate::problem::Problems;
use crate::query::{By, Cancel, Fold, Index, ReportFilter, ReportRequest, report};
use crate::units::{Interval, Ticks};

const SCENARIOS: [Scenario; 3] = [Scenario::Heap, Scenario::Commit, Scenario::Trackers];
const FORMS: [StackForm; 3] = [StackForm::None, StackForm::Walk, StackForm::Keys];

fn small(scenario: Scenario, stacks: StackForm) -> Options {
    Options { scenario, stacks, events: 20_000, distinct_stacks: 200, live: 3000, ..Options::default() }
}

fn bytes(options: &Options) -> Vec<u8> {
    generate(options, Cursor::new(Vec::new())).unwrap().into_inner()
}

fn open(options: &Options) -> Capture {
    let file = TraceFile::from_source(Source::Memory(bytes(options).leak()), "synth.etl".to_owned()).unwrap();
    Capture { files: vec![file], problems: Problems::default() }
}

fn trace(options: &Options) -> Trace {
    let trace = load(&open(options), &mut Unwatched).unwrap();
    assert_eq!(trace.problems, [], "{options:?}");
    trace
}

fn memory_events(counts: &EventCounts) -> u64 {
    let heap = counts.heap_create + counts.heap_destroy + counts.heap_alloc + counts.heap_free + counts.heap_realloc;
    let tracker =
        counts.tracker_open + counts.tracker_close + counts.tracker_alloc + counts.tracker_free + counts.tracker_realloc;
    heap + tracker + counts.virtual_alloc + counts.virtual_free
}

#[test]
fn every_scenario_in_every_form_reads_back_without_problems() {
    for scenario in SCENARIOS {
        for stacks in FORMS {
            for (processors, compressed) in [(1, Some(Algorithm::Xpress)), (4, None)] {
                let options = Options { processors, compressed, events: 4000, ..small(scenario, stacks) };
                let counts = trace(&options).counts;
                let extra = memory_events(&counts) - options.events;
                assert!(extra < 20, "{extra} {options:?}");
                let stacks = counts.stack + counts.stack_key_ref + counts.inline_stack;
                assert_eq!(stacks > 1000, options.stacks != StackForm::None);
                assert_eq!(counts.stack_key_definition > 0, options.stacks == StackForm::Keys);
            }
        }
    }
}

#[test]
fn the_form_of_compression_changes_nothing_but_the_size() {
    let plain = Options { events: 4000, ..small(Scenario::Heap, StackForm::Walk) };
    let counts = trace(&plain).counts;
    for algorithm in Algorithm::ALL {
        let options = Options { compressed: Some(algorithm), ..plain.clone() };
        let capture = open(&options);
        assert_eq!(capture.files[0].compression, Some(algorithm));
        assert_eq!(trace(&options).counts, counts);
        assert!(bytes(&options).len() < bytes(&plain).len() / 2);
    }
}

#[test]
fn the_same_options_give_the_same_bytes() {
    for scenario in SCENARIOS {
        let options = small(scenario, StackForm::Keys);
        assert!(bytes(&options) == bytes(&options));
        assert!(bytes(&options) != bytes(&Options { seed: 2, ..options }));
    }
}

#[test]
fn taking_time_over_it_changes_nothing() {
    let options = Options { events: 2000, ..small(Scenario::Heap, StackForm::Keys) };
    assert!(bytes(&Options { speed: Some(2.0), ..options.clone() }) == bytes(&options));
    assert!(bytes(&Options { speed: Some(f64::NAN), ..options.clone() }) == bytes(&options));
}

/// Allocations by process, heap and stack.
fn allocations(trace: &Trace) -> Vec<(String, u64, u64)> {
    let all = Interval::new(Ticks(i64::MIN + 1), Ticks(i64::MAX - 1));
    let by = vec![By::Process, By::Heap, By::Stack];
    let index = Index::scan(Arc::new(trace.clone()));
    let request =
        ReportRequest { interval: all, by, filter: ReportFilter::default(), top: None, fold: Fold::Nothing, sources: false };
    let groups = report(&index, &request, &Cancel::default()).unwrap().groups;
    let mut all: Vec<_> = groups
        .iter()
        .map(|g| {
            let key = format!("{:?} {:?} {} {:?} {:?}", g.process, g.pid, g.layer, g.heap, g.stack);
            (key, g.numbers.allocated_count, g.numbers.allocated_size)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn walked_stacks_and_reused_keys_tell_the_same() {
    for scenario in SCENARIOS {
        for wow64 in [false, true] {
            let walk = trace(&Options { wow64, ..small(scenario, StackForm::Walk) });
            let keys = trace(&Options { wow64, ..small(scenario, StackForm::Keys) });
            assert!(allocations(&walk).len() > 100);
            assert!(allocations(&walk) == allocations(&keys), "{scenario:?}");
        }
    }
}

#[test]
fn callers_of_system_calls_are_known_whatever_event_their_stack_names() {
    for stacks in [StackForm::Walk, StackForm::Keys] {
        let trace = trace(&small(Scenario::Commit, stacks));
        let outermost = |site: &Site| trace.stacks.chain(site.stack).last().map(|node| trace.stacks.address(node));
        let outermost: Vec<u64> = trace.sites.iter().filter_map(outermost).collect();
        let of_kernel = outermost.iter().filter(|&&address| address >= PointerSize::Eight.kernel_start()).count();
        assert!(outermost.len() > 100);
        assert_eq!(of_kernel, 0, "of {}, {stacks:?}", outermost.len());
    }
}

#[test]
fn other_headers_tell_the_same() {
    for scenario in SCENARIOS {
        for stacks in [StackForm::Walk, StackForm::Keys] {
            let options = Options { wow64: scenario != Scenario::Commit, ..small(scenario, stacks) };
            let plain = trace(&options);
            let mixed = trace(&Options { mixed_headers: true, ..options });
            assert!(allocations(&plain) == allocations(&mixed), "{scenario:?}");
        }
    }
}

#[test]
fn keys_are_reused() {
    let options = small(Scenario::Heap, StackForm::Keys);
    let counts = trace(&options).counts;
    assert!(counts.stack_key_definition > u64::from(options.distinct_stacks) * 3 / 4 + 50, "{counts:?}");
}

#[test]
fn heap_blocks_are_freed_before_their_address_is_used_again() {
    let options = Options { wow64: true, ..small(Scenario::Heap, StackForm::None) };
    let quality = trace(&options).quality;
    assert_eq!(quality.superseded_allocations, 0);
    assert!((10..100).contains(&quality.unmatched_frees), "{quality:?}");
}

#[test]
fn impossible_options_are_refused() {
    for options in [
        Options { processors: 0, ..Options::default() },
        Options { live: 0, ..Options::default() },
        Options { threads: 65, ..Options::default() },
        Options { wow64: true, live: 2_000_000, ..Options::default() },
        Options { processors: 3000, ..Options::default() },
    ] {
        assert!(generate(&options, Cursor::new(Vec::new())).is_err(), "{options:?}");
    }
}
