//! The common part of all questions about the numbers of a capture: which files, rows and interval, and loading the trace.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use clap::builder::ArgPredicate;
use serde::Serialize;

use super::choices::Choices;
use super::each::{Each, Told};
use super::memory::Memory;
use super::progress::Progress;
use super::providers::ProvidersAsked;
use super::words::one_key;
use super::{Failure, kept, memory, open, output, prepared, report_problems, symbols, wildcards};
use crate::load::{Capture, Input, load_planned};
use crate::model::{Clock, SiteId, Trace};
use crate::panics;
use crate::paths::Reading;
use crate::query::{By, Cancel, Cancelled, Decides, Index, Mask, ReportFilter, RowChoice, Unnamed, doubts_about, sample_counts};
use crate::stack_rules::StackRules;
use crate::symbols::Names;
use crate::time_spec::TimeSpec;
use crate::units::{Interval, Ticks};

/// Options that choose the rows and groups of an answer.
#[derive(Args, Debug)]
pub(super) struct Asked {
    #[command(flatten)]
    pub(super) files: Files,

    #[command(flatten)]
    pub(super) choices: Choices,

    #[command(flatten)]
    pub(super) edges: Edges,

    /// Symbol path: folders, stores and servers with PDBs, as in _NT_SYMBOL_PATH
    #[arg(long, value_name = "PATH")]
    pub(super) symbols: Option<String>,

    #[command(flatten)]
    pub(super) rules: RulesFile,

    #[command(flatten)]
    pub(super) providers: ProvidersAsked,

    #[command(flatten)]
    pub(super) each: Each,

    #[command(flatten)]
    pub(super) memory: Memory,
}

/// The edges of an interval, as far as they are given.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Edges {
    /// Start: seconds since the trace start, mark:TEXT or frame:N [default: the trace start]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) from: Option<TimeSpec>,

    /// End (exclusive) [default: the trace end]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) to: Option<TimeSpec>,
}

impl Edges {
    /// Checks the edges as far as that is possible without reading the files.
    pub(super) fn check(&self) -> Result<(), String> {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) if from > to => Err(REVERSED.to_owned()),
            _ => Ok(()),
        }
    }

    /// Resolves the edges in a trace; frame numbers are those of `process`.
    pub(super) fn interval(&self, trace: &Trace, process: Option<&str>) -> Result<Interval, Failure> {
        interval(trace, (self.from.as_ref(), self.to.as_ref()), process, EDGES)
    }
}

const REVERSED: &str = "--from is later than --to; swap them";

/// Which groups are told.
#[derive(Args, Debug)]
pub(super) struct GroupsAsked {
    /// Group by these keys; layers are always separate
    #[arg(long, value_name = "KEYS", value_parser = one_key(), value_delimiter = ',', default_value = "process,heap",
        default_value_if("unmatched", ArgPredicate::IsPresent, "process,heap,stack"))]
    pub(super) by: Vec<By>,

    /// Only the first N groups
    #[arg(long, value_name = "N")]
    pub(super) top: Option<usize>,
}

/// A file of rules for stacks.
#[derive(Args, Clone, Debug)]
pub(super) struct RulesFile {
    /// Rules for call stacks: frames to fold, names for stacks (--by tag)
    #[arg(long, value_name = "FILE")]
    stack_rules: Option<PathBuf>,
}

impl RulesFile {
    /// Reads the rules; without a file there are none.
    pub(super) fn read(&self) -> Result<Arc<StackRules>, Failure> {
        let rules = self.stack_rules.as_deref().map(StackRules::read).transpose().map_err(Failure::BadArguments)?;
        Ok(rules.map(Arc::new).unwrap_or_default())
    }

    /// Registers the file as an input, so that no output replaces it.
    pub(super) fn reading(&self) -> Reading {
        Reading::of(self.stack_rules.clone())
    }
}

