//! `highwater measure`: how long opening takes, for `scripts/bench.sh`. Hidden: an
//! instrument of this project, not of its users.

use std::time::Instant;

use serde::Serialize;

use super::args::MeasureArgs;
use super::{Failure, open, output};
use crate::load::{Unwatched, load};

/// Figures of one run. Bytes, counts, seconds.
#[derive(Serialize)]
struct Figures {
    file_bytes: u64,
    heap_events: u64,
    all_events: u64,
    open_s: f64,
    load_s: f64,
    heap_events_per_s: f64,
    bytes_per_s: f64,
    rows: usize,
    row_bytes: usize,
    sites: usize,
    stack_nodes: usize,
}

/// Loads the files and prints the figures.
pub(super) fn run(args: &MeasureArgs) -> Result<(), Failure> {
    let start = Instant::now();
    let capture = open(&args.inputs())?;
    let open_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let Ok(trace) = load(&capture, &mut Unwatched) else { return Ok(()) };
    let load_s = start.elapsed().as_secs_f64();
    let counts = &trace.counts;
    let heap_events = counts.heap_create + counts.heap_destroy + counts.heap_alloc + counts.heap_free + counts.heap_realloc;
    output::json(&Figures {
        file_bytes: capture.bytes(),
        heap_events,
        all_events: counts.total,
        open_s,
        load_s,
        heap_events_per_s: heap_events as f64 / load_s,
        bytes_per_s: capture.bytes() as f64 / load_s,
        rows: trace.rows.len(),
        row_bytes: trace.rows.heap_bytes(),
        sites: trace.sites.len(),
        stack_nodes: trace.stacks.len(),
    })
}
