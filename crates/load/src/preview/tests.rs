//! A preview is equal to an unfinished load at the same moment; and the cases in which there is none.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use highwater_dev::synth::{Options, Scenario, StackForm, generate};
use proptest::prelude::*;

use super::*;
use crate::etl::compression::Algorithm;
use crate::etl::write::Writer;
use crate::etl::{BufferKind, SessionHeader};
use crate::events::encode::RecordWriter;
use crate::events::{Event, Record};
use crate::load_planned;
use crate::model::{NodeId, Row};
use crate::units::{Layer, Pid, Ticks, Tid};

/// An observer that keeps what is published.
#[derive(Clone, Default)]
struct Kept {
    traces: Arc<Mutex<Vec<Trace>>>,
    wants_none: bool,
    shown_to: Option<i64>,
    /// Stops the load after so many publications.
    stop_after: Option<usize>,
}

impl Kept {
    fn count(&self) -> usize {
        self.traces.lock().unwrap().len()
    }

    fn take(&self) -> Vec<Trace> {
        std::mem::take(&mut self.traces.lock().unwrap())
    }
}

impl Watch for Kept {
    fn progress(&mut self, _done: u64, _total: u64) -> bool {
        self.stop_after.is_none_or(|most| self.count() < most)
    }

    fn publish(&mut self, trace: Trace) {
        self.traces.lock().unwrap().push(trace);
    }

    fn wants_trace(&self) -> bool {
        !self.wants_none
    }

    fn shown_to(&self) -> i64 {
        self.shown_to.unwrap_or(i64::MIN)
    }
}

/// The trace that a preview of the first bytes of a file publishes, and up to when.
fn previewed(path: &Path, bytes: u64) -> Option<(i64, Trace)> {
    let kept = Kept::default();
    let watch = Silent { stop: Arc::default(), watch: kept.clone() };
    let until = look(&Source::open_file(path).unwrap(), "a.etl", bytes, &Plan::default(), watch);
    let trace = kept.take().pop();
    assert_eq!(until.is_some(), trace.is_some());
    until.zip(trace)
}

/// Whether each processor of a file has a buffer in its beginning.
fn has_all_processors(path: &Path, bytes: u64) -> bool {
    let source = Source::open_file(path).unwrap();
    let mut watch = Silent { stop: Arc::default(), watch: Kept::default() };
    let beginning = beginning(&source, "a.etl", bytes, &mut watch).unwrap();
    let processors = |file: &TraceFile| -> BTreeSet<u16> {
        let with_events = file.buffers.iter().filter(|buffer| buffer.kind == BufferKind::Events);
        with_events.map(|buffer| buffer.processor).collect()
    };
    processors(&beginning) == processors(&TraceFile::open(path).unwrap())
}

/// The trace that a load publishes if it stands at a raw time.
fn standing(path: &Path, until: i64) -> Trace {
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let plan = Plan::default();
    let machine = capture.machine_in_headers();
    let about = About { capture: &capture, plan: &plan, losses: Default::default(), machine, tells_scope: true };
    let mut merge = Merge::new(&capture.files);
    // It would publish on the way, too.
    let mut kept = Kept { stop_after: Some(1), shown_to: Some(until - 1), ..Kept::default() };
    let result = Replay::new(about.builder()).run(&mut merge, &about, &mut kept, |_, _| until);
    assert_eq!(result, Err(Stopped));
    kept.take().remove(0)
}

/// Rows, processes and heaps of a trace, as text.
fn told(trace: &Trace) -> Vec<String> {
    let frames = |stack: NodeId| -> Vec<u64> { trace.stacks.chain(stack).map(|node| trace.stacks.address(node)).collect() };
    let row = |row: Row| {
        let (site, freed) = (trace.site(row.site), row.freed_at.map(|site| trace.free_sites[site.0 as usize]));
        let freed = freed.map(|site| (frames(site.stack), site.caller));
        format!(
            "{:?} {:?} {:#x} {} {:?} {} {:?} {:x?} {freed:x?}",
            row.birth,
            row.death,
            row.address,
            row.size,
            row.thread,
            row.is_cross_thread,
            (site.heap, site.caller),
            frames(site.stack)
        )
    };
    let rows = trace.rows.chunks().flat_map(|chunk| chunk.rows().map(|(_, it)| row(it)).collect::<Vec<_>>());
    let state = format!("{:?} {} rows", trace.span, trace.rows.len());
    let sources = trace.processes.iter().map(|it| format!("{it:?}")).chain(trace.heaps.iter().map(|it| format!("{it:?}")));
    let quality = &trace.quality;
    let doubts = (quality.unmatched_frees, quality.superseded_allocations, quality.inferred_frees);
    [state, format!("{doubts:?}")].into_iter().chain(sources).chain(rows).collect()
}

/// The first lines that differ.
fn difference(a: &[String], b: &[String]) -> Option<(String, String)> {
    let differ = || a.iter().zip(b).find(|(a, b)| a != b).map(|(a, b)| (a.clone(), b.clone()));
    differ().or_else(|| (a.len() != b.len()).then(|| (a.len().to_string(), b.len().to_string())))
}

