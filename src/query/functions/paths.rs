//! The stack of each site as functions, for one state of the names.
//!
//! Paths are a trie of their own: a node of the stacks' trie can be several functions, one
//! inlined in the other, and lead to different ones in each process, and while different
//! modules were mapped. Sites are taken by process and time, so that a frame is looked up
//! once for each address, process and time in which its module is the same, and a path
//! once for each node of the stacks.
//!
//! Cost: a sort of the sites and a step a node. Memory: 16 bytes a node while it is made,
//! 12 a path and 4 a site afterwards. What hostile modules make of nodes is bounded:
//! frames beyond the limit are left out of their stacks.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::table::{FunctionId, FunctionTable, ModuleName};
use super::trie::Trie;
use crate::model::preorder::Preorder;
use crate::model::{HeapId, NodeId, ProcessId, Site, SiteId, Trace};
use crate::nearest::no_such;
use crate::query::callers::{Caller, CallerFrame, callers};
use crate::query::{Cancel, Cancelled, Fold, FrameName, Recorded};
use crate::stack_rules::StackRules;
use crate::symbols::{FrameKind, Names};
use crate::tables::KeyedMap;
use crate::units::Ticks;

/// A function and all that are around it; [`PathId::ROOT`] is "no stack".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct PathId(pub u32);

impl PathId {
    /// No function at all.
    pub const ROOT: Self = Self(0);
}

/// The paths of a site.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SitePaths {
    pub(super) whole: PathId,
    /// Down to the first frame behind the allocator's run.
    pub(super) behind_run: PathId,
    /// Down to the responsible caller.
    pub(super) responsible: PathId,
}

/// The functions of all sites.
#[derive(Clone, Debug)]
pub struct Functions {
    table: FunctionTable,
    /// By path; callers have smaller numbers.
    parent: Vec<u32>,
    function: Vec<FunctionId>,
    /// By path, whether the same function is around it.
    recurs: Vec<bool>,
    of_site: Vec<SitePaths>,
    /// By site.
    heaps: Vec<HeapId>,
}

/// Functions that are listed where several could be meant.
const MOST_TOLD: usize = 20;

impl Functions {
    /// Looks up the functions of all sites. What is folded away is left out of their
    /// stacks, but not an outermost frame that has nothing else.
    pub fn of(trace: &Trace, names: &Names, fold: Fold, cancel: &Cancel) -> Result<Self, Cancelled> {
        Self::of_sites(trace, &trace.sites, names, fold, cancel)
    }

    /// The same of other sites with stacks of the trace.
    pub fn of_sites(trace: &Trace, sites: &[Site], names: &Names, fold: Fold, cancel: &Cancel) -> Result<Self, Cancelled> {
        Self::of_stacks(trace, sites, (names, fold), FrameKind::Innermost, cancel)
    }

    /// The same; `innermost` is what the innermost addresses are.
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

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a function is called.
    pub fn name(&self, function: FunctionId) -> FrameName<'_> {
        self.table.name(function)
    }

    /// Where it lies, if that is known.
    pub fn module(&self, function: FunctionId) -> Option<ModuleName> {
        self.table.module(function)
    }

    /// Number of modules.
    pub fn modules(&self) -> usize {
        self.table.modules()
    }

    /// The file name of a module.
    pub fn module_name(&self, module: ModuleName) -> &str {
        self.table.module_name(module)
    }

    /// The rules that these functions were made with.
    pub fn rules(&self) -> &Arc<StackRules> {
        self.table.rules()
    }

    /// The functions of that name: as it is printed, or if there is none so in any case.
    pub fn called(&self, name: &str) -> Vec<FunctionId> {
        let all = || (0..self.len() as u32).map(FunctionId);
        let exact: Vec<FunctionId> = all().filter(|&id| self.name(id).to_string() == name).collect();
        if !exact.is_empty() {
            return exact;
        }
        let lower = name.to_lowercase();
        all().filter(|&id| self.name(id).to_string().to_lowercase() == lower).collect()
    }

    /// The name of the function that is meant: as it is printed, in any case, or without its module if it is
    /// of one only. The error names those that it could be.
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

    /// Number of paths, the root included.
    pub fn paths(&self) -> usize {
        self.parent.len()
    }

    /// All sites that have one.
    pub(in crate::query) fn sites(&self) -> impl Iterator<Item = SiteId> + use<> {
        (0..self.of_site.len() as u32).map(SiteId)
    }

    /// The heap of a site.
    pub(super) fn heap(&self, site: SiteId) -> HeapId {
        self.heaps[site.0 as usize]
    }

    /// The whole stack of a site.
    pub fn path(&self, site: SiteId) -> PathId {
        self.of_site[site.0 as usize].whole
    }

    /// All of a site's.
    pub(super) fn paths_of(&self, site: SiteId) -> SitePaths {
        self.of_site[site.0 as usize]
    }

    /// What is around a path's innermost function.
    pub fn parent(&self, path: PathId) -> PathId {
        PathId(self.parent[path.0 as usize])
    }

    /// The innermost function of a path; `None` for the root.
    pub fn function(&self, path: PathId) -> Option<FunctionId> {
        (path != PathId::ROOT).then(|| self.function[path.0 as usize])
    }

    /// The functions of a path, innermost first.
    pub fn chain(&self, path: PathId) -> impl Iterator<Item = FunctionId> + '_ {
        std::iter::successors(Some(path), |&path| Some(self.parent(path))).map_while(|path| self.function(path))
    }

    /// Whether the innermost function of a path is also around itself.
    pub(super) fn recurs(&self, path: PathId) -> bool {
        self.recurs[path.0 as usize]
    }

    /// The stack of a site without the allocator's run.
    pub fn behind_run(&self, site: SiteId) -> PathId {
        self.of_site[site.0 as usize].behind_run
    }

    /// The stack of a site down to the responsible caller, which is its innermost function.
    pub fn responsible(&self, site: SiteId) -> PathId {
        self.of_site[site.0 as usize].responsible
    }
}

