//! Models of other allocators, in the window.

use std::sync::Arc;

use crate::driver::{choose, click, demo, has, settle, show_tab, wait_for};
use highwater::format;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::names::Names;
use highwater::query::{Cancel, Filter, Index, Key, Mask, ModelNumbers, ModelsDone, WhatIfRequest, what_if};

/// The models that need no names, of the rows of a mask.
fn models(mask: impl FnOnce(&Index) -> Mask) -> Vec<ModelNumbers> {
    let trace = load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap();
    let index = Index::scan(Arc::new(trace));
    let (mask, request) = (mask(&index), WhatIfRequest::default());
    what_if((&index, &mask, &Names::default()), request, &ModelsDone::default(), &Cancel::default()).unwrap()
}

#[test]
fn the_table_has_the_numbers_of_the_models_within_filters_and_choices() {
    let mut window = demo();
    show_tab(&mut window, "What if");
    wait_for(&mut window, "A pool for ThumbnailServer.dll!FolderIndex.Add would take the peak from ");
    settle(&mut window);
    let all = models(|index| Mask::all(index.trace()));
    assert!(all.len() >= 10);
    // Those of trackers are below the last visible line.
    for of in all.iter().filter(|of| of.layer == all[0].layer) {
        let bytes = format::bytes(of.peak_touched_bytes);
        assert!(has(&window, &bytes), "{bytes} of {:?}", of.model);
    }
    assert!(has(&window, "nt_heap (approximate)") && !has(&window, "arena by frame"));

    choose(&mut window, "nothing", "frame");
    wait_for(&mut window, "arena by frame");
    click(&mut window, "Source TelemetryService.exe (5120)");
    settle(&mut window);
    let of_process = models(|index| {
        let trace = index.trace();
        let process = trace.heaps.iter().map(|heap| heap.process).find(|id| trace.process(*id).pid.0 == 5120).unwrap();
        Filter::under(&[Key::Process(process)][..]).mask(trace)
    });
    wait_for(&mut window, &format::bytes(of_process[0].peak_touched_bytes));
    for of in &of_process {
        assert!(has(&window, &format::bytes(of.peak_touched_bytes)), "{:?}", of.model);
    }
}
