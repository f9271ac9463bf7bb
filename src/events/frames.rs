//! The frames of call stacks, one stack behind the other, each with its digest: who
//! interns a stack need not look at the frames of one that is known.
//!
//! Digests have 128 bits and a seed that no file can know, so two different stacks
//! have the same one about as often as memory fails. Equal only within one process.
//!
//! Cost: 16 bytes a stack; a digest takes some nanoseconds, on the thread that decodes.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::units::PointerSize;

static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0u8));

/// Stands for the frames of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Digest([u64; 2]);

impl Digest {
    fn of(addresses: &[u64]) -> Self {
        let bits = xxh3_128_with_seed(bytemuck::cast_slice(addresses), *SEED);
        Self([bits as u64, (bits >> 64) as u64])
    }

    /// Half of its bits: enough to tell most stacks apart.
    pub(super) fn half(self) -> u64 {
        self.0[0]
    }
}

/// One stack's frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frames<'a> {
    addresses: &'a [u64],
    digest: Digest,
}

impl<'a> Frames<'a> {
    /// Frames, innermost first.
    pub fn new(addresses: &'a [u64]) -> Self {
        Self { addresses, digest: Digest::of(addresses) }
    }

    /// Addresses, innermost first.
    pub fn addresses(self) -> &'a [u64] {
        self.addresses
    }

    /// Those outside the kernel: a thread that is in it has its frames there innermost.
    pub fn of_user_mode(self) -> Self {
        // Of a 32-bit system all addresses are that short.
        let is_wide = |&address: &u64| address > u32::MAX.into();
        let pointer = if self.addresses.iter().any(is_wide) { PointerSize::Eight } else { PointerSize::Four };
        match self.addresses.iter().position(|&address| address < pointer.kernel_start()) {
            Some(0) => self,
            first => Self::new(&self.addresses[first.unwrap_or(self.addresses.len())..]),
        }
    }

    /// What stands for them.
    pub fn digest(self) -> Digest {
        self.digest
    }
}

impl Default for Frames<'_> {
    fn default() -> Self {
        Self::new(&[])
    }
}

/// Where the frames of a stack are among those of its batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameRange {
    /// Index of the first.
    start: u32,
    /// How many.
    len: u32,
}

impl FrameRange {
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// In one word.
    pub(super) fn bits(self) -> u64 {
        u64::from(self.len) << 32 | u64::from(self.start)
    }

    /// The way back.
    pub(super) fn from_bits(bits: u64) -> Self {
        Self { start: bits as u32, len: (bits >> 32) as u32 }
    }
}

/// The frames of many stacks: addresses and then two words of digest, one stack
/// behind the other.
#[derive(Clone, Debug, Default)]
pub struct FrameList(Vec<u64>);

impl FrameList {
    /// Appends a stack.
    pub fn push(&mut self, addresses: impl Iterator<Item = u64>) -> FrameRange {
        let start = self.0.len();
        self.0.extend(addresses);
        let len = self.0.len() - start;
        let Digest(digest) = Digest::of(&self.0[start..]);
        self.0.extend(digest);
        FrameRange { start: start as u32, len: len as u32 }
    }

    /// Appends a stack whose digest is known.
    pub fn push_known(&mut self, Frames { addresses, digest }: Frames<'_>) -> FrameRange {
        let start = self.0.len() as u32;
        self.0.extend_from_slice(addresses);
        self.0.extend(digest.0);
        FrameRange { start, len: addresses.len() as u32 }
    }

    /// The frames of one stack.
    #[inline]
    pub fn get(&self, range: FrameRange) -> Frames<'_> {
        match self.words(range).and_then(|words| words.split_last_chunk()) {
            Some((addresses, &digest)) => Frames { addresses, digest: Digest(digest) },
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

    /// Bytes that are held for stacks.
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
    fn stacks_come_back_with_the_digest_of_their_frames() {
        let mut list = FrameList::default();
        let stacks: [&[u64]; 4] = [&[1, 2, 3], &[], &[4], &[1, 2, 3]];
        let ranges = stacks.map(|stack| list.push(stack.iter().copied()));
        let mut other = FrameList::default();
        for (stack, range) in stacks.into_iter().zip(ranges) {
            assert_eq!(list.get(range), Frames::new(stack));
            let range = other.push_known(list.get(range));
            assert_eq!(other.get(range), Frames::new(stack));
        }
        assert_eq!(list.get(ranges[0]).digest(), list.get(ranges[3]).digest());
        assert_ne!(list.get(ranges[0]).digest(), list.get(ranges[2]).digest());
        assert_eq!(list.get(FrameRange { start: 9, len: 9 }), Frames::new(&[]));
    }
}
