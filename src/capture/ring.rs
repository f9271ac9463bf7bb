//! Parts of lanes: lanes that can wrap are cut into files, and of a ring the oldest are deleted.
//!
//! A file goes when all of its events are older than the limit, or, if bytes are
//! limited, when it is the oldest and there is no room. Files are at most a sixteenth of the
//! limit, so that much more than what was asked for is kept, or so much less.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::{Folder, Lane, Ring};

/// Parts of the limit.
const PARTS: u64 = 16;
/// So many of them are left to the files that still grow, and to what their buffers hold.
const OPEN: u64 = 4;

/// Decides where a file ends, and which of them stay.
#[derive(Debug)]
pub(super) struct Keeper {
    folder: Folder,
    limit: Limit,
    /// No file grows much larger.
    part_bytes: u64,
    closed: Mutex<Vec<Closed>>,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    Everything,
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

    /// Whether an event at `time` begins the next file.
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

    /// Takes a file over; `now` is the newest time known.
    pub(super) fn close(&self, file: Closed, now: i64) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.push(file);
        drop(closed);
        self.prune(now);
    }

    /// Deletes what is too old or too much.
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
            Limit::Everything | Limit::Bytes(_) => None,
        }
    }
}
