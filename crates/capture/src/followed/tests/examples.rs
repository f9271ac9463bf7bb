use super::super::waiting::{MOST_BYTES, PATIENCE};
use super::super::{Because, Started};
use super::*;
use crate::etl::ExtendedItem;
use crate::events::class;

const GAME: u32 = 100;
const OTHER: u32 = 200;
const CHILD: u32 = 300;

fn start(time: i64, pid: u32, parent: u32, name: &str) -> Sent {
    Sent::process(time, hook::PROCESS_START, pid, &info(u64::from(pid) << 16 | time as u64, parent, name))
}

fn running(time: i64, pid: u32, name: &str) -> Sent {
    Sent::process(time, hook::PROCESS_RUNDOWN_START, pid, &info(u64::from(pid), 4, name))
}

fn end(time: i64, pid: u32, name: &str) -> Sent {
    Sent::process(time, hook::PROCESS_END, pid, &info(u64::from(pid), 4, name))
}

fn other_kind(time: i64, pid: u32) -> Sent {
    Sent { time, pid, tid: 1, hook: hook::MARK, payload: vec![0; 8] }
}

#[test]
fn without_a_rule_everything_passes_at_once() {
    let sent = [Sent::pages(1, (7, 8), 9), Sent::stack(2, (7, 8), 1), start(3, 9, 7, "a.exe"), end(4, 9, "a.exe")];
    let mut followed = Followed::new(&Rules { children: true, ..Rules::default() }, FREQUENCY);
    assert_eq!(passed(&mut followed, &sent), [0, 1, 2, 3]);
    followed.follow(7, &mut |_| panic!("nothing waits"));
    assert!(followed.is_followed(12345));
    assert_eq!((followed.dropped(), followed.pids(), followed.news()), (0, vec![], vec![]));
}

#[test]
fn pages_and_stacks_of_others_are_dropped_and_so_is_what_may_be_about_others() {
    let sent = [
        running(1, OTHER, "other.exe"),
        running(1, GAME, "game.exe"),
        Sent::pages(2, (OTHER, 201), OTHER),
        Sent::pages(3, (GAME, 101), GAME),
        Sent::stack(4, (OTHER, 201), 2),
        Sent::stack(4, (GAME, 101), 3),
        Sent::region(5, OTHER),
        Sent::region(5, GAME),
        other_kind(6, OTHER),
        Sent { payload: vec![1; 7], ..Sent::pages(7, (OTHER, 201), OTHER) }, // its owner cannot be read
        Sent { payload: vec![1; 15], ..Sent::stack(8, (OTHER, 201), 2) },
        Sent { payload: vec![1; 20], ..end(9, GAME, "game.exe") },
        Sent { hook: 0x0532, ..other_kind(10, GAME) }, // of a kind that is not known
        Sent { hook: hook::GROUP_MASKS, ..other_kind(11, OTHER) },
    ];
    let mut followed = following(&[GAME], &[], false);
    assert_eq!(passed(&mut followed, &sent), [0, 1, 3, 5, 7, 8, 13]);
    assert_eq!((followed.dropped(), followed.undecided(), followed.pids()), (7, 0, vec![GAME]));
    assert!(followed.is_followed(GAME) && !followed.is_followed(OTHER));
}

#[test]
fn stack_keys_and_classic_headers_are_known_too() {
    let mut followed = following(&[GAME], &[], false);
    assert_eq!(passed(&mut followed, &[running(1, OTHER, "other.exe")]), [0]);
    let key = Sent { hook: hook::STACK_KEY_REF_USER, ..Sent::stack(3, (OTHER, 201), 2) };
    assert!(passed(&mut followed, &[Sent::pages(2, (OTHER, 201), OTHER), key]).is_empty());
    let pages = Sent::pages(4, (OTHER, 201), OTHER);
    let id = EventId::Class { class: class::PAGE_FAULT, opcode: hook::VIRTUAL_ALLOC as u8 };
    followed.take(&NewEvent { kind: HeaderKind::Full, id, ..pages.event(0) }, &mut |_| panic!("it is another's"));
    assert_eq!(followed.dropped(), 3);
}

#[test]
fn pages_of_a_child_wait_for_its_start_with_their_stacks() {
    let sent = [
        running(1, GAME, "game.exe"),
        Sent::pages(2, (GAME, 101), CHILD),
        Sent::pages(3, (GAME, 101), GAME),
        Sent::stack(4, (GAME, 101), 2),
        Sent::stack(4, (GAME, 101), 3),
        Sent::pages(5, (GAME, 101), CHILD),
        start(6, CHILD, GAME, "child.exe"),
        Sent::stack(7, (GAME, 101), 5),
        Sent::pages(8, (CHILD, 301), CHILD),
    ];
    let mut followed = following(&[GAME], &[], true);
    assert_eq!(passed(&mut followed, &sent), [0, 2, 4, 1, 3, 5, 6, 7, 8]);
    assert_eq!((followed.dropped(), followed.pids()), (0, vec![GAME, CHILD]));
    let told = Started { pid: GAME, parent: 4, name: "game.exe".to_owned(), because: Because::Told };
    let child = Started { pid: CHILD, parent: GAME, name: "child.exe".to_owned(), because: Because::Parent };
    assert_eq!(followed.news(), [told, child]);
    assert_eq!(followed.news(), []);

    // If children are not followed, all their events are dropped.
    let mut followed = following(&[GAME], &[], false);
    assert_eq!(passed(&mut followed, &sent), [0, 2, 4, 6]);
    assert_eq!((followed.dropped(), followed.undecided(), followed.pids()), (5, 0, vec![GAME]));
}

