//! Functions by number: frames that are printed alike are one function.

use std::sync::Arc;

use crate::query::FrameName;
use crate::query::texts::Texts;
use crate::stack_rules::StackRules;
use crate::tables::KeyedMap;

/// A function of one state of the names; an address if it has no name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionId(pub u32);

/// A module by its file name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModuleName(pub u32);

/// The identity of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Identity {
    Address(u64),
    /// Module and offset of the return address.
    Rva(ModuleName, u64),
    /// Module and the number of the function's name.
    Named(ModuleName, u32),
}

/// All functions, interned.
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionTable {
    functions: Vec<Identity>,
    index: KeyedMap<Identity, FunctionId>,
    modules: Texts,
    names: Texts,
    rules: Arc<StackRules>,
}

impl FunctionTable {
    pub(super) fn new(rules: &Arc<StackRules>) -> Self {
        Self { rules: Arc::clone(rules), ..Self::default() }
    }

    pub(super) fn rules(&self) -> &Arc<StackRules> {
        &self.rules
    }

    /// Returns the function of a frame.
    pub(super) fn intern(&mut self, name: FrameName<'_>) -> FunctionId {
        let mut module = |name| ModuleName(self.modules.intern(name));
        let identity = match name {
            FrameName::NoStack => Identity::Address(0),
            FrameName::At(address) => Identity::Address(address),
            FrameName::InModule(name, rva) => Identity::Rva(module(name), rva),
            FrameName::Function(name, function) => Identity::Named(module(name), self.names.intern(function)),
        };
        let functions = &mut self.functions;
        *self.index.entry(identity).or_insert_with(|| {
            functions.push(identity);
            FunctionId(functions.len() as u32 - 1)
        })
    }

    pub(super) fn len(&self) -> usize {
        self.functions.len()
    }

    pub(super) fn name(&self, function: FunctionId) -> FrameName<'_> {
        match self.functions[function.0 as usize] {
            Identity::Address(address) => FrameName::At(address),
            Identity::Rva(module, rva) => FrameName::InModule(self.module_name(module), rva),
            Identity::Named(module, name) => FrameName::Function(self.module_name(module), self.names.text(name)),
        }
    }

    /// Returns the module of a function, if known.
    pub(super) fn module(&self, function: FunctionId) -> Option<ModuleName> {
        match self.functions[function.0 as usize] {
            Identity::Address(_) => None,
            Identity::Rva(module, _) | Identity::Named(module, _) => Some(module),
        }
    }

    pub(super) fn modules(&self) -> usize {
        self.modules.len()
    }

    pub(super) fn module_name(&self, module: ModuleName) -> &str {
        self.modules.text(module.0)
    }
}
