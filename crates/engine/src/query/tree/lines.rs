//! The visible lines in compact form: nodes without names or paths, and for each open leaf the ids of its allocations.
//! Only lines on the screen are expanded to [`TreeRow`]s, so a tree of a million lines costs no more than what is
//! drawn.

use std::sync::Arc;

use super::Words;
use super::request::TreeRequest;
use crate::model::{NodeId, Row, RowId, Site, SiteId, Trace};
use crate::names::Names;
use crate::query::frame_name::FrameName;
use crate::query::line_tree::NOBODY;
use crate::query::{ByClass, Fold, ImpactingType, Key, LifetimeClass, Mask, Numbers, Path, Recorded, heap_label, layer_label};
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer};

/// No line.
pub(super) const NONE: u32 = NOBODY;

/// A line with its name and path.
#[derive(Clone, Debug)]
pub struct TreeRow {
    /// The path from the top; the last key is this node's.
    pub path: Path,
    /// Depth below the top.
    pub depth: usize,
    /// Name.
    pub label: String,
    /// Whether there are lines below it.
    pub has_children: bool,
    /// Whether these are shown.
    pub is_open: bool,
    /// Its numbers. For a process with several layers those of the leading layer in the sorted column; they are only
    /// used for sorting.
    pub numbers: Numbers,
    /// Whether it stands only for frames that are not the user's own.
    pub is_foreign: bool,
    /// Whether the node contains several layers. Layers nest, so it has no numbers of its own.
    pub mixes_layers: bool,
    /// The allocation, if it is a single one.
    pub allocation: Option<(RowId, Row)>,
}

/// The visible lines of the tree.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) interval: Interval,
    pub(super) names: Arc<Names>,
    /// Which frames are folded away.
    pub(super) fold: Fold,
    pub(super) words: Words,
    /// The nodes, from top to bottom.
    pub(super) lines: Vec<Line>,
    /// Lists of single allocations, from top to bottom.
    pub(super) listings: Vec<Listing>,
    /// The rows left by the filter.
    pub(super) mask: Arc<Mask>,
    /// The rows left by filter and search.
    pub(super) wanted: Arc<Mask>,
    pub(super) by_heap: Vec<ByClass>,
    /// By heap and class the line of the deepest node that contains its rows, not counting frames.
    pub(super) deepest: Vec<[u32; 4]>,
    /// Lines of the deepest nodes by site, for the open types.
    pub(super) sections: Vec<Section>,
}

/// A node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) key: Key,
    /// The outermost of the nodes that share the line; equal to `key` if there is only one.
    pub(super) head: Key,
    /// Parent line, or [`NONE`].
    pub(super) parent: u32,
    /// For a frame, the line of its type.
    pub(super) group: u32,
    pub(super) depth: u32,
    /// For a frame, a site below it, which determines its name.
    pub(super) site: SiteId,
    /// How many of the frames that share the line, from the outermost on, are part of the thread start, if that is
    /// folded. For a line for folded frames 1 if they are of one stack, else 0.
    pub(super) folded: u32,
    pub(super) is_open: bool,
    pub(super) mixes_layers: bool,
    pub(super) numbers: Numbers,
}

/// An open node with allocations of its own.
pub(super) struct Leaf {
    pub(super) line: u32,
    /// Number of lines before the allocations.
    pub(super) after: u32,
    pub(super) class: LifetimeClass,
    pub(super) sites: Vec<SiteId>,
}

/// The allocations of a leaf.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    pub(super) line: u32,
    /// Number of nodes before them.
    pub(super) after: u32,
    /// Number of allocations in earlier listings.
    pub(super) before: usize,
    pub(super) rows: Arc<[RowId]>,
}

impl Tree {
    /// Returns the bytes that it takes, roughly.
    pub fn bytes(&self) -> usize {
        let listed: usize = self.listings.iter().map(|listing| size_of_val(&listing.rows[..])).sum();
        let deepest = |section: &Section| size_of_val(&section.sites[..]) + size_of_val(&section.deepest[..]);
        let sections: usize = self.sections.iter().map(deepest).sum();
        size_of_val(&self.lines[..]) + size_of_val(&self.by_heap[..]) + size_of_val(&self.deepest[..]) + listed + sections
    }
}

impl Listing {
    /// Returns the index of its first allocation among all lines.
    fn start(&self) -> usize {
        self.after as usize + self.before
    }
}

/// For each site of an open type, the line of the deepest node that contains it.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) class: LifetimeClass,
    pub(super) sites: Arc<[SiteId]>,
    pub(super) deepest: Vec<u32>,
}

/// The item at an index of the list.
#[derive(Clone, Copy)]
pub(super) enum At {
    Node(u32),
    /// An allocation: the line of its leaf, and its row.
    Allocation(u32, RowId),
}

