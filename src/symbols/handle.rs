//! The names of one trace while they are being found: a table of its modules, workers
//! that find and resolve their PDBs one by one, and the names that are known so far.
//!
//! Whoever shows names asks for [`Symbols::names`] and looks again when it is told of
//! news; it says what it shows by [`Symbols::look_at`], so that this comes first. Nothing
//! here makes it wait. Large PDBs are read one after the other.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::locate::{Download, Located, Locator, Sources, file_name};
use super::names::{Frame, ModuleNames};
use super::resolver::{self, Request, Resolved};
use super::saved::{Saved, SavedNames};
use super::wanted::{self, ModuleAddresses};
use super::{ModuleKey, PdbKey, Stop, lookup_address};
use crate::model::{Module, SiteId, Trace};
use crate::panics;

/// The names that are known at one moment.
#[derive(Clone, Debug, Default)]
pub struct Names {
    modules: FxHashMap<ModuleKey, Arc<ModuleNames>>,
}

impl Names {
    /// Frames of a return address in `module`, innermost first: the last is the
    /// function in the image, those before it are inlined there. Empty or `None`
    /// where nothing is known. `is_innermost`: nothing was called from this frame.
    pub fn frames(
        &self,
        module: &Module,
        address: u64,
        is_innermost: bool,
    ) -> Option<impl DoubleEndedIterator<Item = Frame<'_>> + ExactSizeIterator> {
        let names = self.of(module)?;
        let rva = lookup_address(address, is_innermost).checked_sub(module.base)?;
        names.frames(u32::try_from(rva).ok()?)
    }

    /// The C++ type that the call allocates which returns to `address`.
    pub fn allocated_type(&self, module: &Module, address: u64) -> Option<&str> {
        let rva = address.checked_sub(module.base)?;
        self.of(module)?.allocated_type(u32::try_from(rva).ok()?)
    }

    /// Whether nothing at all is known.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// What is known of one module.
    pub fn of(&self, module: &Module) -> Option<&Arc<ModuleNames>> {
        if self.modules.is_empty() { None } else { self.modules.get(&ModuleKey::of(module)) }
    }
}

/// How far it is with a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModuleState {
    /// No frame of the trace lies in it.
    Unused,
    /// Its turn comes.
    Waiting,
    /// Its PDB is being sought.
    Searching,
    /// Its PDB is coming from a server.
    Downloading(Download),
    /// Its PDB is being read.
    Reading,
    /// Its names are there.
    Ready,
    /// There are no names, and why.
    Failed(String),
    /// The user does not want its names.
    Excluded,
}

/// One module as a list shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleReport {
    /// The module.
    pub key: ModuleKey,
    /// File name of the image.
    pub name: String,
    /// Path of the image, as the kernel names it.
    pub image: String,
    /// Identity of its PDB, as far as it is known.
    pub pdb: Option<PdbKey>,
    /// How far it is.
    pub state: ModuleState,
    /// Frames of the trace in it, each address once.
    pub addresses: usize,
    /// How many of them have a name.
    pub named: usize,
    /// Where the PDB came from.
    pub source: String,
    /// The PDB.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// How long finding and reading it took.
    pub time: Duration,
    /// What is to be said although there are names.
    pub note: &'static str,
}

/// How to find names.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where symbols come from.
    pub sources: Sources,
    /// Folder for resolved names; without it nothing is saved.
    pub saved: Option<PathBuf>,
    /// PDBs that are sought and read at the same time.
    pub workers: usize,
}

impl Default for Options {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            sources: Sources::default(),
            saved: super::cache_folder().map(|folder| folder.join("names")),
            workers: processors.clamp(2, 4),
        }
    }
}

/// Bytes of PDBs, times three, that may be read at the same time; one larger one alone.
const ROOM: u64 = 1 << 30;

/// Memory that a PDB takes while it is read, in its own size.
const MEMORY_OF_PDB: u64 = 3;

const FASTLINK_NOTE: &str =
    "linked with /DEBUG:FASTLINK: only public names and lines; link with /DEBUG:FULL for inlined frames and types";

