//! A recording is a trace: what sessions delivered, lane by lane and late, is in the
//! end what one file would have held; of a ring, what is kept is right; and what was
//! lost is told.

mod short_of_room;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::lanes::{Apart, Delivered, Machine, deliver, later, take_apart};
use crate::common::told::{difference, told};
use highwater::capture::{CaptureError, Lane, Recording, Ring, Session, Storage, Summary, recover};
use highwater::etl::write::Loss;
use highwater::etl::{EventId, HeaderKind, Problems, TraceFile};
use highwater::load::{Capture, Input, Plan, Unwatched, follow, load};
use highwater::model::{Row, Trace};
use highwater::platform::DiskSpace;
use highwater::problem::ProblemKind;
use highwater::units::{Layer, Ticks};
use highwater_dev::synth::{Options, Scenario, StackForm, generate};
use tempfile::TempDir;

/// Ticks.
const SECOND: i64 = 10_000_000;

/// A generated trace on disk, the same taken apart, and a folder for what is recorded.
struct Story {
    folder: TempDir,
    original: PathBuf,
    apart: Apart,
}

impl Story {
    fn new(options: &Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let original = folder.path().join("original.etl");
        generate(options, std::fs::File::create(&original).unwrap()).unwrap();
        let apart = take_apart(&original);
        Self { folder, original, apart }
    }

    fn lanes(&self) -> PathBuf {
        self.folder.path().join("lanes")
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out.etl")
    }

    /// Makes place for a trace: none is written over.
    fn clear(&self) {
        std::fs::remove_file(self.out()).unwrap_or_default();
    }

    fn record(&self, ring: Option<Ring>) -> Recording {
        self.clear();
        Recording::create(&self.lanes(), &self.apart.session, ring).unwrap()
    }

    /// The same, with parts and buffers that are short and a disk of which that is known.
    fn record_on(&self, ring: Option<Ring>, space: Option<DiskSpace>) -> Recording {
        self.clear();
        let session = Session { buffer_size: 16 << 10, ..self.apart.session.clone() };
        Recording::create_on(&self.lanes(), &session, ring, on(space)).unwrap()
    }

    fn finish(&self, recording: Recording) -> (Summary, Machine) {
        let mut machine = self.apart.machine.clone();
        (recording.finish(&self.out(), &mut machine, &mut |_, _| true).unwrap(), machine)
    }

    fn open(&self) -> Trace {
        open(&[self.out()])
    }
}

/// The files in a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// How many parts of a lane there are.
fn parts_of(folder: &Path, lane: &str) -> usize {
    files(folder).iter().filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{lane}-"))).count()
}

/// Bytes of all files in a folder; none if it is gone.
fn bytes_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    // One can go away just then. What the folder says of a file that is open can be old.
    entries.filter_map(|entry| std::fs::metadata(entry.ok()?.path()).ok()).map(|file| file.len()).sum()
}

fn open(paths: &[PathBuf]) -> Trace {
    let inputs: Vec<_> = paths.iter().cloned().map(Input::File).collect();
    load(&Capture::open(&inputs).unwrap(), &mut Unwatched).unwrap()
}

/// Short parts, and a disk of which that is known.
fn on(space: Option<DiskSpace>) -> Storage {
    Storage { part_bytes: 64 << 10, space: Arc::new(move |_| space) }
}

fn options(scenario: Scenario, stacks: StackForm) -> Options {
    Options { scenario, stacks, events: 6000, distinct_stacks: 100, live: 500, ..Options::default() }
}

fn small() -> Story {
    Story::new(&options(Scenario::Heap, StackForm::Walk))
}

/// All that the trace says, and all of its modules. How often it says the same of an
/// image (two events each time) does not matter.
fn all_of(mut trace: Trace) -> Vec<String> {
    trace.counts.total -= 2 * std::mem::take(&mut trace.counts.image_id_rsds);
    let modules = trace
        .processes
        .iter()
        .flat_map(|process| process.modules.iter().map(|module| format!("{} {module:?}", process.label())).collect::<Vec<_>>());
    let mut all: Vec<String> = modules.collect();
    all.push(format!("{:?}", trace.volumes));
    all.extend(told(trace));
    all
}

