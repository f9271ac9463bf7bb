//! What lies in a file that a user named: a trace, or an archive of traces (`.zip`,
//! `.diagsession` of both kinds). What a file is is told by its content.
//!
//! Gives each trace as a [`Source`]. What an archive holds as it is is read where it
//! lies; everything else is first expanded into a temporary file without a name,
//! which goes with the source. Memory is bounded whatever the archive says: one
//! chunk, and what the two libraries keep of the archive's directory, which is no
//! more than a small part of the file. Disk is bounded by [`Budget`].
//!
//! Nothing is written where a member's name says: names are only shown.

mod compound;
mod expand;
mod hub;
#[cfg(test)]
mod tests;
mod zipped;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::etl::{Format, OpenError, SNIFF, Source, looks_like_etl};
use crate::problem::Problems;
pub use expand::Budget;
use expand::Reader;

/// The traces in a file.
#[derive(Debug)]
pub struct Contents {
    /// What the file is.
    pub format: Format,
    /// The traces; at least one.
    pub members: Vec<Member>,
    /// What was wrong with the archive.
    pub problems: Problems,
}

/// One trace.
#[derive(Debug)]
pub struct Member {
    /// Its file, or `archive!member`.
    pub name: String,
    /// Its bytes.
    pub source: Source,
    /// How many bytes it takes in its archive, if it lies in one; all together no more than that has.
    pub packed: Option<u64>,
}

/// Told of the work: bytes done and in all; returns whether to go on.
pub type Progress<'p> = dyn FnMut(u64, u64) -> bool + 'p;

/// More entries than this are no recording.
const MAX_ENTRIES: usize = 100_000;
/// More traces than this are no recording either, and each may take a temporary file.
const MAX_TRACES: usize = 256;

/// Opens a file and finds its traces, or one of them: `archive!member`, as members are named.
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

/// The file in which a trace lies: the archive of `archive!member`, unless there is a file that is called so.
pub fn file_of(path: &Path) -> PathBuf {
    let archive = || {
        let name = path.to_str().filter(|_| !path.exists())?;
        name.match_indices('!').map(|(at, _)| Path::new(&name[..at])).find(|archive| archive.is_file())
    };
    archive().unwrap_or(path).to_owned()
}

/// The same for bytes that are already at hand.
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

/// What was found in an archive besides traces; says why there are none.
#[derive(Debug, Default)]
struct Others {
    entries: usize,
    /// An archive in the archive.
    nested: Option<String>,
}

impl Others {
    /// Notes an entry that is no trace and begins with `head`.
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

    /// Why an archive without a trace is refused.
    fn refusal(self, name: &str, what: &str) -> OpenError {
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

/// As many of the first bytes of `from` as tell what it is.
fn head_of(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(SNIFF);
    from.take(SNIFF as u64).read_to_end(&mut head)?;
    Ok(head)
}
