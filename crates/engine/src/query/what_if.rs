//! Touched pages if another allocator had served the recorded requests: the models are defined in docs/what-if.md.
//!
//! Each model has one allocator for each process and layer, gets the recorded requests in their order ([`replay`]), and says
//! at the first moment at which it touches most pages how many those are and how well they are used.
//!
//! Cost: for each model two passes over births and deaths on one worker; the models run side by side, in large traces one
//! after the other. Memory: a place for each block that is alive, and the model's own tables.

mod allocator;
mod arenas;
mod gaps;
mod groups;
mod policy;
mod recorded;
mod replay;
mod slabs;
mod words;

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use super::pages::{Block, PinnedPages, TouchedPages};
use super::{By, Cancel, Cancelled, Group, Index, Mask, RowSet};
use crate::model::{Row, RowId, SiteId, Trace};
use crate::names::Names;
use crate::units::{Layer, Ticks};
use allocator::{Allocator, Place};
use arenas::Arenas;
use groups::{Describe, Grouper, Groups, Keys, Numbers, frames};
pub(super) use policy::Policy;
use policy::Sized;
use recorded::{OnePool, Recorded};
use replay::{Peak, Requests};
pub use words::pool_sentence;

/// The groups of a question about other allocators that get pools or arenas of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WhatIfRequest {
    /// Key of the pools, if that model is asked for: one of [`WhatIfRequest::KEYS`].
    pub pool_by: Option<By>,
    /// Key of the arenas, if that model is asked for.
    pub arena_by: Option<ArenaKey>,
}

impl WhatIfRequest {
    /// The keys that are known when a block is allocated.
    pub const KEYS: [By; 10] = [
        By::Heap,
        By::Type,
        By::Thread,
        By::Size,
        By::Function,
        By::Module,
        By::Tag,
        By::Responsible,
        By::ResponsibleModule,
        By::Owner,
    ];
}

/// The key of arenas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArenaKey {
    /// The frame of the process in which a block is allocated. What comes before the first frame is one arena, and so is what
    /// comes after the last.
    Frame,
    /// One of [`WhatIfRequest::KEYS`].
    Key(By),
}

/// An allocator.
#[derive(Clone, Debug)]
pub enum Model {
    /// As recorded.
    Recorded,
    /// The NT heap with its low-fragmentation heap, approximately.
    NtHeap,
    /// The segment heap, approximately.
    SegmentHeap,
    /// Slabs with mimalloc's size classes.
    Mimalloc,
    /// Slabs with jemalloc's size classes.
    Jemalloc,
    /// A pool for each group.
    Pools,
    /// A pool for this group; all other blocks as recorded.
    PoolFor(Box<Group<PinnedPages>>),
    /// An arena for each group.
    Arenas,
}

/// Pages of a model at the moment at which it touches most.
#[derive(Clone, Debug)]
pub struct ModelNumbers {
    /// The allocator.
    pub model: Model,
    /// The layer whose blocks it serves.
    pub layer: Layer,
    /// The first moment at which so many pages are touched.
    pub at: Ticks,
    /// Bytes of the touched pages.
    pub peak_touched_bytes: u64,
    /// Those in which no live block lies.
    pub waste: u64,
    /// Number of sparse pages whose live blocks have the same responsible caller.
    pub pinned: u64,
}

/// Groups that get a pool of their own in [`Model::PoolFor`]: the first that pin pages, and the first that have bytes.
const CANDIDATES: usize = 5;

/// Rows up to which models run side by side. Each keeps a place for each live block.
const SIDE_BY_SIDE: usize = 16 << 20;

/// How many models of a question are done.
#[derive(Debug, Default)]
pub struct ModelsDone {
    done: AtomicU32,
    known: AtomicU32,
}

impl ModelsDone {
    /// Returns how many models are done, of how many that are known to be needed so far.
    pub fn now(&self) -> (u32, u32) {
        (self.done.load(Ordering::Relaxed), self.known.load(Ordering::Relaxed))
    }
}

