//! The layout of the window's parts: the user moves, splits and stacks them (`egui_tiles`) or chooses a
//! preset; the settings keep it as a [`Shape`].
//!
//! Every part appears exactly once, whatever a file says: duplicates and unknown parts are left out,
//! and missing parts are added to the others. Cost: a look at some twenty tiles a frame.

mod dropping;
mod shape;

use eframe::egui::{Id, Vec2};
use egui_tiles::{Container, Linear, LinearDir, SimplificationOptions, Tabs, Tile, TileId, Tiles, Tree};

use super::ids::Tab;
pub use shape::{Preset, Shape, Share};

/// A part of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The list of processes and heaps.
    Sources,
    /// The graph and its overview.
    Graph,
    /// A table, a chart or another page with a tab.
    Tab(Tab),
}

/// The layout of all parts.
pub struct Layout {
    pub tree: Tree<Part>,
    /// The width at which it was drawn last.
    width: Option<f32>,
    /// The width to give the list of sources before the next drawing.
    wanted: Option<f32>,
    /// Whether a part was dropped since then, so that others may have become too small.
    is_dropped: bool,
    /// The tab to scroll into view, and the number of frames left for it.
    pub reveal: Option<(Tab, u8)>,
    /// The tab that was chosen from *More* last: it keeps a place in the row until another one takes it.
    pub recent: Option<Tab>,
}

/// Frames in which a hidden tab is scrolled into view; arrows appear and disappear meanwhile.
pub const FRAMES: u8 = 8;

/// Maximum nesting of shapes; nobody drags that deep.
const DEEPEST: usize = 12;

/// The width of the sources before the user changes it, in points.
const SOURCES_WIDTH: f32 = 290.0;

/// A width that the list of sources can have, closest to the one in a file.
pub fn bounded_width(width: f32) -> f32 {
    const NARROWEST: f32 = 100.0;
    const WIDEST: f32 = 4_000.0;
    width.clamp(NARROWEST, WIDEST)
}

impl Layout {
    /// Restores a saved layout, or uses the preset for a first look, with this width of the list of sources.
    pub fn new(shape: Option<&Shape>, sources: Option<f32>) -> Self {
        let first = Preset::FirstLook.shape();
        let (tree, wanted) = (Tree::empty(id()), None);
        let mut layout = Self { tree, width: None, wanted, is_dropped: false, reveal: None, recent: None };
        layout.build(shape.unwrap_or(&first));
        layout.wanted = sources.filter(|width| width.is_finite()).map(bounded_width);
        layout
    }

    /// Arranges all parts as in a preset.
    pub fn choose(&mut self, preset: Preset) {
        let shape = preset.shape();
        self.build(&shape);
    }

    /// Whether all parts are arranged as in a preset, whatever their sizes and whichever tabs are in front.
    pub fn is(&self, preset: Preset) -> bool {
        self.shape().is_some_and(|shape| has_parts_of(&shape, &preset.shape()))
    }

    fn build(&mut self, shape: &Shape) {
        let mut missing = Part::all();
        let mut tiles = Tiles::default();
        let root = add(&mut tiles, shape, &mut missing, 0);
        let tabs: Vec<TileId> =
            missing.extract_if(.., |part| matches!(part, Part::Tab(_))).map(|part| tiles.insert_pane(part)).collect();
        let root = match (root, most_tabs(&tiles), tabs.is_empty()) {
            (Some(root), _, true) => root,
            (Some(root), Some(at), false) => {
                if let Some(Tile::Container(container)) = tiles.get_mut(at) {
                    tabs.into_iter().for_each(|tab| container.add_child(tab));
                }
                root
            }
            (Some(root), None, false) => {
                let tabs = tiles.insert_tab_tile(tabs);
                tiles.insert_vertical_tile(vec![root, tabs])
            }
            (None, ..) => tiles.insert_tab_tile(tabs),
        };
        // Sources and graph, if they are missing, are put before all others.
        let root = missing.into_iter().rev().fold(root, |root, part| {
            let pane = tiles.insert_pane(part);
            let (dir, share) = if part == Part::Sources { (LinearDir::Horizontal, 0.22) } else { (LinearDir::Vertical, 0.46) };
            tiles.insert_container(Linear::new_binary(dir, [pane, root], share))
        });
        self.tree = Tree::new(id(), root, tiles);
        self.tree.simplify(&SIMPLE);
        (self.width, self.wanted) = (None, None);
    }

    /// The layout as a shape that can be saved.
    pub fn shape(&self) -> Option<Shape> {
        shape_of(&self.tree.tiles, self.tree.root?)
    }

