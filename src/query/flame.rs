//! Where the boxes of a flame graph stand: an icicle of a forest's nodes. Widths are parts of the focus, from 0 to 1.
//!
//! Cost: a pass over the sites for the weights; then what is wide enough to be seen, and the
//! children of that, however many nodes there are.

use std::cmp::Reverse;
use std::ops::{AddAssign, Sub};
use std::sync::Arc;

use super::{Forest, Functions, Mask, NodeKey, NodeSums, Numbers, Totals, node_name};
use crate::model::Trace;
use crate::units::Layer;

/// What the width of a box says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlameWeight {
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

impl FlameWeight {
    /// All of them.
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

/// One box.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlameBox {
    /// Node of the forest.
    pub node: u32,
    /// What that stands for.
    pub key: NodeKey,
    /// Where it begins.
    pub left: f32,
    /// How wide it is.
    pub width: f32,
    /// What it comes to: of changes those up minus those down.
    pub net: i64,
    /// Whether the search found it.
    pub is_found: bool,
}

/// The boxes that can be seen.
#[derive(Clone, Debug)]
pub struct FlameBoxes {
    /// By depth, then from left to right; the focus is at the depth of its way.
    pub boxes: Vec<FlameBox>,
    /// Where each depth begins in `boxes`, and where the last ends.
    pub depths: Vec<usize>,
    /// What the search has found of the focus, counted once.
    pub found: u64,
}

/// Narrower parts of the focus than this are not to be seen on any screen.
const FINEST: u64 = 6000;

/// Boxes of one picture at most.
const MAX_BOXES: usize = 200_000;

/// How wide sites are, and what they come to. Places that grew and others that shrank stand
/// side by side: a width is the sum of what each site changed, whatever its sign.
#[derive(Clone, Copy, Default)]
struct Extent {
    width: u128,
    net: i128,
}

impl AddAssign for Extent {
    fn add_assign(&mut self, other: Self) {
        self.width += other.width;
        self.net += other.net;
    }
}

impl Sub for Extent {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { width: self.width - other.width, net: self.net - other.net }
    }
}

/// How wide each node is, and what it comes to.
pub struct FlameWeights<'a>(NodeSums<'a, Extent>);

impl<'a> FlameWeights<'a> {
    /// Of the sites of a layer, as far as `mask` wants them.
    pub fn new(forest: &'a Forest, trace: &Trace, totals: &Totals, mask: &Mask, layer: Layer, weight: FlameWeight) -> Self {
        Self(forest.amounts(trace, totals, mask, layer, |buckets| {
            let net = weight.of(&buckets.numbers());
            Extent { width: net.unsigned_abs().into(), net: net.into() }
        }))
    }

    /// Of what is outstanding at the ends of two intervals the second minus the first.
    pub fn difference(forest: &'a Forest, trace: &Trace, sides: [&Totals; 2], mask: &Mask, layer: Layer) -> Self {
        Self(NodeSums::by_place(forest, |_, site| {
            let classes = mask.classes(site);
            if classes == 0 || trace.layer_of(trace.site(site)) != layer {
                return None;
            }
            let [a, b] = sides.map(|sums| i128::from(sums.of(site).only(classes).numbers().outstanding_to));
            Some(Extent { width: (b - a).unsigned_abs(), net: b - a })
        }))
    }

    /// How wide a node is.
    pub fn width(&self, node: u32) -> u64 {
        u64::try_from(self.0.amount(node).width).unwrap_or(u64::MAX)
    }

    /// What a node comes to: of changes those up minus those down.
    pub fn net(&self, node: u32) -> i64 {
        self.0.amount(node).net.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// The node at the end of a way of names, or the last one on it that is there.
pub fn find_way(forest: &Forest, functions: &Functions, way: &[Arc<str>]) -> u32 {
    let step = |node: u32, wanted: &Arc<str>| {
        forest.children(node).iter().copied().find(|&child| node_name(functions, forest.key(child)) == **wanted).ok_or(node)
    };
    let (Ok(node) | Err(node)) = way.iter().try_fold(0, step);
    node
}

/// The boxes from the top down to the focus, and those under it.
pub fn flame_boxes(weights: &FlameWeights<'_>, focus: u32, is_found: impl Fn(NodeKey) -> bool) -> FlameBoxes {
    let (forest, whole) = (weights.0.forest(), weights.width(focus));
    let mut out = FlameBoxes { boxes: Vec::new(), depths: vec![0], found: 0 };
    let mut around: Vec<u32> = std::iter::successors(Some(focus), |&node| (node != 0).then(|| forest.parent(node))).collect();
    around.reverse();
    // Of each box where it begins, and whether the search has found what is around it.
    let mut row: Vec<(u32, u64, bool)> = Vec::new();
    let mut inside = false;
    for node in around {
        inside |= is_found(forest.key(node));
        row = vec![(node, 0, inside)];
        out.add(weights, &row, whole, &is_found);
    }
    if inside {
        out.found = whole;
    }
    let least = whole / FINEST;
    while !row.is_empty() && out.boxes.len() < MAX_BOXES {
        let mut next = Vec::new();
        for &(node, start, inside) in &row {
            let children = forest.children(node).iter().map(|&child| (weights.width(child), child));
            let mut children: Vec<(u64, u32)> = children.filter(|(width, _)| *width > least).collect();
            children.sort_unstable_by_key(|&(width, child)| (Reverse(width), child));
            let mut at = start;
            for (width, child) in children {
                let is_new = !inside && is_found(forest.key(child));
                if is_new {
                    out.found = out.found.saturating_add(width);
                }
                next.push((child, at, inside || is_new));
                at = at.saturating_add(width);
            }
        }
        out.add(weights, &next, whole, &is_found);
        row = next;
    }
    out
}

impl FlameBoxes {
    /// Adds what stands at one depth.
    fn add(&mut self, weights: &FlameWeights<'_>, row: &[(u32, u64, bool)], whole: u64, is_found: &impl Fn(NodeKey) -> bool) {
        if row.is_empty() {
            return;
        }
        let part = |value: u64| if whole == 0 { 0.0 } else { (value as f64 / whole as f64) as f32 };
        self.boxes.extend(row.iter().map(|&(node, start, _)| {
            let key = weights.0.forest().key(node);
            let width = part(weights.width(node)).min(1.0);
            FlameBox { node, key, left: part(start), width, net: weights.net(node), is_found: is_found(key) }
        }));
        self.depths.push(self.boxes.len());
    }
}
