//! Every number against a naive oracle, over generated captures: reports by any
//! key and filter, totals, peaks and series, in intervals whose edges lie on, beside
//! and far from the events.

use std::sync::Arc;

use crate::oracle::answer::{Edges, outstanding, peak};
use crate::oracle::question::{FAR, OPS, builder, edges, input, interval, options, place, replay, ways};
use crate::oracle::scenario::Scenario;
use crate::oracle::{Replay, Row, strategy};
use highwater::model::Heap;
use highwater::query::{
    By, ByClass, Cancel, Cancelled, Filter, Fold, Group, Index, IndexOptions, ReportFilter, ReportRequest, SeriesOf,
    UnmatchedGroup, UnmatchedRequest, each_group, report, series, spans, totals, unmatched,
};
use highwater::symbols::Names;
use highwater::units::{Interval, Layer, Ticks};
use proptest::prelude::*;
use proptest::sample::select;

fn by() -> impl Strategy<Value = Vec<By>> {
    prop::sample::subsequence(By::ALL.to_vec(), 0..=7)
}

fn filter() -> impl Strategy<Value = ReportFilter> {
    let text = |choices: &[&str]| {
        let choices: Vec<String> = choices.iter().map(|s| s.to_string()).collect();
        prop_oneof![3 => Just(None), 1 => select(choices).prop_map(Some)]
    };
    let process = text(&["app1.exe", "App0.exe", "2", "unknown (1)", "4294967295", "nobody"]);
    let layer = prop_oneof![3 => Just(None), 1 => select(Layer::ALL.to_vec()).prop_map(Some)];
    let heap = text(&["physics", "AUDIO", "0xAB", "0x10", "0x11"]);
    (process, layer, heap).prop_map(|(process, layer, heap)| ReportFilter { process, layer, heap, ..ReportFilter::default() })
}

fn ask(index: &Index, edges: Edges, by: &[By], filter: &ReportFilter, top: Option<usize>) -> Vec<Group> {
    let request = ReportRequest {
        interval: interval(edges),
        by: by.to_vec(),
        filter: filter.clone(),
        top,
        fold: Fold::Nothing,
        sources: false,
    };
    report(index, &request, &Cancel::default()).unwrap().groups
}

/// The same, told one by one.
fn told(index: &Index, edges: Edges, by: &[By], filter: &ReportFilter, top: Option<usize>) -> Vec<Group> {
    let request = ReportRequest {
        interval: interval(edges),
        by: by.to_vec(),
        filter: filter.clone(),
        top,
        fold: Fold::Nothing,
        sources: false,
    };
    let mut groups = Vec::new();
    let take = |group| {
        groups.push(group);
        Ok::<_, Cancelled>(())
    };
    let mask = filter.mask(index.trace());
    each_group(index, &request, &mask, &Names::default(), &Cancel::default(), take).unwrap();
    groups
}

/// Groups as lines, so that a difference can be read.
fn lines(groups: &[Group]) -> Vec<String> {
    groups.iter().map(|group| serde_json::to_string(group).unwrap()).collect()
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn reports_equal_the_oracles(
        ops in strategy::ops(OPS),
        questions in prop::collection::vec((by(), filter(), place(), place()), 1..6),
        options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let ways = ways(replay(&scenario), &options);
        let trace = ways[0].trace();
        let expected = Replay::of(&scenario.steps);
        for (by, filter, a, b) in questions {
            let edges = edges(&scenario, a, b);
            let expected = lines(&expected.report(edges, &by, &filter));
            for index in &ways {
                let groups = ask(index, edges, &by, &filter, None);
                prop_assert_eq!(&lines(&groups), &expected, "{:?} of {:?}", by, edges);
                for top in [0, 1, 2] {
                    let first = ask(index, edges, &by, &filter, Some(top));
                    prop_assert_eq!(lines(&first), lines(&groups[..groups.len().min(top)]));
                    prop_assert_eq!(lines(&told(index, edges, &by, &filter, Some(top))), lines(&first));
                }
                prop_assert_eq!(&lines(&told(index, edges, &by, &filter, None)), &expected);
            }
        }
        prop_assert_eq!(trace.quality.unmatched_frees, expected.unmatched_frees.len() as u64, "unmatched frees");
        prop_assert_eq!(trace.quality.superseded_allocations, expected.superseded, "superseded allocations");
        prop_assert_eq!(trace.quality.inferred_frees, expected.inferred_frees, "inferred frees");
        prop_assert_eq!(trace.rows.len(), expected.rows.len());
    }
}

