//! Which lanes the graph has: one for each layer of a process, the largest ones that pass the filter,
//! with the user's own switches taking precedence; and the parts that an expanded lane shows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::answers::{LayerOf, Overview};
use super::heap_lines::{HeapLines, sources};
use crate::app::base::by_hand::ByHand;
use crate::model::{HeapId, ProcessId, Trace};
use crate::query::{Filter, KeyMap};
use crate::tables::KeyedMap;

/// Lanes at first, and parts of each expanded lane; the user can switch on more.
const FIRST_LANES: usize = 8;
pub const FIRST_PARTS: usize = 6;
/// Maximum number of lanes, and of parts of each: more would slow down every frame.
const MAX_LANES: usize = 24;
const MAX_PARTS: usize = 16;

/// The kind of parts that an expanded lane shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parts {
    /// Its heaps or trackers.
    Heaps,
    /// The largest C++ types in it.
    Types,
    /// The functions that allocate most.
    Functions,
}

/// A lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    pub of: LayerOf,
    pub opened: Option<Parts>,
    /// Heaps shown in lanes below it, if it is expanded to heaps.
    pub heaps: Vec<HeapId>,
    /// Its only heap, if the filter leaves just one.
    pub only: Option<HeapId>,
}

/// The lanes of the graph.
#[derive(Debug, Default)]
pub struct Lanes {
    by_hand: ByHand<LayerOf>,
    opened: BTreeMap<LayerOf, Parts>,
    lanes: Vec<Lane>,
}

impl Lanes {
    /// From top to bottom.
    pub fn all(&self) -> &[Lane] {
        &self.lanes
    }

    pub fn get(&self, of: LayerOf) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.of == of)
    }

    /// Chooses the lanes again; returns whether they changed. If the filter selects only layers that
    /// are switched off, they are shown anyway.
    pub fn choose(&mut self, trace: &Trace, filter: &Filter, overview: &Overview, lines: &HeapLines) -> bool {
        let mut layers: KeyedMap<LayerOf, Vec<usize>> = KeyedMap::default();
        let mut largest: KeyedMap<ProcessId, u64> = KeyedMap::default();
        for heap in sources(trace, filter, overview) {
            let of = &trace.heaps[heap];
            layers.entry((of.process, of.layer)).or_default().push(heap);
            let largest = largest.entry(of.process).or_default();
            *largest = (*largest).max(overview.peak(heap));
        }
        let mut ranked: Vec<(LayerOf, u64)> = layers.keys().map(|&of| (of, overview.peak_of(of))).collect();
        ranked.sort_by_key(|&(of, peak)| (Reverse(peak), of));
        let is_wanted = |&(rank, (of, _)): &(usize, &(LayerOf, u64))| self.by_hand.get(*of).unwrap_or(rank < FIRST_LANES);
        let wanted = ranked.iter().enumerate().filter(is_wanted);
        let mut shown: Vec<LayerOf> = wanted.map(|(_, &(of, _))| of).take(MAX_LANES).collect();
        if shown.is_empty() && !filter.is_all() {
            shown = ranked.into_iter().take(FIRST_LANES).map(|(of, _)| of).collect();
        }
        shown.sort_by_key(|&(process, layer)| (Reverse(largest.get(&process).copied()), process, layer));
        let lane = |of: LayerOf| self.lane(of, layers.get(&of).map_or(&[], Vec::as_slice), overview, lines);
        let lanes: Vec<Lane> = shown.into_iter().map(lane).collect();
        let before = std::mem::replace(&mut self.lanes, lanes);
        before != self.lanes
    }

    fn lane(&self, of: LayerOf, heaps: &[usize], overview: &Overview, lines: &HeapLines) -> Lane {
        let opened = self.opened.get(&of).copied();
        let mut parts = Vec::new();
        if opened == Some(Parts::Heaps) {
            let mut ranked = heaps.to_vec();
            ranked.sort_by_key(|&heap| Reverse(overview.peak(heap)));
            let ranked = (0..).zip(ranked).map(|(rank, heap)| (rank, HeapId(heap as u32)));
            let is_wanted = |&(rank, heap): &(usize, HeapId)| lines.by_hand(heap).unwrap_or(rank < FIRST_PARTS);
            parts = ranked.filter(is_wanted).map(|(_, heap)| heap).take(MAX_PARTS).collect();
        }
        let only = if let [heap] = heaps { Some(HeapId(*heap as u32)) } else { None };
        Lane { of, opened, heaps: parts, only }
    }

    /// Shows or hides a lane, whatever its size.
    pub fn show(&mut self, of: LayerOf, shown: bool) {
        self.by_hand.switch(of, shown);
    }

    /// Expands a lane to these parts, or collapses it.
    pub fn open(&mut self, of: LayerOf, to: Option<Parts>) {
        match to {
            Some(parts) => _ = self.opened.insert(of, parts),
            None => _ = self.opened.remove(&of),
        }
    }

    /// Renumbers the processes; entries of those without a new number are dropped.
    pub fn renumber(&mut self, map: &KeyMap) {
        let of = |(process, layer): LayerOf| Some((map.process(process)?, layer));
        self.by_hand.renumber(of);
        self.opened = self.opened.iter().filter_map(|(&old, &parts)| Some((of(old)?, parts))).collect();
    }
}
