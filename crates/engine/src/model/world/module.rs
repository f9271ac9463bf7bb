//! Images mapped into a process, over time.

use std::sync::Arc;

use super::ProcessId;
use crate::etl::Guid;
use crate::events::{ImageChange, ImageFile, ImageId, ImageInfo};
use crate::pe::Build;
use crate::stored::stored;
use crate::tables::KeyedMap;
use crate::units::Ticks;

/// One mapping of an image.
#[derive(Clone, PartialEq, Debug)]
pub struct Module {
    /// First byte.
    pub base: u64,
    /// Size in bytes.
    pub size: u64,
    /// When it was mapped; [`Ticks::BEFORE_TRACE`] if only a rundown or its unload names it.
    pub load: Ticks,
    /// When it was unmapped, or [`Ticks::NEVER`].
    pub unload: Ticks,
    /// Path as the kernel names it.
    pub path: Arc<str>,
    /// Identity of its build.
    pub build: Build,
    /// Identity of its program database, if the trace has it.
    pub pdb: Option<Arc<PdbId>>,
}

stored!(struct Module { base, size, load, unload, path, build, pdb });

impl Module {
    /// File name with extension.
    pub fn name(&self) -> &str {
        self.path.rsplit(['\\', '/']).next().unwrap_or(&self.path)
    }

    /// Whether `address` lies in it.
    pub fn covers(&self, address: u64) -> bool {
        address.checked_sub(self.base).is_some_and(|rva| rva < self.size)
    }
}

/// Identity of a program database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PdbId {
    /// GUID.
    pub guid: Guid,
    /// Age.
    pub age: u32,
    /// Path as the linker wrote it.
    pub path: String,
}

stored!(struct PdbId { guid, age, path });

impl PdbId {
    fn is(&self, told: &ImageId) -> bool {
        (self.guid, self.age) == (told.guid, told.age) && self.path == told.pdb
    }
}

