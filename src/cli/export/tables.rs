//! `highwater export --format parquet`: many captures become tables, each of its own.

use clap::Args;

use super::ExportArgs;
use crate::cli::Failure;

/// What only tables can be asked.
#[derive(Args, Debug)]
pub(super) struct TablesArgs {}

pub(super) fn run(_args: &ExportArgs) -> Result<(), Failure> {
    Err(Failure::BadArguments(String::new()))
}
