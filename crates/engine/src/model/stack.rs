//! Call stacks, interned as a trie with parent pointers: outermost frame at the top, one node for each
//! distinct call path. Parents come before their children, so sums over subtrees are one pass from the
//! end.
//!
//! Stacks can be known late: a key is defined after the events that use it, and a
//! kernel part is joined with a user part. Until then a [`StackRef`] stands for
//! them; a publication resolves what is known.

mod known;
mod settle;
mod stacks;
mod trie;

use hashbrown::HashTable;

use super::{NodeId, SiteId};
use crate::events::{CallStack, Frames, StackHash, StackPart};
use crate::tables::{Hashing, KeyedMap};
pub(super) use known::{KeyPlace, SiteUser, WholePlace};
use known::{KnownSites, NOWHERE};
pub use stacks::Stacks;
pub(super) use stacks::map_bytes;
use stacks::{INDEX_BITS, INDEX_MASK};
use trie::Trie;

/// A stack that may not be known yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct StackRef(u32);

/// The kinds of references share one word: the upper two bits tell which.
enum Target {
    Node(NodeId),
    Key(usize),
    Pair(usize),
}

impl StackRef {
    pub(super) const NONE: Self = Self(0);

    pub(super) fn node(node: NodeId) -> Self {
        Self(node.0)
    }

    /// Whether no definition can change the stack for which it stands.
    pub(super) fn is_known(self) -> bool {
        matches!(self.target(), Target::Node(_))
    }

    fn tagged(tag: u32, index: usize) -> Self {
        if index as u32 > INDEX_MASK { Self::NONE } else { Self(tag << INDEX_BITS | index as u32) }
    }

    fn target(self) -> Target {
        let index = self.0 & INDEX_MASK;
        match self.0 >> INDEX_BITS {
            0 => Target::Node(NodeId(index)),
            1 => Target::Key(index as usize),
            _ => Target::Pair(index as usize),
        }
    }
}

/// A key that was used and waits for its definition. It takes one cache line, so that a look-up waits
/// for one only.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct OpenKey {
    key: u64,
    /// Index in [`Interner::keys`].
    index: u32,
    sites: KnownSites,
}

/// The stack of a key that was defined at the latest tick. Most keys belong to events of no interest,
/// so their frames are interned only if something refers to them.
#[derive(Clone, Debug)]
struct Fresh {
    part: StackPart,
    key: u64,
    stack: FreshStack,
}

#[derive(Clone, Debug)]
enum FreshStack {
    Node(NodeId),
    Frames(Box<[u64]>),
}

/// A whole stack that was met before.
#[derive(Debug)]
pub(super) struct Whole {
    stack_hash: StackHash,
    node: NodeId,
    pub(super) sites: KnownSites,
}

impl Whole {
    pub(super) fn stack(&self) -> StackRef {
        StackRef::node(self.node)
    }
}

/// Interns stacks while records come in.
#[derive(Debug, Default)]
pub(super) struct Interner {
    trie: Trie,
    hashing: Hashing,
    whole: HashTable<Whole>,
    /// The stack of each key reference, once it is defined.
    keys: Vec<Option<NodeId>>,
    /// Keys that are used and not yet defined, by part.
    open_keys: [HashTable<OpenKey>; 2],
    /// Definitions of the latest tick, for references at the same tick.
    fresh: Vec<Fresh>,
    fresh_time: i64,
    /// Kernel part, user part, and their join once both are known.
    pairs: Vec<(StackRef, StackRef, Option<NodeId>)>,
    pair_index: KeyedMap<(StackRef, StackRef), usize>,
}

impl Interner {
    pub(super) fn stacks(&self) -> &Stacks {
        &self.trie.stacks
    }

    /// Takes the stacks for good: nothing can be interned any more.
    pub(super) fn take_stacks(&mut self) -> Stacks {
        std::mem::take(self).trie.stacks
    }

    /// Bytes in memory, including those that the definitions of open keys may take.
    pub(super) fn bytes(&self) -> u64 {
        const TO_DEFINE: u64 = 512;
        let Self { trie, whole, keys, open_keys, pairs, pair_index, .. } = self;
        let lists = [(keys.capacity(), 8), (pairs.capacity(), 16)];
        let keys_there = open_keys.iter().map(HashTable::capacity).sum();
        let maps = [(whole.capacity(), size_of::<Whole>() as u64), (keys_there, 64), (pair_index.capacity(), 16)];
        trie.bytes()
            + lists.iter().map(|&(n, entry)| n as u64 * entry).sum::<u64>()
            + maps.iter().map(|&(n, entry)| map_bytes(n, entry)).sum::<u64>()
            + open_keys.iter().map(HashTable::len).sum::<usize>() as u64 * TO_DEFINE
    }

    /// Interns frames, innermost first.
    pub(super) fn frames(&mut self, frames: Frames<'_>) -> StackRef {
        self.whole(frames).stack()
    }

