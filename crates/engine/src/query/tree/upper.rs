//! The levels from processes down to types. They group heaps and lifetime classes, of which there are few.

use super::column::{magnitude, sort_lines};
use super::found::FRAME_LEVEL;
use super::lines::{Line, NONE, label};
use super::question::Question;
use crate::model::{HeapId, SiteId};
use crate::query::{Bucket, ByClass, Cancelled, Key, LifetimeClass, Numbers};
use crate::tables::KeyedMap;
use crate::units::Layer;

/// Number of levels above the heaps.
const HEAP_LEVEL: usize = 2;

/// Level of the types.
const CLASS_LEVEL: usize = 4;

/// With at most this many processes, their heaps are visible initially.
const MAX_OPEN_AT_FIRST: usize = 4;

/// The lines down to the types.
#[derive(Default)]
pub(super) struct Upper {
    pub(super) lines: Vec<Line>,
    /// Open types, by line.
    pub(super) open: Vec<OpenType>,
    /// By heap and class the line of the deepest node that contains its rows.
    pub(super) deepest: Vec<[u32; 4]>,
}

/// A type whose frames are visible.
pub(super) struct OpenType {
    pub(super) line: u32,
    pub(super) heap: HeapId,
    pub(super) class: LifetimeClass,
    pub(super) path: Vec<Key>,
}

/// The rows of one heap and class.
#[derive(Clone, Copy)]
struct Cell {
    heap: HeapId,
    class: LifetimeClass,
    bucket: Bucket,
    /// Level of the uppermost matching node on its path, counted from the top; [`FRAME_LEVEL`] if only nodes below the
    /// types match, 0 without a search.
    hit: usize,
}

/// Builds the lines from the sums by heap.
pub(super) fn lines(question: &Question<'_>, by_heap: &[ByClass]) -> Result<Upper, Cancelled> {
    let mut cells = Vec::new();
    for (heap, sums) in (0..).map(HeapId).zip(by_heap) {
        for class in LifetimeClass::ALL {
            let bucket = sums.get(class);
            if bucket.count > 0 {
                let hit = question.found.map_or(0, |found| found.level(heap, class));
                cells.push(Cell { heap, class, bucket, hit });
            }
        }
    }
    let deepest = vec![[NONE; 4]; by_heap.len()];
    let upper = Upper { deepest, ..Upper::default() };
    let mut builder = Builder { question, upper, processes: 0, has_met_source: false };
    builder.level(0, &[], NONE, cells)?;
    Ok(builder.upper)
}

/// A node with its contents.
struct Child {
    key: Key,
    numbers: Numbers,
    mixes_layers: bool,
    cells: Vec<Cell>,
}

struct Builder<'a> {
    question: &'a Question<'a>,
    upper: Upper,
    /// Number of processes.
    processes: usize,
    /// Whether the line of a heap, or of the commit of a process, has been added.
    has_met_source: bool,
}

