//! Where the .NET runtime put the code of each method, over time.
//!
//! Code that is compiled anew (a better tier) lies elsewhere, and the old code stays: only an unload
//! ends it, or other code at the same place if the unload was lost. A method that only a rundown names
//! was there before the trace. Some traces report all of this more than once.
//!
//! Memory: 64 bytes a method and its name, [`MAX_METHODS`] methods and [`MAX_TEXT`] bytes at most.
//! Cost: a hash operation or two an event; for lookups see [`crate::model::by_address`].

use std::sync::Arc;

use crate::events::{ManagedMethod, MethodChange};
use crate::model::ProcessId;
use crate::model::by_address::{ALWAYS, ByAddress, Mapped};
use crate::stored::{Damaged, In, Out, Stored, stored};
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks};

/// Most methods.
const MAX_METHODS: usize = 1 << 20;
/// Most bytes of names.
const MAX_TEXT: usize = 128 << 20;

/// A method's code at one place.
#[derive(Clone, PartialEq, Debug)]
pub struct Method {
    /// Address of its first byte.
    pub start: u64,
    /// Size in bytes.
    pub size: u32,
    /// When it was loaded; [`Ticks::BEFORE_TRACE`] if only a rundown names it.
    pub load: Ticks,
    /// When it was unloaded, or [`Ticks::NEVER`].
    pub unload: Ticks,
    /// Namespace, type and name.
    pub name: Arc<str>,
    /// Its parameters, as the runtime writes them.
    pub signature: Arc<str>,
    /// Its module, by number.
    module: u64,
    /// File name of its module.
    pub module_name: Arc<str>,
}

stored!(struct Method { start, size, load, unload, name, signature, module, module_name });

impl Mapped for Method {
    fn place(&self) -> (u64, u64) {
        (self.start, self.size.into())
    }

    fn during(&self) -> (Ticks, Ticks) {
        (self.load, self.unload)
    }
}

/// The code of all processes.
#[derive(Clone, Debug, Default)]
pub struct ManagedCode {
    processes: KeyedMap<ProcessId, (Vec<Method>, ByAddress)>,
}

impl ManagedCode {
    /// Whether no process has any.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// The methods of a process, in the order in which they were reported.
    pub fn methods(&self, process: ProcessId) -> &[Method] {
        self.processes.get(&process).map_or(&[], |(methods, _)| methods)
    }

    /// Processes that have methods.
    pub fn processes(&self) -> Vec<ProcessId> {
        let mut all: Vec<ProcessId> = self.processes.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// The method at an address at a moment, and the interval for which this holds. (Unlike a module, a
    /// method that was there only at another moment is not found: code of a runtime comes and goes.)
    pub fn at(&self, process: ProcessId, address: u64, at: Ticks) -> (Option<&Method>, Interval) {
        let Some((methods, map)) = self.processes.get(&process) else { return (None, ALWAYS) };
        let (place, during) = map.find(address, at);
        let Some((_, method)) = place else { return (None, during) };
        let method = &methods[method as usize];
        let (from, to) = (during.from, during.to);
        if at < method.load {
            (None, Interval { from, to: to.min(method.load) })
        } else if method.unload <= at {
            (None, Interval { from: from.max(method.unload), to })
        } else {
            (Some(method), Interval { from: from.max(method.load), to: to.min(method.unload) })
        }
    }
}

impl Stored for ManagedCode {
    fn put(&self, out: &mut Out) {
        let processes: Vec<(ProcessId, Vec<Method>)> =
            self.processes().into_iter().map(|process| (process, self.methods(process).to_vec())).collect();
        processes.put(out);
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        let processes = Vec::<(ProcessId, Vec<Method>)>::get(from)?;
        Ok(Self { processes: processes.into_iter().map(|(process, methods)| (process, mapped(process, methods))).collect() })
    }
}

/// The methods of a process, with a map of their code.
fn mapped(process: ProcessId, methods: Vec<Method>) -> (Vec<Method>, ByAddress) {
    let map = ByAddress::of((0..).map(|number| (process.0, number)).zip(&methods));
    (methods, map)
}

/// Module whose name is not known.
const NO_MODULE: &str = "(managed code)";

/// Collects methods.
#[derive(Debug, Default)]
pub(super) struct ManagedTable {
    methods: KeyedMap<ProcessId, Vec<Method>>,
    /// The method at an address now, by number in its process.
    now: KeyedMap<(ProcessId, u64), u32>,
    modules: KeyedMap<(ProcessId, u64), Arc<str>>,
    /// Methods whose module was not known when they came.
    without_module: Vec<(ProcessId, u32)>,
    count: usize,
    text_bytes: usize,
    refused: u64,
    /// The latest publication, if nothing came since.
    published: Option<Arc<ManagedCode>>,
}

impl ManagedTable {
    pub(super) fn change(&mut self, process: ProcessId, change: MethodChange, method: &ManagedMethod, at: Ticks) {
        if method.size == 0 {
            return;
        }
        self.published = None;
        let place = (process, method.start);
        let known = self.now.get(&place).copied();
        let methods = self.methods.entry(process).or_default();
        let known = known.filter(|&number| {
            let before = &methods[number as usize];
            before.size == method.size && *before.name == *method.name
        });
        let load = if change == MethodChange::Load { at } else { Ticks::BEFORE_TRACE };
        let Some(number) = known.or_else(|| self.add(process, method, (load, at))) else { return };
        if change == MethodChange::Unload {
            let method = &mut self.methods.entry(process).or_default()[number as usize];
            method.unload = at.max(method.load);
            self.now.remove(&place);
        }
    }