/// By path, whether the same function is around it.
fn recurring(parent: &[u32], function: &[FunctionId], functions: usize) -> Vec<bool> {
    let order = Preorder::of(parent.len(), |i| parent[i] as usize);
    let mut recurs = vec![false; parent.len()];
    let mut around = vec![0u32; functions];
    // Paths that are around the present one, with the end of what is under them.
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

/// A node's path in one process, up to a moment.
#[derive(Clone, Copy)]
struct Known {
    process: ProcessId,
    until: Ticks,
    path: u32,
}

/// What stands at an address, up to a moment.
#[derive(Clone)]
struct Look {
    until: Ticks,
    /// Of [`PathWalk::frames`].
    frames: Range<usize>,
    /// Whether none of them is the user's own, where that matters.
    is_foreign: bool,
}

/// A function at an address.
#[derive(Clone, Copy)]
struct FunctionAt {
    function: FunctionId,
    level: u16,
    /// Whether no rule leaves it out.
    is_shown: bool,
}

/// An address, what it is, and whether it is the outermost of its stack.
type Place = (u64, FrameKind, bool);

/// Goes over the sites of one process after the other, each by time.
struct PathWalk<'a> {
    trace: &'a Trace,
    names: &'a Names,
    fold: Fold,
    innermost: FrameKind,
    table: FunctionTable,
    paths: Trie,
    /// By node.
    known: Vec<Known>,
    process: ProcessId,
    /// In this process.
    looks: KeyedMap<Place, Look>,
    /// Functions with the levels that they are at their address.
    frames: Vec<FunctionAt>,
    /// Nodes of a stack whose paths are not known.
    todo: Vec<NodeId>,
}

/// Nobody, among processes.
const NOBODY: ProcessId = ProcessId(u32::MAX);

/// Frames that are remembered at a time.
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

    /// Of the site that comes next.
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

    /// The path down to a frame of a site's stack.
    fn path_to(&mut self, site: &Site, frame: CallerFrame) -> PathId {
        let kind = if frame.node == site.stack { self.innermost } else { FrameKind::Caller };
        let outer = self.callers(self.trace.stacks.parent(frame.node), site.first);
        PathId(self.inside(outer, frame, site.first, kind).0)
    }

    /// The path of a node that called something.
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

    /// The path of a node that called something, inside of `outer`: the same as that if it is what starts a thread and
    /// that is folded away.
    fn caller(&mut self, outer: u32, node: NodeId, at: Ticks) -> (u32, Ticks) {
        if self.fold == Fold::Foreign && outer == 0 {
            let look = self.look(node, at, FrameKind::Caller);
            if look.is_foreign {
                return (0, look.until);
            }
        }
        self.inside(outer, CallerFrame { node, level: u16::MAX }, at, FrameKind::Caller)
    }

    /// The path of the functions at a frame's address, down to it, inside `outer`, and until when they are those.
    fn inside(&mut self, outer: u32, frame: CallerFrame, at: Ticks, kind: FrameKind) -> (u32, Ticks) {
        let Look { until, frames, .. } = self.look(frame.node, at, kind);
        let Self { paths, frames: all, .. } = self;
        let at = &all[frames];
        let down_to = at.iter().filter(|of| of.level <= frame.level && of.is_shown);
        let path = down_to.fold(outer, |path, of| paths.child(path, of.function));
        // Something has to stand for the stack.
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