impl Tree {
    pub(super) fn new(interval: Interval, mask: Arc<Mask>, request: &TreeRequest) -> Self {
        Self {
            interval,
            names: Arc::clone(&request.names),
            fold: request.fold,
            words: request.words,
            lines: Vec::new(),
            listings: Vec::new(),
            mask: Arc::clone(&mask),
            wanted: mask,
            by_heap: Vec::new(),
            deepest: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.lines.len() + self.listings.last().map_or(0, |last| last.before + last.rows.len())
    }

    /// Returns whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the rows left by the filter, whatever the search.
    pub fn mask(&self) -> &Mask {
        &self.mask
    }

    /// Returns the sums by heap of the rows left by the filter.
    pub fn by_heap(&self) -> &[ByClass] {
        &self.by_heap
    }

    /// Returns a line. `trace` must be the one that the tree was built from.
    pub fn row(&self, trace: &Trace, index: usize) -> Option<TreeRow> {
        Some(match self.at(index)? {
            At::Node(line) => self.node_row(trace, line),
            At::Allocation(leaf, id) => self.allocation_row(trace, leaf, id),
        })
    }

    /// Returns all lines, one by one.
    pub fn rows<'a>(&'a self, trace: &'a Trace) -> impl Iterator<Item = TreeRow> + 'a {
        (0..self.len()).filter_map(|index| self.row(trace, index))
    }

    /// Returns the path of a line.
    pub fn path(&self, index: usize) -> Option<Path> {
        Some(match self.at(index)? {
            At::Node(line) => self.path_of(line).into(),
            At::Allocation(leaf, id) => self.path_of(leaf).into_iter().chain([Key::Row(id)]).collect(),
        })
    }

    /// Returns the recorded frame of a line, and the level of its function.
    pub fn frame<'a>(&'a self, trace: &'a Trace, index: usize) -> Option<(Recorded<'a>, u16)> {
        let At::Node(line) = self.at(index)? else { return None };
        let line = &self.lines[line as usize];
        let frame = line.key.frame().filter(|(node, _)| *node != NodeId::ROOT && !matches!(line.key, Key::Inside(..)));
        let (node, level) = frame?;
        let site = trace.sites.get(line.site.0 as usize)?;
        Some((Recorded::in_tree(trace, &self.names, node, site), level))
    }

