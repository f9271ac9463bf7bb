//! The names of one trace while they are being found: a table of its modules, workers that find and resolve their
//! PDBs one by one, and the names that are known so far.
//!
//! Code that shows names calls [`Symbols::names`], again whenever it is notified. It says what it shows with
//! [`Symbols::look_at`], so that these names come first. Neither call waits for names. Large PDBs are read one after
//! the other.

mod table;
mod work;

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::locate::{Locator, file_name};
use super::saved::SavedNames;
use super::source_origin::{BuildSources, NamedModule};
use super::wanted::{self, Also, ModuleAddresses};
use super::{CodeAddress, FrameKind, ModuleKey, ModuleReport, ModuleState, Names, ServerAnswers, Sources, Stop, lookup_address};
use crate::model::{Module, ProcessId, SiteId, Trace};
use crate::tables::KeyedSet;
use table::{Entry, NameTable};

/// The kind of symbols to find for the modules of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Seek {
    /// The names of the frames that are asked about.
    #[default]
    Names,
    /// Only the PDBs, so that names need no network later: of the modules in which frames are asked about, and of
    /// these modules.
    Files(KeyedSet<ModuleKey>),
}

/// Options for finding names.
#[derive(Clone, Debug)]
pub struct Options {
    /// The sources of symbols.
    pub sources: Sources,
    /// The kind of symbols to find.
    pub seek: Seek,
    /// Answers of servers, shared with other searches; servers are not asked the same thing again.
    pub answers: ServerAnswers,
    /// If given, only stacks of memory of these processes are asked about.
    pub processes: Option<KeyedSet<ProcessId>>,
    /// Whether the stacks of frees are asked about, too.
    pub frees: bool,
    /// Whether the stacks of processor samples are asked about, too.
    pub samples: bool,
    /// Folder for resolved names; without it nothing is saved.
    pub saved: Option<PathBuf>,
    /// Number of PDBs that are sought and read at the same time.
    pub workers: usize,
}

impl Default for Options {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            sources: Sources::default(),
            seek: Seek::default(),
            answers: ServerAnswers::default(),
            processes: None,
            frees: false,
            samples: false,
            saved: super::cache_folder().map(|folder| folder.join("names")),
            workers: processors.clamp(2, 4),
        }
    }
}

impl Options {
    fn also(&self) -> Also {
        Also { frees: self.frees, samples: self.samples }
    }
}

/// The names of one trace; see the module. Dropping it stops the work.
#[derive(Debug)]
pub struct Symbols {
    shared: Arc<Shared>,
}

