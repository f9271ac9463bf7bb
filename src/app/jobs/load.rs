//! One load on a thread of its own, with its messages and its controls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use eframe::egui;

use super::JobId;
use super::apart::{Part, parts};
use super::player::{Pace, Player, PlayerChange, SharedSpeed};
use crate::app::base::message::Message;
use crate::app::state::provider_choice::ProviderChoice;
use crate::load::prepared::Providers;
use crate::load::{
    self, Capture, Estimate, Input, MarkProviders, Opened, Plan, PreparedPlace, PreparedTraces, Preview, Scope, Stopped, Watch,
    WhenFull, load_planned, reading,
};
use crate::model::Trace;
use crate::open_error::OpenError;
use crate::panics;
use crate::paths::Reading;

/// A message of a load.
#[derive(Debug)]
pub enum LoadEvent {
    /// The trace so far, or the complete one.
    Trace(Arc<Trace>),
    /// The trace needs more memory than allowed; the load waits for a choice.
    TooLarge(TooLarge),
    /// The files are of several captures; none of them is loaded.
    Apart(Vec<Part>),
    /// Nothing could be read, or the load panicked.
    Failed(Message),
}

/// The memory that a trace needs, and how much may be used.
#[derive(Clone, Debug)]
pub struct TooLarge {
    pub estimate: Arc<Estimate>,
    /// Bytes.
    pub budget: u64,
}

/// A running load. Dropping it stops the load.
#[derive(Debug)]
pub struct LoadJob {
    pub id: JobId,
    pub inputs: Vec<Input>,
    /// Protects the input files from being overwritten.
    pub reading: Arc<Reading>,
    pub pace: Pace,
    /// Providers whose events become marks.
    pub providers: ProviderChoice,
    /// The document whose trace is loaded again; it is replaced at the end of the load.
    pub replaces: Option<JobId>,
    shared: Arc<Progress>,
    events: Receiver<LoadEvent>,
    choice: Sender<Scope>,
    player: Option<Player>,
    is_followed: bool,
    is_held: bool,
}

#[derive(Debug, Default)]
struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    stop: AtomicBool,
    /// Whether to stop following a capture, and complete what has been read.
    ends: AtomicBool,
    /// Whether the window has shown the last publication and wants the next one.
    wants_trace: AtomicBool,
    /// Whether the load itself has published a trace.
    has_begun: AtomicBool,
}

impl LoadJob {
    /// Starts to load at a pace; the trace may use about `budget` bytes. Folders of recordings are
    /// followed. `providers` says which events are marks, and which are blocks of trackers. With `prepared`, files that were
    /// opened before are opened from there, and others are kept there.
    pub fn start(
        ctx: egui::Context,
        inputs: Vec<Input>,
        budget: u64,
        pace: Pace,
        providers: ProviderChoice,
        prepared: Option<PreparedTraces>,
    ) -> Self {
        let (send, events) = channel();
        let (choice, chosen) = channel();
        let shared = Arc::new(Progress::default());
        let id = JobId::next();
        let player = match pace {
            Pace::Played(speed) => Some(Player::new(speed)),
            Pace::AtOnce | Pace::Followed => None,
        };
        let is_followed = pace == Pace::Followed || inputs.iter().any(Input::is_recording);
        let speed = player.as_ref().map(Player::shared);
        let job = Self {
            id,
            reading: Arc::new(reading(&inputs)),
            inputs: inputs.clone(),
            pace,
            providers: providers.clone(),
            replaces: None,
            shared: Arc::clone(&shared),
            events,
            choice,
            player,
            is_followed,
            is_held: false,
        };
        let read = Arc::clone(&job.reading);
        std::thread::spawn(move || {
            read.look();
            drop(read);
            let watch = Watcher::new(shared, speed, send.clone(), ctx.clone());
            let is_at_once = pace == Pace::AtOnce;
            let place =
                prepared.filter(|_| is_at_once && !is_followed).and_then(|prepared| place(&prepared, &inputs, &providers));
            let result = panics::catch(|| match is_followed {
                true => run_follow(&inputs, (budget, &providers), watch).map(|trace| trace.map(Loaded::of)),
                false => run_load(&inputs, (budget, &providers), place, &chosen, watch),
            });
            let event = match result {
                Ok(Ok(Some(loaded))) => Some(LoadEvent::Trace(loaded.kept())),
                Ok(Ok(None)) => None,
                Ok(Err(reason)) => Some(LoadEvent::Failed(Message::error(reason))),
                Err(caught) => Some(LoadEvent::Failed(Message::internal("the loading", &inputs, &caught))),
            };
            if let Some(event) = event {
                let _ = send.send(event); // the receiver is gone once the job is dropped
            }
            ctx.request_repaint();
        });
        job
    }

