//! `highwater symbols fetch`: fetches the PDBs of the modules of traces into the stores of the symbol path, so that
//! names need no network later.
//!
//! The command itself is the permission to ask servers: those of `--symbols`, or without it those of the environment.
//! If neither names a place, there is nothing to ask, and no default.

use clap::Args;

use super::listing::{Answer, Entry, Modules, Traces, Wanted};
use super::{complain, named_path};
use crate::cli::{Failure, output};
use crate::format::{self, plural};
use crate::symbols::{Sources, SymbolPath};

#[derive(Args, Debug)]
pub(in crate::cli) struct FetchArgs {
    #[command(flatten)]
    pub(in crate::cli) traces: Traces,

    /// All modules with a known identity, not only those in call stacks
    #[arg(long)]
    all: bool,
}

const NO_PATH: &str = "no symbol path: name one with --symbols, such as \
    srv*https://msdl.microsoft.com/download/symbols, or set _NT_SYMBOL_PATH";

pub(in crate::cli) fn run(args: &FetchArgs) -> Result<(), Failure> {
    args.traces.quiet.apply();
    let path = match &args.traces.symbols {
        Some(given) => named_path(Some(given)),
        None => SymbolPath::from_environment(Sources::default_store().as_deref()),
    };
    complain(&path);
    if path.chains.iter().all(Vec::is_empty) {
        return Err(Failure::BadArguments(NO_PATH.to_owned()));
    }
    let wanted = if args.all { Wanted::AllFiles } else { Wanted::Files };
    let modules = args.traces.visit(&path, wanted)?;
    for (module, why) in modules.missing() {
        let frames = match module.addresses as u64 {
            0 => String::new(),
            n => format!(" ({})", plural(n, "frame")),
        };
        output::error(&format!("no symbols for {}{frames}: {why}", module.name));
    }
    if let Some(form) = args.traces.programs.form() {
        let modules = modules.sought().map(|module| Entry::of(module, wanted)).collect();
        output::for_programs(form, &Answer { schema: "highwater.symbol_fetch/1", modules }, &["modules"])?;
    } else {
        output::answer(&describe(&modules, &path))?;
    }
    complaint(&modules).map_or(Ok(()), |why| Err(Failure::Failed(why)))
}

/// The error in the end: missing modules and unreadable traces.
fn complaint(modules: &Modules) -> Option<String> {
    let missing = modules.missing().count() as u64;
    let all = plural(modules.sought().count() as u64, "module");
    let missing = (missing > 0).then(|| format!("{} of {all} missing", format::count(missing)));
    let unreadable = modules.is_failed.then(|| format!("{} not readable", plural(modules.unreadable as u64, "trace")));
    let all: Vec<String> = missing.into_iter().chain(unreadable).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The result as text.
fn describe(modules: &Modules, path: &SymbolPath) -> String {
    let servers = path.servers();
    let there = modules.sought().filter(|module| super::listing::reason(module).is_none());
    let came = there.clone().filter(|module| servers.contains(&module.source.as_str()));
    let (count, bytes) = came.fold((0, 0), |(count, bytes), module| (count + 1, bytes + module.bytes));
    let all = plural(modules.sought().count() as u64, "module");
    let (came, there) = (format::count(count), format::count(there.count() as u64 - count));
    let missing = format::count(modules.missing().count() as u64);
    format!("{all}: {came} fetched from servers ({}), {there} there already, {missing} missing\n", format::bytes(bytes))
}
