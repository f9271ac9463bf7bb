//! What Microsoft's pages say that Windows does, and what a recording makes of it.

use std::time::{Duration, Instant};

use highwater::capture::Request;
use highwater::model::Trace;
use highwater::units::Layer;
use highwater_dev::synth::{Options, Scenario};

use crate::simulated::events::USER;
use crate::simulated::state::{Drain, Session};
use crate::{FIRST, Scene, of_all, poll_until, request, session_name};

/// Births of all blocks of trackers, from the first one on.
fn births(trace: &Trace) -> Vec<i64> {
    let of_tracker = |site| trace.heap(trace.site(site).heap).layer == Layer::Tracker;
    let rows = trace.rows.chunks().flat_map(|chunk| chunk.rows().map(|(_, row)| row).collect::<Vec<_>>());
    let mut births: Vec<i64> = rows.filter(|row| of_tracker(row.site)).map(|row| row.birth.0).collect();
    births.sort_unstable();
    let first = births[0];
    births.iter().map(|birth| birth - first).collect()
}

/// With performance counters as clock, stamps "continue to reflect time as if no update had
/// occurred" (WNODE_HEADER).
#[test]
fn a_clock_that_is_set_meanwhile_moves_no_event() {
    for step in [3600_i64, -3600] {
        const SECOND: i64 = 10_000_000;
        let scene = Scene::new(&Options { scenario: Scenario::Trackers, events: 6_000, ..Options::default() });
        scene.etw.with(|etw| etw.pause_after = 2_500);
        let mut running = scene.start(&of_all()).unwrap();
        poll_until(&mut running, "some events", |progress| progress.events >= 2_500);
        scene.etw.with(|etw| etw.clock_step = step * SECOND);
        let end = Instant::now() + Duration::from_millis(2_200);
        poll_until(&mut running, "two seconds", |_| Instant::now() > end);
        scene.etw.with(|etw| etw.pause_after = usize::MAX);
        poll_until(&mut running, "all events", |progress| progress.events == scene.events);
        scene.stop(running);
        let (made, recorded) = (births(&scene.load("generated.etl")), births(&scene.load("recorded.etl")));
        assert!(made.len() > 500);
        assert_eq!(recorded, made, "{step} s");
    }
}

/// "You cannot start more than one session with the same session GUID" (StartTrace).
#[test]
fn who_traces_heaps_already_is_named_and_the_rest_is_recorded() {
    let scene = Scene::silent();
    scene.etw.with(|etw| etw.sessions.push(Session::of_heaps("Some profiler's heap session")));
    let mut running = scene.start(&request()).unwrap();
    let told = running.poll().warning.unwrap();
    assert!(told.contains("heaps are not recorded") && told.contains("Some profiler's heap session"), "{told}");
    assert_eq!(scene.etw.running()[1..], [session_name("kernel"), session_name("user")]);
    scene.stop(running);
    assert_eq!(scene.etw.running(), ["Some profiler's heap session"], "it is left alone");

    // Where nothing else was asked for there is nothing to record.
    let only_heaps = Request { commit: false, trackers: false, ..request() };
    assert!(scene.refusal(&only_heaps).contains("Some profiler's heap session"));
    assert_eq!(scene.etw.running(), ["Some profiler's heap session"]);
}

/// Consumers get what stopped sessions hold bit by bit, and a console that closes leaves its
/// programs five seconds (SetConsoleCtrlHandler).
#[test]
fn the_registry_and_all_sessions_are_put_right_before_anything_is_waited_for() {
    let flags = || {
        let options = format!(r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Image File Execution Options\{FIRST}");
        winreg::RegKey::predef(winreg::enums::HKEY_LOCAL_MACHINE).open_subkey(options).is_ok()
    };
    let scene = Scene::new(&Options { events: 5_000, ..Options::default() });
    scene.etw.with(|etw| etw.drain = Drain::Over(Duration::from_secs(4)));
    let mut running = scene.start(&of_all()).unwrap();
    poll_until(&mut running, "most events", |progress| progress.events * 10 > scene.events * 8);
    assert!(flags());
    let (out, events) = (scene.place.path().join("recorded.etl"), scene.events);
    let began = Instant::now();
    let end = std::thread::spawn(move || running.finish(&out, &mut |_, _| true).unwrap().events);
    while flags() || !scene.etw.running().is_empty() {
        assert!(began.elapsed() < Duration::from_millis(1_500), "put right after {:?}", began.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(end.join().unwrap() >= events);
    let took = began.elapsed();
    assert!((Duration::from_secs(4)..Duration::from_secs(8)).contains(&took), "all drain together: {took:?}");
}

/// EnableFlags in an update "may be non-zero only for system loggers" (ControlTrace), and a
/// session makes itself more buffers up to its maximum.
#[test]
fn a_session_that_loses_events_is_left_to_grow_by_itself() {
    let scene = Scene::new(&Options { events: 2_000, ..Options::default() });
    let mut running = scene.start(&of_all()).unwrap();
    let before = poll_until(&mut running, "all events", |progress| progress.events == scene.events && progress.buffers_total > 0);
    scene.etw.with(|etw| etw.sessions.iter_mut().for_each(|session| session.events_lost = 7));
    let after = poll_until(&mut running, "losses", |progress| progress.lost_events == 21);
    assert_eq!(after.warning, None);
    assert!(after.buffers_total > before.buffers_total);
    let updates = scene.etw.with(|etw| etw.sessions.iter().map(|session| session.properties.len() - 1).sum::<usize>());
    assert_eq!(updates, 0, "nothing is asked for that Windows may refuse");
    scene.stop(running);
}

/// ERROR_ACTIVE_CONNECTIONS: "the session is already stopping" (ControlTrace).
#[test]
fn a_session_that_is_stopping_is_stopped() {
    let scene = Scene::new(&Options { events: 2_000, ..Options::default() });
    scene.etw.with(|etw| etw.stops_are_busy = true);
    let mut running = scene.start(&of_all()).unwrap();
    poll_until(&mut running, "all events", |progress| progress.events == scene.events);
    assert!(scene.stop(running).events >= scene.events);
}

/// A consumer that never comes to its end is closed after a while, and what it still had to get is
/// counted as lost.
#[test]
fn what_does_not_drain_is_lost_and_told() {
    let scene = Scene::new(&Options { scenario: Scenario::Trackers, events: 2_000, ..Options::default() });
    scene.etw.with(|etw| {
        let all = etw.lanes[USER].len();
        (etw.drain, etw.pause_after) = (Drain::Stuck, all - 100);
    });
    let mut running = scene.start(&of_all()).unwrap();
    let came = poll_until(&mut running, "most events", |progress| progress.events + 100 >= scene.events).events;
    let summary = scene.stop(running);
    assert!(summary.events >= came && summary.lost_buffers > 0, "{summary:?}");
    assert!(scene.etw.running().is_empty());
}
