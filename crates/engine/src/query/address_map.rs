//! A map of the address space of a process at a moment: regions, cells of equal size, and single blocks.
//!
//! [`AddressSpace`] has all that is alive at the moment, and [`address_map`] draws a part of it with cells as fine as the
//! requested number of them allows. Each byte belongs to one block: layers nest, and the inner one, a tracker, is the owner.
//! Cells in which nothing is committed and no block lies are left out, so the size of an answer does not depend on that of the
//! address space.

mod piece;
mod space;
mod sums;

use std::ops::Range;

use super::{Cancel, Cancelled};
use crate::model::{RowId, SiteId};
use crate::units::Ticks;
use piece::LEFT_OUT;
pub use space::{AddressSpace, Region};
pub use sums::Sums;

/// Sizes of cells in bytes, each four times the one before.
const CELLS: [u64; 14] = {
    let mut sizes = [16; 14];
    let mut i = 1;
    while i < sizes.len() {
        sizes[i] = 4 * sizes[i - 1];
        i += 1;
    }
    sizes
};

/// Single blocks are listed with cells of at most this size.
const BLOCKS_UP_TO: u64 = 256;

/// A question about a part of an address space.
#[derive(Clone, Copy)]
pub struct MapRequest<'a> {
    /// First and last byte.
    pub range: (u64, u64),
    /// Most cells, and most blocks.
    pub most: usize,
    /// The size of a cell, a power of two; `None` for the smallest that keeps to `most`.
    pub cell: Option<u64>,
    /// The group of each site, by which cells are told apart.
    pub group_of: &'a (dyn Fn(SiteId) -> u32 + Sync),
}

/// A region in a map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapRegion {
    /// The whole region.
    pub region: Region,
    /// Its cells inside the range, in [`AddressMap::cells`].
    pub cells: Range<usize>,
}

/// A cell: the bytes of one region from a multiple of the size of cells to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapCell {
    /// Its address divided by the size of cells.
    pub number: u64,
    /// Its numbers.
    pub sums: Sums,
}

/// A block in a map, or a part of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapBlock {
    /// First byte.
    pub first: u64,
    /// Last byte, or the first of an empty block.
    pub last: u64,
    /// The block.
    pub row: RowId,
    /// When it was allocated.
    pub birth: Ticks,
    /// Its group; `None` if the filters leave it out.
    pub group: Option<u32>,
}

/// A part of an address space.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AddressMap {
    /// Size of a cell in bytes.
    pub cell: u64,
    /// Regions inside the range with cells, by address.
    pub regions: Vec<MapRegion>,
    /// Cells that have a block or are committed, by region and address.
    pub cells: Vec<MapCell>,
    /// Single blocks by address; none if cells are larger than a block would be drawn.
    pub blocks: Vec<MapBlock>,
    /// Where the map ends, if more cells could follow; with filters, and where a region ends inside a page, those can be empty.
    pub cut_at: Option<u64>,
}

/// Returns the map of a part of an address space. Cost: a step for each block in the part, and a look-up of its birth.
pub fn address_map(space: &AddressSpace, request: &MapRequest<'_>, cancel: &Cancel) -> Result<AddressMap, Cancelled> {
    let fits = |cell: &u64| bins(space, request, *cell).nth(request.most).is_none();
    let cell = request.cell.or_else(|| CELLS.into_iter().find(fits)).unwrap_or(CELLS[CELLS.len() - 1]);
    let wanted: Vec<Bin> = bins(space, request, cell).take(request.most.saturating_add(1)).collect();
    let kept = &wanted[..wanted.len().min(request.most)];
    let ranges: Vec<(u64, u64)> = kept.iter().map(|bin| bin.range).collect();
    let sums = sums::sums(space, &ranges, request.group_of, cancel)?;
    let mut map = AddressMap { cell, ..AddressMap::default() };
    map.cut_at = wanted.get(kept.len()).map(|bin| bin.range.0);
    for (bin, sums) in kept.iter().zip(sums) {
        let is_empty = sums.committed == 0 && sums.others == 0 && sums.largest.is_none();
        if is_empty {
            continue;
        }
        let place = map.cells.len();
        match map.regions.last_mut().filter(|of| of.region.first == space.regions[bin.region].first) {
            Some(of) => of.cells.end = place + 1,
            None => map.regions.push(MapRegion { region: space.regions[bin.region], cells: place..place + 1 }),
        }
        map.cells.push(MapCell { number: bin.range.0 / cell, sums });
    }
    if cell <= BLOCKS_UP_TO {
        map.blocks = blocks(space, request);
    }
    Ok(map)
}

/// A cell before its numbers are known.
#[derive(Clone, Copy)]
struct Bin {
    region: usize,
    range: (u64, u64),
}

/// The cells inside a request's range that can have a block or be committed, by address.
fn bins<'a>(space: &'a AddressSpace, request: &MapRequest<'_>, cell: u64) -> impl Iterator<Item = Bin> + 'a {
    let (cell, (first, last)) = (cell.max(1), request.range);
    let used_from = space.used.partition_point(|(_, end)| *end < first);
    let used = space.used[used_from..].iter().take_while(move |(from, _)| *from <= last);
    let mut before: Option<(usize, u64)> = None;
    used.flat_map(move |&(from, end)| {
        let (from, end) = (from.max(first), end.min(last));
        let region = space.regions.partition_point(|region| region.last < from);
        let regions = (region..).zip(&space.regions[region..]).take_while(move |(_, region)| region.first <= end);
        regions.flat_map(move |(place, region)| {
            let (low, high) = (region.first.max(first), region.last.min(last));
            let numbers = from.max(low) / cell..=end.min(high) / cell;
            numbers.map(move |number| {
                let start = number * cell;
                let range = (start.max(low), start.saturating_add(cell - 1).min(high));
                (number, Bin { region: place, range })
            })
        })
    })
    .filter_map(move |(number, bin)| {
        // Two used ranges can share a cell.
        let is_new = before != Some((bin.region, number));
        before = Some((bin.region, number));
        is_new.then_some(bin)
    })
}

/// The first blocks inside a request's range.
fn blocks(space: &AddressSpace, request: &MapRequest<'_>) -> Vec<MapBlock> {
    let (first, last) = request.range;
    let from = space.blocks.partition_point(|piece| piece.last() < first);
    let inside = space.blocks[from..].iter().take_while(|piece| piece.first <= last).take(request.most);
    let block = |piece: &piece::Piece| MapBlock {
        first: piece.first,
        last: piece.last(),
        row: piece.row,
        birth: space.trace.rows.birth(piece.row),
        group: (piece.site != LEFT_OUT).then(|| (request.group_of)(piece.site)),
    };
    inside.map(block).collect()
}
