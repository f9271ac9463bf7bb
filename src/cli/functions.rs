//! `highwater functions`: self and total of each function, and the callers and callees of one.

use clap::Args;
use serde::Serialize;

use super::asked::{Asked, IntervalInSeconds, Loaded, decides, stopped};
use super::for_programs::ForPrograms;
use super::report::describe_quality;
use super::text::{self, Align, Table};
use super::{Failure, output, report_problems};
use crate::format::{self, plain};
use crate::model::Quality;
use crate::query::{
    By, Cancel, Fold, FunctionGroup, Functions, FunctionsRequest, GroupNumbers, NeighbourGroup, SourceLine, functions, totals,
};

#[derive(Args, Debug)]
pub(super) struct FunctionsArgs {
    #[command(flatten)]
    pub(super) asked: Asked,

    #[command(flatten)]
    pub(super) programs: ForPrograms,

    /// Also list callers and callees of this function (with or without its module)
    #[arg(long, value_name = "FUNCTION")]
    pub(super) of: Option<String>,

    /// Only the first N functions
    #[arg(long, value_name = "N")]
    pub(super) top: Option<usize>,

    /// Leave out the allocator's frames, and frames that rules fold
    #[arg(long)]
    pub(super) fold: bool,
}

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    functions: &'a [FunctionGroup],
    quality: Quality,
    doubts: &'a [String],
}

/// Functions in the text output unless `--top` is given.
const SHOWN: usize = 40;

pub(super) fn run(args: &FunctionsArgs) -> Result<(), Failure> {
    args.asked.answer("functions", |loaded| answer(args, loaded))
}

fn answer(args: &FunctionsArgs, loaded: &Loaded) -> Result<(), Failure> {
    let never = Cancel::default();
    let (names, unnamed) = loaded.names_and_missing(&args.asked, &[])?;
    let index = loaded.index()?;
    let decided = decides(&args.asked.filter(), &[By::Function], args.fold);
    let doubts = loaded.doubts(&args.asked, &index, (&unnamed, decided))?;
    let trace = index.trace();
    let all = Functions::of(trace, &names, Fold::allocator(args.fold), &never).map_err(stopped)?;
    let of = args.of.as_deref().map(|of| all.meant(of)).transpose().map_err(Failure::BadArguments)?;
    let totals = totals(&index, loaded.interval, &never).map_err(stopped)?;
    let top = args.top.or((!args.programs.is_asked()).then_some(SHOWN));
    let request =
        FunctionsRequest { mask: args.asked.filter().named_mask(trace, &names, &never).map_err(stopped)?, of: of.clone(), top };
    let (groups, count) = functions((&index, &names), &all, &totals, &request, &never).map_err(stopped)?;
    report_problems(&trace.problems);
    if let Some(of) = of.filter(|_| groups.iter().all(|group| group.callers.is_none())) {
        output::message(&format!("no stack in the interval has the function {of}"));
    }
    if let Some(form) = args.programs.form() {
        let quality = trace.quality;
        let answer = Answer { schema: "highwater.functions/1", functions: &groups, quality, doubts: &doubts };
        return loaded.told.for_programs(form, &answer, &["functions"]);
    }
    let IntervalInSeconds { from_s, to_s } = IntervalInSeconds::of(&trace.clock, loaded.interval);
    let interval = format!("{} to {}\n\n", text::seconds(from_s), text::seconds(to_s));
    loaded.told.text(&(interval + &describe(&groups, count) + &describe_quality((trace, &names), loaded.interval, &doubts)))
}

/// The functions as text.
fn describe(groups: &[FunctionGroup], count: usize) -> String {
    if count == 0 {
        return "No matching allocations with a stack in this interval.\n".to_owned();
    }
    let mut text = table(groups).text();
    text += &text::more(count - groups.len(), &format!(" functions; --top {count} shows them"));
    for group in groups {
        for (list, of) in [(&group.callers, "Callers"), (&group.callees, "Callees")] {
            let Some(list) = list else { continue };
            let at = format!("{} ({}), {}", plain(&group.process), group.pid, group.layer);
            text += &format!("\n{of} of {} in {at}:\n{}", plain(&group.function), neighbours(list).text());
        }
    }
    text
}

/// The functions as a table. Names can be very long, so their column is the last.
fn table(groups: &[FunctionGroup]) -> Table {
    let left = ["Process", "Layer"].map(|name| (name, Align::Left));
    let own = ["Self impacting", "Self size", "Self count"].map(|name| (name, Align::Right));
    let columns = left.into_iter().chain(NUMBERS.map(|name| (name, Align::Right))).chain(own);
    let has_lines = groups.iter().any(|group| group.source.is_some());
    let last = has_lines.then_some(("Source", Align::Left)).into_iter().chain([("Function", Align::Left)]);
    let mut table = Table::new(columns.chain(last));
    let lives = groups.iter().map(|group| (Some(group.process.as_str()), Some(group.pid), group.process_start_s));
    for (group, process) in groups.iter().zip(text::process_names(lives)) {
        let own = [format::signed_bytes(group.own.impacting_size), format::bytes(group.own.size), format::count(group.own.count)];
        let cells = [process, group.layer.to_owned()].into_iter().chain(numbers(&group.total)).chain(own);
        let line = has_lines.then(|| group.source.as_ref().map_or_else(String::new, SourceLine::short));
        table.line(cells.chain(line).chain([group.function.clone()]).collect(), Vec::new());
    }
    table.bars(groups.iter().map(|group| group.total.impacting_size.unsigned_abs()));
    table
}

const NUMBERS: [&str; 5] = ["Impacting", "Outstanding", "Peak", "Size", "Count"];

fn numbers(numbers: &GroupNumbers) -> [String; 5] {
    [
        format::signed_bytes(numbers.impacting_size),
        format::bytes(numbers.outstanding_to),
        format::bytes(numbers.peak),
        format::bytes(numbers.size),
        format::count(numbers.count),
    ]
}

fn neighbours(list: &[NeighbourGroup]) -> Table {
    let columns = NUMBERS.map(|name| (name, Align::Right));
    let mut table = Table::new(columns.into_iter().chain([("Function", Align::Left)]));
    for neighbour in list {
        let name = neighbour.function.clone().unwrap_or_else(|| "(none)".to_owned());
        table.line(numbers(&neighbour.numbers).into_iter().chain([name]).collect(), Vec::new());
    }
    table
}
