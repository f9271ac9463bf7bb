//! Commit by what it is for, against a look at every row for every committed range, and at every page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use highwater::events::{
    ActivityEvent, CommittedRegion, CounterEvent, Event, FrameRange, ManagedEvent, ManagedMethod, MethodChange, PageRange,
    ProcessChange, ProcessInfo, ProcessMemory, Record, StackPart, ThreadStack, ViewChange, ViewEvent, mem,
};
use highwater::model::{Builder, Clock, InputState, ProcessId, Reservation, Row, Trace};
use highwater::query::{
    Cancel, CommitEntry, CommitRequest, Index, ProcessCommit, RangeOwners, commit_entries, commit_parts, owners,
};
use highwater::random::Random;
use highwater::stack_rules::{StackRules, TagRule};
use highwater::symbols::Names;
use highwater::units::{Layer, Pid, Ticks, Tid};

const PAGE: u64 = 0x1000;
/// Pages of the small address spaces.
const PAGES: u64 = 32;
const PIDS: [u32; 2] = [40, 44];

/// Functions of stacks: what owners are known by, and one of the program's.
const FUNCTIONS: [(&str, &str); 4] = [
    ("ntdll.dll", "RtlpFindAndCommitPages"),
    ("ntoskrnl.exe", "RtlCreateUserStack"),
    ("browser.dll", "partition_alloc::internal::AllocPages"),
    ("game.exe", "LoadLevel"),
];
const CODE: u64 = 0x7000_0000;

/// A capture that is told event by event.
struct Story {
    builder: Builder,
    now: i64,
}

impl Story {
    fn new() -> Self {
        let mut story = Self { builder: Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, 0, (0, 0)), now: 0 };
        for (n, (module, name)) in (0..).zip(FUNCTIONS) {
            for pid in PIDS {
                let managed = |event| Event::Activity(Box::new(ActivityEvent::Managed(event)));
                story.tell(pid, managed(ManagedEvent::Module { id: n, path: module.into() }), None);
                let method = ManagedMethod {
                    module: n,
                    start: CODE + 0x100 * n,
                    size: 0x100,
                    name: name.into(),
                    ..ManagedMethod::default()
                };
                story.tell(pid, managed(ManagedEvent::Method(MethodChange::Load, Box::new(method))), None);
            }
        }
        story
    }

    fn tell(&mut self, pid: u32, event: Event, function: Option<usize>) -> i64 {
        self.now += 10;
        let (time, pid, tid) = (self.now, Pid(pid), Tid(pid + 1));
        self.builder.apply(&Record { time, pid, tid, event }, &[]);
        if let Some(function) = function {
            let event = Event::Stack { owner: time, part: StackPart::User, frames: FrameRange::default() };
            self.builder.apply(&Record { time, pid, tid, event }, &[CODE + 0x100 * function as u64 + 0x10]);
        }
        time
    }

    fn pages(&mut self, pid: u32, flags: u32, (from, count): (u64, u64), function: Option<usize>) -> i64 {
        let range = PageRange { base: from * PAGE, size: count * PAGE, owner: Pid(pid), flags };
        let takes = flags & (mem::COMMIT | mem::RESERVE) != 0;
        self.tell(pid, if takes { Event::VirtualAlloc(range) } else { Event::VirtualFree(range) }, function)
    }

    fn sample(&mut self, pid: u32, commit: u64) {
        let memory = ProcessMemory { pid: Pid(pid), commit, working_set: 0, virtual_size: 0, private_working_set: 0 };
        self.tell(0, Event::Counter(Box::new(CounterEvent::Processes(vec![memory]))), None);
    }

    fn publish(mut self) -> Arc<Trace> {
        let state = InputState { times: Some((0, self.now + 1)), complete: true, ..InputState::default() };
        Arc::new(self.builder.publish(state))
    }
}

/// What is committed after each event: pages of each process id.
type Committed = BTreeMap<u32, BTreeSet<u64>>;

