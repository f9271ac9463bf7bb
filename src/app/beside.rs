//! A second trace to compare the open one with. It is loaded on a thread of its own, with half of the
//! memory that is left, and its names are resolved like those of the open trace.

use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui;

use super::HighwaterApp;
use super::commands::DocCommand;
use super::failure::Failure;
use super::jobs::{LoadEvent, LoadJob};
use super::loading::PROGRESS;
use super::names::{Names, Search};
use super::player::Pace;
use crate::app::state::ids::Tab;
use crate::app::state::ids::ViewId;
use crate::format;
use crate::load::Input;
use crate::model::Trace;
use crate::paths::Reading;
use crate::query::{Cancel, Cancelled, Fold, Forest, Functions, Index, Totals, totals};
use crate::stack_rules::StackRules;
use crate::symbols;

/// The trace to compare with.
#[derive(Debug, Default)]
pub enum Beside {
    #[default]
    Nothing,
    Loading(LoadJob),
    Open(Box<Opened>),
}

/// The other trace.
#[derive(Debug)]
pub struct Opened {
    pub name: String,
    pub ready: Arc<Ready>,
    names: Names,
    /// Protects its files from being overwritten.
    _files: Arc<Reading>,
}

/// The other trace as workers use it: each prepared result is made once.
#[derive(Debug)]
pub struct Ready {
    pub trace: Arc<Trace>,
    whole: Mutex<Option<(Arc<Index>, Arc<Totals>)>>,
    joined: Mutex<Option<Joined>>,
}

/// The functions of both traces, and the tree over them.
#[derive(Clone, Debug)]
pub struct Joined {
    pub functions: Arc<Functions>,
    pub forest: Arc<Forest>,
    /// Their sources: the functions of the open trace, and the names of the other one.
    ours: Arc<Functions>,
    names: Arc<symbols::Names>,
}

impl Beside {
    /// The other trace, once it is loaded.
    pub fn opened(&self) -> Option<&Opened> {
        if let Self::Open(opened) = self { Some(opened) } else { None }
    }

    /// The other trace, mutably.
    pub fn opened_mut(&mut self) -> Option<&mut Opened> {
        if let Self::Open(opened) = self { Some(opened) } else { None }
    }

    /// Whether it is still loading, or its names are still being looked up.
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Loading(_) => true,
            Self::Open(opened) => !opened.names.is_settled(),
        }
    }
}

impl Opened {
    fn new(name: String, trace: Arc<Trace>, names: Names, files: Arc<Reading>) -> Self {
        Self { name, ready: Arc::new(Ready::new(trace)), names, _files: files }
    }

    /// Applies these rules to the other trace too.
    pub fn set_rules(&mut self, rules: &Arc<StackRules>) {
        self.names.set_rules(rules);
    }

    /// Its names known so far.
    pub fn names(&self) -> &Arc<symbols::Names> {
        self.names.known()
    }
}

impl Ready {
    fn new(trace: Arc<Trace>) -> Self {
        Self { trace, whole: Mutex::default(), joined: Mutex::default() }
    }

    /// The index that answers its queries, and the totals of the whole trace.
    pub fn whole(&self, cancel: &Cancel) -> Result<(Arc<Index>, Arc<Totals>), Cancelled> {
        let mut known = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return Ok(known.clone());
        }
        let index = Arc::new(Index::for_one_question(Arc::clone(&self.trace), cancel)?);
        let sums = Arc::new(totals(&index, self.trace.span, cancel)?);
        Ok(known.insert((index, sums)).clone())
    }

    /// The functions of this trace, folded as `ours` is, joined with those of the open one.
    pub fn joined(
        &self,
        names: &Arc<symbols::Names>,
        ours: &Arc<Functions>,
        fold: Fold,
        cancel: &Cancel,
    ) -> Result<Joined, Cancelled> {
        let mut known = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &&Joined| Arc::ptr_eq(&known.ours, ours) && Arc::ptr_eq(&known.names, names);
        if let Some(known) = known.as_ref().filter(is_it) {
            return Ok(known.clone());
        }
        let theirs = Functions::of(&self.trace, names, fold, cancel)?;
        let functions = Arc::new(Functions::joined([&theirs, ours], cancel)?);
        let forest = Arc::new(Forest::top_down(&functions));
        let (ours, names) = (Arc::clone(ours), Arc::clone(names));
        Ok(known.insert(Joined { functions, forest, ours, names }).clone())
    }
}