/// Returns the models, first all of the heaps, then all of the trackers: as recorded, then the allocators, pools, arenas, and
/// pools for one group, those with the lowest peak first and only those with a lower peak than recorded. Layers without blocks
/// have none.
///
/// Only rows of the index and sites of the mask count.
pub fn what_if(
    (index, mask, names): (&Index, &Mask, &Names),
    request: WhatIfRequest,
    progress: &ModelsDone,
    cancel: &Cancel,
) -> Result<Vec<ModelNumbers>, Cancelled> {
    let trace = index.trace();
    let grouper = Grouper { index, names, mask, cancel };
    let owners = grouper.group(By::Responsible, |_, keys| Ok(keys.of_site.to_vec()))?;
    let no_arenas = Keys { of_site: &[], row_keys: None };
    let with_pools = |arenas: Option<Groups<'_>>| {
        let asked = Asked { trace, chosen: index.chosen().map(|rows| &**rows), mask, owners: &owners, arenas, progress, cancel };
        match request.pool_by {
            Some(key) => grouper.group(key, |describe, keys| asked.all_layers(Some((keys, describe)))),
            None => asked.all_layers(None),
        }
    };
    match request.arena_by {
        None => with_pools(None),
        Some(ArenaKey::Frame) => with_pools(Some(Groups { keys: no_arenas, frames: Some(&frames(trace)) })),
        Some(ArenaKey::Key(key)) => grouper.group(key, |_, keys| with_pools(Some(Groups { keys, frames: None }))),
    }
}

/// A question with all that it needs.
#[derive(Clone, Copy)]
struct Asked<'a> {
    trace: &'a Trace,
    /// The rows that count; `None` for all.
    chosen: Option<&'a RowSet>,
    mask: &'a Mask,
    /// The responsible caller of each site, as a number.
    owners: &'a [Option<u32>],
    arenas: Option<Groups<'a>>,
    progress: &'a ModelsDone,
    cancel: &'a Cancel,
}

/// The groups with pools of their own, and a way to describe them.
type PoolGroups<'a> = (Keys<'a>, Describe<'a>);

impl Asked<'_> {
    fn all_layers(&self, pools: Option<PoolGroups<'_>>) -> Result<Vec<ModelNumbers>, Cancelled> {
        let mut all = self.layer(Layer::Heap, pools)?;
        all.extend(self.layer(Layer::Tracker, pools)?);
        Ok(all)
    }

    fn layer(&self, layer: Layer, pools: Option<PoolGroups<'_>>) -> Result<Vec<ModelNumbers>, Cancelled> {
        let trace = self.trace;
        let is_asked = |(i, site)| trace.layer_of(site) == layer && self.mask.classes(SiteId(i)) != 0;
        let is_asked: Vec<bool> = (0..).zip(&trace.sites).map(is_asked).collect();
        let run = Run { asked: self, layer, requests: Requests { trace, chosen: self.chosen, is_asked: &is_asked } };
        let Some(recorded) = run.at_peak(&|| Box::<Recorded>::default(), &|| Box::new(|_, _| 0), u64::MAX)? else {
            return Ok(Vec::new());
        };
        let peak = recorded.0.bytes();
        let mut all = vec![run.numbers(Model::Recorded, &recorded)];
        let of_keys = |keys| Groups { keys, frames: None };
        let models: [(Model, New, Option<Groups<'_>>); 4] = [
            (Model::NtHeap, || Box::new(Sized::new(Policy::NtHeap)), None),
            (Model::SegmentHeap, || Box::new(Sized::new(Policy::SegmentHeap)), None),
            (Model::Mimalloc, || Box::new(Sized::new(Policy::Mimalloc)), None),
            (Model::Jemalloc, || Box::new(Sized::new(Policy::Jemalloc)), None),
        ];
        let mut models = models.to_vec();
        models
            .extend(pools.map(|(keys, _)| (Model::Pools, (|| Box::new(Sized::new(Policy::Pools))) as New, Some(of_keys(keys)))));
        models.extend(self.arenas.map(|groups| (Model::Arenas, (|| Box::<Arenas>::default()) as New, Some(groups))));
        all.extend(run.side_by_side(models.len(), |i| {
            let (model, new, groups) = &models[i];
            let found = run.at_peak(new, &|| run.group_of(*groups), u64::MAX)?;
            Ok(found.map(|found| run.numbers(model.clone(), &found)))
        })?);
        if let Some((keys, describe)) = pools {
            let candidates = run.candidates(keys, describe, recorded.1);
            let mut single = run.side_by_side(candidates.len(), |i| run.one_pool(keys, &candidates[i], peak))?;
            single.sort_by_key(|model| model.peak_touched_bytes);
            all.extend(single);
        }
        Ok(all)
    }
}

