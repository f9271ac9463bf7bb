//! What is told twice counts once: the same file twice, a merge beside its parts, two sessions of one process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::merge::{Layout, PROCESSORS, by_processor, layout};
use super::stretches::{file_of, with_threads, writes};
use crate::common::told::{difference, told};
use crate::common::trace::{session, small, trace};
use crate::common::{highwater, json, skip};
use crate::oracle::scenario::{Act, Op, Scenario, Sent, StackForm};
use crate::oracle::{copies, strategy};
use highwater::etl::{Source, TraceFile};
use highwater::events::{Event, FrameRange, ProcessChange, Record, StackPart};
use highwater::load::{Capture, Input, Plan, Unwatched, Watch, follow, load};
use highwater::model::Trace;
use highwater::problem::Problems;
use highwater::units::{Layer, Pid, Tid};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

fn loaded(files: Vec<TraceFile>, watch: &mut impl Watch) -> Trace {
    load(&Capture { files, problems: Problems::default() }, watch).unwrap()
}

/// All that a trace says but how much it repeats, and that.
fn alone(mut trace: Trace) -> (Vec<String>, u64) {
    let repeats = std::mem::take(&mut trace.quality.duplicate_events);
    assert_eq!(trace.copies.iter().map(|file| file.duplicate_events).sum::<u64>(), repeats);
    trace.counts = Default::default();
    (told(trace), repeats)
}

/// The events that stand for themselves: stacks belong to others.
fn count(writes: &[super::stretches::Write]) -> u64 {
    writes.iter().map(super::stretches::Write::events).sum()
}

/// One who has the capture played.
struct Player;

impl Watch for Player {
    fn progress(&mut self, _: u64, _: u64) -> bool {
        true
    }

    fn publish(&mut self, _: Trace) {}

    fn speed(&self) -> Option<f64> {
        Some(1.0)
    }
}

/// Leaves one stack of those that one thread has at one tick with the same frames: `OwedStacks` cannot tell which of its
/// events there each is of.
fn without_equal_stacks(records: &mut Vec<(usize, Sent)>) {
    let mut met = BTreeSet::new();
    records.retain(|(_, Sent { record, frames })| match record.event {
        Event::Stack { owner, .. } => met.insert((owner, record.tid.0, frames.clone())),
        Event::StackRef { owner, key, .. } => met.insert((owner, record.tid.0, vec![key])),
        _ => true,
    });
}

/// Acts at ticks of their own.
fn apart(most: usize) -> impl Strategy<Value = Vec<Op>> {
    strategy::ops(most).prop_map(|mut ops| {
        ops.iter_mut().for_each(|op| op.wait = op.wait.max(1));
        ops
    })
}

/// Checks that two parts of a trace, one for each side of its threads, change nothing beside the whole.
fn parts_change_nothing(
    ops: &[Op],
    processors: &[usize],
    layout: &Layout,
    sides: &[bool],
    place: usize,
    threads: usize,
) -> Result<(), TestCaseError> {
    let mut records = by_processor(&Scenario::of(ops), processors);
    without_equal_stacks(&mut records);
    let whole = || layout.file(0, records.iter());
    let (expected, again) = alone(loaded(vec![whole()], &mut Unwatched));
    let side = |is: bool| {
        // An event and its stack are of one thread, and so in one file.
        layout.file(0, records.iter().filter(|(_, sent)| sides[sent.record.tid.0 as usize % sides.len()] == is))
    };
    let mut files = vec![side(true), side(false)];
    files.insert(place, whole());
    let trace = with_threads(threads, || loaded(files, &mut Unwatched));
    // A part that has all of it may come first.
    let whole_is_one = trace.copies[place].copy_of.is_none();
    let mut parts = (0..3).filter(|&file| file != place && trace.copies[file].duplicate_events > 0);
    prop_assert!(!whole_is_one || parts.all(|file| trace.copies[file].copy_of == Some(place)), "{:?}", trace.copies);
    let is_stack =
        |sent: &Sent| matches!(sent.record.event, Event::Stack { .. } | Event::StackRef { .. } | Event::StackDefinition { .. });
    let told = records.iter().filter(|(_, sent)| !is_stack(sent)).count() as u64;
    let (found, repeats) = alone(trace);
    prop_assert_eq!(difference(&found, &expected), None);
    prop_assert_eq!(repeats, again + told);
    Ok(())
}

