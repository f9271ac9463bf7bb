//! Filling of the layers of a table: each row is added to the layer where its lifetime begins to count and subtracted
//! where it ends, then layers are added up.
//!
//! Cost: one pass over the rows, parallel over the strips between checkpoints.

use rayon::prelude::*;

use super::checkpoints::Checkpoints;
use super::order::by_chunk;
use super::words::{Full, SumLayers, Word, WordKind};
use crate::model::{CHUNK, SiteId, Trace};
use crate::query::{Cancel, Cancelled};
use crate::units::Ticks;

/// The layers before they are added up.
pub(super) struct Draft<'a> {
    checkpoints: &'a Checkpoints,
    narrow: Parts<u32>,
    wide: Parts<u64>,
    full: Parts<Full>,
}

/// The layers for one kind of word. Births of a strip are written by a single worker. Lifetimes that span several
/// strips are few and are written by all workers together.
struct Parts<W: Word> {
    sites: usize,
    born: Vec<W>,
    lasting: Vec<W::Shared>,
}

/// The part of the layers that one worker writes to.
struct Strip<'a, W: Word> {
    sites: usize,
    born: &'a mut [W],
    lasting: &'a [W::Shared],
}

/// The layers of lasting rows that a row is added to, and the one it is subtracted from.
struct Life {
    begin: Option<usize>,
    pair: Option<usize>,
    end: Option<usize>,
}

/// Location of a site's sums: the kind of word, and the index among the sites of that kind.
#[derive(Clone, Copy)]
struct Slot(WordKind, u32);

impl<'a> Draft<'a> {
    /// Adds all rows to their layers.
    pub(super) fn new(
        trace: &Trace,
        checkpoints: &'a Checkpoints,
        kinds: &[WordKind],
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let mut counts = [0; 4];
        let slot = |&kind: &WordKind| {
            counts[kind as usize] += 1;
            Slot(kind, counts[kind as usize] - 1)
        };
        let slots: Vec<Slot> = kinds.iter().map(slot).collect();
        let [narrow, wide, full, _] = counts.map(|count| count as usize);
        let mut draft = Self {
            checkpoints,
            narrow: Parts::new(checkpoints, narrow),
            wide: Parts::new(checkpoints, wide),
            full: Parts::new(checkpoints, full),
        };
        let strips = draft.narrow.strips().zip(draft.wide.strips()).zip(draft.full.strips());
        let strips: Vec<_> = strips.take(checkpoints.last()).enumerate().collect();
        strips.into_par_iter().try_for_each(|(k, ((mut narrow, mut wide), mut full))| {
            let mut put = |site: SiteId, size: u64, death: Ticks| {
                let life = Life::new(checkpoints, k, death);
                match slots[site.0 as usize] {
                    Slot(WordKind::Narrow, at) => narrow.put(at, size, &life),
                    Slot(WordKind::Wide, at) => wide.put(at, size, &life),
                    Slot(WordKind::Full, at) => full.put(at, size, &life),
                    Slot(WordKind::None, _) => {}
                }
            };
            let ((_, from), (_, to)) = (checkpoints.at(k), checkpoints.at(k + 1));
            for range in by_chunk(from.birth, to.birth) {
                cancel.check()?;
                let chunk = trace.rows.chunk(range.start as usize / CHUNK);
                let first = chunk.first().0;
                for at in (range.start - first) as usize..(range.end - first) as usize {
                    if !chunk.is_out_of_order(at) {
                        put(chunk.sites()[at], chunk.size(at), chunk.death(at));
                    }
                }
            }
            for id in trace.rows.out_of_order().range(from.late..to.late) {
                put(trace.rows.site(id), trace.rows.size(id), trace.rows.death(id));
            }
            Ok(())
        })?;
        Ok(draft)
    }

    /// Adds up layers over earlier births and later deaths.
    pub(super) fn add_up(self) -> (SumLayers<u32>, SumLayers<u64>, SumLayers<Full>) {
        let Self { checkpoints, narrow, wide, full } = self;
        (narrow.add_up(checkpoints), wide.add_up(checkpoints), full.add_up(checkpoints))
    }
}

