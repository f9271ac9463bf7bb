//! Choices of rows by what they are themselves: every question about chosen rows equals
//! the oracle's about the same rows, with edges on, beside and far from births and deaths.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::oracle::answer::{outstanding, peak};
use crate::oracle::question::{OPS, Place, edges, interval, options, place, replay, ways};
use crate::oracle::scenario::Scenario;
use crate::oracle::{Replay, Row, strategy};
use highwater::model::{ProcessId, RowId};
use highwater::query::{
    Bounds, By, ByClass, Cancel, Column, Filter, Fold, Group, Index, Key, LifetimeBucket, LifetimeClass, NodeKey, ReportFilter,
    ReportRequest, RowChoice, RowCondition, RowGrouping, RowsAsked, SeriesOf, SizeBucket, Sort, Tree, TreeRequest, coarse_series,
    details, histogram, line_of_rows, report, row_groups, series, spans, totals, tree,
};
use highwater::units::{Layer, Ticks, Tid};
use proptest::prelude::*;
use proptest::sample::select;

/// A condition whose moments are places among the events of a capture.
#[derive(Clone, Debug)]
enum Wanted {
    Allocated(Ends<Place>),
    Freed(Option<Ends<Place>>, bool),
    Size(Ends<u64>),
    Lifetime(Ends<i64>),
    Thread(u32),
}

type Ends<T> = (Option<T>, Option<T>);

fn ends<T: std::fmt::Debug + Clone>(one: impl Strategy<Value = T> + Clone) -> impl Strategy<Value = Ends<T>> {
    (prop::option::weighted(0.7, one.clone()), prop::option::weighted(0.7, one))
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let size = select(vec![0u64, 1, 2, 8, 9, 100, 101, 4096, u64::from(u32::MAX), 1 << 33, u64::MAX]);
    let ticks = select(vec![-1i64, 0, 1, 2, 3, 9_999, 10_000, 10_001, 10_000_000, i64::MAX - 1]);
    prop_oneof![
        3 => ends(place().boxed()).prop_map(Wanted::Allocated),
        3 => (prop::option::weighted(0.8, ends(place().boxed())), any::<bool>())
            .prop_map(|(within, never)| Wanted::Freed(within, never)),
        2 => ends(size).prop_map(Wanted::Size),
        2 => ends(ticks).prop_map(Wanted::Lifetime),
        1 => (1..4u32).prop_map(Wanted::Thread),
    ]
}

/// `[from, to)` with its ends in order.
fn bounds<T: Copy + Ord>((from, to): Ends<T>) -> Bounds<T> {
    match (from, to) {
        (Some(a), Some(b)) => Bounds::new(a.min(b), a.max(b)),
        (from, to) => Bounds { from, to },
    }
}

fn condition(scenario: &Scenario, wanted: &Wanted) -> RowCondition {
    let moment = |place: Place| Ticks(edges(scenario, place, place).0);
    let times = |(from, to): Ends<Place>| bounds((from.map(moment), to.map(moment)));
    match wanted {
        Wanted::Allocated(ends) => RowCondition::Allocated(times(*ends)),
        Wanted::Freed(ends, or_never) => RowCondition::Freed { within: ends.map(times), or_never: *or_never },
        Wanted::Size(ends) => RowCondition::Size(bounds(*ends)),
        Wanted::Lifetime(ends) => RowCondition::Lifetime(bounds(*ends)),
        Wanted::Thread(id) => RowCondition::Thread(Tid(*id)),
    }
}

/// The contract, as it reads.
fn meets(row: &Row, condition: &RowCondition) -> bool {
    match condition {
        RowCondition::Allocated(Bounds { from, to }) => {
            from.is_none_or(|from| row.birth >= from.0) && to.is_none_or(|to| row.birth < to.0)
        }
        RowCondition::Freed { within, or_never } => match row.death {
            None => *or_never,
            Some(death) => within
                .is_some_and(|Bounds { from, to }| from.is_none_or(|from| death >= from.0) && to.is_none_or(|to| death < to.0)),
        },
        RowCondition::Size(Bounds { from, to }) => from.is_none_or(|from| row.size >= from) && to.is_none_or(|to| row.size < to),
        RowCondition::Lifetime(Bounds { from, to }) => match row.lifetime() {
            None => to.is_none(),
            Some(ticks) => from.is_none_or(|from| ticks >= from) && to.is_none_or(|to| ticks < to),
        },
        RowCondition::Thread(id) => row.thread == Some(id.0),
        RowCondition::All(all) => all.iter().all(|condition| meets(row, condition)),
        RowCondition::Rows(_) => unreachable!("the oracle numbers rows in its own way"),
    }
}

