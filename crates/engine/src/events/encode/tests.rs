//! Tests that written records are read back as the same records.

use std::io::Cursor;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::*;
use crate::etl::{Guid, SessionHeader, Source, TraceFile, mode};
use crate::events::{
    ActivityEvent, Adapter, Collection, CollectionId, CollectionReason, CommittedRegion, EventCounts, EventSchema, FaultKind,
    Field, FrameRange, GpuChange, GpuKind, GpuMemory, ImageFile, ImageId, ImageInfo, InType, Lost, ManagedEvent, ManagedHeaps,
    ManagedMethod, MarkEvent, MarkText, MemoryLists, Merge, MethodChange, PageFault, PageRange, PixBlock, PixDoubt, PixEvent,
    PixStep, PixWhat, Present, PresentApi, ProcessInfo, ProcessMemory, RangeChange, SampleInterval, SegmentGroup, TIMER,
    ThreadStack, ViewChange, ViewEvent,
};

type Written = (Record, Vec<u64>);

fn writer(session: SessionHeader) -> RecordWriter<Cursor<Vec<u8>>> {
    RecordWriter::new(Writer::new(Cursor::new(Vec::new()), session).unwrap())
}

/// All records of the file in the merge's order, with their frames, and the counts.
fn read(w: RecordWriter<Cursor<Vec<u8>>>) -> (Vec<Written>, EventCounts) {
    let bytes = w.finish().unwrap().into_inner().leak();
    let files = [TraceFile::from_source(Source::Memory(bytes), "test.etl".to_owned()).unwrap()];
    let mut merge = Merge::of_records(&files);
    let mut seen = Vec::new();
    let flow = merge.run::<()>(
        |item, stack| {
            seen.push((item.record().into_owned(), stack.frames().addresses().to_vec()));
            ControlFlow::Continue(())
        },
        |_| ControlFlow::Continue(i64::MAX),
    );
    assert!(flow.is_continue());
    assert_eq!(merge.totals().problems.list(), []);
    for (record, _) in &mut seen {
        forget_range(&mut record.event);
    }
    (seen, merge.totals().counts)
}

/// Clears the range of frames, which depends on the batch.
fn forget_range(event: &mut Event) {
    if let Event::Stack { frames, .. } | Event::StackDefinition { frames, .. } = event {
        *frames = FrameRange::default();
    }
}

/// A stack that can be read back: one that is not empty, or none.
fn thread_stack(from: u64, to: u64) -> ThreadStack {
    if from < to { ThreadStack { from, to } } else { ThreadStack::default() }
}

/// One event of each kind the reader has records for; `n` picks the kind.
fn event(n: u8, [a, b, c, d]: [u64; 4], text: &str) -> Event {
    let layer = if n & 1 == 0 { Layer::Heap } else { Layer::Tracker };
    let name = (layer == Layer::Tracker && !text.is_empty()).then(|| text.into());
    let range = PageRange { base: a, size: b, owner: Pid(c as u32), flags: d as u32 };
    let frames = FrameRange::default();
    let image = || Box::new(ImageInfo { base: a, size: b, checksum: d as u32, time_stamp: c as u32, path: text.to_owned() });
    let process =
        || Box::new(ProcessInfo { key: a, parent: b as u32, name: text.to_owned(), command_line: format!("\"{text}\" -x") });
    match n / 2 {
        0 => Event::HeapOpen { layer, heap: a, name },
        1 => Event::HeapClose { layer, heap: a, name },
        2 => Event::Alloc { layer, heap: a, address: b, size: c },
        3 => Event::Free { layer, heap: a, address: b },
        4 => Event::Realloc { layer, heap: a, old: b, new: c, size: d },
        5 if n & 1 == 0 => Event::VirtualAlloc(range),
        5 => Event::VirtualFree(range),
        6 if n & 1 == 0 => Event::CommitRundown(CommittedRegion { base: a, size: b, committed: c.min(b), owner: Pid(d as u32) }),
        6 => Event::Stack { owner: a as i64, part: StackPart::User, frames },
        7 if n & 1 == 0 => Event::StackRef { owner: a as i64, part: StackPart::Kernel, key: b },
        7 => Event::StackRef { owner: a as i64, part: StackPart::User, key: b },
        8 if n & 1 == 0 => Event::StackDefinition { part: StackPart::User, key: a, frames },
        8 => Event::Process(ProcessChange::Start, process()),
        9 if n & 1 == 0 => Event::Process(ProcessChange::End, process()),
        9 => Event::Process(ProcessChange::Rundown, process()),
        10 if n & 1 == 0 => Event::Image(ImageChange::Load, image()),
        10 => Event::Image(ImageChange::Unload, image()),
        11 if n & 1 == 0 => Event::Image(ImageChange::Rundown, image()),
        11 => Event::ThreadName(text.into()),
        12 if n & 1 == 0 => Event::ImageId(Box::new(ImageId {
            base: a,
            guid: Guid::from_bytes([b as u8; 16]),
            age: c as u32,
            pdb: text.to_owned(),
        })),
        12 => Event::ThreadStart(thread_stack(a, b)),
        13 if n & 1 == 0 => {
            Event::ImageFile(Box::new(ImageFile { base: a, size: b, time_stamp: c as u32, name: text.to_owned() }))
        }
        _ => Event::Volume(Box::new((text.to_owned(), "C:\\".to_owned()))),
    }
}

