//! The frames of call stacks, one stack behind the other, each with its hash, so that interning need
//! not look at the frames of a known stack.
//!
//! A stack's hash has 128 bits and a random key that no file can know. It is the sum of the products of
//! neighbouring frames, to each of which a word of the key is added (NH of UMAC: J. Black, S. Halevi,
//! H. Krawczyk, T. Krovetz and P. Rogaway, "UMAC: Fast and secure message authentication", CRYPTO 1999,
//! with words of 64 bits). For any two different stacks, even if chosen by an attacker, at most one key
//! in 2^64 gives both the same hash, as the paper proves. Hashes can be compared only within one
//! process.
//!
//! Cost: 16 bytes a stack; a hash takes some nanoseconds, on the thread that decodes.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use super::stack::MAX_FRAMES;
use crate::units::PointerSize;

/// Words of the key: one for each frame of the longest stack that is read whole, and two for the number
/// of frames.
const WORDS: usize = MAX_FRAMES + 2;

static KEY: LazyLock<[u64; WORDS]> = LazyLock::new(|| {
    let random = RandomState::new();
    std::array::from_fn(|word| random.hash_one(word))
});

/// Hashers for longer stacks, which no file has in one piece.
static OF_LONG: LazyLock<[RandomState; 2]> = LazyLock::new(|| [RandomState::new(), RandomState::new()]);

/// Digest of a stack's frames.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StackHash(u64, u64);

impl StackHash {
    fn of(addresses: &[u64]) -> Self {
        let [of_number, zero, key @ ..] = &*KEY;
        if addresses.len() > key.len() {
            let [low, high] = OF_LONG.each_ref().map(|random| random.hash_one(addresses));
            return Self(low, high);
        }
        // The first pair is the number of frames and zero, so that stacks of different lengths differ
        // in it.
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let first = product(of_number.wrapping_add(addresses.len() as u64), *zero);
        let (pairs, last) = addresses.as_chunks::<2>();
        let (keys, _) = key.as_chunks::<2>();
        let add = |sum: u128, (&[a, b], &[k, l]): (&[u64; 2], &[u64; 2])| {
            sum.wrapping_add(product(a.wrapping_add(k), b.wrapping_add(l)))
        };
        let mut sum = pairs.iter().zip(keys).fold(first, add);
        if let (&[a], Some(&key)) = (last, keys.get(pairs.len())) {
            sum = add(sum, (&[a, 0], &key));
        }
        Self(sum as u64, (sum >> 64) as u64)
    }

    /// Half of its bits: enough to distinguish most stacks.
    pub(super) fn half(self) -> u64 {
        self.0
    }
}

/// One stack's frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frames<'a> {
    addresses: &'a [u64],
    stack_hash: StackHash,
}

impl<'a> Frames<'a> {
    /// Frames, innermost first.
    pub fn new(addresses: &'a [u64]) -> Self {
        Self { addresses, stack_hash: StackHash::of(addresses) }
    }

    /// Addresses, innermost first.
    pub fn addresses(self) -> &'a [u64] {
        self.addresses
    }

    /// The user-mode frames. (A thread that is in the kernel has its kernel frames innermost.)
    pub fn of_user_mode(self) -> Self {
        // A stack of short addresses only is taken for one of a 32-bit system.
        let is_wide = |&address: &u64| address > u32::MAX.into();
        let pointer = if self.addresses.iter().any(is_wide) { PointerSize::Eight } else { PointerSize::Four };
        match self.addresses.iter().position(|&address| address < pointer.kernel_start()) {
            Some(0) => self,
            first => Self::new(&self.addresses[first.unwrap_or(self.addresses.len())..]),
        }
    }

    /// Their hash.
    pub(crate) fn stack_hash(self) -> StackHash {
        self.stack_hash
    }
}

impl Default for Frames<'_> {
    fn default() -> Self {
        Self::new(&[])
    }
}

/// Position of a stack's frames among those of its batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameRange {
    /// Index of the first.
    start: u32,
    /// How many.
    len: u32,
}

impl FrameRange {
    /// Number of frames.
    #[inline(always)]
    pub(crate) fn len(self) -> u32 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Packs it into one word.
    pub(super) fn bits(self) -> u64 {
        u64::from(self.len) << 32 | u64::from(self.start)
    }

    /// The inverse of [`Self::bits`].
    pub(super) fn from_bits(bits: u64) -> Self {
        Self { start: bits as u32, len: (bits >> 32) as u32 }
    }
}

/// The frames of many stacks: addresses and then two words of hash, one stack
/// behind the other.
#[derive(Clone, Debug, Default)]
pub struct FrameList(Vec<u64>);

