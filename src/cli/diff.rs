//! `highwater diff`: compares two traces, or parts of them.

mod breaches;
mod markdown;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::asked::{GroupsAsked, RulesFile, decides, index, interval, load_capture, needs_names, stopped};
use super::choices::Choices;
use super::ci::{CiArgs, check_stdout};
use super::for_programs::ForPrograms;
use super::memory::Memory;
use super::outputs::{check_report, is_stdout, write_report};
use super::progress::Quiet;
use super::providers::ProvidersAsked;
use super::ranges::Bytes;
use super::report::{key_cells, key_columns, stack_notes};
use super::text::{self, Align, Table};
use super::{Failure, kept, open, output, report_other_problems, symbols, wildcards};
use crate::format;
use crate::load::{Input, reading};
use crate::model::{Quality, Trace};
use crate::panics;
use crate::query::{By, Cancel, Compared, DiffSide, Fold, Group, Index, Mask, Unnamed, doubts_about, folded_diff};
use crate::symbols::Names;
use crate::time_spec::{TimeSpec, split_range};
use crate::units::Interval;
use breaches::{Breach, annotation, breaches, log};
use markdown::Shown;

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    groups: &'a [Group<Compared>],
    quality: Qualities,
    doubts: &'a [String],
}

/// The quality of both sides' captures.
#[derive(Serialize)]
struct Qualities {
    a: Quality,
    b: Quality,
}

#[derive(Args, Debug)]
pub(super) struct DiffArgs {
    /// First trace, or a part of it: game.etl@10..20
    #[arg(value_name = "A")]
    a: OsString,

    /// Second trace, or a part of it
    #[arg(value_name = "B")]
    b: OsString,

    #[command(flatten)]
    pub(super) programs: ForPrograms,

    /// Print Markdown, for example for a pull request, or write it to OUT
    #[arg(long, value_name = "OUT", num_args = 0..=1, require_equals = true, default_missing_value = "-",
        conflicts_with_all = ["json", "ndjson"])]
    markdown: Option<PathBuf>,

    /// Exit with code 3 if any group's outstanding size grew by more than this; K, M and G are powers of 1,024
    #[arg(long, value_name = "BYTES")]
    fail_over: Option<Bytes>,

    #[command(flatten)]
    ci: CiArgs,

    #[command(flatten)]
    pub(super) choices: Choices,

    #[command(flatten)]
    pub(super) groups: GroupsAsked,

    /// With --by function and module: skip the allocator's frames, and frames that rules fold
    #[arg(long)]
    pub(super) fold: bool,

    /// Symbol path: folders, stores and servers with PDBs, as in _NT_SYMBOL_PATH
    #[arg(long, value_name = "PATH")]
    pub(super) symbols: Option<String>,

    #[command(flatten)]
    pub(super) rules: RulesFile,

    #[command(flatten)]
    pub(super) providers: ProvidersAsked,

    #[command(flatten)]
    pub(super) memory: Memory,

    #[command(flatten)]
    quiet: Quiet,
}

impl DiffArgs {
    pub(super) fn sides(&self) -> Result<[Side; 2], String> {
        Ok([Side::parse(&self.a)?, Side::parse(&self.b)?])
    }

    /// The options whose answer goes to standard output in place of the text.
    fn on_stdout(&self) -> impl Iterator<Item = &'static str> {
        let programs = self.programs.is_asked().then_some("JSON");
        let markdown = self.markdown.as_deref().filter(|out| is_stdout(out)).map(|_| "--markdown");
        programs.into_iter().chain(markdown).chain(self.ci.on_stdout())
    }

    pub(super) fn inputs(&self) -> Vec<Input> {
        self.sides().map_or_else(|_| Vec::new(), |sides| sides.map(|side| side.input).into())
    }
}

/// One argument: a trace, and the part of it to compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Side {
    pub(super) input: Input,
    from: Option<TimeSpec>,
    to: Option<TimeSpec>,
}

impl Side {
    /// Splits off a final `@from..to`; any other `@` stays in the path. If several fit, the shortest part counts.
    pub(super) fn parse(word: &OsStr) -> Result<Self, String> {
        let end = |text: &str| if text.is_empty() { Some(None) } else { text.parse::<TimeSpec>().ok().map(Some) };
        let part = |part: &str| split_range(part).and_then(|(from, to)| Some((end(from)?, end(to)?)));
        let text = word.to_str().unwrap_or_default();
        let found = text.rmatch_indices('@').find_map(|(at, _)| Some((&text[..at], part(&text[at + 1..])?)));
        let Some((path, (from, to))) = found else {
            return Ok(Self { input: one_file(word)?, from: None, to: None });
        };
        match (&from, &to) {
            (Some(a), Some(b)) if a > b => Err(format!("the part {} ends before it begins; swap its ends", word.display())),
            _ => Ok(Self { input: one_file(OsStr::new(path))?, from, to }),
        }
    }

