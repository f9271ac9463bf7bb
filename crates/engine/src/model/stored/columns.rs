//! Stacks and sites as blocks of columns.

use std::io;

use bytemuck::{cast_slice, cast_slice_mut};

use super::{BlockSink, BlockSource, Blocks, Unrestored};
use crate::model::{HeapId, NodeId, ProcessId, Site, Stacks};
use crate::stored::Damaged;
use crate::units::Ticks;

/// Entries of a block.
const ENTRIES: usize = 1 << 16;

/// The number of entries of each block, for so many entries.
fn pieces(entries: u32) -> impl ExactSizeIterator<Item = usize> {
    let entries = entries as usize;
    (0..entries.div_ceil(ENTRIES)).map(move |piece| ENTRIES.min(entries - piece * ENTRIES))
}

/// Writes all nodes; returns their number.
pub(super) fn store_stacks(stacks: &Stacks, sink: &mut impl BlockSink) -> io::Result<u32> {
    let (parents, addresses) = stacks.columns();
    for (parents, addresses) in parents.chunks(ENTRIES).zip(addresses.chunks(ENTRIES)) {
        let parents: Vec<u32> = parents.iter().map(|parent| parent.0).collect();
        sink.put(&[cast_slice(&parents), cast_slice(addresses)])?;
    }
    Ok(stacks.len() as u32)
}

/// Reads all nodes.
pub(super) fn stacks(count: u32, blocks: &mut Blocks<'_, impl BlockSource>) -> Result<Stacks, Unrestored> {
    let lengths: Vec<usize> = pieces(count).collect();
    let read = blocks.each(lengths.len(), |piece, fill| {
        let (mut parents, mut addresses) = (vec![0u32; lengths[piece]], vec![0u64; lengths[piece]]);
        fill(&mut [cast_slice_mut(&mut parents), cast_slice_mut(&mut addresses)])?;
        // A caller comes before what it calls, so that each way up ends.
        let is_below = |(node, &parent): (u32, &u32)| parent < node || (node, parent) == (0, 0);
        let first = (piece * ENTRIES) as u32;
        if (first..).zip(&parents).all(is_below) { Ok((parents, addresses)) } else { Err(Damaged) }
    })?;
    if count == 0 {
        return Err(Unrestored::Damaged); // there always is a root
    }
    let parents = read.iter().flat_map(|(parents, _)| parents.iter().copied().map(NodeId)).collect();
    Ok(Stacks::of_columns(parents, read.iter().flat_map(|(_, addresses)| addresses.iter().copied()).collect()))
}

/// Writes sites; returns their number.
pub(super) fn store_sites(sites: &[Site], sink: &mut impl BlockSink) -> io::Result<u32> {
    for sites in sites.chunks(ENTRIES) {
        let (mut heaps, mut stacks, mut callers, mut firsts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for &Site { heap, stack, caller, first } in sites {
            heaps.push(heap.0);
            stacks.push(stack.0);
            callers.push(caller.0);
            firsts.push(first.0);
        }
        sink.put(&[cast_slice(&heaps), cast_slice(&stacks), cast_slice(&callers), cast_slice(&firsts)])?;
    }
    Ok(sites.len() as u32)
}

/// Reads sites.
pub(super) fn sites(count: u32, blocks: &mut Blocks<'_, impl BlockSource>) -> Result<Vec<Site>, Unrestored> {
    let lengths: Vec<usize> = pieces(count).collect();
    let read = blocks.each(lengths.len(), |piece, fill| {
        let zeros = || vec![0u32; lengths[piece]];
        let (mut heaps, mut stacks, mut callers, mut firsts) = (zeros(), zeros(), zeros(), vec![0i64; lengths[piece]]);
        let mut parts: [&mut [u8]; 4] =
            [cast_slice_mut(&mut heaps), cast_slice_mut(&mut stacks), cast_slice_mut(&mut callers), cast_slice_mut(&mut firsts)];
        fill(&mut parts)?;
        Ok((heaps, stacks, callers, firsts))
    })?;
    let mut all = Vec::with_capacity(lengths.iter().sum());
    for (heaps, stacks, callers, firsts) in read {
        let numbers = heaps.into_iter().zip(stacks).zip(callers).zip(firsts);
        all.extend(numbers.map(|(((heap, stack), caller), first)| Site {
            heap: HeapId(heap),
            stack: NodeId(stack),
            caller: ProcessId(caller),
            first: Ticks(first),
        }));
    }
    Ok(all)
}
