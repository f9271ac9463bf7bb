//! One PDB: its identity, and its names for some addresses.
//!
//! Streams are read when they are needed: those of all types and public symbols at once, those of a compiland when an
//! address lies in it. A compiland whose symbols are damaged counts as one without symbols: its functions then have
//! their public names.
//!
//! Cost: measured with pdb-addr2line, about 50 ms to begin with 36 MB and 1 µs per address. Memory: the streams that
//! were read, and what is found in them.

use std::sync::{Mutex, OnceLock, PoisonError};

use pdb::{
    AddressMap, DebugInformation, FallibleIterator, IdInformation, MachineType, Module, ModuleInfo, PDB,
    PdbInternalSectionOffset, StringTable, SymbolTable, TypeIndex, TypeInformation,
};
use pdb_addr2line::{Context, ModuleProvider, TypeFormatter, TypeFormatterFlags};

use super::demangle::{demangle, undecorate_x86};
use super::guard::{self, Stop, Work};
use super::scopes;
use super::source::{BoundedFile, PdbFile};
use super::types::TypeNames;
use super::{PdbError, PdbKey};
use crate::etl::Guid;
use crate::names::{Frame, ModuleNames, NamesBuilder};
use crate::panics;
use crate::tables::KeyedSet;

/// Addresses at which the reader may fail before the PDB is given up.
const MAX_FAILURES: usize = 20;

/// S_HEAPALLOCSITE.
const HEAP_ALLOCATION_SITE: u16 = 0x115E;

/// Kinds of procedures: S_LPROC32, S_GPROC32, with _ID, _DPC and _DPC_ID, and S_THUNK32.
const PROCEDURES: [u16; 7] = [0x110F, 0x1110, 0x1146, 0x1147, 0x1155, 0x1156, 0x1102];

/// "MINI": the feature that /DEBUG:FASTLINK leaves in the info stream.
const FASTLINK: u32 = 0x494E_494D;

/// Facts about a PDB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PdbFacts {
    /// Identity of the build.
    pub key: PdbKey,
    /// Whether it was linked with `/DEBUG:FASTLINK`: types, local functions and
    /// inlined frames are in the object files then, and only public names here.
    pub fastlink: bool,
    /// Number of S_HEAPALLOCSITE records in it.
    pub heap_allocation_sites: usize,
}

/// The names that a PDB has for the requested addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resolved {
    /// The names.
    pub names: ModuleNames,
    /// See [`PdbFacts::fastlink`].
    pub fastlink: bool,
}

/// A request to a PDB.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The build that it must be.
    pub key: Option<PdbKey>,
    /// Addresses to resolve first, because somebody looks at them.
    pub first: Vec<u32>,
    /// The other addresses; may contain the first ones again.
    pub all: Vec<u32>,
    /// Names that are known already.
    pub known: Option<std::sync::Arc<ModuleNames>>,
}

pub(super) type Pdb = PDB<'static, BoundedFile>;

/// Identifies the build of a file. Reads little of it.
pub fn identify(file: impl Into<PdbFile>, stop: &Stop) -> Result<PdbKey, PdbError> {
    let file = file.into();
    guard::run(guard::limit_of(file.len()), stop, move |work| open(&file, work).map(|(_, key, _)| key))
}

/// Returns facts about a PDB; reads all of it.
pub fn facts(file: impl Into<PdbFile>, stop: &Stop) -> Result<PdbFacts, PdbError> {
    let file = file.into();
    guard::run(guard::limit_of(file.len()), stop, move |work| {
        let (mut pdb, key, fastlink) = open(&file, work)?;
        let debug_info = pdb.debug_information()?;
        let mut sites = 0;
        let mut modules = debug_info.modules()?;
        while let Some(module) = modules.next()? {
            work.check()?;
            // Of a damaged compiland, only the readable part counts.
            let Ok(Some(info)) = module_info(&mut pdb, &module) else { continue };
            let Ok(mut symbols) = info.symbols() else { continue };
            while let Ok(Some(symbol)) = symbols.next() {
                sites += usize::from(symbol.raw_kind() == HEAP_ALLOCATION_SITE);
            }
        }
        Ok(PdbFacts { key, fastlink, heap_allocation_sites: sites })
    })
}

/// Resolves addresses. `publish` is called with the names that are known once the first addresses are done; the
/// result has all names.
pub fn resolve(
    file: impl Into<PdbFile>,
    request: Request,
    stop: &Stop,
    publish: impl FnMut(ModuleNames) + Send + 'static,
) -> Result<Resolved, PdbError> {
    resolve_watched(file, request, stop, &|_| {}, publish)
}

/// Resolves addresses as [`resolve`] does; `progress` is called with the number of bytes that were read.
pub(crate) fn resolve_watched(
    file: impl Into<PdbFile>,
    request: Request,
    stop: &Stop,
    progress: &dyn Fn(u64),
    publish: impl FnMut(ModuleNames) + Send + 'static,
) -> Result<Resolved, PdbError> {
    let file = file.into();
    let limit = guard::limit_of(file.len());
    guard::run_watched(limit, stop, progress, move |work| resolve_here(&file, &request, work, publish))
}

