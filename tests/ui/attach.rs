//! Recording from the window, without a screen and without Windows: a program is chosen,
//! what it does is seen while it does it, and in the end it is a trace like any other.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::common::lanes::{Apart, take_apart};
use crate::common::told::told;
use crate::driver::{Window, give, press, settle, wait_for, window_set};
use eframe::egui;
use egui_kittest::kittest::Queryable;
use highwater::app::{Options, Settings};
use highwater::capture::{
    CaptureError, Cost, Lane, LaneWriter, Manifests, Program, Pulse, Recorder, Recording, Request, Running, Target,
};
use highwater::etl::write::Loss;
use highwater::events::{Described, UndescribedKind};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater_dev::synth::{self, Scenario, StackForm};
use tempfile::TempDir;

/// A machine on which one program runs, and what it does is known.
struct Machine {
    apart: Arc<Apart>,
    /// So many events have happened; the test lets time pass.
    due: AtomicU64,
    asked: Mutex<Vec<Request>>,
    refusal: Mutex<Option<u32>>,
    /// Why it is over, and what it takes.
    ends: Mutex<Option<String>>,
    cost: Mutex<Option<Cost>>,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Machines(Arc<Machine>);

impl Recorder for Machines {
    fn programs(&self) -> Result<Vec<Program>, CaptureError> {
        let program = |pid, name: &str, bytes, is_in_front| Program {
            pid,
            name: name.to_owned(),
            private_bytes: Some(bytes),
            is_in_front,
            ..Program::default()
        };
        Ok(vec![program(700, "explorer.exe", 80 << 20, false), program(4660, "game.exe", 10 << 20, true)])
    }

    fn start(&self, request: &Request, folder: &Path) -> Result<Box<dyn Running>, CaptureError> {
        self.0.asked.lock().unwrap().push(request.clone());
        if let Some(code) = *self.0.refusal.lock().unwrap() {
            return Err(CaptureError::Windows { what: "the heap session could not be started".to_owned(), code });
        }
        let recording = Recording::create(folder, &self.0.apart.session, request.ring)?.keep_lanes();
        let writers = Lane::ALL.map(|lane| recording.lane(lane));
        Ok(Box::new(Sessions { machine: Arc::clone(&self.0), recording: Some(recording), writers, done: 0, has_lost: false }))
    }
}

struct Sessions {
    machine: Arc<Machine>,
    recording: Option<Recording>,
    writers: [LaneWriter; 4],
    done: usize,
    has_lost: bool,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

impl Sessions {
    fn deliver(&mut self, to: usize) {
        let events = &self.machine.apart.events;
        for event in &events[self.done.min(to)..to.min(events.len())] {
            event.give(&mut self.writers[event.lane as usize]);
        }
        self.done = to.min(events.len());
    }
}

impl Running for Sessions {
    fn pulse(&mut self) -> Result<Pulse, CaptureError> {
        self.deliver(self.machine.due.load(Ordering::SeqCst) as usize);
        if self.done > self.machine.apart.events.len() / 2 && !std::mem::replace(&mut self.has_lost, true) {
            let time = self.machine.apart.events[self.done - 1].time;
            self.writers[Lane::Heap as usize].lost(time, Loss::Events(3))?;
        }
        let recording = self.recording.as_ref().ok_or(CaptureError::Ended)?;
        recording.flush_if_due(Instant::now() + std::time::Duration::from_secs(3600))?;
        let status = recording.status();
        let (events, bytes) = (status.events(), status.bytes());
        let (lost_events, lost_buffers) = (status.lost_events(), status.lost_buffers());
        let (ends, cost) = (self.machine.ends.lock().unwrap().clone(), *self.machine.cost.lock().unwrap());
        Ok(Pulse { events, bytes, lost_events, lost_buffers, buffers_in_use: 3, buffers: 64, failure: None, ends, cost })
    }

