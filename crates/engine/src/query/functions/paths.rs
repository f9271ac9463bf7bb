//! The stack of each site as functions, for one state of the names.
//!
//! Paths are a separate trie: a node of the stacks' trie can be several functions, one inlined in the other, and can
//! mean different functions in each process, or while different modules were mapped. Sites are processed by process and
//! time, so that a frame is looked up once per address, process and lifetime of its module, and a path once per node of
//! the stacks.
//!
//! Cost: a sort of the sites and one step per node. Memory: 16 bytes per node while it is built; 9 per path and 16 per
//! site afterwards. The number of frames that malicious modules can produce is limited; frames beyond the limit are
//! left out.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::table::{FunctionId, FunctionTable, ModuleName};
use super::trie::Trie;
use crate::model::preorder::Preorder;
use crate::model::{HeapId, NodeId, ProcessId, Site, SiteId, Trace};
use crate::names::{FrameKind, Names};
use crate::nearest::no_such;
use crate::query::callers::{Caller, CallerFrame, callers};
use crate::query::{Cancel, Cancelled, Fold, FrameName, Recorded};
use crate::stack_rules::StackRules;
use crate::tables::KeyedMap;
use crate::units::Ticks;

/// A function with all its callers; [`PathId::ROOT`] is "no stack".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct PathId(pub u32);

impl PathId {
    /// The empty path.
    pub const ROOT: Self = Self(0);
}

/// The paths of a site.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SitePaths {
    pub(super) whole: PathId,
    /// Path down to the first frame behind the allocator's run.
    pub(super) behind_run: PathId,
    /// Path down to the responsible caller.
    pub(super) responsible: PathId,
}

/// The functions of all sites.
#[derive(Clone, Debug)]
pub struct Functions {
    table: FunctionTable,
    /// Parent of each path; callers have smaller numbers.
    parent: Vec<u32>,
    function: Vec<FunctionId>,
    /// Whether the function of each path also occurs among its callers.
    recurs: Vec<bool>,
    of_site: Vec<SitePaths>,
    /// Heap of each site.
    heaps: Vec<HeapId>,
}

/// Largest number of functions listed if a name is ambiguous.
const MOST_TOLD: usize = 20;

impl Functions {
    /// Looks up the functions of all sites. Folded frames are left out of the stacks, except the outermost frame if
    /// nothing else is left.
    pub fn of(trace: &Trace, names: &Names, fold: Fold, cancel: &Cancel) -> Result<Self, Cancelled> {
        Self::of_sites(trace, &trace.sites, names, fold, cancel)
    }

    /// Looks up the functions of other sites, whose stacks are in the trace.
    pub fn of_sites(trace: &Trace, sites: &[Site], names: &Names, fold: Fold, cancel: &Cancel) -> Result<Self, Cancelled> {
        Self::of_stacks(trace, sites, (names, fold), FrameKind::Innermost, cancel)
    }

    /// Looks up the functions of sites; `innermost` is the kind of their innermost addresses.
    pub(super) fn of_stacks(
        trace: &Trace,
        sites: &[Site],
        (names, fold): (&Names, Fold),
        innermost: FrameKind,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let mut order: Vec<u32> = (0..sites.len() as u32).collect();
        order.par_sort_unstable_by_key(|&i| {
            let site = &sites[i as usize];
            (site.caller, site.first, i)
        });
        let callers = callers(trace, sites.par_iter(), names, innermost, cancel)?;
        let mut walk = PathWalk::new(trace, names, fold, innermost);
        let mut of_site = vec![SitePaths::default(); sites.len()];
        for (n, &i) in order.iter().enumerate() {
            if n % 1024 == 0 {
                cancel.check()?;
            }
            of_site[i as usize] = walk.paths_of(&sites[i as usize], &callers[i as usize]);
        }
        Ok(Self::of_parts(walk.table, walk.paths, of_site, sites.iter().map(|site| site.heap).collect()))
    }

