//! Words for models, for people and for programs.

use super::{ArenaKey, Model, ModelNumbers, WhatIfRequest};
use crate::format;
use crate::model::Trace;
use crate::query::{By, main_frames};

/// Number of keys of arenas.
const ARENAS: usize = WhatIfRequest::KEYS.len() + 1;

impl ArenaKey {
    /// All keys.
    pub const ALL: [Self; ARENAS] = {
        let mut keys = [Self::Frame; ARENAS];
        let mut i = 0;
        while i + 1 < ARENAS {
            keys[i + 1] = Self::Key(WhatIfRequest::KEYS[i]);
            i += 1;
        }
        keys
    };

    /// Returns its word in arguments and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Key(by) => by.word(),
        }
    }
}

impl Model {
    /// Returns its name in the answer to a question.
    pub fn name(&self, request: WhatIfRequest) -> String {
        match self {
            Self::Recorded => "recorded".to_owned(),
            Self::NtHeap => "nt_heap".to_owned(),
            Self::SegmentHeap => "segment_heap".to_owned(),
            Self::Mimalloc => "mimalloc".to_owned(),
            Self::Jemalloc => "jemalloc".to_owned(),
            Self::Pools => format!("pool by {}", request.pool_by.map_or("", By::word)),
            Self::Arenas => format!("arena by {}", request.arena_by.map_or("", ArenaKey::word)),
            Self::PoolFor(_) => format!("pool for {}", self.group(request).unwrap_or_default()),
        }
    }

    /// Returns the name of the group that has a pool of its own.
    fn group(&self, request: WhatIfRequest) -> Option<String> {
        match (self, request.pool_by) {
            (Self::PoolFor(group), Some(by)) => Some(group.text(by)),
            _ => None,
        }
    }

    /// Returns whether the allocator's rules are only roughly known.
    pub fn is_approximate(&self) -> bool {
        matches!(self, Self::NtHeap | Self::SegmentHeap)
    }
}

impl WhatIfRequest {
    /// Returns why the numbers of arenas say little, if they do.
    pub fn doubt(&self, trace: &Trace) -> Option<&'static str> {
        let is_one = self.arena_by == Some(ArenaKey::Frame) && main_frames(trace, None).is_none();
        is_one.then_some("no frames were recorded, so all blocks of a process are in one arena")
    }
}

/// Returns a sentence about the best pool for one group, if one is better than what was recorded. `models` are those of a layer.
pub fn pool_sentence(models: &[ModelNumbers], request: WhatIfRequest) -> Option<String> {
    let (best, name) = models.iter().find_map(|of| Some((of, of.model.group(request)?)))?;
    let bytes = |of: &ModelNumbers| format::bytes(of.peak_touched_bytes);
    let recorded = models.first().filter(|recorded| bytes(recorded) != bytes(best))?;
    Some(format!("A pool for {name} would take the peak from {} to {}.", bytes(recorded), bytes(best)))
}