struct Shared {
    table: Mutex<NameTable>,
    changed: Condvar,
    stop: Stop,
    locator: Mutex<Arc<Locator>>,
    seek: Seek,
    saved: Option<SavedNames>,
    processes: Option<KeyedSet<ProcessId>>,
    also: Also,
    notify: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Symbols {
    /// Begins to find the names of all frames of the sites for which `is_asked` is true. `notify` is called, on any
    /// thread, when there is something new to see.
    pub fn start(
        trace: Arc<Trace>,
        options: Options,
        is_asked: impl Fn(SiteId) -> bool + Send + 'static,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let (processes, also) = (options.processes.clone(), options.also());
        let asked = move |trace: &Trace| wanted::addresses(trace, is_asked, also, processes.as_ref());
        Self::begin(trace, options, asked, notify)
    }

    /// Begins to find the names of these addresses.
    pub fn start_at(
        trace: Arc<Trace>,
        options: Options,
        addresses: Vec<CodeAddress>,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self::begin(trace, options, move |trace| wanted::of_addresses(trace, &addresses), notify)
    }

    fn begin(
        trace: Arc<Trace>,
        options: Options,
        asked: impl FnOnce(&Trace) -> Vec<ModuleAddresses> + Send + 'static,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let also = options.also();
        // Saved names are no substitute for a file.
        let saved = options.saved.filter(|_| options.seek == Seek::Names);
        let shared = Arc::new(Shared {
            table: Mutex::default(),
            changed: Condvar::new(),
            stop: Stop::default(),
            locator: Mutex::new(Arc::new(Locator::sharing(options.sources, &options.answers))),
            seek: options.seek,
            saved: saved.map(SavedNames::new),
            processes: options.processes,
            also,
            notify: Box::new(notify),
        });
        let workers = options.workers.max(1);
        let body = {
            let shared = Arc::clone(&shared);
            move || {
                shared.list(&trace, asked, 0);
                drop(trace);
                let more: Vec<_> = (1..workers).map(|_| spawn(&shared, Shared::work)).collect();
                shared.work();
                more.into_iter().flatten().for_each(|worker| drop(worker.join()));
            }
        };
        if std::thread::Builder::new().name("symbols".to_owned()).spawn(body).is_err() {
            shared.lock().is_listed = true; // no threads, no names
        }
        Self { shared }
    }

    /// Continues with a later publication of a trace that has grown: asks for the frames of all its sites. Names that
    /// are known stay, and so do the user's choices about modules.
    pub fn go_on(&self, trace: Arc<Trace>) {
        let turn = {
            let mut table = self.shared.lock();
            (table.is_listed, table.turn) = (false, table.turn + 1);
            table.turn
        };
        let shared = Arc::clone(&self.shared);
        let body = move || {
            let asked = |trace: &Trace| wanted::addresses(trace, |_| true, shared.also, shared.processes.as_ref());
            shared.list(&trace, asked, turn);
        };
        if std::thread::Builder::new().name("symbols".to_owned()).spawn(body).is_err() {
            self.shared.lock().is_listed = true;
        }
    }

    /// The names that are known now, and a number that changes when there are more.
    pub fn names(&self) -> (u64, Arc<Names>) {
        let table = self.shared.lock();
        (table.version, Arc::clone(&table.names))
    }

    /// All modules of the trace, those with most frames first.
    pub fn modules(&self) -> Vec<ModuleReport> {
        let table = self.shared.lock();
        let mut list: Vec<ModuleReport> = table.entries.iter().map(|entry| entry.report.clone()).collect();
        list.sort_by(|a, b| (b.addresses, &a.name).cmp(&(a.addresses, &b.name)));
        list
    }

    /// The modules that have names, for finding their source files. Cost: a step per module.
    pub fn build_sources(&self) -> BuildSources {
        let embedded = self.shared.locator().embedded().to_vec();
        let table = self.shared.lock();
        let modules = table.entries.iter().filter_map(|entry| {
            let names = Arc::clone(table.names.by_key(&entry.report.key)?);
            Some(NamedModule { names, key: entry.report.pdb, file: entry.report.file.clone() })
        });
        BuildSources { modules: modules.collect(), embedded }
    }

    /// Whether everything that can be found has been found.
    pub fn is_done(&self) -> bool {
        self.shared.lock().is_done()
    }

    /// Waits until everything that can be found has been found, for callers that have nothing else to do.
    pub fn wait(&self) {
        let table = self.shared.lock();
        drop(self.shared.changed.wait_while(table, |table| !table.is_done()).unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits as [`Symbols::wait`] does; `look` is called with all modules at this interval meanwhile.
    pub fn wait_watched(&self, every: Duration, mut look: impl FnMut(&[ModuleReport])) {
        loop {
            let is_open = |table: &mut NameTable| !table.is_done();
            let waited = self.shared.changed.wait_timeout_while(self.shared.lock(), every, is_open);
            let (table, time) = waited.unwrap_or_else(PoisonError::into_inner);
            drop(table);
            if !time.timed_out() {
                return;
            }
            look(&self.modules());
        }
    }

    /// Says which frames are shown: module, address, and kind of frame. Their names come first.
    pub fn look_at<'a>(&self, frames: impl IntoIterator<Item = (&'a Module, u64, FrameKind)>) {
        let mut table = self.shared.lock();
        table.looked_at.clear();
        for (module, address, kind) in frames {
            let rva = lookup_address(address, kind).checked_sub(module.base).and_then(|rva| u32::try_from(rva).ok());
            table.looked_at.entry(ModuleKey::of(module)).or_default().extend(rva);
        }
    }

    /// Seeks a module's PDB again, whatever is known or saved.
    pub fn retry(&self, key: &ModuleKey) {
        self.shared.locator().forget();
        self.restart(key, |entry| entry.report.state = ModuleState::Waiting);
    }

    /// Uses a file that the user names as the module's PDB, if it is that PDB.
    pub fn choose(&self, key: &ModuleKey, file: PathBuf) {
        self.restart(key, |entry| {
            entry.report.state = ModuleState::Waiting;
            entry.chosen = Some(file);
        });
    }

    /// Leaves a module without names until it is tried again.
    pub fn exclude(&self, key: &ModuleKey) {
        self.restart(key, |entry| entry.report.state = ModuleState::Excluded);
    }

    /// Uses other sources from now on, also for modules that were not found so far. Names that are there stay.
    pub fn change_sources(&self, sources: Sources) {
        *self.shared.locator.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(Locator::new(sources));
        let mut table = self.shared.lock();
        for entry in &mut table.entries {
            use ModuleState::{Downloading, Failed, Searching};
            if matches!(entry.report.state, Failed(_) | Searching | Downloading(_)) {
                entry.restart(&self.shared.stop);
                entry.report.state = ModuleState::Waiting;
            }
        }
        drop(table);
        self.shared.tell();
    }

    fn restart(&self, key: &ModuleKey, change: impl FnOnce(&mut Entry)) {
        let mut table = self.shared.lock();
        let Some(&index) = table.index.get(key) else { return };
        let entry = &mut table.entries[index];
        entry.restart(&self.shared.stop);
        entry.known = None;
        entry.chosen = None;
        change(entry);
        if let (Some(saved), Some((key, pdb))) = (&self.shared.saved, &entry.asked.wanted.pdb) {
            file_name(pdb).into_iter().for_each(|pdb| saved.remove(pdb, *key));
        }
        table.publish(index, None);
        drop(table);
        self.shared.tell();
    }
}

impl Drop for Symbols {
    fn drop(&mut self) {
        self.shared.stop.set();
        self.shared.changed.notify_all();
    }
}

fn spawn(shared: &Arc<Shared>, work: fn(&Arc<Shared>)) -> Option<std::thread::JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name("symbols".to_owned()).spawn(move || work(&shared)).ok()
}