    pub(super) fn of_parts(table: FunctionTable, paths: Trie, of_site: Vec<SitePaths>, heaps: Vec<HeapId>) -> Self {
        let Trie { parent, function, .. } = paths;
        let recurs = recurring(&parent, &function, table.len());
        Self { table, parent, function, recurs, of_site, heaps }
    }

    /// Returns the number of functions.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether there are no functions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name of a function.
    pub fn name(&self, function: FunctionId) -> FrameName<'_> {
        self.table.name(function)
    }

    /// Returns the module of a function, if known.
    pub fn module(&self, function: FunctionId) -> Option<ModuleName> {
        self.table.module(function)
    }

    /// Returns the number of modules.
    pub fn modules(&self) -> usize {
        self.table.modules()
    }

    /// Returns the file name of a module.
    pub fn module_name(&self, module: ModuleName) -> &str {
        self.table.module_name(module)
    }

    /// Returns the rules that these functions were made with.
    pub fn rules(&self) -> &Arc<StackRules> {
        self.table.rules()
    }

    /// Returns the functions with a printed name; if there are none, those with this name in any case.
    pub fn called(&self, name: &str) -> Vec<FunctionId> {
        let all = || (0..self.len() as u32).map(FunctionId);
        let exact: Vec<FunctionId> = all().filter(|&id| self.name(id).to_string() == name).collect();
        if !exact.is_empty() {
            return exact;
        }
        let lower = name.to_lowercase();
        all().filter(|&id| self.name(id).to_string().to_lowercase() == lower).collect()
    }

    /// Returns the full name of the function that `wanted` refers to: its printed name, in any case, or its name
    /// without module if that is unambiguous. The error lists the candidates.
    pub fn meant(&self, wanted: &str) -> Result<String, String> {
        if let Some(&id) = self.called(wanted).first() {
            return Ok(self.name(id).to_string());
        }
        let all: BTreeSet<String> = (0..self.len() as u32).map(|id| self.name(FunctionId(id)).to_string()).collect();
        let bare = |name: &str| name.split_once('!').map_or_else(String::new, |(_, name)| name.to_owned());
        let lower = wanted.to_lowercase();
        let mut fit: Vec<&String> = all.iter().filter(|name| bare(name) == wanted).collect();
        if fit.is_empty() {
            fit = all.iter().filter(|name| bare(name).to_lowercase() == lower).collect();
        }
        match fit.as_slice() {
            [] => Err(no_such("function with a stack", wanted, &all)),
            [only] => Ok((*only).clone()),
            several => {
                let names: Vec<String> = several.iter().take(MOST_TOLD).map(|name| format!("\"{name}\"")).collect();
                Err(format!("\"{wanted}\" fits functions of several modules; name one of {}", names.join(", ")))
            }
        }
    }

    /// Returns the number of paths, including the root.
    pub fn paths(&self) -> usize {
        self.parent.len()
    }

    /// Returns all sites.
    pub(in crate::query) fn sites(&self) -> impl Iterator<Item = SiteId> + use<> {
        (0..self.of_site.len() as u32).map(SiteId)
    }

    /// Returns the heap of a site.
    pub(super) fn heap(&self, site: SiteId) -> HeapId {
        self.heaps[site.0 as usize]
    }

    /// Returns the path of the whole stack of a site.
    pub fn path(&self, site: SiteId) -> PathId {
        self.of_site[site.0 as usize].whole
    }

    /// Returns all paths of a site.
    pub(super) fn paths_of(&self, site: SiteId) -> SitePaths {
        self.of_site[site.0 as usize]
    }

    /// Returns the path without its innermost function.
    pub fn parent(&self, path: PathId) -> PathId {
        PathId(self.parent[path.0 as usize])
    }

    /// Returns the innermost function of a path; `None` for the root.
    pub fn function(&self, path: PathId) -> Option<FunctionId> {
        (path != PathId::ROOT).then(|| self.function[path.0 as usize])
    }

    /// Returns the functions of a path, innermost first.
    pub fn chain(&self, path: PathId) -> impl Iterator<Item = FunctionId> + '_ {
        std::iter::successors(Some(path), |&path| Some(self.parent(path))).map_while(|path| self.function(path))
    }

    /// Returns whether the innermost function of a path also occurs among its callers.
    pub(super) fn recurs(&self, path: PathId) -> bool {
        self.recurs[path.0 as usize]
    }

    /// Returns the stack of a site without the allocator's run.
    pub fn behind_run(&self, site: SiteId) -> PathId {
        self.of_site[site.0 as usize].behind_run
    }

    /// Returns the stack of a site down to the responsible caller, which is its innermost function.
    pub fn responsible(&self, site: SiteId) -> PathId {
        self.of_site[site.0 as usize].responsible
    }
}

