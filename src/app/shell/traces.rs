//! The tabs of several traces: which one is in front, and what becomes of the others.

use eframe::egui;

use super::HighwaterApp;
use crate::app::commands::DocCommand;
use crate::app::document::Document;
use crate::app::jobs::LoadJob;
use crate::app::jobs::player::Pace;
use crate::app::workspace::open_traces::{MOST, OpenTrace, Traces};
use crate::load::Input;

impl HighwaterApp {
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
        let is_open = self.front.document().is_some_and(|document| document.inputs != inputs);
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
        let held = self.front.document().map_or(0, |document| document.trace.load_bytes);
        let (left, providers) = (self.budget().saturating_sub(held), self.provider_choice());
        let loading = Some(LoadJob::start(ctx.clone(), inputs, left, pace, providers, self.prepared()));
        let traces = &mut self.traces;
        traces.tabs.resize_with(traces.count(), || None);
        traces.tabs.push(Some(OpenTrace { loading, ..OpenTrace::none(ctx) }));
        true
    }

    /// Whether any trace is being read, live ones and those that wait for a choice apart.
    pub(super) fn is_reading(&self) -> bool {
        let front = self.front.loading.as_ref().filter(|_| self.front.scope_choice.is_none());
        let aside = self.traces.tabs.iter().flatten().filter(|parked| parked.scope_choice.is_none());
        front.into_iter().chain(aside.filter_map(|parked| parked.loading.as_ref())).any(|job| !job.is_live())
    }

    /// The tab with these files.
    fn tab_of(&self, inputs: &[Input]) -> Option<usize> {
        let is_it = |tab: &Option<OpenTrace>| tab.as_ref().unwrap_or(&self.front).inputs() == inputs;
        match self.traces.tabs.is_empty() {
            true => (self.front.inputs() == inputs).then_some(0),
            false => self.traces.tabs.iter().position(is_it),
        }
    }

    /// The tab with these files, if its trace no longer grows.
    pub(super) fn settled_tab(&self, inputs: &[Input]) -> Option<usize> {
        let at = self.tab_of(inputs)?;
        let tab = self.traces.tabs.get(at)?.as_ref().unwrap_or(&self.front);
        tab.document().is_some_and(Document::is_settled).then_some(at)
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
                self.traces.tabs.remove(at).into_iter().for_each(OpenTrace::close);
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

    fn take_front(&mut self, ctx: &egui::Context) -> OpenTrace {
        self.walking = None;
        self.front.queries.cancel();
        std::mem::replace(&mut self.front, OpenTrace::none(ctx))
    }

    fn put_in_front(&mut self, ctx: &egui::Context, parked: OpenTrace, at: usize) {
        self.front = parked;
        self.traces.front = at;
        if let Some(workspace) = &mut self.front.workspace {
            // Settings common to all traces may have changed meanwhile.
            workspace.document.set_rules(&self.rules.now);
            workspace.apply(&self.settings, &self.accepted.now);
            workspace.document.tab = self.layout.first_in_sight().unwrap_or(workspace.document.tab);
            workspace.carry_out(DocCommand::Ask);
        }
        self.look();
        self.set_title(ctx);
    }

    /// Takes the load events of parked traces, and closes tabs whose load yielded nothing.
    pub(super) fn drain_parked(&mut self, ctx: &egui::Context) {
        for at in 0..self.traces.tabs.len() {
            let loads = |tab: &mut OpenTrace| tab.loading.is_some();
            let Some(mut parked) = self.traces.tabs[at].take_if(loads) else { continue };
            std::mem::swap(&mut self.front, &mut parked);
            self.drain_loading(ctx);
            std::mem::swap(&mut self.front, &mut parked);
            self.traces.tabs[at] = Some(parked);
        }
        let is_empty = |app: &Self, at: usize| {
            let tab = app.traces.tabs[at].as_ref().unwrap_or(&app.front);
            tab.workspace.is_none() && tab.loading.is_none()
        };
        while let Some(at) = (0..self.traces.tabs.len()).find(|&at| is_empty(self, at)) {
            self.close_trace(ctx, at);
        }
    }
}
