//! What sessions are asked for, byte by byte, and what is said where they are refused.

use highwater::capture::{Request, Target};

use crate::followed::waiting;
use crate::simulated::admit::extension;
use crate::simulated::events::HEAP;
use crate::simulated::state::Session;
use crate::{Scene, request, session_name, words};

#[test]
fn sessions_are_started_with_the_bytes_that_the_facts_ask_for() {
    let scene = Scene::silent();
    let running = scene.start(&Request { free_stacks: true, ..request() }).unwrap();
    let pid = std::process::id();
    scene.etw.with(|etw| {
        let [kernel, heap, user] = etw.sessions.as_slice() else { panic!("{} sessions", etw.sessions.len()) };
        for (session, lane) in [(kernel, "kernel"), (heap, "heap"), (user, "user")] {
            assert_eq!(session.name, session_name(lane));
            let bytes = &session.properties[0];
            assert_eq!(words(bytes)[0] as usize, bytes.len());
            assert_eq!(words(&bytes[0x28..0x30]), [1, 0x0002_0000], "the performance counter, a traced GUID");
            assert_eq!(words(&bytes[0x44..0x48]), [1], "delivered each second");
            assert_eq!(words(&bytes[0x70..0x74]), [0], "no file");
            let name: Vec<u8> = session.name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
            let at = words(&bytes[0x74..0x78])[0] as usize;
            assert_eq!(bytes[at..at + name.len()], name);
        }

        // Kernel: a private system logger whose events are switched on last.
        let bytes = &kernel.properties[0];
        assert_eq!((words(&bytes[0x40..0x44]), words(&bytes[0x48..0x4C])), (vec![0x0200_0100], vec![0]));
        assert_ne!(bytes[0x18..0x28], [0; 16], "a GUID of its own");
        assert_eq!(words(&kernel.masks), [0xC007, 0, 0, 0, 0, 0, 0, 0]);
        let mut stacks = Vec::new();
        for opcode in [98, 99] {
            stacks.extend([0xD3, 0xA8, 0x6F, 0x3D, 0x05, 0xFE, 0xD0, 0x11, 0x9D, 0xDA, 0x00, 0xC0, 0x4F, 0xD7, 0xBA, 0x7C]);
            stacks.extend([opcode, 0, 0, 0, 0, 0, 0, 0]);
        }
        assert_eq!(kernel.stacks, stacks);

        // Heaps: the session's GUID is the heap's; the extension block stands behind the name.
        let bytes = &heap.properties[0];
        assert_eq!(
            bytes[0x18..0x28],
            [0xAB, 0x62, 0x29, 0x22, 0x80, 0x61, 0x88, 0x4B, 0xA8, 0x25, 0x34, 0x6B, 0x75, 0xF2, 0xA2, 0x4A]
        );
        assert_eq!(words(&bytes[0x40..0x44]), [0x0800_0100]);
        let block = 0x78 + 2 * (heap.name.len() + 1);
        assert_eq!((words(&bytes[0x48..0x4C]), block % 8), (vec![0x80FF_0000 | block as u32], 0));
        let expected = [0x0002_0007, 0x0002_0002, pid, 0x0003_0004, 0x1021, 0x1022, 0x1024];
        assert_eq!(words(&bytes[block..])[..7], expected);

        // Trackers: a buffer for each processor, level 4, all keywords, with stacks.
        assert_eq!(words(&user.properties[0][0x40..0x4C]), [0x0000_0100, 1, 0]);
        let [trackers, mimalloc, pix] = user.providers.as_slice() else { panic!("{} providers", user.providers.len()) };
        assert_eq!(trackers.guid.to_string(), "988917C5-5748-42A8-A127-A9A2285265D5");
        assert_eq!((trackers.level, trackers.any, trackers.properties, trackers.filters.len()), (4, 0, 4, 0));
        // mimalloc: events 100 and 101; PIX: counters, allocations and frees; with stacks.
        assert_eq!(mimalloc.guid.to_string(), "138F4DBB-EE04-4899-AA0A-572AD4475779");
        assert_eq!((mimalloc.any, mimalloc.properties), (0, 4));
        assert_eq!(mimalloc.filters, [(0x8000_0200, vec![1, 0, 2, 0, 100, 0, 101, 0])]);
        assert_eq!(pix.guid.to_string(), "8819CA17-7FAA-4184-AFB7-A4120CA793CD");
        assert_eq!((pix.any, pix.properties, pix.filters.len()), (7, 4, 0));
    });
    drop(running);
}

