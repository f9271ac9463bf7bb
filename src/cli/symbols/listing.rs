//! The modules of traces and the state of their symbols, for `fetch` and `check`.
//!
//! Each file is a trace of its own. A module that several traces have is one entry, with the frames of all of them.
//! One trace is open at a time, and servers are never asked for the same thing twice.

use std::ffi::OsString;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::sources;
use super::wait::wait_in_sight;
use crate::cli::asked::{self, load_capture};
use crate::cli::choices::Choices;
use crate::cli::for_programs::ForPrograms;
use crate::cli::memory::Memory;
use crate::cli::progress::Quiet;
use crate::cli::providers::{ProvidersAsked, TrackersAsked};
use crate::cli::{Failure, cannot_open, guarded, output, report_problems};
use crate::load::{Capture, Input};
use crate::model::{ProcessId, Trace};
use crate::panics;
use crate::symbols::{ModuleKey, ModuleReport, ModuleState, Options, Seek, ServerAnswers, SymbolPath, Symbols};
use crate::tables::{KeyedMap, KeyedSet};

#[derive(Args, Debug)]
pub(in crate::cli) struct Traces {
    /// Traces, each separate; `demo:` is the built-in demo trace
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    /// Only modules in call stacks of this process
    #[arg(long, value_name = "NAME|PID")]
    process: Option<String>,

    /// Symbol path: folders, stores and servers with PDBs, as in _NT_SYMBOL_PATH
    #[arg(long, value_name = "PATH")]
    pub(super) symbols: Option<String>,

    /// Traces that cannot be read are listed on standard error and are no failure, if one can be read
    #[arg(long)]
    keep_going: bool,

    #[command(flatten)]
    pub(super) programs: ForPrograms,

    #[command(flatten)]
    trackers: TrackersAsked,

    #[command(flatten)]
    memory: Memory,

    #[command(flatten)]
    pub(super) quiet: Quiet,
}

/// The symbols to find for a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// The names of all frames.
    Names,
    /// The PDBs of modules with frames.
    Files,
    /// The PDBs of all modules whose identity is known.
    AllFiles,
}

impl Traces {
    pub(in crate::cli) fn inputs(&self) -> Vec<Input> {
        asked::inputs(&self.files)
    }

    /// Finds the symbols of each trace on this path. A trace that cannot be read is reported and counted; if none can
    /// be read, that is the failure.
    pub(super) fn visit(&self, path: &SymbolPath, wanted: Wanted) -> Result<Modules, Failure> {
        let mut modules = Modules::default();
        let (mut first, mut read, mut is_all_unreadable) = (None, 0, true);
        for input in self.inputs() {
            let one = std::slice::from_ref(&input);
            match guarded(one, || self.visit_one(&input, path, wanted, &mut modules)) {
                Ok(()) => read += 1,
                Err(failure @ (Failure::Failed(_) | Failure::Unreadable(_))) => {
                    first.iter().for_each(|why: &String| output::error(why));
                    is_all_unreadable &= matches!(failure, Failure::Unreadable(_));
                    first = Some(failure.sentence());
                    modules.unreadable += 1;
                }
                Err(other) => return Err(other),
            }
        }
        match first {
            Some(why) if read == 0 => Err(Failure::Failed(why)),
            first => {
                modules.is_failed = modules.unreadable > 0 && !(self.keep_going && is_all_unreadable);
                first.iter().for_each(|why| output::error(why));
                modules.list.sort_by(|a, b| (b.addresses, &a.name, &a.key).cmp(&(a.addresses, &b.name, &b.key)));
                Ok(modules)
            }
        }
    }

    /// Visits all captures of a file; an archive can hold several.
    fn visit_one(&self, input: &Input, path: &SymbolPath, wanted: Wanted, modules: &mut Modules) -> Result<(), Failure> {
        let all = Capture::open_all(std::slice::from_ref(input), &mut |_, _| true).map_err(cannot_open)?;
        panics::reach("symbols");
        all.iter().try_for_each(|opened| self.visit_capture(&opened.capture, path, wanted, modules))
    }

    fn visit_capture(&self, capture: &Capture, path: &SymbolPath, wanted: Wanted, modules: &mut Modules) -> Result<(), Failure> {
        let choices = Choices::of_process(self.process.clone());
        let trace = load_capture(capture, self.memory, &ProvidersAsked::of(&self.trackers), &choices)?;
        report_problems(&trace.problems);
        let processes = self.processes(&trace);
        let name = capture.files.first().map_or("", |file| file.name.as_str());
        if let Err(why) = choices.check(&trace) {
            output::message(&format!("{name}: {why}"));
        }
        let mapped = mapped(&trace, &processes);
        let options = Options {
            sources: sources(&trace, path.clone()),
            seek: match wanted {
                Wanted::Names => Seek::Names,
                Wanted::Files => Seek::Files(KeyedSet::default()),
                Wanted::AllFiles => Seek::Files(mapped.iter().filter(|key| has_identity(key)).cloned().collect()),
            },
            answers: modules.answers.clone(),
            processes: self.process.is_some().then_some(processes),
            frees: true,
            samples: true,
            ..Options::default()
        };
        let symbols = Symbols::start(trace, options, |_| true, || {});
        wait_in_sight(&symbols, format!("Symbols of {name}"));
        let is_listed = |module: &ModuleReport| module.state != ModuleState::Unused || mapped.contains(&module.key);
        symbols.modules().into_iter().filter(is_listed).for_each(|module| modules.add(module));
        Ok(())
    }

