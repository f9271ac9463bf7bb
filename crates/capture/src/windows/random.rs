//! Random bytes.

/// Unpredictable bytes, derived from the keys that the standard library makes for its hash tables.
pub(super) fn random_bytes() -> [u8; 16] {
    use std::hash::{BuildHasher, RandomState};
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
    bytes[8..].copy_from_slice(&RandomState::new().hash_one(1).to_le_bytes());
    bytes
}