#[test]
fn stacks_are_chosen_and_the_consumer_is_there_before_kernel_events_are_switched_on() {
    let scene = Scene::silent();
    drop(scene.start(&request()).unwrap());
    let calls = scene.etw.with(|etw| etw.calls.clone());
    let kernel: Vec<&str> = calls.iter().filter_map(|call| call.strip_suffix(" kernel")).collect();
    let first = ["QueryAllTracesW", "StartTraceW", "TraceSetInformation(3)", "OpenTraceW", "TraceSetInformation(4)"];
    assert_eq!(kernel[..5], first);
    let at = |call: &str| calls.iter().position(|c| c == call).unwrap();
    assert!(at("OpenTraceW heap") > at("TraceSetInformation(4) kernel"));
    assert!(scene.etw.running().is_empty(), "what is dropped is stopped");
}

#[test]
fn what_is_not_asked_for_is_not_recorded() {
    let scene = Scene::silent();
    let request = Request { commit: false, trackers: false, stacks: false, ..request() };
    drop(scene.start(&request).unwrap());
    scene.etw.with(|etw| {
        let [kernel, heap] = etw.sessions.as_slice() else { panic!("{} sessions", etw.sessions.len()) };
        assert_eq!(words(&kernel.masks)[0], 7, "processes, threads and images only");
        assert!(kernel.stacks.is_empty());
        let block = 0x78 + 2 * (heap.name.len() + 1);
        assert_eq!(words(&heap.properties[0][block..])[..3], [0x0001_0003, 0x0002_0002, std::process::id()]);
    });
}

#[test]
fn without_rights_nothing_starts_and_one_sentence_says_what_is_needed() {
    for call in ["StartTraceW", "OpenTraceW"] {
        let scene = Scene::silent();
        scene.etw.with(|etw| etw.refusals.insert(call, 5));
        let sentence = scene.refusal(&request());
        assert!(sentence.contains("administrator") && sentence.contains('5'), "{call}: {sentence}");
        assert!(scene.etw.running().is_empty(), "{call} leaves sessions");
    }
}

#[test]
fn what_can_be_recorded_is_and_what_cannot_is_told() {
    let lanes = ["kernel", "heap", "user"];
    for (call, missing, said) in [
        ("StartTraceW kernel", Some("kernel"), "commit and the names of modules"),
        ("StartTraceW heap", Some("heap"), "heaps are not recorded"),
        ("StartTraceW user", Some("user"), "custom trackers are not recorded"),
        ("EnableTraceEx2 user", Some("user"), "custom trackers are not recorded"),
        ("OpenTraceW kernel", Some("kernel"), "commit and the names of modules"),
        ("OpenTraceW heap", Some("heap"), "heaps are not recorded"),
        ("OpenTraceW user", Some("user"), "custom trackers are not recorded"),
        ("TraceSetInformation(3) kernel", None, "commit is recorded without call stacks"),
        ("TraceSetInformation(4) kernel", Some("kernel"), "commit and the names of modules"),
    ] {
        let scene = Scene::silent();
        scene.etw.with(|etw| etw.refusals.insert(call, 120));
        let mut running = scene.start(&request()).unwrap();
        let told = running.poll().warning.unwrap();
        assert!(told.contains(said) && told.contains("120"), "{call}: {told}");
        let run: Vec<_> = lanes.iter().filter(|lane| Some(**lane) != missing).map(|lane| session_name(lane)).collect();
        assert_eq!(scene.etw.running(), run, "{call}: {told}");
        drop(running);
        assert!(scene.etw.running().is_empty(), "{call} leaves sessions");
        drop(scene);

        // Where that was all that was asked for, there is nothing to record.
        let Some(missing) = missing else { continue };
        let scene = Scene::silent();
        scene.etw.with(|etw| etw.refusals.insert(call, 120));
        let only = |lane: &str| lane == missing;
        let request = Request { commit: only("kernel"), heap: only("heap"), trackers: only("user"), ..request() };
        assert!(scene.refusal(&request).contains("120"), "{call}");
        assert!(scene.etw.running().is_empty(), "{call} leaves sessions");
    }
}

