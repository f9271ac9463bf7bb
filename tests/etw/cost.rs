//! What recording costs beside a game: processor time of an event, from the callback into the file.
//!
//! `cargo test --release --test etw cost -- --ignored --nocapture`, on Windows or under Wine.
#![allow(unsafe_code, reason = "processor time is asked of Windows, and a callback is a C function")]
#![allow(clippy::print_stdout, reason = "a measurement")]

use std::time::{Duration, Instant};

use highwater_dev::synth::Options;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Diagnostics::Etw::{EVENT_RECORD, PROCESSTRACE_HANDLE};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};

use crate::simulated::calls::FIRST_CONSUMER;
use crate::simulated::deliver::process_trace;
use crate::simulated::events::HEAP;
use crate::simulated::state::Consumer;
use crate::{Scene, of_all, poll_until};

/// What this process has had of all processors.
fn busy() -> Duration {
    let [mut made, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: all four places are ours.
    unsafe { GetProcessTimes(GetCurrentProcess(), &raw mut made, &raw mut ended, &raw mut kernel, &raw mut user) };
    let hundreds = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    Duration::from_nanos((hundreds(kernel) + hundreds(user)) * 100)
}

unsafe extern "system" fn ignore(_: *mut EVENT_RECORD) {}

#[test]
#[ignore = "a measurement"]
fn recording_takes_less_than_a_twentieth_of_a_core_at_100_000_events_a_second() {
    let scene = Scene::new(&Options { events: 500_000, ..Options::default() });
    let before = busy();
    let mut running = scene.start(&of_all()).unwrap();
    poll_until(&mut running, "all events", |progress| progress.events >= scene.events);
    let recorded = busy() - before;

    // The same events to a callback that does nothing: what playing ETW costs.
    let before = busy();
    let consumers: Vec<u64> = scene.etw.with(|etw| {
        let first = etw.consumers.len() as u64;
        for session in 0..3 {
            etw.consumers.push(Consumer {
                session,
                file: None,
                callback: Some(ignore),
                context: 0,
                mode: 0x1000,
                is_closed: false,
            });
            etw.sessions[session].stop();
        }
        (first..first + 3).map(|index| FIRST_CONSUMER + index).collect()
    });
    for handle in consumers {
        let handle = PROCESSTRACE_HANDLE { Value: handle };
        // SAFETY: the handle lives until it returns, which it does when all came.
        unsafe { process_trace(&raw const handle, 1, std::ptr::null(), std::ptr::null()) };
    }
    let played = busy() - before;

    // Nothing happens: what looking after it costs.
    let (before, began) = (busy(), Instant::now());
    while began.elapsed() < Duration::from_secs(5) {
        running.poll();
        std::thread::sleep(Duration::from_millis(250));
    }
    let idle = (busy() - before).as_secs_f64() / began.elapsed().as_secs_f64();
    let event = recorded.saturating_sub(played).as_secs_f64() / scene.events as f64;
    let share = event * 100_000.0 + idle;
    let heap = scene.etw.with(|etw| etw.lanes[HEAP].len());
    println!(
        "{} events, {heap} of heaps and their stacks: {:.0} ns an event ({:.0} with playing), idle {:.2} %; at 100,000 a second {:.1} % of a core",
        scene.events,
        event * 1e9,
        recorded.as_secs_f64() / scene.events as f64 * 1e9,
        idle * 100.0,
        share * 100.0
    );
    assert!(share < 0.05);
}
