//! `highwater symbols lookup`: what the symbol engine says of addresses in one PDB.
//! And what `report` does to have names: see [`names`].

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::text::plural;
use super::{Failure, output};
use crate::model::{SiteId, Trace};
use crate::symbols::{
    Frame, ModuleNames, ModuleState, Names, Options, Request, Resolved, Sources, Stop, SymbolPath, Symbols, facts, resolve,
};
use crate::synth::demo;

#[derive(Args, Debug)]
pub(super) struct LookupArgs {
    /// Program database
    #[arg(value_name = "PDB")]
    pub(super) pdb: PathBuf,

    /// Addresses from the base of the image, in hex
    #[arg(value_name = "RVA", required = true)]
    pub(super) rvas: Vec<Rva>,

    /// Print JSON for programs
    #[arg(long)]
    pub(super) json: bool,
}

/// An address from the base of an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rva(pub(super) u32);

impl std::str::FromStr for Rva {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let parsed = is_hex.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
        parsed.map(Self).ok_or_else(|| "not an address like 0x2e30".to_owned())
    }
}

/// The answer. Field names are those of the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    pdb: Pdb,
    addresses: Vec<Address<'a>>,
}

#[derive(Serialize)]
struct Pdb {
    path: String,
    guid: String,
    age: u32,
    heap_allocation_sites: usize,
}

#[derive(Serialize)]
struct Address<'a> {
    rva: String,
    frames: Vec<Function<'a>>,
}

#[derive(Serialize)]
struct Function<'a> {
    function: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
}

/// Looks addresses up.
pub(super) fn lookup(args: &LookupArgs) -> Result<(), Failure> {
    let path = args.pdb.display().to_string();
    let failed = |error: crate::symbols::PdbError| Failure::Failed(format!("{path}: {error}"));
    let stop = Stop::default();
    let facts = facts(&args.pdb, &stop).map_err(failed)?;
    let request = Request { all: args.rvas.iter().map(|rva| rva.0).collect(), ..Request::default() };
    let Resolved { names, fastlink } = resolve(&args.pdb, request, &stop, |_| {}).map_err(failed)?;
    if fastlink {
        output::message(&format!("{path}: linked with /DEBUG:FASTLINK, so only public names and lines are in it"));
    }
    let pdb =
        Pdb { guid: facts.key.guid.to_string(), age: facts.key.age, heap_allocation_sites: facts.heap_allocation_sites, path };
    let addresses: Vec<_> = args.rvas.iter().map(|rva| address(&names, rva.0)).collect();
    if args.json {
        return output::json(&Answer { schema: "highwater.symbols/1", pdb, addresses });
    }
    output::answer(&describe(&pdb, &addresses))
}

fn address(names: &ModuleNames, rva: u32) -> Address<'_> {
    let function = |Frame { function, file, line }| Function { function, file, line };
    Address { rva: format!("{rva:#x}"), frames: names.frames(rva).into_iter().flatten().map(function).collect() }
}

fn describe(pdb: &Pdb, addresses: &[Address<'_>]) -> String {
    let sites = plural(pdb.heap_allocation_sites as u64, "heap allocation site");
    let mut text = format!("{}: {} age {}, {sites}\n", pdb.path, pdb.guid, pdb.age);
    for Address { rva, frames } in addresses {
        text += &format!("{rva}\n");
        if frames.is_empty() {
            text += "    nothing is known of it\n";
        }
        for Function { function, file, line } in frames {
            text += &match (file, line) {
                (Some(file), Some(line)) => format!("    {function}  {file}:{line}\n"),
                (Some(file), None) => format!("    {function}  {file}\n"),
                _ => format!("    {function}\n"),
            };
        }
    }
    text
}

/// Finds the names of the frames of some sites: on the path that is given, in which
/// a server is asked because it was named, and on that of the environment without its
/// servers, because nobody was asked about them. Those of the demo are always there. With
/// `frees` those of frees, too.
pub(super) fn names(
    trace: &Arc<Trace>,
    path: Option<&str>,
    frees: bool,
    is_asked: impl Fn(SiteId) -> bool + Send + 'static,
) -> Arc<Names> {
    let store = Sources::default_store();
    let mut search = path.map_or_else(SymbolPath::default, |path| SymbolPath::parse(path, store.as_deref()));
    search.append(SymbolPath::from_environment(store.as_deref()).without_servers());
    let (volumes, embedded) = (trace.volumes.clone(), vec![demo::symbols()]);
    let sources = Sources { path: search, network: true, store, volumes, embedded, ..Sources::default() };
    let symbols = Symbols::start(Arc::clone(trace), Options { sources, frees, ..Options::default() }, is_asked, || {});
    symbols.wait();
    if path.is_some() {
        report_failures(&symbols);
    }
    symbols.names().1
}

/// One line on stderr: how many modules have no names, and why the one with most frames.
fn report_failures(symbols: &Symbols) {
    let modules = symbols.modules();
    let failed = modules.iter().filter_map(|module| match &module.state {
        ModuleState::Failed(why) => Some((&module.name, why)),
        _ => None,
    });
    let others = failed.clone().count().saturating_sub(1);
    if let Some((name, why)) = failed.into_iter().next() {
        let others =
            if others == 0 { String::new() } else { format!(" (and {} without names)", plural(others as u64, "more module")) };
        output::message(&format!("no names for {name}: {why}{others}"));
    }
}
