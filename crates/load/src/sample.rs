//! Counts the content of one buffer for each process and layer.

use std::collections::{BTreeMap, BTreeSet};

use crate::events::{Attached, Batch, Event, Item, Memory, Record, mem};
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::{Layer, Pid};

/// The counts for one process and layer in one buffer. Stacks and their nodes are represented by hashes.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) events: u64,
    pub(super) rows: u64,
    pub(super) frees: u64,
    /// Whether any free has a stack.
    pub(super) has_free_stacks: bool,
    pub(super) nodes: KeyedSet<u64>,
    pub(super) stacks: KeyedSet<u64>,
    /// Pairs of heap and stack.
    pub(super) sites: KeyedSet<(u64, u64)>,
    pub(super) keys: KeyedSet<u64>,
}

/// The definitions of stack keys.
#[derive(Debug, Default)]
pub(super) struct Defined {
    pub(super) nodes: BTreeSet<u64>,
    pub(super) stacks: BTreeSet<u64>,
}

/// The counts of one sampled buffer.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) first_time: i64,
    /// The number of buffers that it represents.
    pub(super) weight: f64,
    pub(super) tallies: BTreeMap<(Pid, Layer), Tally>,
    pub(super) defined: Defined,
}

/// The owner of an event whose stack is a separate event: process, layer, and the heap with whether the event is a free.
type SampledHeap = (Pid, Layer, (u64, bool));

impl Sample {
    pub(super) fn of(batch: &Batch, weight: f64) -> Self {
        let first_time = batch.times.map_or(0, |(first, _)| first);
        let mut sample = Self { first_time, weight, tallies: BTreeMap::new(), defined: Defined::default() };
        // Some events get their process from their stack event.
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
            let Some(Memory { pid, layer, heap, .. }) = record.memory() else { continue };
            let pid = if pid.is_known() { pid } else { pid_of.get(&record.time).copied().unwrap_or(pid) };
            let tally = sample.tallies.entry((pid, layer)).or_default();
            tally.count(&record.event);
            // A resize frees the old block, and its stack is the site of that free.
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

    /// Adds stacks that are separate events, if their events are in the same buffer.
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
            // When a block of an NT heap moves, there is an allocation and a free event as well.
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

/// Visits the nodes of a stack in the stack trie; returns the innermost.
fn walk(frames: &[u64], mut visit: impl FnMut(u64)) -> u64 {
    frames.iter().rev().fold(0, |outer: u64, address| {
        let node = (outer.rotate_left(23) ^ address).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        visit(node);
        node
    })
}
