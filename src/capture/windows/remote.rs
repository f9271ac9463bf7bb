//! Two processes, one recording: the window, which has no rights, and the recorder, which
//! has them. They talk as [`control`] says, through two pipes.
//!
//! A program to launch is started by the window, so that it does not get the recorder's
//! rights, and let go when the recorder has its first word.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Duration;

use super::launch::Suspended;
use super::privilege::own_sid;
use super::running::{LocalRecording, not_started};
use super::{elevate, pipe, privilege, processes, random_bytes};
use crate::capture::control::{self, Command, Message, Progress};
use crate::capture::{CaptureError, Program, Pulse, Recorder, Request, Running, Target};
use crate::etl::Guid;

/// Records on this machine: in this process if it has the rights, else in one that asks for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRecorder;

impl Recorder for SystemRecorder {
    fn programs(&self) -> Result<Vec<Program>, CaptureError> {
        processes::list().map_err(|refusal| refusal.while_trying("the processes could not be listed"))
    }

    fn start(&self, request: &Request, folder: &Path) -> Result<Box<dyn Running>, CaptureError> {
        request.check()?;
        Ok(if privilege::is_elevated() {
            Box::new(LocalRecording::start(request, folder)?.keep_lanes())
        } else {
            Box::new(RemoteRecording::start(request, folder)?)
        })
    }
}

/// The window's side of a recording in another process.
#[derive(Debug)]
struct RemoteRecording {
    messages: BufReader<File>,
    commands: File,
}

/// Time for a slow machine between yes and the first line.
const START: Duration = Duration::from_secs(60);

impl RemoteRecording {
    fn start(request: &Request, folder: &Path) -> Result<Self, CaptureError> {
        let launched = match &request.target {
            Target::Launch(command) => Some(Suspended::start(command).map_err(not_started)?),
            _ => None,
        };
        let target = launched.as_ref().map_or_else(|| request.target.clone(), |program| Target::Pids(vec![program.pid()]));
        let mut recording = Self::elevated(&control::words(&Request { target, ..request.clone() }, folder))?;
        recording.progress()?;
        launched.map_or(Ok(()), Suspended::resume).map_err(not_started)?;
        Ok(recording)
    }

    /// Starts this program once more; Windows asks the user.
    fn elevated(words: &[String]) -> Result<Self, CaptureError> {
        let tried = "the recorder could not be started";
        let sid = own_sid().map_err(|refusal| refusal.while_trying(tried))?;
        let name = format!("highwater-{}", Guid::from_bytes(random_bytes()));
        let program = std::env::current_exe().map_err(|error| CaptureError::File { path: "highwater.exe".into(), error })?;
        let own = ["--pipe", &name, "--sid", &sid].map(str::to_owned);
        elevate::run_elevated(&program, &[words, &own].concat()).map_err(|refusal| refusal.while_trying(tried))?;
        Self::connect(&name)
    }

    fn connect(name: &str) -> Result<Self, CaptureError> {
        let ends = pipe::connect_to(name, START);
        let ends = ends.map_err(|error| CaptureError::File { path: "the recorder's pipe".into(), error })?;
        Ok(Self { messages: BufReader::new(ends.status), commands: ends.commands })
    }

    /// The next message; waits for it.
    fn next(&mut self) -> Result<Message, CaptureError> {
        let mut line = String::new();
        match self.messages.read_line(&mut line) {
            Ok(1..) => Message::parse(&line).ok_or(CaptureError::Ended),
            _ => Err(CaptureError::Ended),
        }
    }

    fn progress(&mut self) -> Result<Progress, CaptureError> {
        match self.next()? {
            Message::Progress(progress) => Ok(progress),
            Message::Failed(reason) => Err(CaptureError::BadRequest(reason)),
            Message::Done { .. } => Err(CaptureError::Ended),
        }
    }
}

impl Running for RemoteRecording {
    fn pulse(&mut self) -> Result<Pulse, CaptureError> {
        let progress = self.progress()?;
        if progress.is_target_gone { Err(CaptureError::Ended) } else { Ok(progress.into()) }
    }

    fn finish(&mut self, out: &Path) -> Result<(), CaptureError> {
        let command = Command::Finish(out.to_owned()).line();
        self.commands.write_all(command.as_bytes()).map_err(|_| CaptureError::Ended)?;
        loop {
            match self.next()? {
                Message::Progress(_) => {}
                Message::Done { .. } => return Ok(()),
                Message::Failed(reason) => return Err(CaptureError::BadRequest(reason)),
            }
        }
    }
}

/// The recorder's side: waits a while for its window.
#[derive(Debug)]
pub struct Served {
    /// Takes lines of messages.
    pub messages: File,
    /// Gives lines of commands.
    pub commands: File,
}

impl Served {
    /// Makes the pipes that this user may use.
    pub fn new(name: &str, sid: &str) -> Result<Self, CaptureError> {
        let ends = pipe::serve(name, sid, START).map_err(|refusal| refusal.while_trying("the window could not be reached"))?;
        Ok(Self { messages: ends.status, commands: ends.commands })
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// A recorder that says this, and then what it is told.
    fn recorder(test: &str, says: Vec<Message>) -> (RemoteRecording, thread::JoinHandle<Vec<String>>) {
        let name = format!("highwater-test-{}-{test}", std::process::id());
        let (served, sid) = (name.clone(), own_sid().unwrap());
        let recorder = thread::spawn(move || {
            let Served { mut messages, commands } = Served::new(&served, &sid).unwrap();
            says.iter().for_each(|message| messages.write_all(message.line().as_bytes()).unwrap());
            BufReader::new(commands).lines().map_while(Result::ok).collect()
        });
        (RemoteRecording::connect(&name).unwrap(), recorder)
    }

    #[test]
    fn a_window_sees_how_it_goes_and_gets_one_trace() {
        let progress = Progress { events: 7, ..Progress::default() };
        let done = Message::Done { path: "out.etl".into(), events: 7 };
        let (mut window, recorder) =
            recorder("finish", vec![Message::Progress(progress.clone()), Message::Progress(progress), done]);
        assert_eq!(window.pulse().unwrap().events, 7);
        window.finish(Path::new(r"C:\a b\out.etl")).unwrap();
        drop(window);
        assert_eq!(recorder.join().unwrap(), [r"finish C:\a b\out.etl"]);
    }

    #[test]
    fn a_window_hears_why_nothing_is_recorded_and_that_all_is_over() {
        let (mut window, _recorder) = recorder("failed", vec![Message::Failed("no rights".into())]);
        assert_eq!(window.pulse().unwrap_err().to_string(), "no rights");
        let gone = Progress { is_target_gone: true, ..Progress::default() };
        let (mut window, _recorder) = recorder_of_the_end(gone);
        assert!(matches!(window.pulse(), Err(CaptureError::Ended)));
    }

    fn recorder_of_the_end(gone: Progress) -> (RemoteRecording, thread::JoinHandle<Vec<String>>) {
        recorder("gone", vec![Message::Progress(gone)])
    }
}
