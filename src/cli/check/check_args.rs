//! Arguments of `highwater check`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::asked::Asked;
use crate::cli::ci::CiArgs;
use crate::cli::for_programs::ForPrograms;
use crate::cli::outputs::{BaselineArgs, Replace};
use crate::cli::progress::Quiet;
use crate::load::Input;

#[derive(Args, Debug)]
pub(in crate::cli) struct CheckArgs {
    #[command(flatten)]
    pub(in crate::cli) asked: Asked,

    /// Rules file (TOML) with limits
    #[arg(long, value_name = "FILE", required_unless_present = "init")]
    pub(super) rules: Option<PathBuf>,

    #[command(flatten)]
    pub(super) known: BaselineArgs,

    #[command(flatten)]
    pub(super) replace: Replace,

    /// Also write the result as JUnit XML; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,

    /// Also write the result as Markdown, for a job summary or a comment; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,

    #[command(flatten)]
    pub(super) ci: CiArgs,

    #[command(flatten)]
    pub(super) programs: ForPrograms,

    /// Write starter rules from a healthy trace: to -o, to --rules, or to standard output
    #[arg(long, conflicts_with_all = ["junit", "markdown", "sarif", "annotate", "json", "ndjson", "baseline", "write_baseline"])]
    pub(super) init: bool,

    /// Output file of --init
    #[arg(short = 'o', long = "output", value_name = "FILE", requires = "init", conflicts_with = "rules")]
    pub(super) out: Option<PathBuf>,

    /// Let --init overwrite an existing file
    #[arg(long, requires = "init")]
    pub(super) force: bool,

    #[command(flatten)]
    pub(super) quiet: Quiet,
}

/// The names of the capture's files.
pub(super) fn capture_name(args: &CheckArgs) -> String {
    args.asked.files.inputs().iter().map(Input::name).collect::<Vec<_>>().join(" + ")
}