proptest! {
    #![proptest_config(strategy::config())]

    #[test]
    fn a_file_opened_with_itself_says_what_it_says_alone(writes in writes(), threads in select(vec![1usize, 2, 8])) {
        let (expected, again) = alone(loaded(vec![file_of(&writes)], &mut Unwatched));
        let twice = with_threads(threads, || loaded(vec![file_of(&writes), file_of(&writes)], &mut Unwatched));
        prop_assert_eq!(twice.copies[1].copy_of, (count(&writes) > 0).then_some(0));
        prop_assert!(twice.copies[0].copy_of.is_none() && !twice.copies[1].is_part);
        let (found, repeats) = alone(twice);
        prop_assert_eq!(difference(&found, &expected), None);
        prop_assert_eq!(repeats, again + count(&writes));
    }

    #[test]
    fn parts_beside_the_whole_change_nothing(
        ops in strategy::ops(60), processors in prop::collection::vec(0..PROCESSORS, 16), layout in layout(),
        sides in prop::collection::vec(any::<bool>(), 1..40), place in 0..3usize, threads in select(vec![1usize, 2, 8]),
    ) {
        parts_change_nothing(&ops, &processors, &layout, &sides, place, threads)?;
    }

    /// The rule as it reads says which records of several files stay, where no two acts are of one tick. (Of acts of one
    /// thread at one tick, files that have some of them each do not say the order.)
    #[test]
    fn what_some_files_share_is_found_as_the_rule_reads(
        ops in apart(60), processors in prop::collection::vec(0..PROCESSORS, 16), layout in layout(),
        holders in prop::collection::vec(1..8usize, 1..40),
    ) {
        // Each record is in some of three files.
        let records = by_processor(&Scenario::of(&ops), &processors);
        let has = |number: usize, file: usize| holders[number % holders.len()] >> file & 1 != 0;
        let files = (0..3).map(|file| {
            layout.file(file, records.iter().enumerate().filter(|(number, _)| has(*number, file)).map(|(_, record)| record))
        });
        let trace = loaded(files.collect(), &mut Unwatched);
        let all: Vec<(usize, Sent)> = records.iter().enumerate().flat_map(|(number, (_, sent))| {
            (0..3).filter(move |&file| has(number, file)).map(move |file| (file, sent.clone()))
        }).collect();
        let is_event = |sent: &&Sent| {
            !matches!(sent.record.event, Event::Stack { .. } | Event::StackRef { .. } | Event::StackDefinition { .. })
        };
        let kept = copies::kept(&all);
        let count = |list: &mut dyn Iterator<Item = &Sent>| list.filter(|sent| is_event(sent)).count() as u64;
        let repeats = count(&mut all.iter().map(|(_, sent)| sent)) - count(&mut kept.iter());
        prop_assert_eq!(trace.quality.duplicate_events, repeats);
    }
}

#[test]
fn parts_of_one_tick_at_which_a_key_stands_for_nothing_change_nothing() {
    let op = |wait, tid, act, stack| Op { wait, pid: 1, tid, act, stack };
    let open = || Act::Open { layer: Layer::Heap, heap: 16, name: None };
    let key = StackForm::Key { key: 1, stack: 0, late: 0 };
    let ops = [
        op(0, 1, Act::Pages { owner: 3, base: 8192, pages: 3, flags: 4096 }, StackForm::None),
        op(0, 1, open(), StackForm::None),
        op(0, 1, Act::Define { part: StackPart::User, key: 1, stack: 0 }, StackForm::None),
        op(0, 3, Act::FreePages { owner: 3, base: 0, pages: 3, flags: 16384 }, key),
        op(1, 1, open(), StackForm::None),
    ];
    for length in 2..40 {
        let sides: Vec<bool> = (0..length).map(|side| side % 2 == 1).collect();
        for place in 0..3 {
            parts_change_nothing(&ops, &[0; 16], &Layout::plain(), &sides, place, 1).unwrap();
        }
    }
}

