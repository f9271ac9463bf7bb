//! `highwater check`: whether a trace keeps the limits that rules set, and rules to begin with.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::asked::{Asked, IntervalInSeconds, Loaded, needs_names, stopped};
use super::progress::Quiet;
use super::{Failure, output, report_problems};
use crate::limits::{Checked, GroupCheck, Judge, LimitRules, Outcome, Rule, breach_lines, junit, plain, starter};
use crate::model::Quality;
use crate::paths;
use crate::query::{
    By, Cancel, Index, IndexOptions, Mask, Measured, MeasuredRequest, ReportRequest, doubts, named_report, totals,
};
use crate::symbols::Names;
use crate::units::Interval;

#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    pub(super) asked: Asked,

    /// The rules: a file of TOML with limits
    #[arg(long, value_name = "FILE", required_unless_present = "init")]
    rules: Option<PathBuf>,

    /// Write the outcome as JUnit's XML, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Print JSON for programs
    #[arg(long)]
    json: bool,

    /// Write rules to begin with, from a trace that is well: to -o, to --rules, or print them
    #[arg(long, conflicts_with_all = ["junit", "json"])]
    init: bool,

    /// Where --init writes
    #[arg(short = 'o', long = "output", value_name = "FILE", requires = "init", conflicts_with = "rules")]
    out: Option<PathBuf>,

    /// Let --init overwrite a file
    #[arg(long, requires = "init")]
    force: bool,

    #[command(flatten)]
    quiet: Quiet,
}

/// The answer. Field names are those of the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    broken: bool,
    rules: Vec<RuleAnswer<'a>>,
    quality: Quality,
    doubts: &'a [String],
}

#[derive(Serialize)]
struct RuleAnswer<'a> {
    name: &'a str,
    line: usize,
    outcome: Outcome,
    reason: Option<&'a str>,
    interval: IntervalInSeconds,
    groups: &'a [GroupCheck],
}

pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    args.quiet.apply();
    if args.init {
        return init(args);
    }
    let Some(file) = &args.rules else { return Err(Failure::BadArguments("--rules names no file".to_owned())) };
    // Before the work of loading.
    args.asked.check().map_err(Failure::BadArguments)?;
    let rules = LimitRules::read(file).map_err(Failure::BadArguments)?.list;
    let loaded = args.asked.load("check")?;
    let names = names(args, &loaded, &rules);
    let index = prepared(&loaded, rules.len())?;
    let checked = hold(args, &loaded, &index, &names, &rules)?;
    report_problems(&loaded.trace.problems);
    answer(args, &loaded, &checked)?;
    if let Some(out) = &args.junit {
        write_junit(out, &checked, file, &capture_name(args))?;
    }
    let is_broken = checked.iter().any(|checked| checked.outcome == Outcome::Broken);
    if is_broken { Err(Failure::LimitBroken) } else { Ok(()) }
}

/// The names that rules are about; none where no rule is.
fn names(args: &CheckArgs, loaded: &Loaded, rules: &[Rule]) -> Names {
    let is_about_names = |rule: &Rule| needs_names(&rule.filter, &rule.by) || rule.by.contains(&By::Module);
    if rules.iter().any(is_about_names) || needs_names(&args.asked.filter(), &[]) {
        loaded.names(&args.asked, &[])
    } else {
        Names::default()
    }
}

/// From so many rules on everything is worth preparing.
const MANY_RULES: usize = 4;

fn prepared(loaded: &Loaded, rules: usize) -> Result<Index, Failure> {
    if rules < MANY_RULES {
        return loaded.index();
    }
    let never = Cancel::default();
    let index = Index::build(Arc::clone(&loaded.trace), &IndexOptions::default(), &never).map_err(stopped)?;
    Ok(index.choosing(loaded.rows.rows(&loaded.trace, &never).map_err(stopped)?))
}

/// Holds the trace against each rule.
fn hold<'r>(
    args: &CheckArgs,
    loaded: &Loaded,
    index: &Index,
    names: &Names,
    rules: &'r [Rule],
) -> Result<Vec<Checked<'r>>, Failure> {
    let never = Cancel::default();
    let chosen = args.asked.filter().named_mask(&loaded.trace, names, &never).map_err(stopped)?;
    let mut places = || Arc::new(if names.is_empty() { loaded.names(&args.asked, &[]) } else { names.clone() });
    let mut judge = Judge::new(index, names);
    let mut all = Vec::with_capacity(rules.len());
    for rule in rules {
        let interval = match interval(loaded, rule) {
            Ok(interval) => interval,
            Err(reason) => {
                all.push(Checked::without_rows(rule, loaded.interval, reason));
                continue;
            }
        };
        let mut mask: Mask = rule.filter.named_mask(&loaded.trace, names, &never).map_err(stopped)?;
        mask.and(&chosen);
        all.push(judge.check(rule, interval, &mask, &mut places, &never).map_err(stopped)?);
    }
    Ok(all)
}

