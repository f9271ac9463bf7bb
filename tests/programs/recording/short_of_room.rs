//! Where there is no room for a trace beside its lanes, they go while it is written, and nothing is
//! lost whenever that ends.

use super::*;
use crate::common::lanes::Apart;
use highwater::capture::{is_unfinished, recover_on};

/// A large disk that is full.
const FULL: Option<DiskSpace> = Some(DiskSpace { free: 0, total: 1 << 40 });

/// A recording that has ended; its lanes.
fn recorded(story: &Story, delays: [i64; 4]) -> Recording {
    let recording = story.record_on(None, FULL);
    deliver(&recording, &story.apart.events, delays, |_, _| {});
    recording.flush_if_due(later()).unwrap();
    recording
}

/// Goes on with what was left, and is stopped at that buffer if there is one.
fn go_on(story: &Story, folder: &Path, stop: u64) -> Result<Summary, CaptureError> {
    let mut at = 0;
    story.clear();
    recover_on(folder, &story.out(), &on(FULL), &mut story.apart.machine.clone(), &mut |_, _| {
        at += 1;
        at != stop
    })
}

/// How often it could have been stopped.
fn buffers(story: &Story) -> u64 {
    let mut count = 0;
    recorded(story, [0; 4])
        .finish(&story.out(), &mut story.apart.machine.clone(), &mut |_, _| {
            count += 1;
            true
        })
        .unwrap();
    count
}