/// Opens a PDB. Returns its identity, too, and whether it was linked with `/DEBUG:FASTLINK`.
pub(super) fn open(file: &PdbFile, work: &Work) -> Result<(Pdb, PdbKey, bool), PdbError> {
    let mut pdb = PDB::open(BoundedFile::open(file, work)?)?;
    let info = pdb.pdb_information()?;
    let (guid, info_age) = (Guid::from_bytes(info.guid.to_bytes_le()), info.age);
    let features = info.names_offset.saturating_add(info.names_size);
    drop(info);
    let fastlink = pdb.raw_stream(pdb::StreamIndex(1))?.is_some_and(|stream| {
        let words = stream.get(features..).unwrap_or_default().chunks_exact(4);
        words.filter_map(|word| word.try_into().ok()).any(|word| u32::from_le_bytes(word) == FASTLINK)
    });
    let age = pdb.debug_information()?.age().unwrap_or(info_age);
    Ok((pdb, PdbKey { guid, age }, fastlink))
}

/// Symbols and lines of a compiland, if it has any and their sizes are possible.
fn module_info(pdb: &mut Pdb, module: &Module<'_>) -> pdb::Result<Option<ModuleInfo<'static>>> {
    let info = module.info();
    let parts = [info.symbols_size, info.lines_size, info.c13_lines_size].into_iter().map(u64::from).sum::<u64>();
    match pdb.raw_stream(info.stream)? {
        Some(stream) if stream.len() as u64 >= parts => {
            drop(stream);
            pdb.module_info(module)
        }
        _ => Ok(None),
    }
}

/// Everything of a PDB that lookups borrow from.
struct Streams {
    pdb: Mutex<Pdb>,
    debug_info: DebugInformation<'static>,
    types: TypeInformation<'static>,
    ids: IdInformation<'static>,
    globals: SymbolTable<'static>,
    addresses: AddressMap<'static>,
    strings: Option<StringTable<'static>>,
    /// Compilands that were read, by their number.
    modules: Vec<OnceLock<Option<Box<ModuleInfo<'static>>>>>,
    found: Mutex<Found>,
}

/// Data that was found in the symbols of compilands.
#[derive(Default)]
struct Found {
    /// Calls that allocate: return RVA and type.
    sites: Vec<(u32, TypeIndex)>,
    /// RVAs at which procedures begin; only for 32-bit x86.
    procedures: KeyedSet<u32>,
}

impl Streams {
    fn read(mut pdb: Pdb) -> Result<Self, PdbError> {
        let debug_info = pdb.debug_information()?;
        let count = debug_info.modules()?.count()?;
        let streams = Self {
            types: pdb.type_information()?,
            ids: pdb.id_information()?,
            globals: pdb.global_symbols()?,
            addresses: pdb.address_map()?,
            strings: pdb.string_table().ok(),
            modules: (0..count).map(|_| OnceLock::new()).collect(),
            found: Mutex::default(),
            debug_info,
            pdb: Mutex::new(pdb),
        };
        scopes::check_ids(&streams.ids, &streams.types)?;
        Ok(streams)
    }

    fn is_x86(&self) -> bool {
        matches!(self.debug_info.machine_type(), Ok(MachineType::X86))
    }

    fn context(&self) -> Result<Context<'_, 'static>, PdbError> {
        let sections = self.pdb.lock().unwrap_or_else(PoisonError::into_inner).sections()?;
        let flags = TypeFormatterFlags::NO_FUNCTION_RETURN
            | TypeFormatterFlags::NO_MEMBER_FUNCTION_STATIC
            | TypeFormatterFlags::NAME_ONLY
            | TypeFormatterFlags::NO_ARGUMENTS;
        let modules = self.debug_info.modules()?.collect()?;
        let strings = self.strings.as_ref();
        let formatter = TypeFormatter::new_from_parts(self, modules, &self.debug_info, &self.types, &self.ids, strings, flags)?;
        let sections = sections.as_deref().unwrap_or(&[]);
        Ok(Context::new_from_parts(self, sections, &self.addresses, &self.globals, strings, &self.debug_info, formatter.into())?)
    }

    /// Reads the symbols of a compiland, and collects its allocation sites and procedures; called once for each.
    fn read_module(&self, module: &Module<'_>) -> Option<Box<ModuleInfo<'static>>> {
        let info = module_info(&mut self.pdb.lock().unwrap_or_else(PoisonError::into_inner), module).ok()??;
        let mut found = Found::default();
        let is_x86 = self.is_x86();
        let rva = |bytes: &[u8], at: usize| {
            let offset = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
            let section = u16::from_le_bytes(bytes.get(at + 4..at + 6)?.try_into().ok()?);
            Some(PdbInternalSectionOffset { offset, section }.to_rva(&self.addresses)?.0)
        };
        let mut each = |kind: u16, bytes: &[u8]| {
            if kind == HEAP_ALLOCATION_SITE {
                found.sites.extend(site(bytes, rva(bytes, 2)));
            } else if is_x86 && PROCEDURES.contains(&kind) {
                found.procedures.extend(rva(bytes, if kind == 0x1102 { 14 } else { 30 }));
            }
        };
        scopes::check_symbols(info.symbols().ok()?, &mut each).ok()?;
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        all.sites.append(&mut found.sites);
        all.procedures.extend(found.procedures);
        Some(Box::new(info))
    }
}

/// An S_HEAPALLOCSITE record: offset 4, section 2, length of the call 2, type 4.
fn site(bytes: &[u8], call: Option<u32>) -> Option<(u32, TypeIndex)> {
    let length = u16::from_le_bytes(bytes.get(8..10)?.try_into().ok()?);
    let of_type = u32::from_le_bytes(bytes.get(10..14)?.try_into().ok()?);
    Some((call?.checked_add(length.into())?, TypeIndex(of_type)))
}

impl ModuleProvider<'static> for Streams {
    fn get_module_info(&self, index: usize, module: &Module<'_>) -> pdb::Result<Option<&ModuleInfo<'static>>> {
        Ok(self.modules.get(index).and_then(|slot| slot.get_or_init(|| self.read_module(module)).as_deref()))
    }
}

fn resolve_here(
    file: &PdbFile,
    request: &Request,
    work: &Work,
    mut publish: impl FnMut(ModuleNames),
) -> Result<Resolved, PdbError> {
    let (pdb, found, fastlink) = open(file, work)?;
    if let Some(wanted) = request.key.filter(|&wanted| wanted != found) {
        return Err(PdbError::OtherBuild { wanted, found });
    }
    let streams = Streams::read(pdb)?;
    work.check()?;
    let mut lookup = Lookup {
        streams: &streams,
        context: streams.context()?,
        is_x86: streams.is_x86(),
        failures: 0,
        done: request.known.iter().flat_map(|known| known.tables().addresses.iter().map(|&(rva, _)| rva)).collect(),
        builder: request.known.as_deref().map_or_else(NamesBuilder::default, NamesBuilder::with),
    };
    if !request.first.is_empty() {
        lookup.add(&request.first, work)?;
        publish(lookup.finish()?);
    }
    lookup.add(&request.all, work)?;
    Ok(Resolved { names: lookup.finish()?, fastlink })
}

/// A lookup of addresses in a PDB.
struct Lookup<'a> {
    streams: &'a Streams,
    context: Context<'a, 'static>,
    is_x86: bool,
    failures: usize,
    done: KeyedSet<u32>,
    builder: NamesBuilder,
}

impl Lookup<'_> {
    fn add(&mut self, rvas: &[u32], work: &Work) -> Result<(), PdbError> {
        for (i, &rva) in rvas.iter().enumerate() {
            if i.is_multiple_of(256) {
                work.check()?;
            }
            if self.done.insert(rva) {
                self.look_up(rva)?;
            }
        }
        Ok(())
    }

    fn look_up(&mut self, rva: u32) -> Result<(), PdbError> {
        let context = &self.context;
        let found = match panics::catch(|| context.find_frames(rva)) {
            Ok(Ok(found)) => found,
            Ok(Err(_)) => None, // an error concerns only this function
            Err(caught) => {
                self.failures += 1;
                if self.failures > MAX_FAILURES {
                    return Err(PdbError::Damaged(format!("its reader failed ({caught})")));
                }
                None
            }
        };
        let Some(found) = found else {
            self.builder.add(rva, []);
            return Ok(());
        };
        let last = found.frames.len().saturating_sub(1);
        let is_public = self.is_x86 && !self.lock_found().procedures.contains(&found.start_rva);
        let mut names: Vec<String> = Vec::with_capacity(found.frames.len());
        for (i, frame) in found.frames.iter().enumerate() {
            names.push(match frame.function.as_deref() {
                None => String::new(),
                Some(name) if i == last && is_public && !name.starts_with('?') => undecorate_x86(name).to_owned(),
                Some(name) => demangle(name),
            });
        }
        // Code without a name: linkers leave such stretches between functions.
        let is_named = names.last().is_some_and(|name| !name.is_empty());
        let frames = found.frames.iter().zip(&names).map(|(frame, name)| Frame {
            function: if name.is_empty() { "(unknown function)" } else { name },
            file: frame.file.as_deref(),
            line: frame.line.filter(|line| !matches!(line, 0 | 0xF0_0F00 | 0xFE_EFEE)),
        });
        self.builder.add(rva, frames.take(if is_named { usize::MAX } else { 0 }));
        Ok(())
    }

    fn lock_found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.streams.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names that are known now, with the types of the requested sites.
    fn finish(&mut self) -> Result<ModuleNames, PdbError> {
        let is_asked = |(rva, _): &&(u32, TypeIndex)| rva.checked_sub(1).is_some_and(|before| self.done.contains(&before));
        let sites: Vec<_> = self.lock_found().sites.iter().filter(is_asked).copied().collect();
        if !sites.is_empty() {
            let types = TypeNames::new(&self.streams.types)?;
            for (rva, index) in sites {
                if let Some(name) = types.name(index) {
                    self.builder.add_site(rva, &name);
                }
            }
        }
        Ok(self.builder.finish())
    }
}
