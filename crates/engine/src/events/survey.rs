//! Reads all events of one file without putting them into order, for `info`. Buffers are decoded in
//! parallel, and nothing is kept but the totals.
//!
//! Payloads are decoded too, not only counted, so that events too short for their
//! kind are found here and not only by a load.

use rayon::prelude::*;

use super::decode::{Wants, decode_part};
use super::{Batch, ProviderCensus, Stacks, Totals, TrackerProviders};
use crate::etl::{BufferKind, ReadBuffer, TraceFile};

/// Buffers that one worker takes at a time: large enough to reuse its memory.
const RUN: usize = 64;

/// Bytes that the records of a buffer may take at once; a buffer with more than real ones have is
/// decoded part by part.
const ROOM: usize = 16 << 20;

/// The totals of one file. Problems come in file order, whatever the workers did.
pub fn survey(file: &TraceFile) -> Totals {
    surveyed(file, &TrackerProviders::default(), false).0
}

/// The totals of one file, and its providers.
pub fn survey_with_providers(file: &TraceFile, trackers: &TrackerProviders) -> (Totals, ProviderCensus) {
    surveyed(file, trackers, true)
}

fn surveyed(file: &TraceFile, trackers: &TrackerProviders, with_providers: bool) -> (Totals, ProviderCensus) {
    let wants = Wants { stacks: Stacks::Apart, trackers: trackers.clone(), ..Wants::default() };
    let runs: Vec<(Totals, ProviderCensus)> = file
        .buffers
        .par_chunks(RUN)
        .map_init(<(ReadBuffer, Batch)>::default, |(scratch, batch), buffers| {
            let (mut totals, mut census) = (Totals::default(), ProviderCensus::default());
            for buffer in buffers {
                let mut from = Some(0);
                while let Some(start) = from {
                    *batch = decode_part(file, buffer, &wants, (start, ROOM), scratch, std::mem::take(batch));
                    totals.take(batch);
                    from = batch.rest;
                    // A buffer without events was not read.
                    if with_providers && buffer.kind != BufferKind::NoEvents {
                        census.take(scratch, from);
                    }
                }
            }
            (totals, census)
        })
        .collect();
    let none = (Totals::default(), ProviderCensus::default());
    runs.into_iter().fold(none, |(totals, census), (more, others)| (totals.plus(more), census.plus(others)))
}