    /// Takes the tiles out while they are drawn.
    pub fn take_tree(&mut self) -> Tree<Part> {
        std::mem::replace(&mut self.tree, Tree::empty(id()))
    }

    /// The visible tabs, from left to right and top to bottom as far as their places are known.
    pub fn in_sight(&self) -> Vec<Tab> {
        let tile = |id: TileId| {
            let rect = self.tree.tiles.rect(id).map(|rect| (rect.top() as i32, rect.left() as i32));
            match self.tree.tiles.get_pane(&id)? {
                Part::Tab(tab) => Some((rect, id, *tab)),
                Part::Sources | Part::Graph => None,
            }
        };
        let mut seen: Vec<_> = self.tree.active_tiles().into_iter().filter_map(tile).collect();
        seen.sort_by_key(|&(rect, id, _)| (rect, id.0));
        seen.into_iter().map(|(.., tab)| tab).collect()
    }

    /// The tabs that are not visible but have a place in a row, each with the tabs that are visible once it is shown.
    pub fn behind(&self) -> Vec<(Tab, Vec<Tab>)> {
        let seen = self.in_sight();
        let hidden = Tab::all().filter(|tab| !seen.contains(tab) && self.has(Part::Tab(*tab)));
        let look = |tab: Tab| {
            let mut shown =
                Self { tree: self.tree.clone(), width: None, wanted: None, is_dropped: false, reveal: None, recent: None };
            shown.show(tab);
            (tab, shown.in_sight())
        };
        hidden.map(look).collect()
    }

    /// The tab to activate for a newly opened trace.
    pub fn first_in_sight(&self) -> Option<Tab> {
        self.in_sight().first().copied()
    }

    /// Takes note of the tab that has the keys.
    pub fn keep(&mut self, tab: Tab) {
        if !tab.is_main() {
            self.recent = Some(tab);
        }
    }

    /// Brings a tab to the front.
    pub fn show(&mut self, tab: Tab) {
        self.reveal = Some((tab, FRAMES));
        self.tree.make_active(|_, tile| matches!(tile, Tile::Pane(Part::Tab(this)) if *this == tab));
    }

    /// Whether a part is shown.
    pub fn has(&self, part: Part) -> bool {
        self.tree.tiles.find_pane(&part).is_some_and(|id| self.tree.is_visible(id))
    }

    /// Shows or hides a part; it keeps its place.
    pub fn set_shown(&mut self, part: Part, shown: bool) {
        if let Some(id) = self.tree.tiles.find_pane(&part) {
            self.tree.set_visible(id, shown);
        }
    }

    /// Prepares for drawing at a size: the list of sources keeps its width when the window is resized, and no part is too
    /// small after a drop.
    pub fn fit(&mut self, size: Vec2) {
        self.fit_sources(size.x);
        self.widen_after_drop(size);
    }

    fn fit_sources(&mut self, width: f32) {
        let before = self.width.replace(width);
        if before == Some(width) {
            return;
        }
        let Some((row, own)) = self.row_of_sources() else { return };
        let rect = |id: TileId| self.tree.tiles.rect(id).map(|rect| rect.width());
        let (kept, all) = match (before, rect(own), rect(row)) {
            (Some(before), Some(own), Some(row)) if before > 0.0 => (own, row * width / before),
            (_, _, row) => {
                let all = row.unwrap_or(width);
                (self.wanted.unwrap_or(SOURCES_WIDTH).min(all * 0.3), all)
            }
        };
        if let Some(Tile::Container(Container::Linear(linear))) = self.tree.tiles.get_mut(row) {
            let others: f32 = linear.children.iter().filter(|&&child| child != own).map(|&child| linear.shares[child]).sum();
            let kept = kept.min(all * 0.6);
            linear.shares.set_share(own, others * kept / (all - kept).max(1.0));
        }
    }

    /// The width of the list of sources in points, if it stands beside another part.
    pub fn sources_width(&self) -> Option<f32> {
        let (_, own) = self.row_of_sources()?;
        self.tree.tiles.rect(own).map(|rect| rect.width()).or(self.wanted)
    }

    /// The row that contains the list of sources, and the row's child with it.
    fn row_of_sources(&self) -> Option<(TileId, TileId)> {
        let tiles = &self.tree.tiles;
        let mut own = tiles.find_pane(&Part::Sources)?;
        while let Some(parent) = tiles.parent_of(own) {
            match tiles.get_container(parent)? {
                Container::Linear(row) if row.dir == LinearDir::Horizontal => return Some((parent, own)),
                Container::Tabs(tabs) if tabs.children.len() == 1 => own = parent,
                _ => return None,
            }
        }
        None
    }
}

