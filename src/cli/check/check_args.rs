//! Arguments of `highwater check`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::asked::Asked;
use crate::cli::outputs::{BaselineArgs, Replace};
use crate::cli::progress::Quiet;
use crate::load::Input;

#[derive(Args, Debug)]
pub(in crate::cli) struct CheckArgs {
    #[command(flatten)]
    pub(in crate::cli) asked: Asked,

    /// The rules: a file of TOML with limits
    #[arg(long, value_name = "FILE", required_unless_present = "init")]
    pub(super) rules: Option<PathBuf>,

    #[command(flatten)]
    pub(super) known: BaselineArgs,

    #[command(flatten)]
    pub(super) replace: Replace,

    /// Write the outcome as JUnit's XML, too
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,

    /// Print JSON for programs
    #[arg(long)]
    pub(super) json: bool,

    /// Write rules to begin with, from a trace that is well: to -o, to --rules, or print them
    #[arg(long, conflicts_with_all = ["junit", "json", "baseline", "write_baseline"])]
    pub(super) init: bool,

    /// Where --init writes
    #[arg(short = 'o', long = "output", value_name = "FILE", requires = "init", conflicts_with = "rules")]
    pub(super) out: Option<PathBuf>,

    /// Let --init overwrite a file
    #[arg(long, requires = "init")]
    pub(super) force: bool,

    #[command(flatten)]
    pub(super) quiet: Quiet,
}

/// The names of the capture's files.
pub(super) fn capture_name(args: &CheckArgs) -> String {
    args.asked.files.inputs().iter().map(Input::name).collect::<Vec<_>>().join(" + ")
}
