//! What one buffer holds for each process and layer.

use std::collections::{BTreeMap, BTreeSet};

use crate::events::{Attached, Batch, Event, Item, Record, mem};
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::{Layer, Pid};

/// One process's part of a layer in one buffer. Stacks and their nodes go by hashes.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) events: u64,
    pub(super) rows: u64,
    pub(super) frees: u64,
    /// Whether any of them has a stack.
    pub(super) has_free_stacks: bool,
    pub(super) nodes: KeyedSet<u64>,
    pub(super) stacks: KeyedSet<u64>,
    /// Heap and stack.
    pub(super) sites: KeyedSet<(u64, u64)>,
    pub(super) keys: KeyedSet<u64>,
}

/// What stack keys stand for.
#[derive(Debug, Default)]
pub(super) struct Defined {
    pub(super) nodes: BTreeSet<u64>,
    pub(super) stacks: BTreeSet<u64>,
}

/// One buffer.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) first_time: i64,
    /// How many buffers it stands for.
    pub(super) weight: f64,
    pub(super) tallies: BTreeMap<(Pid, Layer), Tally>,
    pub(super) defined: Defined,
}

/// Whose event: process, layer, heap.
type SampledBlock = (Pid, Layer, u64);

/// The same of one whose stack comes apart, and whether it is a free.
type SampledHeap = (Pid, Layer, (u64, bool));

impl Sample {
    pub(super) fn of(batch: &Batch, weight: f64) -> Self {
        let first_time = batch.times.map_or(0, |(first, _)| first);
        let mut sample = Self { first_time, weight, tallies: BTreeMap::new(), defined: Defined::default() };
        // Some events have their process from their stack.
        let pid_of: KeyedMap<i64, Pid> = batch
            .items()
            .filter_map(|(item, _)| match item {
                Item::Record(&Record { pid, event: Event::Stack { owner, .. } | Event::StackRef { owner, .. }, .. }) => {
                    Some((owner, pid))
                }
                _ => None,
            })
            .collect();
        let mut owners: KeyedMap<i64, SampledHeap> = KeyedMap::default();
        for (item, stack) in batch.items() {
            let record = item.record();
            let Some((pid, layer, heap)) = place(&record) else { continue };
            let pid = if pid.is_known() { pid } else { pid_of.get(&record.time).copied().unwrap_or(pid) };
            let tally = sample.tallies.entry((pid, layer)).or_default();
            tally.count(&record.event);
            // What is resized goes, and the stack of that says who freed it.
            let frees = matches!(record.event, Event::Free { .. } | Event::Realloc { .. } | Event::VirtualFree(_));
            match stack {
                Attached::Frames(frames) => tally.stack((heap, frees), batch.frames.get(frames).addresses()),
                Attached::Key { key, .. } => tally.key((heap, frees), key),
                Attached::Nothing => {
                    owners.insert(record.time, (pid, layer, (heap, frees)));
                }
            }
        }
        sample.take_stacks(batch, &owners);
        sample
    }

    /// Stacks apart from their events, as far as these are in the same buffer.
    fn take_stacks(&mut self, batch: &Batch, owners: &KeyedMap<i64, SampledHeap>) {
        for (item, _) in batch.items() {
            let Item::Record(record) = item else { continue };
            match record.event {
                Event::Stack { owner, frames, .. } => {
                    if let Some(&(pid, layer, heap)) = owners.get(&owner) {
                        self.tallies.entry((pid, layer)).or_default().stack(heap, batch.frames.get(frames).addresses());
                    }
                }
                Event::StackRef { owner, key, .. } => {
                    if let Some(&(pid, layer, heap)) = owners.get(&owner) {
                        self.tallies.entry((pid, layer)).or_default().key(heap, key);
                    }
                }
                Event::StackDefinition { frames, .. } => {
                    self.defined.stacks.insert(walk(batch.frames.get(frames).addresses(), |node| {
                        self.defined.nodes.insert(node);
                    }));
                }
                _ => {}
            }
        }
    }
}

impl Tally {
    fn count(&mut self, event: &Event) {
        self.events += 1;
        match event {
            Event::Alloc { .. } | Event::CommitRundown(_) => self.rows += 1,
            Event::VirtualAlloc(range) => self.rows += u64::from(range.flags & mem::COMMIT != 0),
            Event::Free { .. } | Event::VirtualFree(_) => self.frees += 1,
            // A block of an NT heap that moves is told by an allocation and a free as well.
            Event::Realloc { layer: Layer::Heap, old, new, .. } if old != new => {}
            Event::Realloc { .. } => {
                self.rows += 1;
                self.frees += 1;
            }
            _ => {}
        }
    }

    fn stack(&mut self, (heap, frees): (u64, bool), frames: &[u64]) {
        self.has_free_stacks |= frees;
        let stack = walk(frames, |_| {});
        if self.stacks.insert(stack) {
            walk(frames, |node| {
                self.nodes.insert(node);
            });
        }
        self.sites.insert((heap, stack));
    }

    fn key(&mut self, (heap, frees): (u64, bool), key: u64) {
        self.has_free_stacks |= frees;
        self.keys.insert(key);
        self.sites.insert((heap, key));
    }
}

/// Visits the nodes that a stack has in the trie of stacks, and returns the innermost.
fn walk(frames: &[u64], mut visit: impl FnMut(u64)) -> u64 {
    frames.iter().rev().fold(0, |outer: u64, address| {
        let node = (outer.rotate_left(23) ^ address).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        visit(node);
        node
    })
}

fn place(record: &Record) -> Option<SampledBlock> {
    match &record.event {
        Event::HeapOpen { layer, heap, .. }
        | Event::HeapClose { layer, heap, .. }
        | Event::Alloc { layer, heap, .. }
        | Event::Free { layer, heap, .. }
        | Event::Realloc { layer, heap, .. } => Some((record.pid, *layer, *heap)),
        Event::VirtualAlloc(range) | Event::VirtualFree(range) => Some((range.owner, Layer::Commit, 0)),
        Event::CommitRundown(region) => Some((region.owner, Layer::Commit, 0)),
        _ => None,
    }
}
