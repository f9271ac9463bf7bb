//! Several traces open at once, each in its own tab. The one in front is the window's document, with
//! its load and its queries. The others are parked with all of the user's work on them; their loads
//! continue, and all share the memory that traces may use.

use std::sync::Arc;

use eframe::egui;

use super::HighwaterApp;
use super::commands::DocCommand;
use super::document::Document;
use super::jobs::{LoadJob, Queries, drop_aside};
use super::offer::Offer;
use super::player::Pace;
use crate::load::Input;

/// The open traces, in the order of their tabs.
#[derive(Default)]
pub struct Traces {
    /// `None` in the place of the trace in front.
    tabs: Vec<Option<Parked>>,
    front: usize,
}

/// A trace that is not in front.
struct Parked {
    document: Option<Document>,
    loading: Option<LoadJob>,
    offer: Option<Offer>,
    queries: Queries,
}

/// The contents of a tab.
pub struct TraceTab {
    pub name: String,
    pub is_in_front: bool,
    pub is_loading: bool,
}

/// Maximum number of open traces.
const MOST: usize = 12;

impl Parked {
    /// Closes the trace; a large one takes a while to free.
    fn close(self) {
        let trace = self.document.as_ref().map(|document| Arc::clone(&document.trace));
        drop(self);
        drop_aside(trace);
    }

    fn inputs(&self) -> &[Input] {
        let loading = self.loading.as_ref().map(|job| &job.inputs);
        self.document.as_ref().map(|document| &document.inputs).or(loading).map_or(&[], Vec::as_slice)
    }
}

impl Traces {
    /// The number of tabs, including a start page in front.
    pub fn count(&self) -> usize {
        self.tabs.len().max(1)
    }

    /// The tab this many places to the right, wrapping around.
    pub fn beside(&self, by: isize) -> usize {
        (self.front as isize + by).rem_euclid(self.count() as isize) as usize
    }

    /// Bytes that the parked traces hold.
    fn bytes(&self) -> u64 {
        self.tabs.iter().flatten().filter_map(|parked| parked.document.as_ref()).map(|document| document.trace.load_bytes).sum()
    }

    /// Whether a parked trace is still being loaded or recorded.
    pub fn are_loading(&self) -> bool {
        self.tabs.iter().flatten().any(|parked| parked.loading.is_some())
    }

    /// The documents of all parked traces.
    pub fn documents_mut(&mut self) -> impl Iterator<Item = &mut Document> {
        self.tabs.iter_mut().flatten().filter_map(|parked| parked.document.as_mut())
    }

    /// The parked traces that can be compared with, and their tabs.
    pub fn comparable(&self) -> impl Iterator<Item = (usize, &Document)> {
        let tabs = self.tabs.iter().enumerate();
        let tabs = tabs.filter_map(|(at, parked)| Some((at, parked.as_ref()?.document.as_ref()?)));
        tabs.filter(|(_, document)| document.is_settled())
    }
}

impl HighwaterApp {
    /// The contents of all tabs.
    pub fn trace_tabs(&self) -> Vec<TraceTab> {
        let name = |document: Option<&Document>, loading: Option<&LoadJob>| match (document, loading) {
            (Some(document), _) => document.name(),
            (None, Some(job)) => super::beside::short_name(&job.inputs),
            (None, None) => "Start".to_owned(),
        };
        let tab = |(at, parked): (usize, &Option<Parked>)| {
            let (document, loading) = match parked {
                Some(parked) => (parked.document.as_ref(), parked.loading.as_ref()),
                None => (self.document.as_ref(), self.loading.as_ref()),
            };
            TraceTab { name: name(document, loading), is_in_front: at == self.traces.front, is_loading: loading.is_some() }
        };
        self.traces.tabs.iter().enumerate().map(tab).collect()
    }

    /// Bytes that the trace in front may use: the limit minus what the others hold.
    pub(super) fn budget(&self) -> u64 {
        self.memory_limit.unwrap_or_else(|| self.settings.budget()).saturating_sub(self.traces.bytes())
    }

    /// Makes room for a trace: brings the tab with these files to the front if there is one, else opens
    /// a tab of its own, unless nothing is open in front.
    pub(super) fn make_room(&mut self, ctx: &egui::Context, inputs: &[Input]) {
        let known = self.traces.tabs.iter().position(|tab| tab.as_ref().is_some_and(|parked| parked.inputs() == inputs));
        if let Some(at) = known {
            self.show_trace(ctx, at);
        }
        let is_open = self.document.as_ref().is_some_and(|document| document.inputs != inputs);
        if is_open && self.traces.count() < MOST {
            let parked = self.take_front(ctx);
            let traces = &mut self.traces;
            traces.tabs.resize_with(traces.count(), || None);
            traces.tabs[traces.front] = Some(parked);
            traces.front = traces.tabs.len();
            traces.tabs.push(None);
        }
    }

    /// Opens a trace in a tab in the background, unless it is open already; returns whether there was room.
    pub(super) fn open_behind(&mut self, ctx: &egui::Context, inputs: Vec<Input>, pace: Pace) -> bool {
        if self.tab_of(&inputs).is_some() {
            return true;
        }
        if self.traces.count() >= MOST {
            return false;
        }
        let held = self.document.as_ref().map_or(0, |document| document.trace.load_bytes);
        let (left, marks) = (self.budget().saturating_sub(held), self.settings.mark_providers.clone());
        let loading = Some(LoadJob::start(ctx.clone(), inputs, left, pace, marks));
        let traces = &mut self.traces;
        traces.tabs.resize_with(traces.count(), || None);
        traces.tabs.push(Some(Parked { document: None, loading, offer: None, queries: Queries::start(ctx.clone()) }));
        true
    }

