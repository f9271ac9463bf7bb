//! A window and its elevated recorder.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use highwater::capture::control::{Command, Errand, Message, Orders, PipeName, Sid};
use highwater::capture::windows::{serve, user};
use highwater::capture::{DiskImages, Leftovers, Request, Ring, recover};
use highwater_dev::synth::Options;

use crate::simulated::state::Session;
use crate::{Scene, groups, of_all};

/// A recorder that was started, as its window has it.
struct Recorder {
    thread: JoinHandle<ExitCode>,
    messages: Box<dyn Iterator<Item = Message>>,
    commands: std::fs::File,
}

impl Recorder {
    fn start(test: &str, errand: Errand) -> Self {
        Self::start_for(test, errand, user().unwrap())
    }

    fn start_for(test: &str, errand: Errand, sid: Sid) -> Self {
        let name = format!("highwater-test-{}-{test}", std::process::id());
        let orders = Orders { errand, pipe: PipeName::new(&name).unwrap(), sid };
        let words: Vec<OsString> = orders.words().unwrap().into_iter().map(OsString::from).collect();
        let thread = std::thread::spawn(move || serve(words));
        let messages = BufReader::new(open(&name, "status", true)).lines().map_while(Result::ok);
        let messages = Box::new(messages.map(|line| Message::parse(&line).unwrap()));
        Self { thread, messages, commands: open(&name, "commands", false) }
    }

    fn record(test: &str, request: Request, folder: &Path) -> Self {
        Self::start(test, Errand::Record { request: Box::new(request), folder: folder.to_owned() })
    }

    /// Waits until so many events have come.
    fn hears(&mut self, events: u64) {
        let all = self.messages.find(|message| matches!(message, Message::Progress(progress) if progress.events == events));
        assert!(all.is_some(), "{events} events");
    }

    /// All that is said from now on but progress, and whether it ends well.
    fn end(self) -> (Vec<Message>, bool) {
        let said = self.messages.filter(|message| !matches!(message, Message::Progress(_))).collect();
        let code = format!("{:?}", self.thread.join().unwrap());
        (said, code == format!("{:?}", ExitCode::SUCCESS))
    }
}

