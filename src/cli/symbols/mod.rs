//! `highwater symbols`: looks up addresses ([`lookup`], [`in_trace`]), shows which modules have names ([`check`]),
//! and fetches PDBs ([`fetch`]). Also finds the names that `report` shows: see [`names`].
//!
//! A server is asked only if the user named it to the command: with `--symbols` or, for `fetch`, whose purpose is
//! asking servers, in the environment.

mod answer;
pub(super) mod check;
pub(super) mod fetch;
mod in_trace;
mod listing;
pub(super) mod lookup;
pub(super) mod lookup_args;
mod wait;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wait::wait_in_sight;

use super::output;
use super::text::plural;
use crate::demo;
use crate::model::{NodeId, ProcessId, Site, SiteId, Trace};
use crate::query::{Unnamed, UnnamedModule};
use crate::stack_rules::is_of_windows;
use crate::symbols::{CodeAddress, ModuleReport, ModuleState, Names, Options, Sources, SymbolPath, Symbols};
use crate::tables::KeyedMap;
use crate::units::Interval;

/// Finds the names of the frames of some sites; with `frees` those of frees, too. They come from the given path,
/// including its servers, because the user named them; from the path of the environment without its servers, because
/// the user was not asked about them; and from the symbols of the demo, which are always there. Also returns the
/// modules that have no names, except those of Windows itself.
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

/// Finds the names of all frames of sampled stacks whose count is not 0.
pub(super) fn names_of_samples(trace: &Arc<Trace>, path: Option<&str>, counts: &[u32]) -> Arc<Names> {
    names_of_sites(trace, path, sampled_sites(trace, counts))
}

/// The sampled sites of known processes whose count is not 0.
pub(super) fn sampled_sites<'t>(trace: &'t Trace, counts: &'t [u32]) -> impl Iterator<Item = &'t Site> {
    let known = trace.processes.len();
    let sites = trace.activity.samples.sites.iter().zip(counts);
    sites.filter(move |(site, count)| **count > 0 && (site.caller.0 as usize) < known).map(|(site, _)| site)
}

/// Finds the names of the frames of any stacks, with the sources that [`names`] has.
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

/// The addresses of the sites' stacks, each once while its module stays the same.
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
            // An innermost frame of the kernel is named by its own address, other frames by the call before it: both
            // are asked for.
            all.extend([true, false].map(|is_return| CodeAddress { process, address, at, is_return }));
        }
    }
    all
}

/// The symbol path that [`names`] describes.
fn named_path(given: Option<&str>) -> SymbolPath {
    let store = Sources::default_store();
    let mut path = given.map_or_else(SymbolPath::default, |given| SymbolPath::parse(given, store.as_deref()));
    path.append(SymbolPath::from_environment(store.as_deref()).without_servers());
    complain(&path);
    path
}

/// Reports once that a path is too long.
fn complain(path: &SymbolPath) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if let Some(complaint) = path.complaint()
        && !IS_TOLD.swap(true, Ordering::Relaxed)
    {
        output::message(&complaint);
    }
}

/// The sources of a trace's symbols. All servers on the path are asked: a server that may not be asked is not on it.
fn sources(trace: &Trace, path: SymbolPath) -> Sources {
    let (volumes, embedded) = (trace.volumes.clone(), vec![demo::symbols()]);
    Sources { path, network: true, store: Sources::default_store(), volumes, embedded, ..Sources::default() }
}

/// Describes the modules without names: the first, which has most frames, with the reason, and how many others there are.
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
