//! Every number against a naive oracle, over generated captures: reports by any
//! key and filter, totals, the tree, peaks and series, in intervals whose edges
//! lie on, beside and far from the events.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

mod oracle;

use std::sync::Arc;

use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::query::{
    By, ByClass, Cancel, Filter, Group, Key, Numbers, ReportFilter, ReportRequest, SeriesOf, Totals, Tree, TreeRequest, TreeRow,
    peaks, report, series, spans, totals, tree,
};
use highwater::units::{Interval, Layer, Ticks};
use oracle::answer::{Edges, outstanding, peak};
use oracle::scenario::{Scenario, TRACE_START};
use oracle::{FREQUENCY, Replay, Row, strategy};
use proptest::prelude::*;
use proptest::sample::select;

/// Operations of a capture: enough to get into trouble, few enough to read.
const OPS: usize = 60;

fn replay(scenario: &Scenario) -> Trace {
    let mut builder = builder();
    for sent in &scenario.stream {
        builder.apply(&sent.record, &sent.frames);
    }
    builder.publish(input(scenario, true))
}

fn builder() -> Builder {
    Builder::new(Clock { frequency: FREQUENCY as u64, start_time: 0 }, TRACE_START, (0, 0))
}

fn input(scenario: &Scenario, complete: bool) -> InputState {
    InputState { times: scenario.times(), complete, ..InputState::default() }
}

fn interval((from, to): Edges) -> Interval {
    Interval { from: Ticks(from), to: Ticks(to) }
}

/// A place for an edge: on an event, beside it, or far away.
#[derive(Clone, Copy, Debug)]
struct Place {
    event: usize,
    beside: i64,
}

const FAR: i64 = i64::MAX - 1;

fn place() -> impl Strategy<Value = Place> {
    let beside = prop_oneof![12 => -1i64..=1, 1 => select(vec![-FAR, -1_000_000, 1_000_000, FAR])];
    (0..1000usize, beside).prop_map(|(event, beside)| Place { event, beside })
}

fn edges(scenario: &Scenario, a: Place, b: Place) -> Edges {
    let edge = |place: Place| {
        let steps = &scenario.steps;
        let time = steps.get(place.event % steps.len().max(1)).map_or(0, |step| step.time);
        time.saturating_add(place.beside).clamp(-FAR, FAR)
    };
    (edge(a).min(edge(b)), edge(a).max(edge(b)))
}

fn by() -> impl Strategy<Value = Vec<By>> {
    prop::sample::subsequence(vec![By::Process, By::Heap, By::Stack, By::Type, By::Thread], 0..=5)
}

fn filter() -> impl Strategy<Value = ReportFilter> {
    let text = |choices: &[&str]| {
        let choices: Vec<String> = choices.iter().map(|s| s.to_string()).collect();
        prop_oneof![3 => Just(None), 1 => select(choices).prop_map(Some)]
    };
    let process = text(&["app1.exe", "App0.exe", "2", "unknown (1)", "4294967295", "nobody"]);
    let layer = prop_oneof![3 => Just(None), 1 => select(Layer::ALL.to_vec()).prop_map(Some)];
    let heap = text(&["physics", "AUDIO", "0xAB", "0x10", "0x11"]);
    (process, layer, heap).prop_map(|(process, layer, heap)| ReportFilter { process, layer, heap })
}

fn ask(trace: &Trace, edges: Edges, by: &[By], filter: &ReportFilter, top: Option<usize>) -> Vec<Group> {
    let request = ReportRequest { interval: interval(edges), by: by.to_vec(), filter: filter.clone(), top };
    report(trace, &request, &Cancel::default()).unwrap().groups
}

/// Failures are shrunk to a few operations and become tests of their own by hand.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, max_shrink_iters: 200_000, ..ProptestConfig::default() }
}

