//! Sums at checkpoints: for each pair of checkpoints and each site the rows born
//! before the one that died before the other. With `G(i, j)` for them, and `A(i)`
//! for all rows born before i, the classes of the interval from i to j are
//!
//! ```text
//! AOFI = G(i,j) − G(i,i)             AOFO = A(i) − G(i,j)
//! AIFI = G(j,j) − G(i,j)             AIFO = A(j) − A(i) − AIFI
//! ```
//!
//! A sum is one word of the kind that its site needs ([`super::words`]). The number of
//! checkpoints follows from the memory that is granted.
//!
//! Cost of building: two passes over the rows in their own order, parallel.

use rayon::prelude::*;

use super::edges::Changes;
use super::order::{Order, Place, by_chunk};
use super::words::{Slot, Word};
use crate::model::{CHUNK, SiteId, Trace};
use crate::query::{Bucket, ByClass, Cancel, Cancelled, LifetimeClass};
use crate::units::Ticks;

/// Layers of sums, one behind the other, for the sites of each kind of word.
#[derive(Debug, Default)]
struct Sums {
    narrow: Vec<u32>,
    wide: Vec<u64>,
    full: Vec<[u64; 2]>,
}

/// Those of the layers whose rows were born between two neighbours.
struct Strip<'a> {
    narrow: &'a mut [u32],
    wide: &'a mut [u64],
    full: &'a mut [[u64; 2]],
}

/// The sums at all pairs of checkpoints.
#[derive(Debug)]
pub(super) struct Table {
    /// From "before everything" to "behind everything".
    checkpoints: Vec<(Ticks, Place)>,
    pub(super) slots: Vec<Slot>,
    counts: [usize; 3],
    sums: Sums,
}

/// More checkpoints than this are of no use.
const MOST_CHECKPOINTS: usize = 64;

impl Table {
    /// Builds the sums from those of whole sites, at `forced` checkpoints or as many
    /// as `budget` bytes allow.
    pub(super) fn build(
        trace: &Trace,
        order: &Order,
        by_site: &[Bucket],
        budget: usize,
        forced: Option<usize>,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let mut counts = [0; 3];
        let slots: Vec<Slot> = by_site.iter().map(|&sum| Slot::for_sum(sum, &mut counts)).collect();
        let layer_bytes = counts[0] * 4 + counts[1] * 8 + counts[2] * 16;
        let affordable = (0..=MOST_CHECKPOINTS).rev().find(|k| layers(k + 1).saturating_mul(layer_bytes) <= budget);
        let mut checkpoints = vec![(Ticks::BEFORE_TRACE, Place::default())];
        checkpoints.extend(pick(trace, order, forced.or(affordable).unwrap_or(0)));
        checkpoints.push((Ticks::NEVER, Order::end(&trace.rows)));
        let all = layers(checkpoints.len() - 1);
        let sums = Sums { narrow: vec![0; all * counts[0]], wide: vec![0; all * counts[1]], full: vec![[0; 2]; all * counts[2]] };
        let mut table = Self { checkpoints, slots, counts, sums };
        table.count_rows(trace, order, cancel)?;
        table.add_up();
        Ok(table)
    }

    /// Number of strips of births, and of deaths that happened.
    fn strips(&self) -> usize {
        self.checkpoints.len() - 1
    }

