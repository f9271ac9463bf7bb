//! `highwater export`: exports a trace to the formats of other programs.

#[cfg(feature = "parquet")]
mod fleet;
mod tables;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::asked::{Asked, decides, needs_names, stopped};
use super::outputs::{Replace, check_out, unwritten};
use super::progress::Quiet;
use super::{Failure, output, report_problems};
use crate::export::{self, ExportError, Exported, Format, Value};
use crate::paths::{self, Existing};
use crate::query::{By, Cancel, Fold, ReportRequest, Unnamed, has_samples};
use crate::symbols::Names;

#[derive(Args, Debug)]
pub(super) struct ExportArgs {
    #[command(flatten)]
    pub(super) asked: Asked,

    /// Output format
    #[arg(long, value_enum)]
    pub(super) format: Format,

    /// The file that is written, `-` for the standard output; of parquet a folder
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    pub(super) out: PathBuf,

    /// Value per stack, for formats that store one [default: outstanding]
    #[arg(long, value_enum)]
    value: Option<Value>,

    /// Group csv and json by these keys; rows are always split by layer [default: process,heap]
    #[arg(long, value_name = "KEYS", value_enum, value_delimiter = ',')]
    by: Vec<By>,

    /// Only the first N groups of csv and json
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// Leave the allocator's frames, and those that rules fold, out of stacks and functions
    #[arg(long)]
    fold: bool,

    #[command(flatten)]
    replace: Replace,

    #[command(flatten)]
    tables: tables::TablesArgs,

    #[command(flatten)]
    quiet: Quiet,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

impl ValueEnum for Value {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

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
    let request = ReportRequest {
        interval: loaded.interval,
        by: if args.by.is_empty() { vec![By::Process, By::Heap] } else { args.by.clone() },
        filter: args.asked.filter(),
        top: args.top,
        fold: Fold::allocator(args.fold),
        sources: false,
    };
    let value = args.value.unwrap_or_default();
    let has_samples = value == Value::Samples || (args.format == Format::Firefox && has_samples(&loaded.trace));
    let mut unnamed = Unnamed::default();
    let names = match args.shows_names(&request) {
        _ if has_samples => loaded.names_with_samples(&args.asked, value != Value::Samples),
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
    write_to(&args.out, args.replace.existing(), |out| export::write(&exported, args.format, value, out))
}

impl ExportArgs {
    /// Checks the arguments as far as that is possible without reading the files.
    fn check(&self) -> Result<(), Failure> {
        let format = self.format.name();
        let refuse = |option: &str, why: &str| Err(Failure::BadArguments(format!("{option} is not for {format}, {why}")));
        let is_list = matches!(self.format, Format::Csv | Format::Json);
        if self.value.is_some() && (is_list || self.format == Format::Parquet) {
            return refuse("--value", "which holds all numbers");
        }
        let of_memory = self.asked.choices.layer.map(|_| "--layer").or(self.asked.choices.beyond_places());
        if let Some(option) = of_memory.filter(|_| self.value == Some(Value::Samples)) {
            return Err(Failure::BadArguments(format!("{option} is not for --value samples, which are no memory")));
        }
        if !self.by.is_empty() && !is_list {
            return refuse("--by", "which holds stacks");
        }
        if self.top.is_some() && !is_list {
            return refuse("--top", "which holds all stacks");
        }
        Ok(())
    }

    /// Whether the output depends on symbol names.
    fn shows_names(&self, request: &ReportRequest) -> bool {
        let has_stacks = !matches!(self.format, Format::Csv | Format::Json);
        has_stacks || needs_names(&request.filter, &request.by) || (self.fold && request.by.contains(&By::Module))
    }
}

/// Writes the file whole or not at all; `-` is the standard output.
fn write_to(
    out: &Path,
    existing: Existing,
    write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
) -> Result<(), Failure> {
    let failed = |error: ExportError| match error {
        ExportError::SeveralLayers(_) => Failure::BadArguments(error.to_string()),
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
