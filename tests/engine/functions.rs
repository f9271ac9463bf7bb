//! Functions against a naive oracle: stacks as lists of names, a look at every row for every
//! number. Recursion, modules that come and go, layers apart, callers and callees; and all
//! trees over functions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::callers;
use crate::common::corpus;
use crate::common::named::{allocators, story};
use crate::common::trace::{session, trace as file};
use crate::oracle::answer::{Edges, numbers};
use crate::oracle::question::{OPS, edges, interval, options, place, plain, replay, ways};
use crate::oracle::scenario::{Scenario, Sent};
use crate::oracle::{FREQUENCY, Replay, Row, strategy};
use highwater::demo;
use highwater::events::{Event, ImageChange, ImageInfo, Record};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{NodeId, RowId, Site, SiteId, Trace};
use highwater::query::{
    CallLine, Cancel, Column, FlameBoxes, FlameWeight, FlameWeights, Fold, Forest, FunctionGroup, FunctionId, FunctionNodes,
    FunctionPlaces, Functions, FunctionsRequest, GroupNumbers, Index, LifetimeClass, Mask, NeighbourGroup, NodeKey, Numbers,
    PathId, Sort, call_tree, call_tree_peaks, flame_boxes, function_sums, functions, heaviest_path, node_name, sort_call_lines,
    stack_labels, totals,
};
use highwater::symbols::{Names, Options, Sources, SymbolPath, Symbols};
use highwater::tables::KeyedMap;
use highwater::units::{Layer, Pid, Tid};
use proptest::prelude::*;

/// Number of a process's life, its name, id and start.
type Life = (usize, String, u32, Option<i64>);

/// A row, and what it is found by.
#[derive(Clone, Debug)]
struct Named {
    process: Life,
    layer: Layer,
    /// Outermost first.
    names: Vec<String>,
    responsible: Option<String>,
    row: Row,
}

impl Named {
    /// The same with nothing but the responsible caller.
    fn flat(&self) -> Self {
        Self { names: self.responsible.clone().into_iter().collect(), ..self.clone() }
    }
}

/// The rows of a trace, named as the stacks of reports are.
fn rows(trace: &Trace, names: &Names, names_of: impl Fn(&Site) -> Vec<String>) -> Vec<Named> {
    let responsible: Vec<Option<String>> = trace.sites.iter().map(|site| callers::responsible(trace, names, site)).collect();
    let labels: Vec<Vec<String>> = trace.sites.iter().map(names_of).collect();
    let row = |id: u32| {
        let row = trace.rows.get(RowId(id));
        let site = trace.site(row.site);
        let process = trace.process(trace.process_of(site));
        Named {
            process: (trace.process_of(site).0 as usize, process.label(), process.pid.0, process.start.map(|start| start.0)),
            layer: trace.layer_of(site),
            names: labels[row.site.0 as usize].clone(),
            responsible: responsible[row.site.0 as usize].clone(),
            row: plain(&row),
        }
    };
    (0..trace.rows.len() as u32).map(row).collect()
}

fn come_to<'a>(rows: impl IntoIterator<Item = &'a Named>, edges: Edges) -> GroupNumbers {
    let rows: Vec<&Row> = rows.into_iter().map(|named| &named.row).collect();
    numbers(&rows, edges)
}

fn rank(numbers: &GroupNumbers) -> impl Ord + use<> {
    Reverse((numbers.impacting_size.unsigned_abs(), numbers.size))
}

/// The neighbours of a function, each of whose rows has the one that `beside` tells.
fn neighbours(rows: &[&Named], edges: Edges, beside: impl Fn(&[String]) -> Option<String>) -> Vec<NeighbourGroup> {
    let mut groups: BTreeMap<Option<String>, Vec<&Named>> = BTreeMap::new();
    rows.iter().for_each(|&row| groups.entry(beside(&row.names)).or_default().push(row));
    let group = |(function, rows): (_, Vec<&Named>)| NeighbourGroup { function, numbers: come_to(rows, edges) };
    let mut groups: Vec<NeighbourGroup> = groups.into_iter().map(group).collect();
    groups.sort_by(|a, b| rank(&a.numbers).cmp(&rank(&b.numbers)).then_with(|| a.function.cmp(&b.function)));
    groups
}