fn id() -> Id {
    Id::unique("layout")
}

/// A single part keeps its tab, which says what it is.
pub const SIMPLE: SimplificationOptions = SimplificationOptions {
    prune_single_child_tabs: false,
    all_panes_must_have_tabs: true,
    prune_empty_tabs: true,
    prune_empty_containers: true,
    prune_single_child_containers: true,
    join_nested_linear_containers: true,
    flatten_tabs_in_tabs: true,
};

/// Adds the parts of a shape that are still missing.
fn add(tiles: &mut Tiles<Part>, shape: &Shape, missing: &mut Vec<Part>, depth: usize) -> Option<TileId> {
    if depth > DEEPEST {
        return None;
    }
    let dir = if let Shape::Row(_) = shape { LinearDir::Horizontal } else { LinearDir::Vertical };
    match shape {
        Shape::Part(name) => {
            let at = missing.iter().position(|part| part.key() == name)?;
            Some(tiles.insert_pane(missing.remove(at)))
        }
        Shape::Row(parts) | Shape::Column(parts) => {
            let mut linear = Linear { dir, ..Linear::default() };
            for Share { share, of } in parts {
                if let Some(child) = add(tiles, of, missing, depth + 1) {
                    linear.add_child(child);
                    let share = if share.is_finite() { share.clamp(1.0, 100.0) } else { 10.0 };
                    linear.shares.set_share(child, share);
                }
            }
            (!linear.children.is_empty()).then(|| tiles.insert_container(linear))
        }
        Shape::Tabs { of, front } => {
            let mut tabs = Tabs::default();
            for (at, part) in of.iter().enumerate() {
                if let Some(child) = add(tiles, part, missing, depth + 1) {
                    tabs.add_child(child);
                    if at == *front || tabs.children.len() == 1 {
                        tabs.set_active(child);
                    }
                }
            }
            (!tabs.children.is_empty()).then(|| tiles.insert_container(tabs))
        }
    }
}

/// The tab container with the most tabs.
fn most_tabs(tiles: &Tiles<Part>) -> Option<TileId> {
    let tabs = tiles.iter().filter_map(|(id, tile)| match tile {
        Tile::Container(Container::Tabs(tabs)) => Some((tabs.children.len(), *id)),
        _ => None,
    });
    tabs.max_by_key(|&(count, id)| (count, std::cmp::Reverse(id.0))).map(|(_, id)| id)
}

fn shape_of(tiles: &Tiles<Part>, id: TileId) -> Option<Shape> {
    match tiles.get(id)? {
        Tile::Pane(part) => Some((*part).into()),
        Tile::Container(Container::Linear(linear)) => {
            let sum: f32 = linear.children.iter().map(|&child| linear.shares[child]).sum();
            let share = |child: TileId| (linear.shares[child] / sum * 1000.0).round() / 10.0;
            let parts =
                linear.children.iter().filter_map(|&child| Some(Share { share: share(child), of: shape_of(tiles, child)? }));
            Some(if linear.dir == LinearDir::Horizontal { Shape::Row(parts.collect()) } else { Shape::Column(parts.collect()) })
        }
        Tile::Container(Container::Tabs(tabs)) => {
            let of: Vec<Shape> = tabs.children.iter().filter_map(|&child| shape_of(tiles, child)).collect();
            // A tab container around a single other container.
            if let [only] = &of[..]
                && !matches!(only, Shape::Part(_))
            {
                return Some(only.clone());
            }
            let front = tabs.children.iter().position(|&child| tabs.is_active(child)).unwrap_or(0);
            Some(Shape::Tabs { of, front })
        }
        Tile::Container(Container::Grid(grid)) => {
            let parts = grid.children().filter_map(|&child| Some(Share { share: 10.0, of: shape_of(tiles, child)? }));
            Some(Shape::Row(parts.collect()))
        }
    }
}

