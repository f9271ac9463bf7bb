//! Filters in an investigation file, by meaning: a process by its id, name and start, a heap by its handle and name, a
//! place in a stack by the addresses that lead to it.
//!
//! Cost of finding them again: a pass over the stack nodes for each filter with frames.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::app::state::filters::{Chip, Predicate};
use crate::format::plain;
use crate::model::{HeapId, NodeId, ProcessId, Trace};
use crate::query::{Bounds, ImpactingType, Key, LifetimeClass, Path, RowCondition, TypeKey};
use crate::units::{Layer, Pid, Ticks, Tid};

/// A filter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedChip {
    #[serde(default)]
    excluded: bool,
    what: SavedPredicate,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SavedPredicate {
    Under(SavedPath),
    Type { layer: String, name: String },
    Function(String),
    Module(String),
    Owner(String),
    Tag(String),
    Rows { name: String, are: SavedCondition },
}

/// A path in the tree.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedPath {
    keys: Vec<SavedKey>,
    /// Return addresses of the innermost frame in the path and its callers, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stack: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SavedKey {
    Process(SavedProcess),
    Layer(String),
    Heap {
        process: SavedProcess,
        layer: String,
        handle: String,
        name: Option<String>,
    },
    Impacting(String),
    Class(String),
    /// A frame by its depth in the path's stack.
    Frame {
        depth: u32,
        inlined: Option<u16>,
        inside: Option<u16>,
    },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct SavedProcess {
    pid: u32,
    name: String,
    /// When it started, in ticks; missing if it ran before the trace.
    start: Option<i64>,
}

/// A condition on single rows; times are ticks since the trace start.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedCondition {
    Allocated(SavedBounds),
    Freed { within: Option<SavedBounds>, or_never: bool },
    Size(SavedBounds),
    Lifetime(SavedBounds),
    Thread(u32),
    All(Vec<SavedCondition>),
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct SavedBounds {
    from: Option<i64>,
    to: Option<i64>,
}

impl SavedChip {
    /// A filter as it is saved; `None` if it is about single allocations, which have no lasting name.
    pub fn of(trace: &Trace, chip: &Chip) -> Option<Self> {
        let text = |name: &Arc<str>| name.to_string();
        let what = match &chip.what {
            Predicate::Under(path) => SavedPredicate::Under(SavedPath::of(trace, path)?),
            Predicate::Type(key) => SavedPredicate::Type { layer: key.layer.name().to_owned(), name: text(&key.name) },
            Predicate::Function(name) => SavedPredicate::Function(text(name)),
            Predicate::Module(name) => SavedPredicate::Module(text(name)),
            Predicate::Owner(name) => SavedPredicate::Owner(text(name)),
            Predicate::Tag(name) => SavedPredicate::Tag(text(name)),
            Predicate::Row(condition, name) => SavedPredicate::Rows { name: text(name), are: SavedCondition::of(condition)? },
        };
        Some(Self { excluded: chip.is_excluded, what })
    }

    /// The filter in a trace; `None` if the trace lacks what it is about.
    pub fn find(&self, trace: &Trace) -> Option<Chip> {
        let what = match &self.what {
            SavedPredicate::Under(path) => Predicate::Under(path.find(trace)?),
            SavedPredicate::Type { layer: of, name } => {
                Predicate::Type(TypeKey { layer: layer(of)?, name: name.as_str().into() })
            }
            SavedPredicate::Function(name) => Predicate::Function(name.as_str().into()),
            SavedPredicate::Module(name) => Predicate::Module(name.as_str().into()),
            SavedPredicate::Owner(name) => Predicate::Owner(name.as_str().into()),
            SavedPredicate::Tag(name) => Predicate::Tag(name.as_str().into()),
            SavedPredicate::Rows { name, are } => Predicate::Row(are.condition(), plain(name).into()),
        };
        Some(Chip { what, is_excluded: self.excluded })
    }
}

impl SavedPath {
    fn of(trace: &Trace, path: &Path) -> Option<Self> {
        let innermost = path.iter().rev().find_map(|key| key.frame()).map_or(NodeId::ROOT, |(node, _)| node);
        let chain: Vec<NodeId> = trace.stacks.path(innermost);
        let stack = chain.iter().map(|&node| format!("{:#x}", trace.stacks.address(node))).collect();
        let depth = |node: NodeId| match node {
            NodeId::ROOT => Some(0),
            node => chain.iter().position(|&other| other == node).map(|at| at as u32 + 1),
        };
        let key = |key: &Key| {
            Some(match *key {
                Key::Process(process) => SavedKey::Process(SavedProcess::of(trace, process)),
                Key::Layer(layer) => SavedKey::Layer(layer.name().to_owned()),
                Key::Heap(heap) => {
                    let heap = trace.heap(heap);
                    SavedKey::Heap {
                        process: SavedProcess::of(trace, heap.process),
                        layer: heap.layer.name().to_owned(),
                        handle: format!("{:#x}", heap.handle),
                        name: heap.name.as_ref().map(|name| name.to_string()),
                    }
                }
                Key::Impacting(impacting) => SavedKey::Impacting(impacting.name().to_owned()),
                Key::Class(class) => SavedKey::Class(class.name().to_owned()),
                Key::Frame(node) => SavedKey::Frame { depth: depth(node)?, inlined: None, inside: None },
                Key::Inlined(node, level) => SavedKey::Frame { depth: depth(node)?, inlined: Some(level), inside: None },
                Key::Inside(node, level) => SavedKey::Frame { depth: depth(node)?, inlined: None, inside: Some(level) },
                Key::Row(_) => return None,
            })
        };
        Some(Self { keys: path.iter().map(key).collect::<Option<_>>()?, stack })
    }

