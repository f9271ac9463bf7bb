//! `highwater marks`: lists marks, the moments of a trace that have a text.

use clap::Args;
use serde::Serialize;

use super::{TimeAsked, marks_table};
use crate::cli::asked::IntervalInSeconds;
use crate::cli::each::Told;
use crate::cli::for_programs::ForPrograms;
use crate::cli::{Failure, output, text};
use crate::export;
use crate::model::{Quality, Trace};
use crate::query::{MarkEntries, MarkEntry, doubts, mark_entries};
use crate::units::Interval;

#[derive(Args, Debug)]
pub(in crate::cli) struct MarksArgs {
    #[command(flatten)]
    pub(in crate::cli) asked: TimeAsked,

    /// Only marks with this in their text or provider name (case ignored)
    #[arg(long, value_name = "TEXT", default_value = "")]
    text: String,

    /// Only the first N
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    #[command(flatten)]
    programs: ForPrograms,

    /// Print CSV
    #[arg(long, conflicts_with_all = ["json", "ndjson", "each"])]
    csv: bool,
}

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    interval: IntervalInSeconds,
    marks: &'a [MarkEntry],
    left_out: usize,
    quality: Quality,
    doubts: Vec<String>,
}

/// Marks in the text output unless `--top` is given.
const SHOWN: usize = 100;

pub(in crate::cli) fn run(args: &MarksArgs) -> Result<(), Failure> {
    args.asked.answer("marks", |(trace, interval), told| answer(args, trace, interval, told))
}

fn answer(args: &MarksArgs, trace: &Trace, interval: Interval, told: &Told) -> Result<(), Failure> {
    let is_for_people = !args.programs.is_asked() && !args.csv;
    let most = args.top.unwrap_or(if is_for_people { SHOWN } else { usize::MAX });
    let MarkEntries { list, left_out } = mark_entries(trace, interval, args.asked.process(), &args.text, most);
    if args.csv {
        return output::stream(|out| export::marks_csv(&list, out)).map_err(output::unanswered);
    }
    if let Some(form) = args.programs.form() {
        let (quality, doubts) = (trace.quality, doubts(trace, interval.to));
        let interval = IntervalInSeconds::of(&trace.clock, interval);
        let answer = Answer { schema: "highwater.marks/1", interval, marks: &list, left_out, quality, doubts };
        return told.for_programs(form, &answer, &["marks"]);
    }
    if list.is_empty() {
        let hint =
            if trace.activity.marks.list.is_empty() { "; --marks PROVIDER makes marks of a provider's events" } else { "" };
        return told.text(&format!("No marks{hint}.\n"));
    }
    let more = text::more(left_out, &format!("; --top {} shows them", list.len() + left_out));
    told.text(&(marks_table(&list) + &more))
}