    /// Adds code that is there since `load`, which became known at `at`.
    fn add(&mut self, process: ProcessId, method: &ManagedMethod, (load, at): (Ticks, Ticks)) -> Option<u32> {
        let text = method.name.len() + method.signature.len();
        if self.count >= MAX_METHODS || self.text_bytes + text > MAX_TEXT {
            self.refused += 1;
            return None;
        }
        self.count += 1;
        self.text_bytes += text;
        let methods = self.methods.entry(process).or_default();
        let number = methods.len() as u32;
        let module = self.modules.get(&(process, method.module)).cloned();
        if module.is_none() {
            self.without_module.push((process, number));
        }
        methods.push(Method {
            start: method.start,
            size: method.size,
            load,
            unload: Ticks::NEVER,
            name: if method.name.is_empty() { "(stub)".into() } else { method.name.as_str().into() },
            signature: method.signature.as_str().into(),
            module: method.module,
            module_name: module.unwrap_or_else(|| NO_MODULE.into()),
        });
        if let Some(before) = self.now.insert((process, method.start), number) {
            let before = &mut methods[before as usize];
            before.unload = at.max(before.load);
        }
        Some(number)
    }

    pub(super) fn module(&mut self, process: ProcessId, id: u64, path: &str) {
        let name = path.rsplit(['\\', '/']).next().unwrap_or(path);
        if name.is_empty() || self.text_bytes + name.len() > MAX_TEXT || self.modules.contains_key(&(process, id)) {
            return;
        }
        self.text_bytes += name.len() + 64;
        self.modules.insert((process, id), name.into());
        self.published = None;
    }

    pub(super) fn publish(&mut self) -> Arc<ManagedCode> {
        if let Some(published) = &self.published {
            return Arc::clone(published);
        }
        let Self { methods, modules, .. } = self;
        self.without_module.retain(|&(process, number)| {
            let method = methods.get_mut(&process).and_then(|methods| methods.get_mut(number as usize));
            let found = method.and_then(|method| Some((modules.get(&(process, method.module))?, method)));
            let is_found = found.is_some();
            found.into_iter().for_each(|(module, method)| method.module_name = Arc::clone(module));
            !is_found
        });
        let of = |(&process, methods): (&ProcessId, &Vec<Method>)| (process, mapped(process, methods.clone()));
        let code = Arc::new(ManagedCode { processes: self.methods.iter().map(of).collect() });
        self.published = Some(Arc::clone(&code));
        code
    }

    pub(super) fn bytes(&self) -> u64 {
        // Twice: the published code is a copy, with a tree over it.
        (2 * self.count * (size_of::<Method>() + 64) + self.text_bytes + self.modules.len() * 96) as u64
    }

    pub(super) fn left_out(&self) -> Option<String> {
        let most = format!("more than are kept ({MAX_METHODS}, or {} MB of names)", MAX_TEXT >> 20);
        (self.refused > 0).then(|| format!("{} managed methods are {most}; they have no names", self.refused))
    }
}