const KINDS: u8 = 28;

/// The record that the reader must make of one that was written in this style.
fn expected(record: &Record, frames: &[u64], style: Style) -> Written {
    let mut record = record.clone();
    let natural = matches!(record.event, Event::CommitRundown(_) | Event::StackDefinition { .. })
        || matches!(record.event, Event::Process(ProcessChange::Rundown, _) | Event::Image(ImageChange::Rundown, _));
    let is_tracker = matches!(
        record.event,
        Event::HeapOpen { layer: Layer::Tracker, .. }
            | Event::HeapClose { layer: Layer::Tracker, .. }
            | Event::Alloc { layer: Layer::Tracker, .. }
            | Event::Free { layer: Layer::Tracker, .. }
            | Event::Realloc { layer: Layer::Tracker, .. }
    );
    let is_kernel = !is_tracker && !matches!(record.event, Event::ImageId(_) | Event::ImageFile(_) | Event::Volume(_));
    let threadless = is_kernel && style.header.map_or(natural, |kind| kind == HeaderKind::PerfInfo);
    // These carry their thread in the payload, those only their process.
    let has_thread =
        matches!(record.event, Event::Stack { .. } | Event::StackRef { .. } | Event::ThreadStart(_) | Event::ThreadName(_));
    let has_process = has_thread || matches!(record.event, Event::Process(..) | Event::Image(..));
    if threadless && !has_thread {
        record.tid = Tid::NONE;
        if !has_process {
            record.pid = Pid::NONE;
        }
    }
    if let Event::Stack { part, .. } | Event::StackDefinition { part, .. } = &mut record.event {
        let is_kernel = frames.last().is_some_and(|&outermost| outermost >= style.pointer.kernel_start());
        *part = if is_kernel { StackPart::Kernel } else { StackPart::User };
    }
    (record, frames.to_vec())
}

fn has_frames(event: &Event) -> bool {
    matches!(event, Event::Stack { .. } | Event::StackDefinition { .. })
}

/// Values that survive the pointer size.
fn values(pointer: PointerSize, raw: [u64; 4]) -> [u64; 4] {
    let mask = if pointer == PointerSize::Four { u64::from(u32::MAX) } else { u64::MAX };
    raw.map(|v| v & mask)
}

fn session(processors: u32, compressed: bool) -> SessionHeader {
    let mode = mode::SEQUENTIAL | if compressed { mode::COMPRESSED } else { 0 };
    SessionHeader { processors, mode, buffer_size: 8 << 10, ..SessionHeader::default() }
}

const HEADERS: [Option<HeaderKind>; 7] = [
    None,
    Some(HeaderKind::System),
    Some(HeaderKind::Compact),
    Some(HeaderKind::PerfInfo),
    Some(HeaderKind::Full),
    Some(HeaderKind::Instance),
    Some(HeaderKind::Event),
];

#[test]
fn every_event_comes_back_in_every_header() {
    for header in HEADERS {
        for pointer in [PointerSize::Four, PointerSize::Eight] {
            let style = Style { header, pointer, ..Style::default() };
            let mut w = writer(session(1, false));
            w.style = style;
            let mut all = Vec::new();
            for n in 0..KINDS {
                let event = event(n, values(pointer, [0x0001_0000, 0x7FF0_0010, 0x40, 0x3000]), "Grüße.exe");
                let frames = if has_frames(&event) { vec![1, 2, 3] } else { Vec::new() };
                let record = Record { time: i64::from(n) + 1, pid: Pid(9), tid: Tid(10), event };
                w.put(0, &record, &frames).unwrap();
                all.push(expected(&record, &frames, style));
            }
            let (seen, counts) = read(w);
            assert_eq!(seen, all, "{header:?} {pointer:?}");
            assert_eq!(counts.total, 1 + u64::from(KINDS));
        }
    }
}

