//! The modules of a trace, what is known of each, and which of them comes next.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::guard::Stop;
use crate::names::ModuleNames;
use crate::tables::KeyedMap;
use crate::wanted::ModuleAddresses;
use crate::{ModuleKey, ModuleReport, ModuleState, Names};

#[derive(Debug, Default)]
pub(super) struct NameTable {
    pub(super) entries: Vec<Entry>,
    pub(super) index: KeyedMap<ModuleKey, usize>,
    pub(super) names: Arc<Names>,
    /// Number that grows with each change of `names`.
    pub(super) version: u64,
    /// Whether the modules of the trace are listed; `turn` is how often listing them was begun.
    pub(super) is_listed: bool,
    pub(super) turn: u64,
    /// Addresses on the screen, by module.
    pub(super) looked_at: KeyedMap<ModuleKey, Vec<u32>>,
    /// Bytes that are reserved for the files that are being read.
    pub(super) room_taken: u64,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) asked: Arc<ModuleAddresses>,
    pub(super) report: ModuleReport,
    pub(super) chosen: Option<PathBuf>,
    /// Whether a worker is busy with it.
    pub(super) is_busy: bool,
    /// Set when the user changes what is wanted of the module.
    pub(super) stop: Stop,
    pub(super) known: Option<Arc<ModuleNames>>,
}

impl Entry {
    /// Stops the current work for the module: its worker will find that nobody waits for the result.
    pub(super) fn restart(&mut self, all: &Stop) {
        self.stop.set();
        self.stop = all.within(Duration::MAX);
        self.is_busy = false;
    }

    /// Adds what a later publication of the trace asks of the module. `known` are its names so far.
    fn ask(&mut self, asked: ModuleAddresses, known: Option<Arc<ModuleNames>>) {
        let is_new = |rva: &u32| self.asked.rvas.binary_search(rva).is_err();
        let can_be_found_now = matches!(self.report.state, ModuleState::Failed(_)) && asked.wanted != self.asked.wanted;
        let has_more = asked.rvas.iter().any(is_new);
        if !has_more && !can_be_found_now {
            return;
        }
        let mut rvas: Vec<u32> = asked.rvas.iter().chain(&self.asked.rvas).copied().collect();
        rvas.sort_unstable();
        rvas.dedup();
        self.report.addresses = rvas.len();
        self.asked = Arc::new(ModuleAddresses { rvas, ..asked });
        self.known = known;
        // A module that a worker is busy with is queued again when the worker is done.
        if can_be_found_now || matches!(self.report.state, ModuleState::Ready | ModuleState::Unused) {
            self.report.state = ModuleState::Waiting;
        }
    }

    /// Marks the module as unused: no frame asks for it any more.
    fn forget(&mut self, all: &Stop) {
        self.restart(all);
        self.asked = Arc::new(ModuleAddresses { rvas: Vec::new(), ..(*self.asked).clone() });
        (self.report.state, self.report.addresses) = (ModuleState::Unused, 0);
    }
}

impl NameTable {
    /// Takes over what is asked of all modules of a trace: new modules become entries, and modules that are not among
    /// them are not asked for any more.
    pub(super) fn list(&mut self, asked: Vec<ModuleAddresses>, mut entry: impl FnMut(ModuleAddresses) -> Entry, all: &Stop) {
        let mut is_there = vec![false; self.entries.len()];
        for asked in asked {
            match self.index.get(&asked.key) {
                Some(&index) => {
                    is_there[index] = true;
                    let known = self.names.by_key(&asked.key).cloned();
                    self.entries[index].ask(asked, known);
                }
                None => {
                    let entry = entry(asked);
                    let (key, names) = (entry.report.key.clone(), entry.known.clone());
                    self.index.insert(key, self.entries.len());
                    self.entries.push(entry);
                    if names.is_some() {
                        self.publish(self.entries.len() - 1, names);
                    }
                }
            }
        }
        let gone = self.entries.iter_mut().zip(is_there).filter(|(_, is_there)| !is_there).map(|(entry, _)| entry);
        gone.filter(|entry| entry.report.state != ModuleState::Unused).for_each(|entry| entry.forget(all));
        self.is_listed = true;
    }

    pub(super) fn is_done(&self) -> bool {
        let is_open = |entry: &Entry| entry.is_busy || entry.report.state == ModuleState::Waiting;
        self.is_listed && !self.entries.iter().any(is_open)
    }

    /// The module to resolve next: one that is looked at, then the one with most frames.
    pub(super) fn next(&self) -> Option<usize> {
        let waits = |entry: &Entry| !entry.is_busy && entry.report.state == ModuleState::Waiting;
        let rank = |entry: &Entry| (self.looked_at.get(&entry.report.key).map_or(0, Vec::len), entry.asked.rvas.len());
        let waiting = self.entries.iter().enumerate().filter(|(_, entry)| waits(entry));
        waiting.max_by_key(|(i, entry)| (rank(entry), std::cmp::Reverse(*i))).map(|(i, _)| i)
    }

    /// Publishes new names of a module, or removes them.
    pub(super) fn publish(&mut self, index: usize, names: Option<Arc<ModuleNames>>) {
        let entry = &mut self.entries[index];
        entry.report.named = names.as_deref().map_or(0, ModuleNames::named);
        Arc::make_mut(&mut self.names).set(&entry.report.key, names);
        self.version += 1;
    }
}
