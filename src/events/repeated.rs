//! Which events of one time repeat others, for who writes events on with all their bytes: the rule of
//! [`Merge`](super::Merge) for what they mean, and for those that mean nothing here their bytes.

use std::collections::HashMap;
use std::sync::Arc;

use super::Batch;
use super::merge::copies_among;

/// One of several events of one time.
#[derive(Debug)]
pub struct AtOnce<'a> {
    /// Number of the file that has it, ...
    pub file: usize,
    /// ... and of the stream: files and streams come in order.
    pub stream: usize,
    /// All of it.
    pub bytes: &'a [u8],
    /// What it means, by [`decode_event`](super::decode_event).
    pub batch: &'a Batch,
}

/// Says of each event, which come by stream, whether it is a copy. One of several records is if all of these are.
pub fn repeated(events: &[AtOnce<'_>]) -> Vec<bool> {
    // Records of each stream side by side, and whose they are.
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

/// Events without records: the n-th of one file is a copy of the n-th of one before it.
fn repeated_bytes(events: &[AtOnce<'_>], is_copy: &mut [bool]) {
    // The file that had it last, how often it had it, and how often any before did.
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