fn assert_same(recorded: Trace, original: Trace, what: &str) {
    assert_eq!(difference(&all_of(recorded), &all_of(original)), None, "{what}");
}

/// Lanes that are late in different ways.
const DELAYS: [[i64; 4]; 3] = [[0; 4], [0, 0, SECOND, 2 * SECOND], [0, SECOND, 300, 0]];

#[test]
fn a_finished_recording_is_the_trace_that_was_delivered() {
    let mut stories: Vec<(String, Story)> = Vec::new();
    for scenario in [Scenario::Heap, Scenario::Commit, Scenario::Trackers] {
        for stacks in [StackForm::Walk, StackForm::Keys] {
            stories.push((format!("{scenario:?} {stacks:?}"), Story::new(&options(scenario, stacks))));
        }
    }
    let mixed = Options {
        mixed_headers: true,
        wow64: true,
        processors: 7,
        counters: true,
        pix: true,
        ..options(Scenario::Heap, StackForm::Walk)
    };
    stories.push(("mixed".to_owned(), Story::new(&mixed)));
    stories.push(("demo".to_owned(), Story::new(&Options { scenario: Scenario::Demo, ..Options::default() })));
    for (what, story) in stories {
        for delays in DELAYS {
            let recording = story.record(None);
            deliver(&recording, &story.apart.events, delays, |_, _| {});
            assert_eq!(recording.status().events(), story.apart.events.len() as u64);
            let (summary, machine) = story.finish(recording);
            assert_eq!((summary.lost_events, summary.lost_buffers), (0, 0));
            assert_eq!(summary.problems, []);
            assert_eq!(summary.bytes, std::fs::metadata(story.out()).unwrap().len());
            assert_eq!(summary.images, summary.images_identified, "{what}");
            assert!(machine.asked.values().all(|&n| n == 1), "a file is read once: {:?}", machine.asked);
            assert_same(story.open(), open(std::slice::from_ref(&story.original)), &what);
            assert!(!story.lanes().exists(), "lanes go when the trace is complete");
        }
    }
}

#[test]
fn the_lanes_are_a_trace_at_any_time() {
    let story = small();
    let recording = story.record(None);
    deliver(&recording, &story.apart.events, [0; 4], |_, _| {});
    recording.flush_if_due(later()).unwrap();
    let files = files(&story.lanes());
    assert_eq!(files.len(), 6, "the context of three sessions, and a part of each lane: {files:?}");
    let lanes = open(&files);
    let whole = open(std::slice::from_ref(&story.original));
    assert_eq!(lanes.rows.len(), whole.rows.len());
    assert_eq!(lanes.quality, whole.quality);
    assert_eq!(recording.status().on_disk(), bytes_of(&story.lanes()));
}

#[test]
fn lanes_are_cut_into_parts_and_the_context_is_not() {
    for scenario in [Scenario::Heap, Scenario::Commit, Scenario::Trackers] {
        let story = Story::new(&options(scenario, StackForm::Walk));
        let recording = story.record_on(None, None);
        deliver(&recording, &story.apart.events, DELAYS[1], |_, _| {});
        recording.flush_if_due(later()).unwrap();
        let lane = match scenario {
            Scenario::Commit => "pages",
            Scenario::Trackers => "user",
            _ => "heap",
        };
        assert!(parts_of(&story.lanes(), lane) > 4, "{:?}", files(&story.lanes()));
        assert_eq!(parts_of(&story.lanes(), "context"), 2, "beside context.etl");
        assert_eq!(recording.status().on_disk(), bytes_of(&story.lanes()));
        story.finish(recording);
        assert_same(story.open(), open(std::slice::from_ref(&story.original)), lane);
    }
}

