//! A part that was dropped: it stands beside the tabs, gets the share of the space that its neighbours have on average, and
//! leaves no part too small to read.
//!
//! Cost: a look at some twenty tiles a drop.

use eframe::egui::{Vec2, vec2};
use egui_tiles::{Container, Linear, LinearDir, Tabs, Tile, TileId, Tiles};

use super::{Layout, Part, SIMPLE};

/// Minimum size of a part after a drop, in points, if the window has the room.
const LEAST: Vec2 = vec2(180.0, 110.0);

impl Layout {
    /// Settles a part in the place where it was dropped.
    pub fn settle(&mut self, dropped: TileId) {
        self.unnest(dropped);
        let sources = self.row_of_sources();
        if let Some((row, own)) = self.give_share(dropped)
            && sources.is_some_and(|(other, sources)| other == row && sources != own)
        {
            // The others make room, so that the list of sources keeps its width.
            (self.wanted, self.width) = (self.sources_width(), None);
        }
        self.tree.simplify(&SIMPLE);
        self.is_dropped = true;
    }

    /// Gives a part that is new in a row or column the average share of its neighbours. Returns that row or column, with
    /// its child that holds the part.
    fn give_share(&mut self, dropped: TileId) -> Option<(TileId, TileId)> {
        let (row, own) = self.linear_around(dropped)?;
        let Some(Tile::Container(Container::Linear(linear))) = self.tree.tiles.get_mut(row) else { return None };
        let is_known = linear.shares.iter().any(|(&child, _)| child == own);
        let others: Vec<f32> = linear.children.iter().filter(|&&child| child != own).map(|&child| linear.shares[child]).collect();
        if is_known || others.is_empty() {
            return None;
        }
        linear.shares.set_share(own, others.iter().sum::<f32>() / others.len() as f32);
        Some((row, own))
    }

    /// The innermost row or column around a part, with its child that holds the part.
    fn linear_around(&self, mut own: TileId) -> Option<(TileId, TileId)> {
        loop {
            let parent = self.tree.tiles.parent_of(own)?;
            match self.tree.tiles.get_container(parent)? {
                Container::Linear(_) => return Some((parent, own)),
                Container::Tabs(_) | Container::Grid(_) => own = parent,
            }
        }
    }

    /// Gives each part its minimum size, once after a drop.
    pub(super) fn widen_after_drop(&mut self, size: Vec2) {
        if let Some(root) = self.tree.root.filter(|_| std::mem::take(&mut self.is_dropped)) {
            widen(&mut self.tree.tiles, root, size);
        }
    }

    /// Puts a part that was dropped beside a tab beside all tabs of that container: within the tab it would hide
    /// together with it.
    fn unnest(&mut self, dropped: TileId) -> Option<()> {
        let tiles = &mut self.tree.tiles;
        let is_linear = |id: TileId| matches!(tiles.get_container(id), Some(Container::Linear(_)));
        let parent = tiles.parent_of(dropped)?;
        // The dropped part may have got a tab of its own already.
        let (row, own) = if is_linear(parent) { (parent, dropped) } else { (tiles.parent_of(parent)?, parent) };
        let tabs = tiles.parent_of(row).filter(|_| is_linear(row))?;
        let Some(Container::Tabs(Tabs { children, .. })) = tiles.get_container(tabs) else { return None };
        let at = children.iter().position(|&child| child == row)?;
        let others: Vec<TileId> = tiles.get_container(row)?.children().copied().filter(|&child| child != own).collect();
        let [beside] = others[..] else { return None };
        let inner = match tiles.get_container(beside) {
            Some(Container::Tabs(inner)) => inner.children.clone(),
            Some(_) => return None,
            None => vec![beside],
        };
        let above = tiles.parent_of(tabs);
        if let Some(Tile::Container(Container::Tabs(outer))) = tiles.get_mut(tabs) {
            let front = inner.first().copied();
            outer.children.splice(at..=at, inner);
            front.into_iter().for_each(|front| outer.set_active(front));
        }
        if tiles.get_container(beside).is_some() {
            tiles.remove(beside);
        }
        let mut replace = |of: TileId, old: TileId, new: TileId| match tiles.get_mut(of) {
            Some(Tile::Container(Container::Linear(linear))) => {
                linear.children.iter_mut().filter(|child| **child == old).for_each(|child| *child = new);
                linear.shares.replace_with(old, new);
            }
            Some(Tile::Container(Container::Tabs(outer))) => {
                outer.children.iter_mut().filter(|child| **child == old).for_each(|child| *child = new);
            }
            _ => {}
        };
        replace(row, beside, tabs);
        match above {
            Some(above) => replace(above, tabs, row),
            None => self.tree.root = Some(row),
        }
        Some(())
    }
}

