//! Zip archives, including the zip kind of `.diagsession` (a package with a `metadata.xml`, as traplol/trace-render
//! describes it).

use std::io::Read;

use zip::CompressionMethod;
use zip::ZipArchive;
use zip::result::ZipError;

use super::expand::{Expansion, reader};
use super::{
    Budget, Contents, Format, MAX_ENTRIES, MAX_TRACES, Member, Others, Progress, Reader, head_of, is_etl_name, looks_like_etl,
    member_name,
};
use crate::etl::Source;
use crate::format::plain;
use crate::open_error::OpenError;
use crate::problem::{ProblemKind, Problems};

/// A trace in the archive.
struct Found {
    index: usize,
    name: String,
    /// Size in bytes, according to the directory.
    size: u64,
    /// Packed size in bytes, according to the directory.
    packed: u64,
    /// Its offset, if it is stored uncompressed.
    stored_at: Option<u64>,
}

pub(super) fn open(source: &Source, name: &str, progress: &mut Progress<'_>) -> Result<Contents, OpenError> {
    let io_error = |e| OpenError::from_io(name.to_owned(), e);
    let bytes = source.len().map_err(io_error)?;
    let archive = ZipArchive::new(reader(source, 64 << 10).map_err(io_error)?);
    let mut archive = archive.map_err(|e| match e {
        ZipError::Io(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => io_error(e),
        e => {
            let reason = format!("the directory of this zip archive is damaged or missing ({e}); copy or download it again");
            OpenError::Archive(name.to_owned(), reason)
        }
    })?;
    if archive.len() > MAX_ENTRIES {
        let reason = format!("this zip archive has more than {MAX_ENTRIES} entries; unpack it and open the .etl files");
        return Err(OpenError::Archive(name.to_owned(), reason));
    }
    let mut problems = Problems::default();
    let (found, others) = find(&mut archive, name, bytes, &mut problems);
    let found = side_by_side(found, name, bytes, &mut problems);
    if found.is_empty() {
        // The reason for a refused member is more helpful than that no trace is left.
        return Err(match problems.list().first() {
            Some(problem) => OpenError::Refused(problem.detail.clone()),
            None => others.refusal(name, "this zip archive"),
        });
    }
    if found.len() > MAX_TRACES {
        let reason = format!("this zip archive holds more than {MAX_TRACES} traces; unpack it and open those of one recording");
        return Err(OpenError::Archive(name.to_owned(), reason));
    }
    let members = take(source, &mut archive, name, found, Budget::of_archive(bytes), &mut problems, progress)?;
    let format = if is_diagsession(&archive, name) { Format::Diagsession } else { Format::Zip };
    Ok(Contents { format, members, problems })
}

fn is_diagsession(archive: &ZipArchive<Reader<'_>>, name: &str) -> bool {
    let has = |wanted: &str| archive.file_names().any(|name| name.is_ok_and(|name| name.eq_ignore_ascii_case(wanted)));
    name.to_ascii_lowercase().ends_with(".diagsession") || (has("metadata.xml") && has("[Content_Types].xml"))
}

/// Finds all entries that are traces by name or content.
fn find(archive: &mut ZipArchive<Reader<'_>>, name: &str, bytes: u64, problems: &mut Problems) -> (Vec<Found>, Others) {
    let (mut found, mut others) = (Vec::new(), Others::default());
    for index in 0..archive.len() {
        let Ok(entry) = archive.by_index_data(index) else { continue };
        if entry.is_dir() {
            continue;
        }
        let raw = entry.name().map_or_else(|_| String::from_utf8_lossy(entry.name_raw()).into_owned(), |name| name.into_owned());
        let (entry_name, size, stored) = (plain(&raw), entry.size(), entry.compression() == CompressionMethod::Stored);
        let (encrypted, packed_size) = (entry.encrypted(), entry.compressed_size());
        let wanted = is_etl_name(&entry_name);
        let mut refuse = |reason: String| {
            if wanted {
                let member = member_name(name, &entry_name);
                let detail = OpenError::Archive(member.clone(), reason).to_string();
                problems.add(ProblemKind::UnreadableFile, &member, 0, detail);
            }
        };
        if encrypted {
            refuse("this member is encrypted; unpack the archive with its password and open the .etl file".to_owned());
            others.note(&entry_name, &[]);
            continue;
        }
        let (head, start) = match archive.by_index(index).map_err(describe).and_then(|mut entry| {
            let head =
                head_of(&mut entry).map_err(|e| format!("its data are damaged ({e}); copy or download the archive again"))?;
            Ok((head, entry.data_start()))
        }) {
            Ok(start) => start,
            Err(reason) => {
                refuse(reason);
                others.note(&entry_name, &[]);
                continue;
            }
        };
        if !wanted && !looks_like_etl(&head) {
            others.note(&entry_name, &head);
            continue;
        }
        let whole = |start: &u64| stored && size == packed_size && start.checked_add(size).is_some_and(|end| end <= bytes);
        found.push(Found { index, name: entry_name, size, packed: packed_size, stored_at: start.filter(whole) });
    }
    (found, others)
}

fn describe(e: ZipError) -> String {
    match e {
        ZipError::CompressionMethodNotSupported(_) | ZipError::UnsupportedArchive(_) => {
            format!("this member is packed in a way that is not read ({e}); unpack the archive and open the .etl file")
        }
        e => format!("this member is damaged ({e}); copy or download the archive again"),
    }
}

/// Leaves out members for which the archive is too small because they overlap others: each would take as much work as
/// one with bytes of its own.
fn side_by_side(found: Vec<Found>, name: &str, mut left: u64, problems: &mut Problems) -> Vec<Found> {
    let has_room = |found: &Found| {
        let room = left.checked_sub(found.packed);
        left = room.unwrap_or(left);
        if room.is_none() {
            let member = member_name(name, &found.name);
            let reason = "the members of this archive take more bytes than it has; it was left out".to_owned();
            problems.add(ProblemKind::DamagedArchive, &member, 0, OpenError::Archive(member.clone(), reason).to_string());
        }
        room.is_some()
    };
    found.into_iter().filter(has_room).collect()
}

/// Makes a source of each trace that was found.
fn take(
    source: &Source,
    archive: &mut ZipArchive<Reader<'_>>,
    name: &str,
    found: Vec<Found>,
    mut budget: Budget,
    problems: &mut Problems,
    progress: &mut Progress<'_>,
) -> Result<Vec<Member>, OpenError> {
    let total = found.iter().filter(|found| found.stored_at.is_none()).fold(0u64, |sum, found| sum.saturating_add(found.size));
    budget.check(name, total)?;
    let mut done = 0;
    let mut members = Vec::new();
    for found in found {
        let member = member_name(name, &found.name);
        if let Some(start) = found.stored_at {
            members.push(Member { name: member, source: source.part(start, found.size), packed: Some(found.packed) });
            continue;
        }
        let entry = archive.by_index(found.index).map_err(|e| OpenError::Archive(member.clone(), describe(e)))?;
        let mut expansion = Expansion { archive: name, budget: &mut budget, total, done: &mut done, progress: &mut *progress };
        // Reads up to one byte more than declared, to detect a larger member.
        let expanded = expansion.run(&mut entry.take(found.size.saturating_add(1)))?;
        let fault = expanded.fault.or_else(|| {
            let differs = expanded.bytes != found.size;
            differs.then(|| format!("it does not have the {} bytes that the directory says", found.size))
        });
        if let Some(fault) = fault {
            let detail = format!("the archive's data of this member are damaged after {} bytes: {fault}", expanded.bytes);
            problems.add(ProblemKind::DamagedArchive, &member, expanded.bytes, detail);
        }
        members.push(Member { name: member, source: expanded.source, packed: Some(found.packed) });
    }
    Ok(members)
}