#[test]
fn counts_tell_each_kind() {
    let mut w = writer(session(1, false));
    for n in 0..KINDS {
        let record = Record { time: 5, pid: Pid(9), tid: Tid(10), event: event(n, [1, 2, 3, 4], "x") };
        w.put(0, &record, &[]).unwrap();
    }
    w.style.at_end = true;
    w.style.key_definition = hook::STACK_KEY_DELETE;
    for n in [16, 19, 22] {
        let record = Record { time: 6, pid: Pid(9), tid: Tid(10), event: event(n, [1, 2, 3, 4], "x") };
        w.put(0, &record, &[]).unwrap();
    }
    let alloc = Record { time: 7, pid: Pid(9), tid: Tid(10), event: event(5, [1, 2, 3, 4], "x") };
    w.put_with_stack(0, &alloc, InlineStack::Frames(&[1, 2])).unwrap();
    w.put_with_stack(0, &alloc, InlineStack::Key(7)).unwrap();
    let (_, counts) = read(w);
    let ones = EventCounts {
        total: 1 + u64::from(KINDS) + 5,
        heap_create: 1,
        heap_destroy: 1,
        heap_alloc: 1,
        heap_free: 1,
        heap_realloc: 1,
        virtual_alloc: 1,
        virtual_free: 1,
        tracker_open: 1,
        tracker_close: 1,
        tracker_alloc: 3,
        tracker_free: 1,
        tracker_realloc: 1,
        stack: 1,
        stack_key_ref: 2,
        stack_key_definition: 2,
        inline_stack: 2,
        process_start: 1,
        process_end: 1,
        process_rundown: 2,
        image_load: 1,
        image_unload: 1,
        image_rundown: 2,
        image_id_rsds: 1,
        hard_fault: 0,
        demand_zero_fault: 0,
        copy_on_write_fault: 0,
        transition_fault: 0,
        guard_page_fault: 0,
        hard_page_fault: 0,
        access_violation: 0,
        gpu_usage: 0,
        gpu_budget: 0,
        gpu_commitment: 0,
        gpu_allocation: 0,
        pix_counter: 0,
        pix_timing: 0,
        view_map: 0,
        view_unmap: 0,
        view_rundown: 0,
        heap_snapshot: 0,
    };
    assert_eq!(counts, ones);
}

#[test]
fn inline_stacks_become_records_behind_their_event() {
    for pointer in [PointerSize::Four, PointerSize::Eight] {
        let mut w = writer(session(1, false));
        w.style.pointer = pointer;
        let (pid, tid) = (Pid(1), Tid(2));
        let alloc = Record { time: 7, pid, tid, event: event(5, [1, 2, 3, 4], "") };
        w.put_with_stack(0, &alloc, InlineStack::Frames(&[0x10, 0x20, 0x30])).unwrap();
        // The very same event once more would be a copy.
        let other = Record { event: event(5, [1, 9, 3, 4], ""), ..alloc.clone() };
        w.put_with_stack(0, &other, InlineStack::Key(0x99)).unwrap();
        let (seen, _) = read(w);
        assert_eq!(seen[0].0, alloc);
        assert!(matches!(seen[1].0, Record { time: 7, event: Event::Stack { owner: 7, .. }, .. }));
        assert_eq!(seen[1].1, [0x10, 0x20, 0x30]);
        assert_eq!(seen[2].0, other);
        let key = Event::StackRef { owner: 7, part: StackPart::User, key: 0x99 };
        assert_eq!(seen[3].0, Record { event: key, ..alloc });
    }
}

#[test]
fn extras_are_counted_and_only_those_of_threads_are_records() {
    let mut w = writer(session(1, false));
    let extras = [
        Extra::Thread { hook: hook::THREAD_RUNDOWN_START, pid: Pid(4), tid: Tid(8), name: String::new() },
        Extra::BuildInfo { installed: 1, lab: "l".to_owned(), product: "p".to_owned() },
        Extra::SystemPaths("s".to_owned(), "w".to_owned()),
        Extra::GroupMasks([1; 8]),
    ];
    for extra in &extras {
        w.put_extra(0, 1, extra).unwrap();
    }
    let named = Extra::Thread { hook: hook::THREAD_START, pid: Pid(4), tid: Tid(8), name: "worker".to_owned() };
    w.put_extra(0, 2, &named).unwrap();
    let (seen, counts) = read(w);
    assert_eq!(counts.total, 6);
    let stack = system::made_stack(Tid(8));
    let records = [(1, Event::ThreadRundown(stack)), (2, Event::ThreadStart(stack)), (2, Event::ThreadName("worker".into()))];
    assert_eq!(seen, records.map(|(time, event)| (Record { time, pid: Pid(4), tid: Tid(8), event }, vec![])));
}

