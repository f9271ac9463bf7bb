//! Questions to Windows about traces: how installed manifests describe events, and how many events Windows' own reader
//! finds in a file. Other systems have neither.

use std::path::Path;

/// The manifests that are installed on this machine.
#[cfg(windows)]
#[derive(Clone, Copy, Debug)]
pub struct InstalledManifests;

#[cfg(windows)]
impl crate::capture::Manifests for InstalledManifests {
    fn describe(&self, kinds: &[crate::events::UndescribedKind]) -> crate::events::Described {
        highwater_manifests::describe(kinds)
    }
}

/// The installed manifests, on Windows.
pub fn installed_manifests() -> Option<std::sync::Arc<dyn crate::capture::Manifests>> {
    #[cfg(windows)]
    return Some(std::sync::Arc::new(InstalledManifests));
    #[cfg(not(windows))]
    None
}

/// Number of events in a file as Windows reads it, its header event included; or why that is not known.
#[cfg(windows)]
pub fn count_events(path: &Path) -> Result<u64, String> {
    highwater_manifests::count_events(path)
}

/// Reports that only Windows has that reader.
#[cfg(not(windows))]
pub fn count_events(_path: &Path) -> Result<u64, String> {
    Err(NOT_WINDOWS.to_owned())
}

/// Why there is no comparison with Windows' reader on other systems.
pub const NOT_WINDOWS: &str =
    "--with-windows compares with Windows' own reader of .etl files, which is a part of Windows: run it there";
