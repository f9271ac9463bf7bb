//! Waiting for symbols in sight of the user.

use std::time::Duration;

use crate::cli::progress::Progress;
use crate::format;
use crate::symbols::{Download, ModuleReport, ModuleState, Symbols};

/// Time between two updates of the progress.
const EVERY: Duration = Duration::from_millis(200);

/// Waits until everything is found, and shows the progress meanwhile: servers and shares can take long.
pub(super) fn wait_in_sight(symbols: &Symbols, what: String) {
    let mut progress = Progress::new(what);
    symbols.wait_watched(EVERY, |modules| {
        let (done, total) = done_of(modules);
        progress.at_with(done, total, || coming(modules));
    });
}

/// The current download, and how much of it is done.
fn coming(modules: &[ModuleReport]) -> String {
    let downloads = modules.iter().filter_map(|module| match module.state {
        ModuleState::Downloading(download) => Some((module, download)),
        _ => None,
    });
    let told = |(module, Download { done, total }): (&ModuleReport, Download)| match total {
        Some(total) => format!("{} {} of {}", module.name, format::rough_bytes(done), format::rough_bytes(total)),
        None => format!("{} {}", module.name, format::rough_bytes(done)),
    };
    downloads.map(told).next().unwrap_or_default()
}

/// Progress of the work: what is done, and the total.
fn done_of(modules: &[ModuleReport]) -> (u64, u64) {
    const WHOLE: u64 = 1_000;
    let part = |module: &ModuleReport| match &module.state {
        ModuleState::Waiting | ModuleState::Searching => 0,
        ModuleState::Downloading(download) => download
            .total
            .map_or(0, |total| (u128::from(download.done) * u128::from(WHOLE)).checked_div(total.into()).unwrap_or(0) as u64),
        _ => WHOLE,
    };
    let sought = || modules.iter().filter(|module| module.state != ModuleState::Unused);
    (sought().map(part).sum(), sought().count() as u64 * WHOLE)
}
