//! The modules of a trace, what is known of each, and whose turn it is.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::symbols::guard::Stop;
use crate::symbols::names::ModuleNames;
use crate::symbols::wanted::ModuleAddresses;
use crate::symbols::{ModuleKey, ModuleReport, ModuleState, Names};

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
    pub(super) index: FxHashMap<ModuleKey, usize>,
    pub(super) names: Arc<Names>,
    /// Counts what is new in `names`.
    pub(super) version: u64,
    /// Whether the trace has been looked through.
    pub(super) is_listed: bool,
    /// Addresses on the screen.
    pub(super) looked_at: FxHashMap<ModuleKey, Vec<u32>>,
    /// Bytes that are set aside for what is being read.
    pub(super) room_taken: u64,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) asked: Arc<ModuleAddresses>,
    pub(super) report: ModuleReport,
    pub(super) chosen: Option<PathBuf>,
    /// Whether a worker has it.
    pub(super) is_busy: bool,
    /// Set when the user changed what is wanted of it.
    pub(super) stop: Stop,
    pub(super) known: Option<Arc<ModuleNames>>,
}

impl Entry {
    /// Stops what is being done for it: whoever has it will find that nobody waits for it.
    pub(super) fn restart(&mut self, all: &Stop) {
        self.stop.set();
        self.stop = all.within(Duration::MAX);
        self.is_busy = false;
    }
}

impl Table {
    pub(super) fn is_done(&self) -> bool {
        let is_open = |entry: &Entry| entry.is_busy || entry.report.state == ModuleState::Waiting;
        self.is_listed && !self.entries.iter().any(is_open)
    }

    /// The module whose turn it is: what is looked at, then what has most frames.
    pub(super) fn next(&self) -> Option<usize> {
        let waits = |entry: &Entry| !entry.is_busy && entry.report.state == ModuleState::Waiting;
        let rank = |entry: &Entry| (self.looked_at.get(&entry.report.key).map_or(0, Vec::len), entry.asked.rvas.len());
        let waiting = self.entries.iter().enumerate().filter(|(_, entry)| waits(entry));
        waiting.max_by_key(|(i, entry)| (rank(entry), std::cmp::Reverse(*i))).map(|(i, _)| i)
    }

    /// Makes new names of a module known.
    pub(super) fn publish(&mut self, index: usize, names: Option<Arc<ModuleNames>>) {
        let entry = &mut self.entries[index];
        let all = Arc::make_mut(&mut self.names);
        match names {
            Some(names) => {
                entry.report.named = names.named();
                all.modules.insert(entry.report.key.clone(), names);
            }
            None => {
                entry.report.named = 0;
                all.modules.remove(&entry.report.key);
            }
        }
        self.version += 1;
    }
}
