use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::etl::{EventId, HeaderKind};
use crate::events::encode::{Payload, memory, stack, system};
use crate::events::{PageRange, mem};
use crate::units::{Pid, PointerSize, Tid};

/// An event of a stream in the order in which it comes. Its time is its place there.
#[derive(Clone, Debug)]
enum Said {
    Start {
        pid: u32,
        parent: u32,
        name: &'static str,
        key: u64,
    },
    Rundown {
        pid: u32,
        parent: u32,
        name: &'static str,
        key: u64,
    },
    End {
        pid: u32,
        key: u64,
    },
    /// A caller (process, thread; nobody knows whose thread it is if there is none) commits in an owner.
    Pages {
        caller: u32,
        tid: Option<u32>,
        owner: u32,
    },
    /// Of the event with this time.
    Stack {
        of: usize,
        pid: u32,
        tid: u32,
    },
    Thread {
        pid: u32,
    },
}

/// Gives it to `take` as the kernel's session delivers it.
fn deliver(said: &Said, time: usize, take: &mut dyn FnMut(&NewEvent<'_>)) {
    let mut payload = Payload::default();
    let process = |payload: &mut Payload, pid, parent, name: &str, key| {
        let info = ProcessInfo { key, parent, name: name.to_owned(), command_line: String::new() };
        system::process(payload, Pid(pid), &info, system::ProcessDetails { session: 1, status: 0, sid: system::SID_USER });
    };
    let (hook, pid, tid) = match *said {
        Said::Start { pid, parent, name, key } => {
            process(&mut payload, pid, parent, name, key);
            (hook::PROCESS_START, parent, Some(1))
        }
        Said::Rundown { pid, parent, name, key } => {
            process(&mut payload, pid, parent, name, key);
            (hook::PROCESS_RUNDOWN_START, pid, Some(1))
        }
        Said::End { pid, key } => {
            process(&mut payload, pid, 0, "", key);
            (hook::PROCESS_END, pid, Some(1))
        }
        Said::Pages { caller, tid, owner } => {
            let range = PageRange { base: 0x1000, size: 0x1000, owner: Pid(owner), flags: mem::COMMIT };
            memory::pages(&mut payload, &range);
            (if time.is_multiple_of(2) { hook::VIRTUAL_ALLOC } else { hook::VIRTUAL_FREE }, caller, tid)
        }
        Said::Stack { of, pid, tid } => {
            stack::stack(&mut payload, of as i64, Pid(pid), Tid(tid), &[1, 2, 3]);
            (hook::STACK, Pid::NONE.0, None)
        }
        Said::Thread { pid } => {
            system::thread(&mut payload, Pid(pid), Tid(1), "");
            (hook::THREAD_START, pid, Some(1))
        }
    };
    take(&NewEvent {
        processor: (time % 3) as u16,
        time: time as i64,
        kind: if tid.is_some() { HeaderKind::System } else { HeaderKind::PerfInfo },
        pointer: PointerSize::Eight,
        pid: tid.map_or(Pid::NONE, |_| Pid(pid)),
        tid: tid.map_or(Tid::NONE, Tid),
        id: EventId::Hook(hook),
        version: 4,
        descriptor: Default::default(),
        extended: &[],
        payload: payload.bytes(),
    });
}

/// Times of what passes, in the order in which it does.
fn passed(followed: &mut Followed, said: &[Said]) -> Vec<usize> {
    let mut times = Vec::new();
    for (time, said) in said.iter().enumerate() {
        deliver(said, time, &mut |event| followed.take(event, &mut |event| times.push(event.time as usize)));
    }
    times
}

fn rules(pids: &[u32], names: &[&str], with_children: bool) -> Rules {
    Rules { pids: pids.to_vec(), names: names.iter().map(|&name| name.to_owned()).collect(), with_children }
}

fn followed(pids: &[u32], names: &[&str], with_children: bool) -> Followed {
    Followed::new(Some(rules(pids, names, with_children)))
}

fn start(pid: u32, parent: u32, name: &'static str) -> Said {
    Said::Start { pid, parent, name, key: u64::from(pid) }
}

fn pages(caller: u32, owner: u32) -> Said {
    Said::Pages { caller, tid: Some(caller + 1), owner }
}

fn stack_of(of: usize, pid: u32) -> Said {
    Said::Stack { of, pid, tid: pid + 1 }
}

#[test]
fn what_is_committed_for_a_child_before_its_start_is_the_childs() {
    let said = [
        start(8, 4, "game.exe"),
        pages(8, 12),
        stack_of(1, 8),
        pages(20, 24),
        stack_of(3, 20),
        start(12, 8, "child.exe"),
        stack_of(1, 8),
        start(24, 20, "other.exe"),
        stack_of(3, 20),
    ];
    let mut with = followed(&[], &["GAME.exe"], true);
    assert_eq!(passed(&mut with, &said), [0, 1, 2, 5, 6, 7]);
    assert_eq!((with.dropped(), with.undecided()), (3, 0));
    assert_eq!(with.pids(), [8, 12]);
    let news: Vec<_> = with.news().into_iter().map(|news| (news.pid, news.parent, news.name, news.because)).collect();
    assert_eq!(news, [(8, 4, "game.exe".to_owned(), Because::Name), (12, 8, "child.exe".to_owned(), Because::Child)]);
    assert_eq!(with.news(), []);
    // Its stacks, one of them late, go with it, though the caller is followed.
    assert_eq!(passed(&mut followed(&[], &["game.exe"], false), &said), [0, 5, 7]);
}

#[test]
fn pages_belong_to_the_owner_whoever_commits_them() {
    let foreign = [
        Said::Rundown { pid: 8, parent: 4, name: "game.exe", key: 1 },
        Said::Rundown { pid: 20, parent: 4, name: "other.exe", key: 2 },
        pages(20, 8),
        stack_of(2, 20),
        pages(8, 20),
        stack_of(4, 8),
        pages(20, 20),
        stack_of(6, 20),
        pages(8, 8),
        stack_of(8, 8),
        stack_of(2, 20),
    ];
    assert_eq!(passed(&mut followed(&[8], &[], false), &foreign), [0, 1, 2, 3, 8, 9, 10]);
}

#[test]
fn an_id_is_another_processs_after_its_end() {
    let said = [
        Said::Rundown { pid: 8, parent: 4, name: "game.exe", key: 1 },
        pages(8, 8),
        Said::End { pid: 8, key: 1 },
        stack_of(1, 8),
        start(8, 4, "other.exe"),
        pages(8, 8),
        stack_of(5, 8),
        start(8, 4, "game.exe"),
    ];
    let mut by_id = followed(&[8], &[], true);
    assert_eq!(passed(&mut by_id, &said), [0, 1, 2, 3, 4, 7]);
    assert!(!by_id.is_followed(8));
    let mut by_name = followed(&[], &["game.exe"], true);
    passed(&mut by_name, &said[..7]);
    assert!(!by_name.is_followed(8));
    // An end that nobody told of: the kernel's object is another.
    let again = Said::Start { pid: 8, parent: 4, name: "game.exe", key: 99 };
    deliver(&again, 20, &mut |event| by_name.take(event, &mut |_| {}));
    assert!(by_name.is_followed(8));
}

#[test]
fn who_is_told_of_is_followed_and_gets_what_waited() {
    let mut followed = followed(&[], &[], false);
    assert_eq!(passed(&mut followed, &[pages(8, 8), stack_of(0, 8), pages(20, 20)]), [0; 0]);
    let mut times = Vec::new();
    followed.follow(8, &mut |event| times.push(event.time));
    assert_eq!(times, [0, 1]);
    assert!(followed.is_followed(8) && !followed.is_followed(20));
    let said = [start(8, 4, "a.exe"), pages(8, 8)];
    assert_eq!(passed(&mut followed, &said), [0, 1]);
    assert_eq!(followed.news()[0].because, Because::Id);
}

#[test]
fn without_rules_nothing_is_left_out_and_nobody_has_to_be_known() {
    let said = [pages(8, 12), stack_of(0, 8), Said::Thread { pid: 8 }, start(12, 8, "a.exe")];
    let mut all = Followed::new(None);
    assert_eq!(passed(&mut all, &said), [0, 1, 2, 3]);
    assert!(all.is_followed(77) && all.dropped() == 0);
}

#[test]
fn names_that_the_kernel_cuts_off_or_cannot_write_are_those_of_the_command_line() {
    let info = |name: &str, command_line: &str| ProcessInfo {
        name: name.into(),
        command_line: command_line.into(),
        ..ProcessInfo::default()
    };
    assert!(is_named(&info("Game.EXE", ""), "game.exe"));
    assert!(is_named(&info("LongNameOfAGam", r#""C:\a b\LongNameOfAGame.exe" -x"#), "longnameofagame.exe"));
    assert!(is_named(&info("????.exe", r"C:\Игра.exe"), "игра.exe"));
    assert!(!is_named(&info("other.exe", "game.exe"), "game.exe"), "what a program is called counts, where it is known");
    assert!(!is_named(&info("????.exe", ""), "игра.exe"));
}

#[test]
fn what_waits_takes_a_bounded_room_and_what_falls_out_is_counted() {
    let mut followed = followed(&[], &["game.exe"], false);
    let (mut times, many) = (Vec::new(), 200_000_usize);
    for time in 0..many {
        let said = if time.is_multiple_of(2) { pages(8, 8) } else { stack_of(time - 1, 8) };
        deliver(&said, time, &mut |event| followed.take(event, &mut |event| times.push(event.time as usize)));
    }
    assert_eq!(times, [0; 0]);
    let lost = followed.undecided() as usize;
    assert!(lost > many / 4 && lost < many - 10_000, "{lost}");
    deliver(&start(8, 4, "game.exe"), many, &mut |event| followed.take(event, &mut |event| times.push(event.time as usize)));
    // The rest is there, without the stack of an event that fell out just before it.
    assert!(times.len() >= many - lost && times.is_sorted() && times.len() as u64 + followed.dropped() == many as u64 + 1);
    assert!(times[0].is_multiple_of(2));
}

#[test]
fn lies_about_processes_take_a_bounded_room() {
    let mut followed = followed(&[8], &["game.exe"], true);
    for n in 0..3 * MAX_LIVES as u32 {
        let name = if n.is_multiple_of(2) { "game.exe" } else { "other.exe" };
        deliver(&start(1000 + n, 8, name), n as usize, &mut |event| followed.take(event, &mut |_| {}));
    }
    assert!(followed.lives.len() <= MAX_LIVES && followed.news().len() == MAX_NEWS);
}

#[test]
fn events_that_are_too_short_pass() {
    let mut followed = followed(&[8], &[], true);
    for hook in [hook::VIRTUAL_ALLOC, hook::STACK, hook::PROCESS_START, hook::PROCESS_END] {
        for len in [0, 7, 15] {
            let mut count = 0;
            deliver(&Said::Thread { pid: 8 }, 1, &mut |event| {
                let short = NewEvent { id: EventId::Hook(hook), payload: &event.payload[..len], ..*event };
                followed.take(&short, &mut |_| count += 1);
            });
            assert_eq!(count, 1, "{hook:#x} of {len} bytes");
        }
    }
}

/// A random stream: processes that were there before, starts whose parents commit for them, ends, ids used
/// again, pages of each other, stacks at once and late.
fn stream(seed: u64) -> Vec<Said> {
    let mut state = seed | 1;
    let mut below = move |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    const NAMES: [&str; 4] = ["game.exe", "GAME.exe", "shop.exe", "other.exe"];
    let mut said = Vec::new();
    let mut key = 0;
    // Before the first rundown, too, something happens.
    let mut alive: Vec<(u32, u64)> = Vec::new();
    let mut rundown: Vec<u32> = vec![8, 12, 16, 20];
    let mut late: Vec<(usize, usize, u32, u32)> = Vec::new();
    let mut dead: Vec<u32> = vec![24, 28, 32];
    for _ in 0..150 {
        let pages = |said: &mut Vec<Said>, late: &mut Vec<_>, n: usize, caller: u32, owner: u32| {
            // Some headers have no thread; then time alone says whose stack it is.
            let tid = (n != 0).then_some(caller + 1);
            late.extend((0..n % 3).map(|_| (said.len() + n % 12, said.len(), caller, caller + 1)));
            said.push(Said::Pages { caller, tid, owner });
        };
        match below(12) {
            0 | 1 if !rundown.is_empty() => {
                let pid = rundown.swap_remove(below(rundown.len()));
                key += 1;
                alive.push((pid, key));
                said.push(Said::Rundown { pid, parent: 8, name: NAMES[below(4)], key });
            }
            2 if !alive.is_empty() && !dead.is_empty() => {
                let pid = dead.swap_remove(below(dead.len()));
                let parent = alive[below(alive.len())].0;
                for _ in 0..below(3) {
                    pages(&mut said, &mut late, below(40), parent, pid);
                }
                key += 1;
                said.push(Said::Start { pid, parent, name: NAMES[below(4)], key });
                alive.push((pid, key));
            }
            3 if alive.len() > 2 => {
                let (pid, key) = alive.swap_remove(below(alive.len()));
                said.push(Said::End { pid, key });
                dead.push(pid);
            }
            4 => said.push(Said::Thread { pid: 8 }),
            5 if !rundown.is_empty() => {
                let pid = rundown[below(rundown.len())];
                pages(&mut said, &mut late, below(40), pid, pid);
            }
            6 if !alive.is_empty() => {
                let caller = alive[below(alive.len())].0;
                let owner = if below(4) == 0 { 36 } else { alive[below(alive.len())].0 };
                pages(&mut said, &mut late, below(40), caller, owner);
            }
            7 if !alive.is_empty() => {
                // The stack of something that is no page event.
                let pid = alive[below(alive.len())].0;
                said.push(Said::Thread { pid });
                late.push((said.len() + below(10), said.len() - 1, pid, pid + 1));
            }
            _ if !alive.is_empty() => {
                let pid = alive[below(alive.len())].0;
                pages(&mut said, &mut late, below(40), pid, pid);
            }
            _ => {}
        }
        let due: Vec<_> = late.extract_if(.., |stack| stack.0 <= said.len()).collect();
        said.extend(due.into_iter().map(|(_, of, pid, tid)| Said::Stack { of, pid, tid }));
    }
    said
}

/// A process from its first moment to its last, and whether it is followed.
type OracleLife = (u32, usize, usize, bool);

/// The same by somebody who knows the whole stream.
fn oracle(said: &[Said], rules: &Rules) -> Vec<usize> {
    let mut lives: Vec<OracleLife> = Vec::new();
    let mut open: HashMap<u32, usize> = HashMap::new();
    let chosen: Vec<u32> = rules.pids.clone();
    for pid in &chosen {
        open.insert(*pid, lives.len());
        lives.push((*pid, 0, usize::MAX, true));
    }
    let named = |name: &str| rules.names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name));
    for (time, event) in said.iter().enumerate() {
        match *event {
            Said::Start { pid, parent, name, .. } if !open.contains_key(&pid) => {
                let of_parent = rules.with_children && open.get(&parent).is_some_and(|&life| lives[life].3);
                open.insert(pid, lives.len());
                lives.push((pid, time, usize::MAX, named(name) || of_parent));
            }
            Said::Rundown { pid, name, .. } if !open.contains_key(&pid) => {
                open.insert(pid, lives.len());
                lives.push((pid, 0, usize::MAX, named(name)));
            }
            Said::End { pid, .. } => {
                if let Some(life) = open.remove(&pid) {
                    lives[life].2 = time;
                }
            }
            _ => {}
        }
    }
    let at = |pid: u32, time: usize| lives.iter().find(|life| life.0 == pid && (life.1..=life.2).contains(&time));
    let next = |pid: u32, time: usize| lives.iter().filter(|life| life.0 == pid && life.1 > time).min_by_key(|life| life.1);
    let is_kept = |owner: u32, time: usize| at(owner, time).or_else(|| next(owner, time)).is_some_and(|life| life.3);
    let kept = |time: usize| match said[time] {
        Said::Pages { owner, .. } => is_kept(owner, time),
        Said::Stack { of, pid, .. } => match said[of] {
            Said::Pages { owner, .. } => is_kept(owner, of),
            _ => at(pid, of).is_some_and(|life| life.3),
        },
        _ => true,
    };
    (0..said.len()).filter(|&time| kept(time)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_passes_is_what_one_would_keep_who_knows_the_whole_stream(seed in any::<u64>(), which in 0..8_usize) {
        let said = stream(seed);
        let pids: &[u32] = if which & 1 != 0 { &[8] } else { &[] };
        let names: &[&str] = if which & 2 != 0 { &["game.exe"] } else { &[] };
        let rules = rules(pids, names, which & 4 != 0);
        let mut followed = Followed::new(Some(rules.clone()));
        let order = passed(&mut followed, &said);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(&sorted, &oracle(&said, &rules));
        // Stacks stay behind their events.
        for (place, &time) in order.iter().enumerate() {
            if let Said::Stack { of, .. } = said[time] {
                let is_of_pages = matches!(said[of], Said::Pages { .. });
                prop_assert!(!is_of_pages || order[..place].contains(&of), "stack {} before its event", time);
            }
        }
    }
}
