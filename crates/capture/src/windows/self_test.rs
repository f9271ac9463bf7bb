//! The self-test's recordings: a program with known allocations ([`target`](super::target)) is recorded in every way,
//! and all system calls and results are kept. The content of the recordings is checked elsewhere.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::clock::Pair;
use super::elevate::quoted;
use super::journal::{self, Journal};
use super::launch::Suspended;
use super::running::{LocalRecording, not_started};
use super::{machine, privilege, session};
use crate::control::Progress;
use crate::events::class;
use crate::{CaptureError, Request, Target};

/// A way to record the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Launched, from its first instruction.
    Launch,
    /// By its process id, while it runs.
    Pid,
    /// By its name, before it starts.
    Name,
}

impl Way {
    /// All ways.
    pub const ALL: [Self; 3] = [Self::Launch, Self::Pid, Self::Name];

    /// Its name as an option.
    pub fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Pid => "pid",
            Self::Name => "name",
        }
    }
}

/// The target program and its arguments.
#[derive(Clone, Debug)]
pub struct TargetProgram {
    /// Its path.
    pub path: PathBuf,
    /// Its arguments, without `--wait`.
    pub words: Vec<String>,
}

/// The result of one recording.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Id of the recorded process; 0 if there was none.
    pub pid: u32,
    /// The system calls and the first events.
    pub journal: Journal,
    /// The state at the end.
    pub progress: Progress,
    /// Path of the trace, if there is one.
    pub trace: Option<PathBuf>,
    /// The error, if any.
    pub error: Option<String>,
}

/// The facts about the machine that matter for recording.
#[derive(Clone, Debug, Serialize)]
pub struct MachineFacts {
    /// Windows version: major, minor, build.
    pub windows: (u8, u8, u32),
    /// Number of CPUs.
    pub processors: u32,
    /// Physical memory in bytes.
    pub memory: Option<u64>,
    /// Ticks of the performance counter in a second.
    pub frequency: u64,
    /// Whether this process has administrator rights.
    pub is_elevated: bool,
    /// Names and GUIDs of the sessions that run already.
    pub sessions: Vec<(String, String)>,
}

/// Collects the facts about this machine.
pub fn about_this_machine() -> MachineFacts {
    let session = machine::session(Pair::now());
    let sessions = session::running().unwrap_or_default();
    MachineFacts {
        windows: session.os,
        processors: session.processors,
        memory: crate::platform::physical_memory(),
        frequency: session.frequency,
        is_elevated: privilege::is_elevated(),
        sessions: sessions.into_iter().map(|known| (known.name, known.guid.to_string())).collect(),
    }
}

/// Time within which events arrive: a session delivers them once a second.
const LATEST: Duration = Duration::from_millis(2500);
/// Timeout for the program, which takes hardly any time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Records the program in one of the ways, into files in `folder`.
pub fn record(way: Way, program: &TargetProgram, folder: &Path) -> Trial {
    journal::begin();
    let mut trial = Trial::default();
    if let Err(error) = trial.record(way, program, folder) {
        trial.error = Some(error.to_string());
    }
    trial.journal = journal::end();
    trial
}

/// A request for everything that can be recorded, since the test is to show how Windows reacts to each part.
pub fn everything(target: Target) -> Request {
    let marks = vec![class::MULTI_MAIN];
    Request { samples: true, frames: true, managed: true, marks, ..Request::new(target) }
}

impl Trial {
    fn record(&mut self, way: Way, program: &TargetProgram, folder: &Path) -> Result<(), CaptureError> {
        let lanes = folder.join(format!("{}.recording", way.name()));
        // Left by an earlier run that did not finish. If it cannot be removed, the start reports that.
        let _ = std::fs::remove_dir_all(&lanes);
        let start = |target| LocalRecording::start(&everything(target), &lanes);
        let mut running = match way {
            Way::Launch => {
                let words = program.words.iter().map(|word| quoted(word));
                let line =
                    std::iter::once(quoted(&program.path.display().to_string())).chain(words).collect::<Vec<_>>().join(" ");
                let suspended = Suspended::start(&line).map_err(not_started)?;
                self.pid = suspended.pid();
                let mut running = start(Target::Pids(vec![self.pid]))?;
                suspended.resume().map_err(not_started)?;
                self.poll(&mut running, PATIENCE, |progress| progress.ends.is_some());
                running
            }
            Way::Pid => {
                let mut waiting = Waiting::start(program)?;
                self.pid = waiting.child.id();
                let mut running = start(Target::Pids(vec![self.pid]))?;
                waiting.go()?;
                self.poll(&mut running, LATEST, |_| false);
                running
            }
            Way::Name => {
                let image = program.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let mut running = start(Target::Image(image))?;
                let mut waiting = Waiting::start(program)?;
                self.pid = waiting.child.id();
                waiting.go()?;
                self.poll(&mut running, LATEST, |_| false);
                running
            }
        };
        let out = folder.join(format!("{}.etl", way.name()));
        running.finish(&out, &mut |_, _| true)?;
        self.trace = Some(out);
        Ok(())
    }

    fn poll(&mut self, running: &mut LocalRecording, time: Duration, is_enough: impl Fn(&Progress) -> bool) {
        let end = Instant::now() + time;
        loop {
            self.progress = running.poll();
            if is_enough(&self.progress) || Instant::now() > end {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The target program, waiting for input. It is ended on drop.
struct Waiting {
    child: Child,
    lines: Receiver<String>,
}

impl Waiting {
    fn start(program: &TargetProgram) -> Result<Self, CaptureError> {
        let mut command = Command::new(&program.path);
        command.args(&program.words).arg("--wait").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(CaptureError::file(&program.path))?;
        let (say, lines) = channel();
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    let _ = say.send(line.trim().to_owned()); // the receiver may be gone
                }
            });
        }
        let waiting = Self { child, lines };
        waiting.expect("ready")?;
        Ok(waiting)
    }

    fn go(&mut self) -> Result<(), CaptureError> {
        if let Some(words) = &mut self.child.stdin {
            let _ = words.write_all(b"go\n"); // if it has ended, `expect` reports that
        }
        self.expect("done")
    }

    fn expect(&self, wanted: &str) -> Result<(), CaptureError> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) if line == wanted => Ok(()),
            _ => Err(CaptureError::BadRequest(format!("the program that is recorded does not say \"{wanted}\""))),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends at the end of its input; if it does not, it is killed.
        let end = Instant::now() + Duration::from_secs(5);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
