//! Counters of the system, of processes and heaps: what becomes of samples, and that
//! they change none of the numbers.

use std::io::Cursor;
use std::sync::Arc;

use highwater::etl::{Source, TraceFile};
use highwater::events::{CounterEvent, Event, MemoryLists, ProcessChange, ProcessInfo, ProcessMemory, RangeChange, Record};
use highwater::load::{Capture, Unwatched, load};
use highwater::model::{Builder, Clock, Counter, CounterKind, CounterOwner, InputState, ProcessId, Trace};
use highwater::problem::{ProblemKind, Problems};
use highwater::query::{
    By, Cancel, Earlier, Fold, Index, LatestCommit, ReportFilter, ReportRequest, counter_groups, counter_label, counter_series,
    default_counter, report,
};
use highwater::units::{Layer, Pid, Ticks, Tid};
use highwater_dev::synth::{Options, Scenario, generate};

const PAGE: u64 = 4096;

struct Story(Builder);

impl Story {
    fn new() -> Self {
        Self(Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, 0, (0, 0)))
    }

    fn tell(&mut self, time: i64, pid: Pid, event: Event) {
        self.0.apply(&Record { time, pid, tid: Tid(1), event }, &[]);
    }

    fn count(&mut self, time: i64, pid: Pid, event: CounterEvent) {
        self.tell(time, pid, Event::Counter(Box::new(event)));
    }

    fn processes(&mut self, time: i64, all: &[(u32, u64)]) {
        let one = |&(pid, commit): &(u32, u64)| ProcessMemory {
            pid: Pid(pid),
            working_set: 10,
            commit,
            virtual_size: 99,
            private_working_set: 5,
        };
        self.count(time, Pid::NONE, CounterEvent::Processes(all.iter().map(one).collect()));
    }

    fn range(&mut self, time: i64, change: RangeChange) {
        self.count(time, Pid(7), CounterEvent::HeapRange { heap: 0x1000_0000, change });
    }

    fn process(&mut self, time: i64, pid: u32, change: ProcessChange, key: u64, name: &str) {
        let info = ProcessInfo { key, parent: 1, name: name.to_owned(), command_line: String::new() };
        self.tell(time, Pid(pid), Event::Process(change, Box::new(info)));
    }

    fn end(mut self) -> Trace {
        self.0.publish(InputState { complete: true, ..InputState::default() })
    }
}

fn find(trace: &Trace, kind: CounterKind, owner: CounterOwner) -> Vec<&Counter> {
    trace.counters.iter().filter(|c| c.kind == kind && c.owner == owner).collect()
}

fn samples(counter: &Counter) -> Vec<(i64, u64)> {
    counter.samples.iter().map(|(t, v)| (t.0, *v)).collect()
}

#[test]
fn samples_are_bytes_and_only_changes_are_kept() {
    let mut story = Story::new();
    story.processes(100, &[(7, 20), (8, 1)]);
    story.processes(200, &[(7, 20), (8, 2)]);
    story.processes(300, &[(7, 15), (8, 2)]);
    let lists = MemoryLists { zero: 1, free: 2, modified: 3, modified_no_write: 4, bad: 9, standby: [1; 8] };
    story.count(300, Pid::NONE, CounterEvent::Memory(lists));
    let trace = story.end();
    let commit = find(&trace, CounterKind::Commit, CounterOwner::Process(Pid(7)))[0];
    assert_eq!(samples(commit), [(100, 20 * PAGE), (300, 15 * PAGE)]);
    assert_eq!((commit.until, commit.peak), (Ticks(300), 20 * PAGE));
    let steady = find(&trace, CounterKind::WorkingSet, CounterOwner::Process(Pid(7)))[0];
    assert_eq!((samples(steady), steady.until), (vec![(100, 10 * PAGE)], Ticks(300)));
    let all = find(&trace, CounterKind::ProcessesCommit, CounterOwner::System)[0];
    assert_eq!(samples(all), [(100, 21 * PAGE), (200, 22 * PAGE), (300, 17 * PAGE)]);
    for (kind, pages) in
        [(CounterKind::Available, 11), (CounterKind::Free, 3), (CounterKind::Standby, 8), (CounterKind::Modified, 7)]
    {
        assert_eq!(samples(find(&trace, kind, CounterOwner::System)[0]), [(300, pages * PAGE)], "{kind:?}");
    }
    let default = default_counter(&trace).unwrap();
    assert_eq!(trace.counters[default.0 as usize].kind, CounterKind::ProcessesCommit);
    assert!(trace.processes.is_empty(), "counters begin no process");
}

