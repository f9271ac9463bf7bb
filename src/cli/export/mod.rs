//! `highwater export`: exports a trace to the formats of other programs.

mod export_args;
#[cfg(feature = "parquet")]
mod fleet;
#[cfg(feature = "parquet")]
mod room;
mod tables;
mod tables_args;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::asked::{Loaded, decides, stopped};
use super::outputs::{check_out, unwritten};
use super::unmatched::{Frees, UNMATCHED_BY};
use super::{Failure, output, report_problems};
use crate::export::{self, ExportError, Exported, Format, Value};
use crate::paths::{self, Existing};
use crate::query::{By, Cancel, Fold, ReportRequest, Unnamed, has_samples};
use crate::symbols::Names;
pub(super) use export_args::ExportArgs;

pub(super) fn run(args: &ExportArgs) -> Result<(), Failure> {
    args.quiet.apply();
    args.check()?;
    if args.format == Format::Parquet {
        return tables::run(args);
    }
    args.tables.refuse()?;
    let _rules = args.asked.rules.reading();
    if args.out != Path::new("-") {
        check_out(&args.out, args.replace.existing())?;
    }
    let loaded = args.asked.load("export")?;
    if args.unmatched {
        return unmatched(args, &loaded);
    }
    let request = ReportRequest {
        interval: loaded.interval,
        by: if args.by.is_empty() { vec![By::Process, By::Heap] } else { args.by.clone() },
        filter: args.asked.filter(),
        top: args.top,
        fold: Fold::allocator(args.fold),
        sources: false,
    };
    let value = args.value.unwrap_or_default();
    let has_also_samples = args.format == Format::Firefox && has_samples(&loaded.trace);
    let mut unnamed = Unnamed::default();
    let names = match args.shows_names(&request) {
        _ if has_also_samples || value == Value::Samples => loaded.names_with_samples(&args.asked, value != Value::Samples),
        true => {
            let (names, modules) = loaded.names_and_missing(&args.asked, &request.by)?;
            unnamed = modules;
            names
        }
        false => Names::default(),
    };
    let index = loaded.index()?;
    let never = Cancel::default();
    let decided = decides(&request.filter, &request.by, args.fold);
    let doubts = loaded.doubts(&args.asked, &index, (&unnamed, decided))?;
    let exported = Exported::new(&index, &names, &request, &never).map_err(stopped)?.about(doubts, None);
    report_problems(&index.trace().problems);
    tell_nothing(args, exported.is_empty(value).map_err(stopped)? && !has_also_samples)?;
    if args.format == Format::Folded && value == Value::Impacting {
        output::message(
            "shrunk stacks have negative values, which flamegraph.pl does not draw; remove them with grep -v -- ' -[0-9]*$'",
        );
    }
    write_to(&args.out, args.replace.existing(), |out| match (args.rows, args.format) {
        (true, Format::Csv) => export::rows_csv(&exported, out),
        (true, _) => export::rows_ndjson(&exported, out),
        (false, format) => export::write(&exported, format, value, out),
    })
}

/// Writes frees without an allocation.
fn unmatched(args: &ExportArgs, loaded: &Loaded) -> Result<(), Failure> {
    let by = if args.by.is_empty() { UNMATCHED_BY.to_vec() } else { args.by.clone() };
    let mut frees = Frees::of(&args.asked, loaded, by, args.fold)?;
    report_problems(&loaded.trace.problems);
    frees.groups.truncate(args.top.unwrap_or(usize::MAX));
    if frees.groups.is_empty() {
        const WHY: &str = "no matching frees without an allocation in this interval";
        if !args.format.is_list() {
            return Err(Failure::Failed(format!("{WHY}; no file was written")));
        }
        output::message(WHY);
    }
    write_to(&args.out, args.replace.existing(), |out| match args.format {
        Format::Csv => export::unmatched_csv(&frees.groups, out),
        Format::Json => {
            serde_json::to_writer(&mut *out, &frees.answer())?;
            Ok(out.write_all(b"\n")?)
        }
        _ => export::unmatched_folded(&frees.groups, out),
    })
}

/// Why an export has nothing.
const NOTHING: &str = "no matching allocations in this interval; widen the interval or the filters";

/// Refuses to write stacks if there are none; lists are then written with their heading alone, which a line says.
fn tell_nothing(args: &ExportArgs, is_empty: bool) -> Result<(), Failure> {
    if is_empty && !args.format.is_list() {
        return Err(Failure::Failed(format!("{NOTHING}; no file was written")));
    }
    if is_empty {
        output::message(NOTHING);
    }
    Ok(())
}

/// Writes the file whole or not at all; `-` is the standard output.
fn write_to(
    out: &Path,
    existing: Existing,
    write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
) -> Result<(), Failure> {
    let failed = |error: ExportError| match error {
        ExportError::SeveralLayers(_) => Failure::BadArguments(error.to_string()),
        ExportError::NoValue(_) => Failure::Failed(format!("{error}; no file was written")),
        other => Failure::Failed(format!("{} could not be written: {other}", out.display())),
    };
    if out == Path::new("-") {
        return output::stream(write).map_err(failed);
    }
    let mut refused = None;
    let written = paths::write(out, existing, |draft| {
        let mut buffered = BufWriter::new(draft);
        if let Err(error) = write(&mut buffered) {
            refused = Some(error);
            return Err(io::Error::other("stopped"));
        }
        buffered.flush()
    });
    match refused {
        Some(error) => Err(failed(error)),
        None => written.map_err(|error| unwritten(out, "it", &error)),
    }
}
