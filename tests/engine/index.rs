//! What is prepared for a trace answers as scans of its rows do, for any choice of
//! sites: totals, graphs and peaks, with sizes up to those whose sums overflow.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::oracle::question::{OPS, builder, edges, interval, options, place, replay, ways};
use crate::oracle::scenario::{Act, Op, Scenario, TRACE_START};
use crate::oracle::strategy;
use highwater::events::{Event, Record};
use highwater::model::{InputState, SiteId, Trace};
use highwater::query::{
    Bounds, Cancel, Index, IndexOptions, RowChoice, RowCondition, Series, SeriesOf, Totals, TreeRequest, coarse_series, peaks,
    series, totals, tree,
};
use highwater::units::{Interval, Layer, Pid, Ticks, Tid};
use proptest::prelude::*;
use proptest::sample::select;

fn by_site(trace: &Trace, totals: &Totals) -> Vec<String> {
    (0..trace.sites.len()).map(|site| format!("{:?}", totals.of(SiteId(site as u32)))).collect()
}

/// Series of sites by chance: some in none, sites of several heaps in one.
fn any_series(trace: &Trace, choice: &[Option<u32>]) -> SeriesOf {
    SeriesOf::new(trace, 4, |site| choice[site.0 as usize % choice.len()])
}

/// Whether a site counts in a series.
fn counts(of: &SeriesOf, site: SiteId, series: u32) -> bool {
    of.site[site.0 as usize].is_some_and(|own| own == series || of.is_stacked && own < series)
}

/// The same operations with much larger blocks.
fn enlarge(ops: &mut [Op], factor: u64) {
    for op in ops {
        if let Act::Alloc { size, .. } | Act::Realloc { size, .. } = &mut op.act {
            *size = size.saturating_mul(factor);
        }
    }
}

/// A line step by step: its value at the left edge, and what it is from each tick with a step on.
struct Steps {
    base: i128,
    after: BTreeMap<Ticks, i128>,
}

impl Steps {
    /// Of the rows of one series, one by one.
    fn of(trace: &Trace, interval: Interval, is_wanted: impl Fn(SiteId) -> bool) -> Self {
        let (mut base, mut changes) = (0, BTreeMap::<Ticks, i128>::new());
        for row in trace.rows.chunks().flat_map(|chunk| chunk.rows().map(|(_, row)| row).collect::<Vec<_>>()) {
            let size = i128::from(row.size);
            if !is_wanted(row.site) {
                continue;
            }
            if row.birth < interval.from && row.death >= interval.from {
                base += size;
            }
            for (at, change) in [(row.birth, size), (row.death, -size)] {
                if interval.contains(at) {
                    *changes.entry(at).or_default() += change;
                }
            }
        }
        let mut now = base;
        changes.values_mut().for_each(|change| {
            now += *change;
            *change = now;
        });
        Self { base, after: changes }
    }

    fn values(&self) -> impl Iterator<Item = i128> {
        [self.base].into_iter().chain(self.after.values().copied())
    }

    /// The value before and behind a tick.
    fn around(&self, t: Ticks) -> [i128; 2] {
        let last = |(_, value): (&Ticks, &i128)| *value;
        [self.after.range(..t).next_back(), self.after.range(..=t).next_back()].map(|step| step.map_or(self.base, last))
    }
}

/// Wherever bins begin: nothing is drawn that is not so, few points are enough for
/// it, and no peak and no dip is lost.
fn assert_drawn(trace: &Trace, interval: Interval, of: &SeriesOf, bins: usize, lines: &[Series]) {
    assert_eq!(lines.len(), of.count);
    for (n, line) in lines.iter().enumerate() {
        let steps = Steps::of(trace, interval, |site| counts(of, site, n as u32));
        let (low, high) = (steps.values().min().unwrap_or(0), steps.values().max().unwrap_or(0));
        if high > u64::MAX.into() {
            assert_eq!(line.peak, u64::MAX);
            continue; // such sums have no exact change
        }
        assert_eq!((i128::from(line.peak), i128::from(line.last)), (high, steps.values().last().unwrap_or(0)));
        let peak_at =
            if steps.base == high { Some(interval.from) } else { steps.after.iter().find(|s| *s.1 == high).map(|s| *s.0) };
        assert_eq!(Some(line.peak_at), peak_at);
        assert!(line.points.len() <= 2 + 4 * bins, "{} points in {bins} bins", line.points.len());
        assert!(line.points.is_sorted_by_key(|(t, _)| *t));
        for &(t, value) in &line.points {
            assert!(steps.around(t).contains(&value.into()), "{value} at {t:?} of {:?}", line.points);
        }
        let drawn = || line.points.iter().map(|(_, value)| i128::from(*value));
        assert_eq!((drawn().min(), drawn().max()), (Some(low), Some(high)));
    }
}

