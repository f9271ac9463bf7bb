//! The responsible caller of each stack: where the allocator's run of frames ends, and which frame behind it wanted the
//! memory.
//!
//! The rule is in [`rule`]. The roles of frames come from the stack rules, which include highwater's own list of
//! allocators and libraries ([`StackRules::role`](crate::stack_rules::StackRules::role)). Everything that names a
//! function for some memory uses this module.
//!
//! Cost: a look at each address of a process, and for each site one step per frame up to its responsible caller, on all
//! workers. 16 bytes per site.

mod rule;

use rayon::prelude::*;

use super::{Cancel, Cancelled, Recorded};
use crate::model::{Module, NodeId, ProcessId, Site, Trace};
use crate::names::{FrameKind, Names};
use crate::stack_rules::Role;
use crate::tables::KeyedMap;
use crate::units::Interval;
use rule::{Division, Frames, divide};

/// A frame of a site's stack: a function of the image, or one that was inlined at that address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallerFrame {
    /// The node of its address in the stacks.
    pub node: NodeId,
    /// Its function at that address; see [`Recorded`].
    pub level: u16,
}

/// Which frames are folded away, so that their bytes count for the caller. Except with [`Fold::Nothing`], frames that
/// fold rules match are folded, too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Fold {
    /// No frame is folded.
    #[default]
    Nothing,
    /// The allocator's run of frames is folded.
    Allocator,
    /// Everything but the user's own code is folded: the allocator's run, the libraries behind it up to the responsible
    /// caller, and the thread start at the outer end.
    Foreign,
}

impl Fold {
    /// Returns [`Fold::Allocator`] if folding is wanted, else [`Fold::Nothing`].
    pub fn allocator(is_wanted: bool) -> Self {
        if is_wanted { Self::Allocator } else { Self::Nothing }
    }

    /// Returns whether any frames are folded.
    pub fn is_any(self) -> bool {
        self != Self::Nothing
    }

    /// Returns the innermost frame of a site's stack that is not folded.
    pub fn innermost(self, site: &Site, caller: &Caller) -> CallerFrame {
        match self {
            Self::Nothing => CallerFrame::innermost(site),
            Self::Allocator => caller.behind_run,
            Self::Foreign => caller.responsible,
        }
    }
}

/// The frames at which the stack of a site divides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caller {
    /// The first frame behind the allocator's run, or the outermost frame if the run is the whole stack.
    pub behind_run: CallerFrame,
    /// The responsible caller.
    pub responsible: CallerFrame,
}

impl CallerFrame {
    /// Returns the innermost frame of a site's stack, including everything inlined there.
    pub fn innermost(site: &Site) -> Self {
        Self { node: site.stack, level: u16::MAX }
    }

    /// Returns the recorded frame in the stack of a site. Must not be called for the root.
    pub fn recorded<'a>(self, trace: &'a Trace, names: &'a Names, site: &Site) -> Recorded<'a> {
        Recorded::of(trace, names, self.node, site.caller, site.first, self.node == site.stack)
    }
}

impl Caller {
    /// The caller of a site without a stack.
    const NOBODY: Self = {
        let frame = CallerFrame { node: NodeId::ROOT, level: 0 };
        Self { behind_run: frame, responsible: frame }
    };
}

/// Fewest consecutive sites per piece of work, since a worker reuses what it has seen; and most pieces per worker.
const PIECE: usize = 1 << 12;
const PIECES: usize = 4;
/// Largest number of frames that a worker remembers.
const FRAMES: usize = 1 << 16;

/// Returns the callers of some sites, in their order. `innermost` is the kind of their innermost addresses.
pub(in crate::query) fn callers<'a>(
    trace: &Trace,
    sites: impl IndexedParallelIterator<Item = &'a Site>,
    names: &Names,
    innermost: FrameKind,
    cancel: &Cancel,
) -> Result<Vec<Caller>, Cancelled> {
    let piece = (sites.len() / (PIECES * rayon::current_num_threads())).max(PIECE);
    let of_piece = |sites: Vec<&Site>| {
        let mut looks = CallerFinder::new(trace, names, innermost);
        let mut found = Vec::with_capacity(sites.len());
        for (i, site) in sites.into_iter().enumerate() {
            if i.is_multiple_of(1024) {
                cancel.check()?;
            }
            found.push(looks.caller(site));
        }
        Ok(found)
    };
    let pieces: Result<Vec<Vec<Caller>>, Cancelled> = sites.chunks(piece).map(of_piece).collect();
    Ok(pieces?.concat())
}

/// A frame that was looked up.
#[derive(Clone, Copy)]
struct Seen<'a> {
    level: u16,
    role: Role,
    module: Option<&'a Module>,
}

