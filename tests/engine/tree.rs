//! The tree of the table against a naive oracle: every line with its numbers and
//! its peak, sums, order and search, with all nodes open.

use std::sync::Arc;

use crate::oracle::answer::{Edges, outstanding, peak};
use crate::oracle::question::{OPS, edges, interval, options, place, replay, ways};
use crate::oracle::scenario::Scenario;
use crate::oracle::{Replay, Row, strategy};
use highwater::model::Trace;
use highwater::query::{
    Bucket, Cancel, Column, Filter, Index, Key, Numbers, SHARED, Sort, Totals, Tree, TreeRequest, TreeRow, peaks, sort_nodes,
    totals, tree,
};
use highwater::units::{Layer, Ticks};
use proptest::prelude::*;
use proptest::sample::select;

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn every_line_of_the_tree_equals_the_oracles(
        ops in strategy::ops(OPS), a in place(), b in place(), options in options(),
    ) {
        let scenario = Scenario::of(&ops);
        let ways = ways(replay(&scenario), &options);
        let expected = Replay::of(&scenario.steps);
        let edges = edges(&scenario, a, b);
        let mut theirs = tree_lines(&expected, edges);
        theirs.sort();
        for index in &ways {
            let trace = index.trace();
            let totals = totals(index, interval(edges), &Cancel::default()).unwrap();
            let tree = open_tree(trace, &totals);
            let peaks = peaks(index, interval(edges), &tree, &Cancel::default()).unwrap();
            let mut ours = described(trace, &tree, &peaks);
            ours.sort();
            prop_assert_eq!(&ours, &theirs);
        }
    }

    #[test]
    fn the_tree_adds_up(ops in strategy::ops(OPS), a in place(), b in place(), joins in any::<bool>()) {
        let scenario = Scenario::of(&ops);
        let index = Index::scan(Arc::new(replay(&scenario)));
        let trace = index.trace();
        let edges = edges(&scenario, a, b);
        let totals = totals(&index, interval(edges), &Cancel::default()).unwrap();
        let tree = open(trace, &totals, TreeRequest { joins_at_instants: joins, ..TreeRequest::default() });
        let rows: Vec<TreeRow> = tree.rows(trace).collect();
        let is_instant = interval(edges).is_empty();
        for (i, row) in rows.iter().enumerate() {
            let n = row.numbers;
            let is_level = matches!(row.path.last(), Some(Key::Impacting(_)));
            prop_assert!(!(joins && is_instant && is_level), "the levels of types are left out at an instant");
            prop_assert_eq!(i128::from(n.impacting), i128::from(n.outstanding_to) - i128::from(n.outstanding_from));
            if row.allocation.is_some() || row.mixes_layers {
                continue;
            }
            let below = rows[i + 1..].iter().take_while(|below| below.depth > row.depth);
            prop_assert_eq!(sum(below.filter(|below| below.depth == row.depth + 1).map(|below| below.numbers)), n);
            let filtered = totals.sum(&Filter::under(row.path.clone()).mask(trace)).numbers();
            prop_assert_eq!(filtered, n, "filter to {:?}", row.path);
        }
    }

    #[test]
    fn lines_below_a_node_come_in_the_order_that_is_asked_for(
        ops in strategy::ops(OPS), a in place(), b in place(), column in select(Column::ALL.to_vec()), descending: bool,
    ) {
        let scenario = Scenario::of(&ops);
        let index = Index::scan(Arc::new(replay(&scenario)));
        let trace = index.trace();
        let edges = edges(&scenario, a, b);
        let totals = totals(&index, interval(edges), &Cancel::default()).unwrap();
        let request = TreeRequest { sort: Sort { column, descending }, ..TreeRequest::default() };
        let mut tree = open(trace, &totals, request);
        let mut tops = peaks(&index, interval(edges), &tree, &Cancel::default()).unwrap();
        if column == Column::Peak {
            let lines = described(trace, &tree, &tops);
            let order;
            (tree, order) = sort_nodes(tree, &tops, descending);
            tops = order.into_iter().map(|line| tops[line as usize]).collect();
            let mut sorted = described(trace, &tree, &tops);
            prop_assert_eq!(lines.len(), sorted.len());
            let mut before = lines;
            before.sort();
            sorted.sort();
            prop_assert_eq!(before, sorted, "the same lines");
        }
        let rows: Vec<TreeRow> = tree.rows(trace).collect();
        for (i, row) in rows.iter().enumerate() {
            let next = (i + 1..rows.len()).take_while(|&j| rows[j].depth >= row.depth).find(|&j| rows[j].depth == row.depth);
            let Some(next) = next.filter(|&j| rows[j].allocation.is_some() == row.allocation.is_some()) else { continue };
            let peak = |i| tree.peak(trace, &tops, i).unwrap();
            let (a, b) = (measure(column, row, peak(i)), measure(column, &rows[next], peak(next)));
            prop_assert!(a == b || (a > b) == descending, "{} before {} by {:?}", row.label, rows[next].label, column);
        }
    }

    /// Whatever is open, the lines are those of the whole tree that are in sight.
    #[test]
    fn a_tree_that_is_partly_open_is_a_part_of_the_whole(
        ops in strategy::ops(OPS), a in place(), b in place(), column in select(Column::ALL.to_vec()), open_bits: u64,
        text in select(vec!["", "commit", "0x1"]),
    ) {
        let scenario = Scenario::of(&ops);
        let index = Index::scan(Arc::new(replay(&scenario)));
        let trace = index.trace();
        let edges = edges(&scenario, a, b);
        let totals = totals(&index, interval(edges), &Cancel::default()).unwrap();
        let sort = Sort { column, descending: open_bits % 2 == 0 };
        let request = TreeRequest { sort, search: text.to_owned(), ..TreeRequest::default() };
        let whole: Vec<TreeRow> = open(trace, &totals, request.clone()).rows(trace).collect();
        let nodes = whole.iter().filter(|row| row.has_children);
        let toggled = nodes.enumerate().map(|(i, row)| (row.path.clone(), open_bits >> (i % 61) & 1 != 0)).collect();
        let part = tree(trace, &totals, &TreeRequest { toggled: Arc::new(toggled), ..request }, &Cancel::default()).unwrap();
        let mut lines = part.rows(trace).enumerate();
        let mut hidden_below = usize::MAX;
        // The way down to the line before, by place in the part.
        let mut way: Vec<usize> = Vec::new();
        for expected in whole.iter() {
            if expected.depth > hidden_below {
                continue;
            }
            let (index, line) = lines.next().unwrap();
            hidden_below = if line.is_open { usize::MAX } else { line.depth };
            prop_assert_eq!(
                (&line.path, &line.label, line.depth, line.numbers, line.mixes_layers, line.allocation.map(|(id, _)| id)),
                (&expected.path, &expected.label, expected.depth, expected.numbers, expected.mixes_layers,
                    expected.allocation.map(|(id, _)| id))
            );
            way.truncate(line.depth);
            prop_assert_eq!(part.parent(index), way.last().copied());
            prop_assert_eq!(part.find(trace, &line.path), Some(index));
            prop_assert_eq!(part.path(index), Some(line.path));
            way.push(index);
        }
        prop_assert!(lines.next().is_none());
    }

    /// Nodes that share a line are found in it, and it says what each of them said.
    #[test]
    fn lines_that_nodes_share_hold_what_each_of_them_held(ops in strategy::ops(OPS), a in place(), b in place()) {
        let scenario = Scenario::of(&ops);
        let index = Index::scan(Arc::new(replay(&scenario)));
        let trace = index.trace();
        let edges = edges(&scenario, a, b);
        let totals = totals(&index, interval(edges), &Cancel::default()).unwrap();
        let whole = open_tree(trace, &totals);
        let shared = open(trace, &totals, TreeRequest { chains: true, ..TreeRequest::default() });
        let peaks_of = |tree: &Tree| peaks(&index, interval(edges), tree, &Cancel::default()).unwrap();
        let (whole_peaks, shared_peaks) = (peaks_of(&whole), peaks_of(&shared));
        for (at, row) in whole.rows(trace).enumerate() {
            let line = shared.find(trace, &row.path);
            prop_assert!(line.is_some(), "{:?}", row.path);
            let found = shared.row(trace, line.unwrap()).unwrap();
            prop_assert_eq!((found.numbers, found.mixes_layers), (row.numbers, row.mixes_layers));
            prop_assert_eq!(shared.peak(trace, &shared_peaks, line.unwrap()), whole.peak(trace, &whole_peaks, at));
        }
        let rows: Vec<TreeRow> = shared.rows(trace).collect();
        let names = |row: &TreeRow| row.label.split(SHARED).count();
        prop_assert_eq!(rows.iter().map(names).sum::<usize>(), whole.len(), "each node stands in one line");
        for (at, row) in rows.iter().enumerate() {
            prop_assert_eq!(shared.find(trace, &row.path), Some(at));
            let below: Vec<&TreeRow> = (at + 1..rows.len()).filter(|&below| shared.parent(below) == Some(at)).map(|i| &rows[i]).collect();
            let is_frame = |row: &TreeRow| matches!(row.path.last(), Some(Key::Frame(_)));
            prop_assert!(!(is_frame(row) && below.len() == 1 && is_frame(below[0])), "{} and {}", row.label, below[0].label);
        }
    }

    #[test]
    fn a_search_leaves_the_allocations_whose_way_has_the_text(
        ops in strategy::ops(OPS), a in place(), b in place(),
        text in select(vec!["physics", "APP1", "(2)", "commit", "transient", "aofo", "0x20", "0x10", "nowhere", " "]),
    ) {
        let scenario = Scenario::of(&ops);
        let index = Index::scan(Arc::new(replay(&scenario)));
        let trace = index.trace();
        let edges = edges(&scenario, a, b);
        let totals = totals(&index, interval(edges), &Cancel::default()).unwrap();
        let wanted = text.trim().to_lowercase();
        // Names on the way to each allocation of the whole tree.
        let whole = open_tree(trace, &totals);
        let mut way: Vec<String> = Vec::new();
        let mut expected = Vec::new();
        for row in whole.rows(trace) {
            way.truncate(row.depth);
            if let Some((id, _)) = row.allocation {
                if way.iter().any(|name| name.to_lowercase().contains(&wanted)) {
                    expected.push(id);
                }
            } else {
                way.push(row.label);
            }
        }
        let found = open(trace, &totals, TreeRequest { search: text.to_owned(), ..TreeRequest::default() });
        let mut found: Vec<_> = found.rows(trace).filter_map(|row| row.allocation).map(|(id, _)| id).collect();
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }
}

