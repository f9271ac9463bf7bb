//! The recorded requests in the order of time, given to a model.
//!
//! Of one tick, frees come first, then allocations in the order of the trace; pages are counted after all of them. A block that
//! was freed at the tick at which it was allocated is left out: it was never outstanding.
//!
//! Cost: a pass over births and deaths on one worker, and a place for each block that is alive.

use super::allocator::{Allocator, Place, Request};
use crate::model::{Row, RowId, Rows, SiteId, Trace};
use crate::query::{Cancel, Cancelled, PAGE, RowSet};
use crate::tables::KeyedMap;
use crate::units::Ticks;

/// The requests of some sites.
pub(super) struct Requests<'a> {
    pub(super) trace: &'a Trace,
    /// The rows that are asked about, if not all.
    pub(super) chosen: Option<&'a RowSet>,
    /// Whether the rows of a site are asked about, by site.
    pub(super) is_asked: &'a [bool],
}

/// The moment at which most pages were touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Peak {
    /// The first tick after which so many were.
    pub(super) tick: Ticks,
    pub(super) pages: u128,
    /// Bytes of the blocks that were alive then.
    pub(super) live_bytes: u128,
}

impl Peak {
    /// Bytes of the pages; saturating, like all sums.
    pub(super) fn bytes(&self) -> u64 {
        u64::try_from(self.pages).unwrap_or(u64::MAX).saturating_mul(PAGE)
    }
}

/// The state of a model after a part of the requests.
pub(super) struct Replayed {
    /// The peak up to there; `None` if no block was ever alive.
    pub(super) peak: Option<Peak>,
    /// Blocks that are alive, and their places, in no order.
    pub(super) live: Vec<(RowId, Place)>,
}

/// Number of events after which cancellation is looked at.
const STEP: u32 = 1 << 16;

impl Requests<'_> {
    /// Gives the requests up to and including a tick to a model. `group_of` returns the pool or arena of a row.
    pub(super) fn replay(
        &self,
        allocator: &mut dyn Allocator,
        mut group_of: impl FnMut(RowId, &Row) -> u32,
        last: Ticks,
        cancel: &Cancel,
    ) -> Result<Replayed, Cancelled> {
        let rows = &self.trace.rows;
        let mut births = births(rows).filter(|&(_, id)| self.is_wanted(id)).peekable();
        let mut deaths = rows.by_death().iter().filter(|&id| self.is_wanted(id)).map(|id| (rows.death(id), id)).peekable();
        let (mut live, mut live_bytes, mut peak) = (KeyedMap::<RowId, Place>::default(), 0u128, None::<Peak>);
        let mut request_of = |id| {
            let row = rows.get(id);
            let process = self.trace.process_of(self.trace.site(row.site)).0;
            Request { process, group: group_of(id, &row), address: row.address, size: row.size }
        };
        let mut events = 0;
        loop {
            let next = births.peek().map(|(tick, _)| *tick).into_iter().chain(deaths.peek().map(|(tick, _)| *tick)).min();
            let Some(tick) = next.filter(|tick| *tick <= last) else { break };
            while let Some((_, id)) = deaths.next_if(|(at, _)| *at == tick) {
                let request = request_of(id);
                if let Some(place) = live.remove(&id) {
                    allocator.free(&request, place);
                    live_bytes -= u128::from(request.size);
                }
                events += 1;
            }
            while let Some((_, id)) = births.next_if(|(at, _)| *at == tick) {
                let request = request_of(id);
                live.insert(id, allocator.allocate(&request));
                live_bytes += u128::from(request.size);
                events += 1;
            }
            let pages = allocator.pages();
            if peak.is_none_or(|peak| pages > peak.pages) {
                peak = Some(Peak { tick, pages, live_bytes });
            }
            if events > STEP {
                events = 0;
                cancel.check()?;
            }
        }
        Ok(Replayed { peak: peak.filter(|peak| peak.pages > 0), live: live.into_iter().collect() })
    }

    /// Whether a row was ever outstanding and is asked about.
    fn is_wanted(&self, id: RowId) -> bool {
        let SiteId(site) = self.trace.rows.site(id);
        let is_asked = self.is_asked[site as usize] && self.chosen.is_none_or(|rows| rows.has(id));
        is_asked && self.trace.rows.birth(id) < self.trace.rows.death(id)
    }
}

/// All rows in the order of their births, those of one tick by number.
fn births(rows: &Rows) -> impl Iterator<Item = (Ticks, RowId)> {
    let born = |id| (rows.birth(id), id);
    let in_order = (0..rows.len() as u32).map(RowId).filter(|&id| !rows.is_out_of_order(id)).map(born);
    let (mut in_order, mut late) = (in_order.peekable(), rows.out_of_order().iter().map(born).peekable());
    std::iter::from_fn(move || match (in_order.peek(), late.peek()) {
        (Some(first), Some(other)) if other < first => late.next(),
        (Some(_), _) => in_order.next(),
        (None, _) => late.next(),
    })
}