    fn interval(&self, trace: &Trace, process: Option<&str>) -> Result<Interval, Failure> {
        let name = self.input.name();
        let names = ["begins", "ends"].map(|edge| format!("the part of {name} {edge}"));
        interval(trace, (self.from.as_ref(), self.to.as_ref()), process, [&names[0], &names[1]])
    }

    /// Whether both sides name the same trace.
    fn is_same(&self, other: &Self) -> bool {
        match (&self.input, &other.input) {
            (Input::File(a), Input::File(b)) => {
                a == b || a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
            }
            (a, b) => a == b,
        }
    }
}

/// The one file that a side names; a pattern for several files is an error.
fn one_file(word: &OsStr) -> Result<Input, String> {
    let mut files = wildcards::as_shells_do(vec![Input::from_arg(word)]);
    match (files.pop(), files.len()) {
        (Some(only), 0) => Ok(only),
        (_, others) => Err(format!("{} stands for {} files; name one", word.display(), others + 1)),
    }
}

/// Loads the traces of both sides; only one trace if both are parts of it.
fn load(args: &DiffArgs, [a, b]: &[Side; 2]) -> Result<[Arc<Trace>; 2], Failure> {
    let open_one = |side: &Side| open(std::slice::from_ref(&side.input));
    let place = |side: &Side| kept::place(std::slice::from_ref(&side.input), &args.providers);
    let load = |capture: &_, memory, place: &kept::Place| {
        let trace = load_capture(capture, memory, &args.providers, &args.choices)?;
        place.keep(&trace, capture, args.memory);
        Ok::<_, Failure>(trace)
    };
    let known = |place: &kept::Place, side: &Side| match place.trace(args.memory.budget()) {
        Some(trace) => Ok(trace),
        None => load(&open_one(side)?, args.memory, place),
    };
    let (at_a, at_b) = (place(a)?, place(b)?);
    panics::reach("diff");
    if a.is_same(b) {
        let trace = known(&at_a, a)?;
        return Ok([Arc::clone(&trace), trace]);
    }
    if at_a.is_known() || at_b.is_known() {
        return Ok([known(&at_a, a)?, known(&at_b, b)?]);
    }
    let (first, second) = (open_one(a)?, open_one(b)?);
    let [of_a, of_b] = args.memory.dealt([&first, &second]);
    Ok([load(&first, of_a, &at_a)?, load(&second, of_b, &at_b)?])
}

/// For each side, whether it has nothing in any of these groups.
fn empty_sides(groups: &[Group<Compared>]) -> [bool; 2] {
    let counts: [fn(&Compared) -> u64; 2] = [|numbers| numbers.a.count, |numbers| numbers.b.count];
    counts.map(|count| groups.iter().all(|group| count(&group.numbers) == 0))
}

/// One side of the comparison: a trace, and the part of it that is compared.
struct Asked {
    trace: Arc<Trace>,
    interval: Interval,
    names: Arc<Names>,
    unnamed: Unnamed,
    index: Index,
    mask: Mask,
}

impl Asked {
    /// Doubts about the side's numbers.
    fn doubts(&self, args: &DiffArgs) -> Result<Vec<String>, Failure> {
        let filter = args.choices.filter();
        let mask = filter.mask(&self.trace);
        let mut doubts = doubts_about(&self.trace, &mask, self.interval.to);
        if let Some(decides) = decides(&filter, &args.groups.by, args.fold) {
            let unnamed = self.unnamed.doubts(&self.index, self.interval, &mask, decides, &Cancel::default());
            doubts.extend(unnamed.map_err(stopped)?);
        }
        Ok(doubts)
    }
}

/// Doubts about the numbers of both sides; a side with nothing at all is one of them.
fn doubts_of(args: &DiffArgs, sides: &[Asked; 2], is_empty: [bool; 2]) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for (i, name) in ["A", "B"].into_iter().enumerate() {
        all.extend(sides[i].doubts(args)?.into_iter().map(|doubt| format!("{name}: {doubt}")));
        if is_empty[i] {
            all.push(format!("{name}: no matching allocations"));
        }
    }
    Ok(all)
}

