//! Rows as blocks: a block for each chunk, and blocks for the orders of rows.

use std::io;
use std::sync::Arc;

use bytemuck::{cast_slice, cast_slice_mut};

use super::deaths::{ALIVE, DeathsAside};
use super::{Aside, CHUNK, CHUNK_BITS, Columns, DeathColumn, FreedColumn, MORE, RowId, RowList, Rows, SiteColumn};
use crate::model::SiteId;
use crate::model::stored::{BlockSink, BlockSource, Blocks, Fill, Unrestored, are_in_order};
use crate::stored::{Damaged, stored};
use crate::tables::Hashing;
use crate::units::{Ticks, Tid};

/// Rows of a block of an order.
const ORDERED: usize = CHUNK;

/// Everything about rows that is not in blocks.
#[derive(Debug)]
pub(in crate::model) struct RowsHead {
    chunks: Vec<ChunkHead>,
    threads: Arc<Vec<Tid>>,
    out_of_order: u32,
    by_death: u32,
}
stored!(struct RowsHead { chunks, threads, out_of_order, by_death });

/// Numbers of sites of allocations and of frees.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct Sites {
    pub(in crate::model) allocating: u32,
    pub(in crate::model) freeing: u32,
}

/// Everything about a chunk that is not in its block.
#[derive(Debug)]
struct ChunkHead {
    rows: u32,
    base: Ticks,
    has_birth_high: bool,
    deaths: DeathsAside,
    has_death_high: bool,
    has_freed: bool,
    late: Vec<u64>,
    aside: Aside,
}
stored!(struct ChunkHead { rows, base, has_birth_high, deaths, has_death_high, has_freed, late, aside });
stored!(struct Aside { sizes, addresses, threads });

impl Rows {
    /// Writes the blocks of all rows.
    pub(in crate::model) fn store(&self, sink: &mut impl BlockSink) -> io::Result<RowsHead> {
        let Self { chunks, sites: _, freed: _, threads, len: _, horizon: _, out_of_order, by_death } = self;
        let chunks = (0..chunks.len()).map(|chunk| self.store_chunk(chunk, sink)).collect::<io::Result<_>>()?;
        for list in [out_of_order, by_death] {
            for from in (0..list.len()).step_by(ORDERED) {
                let to = list.len().min(from + ORDERED);
                let rows: Vec<u32> = list.range(from as u32..to as u32).map(|row| row.0).collect();
                sink.put(&[cast_slice(&rows)])?;
            }
        }
        let (out_of_order, by_death) = (out_of_order.len() as u32, by_death.len() as u32);
        Ok(RowsHead { chunks, threads: Arc::clone(threads), out_of_order, by_death })
    }

    fn store_chunk(&self, chunk: usize, sink: &mut impl BlockSink) -> io::Result<ChunkHead> {
        let columns = &*self.chunks[chunk];
        let rows = columns.len();
        let Columns { base, birth, birth_high, death, size, address, address_high, thread, late, aside } = columns;
        let (deaths, low, high) = death.halves(rows);
        let sites: Vec<u32> = self.sites[chunk].iter().map(|site| site.0).collect();
        let freed: Vec<u32> = self.freed.get(chunk).map_or_else(Vec::new, |freed| freed.numbers(rows));
        sink.put(&[
            cast_slice(birth),
            cast_slice(birth_high),
            cast_slice(&low),
            cast_slice(&high),
            cast_slice(size),
            cast_slice(address),
            cast_slice(address_high),
            cast_slice(thread),
            cast_slice(&sites),
            cast_slice(&freed),
        ])?;
        Ok(ChunkHead {
            rows: rows as u32,
            base: *base,
            has_birth_high: !birth_high.is_empty(),
            deaths,
            has_death_high: !high.is_empty(),
            has_freed: !freed.is_empty(),
            late: late.clone(),
            aside: aside.clone(),
        })
    }