/// Every event of a trace with all its bytes.
fn events(apart: &Apart) -> Vec<String> {
    let mut all: Vec<_> = apart.events.iter().map(|event| format!("{event:?}")).collect();
    all.sort();
    all
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in files(from) {
        std::fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}

#[test]
fn trace_and_lanes_together_take_little_more_than_the_lanes_did() {
    for scenario in [Scenario::Heap, Scenario::Commit, Scenario::Trackers] {
        let story = long(scenario);
        let recording = recorded(&story, DELAYS[1]);
        let before = bytes_of(&story.lanes());
        let (mut most, mut least) = (0, u64::MAX);
        let mut machine = story.apart.machine.clone();
        let summary = recording
            .finish(&story.out(), &mut machine, &mut |_, _| {
                let now = bytes_of(&story.lanes());
                (most, least) = (now.max(most), now.min(least));
                true
            })
            .unwrap();
        assert!(most < before * 13 / 10, "{scenario:?}: {most} of {before}");
        assert!(least > before / 2, "the trace grows in the folder");
        assert!(!story.lanes().exists());
        assert_eq!(summary.bytes, std::fs::metadata(story.out()).unwrap().len());
        assert_eq!(summary.problems, []);
        let parts = std::fs::read_dir(story.folder.path()).unwrap().count();
        assert_eq!(parts, 2, "the original and the trace");
        assert_same(story.open(), open(std::slice::from_ref(&story.original)), "made in the room of the lanes");
    }
}

#[test]
fn where_there_is_room_lanes_go_when_the_trace_is_complete() {
    let story = small();
    // Enough for the lanes again and the reserve of 2 GB, on one disk or another.
    let reserve = 2 << 30;
    for free in [reserve, reserve + (1 << 30)] {
        let recording = story.record_on(None, Some(DiskSpace { free, total: 1 << 40 }));
        deliver(&recording, &story.apart.events, [0; 4], |_, _| {});
        recording.flush_if_due(later()).unwrap();
        let before = files(&story.lanes());
        let mut stayed = true;
        let mut machine = story.apart.machine.clone();
        recording
            .finish(&story.out(), &mut machine, &mut |_, _| {
                stayed &= files(&story.lanes()) == before;
                true
            })
            .unwrap();
        assert_eq!(stayed, free > reserve);
    }
}

#[test]
fn a_merge_that_is_stopped_anywhere_and_gone_on_with_is_one_that_was_not() {
    for (scenario, delays) in [(Scenario::Heap, DELAYS[0]), (Scenario::Commit, DELAYS[1]), (Scenario::Trackers, DELAYS[2])] {
        let story = Story::new(&Options { processors: 3, ..options(scenario, StackForm::Walk) });
        let original = || open(std::slice::from_ref(&story.original));
        let buffers = buffers(&story);
        let mut left = 0;
        for share in 1..8 {
            let recording = recorded(&story, delays);
            let stop = (buffers * share / 8).max(1);
            let mut at = 0;
            let error = recording
                .finish(&story.out(), &mut story.apart.machine.clone(), &mut |_, _| {
                    at += 1;
                    at != stop
                })
                .unwrap_err();
            assert!(matches!(error, CaptureError::Stopped), "{error}");
            left += u32::from(is_unfinished(&story.lanes()));
            if is_unfinished(&story.lanes()) {
                let error = follow(&[Input::File(story.lanes())], &Plan::default(), &mut Unwatched).unwrap_err();
                assert!(error.to_string().contains("record --recover"), "{error}");
            }
            story.clear();
            // Once more, a little later; and then to the end.
            let again = go_on(&story, &story.lanes(), buffers / 5);
            assert!(again.is_ok() || matches!(again, Err(CaptureError::Stopped)));
            if again.is_err() {
                go_on(&story, &story.lanes(), 0).unwrap();
            }
            assert!(!story.lanes().exists());
            assert_same(story.open(), original(), &format!("{scenario:?} stopped at {stop} of {buffers}"));
        }
        assert!(left > 3, "most of them left lanes that were not whole: {left}");
    }
}

#[test]
fn a_machine_that_goes_down_while_lanes_are_merged_loses_nothing() {
    let story = Story::new(&Options { processors: 3, ..options(Scenario::Heap, StackForm::Walk) });
    let recording = recorded(&story, DELAYS[1]);
    let path = |name: String| story.folder.path().join(name);
    let whole = path("whole".to_owned());
    copy(&story.lanes(), &whole);
    let mut taken = 0;
    let mut at = 0;
    recording
        .finish(&story.out(), &mut story.apart.machine.clone(), &mut |_, _| {
            at += 1;
            // As the disk is just then; and as it is if not even a file was deleted.
            if at % 9 == 0 && is_unfinished(&story.lanes()) {
                copy(&story.lanes(), &path(format!("down-{taken}")));
                copy(&whole, &path(format!("down-{}", taken + 1)));
                copy(&story.lanes(), &path(format!("down-{}", taken + 1)));
                taken += 2;
            }
            true
        })
        .unwrap();
    assert!(taken > 6, "{taken}");
    let undisturbed = events(&take_apart(&story.out()));
    assert_eq!(undisturbed, events(&story.apart));
    for n in 0..taken {
        let folder = path(format!("down-{n}"));
        story.clear();
        go_on(&story, &folder, 0).unwrap();
        assert!(!folder.exists());
        assert_eq!(events(&take_apart(&story.out())), undisturbed, "no event is missing and none is there twice: {n}");
        assert_same(story.open(), open(std::slice::from_ref(&story.original)), &format!("down {n}"));
    }
}

#[test]
fn events_that_are_out_of_order_are_neither_lost_nor_doubled() {
    let story = Story::new(&Options { processors: 2, ..options(Scenario::Heap, StackForm::Walk) });
    let mut events_in = story.apart.events.clone();
    // Some far from where they belong, the most within lots.
    let far = events_in.len() / 3;
    for n in (0..far).step_by(97) {
        events_in.swap(n, 2 * far + n);
    }
    events_in.chunks_mut(40).for_each(<[_]>::reverse);
    let buffers = buffers(&story);
    for share in 1..12 {
        let recording = story.record_on(None, FULL);
        let mut writers = Lane::ALL.map(|lane| recording.lane(lane));
        events_in.iter().for_each(|event| event.give(&mut writers[event.lane as usize]));
        drop(writers);
        let mut at = 0;
        let stopped = recording.finish(&story.out(), &mut story.apart.machine.clone(), &mut |_, _| {
            at += 1;
            at != (buffers * share / 12).max(1)
        });
        if stopped.is_err() {
            go_on(&story, &story.lanes(), 0).unwrap();
        }
        assert_eq!(events(&take_apart(&story.out())), events(&story.apart), "{share}");
    }
}

#[test]
fn what_of_a_ring_was_not_wanted_is_not_there_when_others_go_on() {
    let story = long(Scenario::Heap);
    let (first, last) = (story.apart.events[0].time, story.apart.events.last().unwrap().time);
    let ring = Some(Ring::Time(Duration::from_nanos((last - first) as u64 * 100 / 2)));
    let record = || {
        let recording = story.record_on(ring, FULL);
        deliver(&recording, &story.apart.events, [0; 4], |_, _| {});
        recording
    };
    let mut count = 0;
    record()
        .finish(&story.out(), &mut story.apart.machine.clone(), &mut |_, _| {
            count += 1;
            true
        })
        .unwrap();
    let undisturbed = events(&take_apart(&story.out()));
    assert!(undisturbed.len() < story.apart.events.len() * 3 / 4);
    let mut at = 0;
    record()
        .finish(&story.out(), &mut story.apart.machine.clone(), &mut |_, _| {
            at += 1;
            at != count / 2
        })
        .unwrap_err();
    assert!(is_unfinished(&story.lanes()));
    go_on(&story, &story.lanes(), 0).unwrap();
    assert_eq!(events(&take_apart(&story.out())), undisturbed);
}

#[test]
fn lanes_that_somebody_reads_stay_however_little_room_there_is() {
    let story = small();
    let recording = recorded(&story, [0; 4]).keep_lanes();
    let before = files(&story.lanes());
    let mut machine = story.apart.machine.clone();
    recording
        .finish(&story.out(), &mut machine, &mut |_, _| {
            assert_eq!(files(&story.lanes()), before);
            true
        })
        .unwrap();
    assert_eq!(files(&story.lanes()), before);
    assert_same(story.open(), open(std::slice::from_ref(&story.original)), "the lanes are still there");
    let lanes = open(&before);
    assert_eq!(lanes.rows.len(), open(std::slice::from_ref(&story.original)).rows.len());
}

#[test]
fn damaged_parts_do_not_keep_the_rest_from_being_made() {
    let story = small();
    drop(recorded(&story, [0; 4]));
    let part = story.lanes().join("heap-0002.etl");
    let mut bytes = std::fs::read(&part).unwrap();
    let end = bytes.len();
    bytes[end / 2..end / 2 + 64].fill(0xAA);
    std::fs::write(&part, bytes).unwrap();
    std::fs::write(story.lanes().join("heap-0003.etl"), []).unwrap();
    let undisturbed = story.folder.path().join("copy");
    copy(&story.lanes(), &undisturbed);
    let summary = recover(&undisturbed, &story.out(), &mut story.apart.machine.clone(), &mut |_, _| true).unwrap();
    let expected = events(&take_apart(&story.out()));
    let told = |summary: &Summary| summary.problems.iter().map(|problem| problem.kind).collect::<Vec<_>>();
    let again = go_on(&story, &story.lanes(), 0).unwrap();
    assert_eq!(told(&again), told(&summary));
    assert!(told(&again).contains(&ProblemKind::UnreadableFile));
    assert_eq!(events(&take_apart(&story.out())), expected);
    assert_eq!(files(&story.lanes()), [story.lanes().join("heap-0003.etl")], "what was not read is not removed");
}
