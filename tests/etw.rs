//! Recording on Windows against a simulated ETW: what sessions are asked for, byte by byte,
//! what becomes of the events they deliver, and what goes wrong.
#![cfg(windows)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests say what they expect by unwrapping it")]

mod simulated;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use highwater::capture::control::{self, Command, Message, Progress};
use highwater::capture::windows::LocalRecording;
use highwater::capture::{CaptureError, DiskImages, Request, Summary, Target, recover};
use highwater::etl::TraceFile;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::Trace;
use highwater::query::{By, Cancel, Index, ReportFilter, ReportRequest, report};
use highwater::synth::{Options, Scenario, generate};
use simulated::events::{KERNEL, Lanes, lanes};
use simulated::fake::{Session, Simulated};
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

/// Of whatever process: the generated ones are not there.
fn of_all() -> Request {
    Request::new(Target::Image("highwater-test-nobody.exe".to_owned()))
}

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

#[test]
fn sessions_are_started_with_the_bytes_that_the_facts_ask_for() {
    let scene = Scene::silent();
    let running = scene.start(&Request { free_stacks: true, ..request() }).unwrap();
    let pid = std::process::id();
    scene.etw.with(|etw| {
        let [kernel, heap, user] = etw.sessions.as_slice() else { panic!("{} sessions", etw.sessions.len()) };
        for (session, lane) in [(kernel, "kernel"), (heap, "heap"), (user, "user")] {
            assert_eq!(session.name, format!("highwater-{pid}-{lane}"));
            let bytes = &session.properties[0];
            assert_eq!(words(bytes)[0] as usize, bytes.len());
            assert_eq!(words(&bytes[0x28..0x30]), [1, 0x0002_0000], "the performance counter, a traced GUID");
            assert_eq!(words(&bytes[0x44..0x48]), [1], "delivered each second");
            assert_eq!(words(&bytes[0x70..0x74]), [0], "no file");
            let name: Vec<u8> = session.name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
            let at = words(&bytes[0x74..0x78])[0] as usize;
            assert_eq!(bytes[at..at + name.len()], name);
        }

        // Kernel: a private system logger whose events are switched on last.
        let bytes = &kernel.properties[0];
        assert_eq!((words(&bytes[0x40..0x44]), words(&bytes[0x48..0x4C])), (vec![0x0200_0100], vec![0]));
        assert_ne!(bytes[0x18..0x28], [0; 16], "a GUID of its own");
        assert_eq!(words(&kernel.masks), [0x4007, 0, 0, 0, 0, 0, 0, 0]);
        let mut stacks = Vec::new();
        for opcode in [98, 99] {
            stacks.extend([0xD3, 0xA8, 0x6F, 0x3D, 0x05, 0xFE, 0xD0, 0x11, 0x9D, 0xDA, 0x00, 0xC0, 0x4F, 0xD7, 0xBA, 0x7C]);
            stacks.extend([opcode, 0, 0, 0, 0, 0, 0, 0]);
        }
        assert_eq!(kernel.stacks, stacks);

        // Heaps: the session's GUID is the heap's; the extension block stands behind the name.
        let bytes = &heap.properties[0];
        assert_eq!(
            bytes[0x18..0x28],
            [0xAB, 0x62, 0x29, 0x22, 0x80, 0x61, 0x88, 0x4B, 0xA8, 0x25, 0x34, 0x6B, 0x75, 0xF2, 0xA2, 0x4A]
        );
        assert_eq!(words(&bytes[0x40..0x44]), [0x0800_0100]);
        let block = 0x78 + 2 * (heap.name.len() + 1);
        assert_eq!(words(&bytes[0x48..0x4C]), [0x80FF_0000 | block as u32]);
        let expected = [0x0002_0007, 0x0002_0002, pid, 0x0003_0004, 0x1021, 0x1022, 0x1024];
        assert_eq!(words(&bytes[block..])[..7], expected);

        // Trackers: a buffer for each processor, level 4, all keywords, with stacks.
        assert_eq!(words(&user.properties[0][0x40..0x4C]), [0x0000_0100, 1, 0]);
        let [(guid, level, any, properties)] = user.providers.as_slice() else { panic!("{} providers", user.providers.len()) };
        assert_eq!((guid.data1, guid.data2, guid.data3), (0x988917C5, 0x5748, 0x42A8));
        assert_eq!(guid.data4, [0xA1, 0x27, 0xA9, 0xA2, 0x28, 0x52, 0x65, 0xD5]);
        assert_eq!((*level, *any, *properties), (4, 0, 4));
    });
    drop(running);
}