    /// Reads all rows.
    pub(in crate::model) fn restore(
        head: RowsHead,
        sites: Sites,
        blocks: &mut Blocks<'_, impl BlockSource>,
    ) -> Result<Self, Unrestored> {
        let RowsHead { chunks: heads, threads, out_of_order, by_death } = head;
        let seed = Hashing::default().hash_one(1u8);
        let full = heads.iter().rev().skip(1).all(|head| head.rows as usize == CHUNK);
        let len = u32::try_from(heads.iter().map(|head| u64::from(head.rows)).sum::<u64>()).map_err(|_| Damaged)?;
        if !full || len == u32::MAX {
            return Err(Unrestored::Damaged);
        }
        let read = blocks.each(heads.len(), |chunk, fill| {
            let first = (chunk << CHUNK_BITS) as u32;
            restored_chunk(&heads[chunk], (first, seed), (threads.len(), sites), fill)
        })?;
        let mut rows = Self { threads, len, ..Self::default() };
        let mut tallies = Vec::with_capacity(read.len());
        for (columns, sites, freed, tally) in read {
            rows.chunks.push(Arc::new(columns));
            rows.sites.push(sites);
            rows.freed.push(freed);
            tallies.push(tally);
        }
        while rows.freed.last().is_some_and(|freed| !freed.is_there()) {
            rows.freed.pop();
        }
        let in_order = tallies.iter().filter_map(|tally| tally.in_order);
        let count = |of: fn(&Tally) -> u32| tallies.iter().map(|tally| u64::from(of(tally))).sum::<u64>();
        let late = |row| rows.is_out_of_order(row).then(|| rows.birth(row));
        let late = rows.restore_order(out_of_order, blocks, late, seed)?;
        let dead = |row| Some(rows.death(row)).filter(|&death| death != Ticks::NEVER);
        let dead = rows.restore_order(by_death, blocks, dead, seed)?;
        let all = |of: fn(&Tally) -> u64| tallies.iter().fold(0u64, |sum, tally| sum.wrapping_add(of(tally)));
        let is_good = are_in_order(in_order)
            && (u64::from(out_of_order), late.1) == (count(|tally| tally.late), all(|tally| tally.late_mix))
            && (u64::from(by_death), dead.1) == (count(|tally| tally.dead), all(|tally| tally.dead_mix));
        if !is_good {
            return Err(Unrestored::Damaged);
        }
        (rows.out_of_order, rows.by_death) = (late.0, dead.0);
        Ok(rows)
    }

    /// Reads rows in the order of a key, which all of them have, and adds up their mixed numbers.
    fn restore_order(
        &self,
        count: u32,
        blocks: &mut Blocks<'_, impl BlockSource>,
        key: impl Fn(RowId) -> Option<Ticks> + Sync,
        seed: u64,
    ) -> Result<(RowList, u64), Unrestored> {
        let read = blocks.each((count as usize).div_ceil(ORDERED), |piece, fill| {
            let mut numbers = vec![0u32; ORDERED.min(count as usize - piece * ORDERED)];
            fill(&mut [cast_slice_mut(&mut numbers)])?;
            let (mut mix, mut first, mut last) = (0u64, None, Ticks::BEFORE_TRACE);
            for &number in &numbers {
                if number >= self.len {
                    return Err(Damaged);
                }
                let at = key(RowId(number)).filter(|&at| at >= last).ok_or(Damaged)?;
                first.get_or_insert(at);
                last = at;
                mix = mix.wrapping_add(mixed(number, seed));
            }
            let rows: Arc<[RowId]> = numbers.into_iter().map(RowId).collect();
            Ok((rows, mix, (first.unwrap_or(last), last)))
        })?;
        if !are_in_order(read.iter().map(|(.., edges)| *edges)) {
            return Err(Unrestored::Damaged);
        }
        let (mut list, mut all) = (RowList::default(), 0u64);
        for (rows, mix, _) in read {
            list.push(rows);
            all = all.wrapping_add(mix);
        }
        Ok((list, all))
    }

    /// Whether the sizes of all rows add up to more than a signed number of 64 bits holds. Cost: nothing if they surely do not,
    /// else a pass over them.
    pub(in crate::model) fn sums_saturate(&self) -> bool {
        let aside = self.chunks.iter().flat_map(|columns| columns.aside.sizes.values());
        let most = u128::from(self.len) * u128::from(super::LARGE) + aside.map(|&size| u128::from(size)).sum::<u128>();
        most > i64::MAX as u128 && self.bytes_of_all() > i64::MAX as u128
    }
}

