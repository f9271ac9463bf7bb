//! A recording that runs: its sessions, their consumers, and the files they fill.
//!
//! Order of the start: what crashed recordings left is cleaned up; the registry; the kernel's
//! session, heaps, trackers; then a launched program is let go. What can be recorded is, and what
//! cannot is told.
//!
//! Order of the end: first what the machine must not keep (the registry), then the .NET runtimes
//! are asked what code they have, if that is recorded, then all sessions are stopped, then what they still hold comes, for all of them together: a console that closes
//! leaves its programs five seconds, and what is not done by then must not be a setting. Who has
//! no more time than that is in a [hurry](LocalRecording::hurry).
//!
//! Whoever holds it polls it a few times a second. Once a second it asks the sessions what
//! they lost, and flushes the files.

use std::fmt;
use std::path::{Path, PathBuf};
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
use crate::capture::control::Progress;
use crate::capture::properties::Statistics;
use crate::capture::{
    Aftermath, CaptureError, DiskImages, Folder, Lane, Pulse, Recording, Request, Running, Storage, Summary, Target,
};
use crate::etl::write::{Descriptor, NewEvent};
use crate::etl::{EventId, HeaderKind};
use crate::events::hook;
use crate::units::{Pid, PointerSize, Tid};

/// A running recording.
pub struct LocalRecording {
    // Dropped in this order, should it come to that: what the machine must not keep is put back first.
    traced: Option<Traced>,
    /// In the order in which they are stopped.
    sources: Vec<Source>,
    beside: Beside,
    /// Until one file is made of it.
    recording: Option<Recording>,
    folder: PathBuf,
    processes: Processes,
    /// `None` where heaps are not recorded.
    silence: Option<Silence>,
    began: Instant,
    last_second: Instant,
    /// What is missing from the start on.
    shortfalls: Vec<String>,
    /// What is wrong now.
    failures: Vec<String>,
    /// What went wrong at the end.
    aftermath: Aftermath,
    /// Whether nobody is asked anything more at the end.
    is_in_a_hurry: bool,
}

impl LocalRecording {
    /// Starts to record into files in a folder.
    pub fn start(request: &Request, folder: &Path) -> Result<Self, CaptureError> {
        Self::start_in(request, &Folder::make(folder)?)
    }

    /// The same in a folder that is there.
    pub fn start_in(request: &Request, folder: &Folder) -> Result<Self, CaptureError> {
        request.check()?;
        clean_up::clean_up_before_the_first()?;
        // Without the right to profile, sessions say themselves what they lack.
        let _ = privilege::enable_profiling();
        // Without the right to debug, the newest Windows hides the kernel's modules; that is told when it is seen.
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
        })
    }

    /// The same, but lanes stay when they have become a trace: somebody may still read them.
    pub fn keep_lanes(self) -> Self {
        Self { recording: self.recording.map(Recording::keep_lanes), ..self }
    }

    /// There is no time at the end to wait for what programs have to tell.
    pub fn hurry(&mut self) {
        self.is_in_a_hurry = true;
    }

    /// How it goes; and once a second what is due.
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

    /// Why it is over by itself.
    fn ends(&mut self) -> Option<String> {
        let all_ended = self.processes.are_gone().then(|| ALL_ENDED.to_owned());
        let no_room = || self.recording.as_ref().and_then(Recording::is_out_of_room);
        self.beside.ends().or_else(no_room).or(all_ended)
    }

    /// Names this moment in the trace.
    pub fn mark(&self, name: &str) -> Result<(), CaptureError> {
        // A text of one-byte characters, as xperf's `-m` writes it.
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

    /// Ends it, and makes one file of all that came. `progress` is told bytes done and bytes
    /// in all, and says whether to go on. After an error the lanes are still in their folder.
    pub fn finish(&mut self, out: &Path, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<Summary, CaptureError> {
        let ended = self.end();
        // The file matters most; what else went wrong is told when it is there.
        let summary = self.save(out, progress)?;
        ended.map(|()| summary)
    }

    /// Makes one file of what came, once it has ended.
    fn save(&mut self, out: &Path, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<Summary, CaptureError> {
        let recording = self.recording.take().ok_or(CaptureError::Ended)?;
        recording.finish(out, &mut DiskImages::new(volumes()), progress)
    }

    /// Ends it: no more events come, and those that came are in the lanes.
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
            // All of it is due: as if a second had gone by.
            let _ = recording.flush_if_due(Instant::now() + Duration::from_secs(1));
        }
        restored.and(stopped).and(closed).and(named)
    }

    /// Has the .NET runtimes of the recorded processes tell what code they have, and waits for it as
    /// long as some of it comes. Nobody says which processes have a runtime.
    fn wait_for_names(&self) -> Result<(), CaptureError> {
        /// Sessions hand over what they have once a second.
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

    /// Waits for what stopped sessions still hold, as long as some of it comes.
    fn drain(&self) {
        /// Buffers come within a second each.
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
            // A console that closes may end this process at any moment. What cannot be written is in the status.
            let _ = self.recording.as_ref().map_or(Ok(()), |recording| recording.flush_if_due(now));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// All that is missing or wrong, the worst first.
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
        // What cannot be written is in the status.
        let _ = self.recording.as_ref().map_or(Ok(()), |recording| recording.flush_if_due(now));
        self.beside.look();
    }
}

/// Why a recording is over whose processes are gone.
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

/// Of a program to launch.
pub(super) fn not_started(refusal: Refusal) -> CaptureError {
    refusal.while_trying("the program could not be started")
}
