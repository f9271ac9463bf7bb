//! The present moment of the replay: processes, their images, heaps and threads with names. Nothing
//! here knows of allocations.
//!
//! Cost: a hash operation or two for the ids in an event; the heap and process of an allocation are
//! mostly known from the event before ([`Actors`]).

mod actors;
mod heap;
mod module;
mod process;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::events::{ImageChange, ImageFile, ImageId, ImageInfo, ProcessChange, ProcessInfo};
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::{Layer, Pid, Ticks, Tid};

use actors::Actors;
pub use heap::{Heap, HeapId};
pub use module::{Module, PdbId};
pub(in crate::model) use process::ProcessTable;
pub use process::{Process, ProcessId, is_process_name, unknown_label};

use heap::HeapTable;
use module::ModuleTable;

/// Names of threads, if events give them.
pub(super) type ThreadNames = KeyedMap<(ProcessId, Tid), Arc<str>>;

/// Everything that exists at the present moment.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) processes: ProcessTable,
    heaps: HeapTable,
    modules: ModuleTable,
    actors: Actors,
    thread_names: Arc<ThreadNames>,
    volumes: Vec<(String, String)>,
    /// The volumes, to look them up.
    known_volumes: KeyedSet<(String, String)>,
    /// Bytes of the names of threads and the paths of volumes, with their entries in tables.
    text: u64,
}

/// Bytes of a thread with a name, or of a volume, beside its text, approximately.
const ENTRY: u64 = 64;

/// Heaps, as events name and open them.
impl World {
    /// Heaps by number.
    pub(super) fn heaps(&self) -> &[Heap] {
        &self.heaps.list
    }

    #[inline(always)]
    pub(super) fn heap(&self, id: HeapId) -> &Heap {
        &self.heaps.list[id.0 as usize]
    }

    /// The heap with a handle, if anything is known of it.
    #[inline(always)]
    pub(super) fn find_heap(&self, pid: Pid, layer: Layer, handle: u64) -> Option<HeapId> {
        match self.actors.get(pid, layer, handle) {
            Some((heap, _)) => Some(heap),
            None => self.heaps.find(self.processes.find(pid)?, layer, handle),
        }
    }

    /// While this number stays the same, a heap that was found for a handle is still the one for which
    /// the handle stands.
    pub(super) fn generation(&self) -> u64 {
        self.actors.generation()
    }

    /// The heap in which a process acts, and the process.
    #[inline(always)]
    pub(super) fn actor(&mut self, (pid, at): (Pid, Ticks), layer: Layer, handle: u64) -> (HeapId, ProcessId) {
        match self.actors.get(pid, layer, handle) {
            Some(known) => known,
            None => self.new_actor((pid, at), layer, handle),
        }
    }

    #[inline(never)]
    fn new_actor(&mut self, (pid, at): (Pid, Ticks), layer: Layer, handle: u64) -> (HeapId, ProcessId) {
        let process = self.processes.writing(pid, at);
        let heap = self.heaps.find_or_add(&self.processes, process, layer, handle);
        self.actors.put(pid, layer, handle, (heap, process));
        (heap, process)
    }

    /// The heap that has all pages of a process.
    pub(super) fn commit_heap(&mut self, process: ProcessId) -> HeapId {
        self.heaps.find_or_add(&self.processes, process, Layer::Commit, 0)
    }

    pub(super) fn open_heap(&mut self, (pid, at): (Pid, Ticks), layer: Layer, handle: u64, name: Option<&str>) {
        self.actors.forget();
        let process = self.processes.writing(pid, at);
        self.heaps.open(&self.processes, process, layer, handle, name);
    }

    /// Closes a heap; `None` if nothing was known of it.
    pub(super) fn close_heap(&mut self, pid: Pid, layer: Layer, handle: u64, name: Option<&str>) -> Option<HeapId> {
        self.actors.forget();
        self.heaps.close(self.processes.find(pid)?, layer, handle, name)
    }

    /// Names trackers whose handles were made of their names.
    pub(super) fn name_trackers(&mut self, names: &BTreeMap<u64, Arc<str>>) {
        self.heaps.name_made(names);
    }

    /// Names a tracker from an event after the last that is replayed.
    pub(super) fn name_heap_late(&mut self, pid: Pid, layer: Layer, handle: u64, name: Option<&str>) {
        if let Some(process) = self.processes.find(pid) {
            self.actors.forget();
            self.heaps.name_late(process, layer, handle, name);
        }
    }
}

/// Processes, images, threads, volumes.
impl World {
    pub(super) fn process_of(&self, heap: HeapId) -> &Process {
        &self.processes.list[self.heap(heap).process.0 as usize]
    }

    /// Applies an event of a process. Returns the life that it ends or shows to have ended, if any.
    pub(super) fn change_process(
        &mut self,
        pid: Pid,
        change: ProcessChange,
        info: &ProcessInfo,
        at: Ticks,
        frequency: i64,
    ) -> Option<ProcessId> {
        self.actors.forget();
        let ended = self.processes.change(pid, change, info, at, frequency);
        // Its first heap can have been reported just before its start.
        if change == ProcessChange::Start
            && let Some(process) = self.processes.find(pid)
        {
            self.heaps.find_default(&self.processes, process);
        }
        ended
    }

    pub(super) fn change_image(&mut self, pid: Pid, change: ImageChange, info: &ImageInfo, at: Ticks) {
        let process = self.processes.find_or_add(pid, at);
        let modules = &mut self.processes.get_mut(process).modules;
        self.modules.change(process, modules, change, info, at);
        self.processes.get_mut(process).has_image(&info.path);
    }

    pub(super) fn identify_image_file(&mut self, pid: Pid, file: &ImageFile, at: Ticks) {
        let process = self.processes.find_or_add(pid, at);
        self.modules.identify_file(process, &mut self.processes.get_mut(process).modules, file);
    }

    pub(super) fn identify_image(&mut self, pid: Pid, id: &ImageId, at: Ticks) {
        let process = self.processes.find_or_add(pid, at);
        self.modules.identify(process, &mut self.processes.get_mut(process).modules, id);
    }

    pub(super) fn name_thread(&mut self, pid: Pid, tid: Tid, name: &str, at: Ticks) {
        let process = self.processes.find_or_add(pid, at);
        let before = Arc::make_mut(&mut self.thread_names).insert((process, tid), name.into());
        self.text += name.len() as u64;
        match before {
            Some(before) => self.text -= before.len() as u64,
            None => self.text += ENTRY,
        }
    }

    pub(super) fn thread_names(&self) -> Arc<ThreadNames> {
        Arc::clone(&self.thread_names)
    }

    pub(super) fn map_volume(&mut self, paths: &(String, String)) {
        if self.known_volumes.insert(paths.clone()) {
            self.text += 2 * (ENTRY + (paths.0.len() + paths.1.len()) as u64);
            self.volumes.push(paths.clone());
        }
    }

    pub(super) fn volumes(&self) -> &[(String, String)] {
        &self.volumes
    }

    /// Bytes of names, modules and volumes, which events report beside memory.
    pub(super) fn told_bytes(&self) -> u64 {
        self.processes.text + self.heaps.text + self.modules.bytes() + self.text
    }

    /// Name and id of the latest life of a process.
    pub(super) fn process_name(&self, pid: Pid) -> String {
        let lives = self.processes.list.iter().rev().filter(|process| process.pid == pid);
        let name = lives.map(|process| process.name.as_str()).find(|name| !name.is_empty());
        name.map_or_else(|| unknown_label(pid), |name| format!("{name} ({pid})"))
    }
}