/// Gives the parts of a tile of this size their minimum sizes, at the cost of those that have more.
fn widen(tiles: &mut Tiles<Part>, id: TileId, size: Vec2) {
    match tiles.get_container(id) {
        Some(Container::Linear(linear)) => {
            let dir = linear.dir;
            let shown = shown(tiles, linear);
            let sum: f32 = shown.iter().map(|&child| linear.shares[child]).sum();
            let all = along(dir, size);
            let least: Vec<f32> = shown.iter().map(|&child| along(dir, smallest(tiles, child))).collect();
            let sizes = at_least(&linear.shares.split(&shown, all), &least);
            for (&child, &own) in shown.iter().zip(&sizes) {
                if let Some(Tile::Container(Container::Linear(linear))) = tiles.get_mut(id) {
                    linear.shares.set_share(child, own * sum / all.max(1.0));
                }
                let size = if dir == LinearDir::Horizontal { vec2(own, size.y) } else { vec2(size.x, own) };
                widen(tiles, child, size);
            }
        }
        Some(Container::Tabs(tabs)) => tabs.children.clone().into_iter().for_each(|child| widen(tiles, child, size)),
        Some(Container::Grid(_)) | None => {}
    }
}

/// The children of a row or column that are shown.
fn shown(tiles: &Tiles<Part>, linear: &Linear) -> Vec<TileId> {
    linear.children.iter().copied().filter(|&child| tiles.is_visible(child)).collect()
}

fn along(dir: LinearDir, size: Vec2) -> f32 {
    if dir == LinearDir::Horizontal { size.x } else { size.y }
}

/// The size below which some part of a tile is too small.
fn smallest(tiles: &Tiles<Part>, id: TileId) -> Vec2 {
    match tiles.get_container(id) {
        Some(Container::Linear(linear)) => {
            let all = shown(tiles, linear).into_iter().map(|child| smallest(tiles, child));
            all.fold(Vec2::ZERO, |sum, one| match linear.dir {
                LinearDir::Horizontal => vec2(sum.x + one.x, sum.y.max(one.y)),
                LinearDir::Vertical => vec2(sum.x.max(one.x), sum.y + one.y),
            })
        }
        Some(Container::Tabs(tabs)) => tabs.children.iter().fold(LEAST, |most, &child| most.max(smallest(tiles, child))),
        Some(Container::Grid(_)) | None => LEAST,
    }
}