/// The interval of a rule: its own ends, else the command's. A rule outlives the traces that it
/// is for, so one that lies outside of a trace is no bad argument.
fn interval(loaded: &Loaded, rule: &Rule) -> Result<Interval, String> {
    let trace = &loaded.trace;
    let from = rule.from.map_or(loaded.interval.from, |t| t.ticks(&trace.clock));
    let mut to = rule.to.map_or(loaded.interval.to, |t| t.ticks(&trace.clock));
    if trace.cut.is_some() {
        to = to.min(trace.span.to);
    }
    if from <= to { Ok(Interval { from, to }) } else { Err("its interval lies outside of what was read".to_owned()) }
}

fn capture_name(args: &CheckArgs) -> String {
    args.asked.inputs().iter().map(crate::load::Input::name).collect::<Vec<_>>().join(" + ")
}

fn answer(args: &CheckArgs, loaded: &Loaded, checked: &[Checked<'_>]) -> Result<(), Failure> {
    let trace = &loaded.trace;
    let to = checked.iter().map(|checked| checked.interval.to).max().unwrap_or(loaded.interval.to);
    let doubts = doubts(trace, to);
    for rule in checked {
        if let Some(reason) = rule.reason.as_deref().filter(|_| rule.outcome != Outcome::Broken) {
            output::message(&format!("rule {} was not looked at in full: {reason}", plain(&rule.rule.name)));
        }
    }
    for doubt in &doubts {
        output::message(&format!("the numbers may be off: {doubt}"));
    }
    if args.json {
        let rules = checked.iter().map(|checked| RuleAnswer {
            name: &checked.rule.name,
            line: checked.rule.line,
            outcome: checked.outcome,
            reason: checked.reason.as_deref(),
            interval: IntervalInSeconds::of(&trace.clock, checked.interval),
            groups: &checked.checks,
        });
        let broken = checked.iter().any(|checked| checked.outcome == Outcome::Broken);
        let rules = rules.collect();
        return output::json(&Answer { schema: "highwater.check/1", broken, rules, quality: trace.quality, doubts: &doubts });
    }
    output::answer(&describe(checked))?;
    let count = |outcome| checked.iter().filter(|checked| checked.outcome == outcome).count();
    let [passed, broken, skipped] = [Outcome::Passed, Outcome::Broken, Outcome::Skipped].map(count);
    output::message(&format!("rules: {passed} passed, {broken} broken, {skipped} skipped"));
    Ok(())
}

/// For people: one line a breach, and nothing else.
fn describe(checked: &[Checked<'_>]) -> String {
    let broken = checked.iter().filter(|checked| checked.outcome == Outcome::Broken);
    broken.flat_map(breach_lines).map(|line| line + "\n").collect()
}

fn write_junit(out: &Path, checked: &[Checked<'_>], rules: &Path, capture: &str) -> Result<(), Failure> {
    let written = junit(checked, &rules.display().to_string(), capture)
        .map_err(io::Error::other)
        .and_then(|text| paths::replace(out, |draft| fs::write(draft, text)));
    written.map_err(|error| Failure::Failed(format!("{} cannot be written: {error}", out.display())))
}

/// Writes rules to begin with.
fn init(args: &CheckArgs) -> Result<(), Failure> {
    let out = args.out.as_deref().or(args.rules.as_deref());
    let refuse = |out: &Path| Failure::BadArguments(format!("{} is there already; --force overwrites it", out.display()));
    if let Some(out) = out.filter(|out| !args.force && out.symlink_metadata().is_ok()) {
        return Err(refuse(out));
    }
    let loaded = args.asked.load("check")?;
    let text = starting_rules(args, &loaded)?;
    report_problems(&loaded.trace.problems);
    for doubt in doubts(&loaded.trace, loaded.interval.to) {
        output::message(&format!("the limits may be off: {doubt}"));
    }
    let Some(out) = out else { return output::document(&text) };
    let written = if args.force { paths::replace(out, |draft| fs::write(draft, &text)) } else { write_new(out, &text) };
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(refuse(out)),
        Err(error) => Err(Failure::Failed(format!("{} cannot be written: {error}", out.display()))),
        Ok(()) => Ok(()),
    }
}

/// Writes a file, over no other.
fn write_new(out: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(out)?;
    file.write_all(text.as_bytes()).inspect_err(|_| _ = fs::remove_file(out))
}

fn starting_rules(args: &CheckArgs, loaded: &Loaded) -> Result<String, Failure> {
    let never = Cancel::default();
    let filter = args.asked.filter();
    let names = if needs_names(&filter, &[]) { loaded.names(&args.asked, &[]) } else { Names::default() };
    let index = loaded.index()?;
    let interval = loaded.interval;
    let mask = filter.named_mask(&loaded.trace, &names, &never).map_err(stopped)?;
    let totals = Arc::new(totals(&index, interval, &never).map_err(stopped)?);
    let request =
        MeasuredRequest { interval, by: &[By::Process], mask: &mask, fold: false, growth: true, at_exit: true, totals: &totals };
    let processes = Measured::of(&index, request, &names, &never).map_err(stopped)?;
    let request = ReportRequest { interval, by: vec![By::Process, By::Heap], filter, top: None, fold: false };
    let heaps = named_report(&index, &request, &names, &never).map_err(stopped)?.groups;
    Ok(starter(&capture_name(args), &processes, &heaps))
}
