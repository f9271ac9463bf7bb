//! `highwater check`: checks a trace against the limits of rules ([`init`]: starter rules).

mod check_args;
mod init;
mod markdown;
mod reports;

use std::sync::Arc;

use serde::Serialize;

use super::asked::{IntervalInSeconds, Loaded, decides, known_part, needs_names, stopped};
use super::ci::check_stdout;
use super::{Failure, output, report_other_problems, text};
use crate::format;
use crate::limits::{Accepted, Baseline, Checked, GroupCheck, Judge, LimitRules, Outcome, Rule, Suite, breach_lines};
use crate::model::Quality;
use crate::paths::Reading;
use crate::query::{By, Cancel, Decides, Index, IndexOptions, Mask, Unnamed};
use crate::symbols::Names;
use crate::time_spec::TimeSpec;
use crate::units::Interval;
pub(super) use check_args::CheckArgs;
use check_args::capture_name;
use reports::{annotations, reports};

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    broken: bool,
    rules: Vec<RuleAnswer<'a>>,
    /// Number of broken limits that a baseline accepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<usize>,
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
    check_stdout(args.on_stdout())?;
    args.ci.noted(check(args))
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    if args.init {
        return init::run(args);
    }
    let Some(file) = &args.rules else { return Err(Failure::BadArguments("--rules names no file".to_owned())) };
    // Arguments are checked before the work of loading.
    args.asked.check().map_err(Failure::BadArguments)?;
    let _read = [args.asked.rules.reading(), Reading::of([file.clone()]), args.known.check(args.replace)?];
    args.check_reports()?;
    let rules = LimitRules::read(file).map_err(Failure::BadArguments)?.list;
    let mut known = args.known.read()?;
    let mut found = Vec::new();
    let mut suites = Vec::new();
    let outcome = args.asked.answer("check", |loaded| {
        let (names, unnamed) = names(args, loaded, &rules)?;
        let index = prepared(loaded, rules.len())?;
        let mut checked = hold(args, loaded, &index, &names, &rules)?;
        found.extend(checked.iter().flat_map(Checked::broken).map(Accepted::breach));
        let held = known.as_mut().map(|known| checked.iter_mut().map(|checked| checked.hold_back(known)).sum::<usize>());
        report_other_problems(&loaded.trace.problems);
        let doubts = doubts(args, loaded, &index, &unnamed, &checked)?;
        let is_broken = checked.iter().any(|checked| checked.outcome == Outcome::Broken);
        let capture = loaded.told.files().map_or_else(|| capture_name(args), |files| files.join(" + "));
        let suite = Suite { checked, capture, doubts };
        answer(args, loaded, &suite, held)?;
        suites.push(suite);
        if is_broken { Err(Failure::LimitBroken) } else { Ok(()) }
    });
    if !suites.is_empty() {
        args.known.write(args.replace, || Baseline::of(found))?;
    }
    for entry in known.iter().flat_map(Baseline::unused) {
        output::message(&format!("unused baseline entry: {}", entry.words()));
    }
    if !suites.is_empty() {
        reports(args, &suites, file)?;
    }
    outcome
}