#[test]
fn what_a_foreign_process_allocates_in_a_followed_one_is_kept_with_its_stack_and_the_other_way_round_dropped() {
    let sent = [
        running(1, OTHER, "other.exe"),
        Sent::pages(2, (OTHER, 201), GAME),
        Sent::pages(3, (GAME, 101), OTHER),
        Sent::stack(4, (OTHER, 201), 2),
        Sent::stack(4, (GAME, 101), 3),
        Sent::pages(5, (GAME, 101), GAME),
        Sent::stack(6, (OTHER, 201), 2), // the user-mode part of the stack
        Sent::stack(7, (GAME, 101), 5),
        Sent::stack(8, (GAME, 101), 3),
    ];
    let mut followed = following(&[GAME], &[], true);
    assert_eq!(passed(&mut followed, &sent), [0, 1, 3, 5, 6, 7]);
    assert_eq!(followed.dropped(), 3);
}

#[test]
fn an_id_that_is_used_again_is_another_process_and_late_stacks_belong_to_the_one_before() {
    let sent = [
        running(1, GAME, "game.exe"),
        Sent::pages(2, (GAME, 101), GAME),
        end(3, GAME, "game.exe"),
        Sent::pages(4, (OTHER, 201), GAME), // already of the next process
        Sent::stack(5, (GAME, 101), 2),
        start(6, GAME, OTHER, "other.exe"),
        Sent::stack(7, (GAME, 101), 2),
        Sent::pages(8, (GAME, 101), GAME),
        Sent::pages(2, (GAME, 102), GAME), // late
    ];
    let mut followed = following(&[GAME], &[], true);
    assert_eq!(passed(&mut followed, &sent), [0, 1, 2, 4, 5, 6, 8]);
    assert_eq!((followed.dropped(), followed.pids()), (2, vec![]));
}

#[test]
fn the_children_of_a_launcher_that_has_ended_are_followed_and_theirs() {
    let sent = [
        start(1, 10, 4, "launcher.exe"),
        start(2, 20, 10, "stub.exe"),
        end(3, 10, "launcher.exe"),
        start(4, 30, 20, "game.exe"),
        end(5, 20, "stub.exe"),
        start(6, 40, 20, "late.exe"), // no process has the id of its parent any more
        Sent::pages(7, (30, 31), 30),
        Sent::pages(8, (40, 41), 40),
        Sent::process(9, hook::PROCESS_RUNDOWN_END, 50, &info(1, 30, "running.exe")), // it ran before: not a child
    ];
    let mut followed = following(&[10], &[], true);
    assert_eq!(passed(&mut followed, &sent), [0, 1, 2, 3, 4, 5, 6, 8]);
    assert_eq!(followed.pids(), [30]);
    let because: Vec<_> = followed.news().into_iter().map(|started| (started.pid, started.because)).collect();
    assert_eq!(because, [(10, Because::Told), (20, Because::Parent), (30, Because::Parent)]);
}

#[test]
fn who_is_started_in_the_name_of_another_is_the_child_of_both() {
    let sent = [Sent { pid: GAME, ..start(1, CHILD, OTHER, "child.exe") }, start(2, 301, OTHER, "other.exe")];
    let mut followed = following(&[GAME], &[], true);
    passed(&mut followed, &sent);
    assert_eq!(followed.pids(), [GAME, CHILD]);
}

#[test]
fn a_process_that_is_told_later_is_followed_from_then_on_with_what_waited() {
    let mut followed = following(&[], &["game.exe"], false);
    let sent = [
        running(1, OTHER, "other.exe"),
        Sent::pages(2, (OTHER, 201), OTHER),
        Sent::pages(3, (CHILD, 301), CHILD),
        Sent::stack(4, (CHILD, 301), 3),
    ];
    assert_eq!(passed(&mut followed, &sent), [0]);
    let mut waited = Vec::new();
    followed.follow(CHILD, &mut |event| waited.push(event.processor));
    followed.follow(OTHER, &mut |event| waited.push(event.processor));
    assert_eq!(waited, [2, 3]);
    let sent = [
        Sent::stack(5, (OTHER, 201), 2), // the event of this stack was dropped
        Sent::pages(6, (OTHER, 201), OTHER),
        running(7, CHILD, "child.exe"),
    ];
    assert_eq!(passed(&mut followed, &sent), [1, 2]);
    assert_eq!((followed.dropped(), followed.pids()), (2, vec![OTHER, CHILD]));
    let news: Vec<_> = followed.news().into_iter().map(|started| (started.pid, started.because)).collect();
    assert_eq!(news, [(CHILD, Because::Told)]);
}

