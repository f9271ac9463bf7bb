//! Presented frames, by swap chain. A frame lies between two presents of a chain.
//!
//! A call inside another on the same thread is no frame of its own: runtimes present through one
//! another. A call that failed has shown nothing and is dropped (PresentMon drops it, too). A call
//! whose end is missing, or that found its window covered, is kept: the program's loop went on all the
//! same.
//!
//! Memory: 8 bytes a frame, [`MAX_FRAMES`] at most. Cost: a hash operation or two a call.

use super::Chunked;
use crate::events::{Present, PresentApi};
use crate::model::ProcessId;
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks, Tid};

/// Most frames.
const MAX_FRAMES: usize = 1 << 23;
/// Most swap chains.
const MAX_LANES: usize = 1 << 12;
/// A call without an end is taken to be over after this many seconds.
const LONGEST_CALL: u64 = 2;
/// Most calls inside one another that are known.
const DEEPEST: usize = 8;

/// The frames of one swap chain.
#[derive(Clone, Debug)]
pub struct PresentLane {
    /// Its process.
    pub process: ProcessId,
    /// Its interface.
    pub api: PresentApi,
    /// Address of the swap chain in its process.
    pub swap_chain: u64,
    /// Times of the presents, in order.
    pub times: Chunked<Ticks>,
}

impl PresentLane {
    /// Number of frames, each between two presents.
    pub fn frames(&self) -> usize {
        self.times.len().saturating_sub(1)
    }

    /// A frame by number, from 0.
    pub fn frame(&self, number: usize) -> Option<Interval> {
        Some(Interval { from: *self.times.get(number)?, to: *self.times.get(number + 1)? })
    }

    /// The frames that end in an interval: those that begin in it or before, and are over in it.
    pub fn ending_in(&self, interval: Interval) -> std::ops::Range<usize> {
        let place = |at: Ticks| self.times.partition_point(|&time| time < at);
        // Frame n ends with present n + 1.
        let (from, to) = (place(interval.from.next()), place(interval.to.next()));
        from.saturating_sub(1)..to.saturating_sub(1)
    }
}

/// A call that has not ended.
#[derive(Clone, Copy, Debug)]
struct Call {
    /// Its lane, if it counts as a frame of that.
    lane: Option<u32>,
    api: PresentApi,
    swap_chain: u64,
    at: Ticks,
}

/// Collects frames.
#[derive(Debug, Default)]
pub(super) struct PresentTable {
    lanes: Vec<PresentLane>,
    index: KeyedMap<(ProcessId, PresentApi, u64), u32>,
    calls: KeyedMap<(ProcessId, Tid), Vec<Call>>,
    frames: usize,
    refused: u64,
}

impl PresentTable {
    pub(super) fn apply(&mut self, present: &Present, thread: (ProcessId, Tid), (at, frequency): (Ticks, u64)) {
        match *present {
            Present::Start { api, swap_chain, is_test } => self.start(thread, (api, swap_chain), is_test, (at, frequency)),
            Present::Marked => {
                if let Some(lane) = self.lane(thread.0, (PresentApi::Marks, 0)) {
                    self.push(lane, at);
                }
            }
            Present::Stop { api, has_failed } => self.stop(thread, api, has_failed),
        }
    }

    fn start(&mut self, thread: (ProcessId, Tid), chain: (PresentApi, u64), is_test: bool, (at, frequency): (Ticks, u64)) {
        let calls = self.calls.entry(thread).or_default();
        let longest = i64::try_from(frequency.saturating_mul(LONGEST_CALL)).unwrap_or(i64::MAX);
        let is_lost = |call: &Call| (call.api, call.swap_chain) == chain || at.0.saturating_sub(call.at.0) > longest;
        if calls.iter().any(is_lost) || calls.len() >= DEEPEST {
            calls.clear(); // the end of one was lost
        }
        let is_frame = calls.is_empty() && !is_test;
        let lane = if is_frame { self.lane(thread.0, chain) } else { None };
        let lane = lane.filter(|&lane| self.push(lane, at));
        let (api, swap_chain) = chain;
        self.calls.entry(thread).or_default().push(Call { lane, api, swap_chain, at });
    }

    fn stop(&mut self, thread: (ProcessId, Tid), api: PresentApi, has_failed: bool) {
        let Some(calls) = self.calls.get_mut(&thread) else { return };
        let Some(at) = calls.iter().rposition(|call| call.api == api) else { return };
        let call = calls[at];
        calls.truncate(at);
        if calls.is_empty() {
            self.calls.remove(&thread);
        }
        let Some(lane) = call.lane.filter(|_| has_failed) else { return };
        let times = &mut self.lanes[lane as usize].times;
        if times.last() == Some(&call.at) && times.pop().is_some() {
            self.frames -= 1;
        }
    }

    fn lane(&mut self, process: ProcessId, (api, swap_chain): (PresentApi, u64)) -> Option<u32> {
        let key = (process, api, swap_chain);
        if let Some(&lane) = self.index.get(&key) {
            return Some(lane);
        }
        if self.lanes.len() >= MAX_LANES {
            self.refused += 1;
            return None;
        }
        let lane = self.lanes.len() as u32;
        self.lanes.push(PresentLane { process, api, swap_chain, times: Chunked::default() });
        self.index.insert(key, lane);
        Some(lane)
    }

    fn push(&mut self, lane: u32, at: Ticks) -> bool {
        if self.frames >= MAX_FRAMES {
            self.refused += 1;
            return false;
        }
        let times = &mut self.lanes[lane as usize].times;
        // A present that comes late gets the time of the latest.
        let at = times.last().map_or(at, |last| at.max(*last));
        times.push(at);
        self.frames += 1;
        true
    }

    pub(super) fn publish(&self) -> Vec<PresentLane> {
        self.lanes.clone()
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.frames * size_of::<Ticks>() + self.lanes.len() * 4096 + self.calls.len() * 256) as u64
    }

    pub(super) fn left_out(&self) -> Option<String> {
        let most = format!("more than are kept ({MAX_FRAMES}, or {MAX_LANES} swap chains)");
        (self.refused > 0).then(|| format!("{} presented frames are {most}; they were left out", self.refused))
    }
}
