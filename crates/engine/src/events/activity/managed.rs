//! Events of the .NET runtime: where the code of each method is, modules, garbage collections and the
//! sizes of its heaps.
//!
//! The runtime's provider reports what happens; the rundown provider reports what exists when a trace
//! begins or ends. Ids and payloads: the runtime's manifest as Microsoft documents it, and PerfView's
//! parser; checked on public traces.

use crate::etl::{RawEvent, u16_at, u32_at, u64_at, utf16z_at};
use crate::events::names;

/// An event of the runtime, about the process that wrote it.
#[derive(Clone, PartialEq, Debug)]
pub enum ManagedEvent {
    /// A method's code was made or is gone.
    Method(MethodChange, Box<ManagedMethod>),
    /// A module's file.
    Module {
        /// Id by which methods name it.
        id: u64,
        /// Path of its code, or its name.
        path: Box<str>,
    },
    /// A collection begins.
    CollectionStart(Collection),
    /// A collection is over.
    CollectionEnd(CollectionId),
    /// Sizes of the heaps after a collection.
    Heaps(ManagedHeaps),
}

/// A change of a method's code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MethodChange {
    /// It was made, or loaded.
    Load,
    /// It is gone.
    Unload,
    /// It was there at the start or at the end of the trace.
    Rundown,
}

/// A method's code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ManagedMethod {
    /// Its module.
    pub module: u64,
    /// Address of its first byte.
    pub start: u64,
    /// Size in bytes.
    pub size: u32,
    /// Whether it was compiled while the program ran.
    pub is_jitted: bool,
    /// Namespace, type and name.
    pub name: String,
    /// Its parameters, as the runtime writes them.
    pub signature: String,
}

/// Why garbage was collected; numbers are the runtime's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectionReason(pub u32);

impl CollectionReason {
    /// The reason in the words of the runtime's documentation; `None` for unknown numbers.
    pub fn words(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "small objects",
            1 => "induced",
            2 => "low memory",
            3 => "empty",
            4 => "large objects",
            5 => "out of space, small objects",
            6 => "out of space, large objects",
            7 => "induced, not forced",
            8 => "internal",
            9 => "induced, low memory",
            10 => "induced, compacting",
            11 => "low memory of the host",
            12 => "full",
            13 => "low memory of the host, blocking",
            _ => return None,
        })
    }
}

/// Identity of a collection within a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CollectionId {
    /// The runtime, of which a process can have several.
    pub runtime: u16,
    /// Number of the collection, counted by that runtime.
    pub number: u32,
}

/// A garbage collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Collection {
    /// Its identity; the runtime writes two events for one collection, in two versions.
    pub id: CollectionId,
    /// The oldest generation that is collected, if the event gives it.
    pub generation: Option<u32>,
    /// Its reason.
    pub reason: CollectionReason,
    /// Whether the program keeps running meanwhile.
    pub is_background: bool,
}

/// Bytes by generation: 0, 1, 2, large objects, pinned objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ManagedHeaps {
    /// Bytes in each of them.
    pub generations: [u64; 5],
}

/// Event ids; those of methods and modules mean something else in the rundown provider.
mod id {
    pub(super) const GC_START: u16 = 1;
    pub(super) const GC_END: u16 = 2;
    pub(super) const GC_HEAP_STATS: u16 = 4;
    pub(super) const METHOD_LOAD_VERBOSE: u16 = 143;
    pub(super) const METHOD_UNLOAD_VERBOSE: u16 = 144;
    pub(super) const MODULE_LOAD: u16 = 152;
    pub(super) const MODULE_UNLOAD: u16 = 153;
    /// Of the rundown provider: modules at its start and at its end.
    pub(super) const MODULE_RUNDOWN_START: u16 = 153;
    pub(super) const MODULE_RUNDOWN_END: u16 = 154;
}

