//! The origin of a prepared trace: everything that decides its content, and the program that made it.

use std::path::Path;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::Providers;
use crate::etl::Source;
use crate::input::Input;
use crate::platform::{self, FileStamp};

/// Bytes at the beginning and at the end of a file that are compared.
const EDGE: u64 = 1 << 16;

/// The origin of a prepared trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Key {
    /// Hash of the names of the files and of the providers: all versions of the files have the same place.
    pub(super) place: u128,
    /// Everything, for comparison.
    pub(super) bytes: Vec<u8>,
    /// Bytes of all files together.
    pub(super) file_bytes: u64,
    providers: Vec<u8>,
}

impl Key {
    /// The origin of a trace that this program makes of these inputs; `None` if they are not all files whose state is known.
    pub(super) fn of(inputs: &[Input], providers: Providers<'_>) -> Option<Self> {
        let Providers { marks, trackers, descriptions } = providers;
        Self::with(inputs, format!("{marks:?} {trackers:?} {descriptions:?}").into_bytes())
    }

    fn with(inputs: &[Input], providers: Vec<u8>) -> Option<Self> {
        let (mut bytes, mut names, mut file_bytes) = (Vec::new(), Vec::new(), 0u64);
        put(&mut names, &providers);
        for input in inputs {
            let path = input.path().filter(|_| !input.is_recording())?;
            let stamp = platform::file_stamp(path)?;
            put(&mut names, path.as_os_str().as_encoded_bytes());
            put(&mut names, path.canonicalize().ok()?.as_os_str().as_encoded_bytes());
            put(&mut bytes, &stamp.to_bytes());
            put(&mut bytes, &edges(path, stamp)?);
            file_bytes = file_bytes.saturating_add(stamp.bytes());
        }
        put(&mut bytes, &names);
        put(&mut bytes, &program()?);
        (!inputs.is_empty()).then(|| Self { place: xxh3_128(&names), bytes, file_bytes, providers })
    }

    /// Whether these inputs are still the origin.
    pub(super) fn is_of(&self, inputs: &[Input]) -> bool {
        Self::with(inputs, self.providers.clone()).as_ref() == Some(self)
    }
}

/// Appends bytes, with their number before them.
fn put(all: &mut Vec<u8>, bytes: &[u8]) {
    all.extend((bytes.len() as u64).to_le_bytes());
    all.extend_from_slice(bytes);
}

/// Hashes of the beginning and the end of a file.
fn edges(path: &Path, stamp: FileStamp) -> Option<Vec<u8>> {
    let source = Source::open(path).ok()?;
    let mut buffer = vec![0; EDGE as usize];
    let mut hash = |offset| {
        let length = source.read_at(&mut buffer, offset).ok()?;
        Some(xxh3_64(&buffer[..length]).to_le_bytes())
    };
    Some([hash(0)?, hash(stamp.bytes().saturating_sub(EDGE))?].concat())
}

/// The program: its version and the state of its file. Each build is another program, so what one build wrote is never read by
/// another, whose model or rules may differ.
fn program() -> Option<Vec<u8>> {
    let path = std::env::current_exe().ok()?;
    let mut all = env!("CARGO_PKG_VERSION").as_bytes().to_vec();
    all.extend(platform::file_stamp(&path)?.to_bytes());
    Some(all)
}
