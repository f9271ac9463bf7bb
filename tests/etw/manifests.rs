//! Names of installed manifests, by Windows' own reader: what becomes of them, and of what goes wrong.

use std::sync::Arc;

use highwater::capture::{Manifests, Request};
use highwater::etl::write::Descriptor;
use highwater::etl::{Guid, TraceFile};
use highwater::events::{EventSchema, Field, InType, MarkProviders, UndescribedKind, manifest_events, survey};
use highwater::load::{Capture, Input, Plan, Unwatched, load_planned};
use highwater::units::PointerSize;
use highwater::windows_reader::{InstalledManifests, count_events};

use crate::constants::ACCESS_DENIED;
use crate::simulated::events::{Lanes, Told, USER};
use crate::{Scene, poll_until, request};

const PROVIDER: Guid = Guid::new(0x1111_2222, 3, 4, [5; 8]);

fn kind(id: u16) -> UndescribedKind {
    UndescribedKind { provider: PROVIDER, id, version: 0, descriptor: Descriptor::default(), pointer: PointerSize::Eight }
}

/// What a manifest says of an event: a level that was loaded, by its number.
fn info(id: u16) -> Vec<u8> {
    let field = Field { name: "number".into(), stored: InType::UINT32, is_single: true };
    EventSchema { fields: [field].into(), ..EventSchema::named((PROVIDER, id, 0), "My-Game", "Level", "win:Start") }.to_info()
}

#[test]
fn manifests_are_asked_once_about_each_kind_of_event() {
    let scene = Scene::silent();
    scene.etw.with(|etw| etw.manifests.extend([7, 9].map(|id| ((PROVIDER, id, 0), info(id)))));
    let described = InstalledManifests.describe(&[kind(7), kind(8), kind(9)]);
    assert_eq!((described.infos, described.failure), (vec![info(7), info(9)], None));
    assert_eq!(InstalledManifests.describe(&[]).infos, Vec::<Vec<u8>>::new());
    let (calls, files) = scene.etw.with(|etw| (etw.calls.clone(), etw.files.clone()));
    let count = |name: &str| calls.iter().filter(|call| *call == name).count();
    assert_eq!((count("OpenTraceW file"), count("CloseTrace file")), (1, 1), "{calls:?}");
    assert!(files.iter().all(|file| !file.exists()), "the tiny trace is gone");
}

#[test]
fn what_fails_is_told_and_only_names_are_missing() {
    let scene = Scene::silent();
    scene.etw.with(|etw| etw.manifests.extend([((PROVIDER, 7, 0), info(7)), ((PROVIDER, 8, 0), info(9))]));
    // Each failed open leaves an address behind at which no callback can be again; many are left here.
    for _ in 0..40 {
        scene.etw.with(|etw| etw.refusals.insert("OpenTraceW file", ACCESS_DENIED));
        let described = InstalledManifests.describe(&[kind(7)]);
        assert!(described.infos.is_empty() && described.failure.unwrap().contains("Windows could not open the file"));
        scene.etw.with(|etw| etw.refusals.clear());
        let described = InstalledManifests.describe(&[kind(7)]);
        assert_eq!((described.infos.len(), described.failure), (1, None));
    }
    // A description that is of another event: its names are taken, which Schema tells.
    let described = InstalledManifests.describe(&[kind(7), kind(8)]);
    let schema = EventSchema::from_info(&described.infos[1]).unwrap();
    assert_eq!((schema.id, &*schema.name, schema.fields.len()), (8, "Level Start", 0));
    assert!(described.failure.unwrap().contains("of 1 kinds"));
    scene.etw.with(|etw| etw.refusals.insert("TdhGetEventInformation", ACCESS_DENIED));
    assert_eq!(InstalledManifests.describe(&[kind(7)]).infos, Vec::<Vec<u8>>::new());
}

/// Records an event of the provider.
fn recorded(scene: &Scene) -> std::path::PathBuf {
    let request = Request { trackers: false, marks: vec![PROVIDER], ..request() };
    let running = scene.start(&request).unwrap();
    let mut running = running.with_manifests(Some(Arc::new(InstalledManifests)));
    let mut lanes = Lanes::default();
    lanes[USER] = vec![Told::by(PROVIDER, 7, std::process::id(), &5u32.to_le_bytes())];
    let before = running.poll().events;
    scene.etw.with(|etw| etw.go_on(lanes));
    poll_until(&mut running, "the event", |progress| progress.events > before);
    scene.stop(running);
    scene.place.path().join("recorded.etl")
}

fn texts(path: &std::path::Path) -> Vec<String> {
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let plan = Plan { marks: MarkProviders::new([PROVIDER.to_string()]), ..Plan::default() };
    let trace = load_planned(&capture, &plan, &mut Unwatched).unwrap();
    trace.activity.marks.list.iter().map(|mark| mark.text.to_string()).collect()
}

#[test]
fn marks_of_a_recording_say_words_and_windows_finds_as_many_events_in_it() {
    let scene = Scene::silent();
    scene.etw.with(|etw| etw.manifests.insert((PROVIDER, 7, 0), info(7)));
    let path = recorded(&scene);
    assert_eq!(texts(&path), ["Level Start: 5"]);
    let file = TraceFile::open(&path).unwrap();
    let events = manifest_events(&file);
    assert_eq!((events.undescribed(), events.descriptions().len()), (Vec::new(), 1));
    assert_eq!(count_events(&path), Ok(survey(&file).counts.total));
    assert!(count_events(&path.with_extension("no")).unwrap_err().contains("could not open"));
}

#[test]
fn a_recording_without_manifests_is_a_trace_all_the_same() {
    let scene = Scene::silent();
    scene.etw.with(|etw| etw.refusals.insert("OpenTraceW file", ACCESS_DENIED));
    let texts = texts(&recorded(&scene));
    assert!(texts.len() == 1 && !texts[0].contains("Level"), "{texts:?}");
}
