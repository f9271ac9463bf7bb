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
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    by_hand: ByHand<LayerOf>,
    opened: BTreeMap<LayerOf, Parts>,
    lanes: Vec<Lane>,
    /// The processes in the order of their lanes. It stays while the trace grows, and after that if the trace was followed.
    order: Vec<ProcessId>,
}

/// The user's own choices of lines on the graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LineChoices {
    /// The expanded lanes.
    pub opened: Vec<(LayerOf, Parts)>,
    /// The lanes that the user showed or hid.
    pub lanes: Vec<(LayerOf, bool)>,
    /// The heaps whose lines the user showed or hid.
    pub heaps: Vec<(HeapId, bool)>,
}

impl Parts {
    /// All kinds, with their names in files, which never change.
    pub const NAMES: [(Self, &'static str); 3] = [(Self::Heaps, "heaps"), (Self::Types, "types"), (Self::Functions, "functions")];
}

impl Lanes {
    /// The user's own choices, without those of heaps.
    pub fn choices(&self) -> LineChoices {
        let opened = self.opened.iter().map(|(&of, &parts)| (of, parts)).collect();
        LineChoices { opened, lanes: self.by_hand.all().collect(), heaps: Vec::new() }
    }

    /// Replaces the user's own choices.
    pub fn set_choices(&mut self, choices: &LineChoices) {
        self.opened = choices.opened.iter().copied().collect();
        self.by_hand = choices.lanes.iter().copied().collect();
    }

    /// From top to bottom.
    pub fn all(&self) -> &[Lane] {
        &self.lanes
    }

    pub fn get(&self, of: LayerOf) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.of == of)
    }

    /// Chooses the lanes again; returns whether they changed. If the filter selects only layers that are switched off,
    /// they are shown anyway. Lanes that are drawn already keep their places while the trace grows, and after that too if
    /// the user has watched it grow (`is_followed`).
    pub fn choose(&mut self, trace: &Trace, filter: &Filter, overview: &Overview, lines: &HeapLines, is_followed: bool) -> bool {
        let keeps = is_followed || !trace.complete;
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
        let stays = |of: LayerOf| keeps && self.get(of).is_some();
        let is_wanted =
            |&(rank, (of, _)): &(usize, &(LayerOf, u64))| self.by_hand.get(*of).unwrap_or(rank < FIRST_LANES || stays(*of));
        let wanted = ranked.iter().enumerate().filter(is_wanted);
        let mut shown: Vec<LayerOf> = wanted.map(|(_, &(of, _))| of).take(MAX_LANES).collect();
        if shown.is_empty() && !filter.is_all() {
            shown = ranked.into_iter().take(FIRST_LANES).map(|(of, _)| of).collect();
        }
        let mut processes: Vec<ProcessId> = largest.keys().copied().collect();
        processes.sort_by_key(|process| (Reverse(largest.get(process).copied()), *process));
        self.keep_order(processes, keeps);
        let place = |process: ProcessId| self.order.iter().position(|&other| other == process);
        shown.sort_by_cached_key(|&(process, layer)| (place(process), layer));
        let lane = |of: LayerOf| self.lane(of, layers.get(&of).map_or(&[], Vec::as_slice), overview, (lines, keeps));
        let lanes: Vec<Lane> = shown.into_iter().map(lane).collect();
        let before = std::mem::replace(&mut self.lanes, lanes);
        before != self.lanes
    }

    /// Takes the order of the processes; if it is kept, new ones follow those that are known.
    fn keep_order(&mut self, mut processes: Vec<ProcessId>, keeps: bool) {
        if keeps {
            processes.retain(|process| !self.order.contains(process));
            self.order.append(&mut processes);
        } else {
            self.order = processes;
        }
    }

    fn lane(&self, of: LayerOf, heaps: &[usize], overview: &Overview, (lines, keeps): (&HeapLines, bool)) -> Lane {
        let opened = self.opened.get(&of).copied();
        let mut parts = Vec::new();
        if opened == Some(Parts::Heaps) {
            let mut ranked = heaps.to_vec();
            let before: &[HeapId] = self.get(of).filter(|_| keeps).map_or(&[], |lane| &lane.heaps);
            let place = |heap: usize| before.iter().position(|other| other.0 as usize == heap).unwrap_or(usize::MAX);
            ranked.sort_by_cached_key(|&heap| (place(heap), Reverse(overview.peak(heap))));
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
        self.order = self.order.iter().filter_map(|&process| map.process(process)).collect();
        self.opened = self.opened.iter().filter_map(|(&old, &parts)| Some((of(old)?, parts))).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_keep_their_order_if_it_is_kept() {
        let ids = |ids: &[u32]| ids.iter().copied().map(ProcessId).collect::<Vec<_>>();
        let mut lanes = Lanes::default();
        lanes.keep_order(ids(&[3, 1]), true);
        lanes.keep_order(ids(&[1, 7, 3]), true);
        assert_eq!(lanes.order, ids(&[3, 1, 7]), "another one grew larger, and a new one came");
        lanes.keep_order(ids(&[7, 1, 3]), false);
        assert_eq!(lanes.order, ids(&[7, 1, 3]), "else by size");
    }
}
