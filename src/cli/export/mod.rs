//! `highwater export`: what is known of a trace in the formats of other programs.

#[cfg(feature = "parquet")]
mod fleet;
mod tables;
#[cfg(feature = "parquet")]
mod wildcards;

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::Failure;
use super::asked::Asked;
use super::progress::Quiet;
use crate::export::{Format, Value};
use crate::query::By;

#[derive(Args, Debug)]
pub(super) struct ExportArgs {
    #[command(flatten)]
    pub(super) asked: Asked,

    /// What is written
    #[arg(long, value_enum)]
    pub(super) format: Format,

    /// The file that is written, `-` for the standard output; of parquet a folder
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    pub(super) out: PathBuf,

    /// What a stack weighs, in formats that hold one number a stack [default: outstanding]
    #[arg(long, value_enum)]
    value: Option<Value>,

    /// What makes a group of csv and json; the layer always does [default: process,heap]
    #[arg(long, value_name = "KEYS", value_enum, value_delimiter = ',')]
    by: Vec<By>,

    /// Only the first N groups of csv and json
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// Leave the allocator's frames, and those that rules fold, out of stacks and functions
    #[arg(long)]
    fold: bool,

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
    if args.format != Format::Parquet {
        args.tables.refuse()?;
    }
    match args.format {
        Format::Parquet => tables::run(args),
        _ => Err(Failure::BadArguments(String::new())),
    }
}
