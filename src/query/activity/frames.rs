//! Frames of a game, and what its process allocated and freed in each.
//!
//! A frame is the time between two presents of one swap chain, named by its number in that chain,
//! from 0. Layers nest, so sums are of one layer. Sums are those of rows: allocations born in the
//! frame, frees of what died in it.
//!
//! Cost: one parallel scan of the rows, with a search among the frames for each birth and death; 32
//! bytes a frame for each thread. Of more than [`MOST`] frames the first are looked at.

use std::ops::Range;

use crate::model::{PresentLane, ProcessId, Trace};
use crate::query::{Cancel, Cancelled, Index, LifetimeClass, Mask};
use crate::units::{Interval, Layer, Ticks};

/// Frames that are looked at in one question: more than an hour of a fast game.
const MOST: usize = 1 << 18;

/// Which frames, of whose memory.
#[derive(Clone, Debug)]
pub struct FrameRequest<'a> {
    /// Number of the swap chain in [`Activity::presents`](crate::model::Activity).
    pub lane: usize,
    /// Those that end in it.
    pub interval: Interval,
    /// The layer.
    pub layer: Layer,
    /// Which rows.
    pub mask: &'a Mask,
}

/// What one frame comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameSums {
    /// Blocks that began in it.
    pub allocated_count: u64,
    /// Their bytes.
    pub allocated_size: u64,
    /// Blocks that ended in it.
    pub freed_count: u64,
    /// Their bytes.
    pub freed_size: u64,
}

impl FrameSums {
    fn add(&mut self, other: &Self) {
        self.allocated_count += other.allocated_count;
        self.allocated_size = self.allocated_size.saturating_add(other.allocated_size);
        self.freed_count += other.freed_count;
        self.freed_size = self.freed_size.saturating_add(other.freed_size);
    }
}

/// A frame with what it comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameLine {
    /// Its number in its swap chain.
    pub number: usize,
    /// From one present to the next.
    pub interval: Interval,
    /// What it comes to.
    pub sums: FrameSums,
}

/// Swap chains with frames, those with most first: number and chain.
pub fn frame_lanes(trace: &Trace) -> Vec<(usize, &PresentLane)> {
    let mut lanes: Vec<_> = trace.activity.presents.iter().enumerate().filter(|(_, lane)| lane.frames() > 0).collect();
    lanes.sort_by_key(|(number, lane)| (std::cmp::Reverse(lane.frames()), *number));
    lanes
}

/// The swap chain that is meant by the frames of a trace, or of one process: that with most frames, of
/// a process with allocations if one has any.
pub fn main_frames(trace: &Trace, process: Option<ProcessId>) -> Option<usize> {
    let allocates = |process: ProcessId| trace.heaps.iter().any(|heap| heap.process == process);
    let lanes = frame_lanes(trace).into_iter().filter(|(_, lane)| process.is_none_or(|process| process == lane.process));
    let mut lanes: Vec<_> = lanes.map(|(number, lane)| (!allocates(lane.process), number)).collect();
    lanes.sort_by_key(|(is_other, _)| *is_other);
    lanes.first().map(|(_, number)| *number)
}

/// What a frame is called.
pub fn frame_name(number: usize) -> String {
    format!("frame {number}")
}

/// Mean length of some frames of a swap chain, in ticks.
pub fn mean_frame(lane: &PresentLane, frames: Range<usize>) -> Option<f64> {
    let count = frames.len();
    let (from, to) = (lane.frame(frames.start)?.from, lane.frame(frames.end.checked_sub(1)?)?.to);
    Some(to.0.saturating_sub(from.0) as f64 / count as f64)
}

/// The frames of an interval in order, each with what the chain's process allocated and freed in it.
pub fn frame_sums(index: &Index, request: &FrameRequest<'_>, cancel: &Cancel) -> Result<Vec<FrameLine>, Cancelled> {
    let trace = index.trace();
    let Some(lane) = trace.activity.presents.get(request.lane) else { return Ok(Vec::new()) };
    let frames = lane.ending_in(request.interval);
    let frames = frames.start..frames.end.min(frames.start + MOST);
    let edges: Vec<Ticks> = lane.times.range(frames.start..frames.end + 1).copied().collect();
    let [first, .., last] = edges[..] else { return Ok(Vec::new()) };
    let whole = Interval { from: first, to: last };
    let place = |at: Ticks| edges.partition_point(|&edge| edge <= at) - 1;
    let is_wanted: Vec<bool> =
        trace.sites.iter().map(|site| trace.process_of(site) == lane.process && trace.layer_of(site) == request.layer).collect();
    let parts = index.fold(
        cancel,
        || vec![FrameSums::default(); frames.len()],
        |sums, visited| {
            let (chunk, sites) = (visited.chunk, visited.chunk.sites());
            visited.each_in(whole, |at, class| {
                if !is_wanted[sites[at].0 as usize] || !request.mask.has(sites[at], class) {
                    return;
                }
                let size = chunk.size(at);
                if matches!(class, LifetimeClass::Aifi | LifetimeClass::Aifo) {
                    let sums = &mut sums[place(chunk.birth(at))];
                    sums.allocated_count += 1;
                    sums.allocated_size = sums.allocated_size.saturating_add(size);
                }
                if matches!(class, LifetimeClass::Aifi | LifetimeClass::Aofi) {
                    let sums = &mut sums[place(chunk.death(at))];
                    sums.freed_count += 1;
                    sums.freed_size = sums.freed_size.saturating_add(size);
                }
            });
        },
    )?;
    let mut all = vec![FrameSums::default(); frames.len()];
    for part in &parts {
        all.iter_mut().zip(part).for_each(|(sum, part)| sum.add(part));
    }
    let line = |(number, sums): (usize, FrameSums)| Some(FrameLine { number, interval: lane.frame(number)?, sums });
    Ok(frames.zip(all).filter_map(line).collect())
}