    /// Returns the nodes at the top.
    pub fn tops(&self) -> impl Iterator<Item = Path> + '_ {
        let tops = self.lines.iter().filter(|line| line.parent == NONE);
        tops.map(|line| [line.key].into())
    }

    /// Returns the lines of layers, as node numbers (see [`super::peaks`]).
    pub fn layers(&self) -> impl Iterator<Item = (usize, Layer)> + '_ {
        let layer = |line: &Line| if let Key::Layer(layer) = line.head { Some(layer) } else { None };
        self.lines.iter().enumerate().filter_map(move |(at, line)| Some((at, layer(line)?)))
    }

    /// Returns the parent of a line.
    pub fn parent(&self, index: usize) -> Option<usize> {
        let parent = match self.at(index)? {
            At::Node(line) => self.lines[line as usize].parent,
            At::Allocation(leaf, _) => leaf,
        };
        (parent != NONE).then(|| self.index_of(parent))
    }

    /// Returns the index of a node or allocation; for a node that shares a line, that of the line. Cost: a look at each
    /// line.
    pub fn find(&self, trace: &Trace, path: &[Key]) -> Option<usize> {
        let (&key, above) = path.split_last()?;
        if let Key::Row(id) = key {
            let leaf = self.find_node(trace, above)?;
            let listing = self.listings.iter().find(|listing| listing.line == leaf)?;
            let at = listing.rows.iter().position(|&row| row == id)?;
            return Some(listing.start() + at);
        }
        self.find_node(trace, path).map(|line| self.index_of(line))
    }

    fn find_node(&self, trace: &Trace, path: &[Key]) -> Option<u32> {
        let key = path.last()?;
        let is_it = |line: &usize| self.lines[*line].key == *key && self.path_of(*line as u32) == path;
        let shares = |line: &usize| self.shares(trace, *line as u32, path);
        (0..self.lines.len()).find(is_it).or_else(|| (0..self.lines.len()).find(shares)).map(|line| line as u32)
    }

    /// Returns the positions of the lines above the frames, for a request that must keep them.
    pub fn order(&self) -> KeyedMap<Path, u32> {
        let upper = |line: &u32| self.lines[*line as usize].key.frame().is_none();
        (0..self.lines.len() as u32).filter(upper).map(|line| (self.path_of(line).into(), line)).collect()
    }

    /// Returns the peak of a line, given the peaks of all nodes (see [`super::peaks`]), or of some.
    pub fn peak(&self, trace: &Trace, peaks: &[impl Copy + Into<Option<u64>>], index: usize) -> Option<u64> {
        match self.at(index)? {
            At::Node(line) => peaks.get(line as usize).and_then(|&peak| peak.into()),
            At::Allocation(_, id) => Some(allocation_peak(&trace.rows.get(id))),
        }
    }

    pub(super) fn at(&self, index: usize) -> Option<At> {
        let behind = self.listings.partition_point(|listing| listing.start() <= index);
        let Some(listing) = behind.checked_sub(1).map(|i| &self.listings[i]) else {
            return (index < self.lines.len()).then_some(At::Node(index as u32));
        };
        let at = index - listing.start();
        if let Some(&row) = listing.rows.get(at) {
            return Some(At::Allocation(listing.line, row));
        }
        let line = index - listing.before - listing.rows.len();
        (line < self.lines.len()).then_some(At::Node(line as u32))
    }

    pub(super) fn index_of(&self, line: u32) -> usize {
        let before = self.listings.partition_point(|listing| listing.after <= line);
        let listed = before.checked_sub(1).map_or(0, |i| self.listings[i].before + self.listings[i].rows.len());
        line as usize + listed
    }

    pub(super) fn path_of(&self, line: u32) -> Vec<Key> {
        let own = self.lines[line as usize];
        // The key of a frame identifies its callers, too.
        let first = if own.key.frame().is_some() { own.group } else { own.parent };
        let known = |line: u32| Some(line).filter(|&line| line != NONE);
        let above = std::iter::successors(known(first), |&line| known(self.lines[line as usize].parent));
        let mut path: Vec<Key> = above.flat_map(|line| own_keys(&self.lines[line as usize])).collect();
        path.reverse();
        path.extend(own_keys(&own).rev());
        path
    }

    fn node_row(&self, trace: &Trace, index: u32) -> TreeRow {
        let line = self.lines[index as usize];
        TreeRow {
            path: self.path_of(index).into(),
            depth: line.depth as usize,
            label: self.line_label(trace, &line),
            has_children: true,
            is_open: line.is_open,
            is_foreign: self.is_foreign(trace, &line),
            numbers: line.numbers,
            mixes_layers: line.mixes_layers,
            allocation: None,
        }
    }

    fn allocation_row(&self, trace: &Trace, leaf: u32, id: RowId) -> TreeRow {
        let row = trace.rows.get(id);
        let mut sums = ByClass::default();
        if let Some(class) = LifetimeClass::of(row.birth, row.death, self.interval) {
            sums.get_mut(class).add_row(row.size);
        }
        TreeRow {
            path: self.path_of(leaf).into_iter().chain([Key::Row(id)]).collect(),
            depth: self.lines[leaf as usize].depth as usize + 1,
            label: label(trace, &self.names, Key::Row(id), None),
            has_children: false,
            is_open: false,
            is_foreign: false,
            numbers: sums.numbers(),
            mixes_layers: false,
            allocation: Some((id, row)),
        }
    }
}

/// Returns the keys that a line adds to the paths below it, the last first. The key of a frame identifies its callers,
/// too.
fn own_keys(line: &Line) -> impl DoubleEndedIterator<Item = Key> + use<> {
    let head = (line.head != line.key && line.key.frame().is_none()).then_some(line.head);
    let between = match (head, line.key) {
        (Some(Key::Heap(_) | Key::Layer(_)), Key::Class(class)) => Some(Key::Impacting(class.impacting())),
        _ => None,
    };
    std::iter::once(line.key).chain(between).chain(head)
}

/// Returns the peak of outstanding bytes of one allocation.
pub(super) fn allocation_peak(row: &Row) -> u64 {
    if row.birth == row.death { 0 } else { row.size } // 0: never outstanding at any tick
}

/// Returns the name of a node; `site` is any site below a frame.
pub(super) fn label(trace: &Trace, names: &Names, key: Key, site: Option<&Site>) -> String {
    match key {
        Key::Process(id) => trace.process(id).label_with_id(),
        Key::Layer(layer) => layer_label(layer).to_owned(),
        Key::Heap(heap) => heap_label(trace.heap(heap)),
        Key::Impacting(kind) => ImpactingType::name(kind).to_owned(),
        Key::Class(class) => class.name().to_owned(),
        Key::Frame(node) => frame_name(trace, names, node, 0, site).to_string(),
        Key::Inlined(node, level) | Key::Inside(node, level) => frame_name(trace, names, node, level, site).to_string(),
        Key::Row(row) => format!("{:#x}", trace.rows.get(row).address),
    }
}

/// Returns the name of a frame; `site` is any site below it.
pub(super) fn frame_name<'a>(trace: &'a Trace, names: &'a Names, node: NodeId, level: u16, site: Option<&Site>) -> FrameName<'a> {
    match site {
        _ if node == NodeId::ROOT => FrameName::NoStack,
        Some(site) => Recorded::in_tree(trace, names, node, site).name(level),
        None => FrameName::At(trace.stacks.address(node)),
    }
}
