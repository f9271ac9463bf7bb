//! `highwater symbols`: what addresses are called ([`lookup`], [`in_trace`]), of which modules
//! names can be had ([`check`]), and fetching what they are made of ([`fetch`]). And what
//! `report` does to have names: see [`names`].
//!
//! A server is asked only where the user named it to the command: by `--symbols`, and for
//! `fetch`, which is there to ask, in the environment.

pub(super) mod check;
pub(super) mod fetch;
mod in_trace;
mod listing;
pub(super) mod lookup;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use listing::wait_in_sight;

use super::output;
use super::text::plural;
use crate::model::{NodeId, ProcessId, Site, SiteId, Trace};
use crate::query::{Unnamed, UnnamedModule};
use crate::stack_rules::is_of_windows;
use crate::symbols::{CodeAddress, ModuleReport, ModuleState, Names, Options, Sources, SymbolPath, Symbols};
use crate::synth::demo;
use crate::tables::KeyedMap;
use crate::units::Interval;

/// Finds the names of the frames of some sites: on the path that is given, in which
/// a server is asked because it was named, and on that of the environment without its
/// servers, because nobody was asked about them. Those of the demo are always there. With
/// `frees` those of frees, too. And tells which modules have none, those of Windows itself apart.
pub(super) fn names(
    trace: &Arc<Trace>,
    path: Option<&str>,
    frees: bool,
    is_asked: impl Fn(SiteId) -> bool + Send + 'static,
) -> (Arc<Names>, Unnamed) {
    let options = Options { sources: sources(trace, named_path(path)), frees, ..Options::default() };
    let symbols = Symbols::start(Arc::clone(trace), options, is_asked, || {});
    wait_in_sight(&symbols, "Symbols".to_owned());
    let modules = symbols.modules();
    if path.is_some()
        && let Some(told) = without_names(modules.iter())
    {
        output::message(&told);
    }
    let unnamed = modules.iter().filter(|module| !is_of_windows(&module.image)).filter_map(|module| match &module.state {
        ModuleState::Failed(why) => Some(UnnamedModule { key: module.key.clone(), name: module.name.clone(), why: why.clone() }),
        _ => None,
    });
    (symbols.names().1, Unnamed::new(unnamed))
}

/// The names of all frames at places where samples found a process; of those with a count.
pub(super) fn names_of_samples(trace: &Arc<Trace>, path: Option<&str>, counts: &[u32]) -> Arc<Names> {
    names_of_sites(trace, path, sampled_sites(trace, counts))
}

/// Those places.
pub(super) fn sampled_sites<'t>(trace: &'t Trace, counts: &'t [u32]) -> impl Iterator<Item = &'t Site> {
    let known = trace.processes.len();
    let sites = trace.activity.samples.sites.iter().zip(counts);
    sites.filter(move |(site, count)| **count > 0 && (site.caller.0 as usize) < known).map(|(site, _)| site)
}

/// The names of the frames of any stacks; where they come from as in [`names`].
pub(super) fn names_of_sites<'t>(trace: &Arc<Trace>, path: Option<&str>, sites: impl Iterator<Item = &'t Site>) -> Arc<Names> {
    let options = Options { sources: sources(trace, named_path(path)), ..Options::default() };
    let symbols = Symbols::start_at(Arc::clone(trace), options, addresses_of(trace, sites), || {});
    wait_in_sight(&symbols, "Symbols".to_owned());
    if path.is_some()
        && let Some(told) = without_names(symbols.modules().iter())
    {
        output::message(&told);
    }
    symbols.names().1
}

/// All addresses of those stacks, each once while its module is the same.
fn addresses_of<'t>(trace: &Trace, sites: impl Iterator<Item = &'t Site>) -> Vec<CodeAddress> {
    let mut looked: KeyedMap<(ProcessId, NodeId), Interval> = KeyedMap::default();
    let mut all = Vec::new();
    for &Site { caller: process, first: at, stack, .. } in sites {
        for node in trace.stacks.chain(stack) {
            if looked.get(&(process, node)).is_some_and(|during| during.contains(at)) {
                continue;
            }
            let address = trace.stacks.address(node);
            looked.insert((process, node), trace.mapped_at(process, address, at).during);
            // Of the kernel's innermost frames it is the place itself that has a name.
            all.extend([true, false].map(|is_return| CodeAddress { process, address, at, is_return }));
        }
    }
    all
}

/// See [`names`].
fn named_path(given: Option<&str>) -> SymbolPath {
    let store = Sources::default_store();
    let mut path = given.map_or_else(SymbolPath::default, |given| SymbolPath::parse(given, store.as_deref()));
    path.append(SymbolPath::from_environment(store.as_deref()).without_servers());
    complain(&path);
    path
}

/// Says once of a path that it is too long.
fn complain(path: &SymbolPath) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if let Some(complaint) = path.complaint()
        && !IS_TOLD.swap(true, Ordering::Relaxed)
    {
        output::message(&complaint);
    }
}

/// Where the symbols of a trace come from. The servers on the path are asked: one that may not
/// be is not on it.
fn sources(trace: &Trace, path: SymbolPath) -> Sources {
    let (volumes, embedded) = (trace.volumes.clone(), vec![demo::symbols()]);
    Sources { path, network: true, store: Sources::default_store(), volumes, embedded, ..Sources::default() }
}

/// How many modules have no names, and why the first of them, which has most frames.
fn without_names<'m>(modules: impl Iterator<Item = &'m ModuleReport>) -> Option<String> {
    let mut failed = modules.filter_map(|module| match &module.state {
        ModuleState::Failed(why) => Some((&module.name, why)),
        _ => None,
    });
    let (name, why) = failed.next()?;
    let others = match failed.count() {
        0 => String::new(),
        n => format!(" (and {} without names)", plural(n as u64, "more module")),
    };
    Some(format!("no names for {name}: {why}{others}"))
}