#[test]
fn what_names_things_goes_to_the_context_whoever_delivers_it() {
    let story = small();
    let recording = story.record(None);
    deliver(&recording, &story.apart.events, [0; 4], |_, _| {});
    let events = |lane: Lane| recording.status().lanes[lane as usize].events;
    let lanes = Lane::ALL.map(events);
    let delivered = |lane: Lane| story.apart.events.iter().filter(|event| event.lane == lane).count() as u64;
    assert!(lanes[0] > 0 && lanes[2] > 0 && lanes.iter().sum::<u64>() == story.apart.events.len() as u64, "{lanes:?}");
    assert!(events(Lane::Heap) < delivered(Lane::Heap), "a heap begins in the context");
}

#[test]
fn a_recording_says_once_and_for_all_that_there_is_no_room() {
    const TB: u64 = 1 << 40;
    let story = small();
    let free = Arc::new(AtomicU64::new(TB / 2));
    let told = Arc::clone(&free);
    let space = move |_: &Path| Some(DiskSpace { free: told.load(Ordering::SeqCst), total: TB });
    let storage = Storage { space: Arc::new(space), ..Storage::default() };
    let recording = Recording::create_on(&story.lanes(), &story.apart.session, None, storage).unwrap();
    let now = std::time::Instant::now();
    recording.flush_if_due(now).unwrap();
    free.store((19 << 30) / 10, Ordering::SeqCst);
    recording.flush_if_due(now + Duration::from_millis(100)).unwrap();
    assert_eq!(recording.is_out_of_room(), None, "it is looked at once a second");
    recording.flush_if_due(now + Duration::from_secs(1)).unwrap();
    let end = Some("only 1.9 GB are left on this disk".to_owned());
    assert_eq!(recording.is_out_of_room(), end);
    free.store(TB / 2, Ordering::SeqCst);
    recording.flush_if_due(now + Duration::from_secs(2)).unwrap();
    assert_eq!(recording.is_out_of_room(), end);
    deliver(&recording, &story.apart.events, [0; 4], |_, _| {});
    story.finish(recording);
    assert_same(story.open(), open(std::slice::from_ref(&story.original)), "lanes go on until they are ended");
}

#[test]
fn folders_of_earlier_recorders_are_recovered() {
    let story = small();
    let path = |name: &str| story.lanes().join(name);
    let (of_kernel, others): (Vec<_>, Vec<_>) = story.apart.events.iter().cloned().partition(|event| event.lane == Lane::Pages);
    let recording = story.record(None);
    deliver(&recording, &of_kernel, [0; 4], |_, _| {});
    let kernel = story.folder.path().join("kernel.etl");
    recording.finish(&kernel, &mut Machine::default(), &mut |_, _| true).unwrap();
    let recording = story.record(None);
    deliver(&recording, &others, [0; 4], |_, _| {});
    drop(recording);
    for name in ["context.etl", "context-user.etl", "pages-0001.etl"] {
        std::fs::remove_file(path(name)).unwrap();
    }
    std::fs::rename(kernel, path("kernel.etl")).unwrap();
    for (now, then) in [("context-heap.etl", "context.etl"), ("heap-0001.etl", "heap.etl"), ("user-0001.etl", "user.etl")] {
        std::fs::rename(path(now), path(then)).unwrap();
    }
    assert!(Input::File(story.lanes()).is_recording());
    let mut seen = follow(&[Input::File(story.lanes())], &Plan::default(), &mut Unwatched).unwrap();
    seen.counts.total -= 2 * std::mem::take(&mut seen.counts.image_id_rsds);
    let original = open(std::slice::from_ref(&story.original));
    assert_eq!(seen.rows.len(), original.rows.len());
    recover(&story.lanes(), &story.out(), &mut story.apart.machine.clone(), &mut |_, _| true).unwrap();
    assert_same(story.open(), original, "recovered");
}

