//! A recording in two processes: the window, which has no rights, and the recorder, which has them
//! ([`serve`](super::serve)). They use the protocol of [`control`](crate::control), over two pipes.
//!
//! The recorder only fills the lanes, in a folder that the window has created. The window merges them into one trace
//! with its own rights, so nobody who reaches the pipes can have a file written elsewhere.
//!
//! A program to launch is started, suspended, by the window, so that it does not get the recorder's rights. It is
//! resumed after the recorder's first message.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

use super::launch::Suspended;
use super::privilege::own_sid;
use super::random::random_bytes;
use super::running::{LocalRecording, not_started};
use super::volumes::volumes;
use super::window_recorder::{RECORDER, START};
use super::{clean_up, elevate, pipe, privilege, processes};
use crate::control::{Command, End, Errand, Listener, Orders, PipeName, Sid};
use crate::etl::Guid;
use crate::{
    Aftermath, CaptureError, DiskImages, Leftovers, Manifests, Note, Notes, Program, Pulse, Recorder, Request, Running, Target,
    save,
};

/// Records on this machine: in this process if it has the rights, otherwise in an elevated process.
#[derive(Debug, Default)]
pub struct SystemRecorder {
    window: AtomicIsize,
    notes: Option<Notes>,
    manifests: Option<Arc<dyn Manifests>>,
}

impl SystemRecorder {
    /// Creates a recorder that keeps notes about running recordings in this folder.
    pub fn with_notes(folder: Option<PathBuf>) -> Self {
        Self { notes: folder.map(Notes::new), ..Self::default() }
    }

    /// Describes events by these manifests at the end of a recording.
    pub fn with_manifests(self, manifests: Arc<dyn Manifests>) -> Self {
        Self { manifests: Some(manifests), ..self }
    }
}

impl Recorder for SystemRecorder {
    fn set_window(&self, window: isize) {
        self.window.store(window, Ordering::Relaxed);
    }

    fn programs(&self) -> Result<Vec<Program>, CaptureError> {
        processes::list().map_err(|refusal| refusal.while_trying("the processes could not be listed"))
    }

    fn start(&self, request: &Request, folder: &Path) -> Result<Box<dyn Running>, CaptureError> {
        request.check()?;
        Ok(if privilege::is_elevated() {
            let mut written = Written::down(self.notes.as_ref(), std::process::id());
            let running = LocalRecording::start(request, folder).inspect_err(|_| written.is_over())?;
            Box::new(Noted { running: running.keep_lanes().with_manifests(self.manifests.clone()), written })
        } else {
            let remote = RemoteRecording::start(request, folder, self.window.load(Ordering::Relaxed), self.notes.as_ref())?;
            Box::new(RemoteRecording { manifests: self.manifests.clone(), ..remote })
        })
    }

    fn leftovers(&self) -> Result<Leftovers, CaptureError> {
        clean_up::find(self.notes.as_ref())
    }

    fn clean_up(&self) -> Result<Leftovers, CaptureError> {
        let what = if privilege::is_elevated() { clean_up() } else { self.have_cleaned_up() }?;
        self.notes.as_ref().map_or(Ok(()), clean_up::forget)?;
        Ok(what)
    }
}

impl SystemRecorder {
    fn have_cleaned_up(&self) -> Result<Leftovers, CaptureError> {
        let recorder = Hired::start(Errand::CleanUp, self.window.load(Ordering::Relaxed))?;
        match recorder.listener.wait_for_end(END) {
            End::Orderly => Ok(recorder.listener.cleaned_up().unwrap_or_default()),
            End::Failed(reason) => Err(CaptureError::BadRequest(reason)),
            End::CutShort => Err(CaptureError::BadRequest("the recorder was ended before it had cleaned up".to_owned())),
        }
    }
}

/// The note about a running recorder. It stays until everything that the recorder started is known to be stopped.
#[derive(Debug)]
struct Written(Option<(Notes, u32)>);

impl Written {
    fn down(notes: Option<&Notes>, recorder: u32) -> Self {
        let written = notes.and_then(|notes| {
            // Without a note, only a user with rights can find leftovers.
            notes.write(&Note::of(recorder)).inspect_err(|reason| log::warn!("{reason}")).ok()?;
            Some((notes.clone(), recorder))
        });
        Self(written)
    }

    /// Removes the note, after everything was stopped and restored.
    fn is_over(&mut self) {
        if let Some((notes, recorder)) = self.0.take() {
            // If removing fails, a later search finds the note and no leftovers.
            let _ = notes.remove(recorder);
        }
    }
}

/// A recording in this process, with its note.
#[derive(Debug)]
struct Noted {
    running: LocalRecording,
    written: Written,
}

impl Running for Noted {
    fn pulse(&mut self) -> Result<Pulse, CaptureError> {
        self.running.pulse()
    }

    fn finish(&mut self, out: &Path) -> Result<(), CaptureError> {
        let finished = Running::finish(&mut self.running, out);
        if self.running.aftermath() == Aftermath::Fine {
            self.written.is_over();
        }
        finished
    }

