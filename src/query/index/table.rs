//! Sums of all sites at checkpoints. With `A(a)` for the rows born before a, and
//! `L(a, b)` for those of them that last: die at b, later, or never, the classes of
//! the interval from a to b are
//!
//! ```text
//! AOFO = L(a,b)                      AOFI = L(a,a) − L(a,b)
//! AIFO = L(b,b) − L(a,b)             AIFI = A(b) − A(a) − AIFO
//! ```
//!
//! Only `L(a, b)` depends on both edges, and on the way from a checkpoint to an edge
//! it changes with long lives alone, which are quickly told from the others. So
//! `A(k)` and `L(k, k)` are kept for many checkpoints, `L(i, j)` for pairs of few.
//!
//! A sum is one word of the kind that its site needs ([`super::words`]). The number of
//! checkpoints follows from the memory that is granted.

use rayon::prelude::*;

use super::checkpoints::{Checkpoints, Moment};
use super::draft::Draft;
use super::edges::{ChangeColumns, EdgeWalk, SumChanges};
use super::order::{EventOrder, EventPosition};
use super::words::{Full, SumLayers, Word, WordKind};
use crate::model::{CHUNK, Rows, Trace};
use crate::query::scan::SiteSums;
use crate::query::{Bucket, ByClass, Cancel, Cancelled, LifetimeClass};

/// The sums at all checkpoints.
#[derive(Debug)]
pub(super) struct SumTable {
    checkpoints: Checkpoints,
    /// The kind of each site's words.
    kinds: Vec<WordKind>,
    /// How many words of each kind lie before each [`GRAIN`] sites.
    starts: Vec<[usize; 3]>,
    narrow: SumLayers<u32>,
    wide: SumLayers<u64>,
    full: SumLayers<Full>,
}

/// Sites that one worker fills at a time.
pub(super) const GRAIN: usize = 1 << 12;

/// The checkpoints that a question begins with.
pub(super) struct Base {
    /// Next to both edges.
    pub(super) edges: [usize; 2],
    /// The same among the coarse ones.
    pub(super) pair: (usize, usize),
}

impl SumTable {
    /// Builds the sums from those of whole sites, at `forced` checkpoints or as many
    /// as `budget` bytes allow.
    pub(super) fn build(
        trace: &Trace,
        order: &EventOrder,
        by_site: &[Bucket],
        budget: usize,
        forced: Option<usize>,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let kinds: Vec<WordKind> = by_site.iter().map(|&sum| WordKind::of(sum)).collect();
        let mut counts = [0; 4];
        let mut starts = Vec::with_capacity(kinds.len().div_ceil(GRAIN));
        for kinds in kinds.chunks(GRAIN) {
            starts.push([counts[0], counts[1], counts[2]]);
            kinds.iter().for_each(|&kind| counts[kind as usize] += 1);
        }
        let layer_bytes = counts[0] * size_of::<u32>() + counts[1] * size_of::<u64>() + counts[2] * size_of::<Full>();
        let count = forced.unwrap_or_else(|| Checkpoints::affordable(budget / layer_bytes.max(1)));
        let checkpoints = Checkpoints::new(trace, order, count);
        let draft = Draft::new(trace, &checkpoints, &kinds, cancel)?;
        let (narrow, wide, full) = draft.add_up();
        Ok(Self { checkpoints, kinds, starts, narrow, wide, full })
    }

    /// The way from there to an interval.
    pub(super) fn walk(&self, base: &Base, from: Moment, to: Moment) -> EdgeWalk {
        let (i, j) = base.pair;
        let at = |k: usize| self.checkpoints.at(k);
        EdgeWalk::new(base.edges.map(at), (at(i), at(j)), from, to)
    }

    /// The checkpoints next to the edges of an interval.
    pub(super) fn nearest(&self, from: EventPosition, to: EventPosition) -> Base {
        let checkpoints = &self.checkpoints;
        let first = checkpoints.nearest_coarse(from, 0);
        let pair = (first, checkpoints.nearest_coarse(to, first));
        Base { edges: [checkpoints.nearest(from), checkpoints.nearest(to)], pair }
    }

    /// No changes of any site.
    pub(super) fn no_changes(&self) -> SumChanges {
        let sites = self.kinds.len();
        if self.full.sites == 0 {
            SumChanges::Wide(ChangeColumns::new(sites))
        } else {
            SumChanges::Full(ChangeColumns::new(sites))
        }
    }

    /// The classes of the interval that `base` and `changes` say.
    pub(super) fn classes(&self, base: &Base, changes: &[SumChanges]) -> Vec<ByClass> {
        if self.full.sites == 0 {
            self.with_changes(base, &changes.iter().filter_map(SumChanges::wide).collect::<Vec<_>>())
        } else {
            self.with_changes(base, &changes.iter().filter_map(SumChanges::full).collect::<Vec<_>>())
        }
    }

