//! What is recorded beside memory: what is asked of whom, and of whose events the trace is.

use highwater::capture::windows::LocalRecording;
use highwater::capture::{Children, Request, Target};
use highwater::etl::Guid;
use highwater::events::class;

use crate::constants::*;
use crate::simulated::events::{KERNEL, Lanes, Told, USER};
use crate::simulated::state::Provider;
use crate::simulated::story::Story;
use crate::{Scene, poll_until, request, words};

fn asked(scene: &Scene) -> Vec<Provider> {
    scene.etw.with(|etw| etw.of(USER).providers.clone())
}

fn on(guid: Guid, level: u8, any: u64, filters: &[(u32, Vec<u8>)]) -> Provider {
    Provider { guid, level, any, properties: 0, filters: filters.to_vec() }
}

fn halves(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Filter of this process.
fn of_this() -> (u32, Vec<u8>) {
    (FILTER_PIDS, std::process::id().to_le_bytes().to_vec())
}

/// A program and what it starts, so that nobody knows at the start who is recorded.
fn with_children(pid: u32) -> Request {
    let children = Children { are_recorded: true, with_heaps: None };
    Request { children, heap: false, ..Request::new(Target::Pids(vec![pid])) }
}

/// These by the user session.
fn by_user(told: Vec<Told>) -> Lanes {
    let mut lanes = Lanes::default();
    lanes[USER] = told;
    lanes
}

/// The recording looks after what waits once a second.
fn look_twice(running: &mut LocalRecording) {
    let now = running.poll().seconds;
    poll_until(running, "two seconds", |progress| progress.seconds > now + 2.2);
}

#[test]
fn frames_are_asked_of_direct3d_and_the_graphics_kernel_by_the_ids_of_presents_and_of_ui_for_etw() {
    let scene = Scene::silent();
    let mut running = scene.start(&Request { trackers: false, frames: true, ..request() }).unwrap();
    assert_eq!(running.poll().warning, None);
    let expected = [
        on(class::DXGI, 4, KEYWORD_PRESENTS, &[of_this(), (FILTER_EVENTS, halves(&[1, 4, 42, 43, 55, 56]))]),
        on(class::D3D9, 4, KEYWORD_PRESENTS, &[of_this(), (FILTER_EVENTS, halves(&[1, 2, 1, 2]))]),
        on(class::MULTI_FRAME_RATE, 4, 0, &[of_this()]),
        on(class::DXG_KRNL, 4, KEYWORD_KERNEL_PRESENTS, &[(FILTER_EVENTS, halves(&[1, 1, 184]))]),
    ];
    assert_eq!(asked(&scene), expected);
    drop(running);
    drop(scene);

    // Who comes later is in no filter; an old Windows has none.
    for (request, has_filters) in [(with_children(std::process::id()), true), (request(), false)] {
        let scene = Scene::silent();
        scene.etw.with(|etw| etw.has_filters = has_filters);
        let mut running = scene.start(&Request { trackers: false, frames: true, ..request }).unwrap();
        assert_eq!(running.poll().warning, None);
        let named = |provider: &Provider| provider.filters.iter().any(|(kind, _)| *kind == FILTER_PIDS);
        assert!(asked(&scene).len() == 4 && !asked(&scene).iter().any(named));
    }
}

#[test]
fn gpu_memory_is_asked_by_its_ids_with_what_holds_at_the_start_and_of_a_windows_without_filters_not_at_all() {
    let scene = Scene::silent();
    let mut running = scene.start(&Request { trackers: false, gpu: true, ..request() }).unwrap();
    assert_eq!(running.poll().warning, None);
    let filter = (FILTER_EVENTS, halves(&[1, 3, 366, 367, 371]));
    // Switched on, and asked for its state.
    let expected = [on(class::DXG_KRNL, 4, KEYWORDS_OF_GPU, &[filter]), on(class::DXG_KRNL, 4, KEYWORDS_OF_GPU, &[])];
    assert_eq!(asked(&scene), expected);
    drop(running);
    drop(scene);

    let scene = Scene::silent();
    scene.etw.with(|etw| etw.has_filters = false);
    let mut running = scene.start(&Request { gpu: true, ..request() }).unwrap();
    let told = running.poll().warning.unwrap();
    assert!(told.contains("GPU memory is not recorded"), "{told}");
    assert!(asked(&scene).iter().all(|provider| provider.guid != class::DXG_KRNL));
}

/// A change of the usage of local GPU memory, written by the system's process.
fn usage(pid: u32, new: u64, old: u64) -> Told {
    let words = [new, old, 0xFFFF_B50C_1E2A_5000].into_iter().flat_map(u64::to_le_bytes);
    let payload: Vec<u8> = words.chain(pid.to_le_bytes()).chain([0, 0, 0]).collect();
    Told { keyword: 4, ..Told::by(class::DXG_KRNL, 367, 4, &payload) }
}

#[test]
fn gpu_memory_is_that_of_the_processes_that_its_events_name() {
    let (own, other) = (std::process::id(), 40_002);
    for request in [request(), with_children(own)] {
        let scene = Scene::silent();
        let mut running = scene.start(&Request { gpu: true, ..request }).unwrap();
        scene.etw.with(|etw| etw.go_on(by_user(vec![usage(own, 5 << 20, 1 << 20), usage(other, 9 << 20, 0)])));
        look_twice(&mut running);
        scene.stop(running);
        let trace = scene.load("recorded.etl");
        let all: Vec<_> = trace.activity.gpu.iter().map(|series| series.pid.0).collect();
        assert_eq!(all, [own]);
        let counter = &trace.counters[trace.activity.gpu[0].usage.unwrap().0 as usize];
        let values: Vec<u64> = counter.samples.iter().map(|(_, bytes)| *bytes).collect();
        assert_eq!(values, [1 << 20, 5 << 20]);
    }
}

#[test]
fn what_cannot_be_switched_on_is_told_once_and_the_rest_is_recorded() {
    let scene = Scene::silent();
    scene.etw.with(|etw| etw.refused_providers = vec![class::DXGI, class::D3D9, class::DXG_KRNL]);
    let mut running = scene.start(&Request { frames: true, ..request() }).unwrap();
    let told = running.poll().warning.unwrap();
    assert!(told.contains("frames are not recorded") && told.matches("frames").count() == 1 && told.contains("120"), "{told}");
    assert_eq!(asked(&scene).len(), 4, "three of trackers, and the marks of frames");
}

#[test]
fn frames_of_recorded_programs_are_in_the_trace_whoever_tells_first_and_those_of_others_are_not() {
    let (launcher, game, other) = (std::process::id(), 40_001, 40_002);
    let scene = Scene::silent();
    let mut running = scene.start(&Request { frames: true, ..with_children(launcher) }).unwrap();
    let present = |pid| {
        let chain = [0xAB_u8, 0, 0, 0, 0, 0, 0, 0];
        let start = [&chain[..], &0_u32.to_le_bytes(), &1_u32.to_le_bytes()].concat();
        [Told::by(class::DXGI, 42, pid, &start), Told::by(class::DXGI, 43, pid, &0_u32.to_le_bytes())]
    };
    let starts = [(game, launcher, "game.exe"), (other, 4, "other.exe")].map(|(pid, parent, name)| {
        let mut story = Story::of(pid);
        story.start(parent, name);
        story.lanes()
    });
    // The kernel's session tells of processes later than the programs themselves.
    let early = [present(launcher), present(game), present(other)].into_iter().flatten().collect();
    scene.etw.with(|etw| etw.go_on(by_user(early)));
    look_twice(&mut running);
    starts.into_iter().for_each(|start| scene.etw.with(|etw| etw.go_on(start)));
    look_twice(&mut running);
    let late = [present(other), present(game)].into_iter().flatten().collect();
    scene.etw.with(|etw| etw.go_on(by_user(late)));
    look_twice(&mut running);
    scene.stop(running);
    let trace = scene.load("recorded.etl");
    let mut pids: Vec<u32> = trace.activity.presents.iter().map(|chain| trace.process(chain.process).pid.0).collect();
    pids.sort_unstable();
    let mut expected = vec![launcher, game];
    expected.sort_unstable();
    assert_eq!(pids, expected);
}

/// A method of the .NET runtime, as it tells of it in full.
fn method(provider: Guid, id: u16, pid: u32, start: u64, name: &str) -> Told {
    let text = |text: &str| text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let words = [0x11_u64, 0x22, start].into_iter().flat_map(u64::to_le_bytes);
    let (size, token, jitted) = (0x100_u32, 0x0600_0001_u32, 8_u32);
    let words = words.chain([size, token, jitted].into_iter().flat_map(u32::to_le_bytes));
    let payload = words.chain(text("Game.World")).chain(text(name)).chain(text("void  ()")).chain([1, 0]).collect::<Vec<u8>>();
    Told { version: 1, ..Told::by(provider, id, pid, &payload) }
}

/// That a runtime has told all that there is at the end.
fn all_told(pid: u32) -> Told {
    Told::by(class::CLR_RUNDOWN, 146, pid, &[1, 0])
}

fn names(scene: &Scene) -> Vec<String> {
    let trace = scene.load("recorded.etl");
    let managed = &trace.activity.managed;
    let methods = managed.processes().into_iter().flat_map(|process| managed.methods(process));
    let mut names: Vec<String> = methods.map(|method| method.name.to_string()).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn the_runtime_is_asked_for_what_there_was_at_the_start_and_for_all_there_is_before_the_sessions_stop() {
    let scene = Scene::silent();
    let pid = std::process::id();
    scene.etw.with(|etw| {
        etw.go_on(Lanes::default());
        let at_start =
            vec![method(class::CLR_RUNDOWN, 143, pid, 0x1000, "Before"), Told::by(class::CLR_RUNDOWN, 145, pid, &[1, 0])];
        let foreign = method(class::CLR_RUNDOWN, 144, 40_002, 0x9000, "Foreign");
        let at_end = vec![method(class::CLR_RUNDOWN, 144, pid, 0x3000, "AtEnd"), foreign, all_told(pid)];
        etw.rundowns =
            vec![(class::CLR_RUNDOWN, KEYWORD_START_RUNDOWN, at_start), (class::CLR_RUNDOWN, KEYWORD_END_RUNDOWN, at_end)];
    });
    let mut running = scene.start(&Request { trackers: false, managed: true, ..request() }).unwrap();
    assert_eq!(running.poll().warning, None);
    let now = vec![method(class::CLR, 143, pid, 0x2000, "Meanwhile"), method(class::CLR, 143, 40_002, 0x9000, "Foreign")];
    scene.etw.with(|etw| etw.go_on(by_user(now)));
    look_twice(&mut running);
    scene.stop(running);
    let expected = [
        on(class::CLR, 4, KEYWORDS_OF_RUNTIME, &[of_this()]),
        on(class::CLR_RUNDOWN, 4, KEYWORDS_AT_START, &[of_this()]),
        on(class::CLR_RUNDOWN, 4, KEYWORDS_AT_END, &[of_this()]),
    ];
    assert_eq!(asked(&scene), expected);
    let calls = scene.etw.with(|etw| etw.calls.clone());
    let at = |is: &dyn Fn(&str) -> bool| calls.iter().position(|call| is(call)).unwrap();
    let end = at(&|call| call.contains("A669021C") && call.ends_with("0x40138"));
    assert!(end < at(&|call| call.starts_with("ControlTraceW(STOP)")), "{calls:?}");
    assert_eq!(names(&scene), ["Game.World.AtEnd", "Game.World.Before", "Game.World.Meanwhile"]);
}

#[test]
fn who_tells_nothing_is_not_waited_for_long_nor_at_all_in_a_hurry() {
    for is_in_a_hurry in [false, true] {
        let scene = Scene::silent();
        let mut running = scene.start(&Request { trackers: false, managed: true, ..request() }).unwrap();
        if is_in_a_hurry {
            running.hurry();
        }
        scene.stop(running);
        let at_end = asked(&scene).into_iter().filter(|provider| provider.any == KEYWORDS_AT_END).count();
        assert_eq!(at_end, usize::from(!is_in_a_hurry));
        assert!(scene.etw.running().is_empty());
    }
}

#[test]
fn who_is_not_there_yet_has_no_code_from_before() {
    let scene = Scene::silent();
    let image = Target::Image("highwater-test-game.exe".to_owned());
    let running = scene.start(&Request { trackers: false, heap: false, managed: true, ..Request::new(image) }).unwrap();
    assert_eq!(asked(&scene), [on(class::CLR, 4, KEYWORDS_OF_RUNTIME, &[])]);
    scene.stop(running);
    assert_eq!(asked(&scene).len(), 1, "and nobody is asked at the end where nobody is recorded");
}

#[test]
fn marks_are_asked_of_the_providers_that_are_named_and_those_of_the_kernel_are_kept() {
    let scene = Scene::silent();
    let pid = std::process::id();
    let mut running = scene.start(&Request { trackers: false, marks: vec![class::MULTI_MAIN], ..request() }).unwrap();
    assert_eq!(asked(&scene), [on(class::MULTI_MAIN, 5, 0, &[of_this()])]);
    let mark = |pid, text: &[u8]| Told::by(class::MULTI_MAIN, 102, pid, text);
    let mut lanes = by_user(vec![mark(pid, b"Level 2\0"), mark(40_002, b"another's\0")]);
    lanes[KERNEL].push(Told::of_kernel(class::PERF_INFO, 34, (40_002, 9), b"of the kernel\0\0\0"));
    scene.etw.with(|etw| etw.go_on(lanes));
    look_twice(&mut running);
    scene.stop(running);
    let trace = scene.load("recorded.etl");
    let mut texts: Vec<String> = trace.activity.marks.list.iter().map(|mark| mark.text.to_string()).collect();
    texts.sort();
    assert_eq!(texts, ["Level 2", "of the kernel"]);
}

#[test]
fn samples_are_switched_on_with_their_stacks_and_those_of_recorded_programs_are_kept() {
    let scene = Scene::silent();
    let pid = std::process::id();
    let mut running = scene.start(&Request { stacks: false, samples: true, heap: false, trackers: false, ..request() }).unwrap();
    assert_eq!(running.poll().warning, None);
    scene.etw.with(|etw| {
        let kernel = etw.of(KERNEL);
        assert_eq!(words(&kernel.masks), [0x0100_C007, 0, 0, 0, 0, 0, 0, 0]);
        let class = [0xB4, 0xBF, 0x1D, 0xCE, 0x7E, 0x13, 0xA6, 0x4D, 0x87, 0xB0, 0x3F, 0x59, 0xAA, 0x10, 0x2C, 0xBC];
        assert_eq!(kernel.stacks, [&class[..], &[46, 0, 0, 0, 0, 0, 0, 0]].concat());
    });
    let nobody = (u32::MAX, u32::MAX);
    let thread = |pid: u32, tid: u32| {
        let payload = [pid.to_le_bytes(), tid.to_le_bytes()].concat().into_iter().chain([0; 80]).collect::<Vec<u8>>();
        Told { version: 3, ..Told::of_kernel(class::THREAD, 3, nobody, &payload) }
    };
    let sample = |tid: u32| {
        let payload = [&0x7FF6_0000_1000_u64.to_le_bytes()[..], &tid.to_le_bytes(), &1_u32.to_le_bytes()].concat();
        Told::of_kernel(class::PERF_INFO, 46, nobody, &payload)
    };
    let interval = [0_u32, 20_000, 20_000].into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let mut lanes = Lanes::default();
    lanes[KERNEL].push(Told::of_kernel(class::PERF_INFO, 73, (40_002, 9), &interval));
    lanes[KERNEL].extend([sample(71), thread(pid, 71), thread(40_002, 91)]);
    lanes[KERNEL].extend([sample(71), sample(91), sample(0), sample(71)]);
    let mut other = Story::of(40_002);
    other.start(4, "other.exe");
    scene.etw.with(|etw| {
        etw.go_on(lanes);
        etw.go_on(other.lanes());
    });
    look_twice(&mut running);
    scene.stop(running);
    let trace = scene.load("recorded.etl");
    let samples = &trace.activity.samples;
    // The counter has 10 MHz here.
    assert_eq!((samples.list.len(), samples.idle, samples.unknown, samples.interval), (3, 0, 0, 20_000.0));
}

#[test]
fn without_the_right_to_sample_all_else_is_recorded() {
    let scene = Scene::silent();
    scene.etw.with(|etw| etw.refuses_samples = true);
    let mut running = scene.start(&Request { samples: true, ..request() }).unwrap();
    let told = running.poll().warning.unwrap();
    assert!(told.contains("CPU samples are not recorded") && told.contains("1314"), "{told}");
    assert_eq!(scene.etw.with(|etw| words(&etw.of(KERNEL).masks)[0]), 0xC007);
    assert_eq!(scene.etw.running().len(), 3);
}
