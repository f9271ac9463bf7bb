//! The id of a capture in the folder: a part of its name, and a hash of the contents of its files. So two
//! `nightly/trace.etl` are two captures, and one that was moved to another folder is the same.
//!
//! Cost: reads a megabyte of each file, whatever its size.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use crate::paths;

/// Bytes that are read at each of four places in a file.
const LOOK: u64 = 1 << 18;
/// Characters of a name that are kept in an id.
const NAME: usize = 48;

/// A file of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaptureFile<'a> {
    /// One on disk.
    OnDisk(&'a Path),
    /// One that the program carries.
    Embedded {
        /// Its name for people.
        name: &'a str,
        /// Its contents.
        bytes: &'a [u8],
    },
}

/// The id and the name of a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureIdentity {
    /// The id in the folder; the same files in the same order have the same id.
    pub id: String,
    /// The name for people: that of the first file that can be opened, without folder and extension.
    pub name: String,
}

impl CaptureIdentity {
    /// The identity of these files. Files that cannot be opened are left out, as they are from the trace, so the
    /// others have the same identity as alone. If none can be opened, that is an error.
    pub fn of<'a>(files: impl IntoIterator<Item = CaptureFile<'a>>) -> io::Result<Self> {
        let (mut hash, mut name, mut refused) = (Xxh3::new(), None, None);
        for file in files {
            let mut with_it = hash.clone();
            match add(&mut with_it, file) {
                Ok(()) => {
                    hash = with_it;
                    name.get_or_insert_with(|| name_of(file));
                }
                Err(error) => _ = refused.get_or_insert(error),
            }
        }
        let Some(name) = name else { return Err(refused.unwrap_or_else(|| io::ErrorKind::NotFound.into())) };
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let plain: String = name.chars().take(NAME).map(|c| if is_plain(&c) { c } else { '_' }).collect();
        Ok(Self { id: format!("{plain}-{:016x}", hash.digest()), name })
    }
}

impl CaptureIdentity {
    /// The identity of one of several captures in these files, by its number from 1.
    pub fn of_part(&self, number: usize) -> Self {
        Self { id: format!("{}-{number}", self.id), name: format!("{} ({number})", self.name) }
    }
}

fn name_of(file: CaptureFile<'_>) -> String {
    match file {
        CaptureFile::OnDisk(path) => {
            path.file_stem().map_or_else(|| "capture".to_owned(), |stem| stem.to_string_lossy().into_owned())
        }
        CaptureFile::Embedded { name, .. } => name.to_owned(),
    }
}

/// Adds the contents of a file to the hash, which is of no use if that fails.
fn add(hash: &mut Xxh3, file: CaptureFile<'_>) -> io::Result<()> {
    match file {
        CaptureFile::OnDisk(path) => add_file(hash, path)?,
        CaptureFile::Embedded { bytes, .. } => hash.update(bytes),
    }
    Ok(())
}

fn add_file(hash: &mut Xxh3, path: &Path) -> io::Result<()> {
    let mut file: File = paths::open_regular(path)?;
    let length = file.metadata()?.len();
    hash.update(&length.to_le_bytes());
    let mut bytes = Vec::with_capacity(LOOK as usize);
    let starts = [0, length / 3, length / 3 * 2, length.saturating_sub(LOOK)];
    for start in starts {
        file.seek(SeekFrom::Start(start))?;
        bytes.clear();
        Read::by_ref(&mut file).take(LOOK).read_to_end(&mut bytes)?;
        hash.update(&bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn what_files_hold_tells_captures_apart_and_where_they_are_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let put = |at: &str, bytes: &[u8]| {
            let path = folder.path().join(at);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let mut bytes = vec![7u8; 3 << 20];
        let [a, copy] = ["mon/my trace=1.etl", "tue/my trace=1.etl"].map(|at| put(at, &bytes));
        *bytes.last_mut().unwrap() = 8;
        let last = put("wed/my trace=1.etl", &bytes);
        let longer = put("thu/my trace=1.etl", &[&bytes[..], &[8]].concat());
        let of = |files: &[&PathBuf]| CaptureIdentity::of(files.iter().map(|file| CaptureFile::OnDisk(file)));
        let id = |file: &PathBuf| of(&[file]).unwrap().id;
        assert_eq!(id(&a), id(&copy));
        assert!(id(&a).starts_with("my_trace_1-") && id(&a).len() == "my_trace_1-".len() + 16, "{}", id(&a));
        assert!(id(&a) != id(&last) && id(&last) != id(&longer));
        assert_ne!(of(&[&a, &last]).unwrap(), of(&[&last, &a]).unwrap());
        // A file that cannot be read, or a folder, is left out wherever it stands.
        let [none, folder] = ["none.etl", "mon"].map(|name| folder.path().join(name));
        assert!(of(&[&none]).is_err() && of(&[&folder, &none]).is_err() && of(&[]).is_err());
        for inputs in [[&none, &a, &last], [&a, &folder, &last], [&a, &last, &none]] {
            assert_eq!(of(&inputs).unwrap(), of(&[&a, &last]).unwrap());
        }
        assert_eq!(of(&[&a]).unwrap().name, "my trace=1");
        let embedded = CaptureIdentity::of([CaptureFile::Embedded { name: "demo", bytes: b"demo" }]).unwrap();
        assert!(embedded.id.starts_with("demo-") && embedded.name == "demo");
    }
}