#[test]
fn what_a_recorder_tells_of_chosen_processes_is_no_sum_of_all() {
    let mut story = Story::new();
    let game = ProcessMemory { pid: Pid(7), working_set: 10, commit: 20, virtual_size: 0, private_working_set: 0 };
    story.count(100, Pid::NONE, CounterEvent::Chosen(vec![game]));
    let trace = story.end();
    let told: Vec<_> = trace.counters.iter().map(|counter| (counter.kind, counter.owner, samples(counter))).collect();
    let owner = CounterOwner::Process(Pid(7));
    let expected =
        [(CounterKind::Commit, owner, vec![(100, 20 * PAGE)]), (CounterKind::WorkingSet, owner, vec![(100, 10 * PAGE)])];
    assert_eq!(told, expected, "what it does not know is not zero");
}

#[test]
fn what_a_process_had_before_the_trace_is_told_by_its_first_sample_if_that_is_early() {
    const SECOND: i64 = 10_000_000;
    let earlier = |first: i64, starts: bool, known: Option<u64>| {
        let mut story = Story::new();
        let change = if starts { ProcessChange::Start } else { ProcessChange::Rundown };
        story.process(1, 7, change, 1, "game.exe");
        story.processes(first, &[(6, 1), (7, 500)]);
        story.processes(first + SECOND, &[(7, 600)]);
        let trace = story.end();
        let asked = std::cell::Cell::new(None);
        let earlier = Earlier::of(&trace, ProcessId(0), |at| {
            asked.set(Some(at.0));
            known
        });
        (earlier, asked.get())
    };
    let latest = |at, known| Some(LatestCommit { at: Ticks(at), commit: 600 * PAGE, known });
    let told = Earlier { at_start: Some(500 * PAGE), latest: latest(2 * SECOND, 90 * PAGE) };
    assert_eq!(earlier(SECOND, false, Some(90 * PAGE)), (Some(told), Some(2 * SECOND)), "known at the last sample");
    let late = Earlier { at_start: None, latest: latest(6 * SECOND, 600 * PAGE) };
    assert_eq!(earlier(5 * SECOND, false, Some(u64::MAX)).0, Some(late), "no more is known than there is");
    let nothing = Earlier { at_start: None, latest: None };
    assert_eq!(earlier(SECOND, false, None).0, Some(nothing), "pages from before are known, not which are not");
    assert_eq!(earlier(SECOND, true, Some(0)), (None, None), "it started in the trace");
    let mut story = Story::new();
    story.process(1, 7, ProcessChange::Rundown, 1, "game.exe");
    assert_eq!(Earlier::of(&story.end(), ProcessId(0), |_| Some(1)), Some(nothing), "without counters there are no numbers");
}

#[test]
fn two_lives_of_a_process_id_are_two_counters() {
    let mut story = Story::new();
    story.process(50, 7, ProcessChange::Start, 1, "first.exe");
    story.processes(100, &[(7, 20)]);
    story.process(150, 7, ProcessChange::End, 1, "first.exe");
    story.processes(160, &[(7, 0)]); // the kernel keeps ended processes for a while
    story.process(200, 7, ProcessChange::Start, 2, "second.exe");
    story.processes(300, &[(7, 30), (9, 4)]);
    story.process(400, 9, ProcessChange::Rundown, 3, "late.exe");
    let trace = story.end();
    let lives = find(&trace, CounterKind::Commit, CounterOwner::Process(Pid(7)));
    let told: Vec<_> = lives.iter().map(|c| (trace.process(c.process.unwrap()).label(), samples(c))).collect();
    let expected =
        [("first.exe".to_owned(), vec![(100, 20 * PAGE), (160, 0)]), ("second.exe".to_owned(), vec![(300, 30 * PAGE)])];
    assert_eq!(told, expected);
    let owners: Vec<String> = counter_groups(&trace).into_iter().map(|group| group.owner).collect();
    assert_eq!(owners, ["System", "second.exe (7)", "first.exe (7)", "late.exe (9)"], "named by a rundown behind its samples");
}

