//! Arguments of `highwater export`.

use std::path::PathBuf;

use clap::Args;

use super::tables_args::TablesArgs;
use crate::cli::Failure;
use crate::cli::asked::{Asked, needs_names};
use crate::cli::outputs::Replace;
use crate::cli::progress::Quiet;
use crate::cli::unmatched;
use crate::cli::words::{one_key, one_of};
use crate::export::{Format, Value};
use crate::query::{By, ReportRequest};

#[derive(Args, Debug)]
pub(in crate::cli) struct ExportArgs {
    #[command(flatten)]
    pub(in crate::cli) asked: Asked,

    /// Output format
    #[arg(long, value_parser = one_of(&Format::ALL, Format::name))]
    pub(super) format: Format,

    /// Output file, `-` for standard output; for parquet a folder
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    pub(super) out: PathBuf,

    /// Value per stack, for formats that store one [default: outstanding]
    #[arg(long, value_parser = one_of(&Value::ALL, Value::name))]
    pub(super) value: Option<Value>,

    /// Group csv and json by these keys; layers are always separate [default: process,heap]
    #[arg(long, value_name = "KEYS", value_parser = one_key(), value_delimiter = ',')]
    pub(super) by: Vec<By>,

    /// Only the first N groups of csv and json
    #[arg(long, value_name = "N")]
    pub(super) top: Option<usize>,

    /// Write single allocations instead of groups: csv, or json with one object per line
    #[arg(long, conflicts_with_all = ["by", "top", "fold"])]
    pub(super) rows: bool,

    /// Write frees without a known allocation (allocated before the trace, or lost): csv, json or folded [default of --by:
    /// process,heap,stack]
    #[arg(long, conflicts_with_all = ["rows", "value"])]
    pub(in crate::cli) unmatched: bool,

    /// Leave out the allocator's frames, and frames that rules fold
    #[arg(long)]
    pub(super) fold: bool,

    #[command(flatten)]
    pub(super) replace: Replace,

    #[command(flatten)]
    pub(super) tables: TablesArgs,

    #[command(flatten)]
    pub(super) quiet: Quiet,
}

impl ExportArgs {
    /// Checks the arguments as far as that is possible without reading the files.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.unmatched {
            return self.check_unmatched();
        }
        let format = self.format.name();
        let refuse = |option: &str, why: &str| Err(Failure::BadArguments(format!("{option} does not apply to {format}, {why}")));
        let is_list = self.format.is_list();
        if self.value.is_some() && (is_list || self.format == Format::Parquet) {
            return refuse("--value", "which holds all numbers");
        }
        let of_memory = self.asked.choices.layer.map(|_| "--layer").or(self.asked.choices.beyond_places());
        if let Some(option) = of_memory.filter(|_| self.value == Some(Value::Samples)) {
            return Err(Failure::BadArguments(format!("{option} does not apply to --value samples")));
        }
        if self.rows && !is_list {
            return refuse(
                "--rows",
                if self.format == Format::Parquet { "which always has all allocations" } else { "which holds stacks" },
            );
        }
        if !self.by.is_empty() && !is_list {
            return refuse("--by", "which holds stacks");
        }
        if self.top.is_some() && !is_list {
            return refuse("--top", "which holds all stacks");
        }
        Ok(())
    }

    /// Checks the arguments of an export of frees without an allocation.
    fn check_unmatched(&self) -> Result<(), Failure> {
        let told = match self.format {
            Format::Folded if !self.by.is_empty() || self.top.is_some() => {
                Err("--by and --top do not apply to folded, which holds all stacks; leave them out".to_owned())
            }
            Format::Csv | Format::Json | Format::Folded => unmatched::check(&self.asked, &self.by),
            other => Err(format!("--unmatched does not apply to {}; use csv, json or folded", other.name())),
        };
        told.map_err(Failure::BadArguments)
    }

    /// Whether the output depends on symbol names.
    pub(super) fn shows_names(&self, request: &ReportRequest) -> bool {
        !self.format.is_list()
            || self.rows
            || needs_names(&request.filter, &request.by)
            || (self.fold && request.by.contains(&By::Module))
    }
}
