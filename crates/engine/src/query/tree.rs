//! The tree of the table: Process → Layer → Heap or tracker → Impacting Type → Type → stack frames → single
//! allocations, as the flat list of its visible lines.
//!
//! An only child opens with its parent, so that deep stacks need one click. Single allocations are listed by one scan
//! for all open leaves, at most [`listing::MAX_ALLOCATIONS`] per leaf.
//!
//! Cost: one pass over the sums of the sites for the levels down to the types; for each heap with an open type one pass
//! over its sites; then a few searches per open line, however much is below it. Names are made when a line is drawn.

mod chains;
#[cfg(debug_assertions)]
mod check;
mod column;
mod found;
mod frames;
mod lines;
mod listing;
mod peaks;
mod question;
mod request;
mod search;
mod section;
mod touched;
mod trim;
mod upper;

use std::sync::Arc;

use rayon::prelude::*;

pub(super) use column::sort_lines;
pub use column::{Column, Sort, magnitude};
pub use lines::{Tree, TreeRow};
pub use peaks::{peaks, sort_nodes, upper_peaks};
pub use touched::{TouchedLines, touched_lines};
pub use trim::Trimmed;

use super::{ByClass, Cancel, Cancelled, Mask, Totals, Words};
use crate::model::{SiteId, Trace};
use found::Found;
use lines::{Leaf, NONE};
use question::Question;
pub use request::TreeRequest;
use section::PIECE;

/// A search opens no further nodes once there are this many frames: nobody can read that many, and a search that
/// matches everything must not exhaust the memory.
pub const MAX_FOUND_FRAMES: usize = 250_000;

/// Builds the visible lines.
pub fn tree(trace: &Trace, totals: &Totals, request: &TreeRequest, cancel: &Cancel) -> Result<Tree, Cancelled> {
    let mut filtered = request.filter.mask(trace);
    request.only.iter().for_each(|only| filtered.and(only));
    let filtered = Arc::new(filtered);
    let by_heap = by_heap(trace, totals, &filtered, cancel)?;
    let trimmed = match &request.trimmed {
        _ if !request.fold.is_any() => None,
        Some(known) => Some(Arc::clone(known)),
        None => Some(Arc::new(Trimmed::of(trace, &request.names, request.fold, cancel)?)),
    };
    let mut question = Question { trace, totals, request, trimmed: trimmed.as_deref(), mask: &filtered, found: None, cancel };
    let mut tree = Tree::new(totals.interval, Arc::clone(&filtered), request);
    match Found::search(&question)? {
        None => fill(&question, &by_heap, &mut tree)?,
        Some((found, mask)) => {
            tree.wanted = Arc::new(mask);
            let mask = Arc::clone(&tree.wanted);
            (question.mask, question.found) = (&mask, Some(&found));
            fill(&question, &self::by_heap(trace, totals, &mask, cancel)?, &mut tree)?;
        }
    }
    tree.by_heap = by_heap;
    Ok(tree)
}

/// Adds the lines to an empty tree: those down to the types, then the frames below each open type, in parallel.
fn fill(question: &Question<'_>, by_heap: &[ByClass], tree: &mut Tree) -> Result<(), Cancelled> {
    let upper = upper::lines(question, by_heap)?;
    let open: Vec<_> = upper.open.iter().map(|open| (open.heap, open.class)).collect();
    let sections = section::gather(question, &open)?;
    let walks = upper.open.par_iter().zip(sections).map(|(open, section)| frames::Walk::new(question, open, section));
    let parts: Vec<frames::Frames> = match question.found {
        None => walks.map(|walk| walk.run(usize::MAX)).collect::<Result<_, _>>()?,
        Some(_) => {
            let mut rest = MAX_FOUND_FRAMES;
            let in_turn = walks.collect::<Vec<_>>().into_iter().map(|walk| {
                let part = walk.run(rest)?;
                rest = rest.saturating_sub(part.lines.len());
                Ok(part)
            });
            in_turn.collect::<Result<_, _>>()?
        }
    };
    let leaves = join(tree, upper, parts);
    listing::fill(question, tree, &leaves)?;
    #[cfg(debug_assertions)]
    check::adds_up(question, tree, &leaves);
    Ok(())
}

/// Inserts the frames below their types.
fn join(tree: &mut Tree, upper: upper::Upper, parts: Vec<frames::Frames>) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    let mut moved_to = Vec::with_capacity(upper.lines.len());
    let mut parts = upper.open.into_iter().zip(parts).peekable();
    tree.lines.reserve(upper.lines.len() + parts.len());
    for (i, mut line) in upper.lines.into_iter().enumerate() {
        let at = tree.lines.len() as u32;
        moved_to.push(at);
        if line.parent != NONE {
            line.parent = moved_to[line.parent as usize];
        }
        let depth = line.depth;
        tree.lines.push(line);
        let Some((open, mut part)) = parts.next_if(|(open, _)| open.line as usize == i) else { continue };
        // Within a part, 0 stands for the type's own line.
        tree.lines.extend(part.lines.iter().map(|line| lines::Line {
            parent: line.parent + at,
            group: at,
            depth: line.depth + depth,
            ..*line
        }));
        for leaf in part.leaves {
            let sites = leaf.ranges.into_iter().flat_map(|range| &part.sites[range]).copied().collect();
            leaves.push(Leaf { line: leaf.line + at, after: leaf.after + at + 1, class: open.class, sites });
        }
        part.deepest.iter_mut().for_each(|line| *line += at);
        tree.sections.push(lines::Section { class: open.class, sites: part.sites.into(), deepest: part.deepest });
    }
    let moved = |line: u32| if line == NONE { NONE } else { moved_to[line as usize] };
    tree.deepest = upper.deepest.into_iter().map(|lines| lines.map(moved)).collect();
    leaves
}

/// Returns the sums of each heap over the sites and classes that `mask` includes: one parallel pass over the sites.
pub fn by_heap(trace: &Trace, totals: &Totals, mask: &Mask, cancel: &Cancel) -> Result<Vec<ByClass>, Cancelled> {
    let none = || vec![ByClass::default(); trace.heaps.len()];
    let pieces: Vec<usize> = (0..trace.sites.len()).step_by(PIECE).collect();
    let per_worker = pieces.len().div_ceil(rayon::current_num_threads()).max(1);
    let parts: Result<Vec<Vec<ByClass>>, Cancelled> = pieces
        .par_chunks(per_worker)
        .map(|pieces| {
            let mut sums = none();
            for &first in pieces {
                cancel.check()?;
                for i in first..(first + PIECE).min(trace.sites.len()) {
                    let site = SiteId(i as u32);
                    let (buckets, classes) = (totals.of(site), mask.classes(site));
                    if classes != 0 && !buckets.is_empty() {
                        sums[trace.sites[i].heap.0 as usize].add(&buckets.only(classes));
                    }
                }
            }
            Ok(sums)
        })
        .collect();
    let mut sums = none();
    for part in parts? {
        sums.iter_mut().zip(&part).for_each(|(a, b)| a.add(b));
    }
    Ok(sums)
}
