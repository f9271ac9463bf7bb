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

    /// The wanted lifetime classes of each site. Cost: the sites, and the stack
    /// nodes for each path with a frame.
    pub fn mask(&self, trace: &Trace) -> Mask {
        if self.is_all() {
            return Mask::all(trace);
        }
        let mut mask = Mask(vec![0; trace.sites.len()]);
        for path in &self.any {
            let classes = path.iter().fold(ALL_CLASSES, |bits, key| bits & key.classes());
            let frames: Vec<Vec<bool>> = path.iter().filter_map(|key| key.frame_test(trace)).collect();
            for (bits, site) in mask.0.iter_mut().zip(&trace.sites) {
                let fits = path.iter().all(|key| key.admits(trace, site));
                if fits && frames.iter().all(|under| under[site.stack.0 as usize]) {
                    *bits |= classes;
                }
            }
        }
        mask
    }
}

/// Bits of all lifetime classes.
pub(super) const ALL_CLASSES: u8 = 0b1111;

impl Key {
    /// Lifetime classes under this node, one bit each.
    fn classes(self) -> u8 {
        let bit = |class: LifetimeClass| 1 << class as u8;
        match self {
            Self::Class(class) => bit(class),
            Self::Impacting(kind) => LifetimeClass::ALL.into_iter().filter(|c| c.impacting() == kind).map(bit).sum(),
            _ => ALL_CLASSES,
        }
    }

    /// Whether a site can lie under this node, frames apart.
    fn admits(self, trace: &Trace, site: &Site) -> bool {
        match self {
            Self::Process(id) => trace.process_of(site) == id,
            Self::Layer(layer) => trace.layer_of(site) == layer,
            Self::Heap(heap) => site.heap == heap,
            Self::Row(row) => ((row.0 as usize) < trace.rows.len()) && trace.site(trace.rows.get(row).site) == site,
            Self::Impacting(_) | Self::Class(_) | Self::Frame(_) => true,
        }
    }

    /// For a frame: which stack nodes lie under it.
    fn frame_test(self, trace: &Trace) -> Option<Vec<bool>> {
        let Self::Frame(node) = self else { return None };
        let mut under = vec![false; trace.stacks.len()];
        if let Some(flag) = under.get_mut(node.0 as usize) {
            *flag = true;
        }
        if node != NodeId::ROOT {
            for i in node.0 as usize + 1..under.len() {
                under[i] = under[trace.stacks.parent(NodeId(i as u32)).0 as usize];
            }
        }
        Some(under)
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

    /// Wanted classes of a site.
    pub fn classes(&self, site: SiteId) -> u8 {
        self.0[site.0 as usize]
    }

    /// Whether rows of this site and class are wanted.
    pub fn has(&self, site: SiteId, class: LifetimeClass) -> bool {
        self.classes(site) >> class as u8 & 1 != 0
    }

    /// Drops all sites for which `keep` does not hold.
    pub fn retain(&mut self, mut keep: impl FnMut(SiteId) -> bool) {
        for (i, bits) in self.0.iter_mut().enumerate() {
            if *bits != 0 && !keep(SiteId(i as u32)) {
                *bits = 0;
            }
        }
    }
}
