//! Losses in the trace and in what is said of it.

use std::io::Cursor;
use std::path::Path;

use crate::common::{corpus, highwater, json};
use highwater::etl::write::{Loss as Lost, Writer};
use highwater::etl::{SessionHeader, Source, TraceFile};
use highwater::events::encode::RecordWriter;
use highwater::events::{Event, Lost as Told, Record};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{Loss, LostWhat, Trace};
use highwater::problem::Problems;
use highwater::units::{Interval, Layer, Pid, Ticks, Tid};
use highwater_dev::synth::{Options, generate};

const START: i64 = 1_000;
const SECOND: i64 = 10_000_000;

struct Story(RecordWriter<Cursor<Vec<u8>>>);

impl Story {
    fn new() -> Self {
        let session = SessionHeader { processors: 2, start_ticks: START, buffer_size: 8 << 10, ..SessionHeader::default() };
        Self(RecordWriter::new(Writer::new(Cursor::new(Vec::new()), session).unwrap()))
    }

    fn tell(&mut self, processor: u16, at: i64, event: Event) {
        let record = Record { time: START + at, pid: Pid(7), tid: Tid(70), event };
        self.0.put(processor, &record, &[]).unwrap();
    }

    fn alloc(&mut self, processor: u16, at: i64) {
        let event = Event::Alloc { layer: Layer::Heap, heap: 0x50, address: 0x1000 + at as u64, size: 8 };
        self.tell(processor, at, event);
    }

    fn bytes(self) -> Vec<u8> {
        self.0.finish().unwrap().into_inner()
    }
}

fn trace(name: &str, bytes: Vec<u8>) -> Trace {
    let file = TraceFile::from_source(Source::Memory(bytes.leak()), name.to_owned()).unwrap();
    load(&Capture { files: vec![file], problems: Problems::default() }, &mut Unwatched).unwrap()
}

/// A block each second on each of two processors; that of the first at 3 s is lost.
fn lossy() -> Vec<u8> {
    let mut story = Story::new();
    for second in 1..=5 {
        story.alloc(0, second * SECOND);
        story.alloc(1, second * SECOND + 10);
        if second == 3 {
            assert!(story.0.writer().drop_buffer(0).unwrap());
        }
        story.0.writer().flush().unwrap();
    }
    story.bytes()
}

#[test]
fn a_lost_buffer_has_its_place_in_the_trace() {
    let trace = trace("game.etl", lossy());
    let loss = Loss {
        interval: Interval { from: Ticks(2 * SECOND), to: Ticks(4 * SECOND) },
        file: "game.etl".into(),
        what: LostWhat::Buffers,
        count: Some(1),
        processor: Some(0),
    };
    assert_eq!(trace.losses.as_ref(), [loss]);
    assert_eq!(trace.exact_until(), Some(Ticks(2 * SECOND)));
    assert_eq!((trace.rows.len(), trace.quality.buffers_lost), (9, 1));
}

#[test]
fn nothing_lost_is_exact_to_the_end() {
    let mut story = Story::new();
    story.alloc(0, SECOND);
    let trace = trace("game.etl", story.bytes());
    assert!(trace.losses.is_empty());
    assert_eq!(trace.exact_until(), None);
}

#[test]
fn events_of_real_time_sessions_tell_of_losses_just_before_them() {
    let mut story = Story::new();
    story.alloc(0, SECOND);
    story.tell(1, 2 * SECOND, Event::Lost(LostWhat::Events.into()));
    let details = Some((START + 2 * SECOND + SECOND / 2, 9));
    story.tell(1, 3 * SECOND, Event::Lost(Told { what: LostWhat::Buffers, details }));
    story.0.writer().note_loss(1, Lost::Events(4)).unwrap();
    let trace = trace("live.etl", story.bytes());
    let told: Vec<_> = trace.losses.iter().map(|l| (l.interval.from.0, l.interval.to.0, l.what, &*l.file)).collect();
    let expected = [
        (0, 2 * SECOND, LostWhat::Events, "live.etl"),
        (2 * SECOND, 2 * SECOND, LostWhat::Events, ""),
        (2 * SECOND + SECOND / 2, 3 * SECOND, LostWhat::Buffers, ""),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_loss_without_a_place_can_have_been_at_any_time() {
    let Some(corpus) = corpus() else { return };
    // The session says that it lost three events, and no buffer does.
    let inputs = [Input::File(corpus.join("AMSITrace.etl"))];
    let trace = load(&Capture::open(&inputs).unwrap(), &mut Unwatched).unwrap();
    assert_eq!((trace.quality.events_lost, trace.losses.len()), (3, 0));
    assert_eq!(trace.exact_until(), Some(trace.span.from));
}

#[test]
fn numbers_missing_from_real_files_that_lost_nothing_are_no_losses() {
    let Some(corpus) = corpus() else { return };
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "etl") {
            let file = TraceFile::open(&path).unwrap();
            assert_eq!(highwater::events::losses(&file, || true), [], "{}", path.display());
        }
    }
}

#[test]
fn generated_losses_are_all_found() {
    let options = Options { events: 60_000, distinct_stacks: 100, live: 2000, lost_buffers: 5, ..Options::default() };
    let trace = trace("synth.etl", generate(&options, Cursor::new(Vec::new())).unwrap().into_inner());
    assert_eq!((trace.quality.buffers_lost, trace.losses.len()), (5, 5));
    assert!(trace.losses.iter().all(|loss| loss.interval.from < loss.interval.to && loss.interval.to < trace.span.to));
    assert!(trace.losses.is_sorted_by_key(|loss| loss.interval.from));
    assert!(trace.quality.unmatched_frees + trace.quality.superseded_allocations > 0, "blocks are missing");
}

fn file(folder: &Path) -> String {
    let path = folder.join("game.etl");
    std::fs::write(&path, lossy()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_text_says_from_when_on_totals_are_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path());
    let whole = highwater(["report", &file]).out;
    assert!(whole.contains("1 buffer was lost. So totals are bounds after 2 s:"), "{whole}");
    let before = highwater(["report", &file, "--to", "2"]).out;
    assert!(before.contains("The first loss is after 2 s, so nothing of it is in these totals."), "{before}");
    let info = highwater(["info", &file]).out;
    assert!(info.contains("1 buffer: totals after the first loss are bounds"), "{info}");
}

#[test]
fn the_machine_interface_says_of_losses_what_it_always_said() {
    let folder = tempfile::tempdir().unwrap();
    let report = json(["report", &file(folder.path()), "--json"]);
    let mut keys: Vec<_> = report.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["doubts", "groups", "interval", "quality", "schema"]);
    let quality = report["quality"].as_object().unwrap();
    assert_eq!((quality.len(), &quality["buffers_lost"], &quality["inferred_frees"]), (7, &1.into(), &0.into()));
}
