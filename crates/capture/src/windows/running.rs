//! A running recording: its sessions, their consumers, and the files they fill.
//!
//! Order of the start: clean up leftovers of crashed recordings; set the registry; start the kernel session, heaps,
//! providers; then resume a launched program. Whatever can be recorded is recorded; what is missing is reported.
//!
//! Order of the end: first restore the registry; then ask the .NET runtimes for their code, if that is recorded; then
//! stop all sessions; then receive what they still hold, for all of them together. Machine settings come first because
//! a closing console leaves its programs only five seconds. If there is less time, call [hurry](LocalRecording::hurry).
//!
//! The owner polls it a few times a second. Once a second it queries the sessions for losses and flushes the files.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clean_up;
use super::clock::{self, Pair};
use super::launch::Suspended;
use super::plan::Machine;
use super::refusal::Refusal;
use super::sample::Beside;
use super::silence::Silence;
use super::source::Source;
use super::starting::{self, StartedSources};
use super::tracing_flags::Traced;
use super::volumes::volumes;
use super::watch::{self, Processes};
use super::{machine, privilege};
use crate::control::Progress;
use crate::etl::write::{Descriptor, NewEvent};
use crate::etl::{EventId, HeaderKind};
use crate::events::hook;
use crate::properties::Statistics;
use crate::units::{Pid, PointerSize, Tid};
use crate::{
    Aftermath, CaptureError, DiskImages, Folder, Lane, Manifests, Pulse, Recording, Request, Running, Storage, Summary, Target,
};

/// A running recording.
pub struct LocalRecording {
    // The fields are dropped in this order: machine settings are restored first.
    traced: Option<Traced>,
    /// The sources, in the order in which they are stopped.
    sources: Vec<Source>,
    beside: Beside,
    /// The lanes, until they are merged into one file.
    recording: Option<Recording>,
    folder: PathBuf,
    processes: Processes,
    /// `None` if heaps are not recorded.
    silence: Option<Silence>,
    began: Instant,
    last_second: Instant,
    /// Parts that have been missing from the start.
    shortfalls: Vec<String>,
    /// Current problems.
    failures: Vec<String>,
    /// Problems at the end.
    aftermath: Aftermath,
    /// Whether the .NET runtimes are not asked for their code at the end, nor manifests for names.
    is_in_a_hurry: bool,
    /// The installed manifests, which describe events at the end.
    manifests: Option<Arc<dyn Manifests>>,
}

impl LocalRecording {
    /// Starts to record into files in a folder.
    pub fn start(request: &Request, folder: &Path) -> Result<Self, CaptureError> {
        Self::start_in(request, &Folder::make(folder)?)
    }

    /// Starts to record in a folder that exists already.
    pub fn start_in(request: &Request, folder: &Folder) -> Result<Self, CaptureError> {
        request.check()?;
        clean_up::clean_up_before_the_first()?;
        // Without the privilege to profile, the sessions report what is missing.
        let _ = privilege::enable_profiling();
        // Without the debug privilege, the newest Windows hides kernel modules; that is reported when it is detected.
        let _ = privilege::enable_debugging();
        let launched = match &request.target {
            Target::Launch(command) if privilege::is_elevated() => {
                Some(Suspended::start_for_desktop(command).map_err(not_started)?)
            }
            Target::Launch(command) => Some(Suspended::start(command).map_err(not_started)?),
            _ => None,
        };
        let pids = watch::running(&request.target, launched.as_ref().map(Suspended::pid))?;
        let later = match &request.target {
            Target::Image(name) => Some(name),
            Target::Pids(_) | Target::Launch(_) => request.children.with_heaps.as_ref(),
        };
        let traced = later.filter(|_| request.heap).map(|name| Traced::set(name)).transpose();
        let traced = traced.map_err(|refusal| refusal.while_trying("programs could not be prepared for tracing"))?;
        let start = Pair::now();
        let session = machine::session(start);
        let recording = Recording::create_in(folder.clone(), &session, request.ring, Storage::default())?;
        let memory = crate::platform::physical_memory().unwrap_or(4 << 30);
        let machine = Machine { processors: session.processors, memory };
        let processes = Processes::new(request, &pids);
        let started = starting::start(request, &recording, machine, &pids, processes.followed())?;
        let silence = Silence::new(request, started.has(Lane::Heap), &pids);
        let StartedSources { sources, warnings, .. } = started;
        if let Some(program) = launched {
            program.resume().map_err(not_started)?;
        }
        let beside = Beside::start(request, &pids, &recording);
        let now = Instant::now();
        Ok(Self {
            traced,
            sources,
            beside,
            recording: Some(recording),
            folder: folder.path().to_owned(),
            processes,
            silence,
            began: now,
            last_second: now,
            shortfalls: warnings,
            failures: Vec::new(),
            aftermath: Aftermath::Fine,
            is_in_a_hurry: false,
            manifests: None,
        })
    }

