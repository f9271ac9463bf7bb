use super::*;
use crate::Target;

fn request() -> Request {
    Request { trackers: false, ..Request::new(Target::Pids(vec![4660])) }
}

#[test]
fn frames_are_asked_of_those_who_show_them_and_only_their_presents() {
    let asked = wanted(&Request { frames: true, ..request() });
    let dxgi = (class::DXGI, 4, 2, &[42, 43, 55, 56][..]);
    let d3d9 = (class::D3D9, 4, 2, &[1, 2][..]);
    let told: Vec<_> = asked.iter().map(|wanted| (wanted.provider, wanted.level, wanted.keywords, &*wanted.ids)).collect();
    let kernel = (class::DXG_KRNL, 4, 0x800_0000, &[184][..]);
    assert_eq!(told, [dxgi, d3d9, (class::MULTI_FRAME_RATE, 4, 0, &[][..]), kernel]);
    assert!(asked.iter().all(|wanted| !wanted.stacks), "every frame would have one");
}

#[test]
fn gpu_memory_is_asked_of_the_graphics_kernel_together_with_its_presents_and_never_without_filters() {
    let asked = |request: Request| {
        let all = wanted(&request);
        let kernel = all.into_iter().filter(|one| one.provider == class::DXG_KRNL);
        kernel
            .map(|one| (one.keywords, one.ids.clone(), one.state, one.may_lack_filters(), one.is_of_processes()))
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(Request { gpu: true, ..request() }), [(0x84, vec![366, 367, 371], true, false, false)]);
    let both = asked(Request { gpu: true, frames: true, ..request() });
    assert_eq!(both, [(0x800_0084, vec![184, 366, 367, 371], true, false, false)]);
    assert_eq!(asked(Request { frames: true, ..request() }), [(0x800_0000, vec![184], false, true, false)]);
    assert_eq!(asked(request()), []);
}

#[test]
fn the_runtime_is_asked_for_code_and_collections_and_what_it_has_twice() {
    let asked = wanted(&Request { managed: true, ..request() });
    let [runtime] = asked.as_slice() else { panic!("{asked:?}") };
    // Garbage collections 1, loader 8, JIT 0x10, NGen 0x20, end enumeration 0x80, without NGen images 0x40000.
    assert_eq!((runtime.provider, runtime.level, runtime.keywords), (class::CLR, 4, 0x400B9));
    for (when, keywords) in [(Rundown::AtStart, 0x40078), (Rundown::AtEnd, 0x40138)] {
        let asked = rundown(when);
        assert_eq!((asked.provider, asked.level, asked.keywords, asked.stacks), (class::CLR_RUNDOWN, 4, keywords, false));
    }
}

#[test]
fn marks_are_all_that_a_provider_tells_each_once() {
    let marks = vec![class::MULTI_MAIN, class::MULTI_FRAME_RATE, class::MULTI_MAIN];
    let asked = wanted(&Request { frames: true, marks, ..request() });
    assert_eq!(asked.len(), 5, "frames, and what is not among them");
    let last = &asked[4];
    assert_eq!((last.provider, last.level, last.keywords, last.ids.len()), (class::MULTI_MAIN, 5, 0, 0));
}

#[test]
fn trackers_come_first_with_their_stacks() {
    let all = Request { frames: true, ..Request::new(Target::Pids(vec![4660])) };
    let asked = wanted(&all);
    assert_eq!((asked[0].provider, asked[0].stacks, asked[0].keywords), (class::CUSTOM_HEAP, true, 0));
    // Ids and keywords: etw.man of microsoft/mimalloc, PIXETW.man of microsoft/PixEvents.
    let allocators = |request: &Request| -> Vec<_> {
        let asked = wanted(request).into_iter().filter(|one| one.purpose == Purpose::Trackers).skip(1);
        asked.map(|one| (one.provider, one.level, one.keywords, one.ids, one.stacks)).collect()
    };
    let mimalloc = (class::MIMALLOC, 5, 0, vec![100, 101], true);
    assert_eq!(allocators(&all), [mimalloc.clone(), (class::PIX, 5, 7, vec![], true)]);
    let own = Allocator { provider: class::MULTI_MAIN, ids: vec![3] };
    let more = Request { marks: vec![class::PIX], allocators: vec![own.clone(), own], ..all };
    assert_eq!(allocators(&more), [mimalloc, (class::PIX, 5, 15, vec![], true), (class::MULTI_MAIN, 5, 0, vec![3], true)]);
    assert_eq!(asked.len(), 7);
    assert!(wanted(&request()).is_empty());
}

#[test]
fn allocators_that_are_named_are_asked_for_whatever_the_layers() {
    let own = Allocator { provider: class::MULTI_MAIN, ids: vec![3] };
    let asked = wanted(&Request { allocators: vec![own], ..request() });
    let [only] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!((only.provider, only.purpose, &only.ids[..]), (class::MULTI_MAIN, Purpose::Trackers, &[3][..]));
}

#[test]
fn filters_are_the_bytes_of_their_structures() {
    assert_eq!(pid_filter(&[0x1234, 5]), [0x34, 0x12, 0, 0, 5, 0, 0, 0]);
    assert!(pid_filter(&[]).is_empty());
    assert!(pid_filter(&[7; 9]).is_empty(), "Windows takes eight");
    assert_eq!(id_filter(&[42, 0x0102]), [1, 0, 2, 0, 42, 0, 2, 1]);
    assert!(id_filter(&[]).is_empty());
}
