//! The allocator of a whole program, with the system's own ETW (on other systems: none).

use std::alloc::System;
use std::collections::HashMap;

use highwater_tracker::{Tracked, Tracker};

#[global_allocator]
static ALL: Tracked<System> = Tracked::new("test program");

#[test]
fn a_program_runs_with_it() {
    let threads: Vec<_> = (0..4_u64)
        .map(|thread| {
            std::thread::spawn(move || {
                let mut map = HashMap::new();
                for n in 0..10_000 {
                    map.insert(n, format!("{thread} {n}"));
                }
                let level = Tracker::named(&format!("Level {thread}"));
                level.on_alloc(map[&7].as_ptr(), map[&7].len());
                map.len()
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 10_000);
    }
    assert!(!highwater_tracker::is_on());
    highwater_tracker::unregister();
    drop(vec![0; 1 << 20]);
    assert!(format!("{:?}", ALL.tracker()).contains("test program"));
}