/// A number of a row, mixed with one that no file knows: equal sums of mixed numbers are of the same rows.
#[inline(always)]
fn mixed(row: u32, seed: u64) -> u64 {
    let mut mixed = (seed ^ u64::from(row)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^= mixed >> 32;
    mixed = mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^ mixed >> 32
}

/// Sums over a chunk, to compare them with the orders of rows.
struct Tally {
    /// Births of the first and the last row that are in order.
    in_order: Option<(Ticks, Ticks)>,
    late: u32,
    late_mix: u64,
    dead: u32,
    dead_mix: u64,
}

/// Reads a chunk whose first row has the number `first`.
fn restored_chunk(
    head: &ChunkHead,
    (first, seed): (u32, u64),
    (threads, known): (usize, Sites),
    fill: &Fill<'_>,
) -> Result<(Columns, SiteColumn, FreedColumn, Tally), Damaged> {
    let rows = head.rows as usize;
    if rows == 0 || rows > CHUNK || head.late.len() > rows.div_ceil(64) || !head.deaths.has_bits_for(rows) {
        return Err(Damaged);
    }
    let (all, some) = (|| vec![0u32; rows], |is_there| if is_there { rows } else { 0 });
    let (mut birth, mut birth_high, mut low) = (all(), vec![0u32; some(head.has_birth_high)], all());
    let mut high = vec![0u16; some(head.has_death_high)];
    let (mut size, mut address, mut address_high, mut thread) = (all(), all(), vec![0u16; rows], vec![0u16; rows]);
    let (mut sites, mut freed) = (all(), vec![0u32; some(head.has_freed)]);
    fill(&mut [
        cast_slice_mut(&mut birth),
        cast_slice_mut(&mut birth_high),
        cast_slice_mut(&mut low),
        cast_slice_mut(&mut high),
        cast_slice_mut(&mut size),
        cast_slice_mut(&mut address),
        cast_slice_mut(&mut address_high),
        cast_slice_mut(&mut thread),
        cast_slice_mut(&mut sites),
        cast_slice_mut(&mut freed),
    ])?;
    let has_thread = |&thread: &u16| usize::from(thread) < threads || thread == MORE;
    let has_sites = sites.iter().max().is_some_and(|&most| most < known.allocating);
    if !has_sites || !thread.iter().all(has_thread) {
        return Err(Damaged);
    }
    let (base, late, aside) = (head.base, head.late.clone(), head.aside.clone());
    let is_near = late.is_empty() && birth_high.is_empty() && high.is_empty();
    let near = if is_near { Tally::of_near((base, &birth), (head.deaths.base(), &low), (first, seed)) } else { None };
    let death = DeathColumn::of_halves(&head.deaths, low, high);
    let columns = Columns { base, birth, birth_high, death, size, address, address_high, thread, late, aside };
    let tally = near.map_or_else(|| Tally::of(&columns, first, seed), Ok)?;
    let sites = Arc::new(sites.into_iter().map(SiteId).collect());
    Ok((columns, sites, FreedColumn::of_numbers(freed, known.freeing).ok_or(Damaged)?, tally))
}

impl Tally {
    /// Adds up what the orders of rows must have, and checks that rows are in the order of their births, and die after them.
    fn of(columns: &Columns, first: u32, seed: u64) -> Result<Self, Damaged> {
        let mut tally = Self { in_order: None, late: 0, late_mix: 0, dead: 0, dead_mix: 0 };
        for at in 0..columns.len() {
            let (birth, death) = (columns.birth(at), columns.death.get(at));
            let mix = mixed(first + at as u32, seed);
            if columns.is_late(at) {
                tally.late += 1;
                tally.late_mix = tally.late_mix.wrapping_add(mix);
            } else {
                let (from, last) = tally.in_order.unwrap_or((birth, birth));
                if birth < last {
                    return Err(Damaged);
                }
                tally.in_order = Some((from, birth));
            }
            if death != Ticks::NEVER {
                if death < birth {
                    return Err(Damaged);
                }
                tally.dead += 1;
                tally.dead_mix = tally.dead_mix.wrapping_add(mix);
            }
        }
        Ok(tally)
    }

    /// [`Self::of`] for rows that are in order, and whose times have no upper halves; `None` if anything is unusual.
    fn of_near((base, birth): (Ticks, &[u32]), (deaths, low): (Ticks, &[u32]), (first, seed): (u32, u64)) -> Option<Self> {
        let later = u32::try_from(deaths.0.checked_sub(base.0)?).ok()?;
        // No time is beyond the last moment.
        deaths.0.checked_add(ALIVE.into())?;
        let time = |&offset: &u32| Ticks(base.0 + i64::from(offset));
        let is_in_order = birth.windows(2).fold(true, |is, pair| is & (pair[0] <= pair[1]));
        let (mut dies_later, mut dead, mut dead_mix) = (true, 0, 0u64);
        for ((row, &birth), &low) in (first..).zip(birth).zip(low) {
            let is_dead = low < ALIVE;
            dies_later &= u64::from(later) + u64::from(low) >= u64::from(birth) || !is_dead;
            dead += u32::from(is_dead);
            dead_mix = dead_mix.wrapping_add(if is_dead { mixed(row, seed) } else { 0 });
        }
        let in_order = Some((birth.first().map(time)?, birth.last().map(time)?));
        (is_in_order && dies_later).then_some(Self { in_order, late: 0, late_mix: 0, dead, dead_mix })
    }
}
