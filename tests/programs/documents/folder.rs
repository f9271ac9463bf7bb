//! A folder with the files that documents and helps name.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use highwater::events::{Event, Record};
use tempfile::TempDir;

use super::markdown::Block;
use crate::common::highwater;
use crate::common::trace::{session, story, trace};

/// The folder; it is removed in the end.
pub struct Folder(TempDir);

impl Folder {
    /// A folder in which `game.etl` is the demo, `before.etl` and `after.etl` are parts of it, `kernel.etl` and
    /// `heap.etl` are one recording in two files, `game.zip` is an archive, `captures` has two recordings, and `traces` is empty.
    pub fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let demo = root.join("assets/demo.etl");
        fs::create_dir(folder.path().join("captures")).unwrap();
        fs::create_dir(folder.path().join("build")).unwrap();
        fs::create_dir(folder.path().join("traces")).unwrap();
        fs::write(folder.path().join("build/MemoryTestApp.pdb"), pdb(root)).unwrap();
        for name in ["game.etl", "captures/monday.etl"] {
            fs::copy(&demo, folder.path().join(name)).unwrap();
        }
        for (name, end) in [("before.etl", "17"), ("after.etl", "30"), ("captures/tuesday.etl", "20")] {
            let out = folder.path().join(name);
            let run = highwater(["cut", "demo:", "--to", end, "-o", out.to_str().unwrap()]);
            assert_eq!(run.code, Some(0), "{run:?}");
        }
        let (heap, kernel): (Vec<_>, Vec<_>) = story().into_iter().partition(|(record, _)| is_of_heaps(record));
        for (name, records) in [("heap.etl", heap), ("kernel.etl", kernel)] {
            fs::write(folder.path().join(name), trace(session(false), &records)).unwrap();
        }
        let mut zip = zip::ZipWriter::new(fs::File::create(folder.path().join("game.zip")).unwrap());
        zip.start_file("game.etl", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&fs::read(&demo).unwrap()).unwrap();
        zip.finish().unwrap();
        folder
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a block whose first line is `# NAME.toml` as the file of that name.
    pub fn write_named(&self, block: &Block) {
        let name = block.lines.first().and_then(|line| line.strip_prefix("# "));
        if let Some(name) = name.filter(|name| name.ends_with(".toml") && !name.contains(['/', '\\', ' '])) {
            fs::write(self.path().join(name), block.text()).unwrap();
        }
    }
}

/// The PDB of the demo's program.
fn pdb(root: &Path) -> Vec<u8> {
    let mut builds = fs::read_dir(root.join("assets/demo/MemoryTestApp.pdb")).unwrap();
    let packed = builds.next().unwrap().unwrap().path().join("MemoryTestApp.pd_");
    let mut cabinet = cab::Cabinet::new(fs::File::open(packed).unwrap()).unwrap();
    let name = cabinet.folder_entries().next().unwrap().file_entries().next().unwrap().name().to_owned();
    let mut bytes = Vec::new();
    cabinet.read_file(&name).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// Whether a record is one of a heap or tracker, or a stack.
fn is_of_heaps(record: &Record) -> bool {
    use Event::{Alloc, Free, HeapClose, HeapOpen, Stack, StackDefinition, StackRef};
    let event = &record.event;
    matches!(event, HeapOpen { .. } | HeapClose { .. } | Alloc { .. } | Free { .. } | Stack { .. } | StackRef { .. })
        || matches!(event, StackDefinition { .. })
}