/// What one look at the rows tells of lines: exact at the edges of the bins, and the end.
fn assert_coarse(trace: &Trace, interval: Interval, of: &SeriesOf, bins: usize, lines: &[Series]) {
    assert_eq!(lines.len(), of.count);
    for (n, line) in lines.iter().enumerate() {
        let steps = Steps::of(trace, interval, |site| counts(of, site, n as u32));
        let (from, to, count) = (i128::from(interval.from.0), i128::from(interval.to.0), bins as i128);
        for k in 0..=count {
            let edge = Ticks((from + (k * (to - from) + count - 1) / count) as i64);
            assert_eq!(i128::from(line.value_at(edge)), steps.around(edge)[0], "{edge:?} of {:?}", line.points);
        }
        assert_eq!(i128::from(line.last), steps.values().last().unwrap_or(0));
        assert!(i128::from(line.peak) <= steps.values().max().unwrap_or(0));
    }
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn what_is_prepared_says_what_scans_say(
        mut ops in strategy::ops(2 * OPS),
        factor in select(vec![1u64, 1, 1 << 20, 1 << 27, u64::MAX]),
        questions in prop::collection::vec((place(), place()), 1..6),
        choice in prop::collection::vec(prop::option::weighted(0.7, 0..4u32), 1..5),
        bins in select(vec![1usize, 4, 100]),
        options in options(),
    ) {
        enlarge(&mut ops, factor);
        let scenario = Scenario::of(&ops);
        let [scan, ordered, prepared] = ways(replay(&scenario), &options);
        let never = Cancel::default();
        let trace = scan.trace();
        let of = any_series(trace, &choice);
        let of_heaps = SeriesOf::new(trace, 4, |site| choice[trace.site(site).heap.0 as usize % choice.len()]);
        let mut layers: Vec<_> = trace.heaps.iter().map(|heap| (heap.process, heap.layer)).collect();
        layers.sort_unstable_by(|a, b| b.cmp(a));
        layers.dedup();
        let layer_of = |site| { let heap = trace.heap(trace.site(site).heap); layers.iter().position(|layer| *layer == (heap.process, heap.layer)) };
        let of_layers = SeriesOf::new(trace, layers.len(), |site| layer_of(site).map(|layer| layer as u32));
        let ways_to_draw = [of.clone().stacked(), of, of_heaps, of_layers];
        for (a, b) in questions {
            let interval = interval(edges(&scenario, a, b));
            let expected = totals(&scan, interval, &never).unwrap();
            let table = tree(trace, &expected, &TreeRequest::default(), &never).unwrap();
            let tops = peaks(&scan, interval, &table, &never).unwrap();
            for (index, of) in [&scan, &ordered, &prepared].into_iter().flat_map(|index| ways_to_draw.iter().map(move |of| (index, of))) {
                assert_drawn(trace, interval, of, bins, &series(index, &expected, of, bins, &never).unwrap());
                let coarse = coarse_series(index, &expected, of, bins, &never).unwrap();
                prop_assert_eq!(coarse.is_some(), index.is_drawn());
                coarse.iter().for_each(|lines| assert_coarse(trace, interval, of, bins, lines));
            }
            for index in [&ordered, &prepared] {
                let totals = totals(index, interval, &never).unwrap();
                prop_assert_eq!(by_site(trace, &totals), by_site(trace, &expected));
                prop_assert_eq!(&peaks(index, interval, &table, &never).unwrap(), &tops);
            }
        }
    }
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn no_two_sites_of_a_complete_trace_are_the_same(ops in strategy::ops(OPS)) {
        let trace = replay(&Scenario::of(&ops));
        let mut sites: Vec<_> = trace.sites.iter().map(|site| (site.heap, site.stack, site.caller)).collect();
        sites.sort_unstable();
        prop_assert!(sites.windows(2).all(|two| two[0] != two[1]), "{:?}", sites);
    }
}

/// Some blocks of a program; each moment has its allocations and frees.
fn story(moments: impl IntoIterator<Item = (i64, Vec<(u64, Option<u64>)>)>) -> Trace {
    let mut builder = builder();
    for (time, events) in moments {
        for (address, size) in events {
            let event = match size {
                Some(size) => Event::Alloc { layer: Layer::Heap, heap: 0x10, address, size },
                None => Event::Free { layer: Layer::Heap, heap: 0x10, address },
            };
            builder.apply(&Record { time: TRACE_START + time, pid: Pid(1), tid: Tid(1), event }, &[]);
        }
    }
    let times = Some((TRACE_START, TRACE_START + 1000));
    builder.publish(InputState { times, complete: true, ..InputState::default() })
}