/// A random capture, and what is committed after each of its moments.
fn generated(seed: u64) -> (Arc<Trace>, Vec<(i64, Committed)>) {
    let mut random = Random::new(seed);
    let (mut story, mut pages, mut history) = (Story::new(), Committed::new(), Vec::new());
    for key in [100, 200].into_iter().take(random.index(3)) {
        let pid = PIDS[key as usize / 100 - 1];
        story.tell(pid, process(ProcessChange::Rundown, key), None);
        let region = CommittedRegion { base: 0, size: 8 * PAGE, committed: 3 * PAGE, owner: Pid(pid) };
        story.tell(pid, Event::CommitRundown(region), None);
        pages.insert(pid, (0..3).collect());
    }
    history.push((i64::MIN, pages.clone()));
    for step in 0..120u64 {
        let pid = PIDS[random.index(2)];
        let (from, count) = (random.below(PAGES), random.between(1, 6));
        let address = from * PAGE + random.below(PAGE);
        let function = Some(random.index(FUNCTIONS.len())).filter(|_| !random.one_in(4));
        let of_pid = pages.entry(pid).or_default();
        let range = from..from + count;
        let layer = if random.one_in(2) { Layer::Heap } else { Layer::Tracker };
        match random.weighted(&[3, 5, 5, 2, 2, 6, 2, 3, 1, 3]) {
            // Windows reserves free addresses only.
            0 if of_pid.range(range.clone()).next().is_none() => _ = story.pages(pid, mem::RESERVE, (from, count), function),
            0..=2 => {
                let reserves = random.one_in(2) && of_pid.range(range.clone()).next().is_none();
                of_pid.extend(range);
                let flags = if reserves { mem::COMMIT | mem::RESERVE } else { mem::COMMIT };
                story.pages(pid, flags, (from, count), function);
            }
            3 | 4 => {
                of_pid.retain(|page| !range.contains(page));
                let flags = if random.one_in(2) { mem::RELEASE } else { mem::DECOMMIT };
                story.pages(pid, flags, (from, count), None);
            }
            5 => _ = story.tell(pid, Event::Alloc { layer, heap: 1 + random.below(3), address, size: 16 }, function),
            6 => _ = story.tell(pid, Event::Free { layer, heap: 1 + random.below(3), address }, None),
            7 => {
                let stack = ThreadStack { from: from * PAGE, to: (from + count) * PAGE };
                let starts = random.one_in(2);
                _ = story.tell(pid, if starts { Event::ThreadStart(stack) } else { Event::ThreadRundown(stack) }, None);
            }
            8 => {
                of_pid.clear();
                story.tell(pid, process(ProcessChange::End, 0), None);
                history.push((story.now, pages.clone()));
                story.tell(pid, process(ProcessChange::Start, 1000 + step), None);
            }
            _ => story.sample(pid, random.below(200)),
        }
        history.push((story.now, pages.clone()));
    }
    (story.publish(), history)
}

fn process(change: ProcessChange, key: u64) -> Event {
    let info = ProcessInfo { key, parent: 0, name: "game.exe".to_owned(), command_line: String::new() };
    Event::Process(change, Box::new(info))
}

fn rows(trace: &Trace) -> Vec<Row> {
    trace.rows.chunks().flat_map(|chunk| chunk.rows()).map(|(_, row)| row).collect()
}

