//! The map of an address space by a look at every byte of every row that is alive.

use highwater::model::{HeapId, ProcessId, Row, RowId, SiteId, Trace};
use highwater::query::{MapBlock, MapCell, Region, Sums};
use highwater::units::{Layer, Ticks};

/// Addresses that are looked at: those of small captures are below.
const BYTES: usize = 0x10000;

/// A process's bytes at a moment, each with its row.
pub struct Bytes<'a> {
    trace: &'a Trace,
    is_shown: &'a dyn Fn(RowId, SiteId) -> bool,
    blocks: Vec<Option<RowId>>,
    committed: Vec<Option<RowId>>,
    /// Empty blocks where no other block is, by address.
    empty: Vec<RowId>,
    /// Ranges that are set aside: first and last byte.
    reserved: Vec<(usize, usize)>,
    /// Whether any byte belongs to several blocks.
    pub overlaps: bool,
}

impl<'a> Bytes<'a> {
    pub fn at(trace: &'a Trace, (process, at): (ProcessId, Ticks), is_shown: &'a dyn Fn(RowId, SiteId) -> bool) -> Self {
        let (blocks, committed) = (vec![None; BYTES], vec![None; BYTES]);
        let reserved = trace.reservations.iter().filter(|range| range.process == process && range.is_at(at));
        let mut ranges: Vec<(usize, usize)> = reserved.map(|range| (range.from as usize, range.to as usize - 1)).collect();
        ranges.sort_unstable();
        // Of ranges that overlap, the first one has the bytes.
        let of_byte = |byte: usize| ranges.iter().position(|(from, to)| (*from..=*to).contains(&byte));
        let mut reserved: Vec<(usize, usize)> = Vec::new();
        let mut overlaps = false;
        for (i, &(from, to)) in ranges.iter().enumerate() {
            let own: Vec<usize> = (from..=to).filter(|byte| of_byte(*byte) == Some(i)).collect();
            overlaps |= own.len() < to - from + 1;
            reserved.extend(own.first().zip(own.last()).map(|(from, to)| (*from, *to)));
        }
        let mut bytes = Self { trace, is_shown, blocks, committed, empty: Vec::new(), reserved, overlaps };
        let rows = (0..trace.rows.len() as u32).map(|id| (RowId(id), trace.rows.get(RowId(id))));
        let is_alive = |(_, row): &(RowId, Row)| {
            row.birth < at && row.death >= at && trace.heap(trace.site(row.site).heap).process == process
        };
        let mut alive: Vec<(RowId, Row)> = rows.filter(is_alive).collect();
        alive.sort_by_key(|(id, row)| (bytes.rank(*id, row), row.address, *id));
        for (id, row) in &alive {
            let is_commit = trace.layer_of(trace.site(row.site)) == Layer::Commit;
            for byte in row.address..row.address + row.size {
                let of = if is_commit { &mut bytes.committed } else { &mut bytes.blocks };
                bytes.overlaps |= of[byte as usize].is_some();
                of[byte as usize].get_or_insert(*id);
            }
        }
        alive.retain(|(_, row)| row.size == 0 && bytes.blocks[row.address as usize].is_none());
        bytes.empty = alive.into_iter().map(|(id, _)| id).collect();
        bytes.empty.sort_by_key(|id| (trace.rows.get(*id).address, *id));
        bytes
    }

    /// Which of several blocks a byte belongs to: that of a tracker first, those that are left out last.
    fn rank(&self, id: RowId, row: &Row) -> u32 {
        match self.trace.layer_of(self.trace.site(row.site)) {
            _ if !(self.is_shown)(id, row.site) => 2,
            Layer::Tracker => 0,
            _ => 1,
        }
    }

    fn shown(&self, id: RowId) -> Option<SiteId> {
        let site = self.trace.rows.get(id).site;
        (self.is_shown)(id, site).then_some(site)
    }

    /// Ranges set aside, and the bytes outside of them that are in use, from the first to the last between two of those.
    pub fn regions(&self) -> Vec<Region> {
        let mut ranges: Vec<(usize, usize, bool)> = self.reserved.iter().map(|&(from, to)| (from, to, true)).collect();
        let mut run: Option<(usize, usize)> = None;
        let empty_at = |byte: usize| self.empty.iter().any(|id| self.trace.rows.get(*id).address == byte as u64);
        for byte in 0..BYTES {
            if self.reserved.iter().any(|&(from, to)| (from..=to).contains(&byte)) {
                ranges.extend(run.take().map(|(from, to)| (from, to, false)));
            } else if self.blocks[byte].is_some() || self.committed[byte].is_some() || empty_at(byte) {
                run = Some((run.map_or(byte, |(from, _)| from), byte));
            }
        }
        ranges.extend(run.map(|(from, to)| (from, to, false)));
        ranges.sort_unstable();
        let region = |(from, to, is_reserved): (usize, usize, bool)| {
            let sums = self.sums((from, to), &|site| self.trace.site(site).heap.0);
            Region { first: from as u64, last: to as u64, is_reserved, owner: sums.group.map(HeapId), sums }
        };
        ranges.into_iter().map(region).collect()
    }