/// The names of one trace; see the module. Dropping it stops the work.
#[derive(Debug)]
pub struct Symbols {
    shared: Arc<Shared>,
}

struct Shared {
    table: Mutex<Table>,
    changed: Condvar,
    stop: Stop,
    locator: Locator,
    saved: Option<SavedNames>,
    notify: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("table", &self.table).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Table {
    entries: Vec<Entry>,
    index: FxHashMap<ModuleKey, usize>,
    names: Arc<Names>,
    /// Counts what is new in `names`.
    version: u64,
    /// Whether the trace has been looked through.
    is_listed: bool,
    /// Addresses on the screen.
    looked_at: FxHashMap<ModuleKey, Vec<u32>>,
    /// Bytes that are set aside for what is being read.
    room_taken: u64,
}

#[derive(Debug)]
struct Entry {
    asked: Arc<ModuleAddresses>,
    report: ModuleReport,
    chosen: Option<PathBuf>,
    /// Whether a worker has it.
    is_busy: bool,
    /// Set when the user changed what is wanted of it.
    stop: Stop,
    known: Option<Arc<ModuleNames>>,
}

impl Symbols {
    /// Begins to find the names of all frames of the sites for which `is_asked`.
    /// `notify` is called, on any thread, when there is something new to see.
    pub fn start(
        trace: Arc<Trace>,
        options: Options,
        is_asked: impl Fn(SiteId) -> bool + Send + 'static,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            table: Mutex::default(),
            changed: Condvar::new(),
            stop: Stop::default(),
            locator: Locator::new(options.sources),
            saved: options.saved.map(SavedNames::new),
            notify: Box::new(notify),
        });
        let workers = options.workers.max(1);
        let body = {
            let shared = Arc::clone(&shared);
            move || {
                shared.list(&trace, is_asked);
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

    /// Whether everything that can be found has been found.
    pub fn is_done(&self) -> bool {
        self.shared.lock().is_done()
    }

    /// Waits until then; for those that have nothing else to do.
    pub fn wait(&self) {
        let table = self.shared.lock();
        drop(self.shared.changed.wait_while(table, |table| !table.is_done()).unwrap_or_else(PoisonError::into_inner));
    }

    /// Says which frames somebody looks at: module, return address, and whether
    /// nothing was called from there. Their names come first.
    pub fn look_at<'a>(&self, frames: impl IntoIterator<Item = (&'a Module, u64, bool)>) {
        let mut table = self.shared.lock();
        table.looked_at.clear();
        for (module, address, is_innermost) in frames {
            let rva = lookup_address(address, is_innermost).checked_sub(module.base).and_then(|rva| u32::try_from(rva).ok());
            table.looked_at.entry(ModuleKey::of(module)).or_default().extend(rva);
        }
    }

    /// Seeks a module's PDB again, whatever is known or was saved.
    pub fn retry(&self, key: &ModuleKey) {
        self.shared.locator.forget();
        self.restart(key, |entry| entry.report.state = ModuleState::Waiting);
    }

    /// Takes a file that the user names as the module's PDB, if it is.
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

