//! Parts of answers that were made before anybody asked for them, by their inputs: what the user will probably ask next.
//!
//! They are about one trace and one state of its names; [`QueryCache`](super::query_cache::QueryCache) drops them with
//! those. A part is given away when it is asked for. The memory of all is bounded: parts that were foreseen for an earlier
//! state make room for new ones, and if that is not enough no more are made.

use std::sync::Arc;

use super::drop_aside;
use super::query::Part;
use super::query_cache::{CommittedKey, GraphKey, LaidKey, PictureKey, Rows};
use super::{Ask, Query};
use crate::app::state::filters::Filters;
use crate::model::CounterId;
use crate::query::{Fold, Path};
use crate::units::Interval;

/// Most parts that are kept, and most bytes of them and of the totals from which they are made.
const MOST_PARTS: usize = 256;
pub(super) const MOST_BYTES: usize = 128 << 20;

/// The inputs of a part of an answer, beside the trace and the names.
#[derive(PartialEq)]
pub(super) enum PartKey {
    Sources(Interval, Rows),
    Left(Rows),
    Graph(GraphKey),
    Counters(Interval, Vec<CounterId>, usize),
    Overlays(PictureKey),
    Committed(CommittedKey),
    Laid(LaidKey),
    LifetimeBand(BandKey),
    View(ViewKey),
}

impl PartKey {
    /// Whether the window keeps such parts, so that they are sent again only if they change.
    pub(super) fn stays(&self) -> bool {
        !matches!(self, Self::View(_) | Self::LifetimeBand(_))
    }
}

/// The inputs of the times when a node was alive.
#[derive(PartialEq)]
pub(super) struct BandKey {
    pub(super) interval: Interval,
    pub(super) view: Interval,
    pub(super) bins: usize,
    pub(super) rows: Rows,
    pub(super) node: Option<Path>,
}

/// The inputs of a view's answer.
pub(super) struct ViewKey {
    ask: Arc<dyn Ask>,
    /// Whether the answer is that of [`Ask::complete`].
    is_complete: bool,
    interval: Interval,
    filters: Filters,
    fold: Fold,
    chain: Option<usize>,
}

impl ViewKey {
    pub(super) fn new(ask: &Arc<dyn Ask>, is_complete: bool, query: &Query) -> Self {
        let (interval, filters, fold) = (query.interval, query.filters.clone(), query.fold);
        Self { ask: Arc::clone(ask), is_complete, interval, filters, fold, chain: query.overlays.chain }
    }
}

impl PartialEq for ViewKey {
    fn eq(&self, other: &Self) -> bool {
        let rest = |of: &Self| (of.is_complete, of.interval, of.fold, of.chain);
        rest(self) == rest(other) && self.ask.is_same(&*other.ask) && self.filters == other.filters
    }
}

/// The inputs of the parts that the window has: of each kind the latest.
#[derive(Default)]
pub(super) struct Sent(Vec<PartKey>);

impl Sent {
    pub(super) fn has(&self, key: &PartKey) -> bool {
        self.0.contains(key)
    }

    pub(super) fn note(&mut self, key: PartKey) {
        let kind = std::mem::discriminant(&key);
        self.0.retain(|known| std::mem::discriminant(known) != kind);
        self.0.push(key);
    }

    /// Forgets the lines of another trace, which the window no longer shows.
    pub(super) fn forget_laid(&mut self) {
        self.0.retain(|known| !matches!(known, PartKey::Laid(_)));
    }
}

/// Parts that were made ahead, the earliest first.
#[derive(Default)]
pub(super) struct Ahead {
    made: Vec<Made>,
    /// The number of the present set of requests: what it does not contain makes room first.
    turn: u64,
}

struct Made {
    key: PartKey,
    parts: Vec<Part>,
    bytes: usize,
    turn: u64,
}

impl Ahead {
    /// Begins another set of requests.
    pub(super) fn begin(&mut self) {
        self.turn += 1;
    }

