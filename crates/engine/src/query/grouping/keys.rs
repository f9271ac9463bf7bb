//! Keys of site groups, as numbers: a number stands for the same process, heap, stack or type on all compared sides
//! ([`Identity`]).
//!
//! Cost: a pass over the sites; also a look at their frames if stacks are compared by name.

use std::sync::Arc;

use rayon::prelude::*;

use crate::model::{Module, NodeId, Site, SiteId, Trace};
use crate::names::Names;
use crate::query::functions::innermost;
use crate::query::naming::{NO_STACK_KEY, UNKNOWN_TYPE, allocated_type};
use crate::query::source_lines::Lines;
use crate::query::{By, Cancel, Cancelled, Fold, FrameName, FunctionId, Functions, Mask, ModuleName, Recorded, SiteNames};
use crate::tables::KeyedMap;
use crate::units::Layer;

/// Names for the sites of one trace, in one state of the names.
#[derive(Clone, Copy)]
pub(in crate::query) struct Named<'a> {
    pub(in crate::query) trace: &'a Trace,
    pub(in crate::query) names: &'a Names,
    pub(in crate::query) by: &'a [By],
    /// Functions, if a key needs them, and which frames are folded away.
    pub(in crate::query) functions: Option<(&'a Functions, Fold)>,
    /// Tags, if a key needs them.
    pub(in crate::query) tags: Option<&'a SiteNames>,
    /// Owners, if a key needs them.
    pub(in crate::query) owners: Option<&'a SiteNames>,
    /// Freeing stacks, once they are numbered.
    pub(in crate::query) freed: Option<&'a FreedStacks>,
    /// Source lines of groups, once there are groups and if a key needs them.
    pub(in crate::query) lines: Option<Lines<'a>>,
    /// Whether source lines of a stack's frames are included.
    pub(in crate::query) sources: bool,
    /// Whether addresses of a stack's frames are included.
    pub(in crate::query) addresses: bool,
}

impl<'a> Named<'a> {
    /// Returns the function that a site's memory is attributed to.
    fn innermost(&self, site: SiteId) -> Option<(&'a Functions, FunctionId)> {
        let (functions, fold) = self.functions?;
        innermost(functions, site, fold).map(|function| (functions, function))
    }

    /// Returns the name of the function that a site's memory is attributed to.
    pub(in crate::query) fn function(&self, site: SiteId) -> Option<FrameName<'a>> {
        self.innermost(site).map(|(functions, function)| functions.name(function))
    }

    /// Returns a site that freed with the stack of this number.
    pub(in crate::query) fn freed_site(&self, stack: u32) -> Option<&'a Site> {
        self.freed?.first.get(&stack).map(|site| &self.trace.free_sites[site.0 as usize])
    }

    /// Returns the module file name of the function that a site's memory is attributed to.
    pub(in crate::query) fn module(&self, site: SiteId) -> Option<&'a str> {
        let (functions, function) = self.innermost(site)?;
        Some(functions.module_name(functions.module(function)?))
    }

    /// Returns the printed name of a site's responsible caller.
    pub(in crate::query) fn responsible(&self, site: SiteId) -> String {
        self.caller(site).map_or_else(|| NO_STACK_KEY.to_owned(), |name| name.to_string())
    }

    /// Returns the responsible module of a site.
    pub(in crate::query) fn responsible_module(&self, site: SiteId) -> String {
        let name = |name: FrameName<'_>| name.module().map_or_else(|| name.to_string(), str::to_owned);
        self.caller(site).map_or_else(|| NO_STACK_KEY.to_owned(), name)
    }

    fn caller(&self, site: SiteId) -> Option<FrameName<'a>> {
        let (functions, _) = self.functions?;
        functions.function(functions.responsible(site)).map(|function| functions.name(function))
    }

    /// Returns the owner of a site's memory.
    pub(in crate::query) fn owner(&self, site: SiteId) -> Option<&'a Arc<str>> {
        let owners = self.owners?;
        Some(owners.name(owners.of_site(site)))
    }

    /// Returns the tag of a site's stack.
    pub(in crate::query) fn tag(&self, site: SiteId) -> Option<&'a Arc<str>> {
        let tags = self.tags?;
        Some(tags.name(tags.of_site(site)))
    }
}

/// The numbers that processes, heaps and stacks of a trace have in keys.
pub(in crate::query) struct Identity {
    /// Number of each process.
    pub(in crate::query) processes: Vec<u32>,
    /// Number of each heap.
    pub(in crate::query) heaps: Vec<u32>,
    /// Whether stacks are compared by the names of their frames instead of their addresses.
    pub(in crate::query) stacks_by_name: bool,
    /// Whether functions and modules of the sides are compared by name. If all sides share the same functions, their
    /// ids are compared.
    pub(in crate::query) functions_by_name: bool,
}