/// More records of one tick than are compared pair by pair, two of which differ in their layer alone.
#[test]
fn moves_of_two_layers_that_say_the_rest_alike_are_told_apart() {
    let op = |pid, act, stack| Op { wait: 0, pid, tid: 1, act, stack };
    let (old, new) = (768, 512);
    let (later, summary_tid, summary_size, meanwhile) = (0, None, 100, Vec::new());
    let ops = [
        op(
            3,
            Act::Move { heap: 171, old, new, size: 8, later, summary_tid, summary_size, meanwhile },
            StackForm::Plain { stack: 0, late: 0 },
        ),
        op(3, Act::Realloc { layer: Layer::Tracker, heap: 171, old, new, size: 100 }, StackForm::None),
        op(1, Act::Open { layer: Layer::Heap, heap: 16, name: None }, StackForm::None),
    ];
    for place in 0..3 {
        parts_change_nothing(&ops, &[0; 16], &Layout::plain(), &[false], place, 1).unwrap();
    }
}

/// Something of every kind, in time for the eye of somebody who watches.
fn demo() -> TraceFile {
    let source = Source::Memory(highwater::load::DEMO_TRACE);
    TraceFile::from_source(source, "demo.etl".to_owned()).unwrap()
}

#[test]
fn marks_frames_samples_and_counters_are_told_once() {
    let words = |command: &[&'static str], files: usize| {
        let demo = std::iter::repeat_n("demo:", files);
        command.iter().copied().chain(demo).collect::<Vec<_>>()
    };
    // Only how many copies there are is another number.
    let without_copies = |mut answer: Value| {
        answer["quality"]["duplicate_events"].take();
        answer
    };
    for command in [&["marks", "--json"][..], &["frames", "--json"], &["processors", "--json"]] {
        let [one, two] = [1, 2].map(|files| without_copies(json(words(command, files))));
        assert_eq!(two, one, "{command:?}");
    }
    let by = &["report", "--json", "--by", "process,heap,stack,type,thread"];
    let (one, two) = (json(words(by, 1)), json(words(by, 2)));
    assert_eq!(two["groups"], one["groups"]);
    assert!(one["quality"]["duplicate_events"] == 0 && two["quality"]["duplicate_events"].as_u64().unwrap() > 5_000);
    let (one, two) = (loaded(vec![demo()], &mut Unwatched), loaded(vec![demo(), demo()], &mut Unwatched));
    assert_eq!(two.counters, one.counters);
    assert_eq!((two.processes.len(), two.losses.len()), (one.processes.len(), one.losses.len()));
}