    /// Keeps the lanes after they are merged into a trace, since they may still be read.
    pub fn keep_lanes(self) -> Self {
        Self { recording: self.recording.map(Recording::keep_lanes), ..self }
    }

    /// Describes events by these manifests at the end.
    pub fn with_manifests(self, manifests: Option<Arc<dyn Manifests>>) -> Self {
        Self { manifests, ..self }
    }

    /// Makes the end fast: it does not wait for the .NET runtimes to report their code, or for installed manifests.
    pub fn hurry(&mut self) {
        self.is_in_a_hurry = true;
    }

    /// The state of the recording. Also does the work that is due once a second.
    pub fn poll(&mut self) -> Progress {
        let now = Instant::now();
        if now.duration_since(self.last_second) >= Duration::from_secs(1) {
            self.last_second = now;
            self.look_after(now);
        }
        let sum = |field: fn(&Statistics) -> u32| self.sources.iter().map(|source| field(&source.seen)).sum::<u32>();
        let (total, free) = (sum(|seen| seen.buffers), sum(|seen| seen.free_buffers));
        let progress = Progress {
            folder: self.folder.display().to_string(),
            seconds: now.duration_since(self.began).as_secs_f64(),
            buffers_used: total.saturating_sub(free),
            buffers_total: total,
            ends: self.ends(),
            cost: self.beside.cost(),
            ..Progress::default()
        };
        let Some(status) = self.recording.as_ref().map(Recording::status) else { return progress };
        Progress {
            events: status.events(),
            bytes: status.bytes(),
            on_disk: status.on_disk(),
            lost_events: status.lost_events(),
            lost_buffers: status.lost_buffers(),
            warning: self.warning(status.lanes.iter().find_map(|lane| lane.failure.clone())),
            ..progress
        }
    }

    /// Why the recording should end.
    fn ends(&mut self) -> Option<String> {
        let all_ended = self.processes.are_gone().then(|| ALL_ENDED.to_owned());
        let no_room = || self.recording.as_ref().and_then(Recording::is_out_of_room);
        self.beside.ends().or_else(no_room).or(all_ended)
    }

    /// Sets a mark at this moment.
    pub fn mark(&self, name: &str) -> Result<(), CaptureError> {
        // A NUL-terminated 8-bit string, as `xperf -m` writes it.
        let text: Vec<u8> = name.bytes().filter(|byte| *byte != 0).take(1024).chain([0]).collect();
        let event = NewEvent {
            processor: 0,
            time: clock::ticks(),
            kind: HeaderKind::System,
            pointer: PointerSize::Eight,
            pid: Pid(std::process::id()),
            tid: Tid(0),
            id: EventId::Hook(hook::MARK),
            version: 2,
            descriptor: Descriptor::default(),
            extended: &[],
            payload: &text,
        };
        self.recording.as_ref().ok_or(CaptureError::Ended)?.lane(Lane::User).take(&event)
    }

