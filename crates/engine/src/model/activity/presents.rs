//! Presented frames, by swap chain. A frame lies between two presents of a chain.
//!
//! A call inside another on the same thread is no frame of its own: runtimes present through one
//! another. A call that failed has shown nothing and is dropped (PresentMon drops it, too). A call
//! whose end is missing, or that found its window covered, is kept: the program's loop went on all the
//! same.
//!
//! The graphics kernel reports the presents of every interface. They count only in processes without calls
//! of DXGI or Direct3D 9, and there only those of one window, the one with most: what else such a process
//! shows (overlays, tools) cannot be told from frames. The others are counted ([`PresentLane::others`]).
//!
//! Memory: 8 bytes a frame, [`MAX_FRAMES`] at most. Cost: a hash operation or two a call; a pass over the
//! swap chains per publication, and per new swap chain of DXGI or Direct3D 9.

use super::Chunked;
use crate::events::{Present, PresentApi};
use crate::model::ProcessId;
use crate::stored::stored;
use crate::tables::{KeyedMap, KeyedSet};
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
    /// Address of the swap chain in its process; of the graphics kernel's presents the window's handle.
    pub swap_chain: u64,
    /// Times of the presents, in order.
    pub times: Chunked<Ticks>,
    /// Other windows of the process, whose presents the graphics kernel reported and that are no frames.
    pub others: OtherWindows,
}

stored!(struct PresentLane { process, api, swap_chain, times, others });

/// Windows whose presents are counted and are no frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OtherWindows {
    /// Number of windows.
    pub windows: u32,
    /// Number of presents.
    pub presents: u64,
}

stored!(struct OtherWindows { windows, presents });

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

/// Whether the graphics kernel reported the presents of a swap chain.
fn is_taken(lane: &PresentLane) -> bool {
    lane.api == PresentApi::DxgKrnl
}

/// Collects frames.
#[derive(Debug, Default)]
pub(super) struct PresentTable {
    lanes: Vec<PresentLane>,
    index: KeyedMap<(ProcessId, PresentApi, u64), u32>,
    calls: KeyedMap<(ProcessId, Tid), Vec<Call>>,
    /// Processes with calls of DXGI or Direct3D 9.
    direct: KeyedSet<ProcessId>,
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
            Present::Taken { window } => {
                if !self.direct.contains(&thread.0)
                    && let Some(lane) = self.lane(thread.0, (PresentApi::DxgKrnl, window))
                {
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
        if is_frame && self.direct.insert(thread.0) {
            self.forget_taken(thread.0);
        }
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
        self.lanes.push(PresentLane { process, api, swap_chain, times: Chunked::default(), others: OtherWindows::default() });
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

    /// Drops the graphics kernel's presents of a process: its own interface reports them, too.
    fn forget_taken(&mut self, process: ProcessId) {
        for lane in self.lanes.iter_mut().filter(|lane| is_taken(lane) && lane.process == process) {
            self.frames -= std::mem::take(&mut lane.times).len();
        }
    }

    /// All swap chains so far. Windows that are not the main one of their process stay, without frames, so
    /// that the numbers of swap chains do not change while the trace grows.
    pub(super) fn publish(&self) -> Vec<PresentLane> {
        let mut lanes = self.lanes.clone();
        let mut main: KeyedMap<ProcessId, usize> = KeyedMap::default();
        for (number, lane) in self.lanes.iter().enumerate().filter(|(_, lane)| is_taken(lane)) {
            let Some(&best) = main.get(&lane.process) else {
                main.insert(lane.process, number);
                continue;
            };
            let is_better = lane.times.len() > lanes[best].times.len();
            let (best, other) = if is_better { (number, best) } else { (best, number) };
            let presents = std::mem::take(&mut lanes[other].times).len() as u64;
            let others = std::mem::take(&mut lanes[other].others);
            let sum = &mut lanes[best].others;
            sum.windows += others.windows + u32::from(presents > 0);
            sum.presents += others.presents + presents;
            main.insert(lane.process, best);
        }
        lanes
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.frames * size_of::<Ticks>() + self.lanes.len() * 4096 + self.calls.len() * 256 + self.direct.len() * 16) as u64
    }

    pub(super) fn left_out(&self) -> Option<String> {
        let most = format!("more than are kept ({MAX_FRAMES}, or {MAX_LANES} swap chains)");
        (self.refused > 0).then(|| format!("{} presented frames are {most}; they were left out", self.refused))
    }
}
