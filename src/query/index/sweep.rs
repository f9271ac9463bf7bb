//! Peaks of any lines, by going once through the events of an interval: workers
//! sum up stretches of it, each from 0, and the stretches are put together in order.

use rayon::prelude::*;

use super::bits::Bits;
use super::feed::{Feed, Item, NOBODY};
use super::order::{Order, Place};
use super::{Index, Ordered};
use crate::model::{Row, RowId, SiteId, Trace};
use crate::query::{Cancel, Cancelled, LifetimeClass};
use crate::units::{Interval, Ticks};

/// The lines of a site's rows by lifetime class.
pub(in crate::query) type ByClassLines = [Option<u32>; 4];

/// What a stretch does to a line: by how much it changes, and the most it rises
/// above its beginning.
struct Rise {
    line: u32,
    sum: i64,
    high: i64,
}

impl Index {
    /// The largest values of lines that begin at `now` and follow the events inside
    /// `interval`. A row counts for its line and all that `parent` names above it;
    /// changes at one tick count together. `None` while the trace grows, or where sums could overflow.
    pub(in crate::query) fn line_peaks(
        &self,
        interval: Interval,
        now: &[i128],
        lines_of: &(impl Fn(SiteId) -> ByClassLines + Sync),
        parent: &(impl Fn(u32) -> Option<u32> + Sync),
        cancel: &Cancel,
    ) -> Result<Option<Vec<i128>>, Cancelled> {
        let Some(Ordered { order, by_site: Some(by_site), .. }) = &self.ordered else { return Ok(None) };
        let (from, to) = self.edges(order, interval);
        let wanted = self.wanted(by_site, from, to, lines_of);
        cancel.check()?;
        let pick = picker(&self.trace, order, interval, from, lines_of);
        self.sweep(order, (from, to), now, &pick, wanted.as_ref(), parent, cancel).map(Some)
    }

    /// The same for any groups of rows.
    pub(in crate::query) fn row_peaks(
        &self,
        interval: Interval,
        now: &[i128],
        group_of: &(impl Fn(&Row) -> Option<u32> + Sync),
        cancel: &Cancel,
    ) -> Result<Option<Vec<i128>>, Cancelled> {
        let Some(Ordered { order, .. }) = &self.ordered else { return Ok(None) };
        let pick = |row: RowId, _: SiteId, _: bool| group_of(&self.trace.rows.get(row)).unwrap_or(NOBODY);
        self.sweep(order, self.edges(order, interval), now, &pick, None, &|_| None, cancel).map(Some)
    }

    fn edges(&self, order: &Order, interval: Interval) -> (Place, Place) {
        (order.place(&self.trace.rows, interval.from), order.place(&self.trace.rows, interval.to))
    }

    #[allow(clippy::too_many_arguments, reason = "they are what the two ways above have in common")]
    fn sweep(
        &self,
        order: &Order,
        (from, to): (Place, Place),
        now: &[i128],
        pick: &(impl Fn(RowId, SiteId, bool) -> u32 + Sync),
        wanted: Option<&Bits>,
        parent: &(impl Fn(u32) -> Option<u32> + Sync),
        cancel: &Cancel,
    ) -> Result<Vec<i128>, Cancelled> {
        let rows = &self.trace.rows;
        let mut places = vec![from];
        let cuts = order.cuts(rows, from, to, 4 * rayon::current_num_threads());
        places.extend(cuts.into_iter().map(|(_, place)| place));
        places.push(to);
        let stretches: Result<Vec<Vec<Rise>>, Cancelled> = places
            .par_windows(2)
            .map(|part| {
                let mut climb = Climb::new(now.len(), parent);
                Feed::new(rows, order, pick, wanted).run((part[0], part[1]), cancel, |item| climb.add(item))?;
                Ok(climb.finish())
            })
            .collect();
        let (mut now, mut peaks) = (now.to_vec(), now.to_vec());
        for Rise { line, sum, high } in stretches?.into_iter().flatten() {
            let (now, peak) = (&mut now[line as usize], &mut peaks[line as usize]);
            *peak = (*peak).max(*now + i128::from(high));
            *now += i128::from(sum);
        }
        Ok(peaks)
    }

