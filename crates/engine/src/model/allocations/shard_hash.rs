//! Spreading of addresses over the shards of the matching and the buckets of live blocks.

const SHARD_BITS: u32 = 2;
/// Shards of the matching.
pub(in crate::model) const SHARDS: usize = 1 << SHARD_BITS;

/// Spreads addresses over shards and buckets. Its factor is odd and not known beforehand, so that no
/// file can be made whose addresses all meet in one place.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct ShardHash(u64);

impl Default for ShardHash {
    fn default() -> Self {
        use std::hash::{BuildHasher, RandomState};
        Self(RandomState::new().hash_one(0u8) | 1)
    }
}

impl ShardHash {
    #[inline(always)]
    pub(super) fn hash(self, address: u64) -> u64 {
        (address ^ address >> 29).wrapping_mul(self.0)
    }

    /// The shard of the matching that knows of an address.
    #[inline(always)]
    pub(in crate::model) fn shard(self, address: u64) -> usize {
        // Other bits than those that choose the bucket.
        (self.hash(address) >> 24) as usize % SHARDS
    }
}
