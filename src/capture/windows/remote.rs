//! Two processes, one recording: the window, which has no rights, and the recorder, which
//! has them. They talk as [`control`] says, through two pipes.
//!
//! The recorder only fills the lanes. The window makes one trace of them, with its own
//! rights: nobody who could reach the pipes can have a file written elsewhere.
//!
//! A program to launch is started by the window, so that it does not get the recorder's
//! rights, and let go when the recorder has its first word.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::launch::Suspended;
use super::privilege::own_sid;
use super::running::{LocalRecording, not_started};
use super::volumes::volumes;
use super::{elevate, pipe, privilege, processes, random_bytes};
use crate::capture::control::{self, Command, Message, Progress};
use crate::capture::{CaptureError, DiskImages, Program, Pulse, Recorder, Request, Running, Target, save};
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
    folder: PathBuf,
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
        let mut recording = Self::elevated(&Request { target, ..request.clone() }, folder)?;
        recording.progress()?;
        launched.map_or(Ok(()), Suspended::resume).map_err(not_started)?;
        Ok(recording)
    }

    /// Starts this program once more; Windows asks the user.
    fn elevated(request: &Request, folder: &Path) -> Result<Self, CaptureError> {
        let tried = "the recorder could not be started";
        let sid = own_sid().map_err(|refusal| refusal.while_trying(tried))?;
        let name = format!("highwater-{}", Guid::from_bytes(random_bytes()));
        let program = std::env::current_exe().map_err(|error| CaptureError::File { path: "highwater.exe".into(), error })?;
        let own = ["--pipe", &name, "--sid", &sid].map(str::to_owned);
        let words = [control::words(request, folder), own.to_vec()].concat();
        elevate::run_elevated(&program, &words).map_err(|refusal| refusal.while_trying(tried))?;
        Self::connect(&name, folder)
    }

    fn connect(name: &str, folder: &Path) -> Result<Self, CaptureError> {
        let ends = pipe::connect_to(name, START);
        let ends = ends.map_err(|error| CaptureError::File { path: "the recorder's pipe".into(), error })?;
        Ok(Self { folder: folder.to_owned(), messages: BufReader::new(ends.status), commands: ends.commands })
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
        // One that has ended already needs no command.
        let _ = self.commands.write_all(Command::Stop.line().as_bytes());
        let mut failure = None;
        loop {
            match self.next() {
                Ok(Message::Failed(reason)) => failure = Some(reason),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        // What was recorded is in the folder, however it ended.
        save(&self.folder, out, &mut DiskImages::new(volumes()), &mut |_, _| true)?;
        failure.map_or(Ok(()), |reason| Err(CaptureError::BadRequest(reason)))
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

    use super::super::clock::Pair;
    use super::super::machine;
    use super::*;
    use crate::capture::Recording;

    /// A recorder that says this, then waits until it is told to stop, and ends.
    fn recorder(test: &str, folder: &Path, says: Vec<Message>) -> RemoteRecording {
        let name = format!("highwater-test-{}-{test}", std::process::id());
        let (served, sid) = (name.clone(), own_sid().unwrap());
        thread::spawn(move || {
            let Served { mut messages, commands } = Served::new(&served, &sid).unwrap();
            says.iter().for_each(|message| messages.write_all(message.line().as_bytes()).unwrap());
            let mut lines = BufReader::new(commands).lines();
            lines.find(|line| line.as_ref().is_ok_and(|line| line == "stop"));
        });
        RemoteRecording::connect(&name, folder).unwrap()
    }

    #[test]
    fn a_window_sees_how_it_goes_and_makes_one_trace_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (lanes, out) = (folder.path().join("lanes"), folder.path().join("out.etl"));
        drop(Recording::create(&lanes, &machine::session(Pair::now()), None).unwrap());
        let progress = Progress { events: 7, ..Progress::default() };
        let mut window = recorder("finish", &lanes, vec![Message::Progress(progress.clone()), Message::Progress(progress)]);
        assert_eq!(window.pulse().unwrap().events, 7);
        window.finish(&out).unwrap();
        assert!(out.exists() && lanes.exists());
    }

    #[test]
    fn a_window_hears_why_nothing_is_recorded_and_that_all_is_over() {
        let nowhere = Path::new("highwater-test-nowhere");
        let mut window = recorder("failed", nowhere, vec![Message::Failed("no rights".into())]);
        assert_eq!(window.pulse().unwrap_err().to_string(), "no rights");
        assert!(window.finish(Path::new("out.etl")).is_err());
        let gone = Progress { is_target_gone: true, ..Progress::default() };
        let mut window = recorder("gone", nowhere, vec![Message::Progress(gone)]);
        assert!(matches!(window.pulse(), Err(CaptureError::Ended)));
    }
}
