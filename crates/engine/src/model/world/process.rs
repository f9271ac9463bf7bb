//! Processes: one entry for each life of a process id.

use std::sync::Arc;

use super::Module;
use crate::events::{ProcessInfo, program_name};
use crate::tables::KeyedMap;
use crate::units::{Pid, Ticks};

/// Index of one life of a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcessId(pub u32);

/// One life of a process id.
#[derive(Clone, PartialEq, Debug)]
pub struct Process {
    /// Its id; other lives can have the same.
    pub pid: Pid,
    /// Image file name, empty if no event gave one; see [`Process::label`].
    pub name: String,
    /// Command line, empty if unknown.
    pub command_line: String,
    /// Parent's id, 0 if unknown.
    pub parent: u32,
    /// When it started; `None` if it ran before the trace.
    pub start: Option<Ticks>,
    /// When it ended; `None` if it outlived the trace.
    pub end: Option<Ticks>,
    /// Images, in the order in which they were met.
    pub modules: Vec<Module>,
    /// Its name in events, if that is not plain ASCII and no image of its name was met.
    told_name: Option<String>,
    key: u64,
    first_seen: Ticks,
    /// Whether the kernel reported something that it did itself, or that it ran before the trace.
    has_acted: bool,
    /// When it wrote its first event of heaps or trackers.
    first_wrote: Option<Ticks>,
}

/// Whether a process name is the wanted one, in any case; `.exe` may be left out.
pub fn is_process_name(name: &str, wanted: &str) -> bool {
    let (name, wanted) = (name.to_lowercase(), wanted.to_lowercase());
    name == wanted || name.strip_suffix(".exe") == Some(&wanted)
}

impl Process {
    /// Its name, or `Unknown (PID)`.
    pub fn label(&self) -> String {
        if self.name.is_empty() { format!("Unknown ({})", self.pid) } else { self.name.clone() }
    }

    /// Whether it has this name, in any case and with or without `.exe`, or this id.
    pub fn is_called(&self, wanted: &str) -> bool {
        is_process_name(&self.label(), wanted) || wanted.parse() == Ok(self.pid.0)
    }

    /// Takes details that were not known. Returns how many bytes of text were added.
    fn describe(&mut self, info: &ProcessInfo) -> u64 {
        let before = self.name.len() + self.command_line.len();
        let set = |field: &mut String, value: &String| {
            if field.is_empty() {
                field.clone_from(value);
            }
        };
        if self.name.is_empty() {
            self.call(&info.name, &info.command_line);
        }
        set(&mut self.command_line, &info.command_line);
        let came = self.name.len() + self.command_line.len() - before;
        if self.key == 0 {
            self.key = info.key;
        }
        if self.parent == 0 {
            self.parent = info.parent;
        }
        came as u64
    }

    /// Takes the name from an event, or the original name if that may be garbled by a code page.
    fn call(&mut self, told: &str, command_line: &str) {
        told.clone_into(&mut self.name);
        if program_name::is_doubtful(told) {
            self.name = program_name::of_command_line(told, command_line).unwrap_or_else(|| told.to_owned());
            self.told_name = Some(told.to_owned());
            let images: Vec<Arc<str>> = self.modules.iter().map(|module| Arc::clone(&module.path)).collect();
            images.iter().for_each(|path| self.has_image(path));
        }
    }

    /// Takes the process's name from a mapped image, if the image may be its own.
    pub(super) fn has_image(&mut self, path: &str) {
        if let Some(name) = self.told_name.as_deref().and_then(|told| program_name::of_image(told, path)) {
            name.clone_into(&mut self.name);
            self.told_name = None;
        }
    }

    fn is_other_than(&self, info: &ProcessInfo) -> bool {
        self.key != 0 && info.key != 0 && self.key != info.key
    }
}

/// Finds the life of a process id at the present moment of the replay.
#[derive(Debug, Default)]
pub(in crate::model) struct ProcessTable {
    pub(in crate::model) list: Vec<Arc<Process>>,
    alive: KeyedMap<Pid, ProcessId>,
    /// The latest life of each id, ended or not.
    latest: KeyedMap<Pid, ProcessId>,
    /// Bytes of names and command lines.
    pub(super) text: u64,
}

/// A parent commits pages in its child shortly before the child's start is logged.
const BEFORE_START_SECONDS: i64 = 1;

/// Events that a process writes itself come through other buffers than its start, from another
/// processor, whose clock may be behind a little: this part of a second at most.
const WRITTEN_BEFORE_START: i64 = 1_000;

impl ProcessTable {
    pub(in crate::model) fn get_mut(&mut self, id: ProcessId) -> &mut Process {
        Arc::make_mut(&mut self.list[id.0 as usize])
    }

    fn describe(&mut self, id: ProcessId, info: &ProcessInfo) {
        self.text += self.get_mut(id).describe(info);
    }