    fn processes(&self, trace: &Trace) -> KeyedSet<ProcessId> {
        let is_meant = |id: &ProcessId| self.process.as_ref().is_none_or(|name| trace.process(*id).is_called(name));
        (0..trace.processes.len() as u32).map(ProcessId).filter(is_meant).collect()
    }
}

/// The modules that were ever mapped into some processes.
fn mapped(trace: &Arc<Trace>, processes: &KeyedSet<ProcessId>) -> KeyedSet<ModuleKey> {
    let ids = (0..trace.processes.len() as u32).map(ProcessId).filter(|id| processes.contains(id));
    ids.flat_map(|id| &trace.process(id).modules).map(ModuleKey::of).collect()
}

/// Whether a module can be told from its other builds.
fn has_identity(key: &ModuleKey) -> bool {
    match key {
        ModuleKey::Pdb(_) => true,
        ModuleKey::Image { build, .. } => build.time_stamp != 0,
    }
}

/// The modules of all traces, those with most frames first.
#[derive(Default)]
pub(super) struct Modules {
    list: Vec<ModuleReport>,
    index: KeyedMap<ModuleKey, usize>,
    answers: ServerAnswers,
    /// Number of traces that could not be read.
    pub(super) unreadable: usize,
    /// Whether that is a failure.
    pub(super) is_failed: bool,
}

impl Modules {
    /// Adds a module. If it is already listed, its frames add up and the worse state stays, because names are missing
    /// somewhere.
    fn add(&mut self, module: ModuleReport) {
        let Some(&index) = self.index.get(&module.key) else {
            self.index.insert(module.key.clone(), self.list.len());
            self.list.push(module);
            return;
        };
        let rank = |module: &ModuleReport| match module.state {
            ModuleState::Failed(_) => 2,
            ModuleState::Unused => 0,
            _ => 1,
        };
        let known = &mut self.list[index];
        let (addresses, named) = (known.addresses + module.addresses, known.named + module.named);
        if rank(&module) > rank(known) {
            *known = module;
        }
        (known.addresses, known.named) = (addresses, named);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ModuleReport> + Clone {
        self.list.iter()
    }

    /// The modules whose symbols were sought.
    pub(super) fn sought(&self) -> impl Iterator<Item = &ModuleReport> + Clone {
        self.iter().filter(|module| module.state != ModuleState::Unused)
    }

    /// The modules without symbols, and why.
    pub(super) fn missing(&self) -> impl Iterator<Item = (&ModuleReport, &str)> + Clone {
        self.iter().filter_map(|module| reason(module).map(|why| (module, why)))
    }
}

/// Why a module has no symbols, if it has none.
pub(super) fn reason(module: &ModuleReport) -> Option<&str> {
    match &module.state {
        ModuleState::Failed(why) => Some(why),
        _ => None,
    }
}

/// The JSON answer of `fetch` and `check`; its field names are the machine interface.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    pub(super) schema: &'static str,
    pub(super) modules: Vec<Entry<'a>>,
}

/// A module in JSON answers.
#[derive(Serialize)]
pub(super) struct Entry<'a> {
    module: &'a str,
    path: &'a str,
    guid: Option<String>,
    age: Option<u32>,
    state: &'static str,
    reason: Option<&'a str>,
    source: Option<&'a str>,
    file: Option<&'a str>,
    bytes: Option<u64>,
    frames: usize,
    named: Option<usize>,
    notes: Vec<String>,
}

impl<'a> Entry<'a> {
    /// The entry of a module; it has a number of named frames only if names were sought.
    pub(super) fn of(module: &'a ModuleReport, wanted: Wanted) -> Self {
        let is_found = !module.source.is_empty();
        Self {
            module: &module.name,
            path: &module.image,
            guid: module.pdb.map(|key| key.guid.to_string()),
            age: module.pdb.map(|key| key.age),
            state: state(module),
            reason: reason(module),
            source: is_found.then_some(&module.source),
            file: Some(module.file.as_str()).filter(|file| !file.is_empty()),
            bytes: is_found.then_some(module.bytes),
            frames: module.addresses,
            named: (wanted == Wanted::Names).then_some(module.named),
            notes: module.notes.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The state of a module, in a word.
pub(super) fn state(module: &ModuleReport) -> &'static str {
    match module.state {
        ModuleState::Unused => "unused",
        ModuleState::Failed(_) => "missing",
        _ => "ready",
    }
}