#[test]
fn what_came_is_in_the_file_after_a_second_also_if_nothing_more_comes() {
    let story = small();
    let recording = story.record(None);
    let heap = || TraceFile::open(&story.lanes().join("heap-0001.etl")).unwrap().buffers.len();
    let event = story.apart.events.iter().rfind(|event| event.lane == Lane::Heap).unwrap();
    let mut writer = recording.lane(Lane::Heap);
    let began = std::time::Instant::now();
    event.give(&mut writer);
    assert_eq!(heap(), 1, "its buffer is open");
    recording.flush_if_due(later()).unwrap();
    assert_eq!(heap(), 2);
    event.give(&mut writer);
    recording.flush_if_due(began).unwrap();
    assert_eq!(heap(), 2, "it was flushed just before");
    recording.flush_if_due(later() + Duration::from_secs(3600)).unwrap();
    recording.flush_if_due(later() + Duration::from_secs(7200)).unwrap();
    assert_eq!(heap(), 3, "nothing waits any more");
}

#[test]
fn a_recording_that_nobody_ended_is_recovered_from_its_lanes() {
    let story = small();
    let recording = story.record(None);
    deliver(&recording, &story.apart.events, [0, 0, SECOND, 0], |_, _| {});
    recording.flush_if_due(later()).unwrap();
    // The machine went down while a buffer was written.
    std::mem::forget(recording);
    let heap = story.lanes().join("heap-0001.etl");
    let mut bytes = std::fs::read(&heap).unwrap();
    let half = bytes[bytes.len() / 2..].to_vec();
    bytes.extend_from_slice(&half[..30]);
    std::fs::write(&heap, bytes).unwrap();
    let summary = recover(&story.lanes(), &story.out(), &mut story.apart.machine.clone(), &mut |_, _| true).unwrap();
    assert_eq!(summary.problems.len(), 1, "{:?}", summary.problems);
    assert_same(story.open(), open(std::slice::from_ref(&story.original)), "recovered");
    // Its handles live on in this process, and Windows keeps a folder of open files.
    assert!(cfg!(windows) || !story.lanes().exists());
}

#[test]
fn files_that_are_no_lanes_any_more_are_told_and_the_others_recovered() {
    let story = small();
    let recording = story.record(None);
    deliver(&recording, &story.apart.events, [0; 4], |_, _| {});
    drop(recording);
    std::fs::write(story.lanes().join("user-0001.etl"), []).unwrap();
    let summary = recover(&story.lanes(), &story.out(), &mut story.apart.machine.clone(), &mut |_, _| true).unwrap();
    assert_eq!(summary.problems.iter().map(|problem| problem.kind).collect::<Vec<_>>(), [ProblemKind::UnreadableFile]);
    assert_eq!(story.open().rows.len(), open(std::slice::from_ref(&story.original)).rows.len());
    assert!(story.lanes().join("user-0001.etl").exists(), "what was not read is not removed");
}

#[test]
fn a_folder_without_lanes_has_nothing_to_recover() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.etl");
    let error = recover(folder.path(), &out, &mut Machine::default(), &mut |_, _| true).unwrap_err();
    assert!(matches!(error, CaptureError::Empty(_)), "{error}");
    assert!(!out.exists());
}

#[test]
fn a_merge_that_is_stopped_or_fails_leaves_the_lanes_and_nothing_else() {
    let story = small();
    let recording = story.record(None);
    deliver(&recording, &story.apart.events, [0; 4], |_, _| {});
    let before = (files(&story.lanes()), files(story.folder.path()));
    let mut machine = story.apart.machine.clone();
    let error = recording.finish(&story.out(), &mut machine, &mut |_, _| false).unwrap_err();
    assert!(matches!(error, CaptureError::Stopped), "{error}");
    let nowhere = story.folder.path().join("no folder").join("out.etl");
    let error = recover(&story.lanes(), &nowhere, &mut machine, &mut |_, _| true).unwrap_err();
    assert!(matches!(error, CaptureError::File { .. }), "{error}");
    let lane = story.lanes().join("heap-0001.etl");
    let error = recover(&story.lanes(), &lane, &mut machine, &mut |_, _| true).unwrap_err();
    assert!(matches!(error, CaptureError::BadRequest(_)), "{error}");
    assert_eq!((files(&story.lanes()), files(story.folder.path())), before);
    recover(&story.lanes(), &story.out(), &mut machine, &mut |_, _| true).unwrap();
    assert_same(story.open(), open(std::slice::from_ref(&story.original)), "at last");
}

