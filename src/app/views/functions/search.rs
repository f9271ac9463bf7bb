//! Search in a forest: keeps the nodes whose names contain the text, all nodes below them, and the paths to
//! them. Their numbers stay the same.
//!
//! Cost: a name for each function, and two passes over the nodes.

use crate::query::{Cancel, Cancelled, ForestSums, FunctionId, Functions, ModuleName, NodeKey, node_name};
use crate::tables::KeyedMap;

/// Most nodes that a search opens by itself: more rows than that cannot be read.
const MOST_OPENED: usize = 20_000;

/// Hides all nodes that the search excludes; returns the nodes to open, so that all matches are visible.
pub fn search(
    functions: &Functions,
    sums: &mut ForestSums<'_>,
    text: &str,
    cancel: &Cancel,
) -> Result<KeyedMap<u32, bool>, Cancelled> {
    let text = text.trim().to_lowercase();
    if text.is_empty() {
        return Ok(KeyedMap::default());
    }
    let forest = sums.forest();
    let has = |key: NodeKey| node_name(functions, key).to_lowercase().contains(&text);
    let of_function: Vec<bool> = (0..functions.len() as u32).map(|i| has(NodeKey::Function(FunctionId(i)))).collect();
    let of_module: Vec<bool> = (0..functions.modules() as u32).map(|i| has(NodeKey::Module(ModuleName(i)))).collect();
    let is_found = |node: u32| match forest.key(node) {
        NodeKey::All => false,
        NodeKey::Function(function) => of_function[function.0 as usize],
        NodeKey::Module(module) => of_module[module.0 as usize],
        key => has(key),
    };
    cancel.check()?;
    // Parents come before their children.
    let mut is_inside = vec![false; forest.len()];
    for node in 1..forest.len() as u32 {
        is_inside[node as usize] = is_inside[forest.parent(node) as usize] || is_found(node);
    }
    let mut leads_there = vec![false; forest.len()];
    for node in (1..forest.len()).rev() {
        let counts = (is_inside[node] && !sums.is_empty(node as u32)) || leads_there[node];
        leads_there[forest.parent(node as u32) as usize] |= counts;
    }
    let mut opened = KeyedMap::default();
    let mut hidden = vec![false; forest.len()];
    for node in 1..forest.len() {
        hidden[node] = !is_inside[node] && !leads_there[node];
        if !hidden[node] && !is_inside[node] && opened.len() < MOST_OPENED {
            opened.insert(node as u32, true);
        }
    }
    sums.hide(hidden);
    Ok(opened)
}
