//! A window and its elevated recorder.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use highwater::capture::control::{self, Command, Message};
use highwater::capture::{DiskImages, recover};
use highwater::synth::Options;

use crate::{Scene, groups, of_all};

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