    /// The present life, if any event named it.
    pub(in crate::model) fn find(&self, pid: Pid) -> Option<ProcessId> {
        self.alive.get(&pid).copied()
    }

    /// Whether anything is known of a process id, including lives that are over.
    pub(in crate::model) fn has_been(&self, pid: Pid) -> bool {
        self.latest.contains_key(&pid)
    }

    /// The present life; one that began unseen is added if there is none.
    pub(in crate::model) fn find_or_add(&mut self, pid: Pid, at: Ticks) -> ProcessId {
        self.find(pid).unwrap_or_else(|| self.add(pid, None, at))
    }

    /// The present life, for an event that the process wrote itself, not the kernel.
    pub(in crate::model) fn writing(&mut self, pid: Pid, at: Ticks) -> ProcessId {
        let id = self.find_or_add(pid, at);
        if self.list[id.0 as usize].first_wrote.is_none() {
            self.get_mut(id).first_wrote = Some(at);
        }
        id
    }

    /// The present life, for an event of the kernel about what the process did.
    pub(in crate::model) fn acting(&mut self, pid: Pid, at: Ticks) -> ProcessId {
        let id = self.find_or_add(pid, at);
        if !self.list[id.0 as usize].has_acted {
            self.get_mut(id).has_acted = true;
        }
        id
    }

    /// The present life, or else the latest, for events that may come after its end.
    pub(in crate::model) fn latest_or_add(&mut self, pid: Pid, at: Ticks) -> ProcessId {
        let latest = self.find(pid).or_else(|| self.latest.get(&pid).copied());
        latest.unwrap_or_else(|| self.add(pid, None, at))
    }

    fn add(&mut self, pid: Pid, start: Option<Ticks>, at: Ticks) -> ProcessId {
        let id = ProcessId(self.list.len() as u32);
        self.list.push(Arc::new(Process {
            pid,
            name: String::new(),
            command_line: String::new(),
            parent: 0,
            start,
            end: None,
            modules: Vec::new(),
            told_name: None,
            key: 0,
            first_seen: at,
            has_acted: false,
            first_wrote: None,
        }));
        self.alive.insert(pid, id);
        self.latest.insert(pid, id);
        id
    }

    /// Applies a start event. Returns the life that it ends unseen, if any.
    pub(in crate::model) fn start(&mut self, pid: Pid, info: &ProcessInfo, at: Ticks, frequency: i64) -> Option<ProcessId> {
        let before = self.find(pid);
        if let Some(id) = before {
            let process = self.get_mut(id);
            let same = process.key != 0 && process.key == info.key; // logged by a second session
            let since = |earlier: Ticks| at.0.saturating_sub(earlier.0);
            let has_run = process.first_wrote.is_some_and(|wrote| since(wrote) > frequency / WRITTEN_BEFORE_START);
            let unbegun = process.start.is_none() && !process.has_acted && !has_run;
            let prepared =
                unbegun && process.name.is_empty() && since(process.first_seen) <= frequency.saturating_mul(BEFORE_START_SECONDS);
            if same || prepared {
                if unbegun {
                    process.start = Some(at); // a rundown can name it just before its start
                }
                self.describe(id, info);
                return None;
            }
            self.end(id, at);
        }
        let id = self.add(pid, Some(at), at);
        self.describe(id, info);
        before
    }

    /// Applies a rundown event. Returns the life that it shows to have ended unseen, if any.
    pub(in crate::model) fn rundown(&mut self, pid: Pid, info: &ProcessInfo, at: Ticks) -> Option<ProcessId> {
        let latest = self.latest.get(&pid).copied();
        match latest {
            // The kernel keeps ended processes while something refers to them.
            Some(id) if self.find(pid).is_none() && self.list[id.0 as usize].key == info.key && info.key != 0 => None,
            Some(id) if self.find(pid) == Some(id) && self.list[id.0 as usize].is_other_than(info) => {
                self.end(id, at);
                let next = self.add(pid, None, at);
                self.describe(next, info);
                Some(id)
            }
            _ => {
                let id = self.find_or_add(pid, at);
                self.describe(id, info);
                None
            }
        }
    }

    /// Applies an end event. Returns the life that it ends.
    pub(in crate::model) fn end_of(&mut self, pid: Pid, info: &ProcessInfo, at: Ticks) -> Option<ProcessId> {
        let again = self.latest.get(&pid).is_some_and(|id| {
            let process = &self.list[id.0 as usize];
            process.end.is_some() && process.key == info.key && info.key != 0
        });
        if again {
            return None; // logged by a second session
        }
        let id = self.find_or_add(pid, at);
        self.describe(id, info);
        self.end(id, at);
        Some(id)
    }

    fn end(&mut self, id: ProcessId, at: Ticks) {
        let process = self.get_mut(id);
        process.end = Some(at);
        let pid = process.pid;
        self.alive.remove(&pid);
    }
}
