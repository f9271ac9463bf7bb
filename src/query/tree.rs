//! The one tree of the table: Process → Layer → Heap or tracker → Impacting Type →
//! Type → stack frames → single allocations, as the flat list of its open lines.
//!
//! Only what is open is computed: a closed node costs its share of one pass over
//! the sites of its parent. A node without choice below it (an only child) opens
//! with its parent, so that deep stacks need one click. Single allocations are
//! collected by one scan for all open leaves, at most [`MAX_ALLOCATIONS`] a leaf.

mod column;
mod listing;
mod peaks;
mod search;

use std::sync::Arc;

use rustc_hash::FxHashMap;

pub use column::{Column, Sort};
use column::{compare, measure};
pub use peaks::{peaks, sort_by_peak};

use super::{
    Bucket, ByClass, Cancel, Cancelled, Filter, ImpactingType, Key, LifetimeClass, Numbers, Path, Totals, frame_label,
    heap_label, layer_label,
};
use crate::model::{NodeId, Row, RowId, Site, SiteId, Trace};
use crate::units::Layer;
use search::Hits;

/// Lines of single allocations under one node.
pub const MAX_ALLOCATIONS: usize = 100_000;

/// What the table shows.
#[derive(Clone, Debug, Default)]
pub struct TreeRequest {
    /// Which rows.
    pub filter: Filter,
    /// Only what has this text in its name, or in that of a node above or below; any case.
    pub search: String,
    /// Order.
    pub sort: Sort,
    /// Nodes that the user opened (true) or closed (false).
    pub toggled: Arc<FxHashMap<Path, bool>>,
}

/// One line.
#[derive(Clone, Debug)]
pub struct TreeRow {
    /// The way from the top; the last key is this node's.
    pub path: Path,
    /// Distance from the top.
    pub depth: usize,
    /// Name.
    pub label: String,
    /// Whether there is something below.
    pub has_children: bool,
    /// Whether what is below is shown.
    pub is_open: bool,
    /// Its numbers; of a process with several layers those of the layer that leads
    /// in the sorted column, for the order only.
    pub numbers: Numbers,
    /// Whether the node holds several layers. Layers nest, so it has no numbers of its own.
    pub mixes_layers: bool,
    /// The allocation, if it is a single one.
    pub allocation: Option<(RowId, Row)>,
}

/// The open lines.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// From top to bottom.
    pub rows: Vec<TreeRow>,
    /// For each line the line of its parent.
    parents: Vec<Option<u32>>,
    /// For each site and class the line of the deepest shown node that holds it.
    deepest: Vec<[Option<u32>; 4]>,
}

/// Rows of one site and class.
#[derive(Clone, Copy)]
struct Entry {
    site: SiteId,
    class: LifetimeClass,
    bucket: Bucket,
    /// Level of the node that the search found, counted from the top.
    hit: usize,
}

/// Levels above the heaps.
const HEAP_LEVEL: usize = 2;

/// Levels above the frames.
const FRAME_LEVEL: usize = 5;

/// With so few processes their heaps are in sight from the start.
const MAX_OPEN_AT_FIRST: usize = 4;

/// Builds the open lines. Cost: the sites for each open level, a scan of the rows
/// if single allocations are shown, and a sort of each node's children.
pub fn tree(trace: &Trace, totals: &Totals, request: &TreeRequest, cancel: &Cancel) -> Result<Tree, Cancelled> {
    let mask = request.filter.mask(trace);
    let mut hits = Hits::new(trace, &request.search);
    let mut entries = Vec::new();
    for (site, buckets) in totals.sites() {
        cancel.check()?;
        for class in LifetimeClass::ALL.into_iter().filter(|&class| mask.has(site, class)) {
            let bucket = buckets.get(class);
            if bucket.count == 0 {
                continue;
            }
            if let Some(hit) = hits.level_of(trace.site(site), class) {
                entries.push(Entry { site, class, bucket, hit });
            }
        }
    }
    let mut builder = TreeBuilder {
        trace,
        request,
        cancel,
        tree: Tree { deepest: vec![[None; 4]; trace.sites.len()], ..Tree::default() },
        leaves: Vec::new(),
    };
    builder.level(0, &[], None, entries)?;
    let TreeBuilder { mut tree, leaves, .. } = builder;
    listing::fill(trace, totals.interval, request.sort, &mut tree, leaves, cancel)?;
    Ok(tree)
}

