//! Sizes of chunks, and where a row stands.

use crate::model::RowId;

/// Rows of one chunk: large enough to amortise its head, small enough to copy.
pub(super) const CHUNK_BITS: u32 = 16;
/// Rows of a full chunk.
pub const CHUNK: usize = 1 << CHUNK_BITS;

/// The chunk of a row, and its place there.
pub(super) fn split(id: RowId) -> (usize, usize) {
    ((id.0 >> CHUNK_BITS) as usize, id.0 as usize & (CHUNK - 1))
}