/// Reads an event of the runtime; `Some(None)` for events of no interest. `None` if it is too short.
pub(super) fn event(is_rundown: bool, id: u16, raw: &RawEvent<'_>) -> Option<Option<ManagedEvent>> {
    let event = match (is_rundown, id) {
        (false, id::METHOD_LOAD_VERBOSE) => ManagedEvent::Method(MethodChange::Load, method(raw)?),
        (false, id::METHOD_UNLOAD_VERBOSE) => ManagedEvent::Method(MethodChange::Unload, method(raw)?),
        (true, id::METHOD_LOAD_VERBOSE | id::METHOD_UNLOAD_VERBOSE) => ManagedEvent::Method(MethodChange::Rundown, method(raw)?),
        (false, id::MODULE_LOAD | id::MODULE_UNLOAD) | (true, id::MODULE_RUNDOWN_START | id::MODULE_RUNDOWN_END) => module(raw)?,
        (false, id::GC_START) => ManagedEvent::CollectionStart(collection(raw)?),
        (false, id::GC_END) => ManagedEvent::CollectionEnd(collection_end(raw)?),
        (false, id::GC_HEAP_STATS) => ManagedEvent::Heaps(heaps(raw)?),
        _ => return Some(None),
    };
    Some(Some(event))
}

/// Layout: method id, module id, start, size, token, flags, then namespace, name and signature.
fn method(raw: &RawEvent<'_>) -> Option<Box<ManagedMethod>> {
    const DYNAMIC: u32 = 1;
    const JITTED: u32 = 8;
    let bytes = raw.payload;
    let flags = u32_at(bytes, 32)?;
    let (namespace, at) = utf16z_at(bytes, 36)?;
    let (name, at) = utf16z_at(bytes, at)?;
    let (signature, _) = utf16z_at(bytes, at)?;
    let name = if namespace.is_empty() { name } else { format!("{namespace}.{name}") };
    Some(Box::new(ManagedMethod {
        module: u64_at(bytes, 8)?,
        start: u64_at(bytes, 16)?,
        size: u32_at(bytes, 24)?,
        is_jitted: flags & (DYNAMIC | JITTED) != 0,
        name: names::method(name),
        signature: names::method(signature),
    }))
}

/// Layout: module id, assembly id, flags and a reserved word, then the path of its code and that of the
/// native image compiled from it.
fn module(raw: &RawEvent<'_>) -> Option<ManagedEvent> {
    let (path, at) = utf16z_at(raw.payload, 24)?;
    let (native, _) = utf16z_at(raw.payload, at)?;
    let path = if path.is_empty() { native } else { path };
    Some(ManagedEvent::Module { id: u64_at(raw.payload, 0)?, path: names::path(path).into() })
}

/// Layout: number and reason before version 1; number, generation, reason, kind and runtime from then
/// on.
fn collection(raw: &RawEvent<'_>) -> Option<Collection> {
    const BACKGROUND: u32 = 1;
    let word = |n: usize| u32_at(raw.payload, 4 * n);
    let number = word(0)?;
    if raw.version == 0 {
        let id = CollectionId { runtime: 0, number };
        return Some(Collection { id, generation: None, reason: CollectionReason(word(1)?), is_background: false });
    }
    Some(Collection {
        id: CollectionId { runtime: u16_at(raw.payload, 16)?, number },
        generation: Some(word(1)?),
        reason: CollectionReason(word(2)?),
        is_background: word(3)? == BACKGROUND,
    })
}

/// Layout: number and generation, and the runtime from version 1 on.
fn collection_end(raw: &RawEvent<'_>) -> Option<CollectionId> {
    let runtime = if raw.version == 0 { 0 } else { u16_at(raw.payload, 8)? };
    Some(CollectionId { runtime, number: u32_at(raw.payload, 0)? })
}

/// Layout: size and promoted bytes of generations 0 to 2 and of large objects, some counts, and from
/// version 2 on size and promoted bytes of pinned objects.
fn heaps(raw: &RawEvent<'_>) -> Option<ManagedHeaps> {
    const PINNED_AT: usize = 94;
    let size = |n: usize| u64_at(raw.payload, 16 * n);
    let pinned = if raw.version >= 2 { u64_at(raw.payload, PINNED_AT)? } else { 0 };
    Some(ManagedHeaps { generations: [size(0)?, size(1)?, size(2)?, size(3)?, pinned] })
}