    /// Each row into the layer of its strip and the strip of its death.
    fn count_rows(&mut self, trace: &Trace, order: &Order, cancel: &Cancel) -> Result<(), Cancelled> {
        let Self { checkpoints, slots, counts, sums } = self;
        let strips = checkpoints.len() - 1;
        let narrow = split_strips(&mut sums.narrow, strips, counts[0]);
        let wide = split_strips(&mut sums.wide, strips, counts[1]);
        let full = split_strips(&mut sums.full, strips, counts[2]);
        let work: Vec<(usize, Strip<'_>)> =
            narrow.zip(wide).zip(full).map(|((narrow, wide), full)| Strip { narrow, wide, full }).enumerate().collect();
        work.into_par_iter().try_for_each(|(s, strip)| {
            let (from, to) = (checkpoints[s].1, checkpoints[s + 1].1);
            let mut put = |site: SiteId, size: u64, death: Ticks| {
                let cell = match death {
                    Ticks::NEVER => strips - s,
                    _ => checkpoints[s + 1..].iter().take_while(|(t, _)| *t <= death).count(),
                };
                match slots[site.0 as usize] {
                    Slot::None => {}
                    Slot::Narrow(i) => add_row(&mut strip.narrow[cell * counts[0] + i as usize], size),
                    Slot::Wide(i) => add_row(&mut strip.wide[cell * counts[1] + i as usize], size),
                    Slot::Full(i) => add_row(&mut strip.full[cell * counts[2] + i as usize], size),
                }
            };
            for range in by_chunk(from.birth, to.birth) {
                cancel.check()?;
                let chunk = trace.rows.chunk(range.start as usize / CHUNK);
                let first = chunk.first().0;
                for at in (range.start - first) as usize..(range.end - first) as usize {
                    if !order.late.has(chunk.id(at)) {
                        put(chunk.sites()[at], chunk.size(at), chunk.death(at));
                    }
                }
            }
            for &id in &trace.rows.out_of_order()[from.late as usize..to.late as usize] {
                put(trace.rows.site(id), trace.rows.size(id), trace.rows.death(id));
            }
            Ok(())
        })
    }

    /// Sums over earlier deaths, then over earlier births.
    fn add_up(&mut self) {
        let (strips, counts) = (self.strips(), self.counts);
        rayon::scope(|scope| {
            scope.spawn(|_| add_up(&mut self.sums.narrow, strips, counts[0]));
            scope.spawn(|_| add_up(&mut self.sums.wide, strips, counts[1]));
            scope.spawn(|_| add_up(&mut self.sums.full, strips, counts[2]));
        });
    }

    /// The checkpoint next to a place.
    pub(super) fn nearest(&self, place: Place) -> usize {
        (0..self.checkpoints.len()).min_by_key(|&i| self.checkpoints[i].1.distance(place)).unwrap_or(0)
    }

    /// Tick and place of a checkpoint.
    pub(super) fn checkpoint(&self, i: usize) -> (Ticks, Place) {
        self.checkpoints[i]
    }

    /// The classes of the interval between checkpoints `i` and `j`, `i <= j`, with what
    /// `changes` add, for sites from `first` on.
    pub(super) fn classes(&self, (i, j): (usize, usize), changes: &[Changes], first: usize, out: &mut [ByClass]) {
        let strips = self.strips();
        let both = |i: usize, j: usize| (i > 0).then(|| layer(strips, i - 1, j - i));
        let layers = Layers {
            g: both(i, j),
            dead_from: both(i, i),
            dead_to: both(j, j),
            born_from: (i > 0).then(|| layer(strips, i - 1, strips - i + 1)),
            born_to: (j > 0).then(|| layer(strips, j - 1, strips - j + 1)),
        };
        for (out, slot) in out.iter_mut().zip(&self.slots[first..]) {
            match *slot {
                Slot::None => {}
                Slot::Narrow(at) => {
                    let changes = changes.iter().map(|c| &c.narrow[at as usize]);
                    *out = layers.classes(&self.sums.narrow, self.counts[0], at, changes);
                }
                Slot::Wide(at) => {
                    let changes = changes.iter().map(|c| &c.wide[at as usize]);
                    *out = layers.classes(&self.sums.wide, self.counts[1], at, changes);
                }
                Slot::Full(at) => {
                    let changes = changes.iter().map(|c| &c.full[at as usize]);
                    *out = layers.classes(&self.sums.full, self.counts[2], at, changes);
                }
            }
        }
    }

    /// No changes of any site.
    pub(super) fn no_changes(&self) -> Changes {
        let [narrow, wide, full] = self.counts;
        Changes {
            narrow: vec![Default::default(); narrow],
            wide: vec![Default::default(); wide],
            full: vec![Default::default(); full],
        }
    }

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        let Sums { narrow, wide, full } = &self.sums;
        self.slots.capacity() * size_of::<Slot>() + narrow.capacity() * 4 + wide.capacity() * 8 + full.capacity() * 16
    }
}

/// The layers that the classes of one pair of checkpoints need; none is all 0.
struct Layers {
    g: Option<usize>,
    dead_from: Option<usize>,
    dead_to: Option<usize>,
    born_from: Option<usize>,
    born_to: Option<usize>,
}