#[test]
fn progress_goes_to_the_end() {
    let mut story = small();
    let recording = story.record(None);
    deliver(&recording, &story.apart.events, [0; 4], |_, _| {});
    let mut told = Vec::new();
    recording
        .finish(&story.out(), &mut story.apart.machine, &mut |done, total| {
            told.push((done, total));
            true
        })
        .unwrap();
    assert!(told.is_sorted());
    let (done, total) = *told.last().unwrap();
    assert_eq!(done, total);
}

#[test]
fn losses_are_told_in_the_status_in_the_lanes_and_in_the_trace() {
    let story = small();
    let recording = story.record(None);
    let events = &story.apart.events;
    let (first, second) = events.split_at(events.len() / 2);
    deliver(&recording, first, [0; 4], |_, _| {});
    let at = first.last().unwrap().time - 500;
    let mut heap = recording.lane(Lane::Heap);
    heap.lost(at, Loss::Events(7)).unwrap();
    heap.lost(at, Loss::Buffers(2)).unwrap();
    recording.lane(Lane::Pages).lost(at, Loss::Events(3)).unwrap();
    deliver(&recording, second, [0; 4], |_, _| {});
    let status = recording.status();
    assert_eq!((status.lost_events(), status.lost_buffers()), (10, 2));
    assert_eq!(status.lanes[Lane::Heap as usize].lost_events, 7);
    recording.flush_if_due(later()).unwrap();
    let header = TraceFile::open(&story.lanes().join("heap-0001.etl")).unwrap().header;
    assert_eq!((header.events_lost, header.buffers_lost), (7, 2), "also while it is being recorded");
    let (summary, _) = story.finish(recording);
    assert_eq!((summary.lost_events, summary.lost_buffers), (10, 2));
    let trace = story.open();
    assert_eq!((trace.quality.events_lost, trace.quality.buffers_lost), (10, 2));
    assert_eq!(trace.exact_until(), Some(Ticks::from_raw(at, story.apart.session.start_ticks)));
    let mut counts: Vec<_> = trace.losses.iter().map(|loss| loss.count.unwrap()).collect();
    counts.sort_unstable();
    assert_eq!(counts, [2, 3, 7]);
}

#[test]
fn events_that_cannot_be_written_are_lost_and_counted() {
    let story = small();
    let recording = story.record(None);
    let mut event = story.apart.events.iter().find(|event| event.lane == Lane::Heap).unwrap().clone();
    event.payload = vec![0; 1 << 16];
    event.give(&mut recording.lane(Lane::Heap));
    event.payload.clear();
    event.processor = 2000;
    event.give(&mut recording.lane(Lane::Heap));
    assert_eq!((recording.status().events(), recording.status().lost_events()), (2, 2));
    let (summary, _) = story.finish(recording);
    assert_eq!(summary.lost_events, 2);
}

#[test]
fn nothing_is_taken_after_the_end() {
    let story = small();
    let recording = story.record(None);
    let mut writer = recording.lane(Lane::Heap);
    story.finish(recording);
    assert!(matches!(writer.lost(0, Loss::Events(1)), Err(CaptureError::Ended)));
}

#[test]
fn a_folder_that_holds_a_recording_is_not_written_over() {
    let story = small();
    let recording = story.record(None);
    let error = Recording::create(&story.lanes(), &story.apart.session, None).unwrap_err();
    assert!(matches!(error, CaptureError::File { .. }), "{error}");
    drop(recording);
}

