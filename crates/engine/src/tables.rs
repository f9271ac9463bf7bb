//! Hash tables for keys that may be chosen by an attacker: keys from traces, PDBs, rule files and servers.
//!
//! Each table has a random seed of its own, which the author of a file does not know, so no file can be made whose
//! values all collide. The hash is [`ahash`], whose authors claim resistance to chosen keys. It needs a few
//! instructions for a word, where the standard library's SipHash needs a hundred.
//!
//! All tables have these types, since nearly every one is filled from files in the end. Their order differs in each run
//! and in each table, so no result may depend on it (`clippy::iter_over_hash_type`).

use std::collections::{HashMap, HashSet};

/// The hasher of one table; no two tables hash alike.
pub type Hashing = ahash::RandomState;

/// A map with keys that an attacker may have chosen.
pub type KeyedMap<K, V> = HashMap<K, V, Hashing>;

/// A set of values that an attacker may have chosen.
pub type KeyedSet<K> = HashSet<K, Hashing>;

/// A table that can be emptied.
pub trait Empties: Default {
    /// The capacity.
    fn room(&self) -> usize;

    /// Removes all values but keeps the capacity, in time proportional to the capacity.
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

/// Empties a table that is filled and emptied again and again. A large table is replaced by a new one, since clearing
/// it would take time proportional to its capacity each time.
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

    /// Number of keys whose hash shares its lowest 16 bits with an earlier one.
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
            // Of as many random keys, about 1,880 collide.
            assert!((1_500..2_300).contains(&met), "{met} of keys times 2^{shift}");
        }
    }
}