/// Fails if neither trace has something that is named, which is a bad argument. The checks are of the same things in
/// both traces, in the same order.
fn each_had_by_one<I: IntoIterator<Item = Result<(), String>>>(of: [&Side; 2], [a, b]: [I; 2]) -> Result<(), Failure> {
    let had_by_none = a.into_iter().zip(b).find_map(|both| match both {
        (Err(a), Err(b)) if a == b => Some(a),
        (Err(a), Err(b)) => Some(format!("{}: {a}; {}: {b}", of[0].input.name(), of[1].input.name())),
        _ => None,
    });
    had_by_none.map_or(Ok(()), |why| Err(Failure::BadArguments(why)))
}

/// Prepares both sides. Processes, heaps, threads and types that are named must exist in at least one of the traces.
fn asked(args: &DiffArgs, both: &[Side; 2], traces: &[Arc<Trace>; 2]) -> Result<[Asked; 2], Failure> {
    let rules = args.rules.read()?;
    let (process, filter) = (args.choices.process.as_deref(), args.choices.filter());
    each_had_by_one([&both[0], &both[1]], [0, 1].map(|i| args.choices.check_each(&traces[i])))?;
    let shows_names = needs_names(&filter, &args.groups.by) || (args.fold && args.groups.by.contains(&By::Module));
    let names = |trace: &Arc<Trace>| {
        let mask = filter.mask(trace);
        let is_asked = move |site| mask.classes(site) != 0;
        let frees = args.groups.by.contains(&By::FreedStack);
        let (names, unnamed) = if shows_names {
            symbols::names(trace, args.symbols.as_deref(), (frees, false), is_asked)
        } else {
            Default::default()
        };
        let names = names.with_rules(Arc::clone(&rules));
        (Arc::new(names.clone()), unnamed.beside(names))
    };
    let first = names(&traces[0]);
    let second = if Arc::ptr_eq(&traces[0], &traces[1]) { first.clone() } else { names(&traces[1]) };
    let types = [(&traces[0], &first.0), (&traces[1], &second.0)];
    each_had_by_one([&both[0], &both[1]], types.map(|(trace, names)| filter.check_types(trace, names, &filter.mask(trace))))?;
    let side = |i: usize, (names, unnamed): (Arc<Names>, Unnamed)| {
        let never = Cancel::default();
        let trace = Arc::clone(&traces[i]);
        let interval = both[i].interval(&trace, process)?;
        let rows = args.choices.rows(&trace).map_err(Failure::BadArguments)?;
        let mask = filter.named_mask(&trace, &names, &never).map_err(stopped)?;
        let index = index(&trace, &rows).map_err(stopped)?;
        Ok::<_, Failure>(Asked { trace, interval, names, unnamed, index, mask })
    };
    Ok([side(0, first)?, side(1, second)?])
}

pub(super) fn run(args: &DiffArgs) -> Result<(), Failure> {
    args.quiet.apply();
    check_stdout(args.on_stdout())?;
    args.ci.noted(diff(args))
}

fn diff(args: &DiffArgs) -> Result<(), Failure> {
    let both = args.sides().map_err(Failure::BadArguments)?;
    let _read = [reading(&args.inputs()), args.rules.reading()];
    args.markdown.as_deref().map_or(Ok(()), check_report)?;
    args.ci.check()?;
    args.memory.watch(&args.inputs());
    let traces = load(args, &both)?;
    let sides = asked(args, &both, &traces)?;
    let never = Cancel::default();
    let side = |i: usize| {
        let Asked { index, interval, mask, names, .. } = &sides[i];
        DiffSide { index, interval: *interval, mask, names, functions: None, totals: None }
    };
    let compare = |by: &[By], top| folded_diff([side(0), side(1)], by, Fold::allocator(args.fold), top, &never).map_err(stopped);
    // The limit applies to all groups, not only to those that are shown.
    let top = if args.fail_over.is_some() || args.markdown.is_some() { None } else { args.groups.top };
    let mut groups = compare(&args.groups.by, top)?;
    // A side with nothing in the first groups can have something in the others.
    let needs_totals = args.markdown.is_some() || (top.is_some() && empty_sides(&groups).contains(&true));
    let totals = if needs_totals { compare(&[], None)? } else { Vec::new() };
    let doubts = doubts_of(args, &sides, empty_sides(if needs_totals { &totals } else { &groups }))?;
    let is_one_trace = Arc::ptr_eq(&traces[0], &traces[1]);
    traces.iter().take(if is_one_trace { 1 } else { 2 }).for_each(|trace| report_other_problems(&trace.problems));
    let broken = args.fail_over.map_or_else(Vec::new, |limit| breaches(&args.groups.by, &groups, limit));
    if let Some(out) = &args.markdown {
        let [a, b] = [&args.a, &args.b].map(|side| side.to_string_lossy());
        let limit = args.fail_over.map(|limit| limit.0);
        let (by, top) = (&args.groups.by, args.groups.top);
        let shown = Shown { a: &a, b: &b, by, groups: &groups, totals: &totals, top, limit, doubts: &doubts };
        write_report(out, &markdown::text(&shown))?;
    }
    groups.truncate(args.groups.top.unwrap_or(usize::MAX));
    let quality = Qualities { a: traces[0].quality, b: traces[1].quality };
    answer(args, &Answer { schema: "highwater.diff/1", groups: &groups, quality, doubts: &doubts }, &broken)?;
    doubts.iter().for_each(|doubt| output::message(&text::doubtful(doubt)));
    broken.iter().for_each(|breach| output::message(&breach.line));
    if broken.is_empty() { Ok(()) } else { Err(Failure::LimitBroken) }
}

