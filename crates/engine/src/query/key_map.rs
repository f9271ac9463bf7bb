//! Mapping of keys between traces of the same capture, so that the user's selection in one publication means the same
//! in the next.
//!
//! Publications of one load number everything alike, except rows once some are forgotten. A new load, for example at
//! the end of a followed capture in which something arrived too late, can number everything differently. There a
//! process is identified by its id and start, a heap by its process, layer, handle and name, a frame by the addresses
//! around it. Single rows are not matched; the selection becomes the node around them.
//!
//! Cost: nothing for publications of one load; else a pass over processes, heaps and counters, and over the stacks if
//! any of the paths contains a frame.

use std::hash::Hash;

use super::{Key, Path};
use crate::model::{CounterId, HeapId, NodeId, ProcessId, Trace};
use crate::tables::KeyedMap;

/// Maps keys of an old trace to those of a new one.
#[derive(Debug)]
pub struct KeyMap {
    /// The new numbers if the trace is from another load. Things that it lacks are missing.
    other: Option<Numbers>,
}

#[derive(Debug)]
struct Numbers {
    /// Whether all processes, heaps and counters have the numbers that they had.
    keeps_sources: bool,
    processes: KeyedMap<ProcessId, ProcessId>,
    heaps: KeyedMap<HeapId, HeapId>,
    counters: KeyedMap<CounterId, CounterId>,
    nodes: KeyedMap<NodeId, NodeId>,
}

impl KeyMap {
    /// Creates a map from `old` to `new` for these paths; `None` if all keys stay the same.
    pub fn new<'a>(old: &Trace, new: &Trace, paths: impl IntoIterator<Item = &'a Path>) -> Option<Self> {
        if new.keeps_rows(old) {
            return None;
        }
        let other = (new.builder() != old.builder()).then(|| Numbers::new(old, new, paths));
        Some(Self { other })
    }

    /// Maps a node; a single allocation becomes the node around it. `None` if the new trace lacks it.
    pub fn path(&self, path: &Path) -> Option<Path> {
        let key = |key: &Key| match &self.other {
            Some(numbers) => numbers.key(*key),
            None => Some(*key),
        };
        path.iter().filter(|key| !matches!(key, Key::Row(_))).map(key).collect()
    }

    /// Maps a process; `None` if the new trace lacks it.
    pub fn process(&self, process: ProcessId) -> Option<ProcessId> {
        self.other.as_ref().map_or(Some(process), |numbers| numbers.processes.get(&process).copied())
    }

    /// Maps a heap; `None` if the new trace lacks it.
    pub fn heap(&self, heap: HeapId) -> Option<HeapId> {
        self.other.as_ref().map_or(Some(heap), |numbers| numbers.heaps.get(&heap).copied())
    }

    /// Whether processes, heaps and counters keep their numbers.
    pub fn keeps_sources(&self) -> bool {
        self.other.as_ref().is_none_or(|numbers| numbers.keeps_sources)
    }

    /// Maps a counter; `None` if the new trace lacks it.
    pub fn counter(&self, counter: CounterId) -> Option<CounterId> {
        self.other.as_ref().map_or(Some(counter), |numbers| numbers.counters.get(&counter).copied())
    }
}

/// Whether all `count` things are found again, with their numbers.
fn keeps<I: PartialEq>(map: &KeyedMap<I, I>, count: usize) -> bool {
    map.len() == count && map.iter().all(|(old, new)| old == new)
}

