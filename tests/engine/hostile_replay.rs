//! Traces that are made to be slow say what is in them all the same. How fast they are is
//! measured elsewhere.

use crate::common::hostile_replay::{OVERLAPPED, frees_without_process, overlapping_modules, threads_of_one_tick, volumes};
use highwater::etl::{Source, TraceFile};
use highwater::load::{Capture, Unwatched, load};
use highwater::model::{Module, NodeId, Trace};
use highwater::problem::Problems;

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
