//! One recorded frame and what it stands for: a function of an image, and behind it
//! those that were inlined there; where nothing is known, its place.
//!
//! Code that the .NET runtime made is a function of its managed module, wherever it lies.
//!
//! Levels count from the function in the image (0) inwards, whatever is folded away.
//! Cost: a search for the module, and one in its names for each question.

use super::naming::FrameName;
use crate::model::{MappedModule, Method, Module, NodeId, ProcessId, Site, Trace};
use crate::stack_rules::{FrameFacts, Role};
use crate::symbols::{Frame, FrameKind, Names};
use crate::units::Ticks;

/// A frame as one site's stack has it.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    names: &'a Names,
    module: Option<&'a Module>,
    method: Option<&'a Method>,
    address: u64,
    kind: FrameKind,
    /// Whether no frame is around it.
    is_outermost: bool,
}

impl<'a> Recorded<'a> {
    /// The frame of a node in an event's stack of `process` at the time `at`. Not for the root.
    pub fn of(trace: &'a Trace, names: &'a Names, node: NodeId, process: ProcessId, at: Ticks, is_innermost: bool) -> Self {
        Self::of_kind(trace, names, node, (process, at), FrameKind::in_event(is_innermost))
    }

    /// The same in any stack.
    pub fn of_kind(trace: &'a Trace, names: &'a Names, node: NodeId, (process, at): (ProcessId, Ticks), kind: FrameKind) -> Self {
        let address = trace.stacks.address(node);
        let is_outermost = trace.stacks.parent(node) == NodeId::ROOT;
        Self::at(names, trace.mapped_at(process, address, at), address, kind, is_outermost)
    }

    /// The frame at an address of which it is known what lies there.
    pub(super) fn at(names: &'a Names, mapped: MappedModule<'a>, address: u64, kind: FrameKind, is_outermost: bool) -> Self {
        let MappedModule { module, method, .. } = mapped;
        Self { names, module, method, address, kind, is_outermost }
    }

    /// The frame of a node of the tree; `site` is any site under it.
    pub(super) fn in_tree(trace: &'a Trace, names: &'a Names, node: NodeId, site: &Site) -> Self {
        let outline = trace.outline();
        let is_innermost = outline.children(outline.place(node)).is_empty();
        Self::of(trace, names, node, site.caller, site.first, is_innermost)
    }

    /// Where it lies, if that is known.
    pub fn module(&self) -> Option<&'a Module> {
        self.module
    }

    /// The method of the .NET runtime that it is in, if it is in one.
    pub fn method(&self) -> Option<&'a Method> {
        self.method
    }

    /// The recorded address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// What that is.
    pub fn kind(&self) -> FrameKind {
        self.kind
    }

    /// What is known of the function at a level.
    pub fn function(&self, level: u16) -> Option<Frame<'a>> {
        self.functions()?.nth(level.into())
    }

    fn functions(&self) -> Option<impl Iterator<Item = Frame<'a>> + use<'a>> {
        let managed = self.method.map(|method| Frame { function: &method.name, file: None, line: None });
        let in_image = || Some(self.names.frames(self.module?, self.address, self.kind)?.rev());
        let in_image = if managed.is_none() { Some(in_image()?) } else { None };
        Some(managed.into_iter().chain(in_image.into_iter().flatten()))
    }

    /// The file name of what its functions are in.
    fn module_name(&self) -> Option<&'a str> {
        match (self.method, self.module) {
            (Some(method), _) => Some(&method.module_name),
            (None, module) => module.map(Module::name),
        }
    }

    /// The first level from `from` on that has a line of its own. `fold`: frames that a rule
    /// folds have none, unless nothing else would be left of an outermost frame.
    pub(super) fn shown_from(&self, from: u16, fold: bool) -> Option<u16> {
        let mut functions = (0..u16::MAX).zip(self.functions().into_iter().flatten()).peekable();
        let is_kept = from == 0 && self.is_outermost;
        if functions.peek().is_none() {
            return (is_kept || (from == 0 && !(fold && self.is_place_folded()))).then_some(0); // goes by its place
        }
        let mut functions = functions.skip(from.into());
        let shown = functions.find(|(_, frame)| !fold || !self.is_folded(frame));
        shown.map(|(level, _)| level).or(is_kept.then_some(0))
    }

    /// Whether a rule folds a function of it.
    fn is_folded(&self, frame: &Frame<'_>) -> bool {
        self.module_name().is_some_and(|module| self.names.rules().fold(module, frame.function))
    }

    /// The same where no name is known.
    fn is_place_folded(&self) -> bool {
        self.module.is_some_and(|module| self.names.rules().fold_unnamed(module.name(), self.address - module.base))
    }

    /// What the function of a level is to the question who wanted the memory.
    pub(super) fn role(&self, level: u16) -> Role {
        let function = self.function(level);
        self.names.rules().role(&FrameFacts {
            address: self.address,
            module: self.module_name(),
            path: self.module.map(|module| &*module.path),
            rva: self.module.map_or(0, |module| self.address - module.base),
            function: function.map(|frame| frame.function),
            file: function.and_then(|frame| frame.file),
        })
    }

    /// Whether the function of a level gets memory for others, by its name or module.
    pub fn is_allocator(&self, level: u16) -> bool {
        self.role(level).has(Role::ALLOCATOR)
    }

    /// Whether none of its functions is the user's own: all are passed over on the way to the responsible caller.
    pub(super) fn is_foreign(&self) -> bool {
        let is_passed = |level: u16| self.role(level).is_passed();
        self.shown(false).all(is_passed)
    }

    /// Source file and line of a level's function, if both are known.
    pub fn source(&self, level: u16) -> Option<(&'a str, u32)> {
        let frame = self.function(level)?;
        Some((frame.file?, frame.line?))
    }

    /// All levels with a line of their own.
    pub fn shown(&self, fold: bool) -> impl Iterator<Item = u16> + use<'a> {
        let this = *self;
        std::iter::successors(this.shown_from(0, fold), move |&level| this.shown_from(level + 1, fold))
    }

    /// What the line of a level is called.
    pub fn name(&self, level: u16) -> FrameName<'a> {
        match (self.module_name(), self.function(level), self.module) {
            (Some(name), Some(frame), _) => FrameName::Function(name, frame.function),
            (_, _, Some(module)) => FrameName::InModule(module.name(), self.address - module.base),
            (_, _, None) => FrameName::At(self.address),
        }
    }
}