fn lines(groups: &[Group]) -> Vec<String> {
    groups.iter().map(|group| serde_json::to_string(group).unwrap()).collect()
}

/// The tree with everything open.
fn open(index: &Index, totals: &highwater::query::Totals) -> Tree {
    let (trace, mut request, mut lines) = (index.trace(), TreeRequest::default(), 0);
    loop {
        let tree = tree(trace, totals, &request, &Cancel::default()).unwrap();
        if tree.len() == lines {
            return tree;
        }
        lines = tree.len();
        request.toggled = Arc::new(tree.rows(trace).filter(|row| row.has_children).map(|row| (row.path, true)).collect());
    }
}

/// What lines of a layer can stand for.
const GROUPINGS: [RowGrouping; 5] =
    [RowGrouping::Heap, RowGrouping::Type, RowGrouping::Thread, RowGrouping::Size, RowGrouping::Lifetime];

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn questions_about_chosen_rows_see_no_others(
        ops in strategy::ops(OPS),
        wanted in prop::collection::vec(wanted(), 0..4),
        by in prop::sample::subsequence(vec![By::Process, By::Heap, By::Stack, By::FreedStack, By::Thread, By::Size, By::Lifetime], 0..=6),
        (a, b) in (place(), place()),
        together: bool,
        options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let never = Cancel::default();
        let mut choice = RowChoice { all: wanted.iter().map(|wanted| condition(&scenario, wanted)).collect() };
        if together {
            choice.all = vec![RowCondition::All(choice.all.into())];
        }
        let mut expected = Replay::of(&scenario.steps);
        expected.rows.retain(|row| choice.all.iter().all(|condition| meets(row, condition)));
        let edges = edges(&scenario, a, b);
        let groups = lines(&expected.report(edges, &by, &ReportFilter::default()));
        for whole in ways(replay(&scenario), &options) {
            let trace = whole.trace();
            let rows = choice.rows(trace, &never).unwrap();
            prop_assert_eq!(rows.as_ref().map_or(trace.rows.len(), |rows| rows.len()), expected.rows.len());
            let index = whole.choosing(rows);
            let request = ReportRequest { interval: interval(edges), by: by.clone(), filter: ReportFilter::default(), top: None, fold: Fold::Nothing , sources: false};
            prop_assert_eq!(&lines(&report(&index, &request, &never).unwrap().groups), &groups);

            let totals = totals(&index, interval(edges), &never).unwrap();
            let of = SeriesOf::new(trace, 3, |site| Some(trace.layer_of(trace.site(site)) as u32));
            let coarse = coarse_series(&index, &totals, &of, 7, &never).unwrap();
            for (layer, line) in Layer::ALL.into_iter().zip(coarse.into_iter().flatten()) {
                let rows: Vec<&Row> = expected.rows.iter().filter(|row| row.layer() == layer).collect();
                prop_assert_eq!(line.last, outstanding(&rows, edges.1));
            }
            for (layer, line) in Layer::ALL.into_iter().zip(series(&index, &totals, &of, 7, &never).unwrap()) {
                let rows: Vec<&Row> = expected.rows.iter().filter(|row| row.layer() == layer).collect();
                prop_assert_eq!((line.peak, line.last), (peak(&rows, edges), outstanding(&rows, edges.1)));
            }
            let listed: BTreeSet<RowId> = open(&index, &totals).rows(trace).filter_map(|row| Some(row.allocation?.0)).collect();
            prop_assert!(listed.iter().all(|&id| index.chosen().is_none_or(|rows| rows.has(id))));
            prop_assert_eq!(listed.len(), expected.rows.iter().filter(|row| row.class(edges).is_some()).count());
            let all = Filter::all().mask(trace);
            let lives = spans(&index, interval(edges), &all, 10, &never).unwrap();
            prop_assert_eq!(lives.is_empty(), listed.is_empty());
            // The same rows one by one, and all of them again.
            let one_by_one = index.chosen().map(|rows| {
                let ids = (0..trace.rows.len() as u32).map(RowId).filter(|&id| rows.has(id));
                RowChoice { all: vec![RowCondition::rows(ids)] }.rows(trace, &never).unwrap().unwrap()
            });
            prop_assert_eq!(one_by_one.as_ref(), index.chosen());
            prop_assert_eq!(index.choosing(None).is_prepared(), whole.is_prepared());
        }
    }

    #[test]
    fn histograms_are_the_rows_by_bucket_and_class(
        ops in strategy::ops(OPS), choice in wanted(), (a, b) in (place(), place()), options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let never = Cancel::default();
        let choice = RowChoice { all: vec![condition(&scenario, &choice)] };
        let mut expected = Replay::of(&scenario.steps).rows;
        expected.retain(|row| meets(row, &choice.all[0]));
        let edges = edges(&scenario, a, b);
        for whole in ways(replay(&scenario), &options) {
            let index = whole.choosing(choice.rows(whole.trace(), &never).unwrap());
            let mask = Filter::all().mask(whole.trace());
            for layer in Layer::ALL {
                let found = histogram(&index, interval(edges), &mask, layer, &never).unwrap();
                let sum = |class: LifetimeClass, fits: &dyn Fn(&Row) -> bool| {
                    let of = |row: &&Row| row.layer() == layer && row.class(edges) == Some(class as usize) && fits(row);
                    let rows: Vec<&Row> = expected.iter().filter(of).collect();
                    (rows.len() as u64, rows.iter().map(|row| row.size).sum::<u64>())
                };
                for class in LifetimeClass::ALL {
                    for bucket in SizeBucket::all() {
                        let found = found.by_size[bucket.index()].get(class);
                        prop_assert_eq!((found.count, found.size), sum(class, &|row| row.size_bucket() == bucket.bounds()));
                    }
                    for bucket in LifetimeBucket::all() {
                        let found = found.by_lifetime[bucket.index()].get(class);
                        prop_assert_eq!((found.count, found.size), sum(class, &|row| row.lifetime_bucket() == bucket.bounds()));
                    }
                }
            }
        }
    }

    #[test]
    fn groups_of_rows_are_the_rows_by_heap_thread_size_and_lifetime(
        ops in strategy::ops(OPS), choice in wanted(), (a, b) in (place(), place()),
        (column, descending) in (select(Column::ALL.to_vec()), any::<bool>()), options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let never = Cancel::default();
        let choice = RowChoice { all: vec![condition(&scenario, &choice)] };
        let all = Replay::of(&scenario.steps);
        let mut expected = all.rows.clone();
        expected.retain(|row| meets(row, &choice.all[0]));
        let edges = edges(&scenario, a, b);
        for whole in ways(replay(&scenario), &options) {
            let index = whole.choosing(choice.rows(whole.trace(), &never).unwrap());
            let mask = Filter::all().mask(whole.trace());
            for (layer, grouping) in
                Layer::ALL.into_iter().flat_map(|layer| GROUPINGS.map(|grouping| (layer, grouping)))
            {
                let asked = RowsAsked { index: &index, interval: interval(edges), mask: &mask, layer, totals: None, labels: None };
                let sort = Sort { column, descending };
                let (groups, sum) = row_groups(asked, grouping, sort, true, &never).unwrap();
                let of_layer = |row: &&Row| row.layer() == layer && row.class(edges).is_some();
                prop_assert_eq!(sum.count, expected.iter().filter(of_layer).count() as u64);
                prop_assert_eq!(sum.count, groups.iter().map(|group| group.numbers.count).sum::<u64>());
                let (mut threads, mut heaps) = (BTreeMap::new(), BTreeMap::new());
                for group in &groups {
                    let fits = |row: &&Row| of_layer(row) && match group.key {
                        NodeKey::Thread(_, thread) => row.thread == Some(thread).filter(|t| t.is_known()).map(|t| t.0),
                        NodeKey::Size(bucket) => row.size_bucket() == bucket.bounds(),
                        NodeKey::Lifetime(bucket) => row.lifetime_bucket() == bucket.bounds(),
                        NodeKey::Label(0) => true, // of types nobody was asked
                        other => panic!("{other:?}"),
                    };
                    if let NodeKey::Heap(id) = group.key {
                        // A heap that was destroyed can have the handle of another.
                        let heap = index.trace().heap(id);
                        let key = (index.trace().process(heap.process).label(), heap.key());
                        let sum: &mut (u64, u64) = heaps.entry(key).or_default();
                        *sum = (sum.0 + group.numbers.count, sum.1 + group.numbers.size);
                        continue;
                    }
                    let rows: Vec<&Row> = expected.iter().filter(fits).collect();
                    if let NodeKey::Thread(_, thread) = group.key {
                        // One thread id can be that of several processes.
                        let sum: &mut (u64, u64) = threads.entry(thread).or_default();
                        *sum = (sum.0 + group.numbers.count, sum.1 + group.numbers.size);
                        prop_assert!(group.peak.unwrap() <= peak(&rows, edges));
                        continue;
                    }
                    let n = group.numbers;
                    prop_assert_eq!((n.count, n.size), (rows.len() as u64, rows.iter().map(|row| row.size).sum::<u64>()));
                    prop_assert_eq!((n.outstanding_to, group.peak), (outstanding(&rows, edges.1), Some(peak(&rows, edges))));
                }
                for ((process, heap), sums) in heaps {
                    let is_its = |row: &&Row| of_layer(row) && all.process_name(row) == process && all.heap_name(row) == heap;
                    prop_assert_eq!(sums, expected.iter().filter(is_its).fold((0, 0), |(count, size), row| (count + 1, size + row.size)));
                }
                for (thread, sums) in threads {
                    let id = Some(thread).filter(|t| t.is_known()).map(|t| t.0);
                    let rows = expected.iter().filter(|row| of_layer(row) && row.thread == id);
                    prop_assert_eq!(sums, rows.fold((0, 0), |(count, size), row| (count + 1, size + row.size)));
                }
                if column == Column::Size {
                    let sizes: Vec<u64> = groups.iter().map(|group| group.numbers.size).collect();
                    let is_sorted = sizes.is_sorted_by(|a, b| if descending { a >= b } else { a <= b });
                    prop_assert!(is_sorted);
                }
            }
        }
    }

    #[test]
    fn details_are_those_of_the_rows_of_a_layer_and_a_class(
        ops in strategy::ops(OPS), choice in wanted(), (a, b, c, d) in (place(), place(), place(), place()),
        class in select(LifetimeClass::ALL.to_vec()), options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let never = Cancel::default();
        let choice = RowChoice { all: vec![condition(&scenario, &choice)] };
        let mut expected = Replay::of(&scenario.steps).rows;
        expected.retain(|row| meets(row, &choice.all[0]));
        let elsewhere = edges(&scenario, c, d);
        let edges = edges(&scenario, a, b);
        for whole in ways(replay(&scenario), &options) {
            let trace = whole.trace();
            let index = whole.choosing(choice.rows(trace, &never).unwrap());
            for (layer, of) in Layer::ALL.into_iter().flat_map(|layer| [(layer, None), (layer, Some(class))]) {
                let wants = |row: &&Row| {
                    let found = row.class(edges);
                    row.layer() == layer && found.is_some_and(|found| of.is_none_or(|class| class as usize == found))
                };
                let rows: Vec<&Row> = expected.iter().filter(wants).collect();
                // Under a node of each process that stands for rows of the class.
                let processes = (0..trace.processes.len() as u32).map(ProcessId);
                let path = |process| {
                    let class = of.map(|class| [Key::Impacting(class.impacting()), Key::Class(class)]);
                    [Key::Process(process), Key::Layer(layer)].into_iter().chain(class.into_iter().flatten()).collect()
                };
                let any = processes.map(path).collect();
                let mask = Filter { any }.mask(trace);
                let found = details(&index, interval(edges), &mask, layer, 5, &never).unwrap();
                let (from, to) = (outstanding(&rows, edges.0), outstanding(&rows, edges.1));
                prop_assert_eq!((found.numbers.count, found.line.peak), (rows.len() as u64, peak(&rows, edges)));
                prop_assert_eq!((found.numbers.outstanding_from, found.numbers.outstanding_to), (from, to));
                prop_assert_eq!((found.line.value_at(Ticks(edges.0)), found.line.last), (from, to));
                // Their line elsewhere: they are those of the interval all the same.
                let line = line_of_rows(&index, (interval(edges), interval(elsewhere)), &mask, layer, 5, &never).unwrap();
                prop_assert_eq!((line.value_at(Ticks(elsewhere.0)), line.last), (outstanding(&rows, elsewhere.0), outstanding(&rows, elsewhere.1)));
                prop_assert_eq!(line.peak, peak(&rows, elsewhere));
                let counts = |sums: &[ByClass]| sums.iter().map(|sums| sums.numbers().count).sum::<u64>();
                let (sizes, lifetimes) = (counts(&found.histogram.by_size), counts(&found.histogram.by_lifetime));
                prop_assert_eq!((sizes, lifetimes), (rows.len() as u64, rows.len() as u64));
            }
        }
    }

    #[test]
    fn the_conditions_of_buckets_select_exactly_their_rows(ops in strategy::ops(OPS)) {
        let scenario = Scenario::of(&ops);
        let expected = Replay::of(&scenario.steps).rows;
        let index = Index::scan(Arc::new(replay(&scenario)));
        let count = |condition| {
            let choice = RowChoice { all: vec![condition] };
            choice.rows(index.trace(), &Cancel::default()).unwrap().unwrap().len()
        };
        for bucket in SizeBucket::all() {
            let rows = expected.iter().filter(|row| row.size_bucket() == bucket.bounds()).count();
            prop_assert_eq!(count(bucket.condition()), rows, "{:?}", bucket);
        }
        for bucket in LifetimeBucket::all() {
            let rows = expected.iter().filter(|row| row.lifetime_bucket() == bucket.bounds()).count();
            prop_assert_eq!(count(bucket.condition(&index.trace().clock)), rows, "{:?}", bucket);
        }
    }
}
