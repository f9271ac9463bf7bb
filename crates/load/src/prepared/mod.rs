//! Prepared traces: what was made of the files of a capture, kept in a folder of the program, so that the same files open again
//! in a fraction of the time.
//!
//! A prepared trace is used only if it was made by this very program file, of files with the same names, identities, sizes,
//! times, and first and last bytes, and with the same providers of marks and trackers. Any other at its place, and any that is
//! damaged, is removed, and the files are read as ever. Nothing in it is trusted: blocks have checksums
//! ([`mod@file`]), and values are checked for everything that a query relies on (`model::stored`).
//!
//! Only traces that were loaded whole are kept, and only of files: neither the demo, nor recordings that grow.
//!
//! Cost: nothing for small files. Opening: a copy of each column, on all CPUs. Keeping: on a thread of its own that rests as long
//! as it works; the folder keeps to a size, and what was not used for longest goes first.

mod file;
mod keeper;
mod key;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::capture::symbol_folders;
use crate::events::{EventSchema, TrackerProviders};
use crate::input::Input;
use crate::model::{Trace, Unrestored};
use crate::paths::{Draft, Existing};
use crate::platform;
use crate::watch::{Stopped, Watch};
use file::{PreparedFile, Sink};
use highwater_files::cache::{self, CachedFile};
use keeper::Keeper;
use key::Key;

/// The most bytes of all prepared traces together, unless the user says otherwise: 8 GB.
pub const DEFAULT_LIMIT: u64 = 8 << 30;

/// Files of fewer bytes open fast enough, even if they are compressed.
const LEAST_BYTES: u64 = 32 << 20;
/// Traces that load in less time load fast enough.
const LEAST_TIME: Duration = Duration::from_millis(500);

/// Extension of the files.
const EXTENSION: &str = "trace";
/// Drafts that were not finished for this time were left by a program that ended.
const LEFT_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder of prepared traces, and which are kept there.
#[derive(Clone, Debug)]
pub struct PreparedTraces {
    folder: PathBuf,
    limit: u64,
    /// Bytes of files, and time of loading, below which nothing is kept.
    least: (u64, Duration),
    keeper: Arc<Keeper>,
}

/// Providers with which a capture is loaded, as far as they change the trace.
#[derive(Clone, Copy, Debug)]
pub struct Providers<'a> {
    /// Words for providers of marks, as the user wrote them.
    pub marks: &'a [String],
    /// Providers whose events are blocks of trackers.
    pub trackers: &'a TrackerProviders,
    /// Descriptions of events that the trace may lack.
    pub descriptions: &'a [EventSchema],
}

impl PreparedTraces {
    /// The prepared traces in a folder, which have at most `limit` bytes together.
    pub fn new(folder: PathBuf, limit: u64) -> Self {
        Self { folder, limit, least: (LEAST_BYTES, LEAST_TIME), keeper: Arc::default() }
    }

    /// Also keeps traces of small files, and those that load fast.
    pub fn of_any_size(mut self) -> Self {
        self.least = (0, Duration::ZERO);
        self
    }

    /// The place of the prepared trace of these files, with the state of the files at this moment: they must be opened later.
    /// `None` if none is kept of such files.
    pub fn place(&self, inputs: &[Input], providers: Providers<'_>) -> Option<PreparedPlace> {
        let key = Key::of(inputs, providers)?;
        if key.file_bytes < self.least.0 {
            return None;
        }
        let path = self.folder.join(format!("{:032x}.{EXTENSION}", key.place));
        Some(PreparedPlace { traces: self.clone(), inputs: inputs.to_vec(), key, path })
    }

    /// Whether a trace is being kept.
    pub fn is_at_work(&self) -> bool {
        self.keeper.is_at_work()
    }

    /// Removes all traces, and drops those that are being kept.
    pub fn clear(&self) {
        self.keeper.stop();
        self.ours().0.into_iter().for_each(|file| drop(std::fs::remove_file(file.path)));
    }
}

/// Place of the prepared trace of some files.
#[derive(Clone, Debug)]
pub struct PreparedPlace {
    traces: PreparedTraces,
    inputs: Vec<Input>,
    key: Key,
    path: PathBuf,
}

