//! A generated trace, ETW that tells it, and the recording of it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use highwater::capture::control::Progress;
use highwater::capture::windows::LocalRecording;
use highwater::capture::{CaptureError, Request, Summary, Target};
use highwater::etl::TraceFile;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::Trace;
use highwater::query::{By, Cancel, Fold, Index, ReportFilter, ReportRequest, report};
use highwater_dev::synth::{Options, Scenario, generate};
use tempfile::TempDir;

use crate::simulated::admit::Asked;
use crate::simulated::events::{KERNEL, Lanes, Told, lanes};
use crate::simulated::state::Simulated;

/// A generated trace, ETW that tells it, and a place for the recording of it.
pub struct Scene {
    pub place: TempDir,
    pub etw: Simulated,
    /// So many are recorded of the first program, if all is asked for that [`of_all`] asks for.
    pub events: u64,
}

impl Scene {
    /// Of one program, or of several where there are to be pages of others.
    pub fn new(options: &Options) -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("generated.etl");
        let processes = if options.scenario == Scenario::Commit { options.processes } else { 1 };
        generate(&Options { processes, ..options.clone() }, std::fs::File::create(&path).unwrap()).unwrap();
        let trace = TraceFile::open(&path).unwrap();
        let lanes = lanes(&trace);
        let events = recorded(&lanes);
        Self { etw: Simulated::new(lanes, trace.header.start_ticks), place, events }
    }

    /// With nothing to tell.
    pub fn silent() -> Self {
        let etw = Simulated::new(Lanes::default(), 0);
        Self { place: tempfile::tempdir().unwrap(), etw, events: 0 }
    }

    pub fn start(&self, request: &Request) -> Result<LocalRecording, CaptureError> {
        LocalRecording::start(request, &self.place.path().join("recording"))
    }

    pub fn stop(&self, mut running: LocalRecording) -> Summary {
        running.finish(&self.place.path().join("recorded.etl"), &mut |_, _| true).unwrap()
    }

    pub fn load(&self, name: &str) -> Trace {
        open(&self.place.path().join(name))
    }

    pub fn refusal(&self, request: &Request) -> String {
        match self.start(request) {
            Ok(_) => panic!("it started"),
            Err(error) => error.to_string(),
        }
    }
}

/// How many of these are recorded of the first program: those that its sessions admit, without the threads of others.
fn recorded(lanes: &Lanes) -> u64 {
    let asked = Asked::usual(lanes, &[FIRST]);
    let pids = asked.traced(lanes);
    let is_its = |told: &Told| !told.is_of_a_thread() || pids.contains(&told.word(0));
    let of_lane = |(lane, all): (usize, &Vec<Told>)| {
        let is_recorded = |told: &&Told| asked.admits(lane, told, &pids) && (lane != KERNEL || is_its(told));
        all.iter().filter(is_recorded).count() as u64
    };
    lanes.iter().enumerate().map(of_lane).sum()
}

fn open(path: &Path) -> Trace {
    load(&Capture::open(&[Input::File(path.to_owned())]).unwrap(), &mut Unwatched).unwrap()
}

/// This process, all layers with stacks.
pub fn request() -> Request {
    Request::new(Target::Pids(vec![std::process::id()]))
}

/// Of generated processes, which are not there: by the name of the first.
pub fn of_all() -> Request {
    Request::new(Target::Image(FIRST.to_owned()))
}

/// The name of a session of this process.
pub fn session_name(lane: &str) -> String {
    format!("highwater-{:012}-{lane}", std::process::id())
}

/// What generated traces call their first program.
pub const FIRST: &str = "app0.exe";

pub fn poll_until(running: &mut LocalRecording, what: &str, is_it: impl Fn(&Progress) -> bool) -> Progress {
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
pub fn poll_until_quiet(running: &mut LocalRecording) {
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
pub fn groups(trace: Trace) -> Vec<String> {
    let interval = trace.span;
    let by = vec![By::Process, By::Heap, By::Stack, By::Thread];
    let request = ReportRequest { interval, by, filter: ReportFilter::default(), top: None, fold: Fold::Nothing, sources: false };
    let mut report = report(&Index::scan(Arc::new(trace)), &request, &Cancel::default()).unwrap();
    report.groups.iter_mut().for_each(|group| group.process_start_s = None);
    let mut groups: Vec<String> = report.groups.iter().map(|group| format!("{group:?}")).collect();
    groups.sort();
    groups
}

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}
