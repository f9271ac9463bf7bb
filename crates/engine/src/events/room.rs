//! How much memory decoded records may take while they are put into order, and how it is divided. Real
//! captures need a small part of it; large buffers of many processors, or hostile ones that expand to
//! much, are decoded in parts.

use super::Entry;
use crate::etl::BufferInfo;

/// Bytes that decoded records may take by default.
pub(super) const USUAL: u64 = 1 << 30;

/// The shares of one merge, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// One decoded buffer, or the part of one that is decoded at a time. A stream holds two.
    pub(super) batch: usize,
    /// All batches that are decoded ahead, and as much for batches that are kept for their memory.
    pub(super) prefetch: usize,
    /// Most records of a stream that may wait for their time to come; if there are more, all of them go
    /// on, so that wild timestamps cannot pull a whole file into memory.
    pub(super) reordered: usize,
    /// Records of one slice of all streams, approximately.
    pub(super) slice: usize,
    /// Records of all slices that are cut, approximately.
    pub(super) cut: usize,
    /// No more slices are cut while slices keep this many bytes of batches that no stream needs any
    /// more.
    pub(super) retired: usize,
}

impl Room {
    /// Least bytes of a batch: a smaller one is not worth its place.
    const LEAST: usize = 16 << 10;
    /// Most records of a stream that ever wait.
    const MOST_REORDERED: usize = 1 << 16;

    /// Bytes for each record of a slice, approximately: its place in the order, and the data gathered
    /// from it for the replay.
    const MADE: usize = 100;

    /// Most records of a slice: more would not stay in a processor's cache.
    const MOST_IN_SLICE: usize = 1 << 11;

    /// Divides `memory` bytes: half for the batches of streams, an eighth each for batches decoded
    /// ahead and for those kept, a quarter for waiting records. Slices get a sixteenth of it on top,
    /// and the batches that they are made of an eighth of that.
    pub(super) fn of(memory: u64, streams: usize) -> Self {
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        let each = memory / streams.max(1);
        let in_slices = memory / 16 / Self::MADE;
        let slice = (in_slices / 8).clamp(1 << 8, Self::MOST_IN_SLICE);
        Self {
            batch: (each / 4).max(Self::LEAST),
            prefetch: memory / 8,
            reordered: (each / 4 / size_of::<Entry>()).clamp(1 << 10, Self::MOST_REORDERED),
            slice,
            retired: memory / 128,
            cut: in_slices.min(slice * (2 + 2 * rayon::current_num_threads())).max(1),
        }
    }

    /// The bytes for a part of a buffer. A compressed buffer is expanded once for each part, so there
    /// must not be many.
    pub(super) fn for_buffer(self, info: &BufferInfo) -> usize {
        if info.is_compressed() { self.batch.max(info.expanded_size() / 4) } else { self.batch }
    }

    /// Bytes that decoding a buffer may take for a while: its bytes, expanded too, and its records.
    pub(super) fn while_decoding(self, info: &BufferInfo) -> usize {
        let size = info.size as usize;
        let expanded = if info.is_compressed() { info.expanded_size() } else { 0 };
        let records = self.for_buffer(info).min(2 * size.max(expanded));
        size.min(self.for_buffer(info)) + expanded + records
    }
}
