//! Microsoft's exercise "track user mode process allocations" on the demo trace:
//! each number that its text names, asked as a user of the program would ask.

use std::sync::Arc;

use crate::common::json;
use highwater::demo::symbols;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::query::{
    By, Cancel, Fold, Group, ImpactingType, Index, IndexOptions, Key, ReportFilter, ReportRequest, TreeRequest, TreeRow,
    named_report, totals, tree,
};
use highwater::symbols::{Names, Options, Sources, Symbols};
use highwater::units::{Interval, Layer, Pid, Ticks};
use highwater_dev::synth::demo::{APP_PID, LEAK_SIZE, LEAKS_A_SECOND, LOOP_END, LOOP_START, SPIKE_TICKS, SPIKES, STEP};
use serde_json::Value;

const MB: u64 = 1 << 20;
const SECOND: i64 = 10_000_000;
const PROGRAM: &str = "MemoryTestApp.exe";
const LEAKING_HEAP: &str = "0x1d0000";

/// The demo trace, asked through the library and through the program at once.
struct Demo(Index, Arc<Names>);

impl Demo {
    fn open() -> Self {
        let capture = Capture::open(&[Input::Demo]).unwrap();
        let trace = Arc::new(load(&capture, &mut Unwatched).unwrap());
        let sources = Sources { embedded: vec![symbols()], ..Sources::default() };
        let symbols = Symbols::start(
            Arc::clone(&trace),
            Options { sources, saved: None, workers: 1, frees: false, ..Options::default() },
            |_| true,
            || {},
        );
        symbols.wait();
        Self(Index::build(trace, &IndexOptions::default(), &Cancel::default()).unwrap(), symbols.names().1)
    }

    fn whole(&self) -> Interval {
        self.0.trace().span
    }

    /// The groups of the program in one layer. Both ways must answer alike.
    fn ask(&self, interval: Interval, layer: Layer, heap: Option<&str>, by: &str) -> Vec<Group> {
        let keys = by.split(',').map(|key| match key {
            "process" => By::Process,
            "heap" => By::Heap,
            "stack" => By::Stack,
            other => unreachable!("{other}"),
        });
        let filter = ReportFilter {
            process: Some(PROGRAM.into()),
            layer: Some(layer),
            heap: heap.map(Into::into),
            ..ReportFilter::default()
        };
        let request = ReportRequest { interval, by: keys.collect(), filter, top: None, fold: Fold::Nothing, sources: false };
        let groups = named_report(&self.0, &request, &self.1, &Cancel::default()).unwrap().groups;

        let seconds = |t: Ticks| format!("{}.{:07}", t.0 / SECOND, t.0 % SECOND);
        let (from, to) = (seconds(interval.from), seconds(interval.to));
        let mut words = vec!["report", "demo:", "--json", "--process", PROGRAM, "--layer", layer.name(), "--by", by];
        words.extend(["--from", &from, "--to", &to]);
        words.extend(heap.into_iter().flat_map(|heap| ["--heap", heap]));
        let mut answer = json(words);
        for group in answer["groups"].as_array_mut().unwrap() {
            // The program shows frames: that is told besides.
            group.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_per_frame"));
        }
        assert_eq!(answer["groups"], serde_json::to_value(&groups).unwrap());
        groups
    }

    /// The one group of the program's commit.
    fn commit(&self, interval: Interval) -> Group {
        let mut groups = self.ask(interval, Layer::Commit, None, "process");
        assert_eq!(groups.len(), 1);
        groups.remove(0)
    }
}

fn around(from: i64, to: i64) -> Interval {
    Interval { from: Ticks(from), to: Ticks(to) }
}

#[test]
fn the_program_commits_126_mb_and_keeps_none() {
    let demo = Demo::open();
    let group = demo.commit(demo.whole());
    assert_eq!(group.process.as_deref(), Some(PROGRAM));
    assert_eq!(group.pid, Some(APP_PID));
    assert_eq!(group.process_start_s, Some(1.0));
    assert_eq!(group.numbers.allocated_size, 126 * MB);
    assert_eq!(group.numbers.size, 126 * MB);
    assert_eq!(group.numbers.impacting_size, 0);
}

#[test]
fn the_step_half_way_has_an_impacting_size_of_10_mb() {
    let demo = Demo::open();
    for margin in [1, SECOND / 10, SECOND] {
        let group = demo.commit(around(STEP - margin, STEP + margin));
        assert_eq!(group.numbers.impacting_size, 10 * MB as i64, "{margin} ticks around it");
        assert_eq!((group.numbers.aifo.count, group.numbers.aifo.size), (1, 10 * MB));
    }
    assert_eq!(demo.commit(around(STEP - SECOND, STEP)).numbers.impacting_size, 0);
    assert_eq!(demo.commit(around(STEP + 1, STEP + SECOND)).numbers.impacting_size, 0);
}

