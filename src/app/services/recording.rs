//! A recording started from the window: its thread asks the system to record, watches the progress,
//! ends it and makes one trace of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use eframe::egui;

use crate::capture::{Aftermath, CaptureError, Pulse, Recorder, Request, Running};
use crate::panics;
use crate::paths::{self, Existing};

/// The stage of a recording.
#[derive(Clone, PartialEq, Debug)]
pub enum Stage {
    /// The system is asked to record; it may ask the user for consent.
    Starting,
    Running,
    /// The lanes are completed and merged.
    Saving,
    /// It has become a trace: its file and bytes.
    Saved(PathBuf, u64),
    /// The file is being moved to where the user wants it.
    Moving(PathBuf),
    /// The recording failed: there is no trace, or only the lanes in the folder.
    Failed(String),
}

/// Events and bytes per second.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rate {
    pub events: f64,
    pub bytes: f64,
}

/// A recording. Dropping it ends the recording.
#[derive(Debug)]
pub struct RecordJob {
    /// Name of the recorded program, for the user.
    pub name: String,
    /// The folder in which the lanes grow.
    pub folder: PathBuf,
    pub stage: Stage,
    pub pulse: Pulse,
    pub rate: Rate,
    /// When it began, and when it ended; `None` until then.
    pub since: Option<Instant>,
    pub until: Option<Instant>,
    /// An earlier pulse, for the rate.
    before: Option<(Instant, Pulse)>,
    /// Whether the lanes still exist.
    has_lanes: bool,
    ctx: egui::Context,
    news: Receiver<News>,
    tell: Sender<News>,
    stop: Sender<()>,
}

#[derive(Debug)]
enum News {
    Stage(Stage),
    Pulse(Pulse),
    Ended(Aftermath),
    /// The trace's old and new file, or why it could not be moved.
    Moved(PathBuf, PathBuf, Result<u64, String>),
}

/// Interval between two looks at the progress.
const BEAT: Duration = Duration::from_millis(250);

/// An event in the course of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Its files can be followed.
    Started,
    /// The recording has ended, and this is to be reported.
    Ended(Aftermath),
    /// It has become this file.
    Saved(PathBuf),
    /// The file was moved from the first path to the second.
    Moved(PathBuf, PathBuf),
    /// The file could not be moved there.
    NotMoved(PathBuf, String),
}

impl RecordJob {
    /// Starts to record into `folder`; in the end the trace is written to the file that [`file_of`] names.
    pub fn start(ctx: egui::Context, recorder: Arc<dyn Recorder>, request: Request, name: String, folder: PathBuf) -> Self {
        let (send, news) = channel();
        let (stop, stopped) = channel();
        let work = Work { ctx: ctx.clone(), send: send.clone(), stopped, folder: folder.clone() };
        std::thread::spawn(move || {
            let result = panics::catch(|| work.run(recorder.as_ref(), &request));
            match result {
                Ok(Ok(())) => {}
                Ok(Err(reason)) => work.tell(News::Stage(Stage::Failed(reason.to_string()))),
                Err(caught) => work.tell(News::Stage(Stage::Failed(format!("the recording broke: {caught}")))),
            }
        });
        Self {
            name,
            folder,
            stage: Stage::Starting,
            pulse: Pulse::default(),
            rate: Rate::default(),
            since: None,
            until: None,
            before: None,
            has_lanes: true,
            ctx,
            news,
            tell: send,
            stop,
        }
    }

    /// Takes the worker's messages; returns the events that concern others.
    pub fn drain(&mut self) -> Vec<Turn> {
        let mut turns = Vec::new();
        for news in self.news.try_iter().collect::<Vec<_>>() {
            match news {
                News::Pulse(pulse) => self.take_pulse(pulse),
                News::Ended(aftermath) => turns.push(Turn::Ended(aftermath)),
                News::Moved(from, to, Ok(bytes)) => {
                    self.stage = Stage::Saved(to.clone(), bytes);
                    turns.push(Turn::Moved(from, to));
                }
                News::Moved(from, to, Err(reason)) => {
                    let bytes = std::fs::metadata(&from).map_or(0, |file| file.len());
                    self.stage = Stage::Saved(from, bytes);
                    turns.push(Turn::NotMoved(to, reason));
                }
                News::Stage(stage) => {
                    match &stage {
                        Stage::Running => {
                            self.since = Some(Instant::now());
                            turns.push(Turn::Started);
                        }
                        Stage::Saving | Stage::Failed(_) => self.until = self.until.or(Some(Instant::now())),
                        Stage::Saved(file, _) => turns.push(Turn::Saved(file.clone())),
                        Stage::Starting | Stage::Moving(_) => {}
                    }
                    self.stage = stage;
                }
            }
        }
        turns
    }

