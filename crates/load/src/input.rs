//! Inputs that a user can name.

use std::path::{Path, PathBuf};

use crate::archive::{self, Contents, Progress};
use crate::etl::Source;
use crate::open_error::OpenError;
use crate::paths::Reading;

/// An input that a user can name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// The built-in demo trace.
    Demo,
}

/// The name of the demo trace, used in place of a file name.
pub const DEMO_NAME: &str = "demo:";

/// The bytes of the demo trace. `crates/dev` generates it, and tests that the committed file is what it generates.
pub const DEMO_TRACE: &[u8] = include_bytes!("../../../assets/demo.etl");

/// Extension of saved investigations, which name their trace or hold it.
pub const INVESTIGATION: &str = "highwater";

/// Whether a path is that of a saved investigation, by its extension.
pub fn is_investigation(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(INVESTIGATION))
}

impl Input {
    /// Converts a command line argument.
    pub fn from_arg(arg: &std::ffi::OsStr) -> Self {
        if arg == DEMO_NAME { Self::Demo } else { Self::File(arg.into()) }
    }

    /// Whether it is the folder of a recording, with its lanes.
    pub fn is_recording(&self) -> bool {
        matches!(self, Self::File(path) if highwater_capture::is_recording(path))
    }

    /// Its path, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        if let Self::File(path) = self { Some(path) } else { None }
    }

    /// Its name as the user gave it.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Demo => DEMO_NAME.to_owned(),
        }
    }

    /// Opens the traces in it. `progress` gets how far an archive is expanded.
    pub(super) fn open(&self, progress: &mut Progress<'_>) -> Result<Contents, OpenError> {
        match self {
            Self::File(path) => archive::open(path, progress),
            Self::Demo => archive::contents(Source::Memory(DEMO_TRACE), DEMO_NAME.to_owned(), progress),
        }
    }
}

/// Marks these inputs as being read: as long as the result lives, they are not overwritten.
pub fn reading(inputs: &[Input]) -> Reading {
    Reading::of(inputs.iter().filter_map(Input::path).map(Path::to_owned))
}
