//! The names that are known of all modules of a trace at one moment, and the rules for stacks at that moment.

use std::sync::Arc;

use super::{CodeAddress, Frame, FrameKind, ModuleKey, ModuleNames, lookup_address};
use crate::model::{Module, Trace};
use crate::stack_rules::StackRules;
use crate::tables::KeyedMap;

/// The names that are known at one moment, and the rules for stacks. Everything that depends on names and rules
/// depends on this one value.
#[derive(Clone, Debug, Default)]
pub struct Names {
    modules: KeyedMap<ModuleKey, Arc<ModuleNames>>,
    rules: Arc<StackRules>,
}

impl Names {
    /// Returns these names with other rules. Cost: a step per module.
    pub fn with_rules(&self, rules: Arc<StackRules>) -> Self {
        Self { modules: self.modules.clone(), rules }
    }

    /// The rules for stacks; there are none unless they were given.
    pub fn rules(&self) -> &Arc<StackRules> {
        &self.rules
    }

    /// Frames of an address in `module`, innermost first: the last is the
    /// function in the image, those before it are inlined there. Empty or `None`
    /// where nothing is known.
    pub fn frames(
        &self,
        module: &Module,
        address: u64,
        kind: FrameKind,
    ) -> Option<impl DoubleEndedIterator<Item = Frame<'_>> + ExactSizeIterator> {
        let names = self.of(module)?;
        let rva = lookup_address(address, kind).checked_sub(module.base)?;
        names.frames(u32::try_from(rva).ok()?)
    }

    /// Frames of an address of a trace, in the module that is mapped there at its time.
    pub fn frames_at<'n>(
        &'n self,
        trace: &Trace,
        address: &CodeAddress,
    ) -> Option<impl DoubleEndedIterator<Item = Frame<'n>> + ExactSizeIterator + use<'n>> {
        let module = address.module(trace)?;
        self.of(module)?.frames(address.rva(module)?)
    }

    /// The C++ type allocated by the call that returns to `address`.
    pub fn allocated_type(&self, module: &Module, address: u64) -> Option<&str> {
        let rva = address.checked_sub(module.base)?;
        self.of(module)?.allocated_type(u32::try_from(rva).ok()?)
    }

    /// Whether no names are known at all.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// The names that are known of one module.
    pub fn of(&self, module: &Module) -> Option<&Arc<ModuleNames>> {
        if self.modules.is_empty() { None } else { self.modules.get(&ModuleKey::of(module)) }
    }
    /// The names that are known of the module with this key.
    pub fn by_key(&self, key: &ModuleKey) -> Option<&Arc<ModuleNames>> {
        self.modules.get(key)
    }

    /// Sets the names of a module, or removes them.
    pub fn set(&mut self, key: &ModuleKey, names: Option<Arc<ModuleNames>>) {
        match names {
            Some(names) => self.modules.insert(key.clone(), names),
            None => self.modules.remove(key),
        };
    }
}