impl PreparedPlace {
    /// The prepared trace, if there is one that fits into `budget` bytes of memory. One that is of other files or another
    /// program, or damaged, is removed.
    pub fn open(&self, budget: u64, watch: &mut impl Watch) -> Result<Option<Trace>, Stopped> {
        let Ok(file) = PreparedFile::open(&self.path, budget) else {
            self.remove();
            return Ok(None);
        };
        let Some(file) = file else { return Ok(None) };
        if file.key() != self.key.bytes {
            self.remove();
            return Ok(None);
        }
        if file.needs() > budget {
            return Ok(None);
        }
        let total = file.bytes();
        let folders = symbol_folders(file.names().iter().map(String::as_str));
        match Trace::restore(file.head(), &file, folders, &mut |done| watch.progress(done, total)) {
            Ok(trace) => {
                cache::touch(&self.path);
                Ok(Some(trace))
            }
            Err(Unrestored::Stopped) => Err(Stopped),
            Err(Unrestored::Damaged) => {
                self.remove();
                Ok(None)
            }
        }
    }

    /// Whether a trace that was loaded from these files in this time is to be kept.
    pub fn wants(&self, trace: &Trace, took: Duration) -> bool {
        took >= self.traces.least.1 && trace.is_storable() && trace.rows.heap_bytes() as u64 <= self.traces.limit
    }

    /// Keeps a trace that was loaded from these files after this place was made; `names` are those of the files in the capture.
    /// Another thread does this at leisure, as long as somebody else holds the trace.
    pub fn keep_later(self, trace: &Arc<Trace>, names: Vec<String>) {
        let keeper = Arc::clone(&self.traces.keeper);
        keeper.start(self, Arc::clone(trace), names);
    }

    /// Keeps a trace as [`Self::keep_later`] does, at once. Nothing is kept if the files have changed meanwhile, or if `go_on`
    /// returns `false`, which is called for each block; returns whether it was kept.
    pub fn keep(&self, trace: &Trace, names: &[String], go_on: &mut dyn FnMut() -> bool) -> io::Result<bool> {
        platform::create_private_folder(&self.traces.folder)?;
        let is_short = |space: platform::DiskSpace| space.free / 2 < trace.rows.heap_bytes() as u64;
        if platform::disk_space(&self.traces.folder).is_some_and(is_short) {
            return Ok(false);
        }
        let mut draft = Draft::begin(&self.path)?;
        let mut sink = Sink::begin(&mut draft.file, go_on)?;
        let stored = trace.store(&mut sink).and_then(|head| sink.finish(&self.key.bytes, names, needs(trace), &head));
        match stored {
            Ok(bytes) if bytes <= self.traces.limit && self.is_unchanged() => {}
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => return Ok(false),
        }
        draft.place(Existing::GivesWay)?;
        self.traces.trim(&self.path);
        Ok(true)
    }

    fn is_unchanged(&self) -> bool {
        self.key.is_of(&self.inputs)
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl PreparedTraces {
    /// The prepared traces, and what else is in the folder.
    fn ours(&self) -> (Vec<CachedFile>, Vec<CachedFile>) {
        let is_ours = |path: &Path| path.extension().is_some_and(|extension| extension == EXTENSION);
        cache::files_in(&self.folder).into_iter().partition(|file| is_ours(&file.path))
    }

    /// Removes what was not used for longest, and drafts that were left.
    fn trim(&self, keep: &Path) {
        let (ours, others) = self.ours();
        cache::forget_oldest(ours, self.limit, keep);
        let before = SystemTime::now().checked_sub(LEFT_AFTER).unwrap_or(SystemTime::UNIX_EPOCH);
        others.into_iter().filter(|file| file.used < before).for_each(|file| drop(std::fs::remove_file(file.path)));
    }
}

/// Bytes of memory that loading this trace anew takes at least: samples get an eighth of the budget.
fn needs(trace: &Trace) -> u64 {
    let samples = trace.activity.samples.list.len() as u64 * size_of::<crate::model::Sample>() as u64;
    trace.load_bytes.max(samples.saturating_mul(8))
}
