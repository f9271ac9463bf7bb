//! Replaces references by the stacks that are known by now, so that keys and pairs, of which there is
//! no end in a long capture, can be forgotten.

use super::{Interner, NodeId, StackRef, Target};
use crate::tables::KeyedMap;

/// The keys and pairs that are not known yet, with new numbers by their old ones.
#[derive(Debug)]
struct Unsettled {
    /// [`KNOWN`] for keys that are defined, or no longer needed.
    key_numbers: Vec<u32>,
    keys: u32,
    pair_numbers: KeyedMap<u32, u32>,
    pairs: Vec<(StackRef, StackRef, Option<NodeId>)>,
}

const KNOWN: u32 = u32::MAX;

impl Unsettled {
    fn key(&mut self, index: usize) -> u32 {
        let number = &mut self.key_numbers[index];
        if *number == KNOWN {
            *number = self.keys;
            self.keys += 1;
        }
        *number
    }
}

impl Interner {
    /// Replaces references by the stacks that are known by now, and forgets the keys and pairs that no
    /// reference needs any more; `each` must give it all references there are. Cost: a look at each
    /// reference and each open key, whatever was defined before.
    pub(in crate::model) fn settle(&mut self, each: impl FnOnce(&mut dyn FnMut(&mut StackRef))) {
        let key_numbers = vec![KNOWN; self.keys.len()];
        let mut left = Unsettled { key_numbers, keys: 0, pair_numbers: KeyedMap::default(), pairs: Vec::new() };
        each(&mut |stack| *stack = self.settled(&mut left, *stack));
        for open_keys in &mut self.open_keys {
            open_keys.retain(|open| {
                let index = left.key_numbers[open.index as usize];
                open.index = index;
                index != KNOWN
            });
        }
        self.keys = vec![None; left.keys as usize];
        self.pair_index = left.pairs.iter().map(|&(kernel, user, _)| (kernel, user)).zip(0..).collect();
        self.pairs = left.pairs;
    }

    fn settled(&mut self, left: &mut Unsettled, stack: StackRef) -> StackRef {
        match stack.target() {
            Target::Node(_) => stack,
            Target::Key(index) => match self.keys[index] {
                Some(node) => StackRef::node(node),
                None => StackRef::tagged(1, left.key(index) as usize),
            },
            Target::Pair(index) => {
                let (kernel, user, _) = self.pairs[index];
                if self.is_known(kernel) && self.is_known(user) {
                    return StackRef::node(self.resolve_pair(index));
                }
                if let Some(&number) = left.pair_numbers.get(&(index as u32)) {
                    return StackRef::tagged(2, number as usize);
                }
                let (kernel, user) = (self.settled(left, kernel), self.settled(left, user));
                let number = left.pairs.len();
                left.pairs.push((kernel, user, None));
                left.pair_numbers.insert(index as u32, number as u32);
                StackRef::tagged(2, number)
            }
        }
    }

    /// Whether no later definition changes the stack for which `stack` stands.
    fn is_known(&self, stack: StackRef) -> bool {
        match stack.target() {
            Target::Node(_) => true,
            Target::Key(index) => self.keys[index].is_some(),
            Target::Pair(_) => false, // pairs have no pairs in them
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::addresses;
    use super::*;
    use crate::events::{Frames, StackPart};

    #[test]
    fn references_that_are_settled_stand_for_the_same_and_nothing_else_is_kept() {
        let mut interner = Interner::default();
        let keys: Vec<StackRef> = (0..5).map(|key| interner.key(StackPart::User, key, 1)).collect();
        let kernel = interner.frames(Frames::new(&[100]));
        for key in [0, 1, 2] {
            interner.define(StackPart::User, key, Frames::new(&[10 + key, 1]), 2 + key as i64);
        }
        let pairs = [interner.join(kernel, keys[1]), interner.join(kernel, keys[3]), interner.join(kernel, keys[2])];
        // The stack of key 0 and the last pair are no longer referred to.
        let mut refs = [keys[1], keys[3], pairs[0], pairs[1], keys[3]];
        interner.settle(|settle| refs.iter_mut().for_each(settle));
        assert_eq!((interner.keys.len(), interner.pairs.len(), interner.open_keys[StackPart::User as usize].len()), (1, 1, 1));
        assert_eq!(refs[1], refs[4]);
        assert_eq!(interner.key(StackPart::User, 3, 9), refs[1], "a key that is still to be defined stays the same");
        assert_eq!(interner.join(kernel, refs[1]), refs[3]);
        let later = interner.key(StackPart::User, 4, 9);
        assert_eq!(addresses(&mut interner, refs[3]), [100]);
        interner.define(StackPart::User, 3, Frames::new(&[13, 1]), 10);
        interner.define(StackPart::User, 4, Frames::new(&[14]), 11);
        let expected: [&[u64]; 5] = [&[11, 1], &[13, 1], &[100, 11, 1], &[100, 13, 1], &[13, 1]];
        for (stack, expected) in refs.into_iter().zip(expected) {
            assert_eq!(addresses(&mut interner, stack), expected);
        }
        assert_eq!(addresses(&mut interner, later), [14]);
    }
}