struct TreeBuilder<'a> {
    trace: &'a Trace,
    request: &'a TreeRequest,
    cancel: &'a Cancel,
    tree: Tree,
    leaves: Vec<Leaf>,
}

/// An open node with allocations of its own.
struct Leaf {
    /// Line of the node.
    line: u32,
    /// The allocations come behind this many lines.
    after: u32,
    sites: Vec<(SiteId, LifetimeClass)>,
}

/// The children of one node, by the last key of their path.
struct Child {
    key: Key,
    numbers: Numbers,
    mixes_layers: bool,
    label: String,
    entries: Vec<Entry>,
}

impl TreeBuilder<'_> {
    /// Adds the lines below a node: `level` counts from the top, `path` is the node's.
    fn level(&mut self, level: usize, path: &[Key], parent: Option<u32>, entries: Vec<Entry>) -> Result<(), Cancelled> {
        self.cancel.check()?;
        if level == FRAME_LEVEL {
            return self.frames(NodeId::ROOT, level, path, parent, entries);
        }
        // A process has one commit "heap": a level without choice is left out.
        if level == HEAP_LEVEL && path.get(1) == Some(&Key::Layer(Layer::Commit)) {
            return self.level(3, path, parent, entries);
        }
        let trace = self.trace;
        let children = self.group(entries, |entry| level_key(trace, level, entry));
        self.lines(level, path, parent, children, |this, path, line, child| {
            this.level(level + 1, path, Some(line), child.entries)
        })
    }

    /// Adds the frames called by `node`, then the allocations that it made itself.
    fn frames(
        &mut self,
        node: NodeId,
        level: usize,
        path: &[Key],
        parent: Option<u32>,
        entries: Vec<Entry>,
    ) -> Result<(), Cancelled> {
        self.cancel.check()?;
        let trace = self.trace;
        let own = |entry: &Entry| trace.site(entry.site).stack == node;
        let (own, called): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(own);
        let mut children = self.group(called, |entry| Key::Frame(called_by(trace, trace.site(entry.site).stack, node)));
        let group_path = &path[..path.len() - usize::from(node != NodeId::ROOT)];
        if node == NodeId::ROOT && !own.is_empty() {
            children.push(self.child(Key::Frame(NodeId::ROOT), own.clone()));
        }
        self.lines(level, group_path, parent, children, |this, path, line, child| match child.key {
            Key::Frame(NodeId::ROOT) => {
                this.leaf(line, &child.entries);
                Ok(())
            }
            Key::Frame(node) => this.frames(node, level + 1, path, Some(line), child.entries),
            _ => Ok(()),
        })?;
        if let (true, Some(line)) = (node != NodeId::ROOT, parent) {
            self.leaf(line, &own);
        }
        Ok(())
    }

    fn leaf(&mut self, line: u32, entries: &[Entry]) {
        if entries.is_empty() {
            return;
        }
        let sites = entries.iter().map(|e| (e.site, e.class)).collect();
        self.leaves.push(Leaf { line, after: self.tree.rows.len() as u32, sites });
    }

    /// Adds one line for each child and, if it is open, what is below.
    fn lines(
        &mut self,
        level: usize,
        path: &[Key],
        parent: Option<u32>,
        mut children: Vec<Child>,
        mut below: impl FnMut(&mut Self, &[Key], u32, Child) -> Result<(), Cancelled>,
    ) -> Result<(), Cancelled> {
        let sort = self.request.sort;
        children.sort_by(|a, b| compare(sort, &a.numbers, &a.label, &b.numbers, &b.label));
        let siblings = children.len();
        for child in children {
            let path: Vec<Key> = path.iter().copied().chain([child.key]).collect();
            let line = self.tree.rows.len() as u32;
            for entry in &child.entries {
                self.tree.deepest[entry.site.0 as usize][entry.class as usize] = Some(line);
            }
            let is_open = self.is_open(&path, level, siblings, &child);
            self.tree.parents.push(parent);
            self.tree.rows.push(TreeRow {
                path: path.as_slice().into(),
                depth: parent.map_or(0, |p| self.tree.rows[p as usize].depth + 1),
                label: child.label.clone(),
                has_children: true,
                is_open,
                numbers: child.numbers,
                mixes_layers: child.mixes_layers,
                allocation: None,
            });
            if is_open {
                below(self, &path, line, child)?;
            }
        }
        Ok(())
    }

    fn is_open(&self, path: &[Key], level: usize, siblings: usize, child: &Child) -> bool {
        if let Some(&toggled) = self.request.toggled.get(path) {
            return toggled;
        }
        if child.entries.iter().any(|entry| entry.hit > level) {
            return true;
        }
        let only = siblings == 1;
        // An only child opens by itself unless single allocations would come next.
        let shows_allocations = match child.key {
            Key::Frame(node) => child.entries.iter().any(|e| self.trace.site(e.site).stack == node),
            _ => false,
        };
        let leads_to_heaps = level < HEAP_LEVEL && siblings <= MAX_OPEN_AT_FIRST;
        (only && !shows_allocations) || leads_to_heaps
    }

    /// Entries by key, in the order in which keys are first met.
    fn group(&self, entries: Vec<Entry>, key_of: impl Fn(&Entry) -> Key) -> Vec<Child> {
        let mut groups: Vec<(Key, Vec<Entry>)> = Vec::new();
        let mut index: FxHashMap<Key, usize> = FxHashMap::default();
        for entry in entries {
            let key = key_of(&entry);
            let at = *index.entry(key).or_insert_with(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            });
            groups[at].1.push(entry);
        }
        groups.into_iter().map(|(key, entries)| self.child(key, entries)).collect()
    }

    fn child(&self, key: Key, entries: Vec<Entry>) -> Child {
        let site = entries.first().map(|e| self.trace.site(e.site));
        let label = site.map_or_else(String::new, |site| label(self.trace, key, site));
        let (numbers, mixes_layers) = match key {
            Key::Process(_) => self.leading_layer(&entries),
            _ => (numbers(&entries), false),
        };
        Child { key, numbers, mixes_layers, label, entries }
    }
}