    /// Makes the result replace the trace of a document.
    pub fn in_place_of(mut self, document: JobId) -> Self {
        self.replaces = Some(document);
        self
    }

    pub fn drain(&mut self) -> Vec<LoadEvent> {
        self.events.try_iter().collect()
    }

    /// Chooses what to load of a trace that needs too much memory.
    pub fn choose(&self, scope: Scope) {
        let _ = self.choice.send(scope); // the worker listens as long as it waits
    }

    /// Requests the next publication of a growing trace, unless it is held.
    pub fn want_trace(&self) {
        if self.is_held {
            return;
        }
        self.shared.wants_trace.store(true, Ordering::Relaxed);
    }

    /// The player, if the capture is replayed.
    pub fn player(&self) -> Option<&Player> {
        self.player.as_ref()
    }

    /// Pauses or resumes the display. A capture that is being recorded is still read meanwhile.
    pub fn toggle_pause(&mut self) {
        match &mut self.player {
            Some(player) => player.change(PlayerChange::Pause(!player.is_paused())),
            None => self.is_held = self.is_followed && !self.is_held,
        }
    }

    /// Whether a followed capture is paused.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Whether the display keeps up with a capture that is replayed or recorded. A plain file loads
    /// faster if it is displayed less often.
    pub fn is_live(&self) -> bool {
        self.is_followed || self.player.is_some()
    }

    /// Whether the capture is still being recorded, as far as is known.
    pub fn is_followed(&self) -> bool {
        self.is_followed
    }

    /// Whether the load itself has published a trace. What came before is a preview, which is not kept if the load fails.
    pub fn has_begun(&self) -> bool {
        self.shared.has_begun.load(Ordering::Relaxed)
    }

    /// Stops following a capture, and keeps what has been read.
    pub fn end_following(&self) {
        self.shared.ends.store(true, Ordering::Relaxed);
    }

    /// Whether it is in its last phase, where only sorting remains.
    pub fn is_ending(&self) -> bool {
        self.shared.ends.load(Ordering::Relaxed)
    }

    /// Bytes read.
    pub fn bytes(&self) -> u64 {
        self.shared.done.load(Ordering::Relaxed)
    }

    pub fn change_player(&mut self, change: PlayerChange) {
        self.player.iter_mut().for_each(|player| player.change(change));
    }

    /// Progress of the load, 0 to 1.
    pub fn progress(&self) -> f32 {
        let total = self.shared.total.load(Ordering::Relaxed).max(1);
        self.shared.done.load(Ordering::Relaxed) as f32 / total as f32
    }
}

impl Drop for LoadJob {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

/// The place of the prepared trace of some files.
fn place(prepared: &PreparedTraces, inputs: &[Input], providers: &ProviderChoice) -> Option<PreparedPlace> {
    let ProviderChoice { marks, trackers, descriptions } = providers;
    prepared.place(inputs, Providers { marks, trackers, descriptions })
}

/// A trace that was loaded, and where to keep it with the names of its files, if it is to be kept.
struct Loaded {
    trace: Arc<Trace>,
    keep: Option<(PreparedPlace, Vec<String>)>,
}

impl Loaded {
    fn of(trace: Trace) -> Self {
        Self { trace: Arc::new(trace), keep: None }
    }