/// Makes a model's allocator.
type New = fn() -> Box<dyn Allocator>;

/// A model's peak, and its live blocks with their places then.
type AtPeak = (Peak, Vec<(RowId, Place)>);

/// The requests of one layer.
struct Run<'a> {
    asked: &'a Asked<'a>,
    layer: Layer,
    requests: Requests<'a>,
}

/// Gives the number of its pool or arena to each row.
type GroupOf<'a> = Box<dyn FnMut(RowId, &Row) -> u32 + 'a>;

impl Run<'_> {
    /// The answers of several models, those that have one.
    fn side_by_side(
        &self,
        count: usize,
        answer: impl Fn(usize) -> Result<Option<ModelNumbers>, Cancelled> + Send + Sync,
    ) -> Result<Vec<ModelNumbers>, Cancelled> {
        self.asked.progress.known.fetch_add(count as u32, Ordering::Relaxed);
        let answer = |i| {
            let answer = answer(i);
            self.asked.progress.done.fetch_add(1, Ordering::Relaxed);
            answer
        };
        let all: Result<Vec<_>, Cancelled> = if self.asked.trace.rows.len() > SIDE_BY_SIDE {
            (0..count).map(answer).collect()
        } else {
            (0..count).into_par_iter().map(answer).collect()
        };
        Ok(all?.into_iter().flatten().collect())
    }

    /// The numbers of a pool for the group of a row, and all other blocks as recorded; `None` if the peak is not below that of
    /// the recorded blocks.
    fn one_pool(
        &self,
        keys: Keys<'_>,
        (first, group): &(RowId, Group<PinnedPages>),
        recorded: u64,
    ) -> Result<Option<ModelNumbers>, Cancelled> {
        let key = keys.of(&self.asked.trace.rows.get(*first));
        let is_its = || Box::new(|_, row: &Row| u32::from(keys.of(row) == key)) as GroupOf<'_>;
        let found = self.at_peak(&|| Box::new(OnePool::new(1)), &is_its, recorded.saturating_sub(1))?;
        Ok(found.map(|found| self.numbers(Model::PoolFor(Box::new(group.clone())), &found)))
    }

    fn group_of<'a>(&self, groups: Option<Groups<'a>>) -> GroupOf<'a>
    where
        Self: 'a,
    {
        let Some(Groups { keys, frames }) = groups else { return Box::new(|_, _| 0) };
        let Some(frames) = frames else {
            let mut numbers = Numbers::default();
            return Box::new(move |id, row| numbers.of(keys, id, row));
        };
        let trace = self.asked.trace;
        Box::new(move |_, row| {
            let times = &frames[trace.process_of(trace.site(row.site)).0 as usize];
            times.partition_point(|time| *time <= row.birth) as u32
        })
    }

    /// A model at its peak; `None` if no block was ever alive, or more bytes are touched than `most_bytes`.
    fn at_peak<'b>(
        &self,
        new: &dyn Fn() -> Box<dyn Allocator>,
        group_of: &dyn Fn() -> GroupOf<'b>,
        most_bytes: u64,
    ) -> Result<Option<AtPeak>, Cancelled> {
        let replay = |last| self.requests.replay(&mut *new(), group_of(), last, self.asked.cancel);
        let Some(peak) = replay(Ticks::NEVER)?.peak.filter(|peak| peak.bytes() <= most_bytes) else { return Ok(None) };
        Ok(Some((peak, replay(peak.tick)?.live)))
    }

    fn numbers(&self, model: Model, (peak, live): &AtPeak) -> ModelNumbers {
        let owners = self.asked.owners;
        let owner = |_, row: &Row| owners[row.site.0 as usize].unwrap_or(u32::MAX);
        let groups = owners.iter().flatten().max().map_or(0, |last| *last as usize + 1);
        let live_bytes = u64::try_from(peak.live_bytes).unwrap_or(u64::MAX);
        ModelNumbers {
            model,
            layer: self.layer,
            // What happened at a tick is outstanding from the next one on.
            at: Ticks(peak.tick.0.saturating_add(1)),
            peak_touched_bytes: peak.bytes(),
            waste: peak.bytes().saturating_sub(live_bytes),
            pinned: self.pinned(live, owner, groups).iter().map(|pinned| pinned.pages).sum(),
        }
    }

    /// The sparse pages of each group among `groups`, whose live blocks are all of that group.
    fn pinned(&self, live: &[(RowId, Place)], mut group_of: impl FnMut(RowId, &Row) -> u32, groups: usize) -> Vec<PinnedPages> {
        let mut spaces: Vec<u64> = live.iter().map(|(_, place)| place.space).collect();
        spaces.sort_unstable();
        spaces.dedup();
        let mut touched = TouchedPages::default();
        for (id, place) in live {
            let row = self.asked.trace.rows.get(*id);
            let space = spaces.partition_point(|space| *space < place.space) as u32;
            touched.add(&Block::new(space, place.first, row.size), group_of(*id, &row));
        }
        touched.counts(spaces.len(), groups).1
    }

    /// Groups for which a pool is tried, each with its first row, given the live blocks at the recorded peak: those that pin
    /// most pages then, and those with most bytes.
    fn candidates(
        &self,
        keys: Keys<'_>,
        describe: Describe<'_>,
        mut live: Vec<(RowId, Place)>,
    ) -> Vec<(RowId, Group<PinnedPages>)> {
        live.sort_unstable_by_key(|(id, _)| *id);
        let (mut numbers, mut bytes) = (Numbers::default(), Vec::<u128>::new());
        let groups: Vec<u32> = live
            .iter()
            .map(|(id, _)| {
                let row = self.asked.trace.rows.get(*id);
                let group = numbers.of(keys, *id, &row);
                bytes.resize(numbers.first.len(), 0);
                bytes[group as usize] += u128::from(row.size);
                group
            })
            .collect();
        let mut of_row = groups.iter().copied();
        let pinned = self.pinned(&live, |_, _| of_row.next().unwrap_or(0), bytes.len());
        let mut by_pages: Vec<usize> = (0..bytes.len()).filter(|group| pinned[*group].pages > 0).collect();
        by_pages.sort_by_key(|group| Reverse(pinned[*group].pages));
        let mut by_bytes: Vec<usize> = (0..bytes.len()).collect();
        by_bytes.sort_by_key(|group| Reverse(bytes[*group]));
        by_pages.truncate(CANDIDATES);
        by_bytes.truncate(CANDIDATES);
        let mut chosen = [by_pages, by_bytes].concat();
        chosen.sort_unstable();
        chosen.dedup();
        let described = |group: usize| {
            let first = numbers.first[group];
            let row = self.asked.trace.rows.get(first);
            (first, describe(row.site, keys.of(&row).1, pinned[group]))
        };
        chosen.into_iter().map(described).collect()
    }
}
