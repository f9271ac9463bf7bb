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

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use wait::wait_in_sight;

use super::output;
use crate::demo;
use crate::format::plural;
use crate::model::{NodeId, ProcessId, Site, SiteId, Trace};
use crate::paths::Folders;
use crate::query::{Unnamed, UnnamedModule};
use crate::stack_rules::is_of_windows;
use crate::symbols::{CodeAddress, ModuleReport, ModuleState, Names, Options, Sources, SymbolPath, Symbols};
use crate::tables::KeyedMap;
use crate::units::Interval;

/// The folders that names may come from, if they are confined.
static CONFINED: OnceLock<Folders> = OnceLock::new();

/// Takes names only from images and PDBs in and below these folders, and from the PDBs that are part of the program, from
/// now on: no symbol path counts, no server is asked, and no names are saved.
#[cfg(feature = "mcp")]
pub(super) fn confine(folders: Folders) {
    let _ = CONFINED.set(folders); // only once, when the server starts
}

/// Options of a search that looks where the user allows.
fn options(trace: &Trace, path: Option<&str>) -> Options {
    if let Some(folders) = CONFINED.get() {
        let sources =
            Sources { only_in: Some(folders.clone()), network: false, store: None, ..sources(trace, SymbolPath::default()) };
        return Options { sources, saved: None, ..Options::default() };
    }
    Options { sources: sources(trace, named_path(path)), ..Options::default() }
}

/// Finds the names of the frames of some sites; with `frees` those of frees, too, with `samples` those of CPU samples and page
/// faults. They come from the given path,
/// including its servers, because the user named them; from the path of the environment without its servers, because
/// the user was not asked about them; and from the symbols of the demo, which are always there. Also returns the
/// modules that have no names, except those of Windows itself.
pub(super) fn names(
    trace: &Arc<Trace>,
    path: Option<&str>,
    (frees, samples): (bool, bool),
    is_asked: impl Fn(SiteId) -> bool + Send + 'static,
) -> (Arc<Names>, Unnamed) {
    let options = Options { frees, samples, ..options(trace, path) };
    let has_places = has_places(&options);
    let symbols = Symbols::start(Arc::clone(trace), options, is_asked, || {});
    wait_in_sight(&symbols, "Symbols".to_owned());
    let modules = symbols.modules();
    tell_missing(path, has_places, &modules);
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
    let options = options(trace, path);
    let has_places = has_places(&options);
    let symbols = Symbols::start_at(Arc::clone(trace), options, addresses_of(trace, sites), || {});
    wait_in_sight(&symbols, "Symbols".to_owned());
    tell_missing(path, has_places, &symbols.modules());
    symbols.names().1
}

/// Whether there is a symbol path.
fn has_places(options: &Options) -> bool {
    options.sources.path.chains.iter().any(|chain| !chain.is_empty())
}

/// Says which modules have no names if the user named a path, and how to name one if there is none.
fn tell_missing(given: Option<&str>, has_places: bool, modules: &[ModuleReport]) {
    if given.is_some() {
        without_names(modules.iter()).iter().for_each(|told| output::message(told));
    } else if !has_places {
        let own = modules.iter().filter(|module| !is_of_windows(&module.image));
        let missing: Vec<&str> =
            own.filter(|module| matches!(module.state, ModuleState::Failed(_))).map(|module| &*module.name).collect();
        let Some((first, others)) = missing.split_first() else { return };
        let others = match others.len() as u64 {
            0 => String::new(),
            n => format!(" and {}", plural(n, "other module")),
        };
        output::advise(format!(
            "no function names for {first}{others}: give the folder of the PDBs with --symbols FOLDER, or set _NT_SYMBOL_PATH"
        ));
    }
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
    tell_missing_folders(&path);
    complain(&path);
    path
}

/// Reports once which folders do not exist.
fn tell_missing_folders(path: &SymbolPath) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    let missing = path.missing_folders();
    if !missing.is_empty() && !IS_TOLD.swap(true, Ordering::Relaxed) {
        for folder in missing {
            output::message(&format!("no such folder in the symbol path: {}", folder.display()));
        }
    }
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
    let allowed = |folder: &&PathBuf| CONFINED.get().is_none_or(|folders| folders.contain(folder));
    let beside: Vec<PathBuf> = trace.symbol_folders.iter().filter(allowed).cloned().collect();
    let path = path.behind(&beside);
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
