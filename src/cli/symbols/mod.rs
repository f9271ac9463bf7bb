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

use super::output;
use super::text::plural;
use crate::model::{SiteId, Trace};
use crate::symbols::{ModuleState, Names, Options, Sources, SymbolPath, Symbols};
use crate::synth::demo;

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
    let options = Options { sources: sources(trace, named_path(path)), frees, ..Options::default() };
    let symbols = Symbols::start(Arc::clone(trace), options, is_asked, || {});
    symbols.wait();
    if path.is_some() {
        report_failures(&symbols);
    }
    symbols.names().1
}

/// See [`names`].
fn named_path(given: Option<&str>) -> SymbolPath {
    let store = Sources::default_store();
    let mut path = given.map_or_else(SymbolPath::default, |given| SymbolPath::parse(given, store.as_deref()));
    path.append(SymbolPath::from_environment(store.as_deref()).without_servers());
    path
}

/// Where the symbols of a trace come from. The servers on the path are asked: one that may not
/// be is not on it.
fn sources(trace: &Trace, path: SymbolPath) -> Sources {
    let (volumes, embedded) = (trace.volumes.clone(), vec![demo::symbols()]);
    Sources { path, network: true, store: Sources::default_store(), volumes, embedded, ..Sources::default() }
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