/// Parts of a process: kind, name and bytes.
type Parts = BTreeMap<(&'static str, String), u64>;

/// The parts of all processes at a moment, from all rows and all reservations.
fn naive(trace: &Trace, names: &Names, at: Ticks) -> BTreeMap<u32, Parts> {
    let (rows, by_stack) = (rows(trace), owners(trace, names, &Cancel::default()).unwrap());
    let mut all: BTreeMap<u32, Parts> = BTreeMap::new();
    let of = |row: &Row| trace.heap(trace.site(row.site).heap);
    for row in rows.iter().filter(|row| of(row).layer == Layer::Commit && row.birth < at && row.death >= at) {
        let process = of(row).process;
        let has = |range: &&Reservation, process: ProcessId, address: u64, t: Ticks| {
            range.process == process && (range.from..range.to).contains(&address) && range.since <= t && t < range.until
        };
        let range = trace.reservations.iter().find(|range| has(range, process, row.address, row.birth));
        let by_range = range.and_then(|range| {
            let blocks = rows.iter().filter(|block| of(block).layer != Layer::Commit);
            let inside = blocks.filter(|block| has(&range, of(block).process, block.address, block.birth));
            let first = inside.map(|block| trace.site(block.site).heap).min_by_key(|heap| (trace.heap(*heap).layer, *heap));
            let has_stack = || trace.thread_stacks.iter().any(|stack| has(&range, stack.process, stack.last, stack.at));
            match first {
                Some(heap) => {
                    let heap = trace.heap(heap);
                    Some((if heap.layer == Layer::Heap { "heap" } else { "tracker" }, heap.key().unwrap()))
                }
                None => has_stack().then(|| ("thread_stacks", "Thread stacks".to_owned())),
            }
        });
        let owner = by_stack.name(by_stack.of_site(row.site)).to_string();
        let part = by_range.unwrap_or_else(|| match &*owner {
            "Windows heap" => ("heap", owner),
            "Thread stacks" => ("thread_stacks", owner),
            "(no stack)" => ("untagged", owner),
            _ => ("tag", owner),
        });
        *all.entry(process.0).or_default().entry(part).or_default() += row.size;
    }
    all
}

/// Asks for the commit of all processes at some moments.
fn ask(trace: &Arc<Trace>, names: &Names, moments: &[Ticks], joins_heaps: bool, most: usize) -> Vec<ProcessCommit> {
    let never = Cancel::default();
    let range_owners = RangeOwners::of(trace, &never).unwrap();
    let of_process = vec![true; trace.processes.len()];
    let request = CommitRequest { moments, of_process: &of_process, joins_heaps, most };
    commit_parts(&Index::scan(Arc::clone(trace)), names, &range_owners, &request, &never).unwrap()
}

/// Everything that the parts must be, for one capture.
fn check(seed: u64) {
    let (trace, history) = generated(seed);
    let names = Names::default();
    let end = trace.span.to.0;
    let moments: Vec<Ticks> = (0..60).map(|n| Ticks(n * end / 55 - 7)).chain([Ticks(end), Ticks::NEVER]).collect();
    let series = ask(&trace, &names, &moments, false, usize::MAX);
    let few = ask(&trace, &names, &moments, true, 3);
    for (place, &at) in moments.iter().enumerate() {
        let found: BTreeMap<u32, Parts> = series
            .iter()
            .filter(|commit| commit.known[place] > 0)
            .map(|commit| {
                let parts = commit.parts.iter().filter(|part| part.bytes[place] > 0);
                (commit.process.0, parts.map(|part| ((part.kind.name(), part.name.clone()), part.bytes[place])).collect())
            })
            .collect();
        assert_eq!(found, naive(&trace, &names, at), "seed {seed} at {at:?}");
        let single = ask(&trace, &names, &[at], false, usize::MAX);
        let at_once: Vec<_> = series.iter().filter(|commit| commit.known[place] > 0).collect();
        assert_eq!(single.len(), at_once.len());
        for (single, of_series) in single.iter().zip(at_once) {
            assert_eq!(
                (single.process, single.known[0], single.total[0]),
                (of_series.process, of_series.known[place], of_series.total[place])
            );
        }
        for commit in series.iter().chain(&few) {
            let sum: u64 = commit.parts.iter().map(|part| part.bytes[place]).sum();
            assert_eq!(sum, commit.known[place], "parts add up, seed {seed} at {at:?}");
        }
        let known: Vec<_> = series.iter().map(|commit| commit.known[place]).collect();
        assert_eq!(known, few.iter().map(|commit| commit.known[place]).collect::<Vec<_>>());
        assert!(few.iter().all(|commit| commit.parts.len() <= 3));
        // What is committed before the moment, from a look at each page.
        let pages = &history[history.partition_point(|(time, _)| *time < at.0) - 1].1;
        for pid in PIDS {
            let of_pid = series.iter().filter(|commit| trace.process(commit.process).pid.0 == pid);
            let expected = pages.get(&pid).map_or(0, |pages| pages.len() as u64 * PAGE);
            assert_eq!(of_pid.map(|commit| commit.known[place]).sum::<u64>(), expected, "seed {seed}, {pid} at {at:?}");
        }
    }
}

#[test]
fn parts_equal_a_look_at_each_row_and_add_up_to_the_committed_pages() {
    (0..64).for_each(check);
}

/// A capture in which each kind of part has some pages.
fn of_all_kinds() -> Arc<Trace> {
    let mut story = Story::new();
    let pid = PIDS[0];
    story.tell(pid, process(ProcessChange::Start, 1), None);
    story.pages(pid, mem::RESERVE, (0, 8), None);
    story.pages(pid, mem::COMMIT, (0, 4), Some(3));
    story.tell(pid, Event::Alloc { layer: Layer::Heap, heap: 0x10, address: 0x500, size: 40 }, None);
    story.pages(pid, mem::COMMIT, (4, 2), None);
    story.pages(pid, mem::COMMIT | mem::RESERVE, (10, 3), Some(3));
    story.tell(pid, Event::Alloc { layer: Layer::Tracker, heap: 0x5, address: 0xA100, size: 40 }, None);
    story.pages(pid, mem::COMMIT | mem::RESERVE, (14, 5), Some(3));
    story.tell(pid, Event::ThreadStart(ThreadStack { from: 18 * PAGE, to: 19 * PAGE }), None);
    story.pages(pid, mem::COMMIT | mem::RESERVE, (20, 1), Some(1));
    story.pages(pid, mem::COMMIT | mem::RESERVE, (22, 2), Some(2));
    story.pages(pid, mem::COMMIT | mem::RESERVE, (26, 7), Some(3));
    story.pages(pid, mem::COMMIT | mem::RESERVE, (40, 9), None);
    story.pages(pid, mem::COMMIT | mem::RESERVE, (60, 2), Some(0));
    story.sample(pid, 50);
    story.publish()
}

fn entries(trace: &Arc<Trace>, names: &Names) -> Vec<CommitEntry> {
    let index = Index::scan(Arc::clone(trace));
    commit_entries(&index, names, trace.span.to, None, &Cancel::default()).unwrap().unwrap()
}

fn parts(entry: &CommitEntry) -> Vec<(&str, &str, u64)> {
    entry.parts.iter().map(|part| (part.part, &*part.name, part.bytes / PAGE)).collect()
}

#[test]
fn each_kind_of_part_is_found() {
    let entries = entries(&of_all_kinds(), &Names::default());
    let expected = [
        ("untagged", "(no stack)", 9),
        ("tag", "game.exe", 7),
        ("heap", "0x10", 6),
        ("thread_stacks", "Thread stacks", 6),
        ("tracker", "0x5", 3),
        ("heap", "Windows heap", 2),
        ("tag", "PartitionAlloc", 2),
    ];
    assert_eq!(parts(&entries[0]), expected);
    assert_eq!((entries.len(), entries[0].known_bytes, entries[0].total_bytes), (1, 35 * PAGE, Some(50 * PAGE)));
    assert_eq!((entries[0].pid, &*entries[0].process), (PIDS[0], "game.exe"));
}

/// An event of a view: when, of which life of a process, where, how many bytes, and what.
type Told = (i64, usize, u64, u64, ViewChange);

/// Number and bytes of the views of a life at a moment, from a look at all events of each address.
fn naive_views(told: &[Told], life: usize, at: i64) -> (u64, u64) {
    let bases: BTreeSet<u64> = told.iter().filter(|told| told.1 == life).map(|told| told.2).collect();
    let mut all = (0, 0);
    for base in bases {
        let own = || told.iter().filter(|told| (told.1, told.2) == (life, base));
        // It existed before the first event, unless that maps it.
        let mut there = own().next().filter(|first| first.4 != ViewChange::Map).map(|first| first.3);
        for (.., size, change) in own().filter(|told| told.0 < at) {
            there = match change {
                ViewChange::Map => Some(*size),
                ViewChange::Unmap => None,
                ViewChange::RundownStart | ViewChange::RundownEnd => there.or(Some(*size)),
            };
        }
        all = (all.0 + u64::from(there.is_some()), all.1 + there.unwrap_or(0));
    }
    all
}

#[test]
fn mapped_views_equal_a_look_at_each_event_and_change_no_part() {
    for seed in 0..64 {
        let mut random = Random::new(seed);
        let (mut story, mut plain) = (Story::new(), Story::new());
        let (mut lives, mut told): ([usize; 2], Vec<Told>) = ([0, 1], Vec::new());
        let mut ends: Vec<(usize, i64)> = Vec::new();
        let mut both = |event: Event, pid: u32, is_view: bool| {
            let time = story.tell(pid, event.clone(), None);
            if is_view {
                plain.now = time;
            } else {
                plain.tell(pid, event, None);
            }
            time
        };
        for (n, pid) in PIDS.into_iter().enumerate() {
            both(process(ProcessChange::Rundown, 100 + n as u64), pid, false);
        }
        for step in 0..150u64 {
            let n = random.index(2);
            let pid = PIDS[n];
            if random.one_in(30) {
                let end = both(process(ProcessChange::End, 0), pid, false);
                ends.push((lives[n], end));
                lives[n] = 2 + ends.len();
                both(process(ProcessChange::Start, 1000 + step), pid, false);
                continue;
            }
            if random.one_in(3) {
                let range = PageRange { base: step * PAGE, size: PAGE, owner: Pid(pid), flags: mem::COMMIT };
                both(Event::VirtualAlloc(range), pid, false);
                continue;
            }
            let change = [ViewChange::Map, ViewChange::Unmap, ViewChange::RundownStart, ViewChange::RundownEnd][random.index(4)];
            let (base, size) = (0x10_0000 * random.below(6), PAGE * random.between(1, 9));
            let event = Event::Activity(Box::new(ActivityEvent::View(ViewEvent { change, base, size })));
            let time = both(event, pid, true);
            told.push((time, lives[n], base, size, change));
        }
        let (trace, plain) = (story.publish(), plain.publish());
        let end = trace.span.to.0;
        let mut moments: Vec<Ticks> = (0..12).map(|_| Ticks(random.below(end as u64) as i64)).chain([trace.span.to]).collect();
        moments.sort_unstable();
        let seen = ask(&trace, &Names::default(), &moments, false, 99);
        let without = ask(&plain, &Names::default(), &moments, false, 99);
        assert_eq!(seen.len(), without.len());
        for (seen, without) in seen.iter().zip(&without) {
            let mapped = seen.mapped.as_ref().unwrap();
            assert_eq!((&seen.parts, &seen.known, &seen.total), (&without.parts, &without.known, &without.total), "{seed}");
            assert_eq!(without.mapped, None);
            let of = trace.process(seen.process);
            let died = of.end.map_or(i64::MAX, |end| end.0);
            let n = PIDS.iter().position(|pid| *pid == of.pid.0).unwrap();
            let life = ends.iter().find(|(_, end)| *end == died).map_or(lives[n], |(life, _)| *life);
            for (place, at) in moments.iter().enumerate() {
                let expected = if at.0 > died { (0, 0) } else { naive_views(&told, life, at.0) };
                assert_eq!((mapped.count[place], mapped.bytes[place]), expected, "seed {seed}, {} at {at:?}", of.pid.0);
            }
        }
    }
}

#[test]
fn tags_of_the_users_rules_come_before_owners_by_stack() {
    let rules = StackRules::new(Vec::new(), vec![TagRule::new("*LoadLevel", "Levels")]).unwrap();
    let entries = entries(&of_all_kinds(), &Names::default().with_rules(Arc::new(rules)));
    assert_eq!(parts(&entries[0])[1], ("tag", "Levels", 7));
    assert_eq!(parts(&entries[0])[2], ("heap", "0x10", 6), "but not before what lies in the memory");
}

#[test]
fn a_trace_without_commit_has_no_entries() {
    let mut story = Story::new();
    story.tell(PIDS[0], Event::Alloc { layer: Layer::Heap, heap: 1, address: 0x10, size: 1 }, None);
    let trace = story.publish();
    let index = Index::scan(Arc::clone(&trace));
    assert_eq!(commit_entries(&index, &Names::default(), trace.span.to, None, &Cancel::default()), Ok(None));
}
