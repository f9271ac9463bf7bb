//! Heaps: NT heaps, trackers and, as one heap for each process, its commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ProcessId;
use super::process::ProcessTable;
use crate::events::is_made_handle;
use crate::stored::stored;
use crate::tables::KeyedMap;
use crate::units::Layer;

/// Index of a heap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HeapId(pub u32);

stored!(number HeapId);

impl HeapId {
    /// The heap of a free in a heap of which nothing is known; never in a published trace.
    pub(in crate::model) const UNKNOWN: Self = Self(u32::MAX);
}

/// One heap of one process life. A handle that comes back after its heap was
/// destroyed is the same heap to users; a tracker that comes back under another
/// name is another.
#[derive(Clone, PartialEq, Debug)]
pub struct Heap {
    /// Its process.
    pub process: ProcessId,
    /// Its layer.
    pub layer: Layer,
    /// Handle; 0 for commit.
    pub handle: u64,
    /// Name of a tracker, if an event gave one.
    pub name: Option<Arc<str>>,
    /// Whether it is the NT heap that its process created first, the one that malloc usually uses. Not
    /// known of a process whose start was not seen.
    pub is_default: bool,
    /// Whether an event reported its creation before it was used.
    pub is_created: bool,
    closed: bool,
}

stored!(struct Heap { process, layer, handle, name, is_default, is_created, closed });

impl Heap {
    /// Its name in the machine interface: a tracker's name, a handle in hex, or nothing for commit.
    pub fn key(&self) -> Option<String> {
        match (self.layer, &self.name) {
            (Layer::Commit, _) => None,
            (Layer::Tracker, Some(name)) => Some(name.to_string()),
            _ => Some(format!("{:#x}", self.handle)),
        }
    }
}

/// Finds heaps by process, layer and handle.
#[derive(Debug, Default)]
pub(super) struct HeapTable {
    pub(super) list: Vec<Heap>,
    index: KeyedMap<(ProcessId, Layer, u64), HeapId>,
    /// The first NT heap of each process.
    first_nt_heap: KeyedMap<ProcessId, HeapId>,
    /// Bytes of names.
    pub(super) text: u64,
}

impl HeapTable {
    pub(super) fn find(&self, process: ProcessId, layer: Layer, handle: u64) -> Option<HeapId> {
        self.index.get(&(process, layer, handle)).copied()
    }

    pub(super) fn find_or_add(&mut self, processes: &ProcessTable, process: ProcessId, layer: Layer, handle: u64) -> HeapId {
        self.find(process, layer, handle).unwrap_or_else(|| self.add(processes, process, layer, handle, None))
    }

    fn add(&mut self, processes: &ProcessTable, process: ProcessId, layer: Layer, handle: u64, name: Option<&str>) -> HeapId {
        let id = HeapId(self.list.len() as u32);
        let name = self.named(name);
        self.list.push(Heap { process, layer, handle, name, is_default: false, is_created: false, closed: false });
        self.index.insert((process, layer, handle), id);
        if layer == Layer::Heap && !self.first_nt_heap.contains_key(&process) {
            self.first_nt_heap.insert(process, id);
            self.find_default(processes, process);
        }
        id
    }

    /// Marks the first heap of a process whose start was seen as its default heap.
    pub(super) fn find_default(&mut self, processes: &ProcessTable, process: ProcessId) {
        if let Some(first) = self.first_nt_heap.get(&process)
            && processes.list[process.0 as usize].start.is_some()
        {
            self.list[first.0 as usize].is_default = true;
        }
    }

    fn named(&mut self, name: Option<&str>) -> Option<Arc<str>> {
        self.text += name.map_or(0, |name| name.len() as u64 + 16);
        name.map(Into::into)
    }

    fn create(&mut self, processes: &ProcessTable, process: ProcessId, layer: Layer, handle: u64, name: Option<&str>) {
        let id = self.add(processes, process, layer, handle, name);
        self.list[id.0 as usize].is_created = true;
    }

    /// Creates a heap or opens a tracker.
    pub(super) fn open(&mut self, processes: &ProcessTable, process: ProcessId, layer: Layer, handle: u64, name: Option<&str>) {
        let Some(id) = self.find(process, layer, handle) else {
            self.create(processes, process, layer, handle, name);
            return;
        };
        let heap = &self.list[id.0 as usize];
        let unnamed_until_now = heap.name.is_none() && !heap.closed;
        if layer == Layer::Tracker && heap.name.as_deref() != name && !unnamed_until_now {
            self.create(processes, process, layer, handle, name);
            return;
        }
        if unnamed_until_now {
            self.list[id.0 as usize].name = self.named(name);
        }
        self.list[id.0 as usize].closed = false;
    }

    /// Names a heap that has no name yet, from an event after the last that is replayed.
    pub(super) fn name_late(&mut self, process: ProcessId, layer: Layer, handle: u64, name: Option<&str>) {
        if let Some(id) = self.find(process, layer, handle) {
            let heap = &self.list[id.0 as usize];
            if heap.name.is_none() && !heap.closed {
                self.list[id.0 as usize].name = self.named(name);
            }
        }
    }

    /// Names trackers whose handles were made of their names.
    pub(super) fn name_made(&mut self, names: &BTreeMap<u64, Arc<str>>) {
        for heap in self.list.iter_mut().filter(|heap| heap.name.is_none() && is_made_handle(heap.layer, heap.handle)) {
            heap.name = names.get(&heap.handle).cloned();
            self.text += heap.name.as_ref().map_or(0, |name| name.len() as u64 + 16);
        }
    }

    /// Closes a heap that was destroyed, or a tracker; `None` if nothing was known of it.
    pub(super) fn close(&mut self, process: ProcessId, layer: Layer, handle: u64, name: Option<&str>) -> Option<HeapId> {
        let id = self.find(process, layer, handle)?;
        if self.list[id.0 as usize].name.is_none() {
            self.list[id.0 as usize].name = self.named(name);
        }
        self.list[id.0 as usize].closed = true;
        Some(id)
    }
}
