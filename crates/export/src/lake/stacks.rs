//! Tables `stacks` and `frames`: each call stack once, with a key that is the same in every capture and build.
//!
//! Stacks of a capture differ by their recorded addresses or by the names of their frames; the number of a stack is
//! valid in its capture only. Its *key* follows from the names of its frames alone, as `highwater diff` matches them:
//! `module!function`, or without a name `module!+0xrva` or the address.
//!
//! Cost: the functions of all sites ([`Functions`]); 8 bytes per path and 4 per site; then a look at each frame of
//! each stack.

use std::fmt::Write;

use parquet::errors::ParquetError;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::file::{Cell, TableFile};
use crate::model::{NodeId, Site, SiteId, Trace};
use crate::names::Names;
use crate::query::{Cancel, Cancelled, Fold, FrameName, Functions, Mask, NO_STACK_KEY, PathId, Recorded};
use crate::tables::KeyedMap;

/// The number that stands for "no stack was recorded".
pub(super) const NO_STACK: u32 = 0;
/// Maximum bytes of a stack as text; the outer frames beyond that are left out.
const MOST_TEXT: usize = 4096;
/// Separates the frames in that text.
const BETWEEN: &str = ";";

/// The stacks of a trace, by number.
pub(super) struct StackList {
    functions: Functions,
    /// Keys of the stacks, by path.
    keys: Vec<u64>,
    /// A site for each stack except the first, [`NO_STACK`].
    first: Vec<(Site, SiteId)>,
    /// Number of the stack, by site.
    of_site: Vec<u32>,
    /// Number of the stack, by site that freed.
    of_free_site: Vec<u32>,
}

impl StackList {
    /// Lists the stacks of the sites that a mask selects, and of those that freed in their heaps.
    pub(super) fn of(trace: &Trace, names: &Names, mask: &Mask, cancel: &Cancel) -> Result<Self, Cancelled> {
        let sites: Vec<Site> = trace.sites.iter().chain(&trace.free_sites).copied().collect();
        let functions = Functions::of_sites(trace, &sites, names, Fold::Nothing, cancel)?;
        let keys = keys(&functions);
        let mut is_wanted_heap = vec![false; trace.heaps.len()];
        let is_wanted = |site: usize| mask.classes(SiteId(site as u32)) != 0;
        for (_, site) in trace.sites.iter().enumerate().filter(|(i, _)| is_wanted(*i)) {
            is_wanted_heap[site.heap.0 as usize] = true;
        }
        let (mut first, mut numbers) = (Vec::new(), KeyedMap::default());
        let mut number = |i: usize, site: &Site, is_wanted: bool| {
            if site.stack == NodeId::ROOT || !is_wanted {
                return NO_STACK;
            }
            let path = functions.path(SiteId(i as u32));
            *numbers.entry((site.stack, path)).or_insert_with(|| {
                first.push((*site, SiteId(i as u32)));
                first.len() as u32
            })
        };
        let own = trace.sites.len();
        let of_site = sites[..own].iter().enumerate().map(|(i, site)| number(i, site, is_wanted(i))).collect();
        let freed = sites[own..].iter().zip(own..);
        let of_free_site = freed.map(|(site, i)| number(i, site, is_wanted_heap[site.heap.0 as usize])).collect();
        Ok(Self { functions, keys, first, of_site, of_free_site })
    }

    /// The stack of a site.
    pub(super) fn of_site(&self, site: SiteId) -> u32 {
        self.of_site[site.0 as usize]
    }

    /// The stack of a site that freed; `None` if none was recorded.
    pub(super) fn of_free_site(&self, site: SiteId) -> Option<u32> {
        Some(self.of_free_site[site.0 as usize]).filter(|&stack| stack != NO_STACK)
    }

    /// Writes the table of stacks.
    pub(super) fn write(&self, file: &mut TableFile) -> Result<(), ParquetError> {
        let none = Cell::Null;
        let text = Cell::Text("(no stack recorded)");
        let nobody = Cell::Text(NO_STACK_KEY);
        file.row(&[Cell::Long(NO_STACK.into()), Cell::Long(0), Cell::Long(0), none, none, text, nobody, nobody])?;
        let functions = &self.functions;
        for (&(_, site), number) in self.first.iter().zip(1..) {
            let name = |path: PathId| functions.function(path).map(|function| functions.name(function));
            let (path, wanted, responsible) =
                (functions.path(site), name(functions.behind_run(site)), name(functions.responsible(site)));
            let (module, function) = (wanted.and_then(FrameName::module), wanted.map(|name| name.to_string()));
            let responsible =
                responsible.map(|name| (name.to_string(), name.module().map_or_else(|| name.to_string(), str::to_owned)));
            let (caller, callers_module) = responsible.unzip();
            file.row(&[
                Cell::Long(number),
                Cell::Long(self.keys[path.0 as usize].cast_signed()),
                Cell::Long(functions.chain(path).count() as i64),
                Cell::text(function.as_deref()),
                Cell::text(module),
                Cell::Text(&self.text(path)),
                Cell::text(caller.as_deref()),
                Cell::text(callers_module.as_deref()),
            ])?;
        }
        Ok(())
    }

    /// A stack as text, outermost frame first.
    fn text(&self, path: PathId) -> String {
        let (mut frames, mut length) = (Vec::new(), 0);
        for function in self.functions.chain(path) {
            let name = self.functions.name(function).to_string().replace(BETWEEN, ":");
            length += name.len() + BETWEEN.len();
            if length > MOST_TEXT && !frames.is_empty() {
                frames.push("…".to_owned());
                break;
            }
            frames.push(name);
        }
        frames.reverse();
        frames.join(BETWEEN)
    }

    /// Writes the table of frames.
    pub(super) fn write_frames(&self, trace: &Trace, names: &Names, file: &mut TableFile) -> Result<(), ParquetError> {
        let mut name = String::new();
        for ((site, _), number) in self.first.iter().zip(1..) {
            let mut depth = 0;
            for node in trace.stacks.path(site.stack) {
                let recorded = Recorded::of(trace, names, node, site.caller, site.first, node == site.stack);
                let module = recorded.module().filter(|_| recorded.method().is_none());
                for level in recorded.shown(false) {
                    let frame = recorded.function(level);
                    name.clear();
                    let _ = write!(name, "{}", recorded.name(level));
                    file.row(&[
                        Cell::Long(number),
                        Cell::Long(depth),
                        Cell::Text(&name),
                        Cell::text(recorded.module_name()),
                        Cell::text(frame.map(|frame| frame.function)),
                        Cell::text(frame.and_then(|frame| frame.file)),
                        Cell::long(frame.and_then(|frame| frame.line).map(i64::from)),
                        Cell::Long(recorded.address().cast_signed()),
                        Cell::long(module.map(|module| recorded.address().wrapping_sub(module.base).cast_signed())),
                        Cell::Bool(level > 0),
                        Cell::Bool(recorded.is_allocator(level)),
                    ])?;
                    depth += 1;
                }
            }
        }
        Ok(())
    }
}

/// For each path a hash of the names of its frames: of its last name and the hash of the frames around it.
fn keys(functions: &Functions) -> Vec<u64> {
    let mut keys = vec![0u64; functions.paths()];
    let mut name = String::new();
    for path in 1..functions.paths() as u32 {
        let path = PathId(path);
        name.clear();
        if let Some(function) = functions.function(path) {
            let _ = write!(name, "{}", functions.name(function));
        }
        keys[path.0 as usize] = xxh3_64_with_seed(name.as_bytes(), keys[functions.parent(path).0 as usize]);
    }
    keys
}