    fn restart(&self, key: &ModuleKey, change: impl FnOnce(&mut Entry)) {
        let mut table = self.shared.lock();
        let Some(&index) = table.index.get(key) else { return };
        let entry = &mut table.entries[index];
        entry.stop.set();
        entry.stop = self.shared.stop.within(Duration::MAX);
        entry.is_busy = false; // whoever has it will find that nobody waits for it
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

impl Table {
    fn is_done(&self) -> bool {
        let is_open = |entry: &Entry| entry.is_busy || entry.report.state == ModuleState::Waiting;
        self.is_listed && !self.entries.iter().any(is_open)
    }

    /// The module whose turn it is: what is looked at, then what has most frames.
    fn next(&self) -> Option<usize> {
        let waits = |entry: &Entry| !entry.is_busy && entry.report.state == ModuleState::Waiting;
        let rank = |entry: &Entry| (self.looked_at.get(&entry.report.key).map_or(0, Vec::len), entry.asked.rvas.len());
        let waiting = self.entries.iter().enumerate().filter(|(_, entry)| waits(entry));
        waiting.max_by_key(|(i, entry)| (rank(entry), std::cmp::Reverse(*i))).map(|(i, _)| i)
    }

    /// Makes new names of a module known.
    fn publish(&mut self, index: usize, names: Option<Arc<ModuleNames>>) {
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

/// What a worker does for a module.
struct Job {
    index: usize,
    asked: Arc<ModuleAddresses>,
    chosen: Option<PathBuf>,
    stop: Stop,
    known: Option<Arc<ModuleNames>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        self.changed.notify_all();
        (self.notify)();
    }

    /// Fills the table, and shows what was saved.
    fn list(&self, trace: &Trace, is_asked: impl Fn(SiteId) -> bool) {
        let listed = panics::catch(|| {
            let asked = wanted::addresses(trace, is_asked);
            let others = wanted::others(trace, &asked);
            (asked, others)
        });
        let (asked, others) = listed.unwrap_or_else(|caught| {
            log::error!("the modules of the trace could not be listed: {caught}");
            Default::default()
        });
        let entries: Vec<Entry> = asked.into_iter().chain(others).map(|asked| self.entry(asked)).collect();
        let mut table = self.lock();
        table.index = entries.iter().enumerate().map(|(i, entry)| (entry.report.key.clone(), i)).collect();
        let known: Vec<_> = entries.iter().map(|entry| entry.known.clone()).collect();
        table.entries = entries;
        for (index, names) in known.into_iter().enumerate().filter(|(_, names)| names.is_some()) {
            table.publish(index, names);
        }
        table.is_listed = true;
        drop(table);
        self.tell();
    }

    fn entry(&self, asked: ModuleAddresses) -> Entry {
        let pdb = asked.wanted.pdb.as_ref().map(|(key, _)| *key);
        let mut report = ModuleReport {
            key: asked.key.clone(),
            name: asked.name().to_owned(),
            image: asked.wanted.image.clone(),
            pdb,
            state: if asked.rvas.is_empty() { ModuleState::Unused } else { ModuleState::Waiting },
            addresses: asked.rvas.len(),
            named: 0,
            source: String::new(),
            file: String::new(),
            bytes: 0,
            time: Duration::ZERO,
            note: "",
        };
        let saved = asked.wanted.pdb.as_ref().filter(|_| !asked.rvas.is_empty()).and_then(|(key, pdb)| self.load(pdb, *key));
        let known = saved.map(|saved| {
            report.source = format!("{} (resolved before)", saved.source);
            (report.file, report.bytes) = (saved.file, saved.file_bytes);
            report.note = if saved.fastlink { FASTLINK_NOTE } else { "" };
            if asked.rvas.iter().all(|&rva| saved.names.contains(rva)) {
                report.state = ModuleState::Ready;
            }
            Arc::new(saved.names)
        });
        let stop = self.stop.within(Duration::MAX);
        Entry { asked: Arc::new(asked), report, chosen: None, is_busy: false, stop, known }
    }

    fn load(&self, pdb: &str, key: PdbKey) -> Option<Saved> {
        self.saved.as_ref()?.load(file_name(pdb)?, key)
    }

    /// Takes one module after the other until the end.
    fn work(self: &Arc<Self>) {
        while let Some(job) = self.take() {
            let start = Instant::now();
            let result = panics::catch(|| self.run(&job))
                .unwrap_or_else(|caught| Err(format!("an internal error stopped the work ({caught})")));
            let mut table = self.lock();
            if !job.stop.is_set() {
                let entry = &mut table.entries[job.index];
                entry.is_busy = false;
                entry.report.time = start.elapsed();
                entry.report.state = match result {
                    Ok(()) => ModuleState::Ready,
                    Err(why) => ModuleState::Failed(why),
                };
            }
            drop(table);
            self.tell();
        }
    }

    fn take(&self) -> Option<Job> {
        let mut table = self.lock();
        loop {
            if self.stop.is_set() {
                return None;
            }
            if let Some(index) = table.next() {
                let entry = &mut table.entries[index];
                entry.is_busy = true;
                entry.report.state = ModuleState::Searching;
                let (asked, chosen, stop) = (Arc::clone(&entry.asked), entry.chosen.clone(), entry.stop.clone());
                return Some(Job { index, asked, chosen, stop, known: entry.known.clone() });
            }
            table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Changes a module's report, if its job is still wanted.
    fn report(&self, job: &Job, change: impl FnOnce(&mut ModuleReport)) {
        let mut table = self.lock();
        if !job.stop.is_set() {
            change(&mut table.entries[job.index].report);
        }
        drop(table);
        (self.notify)();
    }

    fn run(self: &Arc<Self>, job: &Job) -> Result<(), String> {
        let progress = |download| self.report(job, |report| report.state = ModuleState::Downloading(download));
        let found = self.locator.find(&job.asked.wanted, job.chosen.as_deref(), &job.stop, &progress)?;
        let bytes = found.file.len();
        self.report(job, |report| {
            report.pdb = Some(found.key);
            report.source.clone_from(&found.source);
            report.file = found.file.to_string();
            report.bytes = bytes;
        });
        let room = self.set_room_aside(job, bytes.saturating_mul(MEMORY_OF_PDB))?;
        self.report(job, |report| report.state = ModuleState::Reading);
        let resolved = self.resolve(job, &found);
        drop(room);
        let Resolved { names, fastlink } = resolved?;
        let names = Arc::new(names);
        let mut table = self.lock();
        if job.stop.is_set() {
            return Ok(());
        }
        table.entries[job.index].report.note = if fastlink { FASTLINK_NOTE } else { "" };
        table.publish(job.index, Some(Arc::clone(&names)));
        drop(table);
        self.tell();
        self.save(job, &found, bytes, &names, fastlink);
        Ok(())
    }

    fn resolve(self: &Arc<Self>, job: &Job, found: &Located) -> Result<Resolved, String> {
        let first = self.lock().looked_at.get(&job.asked.key).cloned().unwrap_or_default();
        let request = Request { key: Some(found.key), first, all: job.asked.rvas.clone(), known: job.known.clone() };
        let (shared, index, stop) = (Arc::clone(self), job.index, job.stop.clone());
        let publish = move |names: ModuleNames| {
            let mut table = shared.lock();
            if !stop.is_set() {
                table.publish(index, Some(Arc::new(names)));
            }
            drop(table);
            shared.tell();
        };
        let describe = |error: super::PdbError| format!("{}: {error}", found.file);
        resolver::resolve(found.file.clone(), request, &job.stop, publish).map_err(describe)
    }

    fn save(&self, job: &Job, found: &Located, file_bytes: u64, names: &ModuleNames, fastlink: bool) {
        let (Some(saved), Some((key, pdb))) = (&self.saved, &job.asked.wanted.pdb) else { return };
        // What is in memory is there at once anyway.
        let (Some(pdb), Some(file)) = (file_name(pdb), found.file.path()) else { return };
        let (names, file) = (names.clone(), file.display().to_string());
        let what = Saved { names, source: found.source.clone(), file, file_bytes, fastlink };
        if let Err(error) = saved.save(pdb, *key, &what) {
            log::warn!("the names of {} could not be saved: {error}", job.asked.name());
        }
    }

    /// Waits until there is room for what a PDB needs.
    fn set_room_aside(&self, job: &Job, bytes: u64) -> Result<Room<'_>, String> {
        let mut table = self.lock();
        while table.room_taken > 0 && table.room_taken.saturating_add(bytes) > ROOM {
            if job.stop.is_set() {
                return Err("stopped".to_owned());
            }
            table = self.changed.wait_timeout(table, Duration::from_millis(200)).unwrap_or_else(PoisonError::into_inner).0;
        }
        table.room_taken = table.room_taken.saturating_add(bytes);
        Ok(Room { shared: self, bytes })
    }
}

/// Memory that is set aside; dropping it gives it back.
struct Room<'a> {
    shared: &'a Shared,
    bytes: u64,
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let mut table = self.shared.lock();
        table.room_taken = table.room_taken.saturating_sub(self.bytes);
        drop(table);
        self.shared.changed.notify_all();
    }
}
