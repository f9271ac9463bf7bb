//! A recording that runs: its sessions, their consumers, and the files they fill.
//!
//! Order of the start: what crashed recordings left is cleaned up; the kernel's session with
//! its consumer before its events are switched on, so that the rundown of processes and
//! images is not missed; heaps; trackers; then a launched program is let go. Order of the end:
//! heaps, trackers, the kernel, whose images at the end cover all that came before.
//!
//! Whoever holds it polls it a few times a second. Once a second it asks the sessions what
//! they lost, flushes the files, compares the clocks, and after a loss lets the session have
//! more buffers.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock::{self, Clocks, Pair};
use super::launch::Suspended;
use super::processes::{self, Watched};
use super::refusal::Refusal;
use super::sample::Beside;
use super::session;
use super::source::{PREFIX, Source, Sources, UserSource};
use super::tracing_flags::{self, Traced};
use super::volumes::volumes;
use super::{machine, privilege};
use crate::capture::control::Progress;
use crate::capture::properties::Statistics;
use crate::capture::{CaptureError, DiskImages, Lane, Pulse, Recording, Request, Running, Summary, Target};
use crate::etl::write::{Descriptor, NewEvent};
use crate::etl::{EventId, HeaderKind};
use crate::units::{Pid, PointerSize, Tid};

/// A running recording.
pub struct LocalRecording {
    // Dropped in this order, should it come to that: sessions before what they need.
    heap: Option<Source>,
    user: Option<UserSource>,
    kernel: Option<Source>,
    traced: Option<Traced>,
    beside: Beside,
    /// Until one file is made of it.
    recording: Option<Recording>,
    folder: PathBuf,
    clocks: Arc<Clocks>,
    /// The processes that are recorded; none if more can come.
    watched: Vec<Watched>,
    began: Instant,
    last_second: Instant,
    memory: u64,
    warning: Option<String>,
}

impl LocalRecording {
    /// Starts to record into files in a folder.
    pub fn start(request: &Request, folder: &Path) -> Result<Self, CaptureError> {
        request.check()?;
        clean_up()?;
        // Without the right to profile, sessions say themselves what they lack.
        let _ = privilege::enable_profiling();
        let launched = match &request.target {
            Target::Launch(command) if privilege::is_elevated() => {
                Some(Suspended::start_for_desktop(command).map_err(not_started)?)
            }
            Target::Launch(command) => Some(Suspended::start(command).map_err(not_started)?),
            _ => None,
        };
        let pids = pids(&request.target, launched.as_ref())?;
        let traced = match &request.target {
            Target::Image(name) if request.heap => {
                Some(Traced::set(name).map_err(|refusal| refusal.while_trying("programs could not be prepared for tracing"))?)
            }
            _ => None,
        };
        let start = Pair::now();
        let session = machine::session(start);
        let recording = Recording::create(folder, &session, request.ring)?;
        let clocks = Arc::new(Clocks::new(session.frequency, start));
        let sources = Sources { request, recording: &recording, processors: session.processors };
        let kernel = sources.kernel()?;
        let heap = request.heap.then(|| sources.heap(&pids)).transpose()?;
        let user = request.trackers.then(|| sources.user(&pids, &clocks)).transpose()?;
        // Programs by name can be started again at any time.
        let ends = !matches!(request.target, Target::Image(_));
        let watched = pids.iter().filter(|_| ends).filter_map(|pid| Watched::new(*pid).ok()).collect();
        if let Some(program) = launched {
            program.resume().map_err(not_started)?;
        }
        let memory = crate::platform::physical_memory().unwrap_or(4 << 30);
        let beside = Beside::start(request, &pids, &recording);
        let now = Instant::now();
        Ok(Self {
            heap,
            user,
            kernel: Some(kernel),
            traced,
            beside,
            recording: Some(recording),
            folder: folder.to_owned(),
            clocks,
            watched,
            began: now,
            last_second: now,
            memory,
            warning: None,
        })
    }

    /// The same, but lanes stay when they have become a trace: somebody may still read them.
    pub fn keep_lanes(self) -> Self {
        Self { recording: self.recording.map(Recording::keep_lanes), ..self }
    }

    /// How it goes; and once a second what is due.
    pub fn poll(&mut self) -> Progress {
        let now = Instant::now();
        if now.duration_since(self.last_second) >= Duration::from_secs(1) {
            self.last_second = now;
            self.look_after(now);
        }
        let seen: Vec<Statistics> =
            self.sources().map(|source| source.health.seen).chain(self.user.iter().map(|user| user.health.seen)).collect();
        let total: u32 = seen.iter().map(|seen| seen.buffers).sum();
        let free: u32 = seen.iter().map(|seen| seen.free_buffers).sum();
        let progress = Progress {
            folder: self.folder.display().to_string(),
            seconds: now.duration_since(self.began).as_secs_f64(),
            buffers_used: total.saturating_sub(free),
            buffers_total: total,
            clock_error_ns: self.user.is_some().then(|| self.clocks.error()),
            is_target_gone: self.is_target_gone(),
            ends: self.beside.ends().or_else(|| self.is_target_gone().then(|| ALL_ENDED.to_owned())),
            cost: self.beside.cost(),
            warning: self.warning.clone(),
            ..Progress::default()
        };
        let Some(status) = self.recording.as_ref().map(Recording::status) else { return progress };
        Progress {
            events: status.events(),
            bytes: status.bytes(),
            on_disk: status.on_disk(),
            lost_events: status.lost_events(),
            lost_buffers: status.lost_buffers(),
            warning: status.lanes.iter().find_map(|lane| lane.failure.clone()).or(progress.warning),
            ..progress
        }
    }