/// Doubts about the outcome, of all rules together.
fn doubts(
    args: &CheckArgs,
    loaded: &Loaded,
    index: &Index,
    unnamed: &Unnamed,
    checked: &[Checked<'_>],
) -> Result<Vec<String>, Failure> {
    let of_rule = |checked: &Checked<'_>| decides(&checked.rule.filter, &checked.rule.by, checked.rule.fold);
    let decided = checked.iter().filter_map(of_rule).chain(decides(&args.asked.filter(), &[], false));
    let decided = decided.reduce(|a, b| if a == Decides::AnyFrame { a } else { b });
    let to = checked.iter().map(|checked| checked.interval.to).max().unwrap_or(loaded.interval.to);
    loaded.doubts_until(&args.asked, index, (unnamed, decided), to)
}

/// The symbol names that rules need, and the modules without names; nothing if no rule needs names.
fn names(args: &CheckArgs, loaded: &Loaded, rules: &[Rule]) -> Result<(Names, Unnamed), Failure> {
    let is_about_names = |rule: &Rule| needs_names(&rule.filter, &rule.by) || rule.by.contains(&By::Module);
    if rules.iter().any(is_about_names) || needs_names(&args.asked.filter(), &[]) {
        loaded.names_and_missing(&args.asked, &[])
    } else {
        Ok(Default::default())
    }
}

/// From this number of rules on, preparing everything pays off.
const MANY_RULES: usize = 4;

fn prepared(loaded: &Loaded, rules: usize) -> Result<Index, Failure> {
    if rules < MANY_RULES {
        return loaded.index();
    }
    let never = Cancel::default();
    let index = Index::build(Arc::clone(&loaded.trace), &IndexOptions::default(), &never).map_err(stopped)?;
    Ok(index.choosing(loaded.rows.rows(&loaded.trace, &never).map_err(stopped)?))
}

/// Checks the trace against each rule.
fn hold<'r>(
    args: &CheckArgs,
    loaded: &Loaded,
    index: &Index,
    names: &Names,
    rules: &'r [Rule],
) -> Result<Vec<Checked<'r>>, Failure> {
    let never = Cancel::default();
    let chosen = args.asked.filter().named_mask(&loaded.trace, names, &never).map_err(stopped)?;
    // An unknown type needs no error here: types are checked where names are first loaded.
    let mut places =
        || Arc::new(if names.is_empty() { loaded.names(&args.asked, &[]).unwrap_or_default() } else { names.clone() });
    let mut judge = Judge::new(index, names);
    let mut all = Vec::with_capacity(rules.len());
    for rule in rules {
        let process = rule.filter.process.as_deref().or(args.asked.process());
        let interval = match interval(loaded, rule, process) {
            Ok(interval) => interval,
            Err(reason) => {
                all.push(Checked::without_rows(rule, loaded.interval, reason));
                continue;
            }
        };
        let of_places = rule.filter.mask(&loaded.trace);
        let places_there = rule.filter.check_places(&loaded.trace).into_iter();
        let types_there = rule.filter.check_types(&loaded.trace, names, &of_places);
        if let Err(reason) = places_there.chain(types_there).collect::<Result<(), _>>() {
            all.push(Checked::without_rows(rule, interval, reason));
            continue;
        }
        let mut mask: Mask = rule.filter.named_mask(&loaded.trace, names, &never).map_err(stopped)?;
        mask.and(&chosen);
        all.push(judge.check(rule, interval, &mask, &mut places, &never).map_err(stopped)?);
    }
    Ok(all)
}

/// The interval of a rule: its own ends or else the command's, cut to what the trace covers. Nothing is known of the
/// time after the trace, so nothing there keeps a limit. A rule is used with many traces, so an interval outside of
/// this trace is no bad argument, nor is a mark that this trace does not have.
fn interval(loaded: &Loaded, rule: &Rule, process: Option<&str>) -> Result<Interval, String> {
    let trace = &loaded.trace;
    let edge = |of_rule: &Option<TimeSpec>, of_command| match of_rule {
        Some(moment) => moment.ticks(trace, process),
        None => Ok(of_command),
    };
    let asked = Interval { from: edge(&rule.from, loaded.interval.from)?, to: edge(&rule.to, loaded.interval.to)? };
    known_part(trace, asked).ok_or_else(|| "its interval lies outside of what was read".to_owned())
}

fn answer(args: &CheckArgs, loaded: &Loaded, suite: &Suite<'_>, held: Option<usize>) -> Result<(), Failure> {
    let Suite { checked, doubts, .. } = suite;
    let trace = &loaded.trace;
    for rule in checked {
        if let Some(reason) = rule.unchecked() {
            output::message(&format!("rule {} was not checked in full: {reason}", rule.rule.name));
        }
    }
    for doubt in doubts {
        output::message(&text::doubtful(doubt));
    }
    if let Some(form) = args.programs.form() {
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
        let (schema, accepted, quality) = ("highwater.check/1", held, trace.quality);
        return loaded.told.for_programs(form, &Answer { schema, broken, rules, accepted, quality, doubts }, &["rules"]);
    }
    match args.ci.annotated(annotations(suite, loaded.told.files().is_some(), &args.ci.roots())) {
        Some(annotated) => output::document(&annotated)?,
        None if args.on_stdout().next().is_some() => {}
        None => loaded.told.text(&describe(checked))?,
    }
    let count = |outcome| checked.iter().filter(|checked| checked.outcome == outcome).count();
    let [passed, broken, skipped] = [Outcome::Passed, Outcome::Broken, Outcome::Skipped].map(count);
    if let Some(held) = held.filter(|&held| held > 0) {
        output::message(&format!("{} accepted by the baseline", format::plural(held as u64, "broken limit")));
    }
    output::message(&format!("rules: {passed} passed, {broken} broken, {skipped} skipped"));
    Ok(())
}

/// The outcome as text: one line per breach, and nothing else.
fn describe(checked: &[Checked<'_>]) -> String {
    let broken = checked.iter().filter(|checked| checked.outcome == Outcome::Broken);
    broken.flat_map(breach_lines).map(|line| line + "\n").collect()
}
