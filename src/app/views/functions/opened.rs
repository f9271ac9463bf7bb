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

    /// The nodes that the user opened or closed, with the paths to them. Nodes that are open above an open one are left out.
    pub fn nodes(&self) -> Vec<(Way, bool)> {
        // Parents come before their children.
        let mut leads_to_open = vec![false; self.names.len()];
        for (at, one) in self.names.iter().enumerate().rev() {
            if let Some(above) = one.above.filter(|_| leads_to_open[at] || one.is_open == Some(true)) {
                leads_to_open[above as usize] = true;
            }
        }
        let node = |(at, one): (usize, &OpenedName)| {
            let is_open = one.is_open?;
            (!is_open || !leads_to_open[at]).then(|| (self.way(at), is_open))
        };
        self.names.iter().enumerate().filter_map(node).collect()
    }

    /// The nodes as [`Self::nodes`] gives them.
    pub fn of(nodes: &[(&Way, bool)]) -> Self {
        let mut opened = Self::default();
        nodes.iter().filter(|(_, is_open)| *is_open).for_each(|(way, _)| opened.open_way(way));
        nodes.iter().filter(|(_, is_open)| !is_open).for_each(|(way, _)| opened.set(way, false));
        opened
    }

    fn way(&self, at: usize) -> Way {
        let mut names: Vec<Arc<str>> = std::iter::successors(Some(&self.names[at]), |one| Some(&self.names[one.above? as usize]))
            .map(|one| Arc::clone(&one.name))
            .collect();
        names.reverse();
        names.into()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn way(names: &[&str]) -> Way {
        names.iter().map(|name| Arc::from(*name)).collect()
    }

    #[test]
    fn opened_nodes_come_back_from_the_deepest_of_them() {
        let mut opened = Opened::default();
        opened.open_way(&way(&["main", "run", "load"]));
        opened.set(&way(&["main", "run", "draw"]), true);
        opened.set(&way(&["main", "run", "draw", "text"]), false);
        opened.set(&way(&["other"]), false);
        let nodes = opened.nodes();
        let told: Vec<(String, bool)> = nodes.iter().map(|(way, is_open)| (way.join(">"), *is_open)).collect();
        let wanted = [("main>run>load", true), ("main>run>draw", true), ("main>run>draw>text", false), ("other", false)];
        assert_eq!(told, wanted.map(|(way, is_open)| (way.to_owned(), is_open)));
        let nodes: Vec<(&Way, bool)> = nodes.iter().map(|(way, is_open)| (way, *is_open)).collect();
        assert_eq!(Opened::of(&nodes), opened);
        // A closed node above an open one stays closed, and what is below it open.
        opened.set(&way(&["main"]), false);
        let nodes = opened.nodes();
        assert_eq!(Opened::of(&nodes.iter().map(|(way, is_open)| (way, *is_open)).collect::<Vec<_>>()), opened);
    }
}