    fn find(&self, trace: &Trace) -> Option<Path> {
        let stack: Vec<u64> = self.stack.iter().map(|address| hex(address)).collect::<Option<_>>()?;
        let nodes = nodes_of(trace, &stack);
        let key = |key: &SavedKey| {
            Some(match key {
                SavedKey::Process(process) => Key::Process(process.find(trace)?),
                SavedKey::Layer(name) => Key::Layer(layer(name)?),
                SavedKey::Heap { process, layer: of, handle, name } => {
                    let (process, layer, handle) = (process.find(trace)?, layer(of)?, hex(handle)?);
                    let is_it = |heap: &crate::model::Heap| {
                        (heap.process, heap.layer, heap.handle) == (process, layer, handle)
                            && heap.name.as_deref() == name.as_deref()
                    };
                    Key::Heap(HeapId(u32::try_from(trace.heaps.iter().position(is_it)?).ok()?))
                }
                SavedKey::Impacting(name) => Key::Impacting(named(&ImpactingType::ALL, ImpactingType::name, name)?),
                SavedKey::Class(name) => Key::Class(named(&LifetimeClass::ALL, LifetimeClass::name, name)?),
                SavedKey::Frame { depth, inlined, inside } => {
                    let node = *nodes.get(*depth as usize)?;
                    match (inlined, inside) {
                        (Some(_), _) | (_, Some(_)) if node == NodeId::ROOT => return None, // no frame to be inlined into
                        (Some(level), _) => Key::Inlined(node, *level),
                        (None, Some(level)) => Key::Inside(node, *level),
                        (None, None) => Key::Frame(node),
                    }
                }
            })
        };
        let path: Path = self.keys.iter().map(key).collect::<Option<_>>()?;
        (!path.is_empty()).then_some(path)
    }
}

/// The nodes along a stack, the root first, as far as the trace has them. Callers come before callees in its numbers, so
/// one pass finds them.
fn nodes_of(trace: &Trace, stack: &[u64]) -> Vec<NodeId> {
    let mut nodes = vec![NodeId::ROOT];
    for node in (1..trace.stacks.len() as u32).map(NodeId) {
        let at = nodes.len() - 1;
        let Some(&wanted) = stack.get(at) else { break };
        if trace.stacks.parent(node) == nodes[at] && trace.stacks.address(node) == wanted {
            nodes.push(node);
        }
    }
    nodes
}

impl SavedProcess {
    pub(super) fn of(trace: &Trace, id: ProcessId) -> Self {
        let process = trace.process(id);
        Self { pid: process.pid.0, name: process.name.clone(), start: process.start.map(|start| start.0) }
    }

    /// The process in a trace: the one of this id that started then, else the only one of this id and name.
    pub(super) fn find(&self, trace: &Trace) -> Option<ProcessId> {
        let all = || (0..).map(ProcessId).zip(&trace.processes).filter(|(_, process)| process.pid == Pid(self.pid));
        let same = all().find(|(_, process)| process.start.map(|start| start.0) == self.start);
        let mut named = all().filter(|(_, process)| process.name == self.name);
        let only = || named.next().filter(|_| named.next().is_none());
        same.or_else(only).map(|(id, _)| id)
    }
}