#[test]
fn who_starts_during_the_rundown_is_one_process() {
    let same = info(77, GAME, "child.exe");
    let sent = [
        Sent::process(1, hook::PROCESS_START, CHILD, &same),
        Sent::process(2, hook::PROCESS_RUNDOWN_START, CHILD, &same),
        Sent::pages(3, (CHILD, 301), CHILD),
        Sent::process(4, hook::PROCESS_END, CHILD, &same),
        Sent::process(2, hook::PROCESS_RUNDOWN_START, CHILD, &same), // late
    ];
    let mut followed = following(&[GAME], &[], true);
    assert_eq!(passed(&mut followed, &sent).len(), 5);
    assert_eq!((followed.pids(), followed.news().len()), (vec![GAME], 1));
}

#[test]
fn what_waits_is_passed_on_as_it_came() {
    let mut followed = following(&[], &["game.exe"], false);
    let pages = Sent::pages(2, (7, 8), GAME);
    let event = NewEvent {
        kind: HeaderKind::Event,
        id: EventId::Class { class: class::PAGE_FAULT, opcode: 98 },
        descriptor: Descriptor { channel: 1, level: 2, opcode: 98, task: 4, keyword: 5 },
        extended: &[ExtendedItem { kind: 6, data: &[1; 24] }, ExtendedItem { kind: 1, data: &[2; 3] }],
        ..pages.event(9)
    };
    followed.take(&event, &mut |_| panic!("it waits"));
    let mut said = Vec::new();
    followed.take(&start(3, GAME, 7, "GAME.exe").event(1), &mut |event| said.push(format!("{event:?}")));
    assert_eq!(said[0], format!("{event:?}"));
    assert_eq!(said.len(), 2);
}

#[test]
fn whoever_is_not_announced_in_time_is_given_up_and_counted() {
    let patience = PATIENCE * FREQUENCY as i64;
    let sent = [
        Sent::pages(1, (7, 8), GAME),
        Sent::stack(2, (7, 8), 1),
        Sent::pages(patience, (7, 8), OTHER),
        Sent::pages(patience + 2, (7, 8), CHILD),
        start(patience + 3, GAME, 7, "game.exe"),
        start(patience + 4, OTHER, 7, "game.exe"),
        Sent::stack(patience + 5, (7, 8), 1), // the event of this stack was dropped
        Sent::pages(patience + 6, (7, 8), GAME),
    ];
    let mut followed = following(&[], &["game.exe"], false);
    assert_eq!(passed(&mut followed, &sent), [4, 2, 5, 7]);
    assert_eq!((followed.dropped(), followed.undecided()), (3, 2));
}

#[test]
fn what_waits_takes_no_more_memory_than_it_may() {
    let mut followed = following(&[], &["game.exe"], false);
    let mut passed = Vec::new();
    let mut take = |followed: &mut Followed, sent: &Sent, number| {
        followed.take(&sent.event(number), &mut |event| passed.push(event.processor));
    };
    // One process that is never announced, and one whose start event comes soon.
    let noise =
        Sent { payload: [Sent::pages(1, (7, 8), OTHER).payload, vec![0; 4000]].concat(), ..Sent::pages(1, (7, 8), OTHER) };
    let n = MOST_BYTES / 4000;
    take(&mut followed, &noise, 0);
    take(&mut followed, &Sent::pages(2, (7, 8), GAME), 1);
    for _ in 0..3 * n {
        take(&mut followed, &noise, 2);
        assert!(followed.waiting.bytes() <= MOST_BYTES);
    }
    take(&mut followed, &start(3, GAME, 7, "game.exe"), 3);
    assert_eq!(passed, [1, 3]);
    assert_eq!(followed.waiting.bytes(), 0);
    assert_eq!(followed.dropped(), 1 + 3 * n as u64);
    assert!((1..=n as u64).contains(&followed.undecided()), "then it is known to be foreign");
}

#[test]
fn hostile_streams_leave_small_tables_and_are_no_panic() {
    let mut followed = following(&[1], &["game.exe"], true);
    let mut take = |sent: &Sent| followed.take(&sent.event(0), &mut |_| ());
    for time in [i64::MAX, i64::MIN, 0, -1] {
        for hook in [hook::PROCESS_END, hook::PROCESS_START, hook::PROCESS_START, hook::PROCESS_RUNDOWN_END] {
            for pid in [0, 1, u32::MAX] {
                take(&Sent::process(time, hook, pid, &info(time as u64, pid, "game.exe")));
                take(&Sent::pages(time, (pid, 5), !pid));
                take(&Sent::stack(time, (!pid, 5), time));
            }
        }
    }
    for n in 0..200_000 {
        let time = 10 + i64::from(n);
        take(&start(time, n, 1, "a.exe"));
        take(&Sent::pages(time, (n, 5), n + 1));
        take(&end(time, n.wrapping_mul(7), "a.exe"));
    }
    let (lifetimes, callers) = (followed.lifetimes.len(), followed.callers.len());
    assert!(lifetimes <= 1 << 16 && callers <= 8192, "{lifetimes} {callers}");
    assert!(followed.news().len() <= 1024);
}