impl Numbers {
    fn new<'a>(old: &Trace, new: &Trace, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let lives = |trace: &Trace| trace.processes.iter().map(|life| (life.pid, life.start)).collect::<Vec<_>>();
        let processes = found_again(lives(old), lives(new), ProcessId);
        let counters = |trace: &Trace, map: &dyn Fn(ProcessId) -> Option<ProcessId>| {
            let id = |counter: &crate::model::Counter| ((counter.kind, counter.owner), counter.process.and_then(map));
            trace.counters.iter().map(id).collect::<Vec<_>>()
        };
        let heaps = |trace: &Trace, map: &dyn Fn(ProcessId) -> Option<ProcessId>| {
            let id = |heap: &crate::model::Heap| ((map(heap.process), heap.layer, heap.handle), heap.name.clone());
            trace.heaps.iter().map(id).collect::<Vec<_>>()
        };
        let (to_new, same) = (|id| processes.get(&id).copied(), |id| Some(id));
        let heaps = found_again(heaps(old, &to_new), heaps(new, &same), HeapId);
        let counters = found_again(counters(old, &to_new), counters(new, &same), CounterId);
        let nodes = paths.into_iter().flat_map(|path| path.iter()).filter_map(|key| Some(key.frame()?.0));
        let nodes = frames_found_again(old, new, nodes);
        let keeps_sources =
            keeps(&processes, old.processes.len()) && keeps(&heaps, old.heaps.len()) && keeps(&counters, old.counters.len());
        Self { keeps_sources, processes, heaps, counters, nodes }
    }

    fn key(&self, key: Key) -> Option<Key> {
        Some(match key {
            Key::Process(process) => Key::Process(*self.processes.get(&process)?),
            Key::Heap(heap) => Key::Heap(*self.heaps.get(&heap)?),
            Key::Frame(node) => Key::Frame(*self.nodes.get(&node)?),
            Key::Inlined(node, level) => Key::Inlined(*self.nodes.get(&node)?, level),
            Key::Inside(node, level) => Key::Inside(*self.nodes.get(&node)?, level),
            Key::Layer(_) | Key::Impacting(_) | Key::Class(_) | Key::Row(_) => key,
        })
    }
}

/// Finds each of the old things among the new ones. A thing has a key, which several things can share, and a detail
/// that distinguishes those. If only one thing has the key, the detail may differ, as it may have become known since.
fn found_again<K: Hash + Eq, D: PartialEq, I: Hash + Eq>(
    old: Vec<(K, D)>,
    new: Vec<(K, D)>,
    id: impl Fn(u32) -> I,
) -> KeyedMap<I, I> {
    let mut places: KeyedMap<K, Vec<(u32, D)>> = KeyedMap::default();
    for (place, (key, detail)) in (0..).zip(new) {
        places.entry(key).or_default().push((place, detail));
    }
    let place = |(key, detail): (K, D)| {
        let candidates = places.get(&key)?;
        let same = candidates.iter().find(|(_, other)| *other == detail);
        same.or(candidates.first().filter(|_| candidates.len() == 1)).map(|&(place, _)| place)
    };
    (0..).zip(old).filter_map(|(i, thing)| Some((id(i), id(place(thing)?)))).collect()
}

/// Finds nodes of the stacks and all their callers in the new trace: one pass over the new stacks, in which callers
/// come before callees.
fn frames_found_again(old: &Trace, new: &Trace, nodes: impl Iterator<Item = NodeId>) -> KeyedMap<NodeId, NodeId> {
    let mut wanted: KeyedMap<(NodeId, u64), NodeId> = KeyedMap::default();
    for node in nodes.flat_map(|node| old.stacks.chain(node)) {
        wanted.insert((old.stacks.parent(node), old.stacks.address(node)), node);
    }
    let mut found: KeyedMap<NodeId, NodeId> = [(NodeId::ROOT, NodeId::ROOT)].into_iter().collect();
    if wanted.is_empty() {
        return found;
    }
    let mut old_of = vec![None; new.stacks.len()];
    old_of[NodeId::ROOT.0 as usize] = Some(NodeId::ROOT);
    for node in (1..new.stacks.len() as u32).map(NodeId) {
        let around = old_of[new.stacks.parent(node).0 as usize];
        let known = around.and_then(|around| wanted.get(&(around, new.stacks.address(node))));
        if let Some(&known) = known {
            old_of[node.0 as usize] = Some(known);
            found.insert(known, node);
        }
    }
    found
}