impl SavedCondition {
    fn of(condition: &RowCondition) -> Option<Self> {
        let ticks = |bounds: &Bounds<Ticks>| SavedBounds::of(bounds.map(|ticks| ticks.0));
        Some(match condition {
            RowCondition::Allocated(bounds) => Self::Allocated(ticks(bounds)),
            RowCondition::Freed { within, or_never } => Self::Freed { within: within.as_ref().map(ticks), or_never: *or_never },
            RowCondition::Size(bounds) => {
                Self::Size(SavedBounds::of(bounds.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX))))
            }
            RowCondition::Lifetime(bounds) => Self::Lifetime(SavedBounds::of(*bounds)),
            RowCondition::Thread(thread) => Self::Thread(thread.0),
            RowCondition::Rows(_) => return None,
            RowCondition::All(all) => Self::All(all.iter().map(Self::of).collect::<Option<_>>()?),
        })
    }

    fn condition(&self) -> RowCondition {
        match self {
            Self::Allocated(bounds) => RowCondition::Allocated(bounds.bounds().map(Ticks)),
            Self::Freed { within, or_never } => {
                RowCondition::Freed { within: within.map(|within| within.bounds().map(Ticks)), or_never: *or_never }
            }
            Self::Size(bounds) => RowCondition::Size(bounds.bounds().map(|bytes| bytes.max(0) as u64)),
            Self::Lifetime(bounds) => RowCondition::Lifetime(bounds.bounds()),
            Self::Thread(thread) => RowCondition::Thread(Tid(*thread)),
            Self::All(all) => RowCondition::All(all.iter().map(Self::condition).collect()),
        }
    }
}

impl SavedBounds {
    fn of(bounds: Bounds<i64>) -> Self {
        Self { from: bounds.from, to: bounds.to }
    }

    fn bounds(self) -> Bounds<i64> {
        Bounds { from: self.from, to: self.to }
    }
}

pub(super) fn layer(name: &str) -> Option<Layer> {
    named(&Layer::ALL, Layer::name, name)
}

fn named<T: Copy>(all: &[T], name_of: impl Fn(T) -> &'static str, name: &str) -> Option<T> {
    all.iter().copied().find(|one| name_of(*one) == name)
}

pub(super) fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Capture, Input, Unwatched, load};

    fn demo() -> Trace {
        load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap()
    }

    #[test]
    fn filters_are_found_again_in_another_load_of_the_trace() {
        let (trace, again) = (demo(), demo());
        let deepest = (1..trace.stacks.len() as u32).map(NodeId).max_by_key(|&node| trace.stacks.path(node).len()).unwrap();
        let stack = trace.stacks.path(deepest);
        let heap = (0..trace.heaps.len() as u32).map(HeapId).find(|&id| trace.heap(id).layer == Layer::Tracker).unwrap();
        let path: Path = [
            Key::Process(trace.heap(heap).process),
            Key::Layer(Layer::Tracker),
            Key::Heap(heap),
            Key::Impacting(ImpactingType::Impacting),
            Key::Class(LifetimeClass::Aifo),
            Key::Frame(stack[0]),
            Key::Inlined(stack[1], 2),
            Key::Inside(deepest, 1),
        ]
        .into();
        let no_stack: Path = [Key::Layer(Layer::Heap), Key::Frame(NodeId::ROOT)].into();
        let bounds = Bounds { from: Some(Ticks(3)), to: None };
        let rows = RowCondition::All(
            [
                RowCondition::Allocated(bounds),
                RowCondition::Freed { within: Some(bounds), or_never: true },
                RowCondition::Size(Bounds::new(1, 9)),
                RowCondition::Lifetime(Bounds::new(-1, 5)),
                RowCondition::Thread(Tid(7)),
            ]
            .into(),
        );
        let all = [
            Predicate::Under(path),
            Predicate::Under(no_stack),
            Predicate::Type(TypeKey { layer: Layer::Heap, name: "A<\"b\">".into() }),
            Predicate::Function("a!f".into()),
            Predicate::Module("a.dll".into()),
            Predicate::Owner("o".into()),
            Predicate::Tag("t".into()),
            Predicate::Row(rows, "some".into()),
        ];
        for (what, is_excluded) in all.into_iter().zip([true, false].into_iter().cycle()) {
            let chip = Chip { what, is_excluded };
            let value = toml::Value::try_from(SavedChip::of(&trace, &chip).unwrap()).unwrap();
            let read: SavedChip = toml::from_str(&toml::to_string(&value).unwrap()).unwrap();
            assert_eq!(read.find(&again), Some(chip));
        }
    }

    #[test]
    fn what_has_no_lasting_name_is_not_saved_and_what_is_gone_is_not_found() {
        let trace = demo();
        let rows = Predicate::Row(RowCondition::rows([crate::model::RowId(1)]), "row".into());
        assert_eq!(SavedChip::of(&trace, &Chip::only(rows)), None);
        for text in [
            "what.under.keys = [{ layer = \"none\" }]",
            "what.under.keys = [{ process = { pid = 999999, name = \"x\" } }]",
            "[what.under]\nkeys = [{ frame = { depth = 1 } }]\nstack = [\"0x1\"]",
            "what.under.keys = []",
            "[what.under]\nkeys = [{ layer = \"heap\" }]\nstack = [\"one\"]",
            "[what.under]\nkeys = [{ frame = { depth = 4000000000 } }]",
            "[what.under]\nkeys = [{ frame = { depth = 0, inlined = 1 } }]",
        ] {
            assert_eq!(toml::from_str::<SavedChip>(text).unwrap().find(&trace), None, "{text}");
        }
    }
}