impl Builder<'_> {
    /// Adds the lines below a node; `level` counts from the top, `path` is the node's path.
    fn level(&mut self, level: usize, path: &[Key], parent: u32, cells: Vec<Cell>) -> Result<(), Cancelled> {
        self.question.cancel.check()?;
        if level == FRAME_LEVEL {
            if let Some(cell) = cells.first() {
                let open = OpenType { line: parent, heap: cell.heap, class: cell.class, path: path.to_vec() };
                self.upper.open.push(open);
            }
            return Ok(());
        }
        // A process has only one commit "heap", so that level is left out.
        if level == HEAP_LEVEL && path.get(1) == Some(&Key::Layer(Layer::Commit)) {
            return self.level(3, path, parent, cells);
        }
        let (trace, names) = (self.question.trace, &self.question.request.names);
        let mut children = self.group(level, cells);
        sort_lines(&mut children, self.question.request.sort, |c| c.numbers, |c| label(trace, names, c.key, None));
        let siblings = children.len();
        if level == 0 {
            self.processes = siblings;
        }
        self.hold(path, &mut children);
        for child in children {
            let mut path: Vec<Key> = path.iter().copied().chain([child.key]).collect();
            // The only type of an impacting type shares its line.
            let only_class = child.cells.first().map(|cell| cell.class).filter(|class| {
                self.question.request.chains && level == CLASS_LEVEL - 1 && child.cells.iter().all(|cell| cell.class == *class)
            });
            let outer = path.clone();
            let alive = self.class_at_instant(&child);
            path.extend(alive.map(|class| Key::Impacting(class.impacting())));
            let only_class = only_class.or(alive);
            let level = if only_class.is_some() { CLASS_LEVEL } else { level };
            path.extend(only_class.map(Key::Class));
            let line = self.upper.lines.len() as u32;
            for cell in &child.cells {
                self.upper.deepest[cell.heap.0 as usize][cell.class as usize] = line;
            }
            let is_open = self.is_open([&path, &outer], level, siblings, &child);
            self.upper.lines.push(Line {
                key: path.last().copied().unwrap_or(child.key),
                head: child.key,
                parent,
                group: NONE,
                depth: self.upper.lines.get(parent as usize).map_or(0, |parent| parent.depth + 1),
                site: SiteId(u32::MAX),
                folded: 0,
                is_open,
                mixes_layers: child.mixes_layers,
                numbers: child.numbers,
            });
            if is_open {
                self.level(level + 1, &path, line, child.cells)?;
            }
        }
        Ok(())
    }

    /// Returns the only class of a heap, or of the commit of a process, at an instant, if its line stands for both.
    fn class_at_instant(&self, child: &Child) -> Option<LifetimeClass> {
        let is_source = matches!(child.key, Key::Heap(_) | Key::Layer(Layer::Commit));
        let joins = self.question.request.joins_at_instants && self.question.totals.interval.is_empty();
        let class = child.cells.first().filter(|_| is_source && joins)?.class;
        child.cells.iter().all(|cell| cell.class == class).then_some(class)
    }

    /// Returns whether a line is open. The user's choice for one of its nodes decides, the innermost first. Of several processes
    /// all heaps are visible at first, but only the types of the first one: otherwise a screen would end in the first process.
    fn is_open(&mut self, nodes: [&[Key]; 2], level: usize, siblings: usize, child: &Child) -> bool {
        let is_source = matches!(child.key, Key::Heap(_) | Key::Layer(Layer::Commit));
        let is_later = is_source && std::mem::replace(&mut self.has_met_source, true) && self.processes > 1;
        let toggled = &self.question.request.toggled;
        if let Some(&toggled) = nodes.into_iter().find_map(|path| toggled.get(path)) {
            return toggled;
        }
        let leads_to_heaps = level < HEAP_LEVEL && siblings <= MAX_OPEN_AT_FIRST;
        !is_later && (siblings == 1 || leads_to_heaps) || child.cells.iter().any(|cell| cell.hit > level)
    }

    /// Lets the lines below a node keep their held positions; new lines follow.
    fn hold(&self, path: &[Key], children: &mut [Child]) {
        let held = &self.question.request.held;
        if held.is_empty() {
            return;
        }
        let mut path = path.to_vec();
        children.sort_by_cached_key(|child| {
            path.push(child.key);
            let inner = child.cells.first().map(|cell| Key::Class(cell.class));
            let place = held.get(path.as_slice()).or_else(|| {
                path.extend(inner);
                let place = held.get(path.as_slice());
                path.truncate(path.len() - usize::from(inner.is_some()));
                place
            });
            path.pop();
            place.copied().unwrap_or(u32::MAX)
        });
    }

    /// Groups cells by key, in the order in which the keys first appear.
    fn group(&self, level: usize, cells: Vec<Cell>) -> Vec<Child> {
        let mut groups: Vec<(Key, Vec<Cell>)> = Vec::new();
        let mut index: KeyedMap<Key, usize> = KeyedMap::default();
        for cell in cells {
            let key = self.key(level, &cell);
            let at = *index.entry(key).or_insert_with(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            });
            groups[at].1.push(cell);
        }
        groups.into_iter().map(|(key, cells)| self.child(key, cells)).collect()
    }

    fn key(&self, level: usize, cell: &Cell) -> Key {
        let heap = self.question.trace.heap(cell.heap);
        match level {
            0 => Key::Process(heap.process),
            1 => Key::Layer(heap.layer),
            2 => Key::Heap(cell.heap),
            3 => Key::Impacting(cell.class.impacting()),
            _ => Key::Class(cell.class),
        }
    }

    fn child(&self, key: Key, cells: Vec<Cell>) -> Child {
        let (numbers, mixes_layers) = match key {
            Key::Process(_) => self.leading_layer(&cells),
            _ => (sum(&cells).numbers(), false),
        };
        Child { key, numbers, mixes_layers, cells }
    }

    /// Returns the numbers of the leading layer in the sorted column, and whether there are other layers.
    fn leading_layer(&self, cells: &[Cell]) -> (Numbers, bool) {
        let trace = self.question.trace;
        let of_layer = |layer| {
            let sums = sum(cells.iter().filter(|cell| trace.heap(cell.heap).layer == layer));
            (!sums.is_empty()).then(|| sums.numbers())
        };
        let layers: Vec<Numbers> = Layer::ALL.into_iter().filter_map(of_layer).collect();
        let column = self.question.request.sort.column;
        let leading = layers.iter().max_by_key(|n| (magnitude(column, n), n.size)).copied();
        (leading.unwrap_or_default(), layers.len() > 1)
    }
}

fn sum<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> ByClass {
    let mut sums = ByClass::default();
    for cell in cells {
        sums.get_mut(cell.class).add(cell.bucket);
    }
    sums
}
