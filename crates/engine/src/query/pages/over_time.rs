//! Bytes committed in the reservations that hold live blocks, over time: the lines beside those of live bytes.
//!
//! At each moment the number is the `committed_bytes` of [`super::pages`], for groups of heaps.
//!
//! Cost: a parallel scan of the rows, and a second one if a reservation holds a block. Rows that are not alive at any of
//! the moments are passed over; of the others each is a search among the reservations of its process.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::model::{HeapId, ProcessId, Trace};
use crate::query::moments::places_alive;
use crate::query::{Cancel, Cancelled, Index};
use crate::tables::KeyedMap;
use crate::units::{Layer, Ticks};

/// Most moments of a line.
pub const MOST_MOMENTS: usize = 256;

/// Returns what is committed at each of some rising moments in the reservations that hold a live block of a line's heaps;
/// `None` where no known reservation holds one. `line_of` is the line of each heap of the trace, if it has one; heaps of
/// one line are of one process. Moments after the first [`MOST_MOMENTS`] are left out.
pub fn committed_over_time(
    index: &Index,
    line_of: &[Option<u32>],
    lines: usize,
    moments: &[Ticks],
    cancel: &Cancel,
) -> Result<Vec<Vec<Option<u64>>>, Cancelled> {
    let trace = index.trace();
    let moments = &moments[..moments.len().min(MOST_MOMENTS)];
    let wanted = Wanted { index, line_of, moments, reserved: ReservedOverTime::new(trace, moments) };
    let mut held: Vec<((u32, u32), Bits)> = wanted.held(cancel)?.into_iter().collect();
    held.sort_unstable_by_key(|(key, _)| *key);
    let mut known = vec![Bits::default(); lines];
    let mut holders: KeyedMap<u32, Vec<(u32, Bits)>> = KeyedMap::default();
    for ((line, reservation), bits) in held {
        if let Some(known) = known.get_mut(line as usize) {
            known.add(&bits);
            holders.entry(reservation).or_default().push((line, bits));
        }
    }
    let steps = if holders.is_empty() { vec![Steps::default(); lines] } else { wanted.committed(&holders, lines, cancel)? };
    Ok(known.iter().zip(&steps).map(|(known, steps)| steps.values(known, moments.len())).collect())
}

/// A set of moments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Bits([u64; MOST_MOMENTS / 64]);

impl Bits {
    fn has(&self, moment: usize) -> bool {
        self.0[moment / 64] >> (moment % 64) & 1 != 0
    }

    fn add_range(&mut self, range: Range<usize>) {
        for (word, bits) in self.0.iter_mut().enumerate() {
            let within = |moment: usize| moment.clamp(word * 64, word * 64 + 64) - word * 64;
            let (from, to) = (within(range.start), within(range.end));
            if from < to {
                *bits |= (u64::MAX >> (64 - (to - from))) << from;
            }
        }
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(bits, more)| *bits |= more);
    }

    /// The longest ranges of moments in the set within `range`.
    fn runs(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let from = (at..range.end).find(|&moment| self.has(moment))?;
            let to = (from..range.end).find(|&moment| !self.has(moment)).unwrap_or(range.end);
            at = to;
            Some(from..to)
        })
    }
}

/// The changes of a line from moment to moment. Sums of them are never negative and fit: ranges of one process that are
/// committed at a moment do not overlap.
#[derive(Clone, Debug)]
struct Steps([i128; MOST_MOMENTS + 1]);

impl Default for Steps {
    fn default() -> Self {
        Self([0; MOST_MOMENTS + 1])
    }
}

impl Steps {
    fn add(&mut self, moments: Range<usize>, bytes: u64) {
        self.0[moments.start] += i128::from(bytes);
        self.0[moments.end] -= i128::from(bytes);
    }

    fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(step, more)| *step += more);
    }

    fn values(&self, known: &Bits, moments: usize) -> Vec<Option<u64>> {
        let mut sum = 0i128;
        let value = |(moment, step): (usize, &i128)| {
            sum += step;
            known.has(moment).then(|| u64::try_from(sum).unwrap_or(u64::MAX))
        };
        self.0[..moments].iter().enumerate().map(value).collect()
    }
}

/// An address range that is reserved at some of the moments.
#[derive(Clone, Debug)]
struct Reserved {
    from: u64,
    to: u64,
    moments: Range<usize>,
    number: u32,
}

/// The address ranges that are reserved at some of the moments, of each process in layers whose ranges do not overlap.
/// Ranges that are reserved at the same moment do not, as far as events tell, so there are few layers.
#[derive(Debug, Default)]
struct ReservedOverTime(Vec<Vec<Vec<Reserved>>>);

impl ReservedOverTime {
    fn new(trace: &Trace, moments: &[Ticks]) -> Self {
        let mut of_process = vec![Vec::new(); trace.processes.len()];
        for (number, range) in (0..).zip(trace.reservations.iter()) {
            let moments = places_alive(moments, range.since, range.until);
            if !moments.is_empty() {
                of_process[range.process.0 as usize].push(Reserved { from: range.from, to: range.to, moments, number });
            }
        }
        Self(of_process.into_iter().map(layers).collect())
    }

    /// The ranges of a process that overlap `[from, to)`, each with those of some moments at which it was reserved.
    fn overlapping(
        &self,
        process: ProcessId,
        (from, to): (u64, u64),
        moments: &Range<usize>,
    ) -> impl Iterator<Item = (&Reserved, Range<usize>)> {
        let moments = moments.clone();
        self.0[process.0 as usize].iter().flat_map(move |layer| {
            let first = layer.partition_point(|range| range.to <= from);
            let moments = moments.clone();
            let ranges = layer[first..].iter().take_while(move |range| range.from < to);
            ranges.filter_map(move |range| {
                let both = moments.start.max(range.moments.start)..moments.end.min(range.moments.end);
                (!both.is_empty()).then_some((range, both))
            })
        })
    }
}

/// Divides ranges into as few lists as possible in which none overlap, each in the order of addresses.
fn layers(mut ranges: Vec<Reserved>) -> Vec<Vec<Reserved>> {
    ranges.sort_unstable_by_key(|range| (range.from, range.number));
    let mut layers: Vec<Vec<Reserved>> = Vec::new();
    // The end of each layer; the layer that ends first takes the next range, if it ends before it.
    let mut ends: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for range in ranges {
        let free = ends.peek().is_some_and(|Reverse((end, _))| *end <= range.from).then(|| ends.pop()).flatten();
        let layer = free.map_or(layers.len(), |Reverse((_, layer))| layer);
        if layer == layers.len() {
            layers.push(Vec::new());
        }
        ends.push(Reverse((range.to, layer)));
        layers[layer].push(range);
    }
    layers
}

/// A line, and a reservation that holds a live block of it at some moments.
type Held = KeyedMap<(u32, u32), Bits>;

/// A question, and the tables for all workers.
struct Wanted<'a> {
    index: &'a Index,
    line_of: &'a [Option<u32>],
    moments: &'a [Ticks],
    reserved: ReservedOverTime,
}