    /// The cells of a size inside a range that have anything.
    pub fn cells(&self, (first, last): (u64, u64), cell: u64, group_of: &dyn Fn(SiteId) -> u32) -> Vec<MapCell> {
        let mut cells = Vec::new();
        for region in self.regions() {
            let (low, high) = (region.first.max(first), region.last.min(last));
            for number in 0..=BYTES as u64 / cell {
                let (from, to) = ((number * cell).max(low), (number * cell + cell - 1).min(high));
                if from > to {
                    continue;
                }
                let sums = self.sums((from as usize, to as usize), group_of);
                if sums.committed > 0 || sums.others > 0 || sums.largest.is_some() {
                    cells.push(MapCell { number, sums });
                }
            }
        }
        cells
    }

    /// The blocks in a range, each as many times as it has stretches of bytes.
    pub fn blocks(&self, (first, last): (u64, u64), group_of: &dyn Fn(SiteId) -> u32) -> Vec<MapBlock> {
        let group = |id| self.shown(id).map(group_of);
        let mut blocks: Vec<MapBlock> = Vec::new();
        let mut from = 0;
        for byte in 1..=BYTES {
            let of = |byte: usize| self.blocks.get(byte).copied().flatten();
            if of(byte) != of(from) || byte == BYTES {
                let birth = |row| self.trace.rows.birth(row);
                let block =
                    |row| MapBlock { first: from as u64, last: byte as u64 - 1, row, birth: birth(row), group: group(row) };
                blocks.extend(of(from).map(block));
                from = byte;
            }
        }
        blocks.extend(self.empty.iter().map(|&row| {
            let of = self.trace.rows.get(row);
            MapBlock { first: of.address, last: of.address, row, birth: of.birth, group: group(row) }
        }));
        blocks.sort_by_key(|block| block.first);
        blocks.retain(|block| block.first <= last && block.last >= first);
        blocks
    }

    /// Bytes of commit.
    pub fn committed(&self) -> u64 {
        self.committed.iter().flatten().count() as u64
    }

    fn sums(&self, (from, to): (usize, usize), group_of: &dyn Fn(SiteId) -> u32) -> Sums {
        let stretches = |of: &[Option<RowId>]| {
            let mut found: Vec<(RowId, u64, bool)> = Vec::new();
            for byte in from..=to {
                let Some(id) = of[byte] else { continue };
                let goes_on = byte > 0 && of[byte - 1] == Some(id);
                match found.last_mut() {
                    Some((last, bytes, _)) if goes_on && byte > from && *last == id => *bytes += 1,
                    _ => found.push((id, 1, !goes_on)),
                }
            }
            found
        };
        let is_inside = |id: &&RowId| (from..=to).contains(&(self.trace.rows.get(**id).address as usize));
        let empty: Vec<RowId> = self.empty.iter().filter(is_inside).copied().collect();
        let mut blocks = stretches(&self.blocks);
        let others = blocks.iter().filter(|(id, ..)| self.shown(*id).is_none()).map(|(_, bytes, _)| bytes).sum();
        blocks.extend(empty.into_iter().map(|id| (id, 0, true)));
        blocks.retain(|(id, ..)| self.shown(*id).is_some());
        let committed = stretches(&self.committed);
        let pages = committed.iter().map(|(_, bytes, _)| bytes).sum();
        let is_bare = blocks.is_empty() && others == 0;
        let counted: Vec<_> = match is_bare {
            true => committed.iter().filter(|(id, ..)| self.shown(*id).is_some()).copied().collect(),
            false => blocks.clone(),
        };
        let mut groups: Vec<(u32, u64)> = Vec::new();
        for (id, bytes, _) in &counted {
            let group = group_of(self.trace.rows.get(*id).site);
            match groups.iter_mut().find(|(of, _)| *of == group) {
                Some((_, sum)) => *sum += bytes,
                None => groups.push((group, *bytes)),
            }
        }
        let births = || counted.iter().map(|(id, ..)| self.trace.rows.birth(*id));
        let most = counted.iter().map(|(_, bytes, _)| *bytes).max();
        // Of several parts the first, which need not be of the block that begins first.
        let largest = counted.iter().find(|(_, bytes, _)| Some(*bytes) == most).map(|(id, ..)| *id);
        Sums {
            live: blocks.iter().map(|(_, bytes, _)| bytes).sum(),
            others,
            committed: pages,
            blocks: blocks.iter().filter(|(.., begins)| *begins).count() as u64,
            group: groups.iter().max_by_key(|(group, bytes)| (*bytes, std::cmp::Reverse(*group))).map(|(group, _)| *group),
            oldest: births().min().unwrap_or(Ticks::NEVER),
            newest: births().max().unwrap_or(Ticks::BEFORE_TRACE),
            largest,
        }
    }
}