    fn finish(&mut self, out: &Path) -> Result<(), CaptureError> {
        self.deliver(usize::MAX);
        let recording = self.recording.take().ok_or(CaptureError::Ended)?;
        recording.finish(out, &mut self.machine.apart.machine.clone(), &mut |_, _| true).map(drop)
    }
}

struct Case {
    folder: TempDir,
    machine: Arc<Machine>,
    original: PathBuf,
    window: Window,
}

/// A machine whose manifests define nothing.
#[derive(Debug)]
struct NoManifests;

impl Manifests for NoManifests {
    fn describe(&self, _kinds: &[UndescribedKind]) -> Described {
        Described::default()
    }
}

impl Case {
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let original = folder.path().join("original.etl");
        let options = synth::Options {
            scenario: Scenario::Heap,
            stacks: StackForm::Walk,
            events: 6000,
            distinct_stacks: 100,
            live: 500,
            ..synth::Options::default()
        };
        synth::generate(&options, std::fs::File::create(&original).unwrap()).unwrap();
        let machine = Arc::new(Machine {
            apart: Arc::new(take_apart(&original)),
            due: AtomicU64::new(0),
            asked: Mutex::default(),
            refusal: Mutex::default(),
            ends: Mutex::default(),
            cost: Mutex::new(Some(Cost { private_bytes: 84 << 20, core_percent: 1.2 })),
        });
        let options = Options {
            recorder: Some(Arc::new(Machines(Arc::clone(&machine)))),
            recordings: Some(folder.path().join("recordings")),
            manifests: Some(Arc::new(NoManifests)),
            ..Options::default()
        };
        let window = window_set(options, settings);
        Self { folder, machine, original, window }
    }

    fn click(&mut self, label: &str) {
        self.window.get_by_label(label).click();
        self.window.step();
        self.window.step();
    }

    /// Types at the end of a field.
    fn type_into(&mut self, label: &str, text: &str) {
        self.window.get_by_label(label).focus();
        self.window.step();
        self.window.get_by_label(label).type_text(text);
        self.window.step();
        self.window.step();
    }

    /// Takes so many letters from its end.
    fn erase(&mut self, label: &str, letters: usize) {
        self.window.get_by_label(label).focus();
        self.window.step();
        for _ in 0..letters {
            self.window.key_press(egui::Key::Backspace);
            self.window.step();
        }
    }

    fn has(&self, label: &str) -> bool {
        self.window.query_all_by_label_contains(label).next().is_some()
    }

    /// Lets so much of what the program does happen.
    fn pass(&self, share: f64) {
        let events = self.machine.apart.events.len() as f64;
        self.machine.due.store((events * share) as u64, Ordering::SeqCst);
    }