/// Finds the callers of one stack after another and remembers the frames of their addresses.
pub struct CallerFinder<'a> {
    trace: &'a Trace,
    names: &'a Names,
    innermost: FrameKind,
    /// By process, address, and whether it is the innermost: how long the entry is valid, and its range in `seen`.
    known: KeyedMap<(ProcessId, u64, bool), (Interval, std::ops::Range<u32>)>,
    /// Frames of addresses, innermost first.
    seen: Vec<Seen<'a>>,
    /// Roles of unnamed frames by the address of their `Module`; `None` if rules can tell addresses of a module apart.
    unnamed: Option<KeyedMap<usize, Role>>,
    /// The frames of the current stack that were looked up so far, innermost first.
    stack: Vec<(NodeId, Seen<'a>)>,
}

impl<'a> CallerFinder<'a> {
    /// Creates a finder for stacks whose innermost addresses are of the kind `innermost`.
    pub fn new(trace: &'a Trace, names: &'a Names, innermost: FrameKind) -> Self {
        let unnamed = (!names.rules().tell_places_apart()).then(KeyedMap::default);
        Self { trace, names, innermost, known: KeyedMap::default(), seen: Vec::new(), unnamed, stack: Vec::new() }
    }

    /// Returns where the stack of a site divides.
    pub fn caller(&mut self, site: &Site) -> Caller {
        if site.stack == NodeId::ROOT {
            return Caller::NOBODY;
        }
        if self.seen.len() > FRAMES {
            (self.known, self.seen) = (KeyedMap::default(), Vec::new());
        }
        self.stack.clear();
        let mut stack = Stack { next: site.stack, site, looks: self };
        let Division { run, responsible } = divide(&mut stack);
        let at = |frame: usize| match self.stack.get(frame) {
            Some((node, seen)) => CallerFrame { node: *node, level: seen.level },
            None => CallerFrame { node: site.stack, level: 0 },
        };
        // If the whole stack is the allocator's, its outermost frame stands for it.
        let behind_run = match self.stack.get(run) {
            Some(_) => at(run),
            None => self.stack.last().map_or_else(|| at(0), |(node, _)| CallerFrame { node: *node, level: 0 }),
        };
        Caller { behind_run, responsible: at(responsible) }
    }

    /// Looks up the frames of an address, innermost first.
    fn look(&mut self, node: NodeId, site: &Site) -> std::ops::Range<u32> {
        let Self { trace, names, innermost, known, seen, unnamed, .. } = self;
        let (address, is_innermost) = (trace.stacks.address(node), node == site.stack);
        let key = (site.caller, address, is_innermost);
        if let Some((during, frames)) = known.get(&key)
            && (during.from..during.to).contains(&site.first)
        {
            return frames.clone();
        }
        let mapped = trace.mapped_at(site.caller, address, site.first);
        let kind = if is_innermost { *innermost } else { FrameKind::Caller };
        let recorded = Recorded::at(names, mapped, address, kind, false);
        let from = seen.len() as u32;
        let mut levels: Vec<u16> = recorded.shown(false).collect();
        levels.reverse();
        seen.extend(levels.into_iter().map(|level| {
            let role = match (mapped.module, &mut *unnamed) {
                (Some(module), Some(known)) if recorded.function(level).is_none() => {
                    *known.entry(std::ptr::from_ref(module).addr()).or_insert_with(|| recorded.role(level))
                }
                _ => recorded.role(level),
            };
            Seen { level, role, module: mapped.module }
        }));
        let frames = from..seen.len() as u32;
        known.insert(key, (mapped.during, frames.clone()));
        frames
    }
}

/// The stack of a site; its frames are looked up on demand, innermost first.
struct Stack<'a, 's, 't> {
    looks: &'s mut CallerFinder<'t>,
    site: &'a Site,
    /// The first node that was not looked up yet.
    next: NodeId,
}

impl<'t> Stack<'_, '_, 't> {
    fn frame(&mut self, frame: usize) -> Option<&Seen<'t>> {
        while self.looks.stack.len() <= frame && self.next != NodeId::ROOT {
            let node = self.next;
            self.next = self.looks.trace.stacks.parent(node);
            for at in self.looks.look(node, self.site) {
                let seen = self.looks.seen[at as usize];
                self.looks.stack.push((node, seen));
            }
        }
        self.looks.stack.get(frame).map(|(_, seen)| seen)
    }
}

impl Frames for Stack<'_, '_, '_> {
    fn role(&mut self, frame: usize) -> Option<Role> {
        self.frame(frame).map(|seen| seen.role)
    }

    fn is_one_module(&mut self, a: usize, b: usize) -> bool {
        let mut module = |frame: usize| self.frame(frame).and_then(|seen| seen.module);
        let modules = module(a).zip(module(b));
        modules.is_some_and(|(a, b)| std::ptr::eq(a, b) || is_one_name(a.name(), b.name()))
    }
}

/// Returns whether two names differ at most in upper and lower case.
fn is_one_name(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() { a.eq_ignore_ascii_case(b) } else { a.to_lowercase() == b.to_lowercase() }
}
