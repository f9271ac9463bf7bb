//! Opens a file that a user named: a trace, or an archive of traces (`.zip`, `.diagsession` of both kinds). The kind is
//! detected from the content.
//!
//! Returns each trace as a [`Source`]. Stored members of an archive are read in place; all others are first expanded
//! into an unnamed temporary file, which is deleted with the source. Memory is bounded whatever the archive says: one
//! chunk, and what the two libraries keep of the archive's directory, which is no more than a small part of the file.
//! Disk space is bounded by [`Budget`].
//!
//! No file is written under a member's name: names are only displayed.

mod bundle;
mod compound;
mod expand;
mod hub;
#[cfg(test)]
mod tests;
mod zipped;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::etl::{SNIFF, Source, looks_like_etl};
use crate::open_error::OpenError;
use crate::problem::Problems;
pub use bundle::{text_in_bundle, write_bundle};
pub use expand::Budget;
use expand::Reader;

/// The container of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// A file of its own.
    #[default]
    Etl,
    /// A zip archive.
    Zip,
    /// A session of Visual Studio's profiler.
    Diagsession,
}

impl Format {
    /// Name in the machine interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etl => "etl",
            Self::Zip => "zip",
            Self::Diagsession => "diagsession",
        }
    }
}

/// The traces in a file.
#[derive(Debug)]
pub struct Contents {
    /// The format of the file.
    pub format: Format,
    /// The traces; at least one.
    pub members: Vec<Member>,
    /// The problems in the archive.
    pub problems: Problems,
}

/// One trace.
#[derive(Debug)]
pub struct Member {
    /// The name of its file, or `archive!member`.
    pub name: String,
    /// Its data.
    pub source: Source,
    /// Its packed size in the archive in bytes, if it is in one. The sum over all members is at most the size of the archive.
    pub packed: Option<u64>,
}

/// A progress callback: gets the bytes done and the total, and returns whether to go on.
pub type Progress<'p> = dyn FnMut(u64, u64) -> bool + 'p;

/// Maximum number of entries in an archive; no recording has more.
const MAX_ENTRIES: usize = 100_000;
/// Maximum number of traces in an archive; no recording has more, and each may take a temporary file.
const MAX_TRACES: usize = 256;

/// Opens a file and finds its traces, or opens one member, named as `archive!member`.
pub fn open(path: &Path, progress: &mut Progress<'_>) -> Result<Contents, OpenError> {
    let file = file_of(path);
    let mut found = contents(Source::open_file(&file)?, file.display().to_string(), progress)?;
    if file != path {
        let name = path.display().to_string();
        found.members.retain(|member| member.name == name);
        if found.members.is_empty() {
            return Err(OpenError::Archive(name, "the archive holds no such trace; open the archive itself".to_owned()));
        }
    }
    Ok(found)
}

/// The file that contains a trace: the archive of `archive!member`, unless a file with that whole name exists.
pub fn file_of(path: &Path) -> PathBuf {
    let archive = || {
        let name = path.to_str().filter(|_| !path.exists())?;
        name.match_indices('!').map(|(at, _)| Path::new(&name[..at])).find(|archive| archive.is_file())
    };
    archive().unwrap_or(path).to_owned()
}

/// Finds the traces in data that are already open.
pub fn contents(source: Source, name: String, progress: &mut Progress<'_>) -> Result<Contents, OpenError> {
    let mut head = [0; 8];
    let n = source.read_at(&mut head, 0).map_err(|e| OpenError::from_io(name.clone(), e))?;
    match head[..n] {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => zipped::open(&source, &name, progress),
        [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1] => compound::open(&source, &name, progress),
        _ => Ok(Contents {
            format: Format::Etl,
            members: vec![Member { name, source, packed: None }],
            problems: Problems::default(),
        }),
    }
}

/// The other entries of an archive; used to explain why it has no traces.
#[derive(Debug, Default)]
struct Others {
    entries: usize,
    /// An archive inside the archive, by its name.
    nested: Option<String>,
}

impl Others {
    /// Notes an entry that is not a trace and starts with `head`.
    fn note(&mut self, entry: &str, head: &[u8]) {
        self.entries += 1;
        let archive = head.starts_with(b"PK\x03\x04")
            || head.starts_with(&[0xD0, 0xCF, 0x11, 0xE0])
            || head.starts_with(b"MSCF")
            || head.starts_with(b"7z\xBC\xAF");
        if archive {
            self.nested.get_or_insert_with(|| entry.to_owned());
        }
    }

    /// The error for an archive without a trace.
    fn refusal(self, name: &str, what: &str) -> OpenError {
        if let Some(error) = crate::etl::OpenError::capture_of_pix(name) {
            return error.into();
        }
        let reason = match (self.nested, self.entries) {
            (Some(nested), _) => {
                format!("{what} holds no trace, but another archive, {nested}; unpack it and open what is in it")
            }
            (None, 0) => format!("{what} is empty; pack the .etl files again"),
            (None, _) => format!("{what} holds no ETW trace (.etl); pack the .etl files again"),
        };
        OpenError::Archive(name.to_owned(), reason)
    }
}

fn member_name(archive: &str, member: &str) -> String {
    format!("{archive}!{member}")
}

fn is_etl_name(name: &str) -> bool {
    name.len() > 4 && name.get(name.len() - 4..).is_some_and(|end| end.eq_ignore_ascii_case(".etl"))
}

/// Reads enough of the start of `from` to detect its format.
fn head_of(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(SNIFF);
    from.take(SNIFF as u64).read_to_end(&mut head)?;
    Ok(head)
}
