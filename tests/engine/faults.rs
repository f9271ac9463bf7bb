//! Page faults, and the touched part of committed memory, against a naive look at each fault and each page.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater::events::{Event, FaultKind, FrameRange, PageFault, PageRange, Record, StackPart, mem};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{NodeId, ProcessId, Trace};
use highwater::names::Names;
use highwater::query::{
    Cancel, Column, FaultEntries, Fold, Forest, Functions, Index, Key, LifetimeClass, Mask, NodeKey, Path, RowGrouping,
    RowsAsked, Sort, TouchedBytes, Tree, TreeRequest, call_tree, call_tree_touched, fault_entries, fault_series, fault_sums,
    first_touches, node_name, process_faults, row_groups, shows_touches, sort_nodes, totals, touched_lines, touched_sites, tree,
};
use highwater::tables::KeyedMap;
use highwater::units::{Interval, Layer, Pid, Ticks, Tid};
use proptest::prelude::*;

use crate::common::trace::{session, story, trace as file};
use crate::oracle::strategy;

const PAGE: u64 = 4096;
const BASE: u64 = 0x40_0000;
/// Raw time of the trace's beginning.
const START: i64 = 1_000;

/// What a process does.
#[derive(Clone, Debug)]
enum Act {
    Commit { pages: (u64, u64), frame: u64 },
    Decommit { pages: (u64, u64) },
    Fault { kind: FaultKind, address: u64, frame: Option<u64>, is_named: bool },
}

#[derive(Clone, Debug)]
struct Step {
    at: i64,
    process: u32,
    act: Act,
}

impl Step {
    fn pid(&self) -> u32 {
        100 + self.process
    }

    fn tid(&self) -> Tid {
        Tid(8 + 4 * self.process)
    }

    /// Whether anything tells the process of its fault.
    fn has_process(&self) -> bool {
        matches!(self.act, Act::Fault { frame: Some(_), .. } | Act::Fault { is_named: true, .. })
    }
}

fn act() -> impl Strategy<Value = Act> {
    let pages = || (0..8u64, 1..6u64).prop_map(|(from, count)| (from, from + count));
    let address = (0..12u64, 0..PAGE).prop_map(|(page, rest)| BASE + page * PAGE + rest);
    let kind = prop_oneof![3 => Just(FaultKind::DemandZero), 1 => prop::sample::select(&FaultKind::ALL[..])];
    let fault = (kind, address, prop::option::weighted(0.8, 0..4u64), any::<bool>())
        // A hard fault names its thread, not its process.
        .prop_map(|(kind, address, frame, is_named)| Act::Fault {
            kind,
            address,
            frame,
            is_named: is_named && kind != FaultKind::Hard,
        });
    prop_oneof![
        2 => (pages(), 0..3u64).prop_map(|(pages, frame)| Act::Commit { pages, frame }),
        1 => pages().prop_map(|pages| Act::Decommit { pages }),
        5 => fault,
    ]
}

/// Steps at different times: who a stack at the time of several events belongs to is not sure.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((1..3i64, 0..2u32, act()), 1..80).prop_map(|all| {
        let mut at = 100;
        let step = |(later, process, act)| {
            at += later;
            Step { at, process, act }
        };
        all.into_iter().map(step).collect()
    })
}

fn hard(address: u64, at: i64) -> PageFault {
    PageFault::Hard { address, started: START + at - 7, bytes: 0x3000 }
}

fn trace_of(all: &[Step]) -> Trace {
    let mut records = story();
    records.truncate(4);
    for step in all {
        let (pid, tid) = (Pid(step.pid()), step.tid());
        let mut put = |event, (pid, tid), frames: &[u64]| {
            records.push((Record { time: START + step.at, pid, tid, event }, frames.to_vec()));
        };
        let range =
            |(from, to): (u64, u64), flags| PageRange { base: BASE + from * PAGE, size: (to - from) * PAGE, owner: pid, flags };
        let frame = match step.act {
            Act::Commit { pages, frame } => {
                put(Event::VirtualAlloc(range(pages, mem::COMMIT)), (pid, tid), &[]);
                Some(frame)
            }
            Act::Decommit { pages } => {
                put(Event::VirtualFree(range(pages, mem::DECOMMIT)), (pid, tid), &[]);
                None
            }
            Act::Fault { kind: FaultKind::Hard, address, frame, .. } => {
                put(Event::Fault(hard(address, step.at)), (Pid::NONE, tid), &[]);
                frame
            }
            Act::Fault { kind, address, frame, is_named } => {
                let writer = if is_named { (pid, tid) } else { (Pid::NONE, Tid::NONE) };
                put(Event::Fault(PageFault::Soft { kind, address, code: 0x9000 }), writer, &[]);
                frame
            }
        };
        if let Some(frame) = frame {
            let stack = Event::Stack { owner: START + step.at, part: StackPart::User, frames: FrameRange::default() };
            put(stack, (pid, tid), &[0x5000 + frame * 0x10, 0x6000]);
        }
    }
    records.sort_by_key(|(record, _)| record.time);
    let bytes = file(session(false), &records);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("faults.etl");
    std::fs::write(&path, bytes).unwrap();
    load(&Capture::open(&[Input::File(path)]).unwrap(), &mut Unwatched).unwrap()
}

