//! How much a recording would write, measured on a second of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use highwater::capture::volume::{Amount, Kind, Volume};
use highwater::capture::{Request, Target};
use highwater::etl::{EventId, Guid, Problems, ReadBuffer, TraceFile};
use highwater::events::EventCounts;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater_dev::synth::{self, Scenario, StackForm};

fn request() -> Request {
    Request { free_stacks: true, samples: true, ..Request::new(Target::Pids(vec![10])) }
}

fn generated(folder: &Path, scenario: Scenario, stacks: StackForm, seed: u64) -> std::path::PathBuf {
    let path = folder.join(format!("{scenario:?}-{stacks:?}-{seed}.etl"));
    let options = synth::Options {
        scenario,
        stacks,
        seed,
        events: 5000,
        distinct_stacks: 50,
        live: 300,
        free_stacks: true,
        ..synth::Options::default()
    };
    synth::generate(&options, File::create(&path).unwrap()).unwrap();
    path
}

/// The events of a trace as (time, thread, opcode or id, bytes), with the class or provider as text.
fn all_events(path: &Path) -> Vec<(i64, u32, String, Vec<u8>, usize)> {
    let file = TraceFile::open(path).unwrap();
    let (mut memory, mut problems, mut all) = (ReadBuffer::default(), Problems::new(), Vec::new());
    for buffer in &file.buffers {
        file.read_buffer(buffer, &mut memory, &mut problems);
        let mut events = memory.events();
        while let Some(event) = events.next() {
            let name = match event.id {
                EventId::Hook(hook) => format!("{hook:04x}"),
                EventId::Provider { id, .. } => format!("id {id}"),
                other => format!("{other:?}"),
            };
            all.push((event.time, event.tid.0, name, event.payload.to_vec(), events.bytes_of(&event).len()));
        }
    }
    all
}

fn counts(path: &Path) -> EventCounts {
    let trace = load(&Capture::open(&[Input::File(path.to_owned())]).unwrap(), &mut Unwatched).unwrap();
    trace.counts
}

#[test]
fn every_event_is_in_one_kind_and_stacks_are_with_the_events_that_they_belong_to() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [Scenario::Heap, Scenario::Commit, Scenario::Trackers];
    for (scenario, seed) in cases.into_iter().flat_map(|scenario| (1..4).map(move |seed| (scenario, seed))) {
        let path = generated(folder.path(), scenario, StackForm::Walk, seed);
        let volume = Volume::of(&request(), &path).unwrap();
        let told = counts(&path);
        let events = |kind: Kind| volume.a_minute_of(kind)[0].events / 60;
        assert_eq!(events(Kind::HeapAllocations), told.heap_alloc + told.heap_realloc);
        assert_eq!(events(Kind::HeapFrees), told.heap_free);
        assert_eq!(events(Kind::PageAllocations), told.virtual_alloc);
        assert_eq!(events(Kind::PageFrees), told.virtual_free);
        assert_eq!(events(Kind::Trackers), told.tracker_alloc + told.tracker_free + told.tracker_realloc);

        // Stacks, one by one: the event of the same time and thread, wherever it stands.
        let all = all_events(&path);
        let bytes: usize = all.iter().map(|(.., bytes)| bytes).sum();
        assert_eq!(volume.a_minute().bytes / 60 + volume.once.bytes, bytes as u64);
        let hook_of = |time: i64, tid: u32| {
            let mut its = all.iter().filter(|(t, thread, name, ..)| (*t, *thread) == (time, tid) && name != "1820");
            its.next_back().map_or("", |(_, _, name, ..)| name)
        };
        let mut stacks: BTreeMap<&str, u64> = BTreeMap::new();
        for (_, _, _, payload, bytes) in all.iter().filter(|(_, _, name, ..)| name == "1820") {
            let time = i64::from_le_bytes(payload[..8].try_into().unwrap());
            let tid = u32::from_le_bytes(payload[12..16].try_into().unwrap());
            *stacks.entry(hook_of(time, tid)).or_default() += *bytes as u64;
        }
        let of = |hooks: &[&str]| hooks.iter().filter_map(|hook| stacks.get(hook)).sum::<u64>();
        if scenario != Scenario::Trackers {
            for (kind, hooks) in [
                (Kind::HeapAllocations, &["1021", "1022"][..]),
                (Kind::HeapFrees, &["1024"]),
                (Kind::PageAllocations, &["0262"]),
                (Kind::PageFrees, &["0263"]),
            ] {
                assert_eq!(volume.a_minute_of(kind)[1].bytes / 60, of(hooks), "{scenario:?} {seed} {kind:?}");
            }
        } else {
            assert!(volume.a_minute_of(Kind::Trackers)[1].bytes > 0, "the stacks are inside the events");
        }
    }
}

#[test]
fn what_can_be_left_out_is_said_the_least_missed_first() {
    let amount = |events, bytes| Amount { events, bytes };
    let mut whole = Volume { seconds: 2.0, once: amount(10, 500), ..Volume::default() };
    let mut set = |kind: Kind, own, stacks| whole.kinds[kind as usize] = [own, stacks];
    set(Kind::HeapAllocations, amount(1000, 50_000), amount(1000, 200_000));
    set(Kind::HeapFrees, amount(900, 40_000), amount(900, 150_000));
    set(Kind::Samples, amount(10, 100), amount(10, 900));
    let all = 50_000 + 200_000 + 40_000 + 150_000 + 1000;
    assert_eq!(whole.a_minute(), amount((1000 + 1000 + 900 + 900 + 20) * 30, all * 30));
    let savings = whole.savings(&request());
    let told: Vec<_> = savings.iter().map(|saving| (saving.without, saving.left.bytes / 30)).collect();
    assert_eq!(told, [("the call stacks of frees", all - 150_000), ("any call stacks", all - 350_000)], "samples are few");
    let plain = Request { stacks: false, free_stacks: false, ..request() };
    assert!(whole.savings(&plain).is_empty(), "what is not asked for cannot be left out");

    whole.kinds[Kind::Activity as usize][0] = amount(700, 70_000);
    whole.kinds[Kind::Marks as usize][0] = amount(900, 90_000);
    let marked = Request { marks: vec![Guid::from_bytes([7; 16])], ..request() };
    let told = whole.savings(&marked).into_iter().find(|saving| saving.without == "marks");
    assert_eq!(told.map(|saving| whole.a_minute().bytes - saving.left.bytes), Some(90_000 * 30), "frames stay");

    let says = |volume: &Volume, text: &str| volume.lines(&request()).iter().any(|line| line.contains(text));
    assert!(!whole.is_much() && !says(&whole, "Without"));
    let fast = Volume { seconds: 0.001, ..whole.clone() };
    assert!(fast.is_much() && says(&fast, "Without the call stacks of frees"));
    assert!(says(&Volume { lost: 5, ..whole }, "5 events were lost in that second"));
    assert!(says(&Volume::default(), "nothing was written"));
}
