//! Hash tables whose keys a stranger may have chosen: those of traces, PDBs, files of rules and servers.
//!
//! Each table has a random key of its own, which nobody knows who makes a file, so that no file can be made
//! whose values all meet in one place. The hash is [`ahash`], whose authors claim resistance to chosen keys,
//! with a few instructions for a word, where the standard library's SipHash needs a hundred.
//!
//! All tables are of these types, for there is hardly one that a file does not fill in the end. Their order is
//! another in each run and in each table, so no answer may depend on it (`clippy::iter_over_hash_type`).

use std::collections::{HashMap, HashSet};

/// What hashes the keys of one table; two of them never agree.
pub type Hashing = ahash::RandomState;

/// A map from keys that a stranger may have chosen.
pub type KeyedMap<K, V> = HashMap<K, V, Hashing>;

/// A set of values that a stranger may have chosen.
pub type KeyedSet<K> = HashSet<K, Hashing>;

/// A table that can be emptied.
pub trait Empties: Default {
    /// Values that it has room for.
    fn room(&self) -> usize;

    /// Removes all values, but not their room, in as much time as there is room.
    fn clear(&mut self);
}

impl<K, V> Empties for KeyedMap<K, V> {
    fn room(&self) -> usize {
        self.capacity()
    }

    fn clear(&mut self) {
        Self::clear(self);
    }
}

impl<K> Empties for KeyedSet<K> {
    fn room(&self) -> usize {
        self.capacity()
    }

    fn clear(&mut self) {
        Self::clear(self);
    }
}

/// Empties a table that is filled and emptied again and again: one that was large once is given up, for each time
/// would take as long as it was large.
pub fn empty<T: Empties>(table: &mut T) {
    const SMALL: usize = 64;
    if table.room() <= SMALL {
        table.clear();
    } else {
        *table = T::default();
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Hashes that share their lowest 16 bits with another, of so many keys.
    fn meetings(keys: impl Iterator<Item = u64>) -> usize {
        let (hashing, mut met, mut meetings) = (Hashing::default(), vec![false; 1 << 16], 0);
        for key in keys {
            let place = &mut met[hashing.hash_one(key) as usize % (1 << 16)];
            meetings += usize::from(std::mem::replace(place, true));
        }
        meetings
    }

    #[test]
    fn a_table_that_was_large_is_emptied_by_giving_up_its_room() {
        let mut set: KeyedSet<u32> = (0..1_000).collect();
        empty(&mut set);
        assert_eq!((set.len(), set.capacity()), (0, 0));
        let mut map: KeyedMap<u32, u32> = [(1, 2)].into_iter().collect();
        empty(&mut map);
        assert!(map.is_empty() && map.capacity() > 0);
    }

    #[test]
    fn no_two_tables_hash_alike() {
        let hashes: std::collections::BTreeSet<u64> = (0..100).map(|_| Hashing::default().hash_one(7u64)).collect();
        assert_eq!(hashes.len(), 100);
    }

    #[test]
    fn keys_with_a_pattern_are_spread_like_any_others() {
        const KEYS: u64 = 1 << 14;
        for shift in [0, 4, 16, 32, 44, 50] {
            let met = meetings((0..KEYS).map(|n| n << shift));
            // Of as many random ones about 1,880 meet another.
            assert!((1_500..2_300).contains(&met), "{met} of keys times 2^{shift}");
        }
    }
}
