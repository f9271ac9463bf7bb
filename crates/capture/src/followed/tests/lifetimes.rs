//! Process events that are told twice, late or with hidden keys: a process that is followed stays so.

use super::super::Because;
use super::*;

const GAME: u32 = 100;
const CHILD: u32 = 300;

fn process(time: i64, hook: u16, key: u64) -> Sent {
    Sent::process(time, hook, CHILD, &info(key, GAME, "child.exe"))
}

fn following_children(sent: &[Sent]) -> (Followed, Vec<usize>) {
    let mut followed = following(&[GAME], &["child.exe"], true);
    let passed = passed(&mut followed, sent);
    (followed, passed)
}

#[test]
fn a_rundown_with_a_hidden_key_is_about_the_same_process() {
    let sent = [
        Sent::process(1, hook::PROCESS_START, CHILD, &info(7, GAME, "other.exe")),
        Sent::process(2, hook::PROCESS_RUNDOWN_START, CHILD, &info(0, GAME, "other.exe")),
        Sent::pages(3, (CHILD, 301), CHILD),
    ];
    let (followed, passed) = following_children(&sent);
    assert_eq!((passed, followed.pids()), (vec![0, 1, 2], vec![GAME, CHILD]));
}

#[test]
fn an_ended_process_that_is_still_open_somewhere_is_no_news() {
    let sent = [process(1, hook::PROCESS_START, 7), process(2, hook::PROCESS_END, 7), process(3, hook::PROCESS_RUNDOWN_END, 7)];
    let (mut followed, _) = following_children(&sent);
    assert_eq!((followed.pids(), followed.news().len()), (vec![GAME], 1));
}

#[test]
fn a_second_end_leaves_late_stacks_to_who_ended() {
    let other = |time, hook| Sent::process(time, hook, CHILD, &info(7, GAME, "other.exe"));
    let sent = [
        other(1, hook::PROCESS_START),
        Sent::pages(2, (CHILD, 301), CHILD),
        other(3, hook::PROCESS_END),
        other(4, hook::PROCESS_END),
        Sent::stack(5, (CHILD, 301), 2),
    ];
    let (followed, passed) = following_children(&sent);
    assert_eq!((passed, followed.dropped()), (vec![0, 1, 2, 3, 4], 0));
}

#[test]
fn an_end_that_is_told_again_does_not_end_who_has_the_id_since() {
    let sent = [
        process(1, hook::PROCESS_START, 7),
        process(2, hook::PROCESS_END, 7),
        process(3, hook::PROCESS_START, 8),
        process(4, hook::PROCESS_END, 7),
        Sent::pages(5, (CHILD, 301), CHILD),
    ];
    let (mut followed, passed) = following_children(&sent);
    assert_eq!((passed, followed.pids()), (vec![0, 1, 2, 3, 4], vec![GAME, CHILD]));
    let because: Vec<_> = followed.news().into_iter().map(|started| started.because).collect();
    assert_eq!(because, [Because::Name, Because::Name]);
}

#[test]
fn a_start_at_the_tick_of_an_end_is_another_process() {
    let sent = [process(1, hook::PROCESS_START, 7), process(2, hook::PROCESS_END, 7), process(2, hook::PROCESS_START, 8)];
    let (mut followed, _) = following_children(&sent);
    assert_eq!((followed.pids(), followed.news().len()), (vec![GAME, CHILD], 2));
}
