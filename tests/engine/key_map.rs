//! Nodes of one trace are found again in another of the same capture, whatever numbers
//! they have there.

use highwater::load::{Capture, Input, Plan, Unwatched, load_planned};
use highwater::model::{CounterId, HeapId, NodeId, Processes, RowId, Scope, Trace};
use highwater::query::{Key, KeyMap, LifetimeClass, Path};
use highwater::units::Pid;
use highwater_dev::synth::{Options, generate};

const LEFT_OUT: Pid = Pid(6000);

/// A trace of three processes, and one without the first of them.
fn traces() -> (Trace, Trace) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("generated.etl");
    let options =
        Options { events: 6000, distinct_stacks: 60, live: 300, processes: 3, heaps: 2, counters: true, ..Options::default() };
    generate(&options, std::fs::File::create(&path).unwrap()).unwrap();
    let capture = Capture::open(&[Input::File(path)]).unwrap();
    let load = |processes| {
        let plan = Plan { scope: Scope { processes, ..Scope::default() }, ..Plan::default() };
        load_planned(&capture, &plan, &mut Unwatched).unwrap()
    };
    (load(Processes::All), load(Processes::Except([LEFT_OUT].into())))
}

/// The way to each site's allocations.
fn paths(trace: &Trace) -> Vec<Path> {
    let way = |(heap, stack)| -> Path {
        let of: &highwater::model::Heap = trace.heap(heap);
        let class = LifetimeClass::Aifo;
        let above = [Key::Process(of.process), Key::Layer(of.layer), Key::Heap(heap)];
        above.into_iter().chain([Key::Impacting(class.impacting()), Key::Class(class), Key::Frame(stack)]).collect()
    };
    trace.sites.iter().map(|site| way((site.heap, site.stack))).collect()
}

/// What a path says, without any number of the trace's own.
fn words(trace: &Trace, path: &Path) -> String {
    let word = |key: &Key| match *key {
        Key::Process(id) => format!("{} {:?}", trace.process(id).pid, trace.process(id).start),
        Key::Heap(id) => format!("{:?} {:?}", trace.heap(id).layer, trace.heap(id).key()),
        Key::Frame(node) => {
            format!("{:x?}", trace.stacks.path(node).iter().map(|&n| trace.stacks.address(n)).collect::<Vec<_>>())
        }
        key => format!("{key:?}"),
    };
    path.iter().map(word).collect::<Vec<_>>().join(" > ")
}

#[test]
fn what_is_in_both_is_found_again_and_nothing_else() {
    let (whole, part) = traces();
    let all = paths(&part);
    assert!(all.len() > 60);
    let map = KeyMap::new(&part, &whole, &all).unwrap();
    for path in &all {
        assert_eq!(words(&whole, &map.path(path).unwrap()), words(&part, path));
    }
    assert!(all.iter().any(|path| map.path(path).unwrap() != *path), "they have other numbers");
    let all = paths(&whole);
    let map = KeyMap::new(&whole, &part, &all).unwrap();
    for path in &all {
        let Key::Process(process) = path[0] else { unreachable!() };
        match map.path(path) {
            Some(found) => assert_eq!(words(&part, &found), words(&whole, path)),
            None => assert_eq!(whole.process(process).pid, LEFT_OUT),
        }
    }
    let found = (0..whole.heaps.len() as u32).filter(|&heap| map.heap(HeapId(heap)).is_some()).count();
    assert_eq!(found, part.heaps.len());
    for id in (0..whole.counters.len() as u32).map(CounterId) {
        let (old, new) = (&whole.counters[id.0 as usize], &part.counters[map.counter(id).unwrap().0 as usize]);
        assert_eq!((old.kind, old.owner, &old.samples), (new.kind, new.owner, &new.samples));
    }
}

#[test]
fn a_single_allocation_becomes_its_place_and_what_is_nowhere_is_none() {
    let (whole, part) = traces();
    let place = paths(&part).remove(0);
    let row: Path = place.iter().copied().chain([Key::Row(RowId(0))]).collect();
    let map = KeyMap::new(&part, &whole, [&row]).unwrap();
    assert_eq!(words(&whole, &map.path(&row).unwrap()), words(&part, &place));
    let no_stack: Path = [Key::Frame(NodeId::ROOT)].into();
    assert_eq!(map.path(&no_stack), Some(no_stack));
    assert!(KeyMap::new(&part, &part, [&row]).is_none(), "in the same trace all stays");
}