/// The files of a capture.
#[derive(Args, Clone, Debug)]
pub(super) struct Files {
    /// Files of one capture; `demo:` names the built-in demo trace
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,
}

impl Files {
    /// The inputs that the arguments name.
    pub(super) fn inputs(&self) -> Vec<Input> {
        inputs(&self.files)
    }
}

/// The inputs that file arguments name, with wildcards expanded.
pub(super) fn inputs(files: &[OsString]) -> Vec<Input> {
    wildcards::as_shells_do(files.iter().map(|file| Input::from_arg(file)).collect())
}

/// A loaded trace and the question about it.
pub(super) struct Loaded {
    pub(super) trace: Arc<Trace>,
    pub(super) interval: Interval,
    /// The rows that the answer is about; see [`Loaded::index`].
    pub(super) rows: RowChoice,
    /// How the answer is printed.
    pub(super) told: Told,
    /// Rules for stacks.
    rules: Arc<StackRules>,
}

/// An interval as JSON answers have it.
#[derive(Clone, Copy, Serialize)]
pub(super) struct IntervalInSeconds {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
}

impl IntervalInSeconds {
    pub(super) fn of(clock: &Clock, interval: Interval) -> Self {
        Self { from_s: clock.seconds(interval.from), to_s: clock.seconds(interval.to) }
    }
}

/// The failure of a cancelled question. Nothing cancels a command except ending the program.
pub(super) fn stopped<T>(_: T) -> Failure {
    Failure::Failed("stopped".to_owned())
}

impl Asked {
    /// Checks the arguments as far as that is possible without reading the files.
    pub(super) fn check(&self) -> Result<(), String> {
        self.edges.check()
    }

    /// The edges of the interval, as far as they are given.
    pub(super) fn edges(&self) -> &Edges {
        &self.edges
    }

    /// The requested process, by name or id.
    pub(super) fn process(&self) -> Option<&str> {
        self.choices.process.as_deref()
    }

    /// The symbol path, if one is given.
    pub(super) fn symbols(&self) -> Option<&str> {
        self.symbols.as_deref()
    }

    /// The filter by process, layer, heap and sites.
    pub(super) fn filter(&self) -> ReportFilter {
        self.choices.filter()
    }

    /// Loads the capture, as much of it as memory allows, and refuses `--each`. `stage` names the command in crash reports.
    pub(super) fn load(&self, stage: &'static str) -> Result<Loaded, Failure> {
        self.each.refuse()?;
        self.check().map_err(Failure::BadArguments)?;
        let rules = self.rules.read()?;
        self.about(load_trace(&self.files.inputs(), self.memory, &self.providers, &self.choices, stage)?, rules)
    }

    /// Loads the capture (with `--each` one after the other) and answers.
    pub(super) fn answer(
        &self,
        stage: &'static str,
        mut answer: impl FnMut(&Loaded) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.check().map_err(Failure::BadArguments)?;
        let rules = self.rules.read()?;
        let inputs = self.files.inputs();
        self.memory.watch(&inputs);
        let place = kept::place(&inputs, &self.providers)?.for_one_capture(!self.each.is_asked());
        if let Some(trace) = place.trace(self.memory.budget()) {
            panics::reach(stage);
            return answer(&self.about(trace, rules)?);
        }
        self.each.answer(&inputs, |capture, told| {
            panics::reach(stage);
            let trace = load_capture(capture, self.memory, &self.providers, &self.choices)?;
            place.keep(&trace, capture, self.memory);
            answer(&Loaded { told: told.clone(), ..self.about(trace, Arc::clone(&rules))? })
        })
    }

    /// Resolves the arguments in a loaded trace. Processes, heaps, threads, marks and frames that they name must
    /// exist there.
    pub(super) fn about(&self, trace: Arc<Trace>, rules: Arc<StackRules>) -> Result<Loaded, Failure> {
        self.choices.check(&trace).map_err(Failure::BadArguments)?;
        let interval = self.edges.interval(&trace, self.process())?;
        let rows = self.choices.rows(&trace).map_err(Failure::BadArguments)?;
        Ok(Loaded { trace, interval, rows, told: Told::default(), rules })
    }
}

