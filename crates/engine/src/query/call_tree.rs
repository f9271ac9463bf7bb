//! The visible lines of a [`Forest`] for a table: a flat list, each line with its depth.
//!
//! Nodes without matching rows have no line. An only child opens with its parent, unless the user closes it. A node
//! with one child and the same numbers can share its line. Not recursive, since stacks can be deep. Cost: the children
//! of the open nodes, sorted; names are made only where they decide the order.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::line_tree::NOBODY;
use super::peaks::{ByClassLines, line_peaks};
use super::touched::{TouchedBytes, TouchedPages, add_up, dense};
use super::tree::{magnitude, sort_lines};
use super::{
    Cancel, Cancelled, Column, Forest, ForestSums, FrameName, Functions, Index, LifetimeBucket, LifetimeClass, Mask, NodeKey,
    Numbers, SizeBucket, Sort, Totals,
};
use crate::model::{Row, SiteId, Trace};
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Tid};

/// One line of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallLine {
    /// Node of the forest; the innermost one if several share the line.
    pub node: u32,
    /// The outermost of the nodes that share the line; equal to `node` if there is only one.
    pub head: u32,
    /// Index of the parent line, if any.
    pub parent: Option<u32>,
    /// Number of ancestors in the list.
    pub depth: u32,
    /// Numbers of its node.
    pub numbers: Numbers,
    /// Whether it can be expanded.
    pub has_children: bool,
    /// Whether it is expanded.
    pub is_open: bool,
}

impl CallLine {
    /// Returns whether a node is one of those that share this line.
    pub fn has(&self, node: u32, forest: &Forest) -> bool {
        (self.head..=self.node).contains(&node) && self.node < forest.end(node)
    }

    /// Returns the nodes that share this line, innermost first.
    pub fn nodes<'a>(&self, forest: &'a Forest) -> impl Iterator<Item = u32> + use<'a> {
        let head = self.head;
        std::iter::successors(Some(self.node), move |&node| (node > head).then(|| forest.parent(node)))
    }
}

/// Largest number of nodes that share a line.
const MOST_SHARING: usize = 64;

/// Returns the name of a node.
pub fn node_name(functions: &Functions, key: NodeKey) -> String {
    Name::of(functions, key).to_string()
}

/// The name of a node before it is formatted; its order is that of the formatted names.
#[derive(Clone, Copy)]
enum Name<'a> {
    Frame(FrameName<'a>),
    Text(&'a str),
    /// A kind and an id; the real name needs the trace or its types.
    Number(&'static str, u32),
    Thread(Tid),
    Size(SizeBucket),
    Lifetime(LifetimeBucket),
}

impl<'a> Name<'a> {
    fn of(functions: &'a Functions, key: NodeKey) -> Self {
        match key {
            NodeKey::All => Self::Text("(everything)"),
            NodeKey::NoStack => Self::Frame(FrameName::NoStack),
            NodeKey::Function(function) => Self::Frame(functions.name(function)),
            NodeKey::Module(module) => Self::Text(functions.module_name(module)),
            NodeKey::NoModule => Self::Text("(no module)"),
            NodeKey::Heap(heap) => Self::Number("heap", heap.0),
            NodeKey::Label(id) => Self::Number("label", id),
            NodeKey::Thread(_, thread) => Self::Thread(thread),
            NodeKey::Size(bucket) => Self::Size(bucket),
            NodeKey::Lifetime(bucket) => Self::Lifetime(bucket),
        }
    }
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Frame(name) => name.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Number(what, number) => write!(f, "{what} {number}"),
            Self::Thread(thread) => write!(f, "thread {thread}"),
            Self::Size(bucket) => write!(f, "size in {:?}", bucket.bounds()),
            Self::Lifetime(bucket) => write!(f, "lifetime in {:?}", bucket.bounds()),
        }
    }
}

impl Ord for Name<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Frame(a), Self::Frame(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => self.to_string().cmp(&other.to_string()),
        }
    }
}

impl PartialOrd for Name<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Name<'_> {}

/// Smallest number of children that one worker processes at a time.
const GRAIN: usize = 1024;

/// Returns the visible lines. `toggled` has the nodes that the user opened or closed; `chains` says whether nodes can
/// share a line.
pub fn call_tree(
    functions: &Functions,
    sums: &ForestSums<'_>,
    sort: Sort,
    toggled: &KeyedMap<u32, bool>,
    chains: bool,
    cancel: &Cancel,
) -> Result<Vec<CallLine>, Cancelled> {
    let forest = sums.forest();
    let mut lines: Vec<CallLine> = Vec::new();
    // Pending lines, the next one last, each with whether it is an only child.
    let mut todo: Vec<(CallLine, bool)> = Vec::new();
    let plan = |todo: &mut Vec<_>, node: u32, parent: Option<u32>, depth: u32| {
        let children = forest.children(node).par_iter().with_min_len(GRAIN).filter(|&&child| !sums.is_empty(child));
        let line = |&head: &u32| {
            let numbers = sums.numbers(head);
            let node = if chains { innermost(sums, head, &numbers) } else { head };
            let has_children = forest.children(node).iter().any(|&child| !sums.is_empty(child));
            CallLine { node, head, parent, depth, numbers, has_children, is_open: false }
        };
        let mut children: Vec<CallLine> = children.map(line).collect();
        sort_lines(&mut children, sort, |line| line.numbers, |line| Name::of(functions, forest.key(line.head)));
        let is_only = children.len() == 1;
        todo.extend(children.into_iter().rev().map(|line| (line, is_only)));
    };
    plan(&mut todo, 0, None, 0);
    while let Some((mut line, is_only)) = todo.pop() {
        let at = lines.len() as u32;
        if at.is_multiple_of(1024) {
            cancel.check()?;
        }
        let wish = if toggled.is_empty() { None } else { line.nodes(forest).find_map(|node| toggled.get(&node)) };
        line.is_open = line.has_children && wish.copied().unwrap_or(is_only);
        lines.push(line);
        if line.is_open {
            plan(&mut todo, line.node, Some(at), line.depth + 1);
        }
    }
    Ok(lines)
}