    /// The rows that have a line, if it pays to know them before looking at deaths.
    fn wanted(
        &self,
        by_site: &[super::Bucket],
        from: Place,
        to: Place,
        lines_of: &(impl Fn(SiteId) -> ByClassLines + Sync),
    ) -> Option<Bits> {
        let rows = &self.trace.rows;
        if from.distance(to) < rows.len() as u64 / 2 {
            return None;
        }
        let wants: Vec<bool> = (0..by_site.len()).map(|i| lines_of(SiteId(i as u32)) != [None; 4]).collect();
        let count: u64 = by_site.iter().zip(&wants).filter(|(_, wants)| **wants).map(|(sum, _)| sum.count).sum();
        (count < rows.len() as u64 / 2).then(|| Bits::filled(rows, |chunk, at| wants[chunk.sites()[at].0 as usize]))
    }
}

/// The line of a birth or death inside the interval. Whether the row's other end is
/// inside is only looked up where it makes a difference.
fn picker<'a>(
    trace: &'a Trace,
    order: &'a Order,
    interval: Interval,
    from: Place,
    lines_of: &'a (impl Fn(SiteId) -> ByClassLines + Sync),
) -> impl Fn(RowId, SiteId, bool) -> u32 + Sync + 'a {
    use LifetimeClass::{Aifi, Aifo, Aofi};
    move |row, site, is_birth| {
        let lines = lines_of(site);
        let both_inside = lines[Aifi as usize];
        let other = lines[if is_birth { Aifo } else { Aofi } as usize];
        let is_inside = || match is_birth {
            true => trace.rows.death(row) < interval.to,
            false if order.late.has(row) => trace.rows.birth(row) >= interval.from,
            false => row.0 >= from.birth,
        };
        let line = if both_inside == other || is_inside() { both_inside } else { other };
        line.unwrap_or(NOBODY)
    }
}

/// Lines while time goes on.
struct Climb<'a, U> {
    parent: &'a U,
    now: Vec<i64>,
    high: Vec<i64>,
    has: Vec<bool>,
    touched: Vec<u32>,
    /// The present tick, and the lines that changed at it.
    at: Ticks,
    tick: Vec<u32>,
}

impl<'a, U: Fn(u32) -> Option<u32>> Climb<'a, U> {
    fn new(lines: usize, parent: &'a U) -> Self {
        let (now, high, has) = (vec![0; lines], vec![0; lines], vec![false; lines]);
        Self { parent, now, high, has, touched: Vec::new(), at: Ticks::BEFORE_TRACE, tick: Vec::new() }
    }

    #[inline]
    fn add(&mut self, item: &Item) {
        if item.at != self.at {
            self.end_tick();
            self.at = item.at;
        }
        self.change(item.of, item.delta);
    }

    fn finish(mut self) -> Vec<Rise> {
        self.end_tick();
        let Self { now, high, touched, .. } = self;
        touched.into_iter().map(|line| Rise { line, sum: now[line as usize], high: high[line as usize] }).collect()
    }

    #[inline]
    fn change(&mut self, line: u32, delta: i64) {
        if self.tick.last() != Some(&line) {
            self.tick.push(line);
        }
        let mut next = Some(line);
        while let Some(line) = next {
            let i = line as usize;
            if !self.has[i] {
                self.has[i] = true;
                self.touched.push(line);
            }
            self.now[i] += delta;
            next = (self.parent)(line);
        }
    }

    /// Only now it is known how high the tick went.
    #[inline]
    fn end_tick(&mut self) {
        for i in 0..self.tick.len() {
            let mut next = Some(self.tick[i]);
            while let Some(line) = next {
                let i = line as usize;
                self.high[i] = self.high[i].max(self.now[i]);
                next = (self.parent)(line);
            }
        }
        self.tick.clear();
    }
}
