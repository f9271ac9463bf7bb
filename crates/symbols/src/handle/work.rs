//! The work of the workers: they fill the table, then find and resolve one PDB after the other.

use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::table::{Entry, NameTable};
use super::{Seek, Shared};

use crate::dwarf;
use crate::guard::Stop;
use crate::locate::{Located, Locator, file_name};
use crate::model::Trace;
use crate::names::ModuleNames;
use crate::panics;
use crate::resolver::{self, Request, Resolved};
use crate::saved::{self, Saved};
use crate::tables::KeyedMap;
use crate::wanted::{self, ModuleAddresses};
use crate::{ModuleKey, ModuleNote, ModuleReport, ModuleState, PdbError, PdbKey};

/// Memory for the PDBs that are read at the same time, in bytes; a PDB that needs more is read alone.
const ROOM: u64 = 1 << 30;

/// Memory that a PDB takes while it is read, as a multiple of its size.
const MEMORY_OF_PDB: u64 = 3;

/// The work for one module.
struct Job {
    index: usize,
    asked: Arc<ModuleAddresses>,
    chosen: Option<PathBuf>,
    stop: Stop,
    known: Option<Arc<ModuleNames>>,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, NameTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The locator that is used now.
    pub(super) fn locator(&self) -> Arc<Locator> {
        Arc::clone(&self.locator.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn tell(&self) {
        self.changed.notify_all();
        (self.notify)();
    }

    /// Fills the table, and shows saved names, unless another turn has begun meanwhile.
    pub(super) fn list(&self, trace: &Trace, asked: impl FnOnce(&Trace) -> Vec<ModuleAddresses>, turn: u64) {
        let listed = panics::catch(|| {
            let asked = asked(trace);
            let others = wanted::others(trace, &asked);
            (asked, others)
        });
        let all: Vec<ModuleAddresses> = match listed {
            Ok((asked, others)) => asked.into_iter().chain(others).collect(),
            Err(caught) => {
                log::error!("the modules of the trace could not be listed: {caught}");
                self.lock().is_listed = true;
                return self.tell();
            }
        };
        // Saved names are read before the table is locked.
        let is_known: Vec<bool> = {
            let table = self.lock();
            all.iter().map(|asked| table.index.contains_key(&asked.key)).collect()
        };
        let new = all.iter().zip(is_known).filter(|(_, is_known)| !is_known);
        let mut entries: KeyedMap<ModuleKey, Entry> =
            new.map(|(asked, _)| (asked.key.clone(), self.entry(asked.clone()))).collect();
        let mut table = self.lock();
        if table.turn != turn {
            return;
        }
        let entry = |asked: ModuleAddresses| entries.remove(&asked.key).unwrap_or_else(|| self.entry(asked));
        table.list(all, entry, &self.stop);
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
            state: if self.is_sought(&asked) { ModuleState::Waiting } else { ModuleState::Unused },
            addresses: asked.rvas.len(),
            named: 0,
            source: String::new(),
            file: String::new(),
            bytes: 0,
            time: Duration::ZERO,
            notes: Vec::new(),
        };
        let saved =
            asked.wanted.pdb.as_ref().filter(|_| !asked.rvas.is_empty()).and_then(|(key, pdb)| self.load(pdb, *key, &asked.rvas));
        let saved = saved.filter(|saved| !saved.names.is_empty());
        let known = saved.map(|saved| {
            report.source = format!("{} (resolved before)", saved.source);
            (report.file, report.bytes) = (saved.file, saved.file_bytes);
            report.notes.extend(saved.fastlink.then_some(ModuleNote::FastLink));
            if saved.names.len() == asked.rvas.len() {
                report.state = ModuleState::Ready;
            }
            Arc::new(saved.names)
        });
        let stop = self.stop.within(Duration::MAX);
        Entry { asked: Arc::new(asked), report, chosen: None, is_busy: false, stop, known }
    }

    fn is_sought(&self, asked: &ModuleAddresses) -> bool {
        !asked.rvas.is_empty() || matches!(&self.seek, Seek::Files(also) if also.contains(&asked.key))
    }

    fn load(&self, pdb: &str, key: PdbKey, asked: &[u32]) -> Option<Saved> {
        self.saved.as_ref()?.load(file_name(pdb)?, key, asked)
    }

    /// The names that are known of a module, with saved ones of the addresses that a growing trace asks about only now.
    fn known(&self, job: &Job) -> Option<Arc<ModuleNames>> {
        let known = job.known.as_ref()?;
        let new: Vec<u32> = job.asked.rvas.iter().copied().filter(|&rva| !known.contains(rva)).collect();
        let pdb = job.asked.wanted.pdb.as_ref().filter(|_| !new.is_empty());
        let saved = pdb.and_then(|(key, pdb)| self.load(pdb, *key, &new));
        let all = saved.and_then(|saved| saved::both(known, &saved.names));
        Some(all.map_or_else(|| Arc::clone(known), Arc::new))
    }

    /// Publishes names of a module, if its job is still wanted.
    fn publish(&self, index: usize, stop: &Stop, names: &Arc<ModuleNames>) {
        let mut table = self.lock();
        if !stop.is_set() {
            table.publish(index, Some(Arc::clone(names)));
        }
        drop(table);
        self.tell();
    }

    /// Works on one module after the other until the end.
    pub(super) fn work(self: &Arc<Self>) {
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
                    // The trace has grown meanwhile.
                    _ if !Arc::ptr_eq(&job.asked, &entry.asked) => ModuleState::Waiting,
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
        let known = self.known(job);
        if let Some(known) = known.as_ref().filter(|known| job.asked.rvas.iter().all(|&rva| known.contains(rva))) {
            self.publish(job.index, &job.stop, known);
            return Ok(());
        }
        let progress = |download| self.report(job, |report| report.state = ModuleState::Downloading(download));
        let found = self.locator().find(&job.asked.wanted, job.chosen.as_deref(), &job.stop, &progress);
        let found = found.map_err(|not_found| not_found.to_string())?;
        let bytes = found.file.len();
        self.report(job, |report| {
            report.pdb = found.key.or(report.pdb);
            report.source.clone_from(&found.source);
            report.file = found.file.to_string();
            report.bytes = bytes;
            report.notes = if found.is_certain { Vec::new() } else { vec![ModuleNote::PathAndSizeOnly] };
        });
        if self.seek != Seek::Names {
            return Ok(());
        }
        let room = self.set_room_aside(job, bytes.saturating_mul(MEMORY_OF_PDB))?;
        self.report(job, |report| report.state = ModuleState::Reading(0));
        let resolved = self.resolve(job, &found, known);
        drop(room);
        let Resolved { names, fastlink } = resolved?;
        let names = Arc::new(names);
        let mut table = self.lock();
        if job.stop.is_set() {
            return Ok(());
        }
        if fastlink {
            table.entries[job.index].report.notes.insert(0, ModuleNote::FastLink);
        }
        table.publish(job.index, Some(Arc::clone(&names)));
        drop(table);
        self.tell();
        self.save(job, &found, bytes, &names, fastlink);
        Ok(())
    }

    fn resolve(self: &Arc<Self>, job: &Job, found: &Located, known: Option<Arc<ModuleNames>>) -> Result<Resolved, String> {
        let first = self.lock().looked_at.get(&job.asked.key).cloned().unwrap_or_default();
        let request = Request { key: found.key, first, all: job.asked.rvas.clone(), known };
        let (shared, index, stop) = (Arc::clone(self), job.index, job.stop.clone());
        let publish = move |names: ModuleNames| shared.publish(index, &stop, &Arc::new(names));
        let describe = |error: PdbError| format!("{}: {error}", found.file);
        let progress = |bytes| self.report(job, |report| report.state = ModuleState::Reading(bytes));
        if let (None, Some(image)) = (found.key, found.file.path()) {
            return dwarf::resolve_watched(image, request, &job.stop, &progress, publish).map_err(describe);
        }
        resolver::resolve_watched(found.file.clone(), request, &job.stop, &progress, publish).map_err(describe)
    }

    fn save(&self, job: &Job, found: &Located, file_bytes: u64, names: &ModuleNames, fastlink: bool) {
        let (Some(saved), Some((key, pdb))) = (&self.saved, &job.asked.wanted.pdb) else { return };
        // Names of a PDB in memory are not saved: they can be had again at once.
        let (Some(pdb), Some(file)) = (file_name(pdb), found.file.path()) else { return };
        let (names, file) = (names.clone(), file.display().to_string());
        let what = Saved { names, source: found.source.clone(), file, file_bytes, fastlink };
        if let Err(error) = saved.save(pdb, *key, &what) {
            log::warn!("the names of {} could not be saved: {error}", job.asked.name());
        }
    }

    /// Reserves memory for a PDB; waits until there is room.
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

/// Memory that is reserved until this is dropped.
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
