//! A PDB of the corpus that is sought on a symbol path, and a folder for stores.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use highwater::symbols::{Located, Locator, NotFound, PdbKey, Sources, Stop, SymbolPath, Wanted, identify};
use tempfile::TempDir;

use super::corpus;

/// A PDB of the corpus and a folder to work in.
pub struct Case {
    pub folder: TempDir,
    pub pdb: PathBuf,
    pub bytes: Vec<u8>,
    pub key: PdbKey,
}

pub const NAME: &str = "WriteArgument.pdb";

impl Case {
    pub fn new() -> Option<Self> {
        let pdb = corpus()?.join(NAME);
        let key = identify(&pdb, &Stop::default()).unwrap();
        Some(Self { folder: tempfile::tempdir().unwrap(), bytes: std::fs::read(&pdb).unwrap(), pdb, key })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where the file stands in a store, below its root.
    pub fn place(&self) -> String {
        format!("{NAME}/{}/{NAME}", self.key.folder())
    }

    pub fn in_folder(&self, file: &str) -> String {
        format!("{NAME}/{}/{file}", self.key.folder())
    }

    pub fn write(&self, path: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn wanted(&self) -> Wanted {
        Wanted {
            image: r"\Device\X\WriteArgument.exe".to_owned(),
            pdb: Some((self.key, format!(r"D:\b\{NAME}"))),
            ..Wanted::default()
        }
    }

    pub fn locator(&self, path: &str) -> Locator {
        let store = self.path("own");
        Locator::new(Sources {
            path: SymbolPath::parse(path, Some(&store)),
            network: true,
            store: Some(store),
            patience: Duration::from_millis(700),
            ..Sources::default()
        })
    }

    pub fn find(&self, locator: &Locator) -> Result<Located, NotFound> {
        locator.find(&self.wanted(), None, &Stop::default(), &|_| {})
    }

    /// Finds the file, which must be the right one and whole.
    pub fn finds(&self, locator: &Locator) -> Located {
        let found = self.find(locator).unwrap();
        assert_eq!(std::fs::read(found.file.path().unwrap()).unwrap(), self.bytes);
        assert_eq!(found.key, Some(self.key));
        found
    }

    /// The reason why it is not found; nothing must be left in the stores.
    pub fn misses(&self, locator: &Locator) -> String {
        let why = self.find(locator).unwrap_err().to_string();
        for store in ["own", "near"] {
            assert_eq!(files(&self.path(store)), Vec::<String>::new(), "{why}");
        }
        why
    }

    pub fn cabinet(&self) -> Vec<u8> {
        let mut builder = cab::CabinetBuilder::new();
        builder.add_folder(cab::CompressionType::MsZip).add_file(NAME);
        let mut writer = builder.build(Cursor::new(Vec::new())).unwrap();
        while let Some(mut file) = writer.next_file().unwrap() {
            file.write_all(&self.bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }
}

/// All files below a folder.
pub fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<String> = entries
        .flat_map(|entry| match entry.path().is_dir() {
            true => files(&entry.path()),
            false => vec![entry.file_name().to_string_lossy().into_owned()],
        })
        .collect();
    all.sort();
    all
}