    fn with_changes<W: Word>(&self, base: &Base, changes: &[&ChangeColumns<W>]) -> Vec<ByClass> {
        let mut by_site = vec![ByClass::default(); self.kinds.len()];
        by_site.par_chunks_mut(GRAIN).enumerate().for_each(|(grain, out)| self.fill(base, changes, grain, out));
        by_site
    }

    /// The classes of the sites of one grain.
    fn fill<W: Word>(&self, base: &Base, changes: &[&ChangeColumns<W>], grain: usize, out: &mut [ByClass]) {
        let [a, b] = base.edges;
        let (i, j) = base.pair;
        let c = &self.checkpoints;
        let born = [c.born(a), c.born(b)];
        let lasting = [c.lasting(a, a), c.lasting(b, b), c.lasting(i, j)];
        let [mut narrow, mut wide, mut full] = self.starts[grain];
        let first = grain * GRAIN;
        for (site, out) in (first..).zip(out) {
            let mut sums: [W; 5] = match self.kinds[site] {
                WordKind::None => continue,
                WordKind::Narrow => self.narrow.sums(born, lasting, &mut narrow),
                WordKind::Wide => self.wide.sums(born, lasting, &mut wide),
                WordKind::Full => self.full.sums(born, lasting, &mut full),
            };
            for columns in changes {
                columns.add_to(site, &mut sums);
            }
            *out = classes(sums);
        }
    }

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        let others = self.kinds.capacity() + self.starts.capacity() * size_of::<[usize; 3]>();
        others + self.narrow.heap_bytes() + self.wide.heap_bytes() + self.full.heap_bytes()
    }
}

/// The classes that follow from what was born before both edges, was alive at them, and
/// lives through the interval.
pub(super) fn classes<W: Word>([born, all, alive_from, alive_to, through]: [W; 5]) -> ByClass {
    let stayed = alive_to.minus(through);
    let mut classes = ByClass::default();
    *classes.get_mut(LifetimeClass::Aifi) = all.minus(born).minus(stayed).bucket();
    *classes.get_mut(LifetimeClass::Aifo) = stayed.bucket();
    *classes.get_mut(LifetimeClass::Aofi) = alive_from.minus(through).bucket();
    *classes.get_mut(LifetimeClass::Aofo) = through.bucket();
    classes
}

impl<N: Word> SumLayers<N> {
    /// The sums of one site in some layers; the next site is next.
    #[inline]
    fn sums<W: Word>(&self, born: [Option<usize>; 2], lasting: [Option<usize>; 3], at: &mut usize) -> [W; 5] {
        let get = |words: &[N], layer: Option<usize>| {
            layer.map_or_else(W::default, |layer| W::of(words[layer * self.sites + *at].bucket()))
        };
        let [a, b] = born.map(|layer| get(&self.born, layer));
        let [c, d, e] = lasting.map(|layer| get(&self.lasting, layer));
        *at += 1;
        [a, b, c, d, e]
    }

    fn heap_bytes(&self) -> usize {
        (self.born.capacity() + self.lasting.capacity()) * size_of::<N>()
    }
}

/// Bytes of all rows from a number on.
pub(super) fn size_from(rows: &Rows, first: usize) -> u128 {
    let chunks: Vec<_> = (first / CHUNK..rows.chunks().len()).collect();
    let size_of = |&i: &usize| {
        let chunk = rows.chunk(i);
        (first.saturating_sub(i * CHUNK)..chunk.len()).map(|at| u128::from(chunk.size(at))).sum::<u128>()
    };
    chunks.par_iter().map(size_of).sum()
}

/// Counts and sizes of all rows of each site, and the bytes of all.
pub(super) fn whole_sites(trace: &Trace, cancel: &Cancel) -> Result<(Vec<Bucket>, u128), Cancelled> {
    let chunks: Vec<_> = trace.rows.chunks().collect();
    let per_worker = chunks.len().div_ceil(rayon::current_num_threads()).max(1);
    let sums = SiteSums::<1>::new(trace.sites.len());
    let sizes: Result<Vec<u128>, Cancelled> = chunks
        .par_chunks(per_worker)
        .map(|chunks| {
            let mut of_worker = sums.worker();
            let mut all = 0u128;
            for chunk in chunks {
                cancel.check()?;
                for (at, site) in chunk.sites().iter().enumerate() {
                    let size = chunk.size(at);
                    of_worker.add_row(site.0, 0, size);
                    all += u128::from(size);
                }
            }
            of_worker.finish();
            Ok(all)
        })
        .collect();
    let all = sizes?.into_iter().sum();
    let sums = sums.into_buckets().into_iter().map(|[sum]| sum).collect();
    Ok((sums, all))
}
