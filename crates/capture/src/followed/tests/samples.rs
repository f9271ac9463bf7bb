//! CPU samples, which name threads, and thread events, which name processes.

use super::super::waiting::{MOST_BYTES, PATIENCE};
use super::*;

const GAME: u32 = 100;
const OTHER: u32 = 200;

fn starts(time: i64, pid: u32, tid: u32) -> Sent {
    Sent::thread(time, hook::THREAD_START, pid, tid)
}

fn runs(time: i64, pid: u32, tid: u32) -> Sent {
    Sent::thread(time, hook::THREAD_RUNDOWN_START, pid, tid)
}

fn ends(time: i64, pid: u32, tid: u32) -> Sent {
    Sent::thread(time, hook::THREAD_START + 1, pid, tid)
}

fn running(time: i64, pid: u32, name: &str) -> Sent {
    Sent::process(time, hook::PROCESS_RUNDOWN_START, pid, &info(u64::from(pid), 4, name))
}

#[test]
fn samples_of_followed_threads_pass_with_their_stacks_and_no_others() {
    let sent = [
        running(1, OTHER, "other.exe"),
        runs(1, GAME, 101),
        runs(1, OTHER, 201),
        Sent::sample(2, 101),
        Sent::stack(2, (GAME, 101), 2),
        Sent::sample(3, 201),
        Sent::stack(3, (OTHER, 201), 3),
        Sent::sample(4, 0),                                    // idle
        Sent { payload: vec![1; 11], ..Sent::sample(5, 201) }, // its thread cannot be read
        ends(6, GAME, 101),
        Sent::sample(6, 101),  // late
        starts(7, OTHER, 101), // the id is reused
        Sent::sample(8, 101),
    ];
    let mut followed = following(&[GAME], &[], false);
    assert_eq!(passed(&mut followed, &sent), [0, 1, 3, 4, 9, 10]);
    assert_eq!((followed.dropped(), followed.undecided()), (7, 0));
}

#[test]
fn a_sample_waits_for_its_thread_and_then_for_its_process() {
    let sent = [
        Sent::sample(1, 101),
        Sent::sample(2, 201),
        Sent::sample(3, 101),
        runs(1, GAME, 101),
        runs(1, OTHER, 201),
        Sent::sample(4, 101),
        running(1, OTHER, "other.exe"),
        running(1, GAME, "game.exe"),
        Sent::sample(5, 101),
    ];
    let mut followed = following(&[], &["game.exe"], false);
    assert_eq!(passed(&mut followed, &sent), [6, 0, 2, 3, 5, 7, 8]);
    assert_eq!((followed.dropped(), followed.undecided()), (2, 0));
}

#[test]
fn marks_and_intervals_pass_whoever_sets_them() {
    let of = |hook| Sent { time: 2, pid: OTHER, tid: 201, hook, payload: b"text\0and more of it".to_vec() };
    let sent = [
        running(1, OTHER, "other.exe"),
        of(hook::MARK),
        of(hook::SAMPLE_INTERVAL),
        of(hook::SAMPLE_INTERVAL_START),
        Sent { pid: u32::MAX, tid: u32::MAX, ..of(hook::MARK) },
    ];
    assert_eq!(passed(&mut following(&[GAME], &[], false), &sent), [0, 1, 2, 3, 4]);
}

#[test]
fn threads_that_nobody_tells_of_take_little_memory_and_are_given_up() {
    let mut followed = following(&[GAME], &[], false);
    let count = (MOST_BYTES / 50) as u32;
    for tid in 1..count {
        followed.take(&Sent::sample(1, tid).event(0), &mut |_| panic!("it waits"));
        assert!(followed.samples.bytes() <= MOST_BYTES);
    }
    let late = 2 + PATIENCE * FREQUENCY as i64;
    followed.take(&Sent::sample(late, count).event(0), &mut |_| panic!("it waits"));
    assert_eq!((followed.dropped(), followed.undecided()), (u64::from(count) - 1, u64::from(count) - 1));
    for tid in 0..1 << 19 {
        followed.take(&starts(late, OTHER, tid).event(0), &mut |_| ());
        followed.take(&ends(late, OTHER, tid / 2).event(0), &mut |_| ());
    }
    assert!(followed.threads.len() <= 1 << 18);
}
