//! What sessions hear of blocks that were there before them.

use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

use crate::system::{ask, played, start, stop};
use crate::tests::{alone, at, words};
use crate::Tracker;

const ALLOC: u16 = 100;
const FREE: u16 = 101;
const REALLOC: u16 = 102;

/// The events of blocks since the last call: id, block, and the size or old block.
fn blocks() -> Vec<(u16, Vec<u64>)> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let of_blocks = played().into_iter().filter(|(id, _)| *id <= REALLOC);
    of_blocks.map(|(id, payload)| (id, payload[..payload.len() - 8].chunks(8).map(word).collect())).collect()
}

#[test]
fn a_session_hears_of_the_blocks_from_before_it() {
    let _alone = alone();
    let tracker = Tracker::new("First");
    tracker.on_alloc(at(0x10), 1);
    tracker.on_alloc(at(0x20), 2);
    tracker.on_realloc(at(0x20), at(0x30), 3);
    tracker.on_free(at(0x10));
    assert_eq!(played(), vec![]);
    start(4, 0);
    let events = played();
    let handle = u64::from_le_bytes(events[0].1[..8].try_into().unwrap());
    assert_eq!((events[0].0, events.len()), (103, 2), "the name, then the block");
    assert_eq!(events[1], (ALLOC, words(&[0x30, 3, handle])));
    tracker.on_free(at(0x30));
    tracker.on_free(at(0x40));
    tracker.on_alloc(at(0x50), 5);
    assert_eq!(blocks(), [(FREE, vec![0x30]), (FREE, vec![0x40]), (ALLOC, vec![0x50, 5])], "an unknown one is told, too");
    stop();
    tracker.on_alloc(at(0x60), 6);
    tracker.on_free(at(0x50));
    start(4, 0);
    assert_eq!(blocks(), [(ALLOC, vec![0x60, 6])]);
    start(4, 0);
    ask();
    assert_eq!(blocks(), [(ALLOC, vec![0x60, 6]), (ALLOC, vec![0x60, 6])], "each start and each question");
    stop();
    tracker.on_realloc(at(0x60), at(0x70), 7);
    assert_eq!(blocks(), [(REALLOC, vec![0x70, 7, 0x60])], "one of two is left");
    drop(tracker);
    stop();
    start(4, 0);
    assert_eq!(blocks(), [], "a tracker takes its blocks with it");
    stop();
}

#[test]
fn any_session_knows_what_is_alive() {
    let _alone = alone();
    let mut seed = 7_u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let tracker = Tracker::new("Any");
    let (mut alive, mut heard) = (BTreeMap::new(), BTreeMap::new());
    let mut sessions = 0;
    let mut next = 0x1000;
    for _ in 0..20_000 {
        let some = alive.keys().nth(random(alive.len().max(1) as u64) as usize).copied();
        match (random(100), some) {
            (0, _) if sessions < 2 => {
                start(4, 0);
                sessions += 1;
            }
            (1, _) if sessions > 0 => {
                stop();
                sessions -= 1;
                if sessions == 0 {
                    blocks();
                    heard.clear();
                }
            }
            (2..=39, Some(block)) if alive.len() > 40 => {
                tracker.on_free(at(block as usize));
                alive.remove(&block);
            }
            (40..=49, Some(block)) => {
                next += 16;
                let size = random(1 << 20);
                tracker.on_realloc(at(block as usize), at(next as usize), size as usize);
                alive.remove(&block);
                alive.insert(next, size);
            }
            _ if alive.len() < 100 => {
                next += 16;
                let size = random(1 << 20);
                tracker.on_alloc(at(next as usize), size as usize);
                alive.insert(next, size);
            }
            _ => {}
        }
        for (id, event) in blocks() {
            match (id, &event[..]) {
                (ALLOC, &[block, size]) => drop(heard.insert(block, size)),
                (FREE, &[block]) => assert!(heard.remove(&block).is_some()),
                (REALLOC, &[block, size, old]) => {
                    assert!(heard.remove(&old).is_some());
                    heard.insert(block, size);
                }
                other => panic!("{other:?}"),
            }
        }
        if sessions > 0 {
            assert_eq!(heard, alive);
        }
    }
    (0..sessions).for_each(|_| stop());
}

#[test]
fn threads_lose_no_block() {
    let _alone = alone();
    let common = &Tracker::new("Common");
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            scope.spawn(move || {
                for step in 1..12_000_usize {
                    let block = at((thread + 1) << 24 | step << 4);
                    common.on_alloc(block, step);
                    if step % 3 > 0 {
                        common.on_free(block);
                    }
                }
            });
        }
        for _ in 0..20 {
            start(4, 0);
            std::thread::yield_now();
            stop();
        }
    });
    played();
    start(4, 0);
    let mut told = blocks();
    told.sort();
    let kept = (1..=4_u64).flat_map(|thread| (3..12_000).step_by(3).map(move |step| (thread << 24 | step << 4, step)));
    assert_eq!(told, kept.map(|(block, step)| (ALLOC, vec![block, step])).collect::<Vec<_>>());
    stop();
}

/// `cargo test --release --features live --lib cost -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn cost_while_nobody_listens() {
    let _alone = alone();
    let tracker = Tracker::new("Cost");
    for held in [0, 100_000_usize] {
        (0..held).for_each(|n| tracker.on_alloc(at((n + 1) << 6), 64));
        let (begin, pairs) = (std::time::Instant::now(), 1_000_000_usize);
        for n in 0..pairs {
            let block = at((held + 1 + n % 1024) << 6);
            tracker.on_alloc(block, 64);
            tracker.on_free(block);
        }
        std::println!("{held} blocks alive: {:.1} ns a call", begin.elapsed().as_nanos() as f64 / (2 * pairs) as f64);
    }
}