/// Returns the innermost node that shares a line with `head`: follows only children as long as their numbers are the
/// same.
fn innermost(sums: &ForestSums<'_>, head: u32, numbers: &Numbers) -> u32 {
    let forest = sums.forest();
    let only_child = |&node: &u32| {
        let mut children = forest.children(node).iter().copied().filter(|&child| !sums.is_empty(child));
        let child = children.next()?;
        (children.next().is_none() && sums.numbers(child) == *numbers).then_some(child)
    };
    std::iter::successors(Some(head), only_child).take(MOST_SHARING).last().unwrap_or(head)
}

/// Returns the nodes to open, from `from` on, so that the largest below it is visible: always the largest child, while
/// it has at least half of its parent's size.
pub fn heaviest_path(sums: &ForestSums<'_>, column: Column, from: u32) -> Vec<u32> {
    let size = |node: u32| magnitude(column, &sums.numbers(node));
    let next = |&node: &u32| {
        let largest =
            sums.forest().children(node).iter().copied().max_by_key(|&child| (size(child), std::cmp::Reverse(child)))?;
        (size(largest) > 0 && size(largest) >= size(node).div_ceil(2)).then_some(largest)
    };
    std::iter::successors(Some(from), next).collect()
}

/// Sorts the children of each line by a number; equal ones keep their order. Also returns the former index of each line.
pub fn sort_call_lines(lines: &[CallLine], numbers: &[u64], descending: bool) -> (Vec<CallLine>, Vec<u32>) {
    let parent = |line: u32| lines[line as usize].parent;
    let rank = |line: u32| if descending { !numbers[line as usize] } else { numbers[line as usize] };
    let mut sorted: Vec<u32> = (0..lines.len() as u32).collect();
    sorted.sort_by_key(|&line| (parent(line), rank(line)));
    // The children of each line are a range of `sorted` now; returned last first, to be pushed on a stack.
    let under = |above: Option<u32>| {
        let start = sorted.partition_point(|&line| parent(line) < above);
        let end = sorted.partition_point(|&line| parent(line) <= above);
        sorted[start..end].iter().rev().copied()
    };
    let mut moved_to = vec![NOBODY; lines.len()];
    let (mut out, mut order) = (Vec::with_capacity(lines.len()), Vec::with_capacity(lines.len()));
    let mut todo: Vec<u32> = under(None).collect();
    while let Some(line) = todo.pop() {
        let old = lines[line as usize];
        moved_to[line as usize] = out.len() as u32;
        out.push(CallLine { parent: old.parent.map(|above| moved_to[above as usize]), ..old });
        order.push(line);
        todo.extend(under(Some(line)));
    }
    (out, order)
}

/// Returns the peak size of each line in one layer. Cost: a pass over the nodes, and one over the events of the
/// interval.
pub fn call_tree_peaks(
    index: &Index,
    totals: &Totals,
    mask: &Mask,
    layer: Layer,
    (forest, lines): (&Forest, &[CallLine]),
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let lines_of = lines_of(index.trace(), mask, layer, (forest, lines));
    let now: Vec<u64> = lines.iter().map(|line| line.numbers.outstanding_from).collect();
    line_peaks(index, totals.interval, &now, lines_of, |line| lines[line as usize].parent, cancel)
}

/// Returns the touched bytes of each line of commit; `None` if the trace does not [show](super::shows_touches) what was touched.
/// Cost: a pass over the nodes, and that of [`touched_sites`](super::touched_sites).
pub fn call_tree_touched(
    index: &Index,
    interval: Interval,
    mask: &Mask,
    (forest, lines): (&Forest, &[CallLine]),
    cancel: &Cancel,
) -> Result<Option<Vec<TouchedBytes>>, Cancelled> {
    let Some(pages) = TouchedPages::before(index.trace(), interval.to, cancel)? else { return Ok(None) };
    let lines_of = lines_of(index.trace(), mask, Layer::Commit, (forest, lines));
    let line_of = |row: &Row| {
        let class = LifetimeClass::of(row.birth, row.death, interval)?;
        Some(lines_of[row.site.0 as usize][class as usize]).filter(|&line| line != NOBODY)
    };
    let mut bytes = dense(lines.len(), pages.by_group(index, line_of, cancel)?);
    add_up(&mut bytes, |line| lines[line].parent);
    Ok(Some(bytes))
}

/// Returns for each site and class the innermost line that contains it.
fn lines_of(trace: &Trace, mask: &Mask, layer: Layer, (forest, lines): (&Forest, &[CallLine])) -> Vec<ByClassLines> {
    let mut line_of = vec![NOBODY; forest.len()];
    for (at, line) in (0..).zip(lines) {
        line.nodes(forest).for_each(|node| line_of[node as usize] = at);
    }
    for node in 1..forest.len() {
        if line_of[node] == NOBODY {
            line_of[node] = line_of[forest.parent(node as u32) as usize];
        }
    }
    let of_site = |site: SiteId| {
        let line = line_of[forest.node_of(site) as usize];
        let is_its = trace.layer_of(trace.site(site)) == layer;
        LifetimeClass::ALL.map(|class| if is_its && mask.has(site, class) { line } else { NOBODY })
    };
    (0..trace.sites.len() as u32).map(|site| of_site(SiteId(site))).collect()
}