#[test]
fn the_last_four_spikes_are_the_row_transient() {
    let demo = Demo::open();
    let interval = around(SPIKES[6] - SECOND, SPIKES[9] + SPIKE_TICKS + SECOND / 2);
    let group = demo.commit(interval);
    assert_eq!((group.numbers.aifi.count, group.numbers.aifi.size), (4, 40 * MB));
    // The same as a line of the table.
    let trace = demo.0.trace();
    let cancel = Cancel::default();
    let totals = totals(&demo.0, interval, &cancel).unwrap();
    let request = TreeRequest { search: ImpactingType::Transient.name().into(), ..TreeRequest::default() };
    let tree = tree(trace, &totals, &request, &cancel).unwrap();
    let is_the_row = |row: &TreeRow| match row.path[..] {
        [Key::Process(id), Key::Layer(Layer::Commit), Key::Impacting(ImpactingType::Transient)] => {
            trace.process(id).pid == Pid(APP_PID)
        }
        _ => false,
    };
    let numbers = tree.rows(trace).find(is_the_row).unwrap().numbers;
    assert_eq!((numbers.count, numbers.size, numbers.impacting), (4, 40 * MB, 0));
}

#[test]
fn the_leaking_heap_sees_1200_allocations_and_keeps_130_kb() {
    let demo = Demo::open();
    let groups = demo.ask(demo.whole(), Layer::Heap, Some(LEAKING_HEAP), "process,heap");
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].heap.as_deref(), Some(LEAKING_HEAP));
    assert_eq!(groups[0].numbers.allocated_count, 1_200);
    assert_eq!(groups[0].numbers.freed_count, 0);
    assert_eq!(groups[0].numbers.impacting_size, 130 << 10);
    assert_eq!(groups[0].numbers.outstanding_to, 130 << 10);
}

/// Whether a frame is a function of the program.
fn is(frame: &str, function: &str) -> bool {
    frame.split_once('!') == Some((PROGRAM, function))
}

#[test]
fn ten_seconds_in_the_middle_leak_about_320_blocks_of_40_bytes_under_one_function() {
    let demo = Demo::open();
    let middle = (LOOP_START + LOOP_END) / 2;
    let interval = around(middle - 5 * SECOND, middle + 5 * SECOND);
    let groups = demo.ask(interval, Layer::Heap, Some(LEAKING_HEAP), "process,heap,stack");
    let leaking: Vec<&Group> = groups.iter().filter(|group| group.numbers.impacting_size != 0).collect();
    let count: u64 = leaking.iter().map(|group| group.numbers.allocated_count).sum();
    assert!((308..=332).contains(&count), "{count} blocks");
    assert!(count.abs_diff(10 * LEAKS_A_SECOND as u64) <= 12);
    for group in leaking {
        assert_eq!(group.numbers.allocated_size, LEAK_SIZE * group.numbers.allocated_count);
        assert_eq!(group.numbers.impacting_size, group.numbers.allocated_size as i64);
        let stack = group.stack.as_deref().unwrap();
        let leak = stack.iter().position(|frame| is(frame, "InnerLoopOperation")).unwrap();
        assert!(is(&stack[leak + 1], "operator new"), "{stack:?}");
        assert!(stack[..leak].iter().any(|frame| is(frame, "Main")), "{stack:?}");
    }
}

#[test]
fn the_spikes_come_from_one_function() {
    let demo = Demo::open();
    for spike in SPIKES {
        let groups = demo.ask(around(spike, spike + 1), Layer::Commit, None, "process,stack");
        let transient: Vec<&Group> = groups.iter().filter(|group| group.numbers.allocated_count > 0).collect();
        assert_eq!(transient.len(), 1);
        assert_eq!(transient[0].numbers.aifo.size, 10 * MB);
        let stack = transient[0].stack.as_deref().unwrap();
        let at = |function| stack.iter().position(|frame| is(frame, function)).unwrap();
        let (main, operation, manipulate) = (at("Main"), at("Operation1"), at("ManipulateTemporaryBuffer"));
        assert!(main < operation && operation < manipulate, "{stack:?}");
    }
}

#[test]
fn the_demo_is_sound() {
    let answer = json(["report", "demo:", "--json"]);
    let quality = &answer["quality"];
    for field in ["events_lost", "buffers_lost", "superseded_allocations", "problems"] {
        assert_eq!(quality[field], 0, "{field}");
    }
    assert_eq!(json(["info", "demo:", "--json"])["problems"], Value::Array(vec![]));
    // Beyond the exercise: a named custom tracker and a second process.
    let groups = answer["groups"].as_array().unwrap();
    assert!(groups.iter().any(|group| group["layer"] == "tracker" && group["heap"] == "PhysicsHeap"));
    assert!(groups.iter().any(|group| group["process"] == "TelemetryService.exe"));
}
