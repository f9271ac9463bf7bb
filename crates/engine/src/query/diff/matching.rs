//! Matching of two traces: processes by name, in the order of their starts; heaps within their process by the name of a
//! tracker, else in the order of their creation.

use crate::model::{HeapId, ProcessId, Trace};
use crate::query::grouping::keys::{Identity, number};
use crate::tables::KeyedMap;
use crate::units::{Layer, Ticks};

/// Returns for each side the identities of its processes, heaps and stacks.
pub(super) fn identities(a: &Trace, b: &Trace, (is_one_trace, has_same_names): (bool, bool)) -> [Identity; 2] {
    let functions_by_name = !has_same_names;
    if is_one_trace {
        return [a, b].map(|trace| Identity { functions_by_name, ..Identity::of(trace) });
    }
    let mut names = KeyedMap::default();
    let processes = [a, b].map(|trace| processes(trace, &mut names));
    let places = [0, 1].map(|side| heap_places([a, b][side], &processes[side]));
    let keys = |trace: &Trace| trace.heaps.iter().map(|heap| heap.key()).collect::<Vec<_>>();
    let (ours, theirs) = (keys(a), keys(b));
    let known: KeyedMap<&HeapPlace, &Option<String>> = places[0].iter().zip(&ours).collect();
    let mut numbers = KeyedMap::default();
    let heaps_of_a = ours.iter().map(|key| number(&mut numbers, (false, key.clone()))).collect();
    let heaps_of_b = places[1].iter().zip(&theirs).map(|(place, own)| {
        // Another heap of the first trace may have the same handle.
        let is_own = matches!(place.which, Which::Nth(_)) && own.is_some() && !known.contains_key(place);
        let key = known.get(place).map_or(own, |known| *known);
        number(&mut numbers, (is_own, key.clone()))
    });
    let heaps_of_b = heaps_of_b.collect();
    let [of_a, of_b] = processes;
    let sides = [(of_a, heaps_of_a), (of_b, heaps_of_b)];
    sides.map(|(processes, heaps)| Identity { processes, heaps, stacks_by_name: true, functions_by_name })
}

/// Numbers each process by its name and its turn among processes of that name.
fn processes(trace: &Trace, names: &mut KeyedMap<(String, u32), u32>) -> Vec<u32> {
    let mut order: Vec<ProcessId> = (0..trace.processes.len() as u32).map(ProcessId).collect();
    order.sort_by_key(|&id| trace.process(id).start.unwrap_or(Ticks::BEFORE_TRACE));
    let mut turns: KeyedMap<String, u32> = KeyedMap::default();
    let mut numbers = vec![0; order.len()];
    for id in order {
        let name = trace.process(id).label();
        let turn = turns.entry(name.clone()).or_default();
        numbers[id.0 as usize] = number(names, (name, *turn));
        *turn += 1;
    }
    numbers
}

/// A heap, identified by its process, its layer and its name or order.
#[derive(PartialEq, Eq, Hash)]
struct HeapPlace {
    process: u32,
    layer: Layer,
    which: Which,
}

#[derive(PartialEq, Eq, Hash)]
enum Which {
    Called(std::sync::Arc<str>),
    /// Position in the order of creation; heaps without a creation event come first.
    Nth(u32),
}

fn heap_places(trace: &Trace, processes: &[u32]) -> Vec<HeapPlace> {
    let mut order: Vec<HeapId> = (0..trace.heaps.len() as u32).map(HeapId).collect();
    order.sort_by_key(|&id| trace.heap(id).is_created);
    let mut turns: KeyedMap<(ProcessId, Layer), u32> = KeyedMap::default();
    let mut nth = vec![0; order.len()];
    for id in order {
        let heap = trace.heap(id);
        if heap.name.is_none() {
            let turn = turns.entry((heap.process, heap.layer)).or_default();
            nth[id.0 as usize] = *turn;
            *turn += 1;
        }
    }
    let place = |(heap, nth): (&crate::model::Heap, u32)| HeapPlace {
        process: processes[heap.process.0 as usize],
        layer: heap.layer,
        which: heap.name.clone().map_or(Which::Nth(nth), Which::Called),
    };
    trace.heaps.iter().zip(nth).map(place).collect()
}