#[test]
fn commit_is_no_heap() {
    let event = Event::Free { layer: Layer::Commit, heap: 1, address: 2 };
    let record = Record { time: 1, pid: Pid(1), tid: Tid(1), event };
    assert!(matches!(writer(session(1, false)).put(0, &record, &[]), Err(WriteError::WrongKind(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 4).max(1), ..ProptestConfig::default() })]
    #[test]
    fn any_records_come_back(
        records in proptest::collection::vec(
            (0..KINDS, any::<[u64; 4]>(), "[a-zA-Zäß€ .]{0,40}", proptest::collection::vec(1u64..1 << 31, 1..40), 0u16..4, 0u8..3, 0usize..14),
            0..120,
        ),
        compressed in any::<bool>(),
    ) {
        let mut w = writer(session(4, compressed));
        let mut all = Vec::new();
        let mut time = 0;
        for (n, raw, text, frames, processor, step, style) in records {
            // Within one stream equal times keep their order; across streams times differ here.
            let last_processor = all.last().map_or(processor, |(_, _, p)| *p);
            time += i64::from(if processor == last_processor { step } else { step.max(1) });
            let pointer = if style < 7 { PointerSize::Eight } else { PointerSize::Four };
            w.style = Style { header: HEADERS[style % 7], pointer, ..Style::default() };
            let event = event(n, values(pointer, raw), &text);
            let frames = if has_frames(&event) { frames } else { Vec::new() };
            let record = Record { time, pid: Pid(raw[0] as u32 % 9000), tid: Tid(raw[1] as u32 % 9000), event };
            w.put(processor, &record, &frames).unwrap();
            // A thread without a name makes no record.
            if record.event != Event::ThreadName("".into()) {
                let (record, frames) = expected(&record, &frames, w.style);
                all.push((record, frames, processor));
            }
        }
        let (seen, _) = read(w);
        let all: Vec<Written> = all.into_iter().map(|(record, frames, _)| (record, frames)).collect();
        prop_assert_eq!(seen, all);
    }
}

#[test]
fn counters_and_losses_come_back_in_every_header() {
    let range = |change| CounterEvent::HeapRange { heap: 0x1D_0000, change };
    let process = |n: u64| ProcessMemory {
        pid: Pid(4 * n as u32),
        working_set: n + 1,
        commit: n + 2,
        virtual_size: n + 3,
        private_working_set: n + 4,
    };
    let lists = MemoryLists { zero: 1, free: 2, modified: 3, modified_no_write: 4, bad: 5, standby: [1, 2, 3, 4, 5, 6, 7, 8] };
    let counters = [
        CounterEvent::Memory(lists),
        CounterEvent::Processes((0..40).map(process).collect()),
        CounterEvent::Processes(Vec::new()),
        CounterEvent::Chosen(vec![ProcessMemory { virtual_size: 0, private_working_set: 0, ..process(1) }]),
        range(RangeChange::Rundown(vec![(0x1D_0000, 0x1000), (0x5D_0000, 0x2000)])),
        range(RangeChange::Create(0x10_0000)),
        range(RangeChange::Reserve(0x20_0000, 0x10_0000)),
        range(RangeChange::Release(0x20_0000, 0x10_0000)),
        range(RangeChange::Destroy),
        CounterEvent::HeapSize { heap: 0x1D_0000, committed: 0x8000 },
    ];
    let mut events: Vec<Event> = counters.into_iter().map(|event| Event::Counter(Box::new(event))).collect();
    events.extend([LostWhat::Events, LostWhat::Buffers].map(|what| Event::Lost(what.into())));
    events.push(Event::Lost(Lost { what: LostWhat::Events, details: Some((-5, 7)) }));
    for header in HEADERS {
        for pointer in [PointerSize::Four, PointerSize::Eight] {
            let mut w = writer(session(1, false));
            w.style = Style { header, pointer, ..Style::default() };
            for (event, time) in events.iter().zip(1..) {
                w.put(0, &Record { time, pid: Pid(9), tid: Tid(10), event: event.clone() }, &[]).unwrap();
            }
            let (seen, counts) = read(w);
            let seen: Vec<Event> = seen.into_iter().map(|(record, _)| record.event).collect();
            assert_eq!(seen, events, "{header:?} {pointer:?}");
            assert_eq!(
                counts,
                EventCounts { total: 1 + events.len() as u64, ..EventCounts::default() },
                "no kind of the contract"
            );
        }
    }
}