#[test]
fn stacks_are_chosen_and_the_consumer_is_there_before_kernel_events_are_switched_on() {
    let scene = Scene::silent();
    drop(scene.start(&request()).unwrap());
    let calls = scene.etw.with(|etw| etw.calls.clone());
    let kernel: Vec<&str> = calls.iter().filter_map(|call| call.strip_suffix(" kernel")).collect();
    let first = ["QueryAllTracesW", "StartTraceW", "TraceSetInformation(3)", "OpenTraceW", "TraceSetInformation(4)"];
    assert_eq!(kernel[..5], first);
    let at = |call: &str| calls.iter().position(|c| c == call).unwrap();
    assert!(at("OpenTraceW heap") > at("TraceSetInformation(4) kernel"));
    assert!(scene.etw.running().is_empty(), "what is dropped is stopped");
}

#[test]
fn what_is_not_asked_for_is_not_recorded() {
    let scene = Scene::silent();
    let request = Request { commit: false, trackers: false, stacks: false, ..request() };
    drop(scene.start(&request).unwrap());
    scene.etw.with(|etw| {
        let [kernel, heap] = etw.sessions.as_slice() else { panic!("{} sessions", etw.sessions.len()) };
        assert_eq!(words(&kernel.masks)[0], 7, "processes, threads and images only");
        assert!(kernel.stacks.is_empty());
        let block = 0x78 + 2 * (heap.name.len() + 1);
        assert_eq!(words(&heap.properties[0][block..])[..3], [0x0001_0003, 0x0002_0002, std::process::id()]);
    });
}

#[test]
fn a_recording_has_the_numbers_of_what_happened() {
    let small = Options { events: 20_000, distinct_stacks: 200, live: 2_000, ..Options::default() };
    let scenarios = [
        Options { seed: 7, ..small.clone() },
        Options { seed: 8, wow64: true, processors: 3, ..small.clone() },
        Options { scenario: Scenario::Commit, seed: 9, ..small.clone() },
        Options { scenario: Scenario::Trackers, seed: 10, ..small.clone() },
        Options { scenario: Scenario::Trackers, seed: 11, wow64: true, ..small },
        Options { scenario: Scenario::Demo, ..Options::default() },
    ];
    for options in scenarios {
        let scene = Scene::new(&options);
        // Ends of images and processes come when the kernel's session is stopped, last of all.
        scene.etw.with(|etw| etw.held = etw.lanes[KERNEL].len().min(5));
        let held = scene.etw.with(|etw| etw.held as u64);
        let mut running = scene.start(&of_all()).unwrap();
        poll_until(&mut running, "all events", |progress| progress.events == scene.events - held);
        let summary = scene.stop(running);
        assert!(summary.events >= scene.events, "{summary:?}");
        assert_eq!((summary.lost_events, summary.lost_buffers), (0, 0));
        assert_eq!(summary.problems, []);

        let stops: Vec<String> = scene.etw.with(|etw| etw.calls.iter().filter(|call| call.contains("STOP")).cloned().collect());
        assert_eq!(stops, ["ControlTraceW(STOP) heap", "ControlTraceW(STOP) user", "ControlTraceW(STOP) kernel"]);
        let (made, recorded) = (groups(scene.load("generated.etl")), groups(scene.load("recorded.etl")));
        assert!(!made.is_empty());
        if let Some((made, recorded)) = made.iter().zip(&recorded).find(|(a, b)| a != b) {
            panic!("{options:?}\n{made}\n{recorded}");
        }
        assert_eq!(made.len(), recorded.len());
    }
}

#[test]
fn without_rights_nothing_starts_and_one_sentence_says_what_is_needed() {
    for call in [
        "StartTraceW",
        "StartTraceW heap",
        "StartTraceW user",
        "OpenTraceW kernel",
        "OpenTraceW heap",
        "OpenTraceW user",
        "TraceSetInformation(3)",
        "TraceSetInformation(4)",
    ] {
        let scene = Scene::silent();
        scene.etw.with(|etw| {
            etw.refusals.insert(if call.starts_with("TraceSet") { leak(&format!("{call} kernel")) } else { call }, 5)
        });
        let sentence = scene.refusal(&request());
        assert!(sentence.contains("administrator") && sentence.contains('5'), "{call}: {sentence}");
        assert!(scene.etw.running().is_empty(), "{call} leaves sessions");
    }
}

