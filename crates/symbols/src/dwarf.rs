//! Names from an image that contains DWARF, as MinGW builds do: functions, those that were inlined into them, and lines.
//!
//! The reader is addr2line. Like that of PDBs it runs on a thread of its own, with limits of time and size, and a
//! panic becomes an error. It reads what an address needs: the units that contain it, and their lines.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use addr2line::gimli::{self, Dwarf, EndianSlice, LittleEndian};
use addr2line::{Context, Frame as FrameFound};

use super::PdbError;
use super::demangle::demangle;
use super::guard::{self, Stop, Work};
use super::resolver::{Request, Resolved};
use crate::names::{Frame, ModuleNames, NamesBuilder};
use crate::paths::open_regular;
use crate::pe::{self, DebugSection, DebugSections};
use crate::tables::KeyedSet;

/// Maximum bytes of all sections together; the data made of them can take several times as much.
const MAX_BYTES: u64 = 512 << 20;
/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;
/// Maximum frames of an address; functions are inlined into each other less deeply.
const MAX_FRAMES: usize = 256;
/// Addresses at which the reader may fail before the image is given up.
const MAX_FAILURES: usize = 20;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Resolves addresses of an image; see [`super::resolver::resolve_watched`].
pub(super) fn resolve_watched(
    image: &Path,
    request: Request,
    stop: &Stop,
    progress: &dyn Fn(u64),
    publish: impl FnMut(ModuleNames) + Send + 'static,
) -> Result<Resolved, PdbError> {
    let sections = pe::debug_sections(image).ok_or(PdbError::NoImage)?;
    let bytes = sections.list.iter().map(|section| section.bytes).fold(0, u64::saturating_add);
    if bytes > MAX_BYTES {
        return Err(PdbError::TooLarge(bytes >> 20, MAX_BYTES >> 20));
    }
    let file = open_regular(image)?;
    guard::run_watched(guard::limit_of(bytes), stop, progress, move |work| resolve_here(file, &sections, &request, work, publish))
}

fn resolve_here(
    mut file: File,
    sections: &DebugSections,
    request: &Request,
    work: &Work,
    mut publish: impl FnMut(ModuleNames),
) -> Result<Resolved, PdbError> {
    let mut read = Vec::with_capacity(sections.list.len());
    for section in &sections.list {
        read.push((section.name.as_str(), section_bytes(&mut file, section, work)?));
    }
    let of = |id: gimli::SectionId| {
        let found = read.iter().find(|(name, _)| *name == id.name()).map_or(&[][..], |(_, bytes)| bytes);
        Ok::<Bytes<'_>, gimli::Error>(EndianSlice::new(found, LittleEndian))
    };
    let context = Context::from_dwarf(Dwarf::load(of)?)?;
    let mut lookup = Lookup {
        context,
        base: sections.image_base,
        failures: 0,
        done: request.known.iter().flat_map(|known| known.tables().addresses.iter().map(|&(rva, _)| rva)).collect(),
        builder: request.known.as_deref().map_or_else(NamesBuilder::default, NamesBuilder::with),
    };
    if !request.first.is_empty() {
        lookup.add(&request.first, work)?;
        publish(lookup.builder.finish());
    }
    lookup.add(&request.all, work)?;
    Ok(Resolved { names: lookup.builder.finish(), fastlink: false })
}

fn section_bytes(file: &mut File, section: &DebugSection, work: &Work) -> Result<Vec<u8>, PdbError> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(section.offset))?;
    let mut left = section.bytes;
    while left > 0 {
        work.check()?;
        let piece = left.min(PIECE as u64);
        let n = Read::by_ref(file).take(piece).read_to_end(&mut bytes)? as u64;
        work.count(n);
        if n < piece {
            return Err(PdbError::Damaged("it ends too early".to_owned()));
        }
        left -= n;
    }
    Ok(bytes)
}

/// A lookup of addresses in an image.
struct Lookup<'a> {
    context: Context<Bytes<'a>>,
    base: u64,
    failures: usize,
    done: KeyedSet<u32>,
    builder: NamesBuilder,
}

/// The name of a function, and the file and line in it.
type Named = (String, Option<String>, Option<u32>);

impl Lookup<'_> {
    fn add(&mut self, rvas: &[u32], work: &Work) -> Result<(), PdbError> {
        for &rva in rvas {
            work.check()?;
            if self.done.insert(rva) {
                self.look_up(rva)?;
            }
        }
        Ok(())
    }

    fn look_up(&mut self, rva: u32) -> Result<(), PdbError> {
        let address = self.base.wrapping_add(rva.into());
        let found = match crate::panics::catch(|| frames(&self.context, address)) {
            Ok(found) => found.unwrap_or_default(), // an error concerns only this function
            Err(caught) => {
                self.failures += 1;
                if self.failures > MAX_FAILURES {
                    return Err(PdbError::Damaged(format!("its reader failed ({caught})")));
                }
                Vec::new()
            }
        };
        let is_named = found.last().is_some_and(|(name, ..)| !name.is_empty());
        let frames = found.iter().map(|(name, file, line)| Frame {
            function: if name.is_empty() { "(unknown function)" } else { name },
            file: file.as_deref(),
            line: line.filter(|&line| line != 0),
        });
        self.builder.add(rva, frames.take(if is_named { usize::MAX } else { 0 }));
        Ok(())
    }
}

/// The frames of an address, innermost first.
fn frames(context: &Context<Bytes<'_>>, address: u64) -> Result<Vec<Named>, gimli::Error> {
    let mut found = context.find_frames(address).skip_all_loads()?;
    let mut frames = Vec::new();
    while let Some(FrameFound { function, location, .. }) = found.next()? {
        let name = function
            .map_or_else(String::new, |function| function.raw_name().map_or_else(|_| String::new(), |name| demangle(&name)));
        let file = location.as_ref().and_then(|location| location.file).map(str::to_owned);
        frames.push((name, file, location.and_then(|location| location.line)));
        if frames.len() == MAX_FRAMES {
            break;
        }
    }
    Ok(frames)
}

impl From<gimli::Error> for PdbError {
    fn from(error: gimli::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}