/// A page while it was committed.
#[derive(Clone, Copy, Debug)]
struct Life {
    pid: u32,
    page: u64,
    birth: i64,
    death: i64,
}

/// The lives of all pages, one by one.
fn lives(all: &[Step]) -> Vec<Life> {
    let mut lives: Vec<Life> = Vec::new();
    for step in all {
        let pid = step.pid();
        let open = |life: &&mut Life, page| (life.pid, life.page, life.death) == (pid, page, i64::MAX);
        match step.act {
            Act::Commit { pages: (from, to), .. } => {
                for page in from..to {
                    if !lives.iter_mut().any(|life| open(&life, page)) {
                        lives.push(Life { pid, page, birth: step.at, death: i64::MAX });
                    }
                }
            }
            Act::Decommit { pages: (from, to) } => {
                for page in from..to {
                    lives.iter_mut().filter(|life| open(life, page)).for_each(|life| life.death = step.at);
                }
            }
            Act::Fault { .. } => {}
        }
    }
    lives
}

/// Time, process, kind, page and frame of a fault.
type Seen = (i64, Option<u32>, FaultKind, u64, Option<u64>);

/// All faults, in their order.
fn faults(all: &[Step]) -> Vec<Seen> {
    let fault = |step: &Step| match step.act {
        Act::Fault { kind, address, frame, .. } => {
            Some((step.at, step.has_process().then(|| step.pid()), kind, (address - BASE) / PAGE, frame))
        }
        _ => None,
    };
    all.iter().filter_map(fault).collect()
}

fn touches(kind: FaultKind) -> bool {
    [FaultKind::DemandZero, FaultKind::CopyOnWrite, FaultKind::Hard, FaultKind::HardPage].contains(&kind)
}

/// Committed and touched bytes of each process at a moment.
fn naive_touched(all: &[Step], at: i64) -> BTreeMap<u32, (u64, u64)> {
    let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for life in lives(all).iter().filter(|life| life.birth < at && life.death >= at) {
        let is_its = |&(when, pid, kind, page, _): &Seen| {
            (pid, page) == (Some(life.pid), life.page) && touches(kind) && (life.birth..at).contains(&when)
        };
        let sum = sums.entry(life.pid).or_default();
        sum.0 += PAGE;
        sum.1 += if faults(all).iter().any(is_its) { PAGE } else { 0 };
    }
    sums
}

/// Committed and touched bytes at a moment by process, frame of the commit, and whether they were committed before the interval.
fn naive_by_frame(all: &[Step], (from, to): (i64, i64)) -> BTreeMap<(u32, u64, bool), TouchedBytes> {
    let mut sums: BTreeMap<(u32, u64, bool), TouchedBytes> = BTreeMap::new();
    for step in all {
        let Act::Commit { pages: (first, end), frame } = step.act else { continue };
        for life in lives(all).iter().filter(|life| {
            (life.pid, life.birth) == (step.pid(), step.at)
                && (first..end).contains(&life.page)
                && life.birth < to
                && life.death >= to
        }) {
            let is_its = |&(when, pid, kind, page, _): &Seen| {
                (pid, page) == (Some(life.pid), life.page) && touches(kind) && (life.birth..to).contains(&when)
            };
            let touched = if faults(all).iter().any(is_its) { PAGE } else { 0 };
            let of = (life.pid, 0x5000 + frame * 0x10, life.birth < from);
            sums.entry(of).or_default().add(TouchedBytes { committed: PAGE, touched });
        }
    }
    sums
}