impl Identity {
    /// Identifies each process by itself, heaps by their keys, and stacks by their addresses.
    pub(in crate::query) fn of(trace: &Trace) -> Self {
        let mut keys = KeyedMap::default();
        let heaps = trace.heaps.iter().map(|heap| number(&mut keys, heap.key())).collect();
        Self { processes: (0..trace.processes.len() as u32).collect(), heaps, stacks_by_name: false, functions_by_name: false }
    }
}

/// Returns the number of a key; a new key gets the next number.
pub(in crate::query) fn number<K: std::hash::Hash + Eq>(numbers: &mut KeyedMap<K, u32>, key: K) -> u32 {
    let next = numbers.len() as u32;
    *numbers.entry(key).or_insert(next)
}

/// Key of a site group; the layer is always part of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct SiteKey {
    layer: Layer,
    process: u32,
    heap: u32,
    stack: u32,
    allocated_type: u32,
    function: u32,
    module: u32,
    tag: u32,
    responsible: u32,
    responsible_module: u32,
    owner: u32,
}

/// Value of a key part that is not requested, or that the site does not have.
const NONE: u32 = u32::MAX;

/// The site groups found so far on all sides.
#[derive(Default)]
pub(in crate::query) struct SiteKeys {
    groups: KeyedMap<SiteKey, u32>,
    types: KeyedMap<Arc<str>, u32>,
    frames: KeyedMap<String, u32>,
    functions: KeyedMap<String, u32>,
    modules: KeyedMap<Box<str>, u32>,
    tags: KeyedMap<Arc<str>, u32>,
    owners: KeyedMap<Arc<str>, u32>,
    /// Stacks by the stack of their callers and their innermost frame.
    stacks: KeyedMap<(u32, u32), u32>,
}

/// The site groups of one side.
pub(in crate::query) struct SiteGroups {
    /// Group of each site; `None` for sites that are not selected.
    pub(in crate::query) of_site: Vec<Option<u32>>,
    /// First site of each group, if this side has any.
    pub(in crate::query) first: Vec<Option<SiteId>>,
    /// Freeing stacks, if a key needs them.
    pub(in crate::query) freed: Option<FreedStacks>,
}

/// The freeing stacks of one side. Rows that were not freed, or freed without a stack, have the number of no stack.
pub(in crate::query) struct FreedStacks {
    /// Stack of each freeing site.
    of_site: Vec<u32>,
    none: u32,
    /// First site with each stack.
    first: KeyedMap<u32, SiteId>,
}

impl FreedStacks {
    /// Returns the stack that freed a row.
    pub(in crate::query) fn of(&self, freed_at: Option<SiteId>) -> u32 {
        freed_at.map_or(self.none, |site| self.of_site[site.0 as usize])
    }
}

/// Number of sites between checks for cancellation.
const PIECE: usize = 1 << 10;

/// The frames, by number, at the recorded addresses of one side: module, offset in it, and whether the frame is the
/// innermost.
type FramesOf = KeyedMap<(Option<*const Module>, u64, bool), Vec<u32>>;

/// Numbers of what one side has encountered, so that each name is made only once.
#[derive(Default)]
struct Met {
    frames: FramesOf,
    functions: KeyedMap<FunctionId, u32>,
    modules: KeyedMap<ModuleName, u32>,
    /// Responsible module of each function.
    callers_modules: KeyedMap<FunctionId, u32>,
}

/// Returns for each site the function that its memory is attributed to, if a key needs it.
fn accounted(named: Named<'_>) -> Vec<Option<FunctionId>> {
    let Some((functions, fold)) = named.functions else { return Vec::new() };
    if !named.by.iter().any(|by| matches!(by, By::Function | By::Module)) {
        return Vec::new();
    }
    let sites = 0..named.trace.sites.len() as u32;
    sites.into_par_iter().map(|site| innermost(functions, SiteId(site), fold)).collect()
}

/// Number of the empty stack.
const NO_STACK: u32 = u32::MAX;

impl SiteKeys {
    /// Returns the number of groups.
    pub(in crate::query) fn len(&self) -> usize {
        self.groups.len()
    }

    /// Assigns the sites of one side to groups.
    pub(in crate::query) fn add(
        &mut self,
        named: Named<'_>,
        identity: &Identity,
        mask: &Mask,
        cancel: &Cancel,
    ) -> Result<SiteGroups, Cancelled> {
        let mut met = Met::default();
        let accounted = accounted(named);
        let mut groups = SiteGroups { of_site: vec![None; named.trace.sites.len()], first: Vec::new(), freed: None };
        for (i, site) in named.trace.sites.iter().enumerate() {
            if i % PIECE == 0 {
                cancel.check()?;
            }
            let id = SiteId(i as u32);
            if mask.classes(id) == 0 {
                continue;
            }
            let function = accounted.get(i).copied().flatten();
            let key = self.key(named, identity, (id, site, function), &mut met);
            let group = number(&mut self.groups, key);
            groups.of_site[i] = Some(group);
            groups.first.resize(groups.first.len().max(group as usize + 1), None);
            groups.first[group as usize].get_or_insert(id);
        }
        if named.by.contains(&By::FreedStack) {
            groups.freed = Some(self.freed_stacks(named, identity, &mut met.frames, cancel)?);
        }
        Ok(groups)
    }