/// What a line is sorted by. Columns that nodes do not have sort them by change.
fn measure(column: Column, row: &TreeRow, peak: u64) -> (u64, String) {
    let n = row.numbers;
    let number = match (column, row.allocation) {
        (Column::Name, None) => return (0, row.label.clone()),
        (Column::Name | Column::Address, Some((_, row))) => row.address,
        (Column::AllocTime, Some((_, row))) => row.birth.0.wrapping_sub(i64::MIN) as u64,
        (Column::FreeTime, Some((_, row))) => row.death.0.wrapping_sub(i64::MIN) as u64,
        (Column::Peak, _) => peak,
        (_, Some((_, row))) => row.size,
        (Column::Count, None) => n.count,
        (Column::Size, None) => n.size,
        (Column::OutstandingFrom, None) => n.outstanding_from,
        (Column::OutstandingTo | Column::Touched, None) => n.outstanding_to,
        (Column::AllocationsPerFrame, None) => n.allocated.count,
        (Column::BytesPerFrame, None) => n.allocated.size,
        _ => n.impacting.unsigned_abs(),
    };
    (number, String::new())
}

fn described(trace: &Trace, tree: &Tree, peaks: &[u64]) -> Vec<String> {
    tree.rows(trace).enumerate().map(|(i, row)| describe(trace, &row, tree.peak(trace, peaks, i).unwrap())).collect()
}