    /// Takes parts out; `None` if they were not made.
    pub(super) fn take(&mut self, key: &PartKey) -> Option<Vec<Part>> {
        let at = self.made.iter().position(|made| made.key == *key)?;
        Some(self.made.remove(at).parts)
    }

    /// Whether parts are there; the present set of requests needs them.
    pub(super) fn has(&mut self, key: &PartKey) -> bool {
        let turn = self.turn;
        let known = self.made.iter_mut().find(|made| made.key == *key);
        known.map(|made| made.turn = turn).is_some()
    }

    /// Keeps parts; returns whether there was room for them beside so many bytes of what they are made from.
    pub(super) fn keep(&mut self, key: PartKey, parts: Vec<Part>, beside: usize) -> bool {
        let of = |part: &Part| match (&key, part) {
            (PartKey::View(key), Part::View(_, answer)) => key.ask.bytes(answer),
            _ => part.bytes(),
        };
        let bytes = size_of::<Made>() + parts.iter().map(of).sum::<usize>();
        let has_room = |ahead: &Self| ahead.made.len() < MOST_PARTS && ahead.bytes() + beside + bytes <= MOST_BYTES;
        if !has_room(self) {
            self.drop_stale();
        }
        let is_kept = has_room(self);
        if is_kept {
            self.made.push(Made { key, parts, bytes, turn: self.turn });
        }
        is_kept
    }

    /// Drops parts that were foreseen for an earlier state.
    pub(super) fn drop_stale(&mut self) {
        let turn = self.turn;
        drop_aside(self.made.extract_if(.., |made| made.turn < turn).collect::<Vec<_>>());
    }

    /// Bytes of all parts.
    pub(super) fn bytes(&self) -> usize {
        self.made.iter().map(|made| made.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Series;
    use crate::units::Ticks;

    fn key(number: usize) -> PartKey {
        PartKey::Counters(Interval { from: Ticks(0), to: Ticks(1) }, Vec::new(), number)
    }

    fn part(bytes: usize) -> Vec<Part> {
        let points = vec![(Ticks(0), 0); bytes / size_of::<(Ticks, u64)>()];
        let view = Interval { from: Ticks(0), to: Ticks(1) };
        vec![Part::Counters { view, ids: Vec::new(), lines: vec![Series { points, ..Series::default() }] }]
    }

    #[test]
    fn a_part_is_given_away_once() {
        let mut ahead = Ahead::default();
        assert!(ahead.keep(key(1), part(64), 0) && ahead.has(&key(1)) && !ahead.has(&key(2)));
        assert_eq!(ahead.take(&key(1)).map(|parts| parts.len()), Some(1));
        assert!(ahead.take(&key(1)).is_none() && ahead.bytes() == 0);
    }

    #[test]
    fn memory_is_bounded_and_what_is_past_makes_room() {
        const LARGE: usize = MOST_BYTES / 8;
        let mut ahead = Ahead::default();
        let kept = (0..12).filter(|&number| ahead.keep(key(number), part(LARGE), 0)).count();
        assert!(kept == 7 && ahead.bytes() <= MOST_BYTES, "{kept} parts with their keys");
        ahead.begin();
        assert!(ahead.has(&key(3)), "the next set needs it too");
        assert!(ahead.keep(key(20), part(LARGE), 0) && ahead.bytes() <= 2 * (LARGE + 1024));
        assert!(ahead.has(&key(3)) && ahead.has(&key(20)) && !ahead.has(&key(0)));
        let small = (100..1000).filter(|&number| ahead.keep(key(number), part(16), 0)).count();
        assert_eq!(small, MOST_PARTS - 2);
        assert!(!ahead.keep(key(5000), part(MOST_BYTES), 0), "one that is too large itself");
        assert!(!Ahead::default().keep(key(1), part(LARGE), MOST_BYTES - LARGE), "the totals behind them count too");
    }
}