/// Prints the answer in the form that was asked for, unless another one goes to standard output.
fn answer(args: &DiffArgs, answer: &Answer<'_>, broken: &[Breach]) -> Result<(), Failure> {
    let roots = args.ci.roots();
    let capture = [&args.a, &args.b].map(|side| side.to_string_lossy()).join(" → ");
    args.ci.write_sarif(|| log(broken, args.fail_over, &capture, answer.doubts, &roots))?;
    if let Some(form) = args.programs.form() {
        return output::for_programs(form, answer, &["groups"]);
    }
    match args.ci.annotated(broken.iter().map(|breach| annotation(breach, &roots))) {
        Some(annotated) => output::document(&annotated),
        None if args.on_stdout().next().is_some() => Ok(()),
        None => output::answer(&describe(args, answer.groups)),
    }
}

/// Groups in the text output unless `--top` is given.
const SHOWN: usize = 40;

/// The comparison as text.
fn describe(args: &DiffArgs, groups: &[Group<Compared>]) -> String {
    if groups.is_empty() {
        return "No matching allocations on either side.\n".to_owned();
    }
    let shown = &groups[..groups.len().min(args.groups.top.unwrap_or(SHOWN))];
    let numbers = ["Change", "A", "B", "Peak", "Allocated", "Count"];
    let columns = key_columns(&args.groups.by).map(|name| (name, Align::Left));
    let mut table = Table::new(columns.chain(numbers.map(|name| (name, Align::Right))));
    for (group, mut cells) in shown.iter().zip(key_cells(&args.groups.by, shown)) {
        let Compared { a, b, delta } = &group.numbers;
        cells.extend([
            format::signed_bytes(delta.outstanding_to),
            format::bytes(a.outstanding_to),
            format::bytes(b.outstanding_to),
            format::signed_bytes(delta.peak),
            format::signed_bytes(delta.allocated_size),
            format!("{:+}", delta.count),
        ]);
        table.line(cells, stack_notes(group));
    }
    table.bars(shown.iter().map(|group| group.numbers.delta.outstanding_to.unsigned_abs()));
    let more = text::more(groups.len() - shown.len(), &format!(" groups; --top {} shows them", groups.len()));
    format!("Outstanding at the ends of A and B; change, peak, allocated and count are B minus A.\n\n{}{more}", table.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_final_part_is_split_off_a_path() {
        let side = |text: &str| Side::parse(OsStr::new(text)).ok().map(|s| (s.input.name(), s.from.is_some(), s.to.is_some()));
        let is = |name: &str, from, to| Some((name.to_owned(), from, to));
        assert_eq!(side("game.etl@10..20"), is("game.etl", true, true));
        assert_eq!(side("demo:@10..20"), is("demo:", true, true));
        assert_eq!(side("a.etl@..2.5"), is("a.etl", false, true));
        assert_eq!(side("a.etl@-1.."), is("a.etl", true, false));
        assert_eq!(side("a@1..2@3..4"), is("a@1..2", true, true));
        assert_eq!(side("a@b.etl"), is("a@b.etl", false, false));
        assert_eq!(side("a@5"), is("a@5", false, false));
        assert_eq!(side("a.etl@5..x"), is("a.etl@5..x", false, false));
        assert_eq!(side("a.etl@mark:Level 2..mark:Level 2.5"), is("a.etl", true, true));
        assert_eq!(side("a@b.etl@mark:\"x@1..2\".."), is("a@b.etl", true, false));
        assert_eq!(side("a.etl@frame:8..frame:9"), is("a.etl", true, true));
        assert_eq!(side("a.etl@mark:x..y@z"), is("a.etl@mark:x..y@z", false, false));
        assert_eq!(side("a.etl@5..4"), None);
        assert_eq!(side("a.etl@5..5"), is("a.etl", true, true));
    }
}