/// Process id, layer, heap, frames from the outermost inwards, count and size of unmatched frees in an interval.
type Unmatched = (Option<u32>, String, Option<String>, Vec<String>, u64, Option<u64>);

/// The frees one by one, each added to those like it.
fn naive_unmatched(replay: &Replay, (from, to): Edges, layer: Option<Layer>) -> Vec<Unmatched> {
    let mut all: Vec<Unmatched> = Vec::new();
    for free in replay.unmatched_frees.iter().filter(|free| from <= free.time && free.time < to) {
        if layer.is_some_and(|layer| layer != free.layer) {
            continue;
        }
        let pid = Some(free.pid).filter(|pid| *pid != u32::MAX);
        let frames: Vec<String> = free.stack.iter().rev().map(|frame| format!("{frame:#x}")).collect();
        let heap = replay.heap_of(free);
        let layer = free.layer.name().to_owned();
        match all.iter_mut().find(|known| (known.0, &known.1, &known.2, &known.3) == (pid, &layer, &heap, &frames)) {
            Some(known) => {
                known.4 += 1;
                known.5 = known.5.map(|size| size + free.size.unwrap());
            }
            None => all.push((pid, layer, heap, frames, 1, free.size)),
        }
    }
    all.sort();
    all
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn frees_of_what_was_not_alive_equal_the_oracles(
        ops in strategy::ops(OPS), asked in prop::collection::vec((place(), place(), any::<bool>()), 1..4), options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let ways = ways(replay(&scenario), &options);
        let trace = ways[0].trace();
        let expected = Replay::of(&scenario.steps);
        for (a, b, is_of_commit) in asked {
            let edges = edges(&scenario, a, b);
            let layer = is_of_commit.then_some(Layer::Commit);
            let request = |by: &[By]| UnmatchedRequest {
                interval: interval(edges),
                by: by.to_vec(),
                filter: ReportFilter { layer, ..ReportFilter::default() },
                under: Vec::new(),
                fold: Fold::Nothing,
            };
            let ask = |by: &[By]| unmatched(trace, &Names::default(), &request(by), &Cancel::default()).unwrap();
            let groups = ask(&[By::Process, By::Heap, By::Stack]);
            let rank = |group: &UnmatchedGroup| (group.size, group.count);
            prop_assert!(groups.is_sorted_by(|a, b| rank(a) >= rank(b)));
            // Lives of one process id are groups of their own, and here one.
            let mut told: Vec<Unmatched> = Vec::new();
            for g in &groups {
                let key = (g.pid, g.layer.to_owned(), g.heap.clone(), g.stack.clone().unwrap());
                match told.iter_mut().find(|known| (known.0, &known.1, &known.2, &known.3) == (key.0, &key.1, &key.2, &key.3)) {
                    Some(known) => (known.4, known.5) = (known.4 + g.count, known.5.map(|size| size + g.size.unwrap())),
                    None => told.push((key.0, key.1, key.2, key.3, g.count, g.size)),
                }
            }
            told.sort();
            prop_assert_eq!(told, naive_unmatched(&expected, edges, layer));
            // Other keys only put groups together.
            for by in [&[][..], &[By::Process], &[By::Responsible], &[By::Function, By::Heap], &[By::Module, By::ResponsibleModule]] {
                let sum = |groups: &[UnmatchedGroup]| {
                    let size = groups.iter().filter_map(|group| group.size).sum::<u64>();
                    (groups.iter().map(|group| group.count).sum::<u64>(), size)
                };
                prop_assert_eq!(sum(&ask(by)), sum(&groups));
            }
        }
    }
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn intervals_side_by_side_add_up(
        ops in strategy::ops(OPS), a in place(), b in place(), c in place(), options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let [.., index] = ways(replay(&scenario), &options);
        let (low, high) = edges(&scenario, a, b);
        let middle = edges(&scenario, c, c).0.clamp(low, high);
        let sum = |edges: Edges| totals(&index, interval(edges), &Cancel::default()).unwrap().sum(&Filter::all().mask(index.trace()));
        let (left, right, whole) = (sum((low, middle)), sum((middle, high)), sum((low, high)));
        prop_assert_eq!(left.numbers().outstanding_to, right.numbers().outstanding_from);
        prop_assert_eq!(left.numbers().impacting + right.numbers().impacting, whole.numbers().impacting);
        use highwater::query::LifetimeClass::{Aifi, Aifo, Aofi};
        let allocated = |sum: &ByClass| sum.get(Aifi).plus(sum.get(Aifo));
        let freed = |sum: &ByClass| sum.get(Aifi).plus(sum.get(Aofi));
        prop_assert_eq!(allocated(&left).plus(allocated(&right)), allocated(&whole));
        prop_assert_eq!(freed(&left).plus(freed(&right)), freed(&whole));
    }

    #[test]
    fn publishing_while_loading_changes_nothing(ops in strategy::ops(OPS), at in prop::collection::vec(0..200usize, 1..4)) {
        let scenario = Scenario::of(&ops);
        let mut builder = builder();
        let mut early = Vec::new();
        let everything = |index: &Index| {
            let by = [By::Process, By::Heap, By::Stack, By::FreedStack, By::Thread];
            lines(&ask(index, (-FAR, FAR), &by, &ReportFilter::default(), None))
        };
        let options = IndexOptions { block: Some(3), ..IndexOptions::default() };
        let prepare = |trace| Index::build(Arc::new(trace), &options, &Cancel::default()).unwrap();
        for (i, sent) in scenario.stream.iter().enumerate() {
            builder.apply(&sent.record, &sent.frames);
            if at.contains(&i) {
                let index = prepare(builder.publish(input(&scenario, false)));
                prop_assert_eq!(everything(&Index::scan(Arc::clone(index.shared_trace()))), everything(&index));
                early.push((everything(&index), index));
            }
        }
        let last = Arc::new(builder.publish(input(&scenario, true)));
        let latest = early.last().map(|(_, index)| index);
        let never = Cancel::default();
        let begin = |earlier| Index::begin(Arc::clone(&last), earlier, &options, &never).unwrap();
        let [last, continued] = [None, latest].map(|earlier| begin(earlier).finish(&options, &never).unwrap());
        prop_assert_eq!(everything(&last), everything(&prepare(replay(&scenario))));
        prop_assert_eq!(everything(&last), everything(&continued), "blocks of a publication are wrong in the complete trace");
        for (answer, index) in early {
            prop_assert_eq!(answer, everything(&index), "a published trace has changed");
        }
    }

    #[test]
    fn series_reach_every_peak_and_end_where_reports_do(
        ops in strategy::ops(OPS), a in place(), b in place(), bins in select(vec![1usize, 3, 50, 1000]),
        options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let ways = ways(replay(&scenario), &options);
        let trace = ways[0].trace();
        let expected = Replay::of(&scenario.steps);
        let edges = edges(&scenario, a, b);
        let by_layer = SeriesOf::new(trace, 3, |site| Some(trace.layer_of(trace.site(site)) as u32));
        let draw = |index: &Index| {
            let totals = totals(index, interval(edges), &Cancel::default()).unwrap();
            series(index, &totals, &by_layer, bins, &Cancel::default()).unwrap()
        };
        // What is prepared chooses other bins than scans, so each is held to the rules.
        for (layer, line) in ways.iter().flat_map(|index| Layer::ALL.into_iter().zip(draw(index))) {
            let rows: Vec<&Row> = expected.rows.iter().filter(|row| row.layer() == layer).collect();
            let now = |t: i64| outstanding(&rows, t);
            let values = || line.points.iter().map(|(_, value)| *value);
            prop_assert_eq!(line.points.first().map(|p| (p.0.0, p.1)), Some((edges.0, now(edges.0))));
            prop_assert_eq!(line.points.last().map(|p| (p.0.0, p.1)), Some((edges.1, now(edges.1))));
            prop_assert_eq!(line.last, now(edges.1));
            prop_assert_eq!(line.peak, peak(&rows, edges));
            prop_assert_eq!(values().max(), Some(line.peak));
            prop_assert_eq!(values().min(), Some(dip(&rows, edges)), "no dip is lost");
            prop_assert!(now(line.peak_at.0) == line.peak || now(line.peak_at.0 + 1) == line.peak);
            prop_assert!(line.points.is_sorted_by_key(|(t, _)| *t));
            prop_assert!(line.points.iter().all(|&(t, value)| value == now(t.0) || value == now(t.0 + 1)));
            prop_assert!(line.points.len() <= 2 + 4 * bins);
        }
    }

    #[test]
    fn graphs_and_totals_of_a_trace_that_has_grown_say_what_scans_say(
        ops in strategy::ops(OPS), every in 1..40usize, a in place(), b in place(), options in options(), passes: bool,
    ) {
        let scenario = Scenario::of(&ops);
        let (mut builder, mut earlier) = (builder(), None::<Index>);
        let edges = edges(&scenario, a, b);
        let never = Cancel::default();
        let growing = scenario.stream.chunks(every).map(|sent| (sent, false));
        for (sent, complete) in growing.chain([(&[][..], true)]) {
            sent.iter().for_each(|sent| builder.apply(&sent.record, &sent.frames));
            if passes && !complete {
                // As if something were followed that has nothing else up to then.
                let reached = builder.reached();
                builder.pass(reached);
            }
            let trace = Arc::new(builder.publish(input(&scenario, complete)));
            let (shared, earlier_index) = (Arc::clone(&trace), earlier.as_ref());
            let grown = match complete {
                false => Index::grown(shared, earlier_index, &options, &never).unwrap(),
                true => Index::begin(shared, earlier_index, &options, &never).unwrap().finish(&options, &never).unwrap(),
            };
            let scan = Index::scan(Arc::clone(&trace));
            prop_assert!(grown.is_drawn());
            // All so far, what is asked for again and again, and what moves with time.
            let reached = if complete { trace.span.to } else { trace.rows.horizon() };
            let moving = Interval { from: Ticks(reached.0.saturating_sub(10_000)), to: reached };
            for interval in [trace.span, interval(edges), moving, Interval { to: reached.next(), ..moving }, trace.span] {
                let [ours, theirs] = [&grown, &scan].map(|index| totals(index, interval, &never).unwrap());
                prop_assert!(ours.sites().eq(theirs.sites()), "{:?} of {:?}", interval, reached);
            }
            let by_heap = SeriesOf::new(&trace, trace.heaps.len(), |site| Some(trace.site(site).heap.0));
            let by_site = SeriesOf::new(&trace, trace.sites.len(), |site| Some(site.0));
            let one_heap = SeriesOf::new(&trace, 1, |site| (trace.site(site).heap.0 == 0).then_some(0));
            let many_heaps = SeriesOf::new(&trace, 2, |site| Some(trace.site(site).heap.0 % 2));
            let layer = |heap: &Heap| (heap.process, heap.layer);
            let first = |heap: &Heap| trace.heaps.iter().position(|first| layer(first) == layer(heap)).map(|first| first as u32);
            let by_layer = SeriesOf::new(&trace, trace.heaps.len(), |site| first(trace.heap(trace.site(site).heap)));
            for of in [by_heap, by_site.stacked(), one_heap, many_heaps, by_layer] {
                // One bin for each tick that counts: all ways choose the same.
                let draw = |index: &Index| {
                    let totals = totals(index, interval(edges), &never).unwrap();
                    let lines = series(index, &totals, &of, 1, &never).unwrap();
                    lines.into_iter().map(|line| (line.peak, line.last, line.points.first().copied())).collect::<Vec<_>>()
                };
                prop_assert_eq!(draw(&grown), draw(&scan));
            }
            earlier = Some(grown);
        }
    }

    #[test]
    fn highlighted_spans_are_when_rows_are_alive(ops in strategy::ops(OPS), a in place(), b in place()) {
        let scenario = Scenario::of(&ops);
        let index = Index::scan(Arc::new(replay(&scenario)));
        let rows = Replay::of(&scenario.steps).rows;
        // So long an interval that none of its ticks is rounded away.
        let (from, to) = edges(&scenario, a, b);
        let edges = (from.clamp(-FAR >> 20, FAR >> 20), to.clamp(-FAR >> 20, FAR >> 20));
        let exact = usize::MAX >> 1;
        let spans = spans(&index, interval(edges), &Filter::all().mask(index.trace()), exact, &Cancel::default()).unwrap();
        for t in scenario.steps.iter().flat_map(|step| step.time - 1..=step.time + 1).filter(|t| (edges.0 + 1..=edges.1).contains(t)) {
            let alive = rows.iter().any(|row| row.birth < t && row.death.is_none_or(|f| f >= t));
            prop_assert_eq!(spans.iter().any(|span| span.from.0 < t && t <= span.to.0), alive, "at {}", t);
        }
    }
}

/// The smallest outstanding size, edges included.
fn dip(rows: &[&Row], (t0, t1): Edges) -> u64 {
    let changes = rows.iter().flat_map(|row| [Some(row.birth), row.death]).flatten();
    let moments = changes.filter(|t| (t0..t1).contains(t)).map(|t| t + 1).chain([t0, t1]);
    moments.map(|t| outstanding(rows, t)).min().unwrap()
}