fn open(name: &str, part: &str, is_read: bool) -> std::fs::File {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let opened = std::fs::File::options().read(is_read).write(!is_read).open(format!(r"\\.\pipe\{name}-{part}"));
        match opened {
            Ok(file) => return file,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A folder as a window makes it for the recorder.
fn folder(scene: &Scene) -> PathBuf {
    let folder = scene.place.path().join("lanes");
    std::fs::create_dir(&folder).unwrap();
    folder.canonicalize().unwrap()
}

#[test]
fn a_window_controls_an_elevated_recorder_through_its_pipes() {
    for (test, ring) in [("all", None), ("ring", Some(Ring::Time(Duration::from_secs(3600))))] {
        let options = Options { events: 5_000, ..Options::default() };
        let scene = Scene::new(&options);
        let (folder, out) = (folder(&scene), scene.place.path().join("recorded.etl"));
        let mut recorder = Recorder::record(test, Request { ring, ..of_all() }, &folder);
        recorder.hears(scene.events);
        recorder.commands.write_all(Command::Mark("here".into()).line().as_bytes()).unwrap();
        recorder.commands.write_all(Command::Stop.line().as_bytes()).unwrap();
        assert_eq!(recorder.end(), (vec![Message::Ended], true), "said when all is stopped");
        assert!(scene.etw.running().is_empty());
        recover(&folder, &out, &mut DiskImages::default(), &mut |_, _| true).unwrap();
        assert_eq!(groups(scene.load("generated.etl")), groups(scene.load("recorded.etl")));
    }
}

#[test]
fn a_window_hears_why_nothing_is_recorded() {
    let scene = Scene::silent();
    scene.etw.with(|etw| etw.refusals.insert("StartTraceW", 5));
    let (said, is_fine) = Recorder::record("refused", of_all(), &folder(&scene)).end();
    assert!(matches!(said.as_slice(), [Message::Failed(reason)] if reason.contains("administrator")), "{said:?}");
    assert!(!is_fine);
}

#[test]
fn a_recorder_writes_into_no_folder_that_is_not_exactly_there_and_makes_none() {
    let scene = Scene::silent();
    let there = folder(&scene);
    let plain = PathBuf::from(there.to_str().unwrap().trim_start_matches(r"\\?\"));
    for (test, path) in [("plain", plain), ("missing", there.join("missing"))] {
        let (said, is_fine) = Recorder::record(test, of_all(), &path).end();
        assert!(matches!(said.as_slice(), [Message::Failed(_)]) && !is_fine, "{test}: {said:?}");
    }
    assert_eq!(std::fs::read_dir(&there).unwrap().count(), 0);
    assert!(scene.etw.running().is_empty());
}

#[test]
fn a_recorder_writes_into_no_folder_of_another_user_than_the_one_who_asks() {
    let scene = Scene::silent();
    let folder = folder(&scene);
    let errand = Errand::Record { request: Box::new(of_all()), folder: folder.clone() };
    let recorder = Recorder::start_for("other", errand, Sid::new("S-1-5-21-11-22-33-4444").unwrap());
    let (said, is_fine) = recorder.end();
    assert!(matches!(said.as_slice(), [Message::Failed(reason)] if reason.contains("belong")) && !is_fine, "{said:?}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    assert!(scene.etw.running().is_empty());
}

#[test]
fn a_recorder_obeys_nobody_who_names_everybody() {
    let orders =
        Orders { errand: Errand::CleanUp, pipe: PipeName::new("highwater-test-everybody").unwrap(), sid: user().unwrap() };
    let own = orders.sid.as_str().to_owned();
    let words =
        |sid: &str| orders.words().unwrap().into_iter().map(|word| OsString::from(word.replace(&own, sid))).collect::<Vec<_>>();
    for group in ["S-1-1-0", "S-1-5-32-545", "S-1-5-11"] {
        assert_eq!(format!("{:?}", serve(words(group))), format!("{:?}", ExitCode::from(2)), "{group}");
    }
}

#[test]
fn a_window_that_goes_leaves_lanes_that_can_be_recovered() {
    let options = Options { events: 5_000, ..Options::default() };
    let scene = Scene::new(&options);
    let (folder, out) = (folder(&scene), scene.place.path().join("recorded.etl"));
    let mut recorder = Recorder::record("gone", of_all(), &folder);
    recorder.hears(scene.events);
    drop((recorder.messages, recorder.commands));
    recorder.thread.join().unwrap();
    assert!(scene.etw.running().is_empty());
    let words = ["highwater", "record", "--recover"].map(OsString::from).into_iter();
    let words = words.chain([folder.into_os_string(), "-o".into(), out.into_os_string()]);
    highwater::cli::run(words, |_, _| Ok(()));
    assert_eq!(groups(scene.load("generated.etl")), groups(scene.load("recorded.etl")));
}

#[test]
fn a_window_that_does_not_read_holds_nothing_up() {
    let scene = Scene::silent();
    let Recorder { thread, messages, mut commands } = Recorder::record("deaf", of_all(), &folder(&scene));
    // It says how it goes after each command: more than the pipe holds.
    let mark = Command::Mark("x".repeat(200)).line();
    let commanding = std::thread::spawn(move || {
        (0..2_000).for_each(|_| commands.write_all(mark.as_bytes()).unwrap());
        commands.write_all(Command::Stop.line().as_bytes()).unwrap();
    });
    let end = Instant::now() + Duration::from_secs(60);
    while !commanding.is_finished() || !scene.etw.running().is_empty() {
        assert!(Instant::now() < end, "the recorder waits for its window");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(messages);
    thread.join().unwrap();
}

#[test]
fn what_was_left_is_ended_by_the_recorder_and_at_the_terminal_and_told_by_name() {
    let scene = Scene::silent();
    let left = ["highwater-4294967280-kernel", "highwater-4294967280-heap"];
    scene.etw.with(|etw| etw.sessions.extend(left.into_iter().chain(["NT Kernel Logger"]).map(Session::called)));
    let sessions = left.map(str::to_owned).to_vec();
    let (said, is_fine) = Recorder::start("clean-up", Errand::CleanUp).end();
    assert_eq!(said, [Message::CleanedUp(Leftovers { sessions, images: Vec::new() }), Message::Ended]);
    assert!(is_fine);
    assert_eq!(scene.etw.running(), ["NT Kernel Logger"]);

    scene.etw.with(|etw| etw.sessions.push(Session::called("highwater-4294967280-user")));
    let clean_up = || highwater::cli::run(["highwater", "record", "--clean-up"].map(OsString::from), |_, _| Ok(()));
    for _ in ["something is left", "nothing is"] {
        assert_eq!(format!("{:?}", clean_up()), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(scene.etw.running(), ["NT Kernel Logger"]);
    }

    scene.etw.with(|etw| {
        etw.sessions.push(Session::called("highwater-4294967280-user"));
        etw.refusals.insert("ControlTraceW(STOP)", 5);
    });
    let (said, is_fine) = Recorder::start("clean-up-refused", Errand::CleanUp).end();
    assert!(matches!(said.as_slice(), [Message::Failed(reason)] if reason.contains("cleaned up")) && !is_fine, "{said:?}");
}