/// One event of each kind of activity.
fn activities() -> Vec<Event> {
    let mark = |provider, text: &str, lasted_ms: Option<f32>| MarkEvent {
        provider,
        provider_name: (provider == class::MULTI_MAIN).then(|| "Multi-Main".into()),
        text: MarkText::Known(text.into()),
        lasted_ms,
    };
    let field = |name: &str, stored, is_single| Field { name: name.into(), stored, is_single };
    let schema = EventSchema {
        provider: class::KERNEL_MEMORY,
        provider_name: "My-Provider".into(),
        id: 7,
        version: 2,
        name: "LevelLoaded".into(),
        fields: [field("name", InType::UNICODE_STRING, true), field("list", InType::UINT32, false)].into(),
    };
    let method = |name: &str| ManagedMethod {
        module: 5,
        start: 0x7FF0_0000_1000,
        size: 0x40,
        is_jitted: true,
        name: name.to_owned(),
        signature: "instance void  ()".to_owned(),
    };
    let id = CollectionId { runtime: 3, number: 12 };
    let collection = |generation: Option<u32>| {
        let id = if generation.is_some() { id } else { CollectionId { runtime: 0, ..id } };
        Collection { id, generation, reason: CollectionReason(1), is_background: generation.is_some() }
    };
    let start = |api, is_test| Present::Start { api, swap_chain: 0x1000_2000, is_test };
    let managed = [
        ManagedEvent::Method(MethodChange::Load, Box::new(method("Game.Level.Load"))),
        ManagedEvent::Method(MethodChange::Unload, Box::new(method("Game.Level..ctor"))),
        ManagedEvent::Method(MethodChange::Rundown, Box::new(method("Main"))),
        ManagedEvent::Module { id: 5, path: r"C:\Game\Game.dll".into() },
        ManagedEvent::CollectionStart(collection(Some(2))),
        ManagedEvent::CollectionStart(collection(None)),
        ManagedEvent::CollectionEnd(id),
        ManagedEvent::Heaps(ManagedHeaps { generations: [1, 2, 3, 4, 5] }),
    ];
    let others = [
        ActivityEvent::Mark(mark(class::PERF_INFO, "Level 2", None)),
        ActivityEvent::Mark(mark(class::MULTI_MAIN, "Autosave", Some(61.5))),
        ActivityEvent::Mark(mark(class::MULTI_MAIN, "Clicked", None)),
        ActivityEvent::Schema(schema),
        ActivityEvent::Present(start(PresentApi::Dxgi, false)),
        ActivityEvent::Present(start(PresentApi::Dxgi, true)),
        ActivityEvent::Present(start(PresentApi::D3d9, false)),
        ActivityEvent::Present(Present::Taken { window: 0x2_04B0 }),
        ActivityEvent::Present(Present::Stop { api: PresentApi::Dxgi, has_failed: true }),
        ActivityEvent::Present(Present::Stop { api: PresentApi::D3d9, has_failed: false }),
        ActivityEvent::Present(Present::Marked),
        ActivityEvent::SampleInterval(SampleInterval { source: TIMER, interval: 10_000 }),
    ];
    let kinds = [GpuKind::Usage, GpuKind::Budget, GpuKind::Commitment].into_iter().zip(SegmentGroup::ALL.into_iter().cycle());
    let adapter = Adapter { address: 0x8000_1000, number: 2 };
    let changed = |(kind, group)| GpuMemory::Changed(GpuChange { kind, adapter, group, new: 5 << 40, old: 7 });
    let gpu = kinds.map(changed).chain([GpuMemory::Unread]).map(ActivityEvent::Gpu);
    let changes = [ViewChange::Map, ViewChange::Unmap, ViewChange::RundownStart, ViewChange::RundownEnd];
    let views = changes.map(|change| ActivityEvent::View(ViewEvent { change, base: 0x3E7E_0000, size: 0x1000 }));
    let others = others.into_iter().chain(views);
    let all = others.chain(gpu).chain(managed.map(ActivityEvent::Managed));
    all.map(|event| Event::Activity(Box::new(event)))
        .chain([Event::ThreadRundown(ThreadStack { from: 0x1000, to: 0x9000 })])
        .collect()
}

