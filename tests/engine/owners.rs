//! Who keeps commit: the first frame from the inside that a rule fits, up to the responsible caller.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater::events::{
    ActivityEvent, Event, FrameRange, ImageChange, ImageInfo, ManagedEvent, ManagedMethod, MethodChange, PageRange, Record,
    StackPart, mem,
};
use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::query::{
    By, Cancel, Filter, Fold, Index, ReportFilter, ReportRequest, RowGrouping, RowsAsked, SiteLabels, Sort, owners, report,
    row_groups,
};
use highwater::symbols::Names;
use highwater::units::{Layer, Pid, Tid};

const PID: Pid = Pid(4660);
/// Where functions with names lie, and the modules of those without.
const NAMED: u64 = 0x10_0000_0000;
const GRAPHICS: u64 = 0x20_0000_0000;
const RUNTIME: u64 = 0x30_0000_0000;
const GAME: u64 = 0x40_0000_0000;

/// Functions with names and their modules.
const FUNCTIONS: [(&str, &str); 7] = [
    ("ntdll.dll", "RtlpFindAndCommitPages"),
    ("ntdll.dll", "RtlAllocateHeap"),
    ("KERNELBASE.dll", "VirtualAlloc"),
    ("ntoskrnl.exe", "RtlCreateUserStack"),
    ("game.exe", "LoadLevel"),
    ("game.exe", "CreateFiberScheduler"),
    ("browser.dll", "partition_alloc::internal::AllocPages"),
];

fn named(function: &str) -> u64 {
    let n = FUNCTIONS.iter().position(|(_, name)| *name == function).unwrap();
    NAMED + 0x100 * n as u64 + 0x10
}

/// Owners and the stacks of what they keep, innermost frame first.
fn stacks() -> Vec<(&'static str, Vec<u64>)> {
    let (game, clr, driver) = (named("LoadLevel"), RUNTIME + 0x500, GRAPHICS + 0x500);
    vec![
        ("Windows heap", vec![named("RtlpFindAndCommitPages"), named("RtlAllocateHeap"), game]),
        ("Thread stacks", vec![named("RtlCreateUserStack"), game]),
        ("Graphics", vec![named("VirtualAlloc"), driver, game]),
        ("Windows heap", vec![named("RtlpFindAndCommitPages"), named("RtlAllocateHeap"), driver, game]),
        ("PartitionAlloc", vec![named("VirtualAlloc"), named("partition_alloc::internal::AllocPages"), game]),
        ("CLR", vec![named("VirtualAlloc"), clr, game]),
        // What a program of .NET calls is not .NET's.
        ("game.exe", vec![named("VirtualAlloc"), game, clr]),
        ("game.exe", vec![named("VirtualAlloc"), named("CreateFiberScheduler"), GAME + 0x10]),
        ("game.exe", vec![GAME + 0x10]),
        ("(no module)", vec![0x999]),
        ("(no stack)", Vec::new()),
    ]
}

/// A trace in which each stack commits twice as much as the one before it.
fn trace() -> Arc<Trace> {
    let mut builder = Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, 0, (0, 0));
    let mut now = 0;
    let mut tell = |event: Event, frames: &[u64]| {
        now += 10;
        builder.apply(&Record { time: now, pid: PID, tid: Tid(7), event }, frames);
        now
    };
    for (base, file) in [(GRAPHICS, "nvwgf2umx.dll"), (RUNTIME, "coreclr.dll"), (GAME, "game.exe")] {
        let path = format!(r"\Device\Volume1\game\{file}");
        let image = ImageInfo { base, size: 0x10_0000, checksum: 0, time_stamp: 7, path };
        tell(Event::Image(ImageChange::Load, Box::new(image)), &[]);
    }
    let managed = |event| Event::Activity(Box::new(ActivityEvent::Managed(event)));
    for (n, (module, name)) in (0..).zip(FUNCTIONS) {
        tell(managed(ManagedEvent::Module { id: n, path: module.into() }), &[]);
        let method =
            ManagedMethod { module: n, start: NAMED + 0x100 * n, size: 0x100, name: name.into(), ..ManagedMethod::default() };
        tell(managed(ManagedEvent::Method(MethodChange::Load, Box::new(method))), &[]);
    }
    for (n, (_, frames)) in (0..).zip(stacks()) {
        let flags = mem::COMMIT | mem::RESERVE;
        let pages = PageRange { base: 0x1000_0000 * (n + 1), size: 0x1000 << n, owner: PID, flags };
        let at = tell(Event::VirtualAlloc(pages), &[]);
        if !frames.is_empty() {
            tell(Event::Stack { owner: at, part: StackPart::User, frames: FrameRange::default() }, &frames);
        }
    }
    tell(Event::Alloc { layer: Layer::Heap, heap: 0x1D_0000, address: 0x1000, size: 40 }, &[]);
    tell(Event::Alloc { layer: Layer::Tracker, heap: 0x5, address: 0x2000, size: 50 }, &[]);
    let state = InputState { times: Some((0, now + 1)), complete: true, ..InputState::default() };
    Arc::new(builder.publish(state))
}