/// Groups as lines, so that a difference can be read.
fn lines(groups: &[Group]) -> Vec<String> {
    groups.iter().map(|group| serde_json::to_string(group).unwrap()).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn reports_equal_the_oracles(
        ops in strategy::ops(OPS),
        questions in prop::collection::vec((by(), filter(), place(), place()), 1..6),
    ) {
        let scenario = Scenario::of(&ops);
        let trace = replay(&scenario);
        let expected = Replay::of(&scenario.steps);
        for (by, filter, a, b) in questions {
            let edges = edges(&scenario, a, b);
            let groups = ask(&trace, edges, &by, &filter, None);
            prop_assert_eq!(lines(&groups), lines(&expected.report(edges, &by, &filter)), "{:?} of {:?}", by, edges);
            let first = ask(&trace, edges, &by, &filter, Some(2));
            prop_assert_eq!(lines(&first), lines(&groups[..groups.len().min(2)]));
        }
        prop_assert_eq!(trace.quality.unmatched_frees, expected.unmatched_frees, "unmatched frees");
        prop_assert_eq!(trace.quality.superseded_allocations, expected.superseded, "superseded allocations");
        prop_assert_eq!(trace.rows.len(), expected.rows.len());
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn intervals_side_by_side_add_up(ops in strategy::ops(OPS), a in place(), b in place(), c in place()) {
        let scenario = Scenario::of(&ops);
        let trace = replay(&scenario);
        let (low, high) = edges(&scenario, a, b);
        let middle = edges(&scenario, c, c).0.clamp(low, high);
        let sum = |edges: Edges| totals(&trace, interval(edges), &Cancel::default()).unwrap().sum(&Filter::all().mask(&trace));
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
        let everything = |trace: &Trace| {
            let by = [By::Process, By::Heap, By::Stack, By::Thread];
            lines(&ask(trace, (-FAR, FAR), &by, &ReportFilter::default(), None))
        };
        for (i, sent) in scenario.stream.iter().enumerate() {
            builder.apply(&sent.record, &sent.frames);
            if at.contains(&i) {
                let trace = builder.publish(input(&scenario, false));
                early.push((everything(&trace), trace));
            }
        }
        let last = builder.publish(input(&scenario, true));
        prop_assert_eq!(everything(&last), everything(&replay(&scenario)));
        for (answer, trace) in early {
            prop_assert_eq!(answer, everything(&trace), "a published trace has changed");
        }
    }

    #[test]
    fn series_reach_every_peak_and_end_where_reports_do(
        ops in strategy::ops(OPS), a in place(), b in place(), bins in select(vec![1usize, 3, 50, 1000]),
    ) {
        let scenario = Scenario::of(&ops);
        let trace = replay(&scenario);
        let expected = Replay::of(&scenario.steps);
        let edges = edges(&scenario, a, b);
        let totals = totals(&trace, interval(edges), &Cancel::default()).unwrap();
        let by_layer = SeriesOf::new(&trace, 3, |site| Some(trace.layer_of(trace.site(site)) as u32));
        let lines = series(&trace, &totals, &by_layer, bins, &Cancel::default()).unwrap();
        for (layer, line) in Layer::ALL.into_iter().zip(lines) {
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
    fn every_line_of_the_tree_equals_the_oracles(ops in strategy::ops(OPS), a in place(), b in place()) {
        let scenario = Scenario::of(&ops);
        let trace = replay(&scenario);
        let expected = Replay::of(&scenario.steps);
        let edges = edges(&scenario, a, b);
        let totals = totals(&trace, interval(edges), &Cancel::default()).unwrap();
        let tree = open_tree(&trace, &totals);
        let peaks = peaks(&trace, interval(edges), &tree, &Cancel::default()).unwrap();
        let mut ours: Vec<String> = tree.rows.iter().zip(peaks).map(|(row, peak)| describe(&trace, row, peak)).collect();
        let mut theirs = tree_lines(&expected, edges);
        ours.sort();
        theirs.sort();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn the_tree_adds_up(ops in strategy::ops(OPS), a in place(), b in place()) {
        let scenario = Scenario::of(&ops);
        let trace = replay(&scenario);
        let edges = edges(&scenario, a, b);
        let totals = totals(&trace, interval(edges), &Cancel::default()).unwrap();
        let tree = open_tree(&trace, &totals);
        for (i, row) in tree.rows.iter().enumerate() {
            let n = row.numbers;
            prop_assert_eq!(i128::from(n.impacting), i128::from(n.outstanding_to) - i128::from(n.outstanding_from));
            if row.allocation.is_some() || row.mixes_layers {
                continue;
            }
            let below = tree.rows[i + 1..].iter().take_while(|below| below.depth > row.depth);
            prop_assert_eq!(sum(below.filter(|below| below.depth == row.depth + 1).map(|below| below.numbers)), n);
            let filtered = totals.sum(&Filter::under(row.path.clone()).mask(&trace)).numbers();
            prop_assert_eq!(filtered, n, "filter to {:?}", row.path);
        }
    }

    #[test]
    fn highlighted_spans_are_when_rows_are_alive(ops in strategy::ops(OPS), a in place(), b in place()) {
        let scenario = Scenario::of(&ops);
        let trace = replay(&scenario);
        let rows = Replay::of(&scenario.steps).rows;
        let edges = edges(&scenario, a, b);
        let exact = usize::MAX >> 1;
        let spans = spans(&trace, interval(edges), &Filter::all().mask(&trace), exact, &Cancel::default()).unwrap();
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

fn sum(numbers: impl Iterator<Item = Numbers>) -> Numbers {
    numbers.fold(Numbers::default(), |a, b| Numbers {
        count: a.count + b.count,
        size: a.size + b.size,
        impacting: a.impacting + b.impacting,
        outstanding_from: a.outstanding_from + b.outstanding_from,
        outstanding_to: a.outstanding_to + b.outstanding_to,
    })
}

/// The tree with every node open.
fn open_tree(trace: &Trace, totals: &Totals) -> Tree {
    let mut request = TreeRequest::default();
    let mut lines = 0;
    loop {
        let tree = tree(trace, totals, &request, &Cancel::default()).unwrap();
        if tree.rows.len() == lines {
            return tree;
        }
        lines = tree.rows.len();
        request.toggled = Arc::new(tree.rows.iter().map(|row| (row.path.clone(), true)).collect());
    }
}

/// One line of the tree as text: the way to it, then its numbers.
fn describe(trace: &Trace, row: &TreeRow, peak: u64) -> String {
    let mut text = String::new();
    for key in row.path.iter() {
        text += &match key {
            Key::Process(id) => {
                let process = trace.process(*id);
                format!("{} {} {:?}", process.label(), process.pid, process.start.map(|t| t.0))
            }
            Key::Layer(layer) => format!("/{}", layer.name()),
            Key::Heap(id) => format!("/{:?}", trace.heap(*id).key()),
            Key::Impacting(kind) => format!("/{kind:?}"),
            Key::Class(class) => format!("/{class:?}"),
            Key::Frame(node) => {
                let frames: Vec<u64> = trace.stacks.path(*node).into_iter().map(|n| trace.stacks.address(n)).collect();
                format!("/{frames:x?}")
            }
            Key::Row(id) => {
                let row = trace.rows.get(*id);
                format!("/{:x} {:?} {:?}", row.address, row.birth.0, Some(row.death.0).filter(|_| row.death != Ticks::NEVER))
            }
        };
    }
    if row.mixes_layers { several_layers(&text) } else { format!("{text}: {:?} {peak}", row.numbers) }
}

/// Layers are never added, so a process with several has no numbers to compare.
fn several_layers(text: &str) -> String {
    format!("{text}: several layers")
}

/// All lines that an open tree must have.
fn tree_lines(replay: &Replay, edges: Edges) -> Vec<String> {
    use highwater::query::LifetimeClass;
    let mut nodes: Vec<(String, Vec<&Row>)> = Vec::new();
    // Nodes are told apart by the whole way to them, with lives and trackers by number.
    let mut ways: Vec<String> = Vec::new();
    for row in &replay.rows {
        let Some(class) = row.class(edges).map(|i| LifetimeClass::ALL[i]) else { continue };
        let life = &replay.lives[row.life];
        let process = format!("{} {} {:?}", replay.process_name(row), life.pid, life.start);
        let mut steps = vec![(format!("{}", row.life), process), (String::new(), format!("/{}", row.layer().name()))];
        if row.layer() != Layer::Commit {
            steps.push((format!("{:?}", row.place), format!("/{:?}", replay.heap_name(row))));
        }
        steps.push((String::new(), format!("/{:?}", class.impacting())));
        steps.push((String::new(), format!("/{class:?}")));
        let outermost_first: Vec<u64> = row.stack.iter().rev().copied().collect();
        let mut text = String::new();
        let mut way = String::new();
        for (id, step) in steps {
            text += &step;
            way += &format!("{id} {step}");
            add(&mut ways, &mut nodes, &way, &text, row);
        }
        // A frame's line names all frames around it, not the lines between.
        let depths = if row.stack.is_empty() { 0..=0 } else { 1..=row.stack.len() };
        for depth in depths {
            let frames = format!("/{:x?}", &outermost_first[..depth]);
            add(&mut ways, &mut nodes, &format!("{way}{frames}"), &format!("{text}{frames}"), row);
        }
        let frames = format!("/{outermost_first:x?}");
        let line = format!("{text}{frames}/{:x} {:?} {:?}", row.address, row.birth, row.death);
        nodes.push((line, vec![row]));
        ways.push("(a single row)".to_owned());
    }
    let line = |(text, rows): &(String, Vec<&Row>)| match rows.iter().any(|row| row.layer() != rows[0].layer()) {
        true => several_layers(text),
        false => format!("{text}: {:?} {}", numbers(rows, edges), peak(rows, edges)),
    };
    nodes.iter().map(line).collect()
}

fn add<'a>(ways: &mut Vec<String>, nodes: &mut Vec<(String, Vec<&'a Row>)>, way: &str, text: &str, row: &'a Row) {
    match ways.iter().position(|other| other == way) {
        Some(i) => nodes[i].1.push(row),
        None => {
            ways.push(way.to_owned());
            nodes.push((text.to_owned(), vec![row]));
        }
    }
}

fn numbers(rows: &[&Row], edges: Edges) -> Numbers {
    let (from, to) = (outstanding(rows, edges.0), outstanding(rows, edges.1));
    Numbers {
        count: rows.len() as u64,
        size: rows.iter().map(|row| row.size).sum(),
        impacting: to as i64 - from as i64,
        outstanding_from: from,
        outstanding_to: to,
    }
}