/// How many processes a heap session takes is written nowhere; UIforETW says two.
#[test]
fn where_windows_takes_two_processes_the_heaps_of_two_are_recorded_and_the_others_are_named() {
    let mut others: Vec<_> = (0..3).map(|_| waiting()).collect();
    let pids: Vec<u32> = [std::process::id()].into_iter().chain(others.iter().map(std::process::Child::id)).collect();
    for most in [4, 2, 1] {
        let scene = Scene::silent();
        scene.etw.with(|etw| etw.most_heap_pids = most);
        let mut running = scene.start(&Request::new(Target::Pids(pids.clone()))).unwrap();
        let told = running.poll().warning;
        let traced =
            scene.etw.with(|etw| etw.sessions.iter().find(|s| s.lane == HEAP).map(|s| extension(&s.properties[0])[0].1.clone()));
        match most {
            4 => assert_eq!((told, traced), (None, Some(pids.clone()))),
            2 => {
                let told = told.unwrap();
                let left_out = format!("heaps of processes {}, {} are not recorded", pids[2], pids[3]);
                assert!(told.contains(&left_out) && told.contains("87"), "{told}");
                assert_eq!(traced.unwrap(), pids[..2]);
            }
            _ => assert!(told.unwrap().contains("heaps are not recorded") && traced.is_none()),
        }
    }
    others.iter_mut().for_each(|other| drop((other.kill(), other.wait())));
}

#[test]
fn all_sessions_together_have_no_more_memory_than_an_eighth_or_2_gb() {
    let memory = highwater::platform::physical_memory().unwrap();
    for request in [request(), Request { buffers: Some(u32::MAX), buffer_size: Some(u32::MAX), ..request() }] {
        let scene = Scene::silent();
        drop(scene.start(&request).unwrap());
        let bytes: u64 = scene.etw.with(|etw| {
            let of = |bytes: &[u8]| u64::from(words(bytes)[0x30 / 4]) * 1024 * u64::from(words(bytes)[0x38 / 4]);
            etw.sessions.iter().map(|session| of(&session.properties[0])).sum()
        });
        assert!(bytes <= (2 << 30).min(memory / 8) && bytes > 16 << 20, "{bytes} of {memory}");
    }
}

#[test]
fn a_session_of_our_name_is_replaced() {
    let scene = Scene::silent();
    for lane in ["kernel", "heap", "user"] {
        scene.etw.with(|etw| etw.sessions.push(Session::called(&session_name(lane))));
    }
    let mut running = scene.start(&request()).unwrap();
    assert_eq!((running.poll().warning, scene.etw.running().len()), (None, 3));
}

#[test]
fn too_many_sessions_are_told_and_none_of_ours_is_left() {
    let scene = Scene::silent();
    scene.etw.with(|etw| {
        etw.sessions.push(Session::called("somebody else's"));
        etw.limit = 2;
    });
    let only_heaps = Request { commit: false, trackers: false, ..request() };
    let sentence = scene.refusal(&only_heaps);
    assert!(sentence.contains("too many") && sentence.contains("1450"), "{sentence}");
    assert_eq!(scene.etw.running(), ["somebody else's"]);
}