#[test]
fn commit_is_kept_by_the_first_owner_from_the_inside_and_by_nobody_behind_the_responsible_caller() {
    let (index, never) = (Index::scan(trace()), Cancel::default());
    let mut expected = BTreeMap::new();
    (0..).zip(stacks()).for_each(|(n, (owner, _))| *expected.entry(owner.to_owned()).or_insert(0) += 0x1000u64 << n);
    let (interval, filter) = (index.trace().span, ReportFilter { layer: Some(Layer::Commit), ..ReportFilter::default() });
    let request = ReportRequest { interval, by: vec![By::Owner], filter, top: None, fold: Fold::Nothing, sources: false };
    let groups = report(&index, &request, &never).unwrap().groups;
    let told: BTreeMap<String, u64> =
        groups.iter().map(|group| (group.owner.clone().unwrap(), group.numbers.outstanding_to)).collect();
    assert_eq!(told, expected);

    let owners = Arc::new(owners(index.trace(), &Names::default(), &never).unwrap());
    let of_graphics = Filter::all().mask(index.trace());
    let labels = SiteLabels::Names(Arc::clone(&owners));
    let mask = &of_graphics;
    let asked = RowsAsked { index: &index, interval, mask, layer: Layer::Commit, totals: None, labels: Some(&labels) };
    let (groups, whole) = row_groups(asked, RowGrouping::Owner, Sort::default(), false, &never).unwrap();
    assert_eq!(whole.outstanding_to, expected.values().sum::<u64>());
    let name = |group: &highwater::query::RowGroup| match group.key {
        highwater::query::NodeKey::Label(id) => labels.name(id).to_string(),
        other => panic!("{other:?}"),
    };
    let in_window: BTreeMap<String, u64> = groups.iter().map(|group| (name(group), group.numbers.outstanding_to)).collect();
    assert_eq!(in_window, expected, "the window says the same");

    let mask = owners.mask(index.trace(), "Graphics");
    let asked = RowsAsked { mask: &mask, ..asked };
    let (groups, whole) = row_groups(asked, RowGrouping::Owner, Sort::default(), false, &never).unwrap();
    assert_eq!((groups.len(), whole.outstanding_to), (1, expected["Graphics"]), "a filter by owner leaves its commit alone");
    let nobody = owners.mask(index.trace(), "V8");
    assert!(index.trace().sites.iter().enumerate().all(|(i, _)| nobody.classes(highwater::model::SiteId(i as u32)) == 0));
}

#[test]
fn blocks_are_kept_by_their_heap_or_tracker() {
    let index = Index::scan(trace());
    let request = |layer| ReportRequest {
        interval: index.trace().span,
        by: vec![By::Owner],
        filter: ReportFilter { layer: Some(layer), ..ReportFilter::default() },
        top: None,
        fold: Fold::Nothing,
        sources: false,
    };
    let owners = |layer| {
        let groups = report(&index, &request(layer), &Cancel::default()).unwrap().groups;
        groups.into_iter().map(|group| group.owner.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(owners(Layer::Heap), ["Windows heap"]);
    assert_eq!(owners(Layer::Tracker), ["Trackers"]);
}
