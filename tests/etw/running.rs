//! What becomes of the events, of losses, of ends, and of what crashed recordings left.

use std::ffi::OsString;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use highwater::capture::windows::LocalRecording;
use highwater::capture::{Aftermath, Request, Running, Target};
use highwater::events::class;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::SiteId;
use highwater_dev::synth::{Options, Scenario};

use crate::simulated::events::{HEAP, KERNEL, Told, USER};
use crate::simulated::state::Session;
use crate::{FIRST, Scene, groups, of_all, poll_until, poll_until_quiet, request};

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
        let image = if options.scenario == Scenario::Demo { "MemoryTestApp.exe" } else { FIRST };
        let mut running = scene.start(&Request::new(Target::Image(image.to_owned()))).unwrap();
        poll_until_quiet(&mut running);
        let summary = scene.stop(running);
        assert_eq!((summary.lost_events, summary.lost_buffers), (0, 0));
        assert_eq!(summary.problems, []);

        let stops: Vec<String> = scene.etw.with(|etw| etw.calls.iter().filter(|call| call.contains("STOP")).cloned().collect());
        assert_eq!(stops, ["ControlTraceW(STOP) heap", "ControlTraceW(STOP) user", "ControlTraceW(STOP) kernel"]);
        let (mut made, mut recorded) = (groups(scene.load("generated.etl")), groups(scene.load("recorded.etl")));
        let is_commit = |group: &String| group.contains("layer: \"commit\"");
        // Trackers of all are recorded; pages and heaps are those of one program.
        let is_of_tracker = |group: &String| group.contains("layer: \"tracker\"");
        let is_ours = |group: &String| is_of_tracker(group) || group.contains(&format!("process: Some(\"{image}\")"));
        if options.scenario == Scenario::Commit {
            assert!(made.iter().any(is_commit) && !made.iter().all(is_ours), "there are pages of others");
        }
        assert_eq!(recorded.iter().find(|group| !is_ours(group)), None, "pages of others");
        made.retain(is_ours);
        assert!(!made.is_empty());
        recorded.sort();
        if let Some((made, recorded)) = made.iter().zip(&recorded).find(|(a, b)| a != b) {
            panic!("{options:?}\n{made}\n{recorded}");
        }
        assert_eq!(made.len(), recorded.len());
    }
}

/// A game on mimalloc: its tracker grows while it is recorded, with stacks; that of another program is not recorded.
#[test]
fn blocks_of_mimalloc_are_recorded_of_the_chosen_program() {
    let options = Options { scenario: Scenario::Trackers, events: 5_000, distinct_stacks: 100, live: 500, ..Options::default() };
    let scene = Scene::new(&options);
    // mimalloc's events begin as those of Visual Studio's trackers do: address and size, address.
    let [allocated, freed] = scene.etw.with(|etw| {
        let user = &mut etw.lanes[USER];
        user.retain(|told| [100, 101].contains(&told.id));
        user.iter_mut().for_each(|told| (told.provider, told.keyword) = (class::MIMALLOC, 0));
        let stranger = user.last().map(|told| Told { pid: 40_002, ..told.clone() });
        let counts = [100, 101].map(|id| user.iter().filter(|told| told.id == id).count() as u64);
        user.extend(stranger);
        etw.pause_after = etw.lanes[USER].len() / 2;
        counts
    });
    let mut running = scene.start(&of_all()).unwrap();
    // The lane grows while it is recorded.
    poll_until(&mut running, "half of mimalloc's blocks", |progress| progress.events > allocated / 3);
    poll_until_quiet(&mut running);
    let half = rows_of_mimalloc(&scene);
    assert!(0 < half && half < allocated as usize, "{half} of {allocated}");
    scene.etw.with(|etw| etw.pause_after = usize::MAX);
    poll_until(&mut running, "mimalloc's blocks", |progress| progress.events > allocated);
    poll_until_quiet(&mut running);
    assert_eq!(rows_of_mimalloc(&scene), allocated as usize);
    scene.stop(running);
    let trace = scene.load("recorded.etl");
    assert_eq!((trace.counts.tracker_alloc, trace.counts.tracker_free), (allocated, freed));
    let names: Vec<_> = trace.heaps.iter().filter_map(|heap| heap.name.as_deref()).collect();
    assert_eq!(names, ["mimalloc"]);
    let chunks = trace.rows.chunks();
    let has_stack = |site: &SiteId| trace.site(*site).stack != highwater::model::NodeId::ROOT;
    assert!(chunks.flat_map(|chunk| chunk.sites().to_vec()).filter(|site| has_stack(site)).count() > 0);
}

