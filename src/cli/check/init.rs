//! `highwater check --init`: writes starter rules from a known-good trace.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::super::asked::{Loaded, known_part, stopped};
use super::super::outputs::unwritten;
use super::super::{Failure, output, report_other_problems};
use super::check_args::{CheckArgs, capture_name};
use crate::limits::{StartedFrom, starter};
use crate::paths::{self, Existing, Refusal};
use crate::query::{By, Cancel, Fold, Measured, MeasuredRequest, ReportRequest, doubts, named_report, totals};

/// Writes the starter rules.
pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let out = args.out.as_deref().or(args.rules.as_deref()).filter(|out| *out != Path::new("-"));
    if let Some(option) = args.asked.choices.beyond_places() {
        let reason = format!("--init does not take {option}; leave it out, and add the condition to the rules it writes");
        return Err(Failure::BadArguments(reason));
    }
    let _rules = args.asked.rules.reading();
    let existing = if args.force { Existing::GivesWay } else { Existing::Stays };
    if let Some(out) = out {
        paths::check(out, existing).map_err(|refusal| unwritten_rules(out, &refusal.into()))?;
    }
    let loaded = args.asked.load("check")?;
    let text = starting_rules(args, &loaded)?;
    report_other_problems(&loaded.trace.problems);
    for doubt in doubts(&loaded.trace, loaded.interval.to) {
        output::message(&format!("the limits may be off: {doubt}"));
    }
    let Some(out) = out else { return output::document(&text) };
    let written = paths::write(out, existing, |draft| draft.write_all(text.as_bytes()));
    written.map_err(|error| unwritten_rules(out, &error))
}

/// The failure to write the rules; if an existing file is the reason, it names `--force`.
fn unwritten_rules(out: &Path, error: &io::Error) -> Failure {
    match Refusal::of(error) {
        Some(Refusal::Exists) => Failure::BadArguments(format!("{} exists; --force overwrites it", out.display())),
        _ => unwritten(out, "the rules", error),
    }
}

fn starting_rules(args: &CheckArgs, loaded: &Loaded) -> Result<String, Failure> {
    let never = Cancel::default();
    let (names, mask) = loaded.named_mask(&args.asked)?;
    let index = loaded.index()?;
    let interval = known_part(&loaded.trace, loaded.interval).unwrap_or(loaded.interval);
    let totals = Arc::new(totals(&index, interval, &never).map_err(stopped)?);
    let request = MeasuredRequest {
        interval,
        by: &[By::Process],
        mask: &mask,
        fold: Fold::Nothing,
        growth: true,
        at_exit: true,
        pages: false,
        unknown: false,
        totals: &totals,
    };
    let processes = Measured::of(&index, request, &names, &never).map_err(stopped)?;
    let request = ReportRequest {
        interval,
        by: vec![By::Process, By::Heap],
        filter: args.asked.filter(),
        top: None,
        fold: Fold::Nothing,
        sources: false,
    };
    let heaps = named_report(&index, &request, &names, &never).map_err(stopped)?.groups;
    let edges = args.asked.edges();
    let (from, to) = (edges.from.as_ref(), edges.to.as_ref());
    Ok(starter(&StartedFrom { capture: &capture_name(args), from, to }, &processes, &heaps))
}
