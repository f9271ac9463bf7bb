//! Parts of lanes: lanes that can wrap are cut into files, and a ring deletes the oldest files.
//!
//! With a time limit, a file is deleted when all its events are older; with a size limit, when it is the oldest and
//! there is no room. Files are at most a sixteenth of the limit, so the amount kept deviates from the limit by little
//! more than that.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::{Folder, Lane, Ring};

/// Number of parts that the limit is divided into.
const PARTS: u64 = 16;
/// Number of these parts reserved for the growing files and for the content of their buffers.
const OPEN: u64 = 4;

/// Decides where a file ends and which files are kept.
#[derive(Debug)]
pub(super) struct Keeper {
    folder: Folder,
    limit: Limit,
    /// Maximum size of a file, apart from its last buffers.
    part_bytes: u64,
    closed: Mutex<Vec<Closed>>,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    Everything,
    Ticks(i64),
    Bytes(u64),
}

/// A completed file.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    pub(super) lane: Lane,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) last_time: i64,
}

/// The time and file length at which the growing part started.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slice(Option<(i64, u64)>);

impl Keeper {
    pub(super) fn new(folder: Folder, ring: Option<Ring>, frequency: u64, part_bytes: u64) -> Self {
        let limit = match ring {
            None => Limit::Everything,
            Some(Ring::Time(time)) => {
                Limit::Ticks(i64::try_from(time.as_nanos() * u128::from(frequency) / 1_000_000_000).unwrap_or(i64::MAX))
            }
            Some(Ring::Bytes(bytes)) => Limit::Bytes(bytes),
        };
        Self { folder, limit, part_bytes, closed: Mutex::default() }
    }

    /// Whether an event at `time` starts the next file.
    pub(super) fn is_full(&self, slice: &mut Slice, time: i64, len: u64) -> bool {
        let (first, start) = *slice.0.get_or_insert((time, len));
        let bytes = len.saturating_sub(start);
        let is_due = match self.limit {
            Limit::Everything => false,
            Limit::Ticks(limit) => time.saturating_sub(first) > limit / PARTS as i64,
            Limit::Bytes(limit) => bytes > limit / PARTS,
        };
        is_due || bytes >= self.part_bytes
    }

    /// Takes over a completed file; `now` is the newest known event time.
    pub(super) fn close(&self, file: Closed, now: i64) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.push(file);
        drop(closed);
        self.prune(now);
    }

    /// Deletes files that are too old or exceed the size limit.
    pub(super) fn prune(&self, now: i64) {
        if matches!(self.limit, Limit::Everything) {
            return;
        }
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.sort_by_key(|file| file.last_time);
        let mut bytes: u64 = closed.iter().map(|file| file.bytes).sum();
        closed.retain(|file| {
            let goes = match self.limit {
                Limit::Everything => false,
                Limit::Ticks(limit) => file.last_time < now.saturating_sub(limit),
                Limit::Bytes(limit) => bytes > limit / PARTS * (PARTS - OPEN),
            };
            // If a file cannot be deleted now, the next call tries again.
            let is_gone = goes && self.folder.remove(&file.path).is_ok();
            if is_gone {
                bytes -= file.bytes;
            }
            !is_gone
        });
    }

    /// Size of a lane's completed files in bytes.
    pub(super) fn bytes_of(&self, lane: Lane) -> u64 {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.iter().filter(|file| file.lane == lane).map(|file| file.bytes).sum()
    }

    /// The earliest time to keep, if the limit is a duration.
    pub(super) fn from(&self, now: i64) -> Option<i64> {
        match self.limit {
            Limit::Ticks(limit) => Some(now.saturating_sub(limit)),
            Limit::Everything | Limit::Bytes(_) => None,
        }
    }
}
