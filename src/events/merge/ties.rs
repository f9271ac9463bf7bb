//! What happens at one tick in several streams: a block that one of them frees and
//! another allocates was freed first; otherwise files and processors come in order.
//!
//! Cost: ties are small and common, and such blocks rare, so that one look at most of
//! them is enough; see [`Turns`] for the others.

use std::ops::Range;

use super::slice::Run;
use super::turns::{Block, Touched, Turns};
use crate::events::{Event, Item};
use crate::units::Layer;

/// Ties larger than this are left in stream order.
const MAX_TIE: usize = 1 << 16;

/// In ties up to this size all records are compared with each other.
const SMALL: usize = 8;

/// Entries of some runs, all of one time.
type Tie = [(usize, Range<usize>)];

/// Calls `each` for all entries of a tie in order, with the number of the run and the
/// entry's own in it: frees of an address first.
pub(super) fn each_in_turn(runs: &[Run], tie: &Tie, mut each: impl FnMut(usize, usize)) {
    match turns(runs, tie) {
        Some(turns) => {
            let mut next: Vec<usize> = tie.iter().map(|(_, range)| range.start).collect();
            turns.run(|number| {
                each(tie[number].0, next[number]);
                next[number] += 1;
            });
        }
        None => entries(tie).for_each(|(run, at)| each(run, at)),
    }
}

/// Whose turn it is where one stream allocates what another frees.
fn turns(runs: &[Run], tie: &Tie) -> Option<Turns> {
    let total: usize = tie.iter().map(|(_, range)| range.len()).sum();
    if total > MAX_TIE || (total <= SMALL && !has_contest(runs, tie)) {
        return None;
    }
    let lengths: Vec<usize> = tie.iter().map(|(_, range)| range.len()).collect();
    let items = entries(tie).map(|(run, at)| item(runs, run, at));
    Turns::new(&lengths, items.map(|item| Touched { freed: freed(item), allocated: allocated(item) }))
}

/// Whether one stream of a small tie allocates what another frees.
fn has_contest(runs: &[Run], tie: &Tie) -> bool {
    entries(tie).any(|(run, at)| {
        let Some(block) = allocated(item(runs, run, at)) else { return false };
        entries(tie).any(|(other, at)| other != run && freed(item(runs, other, at)) == Some(block))
    })
}

fn entries(tie: &Tie) -> impl Iterator<Item = (usize, usize)> + '_ {
    tie.iter().flat_map(|(run, range)| range.clone().map(move |at| (*run, at)))
}

fn item(runs: &[Run], run: usize, at: usize) -> Item<'_> {
    let batch = &runs[run].batch;
    batch.item(&batch.entries[at])
}

fn freed(item: Item<'_>) -> Option<Block> {
    if let Some(block) = item.block() {
        return block.size.is_none().then_some((block.layer, block.heap, block.address));
    }
    match item.record().event {
        ref event if event.is_failed_realloc() => None,
        Event::Realloc { old: 0, .. } => None,
        Event::Realloc { layer, heap, old, .. } => Some((layer, heap, old)),
        Event::VirtualFree(range) => Some((Layer::Commit, range.owner.0.into(), range.base)),
        _ => None,
    }
}

fn allocated(item: Item<'_>) -> Option<Block> {
    if let Some(block) = item.block() {
        return block.size.map(|_| (block.layer, block.heap, block.address));
    }
    match item.record().event {
        ref event if event.is_failed_realloc() => None,
        Event::Realloc { layer, heap, new, .. } => Some((layer, heap, new)),
        Event::VirtualAlloc(range) => Some((Layer::Commit, range.owner.0.into(), range.base)),
        _ => None,
    }
}
