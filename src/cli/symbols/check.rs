//! `highwater symbols check`: shows which modules of traces have names, and why the others do not.
//!
//! PDBs that are found are read, as for a report: a damaged PDB is as good as none. Only servers given with
//! `--symbols` are asked.

use clap::Args;

use super::listing::{Answer, Entry, Modules, Traces, Wanted, reason, state};
use super::named_path;
use crate::cli::text::{Align, Table};
use crate::cli::{Failure, output};
use crate::format::{self, plural};
use crate::symbols::{ModuleReport, ModuleState};

#[derive(Args, Debug)]
pub(in crate::cli) struct CheckArgs {
    #[command(flatten)]
    pub(in crate::cli) traces: Traces,

    /// Exit with code 3 if a module with frames has no names
    #[arg(long)]
    fail_missing: bool,
}

pub(in crate::cli) fn run(args: &CheckArgs) -> Result<(), Failure> {
    args.traces.quiet.apply();
    let modules = args.traces.visit(&named_path(args.traces.symbols.as_deref()), Wanted::Names)?;
    if let Some(form) = args.traces.programs.form() {
        let modules = modules.iter().map(|module| Entry::of(module, Wanted::Names)).collect();
        output::for_programs(form, &Answer { schema: "highwater.symbol_check/1", modules }, &["modules"])?;
    } else {
        output::answer(&describe(&modules))?;
    }
    match () {
        () if modules.is_failed => Err(Failure::Failed(format!("{} not readable", plural(modules.unreadable as u64, "trace")))),
        () if args.fail_missing && modules.missing().next().is_some() => Err(Failure::LimitBroken),
        () => Ok(()),
    }
}

/// The modules with frames, as text.
fn describe(modules: &Modules) -> String {
    let columns = [("Module", Align::Left), ("State", Align::Left), ("Frames", Align::Right), ("Named", Align::Right)];
    let columns = columns.into_iter().chain([("PDB", Align::Right), ("Source", Align::Left)]);
    let mut table = Table::new(columns);
    for module in modules.sought() {
        let bytes = if module.source.is_empty() { String::new() } else { format::bytes(module.bytes) };
        let [frames, named] = [module.addresses, module.named].map(|n| format::count(n as u64));
        let cells = vec![module.name.clone(), state(module).to_owned(), frames, named, bytes, module.source.clone()];
        table.line(cells, notes(module));
    }
    let unused = modules.iter().filter(|module| module.state == ModuleState::Unused).count() as u64;
    let (all, missing) = (modules.sought().count() as u64, modules.missing().count() as u64);
    let summary = format!("{} with frames, {} without names", plural(all, "module"), format::count(missing));
    let unused = if unused == 0 { String::new() } else { format!("; {} more have no frames", format::count(unused)) };
    let table = if all == 0 { String::new() } else { table.text() + "\n" };
    format!("{table}{summary}{unused}\n")
}

/// Why a module has no names, or not all that it could have.
fn notes(module: &ModuleReport) -> Vec<String> {
    let why = reason(module).map(str::to_owned);
    why.into_iter().chain(module.notes.iter().map(ToString::to_string)).collect()
}
