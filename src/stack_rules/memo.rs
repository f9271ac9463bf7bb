//! What rules said of frames, so that a name is held against them once however many frames have it; and which of them
//! frames without a name in a module can fit at all, for each of those has a name of its own: its place.
//!
//! Memory: at most [`MOST`] names in each of [`PARTS`] tables, and modules, which are emptied when they are full. Names
//! come from traces, so the tables are keyed by chance.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use super::FrameText;

/// Tables, so that workers need not wait for one another.
const PARTS: usize = 16;
/// Names in a table at most.
const MOST: usize = 1 << 10;

/// See the module.
#[derive(Debug)]
pub(super) struct Memo<T> {
    keys: RandomState,
    parts: [Mutex<HashMap<FrameText, T>>; PARTS],
    modules: Mutex<HashMap<Box<str>, Arc<Candidates>>>,
}

/// Rules by number, of each kind in their order.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    pub(super) folds: Vec<u32>,
    pub(super) tags: Vec<u32>,
    pub(super) origins: Vec<u32>,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self { keys: RandomState::new(), parts: Default::default(), modules: Mutex::default() }
    }
}

/// What was said is no part of the rules.
impl<T> Clone for Memo<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T: Copy> Memo<T> {
    /// What was said of a frame, or what `ask` says of it now.
    pub(super) fn get(&self, frame: FrameText, ask: impl FnOnce(&FrameText) -> T) -> T {
        let part = &self.parts[self.keys.hash_one(&frame) as usize % PARTS];
        let locked = || part.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&said) = locked().get(&frame) {
            return said;
        }
        let said = ask(&frame);
        let mut part = locked();
        if part.len() >= MOST {
            part.clear();
        }
        part.insert(frame, said);
        said
    }

    /// The rules for frames whose names begin so, or what `find` finds now.
    pub(super) fn candidates(&self, begin: &str, find: impl FnOnce() -> Candidates) -> Arc<Candidates> {
        let locked = || self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = locked().get(begin) {
            return Arc::clone(known);
        }
        let found = Arc::new(find());
        let mut modules = locked();
        if modules.len() >= MOST {
            modules.clear();
        }
        modules.insert(begin.into(), Arc::clone(&found));
        found
    }
}