    fn begin(&mut self) {
        self.click("Record\u{2026}");
        wait_for(&mut self.window, "game.exe");
        self.click("Start recording");
    }
}

#[test]
fn a_program_is_recorded_watched_and_is_a_trace_in_the_end() {
    let mut case = Case::new();
    case.pass(0.3);
    case.begin();
    wait_for(&mut case.window, "Recording game.exe");
    let asked = case.machine.asked.lock().unwrap().clone();
    assert_eq!(asked, [Request::new(Target::Pids(vec![4660]))], "the one in front is one click away");
    wait_for(&mut case.window, "Source ");
    assert!(case.has("nothing lost"));
    case.pass(0.8);
    wait_for(&mut case.window, "3 events lost");
    case.click("Mark");
    case.click("Stop");
    wait_for(&mut case.window, "Recorded");
    settle(&mut case.window);
    // What is open is now the trace that was saved; it says what the original says.
    let saved: Vec<PathBuf> =
        std::fs::read_dir(case.folder.path().join("recordings")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(saved.len(), 1, "the lanes are gone: {saved:?}");
    assert!(saved[0].file_name().unwrap().to_str().unwrap().starts_with("game.exe 20"));
    let trace = |path: &Path| load(&Capture::open(&[Input::File(path.to_owned())]).unwrap(), &mut Unwatched).unwrap();
    let rows = |path: &Path| told(trace(path)).into_iter().skip(1).collect::<Vec<_>>();
    assert_eq!(rows(&saved[0]), rows(&case.original));
    assert_eq!(trace(&saved[0]).quality.events_lost, 3);
}

#[test]
fn names_of_chosen_providers_are_looked_up_in_the_saved_trace() {
    for chosen in [Vec::new(), vec!["Some-Provider".to_owned()]] {
        let mut settings = Settings::default();
        settings.mark_providers = chosen.clone();
        let mut case = Case::with(settings);
        case.pass(0.3);
        case.begin();
        wait_for(&mut case.window, "Source ");
        case.click("Stop");
        wait_for(&mut case.window, "Recorded");
        settle(&mut case.window);
        give(&mut case.window, "tabs: trace");
        let providers = if chosen.is_empty() { "Providers" } else { "Providers, 1 chosen for marks" };
        case.click(providers);
        wait_for(&mut case.window, "Look up names on this computer");
        settle(&mut case.window);
        assert_eq!(case.has("The trace describes all its events."), !chosen.is_empty());
    }
}

#[test]
fn a_recording_is_measured_before_it_starts_and_nothing_of_that_is_kept() {
    let mut case = Case::new();
    case.pass(1.0);
    case.click("Record\u{2026}");
    wait_for(&mut case.window, "game.exe");
    assert!(case.has("at 10,000 blocks a second"), "examples, as long as nothing was measured");
    case.click("Estimate");
    assert!(case.has("Recording one second to estimate"));
    wait_for(&mut case.window, "A minute of this recording");
    assert!(case.has("heap allocations") && case.has("for call stacks") && !case.has("10,000 blocks"));
    assert!(case.has("3 events were lost in that second"));
    let left = std::fs::read_dir(case.folder.path().join("recordings")).unwrap().count();
    assert_eq!((left, case.machine.asked.lock().unwrap().len()), (0, 1));
    settle(&mut case.window);
    case.click("of frees too");
    assert!(case.has("10,000 blocks"), "another recording would be of another size");
    settle(&mut case.window);
    case.click("Start recording");
    wait_for(&mut case.window, "Recording game.exe");
}

#[test]
fn what_windows_refuses_is_said_in_a_sentence() {
    let mut case = Case::new();
    *case.machine.refusal.lock().unwrap() = Some(5);
    case.begin();
    wait_for(&mut case.window, "recording needs administrator rights");
    case.click("Close bar");
    assert!(!case.has("administrator"));
}

#[test]
fn programs_are_found_by_name_and_others_can_be_started() {
    let mut case = Case::new();
    case.click("Record\u{2026}");
    wait_for(&mut case.window, "game.exe");
    assert!(case.has("up to 2 GB of memory, or 1/8 of the machine's memory"), "what buffers take");
    for word in ["Frames", "CPU samples"] {
        case.click(word);
    }
    case.type_into("Providers of marks", "Multi-Main");
    case.type_into("Search programs", "expl");
    assert!(case.has("explorer.exe") && !case.has("game.exe"));
    case.click("Start a program");
    assert!(case.has("there is no program to start"));
    case.click("Wait for a program");
    case.type_into("File name", "game.exe");
    case.click("Start recording");
    wait_for(&mut case.window, "Recording game.exe");
    let asked = case.machine.asked.lock().unwrap().clone();
    assert_eq!(asked[0].target, Target::Image("game.exe".to_owned()));
    assert_eq!((asked[0].frames, asked[0].managed, asked[0].samples), (true, false, true));
    assert_eq!(asked[0].marks.iter().map(ToString::to_string).collect::<Vec<_>>(), ["231CF54B-22A0-49E4-A59A-47052A30FFED"]);
    case.pass(0.8);
    wait_for(&mut case.window, "Source ");
    case.click("Stop");
    wait_for(&mut case.window, "Recorded");
    settle(&mut case.window);
    give(&mut case.window, "tabs: trace");
    assert!(case.has("Providers, 1 chosen for marks"), "what is recorded for marks is seen as marks");
}

#[test]
fn a_recording_that_ends_by_itself_says_why() {
    let mut case = Case::new();
    case.pass(0.4);
    case.click("Record\u{2026}");
    wait_for(&mut case.window, "game.exe");
    case.click("or when\u{2026}");
    case.click("Program's private bytes");
    case.window.step();
    case.type_into("Stop at Program's private bytes", "12");
    assert!(case.has("private wants a size, for example private>8G"), "8G12 is none");
    case.click("Start recording");
    assert!(case.machine.asked.lock().unwrap().is_empty(), "it cannot be started so");
    case.erase("Stop at Program's private bytes", 2);
    case.click("or when\u{2026}");
    case.click("Program's growth");
    case.window.step();
    case.click("Start recording");
    wait_for(&mut case.window, "Recording game.exe");
    let asked = case.machine.asked.lock().unwrap().clone();
    assert_eq!(asked[0].stop_when, ["private>8G", "growth>10M/s"].map(|condition| condition.parse().unwrap()));
    wait_for(&mut case.window, "recorder 84 MB, 1.2 % of a CPU");
    *case.machine.ends.lock().unwrap() = Some("process 4660 has 8.10 GB private (private>8G)".to_owned());
    wait_for(&mut case.window, "It stopped by itself: process 4660 has 8.10 GB private (private>8G)");
    assert!(case.has("Recorded"));
    settle(&mut case.window);
    // The next recording has the same conditions.
    case.click("Close bar");
    press(&mut case.window, egui::Modifiers::COMMAND, egui::Key::R);
    wait_for(&mut case.window, "Stop at Program's private bytes");
    assert!(case.has("Stop at Program's growth"));
}
