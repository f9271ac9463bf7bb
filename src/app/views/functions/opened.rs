//! Nodes that the user opened or closed, identified by the names on the path to them. The names form a tree, so
//! that a deep stack costs one name per level.
//!
//! Cost of finding them in a forest: a name for each function, and the children of each node on the paths.

use std::sync::Arc;

use crate::query::{Forest, FunctionId, Functions, ModuleName, NodeKey, node_name};
use crate::tables::KeyedMap;

/// Names on the path to a node, outermost first.
pub type Way = Arc<[Arc<str>]>;

/// The nodes that the user opened or closed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Opened {
    /// Parents come before their children; node 0 of the forest is not included.
    names: Vec<OpenedName>,
    index: KeyedMap<(Option<u32>, Arc<str>), u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct OpenedName {
    above: Option<u32>,
    name: Arc<str>,
    /// `None` if the user neither opened nor closed the node.
    is_open: Option<bool>,
}

impl Opened {
    /// Opens or closes the node at the end of a path.
    pub fn set(&mut self, way: &[Arc<str>], open: bool) {
        let mut at = None;
        for name in way {
            at = Some(self.below(at, name));
        }
        if let Some(at) = at {
            self.names[at as usize].is_open = Some(open);
        }
    }

    /// Opens all nodes on a path.
    pub fn open_way(&mut self, way: &[Arc<str>]) {
        let mut at = None;
        for name in way {
            let below = self.below(at, name);
            self.names[below as usize].is_open = Some(true);
            at = Some(below);
        }
    }

    fn below(&mut self, above: Option<u32>, name: &Arc<str>) -> u32 {
        let names = &mut self.names;
        *self.index.entry((above, Arc::clone(name))).or_insert_with(|| {
            names.push(OpenedName { above, name: Arc::clone(name), is_open: None });
            names.len() as u32 - 1
        })
    }
}

/// Finds the nodes of a forest by names.
pub struct Finder<'a> {
    forest: &'a Forest,
    keys: KeyedMap<String, NodeKey>,
}

impl<'a> Finder<'a> {
    /// A finder for the names in `opened` and on `way`.
    pub fn new(forest: &'a Forest, functions: &Functions, opened: &Opened, way: Option<&Way>) -> Self {
        let opened = opened.names.iter().map(|one| &one.name);
        let wanted: crate::tables::KeyedSet<&str> =
            opened.chain(way.into_iter().flat_map(|way| way.iter())).map(|name| &**name).collect();
        let mut keys = KeyedMap::default();
        if !wanted.is_empty() {
            let all = (0..functions.len() as u32).map(|i| NodeKey::Function(FunctionId(i)));
            let modules = (0..functions.modules() as u32).map(|i| NodeKey::Module(ModuleName(i)));
            for key in all.chain(modules).chain([NodeKey::NoStack, NodeKey::NoModule]) {
                let name = node_name(functions, key);
                if wanted.contains(name.as_str()) {
                    keys.insert(name, key);
                }
            }
        }
        Self { forest, keys }
    }

    fn below(&self, node: u32, name: &str) -> Option<u32> {
        let key = *self.keys.get(name)?;
        self.forest.children(node).iter().copied().find(|&child| self.forest.key(child) == key)
    }

    /// The node at the end of a path, if the forest contains it.
    pub fn node(&self, way: &[Arc<str>]) -> Option<u32> {
        way.iter().try_fold(0, |node, name| self.below(node, name))
    }

    /// The nodes that the user opened or closed, as far as the forest contains them.
    pub fn toggled(&self, opened: &Opened) -> KeyedMap<u32, bool> {
        let mut nodes: Vec<Option<u32>> = Vec::with_capacity(opened.names.len());
        let mut toggled = KeyedMap::default();
        for one in &opened.names {
            let above = one.above.map_or(Some(0), |above| nodes[above as usize]);
            let node = above.and_then(|above| self.below(above, &one.name));
            if let (Some(node), Some(is_open)) = (node, one.is_open) {
                toggled.insert(node, is_open);
            }
            nodes.push(node);
        }
        toggled
    }
}
