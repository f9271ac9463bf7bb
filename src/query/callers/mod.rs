//! Who wanted the memory: of each stack where the allocator's run ends, and the responsible caller behind it.
//!
//! The rule is in [`rule`]; what each frame is to it comes from the stack rules, which have highwater's own list of
//! allocators and libraries ([`StackRules::role`](crate::stack_rules::StackRules::role)). Everything that names a
//! function for some memory asks here.
//!
//! Cost: a look at each address of a process, and for each site a step for each frame up to its responsible caller;
//! on all workers. 16 bytes a site.

mod rule;

use rayon::prelude::*;

use super::{Cancel, Cancelled, Recorded};
use crate::model::{Module, NodeId, ProcessId, Site, Trace};
use crate::stack_rules::Role;
use crate::symbols::{FrameKind, Names};
use crate::tables::KeyedMap;
use crate::units::Interval;
use rule::{Division, Frames, divide};

/// A frame of a site's stack: a function of the image, or one that was inlined at that address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallerFrame {
    /// Its address in the stacks.
    pub node: NodeId,
    /// Which function there; see [`Recorded`].
    pub level: u16,
}

/// Which frames are folded away: what they hold is their caller's. Other than [`Fold::Nothing`] also those that rules
/// fold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Fold {
    /// All frames are there.
    #[default]
    Nothing,
    /// The allocator's run.
    Allocator,
    /// All that is not the user's own: the allocator's run, the libraries behind it down to the responsible caller, and
    /// at the outer end what starts a thread.
    Foreign,
}

impl Fold {
    /// The allocator's run, if that is wanted.
    pub fn allocator(is_wanted: bool) -> Self {
        if is_wanted { Self::Allocator } else { Self::Nothing }
    }

    /// Whether anything is folded away.
    pub fn is_any(self) -> bool {
        self != Self::Nothing
    }

    /// The innermost frame of a site's stack that is left.
    pub fn innermost(self, site: &Site, caller: &Caller) -> CallerFrame {
        match self {
            Self::Nothing => CallerFrame::innermost(site),
            Self::Allocator => caller.behind_run,
            Self::Foreign => caller.responsible,
        }
    }
}

/// Where the stack of a site divides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caller {
    /// The first frame behind the allocator's run; the outermost where all is the allocator's.
    pub behind_run: CallerFrame,
    /// The responsible caller.
    pub responsible: CallerFrame,
}

impl CallerFrame {
    /// The innermost frame of a site's stack, with all that was inlined there.
    pub fn innermost(site: &Site) -> Self {
        Self { node: site.stack, level: u16::MAX }
    }

    /// The recorded frame, in the stack of a site. Not for the root.
    pub fn recorded<'a>(self, trace: &'a Trace, names: &'a Names, site: &Site) -> Recorded<'a> {
        Recorded::of(trace, names, self.node, site.caller, site.first, self.node == site.stack)
    }
}

impl Caller {
    /// Of a site without a stack.
    const NOBODY: Self = {
        let frame = CallerFrame { node: NodeId::ROOT, level: 0 };
        Self { behind_run: frame, responsible: frame }
    };
}

/// Sites that a worker looks at in a row at least, since it remembers what it saw, and pieces for each worker at most.
const PIECE: usize = 1 << 12;
const PIECES: usize = 4;
/// Frames that it remembers at most.
const FRAMES: usize = 1 << 16;

/// The callers of some sites, in their order. `innermost` is what their innermost addresses are.
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

/// A frame that was seen.
#[derive(Clone, Copy)]
struct Seen<'a> {
    level: u16,
    role: Role,
    module: Option<&'a Module>,
}

/// Divides one stack after the other; remembers what it saw of their addresses.
pub struct CallerFinder<'a> {
    trace: &'a Trace,
    names: &'a Names,
    innermost: FrameKind,
    /// By process, address, and whether it is the innermost: how long that holds, and its frames in `seen`.
    known: KeyedMap<(ProcessId, u64, bool), (Interval, std::ops::Range<u32>)>,
    /// Frames of addresses, innermost first.
    seen: Vec<Seen<'a>>,
    /// What frames without names are, by the address of their module, where rules do not tell its places apart.
    unnamed: Option<KeyedMap<usize, Role>>,
    /// Frames of the stack that is looked at, as far as it was, innermost first.
    stack: Vec<(NodeId, Seen<'a>)>,
}

impl<'a> CallerFinder<'a> {
    /// For stacks whose innermost addresses are `innermost`.
    pub fn new(trace: &'a Trace, names: &'a Names, innermost: FrameKind) -> Self {
        let unnamed = (!names.rules().tell_places_apart()).then(KeyedMap::default);
        Self { trace, names, innermost, known: KeyedMap::default(), seen: Vec::new(), unnamed, stack: Vec::new() }
    }

    /// Divides the stack of a site.
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
        // Something has to stand for the stack.
        let behind_run = match self.stack.get(run) {
            Some(_) => at(run),
            None => self.stack.last().map_or_else(|| at(0), |(node, _)| CallerFrame { node: *node, level: 0 }),
        };
        Caller { behind_run, responsible: at(responsible) }
    }

    /// The frames of an address, innermost first.
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

/// The stack of a site, looked at from inside as far as somebody asks.
struct Stack<'a, 's, 't> {
    looks: &'s mut CallerFinder<'t>,
    site: &'a Site,
    /// The first node that was not looked at.
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
        let module = |seen: Option<&Seen<'_>>| seen.and_then(|seen| Some(seen.module?.name().to_lowercase()));
        let a = module(self.frame(a));
        a.is_some() && a == module(self.frame(b))
    }
}
