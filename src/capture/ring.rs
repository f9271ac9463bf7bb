//! What a ring keeps: lanes that wrap are cut into files, and the oldest are deleted.
//!
//! A file goes when all of its events are older than the limit, or, if bytes are
//! limited, when it is the oldest and there is no room. Files are a sixteenth of the
//! limit, so that much more than what was asked for is kept, or so much less.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::{Folder, Lane, Ring};

/// Parts of the limit.
const PARTS: u64 = 16;
/// So many of them are left to the two files that still grow.
const OPEN: u64 = 3;

/// Decides which files of a ring stay.
#[derive(Debug)]
pub(super) struct Keeper {
    folder: Folder,
    limit: Limit,
    closed: Mutex<Vec<Closed>>,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    Ticks(i64),
    Bytes(u64),
}

/// A file that grows no more.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    pub(super) lane: Lane,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) last_time: i64,
}

/// Where the file began that grows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slice(Option<(i64, u64)>);

impl Keeper {
    pub(super) fn new(ring: Ring, frequency: u64, folder: Folder) -> Self {
        let limit = match ring {
            Ring::Time(time) => {
                Limit::Ticks(i64::try_from(time.as_nanos() * u128::from(frequency) / 1_000_000_000).unwrap_or(i64::MAX))
            }
            Ring::Bytes(bytes) => Limit::Bytes(bytes),
        };
        Self { folder, limit, closed: Mutex::default() }
    }

    /// Whether an event at `time` begins the next file.
    pub(super) fn is_full(&self, slice: &mut Slice, time: i64, len: u64) -> bool {
        let (first, start) = *slice.0.get_or_insert((time, len));
        match self.limit {
            Limit::Ticks(limit) => time.saturating_sub(first) > limit / PARTS as i64,
            Limit::Bytes(limit) => len.saturating_sub(start) > limit / PARTS,
        }
    }

    /// Takes a file over; `now` is the newest time known.
    pub(super) fn close(&self, file: Closed, now: i64) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.push(file);
        drop(closed);
        self.prune(now);
    }

    /// Deletes what is too old or too much.
    pub(super) fn prune(&self, now: i64) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.sort_by_key(|file| file.last_time);
        let mut bytes: u64 = closed.iter().map(|file| file.bytes).sum();
        closed.retain(|file| {
            let goes = match self.limit {
                Limit::Ticks(limit) => file.last_time < now.saturating_sub(limit),
                Limit::Bytes(limit) => bytes > limit / PARTS * (PARTS - OPEN),
            };
            // A file that cannot be deleted now is tried again.
            let is_gone = goes && self.folder.remove(&file.path).is_ok();
            if is_gone {
                bytes -= file.bytes;
            }
            !is_gone
        });
    }

    /// Bytes of a lane's files that grow no more.
    pub(super) fn bytes_of(&self, lane: Lane) -> u64 {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.iter().filter(|file| file.lane == lane).map(|file| file.bytes).sum()
    }

    /// The first time that is wanted, if time is what is limited.
    pub(super) fn from(&self, now: i64) -> Option<i64> {
        match self.limit {
            Limit::Ticks(limit) => Some(now.saturating_sub(limit)),
            Limit::Bytes(_) => None,
        }
    }
}
