//! That what is played tells a session only what it asked for: else nothing of what is asked for is tested.

use highwater::capture::{Request, Target};
use highwater::events::{Event, PageRange, class, mem};
use highwater::units::{Layer, Pid};
use windows_sys::Win32::System::Diagnostics::Etw::FileIoGuid;

use crate::constants::*;
use crate::scene::poll_until_quiet;
use crate::simulated::admit::Kind;
use crate::simulated::events::{HEAP, KERNEL, Lanes, Told, USER};
use crate::simulated::state::Session;
use crate::simulated::story::Story;
use crate::{Scene, request};

/// All that happens to this process and to another: pages, blocks of heaps and trackers, each with a stack.
fn everything() -> Lanes {
    let mut all = Lanes::default();
    for (pid, name) in [(std::process::id(), "this.exe"), (40_002, "other.exe")] {
        let mut story = Story::of(pid);
        story.start(4, name);
        let pages = |flags| PageRange { base: 0x10_0000, size: 0x1000, owner: Pid(pid), flags };
        let block = |layer| Event::Alloc { layer, heap: 1, address: 0x20_0000, size: 16 };
        let free = Event::Free { layer: Layer::Heap, heap: 1, address: 0x20_0000 };
        for event in [Event::VirtualAlloc(pages(mem::COMMIT)), Event::VirtualFree(pages(mem::DECOMMIT)), block(Layer::Heap), free]
        {
            story.tell(event);
            story.stack(&[0x1000, 0x2000]);
        }
        story.tell_with_stack(block(Layer::Tracker), &[0x1000]);
        all.iter_mut().zip(story.lanes()).for_each(|(all, more)| all.extend(more));
    }
    let file = FileIoGuid;
    let file = highwater::etl::Guid::new(file.data1, file.data2, file.data3, file.data4);
    all[KERNEL].push(Told::of_kernel(file, 64, (std::process::id(), 9), &[0; 40]));
    all[KERNEL].push(Told::of_kernel(class::PERF_INFO, SAMPLE, (u32::MAX, u32::MAX), &[0; 16]));
    for kind in [DEMAND_ZERO_FAULT, HARD_FAULT] {
        all[KERNEL].push(Told::of_kernel(class::PAGE_FAULT, kind, (u32::MAX, u32::MAX), &[0; 40]));
    }
    all[USER].push(Told::by(class::DXGI, 42, std::process::id(), &[0; 16]));
    all
}

/// Kinds of what comes of a lane, by the sessions of this request: class or provider, type or id, whether a stack is in it.
fn comes(request: &Request, lane: usize) -> Vec<(Kind, u32, bool)> {
    let scene = Scene::silent();
    let mut running = scene.start(request).unwrap();
    scene.etw.with(|etw| etw.go_on(everything()));
    poll_until_quiet(&mut running);
    scene.etw.with(|etw| {
        let asked = etw.of(lane).asked();
        let traced = asked.traced(&etw.lanes);
        let admitted = etw.lanes[lane].iter().filter(|told| asked.admits(lane, told, &traced));
        let kind = |told: &Told| match told.owners.first() {
            Some((_, opcode)) => ((told.provider, *opcode), told.word(8), true),
            None => ((told.provider, told.opcode), told.pid, !asked.as_it_comes(told).items.is_empty()),
        };
        admitted.map(kind).collect()
    })
}

#[test]
fn the_kernel_tells_of_the_groups_that_are_on_and_stacks_of_the_kinds_that_were_listed() {
    let of = |request: &Request| comes(request, KERNEL);
    let has = |all: &[(Kind, u32, bool)], kind: Kind, is_stack: bool| {
        all.iter().any(|(of, _, stack)| *stack == is_stack && (of.1 == kind.1 && (is_stack || of.0 == kind.0)))
    };
    let pages = |kind| (class::PAGE_FAULT, kind);
    let without = of(&Request { commit: false, ..request() });
    assert!(!without.is_empty() && without.iter().all(|((class, _), ..)| *class == class::PROCESS), "{without:?}");
    let usual = of(&request());
    assert!(has(&usual, pages(VIRTUAL_ALLOC), false) && has(&usual, pages(VIRTUAL_FREE), false));
    assert!(has(&usual, pages(VIRTUAL_ALLOC), true) && !has(&usual, pages(VIRTUAL_FREE), true));
    assert!(!has(&usual, (class::PERF_INFO, SAMPLE), false));
    assert!(!has(&usual, pages(DEMAND_ZERO_FAULT), false) && !has(&usual, pages(HARD_FAULT), false));
    let faults = of(&Request { faults: true, ..request() });
    assert!(has(&faults, pages(DEMAND_ZERO_FAULT), false) && has(&faults, pages(HARD_FAULT), false));
    let all = of(&Request { samples: true, free_stacks: true, ..request() });
    assert!(has(&all, pages(VIRTUAL_FREE), true) && has(&all, (class::PERF_INFO, SAMPLE), false));
    let known = [class::PROCESS, class::PAGE_FAULT, class::PERF_INFO, class::STACK_WALK];
    assert!(all.iter().all(|((class, _), ..)| known.contains(class)), "nobody asked for files: {all:?}");
}

