//! `highwater export --format parquet`: exports many captures as tables, each capture to tables of its own.

use std::path::Path;

use super::export_args::ExportArgs;
use crate::cli::Failure;

fn bad<T>(why: &str) -> Result<T, Failure> {
    Err(Failure::BadArguments(why.to_owned()))
}

pub(super) fn run(args: &ExportArgs) -> Result<(), Failure> {
    args.tables.check()?;
    if args.fold {
        return bad("--fold does not apply to parquet: it always has whole stacks and the responsible caller");
    }
    if args.out == Path::new("-") {
        return bad("parquet writes many files: -o must name a folder");
    }
    args.asked.check().map_err(Failure::BadArguments)?;
    write(args)
}

#[cfg(feature = "parquet")]
fn write(args: &ExportArgs) -> Result<(), Failure> {
    super::fleet::run(args)
}

#[cfg(not(feature = "parquet"))]
fn write(_args: &ExportArgs) -> Result<(), Failure> {
    bad("this build cannot write parquet: the feature parquet was turned off")
}