fn options() -> impl Strategy<Value = Options> {
    let scenario = prop_oneof![Just(Scenario::Heap), Just(Scenario::Commit), Just(Scenario::Trackers)];
    let stacks = prop_oneof![Just(StackForm::None), Just(StackForm::Walk), Just(StackForm::Keys)];
    let compressed = prop::option::of(prop::sample::select(&Algorithm::ALL[..]));
    (any::<u64>(), scenario, stacks, compressed, 1u16..6, any::<bool>(), 10_000u64..30_000).prop_map(
        |(seed, scenario, stacks, compressed, processors, more, events)| Options {
            seed,
            scenario,
            stacks,
            compressed,
            processors,
            events,
            free_stacks: more,
            mixed_headers: more,
            counters: more,
            faults: more,
            distinct_stacks: 200,
            live: 2_000,
            ..Options::default()
        },
    )
}

fn generated(options: &Options) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    generate(options, file.reopen().unwrap()).unwrap();
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 8, ..ProptestConfig::default() })]

    #[test]
    fn a_preview_is_what_the_load_publishes_at_its_end(options in options(), share in 0.2f64..0.9) {
        let file = generated(&options);
        let length = file.as_file().metadata().unwrap().len();
        let read = (length as f64 * share) as u64 * if options.compressed.is_some() { COMPRESSED_SHARE } else { 1 };
        prop_assume!(has_all_processors(file.path(), read));
        let (until, preview) = previewed(file.path(), read).expect("each processor has a buffer");
        prop_assert!(!preview.complete && !preview.rows.is_empty());
        prop_assert_eq!(difference(&told(&preview), &told(&standing(file.path(), until))), None, "up to {}", until);
    }
}

/// A trace of a processor each, whose events have these times, in buffers of 1 KiB.
fn of_processors(session: SessionHeader, events: &[(u16, i64)]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let session = SessionHeader { buffer_size: 1 << 10, processors: 3, start_ticks: 1_000, ..session };
    let mut writer = RecordWriter::new(Writer::new(file.reopen().unwrap(), session).unwrap());
    for &(processor, time) in events {
        let event = Event::Alloc { layer: Layer::Heap, heap: 0x1D_0000, address: 16 * time as u64, size: 8 };
        let record = Record { time: 1_000 + time, pid: Pid(4), tid: Tid(8), event };
        writer.put(processor, &record, &[]).unwrap();
    }
    writer.finish().unwrap();
    file
}

/// Many events of the first processor, with these of others.
fn mostly_first(others: &[(u16, i64)]) -> Vec<(u16, i64)> {
    let mut events: Vec<(u16, i64)> = (1..2_000).map(|i| (0, 10 * i)).chain(others.iter().copied()).collect();
    events.sort_by_key(|&(_, time)| time);
    events
}

fn preview_of(session: SessionHeader, events: &[(u16, i64)]) -> Option<(i64, Trace)> {
    let file = of_processors(session, events);
    let length = file.as_file().metadata().unwrap().len();
    previewed(file.path(), length / 2)
}

#[test]
fn a_preview_reaches_as_far_as_each_processor_that_has_a_buffer_in_it() {
    let default = SessionHeader::default;
    let (alone, trace) = preview_of(default(), &mostly_first(&[])).unwrap();
    assert!((1_000 + 8_000..1_000 + 12_000).contains(&alone), "{alone}");
    assert_eq!(trace.span.to, Ticks(alone - 1_000 + 1));
    assert_eq!(trace.rows.len() as i64, (alone - 1_000) / 10, "each event up to then");
    // The second processor fills a buffer by 3 ms, and then no other for a long time.
    let early: Vec<(u16, i64)> = (0..60).map(|i| (1, 5 + 50 * i)).chain([(1, 15_000)]).collect();
    let (both, _) = preview_of(default(), &mostly_first(&early)).unwrap();
    assert!(both < 1_000 + 3_000 && both > 1_000, "{both}");
    // A processor without a buffer in the beginning is not waited for.
    let (late, _) = preview_of(default(), &mostly_first(&[(2, 15), (2, 19_000)])).unwrap();
    assert!((1_000 + 8_000..1_000 + 12_000).contains(&late), "{late}");
}

#[test]
fn a_circular_file_has_no_preview() {
    let circular = SessionHeader { mode: mode::CIRCULAR, ..SessionHeader::default() };
    assert!(preview_of(circular, &mostly_first(&[])).is_none());
}

#[test]
fn a_damaged_beginning_makes_none() {
    let file = of_processors(SessionHeader::default(), &mostly_first(&[]));
    let bytes = std::fs::read(file.path()).unwrap();
    let of = |damaged: Vec<u8>| {
        std::fs::write(file.path(), damaged).unwrap();
        previewed(file.path(), bytes.len() as u64 / 2)
    };
    assert!(of(bytes.clone()).is_some());
    assert!(of(vec![0; bytes.len()]).is_none());
    assert!(of(bytes.iter().map(|byte| !byte).collect()).is_none());
    // The session header event, behind the header of the buffer.
    let mut header = bytes.clone();
    header[0x48..0x148].fill(0xEE);
    assert!(of(header).is_none());
    // All buffers but the first.
    let mut events = bytes.clone();
    events[1 << 10..].fill(0xEE);
    assert!(of(events).is_none());
}