    fn key(
        &mut self,
        named: Named<'_>,
        identity: &Identity,
        (id, site, function): (SiteId, &Site, Option<FunctionId>),
        met: &mut Met,
    ) -> SiteKey {
        let Named { trace, names, by, .. } = named;
        let if_wanted = |key, number: &mut dyn FnMut() -> Option<u32>| {
            if by.contains(&key) { number().unwrap_or(NONE) } else { NONE }
        };
        let by_name = identity.functions_by_name;
        let responsible = named.functions.and_then(|(functions, _)| functions.function(functions.responsible(id)));
        let innermost = named.functions.zip(function).map(|((functions, _), function)| (functions, function));
        SiteKey {
            layer: trace.layer_of(site),
            process: if_wanted(By::Process, &mut || Some(identity.processes[trace.process_of(site).0 as usize])),
            heap: if_wanted(By::Heap, &mut || Some(identity.heaps[site.heap.0 as usize])),
            stack: if_wanted(By::Stack, &mut || Some(self.stack_number(named, identity, site, &mut met.frames))),
            allocated_type: if_wanted(By::Type, &mut || {
                let name = allocated_type(trace, names, site).unwrap_or(UNKNOWN_TYPE);
                Some(self.types.get(name).copied().unwrap_or_else(|| number(&mut self.types, name.into())))
            }),
            function: if_wanted(By::Function, &mut || {
                let (functions, function) = innermost?;
                let new = || number(&mut self.functions, functions.name(function).to_string());
                let is_told = identity.functions_by_name;
                Some(if is_told { *met.functions.entry(function).or_insert_with(new) } else { function.0 })
            }),
            module: if_wanted(By::Module, &mut || {
                let (functions, function) = innermost?;
                let module = functions.module(function)?;
                let new = || number(&mut self.modules, functions.module_name(module).into());
                let is_told = identity.functions_by_name;
                Some(if is_told { *met.modules.entry(module).or_insert_with(new) } else { module.0 })
            }),
            tag: if_wanted(By::Tag, &mut || named.tag(id).map(|name| number(&mut self.tags, Arc::clone(name)))),
            responsible: if_wanted(By::Responsible, &mut || {
                let function = responsible?;
                let new = || number(&mut self.functions, named.responsible(id));
                Some(if by_name { *met.functions.entry(function).or_insert_with(new) } else { function.0 })
            }),
            responsible_module: if_wanted(By::ResponsibleModule, &mut || {
                let mut new = || number(&mut self.modules, named.responsible_module(id).into());
                responsible.map(|function| *met.callers_modules.entry(function).or_insert_with(&mut new))
            }),
            owner: if_wanted(By::Owner, &mut || named.owner(id).map(|name| number(&mut self.owners, Arc::clone(name)))),
        }
    }

    fn freed_stacks(
        &mut self,
        named: Named<'_>,
        identity: &Identity,
        frames_of: &mut FramesOf,
        cancel: &Cancel,
    ) -> Result<FreedStacks, Cancelled> {
        let none = if identity.stacks_by_name { NO_STACK } else { NodeId::ROOT.0 };
        let mut stacks = FreedStacks { of_site: Vec::new(), none, first: KeyedMap::default() };
        for (i, site) in named.trace.free_sites.iter().enumerate() {
            if i % PIECE == 0 {
                cancel.check()?;
            }
            let stack = self.stack_number(named, identity, site, frames_of);
            stacks.of_site.push(stack);
            stacks.first.entry(stack).or_insert(SiteId(i as u32));
        }
        Ok(stacks)
    }

    fn stack_number(&mut self, named: Named<'_>, identity: &Identity, site: &Site, frames_of: &mut FramesOf) -> u32 {
        match identity.stacks_by_name {
            true => self.stack(named, site, frames_of),
            false => site.stack.0,
        }
    }

    /// Returns the number of a stack by the names of its frames.
    fn stack(&mut self, Named { trace, names, .. }: Named<'_>, site: &Site, frames_of: &mut FramesOf) -> u32 {
        let mut stack = NO_STACK;
        for node in trace.stacks.path(site.stack) {
            let is_last = node == site.stack;
            let frame = Recorded::of(trace, names, node, site.caller, site.first, is_last);
            let place = (frame.module().map(std::ptr::from_ref), frame.address(), is_last);
            let of_place = frames_of.entry(place).or_insert_with(|| {
                let frames = frame.shown(false).map(|level| frame.name(level).to_string());
                frames.map(|frame| number(&mut self.frames, frame)).collect()
            });
            for &frame in &*of_place {
                stack = number(&mut self.stacks, (stack, frame));
            }
        }
        stack
    }
}
