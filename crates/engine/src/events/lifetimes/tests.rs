use super::LifetimeChange::{Begins, Ends, Past, Same};
use super::ProcessChange::{End, Rundown, Start};
use super::*;

const PID: Pid = Pid(7);
const FREQUENCY: i64 = 1000;

/// Lifetimes of one id, whose processes are numbered as they come.
#[derive(Default)]
struct Played {
    lifetimes: ProcessLifetimes<u32>,
    count: u32,
}

impl Played {
    fn event(&mut self, time: i64, change: ProcessChange, key: u64) -> LifetimeChange<u32> {
        let event = ProcessEvent { change, key, has_name: true, time };
        let Self { lifetimes, count } = self;
        lifetimes.apply(PID, &event, FREQUENCY, || {
            *count += 1;
            *count
        })
    }

    fn sign(&mut self, time: i64, sign: Sign) -> u32 {
        let Self { lifetimes, count } = self;
        lifetimes.shows(PID, sign, time, || {
            *count += 1;
            *count
        })
    }
}

#[test]
fn an_id_that_is_used_again_is_another_process() {
    let mut played = Played::default();
    assert_eq!(played.event(10, Start, 1), Begins { process: 1, ended: None });
    assert_eq!(played.event(20, End, 1), Ends(1));
    assert_eq!(played.event(30, Start, 2), Begins { process: 2, ended: None });
    assert_eq!(played.event(40, Start, 3), Begins { process: 3, ended: Some(2) });
    assert_eq!(played.event(50, Rundown, 4), Begins { process: 4, ended: Some(3) });
    assert_eq!([39, 49, 50].map(|time| played.lifetimes.at(PID, time)), [Some(3), Some(3), Some(4)]);
}

#[test]
fn an_event_that_is_logged_by_a_second_session_changes_nothing() {
    let mut played = Played::default();
    played.event(10, Start, 1);
    assert_eq!(played.event(11, Start, 1), Same { process: 1, starts: false });
    assert_eq!(played.event(20, End, 1), Ends(1));
    assert_eq!(played.event(21, End, 1), Past);
    // The id is used again before the second session logs the end.
    assert_eq!(played.event(22, Start, 2), Begins { process: 2, ended: None });
    assert_eq!(played.event(23, End, 1), Past);
    assert_eq!(played.event(30, End, 2), Ends(2));
}

#[test]
fn whoever_ends_under_an_id_is_who_ran_under_it() {
    let mut played = Played::default();
    played.event(10, Start, 1);
    assert_eq!(played.event(20, End, 9), Ends(1), "its key may be anything but that of the one before");
    played.event(30, Start, 0);
    assert_eq!(played.event(40, End, 0), Ends(2));
    assert_eq!(played.event(40, End, 0), Past, "told twice");
    assert_eq!(played.event(41, End, 0), Ends(3), "nobody knows");
}

#[test]
fn an_ended_process_that_is_still_open_somewhere_does_not_begin_again() {
    let mut played = Played::default();
    played.event(10, Start, 1);
    played.event(20, End, 1);
    assert_eq!(played.event(30, Rundown, 1), Past);
    assert_eq!(played.lifetimes.present(PID), None);
    assert_eq!(played.event(31, Rundown, 2), Begins { process: 2, ended: None });
}

#[test]
fn a_hidden_key_makes_no_other_process_of_a_rundown() {
    for (known, then) in [(1, 0), (0, 1), (0, 0)] {
        let mut played = Played::default();
        played.event(10, Start, known);
        assert_eq!(played.event(20, Rundown, then), Same { process: 1, starts: false });
    }
    // Two starts with hidden keys are two processes.
    let mut played = Played::default();
    played.event(10, Start, 0);
    assert_eq!(played.event(20, Start, 0), Begins { process: 2, ended: Some(1) });
}

#[test]
fn a_start_at_the_tick_of_an_end_is_that_of_the_next_process() {
    let mut played = Played::default();
    played.event(10, Start, 1);
    played.event(20, End, 1);
    assert_eq!(played.event(20, Start, 2), Begins { process: 2, ended: None });
    // One with the key of who ended is late: both are of one process.
    let mut played = Played::default();
    played.event(20, End, 1);
    assert_eq!(played.event(20, Start, 1), Past);
}

#[test]
fn what_happened_just_before_a_start_happened_to_who_starts() {
    for (sign, before, is_its) in [
        (Sign::Seen, FREQUENCY, true),
        (Sign::Seen, FREQUENCY + 1, false),
        (Sign::Wrote, 1, true),
        (Sign::Wrote, 2, false),
        (Sign::Acted, 1, false),
    ] {
        let mut played = Played::default();
        assert_eq!(played.sign(5000 - before, sign), 1);
        let expected = if is_its { Same { process: 1, starts: true } } else { Begins { process: 2, ended: Some(1) } };
        assert_eq!(played.event(5000, Start, 1), expected, "{sign:?} {before} before");
    }
}

#[test]
fn late_events_are_about_the_process_of_their_time() {
    let mut played = Played::default();
    played.event(20, Start, 1);
    played.event(30, End, 1);
    assert_eq!(played.event(25, Rundown, 1), Past);
    assert_eq!(played.event(25, Rundown, 0), Past);
    played.event(40, Start, 2);
    assert_eq!([played.event(29, Start, 9), played.event(35, End, 9), played.event(35, Rundown, 9)], [Past; 3]);
    assert_eq!([30, 31].map(|time| played.lifetimes.at(PID, time)), [Some(1), Some(2)]);
}

#[test]
fn the_first_event_of_an_expected_process_is_about_it() {
    for (change, starts) in [(Start, true), (Rundown, false)] {
        let mut played = Played::default();
        played.lifetimes.expect(PID, 9);
        assert_eq!(played.lifetimes.at(PID, i64::MIN), Some(9));
        assert_eq!(played.event(10, change, 1), Same { process: 9, starts });
        assert_eq!(played.event(9, Start, 2), Past, "late");
        assert_eq!(played.event(11, Start, 2), Begins { process: 1, ended: Some(9) });
    }
}

#[test]
fn what_is_forgotten_is_unknown() {
    let mut played = Played::default();
    played.event(10, End, 1);
    played.lifetimes.forget_ended(PID, 9);
    assert_eq!((played.lifetimes.len(), played.lifetimes.latest(PID)), (1, Some(1)));
    played.lifetimes.forget_ended(PID, 10);
    assert!(played.lifetimes.is_empty());
}