/// Rows of heaps and trackers that were born at or after `from`, in words.
fn rows_from(trace: &Trace, from: Ticks) -> HashSet<String> {
    let told = |row: Row| {
        let site = trace.site(row.site);
        let heap = trace.heap(site.heap);
        let stack: Vec<u64> = trace.stacks.chain(site.stack).map(|node| trace.stacks.address(node)).collect();
        let place = format!("{} {:?} {:?}", trace.process(heap.process).label(), heap.layer, heap.key());
        (row.birth >= from && heap.layer != Layer::Commit).then(|| {
            format!("{place} {:?} {:?} {:?} {:#x} {} {stack:x?}", row.birth, row.death, row.thread, row.address, row.size)
        })
    };
    trace.rows.chunks().flat_map(|chunk| chunk.rows().filter_map(|(_, row)| told(row)).collect::<Vec<_>>()).collect()
}

/// How many blocks of the original died from `from` on that were born before.
fn older_frees(trace: &Trace, from: Ticks) -> u64 {
    let rows = trace.rows.chunks().flat_map(|chunk| chunk.rows().map(|(_, row)| row).collect::<Vec<_>>());
    rows.filter(|row| row.birth < from && row.death >= from && row.death < Ticks::NEVER).count() as u64
}

/// Options of a trace that is long enough for a ring to go round several times.
fn long_options(scenario: Scenario) -> Options {
    Options { scenario, events: 60_000, live: 300, distinct_stacks: 100, ..Options::default() }
}

fn long(scenario: Scenario) -> Story {
    Story::new(&long_options(scenario))
}

#[test]
fn a_ring_of_time_keeps_the_last_of_it_and_what_names_things() {
    let with_pix = Options { pix: true, ..long_options(Scenario::Heap) };
    for options in [Scenario::Heap, Scenario::Commit, Scenario::Trackers].map(long_options).into_iter().chain([with_pix]) {
        let story = Story::new(&options);
        let events = &story.apart.events;
        let (first, last) = (events[0].time, events.last().unwrap().time);
        let limit = (last - first) / 4;
        let from = last - limit;
        let recording = story.record(Some(Ring::Time(Duration::from_nanos(limit as u64 * 100))));
        let mut most = 0;
        deliver(&recording, events, [0; 4], |recording, _| most = recording.status().on_disk().max(most));
        let whole: u64 = std::fs::metadata(&story.original).unwrap().len();
        assert!(most < whole / 2, "{most} of {whole} bytes");
        story.finish(recording);
        let kept = story.open();
        assert_eq!((kept.counts.pix_timing > 0, !kept.activity.marks.list.is_empty()), (options.pix, options.pix));
        // The same from a recording to which nothing else came.
        let wanted: Vec<Delivered> =
            events.iter().filter(|event| event.time >= from || event.names_something()).cloned().collect();
        assert!(wanted.len() < events.len() / 2);
        let recording = story.record(None);
        deliver(&recording, &wanted, [0; 4], |_, _| {});
        story.finish(recording);
        assert_same(kept, story.open(), &format!("{:?}: what is kept is right, names and stacks included", options.scenario));
    }
}

#[test]
fn what_a_ring_of_time_keeps_of_blocks_is_what_the_whole_has_of_them() {
    for scenario in [Scenario::Heap, Scenario::Trackers] {
        let story = long(scenario);
        let events = &story.apart.events;
        let (first, last) = (events[0].time, events.last().unwrap().time);
        let limit = (last - first) / 4;
        let recording = story.record(Some(Ring::Time(Duration::from_nanos(limit as u64 * 100))));
        deliver(&recording, events, [0; 4], |_, _| {});
        story.finish(recording);
        let (kept, original) = (story.open(), open(std::slice::from_ref(&story.original)));
        let from = Ticks::from_raw(last - limit, story.apart.session.start_ticks);
        let rows = rows_from(&kept, Ticks::BEFORE_TRACE);
        assert!(rows == rows_from(&original, from), "{scenario:?}");
        let unmatched = original.unmatched.iter().filter(|free| free.time >= from).count() as u64;
        assert_eq!(kept.quality.unmatched_frees, older_frees(&original, from) + unmatched);
        assert!(kept.quality.unmatched_frees > 0 && !rows.is_empty());
        let processes = |trace: &Trace| trace.processes.iter().map(|process| process.label()).collect::<Vec<_>>();
        assert_eq!(processes(&kept), processes(&original), "the context does not wrap");
    }
}