#[test]
fn heap_ranges_add_up_and_count_once() {
    const HEAP: u64 = 0x1000_0000;
    let mut story = Story::new();
    story.range(10, RangeChange::Create(0x1000));
    story.range(11, RangeChange::Reserve(HEAP, 0x1000)); // the first range once more
    story.range(20, RangeChange::Reserve(HEAP + 0x8000, 0x3000));
    story.range(30, RangeChange::Release(HEAP + 0x9000, 0x1000));
    story.range(40, RangeChange::Release(HEAP + 0x9000, 0x1000)); // gone already
    story.count(45, Pid(7), CounterEvent::HeapSize { heap: HEAP, committed: 0x2000 });
    story.range(50, RangeChange::Rundown(vec![(HEAP, 0x4000), (u64::MAX - 1, 100)]));
    story.range(60, RangeChange::Destroy);
    story.process(70, 7, ProcessChange::End, 1, "game.exe");
    let trace = story.end();
    let owner = CounterOwner::Heap(Pid(7), HEAP);
    let reserved = find(&trace, CounterKind::HeapReserved, owner)[0];
    assert_eq!(samples(reserved), [(10, 0x1000), (20, 0x4000), (30, 0x3000), (50, 0x4001), (60, 0)]);
    let committed = find(&trace, CounterKind::HeapCommitted, owner)[0];
    assert_eq!(samples(committed), [(45, 0x2000), (60, 0)], "a destroyed heap has nothing");
    assert_eq!(reserved.until, Ticks(70), "until its process ends");
    assert_eq!(counter_label(reserved), "Reserved, heap 0x10000000");
}

#[test]
fn changes_of_nobodys_heap_and_samples_beyond_the_limit_are_told() {
    let mut story = Story::new();
    let change = RangeChange::Create(0x1000);
    story.count(1, Pid::NONE, CounterEvent::HeapRange { heap: 0x5000, change });
    assert!(story.0.counters_left_out().unwrap().starts_with("1 change of heaps without a process; "));
    let most = 1 << 20;
    for i in 0..most + 5 {
        story.count(10 + i, Pid(7), CounterEvent::HeapSize { heap: 1, committed: i as u64 });
    }
    assert!(story.0.counters_left_out().unwrap().starts_with("5 samples of counters are more than are kept (1048576 a series"));
    let trace = story.end();
    assert_eq!(trace.counters[0].samples.len(), most as usize);
    assert_eq!(trace.counters[0].samples.last(), Some(&(Ticks(9 + most), most as u64 - 1)));
}

fn capture(options: &Options) -> Capture {
    let bytes = generate(options, Cursor::new(Vec::new())).unwrap().into_inner();
    let file = TraceFile::from_source(Source::Memory(bytes.leak()), "synth.etl".to_owned()).unwrap();
    Capture { files: vec![file], problems: Problems::default() }
}

fn heap_options(counters: bool) -> Options {
    Options { scenario: Scenario::Heap, events: 30_000, distinct_stacks: 100, live: 2000, counters, ..Options::default() }
}