impl TreeBuilder<'_> {
    /// Numbers of the layer that leads in the sorted column, and whether there are others.
    fn leading_layer(&self, entries: &[Entry]) -> (Numbers, bool) {
        let of_layer = |layer| {
            let mut sums = ByClass::default();
            for entry in entries.iter().filter(|e| self.trace.layer_of(self.trace.site(e.site)) == layer) {
                sums.get_mut(entry.class).add(entry.bucket);
            }
            (!sums.is_empty()).then(|| sums.numbers())
        };
        let layers: Vec<Numbers> = Layer::ALL.into_iter().filter_map(of_layer).collect();
        let leading = layers.iter().max_by_key(|n| (measure(self.request.sort.column, n), n.size)).copied();
        (leading.unwrap_or_default(), layers.len() > 1)
    }
}

fn numbers(entries: &[Entry]) -> Numbers {
    let mut sums = ByClass::default();
    for entry in entries {
        sums.get_mut(entry.class).add(entry.bucket);
    }
    sums.numbers()
}

fn level_key(trace: &Trace, level: usize, entry: &Entry) -> Key {
    let site = trace.site(entry.site);
    match level {
        0 => Key::Process(trace.process_of(site)),
        1 => Key::Layer(trace.layer_of(site)),
        2 => Key::Heap(site.heap),
        3 => Key::Impacting(entry.class.impacting()),
        _ => Key::Class(entry.class),
    }
}

/// The node on the way from `node` to `stack` that is called by `node` directly.
fn called_by(trace: &Trace, stack: NodeId, node: NodeId) -> NodeId {
    trace.stacks.chain(stack).find(|&n| trace.stacks.parent(n) == node).unwrap_or(stack)
}

/// Name of a node; `site` is any site under it.
fn label(trace: &Trace, key: Key, site: &Site) -> String {
    match key {
        Key::Process(id) => {
            let process = trace.process(id);
            match process.name.is_empty() {
                true => process.label(),
                false => format!("{} ({})", process.name, process.pid),
            }
        }
        Key::Layer(layer) => layer_label(layer).to_owned(),
        Key::Heap(heap) => heap_label(trace.heap(heap)),
        Key::Impacting(kind) => ImpactingType::name(kind).to_owned(),
        Key::Class(class) => class.name().to_owned(),
        Key::Frame(NodeId::ROOT) => "(no stack recorded)".to_owned(),
        Key::Frame(node) => frame_label(trace, site.caller, trace.stacks.address(node), site.first),
        Key::Row(row) => format!("{:#x}", trace.rows.get(row).address),
    }
}