impl Wanted<'_> {
    /// Visits the rows of some heaps that are alive at a moment, each with its process, line, addresses and moments.
    fn visit<T: Default + Send>(
        &self,
        line_of: impl Fn(HeapId) -> Option<u32> + Sync,
        cancel: &Cancel,
        see: impl Fn(&mut T, (ProcessId, u32), (u64, u64), &Range<usize>) + Sync,
    ) -> Result<Vec<T>, Cancelled> {
        let trace = self.index.trace();
        let of_site = |heap: HeapId| line_of(heap).map(|line| (trace.heap(heap).process, line));
        let of_heap: Vec<_> = (0..trace.heaps.len() as u32).map(HeapId).map(of_site).collect();
        let [first, latest] = [self.moments.first(), self.moments.last()].map(|at| at.copied().unwrap_or(Ticks::BEFORE_TRACE));
        let (rows, deaths) = (self.index.visit(), trace.last_deaths());
        let parts = rows.fold_chunks(&rows.born_before(latest), cancel, T::default, |found, visited| {
            let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
            visited.each_alive(deaths, first, |i| {
                let Some(of) = of_heap[trace.site(sites[i]).heap.0 as usize] else { return };
                let moments = places_alive(self.moments, chunk.birth(i), chunk.death(i));
                if !moments.is_empty() {
                    let address = chunk.address(i);
                    see(found, of, (address, address.saturating_add(chunk.size(i))), &moments);
                }
            });
        })?;
        cancel.check()?;
        Ok(parts)
    }

    /// Finds the reservations that hold a live block of a line, and when.
    fn held(&self, cancel: &Cancel) -> Result<Held, Cancelled> {
        let trace = self.index.trace();
        let line_of = |heap: HeapId| {
            let has_pages = trace.heap(heap).layer != Layer::Commit;
            self.line_of.get(heap.0 as usize).copied().flatten().filter(|_| has_pages)
        };
        let parts = self.visit(line_of, cancel, |held: &mut Held, (process, line), (from, _), moments| {
            for (range, moments) in self.reserved.overlapping(process, (from, from.saturating_add(1)), moments) {
                held.entry((line, range.number)).or_default().add_range(moments);
            }
        })?;
        let mut all = Held::default();
        parts.into_iter().flatten().for_each(|(key, bits)| all.entry(key).or_default().add(&bits));
        Ok(all)
    }

    /// Adds up what is committed in the reservations that hold blocks, by line.
    fn committed(
        &self,
        holders: &KeyedMap<u32, Vec<(u32, Bits)>>,
        lines: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Steps>, Cancelled> {
        let trace = self.index.trace();
        let commit = |heap: HeapId| (trace.heap(heap).layer == Layer::Commit).then_some(0);
        let parts = self.visit(commit, cancel, |all: &mut Vec<Steps>, (process, _), (from, to), moments| {
            all.resize_with(lines, Steps::default);
            for (range, moments) in self.reserved.overlapping(process, (from, to), moments) {
                let bytes = to.min(range.to).saturating_sub(from.max(range.from));
                for (line, bits) in holders.get(&range.number).into_iter().flatten() {
                    bits.runs(moments.clone()).for_each(|run| all[*line as usize].add(run, bytes));
                }
            }
        })?;
        let mut all = vec![Steps::default(); lines];
        parts.iter().for_each(|part| all.iter_mut().zip(part).for_each(|(steps, more)| steps.join(more)));
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_moments_know_their_runs() {
        let mut bits = Bits::default();
        [3..5, 60..70, 128..192, 255..256, 9..9].into_iter().for_each(|range| bits.add_range(range));
        let runs: Vec<_> = bits.runs(0..MOST_MOMENTS).collect();
        assert_eq!(runs, [3..5, 60..70, 128..192, 255..256]);
        assert_eq!(bits.runs(4..64).collect::<Vec<_>>(), [4..5, 60..64]);
        bits.add_range(0..MOST_MOMENTS);
        assert_eq!(bits.runs(0..MOST_MOMENTS).collect::<Vec<_>>(), vec![0..MOST_MOMENTS]);
    }

    #[test]
    fn layers_never_overlap_and_are_few() {
        let range = |(number, (from, to))| Reserved { from, to, moments: 0..1, number };
        let given = [(0, 100), (10, 20), (30, 40), (100, 110), (15, 35), (40, 41)];
        let layers = layers((0..).zip(given).map(range).collect());
        assert_eq!(layers.len(), 3, "three hold 15");
        for layer in &layers {
            assert!(layer.windows(2).all(|pair| pair[0].to <= pair[1].from), "{layer:?}");
        }
        assert_eq!(layers.iter().map(Vec::len).sum::<usize>(), given.len());
    }
}
