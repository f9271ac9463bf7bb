//! Events that are known by raw time and thread, as their stacks name them: the latest so many.

use std::collections::VecDeque;

use crate::tables::KeyedSet;
use crate::units::Tid;

/// So many are known; an event that saw as many newer ones without its stack is given up by
/// whoever reads the trace, too.
const MOST: usize = 1 << 18;

/// The latest events, by raw time and thread.
#[derive(Debug, Default)]
pub(super) struct Owners {
    order: VecDeque<(i64, Tid)>,
    known: KeyedSet<(i64, Tid)>,
}

impl Owners {
    /// One more.
    pub(super) fn add(&mut self, time: i64, tid: Tid) {
        if !self.known.insert((time, tid)) {
            return;
        }
        self.order.push_back((time, tid));
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Whether a stack can be that of one of them. Where an event does not say its thread, its stack does.
    pub(super) fn has(&self, time: i64, tid: Tid) -> bool {
        self.known.contains(&(time, tid)) || self.known.contains(&(time, Tid::NONE))
    }
}