    /// The trace, which another thread begins to keep.
    fn kept(self) -> Arc<Trace> {
        if let Some((place, names)) = self.keep {
            place.keep_later(&self.trace, names);
        }
        self.trace
    }
}

fn run_load(
    inputs: &[Input],
    (budget, providers): (u64, &ProviderChoice),
    place: Option<PreparedPlace>,
    chosen: &Receiver<Scope>,
    mut watch: Watcher,
) -> Result<Option<Loaded>, String> {
    if let Some(place) = &place {
        match place.open(budget, &mut watch) {
            Ok(Some(trace)) => return Ok(Some(Loaded::of(trace))),
            Ok(None) => {}
            Err(Stopped) => return Ok(None),
        }
    }
    let began = Instant::now();
    let Some(mut captures) = open(inputs, (budget, providers), &mut watch)? else { return Ok(None) };
    panics::reach("load");
    if captures.len() > 1 {
        let _ = watch.send.send(LoadEvent::Apart(parts(inputs, &captures)));
        return Ok(None);
    }
    let capture = captures.pop().map(|only| only.capture).unwrap_or_default();
    let Some(scope) = scope(&capture, budget, chosen, &watch) else { return Ok(None) };
    let marks = capture.mark_providers(&providers.marks).providers;
    let described = Plan { descriptions: Arc::clone(&providers.descriptions), ..Plan::default() };
    let plan = Plan { scope, budget, marks, trackers: providers.trackers.clone(), ..described };
    let Ok(trace) = load_planned(&capture, &plan, &mut watch) else { return Ok(None) };
    let place = place.filter(|place| place.wants(&trace, began.elapsed()));
    let names = || capture.files.iter().map(|file| file.name.clone()).collect();
    Ok(Some(Loaded { trace: Arc::new(trace), keep: place.map(|place| (place, names())) }))
}

/// Opens the files. While the headers of their buffers are read, the beginning of a large file is shown.
fn open(
    inputs: &[Input],
    (budget, providers): (u64, &ProviderChoice),
    watch: &mut Watcher,
) -> Result<Option<Vec<Opened>>, String> {
    let preview = || {
        let (marks, trackers) = (MarkProviders::new(&providers.marks), providers.trackers.clone());
        Preview::start(inputs, Plan { budget, marks, trackers, ..Plan::default() }, watch.of_preview())
    };
    let preview = if watch.speed.is_none() { preview() } else { None };
    // If archives are expanded, that counts as the first half of the work.
    let mut expanded = false;
    let opened = Capture::open_all(inputs, &mut |done, total| {
        expanded = true;
        watch.progress(done, total.saturating_mul(2))
    });
    watch.second_half = expanded;
    watch.shown_to = preview.and_then(Preview::end).unwrap_or(watch.shown_to);
    match opened {
        Ok(captures) => Ok(Some(captures)),
        Err(OpenError::Stopped) => Ok(None),
        Err(e) => Err(e.to_string()),
    }
}

fn run_follow(
    inputs: &[Input],
    (budget, providers): (u64, &ProviderChoice),
    mut watch: Watcher,
) -> Result<Option<Trace>, String> {
    panics::reach("follow");
    let ProviderChoice { marks, trackers, descriptions } = providers.clone();
    let (when_full, marks) = (WhenFull::Forget, MarkProviders::new(marks));
    let plan = Plan { budget, when_full, marks, trackers, descriptions, ..Plan::default() };
    match load::follow(inputs, &plan, &mut watch) {
        Ok(trace) => Ok(Some(trace)),
        Err(OpenError::Stopped) => Ok(None),
        Err(e) => Err(e.to_string()),
    }
}

/// Everything if it fits into memory, else the user's choice; `None` if the load was stopped.
fn scope(capture: &Capture, budget: u64, chosen: &Receiver<Scope>, watch: &Watcher) -> Option<Scope> {
    if capture.surely_fits(budget) {
        return Some(Scope::default());
    }
    let shared = &watch.shared;
    let estimate = Estimate::of(capture, || !shared.stop.load(Ordering::Relaxed))?;
    if estimate.total() <= budget {
        return Some(Scope::default());
    }
    let _ = watch.send.send(LoadEvent::TooLarge(TooLarge { estimate: Arc::new(estimate), budget }));
    watch.ctx.request_repaint();
    chosen.recv().ok() // the sender is gone once the job is dropped
}

struct Watcher {
    /// Whether the first half of the work, expanding, is done.
    second_half: bool,
    shared: Arc<Progress>,
    speed: Option<SharedSpeed>,
    send: Sender<LoadEvent>,
    ctx: egui::Context,
    is_of_preview: bool,
    /// The raw time up to which a preview is shown.
    shown_to: i64,
}

impl Watcher {
    fn new(shared: Arc<Progress>, speed: Option<SharedSpeed>, send: Sender<LoadEvent>, ctx: egui::Context) -> Self {
        Self { second_half: false, shared, speed, send, ctx, is_of_preview: false, shown_to: i64::MIN }
    }

    /// The observer of this load's preview.
    fn of_preview(&self) -> Self {
        let (shared, send, ctx) = (Arc::clone(&self.shared), self.send.clone(), self.ctx.clone());
        Self { is_of_preview: true, ..Self::new(shared, None, send, ctx) }
    }
}

impl Watch for Watcher {
    fn progress(&mut self, done: u64, total: u64) -> bool {
        let (done, total) = if self.second_half { (total + done, total.saturating_mul(2)) } else { (done, total) };
        self.shared.done.store(done, Ordering::Relaxed);
        self.shared.total.store(total, Ordering::Relaxed);
        !self.shared.stop.load(Ordering::Relaxed)
    }

    fn wants_trace(&self) -> bool {
        self.shared.wants_trace.load(Ordering::Relaxed)
    }

    fn shown_to(&self) -> i64 {
        self.shown_to
    }

    fn speed(&self) -> Option<f64> {
        self.speed.as_ref().and_then(SharedSpeed::get)
    }

    fn follows(&self) -> bool {
        !self.shared.ends.load(Ordering::Relaxed)
    }

    fn publish(&mut self, trace: Trace) {
        self.shared.wants_trace.store(false, Ordering::Relaxed);
        self.shared.has_begun.store(!self.is_of_preview, Ordering::Relaxed);
        let _ = self.send.send(LoadEvent::Trace(Arc::new(trace)));
        self.ctx.request_repaint();
    }
}

#[cfg(test)]
mod tests;