fn leak(text: &str) -> &'static str {
    text.to_owned().leak()
}

#[test]
fn a_session_of_our_name_is_replaced_and_one_that_cannot_be_is_told() {
    let scene = Scene::silent();
    let name = format!("highwater-{}-heap", std::process::id());
    scene.etw.with(|etw| etw.sessions.push(Session::called(&name)));
    drop(scene.start(&request()).unwrap());
    drop(scene);

    let scene = Scene::silent();
    scene.etw.with(|etw| etw.refusals.insert("StartTraceW heap", 183));
    let sentence = scene.refusal(&request());
    assert!(sentence.contains("heap session") && sentence.contains("logman stop"), "{sentence}");
    assert!(scene.etw.running().is_empty());
}

#[test]
fn too_many_sessions_are_told_and_none_of_ours_is_left() {
    let scene = Scene::silent();
    scene.etw.with(|etw| {
        etw.sessions.push(Session::called("somebody else's"));
        etw.limit = 2;
    });
    let sentence = scene.refusal(&request());
    assert!(sentence.contains("too many") && sentence.contains("1450"), "{sentence}");
    assert_eq!(scene.etw.running(), ["somebody else's"]);
}

#[test]
fn losses_are_seen_at_once_stand_in_the_trace_and_make_the_session_larger() {
    let options = Options { events: 2_000, ..Options::default() };
    let scene = Scene::new(&options);
    let mut running = scene.start(&of_all()).unwrap();
    poll_until(&mut running, "all events", |progress| progress.events == scene.events);
    scene.etw.with(|etw| {
        etw.sessions[0].events_lost = 3; // kernel
        etw.sessions[1].events_lost = 40; // heap
        etw.sessions[1].buffers_lost = 2; // a consumer that was too slow
    });
    let progress = poll_until(&mut running, "losses", |progress| progress.lost_events == 43 && progress.lost_buffers == 2);
    assert_eq!((progress.buffers_used, progress.buffers_total), (30, 120), "of three sessions");
    scene.etw.with(|etw| {
        for (session, flags) in etw.sessions.iter().zip([0x4007, words(&etw.sessions[1].properties[0])[18]]) {
            let [before, after] = session.properties.as_slice() else {
                panic!("{}: {} updates", session.name, session.properties.len() - 1)
            };
            assert_eq!(words(after)[14], 2 * words(before)[14], "twice the buffers");
            assert_eq!(words(after)[18], flags, "what is switched on stays so");
            let mut same = before.clone();
            same[0x38..0x3C].copy_from_slice(&after[0x38..0x3C]);
            same[0x48..0x4C].copy_from_slice(&after[0x48..0x4C]);
            assert_eq!(same, *after);
        }
    });
    let summary = scene.stop(running);
    assert_eq!((summary.lost_events, summary.lost_buffers), (43, 2));
    let quality = scene.load("recorded.etl").quality;
    assert_eq!((quality.events_lost, quality.buffers_lost), (43, 2));
}