#[test]
fn a_ring_of_bytes_keeps_no_more_of_heaps_and_pages_than_that() {
    for (scenario, lane) in [(Scenario::Heap, Lane::Heap), (Scenario::Commit, Lane::Pages)] {
        let story = long(scenario);
        let limit = 4 << 20;
        let recording = story.record(Some(Ring::Bytes(limit)));
        let (mut most, mut of_lane) = (0, 0);
        deliver(&recording, &story.apart.events, [0; 4], |recording, _| {
            let lanes = recording.status().lanes;
            most = lanes[1..].iter().map(|lane| lane.on_disk).sum::<u64>().max(most);
            of_lane = lanes[lane as usize].on_disk.max(of_lane);
        });
        assert!(of_lane >= limit / 2 && most <= limit, "{scenario:?}: {of_lane} and {most} of {limit}");
        assert!(parts_of(&story.lanes(), lane.name()) > 4);
        story.finish(recording);
        let (kept, original) = (story.open(), open(std::slice::from_ref(&story.original)));
        let births =
            |trace: &Trace| trace.rows.chunks().flat_map(|c| c.rows().map(|(_, row)| row.birth).collect::<Vec<_>>()).min();
        let first = births(&kept).unwrap();
        assert!(first > original.span.from);
        if scenario == Scenario::Heap {
            // Pages can have been committed before, which nothing says any more.
            assert!(rows_from(&kept, first) == rows_from(&original, first));
        }
    }
}

#[test]
fn every_byte_of_an_event_is_kept() {
    let story = Story::new(&Options { mixed_headers: true, wow64: true, ..options(Scenario::Heap, StackForm::Walk) });
    let recording = story.record(None);
    deliver(&recording, &story.apart.events, DELAYS[1], |_, _| {});
    story.finish(recording);
    let again = take_apart(&story.out());
    let told = |events: &[Delivered]| {
        let mut all: Vec<_> = events.iter().map(|event| format!("{event:?}")).collect();
        all.sort();
        all
    };
    assert_eq!(told(&again.events), told(&story.apart.events));
    for event in &again.events {
        assert!(!matches!(event.id, EventId::Opaque));
    }
}

#[test]
fn events_that_come_late_are_put_where_they_belong() {
    let story = small();
    let mut events: Vec<Delivered> = story.apart.events.clone();
    // Each processor's events in small lots, every other lot before the one ahead of it.
    for lot in events.chunks_mut(8) {
        lot.reverse();
        lot.sort_by_key(|event| (event.lane as usize, event.processor));
    }
    let recording = story.record(None);
    let mut writers = Lane::ALL.map(|lane| recording.lane(lane));
    for (n, event) in events.iter().enumerate() {
        event.give(&mut writers[event.lane as usize]);
        if n % 500 == 0 {
            recording.flush_if_due(later() + Duration::from_secs(10 * n as u64)).unwrap();
        }
    }
    drop(writers);
    story.finish(recording);
    let file = TraceFile::open(&story.out()).unwrap();
    let (mut scratch, mut problems) = (Default::default(), Problems::new());
    let mut last = vec![i64::MIN; file.header.processors as usize];
    for buffer in &file.buffers[1..] {
        file.read_buffer(buffer, &mut scratch, &mut problems);
        for event in scratch.events().filter(|event| event.kind != HeaderKind::Message) {
            let last = &mut last[usize::from(buffer.processor)];
            assert!(event.time >= *last, "the order of time");
            *last = event.time;
        }
    }
}