impl FrameList {
    /// Appends a stack.
    pub fn push(&mut self, addresses: impl Iterator<Item = u64>) -> FrameRange {
        let start = self.0.len();
        self.0.extend(addresses);
        let len = self.0.len() - start;
        let StackHash(low, high) = StackHash::of(&self.0[start..]);
        self.0.extend([low, high]);
        FrameRange { start: start as u32, len: len as u32 }
    }

    /// Appends a stack whose hash is known.
    pub(crate) fn push_known(&mut self, Frames { addresses, stack_hash }: Frames<'_>) -> FrameRange {
        let start = self.0.len() as u32;
        self.0.extend_from_slice(addresses);
        self.0.extend([stack_hash.0, stack_hash.1]);
        FrameRange { start, len: addresses.len() as u32 }
    }

    /// The frames of one stack.
    #[inline]
    pub fn get(&self, range: FrameRange) -> Frames<'_> {
        match self.words(range).and_then(|words| words.split_last_chunk()) {
            Some((addresses, &[low, high])) => Frames { addresses, stack_hash: StackHash(low, high) },
            None => Frames::default(), // a range of another list
        }
    }

    #[inline]
    fn words(&self, FrameRange { start, len }: FrameRange) -> Option<&[u64]> {
        self.0.get(start as usize..)?.get(..len as usize + 2)
    }

    /// Bytes that the stacks take.
    pub(super) fn filled(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// Bytes that are allocated for stacks.
    pub(super) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<u64>()
    }

    /// Forgets all stacks.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_that_ends_in_user_mode_begins_behind_the_kernel() {
        const KERNEL: u64 = 0xFFFF_8000_0000_0000;
        let cases: [(&[u64], &[u64]); 7] = [
            (&[], &[]),
            (&[KERNEL + 1, KERNEL], &[]),
            (&[0x7FF0_0000_0001, 0x10], &[0x7FF0_0000_0001, 0x10]),
            (&[KERNEL + 1, 0x7FF0_0000_0001, 0x10], &[0x7FF0_0000_0001, 0x10]),
            (&[KERNEL, 0x9000_0000, 0x10], &[0x9000_0000, 0x10]),
            (&[0x9000_0000, 0x8000_0000, 0x7FFF_0000, 0x10], &[0x7FFF_0000, 0x10]),
            (&[0x7FFF_0000, 0x10], &[0x7FFF_0000, 0x10]),
        ];
        for (frames, user) in cases {
            assert_eq!(Frames::new(frames).of_user_mode(), Frames::new(user), "{frames:x?}");
        }
    }

    #[test]
    fn different_stacks_have_different_hashes_whatever_their_pattern() {
        let mut stacks: Vec<Vec<u64>> = Vec::new();
        for len in [0, 1, 2, 3, 16, 31, 128, 129, 192, 1024, 1030] {
            stacks.push(vec![0; len]);
            // One bit more, and two that would cancel each other in a sum or an exclusive or.
            for (bit, at) in [0, 31, 32, 63].into_iter().flat_map(|bit| (0..len.min(40)).map(move |at| (bit, at))) {
                let mut one = vec![0; len];
                one[at] = 1 << bit;
                let mut two = one.clone();
                two[(at + 16) % len] ^= 1 << bit;
                stacks.extend([one, two]);
            }
        }
        stacks.sort();
        stacks.dedup();
        let hashes: std::collections::HashSet<StackHash> = stacks.iter().map(|stack| Frames::new(stack).stack_hash()).collect();
        assert_eq!(hashes.len(), stacks.len());
        assert_eq!(Frames::new(&stacks[77]).stack_hash(), Frames::new(&stacks[77].clone()).stack_hash());
    }

    #[test]
    fn stacks_come_back_with_the_hash_of_their_frames() {
        let mut list = FrameList::default();
        let stacks: [&[u64]; 4] = [&[1, 2, 3], &[], &[4], &[1, 2, 3]];
        let ranges = stacks.map(|stack| list.push(stack.iter().copied()));
        let mut other = FrameList::default();
        for (stack, range) in stacks.into_iter().zip(ranges) {
            assert_eq!(list.get(range), Frames::new(stack));
            let range = other.push_known(list.get(range));
            assert_eq!(other.get(range), Frames::new(stack));
        }
        assert_eq!(list.get(ranges[0]).stack_hash(), list.get(ranges[3]).stack_hash());
        assert_ne!(list.get(ranges[0]).stack_hash(), list.get(ranges[2]).stack_hash());
        assert_eq!(list.get(FrameRange { start: 9, len: 9 }), Frames::new(&[]));
    }
}
