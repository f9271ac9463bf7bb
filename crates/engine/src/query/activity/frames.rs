//! Frames of a game, with the bytes that its process allocated and freed in each.
//!
//! A frame is the time between two presents of one swap chain. It is identified by its number in that chain, from 0.
//! Layers nest, so sums are for one layer. A frame's sums contain the allocations made in it, and the frees made in it.
//!
//! Cost: one parallel scan of the rows with a binary search among the frames for each birth and death, and 32 bytes per
//! frame and thread. At most the first [`MOST_FRAMES`] frames are used. Bars take a pass over the lines of the
//! interval.

use crate::events::PresentApi;
use crate::model::{PresentLane, ProcessId, Trace};
use crate::query::{Cancel, Cancelled, Index, LifetimeClass, Mask};
use crate::tables::KeyedSet;
use crate::units::{Interval, Layer, Ticks};

/// Largest number of frames in one query: more than an hour of a fast game.
pub const MOST_FRAMES: usize = 1 << 18;

/// A query for the memory of frames.
#[derive(Clone, Debug)]
pub struct FrameRequest<'a> {
    /// Number of the swap chain in [`Activity::presents`](crate::model::Activity).
    pub lane: usize,
    /// The frames that end in this interval.
    pub interval: Interval,
    /// The layer.
    pub layer: Layer,
    /// The rows to count.
    pub mask: &'a Mask,
}

/// Allocations and frees during one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameSums {
    /// Number of blocks allocated in the frame.
    pub allocated_count: u64,
    /// Bytes of those blocks.
    pub allocated_size: u64,
    /// Number of blocks freed in the frame.
    pub freed_count: u64,
    /// Bytes of those blocks.
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

/// A frame with its allocations and frees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameLine {
    /// Its number in its swap chain.
    pub number: usize,
    /// Time from one present to the next.
    pub interval: Interval,
    /// Allocations and frees in the frame.
    pub sums: FrameSums,
}

/// Returns the swap chains that have frames, with their numbers, those with most frames first.
pub fn frame_lanes(trace: &Trace) -> Vec<(usize, &PresentLane)> {
    let mut lanes: Vec<_> = trace.activity.presents.iter().enumerate().filter(|(_, lane)| lane.frames() > 0).collect();
    lanes.sort_by_key(|(number, lane)| (std::cmp::Reverse(lane.frames()), *number));
    lanes
}

/// Returns the default swap chain of a trace or of one process: the one with most frames, preferring processes with
/// allocations.
pub fn main_frames(trace: &Trace, process: Option<ProcessId>) -> Option<usize> {
    let allocating: KeyedSet<ProcessId> = trace.heaps.iter().map(|heap| heap.process).collect();
    let lanes = frame_lanes(trace).into_iter().filter(|(_, lane)| process.is_none_or(|process| process == lane.process));
    // `min_by_key` returns the first of equal ones, which has most frames.
    lanes.min_by_key(|(_, lane)| !allocating.contains(&lane.process)).map(|(number, _)| number)
}

/// Returns the display name of a frame.
pub fn frame_name(number: usize) -> String {
    format!("frame {number}")
}

/// Returns the display name of a swap chain.
pub fn chain_label(lane: &PresentLane) -> String {
    match lane.api {
        PresentApi::Dxgi => format!("swap chain {:#x} of DXGI", lane.swap_chain),
        PresentApi::D3d9 => format!("swap chain {:#x} of Direct3D 9", lane.swap_chain),
        PresentApi::DxgKrnl => format!("window {:#x}, presents that reached the graphics kernel", lane.swap_chain),
        PresentApi::Marks => "frames that it marked".to_owned(),
    }
}

/// Returns the frames of an interval in order, each with the allocations and frees of the chain's process in it.
pub fn frame_sums(index: &Index, request: &FrameRequest<'_>, cancel: &Cancel) -> Result<Vec<FrameLine>, Cancelled> {
    let trace = index.trace();
    let Some(lane) = trace.activity.presents.get(request.lane) else { return Ok(Vec::new()) };
    let frames = lane.ending_in(request.interval);
    let frames = frames.start..frames.end.min(frames.start + MOST_FRAMES);
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

/// A group of adjacent frames that are drawn as one bar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameBar {
    /// From the start of the first frame to the end of the last.
    pub during: Interval,
    /// Number of frames.
    pub count: usize,
    /// The longest frame; the first of equal ones.
    pub longest: FrameLine,
    /// Largest number of bytes allocated in one of the frames.
    pub most_allocated: u64,
}

