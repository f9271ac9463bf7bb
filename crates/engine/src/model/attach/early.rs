//! Stacks with the same tick as their event, which may stand before it.

use crate::events::{Frames, Record};
use crate::model::pairing::MOST_EARLY;
use crate::tables::{self, KeyedSet};
use crate::units::Tid;

/// Threads of one tick that are compared one by one; more are hashed.
const FEW_THREADS: usize = 32;

/// Stacks, all of one tick, whose event may come behind them.
#[derive(Debug, Default)]
pub(super) struct EarlyStacks(Vec<(Record, Vec<u64>)>);

impl EarlyStacks {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a stack, if there is room; drops those of an earlier tick, which belong to nothing.
    pub(super) fn add(&mut self, stack: &Record, frames: Frames<'_>) {
        if self.0.len() >= MOST_EARLY {
            return;
        }
        if self.0.first().is_some_and(|(first, _)| first.time != stack.time) {
            self.0.clear();
        }
        self.0.push((stack.clone(), frames.addresses().to_vec()));
    }

    /// Takes out the stacks of a tick; drops the others, which belong to nothing.
    pub(super) fn take(&mut self, raw: i64) -> Vec<(Record, Vec<u64>)> {
        let mut stacks = std::mem::take(&mut self.0);
        if stacks.first().is_some_and(|(first, _)| first.time != raw) {
            stacks.clear();
        }
        stacks
    }
}

/// Raw time of the latest event that can have a stack, and the threads of all such events at that time:
/// their stacks of this tick cannot come early any more.
#[derive(Debug, Default)]
pub(super) struct LatestTick {
    raw: i64,
    first: Option<Tid>,
    others: Vec<Tid>,
    /// Threads for which there is no room among the others.
    more: KeyedSet<Tid>,
}

impl LatestTick {
    #[inline(always)]
    pub(super) fn note(&mut self, raw: i64, tid: Tid) {
        if self.raw != raw || self.first.is_none() {
            (self.raw, self.first) = (raw, Some(tid));
            self.others.clear();
        } else if self.first != Some(tid) {
            self.note_other(tid);
        }
    }

    #[inline(never)]
    fn note_other(&mut self, tid: Tid) {
        if self.others.is_empty() {
            tables::empty(&mut self.more); // of an earlier tick
        }
        if self.others.contains(&tid) {
            return;
        }
        if self.others.len() < FEW_THREADS {
            self.others.push(tid);
        } else {
            self.more.insert(tid);
        }
    }

    pub(super) fn has(&self, raw: i64, tid: Tid) -> bool {
        let is_full = self.others.len() == FEW_THREADS;
        self.raw == raw && (self.first == Some(tid) || self.others.contains(&tid) || (is_full && self.more.contains(&tid)))
    }
}