/// Names of an interval's edges in messages, each with its verb.
pub(super) const EDGES: [&str; 2] = ["--from is", "--to is"];

/// Resolves a moment in a trace, if one is given.
pub(super) fn edge(trace: &Trace, given: Option<&TimeSpec>, process: Option<&str>) -> Result<Option<Ticks>, Failure> {
    given.map(|moment| moment.ticks(trace, process)).transpose().map_err(Failure::BadArguments)
}

/// Resolves the edges of an interval in a trace. An interval outside of the trace is an error; one that reaches
/// beyond it is reported; only the loaded trace shows that. `names` are the edges' names in messages, each with its
/// verb. Frame numbers are those of `process`.
pub(super) fn interval(
    trace: &Trace,
    (from, to): (Option<&TimeSpec>, Option<&TimeSpec>),
    process: Option<&str>,
    names: [&str; 2],
) -> Result<Interval, Failure> {
    let (from, to) = (edge(trace, from, process)?, edge(trace, to, process)?);
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        let [at_from, at_to] = [from, to].map(|at| trace.clock.seconds(at));
        return Err(Failure::BadArguments(format!("{} at {at_from} s, after its end at {at_to} s; swap them", names[0])));
    }
    let (begin, mut end) = (from.unwrap_or(trace.span.from), to.unwrap_or(trace.span.to));
    if trace.cut.is_some() {
        if begin > trace.span.to {
            report_problems(&trace.problems);
            return Err(Failure::Failed(format!("{} later than what could be loaded", names[0])));
        }
        end = end.min(trace.span.to);
    }
    let asked = Interval { from: begin, to: end };
    if begin > end || known_part(trace, asked).is_none() {
        return Err(outside(trace, asked, from.is_some(), names));
    }
    tell_beyond(trace, asked, names);
    Ok(asked)
}

/// The part of an interval that the trace covers; `None` if it lies wholly outside.
pub(super) fn known_part(trace: &Trace, asked: Interval) -> Option<Interval> {
    let known = Interval { from: asked.from.max(trace.span.from), to: asked.to.min(trace.span.to) };
    let is_outside = known.from > known.to || (known.from == known.to && asked.from < asked.to);
    (!is_outside).then_some(known)
}

/// Reports an interval that reaches beyond the trace: nothing is known there.
pub(super) fn tell_beyond(trace: &Trace, asked: Interval, [from_name, to_name]: [&str; 2]) {
    let IntervalInSeconds { from_s, to_s } = IntervalInSeconds::of(&trace.clock, trace.span);
    if asked.from < trace.span.from {
        output::message(&format!("{from_name} before the start of the trace at {from_s} s; nothing is known of that time"));
    }
    if trace.cut.is_none() && asked.to > trace.span.to {
        output::message(&format!("{to_name} after the end of the trace at {to_s} s; nothing is known of that time"));
    }
}

/// The error for an interval outside of the trace; `has_from` tells whether its start was given.
pub(super) fn outside(trace: &Trace, asked: Interval, has_from: bool, [from_name, to_name]: [&str; 2]) -> Failure {
    let IntervalInSeconds { from_s, to_s } = IntervalInSeconds::of(&trace.clock, trace.span);
    let is_behind = has_from && asked.from >= trace.span.to;
    Failure::BadArguments(match is_behind {
        true => format!("{from_name} not before the end of the trace at {to_s} s"),
        false => format!("{to_name} not after the start of the trace at {from_s} s"),
    })
}

/// Whether groups or rows depend on symbol names.
pub(super) fn needs_names(filter: &ReportFilter, by: &[By]) -> bool {
    let named = [By::Stack, By::FreedStack, By::Type, By::Function, By::Tag, By::Responsible, By::ResponsibleModule, By::Owner];
    named.iter().any(|key| by.contains(key)) || !filter.sites.is_all()
}

