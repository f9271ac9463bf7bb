//! Caches of rule matches. A frame name is matched against the rules once, however many frames have it. Every unnamed
//! frame has a text of its own, its address, so the rules that can match any unnamed frame of a module are cached per
//! module.
//!
//! Memory: at most [`MOST`] names in each of [`PARTS`] tables, and as many modules; a full table is emptied. Names come
//! from traces, so the tables use randomly keyed hashing.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use super::frame_pattern::FrameText;

/// Number of tables; several, so that workers do not wait for each other.
const PARTS: usize = 16;
/// Largest number of names in a table.
const MOST: usize = 1 << 10;

/// Caches of rule matches: one by frame, one by module.
#[derive(Debug)]
pub(super) struct Memo<T> {
    keys: RandomState,
    parts: [Mutex<HashMap<FrameText, T>>; PARTS],
    modules: Mutex<HashMap<Box<str>, Arc<Candidates>>>,
}

/// Rules that can match, as indices into each list of rules.
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

/// A clone starts empty: cached matches are not part of the rules.
impl<T> Clone for Memo<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T: Copy> Memo<T> {
    /// Returns the cached result for a frame, or computes it with `ask`.
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

    /// Returns the cached rules for frames whose names begin with `begin`, or finds them with `find`.
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
