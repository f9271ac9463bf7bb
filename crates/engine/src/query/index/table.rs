//! Sums of all sites at checkpoints. With `A(a)` for the rows born before a, and `L(a, b)` for those of them that last
//! (that die at b, later, or never), the classes of the interval from a to b are
//!
//! ```text
//! AOFO = L(a,b)                      AOFI = L(a,a) − L(a,b)
//! AIFO = L(b,b) − L(a,b)             AIFI = A(b) − A(a) − AIFO
//! ```
//!
//! Only `L(a, b)` depends on both edges. Between a checkpoint and an edge only long lifetimes change it, and these are
//! quickly distinguished from others. So `A(k)` and `L(k, k)` are stored for many checkpoints, `L(i, j)` for pairs of
//! few.
//!
//! A sum is one word of the kind that its site needs ([`super::words`]). The number of checkpoints depends on the
//! memory that is granted.

use rayon::prelude::*;

use super::checkpoints::{Checkpoints, Moment};
use super::draft::Draft;
use super::edges::{ChangeColumns, EdgeWalk, Known, SumChanges};
use super::order::EventOrder;
use super::outliving::Outliving;
use super::words::{Full, SumLayers, Word, WordKind};
use crate::model::{CHUNK, Rows, Trace};
use crate::query::scan::SiteSums;
use crate::query::{Bucket, ByClass, Cancel, Cancelled, LifetimeClass};

/// The sums at all checkpoints.
#[derive(Debug)]
pub(super) struct SumTable {
    checkpoints: Checkpoints,
    outliving: Outliving,
    /// The kind of word of each site.
    kinds: Vec<WordKind>,
    /// Number of words of each kind before each [`GRAIN`] sites.
    starts: Vec<[usize; 3]>,
    narrow: SumLayers<u32>,
    wide: SumLayers<u64>,
    full: SumLayers<Full>,
}

/// Number of sites that one worker fills at a time.
pub(super) const GRAIN: usize = 1 << 12;

/// The checkpoints that a query starts from.
pub(super) struct Base {
    /// The checkpoints nearest to the two edges.
    born: [usize; 2],
    /// The last checkpoints at or before the two edges. From there on, a walk reads all rows in the order in which they lie in
    /// memory.
    alive: [usize; 2],
    /// The coarse checkpoints nearest to the two edges, or the last checkpoint at or before both.
    through: (usize, usize),
}

impl SumTable {
    /// Builds the table from the sums of whole sites, at `forced` checkpoints or at as many as `budget` bytes allow.
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
        let outliving = Outliving::new(&trace.rows, &checkpoints, cancel)?;
        Ok(Self { checkpoints, outliving, kinds, starts, narrow, wide, full })
    }

    /// Plans the walk from the checkpoints in `base` to an interval.
    pub(super) fn walk(&self, base: &Base, from: Moment, to: Moment) -> EdgeWalk<'_> {
        let at = |k: usize| self.checkpoints.at(k);
        let known =
            Known { born: base.born.map(at), alive: base.alive.map(at), through: (at(base.through.0), at(base.through.1)) };
        EdgeWalk::new(Some((&self.checkpoints, &self.outliving)), known, from, to)
    }

    /// Returns the checkpoints from which an interval is quickly reached.
    pub(super) fn base(&self, from: Moment, to: Moment) -> Base {
        let checkpoints = &self.checkpoints;
        let born = [from, to].map(|edge| checkpoints.nearest(edge.1));
        let alive = [from, to].map(|edge| checkpoints.before(edge.0, 0));
        let first = checkpoints.nearest_coarse(from.1, 0);
        let is_narrow = alive[0] == alive[1];
        let through = if is_narrow { (alive[0], alive[0]) } else { (first, checkpoints.nearest_coarse(to.1, first)) };
        Base { born, alive, through }
    }

    /// Returns changes that are 0 for all sites.
    pub(super) fn no_changes(&self) -> SumChanges {
        let sites = self.kinds.len();
        if self.full.sites == 0 {
            SumChanges::Wide(ChangeColumns::new(sites))
        } else {
            SumChanges::Full(ChangeColumns::new(sites))
        }
    }

    /// Returns the sums by lifetime class at the end of a walk from `base` with `changes`, in place of the values in `sums`.
    pub(super) fn classes(&self, base: &Base, changes: &[SumChanges], sums: Vec<ByClass>) -> Vec<ByClass> {
        if self.full.sites == 0 {
            self.with_changes(base, &changes.iter().filter_map(SumChanges::wide).collect::<Vec<_>>(), sums)
        } else {
            self.with_changes(base, &changes.iter().filter_map(SumChanges::full).collect::<Vec<_>>(), sums)
        }
    }

    fn with_changes<W: Word>(&self, base: &Base, changes: &[&ChangeColumns<W>], mut by_site: Vec<ByClass>) -> Vec<ByClass> {
        by_site.par_chunks_mut(GRAIN).enumerate().for_each(|(grain, out)| self.fill(base, changes, grain, out));
        by_site
    }

    /// Computes the sums by lifetime class for one grain of sites.
    fn fill<W: Word>(&self, base: &Base, changes: &[&ChangeColumns<W>], grain: usize, out: &mut [ByClass]) {
        let c = &self.checkpoints;
        let born = base.born.map(|k| c.born(k));
        let [from, to] = base.alive.map(|k| c.lasting(k, k));
        let lasting = [from, to, c.lasting(base.through.0, base.through.1)];
        let [mut narrow, mut wide, mut full] = self.starts[grain];
        let first = grain * GRAIN;
        for (site, out) in (first..).zip(out) {
            let mut sums: [W; 5] = match self.kinds[site] {
                WordKind::None => {
                    *out = ByClass::default();
                    continue;
                }
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

    /// Returns the bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        let others = self.outliving.heap_bytes() + self.kinds.capacity() + self.starts.capacity() * size_of::<[usize; 3]>();
        others + self.narrow.heap_bytes() + self.wide.heap_bytes() + self.full.heap_bytes()
    }
}

/// Derives the classes from the sums of rows born before either edge, alive at either edge, and alive throughout.
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
    /// Returns the sums of one site in some layers, and advances `at` to the next site.
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

/// Returns the bytes of all rows from number `first` on.
pub(super) fn size_from(rows: &Rows, first: usize) -> u128 {
    let chunks: Vec<_> = (first / CHUNK..rows.chunks().len()).collect();
    let size_of = |&i: &usize| {
        let chunk = rows.chunk(i);
        (first.saturating_sub(i * CHUNK)..chunk.len()).map(|at| u128::from(chunk.size(at))).sum::<u128>()
    };
    chunks.par_iter().map(size_of).sum()
}

/// Returns count and size of all rows of each site, and the bytes of all rows.
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
