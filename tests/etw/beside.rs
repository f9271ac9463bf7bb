//! What a recording sees beside its events: counters of the recorded processes, conditions that
//! end it, and what it costs.

use std::ffi::OsString;
use std::process::ExitCode;

use highwater::capture::{Children, Request};
use highwater::model::{Counter, CounterKind, CounterOwner, Trace};
use highwater::problem::ProblemKind;
use highwater::units::Pid;
use highwater_dev::synth::Options;

use crate::{FIRST, Scene, groups, poll_until, request};

fn of_this_process(trace: &Trace, kind: CounterKind) -> &Counter {
    let owner = CounterOwner::Process(Pid(std::process::id()));
    let found = trace.counters.iter().find(|counter| counter.kind == kind && counter.owner == owner);
    found.unwrap_or_else(|| panic!("no {kind:?} in {:?}", trace.counters))
}

#[test]
fn the_memory_of_a_recorded_process_is_in_the_trace_as_it_grows() {
    const BYTES: u64 = 64 << 20;
    let scene = Scene::silent();
    let mut running = scene.start(&request()).unwrap();
    poll_until(&mut running, "a second", |progress| progress.seconds > 1.5);
    let block = std::hint::black_box(vec![1u8; BYTES as usize]);
    let progress = poll_until(&mut running, "two more", |progress| progress.seconds > 3.5);
    let cost = progress.cost.unwrap();
    assert!(cost.private_bytes > BYTES && cost.core_percent < 100.0, "{cost:?}");
    drop(block);
    scene.stop(running);
    let trace = scene.load("recorded.etl");
    let problems: Vec<ProblemKind> = trace.problems.iter().map(|problem| problem.kind).collect();
    assert_eq!(problems, [ProblemKind::NoMemoryEvents], "nothing else happened");
    for kind in [CounterKind::Commit, CounterKind::WorkingSet] {
        let counter = of_this_process(&trace, kind);
        let (first, last) = (counter.samples[0].1, counter.samples.last().unwrap().1);
        assert!((BYTES..2 * BYTES).contains(&(counter.peak - first)), "{kind:?}: {counter:?}");
        assert!(last < first + BYTES / 2, "{kind:?}: at the end the block is gone: {counter:?}");
        assert!(counter.samples.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
    assert!(trace.counters.iter().all(|counter| counter.owner != CounterOwner::System), "it says nothing of other processes");
}

#[test]
fn counters_change_none_of_the_numbers_of_a_recording() {
    let scene = Scene::new(&Options { seed: 12, events: 5_000, distinct_stacks: 100, live: 500, ..Options::default() });
    // Of this process, whose memory is sampled, and of the generated one by its name.
    let children = Children { are_recorded: true, with_heaps: Some(FIRST.to_owned()) };
    let mut running = scene.start(&Request { children, ..request() }).unwrap();
    poll_until(&mut running, "all events", |progress| progress.events >= scene.events && progress.seconds > 1.5);
    let summary = scene.stop(running);
    assert_eq!((summary.lost_events, summary.problems.as_slice()), (0, &[][..]));
    let (made, recorded) = (scene.load("generated.etl"), scene.load("recorded.etl"));
    of_this_process(&recorded, CounterKind::Commit);
    let mut counts = recorded.counts;
    // Merging adds the identities of images.
    (counts.total, counts.image_id_rsds) = (made.counts.total, made.counts.image_id_rsds);
    assert_eq!(counts, made.counts, "no kind of the contract counts them");
    assert_eq!(made.quality, recorded.quality);
    assert_eq!(groups(made), groups(recorded));
}

#[test]
fn a_recording_ends_by_itself_when_its_condition_holds() {
    const BYTES: usize = 96 << 20;
    let scene = Scene::silent();
    let mut request = request();
    let mut running = scene.start(&request).unwrap();
    let progress = poll_until(&mut running, "the cost", |progress| progress.cost.is_some());
    assert_eq!(progress.ends, None);
    let limit = progress.cost.unwrap().private_bytes + BYTES as u64 / 2;
    drop(running);

    request.stop_when = vec!["growth>1T/s".parse().unwrap(), format!("private>{limit}B").parse().unwrap()];
    let folder = scene.place.path().join("second");
    let mut running = highwater::capture::windows::LocalRecording::start(&request, &folder).unwrap();
    poll_until(&mut running, "a second", |progress| progress.seconds > 1.2 && progress.ends.is_none());
    let block = std::hint::black_box(vec![1u8; BYTES]);
    let progress = poll_until(&mut running, "the end", |progress| progress.ends.is_some());
    drop(block);
    let reason = progress.ends.unwrap();
    assert!(reason.starts_with(&format!("process {} has ", std::process::id())), "{reason}");
    scene.stop(running);
}

#[test]
fn at_the_command_line_a_condition_that_holds_completes_the_recording() {
    let scene = Scene::silent();
    let out = scene.place.path().join("recorded.etl");
    let pid = std::process::id().to_string();
    let words = ["highwater", "record", "--pid", &pid, "--stop-when", "commit>1M", "-o"].map(OsString::from);
    let words = words.into_iter().chain([out.into_os_string()]);
    let code = highwater::cli::run(words, |_, _| Ok(()));
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
    assert!(scene.etw.running().is_empty());
    of_this_process(&scene.load("recorded.etl"), CounterKind::Commit);
}