/// What was asked for instead of samples, and nobody noticed.
#[test]
fn the_flag_of_files_is_another_than_that_of_samples() {
    let told = everything();
    let asked = |flags: u32| {
        let session = Session { masks: flags.to_le_bytes().to_vec(), ..Session::called("x") }.asked();
        let admitted = told[KERNEL].iter().filter(|told| session.admits(KERNEL, told, &session.traced(&Lanes::default())));
        admitted.map(|told| told.opcode).collect::<Vec<_>>()
    };
    assert_eq!((asked(FLAG_FILE_IO), asked(FLAG_PROFILE)), (vec![64], vec![SAMPLE]));
}

#[test]
fn heaps_are_those_of_the_processes_and_the_hooks_of_the_block() {
    let own = std::process::id();
    let blocks = |request: &Request| {
        let all = comes(request, HEAP);
        all.into_iter().map(|((_, kind), pid, is_stack)| (kind, pid, is_stack)).collect::<Vec<_>>()
    };
    assert_eq!(blocks(&Request { stacks: false, ..request() }), [(0x21, own, false), (0x24, own, false)]);
    assert_eq!(blocks(&request()), [(0x21, own, false), (0x21, own, true), (0x24, own, false)]);
    let frees = blocks(&Request { free_stacks: true, ..request() });
    assert_eq!(frees, [(0x21, own, false), (0x21, own, true), (0x24, own, false), (0x24, own, true)]);
    // By the name that the registry has.
    let named = Request { stacks: false, ..Request::new(Target::Image("OTHER.exe".to_owned())) };
    assert_eq!(blocks(&named), [(0x21, 40_002, false), (0x24, 40_002, false)]);
}

#[test]
fn providers_tell_what_they_were_switched_on_for() {
    let of = |request: &Request| {
        let all = comes(request, USER);
        all.into_iter().map(|((provider, _), pid, has_stack)| (provider, pid, has_stack)).collect::<Vec<_>>()
    };
    let own = std::process::id();
    // Trackers are asked of all, in the plainest way.
    assert_eq!(of(&request()), [(class::CUSTOM_HEAP, own, true), (class::CUSTOM_HEAP, 40_002, true)]);
    let plain = of(&Request { stacks: false, ..request() });
    assert_eq!(plain, [(class::CUSTOM_HEAP, own, false), (class::CUSTOM_HEAP, 40_002, false)]);
    assert_eq!(of(&Request { trackers: false, frames: true, ..request() }), [(class::DXGI, own, false)]);
}

#[test]
fn levels_keywords_and_filters_leave_out_what_does_not_fit() {
    let scene = Scene::silent();
    let running = scene.start(&Request { frames: true, ..request() }).unwrap();
    let comes = |told: Told| {
        scene.etw.with(|etw| {
            let asked = etw.of(USER).asked();
            asked.admits(USER, &told, &asked.traced(&etw.lanes))
        })
    };
    let own = std::process::id();
    let present = |id, pid| Told::by(class::DXGI, id, pid, &[]);
    assert!(comes(present(42, own)));
    assert!(!comes(present(41, own)) && !comes(present(42, 40_002)), "by the filters of events and of processes");
    assert!(!comes(Told { keyword: 1, ..present(42, own) }), "another keyword");
    assert!(comes(Told { keyword: 0, ..present(42, own) }), "who says none is of all");
    assert!(!comes(Told { level: 5, ..present(42, own) }) && comes(Told { level: 3, ..present(42, own) }));
    assert!(!comes(Told::by(class::CLR, 143, own, &[])), "nobody has switched it on");
    drop(running);
}
