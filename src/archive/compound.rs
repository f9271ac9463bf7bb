//! OLE compound files, the older kind of `.diagsession`: a file system in a file.
//! Streams are chains of sectors, so each trace is copied out of it. Most are
//! packed once more by Visual Studio's diagnostics hub ([`super::hub`]).
//!
//! Storages and streams have short made-up names; those that Visual Studio shows are
//! in property sets that are not read here.

use std::io::Read;
use std::path::PathBuf;

use cfb::CompoundFile;

use super::expand::{Expansion, reader};
use super::hub::HubReader;
use super::{
    Budget, Contents, MAX_ENTRIES, MAX_TRACES, Member, Others, Progress, Reader, head_of, looks_like_etl, member_name, printable,
};
use crate::etl::{Format, OpenError, Source};
use crate::problem::{ProblemKind, Problems};

/// A trace in the compound file.
struct Found {
    path: PathBuf,
    /// Bytes of the stream.
    size: u64,
    /// Whether it is packed by the diagnostics hub.
    packed: bool,
}

pub(super) fn open(source: &Source, name: &str, progress: &mut Progress<'_>) -> Result<Contents, OpenError> {
    let io_error = |e| OpenError::from_io(name.to_owned(), e);
    let damaged = |e| OpenError::Archive(name.to_owned(), format!("this compound file is damaged ({e}); copy it again"));
    let bytes = source.len().map_err(io_error)?;
    let mut file = CompoundFile::open(reader(source).map_err(io_error)?).map_err(damaged)?;
    let (found, others) = find(&mut file);
    if found.is_empty() {
        return Err(others.refusal(name, "this compound file (.diagsession)"));
    }
    if found.len() > MAX_TRACES {
        let reason = format!("this file holds more than {MAX_TRACES} traces; export those of one recording");
        return Err(OpenError::Archive(name.to_owned(), reason));
    }
    let mut problems = Problems::default();
    let members = take(&mut file, name, found, Budget::of_archive(bytes), &mut problems, progress)?;
    Ok(Contents { format: Format::Diagsession, members, problems })
}

/// All streams that are traces by their content.
fn find(file: &mut CompoundFile<Reader<'_>>) -> (Vec<Found>, Others) {
    let streams: Vec<(PathBuf, u64)> = file
        .walk()
        .take(MAX_ENTRIES)
        .filter(|entry| entry.is_stream())
        .map(|entry| (entry.path().to_owned(), entry.len()))
        .collect();
    let (mut found, mut others) = (Vec::new(), Others::default());
    for (path, size) in streams {
        let head = file.open_stream(&path).and_then(|mut stream| head_of(&mut stream)).unwrap_or_default();
        if looks_like_etl(&head) {
            found.push(Found { path, size, packed: false });
            continue;
        }
        let unpacked = file.open_stream(&path).and_then(|stream| head_of(&mut HubReader::new(stream))).unwrap_or_default();
        if looks_like_etl(&unpacked) {
            found.push(Found { path, size, packed: true });
        } else {
            others.note(&path.display().to_string(), if unpacked.is_empty() { &head } else { &unpacked });
        }
    }
    (found, others)
}

fn take(
    file: &mut CompoundFile<Reader<'_>>,
    name: &str,
    found: Vec<Found>,
    mut budget: Budget,
    problems: &mut Problems,
    progress: &mut Progress<'_>,
) -> Result<Vec<Member>, OpenError> {
    let total = found.iter().map(|found| found.size).sum();
    let mut done = 0;
    let mut members = Vec::new();
    for found in found {
        let path = printable(&found.path.display().to_string());
        let member = member_name(name, path.trim_start_matches(['/', '\\']));
        let stream = file.open_stream(&found.path).map_err(|e| OpenError::from_io(member.clone(), e))?;
        let mut from: Box<dyn Read> = if found.packed { Box::new(HubReader::new(stream)) } else { Box::new(stream) };
        let mut expansion = Expansion { archive: name, budget: &mut budget, total, done: &mut done, progress: &mut *progress };
        let expanded = expansion.run(&mut *from)?;
        if let Some(fault) = expanded.fault {
            let detail = format!("this member's data are damaged after {} bytes: {fault}", expanded.bytes);
            problems.add(ProblemKind::DamagedArchive, &member, expanded.bytes, detail);
        }
        members.push(Member { name: member, source: expanded.source });
    }
    Ok(members)
}