    /// Names this moment in the trace.
    pub fn mark(&self, name: &str) -> Result<(), CaptureError> {
        /// `PERFINFO_LOG_TYPE_MARK` (ntwmi.h): a text of one-byte characters, as xperf's `-m` writes it.
        const MARK: u16 = 0x0F22;
        let text: Vec<u8> = name.bytes().filter(|byte| *byte != 0).take(1024).chain([0]).collect();
        let event = NewEvent {
            processor: 0,
            time: clock::ticks(),
            kind: HeaderKind::System,
            pointer: PointerSize::Eight,
            pid: Pid(std::process::id()),
            tid: Tid(0),
            id: EventId::Hook(MARK),
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
        let recording = self.recording.take().ok_or(CaptureError::Ended)?;
        // The file matters most; what else went wrong is told when it is there.
        let summary = recording.finish(out, &mut DiskImages::new(volumes()), progress)?;
        ended.map(|()| summary)
    }

    /// Ends it: no more events come, and those that came are in the lanes.
    pub fn end(&mut self) -> Result<(), CaptureError> {
        self.beside.look();
        let heap = self.heap.take().map_or(Ok(()), Source::finish);
        let user = self.user.take().map_or(Ok(()), UserSource::finish);
        let kernel = self.kernel.take().map_or(Ok(()), Source::finish);
        let restored = self.traced.take().map_or(Ok(()), Traced::restore);
        let restored = restored.map_err(|refusal| refusal.while_trying("what was prepared for tracing could not be put back"));
        if let Some(recording) = &self.recording {
            // All of it is due: as if a second had gone by.
            let _ = recording.flush_if_due(Instant::now() + Duration::from_secs(1));
        }
        heap.and(user).and(kernel).and(restored)
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        self.kernel.iter().chain(&self.heap)
    }

    fn is_target_gone(&self) -> bool {
        !self.watched.is_empty() && !self.watched.iter().any(Watched::is_running)
    }

    fn look_after(&mut self, now: Instant) {
        self.clocks.renew(Pair::now());
        self.warning = None;
        let memory = self.memory;
        for source in self.kernel.iter_mut().chain(&mut self.heap) {
            if let Err(warning) = source.look_after(memory) {
                self.warning = Some(warning.to_string());
            }
        }
        if let Some(user) = &mut self.user
            && let Err(warning) = user.look_after()
        {
            self.warning = Some(warning.to_string());
        }
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
        Self::finish(self, out, &mut |_, _| true).map(|_| ())
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

/// Stops sessions and puts back values of recordings that do not run any more.
fn clean_up() -> Result<(), CaptureError> {
    let refused = |refusal: Refusal| refusal.while_trying("what an earlier recording left could not be cleaned up");
    let own_name = tracing_flags::own_name();
    for name in session::running(PREFIX).map_err(refused)? {
        let pid = name[PREFIX.len()..].split('-').next().and_then(|pid| pid.parse::<u32>().ok());
        let is_alive = pid.is_some_and(|pid| pid != std::process::id() && processes::runs(pid, &own_name));
        if !is_alive {
            session::stop(&name).map_err(refused)?;
        }
    }
    tracing_flags::restore_leftovers().map_err(|error| refused(Refusal::from_io("TracingFlags", &error)))?;
    Ok(())
}

fn pids(target: &Target, launched: Option<&Suspended>) -> Result<Vec<u32>, CaptureError> {
    match (target, launched) {
        (Target::Pids(pids), _) => {
            let all = processes::names().map_err(|refusal| refusal.while_trying("the processes could not be listed"))?;
            match pids.iter().find(|pid| !all.iter().any(|(id, _)| id == *pid)) {
                Some(pid) => Err(CaptureError::BadRequest(format!("there is no process with the id {pid}"))),
                None => Ok(pids.clone()),
            }
        }
        (_, Some(launched)) => Ok(vec![launched.pid()]),
        (Target::Image(name), None) => {
            let all = processes::names().map_err(|refusal| refusal.while_trying("the processes could not be listed"))?;
            Ok(all.into_iter().filter(|(_, image)| image.eq_ignore_ascii_case(name)).map(|(pid, _)| pid).collect())
        }
        (Target::Launch(_), None) => Ok(Vec::new()),
    }
}
