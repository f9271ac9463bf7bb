//! What a killed recorder leaves, where this process may not ask about the sessions of others: Windows then does not
//! even say that there are any.

use highwater::capture::windows::SystemRecorder;
use highwater::capture::{Leftovers, Note, Notes, Recorder};

use crate::simulated::state::Session;
use crate::{Scene, request, session_name};

/// A process that is not there.
const GONE: u32 = 4_294_967_280;

/// A place for notes, and who looks for what is left.
fn window(scene: &Scene) -> (Notes, SystemRecorder) {
    let folder = scene.place.path().join("recording");
    (Notes::new(folder.clone()), SystemRecorder::with_notes(Some(folder)))
}

#[test]
fn sessions_that_windows_hides_are_found_by_what_was_written_down() {
    let scene = Scene::silent();
    let (notes, window) = window(&scene);
    let note = Note::of(GONE);
    notes.write(&note).unwrap();
    // Two of the three run.
    let left = vec![note.sessions[0].clone(), note.sessions[1].clone()];
    scene.etw.with(|etw| {
        etw.hides_others = true;
        etw.sessions.extend(left.iter().map(|name| Session::called(name)));
    });
    let found = Leftovers { sessions: left, images: Vec::new() };
    assert_eq!(window.leftovers().unwrap(), found);
    assert_eq!(SystemRecorder::default().leftovers().unwrap(), Leftovers::default(), "nothing else tells");

    // Whoever has the rights ends them, and it is forgotten.
    scene.etw.with(|etw| etw.hides_others = false);
    assert_eq!(window.clean_up().unwrap(), found);
    assert!(scene.etw.running().is_empty());
    assert_eq!((window.leftovers().unwrap(), notes.all()), (Leftovers::default(), Vec::new()));
}

#[test]
fn what_was_written_down_and_is_gone_is_not_told() {
    let scene = Scene::silent();
    let (notes, window) = window(&scene);
    scene.etw.with(|etw| etw.hides_others = true);
    notes.write(&Note::of(GONE)).unwrap();
    assert_eq!(window.leftovers().unwrap(), Leftovers::default());
    assert_eq!(notes.all(), [], "and not looked for again");
}

#[test]
fn a_window_writes_down_that_it_records_until_that_has_ended_well() {
    let scene = Scene::silent();
    let (notes, window) = window(&scene);
    let mut running = window.start(&request(), &scene.place.path().join("lanes")).unwrap();
    let [note] = notes.all().try_into().unwrap();
    assert_eq!((note.recorder, note.sessions[1].clone()), (std::process::id(), session_name("heap")));
    assert_eq!(window.leftovers().unwrap(), Leftovers::default(), "it runs");
    assert_eq!(notes.all().len(), 1);
    running.finish(&scene.place.path().join("recorded.etl")).unwrap();
    assert_eq!(notes.all(), []);

    // What could not be stopped stays written down; what never began does not.
    let mut running = window.start(&request(), &scene.place.path().join("second")).unwrap();
    scene.etw.with(|etw| etw.refusals.insert("ControlTraceW(STOP) heap", 5));
    running.finish(&scene.place.path().join("second.etl")).unwrap();
    assert_eq!(notes.all().len(), 1);
    notes.remove(std::process::id()).unwrap();
    scene.etw.with(|etw| etw.refusals.insert("StartTraceW", 5));
    assert!(window.start(&request(), &scene.place.path().join("third")).is_err());
    assert_eq!(notes.all(), []);
}