fn compare(trace: Trace, options: &IndexOptions, intervals: &[(i64, i64)]) -> bool {
    let [scan, _, prepared] = ways(trace, options);
    let never = Cancel::default();
    let of = SeriesOf::new(scan.trace(), 1, |_| Some(0));
    for &(from, to) in intervals {
        let interval = Interval { from: Ticks(from), to: Ticks(to) };
        let [known, found] = [&scan, &prepared].map(|index| totals(index, interval, &never).unwrap());
        assert_eq!(by_site(scan.trace(), &found), by_site(scan.trace(), &known), "{from} to {to}");
        for index in [&scan, &prepared] {
            assert_drawn(scan.trace(), interval, &of, 10, &series(index, &found, &of, 10, &never).unwrap());
        }
    }
    prepared.is_prepared()
}

#[test]
fn sums_that_could_overflow_are_left_to_scans() {
    let blocks = |size: u64| story((0..4).map(|i| (i, vec![(i as u64 * 0x100, Some(size))])));
    let options = IndexOptions { checkpoints: Some(2), block: Some(1), ..IndexOptions::default() };
    let intervals = [(0, 4), (1, 3), (2, 2), (-5, 100)];
    assert!(!compare(blocks(u64::MAX), &options, &intervals));
    assert!(!compare(blocks(1 << 62), &options, &intervals));
    assert!(compare(blocks((1 << 61) - 1), &options, &intervals));
}

#[test]
fn a_tick_with_more_events_than_a_block_holds_is_one_step() {
    let many = |from: u64, size: Option<u64>| (from..from + 3000).map(move |i| (i * 0x40, size)).collect::<Vec<_>>();
    let few = vec![(0x1, Some(5)), (0x2, Some(6))];
    let moments =
        [(1, few.clone()), (2, many(1, Some(16))), (3, few), (3, many(5000, Some(8))), (7, many(1, None)), (9, many(5000, None))];
    let edges = [0, 1, 2, 3, 4, 7, 8, 10];
    let intervals: Vec<_> = edges.iter().flat_map(|&a| edges.iter().filter(move |&&b| a <= b).map(move |&b| (a, b))).collect();
    for (checkpoints, block) in [(0, 1), (1, 16), (5, 100), (20, 5000)] {
        let options = IndexOptions { checkpoints: Some(checkpoints), block: Some(block), ..IndexOptions::default() };
        assert!(compare(story(moments.clone()), &options, &intervals));
    }
}

/// Blocks of several heaps, most of which live shortly and some for long, so
/// many that rows are looked up in the order of their numbers.
fn busy(rows: u64) -> Trace {
    let mut builder = builder();
    let mut random = 1u64;
    let mut events: Vec<(i64, u64, Option<u64>)> = Vec::new();
    for block in 0..rows {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let life = if block % 7 == 0 { random >> 50 } else { random >> 58 };
        events.push((block as i64 / 30, block, Some(random >> 52)));
        events.push((block as i64 / 30 + life as i64, block, None));
    }
    events.sort_by_key(|&(time, ..)| time);
    for (time, block, size) in events.into_iter().filter(|&(time, ..)| time < 1000) {
        let (heap, address) = (0x10 + block % 11, 0x1000 + block * 0x2000);
        let event = match size {
            Some(size) => Event::Alloc { layer: Layer::Heap, heap, address, size },
            None => Event::Free { layer: Layer::Heap, heap, address },
        };
        builder.apply(&Record { time: TRACE_START + time, pid: Pid(1), tid: Tid(1), event }, &[]);
    }
    let times = Some((TRACE_START, TRACE_START + 1000));
    builder.publish(InputState { times, complete: true, ..InputState::default() })
}

