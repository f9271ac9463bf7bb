//! Pages by a look at every page of every block that is alive.

use std::collections::BTreeMap;

use highwater::query::{By, Group, HeapPages, PinnedPages, ReportFilter};
use highwater::units::Layer;

use super::answer::{Key, key};
use super::{FREQUENCY, Replay, Row};

/// The live bytes of a page, and the rows of the blocks on it.
#[derive(Default)]
struct Page<'a> {
    bytes: u64,
    rows: Vec<&'a Row>,
}

/// A heap: its process's life, its layer and its name.
type HeapPlace = (usize, Layer, Option<String>);

impl Replay {
    /// Pages of heaps and who pins them at a moment, when these ranges were set aside (life, first byte, end).
    pub fn pages(
        &self,
        at: i64,
        reserved: &[(usize, u64, u64)],
        by: &[By],
        filter: &ReportFilter,
    ) -> (Vec<HeapPages>, Vec<Group<PinnedPages>>) {
        let alive = |row: &&Row| row.is_outstanding(at);
        let mut heaps: Vec<(HeapPlace, Vec<&Row>)> = Vec::new();
        for row in self.rows.iter().filter(alive).filter(|row| row.layer() != Layer::Commit && self.fits(row, filter)) {
            let place = (row.life, row.layer(), self.heap_name(row));
            match heaps.iter_mut().find(|(other, _)| *other == place) {
                Some((_, rows)) => rows.push(row),
                None => heaps.push((place, vec![row])),
            }
        }
        let mut told = Vec::new();
        let mut pinned: Vec<(Key, Vec<&Row>, PinnedPages)> = Vec::new();
        for ((life, layer, heap), blocks) in &heaps {
            let pages = pages_of(blocks);
            let sparse: Vec<&Page<'_>> = pages.values().filter(|page| page.bytes < 410).collect();
            for page in &sparse {
                let of_group = self.key(page.rows[0], by);
                if page.rows.iter().any(|row| self.key(row, by) != of_group) {
                    continue;
                }
                let numbers = PinnedPages { pages: 1, live_bytes: page.bytes };
                match pinned.iter_mut().find(|(other, ..)| *other == of_group) {
                    Some((_, _, sum)) => (sum.pages, sum.live_bytes) = (sum.pages + 1, sum.live_bytes + page.bytes),
                    None => pinned.push((of_group, page.rows.clone(), numbers)),
                }
            }
            let holds =
                |&&(of, from, to): &&(usize, u64, u64)| of == *life && blocks.iter().any(|row| (from..to).contains(&row.address));
            let held: Vec<_> = reserved.iter().filter(holds).collect();
            let committed = |&(_, from, to): &(usize, u64, u64)| {
                let rows = self.rows.iter().filter(alive).filter(|row| row.life == *life && row.layer() == Layer::Commit);
                let inside = rows.map(|row| (row.address + row.size).min(to).saturating_sub(row.address.max(from)));
                inside.sum::<u64>()
            };
            told.push(HeapPages {
                process: self.process_name(blocks[0]),
                pid: self.lives[*life].pid,
                process_start_s: self.lives[*life].start.map(|at| at as f64 / FREQUENCY as f64),
                layer: layer.name(),
                heap: heap.clone(),
                live_blocks: blocks.len() as u64,
                live_bytes: blocks.iter().map(|row| row.size).sum(),
                touched_pages: pages.len() as u64,
                sparse_pages: sparse.len() as u64,
                committed_bytes: (!held.is_empty()).then(|| held.into_iter().map(committed).sum()),
            });
        }
        let place = |heap: &HeapPages| {
            let start = heap.process_start_s.unwrap_or(f64::NEG_INFINITY);
            (heap.process.clone(), heap.pid, start, heap.layer, heap.heap.clone())
        };
        told.sort_by(|a, b| {
            let numbers = |heap: &HeapPages| (heap.touched_pages, heap.live_bytes);
            numbers(b).cmp(&numbers(a)).then_with(|| place(a).partial_cmp(&place(b)).unwrap())
        });
        let group = |(key, rows, numbers): (Key, Vec<&Row>, PinnedPages)| self.group(&key, &rows, by, numbers);
        let mut pinning: Vec<Group<PinnedPages>> = pinned.into_iter().map(group).collect();
        pinning.sort_by(|a, b| {
            let numbers = |of: &Group<PinnedPages>| (of.numbers.pages, of.numbers.live_bytes);
            numbers(b).cmp(&numbers(a)).then_with(|| key(a).partial_cmp(&key(b)).unwrap())
        });
        (told, pinning)
    }
}

fn pages_of<'a>(blocks: &[&'a Row]) -> BTreeMap<u64, Page<'a>> {
    let mut pages: BTreeMap<u64, Page<'a>> = BTreeMap::new();
    for row in blocks {
        let end = row.address + row.size;
        let mut at = row.address;
        loop {
            let next = (at / 4096 + 1) * 4096;
            let page = pages.entry(at / 4096).or_default();
            page.bytes += next.min(end) - at;
            page.rows.push(row);
            if next >= end {
                break;
            }
            at = next;
        }
    }
    pages
}