/// First touches of an interval by process and innermost frame.
fn naive_first(all: &[Step], (from, to): (i64, i64)) -> BTreeMap<(u32, u64), u64> {
    let lives = lives(all);
    let mut sums = BTreeMap::new();
    for (at, pid, kind, page, frame) in faults(all) {
        let Some(pid) = pid else { continue };
        let is_committed = lives.iter().any(|life| (life.pid, life.page) == (pid, page) && life.birth <= at && at < life.death);
        if kind == FaultKind::DemandZero && (from..to).contains(&at) && is_committed {
            // Without a stack, the instruction stands for it.
            *sums.entry((pid, frame.map_or(0x9000, |frame| 0x5000 + frame * 0x10))).or_default() += 1;
        }
    }
    sums
}

fn pid_of(trace: &Trace, process: ProcessId) -> u32 {
    trace.process(process).pid.0
}

/// Counts by process and innermost frame from counts by site; 0 without a stack.
fn by_frame(trace: &Trace, counts: &[u32]) -> BTreeMap<(Option<u32>, u64), u64> {
    let mut sums = BTreeMap::new();
    for (site, &count) in trace.activity.samples.sites.iter().zip(counts).filter(|(_, count)| **count > 0) {
        let is_known = (site.caller.0 as usize) < trace.processes.len();
        let address = if site.stack == NodeId::ROOT { 0 } else { trace.stacks.address(site.stack) };
        *sums.entry((is_known.then(|| pid_of(trace, site.caller)), address)).or_default() += u64::from(count);
    }
    sums
}

proptest! {
    #![proptest_config(strategy::fewer(2))]
    #[test]
    fn faults_and_touched_bytes_are_what_a_look_at_each_page_says(all in steps(), from in 90..150i64, len in 0..120i64) {
        let (trace, never) = (Arc::new(trace_of(&all)), Cancel::default());
        let edges = (from, from + len);
        let interval = Interval { from: Ticks(edges.0), to: Ticks(edges.1) };
        let index = Index::scan(Arc::clone(&trace));
        let inside: Vec<_> = faults(&all).into_iter().filter(|fault| (edges.0..edges.1).contains(&fault.0)).collect();

        let mut expected: BTreeMap<(Option<u32>, FaultKind), u64> = BTreeMap::new();
        inside.iter().for_each(|&(_, pid, kind, ..)| *expected.entry((pid, kind)).or_default() += 1);
        let mut told = BTreeMap::new();
        for (process, numbers) in process_faults(&trace, interval, &never).unwrap() {
            let pid = process.map(|process| pid_of(&trace, process));
            for kind in FaultKind::ALL.into_iter().filter(|kind| numbers.of(*kind) > 0) {
                told.insert((pid, kind), numbers.of(kind));
            }
            let hard = numbers.of(FaultKind::Hard);
            prop_assert_eq!((numbers.read_bytes, numbers.waited), (hard * 0x3000, hard * 7));
        }
        prop_assert_eq!(told, expected);

        let mut expected: BTreeMap<(Option<u32>, u64), u64> = BTreeMap::new();
        for &(_, pid, kind, _, frame) in &inside {
            let instruction = if kind == FaultKind::Hard { 0 } else { 0x9000 };
            *expected.entry((pid, frame.map_or(instruction, |frame| 0x5000 + frame * 0x10))).or_default() += 1;
        }
        let sums = fault_sums(&trace, interval, |_, _| true, &never).unwrap();
        prop_assert_eq!(by_frame(&trace, &sums), expected);

        let zeroed = || inside.iter().filter(|fault| fault.2 == FaultKind::DemandZero);
        let peak = |bins| fault_series(&trace, None, &[FaultKind::DemandZero], (interval, bins), &never).unwrap().peak;
        prop_assert_eq!(peak(1), zeroed().count() as u64);
        let most = (edges.0..edges.1).map(|at| zeroed().filter(|fault| fault.0 == at).count()).max().unwrap_or(0);
        prop_assert_eq!(peak(usize::MAX), most as u64, "a bin a tick");

        let expected = naive_first(&all, edges);
        let told = by_frame(&trace, &first_touches(&index, interval, &never).unwrap());
        let told: BTreeMap<(u32, u64), u64> = told.into_iter().map(|((pid, frame), count)| ((pid.unwrap(), frame), count)).collect();
        prop_assert_eq!(&told, &expected);

        let touched = touched_sites(&index, interval.to, |_| true, &never).unwrap();
        prop_assert_eq!(touched.is_some(), faults(&all).iter().any(|fault| fault.2 == FaultKind::DemandZero));
        prop_assert_eq!(touched.is_some(), shows_touches(&trace));
        let Some(touched) = touched else { return Ok(()) };
        let mut told: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (site, of) in touched {
            let sum = told.entry(pid_of(&trace, trace.heap(trace.site(site).heap).process)).or_default();
            *sum = (sum.0 + of.committed, sum.1 + of.touched);
        }
        let naive = naive_touched(&all, edges.1);
        prop_assert_eq!(&told, &naive);

        // The machine interface has the same numbers.
        let entries = fault_entries(&index, &Names::default(), interval, None, &never).unwrap().unwrap();
        let FaultEntries { processes, first_touches, commit, .. } = entries;
        prop_assert_eq!(first_touches.iter().map(|of| of.count).sum::<u64>(), expected.values().sum::<u64>());
        let of_processes: BTreeMap<u32, (u64, u64)> =
            processes.iter().filter_map(|of| Some((of.pid, (of.committed_bytes?, of.touched_bytes?)))).collect();
        prop_assert_eq!(&of_processes, &naive);
        let sum = |(a, b): (u64, u64), (c, d): (u64, u64)| (a + c, b + d);
        let of_callers = commit.unwrap().iter().map(|of| (of.committed_bytes, of.touched_bytes)).fold((0, 0), sum);
        prop_assert_eq!(of_callers, naive.values().copied().fold((0, 0), sum));
    }
}

