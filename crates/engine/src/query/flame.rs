//! Layout of a flame graph: an icicle of a forest's nodes. Widths are fractions of the focus, from 0 to 1.
//!
//! Cost: a pass over the sites for the weights; then the boxes wide enough to be visible, and their children, however
//! many nodes there are.

use std::cmp::Reverse;
use std::ops::{AddAssign, Sub};
use std::sync::Arc;

use super::{Forest, Functions, Mask, NodeKey, NodeSums, Numbers, Totals, node_name};
use crate::model::{SiteId, Trace};
use crate::units::Layer;

/// The quantity shown by the width of a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlameWeight {
    /// Change of outstanding bytes at each place, up or down; the colour shows the direction.
    Impacting,
    /// Bytes alive at any moment of the interval.
    #[default]
    Size,
    /// Bytes alive at the start of the interval.
    AtStart,
    /// Bytes alive at the end of the interval.
    AtEnd,
    /// Allocations alive at any moment of the interval.
    Count,
}

impl FlameWeight {
    /// All weights.
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

/// A box of the flame graph.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlameBox {
    /// Node of the forest.
    pub node: u32,
    /// Key of the node.
    pub key: NodeKey,
    /// Number of children of `node` that share this box, because each is too narrow to be visible; 0 if the box is the
    /// node itself.
    pub smaller: u32,
    /// Left edge.
    pub left: f32,
    /// Width.
    pub width: f32,
    /// Value of the box; for changes, increases minus decreases.
    pub net: i64,
    /// The part of it at the node itself, without its children; 0 for a box of several nodes.
    pub own: i64,
    /// Whether the search matches it.
    pub is_found: bool,
}

/// The visible boxes.
#[derive(Clone, Debug)]
pub struct FlameBoxes {
    /// The boxes by depth, then from left to right. The focus is as deep as its path.
    pub boxes: Vec<FlameBox>,
    /// Start of each depth in `boxes`, and the end of the last.
    pub depths: Vec<usize>,
    /// The part of the focus that the search matches, each site counted once.
    pub found: u64,
}

/// Boxes narrower than the focus divided by this are too narrow to be visible.
const FINEST: u64 = 6000;

/// Largest number of boxes in one graph.
const MAX_BOXES: usize = 200_000;

/// Width and value of some sites. Sites that grew and sites that shrank are drawn side by side, so the width is the sum
/// of the absolute changes of the sites.
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

/// Width and value of each node.
pub struct FlameWeights<'a>(NodeSums<'a, Extent>);

impl<'a> FlameWeights<'a> {
    /// Weighs the sites of a layer that `mask` includes.
    pub fn new(forest: &'a Forest, trace: &Trace, totals: &Totals, mask: &Mask, layer: Layer, weight: FlameWeight) -> Self {
        Self(forest.amounts(trace, totals, mask, layer, |buckets| {
            let net = weight.of(&buckets.numbers());
            Extent { width: net.unsigned_abs().into(), net: net.into() }
        }))
    }

    /// Weighs changes of outstanding bytes: at the end of the second interval minus at the end of the first.
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

    /// Weighs changes of outstanding bytes between two traces, by place in the code, since their sites do not
    /// correspond. `forest` must be over [`Functions::joined`].
    ///
    /// `before` is the number of the side that is subtracted.
    pub fn across(forest: &'a Forest, sides: [(&Trace, &Totals); 2], before: usize, layer: Layer) -> Self {
        let behind = sides[0].0.sites.len() as u32;
        let change = |site: SiteId| -> i128 {
            let (side, site) = site.0.checked_sub(behind).map_or((0, site), |site| (1, SiteId(site)));
            let ((trace, totals), sign) = (sides[side], if side == before { -1 } else { 1 });
            let is_its = trace.layer_of(trace.site(site)) == layer;
            if is_its { sign * i128::from(totals.of(site).numbers().outstanding_to) } else { 0 }
        };
        // The first site of a place represents all sites there.
        Self(NodeSums::by_place(forest, |_, site| {
            let own = forest.own(forest.node_of(site));
            let net = if own.first() == Some(&site) { own.iter().map(|&site| change(site)).sum() } else { 0i128 };
            Some(Extent { width: net.unsigned_abs(), net })
        }))
    }

    /// Weighs CPU samples, by site of `forest`, which must be over [`Functions::of_samples`].
    pub fn of_samples(forest: &'a Forest, by_site: &[u32]) -> Self {
        Self(NodeSums::by_place(forest, |_, site| {
            let count = by_site.get(site.0 as usize).copied().filter(|count| *count > 0)?;
            Some(Extent { width: count.into(), net: count.into() })
        }))
    }

    /// Returns the width of a node.
    pub fn width(&self, node: u32) -> u64 {
        u64::try_from(self.0.amount(node).width).unwrap_or(u64::MAX)
    }

    /// Returns the value of a node; for changes, increases minus decreases.
    pub fn net(&self, node: u32) -> i64 {
        told(self.0.amount(node).net)
    }

    /// Returns the value at the node itself, without its children.
    pub fn own(&self, node: u32) -> i64 {
        told(self.0.own(node).net)
    }
}

/// Clamps a value to 64 bits.
fn told(net: i128) -> i64 {
    net.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// Returns the node at the end of a path of names, or the last one on the path that exists.
pub fn find_way(forest: &Forest, functions: &Functions, way: &[Arc<str>]) -> u32 {
    let step = |node: u32, wanted: &Arc<str>| {
        forest.children(node).iter().copied().find(|&child| node_name(functions, forest.key(child)) == **wanted).ok_or(node)
    };
    let (Ok(node) | Err(node)) = way.iter().try_fold(0, step);
    node
}

/// A box before its key and its fractions are computed.
#[derive(Clone, Copy)]
struct Placed {
    node: u32,
    smaller: u32,
    start: u64,
    width: u64,
    net: i64,
    is_found: bool,
    /// Whether the search matches it or a box around it.
    inside: bool,
}

impl Placed {
    fn node(weights: &FlameWeights<'_>, node: u32, start: u64, is_found: bool, inside: bool) -> Self {
        let (width, net) = (weights.width(node), weights.net(node));
        Self { node, smaller: 0, start, width, net, is_found, inside: inside || is_found }
    }
}

/// Lays out the boxes from the top down to the focus, and those below it.
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

/// Lays out the children of a box: the largest first, then one box for all that are too narrow to be visible. Returns
/// how much of them the search matches.
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
    /// Adds the boxes of one depth.
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