/// The frames that tell stacks apart, if that depends on symbol names.
pub(super) fn decides(filter: &ReportFilter, by: &[By], fold: bool) -> Option<Decides> {
    if !filter.sites.is_all() || [By::Type, By::Tag].iter().any(|key| by.contains(key)) {
        return Some(Decides::AnyFrame);
    }
    let is_of_place = fold && [By::Function, By::Module].iter().any(|key| by.contains(key))
        || [By::Responsible, By::ResponsibleModule, By::Owner].iter().any(|key| by.contains(key));
    is_of_place.then_some(Decides::Responsible)
}

/// Opens and loads the files of a capture, as much of it as memory allows.
pub(super) fn load_trace(
    inputs: &[Input],
    memory: Memory,
    providers: &ProvidersAsked,
    choices: &Choices,
    stage: &'static str,
) -> Result<Arc<Trace>, Failure> {
    memory.watch(inputs);
    let prepared = prepared::Place::of(inputs, providers)?;
    if let Some(trace) = prepared.trace(memory.budget()) {
        panics::reach(stage);
        return Ok(trace);
    }
    let capture = open(inputs)?;
    panics::reach(stage);
    let trace = load_capture(&capture, memory, providers, choices)?;
    prepared.keep(&trace, &capture);
    Ok(trace)
}

/// Loads an open capture, as much of it as memory allows.
pub(super) fn load_capture(
    capture: &Capture,
    memory: Memory,
    providers: &ProvidersAsked,
    choices: &Choices,
) -> Result<Arc<Trace>, Failure> {
    memory::make_room(capture, memory);
    let mut plan = memory::plan(capture, memory, choices.process.as_deref(), choices.layer);
    providers.add_to(&mut plan, capture)?;
    let name = capture.files.first().map_or("", |file| file.name.as_str());
    let trace = load_planned(capture, &plan, &mut Progress::new(format!("Reading {name}"))).map_err(stopped)?;
    providers.report_silent(&plan.trackers, capture, &trace);
    Ok(Arc::new(trace))
}

/// Prepares an index for one question about some rows of a trace.
pub(super) fn index(trace: &Arc<Trace>, rows: &RowChoice) -> Result<Index, Cancelled> {
    let never = Cancel::default();
    Ok(Index::for_one_question(Arc::clone(trace), &never)?.choosing(rows.rows(trace, &never)?))
}

impl Loaded {
    /// Prepares an index for one question that draws graphs of many heaps, as findings do.
    pub(super) fn index_for_graphs(&self) -> Result<Index, Failure> {
        let never = Cancel::default();
        let rows = self.rows.rows(&self.trace, &never).map_err(stopped)?;
        Ok(Index::for_graphs(Arc::clone(&self.trace), &never).map_err(stopped)?.choosing(rows))
    }

    /// This trace and these rows, with another interval.
    pub(super) fn over(&self, interval: Interval) -> Self {
        let Self { trace, rows, told, rules, .. } = self;
        Self { trace: Arc::clone(trace), interval, rows: rows.clone(), told: told.clone(), rules: Arc::clone(rules) }
    }

    /// The symbol names for the rows that are asked about; for the stacks of frees only if groups depend on them.
    /// Types that are asked for must be among them.
    pub(super) fn names(&self, asked: &Asked, by: &[By]) -> Result<Names, Failure> {
        self.names_and_missing(asked, by).map(|(names, _)| names)
    }

    /// The names as [`Loaded::names`] has them, and the modules without names, those of Windows apart.
    pub(super) fn names_and_missing(&self, asked: &Asked, by: &[By]) -> Result<(Names, Unnamed), Failure> {
        self.names_and_missing_with(asked, by, false)
    }