/// Returns for each path whether its function also occurs among its callers.
fn recurring(parent: &[u32], function: &[FunctionId], functions: usize) -> Vec<bool> {
    let order = Preorder::of(parent.len(), |i| parent[i] as usize);
    let mut recurs = vec![false; parent.len()];
    let mut around = vec![0u32; functions];
    // Callers of the current path, each with the end of its subtree.
    let mut open: Vec<(FunctionId, u32)> = Vec::new();
    for (&path, &end) in order.node.iter().zip(&order.end).skip(1) {
        let place = order.place[path as usize];
        while let Some((outer, _)) = open.pop_if(|(_, end)| *end <= place) {
            around[outer.0 as usize] -= 1;
        }
        let function = function[path as usize];
        recurs[path as usize] = around[function.0 as usize] > 0;
        around[function.0 as usize] += 1;
        open.push((function, end));
    }
    recurs
}

/// The path of a node in one process, valid up to a moment.
#[derive(Clone, Copy)]
struct Known {
    process: ProcessId,
    until: Ticks,
    path: u32,
}

/// The functions at an address, valid up to a moment.
#[derive(Clone)]
struct Look {
    until: Ticks,
    /// Range in [`PathWalk::frames`].
    frames: Range<usize>,
    /// Whether none of them is the user's own code; only set if foreign code is folded.
    is_foreign: bool,
}

/// A function at an address.
#[derive(Clone, Copy)]
struct FunctionAt {
    function: FunctionId,
    level: u16,
    /// Whether no rule folds it.
    is_shown: bool,
}

/// An address, its kind, and whether it is the outermost frame of its stack.
type Place = (u64, FrameKind, bool);

/// Processes sites by process, and each process's sites by time.
struct PathWalk<'a> {
    trace: &'a Trace,
    names: &'a Names,
    fold: Fold,
    innermost: FrameKind,
    table: FunctionTable,
    paths: Trie,
    /// Last known path of each node.
    known: Vec<Known>,
    process: ProcessId,
    /// Looked-up addresses of the current process.
    looks: KeyedMap<Place, Look>,
    /// Functions with their levels at their addresses.
    frames: Vec<FunctionAt>,
    /// Nodes of a stack whose paths are not known yet.
    todo: Vec<NodeId>,
}

/// No process.
const NOBODY: ProcessId = ProcessId(u32::MAX);

/// Largest number of frames that are cached at a time.
const FRAMES: usize = 1 << 22;

impl<'a> PathWalk<'a> {
    fn new(trace: &'a Trace, names: &'a Names, fold: Fold, innermost: FrameKind) -> Self {
        let nodes = trace.stacks.len();
        let none = Known { process: NOBODY, until: Ticks::BEFORE_TRACE, path: 0 };
        let most = nodes.saturating_mul(8).saturating_add(1 << 20).min(u32::MAX as usize / 2);
        Self {
            trace,
            names,
            fold,
            innermost,
            table: FunctionTable::new(names.rules()),
            paths: Trie::new(most),
            known: vec![none; nodes],
            process: NOBODY,
            looks: KeyedMap::default(),
            frames: Vec::new(),
            todo: Vec::new(),
        }
    }

