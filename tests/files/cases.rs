//! Small inputs made after bug reports: what the replay makes of them. They lie beside the repository, as the corpus
//! does.

use std::path::Path;
use std::sync::Arc;

use crate::common::skip;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::Trace;
use highwater::query::{By, Cancel, Fold, Group, Index, ReportFilter, ReportRequest, doubts, report};
use serde_json::{Value, json};

/// The trace of a case; `None` where the cases are missing.
fn case(name: &str) -> Option<Trace> {
    let path = std::path::absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases").join(name)).unwrap();
    if !path.is_file() {
        skip("no cases");
        return None;
    }
    let capture = Capture::open(&[Input::File(path)]).unwrap();
    Some(load(&capture, &mut Unwatched).unwrap())
}

fn groups(trace: &Trace, process: Option<&str>) -> Vec<Group> {
    let filter = ReportFilter { process: process.map(str::to_owned), ..ReportFilter::default() };
    let request = ReportRequest {
        interval: trace.span,
        by: vec![By::Process, By::Heap],
        filter,
        top: None,
        fold: Fold::Nothing,
        sources: false,
    };
    report(&Index::scan(Arc::new(trace.clone())), &request, &Cancel::default()).unwrap().groups
}

/// Frees that matched nothing, blocks that took the place of others.
fn mismatches(trace: &Trace) -> [u64; 2] {
    [trace.quality.unmatched_frees, trace.quality.superseded_allocations]
}

/// Rows, those that were freed, and bytes alive at the end.
fn numbers(group: &Group) -> [u64; 3] {
    [group.numbers.count, group.numbers.freed_count, group.numbers.outstanding_to]
}

#[test]
fn a_moving_realloc_whose_copy_takes_long_is_counted_once() {
    for name in ["realloc-gap-1.2ms.zip", "realloc-gap-40ms.zip"] {
        let Some(trace) = case(name) else { return };
        let groups = groups(&trace, None);
        assert_eq!(groups.iter().map(numbers).collect::<Vec<_>>(), [[11, 11, 0]], "{name}");
        assert_eq!(mismatches(&trace), [0, 0], "{name}");
    }
}

#[test]
fn a_realloc_of_nothing_is_an_allocation() {
    let Some(trace) = case("realloc-null.zip") else { return };
    assert_eq!(groups(&trace, None).iter().map(numbers).collect::<Vec<_>>(), [[3, 0, 300]]);
    assert_eq!(mismatches(&trace), [0, 0]);
}

#[test]
fn releases_of_placeholders_and_of_what_has_ended_are_no_unmatched_frees() {
    for name in ["placeholders.zip", "virtual-free-after-exit.zip"] {
        let Some(trace) = case(name) else { return };
        assert_eq!(mismatches(&trace), [0, 0], "{name}");
        assert!(groups(&trace, None).iter().all(|group| group.numbers.outstanding_to == 0), "{name}");
    }
}

#[test]
fn what_a_child_wrote_a_microsecond_before_its_start_is_its_own() {
    let Some(trace) = case("heap-before-start.zip") else { return };
    let groups = groups(&trace, None);
    let lives: Vec<_> = groups.iter().map(|group| (group.pid, group.process_start_s.is_some(), numbers(group))).collect();
    assert_eq!(lives, [(Some(4660), true, [6, 6, 0])]);
    assert_eq!(mismatches(&trace), [0, 0]);
}

#[test]
fn processes_are_called_and_found_as_their_images() {
    let Some(trace) = case("process-names.zip") else { return };
    let names: Vec<&str> = trace.processes.iter().map(|process| process.name.as_str()).collect();
    assert_eq!(names, ["höhe.exe", "игра.exe", "游戏.exe", "ゲーム.exe", "game™.exe", "héros.exe", "ゲーム二.exe"]);
    for name in names {
        let found = groups(&trace, Some(&name.to_uppercase()));
        assert_eq!(found.iter().map(|group| group.process.as_deref()).collect::<Vec<_>>(), [Some(name)]);
    }
}

#[test]
fn sums_beyond_64_bits_are_said_to_be() {
    let Some(trace) = case("hostile-huge-sizes.zip") else { return };
    assert!(trace.quality.sums_saturate);
    assert!(doubts(&trace, trace.span.to).iter().any(|doubt| doubt.contains("Sums exceed 64 bits")));
    assert_eq!(serde_json::to_value(trace.quality).unwrap()["sums_saturate"], true);
    for group in groups(&trace, None) {
        let value: Value = serde_json::to_value(&group).unwrap();
        assert_eq!(value["impacting_size"], Value::Null, "{value}");
        assert_eq!((&value["outstanding_from"], &value["outstanding_to"]), (&json!(0), &json!(u64::MAX)));
    }
    let Some(ordinary) = case("realloc-gap-40ms.zip") else { return };
    assert!(!ordinary.quality.sums_saturate && doubts(&ordinary, ordinary.span.to).is_empty());
    assert_eq!(serde_json::to_value(ordinary.quality).unwrap()["sums_saturate"], Value::Null);
}

#[test]
fn blocks_of_mimalloc_and_pix_are_trackers() {
    let Some(trace) = case("allocators.zip") else { return };
    let told = |trace: &Trace| -> Vec<_> {
        groups(trace, None).iter().map(|group| (group.heap.clone().unwrap_or_default(), numbers(group))).collect()
    };
    // 1,000 blocks of 1 KB of which 600 were freed; 500 of 4 KB of which 200 were, in two allocators.
    let mut found = told(&trace);
    found.sort();
    let pix = |n: u32| (format!("PIX allocator {n}"), [250, 100, 150 << 12]);
    assert_eq!(found, [pix(1), pix(2), ("mimalloc".to_owned(), [1000, 600, 400 << 10])]);
    let Some(trace) = case("mimalloc.zip") else { return };
    assert_eq!(
        told(&trace).iter().map(|(name, [count, freed, _])| (&**name, *count, *freed)).collect::<Vec<_>>(),
        [("mimalloc", 30, 1)]
    );
}
