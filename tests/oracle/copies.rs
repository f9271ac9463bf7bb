//! The rule of copies as it reads: which records of some files stay.

use highwater::events::{Event, Record};
use highwater::units::Layer;

use super::replay::UNKNOWN;
use super::scenario::Sent;

/// The records of one file, or of several, in the order of time. Each has the number of its file, and those of one
/// file stand in its own order.
pub fn kept(records: &[(usize, Sent)]) -> Vec<Sent> {
    let mut kept = Vec::new();
    for at_once in records.chunk_by(|a, b| a.1.record.time == b.1.record.time) {
        // What each file alone says.
        let said: Vec<&(usize, Sent)> = at_once
            .iter()
            .enumerate()
            .filter(|&(i, (file, sent))| {
                let before: Vec<&Sent> = at_once[..i].iter().filter(|(other, _)| other == file).map(|(_, sent)| sent).collect();
                !was_said_last(&before, sent)
            })
            .map(|(_, one)| one)
            .collect();
        // The n-th of one file is a copy of the n-th of any other.
        for (i, (file, sent)) in said.iter().enumerate() {
            let count = |of: usize, list: &[&(usize, Sent)]| {
                list.iter().filter(|(other, one)| *other == of && is_equal(one, sent)).count()
            };
            let n = count(*file, &said[..=i]);
            let others = said[..i].iter().map(|(other, _)| *other).filter(|other| other != file);
            if !others.into_iter().any(|other| count(other, &said[..i]) >= n) {
                kept.push(sent.clone());
            }
        }
    }
    kept
}

fn is_equal(a: &Sent, b: &Sent) -> bool {
    a.record == b.record && a.frames == b.frames
}

/// Whether the last record of the tick about the same block, or the same process's pages, is the very same.
fn was_said_last(before: &[&Sent], sent: &Sent) -> bool {
    let blocks = blocks(&sent.record);
    let is_last = |block: &Block| {
        let last = before.iter().rev().find(|other| touches(&other.record, block));
        last.is_some_and(|last| is_equal(last, sent))
    };
    !blocks.is_empty() && blocks.iter().all(|block| block.pid != UNKNOWN && is_last(block))
}

/// A block, all of a heap (without an address), or the pages of a process.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Block {
    pid: u32,
    layer: Layer,
    heap: u64,
    address: Option<u64>,
}

fn blocks(record: &Record) -> Vec<Block> {
    let pid = record.pid.0;
    let pages = |pid: u32| vec![Block { pid, layer: Layer::Commit, heap: 0, address: None }];
    match record.event {
        Event::Alloc { layer, heap, address, .. } | Event::Free { layer, heap, address } => {
            vec![Block { pid, layer, heap, address: Some(address) }]
        }
        Event::Realloc { layer, heap, old, new, .. } => {
            [old, new].map(|address| Block { pid, layer, heap, address: Some(address) }).to_vec()
        }
        Event::HeapOpen { layer, heap, .. } | Event::HeapClose { layer, heap, .. } => {
            vec![Block { pid, layer, heap, address: None }]
        }
        Event::VirtualAlloc(range) | Event::VirtualFree(range) => pages(range.owner.0),
        Event::CommitRundown(region) => pages(region.owner.0),
        _ => Vec::new(),
    }
}

/// Whether a record is about a block or its heap; one that does not say whose may be about anybody's.
fn touches(record: &Record, block: &Block) -> bool {
    blocks(record).iter().any(|other| {
        (other.layer, other.heap) == (block.layer, block.heap)
            && (other.pid == block.pid || other.pid == UNKNOWN)
            && (other.address.is_none() || block.address.is_none() || other.address == block.address)
    })
}
