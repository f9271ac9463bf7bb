//! The state of a recording: numbers that consumers write and anyone can read without a lock.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::Lane;

/// The state of a recording.
#[derive(Clone, Debug)]
pub struct Status {
    /// When it began.
    pub since: SystemTime,
    /// The lanes, in the order of [`Lane::ALL`].
    pub lanes: [LaneStatus; 4],
}

/// The state of one lane. All numbers count from the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneStatus {
    /// The lane.
    pub lane: Lane,
    /// Events received.
    pub events: u64,
    /// Bytes of these events.
    pub bytes: u64,
    /// Bytes in files at the moment, without files that a ring has deleted.
    pub on_disk: u64,
    /// Lost events.
    pub lost_events: u64,
    /// Lost buffers: lost by the session, or not writable.
    pub lost_buffers: u64,
    /// Raw time of the newest event; `i64::MIN` before the first.
    pub last_time: i64,
    /// Why events cannot be written now.
    pub failure: Option<String>,
}

impl Status {
    /// Events of all lanes.
    pub fn events(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.events).sum()
    }

    /// Bytes of the events of all lanes.
    pub fn bytes(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.bytes).sum()
    }

    /// Bytes in files now.
    pub fn on_disk(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.on_disk).sum()
    }

    /// Lost events of all lanes.
    pub fn lost_events(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.lost_events).sum()
    }

    /// Lost buffers of all lanes.
    pub fn lost_buffers(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.lost_buffers).sum()
    }
}

impl LaneStatus {
    /// Adds the numbers of another file of the same lane.
    pub(super) fn include(&mut self, other: Self) {
        self.events += other.events;
        self.bytes += other.bytes;
        self.on_disk += other.on_disk;
        self.lost_events += other.lost_events;
        self.lost_buffers += other.lost_buffers;
        self.last_time = self.last_time.max(other.last_time);
        self.failure = self.failure.take().or(other.failure);
    }
}

/// The numbers of one lane. Only the thread that holds the lane's lock writes them.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) events: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) on_disk: AtomicU64,
    pub(super) lost_events: AtomicU64,
    pub(super) lost_buffers: AtomicU64,
    pub(super) last_time: AtomicI64,
    failure: Mutex<Option<String>>,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            events: AtomicU64::default(),
            bytes: AtomicU64::default(),
            on_disk: AtomicU64::default(),
            lost_events: AtomicU64::default(),
            lost_buffers: AtomicU64::default(),
            last_time: AtomicI64::new(i64::MIN),
            failure: Mutex::default(),
        }
    }
}

/// Adds to a number that no other thread writes at the same time: cheaper than an atomic addition.
pub(super) fn add(number: &AtomicU64, more: u64) {
    number.store(number.load(Ordering::Relaxed).saturating_add(more), Ordering::Relaxed);
}

impl Numbers {
    /// Sets or clears the failure. Returns whether that is a change.
    pub(super) fn set_failure(&self, failure: Option<String>) -> bool {
        let mut now = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = now.is_some() != failure.is_some();
        *now = failure;
        is_news
    }

    pub(super) fn status(&self, lane: Lane) -> LaneStatus {
        let number = |number: &AtomicU64| number.load(Ordering::Relaxed);
        LaneStatus {
            lane,
            events: number(&self.events),
            bytes: number(&self.bytes),
            on_disk: number(&self.on_disk),
            lost_events: number(&self.lost_events),
            lost_buffers: number(&self.lost_buffers),
            last_time: self.last_time.load(Ordering::Relaxed),
            failure: self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