#[test]
fn counters_change_none_of_the_numbers() {
    let groups = |trace: &Trace| {
        let by = vec![By::Process, By::Heap, By::Stack];
        let request = ReportRequest {
            interval: trace.span,
            by,
            filter: ReportFilter::default(),
            top: None,
            fold: Fold::Nothing,
            sources: false,
        };
        let index = Index::scan(Arc::new(trace.clone()));
        let groups = report(&index, &request, &Cancel::default()).unwrap().groups;
        let line = |g: &highwater::query::Group| {
            (
                g.pid,
                g.heap.clone(),
                g.stack.clone(),
                g.numbers.count,
                g.numbers.size,
                g.numbers.peak,
                g.numbers.impacting_size,
                g.numbers.freed_count,
            )
        };
        groups.iter().map(line).collect::<Vec<_>>()
    };
    let (plain, counted) = (capture(&heap_options(false)), capture(&heap_options(true)));
    let (plain, counted) = (load(&plain, &mut Unwatched).unwrap(), load(&counted, &mut Unwatched).unwrap());
    assert!(plain.counters.is_empty() && counted.counters.len() > 15);
    assert_eq!(counted.problems, []);
    assert!(groups(&plain).len() > 100 && groups(&plain) == groups(&counted));
    assert_eq!(plain.quality, counted.quality);
    let mut counts = counted.counts;
    assert!(counts.total > plain.counts.total);
    counts.total = plain.counts.total;
    assert_eq!(counts, plain.counts, "no kind of the contract counts them");
}

#[test]
fn a_heap_has_at_least_reserved_and_committed_what_is_outstanding_in_it() {
    let trace = load(&capture(&heap_options(true)), &mut Unwatched).unwrap();
    for (kind, step) in [(CounterKind::HeapReserved, 1 << 20), (CounterKind::HeapCommitted, 64 << 10)] {
        let counters: Vec<&Counter> = trace.counters.iter().filter(|c| c.kind == kind).collect();
        assert_eq!(counters.len(), 6, "two processes with three heaps");
        for counter in counters {
            let CounterOwner::Heap(_, handle) = counter.owner else { panic!("{counter:?}") };
            let known =
                |h: &highwater::model::Heap| Some(h.process) == counter.process && h.layer == Layer::Heap && h.handle == handle;
            assert!(trace.heaps.iter().any(known), "it is the heap of the allocations");
            assert!(counter.samples.iter().all(|(_, bytes)| bytes % step == 0));
            assert!(counter.samples.windows(2).all(|pair| pair[0].1 < pair[1].1), "these heaps only grow");
        }
    }
    let ids: Vec<_> = counter_groups(&trace).into_iter().flat_map(|group| group.counters).collect();
    assert_eq!(ids.len(), trace.counters.len(), "each counter has one owner");
    let lines = counter_series(&trace, &ids, trace.span, 100, &Cancel::default()).unwrap();
    for (id, line) in ids.iter().zip(&lines) {
        let counter = &trace.counters[id.0 as usize];
        assert_eq!(line.peak, counter.peak);
        assert!(line.points.len() <= 2 + 4 * 100);
    }
}

#[test]
fn what_is_left_out_is_a_problem_of_the_trace() {
    use highwater::etl::SessionHeader;
    use highwater::etl::write::Writer;
    use highwater::events::encode::RecordWriter;
    let mut w = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), SessionHeader::default()).unwrap());
    let change = RangeChange::Create(0x1000);
    let event = Event::Counter(Box::new(CounterEvent::HeapRange { heap: 0x5000, change }));
    w.style.header = Some(highwater::etl::HeaderKind::PerfInfo); // which has no process
    w.put(0, &Record { time: 5, pid: Pid(7), tid: Tid(1), event }, &[]).unwrap();
    let bytes = w.finish().unwrap().into_inner();
    let file = TraceFile::from_source(Source::Memory(bytes.leak()), "a.etl".to_owned()).unwrap();
    let trace = load(&Capture { files: vec![file], problems: Problems::default() }, &mut Unwatched).unwrap();
    let kinds: Vec<_> = trace.problems.iter().map(|p| (p.kind, p.file.as_str())).collect();
    assert_eq!(kinds, [(ProblemKind::LimitReached, "a.etl"), (ProblemKind::NoMemoryEvents, "a.etl")]);
}