impl HighwaterApp {
    /// Loads another trace to compare with, replacing the previous one.
    pub fn open_beside(&mut self, ctx: &egui::Context, inputs: Vec<Input>) {
        let budget = self.budget();
        let Some(document) = &mut self.document else { return };
        document.beside = Beside::Nothing;
        if inputs.iter().any(Input::is_recording) {
            self.errors.push(Failure::expected("A recording that still runs cannot be compared with; stop it first.".to_owned()));
            return;
        }
        let left = budget.saturating_sub(document.trace.load_bytes);
        document.beside = Beside::Loading(LoadJob::start(ctx.clone(), inputs, left / 2, Pace::AtOnce, Vec::new()));
        document.carry_out(DocCommand::ShowTab(Tab::View(ViewId::Compare)));
        self.look();
    }

    /// Compares with a trace that is open in another tab.
    pub(super) fn compare_with_open(&mut self, ctx: &egui::Context, at: usize) {
        let other = self.traces.comparable().find(|(tab, _)| *tab == at);
        let other = other.map(|(_, other)| (other.name(), Arc::clone(&other.trace), Arc::clone(&other.files)));
        let Some((name, trace, files)) = other else { return };
        let search = Search::of(&trace.volumes, &self.settings.symbols, &self.given);
        let names = Names::start(ctx, &trace, search, &self.given, self.rules.now());
        if let Some(document) = &mut self.document {
            document.beside = Beside::Open(Box::new(Opened::new(name, trace, names, files)));
            document.carry_out(DocCommand::ShowTab(Tab::View(ViewId::Compare)));
        }
        self.look();
    }

    /// Stops comparing.
    pub(super) fn close_beside(&mut self) {
        if let Some(document) = &mut self.document {
            super::jobs::drop_aside(std::mem::take(&mut document.beside));
            document.carry_out(DocCommand::Ask);
        }
    }

    /// Takes the load's events, and new names.
    pub(super) fn drain_beside(&mut self, ctx: &egui::Context) {
        let is_busy = self.queries.is_busy();
        let Some(document) = &mut self.document else { return };
        match &mut document.beside {
            Beside::Nothing => {}
            Beside::Open(opened) => {
                if opened.names.update(ctx, is_busy) {
                    document.carry_out(DocCommand::Ask);
                }
            }
            Beside::Loading(job) => {
                ctx.request_repaint_after(PROGRESS);
                let Some(event) = job.drain().pop() else { return };
                let name = job.inputs.iter().map(Input::name).collect::<Vec<_>>().join(" + ");
                document.beside = match event {
                    LoadEvent::Trace(trace) if !trace.complete => return, // only the complete trace is used
                    LoadEvent::Trace(trace) => {
                        let search = Search::of(&trace.volumes, &self.settings.symbols, &self.given);
                        let names = Names::start(ctx, &trace, search, &self.given, self.rules.now());
                        Beside::Open(Box::new(Opened::new(short_name(&job.inputs), trace, names, Arc::clone(&job.reading))))
                    }
                    LoadEvent::TooLarge(too_large) => {
                        let [need, left] = [too_large.estimate.total(), too_large.budget].map(format::rough_bytes);
                        let text = format!(
                            "{name} needs about {need} of memory, and {left} may be used beside the open trace; allow more in \
                             View, or compare the two with highwater diff."
                        );
                        self.errors.push(Failure::expected(text));
                        Beside::Nothing
                    }
                    LoadEvent::Apart(parts) => {
                        let text = format!("{name}: these files are of {} captures; choose those of one.", parts.len());
                        self.errors.push(Failure::expected(text));
                        Beside::Nothing
                    }
                    LoadEvent::Failed(failure) => {
                        self.errors.push(failure);
                        Beside::Nothing
                    }
                };
                document.carry_out(DocCommand::Ask);
            }
        }
    }
}

/// File names without their folders.
pub fn short_name(inputs: &[Input]) -> String {
    let short = |input: &Input| match input {
        Input::File(path) => path.file_name().map_or_else(|| input.name(), |name| name.to_string_lossy().into_owned()),
        Input::Demo => "Demo trace".to_owned(),
    };
    inputs.iter().map(short).collect::<Vec<_>>().join(" + ")
}
