//! What recordings have left in the system, as the window tells it and has it put right.

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::driver::{Window, wait_for, window_set};
use egui_kittest::kittest::Queryable;
use highwater::app::{Options, Settings};
use highwater::capture::{Aftermath, CaptureError, Leftovers, Program, Pulse, Recorder, Recording, Request, Running, Session};

/// A machine whose recorder is ended from outside, and leaves something.
#[derive(Debug, Default)]
struct Machine {
    left: Mutex<Leftovers>,
    refuses: bool,
    aftermath: Aftermath,
}

impl Recorder for Machine {
    fn leftovers(&self) -> Result<Leftovers, CaptureError> {
        Ok(self.left.lock().unwrap().clone())
    }

    fn clean_up(&self) -> Result<Leftovers, CaptureError> {
        if self.refuses {
            return Err(CaptureError::Windows { what: "the recorder could not be started".to_owned(), code: 1223 });
        }
        Ok(std::mem::take(&mut *self.left.lock().unwrap()))
    }

    fn programs(&self) -> Result<Vec<Program>, CaptureError> {
        Ok(vec![Program { pid: 4660, name: "game.exe".to_owned(), is_in_front: true, ..Program::default() }])
    }

    fn start(&self, _: &Request, folder: &Path) -> Result<Box<dyn Running>, CaptureError> {
        let session = Session {
            frequency: 10_000_000,
            start_ticks: 0,
            start_time: 0,
            boot_time: 0,
            processors: 1,
            os: (10, 0, 26100),
            buffer_size: highwater::capture::BUFFER_SIZE,
            pointer_size: 8,
        };
        let recording = Recording::create(folder, &session, None)?.keep_lanes();
        Ok(Box::new(CutShort { recording: Some(recording), aftermath: self.aftermath.clone() }))
    }
}

/// A recording that ends at once.
#[derive(Debug)]
struct CutShort {
    recording: Option<Recording>,
    aftermath: Aftermath,
}

impl Running for CutShort {
    fn pulse(&mut self) -> Result<Pulse, CaptureError> {
        Err(CaptureError::Ended)
    }

    fn finish(&mut self, out: &Path) -> Result<(), CaptureError> {
        let recording = self.recording.take().ok_or(CaptureError::Ended)?;
        recording.finish(out, &mut highwater::capture::DiskImages::default(), &mut |_, _| true).map(drop)
    }

    fn aftermath(&self) -> Aftermath {
        self.aftermath.clone()
    }
}

fn left() -> Mutex<Leftovers> {
    Mutex::new(Leftovers { sessions: vec!["highwater-7-heap".into()], images: vec!["game.exe".into()] })
}

fn open(machine: Machine) -> (tempfile::TempDir, Window) {
    let folder = tempfile::tempdir().unwrap();
    let options =
        Options { recorder: Some(Arc::new(machine)), recordings: Some(folder.path().join("recordings")), ..Options::default() };
    (folder, window_set(options, Settings::default()))
}

fn click(window: &mut Window, label: &str) {
    window.get_by_label(label).click();
    window.step();
    window.step();
}

fn has(window: &Window, label: &str) -> bool {
    window.query_all_by_label_contains(label).next().is_some()
}

#[test]
fn what_an_earlier_recording_left_is_told_at_the_start_and_cleaned_up_on_demand() {
    let (_folder, mut window) = open(Machine { left: left(), ..Machine::default() });
    wait_for(&mut window, "An earlier recording left the session highwater-7-heap, heap tracing of every start of game.exe");
    click(&mut window, "Clean up");
    wait_for(&mut window, "Cleaned up: the session highwater-7-heap");
    click(&mut window, "Close bar");
    assert!(!has(&window, "highwater-7-heap"));
}

#[test]
fn what_is_left_can_be_left_alone() {
    let (_folder, mut window) = open(Machine { left: left(), ..Machine::default() });
    wait_for(&mut window, "An earlier recording left");
    click(&mut window, "Not now");
    assert!(!has(&window, "An earlier recording left"));
}

#[test]
fn a_clean_up_that_is_refused_says_why_and_can_be_tried_again() {
    let (_folder, mut window) = open(Machine { left: left(), refuses: true, ..Machine::default() });
    wait_for(&mut window, "An earlier recording left");
    click(&mut window, "Clean up");
    wait_for(&mut window, "administrator rights were declined");
    assert!(has(&window, "Clean up"));
}

#[test]
fn nothing_is_said_where_nothing_is_left() {
    let (_folder, mut window) = open(Machine::default());
    wait_for(&mut window, "Record\u{2026}");
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        window.step();
    }
    assert!(!has(&window, "Clean up"));
}

#[test]
fn a_recorder_that_was_ended_from_outside_is_told_and_what_it_recorded_is_there() {
    let (folder, mut window) = open(Machine { aftermath: Aftermath::CutShort, ..Machine::default() });
    click(&mut window, "Record\u{2026}");
    wait_for(&mut window, "game.exe");
    click(&mut window, "Start recording");
    wait_for(&mut window, "The recorder was killed; its ETW sessions may still be running");
    wait_for(&mut window, "Recorded");
    let files: Vec<_> = std::fs::read_dir(folder.path().join("recordings")).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(files.iter().any(|file| file.extension().is_some_and(|ext| ext == "etl")), "{files:?}");
    click(&mut window, "Clean up");
    wait_for(&mut window, "Nothing was left");
}

#[test]
fn a_recording_that_is_over_before_the_window_looks_is_opened_from_its_file() {
    let (folder, mut window) = open(Machine { aftermath: Aftermath::CutShort, ..Machine::default() });
    click(&mut window, "Record\u{2026}");
    wait_for(&mut window, "game.exe");
    window.get_by_label("Start recording").click();
    let recordings = folder.path().join("recordings");
    let start = std::time::Instant::now();
    while !recordings.exists() {
        window.step();
        assert!(start.elapsed().as_secs() < 60, "nothing is recorded");
    }
    let is_saved = || {
        let files = std::fs::read_dir(&recordings).ok().into_iter().flatten();
        files.flatten().any(|file| file.path().extension().is_some_and(|ext| ext == "etl"))
    };
    while !is_saved() {
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(start.elapsed().as_secs() < 60, "nothing is saved");
    }
    std::thread::sleep(std::time::Duration::from_millis(20));
    wait_for(&mut window, "Recorded");
    for _ in 0..60 {
        std::thread::sleep(std::time::Duration::from_millis(2));
        window.step();
    }
    assert!(!has(&window, "no such file"), "the lanes were read before they were removed");
}

#[test]
fn what_could_not_be_put_back_is_told_beside_the_trace() {
    let aftermath = Aftermath::Failed("the heap session could not be stopped".to_owned());
    let (_folder, mut window) = open(Machine { aftermath, ..Machine::default() });
    click(&mut window, "Record\u{2026}");
    wait_for(&mut window, "game.exe");
    click(&mut window, "Start recording");
    wait_for(&mut window, "the heap session could not be stopped");
    wait_for(&mut window, "Recorded");
}