    /// Ends the recording and merges everything into one file. `progress` gets the bytes done and the total, and
    /// returns whether to go on. After an error the lanes are still in their folder.
    pub fn finish(&mut self, out: &Path, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<Summary, CaptureError> {
        let ended = self.end();
        // The file matters most; other errors are returned when it exists.
        let summary = self.save(out, progress)?;
        ended.map(|()| summary)
    }

    /// Merges the lanes into one file, after the end.
    fn save(&mut self, out: &Path, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<Summary, CaptureError> {
        let recording = self.recording.take().ok_or(CaptureError::Ended)?;
        let manifests = self.manifests.clone().filter(|_| !self.is_in_a_hurry);
        recording.finish(out, &mut DiskImages::new(volumes()).with_manifests(manifests), progress)
    }

    /// Ends the recording: afterwards no more events come, and all received ones are in the lanes.
    pub fn end(&mut self) -> Result<(), CaptureError> {
        let restored = self.traced.take().map_or(Ok(()), Traced::restore);
        let restored = restored.map_err(|refusal| refusal.while_trying("what was prepared for tracing could not be put back"));
        let named = self.wait_for_names();
        let stopped = self.sources.iter_mut().map(Source::stop).fold(Ok(()), Result::and);
        self.beside.look();
        self.drain();
        let closed = self.sources.iter_mut().map(Source::close).fold(Ok(()), Result::and);
        self.sources.clear();
        if let Some(recording) = &self.recording {
            // Flushes everything, as if a second had passed.
            let _ = recording.flush_if_due(Instant::now() + Duration::from_secs(1));
        }
        restored.and(stopped).and(closed).and(named)
    }

    /// Asks the .NET runtimes of the recorded processes to report their code, and waits as long as events come. It is
    /// unknown which processes have a runtime.
    fn wait_for_names(&self) -> Result<(), CaptureError> {
        /// Sessions deliver their events once a second.
        const QUIET: Duration = Duration::from_millis(1500);
        const PATIENCE: Duration = Duration::from_secs(10);
        let pids = self.processes.pids();
        if self.is_in_a_hurry || pids.is_empty() {
            return Ok(());
        }
        for source in &self.sources {
            if !source.ask_for_names(&pids)? {
                continue;
            }
            let began = Instant::now();
            let (mut last, mut came) = (began, source.names().events);
            loop {
                let (now, names) = (Instant::now(), source.names());
                if names.events != came {
                    (came, last) = (names.events, now);
                }
                let is_complete = pids.iter().all(|pid| names.complete.contains(pid));
                if is_complete || now - last > QUIET || now - began > PATIENCE {
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    /// Waits for the events that stopped sessions still hold, as long as some come.
    fn drain(&self) {
        /// Each buffer comes within a second.
        const QUIET: Duration = Duration::from_secs(3);
        const PATIENCE: Duration = Duration::from_secs(60);
        let events = || self.recording.as_ref().map_or(0, |recording| recording.status().events());
        let began = Instant::now();
        let (mut came, mut last) = (events(), began);
        while !self.sources.iter().all(Source::is_drained) {
            let (now, count) = (Instant::now(), events());
            if count != came {
                (came, last) = (count, now);
            }
            if now - last > QUIET || now - began > PATIENCE {
                return;
            }
            // A closing console may end this process at any moment, so flush now. Write errors are in the status.
            let _ = self.recording.as_ref().map_or(Ok(()), |recording| recording.flush_if_due(now));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// All missing parts and problems, the worst first.
    fn warning(&self, failure: Option<String>) -> Option<String> {
        let all: Vec<String> = failure
            .into_iter()
            .chain(self.failures.clone())
            .chain(self.shortfalls.clone())
            .chain(self.processes.shortfalls())
            .collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn look_after(&mut self, now: Instant) {
        for pid in self.processes.look() {
            self.beside.follow(pid);
        }
        let asked = self.sources.iter_mut().map(Source::look_after);
        self.failures = asked.filter_map(Result::err).map(|failure| failure.to_string()).collect();
        let status = self.recording.as_ref().map(Recording::status);
        let heap_events = status.map_or(0, |status| status.lanes[Lane::Heap as usize].events);
        self.failures.extend(self.silence.as_mut().and_then(|silence| silence.look(heap_events)));
        // Write errors are in the status.
        let _ = self.recording.as_ref().map_or(Ok(()), |recording| recording.flush_if_due(now));
        self.beside.look();
    }
}

/// The reason for ending when all recorded processes have ended.
const ALL_ENDED: &str = "all recorded programs have ended";

impl Running for LocalRecording {
    fn pulse(&mut self) -> Result<Pulse, CaptureError> {
        Ok(self.poll().into())
    }

    fn finish(&mut self, out: &Path) -> Result<(), CaptureError> {
        if let Err(reason) = self.end() {
            self.aftermath = Aftermath::Failed(reason.to_string());
        }
        self.save(out, &mut |_, _| true).map(|_| ())
    }

    fn aftermath(&self) -> Aftermath {
        self.aftermath.clone()
    }
}

impl fmt::Debug for LocalRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalRecording").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// The error if a program could not be launched.
pub(super) fn not_started(refusal: Refusal) -> CaptureError {
    refusal.while_trying("the program could not be started")
}
