//! Numbers for the few values that many events of a slice have in common: actors and threads.
//!
//! Cost: a comparison if the value occurred lately, else a hash operation.

use std::hash::Hash;

use crate::tables::KeyedMap;

const LATEST_BITS: u32 = 6;
const LATEST: usize = 1 << LATEST_BITS;

/// Most values that get a number.
const MOST: usize = 1 << 12;

/// A value that gets a number.
pub(super) trait Numbered: Copy + Eq + Hash {
    /// Bits that distinguish most values.
    fn bits(self) -> u64;
}

/// Values in the order in which they first occurred.
#[derive(Clone, Debug)]
pub(super) struct Dictionary<K> {
    list: Vec<K>,
    index: KeyedMap<K, u16>,
    latest: [Option<(K, u16)>; LATEST],
}

impl<K: Numbered> Default for Dictionary<K> {
    fn default() -> Self {
        Self { list: Vec::new(), index: KeyedMap::default(), latest: [None; LATEST] }
    }
}

impl<K: Numbered> Dictionary<K> {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.index.clear();
        self.latest = [None; LATEST];
    }

    /// All values, by number.
    pub(super) fn list(&self) -> &[K] {
        &self.list
    }

    /// The number of a value; `None` if there are too many values.
    #[inline(always)]
    pub(super) fn number(&mut self, value: K) -> Option<u16> {
        let place = (value.bits().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - LATEST_BITS)) as usize;
        match self.latest[place] {
            Some((latest, number)) if latest == value => Some(number),
            _ => self.look_up(value, place),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, value: K, place: usize) -> Option<u16> {
        let number = match self.index.get(&value) {
            Some(&number) => number,
            None if self.list.len() >= MOST => return None,
            None => {
                let number = self.list.len() as u16;
                self.list.push(value);
                self.index.insert(value, number);
                number
            }
        };
        self.latest[place] = Some((value, number));
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Numbered for u64 {
        fn bits(self) -> u64 {
            self % 7 // so that places are shared
        }
    }

    #[test]
    fn values_are_numbered_as_they_come_until_there_are_too_many() {
        let mut dictionary = Dictionary::default();
        for value in 0..MOST as u64 {
            assert_eq!(dictionary.number(value * 3), Some(value as u16));
            assert_eq!(dictionary.number(value / 2 * 3), Some(value as u16 / 2));
        }
        assert_eq!(dictionary.number(1), None);
        assert_eq!(dictionary.number(3), Some(1));
        assert_eq!(dictionary.list()[5], 15);
        dictionary.clear();
        assert_eq!(dictionary.number(3), Some(0));
    }
}
