//! Single allocations as the last lines of the tree.

use rustc_hash::FxHashMap;

use super::{Column, Leaf, MAX_ALLOCATIONS, Sort, Tree, TreeRow};
use crate::model::{Row, RowId, SiteId, Trace};
use crate::query::{ByClass, Cancel, Cancelled, Key, LifetimeClass};
use crate::units::Interval;

/// Puts the allocations of all open leaves into the tree, by one scan of the rows.
pub(super) fn fill(
    trace: &Trace,
    interval: Interval,
    sort: Sort,
    tree: &mut Tree,
    leaves: Vec<Leaf>,
    cancel: &Cancel,
) -> Result<(), Cancelled> {
    if leaves.is_empty() {
        return Ok(());
    }
    let found = collect(trace, interval, &leaves, cancel)?;
    // From the last to the first, so that the places of earlier leaves stay right;
    // then the lines that moved are renumbered once.
    let mut inserts: Vec<(u32, u32, Vec<TreeRow>)> = Vec::new();
    for (leaf, mut rows) in leaves.into_iter().zip(found) {
        cancel.check()?;
        rows.sort_by(|a, b| compare(sort, a, b));
        let parent = &tree.rows[leaf.line as usize];
        let lines = rows.iter().take(MAX_ALLOCATIONS).map(|&(id, row)| line(parent, id, row, interval)).collect();
        inserts.push((leaf.after, leaf.line, lines));
    }
    splice(tree, inserts);
    Ok(())
}

/// The rows of each leaf.
fn collect(trace: &Trace, interval: Interval, leaves: &[Leaf], cancel: &Cancel) -> Result<Vec<Vec<(RowId, Row)>>, Cancelled> {
    let mut leaf_of: FxHashMap<(SiteId, LifetimeClass), usize> = FxHashMap::default();
    let mut wanted = vec![false; trace.sites.len()];
    for (i, leaf) in leaves.iter().enumerate() {
        for &(site, class) in &leaf.sites {
            leaf_of.insert((site, class), i);
            wanted[site.0 as usize] = true;
        }
    }
    let mut found = vec![Vec::new(); leaves.len()];
    for chunk in trace.rows.chunks() {
        cancel.check()?;
        for (id, row) in chunk.rows() {
            if !wanted[row.site.0 as usize] {
                continue;
            }
            let Some(class) = LifetimeClass::of(row.birth, row.death, interval) else { continue };
            if let Some(&leaf) = leaf_of.get(&(row.site, class)) {
                found[leaf].push((id, row));
            }
        }
    }
    Ok(found)
}

fn line(parent: &TreeRow, id: RowId, row: Row, interval: Interval) -> TreeRow {
    let mut sums = ByClass::default();
    if let Some(class) = LifetimeClass::of(row.birth, row.death, interval) {
        sums.get_mut(class).add_row(row.size);
    }
    TreeRow {
        path: parent.path.iter().copied().chain([Key::Row(id)]).collect(),
        depth: parent.depth + 1,
        label: format!("{:#x}", row.address),
        has_children: false,
        is_open: false,
        numbers: sums.numbers(),
        mixes_layers: false,
        allocation: Some((id, row)),
    }
}

fn compare(sort: Sort, (a_id, a): &(RowId, Row), (b_id, b): &(RowId, Row)) -> std::cmp::Ordering {
    let order = match sort.column {
        Column::FreeTime => a.death.cmp(&b.death),
        Column::Address | Column::Name => a.address.cmp(&b.address),
        Column::AllocTime => a.birth.cmp(&b.birth),
        _ => a.size.cmp(&b.size),
    };
    let order = if sort.descending { order.reverse() } else { order };
    order.then(a.birth.cmp(&b.birth)).then(a_id.cmp(b_id))
}

/// Inserts blocks of lines, each (behind so many lines, parent line, lines).
fn splice(tree: &mut Tree, mut inserts: Vec<(u32, u32, Vec<TreeRow>)>) {
    // Where two nodes end at one place, the inner one's come first.
    inserts.sort_by_key(|(after, line, _)| (*after, std::cmp::Reverse(*line)));
    let mut moved_to = Vec::with_capacity(tree.rows.len());
    let mut shift = 0;
    let mut pending = inserts.iter().peekable();
    for i in 0..tree.rows.len() as u32 {
        while let Some((_, _, lines)) = pending.next_if(|(after, ..)| *after <= i) {
            shift += lines.len() as u32;
        }
        moved_to.push(i + shift);
    }
    let moved = |line: Option<u32>| line.map(|l| moved_to[l as usize]);
    let mut rows = Vec::new();
    let mut parents = Vec::new();
    let mut inserts = inserts.into_iter().peekable();
    let old = std::mem::take(&mut tree.rows);
    let count = old.len() as u32;
    let mut put = |at: u32, rows: &mut Vec<TreeRow>, parents: &mut Vec<Option<u32>>| {
        while let Some((_, parent, lines)) = inserts.next_if(|(after, ..)| *after <= at) {
            parents.extend(std::iter::repeat_n(moved(Some(parent)), lines.len()));
            rows.extend(lines);
        }
    };
    for (i, row) in old.into_iter().enumerate() {
        put(i as u32, &mut rows, &mut parents);
        rows.push(row);
        parents.push(moved(tree.parents[i]));
    }
    put(count, &mut rows, &mut parents);
    for lines in &mut tree.deepest {
        *lines = lines.map(moved);
    }
    (tree.rows, tree.parents) = (rows, parents);
}