impl Life {
    /// Returns the layers of a row that is born in strip `k`.
    #[inline]
    fn new(checkpoints: &Checkpoints, k: usize, death: Ticks) -> Self {
        let end = checkpoints.before(death, k);
        if end == k {
            return Self { begin: None, pair: None, end: None };
        }
        let (i, j) = (checkpoints.coarse_behind(k), checkpoints.coarse_before(end));
        Self {
            begin: checkpoints.lasting(k + 1, k + 1),
            pair: if i < j { checkpoints.lasting(i, j) } else { None },
            end: if end < checkpoints.last() { checkpoints.lasting(end + 1, end + 1) } else { None },
        }
    }
}

impl<W: Word> Parts<W> {
    fn new(checkpoints: &Checkpoints, sites: usize) -> Self {
        let born = vec![W::default(); sites * checkpoints.born_layers()];
        let lasting = (0..sites * checkpoints.lasting_layers()).map(|_| W::Shared::default()).collect();
        Self { sites, born, lasting }
    }

    /// Returns the layers for the rows of each strip.
    fn strips(&mut self) -> impl Iterator<Item = Strip<'_, W>> {
        let (sites, born, lasting) = (self.sites, &mut self.born, self.lasting.as_slice());
        let mut rest = born.as_mut_slice();
        std::iter::from_fn(move || {
            let (born, others) = std::mem::take(&mut rest).split_at_mut_checked(sites)?;
            rest = others;
            Some(Strip { sites, born, lasting })
        })
    }

    fn add_up(self, checkpoints: &Checkpoints) -> SumLayers<W> {
        let Self { sites, mut born, lasting } = self;
        let mut lasting: Vec<W> = lasting.into_iter().map(W::unshared).collect();
        let last = checkpoints.last();
        for layer in 1..last {
            add_layer(&mut born, sites, layer - 1, layer);
            add_layer(&mut lasting, sites, layer - 1, layer);
        }
        let pairs: Vec<_> = checkpoints.coarse_pairs().collect();
        let layer = |at: usize| last + at;
        // Add the rows that die later, ...
        for at in (1..pairs.len()).rev().filter(|&at| pairs[at - 1].0 == pairs[at].0) {
            add_layer(&mut lasting, sites, layer(at), layer(at - 1));
        }
        // ... and the rows born earlier.
        for (at, (i, j)) in pairs.iter().enumerate() {
            let before = pairs[..at].iter().rposition(|(first, second)| first < i && second == j);
            before.into_iter().for_each(|before| add_layer(&mut lasting, sites, layer(before), layer(at)));
        }
        SumLayers { sites, born, lasting }
    }
}

impl<W: Word> Strip<'_, W> {
    #[inline]
    fn put(&mut self, at: u32, size: u64, life: &Life) {
        let (at, row) = (at as usize, W::row(size));
        self.born[at] = self.born[at].plus(row);
        for layer in [life.begin, life.pair].into_iter().flatten() {
            row.add_to(&self.lasting[layer * self.sites + at]);
        }
        if let Some(layer) = life.end {
            W::default().minus(row).add_to(&self.lasting[layer * self.sites + at]);
        }
    }
}

/// Number of words that one worker adds at a time.
const GRAIN: usize = 1 << 14;

/// Adds one layer to another.
fn add_layer<W: Word>(words: &mut [W], sites: usize, from: usize, to: usize) {
    let (first, second) = words.split_at_mut(sites * from.max(to));
    let (from, to) = match from < to {
        true => (&first[from * sites..][..sites], &mut second[..sites]),
        false => (&second[..sites], &mut first[to * sites..][..sites]),
    };
    to.par_chunks_mut(GRAIN).zip(from.par_chunks(GRAIN)).for_each(|(to, from)| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = to.plus(*from));
    });
}