    /// Returns the paths of the next site.
    fn paths_of(&mut self, site: &Site, caller: &Caller) -> SitePaths {
        if site.stack == NodeId::ROOT {
            return SitePaths::default();
        }
        if site.caller != self.process || self.frames.len() > FRAMES {
            (self.process, self.looks) = (site.caller, KeyedMap::default());
            self.frames.clear();
        }
        let frames = [self.fold.innermost(site, caller), caller.behind_run, caller.responsible];
        let [whole, behind_run, responsible] = frames.map(|frame| self.path_to(site, frame));
        SitePaths { whole, behind_run, responsible }
    }

    /// Returns the path down to a frame of a site's stack.
    fn path_to(&mut self, site: &Site, frame: CallerFrame) -> PathId {
        let kind = if frame.node == site.stack { self.innermost } else { FrameKind::Caller };
        let outer = self.callers(self.trace.stacks.parent(frame.node), site.first);
        PathId(self.inside(outer, frame, site.first, kind).0)
    }

    /// Returns the path of a node that is a caller.
    fn callers(&mut self, node: NodeId, at: Ticks) -> u32 {
        let stacks = &self.trace.stacks;
        let mut next = node;
        let (mut path, mut until) = loop {
            if next == NodeId::ROOT {
                break (0, Ticks::NEVER);
            }
            let known = self.known[next.0 as usize];
            if known.process == self.process && at < known.until {
                break (known.path, known.until);
            }
            self.todo.push(next);
            next = stacks.parent(next);
        };
        while let Some(node) = self.todo.pop() {
            let (inside, valid) = self.caller(path, node, at);
            (path, until) = (inside, until.min(valid));
            self.known[node.0 as usize] = Known { process: self.process, until, path };
        }
        path
    }

    /// Returns the path of a caller's node, given the path of its parent; the parent's path if the node is part of the
    /// thread start and that is folded.
    fn caller(&mut self, outer: u32, node: NodeId, at: Ticks) -> (u32, Ticks) {
        if self.fold == Fold::Foreign && outer == 0 {
            let look = self.look(node, at, FrameKind::Caller);
            if look.is_foreign {
                return (0, look.until);
            }
        }
        self.inside(outer, CallerFrame { node, level: u16::MAX }, at, FrameKind::Caller)
    }

    /// Extends the path `outer` by the functions at a frame's address, down to the frame, and returns until when it is
    /// valid.
    fn inside(&mut self, outer: u32, frame: CallerFrame, at: Ticks, kind: FrameKind) -> (u32, Ticks) {
        let Look { until, frames, .. } = self.look(frame.node, at, kind);
        let Self { paths, frames: all, .. } = self;
        let at = &all[frames];
        let down_to = at.iter().filter(|of| of.level <= frame.level && of.is_shown);
        let path = down_to.fold(outer, |path, of| paths.child(path, of.function));
        // If nothing else is left, the outermost function stands for the stack.
        match at.first().filter(|_| path == 0) {
            Some(outermost) => (paths.child(path, outermost.function), until),
            None => (path, until),
        }
    }

    fn look(&mut self, node: NodeId, at: Ticks, kind: FrameKind) -> Look {
        let stacks = &self.trace.stacks;
        let (address, is_outermost) = (stacks.address(node), stacks.parent(node) == NodeId::ROOT);
        let place = (address, kind, is_outermost);
        if let Some(look) = self.looks.get(&place).filter(|look| at < look.until) {
            return look.clone();
        }
        let mapped = self.trace.mapped_at(self.process, address, at);
        let frame = Recorded::at(self.names, mapped, address, kind, is_outermost);
        let from = self.frames.len();
        let shown: Vec<u16> = frame.shown(self.fold.is_any()).collect();
        self.frames.extend(frame.shown(false).map(|level| FunctionAt {
            function: self.table.intern(frame.name(level)),
            level,
            is_shown: shown.contains(&level),
        }));
        let is_foreign = self.fold == Fold::Foreign && frame.is_foreign();
        let look = Look { until: mapped.during.to, frames: from..self.frames.len(), is_foreign };
        self.looks.insert(place, look.clone());
        look
    }
}