fn add(sums: &mut BTreeMap<(u32, u64, bool), TouchedBytes>, of: (u32, u64, bool), bytes: Option<TouchedBytes>) {
    if let Some(bytes) = bytes.filter(|bytes| bytes.committed > 0) {
        sums.entry(of).or_default().add(bytes);
    }
}

/// The tree of an interval with all lines open.
fn open_tree(index: &Index, interval: Interval, sort: Sort) -> Tree {
    let never = Cancel::default();
    let totals = totals(index, interval, &never).unwrap();
    let mut request = TreeRequest { sort, ..TreeRequest::default() };
    loop {
        let tree = tree(index.trace(), &totals, &request, &never).unwrap();
        let closed = tree.rows(index.trace()).filter(|row| row.has_children && !row.is_open);
        let toggled: KeyedMap<Path, bool> = closed.map(|row| (row.path, true)).collect();
        if toggled.is_empty() {
            return tree;
        }
        Arc::make_mut(&mut request.toggled).extend(toggled);
    }
}

proptest! {
    #![proptest_config(strategy::fewer(2))]
    #[test]
    fn lines_of_tables_have_the_touched_bytes_of_the_pages_below_them(
        all in steps(), from in 90..150i64, len in 0..120i64, descending: bool,
    ) {
        let (trace, never) = (Arc::new(trace_of(&all)), Cancel::default());
        let edges = (from, from + len);
        let interval = Interval { from: Ticks(edges.0), to: Ticks(edges.1) };
        let index = Index::scan(Arc::clone(&trace));
        let naive = naive_by_frame(&all, edges);
        let whole = |keeps: &dyn Fn(&(u32, u64, bool)) -> bool| {
            naive.iter().filter(|(of, _)| keeps(of)).fold(TouchedBytes::default(), |mut sum, (_, bytes)| {
                sum.add(*bytes);
                sum
            })
        };

        // Stacks: each line has what is below it, in the order of these numbers.
        let built = open_tree(&index, interval, Sort { column: Column::Touched, descending });
        let Some(lines) = touched_lines(&index, interval, &built, &never).unwrap() else {
            prop_assert!(!shows_touches(&trace));
            return Ok(());
        };
        let (mut sorted, order) = sort_nodes(built, &lines.of_nodes(), descending);
        let lines = lines.reordered(&order);
        lines.sort_listings(&mut sorted, descending);
        let (mut frames, mut rows) = (BTreeMap::new(), BTreeMap::new());
        let listed: Vec<_> = sorted.rows(&trace).collect();
        for (i, row) in listed.iter().enumerate() {
            let Some(&Key::Process(process)) = row.path.first() else { continue };
            let pid = pid_of(&trace, process);
            let class = row.path.iter().find_map(|key| if let Key::Class(class) = key { Some(*class) } else { None });
            let is_before = class == Some(LifetimeClass::Aofo);
            match (row.path.last(), class) {
                (Some(Key::Process(_) | Key::Layer(_)), None) => {
                    let expected = whole(&|of| of.0 == pid);
                    prop_assert_eq!(lines.of(&sorted, i), Some(expected).filter(|bytes| bytes.committed > 0));
                }
                (Some(&Key::Frame(node)), _) if trace.stacks.address(node) != 0x6000 => {
                    add(&mut frames, (pid, trace.stacks.address(node), is_before), lines.of(&sorted, i));
                }
                (Some(Key::Row(_)), _) => {
                    let site = trace.site(row.allocation.unwrap().1.site);
                    add(&mut rows, (pid, trace.stacks.address(site.stack), is_before), lines.of(&sorted, i));
                }
                _ => {}
            }
            let next = listed[i + 1..].iter().take_while(|below| below.depth >= row.depth).position(|below| below.depth == row.depth);
            let Some(next) = next.map(|next| i + 1 + next) else { continue };
            if row.allocation.is_some() == listed[next].allocation.is_some() {
                let touched = |i| lines.of(&sorted, i).map_or(0, |bytes| bytes.touched);
                prop_assert!(touched(i) == touched(next) || (touched(i) > touched(next)) == descending);
            }
        }
        prop_assert_eq!(&frames, &naive);
        prop_assert_eq!(&rows, &naive);

        // Functions: calls as a tree.
        let (mask, totals) = (Mask::all(&trace), totals(&index, interval, &never).unwrap());
        let functions = Functions::of(&trace, &Arc::default(), Fold::Nothing, &never).unwrap();
        let forest = Forest::top_down(&functions);
        let sums = forest.sums(&trace, &totals, &mask, Layer::Commit);
        let toggled = (0..forest.len() as u32).map(|node| (node, true)).collect();
        let calls = call_tree(&functions, &sums, Sort::default(), &toggled, false, &never).unwrap();
        let bytes = call_tree_touched(&index, interval, &mask, (&forest, &calls), &never).unwrap().unwrap();
        let mut by_frame: BTreeMap<u64, TouchedBytes> = BTreeMap::new();
        for (of, bytes) in &naive {
            by_frame.entry(of.1).or_default().add(*bytes);
        }
        for (line, bytes) in calls.iter().zip(&bytes) {
            let name = node_name(&functions, forest.key(line.node));
            let expected = match name.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
                Some(0x6000) => whole(&|_| true),
                Some(address) => by_frame.get(&address).copied().unwrap_or_default(),
                None => whole(&|_| false),
            };
            prop_assert_eq!(*bytes, expected, "{}", name);
        }

        // Groups of rows.
        for by in [RowGrouping::Heap, RowGrouping::Thread, RowGrouping::Size, RowGrouping::Lifetime] {
            let asked = RowsAsked { index: &index, interval, mask: &mask, layer: Layer::Commit, totals: None, labels: None };
            let (groups, _) = row_groups(asked, by, Sort::default(), true, &never).unwrap();
            let mut sum = TouchedBytes::default();
            for group in groups {
                let bytes = group.touched.unwrap();
                match group.key {
                    NodeKey::Heap(heap) => {
                        let pid = pid_of(&trace, trace.heap(heap).process);
                        prop_assert_eq!(bytes, whole(&|of| of.0 == pid));
                    }
                    NodeKey::Thread(process, _) => prop_assert_eq!(bytes, whole(&|of| of.0 == pid_of(&trace, process))),
                    _ => {}
                }
                sum.add(bytes);
            }
            prop_assert_eq!(sum, whole(&|_| true));
        }
    }
}

#[test]
fn only_pages_that_were_committed_in_the_trace_have_a_touched_part() {
    let fault = |at, kind, page: u64| {
        let act = Act::Fault { kind, address: BASE + page * PAGE, frame: Some(1), is_named: true };
        Step { at, process: 0, act }
    };
    let commit = Step { at: 110, process: 0, act: Act::Commit { pages: (0, 4), frame: 0 } };
    let hard_only = trace_of(&[commit.clone(), fault(120, FaultKind::Hard, 1)]);
    let at = Ticks(200);
    let touched = |trace: Trace| {
        let sites = touched_sites(&Index::scan(Arc::new(trace)), at, |_| true, &Cancel::default()).unwrap();
        sites.map(|sites| sites.values().map(|of| (of.committed, of.touched)).collect::<Vec<_>>())
    };
    assert_eq!(touched(hard_only), None, "whether soft faults happened is not known");
    let both = trace_of(&[commit, fault(120, FaultKind::Hard, 1), fault(121, FaultKind::DemandZero, 9)]);
    assert_eq!(touched(both), Some(vec![(4 * PAGE, PAGE)]));
}
