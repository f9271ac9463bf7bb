//! Activity of the programs besides memory: frames of the program's loop, marks, processor samples.
//!
//! The loop shows [`FRAMES_A_SECOND`] frames a second, as often as it leaks. In frame [`LONG_FRAME`] it saves its
//! state ([`AUTOSAVE`], a scope of UIforETW), which commits a buffer and takes as long as two frames. `xperf -m`
//! wrote [`LEVELS`]. Every 10 ms the busy processors are sampled.

use super::app::{MAIN, MAIN_THREAD, PHYSICS, PHYSICS_THREAD};
use super::script::{Script, Thread, place_in};
use super::*;
use crate::events::{ActivityEvent, Event, MarkEvent, MarkText, Present, PresentApi, SampleInterval, TIMER, class};
use crate::synth::cast::START_TICKS;

/// Address of the program's swap chain.
const SWAP_CHAIN: u64 = 0x01A4_7FF0_9D80;

/// Ticks per frame.
const FRAME: i64 = 10_000_000 / FRAMES_A_SECOND;

/// Ticks between two samples.
const SAMPLED_EVERY: i64 = ms(10);

/// Adds all frames, marks and samples.
pub(super) fn play(script: &mut Script) {
    frames(script);
    marks(script);
    samples(script);
}

fn activity(event: ActivityEvent) -> Event {
    Event::Activity(Box::new(event))
}

/// Time at which frame `n` is presented, to a millisecond or two.
fn frame_at(n: i64) -> i64 {
    let late = if n > LONG_FRAME { 1 } else { 0 };
    FIRST_FRAME + (n + late) * FRAME
}

fn frames(script: &mut Script) {
    let api = PresentApi::Dxgi;
    for n in 0..=FRAMES {
        let before = 3_000 + script.random.below(20_000) as i64;
        let start = Present::Start { api, swap_chain: SWAP_CHAIN, is_test: false };
        let at = script.event(MAIN_THREAD, frame_at(n) - before, activity(ActivityEvent::Present(start)));
        let lasts = 900 + script.random.below(2_000) as i64;
        let stop = Present::Stop { api, has_failed: false };
        script.event(MAIN_THREAD, at - START_TICKS + lasts, activity(ActivityEvent::Present(stop)));
    }
}

fn marks(script: &mut Script) {
    let mut mark = |thread: Thread, at: i64, provider, text: &str, lasted_ms| {
        let text = MarkText::Known(text.into());
        let event = MarkEvent { provider, provider_name: None, text, lasted_ms };
        script.event(thread, at, activity(ActivityEvent::Mark(event)));
    };
    // Written by a program of its own.
    let xperf = Thread(3988, 3996);
    for (text, at) in LEVELS {
        mark(xperf, at, class::PERF_INFO, text, None);
    }
    let (text, lasted) = AUTOSAVE;
    mark(MAIN_THREAD, frame_at(LONG_FRAME) + ms(1) + lasted, class::MULTI_MAIN, text, Some(lasted as f32 / 1e4));
}

/// Places where the program is sampled, each with its share in percent.
type Places = [(u64, &'static [&'static str]); 3];

const MAIN_PLACES: Places = [
    (24, &["app!InnerLoopOperation"]),
    (14, &["app!Operation1", "app!ManipulateTemporaryBuffer"]),
    (9, &["app!MessageQueue::Post"]),
];
const PHYSICS_PLACES: Places = [(16, &["app!BroadPhase::UpdatePairs"]), (11, &["app!ContactSolver::AddContacts"]), (5, &[])];

fn samples(script: &mut Script) {
    let interval = SampleInterval { source: TIMER, interval: SAMPLED_EVERY as u32 };
    script.event(Thread(4, 60), ms(4), activity(ActivityEvent::SampleInterval(interval)));
    let mut at = LOOP_START + ms(3);
    while at < LOOP_END {
        let is_spike = SPIKES.iter().any(|spike| (*spike..*spike + SPIKE_TICKS).contains(&at));
        if is_spike {
            sample(script, MAIN_THREAD, at, &[&MAIN[..], MAIN_PLACES[1].1].concat());
        } else {
            sample_one(script, MAIN_THREAD, at, &MAIN, &MAIN_PLACES);
        }
        sample_one(script, PHYSICS_THREAD, at, &PHYSICS, &PHYSICS_PLACES);
        at += SAMPLED_EVERY;
    }
}

/// Adds a sample at one of some places, or none.
fn sample_one(script: &mut Script, thread: Thread, at: i64, outer: &[&'static str], places: &Places) {
    let mut left = script.random.below(100);
    for (share, inner) in places {
        if left < *share {
            sample(script, thread, at, &[outer, inner].concat());
            return;
        }
        left -= share;
    }
}

fn sample(script: &mut Script, thread: Thread, at: i64, path: &[&str]) {
    let Some(innermost) = path.last() else { return };
    let address = place_in(innermost, script.random.below(64));
    let owner = script.event(thread, at, Event::Sample { address, count: 1 });
    script.stack_at(thread, owner, address, path);
}
