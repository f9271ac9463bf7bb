//! Sets of rows under the nodes of the tree.

use std::sync::Arc;

use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::RowId;
use highwater::query::{Cancel, Filter, ImpactingType, Index, Key, LifetimeClass, Mask, Path, RowSet, totals};
use highwater::units::Interval;

#[test]
fn rows_under_a_node_are_those_that_its_numbers_are_of() {
    let trace = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
    let (never, all) = (Cancel::default(), Mask::all(&trace));
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let interval = Interval { from: trace.clock.ticks(5.0), to: trace.clock.ticks(20.0) };
    let sums = totals(&index, interval, &never).unwrap();
    let classes = ImpactingType::ALL.map(Key::Impacting).into_iter().chain(LifetimeClass::ALL.map(Key::Class));
    for class in classes {
        for heap in [None, Some(trace.site(trace.rows.site(RowId(0))).heap)] {
            let path: Path = heap.map(Key::Heap).into_iter().chain([class]).collect();
            let expected = sums.sum(&Filter::under(Arc::clone(&path)).mask(&trace)).numbers();
            let rows = RowSet::under(&trace, &path, interval, &never).unwrap();
            assert_eq!(rows.len() as u64, expected.count, "{path:?}");
            let chosen = index.choosing(Some(Arc::new(rows)));
            assert_eq!(totals(&chosen, interval, &never).unwrap().sum(&all).numbers(), expected, "{path:?}");
        }
    }
    let last = RowId(trace.rows.len() as u32 - 1);
    let alone = RowSet::under(&trace, &[Key::Row(last)].into(), trace.span, &never).unwrap();
    assert!(alone.has(last) && alone.len() == 1, "one allocation is told apart from others of its place");
}