#[test]
fn too_little_memory_makes_none() {
    let file = of_processors(SessionHeader::default(), &mostly_first(&[]));
    let bytes = file.as_file().metadata().unwrap().len();
    let kept = Kept::default();
    let plan = Plan { budget: 10_000, ..Plan::default() };
    let preview = Preview::of_first(bytes / LEAST_TIMES, &[Input::File(file.path().to_owned())], plan, kept.clone()).unwrap();
    assert_eq!((finished(preview), kept.count()), (None, 0));
}

/// The result of a preview that is not stopped.
fn finished(mut preview: Preview) -> Option<i64> {
    preview.thread.take()?.join().unwrap()
}

#[test]
fn only_a_single_large_file_gets_a_preview() {
    let file = of_processors(SessionHeader::default(), &mostly_first(&[]));
    let bytes = file.as_file().metadata().unwrap().len();
    let input = || Input::File(file.path().to_owned());
    let start = |read: u64, inputs: &[Input]| {
        let kept = Kept::default();
        let preview = Preview::of_first(read, inputs, Plan::default(), kept.clone())?;
        Some((finished(preview).is_some(), kept.count()))
    };
    assert_eq!(start(bytes / LEAST_TIMES, &[input()]), Some((true, 1)));
    assert_eq!(start(bytes / LEAST_TIMES + 1, &[input()]), None, "it is too small");
    assert_eq!(start(1, &[input(), input()]), None, "they may be of several captures");
    assert_eq!(start(1, &[Input::Demo]), None);
    assert_eq!(start(1, &[Input::File(file.path().with_extension("missing"))]), None);
    assert_eq!(start(1, &[Input::File(file.path().parent().unwrap().to_owned())]), None);
    assert!(Preview::start(&[input()], Plan::default(), Kept::default()).is_none());
}

#[test]
fn dropping_a_preview_ends_its_thread() {
    let file = of_processors(SessionHeader::default(), &mostly_first(&[]));
    let bytes = file.as_file().metadata().unwrap().len();
    let inputs = [Input::File(file.path().to_owned())];
    // One that waits until a trace is wanted, and others at any moment.
    for (wants_none, wait) in [(true, 20), (false, 0), (false, 1), (false, 3), (false, 200)] {
        let kept = Kept { wants_none, ..Kept::default() };
        let preview = Preview::of_first(bytes / LEAST_TIMES, &inputs, Plan::default(), kept.clone()).unwrap();
        thread::sleep(Duration::from_millis(wait));
        let begin = Instant::now();
        let shown = preview.end();
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert_eq!(Arc::strong_count(&kept.traces), 1, "the thread has gone");
        assert_eq!(kept.count(), usize::from(shown.is_some()));
        assert!(!wants_none || shown.is_none());
    }
}

#[test]
fn a_preview_stops_when_its_load_does() {
    let file = of_processors(SessionHeader::default(), &mostly_first(&[]));
    let kept = Kept { wants_none: true, stop_after: Some(0), ..Kept::default() };
    let preview = Preview::of_first(1, &[Input::File(file.path().to_owned())], Plan::default(), kept).unwrap();
    assert_eq!(finished(preview), None);
}

#[test]
fn a_panic_of_an_observer_is_silent() {
    struct Panics;
    impl Watch for Panics {
        fn progress(&mut self, _done: u64, _total: u64) -> bool {
            true
        }
        fn publish(&mut self, _trace: Trace) {
            panic!("an observer panics");
        }
    }
    let file = of_processors(SessionHeader::default(), &mostly_first(&[]));
    let bytes = file.as_file().metadata().unwrap().len() / LEAST_TIMES;
    let preview = Preview::of_first(bytes, &[Input::File(file.path().to_owned())], Plan::default(), Panics).unwrap();
    assert_eq!(finished(preview), None);
}

#[test]
fn a_load_publishes_nothing_that_reaches_less_far_than_its_preview() {
    let file = generated(&Options { events: 200_000, live: 2_000, ..Options::default() });
    let bytes = file.as_file().metadata().unwrap().len();
    let (until, preview) = previewed(file.path(), bytes / 2).unwrap();
    let capture = Capture::open(&[Input::File(file.path().to_owned())]).unwrap();
    let published = |shown_to| {
        let mut kept = Kept { shown_to, ..Kept::default() };
        let whole = load_planned(&capture, &Plan::default(), &mut kept).unwrap();
        (kept.take(), told(&whole))
    };
    let (with, whole) = published(Some(until));
    let (_, same) = published(None);
    assert_eq!(difference(&whole, &same), None);
    assert!(with.iter().all(|trace| trace.span.to > preview.span.to), "{:?}", with.iter().map(|it| it.span).collect::<Vec<_>>());
    assert!(published(Some(i64::MAX)).0.is_empty());
}