/// Whether two shapes have the same parts in the same places.
fn has_parts_of(a: &Shape, b: &Shape) -> bool {
    let all = |a: &[Share], b: &[Share]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| has_parts_of(&a.of, &b.of));
    match (a, b) {
        (Shape::Row(a), Shape::Row(b)) | (Shape::Column(a), Shape::Column(b)) => all(a, b),
        (Shape::Tabs { of: a, .. }, Shape::Tabs { of: b, .. }) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| has_parts_of(a, b))
        }
        // A single part may have a tab or none.
        (Shape::Tabs { of, .. }, part @ Shape::Part(_)) | (part @ Shape::Part(_), Shape::Tabs { of, .. }) => {
            matches!(&of[..], [only] if only == part)
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::state::ids::ViewId;

    fn layout(shape: &Shape) -> Layout {
        Layout::new(Some(shape), None)
    }

    fn assert_whole(layout: &Layout) {
        for part in Part::all() {
            let panes = layout.tree.tiles.tiles().filter(|tile| matches!(tile, Tile::Pane(this) if *this == part));
            assert_eq!(panes.count(), 1, "{part:?} in {:?}", layout.tree);
        }
        assert!(!layout.in_sight().is_empty());
    }

    #[test]
    fn a_preset_is_what_was_chosen_and_is_read_back_as_that() {
        for preset in Preset::ALL {
            let mut chosen = Layout::new(None, None);
            chosen.choose(preset);
            assert_whole(&chosen);
            assert_eq!(Preset::ALL.map(|other| chosen.is(other)), Preset::ALL.map(|other| other == preset), "{preset:?}");
            let text = toml::to_string(&chosen.shape().unwrap()).unwrap();
            let again = layout(&toml::from_str(&text).unwrap());
            assert_eq!(again.shape(), chosen.shape(), "{text}");
        }
    }

    #[test]
    fn a_layout_that_was_kept_before_still_stands_as_it_did() {
        let text = r#"
[[row]]
share = 22.0
of = { part = "Sources" }
[[row]]
share = 78.0
[row.of]
[[row.of.column]]
share = 40.0
of = { part = "Graph" }
[[row.of.column]]
share = 60.0
[row.of.column.of.tabs]
front = 3
of = [
    { part = "Stacks" }, { part = "Findings" }, { part = "Functions" }, { part = "Freed by" }, { part = "Flame" },
    { part = "Types" }, { part = "Allocations" }, { part = "Frames" }, { part = "Marks" }, { part = "Generations" },
    { part = "Histograms" }, { part = "Processors" }, { part = "Compare" }, { part = "Symbols" }, { part = "Trace" },
]
"#;
        let kept = layout(&toml::from_str(text).unwrap());
        assert_whole(&kept);
        assert_eq!(kept.in_sight(), [Tab::View(ViewId::FreedBy)]);
    }

    #[test]
    fn presets_name_nothing_that_is_not_there() {
        fn names(shape: &Shape) -> Vec<&str> {
            match shape {
                Shape::Part(name) => vec![name],
                Shape::Row(parts) | Shape::Column(parts) => parts.iter().flat_map(|part| names(&part.of)).collect(),
                Shape::Tabs { of, .. } => of.iter().flat_map(names).collect(),
            }
        }
        let mut known: Vec<_> = Part::all().into_iter().map(Part::key).collect();
        known.sort_unstable();
        for preset in Preset::ALL {
            let shape = preset.shape();
            let mut named = names(&shape);
            named.sort_unstable();
            assert_eq!(named, known, "{preset:?}");
        }
    }

    #[test]
    fn whatever_a_file_says_each_part_is_there_once() {
        let part = |name: &str| Shape::Part(name.to_owned());
        let share = |share, of| Share { share, of };
        let mut deep = part("Stacks");
        for _ in 0..40 {
            deep = Shape::Row(vec![share(1.0, deep), share(f32::NAN, part("Nothing"))]);
        }
        let twice = Shape::Tabs { of: vec![part("Stacks"), part("Stacks"), part("Graph")], front: 9 };
        for shape in [
            part("Nothing"),
            part("Stacks"),
            Shape::Row(Vec::new()),
            Shape::Tabs { of: Vec::new(), front: 3 },
            deep,
            Shape::Column(vec![share(-4.0, twice.clone()), share(f32::INFINITY, twice)]),
        ] {
            assert_whole(&layout(&shape));
        }
    }

    #[test]
    fn a_tab_that_is_shown_is_in_sight_and_hides_no_other_part() {
        let mut layout = Layout::new(None, None);
        assert_eq!(layout.in_sight(), [Tab::View(ViewId::Stacks)]);
        layout.show(Tab::Trace);
        assert_eq!(layout.in_sight(), [Tab::Trace]);
        layout.choose(Preset::Spike);
        layout.show(Tab::View(ViewId::Findings));
        let mut seen = layout.in_sight();
        seen.sort_by_key(|tab| format!("{tab:?}"));
        assert_eq!(seen, [Tab::View(ViewId::Findings), Tab::View(ViewId::Flame)]);
        layout.set_shown(Part::Sources, false);
        assert!(!layout.has(Part::Sources) && layout.has(Part::Graph));
        layout.set_shown(Part::Sources, true);
        assert!(layout.has(Part::Sources));
    }
}