#[test]
fn what_is_followed_or_played_is_told_once_too() {
    struct Done;
    impl Watch for Done {
        fn progress(&mut self, _: u64, _: u64) -> bool {
            true
        }
        fn publish(&mut self, _: Trace) {}
        fn follows(&self) -> bool {
            false
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.etl", "b.etl"].map(|name| folder.path().join(name));
    paths.iter().for_each(|path| std::fs::write(path, small(false)).unwrap());
    let inputs = paths.map(Input::File);
    let open = || Capture::open(&inputs).unwrap();
    let (expected, repeats) = alone(load(&open(), &mut Unwatched).unwrap());
    assert!(repeats > 100);
    for trace in [follow(&inputs, &Plan::default(), &mut Done).unwrap(), load(&open(), &mut Player).unwrap()] {
        assert_eq!(trace.copies[1].copy_of, Some(0));
        assert_eq!(alone(trace), (expected.clone(), repeats));
    }
}

/// A file of records at some ticks, by one thread.
fn file(name: &str, records: &[(i64, Event, &[u64])]) -> TraceFile {
    let record = |time: &i64, event: &Event| Record { time: 1_000 + time, pid: Pid(7), tid: Tid(2), event: event.clone() };
    let records: Vec<_> = records.iter().map(|(time, event, frames)| (record(time, event), frames.to_vec())).collect();
    TraceFile::from_source(Source::Memory(trace(session(false), &records).leak()), name.to_owned()).unwrap()
}

const NO_STACK: &[u64] = &[];

const HEAP: (Layer, u64) = (Layer::Heap, 0x10);

fn alloc(address: u64) -> Event {
    Event::Alloc { layer: HEAP.0, heap: HEAP.1, address, size: 8 }
}

fn free(address: u64) -> Event {
    Event::Free { layer: HEAP.0, heap: HEAP.1, address }
}

fn stack_of(time: i64) -> Event {
    Event::Stack { owner: 1_000 + time, part: StackPart::User, frames: FrameRange::default() }
}

fn numbers(trace: &Trace) -> (usize, u64, u64, u64) {
    let quality = trace.quality;
    (trace.rows.len(), quality.unmatched_frees, quality.superseded_allocations, quality.duplicate_events)
}

#[test]
fn one_thread_may_use_an_address_several_times_in_a_tick() {
    let (a, f) = (|| (5, alloc(0x100), NO_STACK), || (5, free(0x100), NO_STACK));
    let honest = || file("a.etl", &[a(), f(), a(), f(), a()]);
    assert_eq!(numbers(&loaded(vec![honest()], &mut Unwatched)), (3, 0, 0, 0));
    assert_eq!(numbers(&loaded(vec![honest(), honest()], &mut Unwatched)), (3, 0, 0, 5));
    // A heap that goes takes its blocks with it.
    let (open, close) = (
        Event::HeapOpen { layer: HEAP.0, heap: HEAP.1, name: None },
        Event::HeapClose { layer: HEAP.0, heap: HEAP.1, name: None },
    );
    let anew = file("a.etl", &[(5, open.clone(), NO_STACK), a(), (5, close, NO_STACK), (5, open, NO_STACK), a()]);
    assert_eq!(numbers(&loaded(vec![anew], &mut Unwatched)), (2, 0, 0, 0));
    // Pages that are given back in between are committed anew.
    let pages = |size, flags| highwater::events::PageRange { base: 0x7000, size, owner: Pid(7), flags };
    let (commit, decommit) = (Event::VirtualAlloc(pages(0x3000, 0x1000)), Event::VirtualFree(pages(0x1000, 0x4000)));
    let anew = file("a.etl", &[(5, commit.clone(), NO_STACK), (5, decommit, NO_STACK), (5, commit, NO_STACK)]);
    assert_eq!(numbers(&loaded(vec![anew], &mut Unwatched)).3, 0);
}

#[test]
fn in_one_file_what_was_said_last_of_a_block_is_not_said_again() {
    let (a, f) = (|| (5, alloc(0x100), NO_STACK), || (5, free(0x100), NO_STACK));
    let twice = file("a.etl", &[a(), a(), f(), f(), a(), a()]);
    assert_eq!(numbers(&loaded(vec![twice], &mut Unwatched)), (2, 0, 0, 3));
    // At another tick, or with another size, it is something else.
    let other = Event::Alloc { layer: HEAP.0, heap: HEAP.1, address: 0x100, size: 9 };
    let twice = file("a.etl", &[a(), (5, other, NO_STACK), (6, alloc(0x100), NO_STACK)]);
    assert_eq!(numbers(&loaded(vec![twice], &mut Unwatched)), (3, 0, 2, 0));
}

#[test]
fn a_copy_gives_its_stack_to_one_that_has_none() {
    let bare = || file("bare.etl", &[(5, alloc(0x100), NO_STACK), (9, free(0x100), NO_STACK)]);
    let frames: &[u64] = &[0x40_0000, 0x40_0010];
    let told_with = |later: i64| {
        let (a, f) = ((5, alloc(0x100), NO_STACK), (9, free(0x100), NO_STACK));
        file("with.etl", &[a, (5 + later, stack_of(5), frames), f, (9 + later, stack_of(9), frames)])
    };
    for later in [0, 1] {
        let (expected, _) = alone(loaded(vec![told_with(later)], &mut Unwatched));
        for files in [vec![bare(), told_with(later)], vec![told_with(later), bare()]] {
            let trace = loaded(files, &mut Unwatched);
            assert_eq!(numbers(&trace), (1, 0, 0, 2));
            assert!(trace.freed_at(highwater::model::RowId(0)).is_some());
            let rows = |told: &[String]| told.iter().filter(|line| line.contains("0x100")).cloned().collect::<Vec<_>>();
            assert_eq!(rows(&alone(trace).0), rows(&expected), "{later}");
        }
    }
}

#[test]
fn losses_of_a_file_are_those_of_its_copy() {
    let lossy = || {
        let session = highwater::etl::SessionHeader { events_lost: 17, buffers_lost: 3, ..session(false) };
        let bytes = trace(session, &crate::common::trace::story()).leak();
        TraceFile::from_source(Source::Memory(bytes), "a.etl".to_owned()).unwrap()
    };
    let quality = loaded(vec![lossy(), lossy()], &mut Unwatched).quality;
    assert_eq!((quality.events_lost, quality.buffers_lost), (17, 3));
    let other = file("other.etl", &[(5, Event::Process(ProcessChange::Start, Box::default()), NO_STACK)]);
    let quality = loaded(vec![lossy(), other], &mut Unwatched).quality;
    assert_eq!((quality.events_lost, quality.buffers_lost), (17, 3));
}

#[test]
fn many_events_at_one_tick_are_compared_as_few_are() {
    let mut random = highwater::random::Random::new(3);
    for blocks in [3u64, 40, 3_000, 40_000] {
        let mut records: Vec<(i64, Event, &[u64])> = Vec::new();
        for _ in 0..2 * blocks {
            let address = 0x100 * random.below(blocks);
            let sample = Event::Sample { address, count: 1 };
            let event = if random.below(9) == 0 {
                sample
            } else if random.below(2) == 0 {
                alloc(address)
            } else {
                free(address)
            };
            records.push((5, event, NO_STACK));
        }
        let (expected, again) = alone(loaded(vec![file("a.etl", &records)], &mut Unwatched));
        let (found, repeats) = alone(loaded(vec![file("a.etl", &records), file("a.etl", &records)], &mut Unwatched));
        assert_eq!(difference(&found, &expected), None, "{blocks}");
        assert_eq!(repeats, again + records.len() as u64, "{blocks}");
    }
}

fn case(name: &str) -> Option<String> {
    let path = std::path::absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases").join(name)).unwrap();
    if !path.is_file() {
        skip(&format!("no {name}"));
        return None;
    }
    Some(path.to_str().unwrap().to_owned())
}

fn report(files: &[&str]) -> Value {
    let report = json(["report", "--json", "--by", "process,heap,stack,thread"].iter().chain(files));
    assert_eq!((&report["quality"]["unmatched_frees"], &report["quality"]["superseded_allocations"]), (&0.into(), &0.into()));
    report
}

#[test]
fn a_merge_and_its_parts_are_the_merge() {
    let names = ["merge-kernel.zip", "merge-heap.zip", "merge-merged.zip", "two-copies-and-merge.zip"];
    let Some(files) = names.into_iter().map(case).collect::<Option<Vec<_>>>() else { return };
    let [kernel, heap, merged, archive] = [0, 1, 2, 3].map(|number: usize| files[number].as_str());
    let alone = report(&[merged]);
    let sum = |key: &str| alone["groups"].as_array().unwrap().iter().map(|group| group[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("count"), sum("freed_count")), (50, 17));
    assert_eq!(alone["quality"]["duplicate_events"], 0);
    for files in [&[kernel, heap, merged][..], &[merged, heap, kernel], &[heap, merged, kernel], &[archive]] {
        let all = report(files);
        assert_eq!(all["groups"], alone["groups"], "{files:?}");
        // Three events of processes, 50 allocations and 17 frees.
        assert_eq!(all["quality"]["duplicate_events"], 70, "{files:?}");
        let info = json(["info", "--json"].iter().chain(files));
        for file in info["files"].as_array().unwrap() {
            let path = file["path"].as_str().unwrap();
            let (events, is_part) = match () {
                () if path.ends_with("kernel.etl") => (3, true),
                () if path.ends_with("heap.etl") => (67, true),
                () => (0, false),
            };
            assert_eq!(file["duplicate_events"], events, "{path}");
            assert_eq!(file["copy_of"].as_str().is_some_and(|of| of.ends_with("merged.etl")), is_part, "{file}");
        }
        let text = highwater(["info"].iter().chain(files)).out;
        assert_eq!(text.matches("part of ").count(), 2, "{text}");
        let text = highwater(["report"].iter().chain(files)).out;
        assert!(text.contains("70 events were recorded more than once"), "{text}");
    }
    let twice = json(["info", "--json", heap, heap]);
    assert_eq!((&twice["files"][0]["copy_of"], &twice["files"][1]["copy_of"]), (&Value::Null, &twice["files"][0]["path"]));
    assert_eq!(twice["events"]["heap_alloc"], 100, "the events of all files");
}

#[test]
fn two_sessions_of_a_process_are_one() {
    let Some(file) = case("two-heap-sessions.zip") else { return };
    let report = report(&[&file]);
    let group = &report["groups"][0];
    let events = json(["info", "--json", &file])["events"].clone();
    let half = |key: &str| events[key].as_u64().unwrap() / 2;
    let sum = |key: &str| report["groups"].as_array().unwrap().iter().map(|group| group[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("count"), sum("freed_count")), (half("heap_alloc"), half("heap_free")), "{group}");
    assert_eq!(report["quality"]["duplicate_events"], half("heap_alloc") + half("heap_free"));
}

#[test]
fn what_is_cut_of_copies_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, has: &dyn Fn(i64) -> bool| -> PathBuf {
        let mut records = crate::common::trace::story();
        let sample = |time| {
            (Record { time, pid: Pid::NONE, tid: Tid(2), event: Event::Sample { address: 0x40_0000, count: 1 } }, Vec::new())
        };
        records.extend((0..40).map(|i| sample(1_030 + 30 * i)));
        records.sort_by_key(|(record, _)| record.time);
        records.retain(|(record, _)| has(record.time - 1_000));
        std::fs::write(path(name), trace(session(false), &records)).unwrap();
        path(name)
    };
    // Two sessions, of which one began late and the other ended early.
    let (a, b, whole) =
        (write("a.etl", &|time| time < 900), write("b.etl", &|time| !(100..=500).contains(&time)), write("whole.etl", &|_| true));
    let words = |command: &'static str, files: &[&PathBuf]| {
        let files = files.iter().map(|path| path.to_str().unwrap().to_owned());
        [command.to_owned(), "--json".to_owned()]
            .into_iter()
            .chain(files)
            .chain(["--from", "0.00006", "--to", "0.0001"].map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let out = path("cut.etl");
    let cut = highwater([
        "cut",
        a.to_str().unwrap(),
        b.to_str().unwrap(),
        "--from",
        "0.00006",
        "--to",
        "0.0001",
        "-o",
        out.to_str().unwrap(),
    ]);
    assert_eq!(cut.code, Some(0), "{}", cut.err);
    for command in ["report", "processors"] {
        let expected = json(words(command, &[&whole]));
        assert_eq!(json(words(command, &[&a, &b]))["groups"], expected["groups"], "{command}");
        let of_cut = json(words(command, &[&out]));
        assert_eq!(of_cut["groups"], expected["groups"], "{command}");
        assert_eq!(of_cut["processors"], expected["processors"], "{command}");
    }
    let once = json(["info", "--json", out.to_str().unwrap()]);
    assert_eq!(once["files"][0]["duplicate_events"], 0);
    let trace = Arc::new(loaded(vec![TraceFile::open(&out).unwrap()], &mut Unwatched));
    let samples = trace.activity.samples.list.len();
    let all = (0..40).filter(|i| (600..1_000).contains(&(30 + 30 * i))).count();
    assert_eq!(samples, all);
}
