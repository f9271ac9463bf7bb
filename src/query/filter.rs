//! What a query is about: everything, or what lies under some nodes of the tree.

use std::sync::Arc;

use super::{ImpactingType, LifetimeClass};
use crate::model::{HeapId, NodeId, ProcessId, RowId, Site, SiteId, Trace};
use crate::units::Layer;

/// One step down the tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    /// One life of a process.
    Process(ProcessId),
    /// One layer.
    Layer(Layer),
    /// One heap or tracker.
    Heap(HeapId),
    /// One impacting type.
    Impacting(ImpactingType),
    /// One lifetime class.
    Class(LifetimeClass),
    /// A frame and all that it called; [`NodeId::ROOT`] is "no stack recorded".
    Frame(NodeId),
    /// A function that was inlined into a frame's own: how many levels inwards. It holds
    /// what the frame holds.
    Inlined(NodeId, u16),
    /// What is folded away below a frame's function, in one line ([`Fold::Foreign`](super::Fold)). As a choice of rows
    /// it is the frame.
    Inside(NodeId, u16),
    /// One allocation.
    Row(RowId),
}

/// The way from the top of the tree to a node. Cheap to clone and to compare.
pub type Path = Arc<[Key]>;

/// A choice of rows: those under any of `any`, or all if there are none.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Filter {
    /// Nodes whose rows are wanted.
    pub any: Vec<Path>,
}

impl Filter {
    /// Everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// The rows under one node.
    pub fn under(path: impl Into<Path>) -> Self {
        Self { any: vec![path.into()] }
    }

    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.any.is_empty()
    }

    /// The wanted lifetime classes of each site. Cost: a byte a site; then the heaps
    /// for each path, and what is under it.
    pub fn mask(&self, trace: &Trace) -> Mask {
        if self.is_all() {
            return Mask::all(trace);
        }
        let mut mask = Mask(vec![0; trace.sites.len()]);
        for path in &self.any {
            mask.add(trace, path);
        }
        mask
    }
}

/// Bits of all lifetime classes.
pub(super) const ALL_CLASSES: u8 = 0b1111;

impl Key {
    /// The key of a frame's line at a level; see [`super::Recorded`].
    pub fn of_frame(node: NodeId, level: u16) -> Self {
        if level == 0 { Self::Frame(node) } else { Self::Inlined(node, level) }
    }

    /// Whether a path with it tells rows of one place apart, by how they live in an interval or one by one.
    pub fn tells_rows_apart(self) -> bool {
        matches!(self, Self::Impacting(_) | Self::Class(_) | Self::Row(_))
    }

    /// Node and level of a frame.
    pub fn frame(self) -> Option<(NodeId, u16)> {
        match self {
            Self::Frame(node) => Some((node, 0)),
            Self::Inlined(node, level) | Self::Inside(node, level) => Some((node, level)),
            _ => None,
        }
    }

    /// Lifetime classes under this node, one bit each.
    fn classes(self) -> u8 {
        let bit = |class: LifetimeClass| 1 << class as u8;
        match self {
            Self::Class(class) => bit(class),
            Self::Impacting(kind) => LifetimeClass::ALL.into_iter().filter(|c| c.impacting() == kind).map(bit).sum(),
            _ => ALL_CLASSES,
        }
    }

    /// Whether anything of a heap can lie under this node.
    fn admits(self, trace: &Trace, id: HeapId) -> bool {
        let heap = trace.heap(id);
        match self {
            Self::Process(process) => heap.process == process,
            Self::Layer(layer) => heap.layer == layer,
            Self::Heap(wanted) => id == wanted,
            Self::Row(_) | Self::Impacting(_) | Self::Class(_) | Self::Frame(_) | Self::Inlined(..) | Self::Inside(..) => true,
        }
    }
}

/// For each site the wanted lifetime classes, one bit each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mask(Vec<u8>);

impl Mask {
    /// Everything.
    pub fn all(trace: &Trace) -> Self {
        Self(vec![ALL_CLASSES; trace.sites.len()])
    }

    /// All classes of the sites for which `wants` holds.
    pub fn of_sites(trace: &Trace, wants: impl Fn(SiteId, &Site) -> bool) -> Self {
        let bits = |(i, site): (usize, &Site)| if wants(SiteId(i as u32), site) { ALL_CLASSES } else { 0 };
        Self(trace.sites.iter().enumerate().map(bits).collect())
    }

    /// What this choice and another have in common.
    pub fn and(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(ours, theirs)| *ours &= theirs);
    }

    /// What this choice has and another has not.
    pub fn but(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(ours, theirs)| *ours &= !theirs);
    }

    /// Adds what is under a node.
    fn add(&mut self, trace: &Trace, path: &[Key]) {
        let outline = trace.outline();
        let classes = path.iter().fold(ALL_CLASSES, |bits, key| bits & key.classes());
        let mut places = 0..u32::MAX;
        for (node, _) in path.iter().filter_map(|key| key.frame()) {
            let under = outline.places_under(node);
            places = places.start.max(under.start)..places.end.min(under.end);
        }
        // A single allocation is not told apart from others of its site.
        let row = path.iter().find_map(|key| if let Key::Row(row) = key { Some(*row) } else { None });
        let row = row.map(|row| ((row.0 as usize) < trace.rows.len()).then(|| trace.site(trace.rows.site(row))));
        for heap in (0..trace.heaps.len() as u32).map(HeapId).filter(|&id| path.iter().all(|key| key.admits(trace, id))) {
            for &site in &outline.sites()[outline.within(heap, &places)] {
                if row.is_none_or(|wanted| wanted.is_some_and(|wanted| trace.site(site) == wanted)) {
                    self.0[site.0 as usize] |= classes;
                }
            }
        }
    }

    /// Wanted classes of a site.
    pub fn classes(&self, site: SiteId) -> u8 {
        self.0[site.0 as usize]
    }

    /// Whether rows of this site and class are wanted.
    pub fn has(&self, site: SiteId, class: LifetimeClass) -> bool {
        self.classes(site) >> class as u8 & 1 != 0
    }

    /// Bits of all sites, for those who make a mask of their own.
    pub(super) fn bits_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// The one layer that is under a node, if there is only one.
pub fn layer_of(trace: &Trace, path: &Path) -> Option<Layer> {
    let named = path.iter().find_map(|key| match *key {
        Key::Layer(layer) => Some(layer),
        Key::Heap(heap) => Some(trace.heap(heap).layer),
        _ => None,
    });
    let Some(&Key::Process(process)) = path.first() else { return named };
    named.or_else(|| {
        let mut layers = trace.heaps.iter().filter(|heap| heap.process == process).map(|heap| heap.layer);
        let first = layers.next()?;
        layers.all(|layer| layer == first).then_some(first)
    })
}