impl Layers {
    #[inline]
    fn classes<'a, W: Word + 'a>(
        &self,
        words: &[W],
        count: usize,
        at: u32,
        changes: impl Iterator<Item = &'a [W; 4]>,
    ) -> ByClass {
        let get = |layer: Option<usize>| layer.map_or_else(W::default, |l| words[l * count + at as usize]);
        let (g, dead_from, dead_to) = (get(self.g), get(self.dead_from), get(self.dead_to));
        let aifi = dead_to.minus(g);
        let born = get(self.born_to).minus(get(self.born_from));
        // In the order of the classes.
        let mut sums = [aifi, born.minus(aifi), g.minus(dead_from), get(self.born_from).minus(g)];
        for change in changes {
            sums.iter_mut().zip(change).for_each(|(sum, change)| *sum = sum.plus(*change));
        }
        let mut classes = ByClass::default();
        for (class, sum) in LifetimeClass::ALL.into_iter().zip(sums) {
            *classes.get_mut(class) = sum.bucket();
        }
        classes
    }
}

/// At most `count` checkpoints with about equal numbers of events between them.
fn pick(trace: &Trace, order: &Order, count: usize) -> Vec<(Ticks, Place)> {
    if count == 0 {
        return Vec::new();
    }
    let cuts = order.cuts(&trace.rows, Place::default(), Order::end(&trace.rows), (8 * count).max(256));
    let all = Order::end(&trace.rows).events();
    let wanted = |k: usize| all * k as u64 / (count as u64 + 1);
    let nearest = |k: usize| cuts.iter().copied().min_by_key(|(_, place)| place.events().abs_diff(wanted(k)));
    let mut picked: Vec<(Ticks, Place)> = (1..=count).filter_map(nearest).collect();
    picked.dedup_by_key(|(t, _)| *t);
    picked
}

/// Layers of `strips` strips: one for each later strip of deaths, one for all.
fn layers(strips: usize) -> usize {
    strips * (strips + 1) / 2 + strips
}

/// The layer of births up to strip `s` and deaths up to strip `s + cell`; the cell
/// behind the last is "all, dead or not".
fn layer(strips: usize, s: usize, cell: usize) -> usize {
    layers(strips) - layers(strips - s) + cell
}

/// The layers of each strip, to be written side by side.
fn split_strips<W>(words: &mut [W], strips: usize, count: usize) -> impl Iterator<Item = &mut [W]> {
    let mut rest = words;
    (0..strips).map(move |s| {
        let (own, others) = std::mem::take(&mut rest).split_at_mut((strips - s + 1) * count);
        rest = others;
        own
    })
}

#[inline]
fn add_row<W: Word>(word: &mut W, size: u64) {
    *word = word.plus(W::row(size));
}

/// How many words one worker adds at a time.
const GRAIN: usize = 1 << 14;

fn add_up<W: Word>(words: &mut [W], strips: usize, count: usize) {
    if count == 0 {
        return;
    }
    let own: Vec<&mut [W]> = split_strips(words, strips, count).collect();
    own.into_par_iter().for_each(|strip| {
        for at in count..strip.len() {
            strip[at] = strip[at].plus(strip[at - count]);
        }
    });
    let mut rest = words;
    for s in 0..strips.saturating_sub(1) {
        let (own, later) = rest.split_at_mut((strips - s + 1) * count);
        let next = &mut later[..(strips - s) * count];
        next.par_chunks_mut(GRAIN).zip(own[count..].par_chunks(GRAIN)).for_each(|(next, own)| {
            next.iter_mut().zip(own).for_each(|(word, before)| *word = word.plus(*before));
        });
        rest = later;
    }
}

/// Counts and sizes of all rows of each site; `None` if they could overflow a sum.
pub(super) fn whole_sites(trace: &Trace, cancel: &Cancel) -> Result<Option<Vec<Bucket>>, Cancelled> {
    let chunks: Vec<_> = trace.rows.chunks().collect();
    let per_worker = chunks.len().div_ceil(rayon::current_num_threads()).max(1);
    let parts: Result<Vec<(Vec<Bucket>, u128)>, Cancelled> = chunks
        .par_chunks(per_worker)
        .map(|chunks| {
            let mut sums = vec![Bucket::default(); trace.sites.len()];
            let mut all = 0u128;
            for chunk in chunks {
                cancel.check()?;
                for (at, site) in chunk.sites().iter().enumerate() {
                    let size = chunk.size(at);
                    sums[site.0 as usize].add_row(size);
                    all += u128::from(size);
                }
            }
            Ok((sums, all))
        })
        .collect();
    let mut sums = vec![Bucket::default(); trace.sites.len()];
    let mut all = 0;
    for (part, size) in parts? {
        sums.iter_mut().zip(part).for_each(|(a, b)| a.add(b));
        all += size;
    }
    Ok((all <= i64::MAX as u128).then_some(sums))
}