    fn aftermath(&self) -> Aftermath {
        self.running.aftermath()
    }
}

/// The SID of the user of this process, who owns the pipes.
pub fn user() -> Result<Sid, CaptureError> {
    own_sid().map_err(|refusal| refusal.while_trying("the user of this process could not be determined"))
}

/// Timeout for the end: longer than a recorder takes to stop its sessions and write the remaining events.
const END: Duration = Duration::from_secs(120);

/// A recorder process that was started and has connected.
#[derive(Debug)]
struct Hired {
    listener: Listener,
    commands: File,
    /// Its process id.
    pid: u32,
}

impl Hired {
    /// Starts the recorder program; Windows asks the user.
    fn start(errand: Errand, window: isize) -> Result<Self, CaptureError> {
        let tried = "the recorder could not be started";
        let sid = user()?;
        let pipe = format!("highwater-{}", Guid::from_bytes(random_bytes()));
        let pipe = PipeName::new(&pipe).ok_or_else(|| CaptureError::BadRequest(format!("{tried}: {pipe} is no name")))?;
        let orders = Orders { errand, pipe, sid };
        let program = beside(&std::env::current_exe().map_err(|error| CaptureError::File { path: RECORDER.into(), error })?)?;
        let elevated = elevate::run_elevated(window, &program, &orders.words()?);
        let elevated = elevated.map_err(|refusal| refusal.while_trying(tried))?;
        Self::meet(&orders.pipe, || elevated.may_run())
    }

    fn meet(pipe: &PipeName, comes: impl Fn() -> bool) -> Result<Self, CaptureError> {
        let ends = pipe::connect_to(pipe, START, comes);
        let ends = ends.map_err(|error| match error.kind() {
            ErrorKind::NotFound => CaptureError::BadRequest("the recorder ended before it could be talked to".to_owned()),
            _ => CaptureError::File { path: "the recorder's pipe".into(), error },
        })?;
        // The process that created the pipe is the recorder, whichever process the elevation prompt has started.
        let pid = pipe::server_of(&ends.status).map_err(|refusal| refusal.while_trying("the recorder was not identified"))?;
        Ok(Self { listener: Listener::new(ends.status), commands: ends.commands, pid })
    }
}

/// The path of the recorder in the folder of a program.
fn beside(program: &Path) -> Result<PathBuf, CaptureError> {
    let recorder = program.with_file_name(RECORDER);
    if recorder.is_file() {
        return Ok(recorder);
    }
    let text = format!("{} is not there: it belongs beside highwater.exe and records for it", recorder.display());
    Err(CaptureError::BadRequest(text))
}

/// The window's side of a recording in another process.
#[derive(Debug)]
struct RemoteRecording {
    folder: PathBuf,
    recorder: Hired,
    aftermath: Aftermath,
    written: Written,
    manifests: Option<Arc<dyn Manifests>>,
}

impl RemoteRecording {
    fn start(request: &Request, folder: &Path, window: isize, notes: Option<&Notes>) -> Result<Self, CaptureError> {
        let existed = folder.exists();
        Self::start_in(request, folder, window, notes).inspect_err(|_| {
            // Removes the folder: lanes without events are useless.
            if !existed {
                let _ = std::fs::remove_dir_all(folder);
            }
        })
    }

    fn start_in(request: &Request, folder: &Path, window: isize, notes: Option<&Notes>) -> Result<Self, CaptureError> {
        std::fs::create_dir_all(folder).map_err(CaptureError::file(folder))?;
        // Resolves links, because the recorder follows none.
        let real = folder.canonicalize().map_err(CaptureError::file(folder))?;
        let launched = match &request.target {
            Target::Launch(command) => Some(Suspended::start(command).map_err(not_started)?),
            _ => None,
        };
        let target = launched.as_ref().map_or_else(|| request.target.clone(), |program| Target::Pids(vec![program.pid()]));
        let request = Box::new(Request { target, ..request.clone() });
        let recorder = Hired::start(Errand::Record { request, folder: real }, window)?;
        // The recorder starts its sessions only after the pipes are connected.
        let written = Written::down(notes, recorder.pid);
        let recording = Self::watch(recorder, folder, written)?;
        launched.map_or(Ok(()), Suspended::resume).map_err(not_started)?;
        Ok(recording)
    }

    /// Waits until the recorder records, or reports why it does not.
    fn watch(recorder: Hired, folder: &Path, mut written: Written) -> Result<Self, CaptureError> {
        let bad = |reason: &str| Err(CaptureError::BadRequest(reason.to_owned()));
        if !recorder.listener.wait_for_word(START) {
            return bad("the recorder does not answer");
        }
        match (recorder.listener.progress(), recorder.listener.end()) {
            (None, Some(End::Failed(reason))) => {
                written.is_over();
                bad(&reason)
            }
            (None, _) => bad("the recorder ended before it recorded anything"),
            (Some(_), _) => {
                Ok(Self { folder: folder.to_owned(), recorder, aftermath: Aftermath::Fine, written, manifests: None })
            }
        }
    }
}

