//! `highwater-recorder`, the program itself.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

use std::process::{Command, Output};

fn recorder(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_highwater-recorder")).args(words).output().unwrap()
}

#[test]
#[cfg(not(windows))]
fn elsewhere_than_on_windows_the_recorder_says_so() {
    let run = recorder(&["--clean-up"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&run.stderr).contains("recording works on Windows only"), "{run:?}");
}

#[cfg(windows)]
mod windows {
    use std::io::{BufRead, BufReader, Write};
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::*;
    use highwater_capture::control::{Errand, Message, Orders, PipeName};
    use highwater_capture::windows::user;
    use highwater_capture::{Request, Target};

    #[test]
    fn words_that_no_window_says_are_not_obeyed() {
        for words in [&[][..], &["--clean-up"], &["--clean-up", "--pipe", "highwater-1", "--sid", "WD"], &["record", "--help"]] {
            assert_eq!(recorder(words).status.code(), Some(2), "{words:?}");
        }
    }

    fn orders(test: &str, folder: &Path) -> Orders {
        // Processes and images only: no other recorder on this machine minds.
        let target = Target::Image("highwater-test-nobody.exe".to_owned());
        let request = Box::new(Request { heap: false, trackers: false, ..Request::new(target) });
        let pipe = PipeName::new(&format!("highwater-test-{}-{test}", std::process::id())).unwrap();
        Orders { errand: Errand::Record { request, folder: folder.canonicalize().unwrap() }, pipe, sid: user().unwrap() }
    }

    fn open(orders: &Orders, part: &str, is_read: bool) -> std::fs::File {
        let path = format!(r"\\.\pipe\{}-{part}", orders.pipe.as_str());
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            match std::fs::File::options().read(is_read).write(!is_read).open(&path) {
                Ok(file) => return file,
                Err(error) => assert!(Instant::now() < end, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Where there is no ETW (Wine), and without rights, it says why nothing is recorded; else it records.
    #[test]
    fn the_program_answers_on_its_pipes_and_its_last_word_tells_how_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let orders = orders("program", folder.path());
        let mut program = Command::new(env!("CARGO_BIN_EXE_highwater-recorder")).args(orders.words().unwrap()).spawn().unwrap();
        let status = open(&orders, "status", true);
        let mut commands = open(&orders, "commands", false);
        let mut messages = BufReader::new(status).lines().map_while(Result::ok).map(|line| Message::parse(&line).unwrap());
        let first = messages.next().unwrap();
        let _ = commands.write_all(b"stop\n");
        let last = messages.last().unwrap_or_else(|| first.clone());
        match (&first, &last) {
            (Message::Failed(_), _) => assert_eq!(first, last),
            (Message::Progress(_), Message::Ended | Message::Failed(_)) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(program.wait().unwrap().success(), last == Message::Ended);
    }

    #[test]
    fn a_window_that_is_gone_before_it_came_is_not_waited_for_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let orders = orders("gone", folder.path());
        let mut program = Command::new(env!("CARGO_BIN_EXE_highwater-recorder")).args(orders.words().unwrap()).spawn().unwrap();
        drop((open(&orders, "status", true), open(&orders, "commands", false)));
        let end = Instant::now() + Duration::from_secs(60);
        while program.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "it goes on without a window");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
