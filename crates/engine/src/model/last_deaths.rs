//! The last death in each block of rows: a search for what is alive at a moment skips the blocks that were all freed before it.
//! Most blocks are young when they are freed, so nearly all rows born long before the moment are skipped.
//!
//! Memory: 8 bytes for [`BLOCK`] rows. Cost: one parallel pass over the deaths.

use std::ops::Range;

use rayon::prelude::*;

use super::{CHUNK, Chunk, Rows};
use crate::units::Ticks;

/// Rows in a block; a divisor of [`CHUNK`], so that no block lies in two chunks.
const BLOCK: usize = 256;
const _: () = assert!(CHUNK.is_multiple_of(BLOCK));

/// The last death of each block; [`Ticks::NEVER`] if one of its rows is alive at the end.
#[derive(Clone, Debug)]
pub struct LastDeaths(Vec<Ticks>);

impl LastDeaths {
    pub(super) fn of(rows: &Rows) -> Self {
        let of_chunk = |chunk: Chunk<'_>| -> Vec<Ticks> {
            let last = |places: Range<usize>| places.map(|at| chunk.death(at)).max().unwrap_or(Ticks::NEVER);
            blocks(chunk.len()).map(last).collect()
        };
        Self(rows.chunks().collect::<Vec<_>>().into_par_iter().flat_map_iter(of_chunk).collect())
    }

    /// The places in a chunk of the rows that can be alive at `t`: blocks of which one row dies at `t` or later.
    pub fn alive(&self, chunk: &Chunk<'_>, t: Ticks) -> impl Iterator<Item = Range<usize>> {
        let last = &self.0[chunk.first().0 as usize / BLOCK..];
        blocks(chunk.len()).zip(last).filter(move |(_, last)| **last >= t).map(|(places, _)| places)
    }
}

/// The places of each block in a chunk of so many rows.
fn blocks(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(BLOCK).map(move |first| first..(first + BLOCK).min(rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::rows::{RowSites, RowWriter};
    use crate::model::{Row, RowList, SiteId};
    use crate::units::Tid;

    #[test]
    fn blocks_with_a_row_alive_at_a_moment_are_searched_and_no_others() {
        let (mut writer, _) = RowWriter::new();
        let count = (CHUNK + 3 * BLOCK + 17) as i64;
        for n in 0..count {
            let birth = Ticks(n);
            let (site, thread, death) = (SiteId(0), Tid(1), Ticks::NEVER);
            let row = Row { address: 0, size: 1, birth, death, site, thread, freed_at: None, is_cross_thread: false };
            let id = writer.push(&row, |_| {}).unwrap();
            // Most die at once, one in 1,000 after a long time, and one in the middle never.
            if n != count / 2 {
                writer.kill(id, Ticks(n + if n % 1_000 == 0 { 40_000 } else { n % 5 }));
            }
        }
        for horizon in [Ticks::NEVER, Ticks(count / 3)] {
            let mut sites = RowSites::default();
            sites.extend_to(writer.len());
            let rows = writer.publish(&sites, horizon, RowList::default());
            let deaths = LastDeaths::of(&rows);
            for t in [-1, 0, 1, 255, 256, 30_000, 40_001, CHUNK as i64, count, 2 * count].map(Ticks) {
                for chunk in rows.chunks() {
                    let searched: Vec<Range<usize>> = deaths.alive(&chunk, t).collect();
                    let is_wanted = |places: &Range<usize>| places.clone().any(|at| chunk.death(at) >= t);
                    let wanted: Vec<Range<usize>> = blocks(chunk.len()).filter(is_wanted).collect();
                    assert_eq!(searched, wanted, "at {t:?}");
                }
            }
        }
    }
}