impl Running for RemoteRecording {
    fn pulse(&mut self) -> Result<Pulse, CaptureError> {
        let progress = self.recorder.listener.progress().unwrap_or_default();
        let is_over = progress.ends.is_none() && self.recorder.listener.end().is_some();
        if is_over { Err(CaptureError::Ended) } else { Ok(progress.into()) }
    }

    fn finish(&mut self, out: &Path) -> Result<(), CaptureError> {
        // A recorder that has ended already needs no command.
        let _ = self.recorder.commands.write_all(Command::Stop.line().as_bytes());
        self.aftermath = match self.recorder.listener.wait_for_end(END) {
            End::Orderly => {
                self.written.is_over();
                Aftermath::Fine
            }
            End::Failed(reason) => Aftermath::Failed(reason),
            End::CutShort => Aftermath::CutShort,
        };
        // The recorded events are in the folder, however the recorder ended.
        let mut images = DiskImages::new(volumes()).with_manifests(self.manifests.clone());
        save(&self.folder, out, &mut images, &mut |_, _| true).map(|_| ())
    }

    fn aftermath(&self) -> Aftermath {
        self.aftermath.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::thread;

    use super::super::clock::Pair;
    use super::super::machine;
    use super::*;
    use crate::Recording;
    use crate::control::{Message, Progress};

    /// A fake recorder: it sends these messages, waits for the stop command, and then sends the last one.
    fn recorder(test: &str, says: Vec<Message>, last: Option<Message>) -> Hired {
        let pipe = PipeName::new(&format!("highwater-test-{}-{test}", std::process::id())).unwrap();
        let (served, sid) = (pipe.clone(), own_sid().unwrap());
        thread::spawn(move || {
            let pipe::Ends { mut status, commands } = pipe::serve(&served, &sid, START).unwrap();
            says.iter().for_each(|message| status.write_all(message.line().as_bytes()).unwrap());
            let mut lines = BufReader::new(commands).lines();
            lines.find(|line| line.as_ref().is_ok_and(|line| line == "stop"));
            last.iter().for_each(|message| status.write_all(message.line().as_bytes()).unwrap());
            status.sync_all().unwrap();
        });
        Hired::meet(&pipe, || true).unwrap()
    }

    fn progress(events: u64) -> Message {
        Message::Progress(Progress { events, ..Progress::default() })
    }

    #[test]
    fn a_window_sees_how_it_goes_makes_one_trace_of_the_folder_and_says_how_it_ended() {
        let ends = [
            ("ended", Some(Message::Ended), Aftermath::Fine),
            ("failed", Some(Message::Failed("no".into())), Aftermath::Failed("no".into())),
            ("killed", None, Aftermath::CutShort),
        ];
        for (test, last, aftermath) in ends {
            let place = tempfile::tempdir().unwrap();
            let notes = Notes::new(place.path().to_owned());
            let folder = tempfile::tempdir().unwrap();
            let (lanes, out) = (folder.path().join("lanes"), folder.path().join("out.etl"));
            drop(Recording::create(&lanes, &machine::session(Pair::now()), None).unwrap());
            let recorder = recorder(test, vec![progress(6), progress(7)], last);
            assert_eq!(recorder.pid, std::process::id(), "who made the pipe");
            let written = Written::down(Some(&notes), recorder.pid);
            let mut window = RemoteRecording::watch(recorder, &lanes, written).unwrap();
            assert_eq!(notes.all().len(), 1, "written down while it runs");
            while window.pulse().unwrap().events < 7 {
                thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(window.pulse().unwrap().events, 7, "nobody waits for another line");
            window.finish(&out).unwrap();
            assert!(out.exists() && lanes.exists(), "{test}");
            assert_eq!(window.aftermath(), aftermath, "{test}");
            let is_known = notes.all().iter().any(|note| note.recorder == std::process::id());
            assert_eq!(is_known, aftermath != Aftermath::Fine, "{test}: what is left must be found");
        }
    }

    #[test]
    fn a_window_hears_why_nothing_is_recorded_and_that_all_is_over() {
        let nowhere = Path::new("highwater-test-nowhere");
        let said = vec![Message::Failed("no rights".into())];
        let refused = RemoteRecording::watch(recorder("refused", said, None), nowhere, Written(None));
        assert_eq!(refused.err().map(|error| error.to_string()).as_deref(), Some("no rights"));
        let over = Message::Progress(Progress { ends: Some("all have ended".into()), ..Progress::default() });
        let mut window = RemoteRecording::watch(recorder("over", vec![over], None), nowhere, Written(None)).unwrap();
        assert_eq!(window.pulse().unwrap().ends.as_deref(), Some("all have ended"));
    }

    #[test]
    fn a_recorder_that_is_not_beside_the_program_is_missed_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("highwater.exe");
        let missed = beside(&program).unwrap_err().to_string();
        assert!(missed.contains("highwater-recorder.exe is not there"), "{missed}");
        std::fs::write(folder.path().join(RECORDER), []).unwrap();
        assert_eq!(beside(&program).unwrap(), folder.path().join("highwater-recorder.exe"));
    }
}
