//! The beginning of a large file is shown before all of it is opened, and changes nothing of what is loaded.

use std::path::PathBuf;
use std::time::Duration;

use highwater_dev::synth::{Options, generate};

use super::*;
use crate::load::{Unwatched, load};

/// Bytes of zeros behind the trace: opening looks at all of them, a preview at none.
const ZEROS: u64 = 1 << 30;

/// A file that takes long to open, though it has few events.
fn slow_to_open(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("slow.etl");
    let options = Options { events: 30_000, distinct_stacks: 50, live: 1_000, ..Options::default() };
    let file = generate(&options, std::fs::File::create(&path).unwrap()).unwrap();
    file.set_len(file.metadata().unwrap().len().next_multiple_of(64 << 10) + ZEROS).unwrap();
    path
}

fn start(path: PathBuf, pace: Pace) -> LoadJob {
    let job = LoadJob::start(egui::Context::default(), vec![Input::File(path)], u64::MAX, pace, ProviderChoice::default(), None);
    job.want_trace();
    job
}

/// The next trace.
fn next(job: &mut LoadJob, waiting: &mut Vec<LoadEvent>) -> Arc<Trace> {
    let start = Instant::now();
    loop {
        waiting.extend(job.drain());
        if !waiting.is_empty() {
            let LoadEvent::Trace(trace) = waiting.remove(0) else { panic!("it cannot be loaded") };
            return trace;
        }
        std::thread::sleep(Duration::from_millis(1));
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}

/// Rows, sites, processes, heaps and doubts of a trace.
fn told(trace: &Trace) -> Vec<String> {
    let rows = trace.rows.chunks().flat_map(|chunk| chunk.rows().map(|(_, row)| format!("{row:?}")).collect::<Vec<_>>());
    let state = format!("{:?} {:?} {:?} {:?}", trace.span, trace.quality, trace.counts, trace.problems);
    let names = format!("{:?} {:?} {:?}", trace.processes, trace.heaps, trace.sites);
    [state, names].into_iter().chain(rows).collect()
}

#[test]
fn the_beginning_is_shown_before_all_headers_are_read_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = slow_to_open(&folder);
    let mut job = start(path.clone(), Pace::AtOnce);
    let mut waiting = Vec::new();
    let preview = next(&mut job, &mut waiting);
    assert!(!job.has_begun() && job.progress() == 0.0, "the file is not open yet");
    assert!(!preview.complete && !preview.rows.is_empty());
    let mut last = preview;
    while !last.complete {
        job.want_trace();
        let trace = next(&mut job, &mut waiting);
        assert!(trace.complete || trace.span.to > last.span.to, "it goes back");
        last = trace;
    }
    let opened = load(&Capture::open(&[Input::File(path)]).unwrap(), &mut Unwatched).unwrap();
    assert!(told(&last) == told(&opened));
}

#[test]
fn a_trace_that_is_played_has_no_preview() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = start(slow_to_open(&folder), Pace::Played(1e9));
    next(&mut job, &mut Vec::new());
    assert!(job.has_begun() || job.progress() > 0.0);
}

#[test]
fn a_load_that_is_dropped_leaves_no_thread() {
    let folder = tempfile::tempdir().unwrap();
    let path = slow_to_open(&folder);
    for wait in [0, 2, 50] {
        let job = start(path.clone(), Pace::AtOnce);
        std::thread::sleep(Duration::from_millis(wait));
        let shared = Arc::downgrade(&job.shared);
        drop(job);
        let start = Instant::now();
        while shared.strong_count() > 0 {
            std::thread::sleep(Duration::from_millis(1));
            assert!(start.elapsed() < Duration::from_secs(60));
        }
    }
}
