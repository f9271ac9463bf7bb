//! Events of providers with a manifest that is installed where they are recorded: a recording keeps what the manifest says,
//! a cut keeps it or adds it, and marks have its words.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use highwater::capture::{DiskImages, Lane, Manifests, Recording, Session};
use highwater::etl::write::{Descriptor, NewEvent};
use highwater::etl::{EventId, Guid, HeaderKind, Source, TraceFile};
use highwater::events::{Described, EventSchema, Field, InType, TrackerProviders, UndescribedKind};
use highwater::export::cut::{Request, cut};
use highwater::load::{Capture, Input, MarkProviders, Plan, Processes, Unwatched, load_planned};
use highwater::model::Trace;
use highwater::problem::Problems;
use highwater::units::{Interval, Pid, PointerSize, Ticks, Tid};

const PROVIDER: Guid = Guid::new(0x3333, 2, 3, [4; 8]);
const START: i64 = 1_000_000;

/// A machine on which a manifest defines event 7.
#[derive(Debug)]
struct Machine;

impl Manifests for Machine {
    fn describe(&self, kinds: &[UndescribedKind]) -> Described {
        let field = |name: &str, stored| Field { name: name.into(), stored, is_single: true };
        let info = |kind: &UndescribedKind| {
            let schema = EventSchema::named((kind.provider, kind.id, kind.version), "My-Game", "Level", "win:Start");
            let fields = [field("level", InType::UNICODE_STRING), field("wave", InType::UINT32)].into();
            EventSchema { fields, ..schema }.to_info()
        };
        Described { infos: kinds.iter().filter(|kind| kind.id == 7).map(info).collect(), failure: None }
    }
}

/// Records event 7 twice and event 8 once.
fn record(folder: &Path, manifests: Option<&Arc<dyn Manifests>>) -> Capture {
    let session = Session {
        frequency: 10_000_000,
        start_ticks: START,
        start_time: 133_000_000_000_000_000,
        boot_time: 132_999_000_000_000_000,
        processors: 1,
        os: (10, 0, 26_100),
        buffer_size: 128 << 10,
        pointer_size: 8,
    };
    let recording = Recording::create(&folder.join("lanes"), &session, None).unwrap();
    let mut lane = recording.lane(Lane::User);
    let payload: Vec<u8> = "Dust\0".encode_utf16().flat_map(u16::to_le_bytes).chain([5, 0, 0, 0]).collect();
    for (time, id) in [(1, 7), (2, 8), (3, 7)] {
        let event = NewEvent {
            processor: 0,
            time: START + 10_000_000 * time,
            kind: HeaderKind::Event,
            pointer: PointerSize::Eight,
            pid: Pid(10),
            tid: Tid(11),
            id: EventId::Provider { provider: PROVIDER, id },
            version: 1,
            descriptor: Descriptor { opcode: 1, ..Descriptor::default() },
            extended: &[],
            payload: &payload,
        };
        lane.take(&event).unwrap();
    }
    let out = folder.join("out.etl");
    let summary =
        recording.finish(&out, &mut DiskImages::default().with_manifests(manifests.cloned()), &mut |_, _| true).unwrap();
    assert_eq!((summary.events, summary.descriptions), if manifests.is_some() { (4, 1) } else { (3, 0) });
    Capture::open(&[Input::File(out)]).unwrap()
}

fn load(capture: &Capture, descriptions: &[EventSchema]) -> Trace {
    let marks = MarkProviders::new([PROVIDER.to_string()]);
    load_planned(capture, &Plan { marks, descriptions: descriptions.into(), ..Plan::default() }, &mut Unwatched).unwrap()
}

fn texts(trace: &Trace) -> Vec<String> {
    trace.activity.marks.list.iter().map(|mark| mark.text.to_string()).collect()
}

fn cut_of(capture: &Capture, (from, to): (i64, i64), descriptions: &[Vec<u8>], anonymises: bool) -> Capture {
    let trace = load(capture, &[]);
    let second = |n: i64| Ticks(10_000_000 * n);
    let request = Request {
        files: &capture.files,
        trace: &trace,
        trace_start: capture.trace_start(),
        trackers: &TrackerProviders::default(),
        interval: Interval { from: second(from), to: second(to) },
        processes: &Processes::All,
        descriptions,
        anonymises,
    };
    let mut out = Cursor::new(Vec::new());
    cut(&request, &mut out, &mut |_, _| true).unwrap();
    let file = TraceFile::from_source(Source::Memory(out.into_inner().leak()), "part.etl".to_owned()).unwrap();
    Capture { files: vec![file], problems: Problems::default() }
}

const WORDS: &str = "Level Start: level=Dust, wave=5";

#[test]
fn a_recording_keeps_what_installed_manifests_say_and_so_does_a_cut_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let capture = record(folder.path(), Some(&(Arc::new(Machine) as Arc<dyn Manifests>)));
    let trace = load(&capture, &[]);
    let all = texts(&trace);
    assert!(all[0] == WORDS && all[2] == WORDS && !all[1].contains("Level"), "{all:?}");
    assert_eq!(trace.activity.marks.providers[0].name.as_deref(), Some("My-Game"));
    assert_eq!(trace.span.to, Ticks(30_000_001), "the description takes no time");
    // It comes after the interval, and names what is in it.
    assert_eq!(texts(&load(&cut_of(&capture, (0, 2), &[], false), &[])), [WORDS]);
    assert!(capture.manifest_events().undescribed().iter().all(|kind| kind.id == 8));
}

#[test]
fn a_trace_without_them_gets_them_later_on_the_screen_or_by_a_cut() {
    let folder = tempfile::tempdir().unwrap();
    let capture = record(folder.path(), None);
    assert!(texts(&load(&capture, &[])).iter().all(|text| !text.contains("Level")));
    let infos = Machine.describe(&capture.manifest_events().undescribed()).infos;
    let schemas: Vec<EventSchema> = infos.iter().filter_map(|info| EventSchema::from_info(info)).collect();
    let now = load(&capture, &schemas);
    assert_eq!(texts(&now)[..1], [WORDS]);
    let part = cut_of(&capture, (0, 2), &infos, false);
    let trace = load(&part, &[]);
    assert_eq!(texts(&trace), [WORDS]);
    assert!(trace.span.to <= Ticks(20_000_000));
    // With other names, nothing is told that could be one.
    assert!(cut_of(&capture, (0, 4), &infos, true).manifest_events().descriptions().is_empty());
}
