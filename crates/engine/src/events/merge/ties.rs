//! The order of entries of one tick in several streams: a block that one stream frees and another
//! allocates was freed first; otherwise files and processors come in order.
//!
//! Cost: ties are small and common, and such blocks rare, so that one look at most of them is enough;
//! see [`Turns`] for the others.

use super::run::{Place, Run, item};
use super::turns::{Block, Touched, Turns};
use crate::events::{Event, Item};
use crate::units::Layer;

/// Ties larger than this are left in stream order.
const MAX_TIE: usize = 1 << 16;

/// In ties up to this size all records are compared with each other.
const SMALL: usize = 8;

/// Puts entries of one time into order, frees of an address first. They come in the order of their
/// runs.
pub(super) fn put_in_order(runs: &[Run], places: &mut [Place]) {
    if places.first().map(|place| place.run) == places.last().map(|place| place.run) {
        return;
    }
    let Some(turns) = turns(runs, places) else { return };
    let before = places.to_vec();
    // The next entry of each run.
    let is_first = |at: &usize| *at == 0 || before[at - 1].run != before[*at].run;
    let mut next: Vec<usize> = (0..before.len()).filter(is_first).collect();
    let mut all = places.iter_mut();
    turns.run(|number| {
        if let Some(place) = all.next() {
            *place = before[next[number]];
            next[number] += 1;
        }
    });
}

/// The turns of the streams if one stream allocates what another frees; else `None`.
fn turns(runs: &[Run], places: &[Place]) -> Option<Turns> {
    if places.len() > MAX_TIE || (places.len() <= SMALL && !has_contest(runs, places)) {
        return None;
    }
    let lengths: Vec<usize> = places.chunk_by(|a, b| a.run == b.run).map(<[Place]>::len).collect();
    let items = places.iter().map(|&place| item(runs, place));
    Turns::new(&lengths, items.map(|item| Touched { freed: freed(item), allocated: allocated(item) }))
}

/// Whether one stream of a small tie allocates what another frees.
fn has_contest(runs: &[Run], places: &[Place]) -> bool {
    places.iter().any(|&place| {
        let Some(block) = allocated(item(runs, place)) else { return false };
        places.iter().any(|&other| other.run != place.run && freed(item(runs, other)) == Some(block))
    })
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
