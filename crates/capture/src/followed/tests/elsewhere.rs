//! Events of sessions other than the kernel's.

use proptest::prelude::*;

use super::super::waiting::{MOST_BYTES, PATIENCE};
use super::*;

const GAME: u32 = 100;
const OTHER: u32 = 200;

/// An event that a process writes itself.
fn told(time: i64, pid: u32) -> Sent {
    Sent { time, pid, tid: 1, hook: hook::HEAP_ALLOC, payload: vec![0; 8] }
}

fn start(time: i64, pid: u32, name: &str) -> Sent {
    Sent::process(time, hook::PROCESS_START, pid, &info(u64::from(pid) << 16 | time as u64, 4, name))
}

fn end(time: i64, pid: u32) -> Sent {
    Sent::process(time, hook::PROCESS_END, pid, &info(0, 4, "game.exe"))
}

struct Both {
    followed: Followed,
    elsewhere: Elsewhere,
    passed: Vec<u16>,
}

impl Both {
    fn following(pids: &[u32]) -> Self {
        Self { followed: following(pids, &["game.exe"], false), elsewhere: Elsewhere::new(FREQUENCY), passed: Vec::new() }
    }

    fn kernel(&mut self, sent: &Sent) {
        self.followed.take(&sent.event(0), &mut |_| ());
    }

    fn take(&mut self, sent: &Sent, number: usize) {
        let passed = &mut self.passed;
        self.elsewhere.take(&self.followed, &sent.event(number), &mut |event| passed.push(event.processor));
    }

    fn settle(&mut self) {
        let passed = &mut self.passed;
        self.elsewhere.settle(&self.followed, &mut |event| passed.push(event.processor));
    }
}

#[test]
fn what_a_process_tells_waits_until_the_kernel_has_told_of_it() {
    let mut both = Both::following(&[7]);
    both.take(&told(1, 7), 1);
    assert_eq!(both.passed, [1], "its id was told");
    both.take(&told(2, GAME), 2);
    both.take(&told(3, OTHER), 3);
    both.take(&told(4, GAME), 4);
    assert_eq!(both.passed, [1]);
    both.kernel(&start(1, OTHER, "other.exe"));
    both.kernel(&start(1, GAME, "game.exe"));
    both.settle();
    assert_eq!(both.passed, [1, 2, 4]);
    both.kernel(&end(6, GAME));
    both.take(&told(5, GAME), 5); // of the ended process
    both.take(&told(7, GAME), 6); // of the next process with its id
    both.kernel(&start(7, GAME, "other.exe"));
    both.settle();
    assert_eq!(both.passed, [1, 2, 4, 5]);
    assert!(both.elsewhere.waiting.is_empty());
}

#[test]
fn who_is_never_told_of_is_given_up_and_takes_little_memory() {
    let mut both = Both::following(&[]);
    let large = Sent { payload: vec![0; 4000], ..told(1, GAME) };
    for number in 0..3 * MOST_BYTES / 4000 {
        both.take(&large, number);
        assert!(both.elsewhere.waiting.bytes() <= MOST_BYTES);
    }
    let late = 2 + PATIENCE * FREQUENCY as i64;
    both.take(&told(late, OTHER), 0);
    both.kernel(&start(1, GAME, "game.exe"));
    both.kernel(&start(1, OTHER, "game.exe"));
    both.settle();
    assert_eq!(both.passed, [0], "the newest");
}

proptest! {
    /// The kernel announces each process at any point of the stream.
    #[test]
    fn exactly_what_followed_processes_tell_is_passed_on_each_in_order(
        pids in prop::collection::vec(1..6_u32, 0..100),
        announced in prop::collection::vec((1..6_u32, 0..100_usize), 0..8),
    ) {
        let is_game = |pid: u32| pid % 2 == 1;
        let mut both = Both::following(&[]);
        for (number, &pid) in pids.iter().enumerate() {
            announced.iter().filter(|(_, at)| *at == number).for_each(|(pid, _)| both.kernel(&start(0, *pid, name(is_game(*pid)))));
            both.take(&told(number as i64 + 1, pid), number);
        }
        (1..6).for_each(|pid| both.kernel(&start(0, pid, name(is_game(pid)))));
        both.settle();
        for game in (1..6).filter(|&pid| is_game(pid)) {
            let of = |number: &usize| pids[*number] == game;
            let passed: Vec<usize> = both.passed.iter().map(|&number| usize::from(number)).filter(of).collect();
            prop_assert_eq!(passed, (0..pids.len()).filter(of).collect::<Vec<_>>());
        }
        prop_assert_eq!(both.passed.len(), pids.iter().filter(|&&pid| is_game(pid)).count());
    }
}

fn name(is_game: bool) -> &'static str {
    if is_game { "game.exe" } else { "other.exe" }
}