fn sum(numbers: impl Iterator<Item = Numbers>) -> Numbers {
    numbers.fold(Numbers::default(), |a, b| Numbers {
        count: a.count + b.count,
        size: a.size + b.size,
        allocated: Bucket { count: a.allocated.count + b.allocated.count, size: a.allocated.size + b.allocated.size },
        impacting: a.impacting + b.impacting,
        outstanding_from: a.outstanding_from + b.outstanding_from,
        outstanding_to: a.outstanding_to + b.outstanding_to,
    })
}

/// The tree with every node open.
fn open_tree(trace: &Trace, totals: &Totals) -> Tree {
    open(trace, totals, TreeRequest::default())
}

fn open(trace: &Trace, totals: &Totals, mut request: TreeRequest) -> Tree {
    let mut lines = 0;
    loop {
        let tree = tree(trace, totals, &request, &Cancel::default()).unwrap();
        if tree.len() == lines {
            return tree;
        }
        lines = tree.len();
        request.toggled = Arc::new(tree.rows(trace).map(|row| (row.path, true)).collect());
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
            Key::Inlined(..) | Key::Inside(..) => unreachable!("no names were given, and nothing is folded"),
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
    let born = |row: &&&Row| edges.0 <= row.birth && row.birth < edges.1;
    Numbers {
        count: rows.len() as u64,
        size: rows.iter().map(|row| row.size).sum(),
        allocated: Bucket {
            count: rows.iter().filter(born).count() as u64,
            size: rows.iter().filter(born).map(|row| row.size).sum(),
        },
        impacting: to as i64 - from as i64,
        outstanding_from: from,
        outstanding_to: to,
    }
}
