//! The numbers of heaps are those of the graph and of totals.

use std::sync::Arc;

use highwater::load::{Capture, Input, Unwatched, load};
use highwater::query::{Cancel, Index, Mask, ReportFilter, SeriesOf, heap_numbers, heap_series, series, totals};
use highwater::units::{Interval, Ticks};

#[test]
fn heaps_have_the_numbers_of_graph_and_totals() {
    let trace = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
    let never = Cancel::default();
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let second = |s: f64| trace.clock.ticks(s);
    for interval in [trace.span, Interval { from: second(5.0), to: second(20.0) }] {
        let filter = ReportFilter { process: Some("MemoryTestApp.exe".to_owned()), ..ReportFilter::default() };
        for mask in [Mask::all(&trace), filter.mask(&trace)] {
            let numbers = heap_numbers(&index, interval, &mask, &never).unwrap();
            let place = |site| (mask.classes(site) != 0).then(|| trace.site(site).heap.0);
            let of = SeriesOf::new(&trace, trace.heaps.len(), place);
            let lines = series(&index, &totals(&index, interval, &never).unwrap(), &of, 1 << 20, &never).unwrap();
            let moments: Vec<Ticks> = (0..=64).map(|n| Ticks(interval.from.0 + interval.len() * n / 64)).collect();
            let held = heap_series(&index, interval, &mask, &moments, &never).unwrap();
            assert!(numbers.iter().any(|heap| heap.peak > 0));
            for ((numbers, line), held) in numbers.iter().zip(&lines).zip(&held) {
                assert_eq!(numbers.peak, line.peak);
                assert_eq!(numbers.numbers.outstanding_to, line.last);
                assert_eq!((held[0], held[64]), (numbers.numbers.outstanding_from, numbers.numbers.outstanding_to));
                for (moment, held) in moments.iter().zip(held).skip(1) {
                    assert_eq!(*held, line.value_at(*moment));
                }
            }
        }
    }
}
