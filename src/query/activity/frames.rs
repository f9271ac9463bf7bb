//! Frames of a game, and what its process allocated and freed in each.
//!
//! A frame is the time between two presents of one swap chain, named by its number in that chain,
//! from 0. Layers nest, so sums are of one layer. Sums are those of rows: allocations born in the
//! frame, frees of what died in it.
//!
//! Cost: one parallel scan of the rows, with a search among the frames for each birth and death; 32
//! bytes a frame for each thread. Of more than [`MOST_FRAMES`] frames the first are looked at. What is
//! made of lines that are there is a pass over those of the interval.

use crate::events::PresentApi;
use crate::model::{PresentLane, ProcessId, Trace};
use crate::query::{Cancel, Cancelled, Index, LifetimeClass, Mask};
use crate::tables::KeyedSet;
use crate::units::{Interval, Layer, Ticks};

/// Frames that are looked at in one question: more than an hour of a fast game.
pub const MOST_FRAMES: usize = 1 << 18;

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
    let allocating: KeyedSet<ProcessId> = trace.heaps.iter().map(|heap| heap.process).collect();
    let lanes = frame_lanes(trace).into_iter().filter(|(_, lane)| process.is_none_or(|process| process == lane.process));
    // Of several that are as good the first, with most frames.
    lanes.min_by_key(|(_, lane)| !allocating.contains(&lane.process)).map(|(number, _)| number)
}

/// What a frame is called.
pub fn frame_name(number: usize) -> String {
    format!("frame {number}")
}

/// What a swap chain is called.
pub fn chain_label(lane: &PresentLane) -> String {
    match lane.api {
        PresentApi::Dxgi => format!("swap chain {:#x} of DXGI", lane.swap_chain),
        PresentApi::D3d9 => format!("swap chain {:#x} of Direct3D 9", lane.swap_chain),
        PresentApi::Marks => "frames that it marked".to_owned(),
    }
}

/// The frames of an interval in order, each with what the chain's process allocated and freed in it.
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

/// Frames that are drawn in one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameBar {
    /// From the begin of the first to the end of the last.
    pub during: Interval,
    /// How many.
    pub count: usize,
    /// The longest of them, of equal ones the first.
    pub longest: FrameLine,
    /// The most bytes that one of them allocated.
    pub most_allocated: u64,
}

/// Some frames of one swap chain, which stand in order, as far as they touch an interval: those that
/// begin in the same of about `bins` equal parts of it together. The parts stay where they are when
/// the interval moves.
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

/// Those that have any part in an interval, of frames of one swap chain in order.
fn touching(frames: &[FrameLine], interval: Interval) -> &[FrameLine] {
    let from = frames.partition_point(|frame| frame.interval.to <= interval.from);
    let to = frames.partition_point(|frame| frame.interval.from < interval.to);
    frames.get(from..to).unwrap_or_default()
}

/// How long some frames took, in ticks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FrameTimes {
    /// How many.
    pub count: usize,
    /// All of them by their number.
    pub mean: f64,
    /// Half of them took less; of an even number the longer one in the middle.
    pub median: i64,
    /// So long or shorter were 95 of a hundred.
    pub percentile_95: i64,
    /// The longest.
    pub longest: i64,
}

impl FrameTimes {
    /// Of some frames; `None` of none.
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
            // Whole parts, and one cut at each end, of a width that is rounded down.
            prop_assert!(bars.len() <= 2 * bins + 3, "{} bars", bars.len());
            prop_assert!(bars.windows(2).all(|pair| pair[0].during.to <= pair[1].during.from));
        }
    }
}
