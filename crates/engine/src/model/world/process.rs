//! Processes: one entry for each life of a process id.

use std::sync::Arc;

use super::Module;
use crate::events::{LifetimeChange, ProcessChange, ProcessEvent, ProcessInfo, ProcessLifetimes, Sign, program_name};
use crate::stored::stored;
use crate::units::{Pid, Ticks};

/// Index of one life of a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcessId(pub u32);

stored!(number ProcessId);

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
}

stored!(struct Process { pid, name, command_line, parent, start, end, modules, told_name });

/// Whether a process name is the wanted one, in any case; `.exe` may be left out.
pub fn is_process_name(name: &str, wanted: &str) -> bool {
    let (name, wanted) = (name.to_lowercase(), wanted.to_lowercase());
    name == wanted || name.strip_suffix(".exe") == Some(&wanted)
}

/// The name of a process of which no event tells one: `Unknown (PID)`.
pub fn unknown_label(pid: Pid) -> String {
    format!("Unknown ({pid})")
}

impl Process {
    /// Its name, or `Unknown (PID)`.
    pub fn label(&self) -> String {
        if self.name.is_empty() { unknown_label(self.pid) } else { self.name.clone() }
    }

    /// Its name with its id, which tells processes of one name apart.
    pub fn label_with_id(&self) -> String {
        if self.name.is_empty() { self.label() } else { format!("{} ({})", self.name, self.pid) }
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
}

/// Finds the life of a process id at the present moment of the replay.
#[derive(Debug, Default)]
pub(in crate::model) struct ProcessTable {
    pub(in crate::model) list: Vec<Arc<Process>>,
    lifetimes: ProcessLifetimes<ProcessId>,
    /// Bytes of names and command lines.
    pub(super) text: u64,
}

impl ProcessTable {
    pub(in crate::model) fn get_mut(&mut self, id: ProcessId) -> &mut Process {
        Arc::make_mut(&mut self.list[id.0 as usize])
    }

    fn describe(&mut self, id: ProcessId, info: &ProcessInfo) {
        self.text += self.get_mut(id).describe(info);
    }

    /// The present life, if any event named it.
    pub(in crate::model) fn find(&self, pid: Pid) -> Option<ProcessId> {
        self.lifetimes.present(pid)
    }

    /// Whether anything is known of a process id, including lives that are over.
    pub(in crate::model) fn has_been(&self, pid: Pid) -> bool {
        self.lifetimes.has(pid)
    }

    /// The present life; one that began unseen is added if there is none.
    pub(in crate::model) fn find_or_add(&mut self, pid: Pid, at: Ticks) -> ProcessId {
        self.shows(pid, Sign::Seen, at)
    }

    /// The present life, for an event that the process wrote itself, not the kernel.
    pub(in crate::model) fn writing(&mut self, pid: Pid, at: Ticks) -> ProcessId {
        self.shows(pid, Sign::Wrote, at)
    }

    /// The present life, for an event of the kernel about what the process did.
    pub(in crate::model) fn acting(&mut self, pid: Pid, at: Ticks) -> ProcessId {
        self.shows(pid, Sign::Acted, at)
    }

    fn shows(&mut self, pid: Pid, sign: Sign, at: Ticks) -> ProcessId {
        let Self { list, lifetimes, .. } = self;
        lifetimes.shows(pid, sign, at.0, || add(list, pid, None))
    }

    /// The present life, or else the latest, for events that may come after its end.
    pub(in crate::model) fn latest(&self, pid: Pid) -> Option<ProcessId> {
        self.lifetimes.latest(pid)
    }

    /// The present life, or else the latest; one that began unseen is added if there is none.
    pub(in crate::model) fn latest_or_add(&mut self, pid: Pid, at: Ticks) -> ProcessId {
        self.latest(pid).unwrap_or_else(|| self.find_or_add(pid, at))
    }

    /// Applies an event of a process. Returns the life that it ends or shows to have ended, if any.
    pub(in crate::model) fn change(
        &mut self,
        pid: Pid,
        change: ProcessChange,
        info: &ProcessInfo,
        at: Ticks,
        frequency: i64,
    ) -> Option<ProcessId> {
        let Self { list, lifetimes, .. } = self;
        let start = (change == ProcessChange::Start).then_some(at);
        let event = ProcessEvent::new(change, info, at.0);
        let (process, ended) = match lifetimes.apply(pid, &event, frequency, || add(list, pid, start)) {
            LifetimeChange::Past => return None,
            LifetimeChange::Same { process, starts } => {
                if starts {
                    self.get_mut(process).start = Some(at); // a rundown can name it just before its start
                }
                (process, None)
            }
            LifetimeChange::Begins { process, ended } => (process, ended),
            LifetimeChange::Ends(process) => (process, Some(process)),
        };
        self.describe(process, info);
        if let Some(ended) = ended {
            self.get_mut(ended).end = Some(at);
        }
        ended
    }
}

fn add(list: &mut Vec<Arc<Process>>, pid: Pid, start: Option<Ticks>) -> ProcessId {
    let id = ProcessId(list.len() as u32);
    list.push(Arc::new(Process {
        pid,
        name: String::new(),
        command_line: String::new(),
        parent: 0,
        start,
        end: None,
        modules: Vec::new(),
        told_name: None,
    }));
    id
}