    /// Interns frames, and returns the stack with its latest sites.
    pub(super) fn whole(&mut self, frames: Frames<'_>) -> &mut Whole {
        let Self { whole, trie, hashing, .. } = self;
        let stack_hash = frames.stack_hash();
        let hash = |whole: &Whole| hashing.hash_one(whole.stack_hash);
        let entry = whole.entry(hashing.hash_one(stack_hash), |whole| whole.stack_hash == stack_hash, hash);
        let made = || Whole { stack_hash, node: trie.node(frames.addresses()), sites: KnownSites::default() };
        entry.or_insert_with(made).into_mut()
    }

    /// Looks up a whole stack. Many are looked up before the first result is needed: the processor then
    /// waits for all of them at once.
    #[inline(always)]
    pub(super) fn place_of_whole(&self, stack_hash: StackHash) -> WholePlace {
        let place = self.whole.find_bucket_index(self.hashing.hash_one(stack_hash), |whole| whole.stack_hash == stack_hash);
        WholePlace(place.map_or(NOWHERE, |place| place as u32))
    }

    /// The site of a whole stack that was found at a place, if it is known.
    #[inline(always)]
    pub(super) fn site_of_whole(&self, place: WholePlace, stack_hash: StackHash, user: SiteUser) -> Option<SiteId> {
        let whole = self.whole.get_bucket(place.0 as usize).filter(|whole| whole.stack_hash == stack_hash)?;
        whole.sites.of(user)
    }

    /// Gives the sites of allocations, or those of frees, their new numbers; sites without one are
    /// dropped.
    pub(super) fn renumber_sites(&mut self, number: &[SiteId], frees: bool) {
        let keys = self.open_keys.iter_mut().flat_map(HashTable::iter_mut).map(|open| &mut open.sites);
        let whole = self.whole.iter_mut().map(|whole| &mut whole.sites);
        keys.chain(whole).for_each(|sites| sites.renumber(number, frees));
    }

    fn intern(&mut self, frames: Frames<'_>) -> NodeId {
        self.whole(frames).node
    }

    /// A reference by key, made at raw time `time`: it means the first definition from then on.
    pub(super) fn key(&mut self, part: StackPart, key: u64, time: i64) -> StackRef {
        if let Some(stack) = self.key_if_fresh(part, key, time) {
            return stack;
        }
        StackRef::tagged(1, self.open_key(part, key).index as usize)
    }

    fn open_key(&mut self, part: StackPart, key: u64) -> &mut OpenKey {
        let Self { open_keys, keys, hashing, .. } = self;
        let hash = |open: &OpenKey| hashing.hash_one(open.key);
        let entry = open_keys[part as usize].entry(hashing.hash_one(key), |open| open.key == key, hash);
        entry
            .or_insert_with(|| {
                keys.push(None);
                OpenKey { key, index: (keys.len() - 1) as u32, sites: KnownSites::default() }
            })
            .into_mut()
    }

    /// Looks up a user-mode key, as [`Interner::place_of_whole`] does a stack.
    #[inline(always)]
    pub(super) fn place_of_key(&self, key: u64) -> KeyPlace {
        let table = &self.open_keys[StackPart::User as usize];
        let place = table.find_bucket_index(self.hashing.hash_one(key), |open| open.key == key);
        KeyPlace(place.map_or(NOWHERE, |place| place as u32))
    }

    /// The site of a user-mode key that is not defined yet and was found at a place, if it is known.
    #[inline(always)]
    pub(super) fn site_of_key(&self, place: KeyPlace, key: u64, user: SiteUser, time: i64) -> Option<SiteId> {
        if self.is_fresh(time) {
            return None;
        }
        let table = &self.open_keys[StackPart::User as usize];
        let open = table.get_bucket(place.0 as usize).filter(|open| open.key == key)?;
        open.sites.of(user)
    }

    /// Like [`Interner::key`] for a user-mode stack, with its latest sites if the key is not defined
    /// yet.
    pub(super) fn key_and_sites(&mut self, key: u64, time: i64) -> (StackRef, Option<&mut KnownSites>) {
        match self.key_if_fresh(StackPart::User, key, time) {
            Some(stack) => (stack, None),
            None => {
                let open = self.open_key(StackPart::User, key);
                (StackRef::tagged(1, open.index as usize), Some(&mut open.sites))
            }
        }
    }

    /// Whether a reference made at a raw time may mean a definition of the latest tick.
    #[inline(always)]
    pub(super) fn is_fresh(&self, time: i64) -> bool {
        time == self.fresh_time
    }

    #[inline]
    fn key_if_fresh(&mut self, part: StackPart, key: u64, time: i64) -> Option<StackRef> {
        if !self.is_fresh(time) {
            return None;
        }
        let at = self.fresh.iter().position(|fresh| fresh.part == part && fresh.key == key)?;
        let node = match &self.fresh[at].stack {
            FreshStack::Node(node) => *node,
            FreshStack::Frames(frames) => {
                let frames = frames.clone();
                self.intern(Frames::new(&frames))
            }
        };
        self.fresh[at].stack = FreshStack::Node(node);
        Some(StackRef::node(node))
    }