/// What the functions come to, in order; of one of them with callers and callees.
fn naive(rows: &[Named], edges: Edges, frequency: i64, of: Option<&str>) -> Vec<FunctionGroup> {
    let rows: Vec<&Named> = rows.iter().filter(|named| named.row.class(edges).is_some()).collect();
    let mut keys: Vec<(Life, Layer, String)> = Vec::new();
    for row in &rows {
        for name in &row.names {
            let key = (row.process.clone(), row.layer, name.clone());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    let group = |(process, layer, name): (Life, Layer, String)| {
        let is_its = |row: &&&Named| row.process == process && row.layer == layer && row.names.contains(&name);
        let rows: Vec<&Named> = rows.iter().filter(is_its).copied().collect();
        let asked = of == Some(name.as_str());
        let before = |names: &[String]| names[..names.iter().position(|n| *n == name).unwrap()].last().cloned();
        let after = |names: &[String]| names.get(names.iter().rposition(|n| *n == name).unwrap() + 1).cloned();
        let group = FunctionGroup {
            process: process.1,
            pid: process.2,
            process_start_s: process.3.map(|start| start as f64 / frequency as f64),
            layer: layer.name(),
            own: come_to(rows.iter().filter(|row| row.names.last() == Some(&name)).copied(), edges),
            total: come_to(rows.iter().copied(), edges),
            callers: asked.then(|| neighbours(&rows, edges, before)),
            callees: asked.then(|| neighbours(&rows, edges, after)),
            function: name,
            source: None,
            address: None,
        };
        (process.0, group)
    };
    let mut groups: Vec<(usize, FunctionGroup)> = keys.into_iter().map(group).collect();
    groups.sort_by(|(life_a, a), (life_b, b)| {
        let key = |g: &FunctionGroup| (g.function.clone(), g.process.clone(), g.pid);
        let start = |g: &FunctionGroup| g.process_start_s.unwrap_or(f64::NEG_INFINITY);
        let by_name = || key(a).cmp(&key(b)).then(start(a).total_cmp(&start(b))).then(a.layer.cmp(b.layer));
        rank(&a.total).cmp(&rank(&b.total)).then_with(by_name).then(life_a.cmp(life_b))
    });
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Groups as lines, so that a difference can be read.
fn lines(groups: &[FunctionGroup]) -> Vec<String> {
    groups.iter().map(|group| serde_json::to_string(group).unwrap()).collect()
}

fn ask(index: &Index, all: &Functions, edges: Edges, of: Option<&str>, top: Option<usize>) -> Vec<FunctionGroup> {
    let never = Cancel::default();
    let totals = totals(index, interval(edges), &never).unwrap();
    let request = FunctionsRequest { mask: Mask::all(index.trace()), of: of.map(str::to_owned), top };
    functions((index, &Names::default()), all, &totals, &request, &never).unwrap().0
}

/// Another program: few functions, so that most stacks recur.
fn with_recursion(scenario: &mut Scenario, of: &[u64; 3]) {
    let change = |frame: &mut u64| match *frame {
        0x10 | 0x20 | 0x30 => *frame = of[*frame as usize / 0x10 - 1],
        _ => {}
    };
    scenario.stream.iter_mut().for_each(|sent| sent.frames.iter_mut().for_each(change));
    scenario.steps.iter_mut().for_each(|step| step.stack.iter_mut().for_each(change));
}

/// Which address each frame of a scenario gets.
fn addresses() -> impl Strategy<Value = [u64; 3]> {
    let address = || prop::sample::select(vec![0x10u64, 0x20, 0x30]);
    [address(), address(), address()]
}

proptest! {
    #![proptest_config(strategy::config())]

    /// Against the oracle that knows nothing of the program.
    #[test]
    fn functions_equal_the_oracles(
        ops in strategy::ops(OPS),
        addresses in addresses(),
        a in place(), b in place(), of in 0..3usize,
        options in options(),
    ) {
        let mut scenario = Scenario::of(&ops);
        with_recursion(&mut scenario, &addresses);
        let edges = edges(&scenario, a, b);
        let oracle = Replay::of(&scenario.steps);
        let named = |row: &Row| {
            let life = &oracle.lives[row.life];
            Named {
                responsible: None,
                process: (row.life, oracle.process_name(row), life.pid, life.start),
                layer: row.layer(),
                names: row.stack.iter().rev().map(|frame| format!("{frame:#x}")).collect(),
                row: row.clone(),
            }
        };
        let rows: Vec<Named> = oracle.rows.iter().map(named).collect();
        let of = ["0x10", "0x20", "0xffff800000000010"][of];
        let expected = lines(&naive(&rows, edges, FREQUENCY, Some(of)));
        for index in &ways(replay(&scenario), &options) {
            let all = Functions::of(index.trace(), &Names::default(), Fold::Nothing, &Cancel::default()).unwrap();
            let groups = ask(index, &all, edges, Some(of), None);
            prop_assert_eq!(&lines(&groups), &expected);
            let first = lines(&ask(index, &all, edges, None, Some(2)));
            let plain = lines(&naive(&rows, edges, FREQUENCY, None));
            prop_assert_eq!(&first[..], &plain[..plain.len().min(2)]);
            let with_asked = ask(index, &all, edges, Some(of), Some(1));
            let kept: Vec<FunctionGroup> = groups.iter().enumerate()
                .filter(|(i, group)| *i < 1 || group.function == of).map(|(_, group)| group.clone()).collect();
            prop_assert_eq!(lines(&with_asked), lines(&kept));
        }
    }
}

/// An image event: where in the stream, whose, which, where, and whether it goes.
type Change = (usize, u32, usize, u64, bool);

fn image_changes() -> impl Strategy<Value = Vec<Change>> {
    let base = prop::sample::select(vec![0u64, 0x18, 0x28]);
    prop::collection::vec((0..200usize, 1..4u32, 0..3usize, base, any::<bool>()), 0..24)
}

/// Modules of the system among them, which can be folded without names.
const IMAGES: [&str; 3] = ["game.exe", "ntdll.dll", "KernelBase.dll"];

fn with_images(scenario: &mut Scenario, changes: &[Change]) {
    for &(at, pid, image, base, goes) in changes {
        let at = at % (scenario.stream.len() + 1);
        let time =
            scenario.stream.get(at).or(scenario.stream.last()).map_or(crate::oracle::scenario::TRACE_START, |s| s.record.time);
        let path = format!(r"\Device\Volume1\{}", IMAGES[image]);
        let info = ImageInfo { base, size: 0x10, checksum: 0, time_stamp: 7, path };
        let change = if goes { ImageChange::Unload } else { ImageChange::Load };
        let record = Record { time, pid: Pid(pid), tid: Tid(9), event: Event::Image(change, Box::new(info)) };
        scenario.stream.insert(at, Sent { record, frames: Vec::new() });
    }
}

/// Everything that is said of functions, where rows are named by `names_of`.
fn check(
    index: &Index,
    (all, names): (&Functions, &Names),
    names_of: impl Fn(&Site) -> Vec<String>,
    edges: Edges,
    of: Option<&str>,
) {
    let trace = index.trace();
    for (id, site) in (0..).map(SiteId).zip(&trace.sites) {
        let mut frames: Vec<String> = all.chain(all.path(id)).map(|function| all.name(function).to_string()).collect();
        frames.reverse();
        assert_eq!(frames, names_of(site), "{site:?}");
    }
    let rows = rows(trace, names, &names_of);
    let frequency = trace.clock.frequency as i64;
    let expected = lines(&naive(&rows, edges, frequency, of));
    assert_eq!(lines(&ask(index, all, edges, of, None)), expected);
    let never = Cancel::default();
    let inverted = Forest::inverted(all, &never).unwrap();
    let reversed = |names: &[String]| names.iter().rev().cloned().collect();
    check_places(index, all, edges);
    let module = |name: &String| name.split_once('!').map_or("(no module)".to_owned(), |(module, _)| module.to_owned());
    check_forest(index, all, &Forest::top_down(all), &rows, edges, |names| names.to_vec());
    check_forest(index, all, &inverted, &rows, edges, reversed);
    let flat: Vec<Named> = rows.iter().map(Named::flat).collect();
    check_forest(index, all, &Forest::by_function(all), &flat, edges, |names| names.to_vec());
    check_forest(index, all, &Forest::by_module(all), &flat, edges, |names| names.last().map(module).into_iter().collect());
}

/// What a function comes to by its places is what it comes to among all functions.
fn check_places(index: &Index, all: &Functions, edges: Edges) {
    let (trace, never) = (index.trace(), Cancel::default());
    let totals = totals(index, interval(edges), &never).unwrap();
    let mask = Mask::of_sites(trace, |site, _| site.0 % 5 != 1);
    let forest = Forest::top_down(all);
    let every = function_sums(trace, all, &totals, &mask, &never).unwrap();
    let ids = || (0..all.len() as u32).map(FunctionId);
    let nodes = FunctionNodes::of(&forest, &ids().collect());
    for (function, layer) in ids().flat_map(|id| Layer::ALL.map(|layer| (id, layer))) {
        let places = FunctionPlaces::of(trace, &nodes, (&totals, &mask), function, layer, &never).unwrap();
        let mut expected: Vec<_> = every.iter().filter(|of| (of.function, of.layer) == (function, layer)).copied().collect();
        expected.sort_by_key(|of| of.process);
        assert_eq!(places.sums(), expected);
    }
}

/// Each node is another way, it has the rows on whose way it is, and every site is at the
/// end of its own.
fn check_forest(
    index: &Index,
    all: &Functions,
    forest: &Forest,
    rows: &[Named],
    edges: Edges,
    way_of: impl Fn(&[String]) -> Vec<String>,
) {
    let trace = index.trace();
    let name = |key: &NodeKey| match *key {
        NodeKey::All => panic!("everything is under itself"),
        NodeKey::NoStack => "(no stack)".to_owned(),
        NodeKey::Function(function) => all.name(function).to_string(),
        NodeKey::Module(module) => all.module_name(module).to_owned(),
        NodeKey::NoModule => "(no module)".to_owned(),
        other => panic!("{other:?} is no function"),
    };
    let ways: Vec<Vec<String>> = (0..forest.len() as u32).map(|node| forest.way(node).iter().map(name).collect()).collect();
    assert_eq!(ways.iter().collect::<BTreeSet<_>>().len(), ways.len(), "{ways:?}");
    let way_of = |names: &[String]| if names.is_empty() { vec!["(no stack)".to_owned()] } else { way_of(names) };
    let never = Cancel::default();
    let totals = totals(index, interval(edges), &never).unwrap();
    let has = |node: u32, row: &&Named| way_of(&row.names).starts_with(&ways[node as usize]);
    let is_odd: Vec<bool> = (0..trace.sites.len()).map(|site| site % 2 == 1).collect();
    let odd = Mask::of_sites(trace, |site, _| is_odd[site.0 as usize]);
    for layer in Layer::ALL {
        let sums = forest.sums(trace, &totals, &Mask::all(trace), layer);
        for (node, sums) in (0..forest.len() as u32).map(|node| (node, sums.of(node))) {
            let mut expected = come_to(rows.iter().filter(|row| row.layer == layer && has(node, row)), edges);
            expected.peak = 0;
            assert_eq!(GroupNumbers::new(&sums, 0), expected, "{:?}", ways[node as usize]);
        }
        let sums = forest.sums(trace, &totals, &odd, layer);
        for (node, sums) in (0..forest.len() as u32).map(|node| (node, sums.of(node))) {
            let is_wanted = |site: &&SiteId| is_odd[site.0 as usize] && trace.layer_of(trace.site(**site)) == layer;
            let expected: u64 = forest.under(node).iter().filter(is_wanted).map(|site| totals.of(*site).numbers().size).sum();
            assert_eq!(sums.numbers().size, expected);
        }
        let of = FlameWeight::Impacting;
        let weights = FlameWeights::new(forest, trace, &totals, &odd, layer, of);
        for node in 0..forest.len() as u32 {
            let wanted = forest.under(node).iter().filter(|site| is_odd[site.0 as usize]);
            let wanted = wanted.filter(|site| trace.layer_of(trace.site(**site)) == layer);
            let expected: u64 = wanted.map(|site| totals.of(*site).numbers().impacting.unsigned_abs()).sum();
            assert_eq!(weights.width(node), expected);
        }
        // All that is wide, one in the other, and as wide as it is.
        let FlameBoxes { boxes, depths, .. } = flame_boxes(&weights, 0, |_| false);
        let whole = weights.width(0);
        let seen: BTreeSet<u32> = boxes.iter().filter(|one| one.smaller == 0).map(|one| one.node).collect();
        assert_eq!(seen.len(), boxes.iter().filter(|one| one.smaller == 0).count());
        let is_wide = |node: &u32| weights.width(*node) > whole / 6000;
        assert_eq!(seen, (0..forest.len() as u32).filter(|node| *node == 0 || is_wide(node)).collect());
        for (depth, range) in depths.windows(2).enumerate() {
            for one in &boxes[range[0]..range[1]] {
                if one.smaller > 0 {
                    let narrow = |child: &&u32| weights.width(**child) > 0 && !is_wide(child);
                    let narrow: Vec<u32> = forest.children(one.node).iter().filter(narrow).copied().collect();
                    assert_eq!((forest.way(one.node).len() + 1, narrow.len()), (depth, one.smaller as usize));
                    let width: u64 = narrow.iter().map(|&child| weights.width(child)).sum();
                    assert!((f64::from(one.width) - width as f64 / whole as f64).abs() < 1e-6);
                    assert_eq!(one.net, narrow.iter().map(|&child| weights.net(child)).sum::<i64>());
                    continue;
                }
                assert_eq!(forest.way(one.node).len(), depth);
                assert!(whole == 0 || (f64::from(one.width) - weights.width(one.node) as f64 / whole as f64).abs() < 1e-6);
                let around = boxes.iter().find(|other| other.node == forest.parent(one.node)).unwrap();
                assert!(around.left <= one.left && one.left + one.width <= around.left + around.width + 1e-5);
            }
        }
    }
    check_lines(index, all, forest, &ways, rows, edges, &way_of);
    for node in 0..forest.len() as u32 {
        for &site in forest.own(node) {
            assert_eq!(forest.node_of(site), node);
        }
        let below: usize = forest.children(node).iter().map(|&child| forest.under(child).len()).sum();
        assert_eq!(forest.own(node).len() + below, forest.under(node).len());
        assert!(forest.children(node).iter().all(|&child| forest.parent(child) == node && child < forest.end(node)));
    }
    let at: usize = (0..forest.len() as u32).map(|node| forest.own(node).len()).sum();
    assert_eq!(at, trace.sites.len());
}

/// With everything open each node in which something takes part has a line under its
/// parent's, in order; with nothing but only children open, their peaks are those of their rows.
fn check_lines(
    index: &Index,
    all: &Functions,
    forest: &Forest,
    ways: &[Vec<String>],
    rows: &[Named],
    edges: Edges,
    way_of: &impl Fn(&[String]) -> Vec<String>,
) {
    let (trace, never) = (index.trace(), Cancel::default());
    let totals = totals(index, interval(edges), &never).unwrap();
    let mask = Mask::all(trace);
    for layer in Layer::ALL {
        let sums = forest.sums(trace, &totals, &mask, layer);
        let lines = |toggled: &KeyedMap<u32, bool>| call_tree(all, &sums, Sort::default(), toggled, false, &never).unwrap();
        let every = lines(&(0..forest.len() as u32).map(|node| (node, true)).collect());
        let taking_part: BTreeSet<u32> = (1..forest.len() as u32).filter(|&node| !sums.is_empty(node)).collect();
        assert_eq!(every.iter().map(|line| line.node).collect::<BTreeSet<_>>(), taking_part);
        assert_eq!(every.len(), taking_part.len());
        for (at, line) in every.iter().enumerate() {
            assert_eq!(line.parent.map_or(0, |parent| every[parent as usize].node), forest.parent(line.node));
            assert_eq!(line.depth as usize + 1, forest.way(line.node).len());
            assert_eq!(line.is_open, line.has_children);
            assert_eq!(line.has_children, every.get(at + 1).is_some_and(|next| next.parent == Some(at as u32)));
        }
        let rank = |line: &CallLine| {
            let Numbers { impacting, size, .. } = line.numbers;
            (Reverse((impacting.unsigned_abs(), size)), node_name(all, forest.key(line.node)))
        };
        for parent in every.iter().map(|line| line.parent) {
            assert!(every.iter().filter(|line| line.parent == parent).is_sorted_by_key(rank));
        }
        let few = lines(&KeyedMap::default());
        for line in &few {
            let siblings = every.iter().filter(|other| forest.parent(other.node) == forest.parent(line.node)).count();
            assert_eq!(line.is_open, line.has_children && siblings == 1);
        }
        let closed = lines(&(0..forest.len() as u32).map(|node| (node, false)).collect());
        assert!(closed.iter().all(|line| line.depth == 0));
        let all_open = (0..forest.len() as u32).map(|node| (node, true)).collect();
        let shared = call_tree(all, &sums, Sort::default(), &all_open, true, &never).unwrap();
        for &node in &taking_part {
            let of_node: Vec<Numbers> = shared.iter().filter(|line| line.has(node, forest)).map(|line| line.numbers).collect();
            assert_eq!(of_node, [sums.numbers(node)], "each node stands in one line");
        }
        assert_eq!(shared.iter().map(|line| line.nodes(forest).count()).sum::<usize>(), taking_part.len());
        for line in &shared {
            let below = shared.iter().filter(|below| below.parent.is_some_and(|at| shared[at as usize].node == line.node));
            let below: Vec<Numbers> = below.map(|below| below.numbers).collect();
            assert_ne!(below, [line.numbers], "an only child shares the line");
        }
        for lines in [&few, &closed, &every, &shared] {
            let peaks = call_tree_peaks(index, &totals, &mask, layer, (forest, lines), &never).unwrap();
            for (line, peak) in lines.iter().zip(peaks) {
                let is_its = |row: &&Named| row.layer == layer && way_of(&row.names).starts_with(&ways[line.node as usize]);
                assert_eq!(peak, come_to(rows.iter().filter(is_its), edges).peak, "{:?}", ways[line.node as usize]);
            }
            check_order_by_peak(lines, &call_tree_peaks(index, &totals, &mask, layer, (forest, lines), &never).unwrap());
        }
        let path = heaviest_path(&sums, Column::Size, 0);
        let size = |node: u32| u128::from(sums.numbers(node).size);
        let largest = |node: u32| forest.children(node).iter().map(|&child| size(child)).max().unwrap_or(0);
        for pair in path.windows(2) {
            assert_eq!((forest.parent(pair[1]), size(pair[1])), (pair[0], largest(pair[0])));
            assert!(2 * size(pair[1]) >= size(pair[0]) && size(pair[1]) > 0);
        }
        let last = *path.last().unwrap();
        assert!(largest(last) == 0 || 2 * largest(last) < size(last));
    }
}

/// The same lines under the same ones, those under each by their peaks; equal ones as before.
fn check_order_by_peak(lines: &[CallLine], peaks: &[u64]) {
    for descending in [false, true] {
        let (sorted, order) = sort_call_lines(lines, peaks, descending);
        let moved: Vec<u64> = order.into_iter().map(|line| peaks[line as usize]).collect();
        assert_eq!((sorted.len(), moved.len()), (lines.len(), lines.len()));
        let before = |node: u32| lines.iter().position(|line| line.node == node).unwrap();
        let above = |of: &[CallLine], line: &CallLine| line.parent.map(|parent| of[parent as usize].node);
        for (at, (line, peak)) in sorted.iter().zip(&moved).enumerate() {
            let old = &lines[before(line.node)];
            assert_eq!(CallLine { parent: old.parent, ..*line }, *old);
            assert_eq!((above(&sorted, line), *peak), (above(lines, old), peaks[before(line.node)]));
            // Right below what it stands under, or below others that do.
            let last_outside = sorted[..at].iter().rposition(|other| other.depth < line.depth);
            assert_eq!(line.parent, last_outside.map(|outside| outside as u32));
        }
        for parent in sorted.iter().map(|line| line.parent) {
            let under = sorted.iter().zip(&moved).filter(|(line, _)| line.parent == parent);
            let rank = |(line, peak): (&CallLine, &u64)| (if descending { !*peak } else { *peak }, before(line.node));
            assert!(under.is_sorted_by_key(rank));
        }
    }
}

fn check_both(index: &Index, names: &Names, edges: Edges, of: Option<&str>) {
    let (trace, never) = (index.trace(), Cancel::default());
    let all = Functions::of(trace, names, Fold::Nothing, &never).unwrap();
    check(index, (&all, names), |site| stack_labels(trace, names, site), edges, of);
    let without = Functions::of(trace, names, Fold::Allocator, &never).unwrap();
    check(index, (&without, names), |site| callers::folded(trace, names, site), edges, of);
    for (id, site) in (0..).map(SiteId).zip(&trace.sites).filter(|(_, site)| site.stack != NodeId::ROOT) {
        let name = |path| all.function(path).map(|function| all.name(function).to_string());
        assert_eq!(name(all.behind_run(id)), callers::behind_run(trace, names, site), "{site:?}");
        assert_eq!(name(all.responsible(id)), callers::responsible(trace, names, site), "{site:?}");
    }
    assert_eq!(all.function(PathId::ROOT), None);
}

proptest! {
    #![proptest_config(strategy::config())]

    /// Frames go by the module that was there when their site first allocated.
    #[test]
    fn functions_follow_modules_that_come_and_go(
        ops in strategy::ops(OPS),
        addresses in addresses(),
        changes in image_changes(),
        a in place(), b in place(), of in 0..3usize,
        options in options(),
    ) {
        let mut scenario = Scenario::of(&ops);
        with_recursion(&mut scenario, &addresses);
        let edges = edges(&scenario, a, b);
        with_images(&mut scenario, &changes);
        let [.., index] = ways(replay(&scenario), &options);
        check_both(&index, &Names::default(), edges, Some(["0x10", "game.exe!+0x8", "ntdll.dll!+0x10"][of]));
    }
}

/// A site or a stack of its own for each time that a module was another.
#[test]
fn one_frame_is_a_function_of_each_module_that_was_there() {
    let mut records = Vec::new();
    let mut tell = |time: i64, event: Event, frames: &[u64]| {
        records.push((Record { time: 1_000 + time, pid: Pid(7), tid: Tid(2), event }, frames.to_vec()));
    };
    for (time, name) in [(10, "a.dll"), (30, "b.dll"), (50, "a.dll")] {
        let info = || ImageInfo { base: 0x1000, size: 0x1000, checksum: 0, time_stamp: 7, path: format!(r"\Device\V\{name}") };
        tell(time, Event::Image(ImageChange::Load, Box::new(info())), &[]);
        // Another heap is another site, and so has another first time.
        let heap = 0x10_0000 * time as u64;
        tell(time + 1, Event::Alloc { layer: Layer::Heap, heap, address: heap, size: 8 }, &[]);
        let part = highwater::events::StackPart::User;
        let frames = highwater::events::FrameRange::default();
        tell(time + 2, Event::Stack { owner: 1_000 + time + 1, part, frames }, &[0x1010, 0x1020, 0x1010]);
        tell(time + 10, Event::Image(ImageChange::Unload, Box::new(info())), &[]);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.etl");
    std::fs::write(&path, file(session(false), &records)).unwrap();
    let trace = Arc::new(load(&Capture::open(&[Input::File(path)]).unwrap(), &mut Unwatched).unwrap());
    let index = Index::scan(Arc::clone(&trace));
    let all = Functions::of(&trace, &Names::default(), Fold::Nothing, &Cancel::default()).unwrap();
    let edges = (trace.span.from.0, trace.span.to.0);
    let groups = ask(&index, &all, edges, Some("a.dll!+0x10"), None);
    let told: Vec<_> = groups.iter().map(|g| (g.function.as_str(), g.own.count, g.total.count)).collect();
    let expected = [("a.dll!+0x10", 2, 2), ("a.dll!+0x20", 0, 2), ("b.dll!+0x10", 1, 1), ("b.dll!+0x20", 0, 1)];
    assert_eq!(told, expected);
    let [callers, callees] = [&groups[0].callers, &groups[0].callees].map(|list| list.as_deref().unwrap());
    assert_eq!((callers.len(), callees.len()), (1, 1));
    assert_eq!((&callers[0].function, &callees[0].function), (&None, &None), "from nowhere, and itself");
    assert!(groups[1..].iter().all(|group| group.callers.is_none()));
    check_both(&index, &Names::default(), edges, Some("b.dll!+0x20"));
}

#[test]
fn functions_with_names_are_those_of_the_stacks_in_reports() {
    let Some(corpus) = corpus() else { return };
    for records in [story(&corpus), allocators(&corpus)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.etl");
        std::fs::write(&path, file(session(false), &records)).unwrap();
        let trace = Arc::new(load(&Capture::open(&[Input::File(path)]).unwrap(), &mut Unwatched).unwrap());
        let sources = Sources { path: SymbolPath::parse(corpus.to_str().unwrap(), None), ..Sources::default() };
        let options = Options { sources, saved: None, workers: 1, frees: false, ..Options::default() };
        let symbols = Symbols::start(Arc::clone(&trace), options, |_| true, || {});
        symbols.wait();
        let index = Index::for_one_question(Arc::clone(&trace), &Cancel::default()).unwrap();
        let edges = (trace.span.from.0, trace.span.to.0);
        check_both(&index, &symbols.names().1, edges, Some("CrashWithException.exe!operator new"));
    }
}

#[test]
fn functions_of_the_demo_have_names_and_add_up() {
    let trace = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
    let sources = Sources { embedded: vec![demo::symbols()], ..Sources::default() };
    let options = Options { sources, saved: None, workers: 1, frees: false, ..Options::default() };
    let symbols = Symbols::start(Arc::clone(&trace), options, |_| true, || {});
    symbols.wait();
    let names = symbols.names().1;
    let never = Cancel::default();
    let index = Index::build(Arc::clone(&trace), &Default::default(), &never).unwrap();
    let all = Functions::of(&trace, &names, Fold::Nothing, &never).unwrap();
    let edges = (trace.span.from.0, trace.span.to.0);
    let of = "MemoryTestApp.exe!Main";
    let groups = ask(&index, &all, edges, Some(of), None);
    assert_eq!(
        lines(&groups),
        lines(&naive(
            &rows(&trace, &names, |site| stack_labels(&trace, &names, site)),
            edges,
            trace.clock.frequency as i64,
            Some(of)
        ))
    );
    let main = groups.iter().find(|group| group.function == of && group.layer == "heap").unwrap();
    let sum = |list: &Option<Vec<NeighbourGroup>>| list.as_ref().unwrap().iter().map(|n| n.numbers.size).sum::<u64>();
    assert_eq!((sum(&main.callers), sum(&main.callees)), (main.total.size, main.total.size));
    assert!(main.callees.as_ref().unwrap().len() > 2 && main.own.count == 0);
    // Blocks from `operator new` are accounted to who called it.
    let place = |site: &(SiteId, _)| all.function(all.responsible(site.0)).map(|function| all.name(function).to_string());
    let totals = totals(&index, trace.span, &never).unwrap();
    let of_loop: u64 = totals
        .sites()
        .filter(|(site, _)| trace.layer_of(trace.site(*site)) == Layer::Heap)
        .filter(|site| place(site).as_deref() == Some("MemoryTestApp.exe!InnerLoopOperation"))
        .map(|(_, sums)| LifetimeClass::ALL.map(|class| sums.get(class).count).iter().sum::<u64>())
        .sum();
    assert_eq!(of_loop, 1_088);
}