/// Groups the frames that touch an interval into bars: one bar for the frames that begin in the same time slice, with
/// about `bins` slices in the interval. `frames` are those of one swap chain, in order. Slices stay in place when the
/// interval moves.
pub fn frame_bars(frames: &[FrameLine], interval: Interval, bins: usize) -> Vec<FrameBar> {
    let width = (interval.len() / bins.max(1) as i64).max(1);
    let mut bars: Vec<(i64, FrameBar)> = Vec::new();
    for frame in touching(frames, interval) {
        let bin = frame.interval.from.0.div_euclid(width);
        match bars.last_mut() {
            Some((last, bar)) if *last == bin => {
                bar.during.to = frame.interval.to;
                bar.count += 1;
                bar.most_allocated = bar.most_allocated.max(frame.sums.allocated_size);
                if frame.interval.len() > bar.longest.interval.len() {
                    bar.longest = *frame;
                }
            }
            _ => {
                let most_allocated = frame.sums.allocated_size;
                bars.push((bin, FrameBar { during: frame.interval, count: 1, longest: *frame, most_allocated }));
            }
        }
    }
    bars.into_iter().map(|(_, bar)| bar).collect()
}

/// Returns the frames that overlap an interval. `frames` are those of one swap chain, in order.
fn touching(frames: &[FrameLine], interval: Interval) -> &[FrameLine] {
    let from = frames.partition_point(|frame| frame.interval.to <= interval.from);
    let to = frames.partition_point(|frame| frame.interval.from < interval.to);
    frames.get(from..to).unwrap_or_default()
}

/// Statistics of frame times, in ticks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FrameTimes {
    /// Number of frames.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median; of an even number, the longer of the two in the middle.
    pub median: i64,
    /// 95th percentile: 95 % of the frames took this long or less.
    pub percentile_95: i64,
    /// Longest frame time.
    pub longest: i64,
}

impl FrameTimes {
    /// Computes the statistics; `None` without frames.
    pub fn of(frames: &[FrameLine]) -> Option<Self> {
        let mut lengths: Vec<i64> = frames.iter().map(|frame| frame.interval.len()).collect();
        lengths.sort_unstable();
        let count = lengths.len();
        let sum: i128 = lengths.iter().map(|&length| i128::from(length)).sum();
        Some(Self {
            count,
            mean: sum as f64 / count as f64,
            median: *lengths.get(count / 2)?,
            percentile_95: *lengths.get((count * 95).div_ceil(100).checked_sub(1)?)?,
            longest: *lengths.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(lengths: &[i64]) -> Vec<FrameLine> {
        let mut from = 0;
        let line = |(number, &length): (usize, &i64)| {
            let interval = Interval { from: Ticks(from), to: Ticks(from + length) };
            from += length;
            let sums = FrameSums { allocated_size: (length as u64).wrapping_mul(7) % 11, ..FrameSums::default() };
            FrameLine { number, interval, sums }
        };
        lengths.iter().enumerate().map(line).collect()
    }

    #[test]
    fn times_are_those_of_the_sorted_lengths() {
        assert_eq!(FrameTimes::of(&[]), None);
        let times = FrameTimes::of(&frames(&(1..=100).rev().collect::<Vec<_>>())).unwrap();
        assert_eq!((times.count, times.mean, times.median), (100, 50.5, 51));
        assert_eq!((times.percentile_95, times.longest), (95, 100));
        let one = FrameTimes::of(&frames(&[7])).unwrap();
        assert_eq!((one.median, one.percentile_95, one.longest), (7, 7, 7));
    }

    proptest! {
        #[test]
        fn no_frame_and_no_maximum_is_lost_in_bars(
            lengths in prop::collection::vec(0i64..40, 0..60), from in -10i64..600, len in 1i64..700, bins in 1usize..80,
        ) {
            let all = frames(&lengths);
            let interval = Interval { from: Ticks(from), to: Ticks(from + len) };
            let bars = frame_bars(&all, interval, bins);
            let shown: Vec<&FrameLine> =
                all.iter().filter(|f| f.interval.to > interval.from && f.interval.from < interval.to).collect();
            prop_assert_eq!(bars.iter().map(|bar| bar.count).sum::<usize>(), shown.len());
            let longest = |frames: &mut dyn Iterator<Item = i64>| frames.max();
            prop_assert_eq!(
                longest(&mut bars.iter().map(|bar| bar.longest.interval.len())),
                longest(&mut shown.iter().map(|frame| frame.interval.len()))
            );
            prop_assert_eq!(
                bars.iter().map(|bar| bar.most_allocated).max(),
                shown.iter().map(|frame| frame.sums.allocated_size).max()
            );
            // Full slices, plus a partial one at each end; the slice width is rounded down.
            prop_assert!(bars.len() <= 2 * bins + 3, "{} bars", bars.len());
            prop_assert!(bars.windows(2).all(|pair| pair[0].during.to <= pair[1].during.from));
        }
    }
}
