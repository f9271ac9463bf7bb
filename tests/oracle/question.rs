//! Generated captures as the program replays them, their rows, and the intervals to ask about.

use std::sync::Arc;

use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::query::{Cancel, Index, IndexOptions};
use highwater::units::{Interval, Ticks};
use proptest::prelude::*;
use proptest::sample::select;

use super::answer::Edges;
use super::scenario::{Scenario, TRACE_START};
use super::{FREQUENCY, Row};

/// Operations of a capture: enough to get into trouble, few enough to read.
pub const OPS: usize = 60;

pub fn replay(scenario: &Scenario) -> Trace {
    let mut builder = builder();
    for sent in &scenario.stream {
        builder.apply(&sent.record, &sent.frames);
    }
    builder.publish(input(scenario, true))
}

/// How much is prepared: so few checkpoints and events a block that all of them matter,
/// with room for some levels of blocks, for all, or none.
pub fn options() -> impl Strategy<Value = IndexOptions> {
    // Fine checkpoints alone, and enough for pairs of coarse ones.
    let checkpoints = prop_oneof![0..7usize, 7..40usize];
    let blocks = (1..7usize, prop_oneof![1..20usize, Just(1 << 16)], select(vec![0usize, 40, 400, 1 << 20]));
    let sums = (prop::option::weighted(0.9, checkpoints), any::<bool>(), any::<bool>());
    (sums, blocks).prop_map(|((checkpoints, parts, surveys), (block, stretch, block_bytes_a_row))| {
        let (parts, surveys, block, stretch) = (Some(parts), Some(surveys), Some(block), Some(stretch));
        IndexOptions { checkpoints, parts, surveys, block, stretch, block_bytes_a_row, ..IndexOptions::default() }
    })
}

/// All ways to answer questions about a trace: by scans, with the order of events
/// alone, and with everything prepared.
pub fn ways(trace: Trace, options: &IndexOptions) -> [Index; 3] {
    let trace = Arc::new(trace);
    let never = Cancel::default();
    [
        Index::scan(Arc::clone(&trace)),
        Index::for_one_question(Arc::clone(&trace), &never).unwrap(),
        Index::build(trace, options, &never).unwrap(),
    ]
}

pub fn builder() -> Builder {
    Builder::new(Clock { frequency: FREQUENCY as u64, start_time: 0 }, TRACE_START, (0, 0))
}

pub fn input(scenario: &Scenario, complete: bool) -> InputState {
    InputState { times: scenario.times(), complete, ..InputState::default() }
}

pub fn interval((from, to): Edges) -> Interval {
    Interval { from: Ticks(from), to: Ticks(to) }
}

/// A place for an edge: on an event, beside it, or far away.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    event: usize,
    beside: i64,
}

pub const FAR: i64 = i64::MAX - 1;

pub fn place() -> impl Strategy<Value = Place> {
    let beside = prop_oneof![12 => -1i64..=1, 1 => select(vec![-FAR, -1_000_000, 1_000_000, FAR])];
    (0..1000usize, beside).prop_map(|(event, beside)| Place { event, beside })
}

pub fn edges(scenario: &Scenario, a: Place, b: Place) -> Edges {
    let edge = |place: Place| {
        let steps = &scenario.steps;
        let time = steps.get(place.event % steps.len().max(1)).map_or(0, |step| step.time);
        time.saturating_add(place.beside).clamp(-FAR, FAR)
    };
    (edge(a).min(edge(b)), edge(a).max(edge(b)))
}

/// What of a row of a trace counts into its numbers.
pub fn plain(row: &highwater::model::Row) -> Row {
    Row {
        life: 0,
        place: super::Place::Commit,
        address: 0,
        size: row.size,
        birth: row.birth.0,
        death: (row.death != Ticks::NEVER).then_some(row.death.0),
        stack: Vec::new(),
        thread: None,
        freed_stack: Vec::new(),
        cross_thread: row.is_cross_thread,
    }
}