/// Blocks of mimalloc in what a recording has written so far.
fn rows_of_mimalloc(scene: &Scene) -> usize {
    let files = std::fs::read_dir(scene.place.path().join("recording")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<Input> = files.filter(|path| path.extension().is_some_and(|end| end == "etl")).map(Input::File).collect();
    let trace = load(&Capture::open(&files).unwrap(), &mut Unwatched).unwrap();
    let is_its = |site: &SiteId| trace.heap(trace.site(*site).heap).name.as_deref() == Some("mimalloc");
    trace.rows.chunks().map(|chunk| chunk.sites().iter().filter(|site| is_its(site)).count()).sum()
}

/// The user can read the lanes, and the kernel tells the recorder of everybody.
#[test]
fn nothing_that_is_written_says_what_other_programs_run_with() {
    let scene = Scene::new(&Options { events: 2_000, ..Options::default() });
    let mut running = scene.start(&of_all()).unwrap().keep_lanes();
    poll_until(&mut running, "all events", |progress| progress.events == scene.events);
    scene.stop(running);
    let read = |path: &std::path::Path| std::fs::read(path).unwrap();
    let lanes = std::fs::read_dir(scene.place.path().join("recording")).unwrap().map(|entry| read(&entry.unwrap().path()));
    let lanes: Vec<u8> = lanes.flatten().collect();
    let recorded = read(&scene.place.path().join("recorded.etl"));
    let generated = read(&scene.place.path().join("generated.etl"));
    let has = |bytes: &[u8], text: &str| {
        let text: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        bytes.windows(text.len()).any(|part| part == text)
    };
    let (own, of_others) = (r#""C:\Program Files\Synth\app0.exe""#, "svchost.exe -k netsvcs");
    for bytes in [&lanes, &recorded] {
        assert!(has(bytes, own) && !has(bytes, of_others));
    }
    assert!(has(&generated, own) && has(&generated, of_others));
}

/// A header says one width of pointers, and the payload has the other.
#[test]
fn heap_events_of_32_bit_programs_are_read_under_the_header_of_either_width() {
    let options = Options { wow64: true, events: 20_000, distinct_stacks: 200, live: 2_000, ..Options::default() };
    let scene = Scene::new(&options);
    scene.etw.with(|etw| etw.lanes[HEAP].iter_mut().filter(|told| !told.names_a_time).for_each(Told::say_the_other_width));
    let mut running = scene.start(&of_all()).unwrap();
    poll_until(&mut running, "all events", |progress| progress.events == scene.events);
    scene.stop(running);
    assert_eq!(groups(scene.load("recorded.etl")), groups(scene.load("generated.etl")));
}

#[test]
fn losses_are_seen_at_once_and_stand_in_the_trace() {
    let options = Options { events: 2_000, ..Options::default() };
    let scene = Scene::new(&options);
    let mut running = scene.start(&of_all()).unwrap();
    poll_until(&mut running, "all events", |progress| progress.events == scene.events);
    scene.etw.with(|etw| {
        etw.of(KERNEL).events_lost = 3;
        etw.of(HEAP).events_lost = 40;
        etw.of(HEAP).buffers_lost = 2; // a consumer that was too slow
    });
    let progress = poll_until(&mut running, "losses", |progress| progress.lost_events == 43 && progress.lost_buffers == 2);
    let all = scene.etw.with(|etw| etw.sessions.iter().map(|session| session.buffers()).sum::<u32>());
    assert_eq!(progress.buffers_total, all, "of three sessions");
    assert!(progress.buffers_used > 0 && progress.buffers_used < all);
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
    assert!(running.poll().ends.is_none());
    drop(running);
    let mut running =
        LocalRecording::start(&Request::new(Target::Pids(vec![child.id()])), &scene.place.path().join("second")).unwrap();
    assert!(running.poll().ends.is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    poll_until(&mut running, "the end", |progress| progress.ends.is_some());
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
    scene.etw.with(|etw| etw.sessions[1].stop());
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
        .args(["--exact", "running::waits_when_told_to", "--nocapture"])
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
fn what_goes_wrong_at_the_end_does_not_cost_the_trace() {
    let scene = Scene::new(&Options { events: 2_000, ..Options::default() });
    let mut running = scene.start(&of_all()).unwrap();
    poll_until(&mut running, "all events", |progress| progress.events >= scene.events);
    scene.etw.with(|etw| etw.refusals.insert("ControlTraceW(STOP) heap", 5));
    let out = scene.place.path().join("recorded.etl");
    let window: &mut dyn Running = &mut running;
    window.finish(&out).unwrap();
    assert!(matches!(window.aftermath(), Aftermath::Failed(reason) if reason.contains("the heap session could not be stopped")));
    assert!(!groups(scene.load("recorded.etl")).is_empty());
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
