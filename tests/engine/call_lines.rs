//! What the lines of one function hold, against a naive look at each stack of the demo.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{NodeId, SiteId};
use highwater::query::{CallLines, Cancel, Index, Mask, Recorded, totals};
use highwater::symbols::{Options, Sources, Symbols};
use highwater::units::Interval;
use highwater_dev::synth::demo;

#[test]
fn the_lines_of_a_function_hold_what_the_stacks_through_them_hold() {
    let loaded = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
    let sources = Sources { embedded: vec![highwater::demo::symbols()], ..Sources::default() };
    let options = Options { sources, saved: None, workers: 1, ..Options::default() };
    let symbols = Symbols::start(Arc::clone(&loaded), options, |_| true, || {});
    symbols.wait();
    let (names, never) = (symbols.names().1, Cancel::default());
    let index = Index::scan(Arc::clone(&loaded));
    let trace = &*loaded;
    let middle = highwater::units::Ticks(i64::midpoint(trace.span.from.0, trace.span.to.0));
    for interval in [trace.span, Interval { from: trace.span.from, to: middle }] {
        let totals = totals(&index, interval, &never).unwrap();
        let mask = Mask::of_sites(trace, |_, site| trace.heap(site.heap).handle == demo::LEAKING_HEAP);
        let frames = |site: SiteId| {
            let site = trace.site(site);
            trace.stacks.path(site.stack).into_iter().map(move |node| (node, trace.stacks.parent(node), site))
        };
        let line = |(node, _, site): (NodeId, NodeId, &highwater::model::Site), level: u16| {
            let frame = Recorded::of(trace, &names, node, site.caller, site.first, node == site.stack);
            Some((frame.function(level)?.function.to_owned(), frame.source(level)?.1))
        };
        let all: Vec<SiteId> = (0..trace.sites.len() as u32).map(SiteId).filter(|&site| mask.classes(site) != 0).collect();
        let (mut compared, mut several) = (0, 0);
        for &site in &all {
            for frame in frames(site) {
                for level in 0..4 {
                    let Some((function, _)) = line(frame, level) else { continue };
                    let outer = |frame| (0..level).map(|level| line(frame, level).map(|(name, _)| name)).collect::<Vec<_>>();
                    let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
                    for &other in &all {
                        let call = frames(other).find(|(_, parent, _)| *parent == frame.1);
                        let Some(call) = call.filter(|call| outer(*call) == outer(frame)) else { continue };
                        let Some((name, at)) = line(call, level).filter(|(name, _)| *name == function) else { continue };
                        let (_, sums) = totals.sites().find(|(id, _)| *id == other).unwrap();
                        assert_eq!(name, function);
                        *expected.entry(at).or_default() += sums.numbers().size;
                    }
                    let found = CallLines::of((trace, &names), (&totals, &mask), (frame.0, level), &never).unwrap().unwrap();
                    let told: BTreeMap<u32, u64> = found.lines.iter().map(|(line, numbers)| (*line, numbers.size)).collect();
                    assert_eq!(told, expected, "{function}");
                    assert!(found.lines.iter().all(|(line, numbers)| found.at(*line) == Some(numbers)) && found.at(0).is_none());
                    compared += 1;
                    several += usize::from(told.len() > 1);
                }
            }
        }
        assert!(compared > 10 && several > 0, "{compared} compared, {several} with several lines");
    }
}
