//! Page faults, with and without a thread.

use super::*;

const GAME: u32 = 100;
const OTHER: u32 = 200;

#[test]
fn a_fault_without_a_thread_waits_for_its_stack_and_shares_its_fate() {
    let sent = [
        Sent::process(1, hook::PROCESS_RUNDOWN_START, OTHER, &info(2, 4, "other.exe")),
        Sent::fault(2, None),
        Sent::fault(3, None),
        Sent::fault(3, None),
        Sent::stack(3, (OTHER, 201), 3),
        Sent::stack(4, (GAME, 101), 2),
        Sent::stack(5, (GAME, 102), 3),
        Sent::stack(6, (GAME, 101), 2), // its user part
        Sent::fault(7, None),           // without a stack
    ];
    let mut followed = following(&[GAME], &[], false);
    assert_eq!(passed(&mut followed, &sent), [0, 1, 5, 3, 6, 7]);
    assert_eq!((followed.dropped(), followed.undecided()), (2, 0));
}

#[test]
fn a_fault_of_a_known_thread_is_treated_like_a_sample() {
    let sent = [
        Sent::process(1, hook::PROCESS_RUNDOWN_START, OTHER, &info(2, 4, "other.exe")),
        Sent::thread(1, hook::THREAD_RUNDOWN_START, GAME, 101),
        Sent::thread(1, hook::THREAD_RUNDOWN_START, OTHER, 201),
        Sent::fault(2, Some((GAME, 101))),
        Sent::fault(3, Some((OTHER, 201))),
    ];
    assert_eq!(passed(&mut following(&[GAME], &[], false), &sent), [0, 1, 3]);
}

#[test]
fn faults_whose_stack_never_comes_take_little_memory() {
    let mut followed = following(&[GAME], &[], false);
    for time in 0..10_000 {
        followed.take(&Sent::fault(time, None).event(0), &mut |_| panic!("it waits"));
        assert!(followed.faults.len() <= 4096);
    }
    assert_eq!((followed.dropped(), followed.undecided()), (5904, 5904));
}
