//! Where the boxes of a flame graph stand: an icicle of a forest's nodes. Widths are parts of the focus, from 0 to 1.
//!
//! Cost: a pass over the sites for the weights; then what is wide enough to be seen, and the
//! children of that, however many nodes there are.

use std::cmp::Reverse;
use std::ops::{AddAssign, Sub};
use std::sync::Arc;

use super::{Forest, Functions, Mask, NodeKey, NodeSums, Numbers, Totals, node_name};
use crate::model::{SiteId, Trace};
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
    /// So many children of the node, each too narrow to be seen, side by side; 0 if the box is the
    /// node itself.
    pub smaller: u32,
    /// Where it begins.
    pub left: f32,
    /// How wide it is.
    pub width: f32,
    /// What it comes to: of changes those up minus those down.
    pub net: i64,
    /// What of that is at the node itself, and not under it; 0 for what is no single node.
    pub own: i64,
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

    /// The same of two traces, whose sites are no counterparts of each other: of places in the
    /// code, as [`Functions::joined`] has them, `forest` being over those.
    pub fn across(forest: &'a Forest, sides: [(&Trace, &Totals); 2], layer: Layer) -> Self {
        let behind = sides[0].0.sites.len() as u32;
        let change = |site: SiteId| -> i128 {
            let ((trace, totals), site, sign) = match site.0.checked_sub(behind) {
                None => (sides[0], site, -1),
                Some(site) => (sides[1], SiteId(site), 1),
            };
            let is_its = trace.layer_of(trace.site(site)) == layer;
            if is_its { sign * i128::from(totals.of(site).numbers().outstanding_to) } else { 0 }
        };
        // The first site of a place stands for all that are there.
        Self(NodeSums::by_place(forest, |_, site| {
            let own = forest.own(forest.node_of(site));
            let net = if own.first() == Some(&site) { own.iter().map(|&site| change(site)).sum() } else { 0i128 };
            Some(Extent { width: net.unsigned_abs(), net })
        }))
    }

    /// Of processor samples, by site of `forest`, which is over [`Functions::of_samples`].
    pub fn of_samples(forest: &'a Forest, by_site: &[u32]) -> Self {
        Self(NodeSums::by_place(forest, |_, site| {
            let count = by_site.get(site.0 as usize).copied().filter(|count| *count > 0)?;
            Some(Extent { width: count.into(), net: count.into() })
        }))
    }

    /// How wide a node is.
    pub fn width(&self, node: u32) -> u64 {
        u64::try_from(self.0.amount(node).width).unwrap_or(u64::MAX)
    }

    /// What a node comes to: of changes those up minus those down.
    pub fn net(&self, node: u32) -> i64 {
        told(self.0.amount(node).net)
    }

    /// The same of what is at the node itself, and not under it.
    pub fn own(&self, node: u32) -> i64 {
        told(self.0.own(node).net)
    }
}

/// As much as there is room for.
fn told(net: i128) -> i64 {
    net.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// The node at the end of a way of names, or the last one on it that is there.
pub fn find_way(forest: &Forest, functions: &Functions, way: &[Arc<str>]) -> u32 {
    let step = |node: u32, wanted: &Arc<str>| {
        forest.children(node).iter().copied().find(|&child| node_name(functions, forest.key(child)) == **wanted).ok_or(node)
    };
    let (Ok(node) | Err(node)) = way.iter().try_fold(0, step);
    node
}

/// A box that is being placed.
#[derive(Clone, Copy)]
struct Placed {
    node: u32,
    smaller: u32,
    start: u64,
    width: u64,
    net: i64,
    is_found: bool,
    /// Whether the search has found it, or what is around it.
    inside: bool,
}

impl Placed {
    fn node(weights: &FlameWeights<'_>, node: u32, start: u64, is_found: bool, inside: bool) -> Self {
        let (width, net) = (weights.width(node), weights.net(node));
        Self { node, smaller: 0, start, width, net, is_found, inside: inside || is_found }
    }
}

/// The boxes from the top down to the focus, and those under it.
pub fn flame_boxes(weights: &FlameWeights<'_>, focus: u32, is_found: impl Fn(NodeKey) -> bool) -> FlameBoxes {
    let (forest, whole) = (weights.0.forest(), weights.width(focus));
    let mut out = FlameBoxes { boxes: Vec::new(), depths: vec![0], found: 0 };
    let mut around: Vec<u32> = std::iter::successors(Some(focus), |&node| (node != 0).then(|| forest.parent(node))).collect();
    around.reverse();
    let mut row: Vec<Placed> = Vec::new();
    let mut inside = false;
    for node in around {
        let placed = Placed::node(weights, node, 0, is_found(forest.key(node)), inside);
        inside = placed.inside;
        row = vec![placed];
        out.add(weights, &row, whole);
    }
    if inside {
        out.found = whole;
    }
    let least = whole / FINEST;
    while !row.is_empty() && out.boxes.len() < MAX_BOXES {
        let mut next = Vec::new();
        for around in row.iter().filter(|placed| placed.smaller == 0) {
            let found = place_children(weights, around, least, &is_found, &mut next);
            out.found = out.found.saturating_add(if around.inside { 0 } else { found });
        }
        out.add(weights, &next, whole);
        row = next;
    }
    out
}

/// Places what is under a box: the largest first, and behind them those that are too narrow
/// to be seen as one. How much of them the search finds.
fn place_children(
    weights: &FlameWeights<'_>,
    around: &Placed,
    least: u64,
    is_found: &impl Fn(NodeKey) -> bool,
    out: &mut Vec<Placed>,
) -> u64 {
    let mut smaller = Placed { smaller: 0, width: 0, net: 0, is_found: false, ..*around };
    let mut children: Vec<(u64, u32)> = Vec::new();
    let forest = weights.0.forest();
    for &child in forest.children(around.node) {
        match weights.width(child) {
            0 => {}
            width if width > least => children.push((width, child)),
            width => {
                smaller.smaller += 1;
                smaller.width = smaller.width.saturating_add(width);
                smaller.net = smaller.net.saturating_add(weights.net(child));
            }
        }
    }
    children.sort_unstable_by_key(|&(width, child)| (Reverse(width), child));
    let mut found = 0u64;
    for (width, child) in children {
        let placed = Placed::node(weights, child, smaller.start, is_found(forest.key(child)), around.inside);
        found = found.saturating_add(if placed.is_found { width } else { 0 });
        smaller.start = smaller.start.saturating_add(width);
        out.push(placed);
    }
    if smaller.width > least {
        out.push(smaller);
    }
    found
}

impl FlameBoxes {
    /// Adds what stands at one depth.
    fn add(&mut self, weights: &FlameWeights<'_>, row: &[Placed], whole: u64) {
        if row.is_empty() {
            return;
        }
        let forest = weights.0.forest();
        let part = |value: u64| if whole == 0 { 0.0 } else { (value as f64 / whole as f64) as f32 };
        self.boxes.extend(row.iter().map(|&Placed { node, smaller, start, width, net, is_found, .. }| {
            let (key, left, width) = (forest.key(node), part(start), part(width).min(1.0));
            let own = if smaller == 0 { weights.own(node) } else { 0 };
            FlameBox { node, key, smaller, left, width, net, own, is_found }
        }));
        self.depths.push(self.boxes.len());
    }
}