#[test]
fn many_rows_are_answered_as_scans_do() {
    let trace = Arc::new(busy(30_000));
    let never = Cancel::default();
    let scan = Index::scan(Arc::clone(&trace));
    let series_of = [Some(0), None, Some(1), None, Some(2)];
    let of = any_series(&trace, &series_of);
    let stacked = of.clone().stacked();
    let of_layer = SeriesOf::new(&trace, 1, |_| Some(0));
    assert!(trace.sites.len() > 10 && trace.rows.len() > 25_000);
    for (checkpoints, block, surveys) in [(0, 4096, false), (1, 64, true), (13, 500, true), (37, 7, true)] {
        let options = IndexOptions {
            checkpoints: Some(checkpoints),
            block: Some(block),
            surveys: Some(surveys),
            ..IndexOptions::default()
        };
        let prepared = Index::build(Arc::clone(&trace), &options, &never).unwrap();
        for (from, to) in [(0, 1000), (3, 997), (250, 260), (499, 500), (120, 800), (600, 999), (700, 700)] {
            let interval = Interval { from: Ticks(from), to: Ticks(to) };
            let expected = totals(&scan, interval, &never).unwrap();
            let found = totals(&prepared, interval, &never).unwrap();
            assert_eq!(by_site(&trace, &found), by_site(&trace, &expected), "{checkpoints} checkpoints, {from} to {to}");
            for (bins, of) in [(50, &of), (400, &of), (100, &stacked), (30, &of_layer), (700, &of_layer)] {
                assert_drawn(&trace, interval, of, bins, &series(&prepared, &expected, of, bins, &never).unwrap());
            }
            let mut request = TreeRequest::default();
            for _ in 0..5 {
                let table = tree(&trace, &expected, &request, &never).unwrap();
                let [tops, known] = [&prepared, &scan].map(|index| peaks(index, interval, &table, &never).unwrap());
                assert_eq!(tops, known, "{from} to {to}");
                let closed = table.rows(&trace).filter(|row| row.has_children && !row.is_open);
                let closed: Vec<_> = closed.map(|row| (row.path, true)).collect();
                Arc::make_mut(&mut request.toggled).extend(closed);
            }
        }
    }
}

#[test]
fn lines_are_slow_until_somebody_asked_for_them() {
    let trace = Arc::new(busy(30_000));
    let never = Cancel::default();
    let options = IndexOptions { stretch: Some(1000), block: Some(50), slow: 5000, ..IndexOptions::default() };
    let whole = Index::build(Arc::clone(&trace), &options, &never).unwrap();
    let of = any_series(&trace, &[Some(0), None, Some(1), None, Some(2)]);
    let heaps = SeriesOf::new(&trace, trace.heaps.len(), |site| Some(trace.site(site).heap.0));
    let rows = RowChoice { all: vec![RowCondition::Size(Bounds { from: Some(16), to: None })] }.rows(&trace, &never).unwrap();
    let at = |from, to| Interval { from: Ticks(from), to: Ticks(to) };
    assert!(!whole.is_slow(trace.span, &heaps), "what heaps do is known");
    let usual = Index::build(Arc::clone(&trace), &IndexOptions { slow: 0, ..IndexOptions::default() }, &never).unwrap();
    assert!(!usual.is_slow(trace.span, &SeriesOf::new(&trace, 1, |_| Some(0))), "so is what the layer of all heaps does");
    assert!(usual.is_slow(trace.span, &of), "a series of some of its heaps is not known");
    for (index, of) in [(&whole, &of), (&whole.choosing(rows), &heaps)] {
        assert!(!index.is_slow(at(100, 150), of), "few events");
        assert!(index.is_slow(at(0, 500), of));
        let sums = totals(index, at(0, 500), &never).unwrap();
        series(index, &sums, of, 10, &never).unwrap();
        assert!(!index.is_slow(at(0, 500), of));
        assert!(!index.is_slow(at(20, 400), of));
        assert!(index.is_slow(trace.span, of), "only what lies in the interval was looked at");
    }
}

#[test]
fn a_cancelled_question_leaves_nothing_behind() {
    let moments = (0..20_000).map(|i| (i, vec![(i as u64 * 0x40, Some(8)), (i as u64 / 3 * 0x40, None)]));
    let trace = Arc::new(story(moments));
    let never = Cancel::default();
    let options = IndexOptions { checkpoints: Some(2), ..IndexOptions::default() };
    let index = Index::build(Arc::clone(&trace), &options, &never).unwrap();
    let interval = Interval { from: Ticks(3000), to: Ticks(12_345) };
    let stopped = Cancel::default();
    stopped.cancel();
    assert!(totals(&index, interval, &stopped).is_err());
    assert!(Index::build(Arc::clone(&trace), &options, &stopped).is_err());
    let expected = totals(&Index::scan(trace), interval, &never).unwrap();
    for _ in 0..3 {
        let totals = totals(&index, interval, &never).unwrap();
        assert_eq!(by_site(index.trace(), &totals), by_site(index.trace(), &expected));
    }
}
