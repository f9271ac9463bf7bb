//! Finds which events of one time repeat others, for code that writes events on with all their bytes:
//! by the rule of [`Merge`](super::Merge) if they have records, and by their bytes if they have none.

use std::collections::HashMap;
use std::sync::Arc;

use super::Batch;
use super::merge::copies_among;

/// One of several events of one time.
#[derive(Debug)]
pub struct AtOnce<'a> {
    /// Number of its file.
    pub file: usize,
    /// Number of its stream; files and streams come in order.
    pub stream: usize,
    /// All of its bytes.
    pub bytes: &'a [u8],
    /// Its records, from [`decode_event`](super::decode_event).
    pub batch: &'a Batch,
}

/// Tells for each event, in the order of streams, whether it is a copy. One of several records is a
/// copy if all are.
pub fn repeated(events: &[AtOnce<'_>]) -> Vec<bool> {
    // The records of each stream, and for each record the number of its event.
    let mut streams: Vec<(u64, Arc<Batch>)> = Vec::new();
    let mut owners: Vec<usize> = Vec::new();
    for (first, of_stream) in events.chunk_by(|a, b| a.stream == b.stream).scan(0, |end, of_stream| {
        let first = *end;
        *end += of_stream.len();
        Some((first, of_stream))
    }) {
        let mut batch = Batch::default();
        for (number, event) in (first..).zip(of_stream) {
            event.batch.entries.iter().for_each(|entry| batch.put(*entry, event.batch));
            owners.resize(owners.len() + event.batch.entries.len(), number);
        }
        streams.push((of_stream[0].file as u64, Arc::new(batch)));
    }
    let is_kept = copies_among(&streams);
    let mut is_copy: Vec<bool> = events.iter().map(|event| !event.batch.entries.is_empty()).collect();
    for (owner, is_kept) in owners.into_iter().zip(is_kept) {
        is_copy[owner] &= !is_kept;
    }
    repeated_bytes(events, &mut is_copy);
    is_copy
}

/// Events without records: the n-th of one file is a copy of the n-th equal one of a file before it.
fn repeated_bytes(events: &[AtOnce<'_>], is_copy: &mut [bool]) {
    // The latest file that had it, how often that file had it, and how often any file before did at
    // most.
    let mut met: HashMap<&[u8], (usize, usize, usize)> = HashMap::new();
    for (event, is_copy) in events.iter().zip(is_copy).filter(|(event, _)| event.batch.entries.is_empty()) {
        let (file, count, before) = met.entry(event.bytes).or_insert((event.file, 0, 0));
        if *file != event.file {
            (*file, *before, *count) = (event.file, (*before).max(*count), 0);
        }
        *count += 1;
        *is_copy = *count <= *before;
    }
}