    fn take_pulse(&mut self, pulse: Pulse) {
        let now = Instant::now();
        match &self.before {
            Some((then, before)) if now - *then >= Duration::from_secs(1) => {
                let seconds = (now - *then).as_secs_f64();
                let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
                self.rate = Rate { events: rate(pulse.events, before.events), bytes: rate(pulse.bytes, before.bytes) };
                self.before = Some((now, pulse.clone()));
            }
            Some(_) => {}
            None => self.before = Some((now, pulse.clone())),
        }
        self.pulse = pulse;
    }

    /// Asks the recording to end.
    pub fn stop(&self) {
        let _ = self.stop.send(()); // it may have ended by itself
    }

    /// Whether the recording or a move of its file is still in progress.
    pub fn is_busy(&self) -> bool {
        matches!(self.stage, Stage::Starting | Stage::Running | Stage::Saving | Stage::Moving(_))
    }

    /// Moves the trace to another file, which takes a while if that is on another drive.
    pub fn move_to(&mut self, to: PathBuf, existing: Existing) {
        let Stage::Saved(from, _) = self.stage.clone() else { return };
        self.stage = Stage::Moving(to.clone());
        let (tell, ctx) = (self.tell.clone(), self.ctx.clone());
        std::thread::spawn(move || {
            let moved = paths::transfer(&from, &to, existing).map_err(|reason| reason.to_string());
            let _ = tell.send(News::Moved(from, to, moved)); // the window may be closed by now
            ctx.request_repaint();
        });
    }

    /// Deletes the lanes: the trace contains all their data, and nothing reads them any more.
    pub fn forget_lanes(&mut self) {
        if matches!(self.stage, Stage::Saved(..)) && std::mem::take(&mut self.has_lanes) {
            let folder = self.folder.clone();
            std::thread::spawn(move || {
                if let Err(reason) = std::fs::remove_dir_all(&folder) {
                    log::warn!("{}: {reason}", folder.display());
                }
            });
        }
    }

    /// Duration of the recording so far.
    pub fn time(&self) -> Duration {
        let until = self.until.unwrap_or_else(Instant::now);
        self.since.map_or(Duration::ZERO, |since| until.saturating_duration_since(since))
    }
}

/// The file that a recording in `folder` becomes.
pub fn file_of(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".etl");
    folder.with_file_name(name)
}

/// The worker's side.
struct Work {
    ctx: egui::Context,
    send: Sender<News>,
    stopped: Receiver<()>,
    folder: PathBuf,
}

impl Work {
    fn run(&self, recorder: &dyn Recorder, request: &Request) -> Result<(), CaptureError> {
        panics::reach("record");
        let mut running = recorder.start(request, &self.folder)?;
        self.tell(News::Stage(Stage::Running));
        self.watch(running.as_mut());
        self.tell(News::Stage(Stage::Saving));
        let out = file_of(&self.folder);
        let finished = running.finish(&out);
        self.tell(News::Ended(running.aftermath()));
        finished?;
        let bytes = std::fs::metadata(&out).map_or(0, |file| file.len());
        self.tell(News::Stage(Stage::Saved(out, bytes)));
        Ok(())
    }

    /// Watches the recording until it ends or the user stops it.
    fn watch(&self, running: &mut dyn Running) {
        while let Ok(pulse) = running.pulse() {
            let ends = pulse.ends.is_some();
            self.tell(News::Pulse(pulse));
            if ends {
                return;
            }
            match self.stopped.recv_timeout(BEAT) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn tell(&self, news: News) {
        let _ = self.send.send(news); // the window may be closed by now
        self.ctx.request_repaint();
    }
}
