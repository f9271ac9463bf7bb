//! How much memory decoded records may take while they are put into order, and how it is
//! dealt out. Real captures need a small part of it; large buffers of many processors,
//! or what was made to expand to much, are decoded in parts.

use super::Entry;
use crate::etl::BufferInfo;

/// What decoded records may take if nobody says anything else.
pub(super) const USUAL: u64 = 1 << 30;

/// The shares of one merge, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// One decoded buffer, or the part of one that is decoded at a time. A stream holds two.
    pub(super) batch: usize,
    /// All that is decoded ahead, and as much kept for its memory.
    pub(super) ahead: usize,
    /// So many records of a stream may wait for their time to come; more are taken when they
    /// stand, so that wild timestamps cannot pull a whole file into memory.
    pub(super) carried: usize,
    /// Records of one slice of all streams, about.
    pub(super) slice: usize,
    /// Records of all slices that are cut, or so.
    pub(super) cut: usize,
    /// No more slices are cut while they keep so many bytes of batches that streams are done with.
    pub(super) retired: usize,
}

impl Room {
    /// A batch of fewer bytes is not worth its place.
    const LEAST: usize = 16 << 10;
    /// More records never wait.
    const MOST_CARRIED: usize = 1 << 16;

    /// Bytes that are made of a record of a slice, about: its place in the order, and what the
    /// replay has made of it.
    const MADE: usize = 100;

    /// More records of a slice would not stay in a processor's cache.
    const MOST_IN_SLICE: usize = 1 << 11;

    /// Deals out `memory` bytes: half to what streams hold, an eighth each to what is
    /// decoded ahead and kept, a quarter to what waits. Slices are a sixteenth of it on top, and
    /// what they are made of an eighth of that.
    pub(super) fn of(memory: u64, streams: usize) -> Self {
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        let each = memory / streams.max(1);
        let in_slices = memory / 16 / Self::MADE;
        let slice = (in_slices / 8).clamp(1 << 8, Self::MOST_IN_SLICE);
        Self {
            batch: (each / 4).max(Self::LEAST),
            ahead: memory / 8,
            carried: (each / 4 / size_of::<Entry>()).clamp(1 << 10, Self::MOST_CARRIED),
            slice,
            retired: memory / 128,
            cut: in_slices.min(slice * (2 + 2 * rayon::current_num_threads())).max(1),
        }
    }

    /// The part for a buffer. One that is compressed is expanded as often as it has parts,
    /// so there must not be many.
    pub(super) fn for_buffer(self, info: &BufferInfo) -> usize {
        if info.is_compressed() { self.batch.max(info.expanded_size() / 4) } else { self.batch }
    }

    /// What decoding one may take for a while: its bytes, expanded too, and its records.
    pub(super) fn while_decoding(self, info: &BufferInfo) -> usize {
        let size = info.size as usize;
        let expanded = if info.is_compressed() { info.expanded_size() } else { 0 };
        let records = self.for_buffer(info).min(2 * size.max(expanded));
        size.min(self.for_buffer(info)) + expanded + records
    }
}