    /// Whether any trace is being read, live ones and those that wait for a choice apart.
    pub(super) fn is_reading(&self) -> bool {
        let front = self.loading.as_ref().filter(|_| self.offer.is_none());
        let aside = self.traces.tabs.iter().flatten().filter(|parked| parked.offer.is_none());
        front.into_iter().chain(aside.filter_map(|parked| parked.loading.as_ref())).any(|job| !job.is_live())
    }

    /// The tab with these files.
    fn tab_of(&self, inputs: &[Input]) -> Option<usize> {
        let of_front =
            || self.document.as_ref().map(|document| &document.inputs).or(self.loading.as_ref().map(|job| &job.inputs));
        let is_it = |tab: &Option<Parked>| match tab {
            Some(parked) => parked.inputs() == inputs,
            None => of_front().is_some_and(|front| front == inputs),
        };
        match self.traces.tabs.is_empty() {
            true => of_front().filter(|front| *front == inputs).map(|_| 0),
            false => self.traces.tabs.iter().position(is_it),
        }
    }

    /// The tab with these files, if its trace no longer grows.
    pub(super) fn settled_tab(&self, inputs: &[Input]) -> Option<usize> {
        let at = self.tab_of(inputs)?;
        let document = match self.traces.tabs.get(at)? {
            Some(parked) => parked.document.as_ref(),
            None => self.document.as_ref(),
        };
        document.is_some_and(Document::is_settled).then_some(at)
    }

    /// Brings a trace to the front.
    pub(super) fn show_trace(&mut self, ctx: &egui::Context, at: usize) {
        let Some(parked) = self.traces.tabs.get_mut(at).and_then(Option::take) else { return };
        let front = self.take_front(ctx);
        self.traces.tabs[self.traces.front] = Some(front);
        self.put_in_front(ctx, parked, at);
    }

    /// Closes a trace; if it was in front, the next one comes to the front.
    pub(super) fn close_trace(&mut self, ctx: &egui::Context, at: usize) {
        if at != self.traces.front {
            if at < self.traces.tabs.len() {
                self.traces.tabs.remove(at).into_iter().for_each(Parked::close);
                self.traces.front -= usize::from(at < self.traces.front);
            }
        } else {
            self.take_front(ctx).close();
            if at < self.traces.tabs.len() {
                self.traces.tabs.remove(at);
            }
            let next = at.min(self.traces.tabs.len().saturating_sub(1));
            match self.traces.tabs.get_mut(next).and_then(Option::take) {
                Some(parked) => self.put_in_front(ctx, parked, next),
                None => self.traces = Traces::default(),
            }
        }
        if self.traces.tabs.len() == 1 {
            self.traces = Traces::default(); // a single trace needs no tab
        }
        self.recents.look(ctx);
        self.set_title(ctx);
    }

    fn take_front(&mut self, ctx: &egui::Context) -> Parked {
        self.walking = None;
        self.queries.cancel();
        Parked {
            document: self.document.take(),
            loading: self.loading.take(),
            offer: self.offer.take(),
            queries: std::mem::replace(&mut self.queries, Queries::start(ctx.clone())),
        }
    }

    fn put_in_front(&mut self, ctx: &egui::Context, parked: Parked, at: usize) {
        let Parked { document, loading, offer, queries } = parked;
        (self.document, self.loading, self.offer, self.queries) = (document, loading, offer, queries);
        self.traces.front = at;
        let (rules, settings) = (self.rules.now(), &self.settings);
        if let Some(document) = &mut self.document {
            // Settings common to all traces may have changed meanwhile.
            document.set_rules(rules);
            document.show_all_frames(settings.show_all_frames);
            document.views.accept(self.accepted.now());
            document.arrange(settings.arrangement);
            document.read_as(settings.reading());
            document.tab = self.layout.first_in_sight().unwrap_or(document.tab);
            document.carry_out(DocCommand::Ask);
        }
        self.look();
        self.set_title(ctx);
    }

    /// Takes the load events of parked traces, and closes tabs whose load yielded nothing.
    pub(super) fn drain_parked(&mut self, ctx: &egui::Context) {
        for at in 0..self.traces.tabs.len() {
            let loads = |tab: &mut Parked| tab.loading.is_some();
            let Some(mut parked) = self.traces.tabs[at].take_if(loads) else { continue };
            self.swap_front(&mut parked);
            self.drain_loading(ctx);
            self.swap_front(&mut parked);
            self.traces.tabs[at] = Some(parked);
        }
        let is_empty = |app: &Self, at: usize| match &app.traces.tabs[at] {
            Some(parked) => parked.document.is_none() && parked.loading.is_none(),
            None => app.document.is_none() && app.loading.is_none(),
        };
        while let Some(at) = (0..self.traces.tabs.len()).find(|&at| is_empty(self, at)) {
            self.close_trace(ctx, at);
        }
    }

    fn swap_front(&mut self, parked: &mut Parked) {
        std::mem::swap(&mut self.document, &mut parked.document);
        std::mem::swap(&mut self.loading, &mut parked.loading);
        std::mem::swap(&mut self.offer, &mut parked.offer);
        std::mem::swap(&mut self.queries, &mut parked.queries);
    }
}