    /// [`Loaded::names_and_missing`], with `samples` also for the stacks of CPU samples and page faults.
    pub(super) fn names_and_missing_with(&self, asked: &Asked, by: &[By], samples: bool) -> Result<(Names, Unnamed), Failure> {
        let filter = asked.filter();
        let mask = filter.mask(&self.trace);
        let frees = by.contains(&By::FreedStack);
        let asked_of = mask.clone();
        let is_asked = move |site| asked_of.classes(site) != 0;
        let (names, missing) = symbols::names(&self.trace, asked.symbols.as_deref(), (frees, samples), is_asked);
        filter.check_types(&self.trace, &names, &mask).into_iter().collect::<Result<(), _>>().map_err(Failure::BadArguments)?;
        let names = names.with_rules(Arc::clone(&self.rules));
        Ok((names.clone(), missing.beside(names)))
    }

    /// Doubts about an answer: problems of the capture and, where names decide the answer, modules without names.
    pub(super) fn doubts(
        &self,
        asked: &Asked,
        index: &Index,
        about: (&Unnamed, Option<Decides>),
    ) -> Result<Vec<String>, Failure> {
        self.doubts_until(asked, index, about, self.interval.to)
    }

    /// [`Loaded::doubts`] for an answer about other intervals, the last of which ends at `to`.
    pub(super) fn doubts_until(
        &self,
        asked: &Asked,
        index: &Index,
        (unnamed, decides): (&Unnamed, Option<Decides>),
        to: Ticks,
    ) -> Result<Vec<String>, Failure> {
        // A row without names matches no name, so the doubts are about the rows before names filter them.
        let mask = asked.filter().mask(&self.trace);
        let mut doubts = doubts_about(&self.trace, &mask, to);
        if let Some(decides) = decides {
            doubts.extend(unnamed.doubts(index, self.interval, &mask, decides, &Cancel::default()).map_err(stopped)?);
        }
        Ok(doubts)
    }

    /// Doubts about an answer for which names only choose rows.
    pub(super) fn doubts_of_rows(&self, asked: &Asked) -> Result<Vec<String>, Failure> {
        let filter = asked.filter();
        let Some(decided) = decides(&filter, &[], false) else {
            return Ok(doubts_about(&self.trace, &filter.mask(&self.trace), self.interval.to));
        };
        let (_, unnamed) = self.names_and_missing(asked, &[])?;
        self.doubts(asked, &self.index()?, (&unnamed, Some(decided)))
    }

    /// Names with the rules for stacks.
    pub(super) fn with_rules(&self, names: &Names) -> Names {
        names.with_rules(Arc::clone(&self.rules))
    }

    /// The symbol names for the samples of the requested process and, with `memory`, for the requested rows.
    pub(super) fn names_with_samples(&self, asked: &Asked, memory: bool) -> Names {
        let (trace, path) = (&self.trace, asked.symbols.as_deref());
        let counts = sample_counts(trace, self.interval, asked.process());
        let sampled = symbols::sampled_sites(trace, &counts);
        let mask = asked.filter().mask(trace);
        let of_memory = (0..).map(SiteId).zip(&trace.sites).filter(|(id, _)| memory && mask.classes(*id) != 0);
        let names = symbols::names_of_sites(trace, path, of_memory.map(|(_, site)| site).chain(sampled));
        names.with_rules(Arc::clone(&self.rules))
    }

    /// The rows that are asked about, and the symbol names if the question depends on them.
    pub(super) fn named_mask(&self, asked: &Asked) -> Result<(Names, Mask), Failure> {
        let filter = asked.filter();
        let names = if needs_names(&filter, &[]) { self.names(asked, &[])? } else { Names::default() };
        let mask = filter.named_mask(&self.trace, &names, &Cancel::default()).map_err(stopped)?;
        Ok((names, mask))
    }

    /// Prepares an index for one answer; of a choice of rows it only notes which they are.
    pub(super) fn index(&self) -> Result<Index, Failure> {
        index(&self.trace, &self.rows).map_err(stopped)
    }
}
