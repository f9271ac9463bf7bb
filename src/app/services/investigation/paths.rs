//! Places in the tree in an investigation file, by meaning: a process by its id, name and start, a heap by its handle and
//! name, a place in a stack by the addresses that lead to it.
//!
//! Cost of finding them again: one pass over the stack nodes for all paths that are looked up together.

use serde::{Deserialize, Serialize};

use crate::model::{HeapId, NodeId, ProcessId, Trace};
use crate::query::{ImpactingType, Key, LifetimeClass, Path};
use crate::tables::KeyedMap;
use crate::units::{Layer, Pid};

/// Maximum number of steps in a path from a file; those of the tree have up to six.
const MOST_KEYS: usize = 16;

/// A path in the tree.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedPath {
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

impl SavedPath {
    /// A path as it is saved; `None` if it leads to a single allocation, which has no lasting name.
    pub(super) fn of(trace: &Trace, path: &Path) -> Option<Self> {
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

    /// The number of keys and frames on the way to the place.
    pub(super) fn len(&self) -> usize {
        self.keys.len() + self.stack.len()
    }

    /// The path in a trace; `None` if the trace lacks it.
    pub(super) fn find(&self, trace: &Trace) -> Option<Path> {
        Self::find_all(&[self], trace).pop()?
    }

    /// Finds many paths in one pass over the stack nodes.
    pub(super) fn find_all(paths: &[&Self], trace: &Trace) -> Vec<Option<Path>> {
        let mut wanted = WantedStacks::default();
        let ways: Vec<Option<Vec<u32>>> = paths.iter().map(|path| path.addresses().map(|stack| wanted.add(&stack))).collect();
        let nodes = wanted.find(trace);
        let node_at =
            |way: &[u32], depth: usize| if depth == 0 { Some(NodeId::ROOT) } else { nodes[*way.get(depth - 1)? as usize] };
        let find = |(path, way): (&&Self, Option<Vec<u32>>)| {
            let way = way?;
            path.find_with(trace, |depth| node_at(&way, depth))
        };
        paths.iter().zip(ways).map(find).collect()
    }

    fn addresses(&self) -> Option<Vec<u64>> {
        self.stack.iter().map(|address| hex(address)).collect()
    }

    /// The path in a trace, with the nodes at each depth of its stack.
    fn find_with(&self, trace: &Trace, node_at: impl Fn(usize) -> Option<NodeId>) -> Option<Path> {
        if self.keys.len() > MOST_KEYS {
            return None;
        }
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
                    let node = node_at(*depth as usize)?;
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

/// Stacks to be found in a trace, as a tree of return addresses.
#[derive(Default)]
struct WantedStacks {
    /// Places in the tree by the place above (`None` is the root) and the address.
    places: KeyedMap<(Option<u32>, u64), u32>,
}

impl WantedStacks {
    /// Adds a stack; returns the places of its frames, outermost first.
    fn add(&mut self, stack: &[u64]) -> Vec<u32> {
        let mut above = None;
        let place = |&address: &u64| {
            let next = self.places.len() as u32;
            let place = *self.places.entry((above, address)).or_insert(next);
            above = Some(place);
            place
        };
        stack.iter().map(place).collect()
    }

    /// The node of each place, as far as the trace has them. Callers come before callees in its numbers, so one pass finds
    /// them.
    fn find(&self, trace: &Trace) -> Vec<Option<NodeId>> {
        let mut nodes = vec![None; self.places.len()];
        let mut place_of: KeyedMap<NodeId, u32> = KeyedMap::default();
        for node in (1..trace.stacks.len() as u32).map(NodeId) {
            if place_of.len() == self.places.len() {
                break;
            }
            let parent = trace.stacks.parent(node);
            let above = place_of.get(&parent).copied();
            if above.is_none() && parent != NodeId::ROOT {
                continue;
            }
            if let Some(&place) = self.places.get(&(above, trace.stacks.address(node)))
                && nodes[place as usize].is_none()
            {
                nodes[place as usize] = Some(node);
                place_of.insert(node, place);
            }
        }
        nodes
    }
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

pub(super) fn layer(name: &str) -> Option<Layer> {
    named(&Layer::ALL, Layer::name, name)
}

fn named<T: Copy>(all: &[T], name_of: impl Fn(T) -> &'static str, name: &str) -> Option<T> {
    all.iter().copied().find(|one| name_of(*one) == name)
}

pub(super) fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