#[test]
fn the_end_of_the_last_process_is_noticed() {
    let scene = Scene::silent();
    let mut child =
        std::process::Command::new("cmd").args(["/c", "pause"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut running = scene.start(&Request::new(Target::Pids(vec![child.id(), std::process::id()]))).unwrap();
    assert!(!running.poll().is_target_gone);
    drop(running);
    let mut running =
        LocalRecording::start(&Request::new(Target::Pids(vec![child.id()])), &scene.place.path().join("second")).unwrap();
    assert!(!running.poll().is_target_gone);
    child.kill().unwrap();
    child.wait().unwrap();
    poll_until(&mut running, "the end", |progress| progress.is_target_gone);
    scene.stop(running);
    let gone = Request::new(Target::Pids(vec![0x7FFF_FFF0]));
    assert!(scene.refusal(&gone).contains("no process with the id 2147483632"));
}

#[test]
fn a_recording_that_is_stopped_in_the_middle_is_a_trace_of_what_came() {
    let options = Options { events: 20_000, ..Options::default() };
    let scene = Scene::new(&options);
    scene.etw.with(|etw| etw.pause_after = 5_000);
    let mut running = scene.start(&of_all()).unwrap();
    let came = poll_until(&mut running, "some events", |progress| progress.events > 5_000).events;
    let summary = scene.stop(running);
    assert!(summary.events >= came && summary.events < scene.events, "{summary:?}");
    assert_eq!(summary.problems, []);
    assert!(!groups(scene.load("recorded.etl")).is_empty());
}

#[test]
fn a_session_that_somebody_else_stops_is_told_and_the_rest_is_kept() {
    let options = Options { events: 2_000, ..Options::default() };
    let scene = Scene::new(&options);
    let mut running = scene.start(&of_all()).unwrap();
    poll_until(&mut running, "all events", |progress| progress.events == scene.events);
    scene.etw.with(|etw| etw.sessions[1].is_running = false);
    let told = poll_until(&mut running, "a warning", |progress| progress.warning.is_some());
    assert!(told.warning.unwrap().contains("heap session"));
    let summary = scene.stop(running);
    assert!(summary.events >= scene.events);
}

#[test]
fn what_a_crashed_recording_left_is_stopped_at_the_next_start_and_what_runs_is_left_alone() {
    let scene = Scene::silent();
    let own = std::env::current_exe().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    // Another recording that runs now: a second process of this very program, which waits.
    let mut other = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "waits_when_told_to", "--nocapture"])
        .env(WAIT, "1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let alive = format!("highwater-{}-kernel", other.id());
    let left = ["highwater-4294967280-kernel", "highwater-4294967280-heap", "highwater-nonsense", "highwater-4-user"];
    // And what a recording by name leaves in the registry.
    const IMAGE: &str = "highwater-test-left.exe";
    let options = format!(r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Image File Execution Options\{IMAGE}");
    let machine = winreg::RegKey::predef(winreg::enums::HKEY_LOCAL_MACHINE);
    machine.create_subkey(&options).unwrap().0.set_value("TracingFlags", &1u32).unwrap();
    let (note, _) = machine.create_subkey(format!(r"SOFTWARE\highwater\TracingFlags\{IMAGE}")).unwrap();
    note.set_value("HadKey", &0u32).unwrap();
    note.set_value("Owner", &0xFFFF_FFF0u32).unwrap();
    note.set_value("OwnerName", &own).unwrap();
    let names = [alive.as_str(), "NT Kernel Logger"].into_iter().chain(left);
    scene.etw.with(|etw| etw.sessions.extend(names.map(Session::called)));
    drop(scene.start(&request()).unwrap());
    let running = scene.etw.running();
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(running, [alive.as_str(), "NT Kernel Logger"]);
    assert!(machine.open_subkey(&options).is_err());
}

const WAIT: &str = "HIGHWATER_TEST_WAIT";

#[test]
fn waits_when_told_to() {
    if std::env::var_os(WAIT).is_some() {
        std::thread::sleep(Duration::from_secs(60));
    }
}

/// Lines of a recorder's pipe, and the other pipe, as its window has them.
fn as_window(name: &str) -> (impl Iterator<Item = Message>, std::fs::File) {
    let open = |part: &str, is_read: bool| {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let opened = std::fs::File::options().read(is_read).write(!is_read).open(format!(r"\\.\pipe\{name}-{part}"));
            match opened {
                Ok(file) => return file,
                Err(error) => assert!(Instant::now() < end, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let messages = BufReader::new(open("status", true)).lines().map_while(Result::ok).map(|line| Message::parse(&line).unwrap());
    (messages, open("commands", false))
}

#[test]
fn a_window_controls_an_elevated_recorder_through_its_pipes() {
    let options = Options { events: 5_000, ..Options::default() };
    let scene = Scene::new(&options);
    let (folder, out) = (scene.place.path().join("lanes"), scene.place.path().join("recorded.etl"));
    let name = format!("highwater-test-{}", std::process::id());
    let words = [control::words(&of_all(), &folder), ["--pipe", &name, "--sid", "WD"].map(str::to_owned).to_vec()].concat();
    let words: Vec<OsString> = std::iter::once("highwater".to_owned()).chain(words).map(OsString::from).collect();
    let recorder = std::thread::spawn(move || highwater::cli::run(words, |_, _| Ok(())));
    let (mut messages, mut commands) = as_window(&name);
    let all = messages.find(|message| matches!(message, Message::Progress(progress) if progress.events == scene.events));
    assert!(all.is_some());
    commands.write_all(Command::Mark("here".into()).line().as_bytes()).unwrap();
    commands.write_all(Command::Stop.line().as_bytes()).unwrap();
    assert!(messages.all(|message| matches!(message, Message::Progress(_))));
    assert_eq!(format!("{:?}", recorder.join().unwrap()), format!("{:?}", ExitCode::SUCCESS));
    recover(&folder, &out, &mut DiskImages::default(), &mut |_, _| true).unwrap();
    assert_eq!(groups(scene.load("generated.etl")), groups(scene.load("recorded.etl")));
}

#[test]
fn a_window_hears_why_nothing_is_recorded_and_no_folder_is_left() {
    let scene = Scene::silent();
    scene.etw.with(|etw| etw.refusals.insert("StartTraceW", 5));
    let folder = scene.place.path().join("lanes");
    let name = format!("highwater-test-{}-refused", std::process::id());
    let words = [control::words(&of_all(), &folder), ["--pipe", &name, "--sid", "WD"].map(str::to_owned).to_vec()].concat();
    let words: Vec<OsString> = std::iter::once("highwater".to_owned()).chain(words).map(OsString::from).collect();
    let recorder = std::thread::spawn(move || highwater::cli::run(words, |_, _| Ok(())));
    let (messages, _commands) = as_window(&name);
    let said: Vec<Message> = messages.collect();
    assert!(matches!(said.as_slice(), [Message::Failed(reason)] if reason.contains("administrator")), "{said:?}");
    assert_eq!(format!("{:?}", recorder.join().unwrap()), format!("{:?}", ExitCode::from(1)));
    assert!(!folder.exists());
}

#[test]
fn a_window_that_goes_leaves_lanes_that_can_be_recovered() {
    let options = Options { events: 5_000, ..Options::default() };
    let scene = Scene::new(&options);
    let (folder, out) = (scene.place.path().join("lanes"), scene.place.path().join("recorded.etl"));
    let name = format!("highwater-test-{}-gone", std::process::id());
    let words = [control::words(&of_all(), &folder), ["--pipe", &name, "--sid", "WD"].map(str::to_owned).to_vec()].concat();
    let words: Vec<OsString> = std::iter::once("highwater".to_owned()).chain(words).map(OsString::from).collect();
    let recorder = std::thread::spawn(move || highwater::cli::run(words, |_, _| Ok(())));
    let (mut messages, commands) = as_window(&name);
    assert!(messages.any(|message| matches!(message, Message::Progress(progress) if progress.events == scene.events)));
    drop((messages, commands));
    recorder.join().unwrap();
    assert!(scene.etw.running().is_empty());
    let words = ["highwater", "record", "--recover"].map(OsString::from).into_iter();
    let words = words.chain([folder.into_os_string(), "-o".into(), out.into_os_string()]);
    highwater::cli::run(words, |_, _| Ok(()));
    assert_eq!(groups(scene.load("generated.etl")), groups(scene.load("recorded.etl")));
}

#[test]
fn a_program_that_ends_completes_the_recording_of_it() {
    let scene = Scene::silent();
    let mut child =
        std::process::Command::new("cmd").args(["/c", "pause"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let out = scene.place.path().join("recorded.etl");
    let pid = child.id().to_string();
    let words = ["highwater", "record", "--pid", &pid, "--heap", "-o"].map(OsString::from).into_iter();
    let words: Vec<OsString> = words.chain([out.clone().into_os_string()]).collect();
    let recorder = std::thread::spawn(move || highwater::cli::run(words, |_, _| Ok(())));
    while scene.etw.running().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(format!("{:?}", recorder.join().unwrap()), format!("{:?}", ExitCode::SUCCESS));
    assert!(out.exists());
    assert!(scene.etw.running().is_empty());
}

#[test]
fn a_mark_is_in_the_trace() {
    let scene = Scene::silent();
    let running = scene.start(&request()).unwrap();
    running.mark("level 2").unwrap();
    let with_mark = scene.stop(running).events;
    let mut second = LocalRecording::start(&request(), &scene.place.path().join("second")).unwrap();
    let without = second.finish(&scene.place.path().join("second.etl"), &mut |_, _| true).unwrap().events;
    assert_eq!(with_mark, without + 1);
}

#[test]
fn times_of_trackers_say_how_exact_they_are() {
    let scene = Scene::silent();
    let mut running = scene.start(&request()).unwrap();
    let error = running.poll().clock_error_ns.unwrap();
    assert!(error < 100_000_000, "{error} ns");
    drop(running);
    let mut without =
        LocalRecording::start(&Request { trackers: false, ..request() }, &scene.place.path().join("second")).unwrap();
    assert_eq!(without.poll().clock_error_ns, None);
}