/// Sizes with the same sum, none below its minimum, if there is room for all minima; else in proportion to them.
fn at_least(sizes: &[f32], least: &[f32]) -> Vec<f32> {
    let both = || sizes.iter().zip(least);
    let lack: f32 = both().map(|(size, least)| (least - size).max(0.0)).sum();
    let spare: f32 = both().map(|(size, least)| (size - least).max(0.0)).sum();
    if lack > spare {
        let part = sizes.iter().sum::<f32>() / least.iter().sum::<f32>().max(1.0);
        return least.iter().map(|least| least * part).collect();
    }
    let taken = if spare > 0.0 { lack / spare } else { 0.0 };
    both().map(|(size, least)| size.max(*least) - (size - least).max(0.0) * taken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::state::ids::{Tab, ViewId};
    use crate::app::state::layout::Preset;

    const FLAME: Part = Part::Tab(Tab::View(ViewId::Flame));

    /// Drops *Flame* as the last part of the row or column around a part, in a window of this size.
    fn dropped(preset: Preset, beside: Part, size: Vec2) -> Layout {
        let mut layout = Layout::new(None, None);
        layout.choose(preset);
        layout.fit(size);
        let find = |layout: &Layout, part| layout.tree.tiles.find_pane(&part).unwrap();
        let (row, _) = layout.linear_around(find(&layout, beside)).unwrap();
        let flame = find(&layout, FLAME);
        layout.tree.move_tile_to_container(flame, row, usize::MAX, false);
        layout.settle(flame);
        layout.fit(size);
        layout
    }

    /// The sizes of all rows, columns and tabs in a tile of this size.
    fn sizes(layout: &Layout, id: TileId, size: Vec2) -> Vec<(TileId, Vec2)> {
        let inner: Vec<(TileId, Vec2)> = match layout.tree.tiles.get_container(id) {
            Some(Container::Linear(linear)) => {
                let split = linear.shares.split(&linear.children, along(linear.dir, size));
                let sized = linear.children.iter().zip(split).map(|(&child, own)| match linear.dir {
                    LinearDir::Horizontal => (child, vec2(own, size.y)),
                    LinearDir::Vertical => (child, vec2(size.x, own)),
                });
                sized.collect()
            }
            Some(container) => container.children().map(|&child| (child, size)).collect(),
            None => Vec::new(),
        };
        let below = inner.into_iter().flat_map(|(child, size)| sizes(layout, child, size));
        std::iter::once((id, size)).chain(below).collect()
    }

    fn size_of(layout: &Layout, part: Part, window: Vec2) -> Vec2 {
        let pane = layout.tree.tiles.find_pane(&part).unwrap();
        let all = sizes(layout, layout.tree.root.unwrap(), window);
        all.into_iter().find(|(id, _)| *id == pane).unwrap().1
    }

    #[test]
    fn a_part_docked_against_the_window_has_a_part_of_it_and_sources_keep_their_width() {
        let window = vec2(1366.0, 660.0);
        let layout = dropped(Preset::FirstLook, Part::Sources, window);
        let width = |part| size_of(&layout, part, window).x;
        assert!(width(FLAME) > 350.0 && width(FLAME) < 500.0, "{}", width(FLAME));
        assert!((width(Part::Sources) - 290.0).abs() < 1.0, "{}", width(Part::Sources));
        assert!(width(Part::Graph) > 600.0, "{}", width(Part::Graph));
    }

    #[test]
    fn no_part_is_too_small_after_a_drop() {
        let window = vec2(1024.0, 600.0);
        for preset in Preset::ALL {
            for beside in [Part::Sources, Part::Graph, Part::Tab(Tab::View(ViewId::Stacks))] {
                let layout = dropped(preset, beside, window);
                for (_, size) in sizes(&layout, layout.tree.root.unwrap(), window) {
                    assert!(size.x > LEAST.x - 1.0 && size.y > LEAST.y - 1.0, "{preset:?}, {beside:?}: {size}");
                }
            }
        }
    }

    #[test]
    fn sizes_below_their_minimum_grow_at_the_cost_of_the_others() {
        let rounded = |sizes: &[f32], least: f32| -> Vec<f32> {
            at_least(sizes, &vec![least; sizes.len()]).into_iter().map(f32::round).collect()
        };
        assert_eq!(rounded(&[10.0, 100.0, 90.0], 50.0), [50.0, 78.0, 72.0]);
        assert_eq!(rounded(&[60.0, 90.0], 50.0), [60.0, 90.0]);
        assert_eq!(rounded(&[10.0, 50.0], 50.0), [30.0; 2], "no room for all");
    }
}