#[test]
fn what_pix_tells_comes_back() {
    let step = |at, what| PixStep { at, what };
    let names = ["", "A", "Größe", "four", "漢字😀 and more"];
    let begins = (0..).zip(names).map(|(n, name)| step(1000 + n, PixWhat::Begin(name.into())));
    let markers = (0..).zip(names).map(|(n, name)| step(1010 + n, PixWhat::Marker(name.into())));
    let steps = begins.chain(markers).chain([step(1020, PixWhat::End)]).collect();
    let block =
        PixBlock { number: 7, tid: Tid(44), times: (1000, 1030), steps, of_gpu: 3, unknown: 2, cut_names: 0, is_whole: true };
    let part = PixBlock { is_whole: false, steps: Vec::new(), ..block };
    let doubts = [PixDoubt::Header, PixDoubt::Form, PixDoubt::Clock, PixDoubt::NoNumber].map(PixEvent::Unread);
    let counter = PixEvent::Counter { name: "fps".into(), value: -59.5 };
    let all = [PixEvent::Block(block), PixEvent::Block(part), counter].into_iter().chain(doubts);
    let mut w = writer(session(1, false));
    let record = |(time, event)| {
        let event = Event::Activity(Box::new(ActivityEvent::Pix(event)));
        Record { time, pid: Pid(9), tid: Tid(10), event }
    };
    let all: Vec<Written> = (2000..).zip(all).map(|event| (record(event), Vec::new())).collect();
    all.iter().for_each(|(record, _)| w.put(0, record, &[]).unwrap());
    let (seen, counts) = read(w);
    assert_eq!(seen, all);
    assert_eq!((counts.pix_counter, counts.pix_timing), (2, 5));
}

#[test]
fn what_programs_do_comes_back_in_both_widths() {
    for pointer in [PointerSize::Four, PointerSize::Eight] {
        let mut w = writer(session(1, false));
        w.style = Style { pointer, ..Style::default() };
        let mut all = Vec::new();
        for (time, event) in (1..).zip(activities()) {
            let record = Record { time, pid: Pid(9), tid: Tid(10), event };
            w.put(0, &record, &[]).unwrap();
            all.push((record, Vec::new()));
        }
        let sample = Event::Sample { address: 0x7FF0_1234, count: 2 };
        w.put(0, &Record { time: 90, pid: Pid(9), tid: Tid(10), event: sample.clone() }, &[]).unwrap();
        // A sample does not name its process.
        all.push((Record { time: 90, pid: Pid::NONE, tid: Tid(10), event: sample }, Vec::new()));
        let (seen, counts) = read(w);
        assert_eq!(seen, all, "{pointer:?}");
        assert_eq!(counts.total, 1 + all.len() as u64);
    }
}

#[test]
fn page_faults_come_back_in_both_widths_with_and_without_their_thread() {
    for pointer in [PointerSize::Four, PointerSize::Eight] {
        let mut w = writer(session(1, false));
        w.style = Style { pointer, ..Style::default() };
        let mut all = Vec::new();
        for (time, kind) in (1..).zip(FaultKind::ALL) {
            let fault = match kind {
                FaultKind::Hard => PageFault::Hard { address: 0x7FF0_1234, started: -5, bytes: 0x8000 },
                _ => PageFault::Soft { kind, address: 0x7FF0_1234, code: 0x7FF1_0001 },
            };
            for (pid, tid) in [(Pid(9), Tid(10)), (Pid::NONE, Tid::NONE)] {
                // The event of a hard fault has the thread, but not the process.
                let pid = if kind == FaultKind::Hard { Pid::NONE } else { pid };
                let record = Record { time, pid, tid, event: Event::Fault(fault) };
                w.put(0, &record, &[]).unwrap();
                all.push((record, Vec::new()));
            }
        }
        let (seen, counts) = read(w);
        assert_eq!(seen, all, "{pointer:?}");
        let EventCounts { hard_fault, demand_zero_fault, copy_on_write_fault, transition_fault, .. } = counts;
        assert_eq!([hard_fault, demand_zero_fault, copy_on_write_fault, transition_fault], [2; 4]);
        assert_eq!([counts.guard_page_fault, counts.hard_page_fault, counts.access_violation], [2; 3]);
    }
}