    /// Defines the stack for which `key` has stood since its last definition.
    pub(super) fn define(&mut self, part: StackPart, key: u64, frames: Frames<'_>, time: i64) {
        if self.fresh_time != time {
            self.fresh.clear();
            self.fresh_time = time;
        }
        let hash = self.hashing.hash_one(key);
        let stack = match self.open_keys[part as usize].find_entry(hash, |open| open.key == key) {
            Ok(open) => {
                let (open, _) = open.remove();
                let node = self.intern(frames);
                self.keys[open.index as usize] = Some(node);
                FreshStack::Node(node)
            }
            Err(_) if self.fresh.len() >= 64 => return, // no more of one tick are kept
            Err(_) => FreshStack::Frames(frames.addresses().into()),
        };
        self.fresh.push(Fresh { part, key, stack });
    }

    /// A reference to the part of a stack that came.
    pub(super) fn reference(&mut self, part: StackPart, stack: CallStack<'_>) -> StackRef {
        match stack {
            CallStack::Nothing => StackRef::NONE,
            CallStack::Frames(frames) => self.frames(frames),
            CallStack::Key { key, time } => self.key(part, key, time),
        }
    }

    /// Joins the kernel part and the user part of one stack.
    pub(super) fn join(&mut self, kernel: StackRef, user: StackRef) -> StackRef {
        let index = *self.pair_index.entry((kernel, user)).or_insert_with(|| {
            self.pairs.push((kernel, user, None));
            self.pairs.len() - 1
        });
        StackRef::tagged(2, index)
    }

    /// The node for which `stack` stands, as far as it is known now.
    pub(super) fn resolve(&mut self, stack: StackRef) -> NodeId {
        match stack.target() {
            Target::Node(node) => node,
            Target::Key(index) => self.keys[index].unwrap_or(NodeId::ROOT),
            Target::Pair(index) => self.resolve_pair(index),
        }
    }

    fn resolve_pair(&mut self, index: usize) -> NodeId {
        let (kernel, user, joined) = self.pairs[index];
        if let Some(node) = joined {
            return node;
        }
        let (outer, inner) = (self.resolve(user), self.resolve(kernel));
        let stacks = &self.trie.stacks;
        let path: Vec<u64> = stacks.path(inner).into_iter().map(|n| stacks.address(n)).collect();
        let node = path.into_iter().fold(outer, |parent, address| self.trie.child(parent, address));
        if outer != NodeId::ROOT && inner != NodeId::ROOT {
            self.pairs[index].2 = Some(node);
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn addresses(interner: &mut Interner, stack: StackRef) -> Vec<u64> {
        let node = interner.resolve(stack);
        interner.stacks().chain(node).map(|n| interner.stacks().address(n)).collect()
    }

    #[test]
    fn equal_stacks_are_one_and_share_their_callers() {
        let mut interner = Interner::default();
        let a = interner.frames(Frames::new(&[1, 2, 3]));
        let b = interner.frames(Frames::new(&[9, 2, 3]));
        assert_eq!(interner.frames(Frames::new(&[1, 2, 3])), a);
        assert_ne!(a, b);
        assert_eq!(interner.stacks().len(), 1 + 4);
        assert_eq!(addresses(&mut interner, b), [9, 2, 3]);
        assert_eq!(interner.frames(Frames::new(&[])), StackRef::NONE);
    }

    #[test]
    fn a_key_means_its_next_definition_and_may_be_reused() {
        let mut interner = Interner::default();
        let first = interner.key(StackPart::User, 7, 10);
        interner.define(StackPart::User, 7, Frames::new(&[1]), 20);
        let second = interner.key(StackPart::User, 7, 30);
        let kernel = interner.key(StackPart::Kernel, 7, 30);
        interner.define(StackPart::User, 7, Frames::new(&[2]), 40);
        let never = interner.key(StackPart::User, 7, 50);
        assert_eq!(addresses(&mut interner, first), [1]);
        assert_eq!(addresses(&mut interner, second), [2]);
        assert_eq!(addresses(&mut interner, kernel), [0u64; 0]);
        assert_eq!(addresses(&mut interner, never), [0u64; 0]);
    }

    #[test]
    fn a_definition_at_the_same_tick_counts_in_either_order() {
        let mut interner = Interner::default();
        interner.define(StackPart::User, 7, Frames::new(&[1]), 20);
        let at_once = interner.key(StackPart::User, 7, 20);
        assert_eq!(addresses(&mut interner, at_once), [1]);
    }

    #[test]
    fn kernel_frames_stand_inside_user_frames() {
        let mut interner = Interner::default();
        let kernel = interner.frames(Frames::new(&[100, 101]));
        let user = interner.key(StackPart::User, 5, 1);
        let both = interner.join(kernel, user);
        assert_eq!(addresses(&mut interner, both), [100, 101]);
        interner.define(StackPart::User, 5, Frames::new(&[1, 2]), 9);
        assert_eq!(addresses(&mut interner, both), [100, 101, 1, 2]);
    }
}
