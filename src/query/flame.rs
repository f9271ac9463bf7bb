//! Where the boxes of a flame graph stand. Widths are parts of the focus, from 0 to 1.
//!
//! Cost: a pass over the sites and the nodes for the weights; then what is wide enough to be
//! seen, however many nodes there are.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::model::Trace;
use crate::query::{Forest, Functions, Mask, NodeKey, Numbers, Totals, node_name};
use crate::units::Layer;

/// What the width of a box says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Weight {
    /// What each place has changed, up or down; the colour says which.
    Impacting,
    /// Bytes alive at some moment.
    #[default]
    Size,
    /// Bytes alive at the left edge.
    AtStart,
    /// Bytes alive at the right edge.
    AtEnd,
    /// Allocations alive at some moment.
    Count,
}

impl Weight {
    pub const ALL: [Self; 5] = [Self::Impacting, Self::Size, Self::AtStart, Self::AtEnd, Self::Count];

    fn of(self, n: &Numbers) -> i64 {
        let number = match self {
            Self::Impacting => return n.impacting,
            Self::Size => n.size,
            Self::AtStart => n.outstanding_from,
            Self::AtEnd => n.outstanding_to,
            Self::Count => n.count,
        };
        i64::try_from(number).unwrap_or(i64::MAX)
    }
}

/// Names of functions from the outside inwards: what a node is called in every answer.
pub type Way = Vec<Arc<str>>;

/// One box.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Box {
    pub node: u32,
    pub key: NodeKey,
    pub left: f32,
    pub width: f32,
    /// What it comes to: of changes those up minus those down.
    pub net: i64,
    /// Whether the search found it.
    pub is_found: bool,
}

/// All boxes; see [`super::Icicle`].
pub struct Boxes {
    pub boxes: Vec<Box>,
    pub depths: Vec<usize>,
    pub found: u64,
}

/// Narrower parts of the focus than this are not to be seen on any screen.
const FINEST: u64 = 6000;

/// Boxes of one picture at most.
const MAX_BOXES: usize = 200_000;

/// By node how wide it is, and what it comes to. Places that grew and others that shrank
/// stand side by side: a width is the sum of what each site changed, whatever its sign.
pub fn weights(
    forest: &Forest,
    trace: &Trace,
    totals: &Totals,
    mask: &Mask,
    layer: Layer,
    weight: Weight,
) -> (Vec<u64>, Vec<i64>) {
    let (mut widths, mut nets) = (vec![0u64; forest.len()], vec![0i64; forest.len()]);
    for (site, buckets) in totals.sites() {
        let classes = mask.classes(site);
        if classes == 0 || trace.layer_of(trace.site(site)) != layer {
            continue;
        }
        let net = weight.of(&buckets.only(classes).numbers());
        let node = forest.node_of(site) as usize;
        widths[node] = widths[node].saturating_add(net.unsigned_abs());
        nets[node] = nets[node].saturating_add(net);
    }
    for node in (1..widths.len()).rev() {
        let parent = forest.parent(node as u32) as usize;
        widths[parent] = widths[parent].saturating_add(widths[node]);
        nets[parent] = nets[parent].saturating_add(nets[node]);
    }
    (widths, nets)
}

/// The way to a node.
pub fn way(forest: &Forest, functions: &Functions, node: u32) -> Way {
    forest.way(node).into_iter().map(|key| node_name(functions, key).into()).collect()
}

/// The node at the end of a way, or the last one on it that is there.
pub fn find(forest: &Forest, functions: &Functions, way: &Way) -> u32 {
    let step = |node: u32, wanted: &Arc<str>| {
        forest.children(node).iter().copied().find(|&child| node_name(functions, forest.key(child)) == **wanted).ok_or(node)
    };
    let (Ok(node) | Err(node)) = way.iter().try_fold(0, step);
    node
}

/// The boxes from the top down to the focus, and those under it.
pub fn boxes(forest: &Forest, widths: &[u64], nets: &[i64], focus: u32, is_found: impl Fn(NodeKey) -> bool) -> Boxes {
    let whole = widths[focus as usize];
    let mut out = Boxes { boxes: Vec::new(), depths: vec![0], found: 0 };
    let mut around: Vec<u32> = std::iter::successors(Some(focus), |&node| (node != 0).then(|| forest.parent(node))).collect();
    around.reverse();
    // Of each box where it begins, and whether the search has found what is around it.
    let mut row: Vec<(u32, u64, bool)> = Vec::new();
    let mut inside = false;
    for node in around {
        inside |= is_found(forest.key(node));
        row = vec![(node, 0, inside)];
        out.add(forest, widths, nets, &row, whole, &is_found);
    }
    if inside {
        out.found = whole;
    }
    let least = whole / FINEST;
    while !row.is_empty() && out.boxes.len() < MAX_BOXES {
        let mut next = Vec::new();
        for &(node, start, inside) in &row {
            let mut children: Vec<u32> =
                forest.children(node).iter().copied().filter(|&child| widths[child as usize] > least).collect();
            children.sort_by_key(|&child| (Reverse(widths[child as usize]), child));
            let mut at = start;
            for child in children {
                let is_new = !inside && is_found(forest.key(child));
                if is_new {
                    out.found += widths[child as usize];
                }
                next.push((child, at, inside || is_new));
                at += widths[child as usize];
            }
        }
        out.add(forest, widths, nets, &next, whole, &is_found);
        row = next;
    }
    out
}

impl Boxes {
    /// Adds what stands at one depth.
    fn add(
        &mut self,
        forest: &Forest,
        widths: &[u64],
        nets: &[i64],
        row: &[(u32, u64, bool)],
        whole: u64,
        is_found: &impl Fn(NodeKey) -> bool,
    ) {
        if row.is_empty() {
            return;
        }
        let part = |value: u64| if whole == 0 { 0.0 } else { (value as f64 / whole as f64) as f32 };
        self.boxes.extend(row.iter().map(|&(node, start, _)| {
            let key = forest.key(node);
            let width = part(widths[node as usize]).min(1.0);
            Box { node, key, left: part(start), width, net: nets[node as usize], is_found: is_found(key) }
        }));
        self.depths.push(self.boxes.len());
    }
}
