//! The rows that a query is about: all, or those below some nodes of the tree.

use std::sync::Arc;

use super::{ImpactingType, LifetimeClass};
use crate::model::{HeapId, NodeId, ProcessId, RowId, Site, SiteId, Trace};
use crate::units::Layer;

/// One step down the tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    /// One process instance.
    Process(ProcessId),
    /// One layer.
    Layer(Layer),
    /// One heap or tracker.
    Heap(HeapId),
    /// One impacting type.
    Impacting(ImpactingType),
    /// One lifetime class.
    Class(LifetimeClass),
    /// A frame and everything that it called; [`NodeId::ROOT`] is "no stack recorded".
    Frame(NodeId),
    /// A function inlined into a frame's own function, so many levels deep. It has the same rows as the frame.
    Inlined(NodeId, u16),
    /// The frames folded away below a frame's function, in one line ([`Fold::Foreign`](super::Fold)). As a filter it is
    /// the same as the frame.
    Inside(NodeId, u16),
    /// One allocation.
    Row(RowId),
}

/// The path from the root of the tree to a node. Cheap to clone and to compare.
pub type Path = Arc<[Key]>;

/// A selection of rows: those below any node in `any`, or all rows if it is empty.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Filter {
    /// Nodes whose rows are selected.
    pub any: Vec<Path>,
}

impl Filter {
    /// Selects all rows.
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects the rows below one node.
    pub fn under(path: impl Into<Path>) -> Self {
        Self { any: vec![path.into()] }
    }

    /// Returns whether all rows are selected.
    pub fn is_all(&self) -> bool {
        self.any.is_empty()
    }

    /// Returns the selected lifetime classes of each site. Cost: a byte per site; then for each path the heaps, and the
    /// sites below it.
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

/// The bits of all lifetime classes.
pub(super) const ALL_CLASSES: u8 = 0b1111;

impl Key {
    /// Returns the key of a frame's line at a level; see [`super::Recorded`].
    pub fn of_frame(node: NodeId, level: u16) -> Self {
        if level == 0 { Self::Frame(node) } else { Self::Inlined(node, level) }
    }

    /// Returns whether the key selects only some rows of a site: by their lifetime in an interval, or a single one.
    pub fn tells_rows_apart(self) -> bool {
        matches!(self, Self::Impacting(_) | Self::Class(_) | Self::Row(_))
    }

    /// Returns node and level if it is a frame.
    pub fn frame(self) -> Option<(NodeId, u16)> {
        match self {
            Self::Frame(node) => Some((node, 0)),
            Self::Inlined(node, level) | Self::Inside(node, level) => Some((node, level)),
            _ => None,
        }
    }

    /// Returns the lifetime classes below this node, one bit each.
    fn classes(self) -> u8 {
        let bit = |class: LifetimeClass| 1 << class as u8;
        match self {
            Self::Class(class) => bit(class),
            Self::Impacting(kind) => LifetimeClass::ALL.into_iter().filter(|c| c.impacting() == kind).map(bit).sum(),
            _ => ALL_CLASSES,
        }
    }

    /// Returns whether this node can contain rows of a heap.
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

/// The selected lifetime classes of each site, one bit per class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mask(Vec<u8>);

impl Mask {
    /// Selects all classes of all sites.
    pub fn all(trace: &Trace) -> Self {
        Self(vec![ALL_CLASSES; trace.sites.len()])
    }

    /// Selects all classes of the sites for which `wants` returns true.
    pub fn of_sites(trace: &Trace, wants: impl Fn(SiteId, &Site) -> bool) -> Self {
        let bits = |(i, site): (usize, &Site)| if wants(SiteId(i as u32), site) { ALL_CLASSES } else { 0 };
        Self(trace.sites.iter().enumerate().map(bits).collect())
    }

    /// Keeps only what `other` also selects.
    pub fn and(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(ours, theirs)| *ours &= theirs);
    }

    /// Removes what `other` selects.
    pub fn but(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(ours, theirs)| *ours &= !theirs);
    }

    /// Adds the rows below a node.
    fn add(&mut self, trace: &Trace, path: &[Key]) {
        let outline = trace.outline();
        let classes = path.iter().fold(ALL_CLASSES, |bits, key| bits & key.classes());
        let mut places = 0..u32::MAX;
        for (node, _) in path.iter().filter_map(|key| key.frame()) {
            let under = outline.places_under(node);
            places = places.start.max(under.start)..places.end.min(under.end);
        }
        // A mask selects whole sites, so a single allocation selects its site.
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

    /// Returns the selected classes of a site.
    #[inline]
    pub fn classes(&self, site: SiteId) -> u8 {
        self.0[site.0 as usize]
    }

    /// Returns whether rows of this site and class are selected.
    #[inline]
    pub fn has(&self, site: SiteId, class: LifetimeClass) -> bool {
        self.classes(site) >> class as u8 & 1 != 0
    }

    /// Returns the bits of all sites, for building a custom mask.
    pub(super) fn bits_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Returns the layer below a node, if there is exactly one.
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