/// Whether a path with its volume names the same file as one without. Windows 7 gives the volume in
/// rundowns, but often not when an image is loaded or unloaded; its own folder then is `\SystemRoot`.
fn is_full_path_of(full: &str, short: &str) -> bool {
    let Some((_, in_volume)) = full.strip_prefix(r"\Device\").and_then(|path| path.split_once('\\')) else { return false };
    match short.strip_prefix(r"\SystemRoot\") {
        Some(in_windows) => in_volume.split_once('\\').is_some_and(|(_, path)| path == in_windows),
        None => short.strip_prefix('\\') == Some(in_volume),
    }
}

fn is_same_file(a: &str, b: &str) -> bool {
    a == b || is_full_path_of(a, b) || is_full_path_of(b, a)
}

/// Modules that are mapped now, and identities that came before their image.
#[derive(Debug, Default)]
pub(super) struct ModuleTable {
    mapped: KeyedMap<(ProcessId, u64), usize>,
    early_ids: KeyedMap<(ProcessId, u64), Arc<PdbId>>,
    /// Time stamp and size of the file.
    early_files: KeyedMap<(ProcessId, u64), (u32, u64)>,
    /// Number of modules that there ever were.
    count: u64,
    /// Bytes of their paths and identities.
    text: u64,
}

/// Bytes of a module in its list and in the trees that are made for queries ([`crate::model::mapped`]),
/// approximately.
const MODULE: u64 = 256;
/// Bytes of an entry of a table here, approximately.
const ENTRY: u64 = 64;
/// Bytes of an identity beside its path.
const IDENTITY: u64 = 64;

impl ModuleTable {
    /// Bytes that modules take, those of processes included.
    pub(super) fn bytes(&self) -> u64 {
        let entries = self.mapped.len() + self.early_ids.len() + self.early_files.len();
        self.count * MODULE + entries as u64 * ENTRY + self.text
    }

    /// Applies an image event to the modules of `process`.
    pub(super) fn change(
        &mut self,
        process: ProcessId,
        modules: &mut Vec<Module>,
        change: ImageChange,
        info: &ImageInfo,
        at: Ticks,
    ) {
        let key = (process, info.base);
        let known = self.mapped.get(&key).copied().filter(|&i| is_same_file(&modules[i].path, &info.path));
        let index = match (change, known) {
            (_, Some(index)) => index,
            (ImageChange::Load, None) => self.map(key, modules, info, at),
            (_, None) => self.map(key, modules, info, Ticks::BEFORE_TRACE),
        };
        let module = &mut modules[index];
        if is_full_path_of(&info.path, &module.path) {
            self.text += (info.path.len() as u64).saturating_sub(module.path.len() as u64);
            module.path = info.path.as_str().into();
        }
        let build = &mut module.build;
        if build.time_stamp == 0 {
            build.time_stamp = info.time_stamp;
        }
        if build.checksum == 0 {
            build.checksum = info.checksum;
        }
        // Only rundowns may have a wrong stamp.
        if let Some((time_stamp, size)) = self.early_files.remove(&key)
            && (change == ImageChange::Rundown || [0, time_stamp].contains(&build.time_stamp))
        {
            (build.time_stamp, build.size) = (time_stamp, size);
        }
        if let Some(id) = self.early_ids.remove(&key) {
            module.pdb.get_or_insert(id);
        }
        if change == ImageChange::Unload {
            module.unload = at;
            self.mapped.remove(&key);
        }
    }

    /// Adds a mapping; the unload of one that was still at its place was not seen.
    fn map(&mut self, key: (ProcessId, u64), modules: &mut Vec<Module>, info: &ImageInfo, load: Ticks) -> usize {
        let module = Module {
            base: info.base,
            size: info.size,
            load,
            unload: Ticks::NEVER,
            path: info.path.as_str().into(),
            build: Build { time_stamp: info.time_stamp, size: info.size, checksum: info.checksum },
            pdb: None,
        };
        self.count += 1;
        self.text += module.path.len() as u64;
        modules.push(module);
        if let Some(before) = self.mapped.insert(key, modules.len() - 1) {
            modules[before].unload = load.max(modules[before].load);
        }
        modules.len() - 1
    }

    /// Notes which file an image is; this comes just before the event of the image, or any time after.
    pub(super) fn identify_file(&mut self, process: ProcessId, modules: &mut [Module], file: &ImageFile) {
        let key = (process, file.base);
        match self.mapped.get(&key).and_then(|&i| modules.get_mut(i)) {
            Some(Module { build, .. }) if [0, file.time_stamp].contains(&build.time_stamp) => {
                (build.time_stamp, build.size) = (file.time_stamp, file.size);
            }
            _ => {
                self.early_files.insert(key, (file.time_stamp, file.size));
            }
        }
    }

    /// Notes the PDB of an image; this comes just before the event of the image, or any time after.
    pub(super) fn identify(&mut self, process: ProcessId, modules: &mut [Module], id: &ImageId) {
        let key = (process, id.base);
        // It is reported again, as by each rundown.
        if self.early_ids.get(&key).is_some_and(|known| known.is(id)) {
            return;
        }
        let pdb = Arc::new(PdbId { guid: id.guid, age: id.age, path: id.pdb.clone() });
        self.text += IDENTITY + pdb.path.len() as u64;
        match self.mapped.get(&key).and_then(|&i| modules.get_mut(i)) {
            Some(module) if module.pdb.is_none() => module.pdb = Some(pdb),
            _ => {
                let before = self.early_ids.insert(key, pdb);
                self.text -= before.map_or(0, |before| IDENTITY + before.path.len() as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(path: &str, time_stamp: u32) -> ImageInfo {
        ImageInfo { base: 0x1000, size: 0x100, checksum: 0, time_stamp, path: path.to_owned() }
    }

    #[test]
    fn an_image_that_only_rundowns_name_with_its_volume_is_mapped_once() {
        let full = r"\Device\HarddiskVolume3\Windows\a.dll";
        let [short, of_system] = [r"\Windows\a.dll", r"\SystemRoot\a.dll"];
        for (first, then) in [(full, short), (short, full), (full, of_system), (of_system, full)] {
            let (mut table, mut modules) = (ModuleTable::default(), Vec::new());
            table.change(ProcessId(0), &mut modules, ImageChange::Rundown, &image(first, 0), Ticks(5));
            table.change(ProcessId(0), &mut modules, ImageChange::Unload, &image(then, 7), Ticks(9));
            let [module] = modules.as_slice() else { panic!("{modules:?}") };
            assert_eq!((module.path.as_ref(), module.build.time_stamp), (full, 7));
            assert_eq!((module.load, module.unload), (Ticks::BEFORE_TRACE, Ticks(9)));
        }
        let others = [
            r"\Device\HarddiskVolume4\Windows\a.dll",
            r"\Windows\b.dll",
            r"\a.dll",
            r"\Device\HarddiskVolume3",
            r"\SystemRoot\b\a.dll",
        ];
        assert!(others.iter().all(|other| !is_same_file(full, other)));
    }
}
