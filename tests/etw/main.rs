//! Recording on Windows against a simulated ETW: what sessions are asked for, byte by byte,
//! what becomes of the events they deliver, and what goes wrong.
#![cfg(windows)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests say what they expect by unwrapping it")]

mod activity;
mod beside;
mod cost;
mod documents;
mod followed;
mod remote;
mod running;
mod self_test;
mod simulated;
mod start;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use highwater::capture::control::Progress;
use highwater::capture::windows::LocalRecording;
use highwater::capture::{CaptureError, Request, Summary, Target};
use highwater::etl::TraceFile;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::Trace;
use highwater::query::{By, Cancel, Index, ReportFilter, ReportRequest, report};
use highwater::synth::{Options, generate};
use simulated::events::{Lanes, lanes};
use simulated::state::Simulated;
use tempfile::TempDir;

/// A generated trace, ETW that tells it, and a place for the recording of it.
struct Scene {
    place: TempDir,
    etw: Simulated,
    events: u64,
}

impl Scene {
    fn new(options: &Options) -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("generated.etl");
        generate(options, std::fs::File::create(&path).unwrap()).unwrap();
        let trace = TraceFile::open(&path).unwrap();
        let lanes = lanes(&trace);
        let events = lanes.iter().map(|lane| lane.len() as u64).sum();
        Self { etw: Simulated::new(lanes, trace.header.start_ticks), place, events }
    }

    /// With nothing to tell.
    fn silent() -> Self {
        let etw = Simulated::new(Lanes::default(), 0);
        Self { place: tempfile::tempdir().unwrap(), etw, events: 0 }
    }

    fn start(&self, request: &Request) -> Result<LocalRecording, CaptureError> {
        LocalRecording::start(request, &self.place.path().join("recording"))
    }

    fn stop(&self, mut running: LocalRecording) -> Summary {
        running.finish(&self.place.path().join("recorded.etl"), &mut |_, _| true).unwrap()
    }

    fn load(&self, name: &str) -> Trace {
        open(&self.place.path().join(name))
    }

    fn refusal(&self, request: &Request) -> String {
        match self.start(request) {
            Ok(_) => panic!("it started"),
            Err(error) => error.to_string(),
        }
    }
}

fn open(path: &Path) -> Trace {
    load(&Capture::open(&[Input::File(path.to_owned())]).unwrap(), &mut Unwatched).unwrap()
}

/// This process, all layers with stacks.
fn request() -> Request {
    Request::new(Target::Pids(vec![std::process::id()]))
}

/// Of generated processes, which are not there: by the name of the first.
fn of_all() -> Request {
    Request::new(Target::Image(FIRST.to_owned()))
}

/// What generated traces call their first program.
const FIRST: &str = "app0.exe";

fn poll_until(running: &mut LocalRecording, what: &str, is_it: impl Fn(&Progress) -> bool) -> Progress {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let progress = running.poll();
        if is_it(&progress) {
            return progress;
        }
        assert!(Instant::now() < end, "{what}: {progress:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until nothing comes any more.
fn poll_until_quiet(running: &mut LocalRecording) {
    const QUIET: Duration = Duration::from_millis(700);
    let (mut came, mut last) = (0, Instant::now());
    poll_until(running, "silence", |_| true);
    let end = Instant::now() + Duration::from_secs(60);
    while last.elapsed() < QUIET {
        let events = running.poll().events;
        if events != came {
            (came, last) = (events, Instant::now());
        }
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The numbers of all groups, without the moments: the recorded trace begins elsewhere.
fn groups(trace: Trace) -> Vec<String> {
    let interval = trace.span;
    let by = vec![By::Process, By::Heap, By::Stack, By::Thread];
    let request = ReportRequest { interval, by, filter: ReportFilter::default(), top: None, fold: false };
    let mut report = report(&Index::scan(Arc::new(trace)), &request, &Cancel::default()).unwrap();
    report.groups.iter_mut().for_each(|group| group.process_start_s = None);
    let mut groups: Vec<String> = report.groups.iter().map(|group| format!("{group:?}")).collect();
    groups.sort();
    groups
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}
